package api

import (
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// walletData is one wallet of GET /v1/wallets.
type walletData struct {
	Address     wallet.Address    `json:"address"`
	WalletType  wallet.WalletType `json:"wallet_type"`
	ConnectedAt string            `json:"connected_at"`
}

// walletsData is `data` of GET /v1/wallets, oldest first.
type walletsData struct {
	Wallets []walletData `json:"wallets"`
}

// wallets is GET /v1/wallets?chat_id. Without chat_id it lists the wallets of the key's owner; for an ownerless key
// its own. With chat_id it lists those of another person who has granted the key's app access.
func (s *Server) wallets(c *fiber.Ctx, key wallet.Key) error {
	q, err := query(c, "chat_id")
	if err != nil {
		return err
	}
	var listed []wallet.Wallet
	if text, named := q["chat_id"]; named {
		id, err := parseTelegramID("chat_id", text)
		if err != nil {
			return err
		}
		// Another person's wallets: only with a grant to the key's app.
		listed, err = s.People.WalletsOf(c.UserContext(), handlers.CallerOf(key), id)
		if err != nil {
			return err
		}
	} else if listed, err = s.Wallets.List(c.UserContext(), handlers.CallerOf(key)); err != nil {
		return err
	}
	// An empty list is [], never null.
	data := walletsData{Wallets: []walletData{}}
	for _, w := range listed {
		data.Wallets = append(data.Wallets, walletData{w.Address, w.Type, stamp(w.ConnectedAt)})
	}
	return s.succeed(c, fiber.StatusOK, "done.wallets", data)
}

// disconnect is DELETE /v1/wallets/{address}. purser forgets the wallet. Its key and its funds stay with their owner.
func (s *Server) disconnect(c *fiber.Ctx, key wallet.Key) error {
	address, err := parseAddress("address", c.Params("address"))
	if err != nil {
		return err
	}
	// It has no Idempotency-Key: a second DELETE is a WALLET_NOT_FOUND.
	var gone wallet.Wallet
	err = s.Store.Update(c.UserContext(), func(tx store.Tx) error {
		gone, err = s.Wallets.DisconnectOwn(tx, handlers.CallerOf(key), address)
		return err
	})
	if err != nil {
		return err
	}
	return s.succeed(c, fiber.StatusOK, "done.wallet_disconnected", walletData{gone.Address, gone.Type, stamp(gone.ConnectedAt)})
}

// createData is `data` of POST /v1/wallet/create.
type createData struct {
	Status    string `json:"status"`     // "sent_to_chat"
	ExpiresAt string `json:"expires_at"` // when the link ends, or a moment later
}

// createWallet is POST /v1/wallet/create {chat_id}. It sends a link to the person's chat, with which they create or connect a
// wallet on their own device. The link itself is not returned: anybody who has it could connect a wallet of their own.
func (s *Server) createWallet(c *fiber.Ctx, key wallet.Key) error {
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	if err := fields.only("chat_id"); err != nil {
		return err
	}
	id, err := fields.telegramID("chat_id")
	if err != nil {
		return err
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		// First check that the key may act for this person.
		person, err := s.People.ByTelegram(c.UserContext(), handlers.CallerOf(key), id, wallet.WalletSend)
		if err != nil {
			return err
		}
		return s.answer(c, fiber.StatusAccepted, saveAnswer, func(tx store.Tx) ([]byte, error) {
			if err := s.People.OfferLink(tx, handlers.CallerOf(key), person.ID); err != nil {
				return nil, err
			}
			return s.envelope("done.link_sent",
				createData{"sent_to_chat", wallet.Timestamp(s.Now().Add(wallet.BindWindow))})
		})
	})
}

// transactionsData is `data` of GET /v1/wallet/transactions, newest first. next_cursor is "" on the last page. A page
// may have fewer entries than the limit, even none, and still not be the last.
type transactionsData struct {
	Transactions []entryData `json:"transactions"`
	NextCursor   string      `json:"next_cursor"`
	Complete     bool        `json:"complete"` // false: a node did not answer, so what purser did not record may be missing
}

// entryData is one transaction of the list: purser's own, or one that purser found on chain.
type entryData struct {
	transactionData
	Source           string           `json:"source"` // "purser" or "chain"
	Counterparty     wallet.Address   `json:"counterparty"`
	CounterpartyName string           `json:"counterparty_name"` // in the owner's contacts; only for the owner's keys
	Suspect          wallet.Suspicion `json:"suspect"`
	Slot             *uint64          `json:"slot"`    // with source "chain"
	Changes          []changeData     `json:"changes"` // with source "chain": what the wallet gained and lost
}

// changeData is what the wallet gained or lost of one token, in the token's units.
type changeData struct {
	Token     string `json:"token"`
	Mint      string `json:"mint"` // "" for SOL
	Amount    string `json:"amount"`
	Direction string `json:"direction"` // "in" or "out"
}

// Sources of entries.
const (
	fromPurser = "purser"
	fromChain  = "chain"
)

// entryOf renders an entry of the list.
func (s *Server) entryOf(key wallet.Key, e handlers.HistoryEntry) (entryData, error) {
	d := entryData{Source: fromPurser, Counterparty: e.With, CounterpartyName: e.Name, Suspect: e.Suspect, Changes: []changeData{}}
	if t := e.Transaction; t != nil {
		rules, err := s.Store.Kinds().Of(t.Kind)
		d.transactionData = s.recordOf(key, *t, rules)
		return d, err
	}
	// Read on chain: amounts are the wallet's gains and losses, since purser does not know the intent.
	d.Source = fromChain
	d.transactionData = transactionData{Warnings: []wallet.RuleName{}, Type: e.Type, Status: e.Status, WalletAddress: e.Wallet, Signature: e.Signature, CreatedAt: stamp(e.At),
		Amount: e.Main.Token.Amount(e.Main.Units).String(), Fee: wallet.Lamports(0).String(), Rent: wallet.Lamports(0).String(), TransferFee: wallet.Lamports(0).String()}
	if e.Main.Units > 0 {
		d.Token, d.Mint, d.Recipient = e.Main.Token.Name(), e.Main.Token.MintText(), e.Wallet
		if e.Main.Lost {
			d.Recipient = e.With
		}
	}
	switch e.Status {
	case wallet.Failed:
		d.ErrorCode = wallet.ChainError
	case wallet.Confirmed, wallet.Received:
		d.ConfirmedAt = d.CreatedAt
	}
	if a := e.Activity; a != nil {
		d.Slot, d.Memo, d.ErrorMessage, d.Fee = &a.Slot, a.Memo, a.Failure, wallet.Lamports(a.OwnFee(e.Wallet)).String()
		// Amounts are positive; direction has the sign.
		for _, change := range a.Net {
			one := changeData{change.Token.Name(), change.Token.MintText(), change.Token.Amount(change.Units).String(), "in"}
			if change.Lost {
				one.Direction = "out"
			}
			d.Changes = append(d.Changes, one)
		}
	}
	return d, nil
}

// How many transactions a page has: by default, and at most.
const (
	usualPage   = 20
	largestPage = 100
)

// transactions is GET /v1/wallet/transactions?address&token&type&status&since&until&source&cursor&limit.
func (s *Server) transactions(c *fiber.Ctx, key wallet.Key) error {
	f, err := filterOf(c, s.Store.Kinds().Types())
	if err != nil {
		return err
	}
	page, err := s.History.List(c.UserContext(), handlers.CallerOf(key), f)
	if err != nil {
		return err
	}
	data := transactionsData{Transactions: make([]entryData, 0, len(page.Entries)), NextCursor: page.Next, Complete: !page.Incomplete}
	for _, entry := range page.Entries {
		one, err := s.entryOf(key, entry)
		if err != nil {
			return err
		}
		data.Transactions = append(data.Transactions, one)
	}
	return s.succeed(c, fiber.StatusOK, "done.transactions", data)
}

// filterOf parses the query of the list. types are the kinds of transactions that this binary knows.
func filterOf(c *fiber.Ctx, types []wallet.EntryType) (f handlers.Filter, err error) {
	q, err := query(c, "address", "token", "type", "status", "since", "until", "source", "cursor", "limit")
	if err != nil {
		return f, err
	}
	// Each filter that is given must be valid: a wrong one must not widen the list.
	if q["address"] != "" {
		if f.Address, err = parseAddress("address", q["address"]); err != nil {
			return f, err
		}
		if f.Address.IsZero() { // it would mean all wallets
			return f, about("address", wallet.Refuse(wallet.WalletNotFound, "wallet_access.none"))
		}
	}
	if q["token"] != "" {
		if f.Token, err = wallet.ParseTokenRef(q["token"]); err != nil {
			return f, err
		}
	}
	f.Type, f.Status = wallet.EntryType(q["type"]), wallet.Status(q["status"])
	if f.Type != "" && !slices.Contains(types, f.Type) {
		return f, bad("type", "body.one_of", wallet.ListArg("Choices", types))
	}
	if f.Status != "" && !f.Status.Known() {
		return f, bad("status", "body.status")
	}
	if f.Since, err = parseMoment("since", q["since"]); err != nil {
		return f, err
	}
	if f.Until, err = parseMoment("until", q["until"]); err != nil {
		return f, err
	}
	switch q["source"] {
	case "":
	case fromPurser:
		f.OwnOnly = true
	default:
		return f, bad("source", "body.one_of", wallet.ListArg("Choices", []string{fromPurser}))
	}
	if !saneCursor(q["cursor"]) {
		return f, about("cursor", wallet.Refuse(wallet.InvalidRequest, "page.bad_cursor"))
	}
	f.Cursor = q["cursor"]
	f.Limit, err = parseLimit(q["limit"])
	return f, err
}

// saneCursor reports whether a text may be a cursor of this list. The list itself checks what it says.
func saneCursor(text string) bool {
	const longest = 2500
	return len(text) <= longest && only(text, func(b byte) bool {
		return isAlphanumeric(b) || b == '-' || b == '_' || b == '.' || b == '~' || b == '!'
	})
}

// firstYear and lastYear bound the times in requests.
const firstYear, lastYear = 1970, 2200

// parseMoment parses a time in RFC 3339; "" is the zero time, which means no bound. INVALID_REQUEST, about the field
// name.
func parseMoment(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, bad(name, "body.time")
	}
	// Go's zero time is in the year 1 and would mean no bound. Times far from today have no Unix time in nanoseconds.
	if year := at.UTC().Year(); year < firstYear || year > lastYear {
		return at, bad(name, "body.years", wallet.NumberArg("First", firstYear), wallet.NumberArg("Last", lastYear))
	}
	return at, nil
}

// parseLimit parses the most entries of a page; "" is the default.
func parseLimit(text string) (int, error) {
	if text == "" {
		return usualPage, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > largestPage {
		return 0, bad("limit", "body.count_of", wallet.NumberArg("Most", largestPage))
	}
	return n, nil
}
