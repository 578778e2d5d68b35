package chat

import (
	"errors"
	"maps"
	"strings"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// TransactionCard returns the card name of the one message that shows a transaction. Each step of the transaction edits that
// message. The store keeps the Telegram message id of a card, so an edit finds it after a restart, and on another node.
func TransactionCard(id wallet.TransactionID) string { return "tx:" + string(id) }

// showTransaction redraws the card of a transaction in its current state, and moves the conversation that was about it.
func (s *replyTx) showTransaction(t wallet.Transaction) error {
	if err := s.notifyOnce(t); err != nil {
		return err
	}
	if err := s.redrawCard(t); err != nil {
		return err
	}
	// A payment that lands after the owner cancelled it gets a message of its own: an edit of the card sends no notification.
	if t.LandedAfterCancel() {
		card, _, err := s.cardOf(t)
		if err != nil {
			return err
		}
		v, err := s.facts(t)
		if err != nil {
			return err
		}
		if err := s.nameBoth(t, v); err != nil {
			return err
		}
		return s.show("late:"+string(t.ID), card.Texts[StageLandedLate], v)
	}
	return nil
}

// notifyOnce sends the card of a payment as a new message when something happens that its owner must not miss: the payment failed,
// its outcome became unknown (Indeterminate), or an unknown outcome became known. Telegram sends no notification for edits.
// Each of these is sent once, even if its event is delivered again: a card row records it.
func (s *replyTx) notifyOnce(t wallet.Transaction) error {
	// what names the notification: each status notifies at most once, and so does an unknown outcome.
	what := string(t.Status)
	held, err := s.wasNotified(t, notifiedIndeterminate)
	switch {
	case err != nil:
		return err
	case t.Indeterminate:
		what = notifiedIndeterminate
	case held && (t.Closed || t.Status == wallet.Confirmed || t.Status == wallet.Failed):
		if err := s.markNotified(t, notifiedIndeterminate, s.now.Add(menuLife)); err != nil { // the unknown outcome is resolved: the mark may expire
			return err
		}
	}
	// Ordinary progress only edits the card. An unknown outcome and its end always notify, a failure and a confirmation if the person
	// wants to be notified of them.
	ended := held && !t.LandedAfterCancel() && (t.Status == wallet.Confirmed || t.Status == wallet.Failed || t.NeverLanded())
	wanted, err := s.tellsOutcome(t)
	if err != nil || !t.Indeterminate && !ended && !wanted {
		return err
	}
	// The mark is written in this transaction, so an event that is handled twice finds it.
	before, err := s.wasNotified(t, what)
	if err != nil {
		return err
	}
	until := s.now.Add(menuLife)
	if t.Indeterminate { // no expiry: the outcome may stay unknown for any length of time
		until = time.Time{}
	}
	if err := s.markNotified(t, what, until); err != nil || before {
		return err
	}
	return s.moveCard(TransactionCard(t.ID))
}

// tellsOutcome reports whether the person wants a new message about how their payment ended. That of a large payment, and a failure, do not wait
// for the end of quiet hours. In quiet hours other cards are edited alone, which disturbs nobody.
func (s *replyTx) tellsOutcome(t wallet.Transaction) (bool, error) {
	switch t.Status {
	case wallet.AwaitingSignature: // in quiet hours, too: the person knew the time, and the link does not wait for ever
		return t.WasDelayed(), nil
	case wallet.Failed:
		return s.user.Wants(wallet.CategoryFailed), nil
	case wallet.Confirmed:
		if t.LandedAfterCancel() { // which has a message of its own
			return false, nil
		}
		if s.user.Wants(wallet.CategoryConfirmed) && s.user.Settings.QuietUntil(s.now).IsZero() {
			return true, nil
		}
		return s.tellsLarge(t.Token, t.Amount)
	}
	return false, nil
}

// notifiedIndeterminate marks that the owner was notified of an unknown outcome.
const notifiedIndeterminate = "held"

// notifiedCard returns the name of the row that records a notification. It uses the table of cards, but no message has this card.
func notifiedCard(id wallet.TransactionID, what string) string {
	return "notified:" + string(id) + ":" + what
}

// wasNotified reports whether this notification was sent before.
func (s *replyTx) wasNotified(t wallet.Transaction, what string) (bool, error) {
	_, err := s.tx.Card(s.conv.Chat, notifiedCard(t.ID, what))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// markNotified records a notification until the given time; the zero time means without end.
func (s *replyTx) markNotified(t wallet.Transaction, what string, until time.Time) error {
	const noMessage = 0
	return s.tx.PutCard(s.conv.Chat, notifiedCard(t.ID, what), noMessage, until)
}

// redrawCard redraws a transaction's card after one of its steps, and lets the open conversation follow it.
func (s *replyTx) redrawCard(t wallet.Transaction) error {
	if err := s.card(t); err != nil {
		return err
	}
	if open := s.registry.byName[s.conv.Flow]; open != nil && open.follow != nil {
		return open.follow(s, t)
	}
	return nil
}

// card queues the message of a transaction in its current state: text and buttons. A later call replaces the message.
func (s *replyTx) card(t wallet.Transaction) error {
	v, err := s.facts(t)
	if err != nil {
		return err
	}
	if err := s.nameBoth(t, v); err != nil {
		return err
	}
	if t.Status == wallet.AwaitingConfirmation || t.Status == wallet.Delayed || t.Status == wallet.AwaitingSignature {
		v["To"], v["From"] = grouped(t.To.String()), grouped(t.From.String()) // in groups of four: the person compares them with their device
		if !t.RequestedDestination.IsZero() {
			v["Named"] = grouped(t.RequestedDestination.String())
		}
	}
	// A receipt names the sender as the person knows them.
	if t.Status == wallet.Received {
		if v["Who"], err = s.who(t.From); err != nil {
			return err
		}
	}
	text, err := s.cardText(t, v)
	if err != nil {
		return err
	}
	// The buttons fit the status: decide, sign, or what can be done after the end.
	r := Reply{Kind: Message, Text: string(text)}
	switch t.Status {
	case wallet.AwaitingConfirmation:
		r.Buttons, err = s.reviewButtons(t)
	case wallet.Delayed:
		r.Secret = waitsOnDevice(t)
		r.Buttons, err = s.delayButtons(t)
	case wallet.AwaitingSignature:
		r.Secret = true // the link opens the signing page with this transaction
		r.Buttons, err = s.signButtons(t)
	default:
		r.Buttons, err = s.endButtons(t)
	}
	if err != nil {
		return err
	}
	r.NewMessage = s.asNew
	return s.enqueue(r, TransactionCard(t.ID))
}

// cardText returns the text of a transaction's card at its current stage.
func (s *replyTx) cardText(t wallet.Transaction, v vars) (html, error) {
	card, stage, err := s.cardOf(t)
	if err != nil {
		return "", err
	}
	return s.words.text(card.Texts[stage], v)
}

// facts returns the variables that every text about a transaction may use. Amounts are formatted in the token's decimals, and
// fees and rent in SOL. Variables without a value are set too, since a text with a missing variable is an error.
//
// TellsRequester: the person who made a payment request is notified of its payment, so the payer learns this before
// confirming. The payer got the request's reference from that person, so the answer reveals nothing new.
func (s *replyTx) facts(t wallet.Transaction) (_ vars, err error) {
	v := vars{
		"Sum": t.Money().String(), "Amount": code(t.Money().String()), "Mint": html(""),
		"Rent": html(""), "Net": html(""), "Kept": html(""), "Named": html(""), "Memo": html(escape(t.Memo)), "Quoted": html(""), "Warnings": html(""),
		"SOL": t.Token.Native(),
		"To":  code(t.To.String()), "From": code(t.From.String()), "Sender": senderAddress(t),
		"Fee": code(wallet.Lamports(t.Fee).String()), "Left": code(t.Token.Amount(t.BalanceLeft).String()),
		"Unfunded": t.Unfunded, "ByApp": t.KeyID != "", "Network": s.network(), "NetworkName": s.networkName(),
		"Replaced": handlers.IsReplaced(t), "ByFreeze": handlers.IsByFreeze(t), "Signature": html(""), "Why": html(""), "KeyHint": html(""), "App": "", "Foreign": false, "Final": t.Closed, "ID": code(string(t.ID)),
		"ByProgram": t.KeyID != "" && t.Signer == wallet.DeveloperWallet, "Tail": code("…" + t.From.Tail()), "Asked": !t.PaymentRequestRef.IsZero(),
		"Who": code("…" + t.From.Tail()),
	}
	if v["Token"], err = s.sumName(t.Token); err != nil {
		return nil, err
	}
	if v["USD"], err = s.worth(t.Token, t.Amount); err != nil {
		return nil, err
	}
	maps.Copy(v, resemblance(t))
	maps.Copy(v, typedConfirmation(t))
	if v["TellsRequester"], err = s.Transfers.IsAwaited(s.tx, t); err != nil {
		return nil, err
	}
	if err := s.requested(t, v); err != nil {
		return nil, err
	}
	if t.Token.Symbol == "" {
		v["Mint"] = code(t.Token.Mint.String())
	}
	if t.Rent > 0 {
		v["Rent"] = code(wallet.Lamports(t.Rent).String())
	}
	if t.TransferFee > 0 {
		v["Net"], v["Kept"] = code(t.Token.Amount(t.Net()).String()), code(t.Token.Amount(t.TransferFee).String())
	}
	if !t.RequestedDestination.IsZero() {
		v["Named"] = code(t.RequestedDestination.String())
	}
	if v["Warnings"], err = s.warnings(t); err != nil {
		return nil, err
	}
	card, _, err := s.cardOf(t)
	if err != nil {
		return nil, err
	}
	// Kinds of transactions outside this package add variables of their own.
	if card.Vars != nil {
		maps.Copy(v, card.Vars(t))
	}
	if !t.Signature.IsZero() {
		v["Signature"] = code(t.Signature.String())
	}
	if err := s.failure(t, v); err != nil {
		return nil, err
	}
	return v, s.delay(t, v)
}

// failure adds to v why a transaction will not land.
func (s *replyTx) failure(t wallet.Transaction, v vars) (err error) {
	if key, ok := failures()[t.ErrorCode]; ok {
		v["Why"], err = s.words.text(key, nil)
	}
	return err
}

// requested adds to v who asked for a transaction, if a program did, and what its maker says of it.
func (s *replyTx) requested(t wallet.Transaction, v vars) (err error) {
	if t.KeyID != "" {
		if err := s.askedBy(t.KeyID, t.Owner, v); err != nil {
			return err
		}
	}
	v["Quoted"], err = s.quoted("card.quoted", t.Label, t.Purpose, t.KeyID != "")
	return err
}

// quoted returns what an app or a link says of a payment, who asks for it and what for, in the text of a key, which says whose
// words these are. "" if nothing is said.
func (s *replyTx) quoted(key, label, purpose string, byApp bool) (html, error) {
	if label == "" && purpose == "" {
		return "", nil
	}
	return s.words.text(key, vars{"Label": html(escape(label)), "Purpose": html(escape(purpose)), "ByApp": byApp})
}

// senderAddress is the address of a transaction's sender; "" if nobody knows it.
func senderAddress(t wallet.Transaction) html {
	if t.From.IsZero() {
		return ""
	}
	return code(t.From.String())
}

// askedBy adds the program that requested something to v: its app, and the hint of its key. Foreign is true if the key
// belongs to another person. A deleted key leaves v unchanged.
func (s *replyTx) askedBy(keyID string, person wallet.UserID, v vars) error {
	key, err := s.tx.Key(keyID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	v["KeyHint"], v["Foreign"] = html(escape(key.Hint)), key.Owner != person
	v["App"], err = s.appName(key.App)
	return err
}

// sumName returns the token's name to show after an amount. An unlisted token gets a generic name there, since its symbol
// could imitate another token; its whole mint address is on a line of its own.
func (s *replyTx) sumName(token wallet.Token) (html, error) {
	if token.Symbol == "" {
		return s.words.text("card.unlisted", nil)
	}
	return html(escape(token.Symbol)), nil
}

// typedConfirmation returns the variables of a card that say what its owner types to confirm: part of the address, or the amount.
func typedConfirmation(t wallet.Transaction) vars {
	before, _ := t.To.Middle()
	v := vars{"TypesAddress": t.Typing() == wallet.TypesAddress, "TypesAmount": html(""), "Before": grouped(before)}
	if t.Typing() == wallet.TypesAmount {
		v["TypesAmount"] = typedAmount(t)
	}
	return v
}

// typedAmount shows the amount that confirms a transaction, as it can be copied.
func typedAmount(t wallet.Transaction) html {
	return code(strings.TrimSpace(t.Money().String() + " " + t.Token.Symbol))
}

// failures is the catalogue key for each cause of a transaction that will not land. wallet.Transaction.ErrorReason is for
// programs and logs only.
func failures() map[wallet.Failure]string {
	return map[wallet.Failure]string{
		wallet.InsufficientBalance: "failure.insufficient_balance",
		wallet.BlockhashExpired:    "failure.blockhash_expired",
		wallet.ChainError:          "failure.chain_error",
		wallet.SimulationFailed:    "failure.simulation_failed",
	}
}

// reviewButtons are Confirm and Reject. If a fraud rule warns, there is no Confirm: the owner has to type part of the address or
// the amount (receiveTyped).
func (s *replyTx) reviewButtons(t wallet.Transaction) ([][]Button, error) {
	no, err := s.cardButton(t, "button.reject", "reject")
	if err != nil {
		return nil, err
	}
	rows := [][]Button{{no}}
	if t.Typing() == wallet.TypesNothing {
		yes, err := s.cardButton(t, "button.confirm", "confirm")
		if err != nil {
			return nil, err
		}
		rows[0] = []Button{yes, no}
	}
	more, err := s.delegateButtons(t)
	return append(rows, more...), err
}

// signButtons are the link to the signing page and Reject. A developer's wallet signs in their program, without a page.
func (s *replyTx) signButtons(t wallet.Transaction) ([][]Button, error) {
	label, err := s.words.text("button.sign", nil)
	if err != nil {
		return nil, err
	}
	no, err := s.cardButton(t, "button.reject", "reject")
	if t.Signer == wallet.DeveloperWallet {
		return [][]Button{{no}}, err
	}
	return [][]Button{{{Text: plain(label), URL: s.signingPage("s", t.SignID)}}, {no}}, err
}

// cardButton returns a button of a card that works until the transaction's deadline. Its nonce is derived from the
// transaction's state: a card that is drawn twice is the same message, so Telegram has nothing to edit. A derived nonce can
// be guessed, but a button works only for its owner, in their chat.
func (s *replyTx) cardButton(t wallet.Transaction, label, verb string) (Button, error) {
	return s.buttonUntil(t, label, verb, t.Deadline)
}

// buttonUntil is cardButton with another end, for buttons that outlive the deadline.
func (s *replyTx) buttonUntil(t wallet.Transaction, label, verb string, until time.Time) (Button, error) {
	text, err := s.words.text(label, nil)
	if err != nil {
		return Button{}, err
	}
	return s.buttonOf(nonceOf(string(t.ID), t.Reference.String(), t.SignID, string(t.Status), verb), text, verb, string(t.ID), until)
}

// endButtons are the buttons below a transaction that waits for nobody: open it in an explorer, check an unknown outcome
// again, save the recipient, or try again. Try again is offered only if the transaction can never land, since paying twice
// must be impossible.
func (s *replyTx) endButtons(t wallet.Transaction) ([][]Button, error) {
	rules, err := s.tx.Kinds().Of(t.Kind)
	if err != nil {
		return nil, err
	}
	rows, err := s.explorer(t)
	label, verb := "button.again", "again"
	switch {
	case err != nil:
		return nil, err
	case t.Indeterminate:
		label, verb = "button.check", "check"
	case rules.Pays && t.Status == wallet.Confirmed:
		return s.paidButtons(t, rows)
	case rules.Life != wallet.Outgoing || !t.NeverLanded() || t.Status == wallet.Rejected || t.RetriedBy != "" || t.KeyID != "":
		return rows, nil // a payment that an app proposed can be proposed again only by the app
	}
	b, err := s.buttonUntil(t, label, verb, s.now.Add(menuLife))
	return append(rows, []Button{b}), err
}

// paidButtons are the buttons below a confirmed payment: save the recipient as a contact, if they are none and not the
// person's own wallet, and send again.
func (s *replyTx) paidButtons(t wallet.Transaction, rows [][]Button) ([][]Button, error) {
	name, err := handlers.ContactName(s.tx, t)
	if err != nil {
		return nil, err
	}
	own, err := s.tx.Wallet(t.To)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	var row []Button
	if name == "" && (err != nil || own.Owner != t.Owner) {
		b, err := s.buttonUntil(t, "button.save_contact", "savecontact", s.now.Add(menuLife))
		if err != nil {
			return nil, err
		}
		row = append(row, b)
	}
	again, err := s.buttonUntil(t, "button.send_again", "sendagain", s.now.Add(menuLife))
	return append(rows, append(row, again)), err
}

// explorer returns a button that opens a landed transaction in an explorer, or nil if there is no explorer or no landing.
func (s *replyTx) explorer(t wallet.Transaction) ([][]Button, error) {
	if s.ExplorerURL == "" || t.Landing == nil || t.Signature.IsZero() {
		return nil, nil
	}
	label, err := s.words.text("button.explorer", nil)
	if err != nil {
		return nil, err
	}
	return [][]Button{{{Text: plain(label), URL: s.explorerLink(t.Signature)}}}, nil
}

// explorerLink fills a signature and the cluster into Options.ExplorerURL. It translates purser's names of networks into those
// of Solana's explorers: mainnet is mainnet-beta, and localnet is custom.
func (c *Chat) explorerLink(signature wallet.Signature) string {
	cluster := map[string]string{wallet.Mainnet: "mainnet-beta", wallet.Localnet: "custom"}[c.Cluster]
	if cluster == "" {
		cluster = c.Cluster
	}
	link := strings.ReplaceAll(c.ExplorerURL, "{cluster}", cluster)
	if !strings.Contains(link, "{signature}") {
		return strings.TrimRight(link, "/") + "/tx/" + signature.String()
	}
	return strings.ReplaceAll(link, "{signature}", signature.String())
}
