package handlers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"purser/wallet"
)

// What one part of an export costs at most. A part that reaches a bound is short, and the next part begins there.
const (
	exportEntries  = 200              // entries in a file, but for what the last page brings above it
	exportBytes    = 256 << 10        // of a file, after which no further page is read
	exportPage     = maxActivities    // entries that are read at once: what one page reads from nodes
	exportPatience = 20 * time.Second // for all of it. A page takes historyPatience at most, so none is begun later than that before the end
)

// ExportRequest says which part of a history becomes a file.
type ExportRequest struct {
	Format  ExportFormat
	Address wallet.Address // of the only wallet to export; zero: of all the caller's wallets
	Cursor  string         // Export.Next of the part before; "" for the first part
	Part    int            // its number, from 1, for the file's name
	// May is asked before each page after the first, which costs up to some 30 calls to nodes. If it returns false, the part
	// ends there. nil: always.
	May func() bool
}

// Export is one part of a history as a file, newest first. It is in memory only: the caller stores or sends it.
type Export struct {
	Name     string // of the file: letters, digits, "-" and "."
	File     []byte // nil if there are no entries
	Entries  int
	From, To time.Time // times of the oldest and the newest entry
	Next     string    // cursor of the part behind it, with older entries; "" at the end
	// Complete: false if a node did not answer, so that transactions which purser did not record may be missing. The same
	// request gives them another time.
	Complete bool
}

// Export writes a part of the caller's own history into a file: every entry that List returns, about 200 of them. It reads as
// many pages as that takes, within 20 seconds, and stops at the first page that a node's failure left incomplete. It writes
// nothing to the store. Errors are those of List.
func (h *History) Export(ctx context.Context, who Caller, req ExportRequest) (Export, error) {
	file, err := newExportFile(req.Format, h.Transfers.Store.Kinds())
	if err != nil {
		return Export{}, err
	}
	out := Export{Next: req.Cursor, Complete: true}
	began := time.Now()
	for pages := 0; ; pages++ {
		page, err := h.List(ctx, who, Filter{Address: req.Address, Cursor: out.Next, Limit: exportPage})
		if err != nil {
			return Export{}, err
		}
		for _, entry := range page.Entries {
			at, err := file.add(entry)
			if err != nil {
				return Export{}, err
			}
			// Times of blocks and our clock may disagree, so the first entry need not be the newest.
			if out.Entries == 0 || at.After(out.To) {
				out.To = at
			}
			if out.Entries == 0 || at.Before(out.From) {
				out.From = at
			}
			out.Entries++
		}
		out.Next, out.Complete = page.Next, !page.Incomplete
		if out.Next == "" || !out.Complete || out.Entries >= exportEntries || file.size() >= exportBytes ||
			time.Since(began) > exportPatience-historyPatience || req.May != nil && !req.May() {
			break
		}
	}
	if out.Entries == 0 {
		return out, nil
	}
	if out.File, err = file.end(out.Next, out.Complete); err != nil {
		return Export{}, err
	}
	out.Name = exportName(req, h.Transfers.Now(), out.Complete)
	return out, nil
}

// exportName is the file's name: "purser-2026-11-23-AbC123-part2-incomplete.csv".
func exportName(req ExportRequest, now time.Time, complete bool) string {
	name := "purser-" + now.UTC().Format(time.DateOnly)
	if !req.Address.IsZero() {
		name += "-" + req.Address.Tail()
	}
	if req.Part > 1 {
		name += fmt.Sprintf("-part%d", req.Part)
	}
	if !complete {
		name += "-incomplete"
	}
	return name + "." + string(req.Format)
}

// exportEntry is one entry of the file. Its fields have the names of GET /v1/wallet/transactions, and times, amounts and
// addresses have the same form. Direction alone is new, and an amount that nobody knows is "".
type exportEntry struct {
	CreatedAt        string               `json:"created_at"` // RFC 3339, UTC; of the block for what purser read on chain
	Type             wallet.EntryType     `json:"type"`
	Direction        string               `json:"direction"` // "in", "out", or "" for several tokens, for moves between own accounts, and for a request, whose payment has an entry of its own
	Status           wallet.Status        `json:"status"`
	Amount           string               `json:"amount"` // in the token's units; "" if nothing was sent or received
	Token            string               `json:"token"`  // the symbol of a listed token, else its mint
	Mint             string               `json:"mint"`   // "" for SOL
	Counterparty     wallet.Address       `json:"counterparty"`
	CounterpartyName string               `json:"counterparty_name"`
	Fee              string               `json:"fee"` // SOL that the wallet paid to the network
	Signature        wallet.Signature     `json:"signature"`
	WalletAddress    wallet.Address       `json:"wallet_address"`
	Memo             string               `json:"memo"`
	Label            string               `json:"label"`
	TransactionID    wallet.TransactionID `json:"transaction_id"`
	Source           string               `json:"source"`
	Suspect          wallet.Suspicion     `json:"suspect"`
	Changes          []exportChange       `json:"changes"`
}

// exportChange is what the wallet gained or lost of one token.
type exportChange struct {
	Token     string `json:"token"`
	Mint      string `json:"mint"`
	Amount    string `json:"amount"`
	Direction string `json:"direction"`
}

// Values of exportEntry and of the API's entries.
const (
	fromPurser, fromChain     = "purser", "chain"
	directionIn, directionOut = "in", "out"
)

// exported is an entry of the list as the file has it.
func exported(e HistoryEntry, kinds wallet.Kinds) (exportEntry, time.Time, error) {
	out := exportEntry{Counterparty: e.With, CounterpartyName: e.Name, WalletAddress: e.Wallet, Suspect: e.Suspect, Changes: []exportChange{}}
	if t := e.Transaction; t != nil {
		rules, err := kinds.Of(t.Kind)
		if err != nil {
			return out, time.Time{}, err
		}
		out.Source, out.TransactionID, out.Type, out.Status, out.CreatedAt = fromPurser, t.ID, rules.Type, t.Status, wallet.Timestamp(t.CreatedAt)
		out.Amount, out.Token, out.Mint, out.Fee = t.Money().String(), t.Token.Name(), t.Token.MintText(), wallet.Lamports(t.Fee).String()
		out.Signature, out.Memo, out.Label = t.Signature, t.Memo, t.Label
		switch {
		case rules.Life == wallet.Incoming:
			out.Direction = directionIn
		case rules.Pays:
			out.Direction = directionOut
		}
		return out, t.CreatedAt, nil
	}
	out.Source, out.Type, out.Status, out.CreatedAt, out.Signature = fromChain, e.Type, e.Status, wallet.Timestamp(e.At), e.Signature
	if e.Main.Units > 0 {
		out.Amount, out.Token, out.Mint = e.Main.Token.Amount(e.Main.Units).String(), e.Main.Token.Name(), e.Main.Token.MintText()
		out.Direction = directionOf(e.Main)
	}
	if a := e.Activity; a != nil {
		out.Memo, out.Fee = a.Memo, wallet.Lamports(a.OwnFee(e.Wallet)).String()
		for _, change := range a.Net {
			out.Changes = append(out.Changes, exportChange{change.Token.Name(), change.Token.MintText(), change.Token.Amount(change.Units).String(), directionOf(change)})
		}
	}
	return out, e.At, nil
}

// directionOf is the direction of a gain or a loss.
func directionOf(change wallet.NetChange) string {
	if change.Lost {
		return directionOut
	}
	return directionIn
}

// ExportFormat is the form of an export's file, and the end of its name.
type ExportFormat string

// The forms.
const (
	ExportCSV  ExportFormat = "csv"
	ExportJSON ExportFormat = "json"
)

// ExportFormats lists the forms.
func ExportFormats() []ExportFormat { return []ExportFormat{ExportCSV, ExportJSON} }

// Known reports whether f is one of ExportFormats.
func (f ExportFormat) Known() bool { return slices.Contains(ExportFormats(), f) }
