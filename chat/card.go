package chat

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// TransactionCard names the one message that shows a transaction, drawn anew at each of its states.
func TransactionCard(id wallet.TransactionID) string { return "tx:" + string(id) }

// paymentEvents are the steps that the card of every transaction shows, and the receipt of what came in.
func paymentEvents() map[wallet.EventName]notice {
	out := map[wallet.EventName]notice{
		wallet.TransactionReceived: {priority: alerts, optional: true, notify: withTransaction((*replyTx).notifyReceived)},
	}
	for _, name := range []wallet.EventName{wallet.TransactionProposed, wallet.TransactionApproved, wallet.TransactionSigned, wallet.TransactionPending,
		wallet.TransactionConfirmed, wallet.TransactionFailed, wallet.TransactionHeld, wallet.TransactionRolledBack, wallet.TransactionClosed} {
		out[name] = notice{priority: confirmations, notify: withTransaction((*replyTx).showTransaction)}
	}
	return out
}

// showTransaction draws the card of a transaction as it stands, and moves the conversation that was about it.
func (s *replyTx) showTransaction(t wallet.Transaction) error {
	if err := s.ring(t); err != nil {
		return err
	}
	if err := s.drawn(t); err != nil {
		return err
	}
	if t.LandedAfterCancel() { // an edit rings no bell, and this one surprises
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

// ring has the card of a payment sent anew, below all others, when something became of it that its owner must
// not miss: it failed, nobody can tell whether it went through, or that became clear. An edit rings no bell.
// Each of these rings once, however often its event comes.
func (s *replyTx) ring(t wallet.Transaction) error {
	what := string(t.Status)
	held, err := s.rang(t, rangHeld)
	switch {
	case err != nil:
		return err
	case t.Indeterminate:
		what = rangHeld
	case held && (t.Closed || t.Status == wallet.Confirmed || t.Status == wallet.Failed):
		if err := s.keepRang(t, rangHeld, s.now.Add(menuLife)); err != nil { // its end rings now
			return err
		}
	}
	if !t.Indeterminate && t.Status != wallet.Failed && (!held || t.LandedAfterCancel() || t.Status != wallet.Confirmed && !t.NeverLanded()) {
		return nil
	}
	before, err := s.rang(t, what)
	if err != nil {
		return err
	}
	until := s.now.Add(menuLife)
	if t.Indeterminate { // however long that takes
		until = time.Time{}
	}
	if err := s.keepRang(t, what, until); err != nil || before {
		return err
	}
	return s.moveCard(TransactionCard(t.ID))
}

// rangHeld marks that the owner was told that nobody can tell what became of a payment.
const rangHeld = "held"

// rangCard is the mark that something rang. No message shows it (store.Chats.Card).
func rangCard(id wallet.TransactionID, what string) string { return "rang:" + string(id) + ":" + what }

// rang tells whether something rang before.
func (s *replyTx) rang(t wallet.Transaction, what string) (bool, error) {
	_, err := s.tx.Card(s.conv.Chat, rangCard(t.ID, what))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// keepRang remembers until then that something rang; the zero time is for good.
func (s *replyTx) keepRang(t wallet.Transaction, what string, until time.Time) error {
	const noMessage = 0
	return s.tx.PutCard(s.conv.Chat, rangCard(t.ID, what), noMessage, until)
}

// drawn shows a transaction's card after a step of it, and lets the conversation follow.
func (s *replyTx) drawn(t wallet.Transaction) error {
	if err := s.card(t); err != nil {
		return err
	}
	by, ok := s.follows(t)
	if !ok {
		return nil
	}
	if err := s.transition(sendFlow, by); err != nil {
		return err
	}
	if s.state() == signing {
		s.conv.ExpiresAt = t.Deadline
	}
	return nil
}

// follows is what a transaction's state means for the conversation, if it is about that one.
func (s *replyTx) follows(t wallet.Transaction) (Trigger, bool) {
	if s.conv.Flow != sendFlow || dataOf[payment](s).Transaction != t.ID || s.state() != inReview && s.state() != signing {
		return "", false
	}
	switch t.Status {
	case wallet.AwaitingConfirmation:
		return "", false
	case wallet.AwaitingSignature:
		return confirmed, s.state() == inReview
	case wallet.Signed, wallet.Pending:
		if s.state() == signing {
			return signed, true
		}
	}
	return ended, true
}

// card queues a transaction's message as it stands now.
func (s *replyTx) card(t wallet.Transaction) error {
	v, err := s.facts(t)
	if err != nil {
		return err
	}
	if err := s.nameBoth(t, v); err != nil {
		return err
	}
	if t.Status == wallet.AwaitingConfirmation || t.Status == wallet.AwaitingSignature {
		v["To"], v["From"] = grouped(t.To.String()), grouped(t.From.String()) // to be compared
		if !t.RequestedDestination.IsZero() {
			v["Named"] = grouped(t.RequestedDestination.String())
		}
	}
	if t.Status == wallet.Received {
		if v["Who"], err = s.who(t.From); err != nil {
			return err
		}
	}
	text, err := s.cardText(t, v)
	if err != nil {
		return err
	}
	r := Reply{Kind: Message, Text: string(text)}
	switch t.Status {
	case wallet.AwaitingConfirmation:
		r.Buttons, err = s.reviewButtons(t)
	case wallet.AwaitingSignature:
		r.Secret = true // the link opens the signing of this transaction
		r.Buttons, err = s.signButtons(t)
	default:
		r.Buttons, err = s.endButtons(t)
	}
	if err != nil {
		return err
	}
	r.Anew = s.anew
	return s.enqueue(r, TransactionCard(t.ID))
}

// cardText is what the card of a transaction says at its stage.
func (s *replyTx) cardText(t wallet.Transaction, v vars) (html, error) {
	card, stage, err := s.cardOf(t)
	if err != nil {
		return "", err
	}
	return s.words.text(card.Texts[stage], v)
}

// facts are what every text about a transaction may use.
func (s *replyTx) facts(t wallet.Transaction) (_ vars, err error) {
	v := vars{
		"Sum": t.Money().String(), "Amount": code(t.Money().String()), "Mint": html(""),
		"Rent": html(""), "Net": html(""), "Kept": html(""), "Named": html(""), "Memo": html(escape(t.Memo)), "Label": html(escape(t.Label)), "Warnings": html(""),
		"SOL": t.Token.Native(),
		"To":  code(t.To.String()), "From": code(t.From.String()), "Sender": code(t.From.String()),
		"Fee": code(wallet.Lamports(t.Fee).String()), "Left": code(t.Token.Amount(t.BalanceLeft).String()),
		"Unfunded": t.Unfunded, "ByApp": t.KeyID != "", "Network": s.network(),
		"Signature": html(""), "Why": html(""), "KeyHint": html(""), "App": "", "Foreign": false, "Final": t.Closed, "ID": code(string(t.ID)),
		"ByProgram": t.KeyID != "" && t.Signer == wallet.DeveloperWallet, "Tail": code("…" + t.From.Tail()), "Asked": !t.PaymentRequestRef.IsZero(),
		"Who": code("…" + t.From.Tail()),
	}
	if v["Token"], err = s.sumName(t.Token); err != nil {
		return nil, err
	}
	maps.Copy(v, resemblance(t))
	if v["TellsRequester"], err = s.requesterIsTold(t); err != nil {
		return nil, err
	}
	if t.KeyID != "" {
		if err := s.askedBy(t.KeyID, t.Owner, v); err != nil {
			return nil, err
		}
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
	if card.Vars != nil {
		maps.Copy(v, card.Vars(t))
	}
	if !t.Signature.IsZero() {
		v["Signature"] = code(t.Signature.String())
	}
	if key, ok := failures()[t.ErrorCode]; ok {
		why, err := s.words.text(key, nil)
		if err != nil {
			return nil, err
		}
		v["Why"] = why
	}
	return v, nil
}

// requesterIsTold tells whether t pays a request that was made here and still waits: its maker is told of the payment.
// Whoever pays has the request's reference from its maker.
func (s *replyTx) requesterIsTold(t wallet.Transaction) (bool, error) {
	if t.PaymentRequestRef.IsZero() {
		return false, nil
	}
	to, err := s.tx.Wallet(t.To)
	if errors.Is(err, store.ErrNotFound) || err == nil && to.Owner == "" {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	const look = 100 // without an end this would be as long as a history is
	past, err := s.tx.TransactionsOf(to.Owner, store.Page{Limit: look})
	kinds := s.tx.Kinds()
	return slices.ContainsFunc(past, func(r wallet.Transaction) bool {
		rules, err := kinds.Of(r.Kind) // a row of another kind was not read
		return err == nil && rules.Awaits(r) && r.Reference == t.PaymentRequestRef && r.To == t.To && r.Token.Mint == t.Token.Mint && r.Amount == t.Net() && s.now.Before(r.Deadline)
	}), err
}

// askedBy names the program that asked something of a person: its app, and the key where it is their own.
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

// sumName is a token after an amount: the whole mint of an unlisted one stands on a line of its own.
func (s *replyTx) sumName(token wallet.Token) (html, error) {
	if token.Symbol == "" {
		return s.words.text("card.unlisted", nil)
	}
	return html(escape(token.Symbol)), nil
}

// warnings is what the owner should know before they confirm, a line each.
func (s *replyTx) warnings(t wallet.Transaction) (html, error) {
	var lines []string
	for _, w := range t.Warnings {
		if w == wallet.WarnNewRecipient && t.Unfunded { // the card says so, and more
			continue
		}
		text, err := s.words.text(warnings()[w], nil)
		if err != nil {
			return "", err
		}
		lines = append(lines, "⚠️ "+string(text))
	}
	return html(strings.Join(lines, "\n\n")), nil
}

// warnings is what is said of each.
func warnings() map[wallet.Warning]string {
	return map[wallet.Warning]string{
		wallet.WarnNewRecipient: "warning.new_recipient",
		wallet.WarnUnlisted:     "warning.unlisted_token",
		wallet.WarnDelegate:     "warning.permanent_delegate",
		wallet.WarnScaled:       "warning.scaled_amounts",
		wallet.WarnUnknown:      "warning.unknown_extensions",
		wallet.WarnAllSOL:       "warning.all_sol",
	}
}

// failures is what is said of a transaction that ended without landing. The reason of the lifecycle
// (wallet.Transaction.ErrorText) is written for programs and logs.
func failures() map[wallet.Failure]string {
	return map[wallet.Failure]string{
		wallet.InsufficientBalance: "failure.insufficient_balance",
		wallet.BlockhashExpired:    "failure.blockhash_expired",
		wallet.ChainError:          "failure.chain_error",
		wallet.SimulationFailed:    "failure.simulation_failed",
	}
}

func (s *replyTx) reviewButtons(t wallet.Transaction) ([][]Button, error) {
	no, err := s.cardButton(t, "button.reject", "reject")
	if err != nil || !t.PoisoningSuspect.IsZero() { // a look-alike is confirmed by typing
		return [][]Button{{no}}, err
	}
	yes, err := s.cardButton(t, "button.confirm", "confirm")
	return [][]Button{{yes, no}}, err
}

func (s *replyTx) signButtons(t wallet.Transaction) ([][]Button, error) {
	label, err := s.words.text("button.sign", nil)
	if err != nil {
		return nil, err
	}
	no, err := s.cardButton(t, "button.reject", "reject")
	if t.Signer == wallet.DeveloperWallet { // no page holds its key
		return [][]Button{{no}}, err
	}
	return [][]Button{{{Text: plain(label), URL: s.signingPage("s", t.SignID)}}, {no}}, err
}

// cardButton makes a button of a card. Its nonce follows from the transaction's state, so that a
// card which is drawn twice is the same message, and Telegram has nothing to edit. That it can be
// worked out is no loss: a button counts only for its owner, in their chat.
func (s *replyTx) cardButton(t wallet.Transaction, label, verb string) (Button, error) {
	return s.buttonUntil(t, label, verb, t.Deadline)
}

func (s *replyTx) buttonUntil(t wallet.Transaction, label, verb string, until time.Time) (Button, error) {
	text, err := s.words.text(label, nil)
	if err != nil {
		return Button{}, err
	}
	return s.buttonOf(nonceOf(string(t.ID), t.Reference.String(), t.SignID, string(t.Status), verb), text, verb, string(t.ID), until)
}

// endButtons are below a transaction that needs nobody any more: to see it elsewhere, to look for it
// once more, or to try it again, which is offered only when it can never land.
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
		return rows, nil // what an app asked for, the app may ask for again
	}
	b, err := s.buttonUntil(t, label, verb, s.now.Add(menuLife))
	return append(rows, []Button{b}), err
}

// paidButtons are below a payment that went through.
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

// explorer is a button to see a landed transaction elsewhere; none without an explorer.
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

// explorerLink puts a signature into the explorer's address (see Options.ExplorerURL).
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
