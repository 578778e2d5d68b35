package chat

import (
	"encoding/json"
	"errors"
	"math/bits"
	"slices"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// receiptOf returns the receipt of one payment.
func receiptOf(t wallet.Transaction) Receipts {
	r := Receipts{Count: 1}
	if !t.PaymentRequestRef.IsZero() {
		r.Requested = 1
	}
	if t.Token.Symbol == "" {
		r.Unlisted = 1
	} else {
		r.Totals = []ReceiptTotal{{t.Token, t.Amount}}
	}
	return r
}

// plus returns the sum of two receipts and changes neither.
func (r Receipts) plus(other Receipts) Receipts {
	sum := Receipts{Count: r.Count + other.Count, Requested: r.Requested + other.Requested, Unlisted: r.Unlisted + other.Unlisted, Totals: slices.Clone(r.Totals)}
	for _, more := range other.Totals {
		sum.add(more)
	}
	return sum
}

// add adds an amount in base units to the token's total. If the sum would overflow 64 bits, it starts another total for the
// token: anybody can create a token with any supply, and a receipt must never show a wrong sum.
func (r *Receipts) add(more ReceiptTotal) {
	for i, total := range r.Totals {
		units, carry := bits.Add64(total.Units, more.Units, 0)
		if total.Token == more.Token && carry == 0 {
			r.Totals[i].Units = units
			return
		}
	}
	r.Totals = append(r.Totals, more)
}

// receiptsAtOnce is how many of a chat's queued messages are searched for a receipt.
const receiptsAtOnce = 100

// takeWaitingReceipts removes the receipt that is still queued for a chat and returns it, so that it can be sent together
// with a new one. It leaves receipts that a worker has already tried to send: Telegram may have them. ok is false if there is
// none.
func takeWaitingReceipts(tx store.Tx, chat int64) (r Receipts, ok bool, err error) {
	waiting, err := tx.JobsOfKey(store.Outbox, store.ChatKey(chat), receiptsAtOnce)
	if err != nil {
		return Receipts{}, false, err
	}
	for _, job := range slices.Backward(waiting) {
		reply := Reply{}
		row, err := store.ReplyOf(job)
		if err != nil || job.Attempt > 0 || json.Unmarshal(row.Body, &reply) != nil || reply.Receipts == nil {
			continue
		}
		return *reply.Receipts, true, tx.RemoveJobs(store.Outbox, job.ID)
	}
	return Receipts{}, false, nil
}

// urgentReceipt reports whether a payment came in that the person must know of even in quiet hours: a large one, or one that was
// shown as arriving.
func urgentReceipt(s *replyTx, event wallet.Event) (urgent bool, err error) {
	err = withTransaction(func(s *replyTx, t wallet.Transaction) error {
		_, missing := s.tx.Card(s.conv.Chat, arrivingMark(t.ID))
		urgent = missing == nil
		large, err := s.tellsLarge(t.Token, t.Amount)
		urgent = urgent || large
		return err
	})(s, event)
	return urgent, err
}

// tellsLarge reports whether an amount is large for the person (wallet.Settings.Large) and they want to know. What nobody knows the price of is not, and neither is an
// unlisted token, to which anybody can give any price.
func (s *replyTx) tellsLarge(token wallet.Token, units uint64) (bool, error) {
	if token.Symbol == "" || !s.user.Wants(wallet.CategoryLarge) {
		return false, nil
	}
	prices, err := s.tx.Prices([]wallet.Address{token.Mint})
	if err != nil {
		return false, err
	}
	worth := wallet.WorthOf(prices[token.Mint], token.Amount(units), s.now)
	large, err := handlers.LargeFor(s.tx, s.user.Settings, s.now)
	return large > 0 && !worth.Unknown && worth.USD >= large, err
}

// notifyReceived notifies the owner of a wallet of an incoming payment. If an earlier receipt is still queued, both become
// one message: a flood of tiny payments must not delay the messages that the person waits for. A large payment has a message of its own.
//
// A payment that was shown as arriving ends in that message.
func (s *replyTx) notifyReceived(t wallet.Transaction) error {
	large, err := s.tellsLarge(t.Token, t.Amount)
	if err != nil {
		return err
	}
	switch _, err := s.tx.Card(s.conv.Chat, arrivingMark(t.ID)); {
	case err == nil:
		return s.showReceipt(t, nil) // not taken into a later message: this one would go on to say that it arrives
	case !errors.Is(err, store.ErrNotFound):
		return err
	case large:
		return s.showReceipt(t, nil)
	case !s.user.Wants(wallet.CategoryReceived) && t.PaymentRequestRef.IsZero(): // a requested payment is reported all the same
		return nil
	}
	before, several, err := takeWaitingReceipts(s.tx, s.conv.Chat)
	switch {
	case err != nil:
		return err
	case several:
		return s.showReceipts("receipts:"+string(t.ID), before.plus(receiptOf(t)))
	}
	receipt := receiptOf(t)
	return s.showReceipt(t, &receipt)
}

// arrivingMark names the row that records that a payment was shown as arriving. It uses the table of cards, but no message has
// this card: the message is that of the payment's receipt (TransactionCard).
func arrivingMark(id wallet.TransactionID) string { return "arriving:" + string(id) }

// notifyArriving shows a payment that is confirmed and not final yet, or says that it will not arrive. Its receipt comes in the
// same message.
func (s *replyTx) notifyArriving(data wallet.PaymentArrivingData) error {
	if _, err := s.tx.Transaction(data.TransactionID); !errors.Is(err, store.ErrNotFound) { // it is final already
		return err
	}
	mark := arrivingMark(data.TransactionID)
	large, err := s.tellsLarge(data.Token, data.Units)
	if err != nil {
		return err
	}
	// In quiet hours a payment is not shown before it is final, since only its receipt can wait.
	tells := large || s.user.Wants(wallet.CategoryReceived) && s.user.Settings.QuietUntil(s.now).IsZero()
	switch _, err := s.tx.Card(s.conv.Chat, mark); {
	case data.Outcome == wallet.StillArriving && !tells:
		return nil
	case data.Outcome != wallet.StillArriving && errors.Is(err, store.ErrNotFound): // nobody saw it arrive
		return nil
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return err
	}
	t := wallet.Transaction{ID: data.TransactionID, Kind: wallet.Receive, Status: wallet.Received, Owner: s.user.ID, From: data.Sender, To: data.WalletAddress,
		Token: data.Token, Amount: data.Units, Signature: data.Signature, CreatedAt: s.now}
	v, err := s.facts(t)
	if err != nil {
		return err
	}
	if v["Who"], err = s.who(t.From); err != nil {
		return err
	}
	v["Asked"] = data.Requested
	until := s.now.Add(menuLife)
	const noMessage = 0
	if err := s.tx.PutCard(s.conv.Chat, mark, noMessage, until); err != nil {
		return err
	}
	text := map[string]string{wallet.StillArriving: "received.arriving", wallet.DidNotArrive: "received.dropped", wallet.UnknownArrival: "received.unknown"}
	if err := s.show(TransactionCard(t.ID), text[data.Outcome], v); err != nil {
		return err
	}
	s.out[len(s.out)-1].CardUntil = until
	return nil
}

// notifyFolded sends the summary of payments that are not announced one by one.
func (s *replyTx) notifyFolded(data wallet.PaymentsFoldedData) error {
	rows, err := s.menu("button.history", "/wallet history all")
	if err != nil {
		return err
	}
	return s.reply("receipts.folded", vars{"Count": data.Count}, rows...)
}

// showReceipt sends the receipt of one payment with all details. fold is what a later receipt adds to its own while this one
// waits to be sent; nil: it is sent by itself.
func (s *replyTx) showReceipt(t wallet.Transaction, fold *Receipts) error {
	v, err := s.facts(t)
	if err != nil {
		return err
	}
	if v["Who"], err = s.who(t.From); err != nil {
		return err
	}
	text, err := s.cardText(t, v)
	if err != nil {
		return err
	}
	rows, err := s.explorer(t)
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: rows, Receipts: fold}, TransactionCard(t.ID))
}

// showReceipts sends one message about several payments: their number, and the sum of each token.
func (s *replyTx) showReceipts(card string, r Receipts) error {
	var lines []string
	for _, total := range r.Totals {
		line, err := s.words.text("receipts.total", vars{"Sum": total.Token.Amount(total.Units).String(), "Token": total.Token.Symbol})
		if err != nil {
			return err
		}
		lines = append(lines, string(line))
	}
	if r.Unlisted > 0 {
		line, err := s.words.text("receipts.unlisted", vars{"Count": r.Unlisted})
		if err != nil {
			return err
		}
		lines = append(lines, string(line))
	}
	text, err := s.words.text("receipts.text", vars{"N": r.Count, "Asked": r.Requested > 0, "Requests": r.Requested, "Network": s.network(), "Lines": html(strings.Join(lines, "\n"))})
	if err != nil {
		return err
	}
	rows, err := s.menu("button.history", "/wallet history")
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: rows, Receipts: &r}, card)
}
