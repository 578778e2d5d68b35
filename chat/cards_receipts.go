package chat

import (
	"encoding/json"
	"math/bits"
	"slices"
	"strings"

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

// notifyReceived notifies the owner of a wallet of an incoming payment. If an earlier receipt is still queued, both become
// one message: a flood of tiny payments must not delay the messages that the person waits for.
func (s *replyTx) notifyReceived(t wallet.Transaction) error {
	before, several, err := takeWaitingReceipts(s.tx, s.conv.Chat)
	switch {
	case err != nil:
		return err
	case several:
		return s.showReceipts("receipts:"+string(t.ID), before.plus(receiptOf(t)))
	}
	return s.showReceipt(t)
}

// notifyFolded sends the summary of payments that are not announced one by one. Who does not want to be notified of payments
// does not get it either.
func (s *replyTx) notifyFolded(data wallet.PaymentsFoldedData) error {
	if !s.user.Wants(string(wallet.TransactionReceived)) {
		return nil
	}
	rows, err := s.menu("button.history", "/wallet history all")
	if err != nil {
		return err
	}
	return s.reply("receipts.folded", vars{"One": data.Count == 1, "N": data.Count}, rows...)
}

// showReceipt sends the receipt of one payment with all details.
func (s *replyTx) showReceipt(t wallet.Transaction) error {
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
	receipt := receiptOf(t)
	return s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: rows, Receipts: &receipt}, TransactionCard(t.ID))
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
		line, err := s.words.text("receipts.unlisted", vars{"One": r.Unlisted == 1, "N": r.Unlisted})
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
