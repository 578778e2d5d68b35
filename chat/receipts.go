package chat

import (
	"encoding/json"
	"math/bits"
	"slices"
	"strings"

	"purser/store"
	"purser/wallet"
)

// receiptOf is what there is to be told of one payment.
func receiptOf(t wallet.Transaction) Receipts {
	r := Receipts{Count: 1}
	if !t.PaymentRequestRef.IsZero() {
		r.Asked = 1
	}
	if t.Token.Symbol == "" {
		r.Unlisted = 1
	} else {
		r.Totals = []ReceiptTotal{{t.Token, t.Amount}}
	}
	return r
}

// plus is both together, without changing either.
func (r Receipts) plus(other Receipts) Receipts {
	sum := Receipts{Count: r.Count + other.Count, Asked: r.Asked + other.Asked, Unlisted: r.Unlisted + other.Unlisted, Totals: slices.Clone(r.Totals)}
	for _, more := range other.Totals {
		sum.add(more)
	}
	return sum
}

// add adds to the total of the token that has room for it.
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

// receiptsAtOnce bounds how many of a person's waiting messages are looked through for a receipt.
const receiptsAtOnce = 100

// takeWaitingReceipts removes the receipt that still waits for a person, and that no worker has had in its hands: what
// it says is told together with what came since. ok is false when there is none.
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

// notifyReceived tells the owner of a wallet of a payment that came in. Payments that come faster than a chat takes
// messages are told in one message: ninety payments of next to nothing must not hold up what the person wants to know.
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

// showReceipt tells of one payment, with all that is known of it.
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

// showReceipts tells of several payments: how many they are, and what came in all.
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
	text, err := s.words.text("receipts.text", vars{"N": r.Count, "Asked": r.Asked > 0, "Requests": r.Asked, "Network": s.network(), "Lines": html(strings.Join(lines, "\n"))})
	if err != nil {
		return err
	}
	rows, err := s.menu("button.history", "/wallet history")
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: rows, Receipts: &r}, card)
}
