package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"purser/store"
	"purser/wallet"
)

// check compares every read with the model.
func (m *model) check(tx store.Tx) error {
	for id, want := range m.users {
		got, err := tx.UserByTelegram(want.TelegramID)
		if err := errors.Join(err, differ("user "+string(id), got, want)); err != nil {
			return err
		}
	}
	if err := m.checkWallets(tx); err != nil {
		return err
	}
	if err := errors.Join(m.checkTransactions(tx), m.checkContacts(tx), m.checkDeliveries(tx)); err != nil {
		return err
	}
	for who, want := range m.talks {
		got, err := tx.Conversation(who[0], who[1], "")
		if err := errors.Join(err, differ("conversation", got, want)); err != nil {
			return err
		}
	}
	pending, err := tx.PendingEvents(1 << 20)
	return errors.Join(err,
		differ("events", len(pending), len(m.pending)),
		differ("events", append([]wallet.Event{}, pending...), append([]wallet.Event{}, m.pending...)))
}

func (m *model) checkWallets(tx store.Tx) error {
	for n := range 3 {
		owner := wallet.UserID(fmt.Sprintf("usr_%d", n))
		var want []wallet.Wallet
		for _, w := range m.wallets {
			if w.Owner == owner {
				want = append(want, w)
			}
		}
		slices.SortFunc(want, func(a, b wallet.Wallet) int {
			return cmp.Or(a.ConnectedAt.Compare(b.ConnectedAt), slices.Compare(a.Address[:], b.Address[:]))
		})
		got, err := tx.WalletsOf(owner)
		if err := errors.Join(err, differ("wallets of "+string(owner), got, want)); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) checkTransactions(tx store.Tx) error {
	oldest := slices.SortedFunc(maps.Values(m.transactions), func(a, b wallet.Transaction) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	pick := func(of func(wallet.Transaction) bool) []wallet.Transaction {
		var out []wallet.Transaction
		for _, t := range oldest {
			if of(t) {
				out = append(out, t)
			}
		}
		return out
	}
	got, err := tx.UnsettledTransactions(wallet.Transaction{}, 1<<20)
	if err := errors.Join(err, differ("unsettled", got, pick(func(t wallet.Transaction) bool { return !t.Closed }))); err != nil {
		return err
	}
	for n := byte(1); n <= 3; n++ {
		got, err := tx.UnsettledFrom(wallet.Address{n})
		want := pick(func(t wallet.Transaction) bool { return !t.Closed && t.From == wallet.Address{n} })
		if err := errors.Join(err, differ("unsettled from", got, want)); err != nil {
			return err
		}
		if err := checkReservations(tx, wallet.Address{n}, want); err != nil {
			return err
		}
		owner := wallet.UserID(fmt.Sprintf("usr_%d", n-1))
		got, err = tx.UnsettledOf(owner)
		if err := errors.Join(err, differ("unsettled of", got, pick(func(t wallet.Transaction) bool { return !t.Closed && t.Owner == owner }))); err != nil {
			return err
		}
		got, err = tx.TransactionsOf(owner, store.Page{Limit: 1 << 20})
		want = pick(func(t wallet.Transaction) bool { return t.Owner == owner })
		slices.Reverse(want)
		if err := errors.Join(err, differ("transactions of", got, want)); err != nil {
			return err
		}
		at := wallet.Address{n}
		got, err = tx.TransactionsAt(at, store.Page{Limit: 1 << 20})
		concern := pick(func(t wallet.Transaction) bool {
			return t.Kind != wallet.Receive && t.From == at || t.Kind == wallet.Receive && t.To == at
		})
		slices.Reverse(concern)
		if err := errors.Join(err, differ("transactions at", got, concern)); err != nil {
			return err
		}
		var paid []wallet.Address
		for _, t := range want { // newest first already
			if wallet.SendRules().Reached(t) && !slices.Contains(paid, t.To) {
				paid = append(paid, t.To)
			}
		}
		to, err := tx.Recipients(wallet.UserID(owner), 1<<20)
		if err := errors.Join(err, differ("recipients of", to, paid)); err != nil {
			return err
		}
	}
	for _, want := range m.transactions {
		if want.SignID != "" {
			got, err := tx.TransactionBySignID(want.SignID)
			if err := errors.Join(err, differ("by sign id", got, want)); err != nil {
				return err
			}
		}
		if !want.Signature.IsZero() {
			got, err := tx.TransactionBySignature(want.Signature)
			if err := errors.Join(err, differ("by signature", got, want)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *model) checkDeliveries(tx store.Tx) error {
	var errs []error
	var busy []wallet.WebhookID
	for _, id := range slices.Sorted(maps.Keys(m.hooks)) {
		var want []store.Delivery
		for _, d := range m.posts {
			if d.Webhook == id {
				want = append(want, d)
			}
		}
		slices.SortFunc(want, func(a, b store.Delivery) int {
			return cmp.Or(cmp.Compare(a.Urgency, b.Urgency), cmp.Compare(a.Seq, b.Seq))
		})
		if len(want) > 0 {
			busy = append(busy, id)
		}
		got, err := wholeLine(tx, id, store.Position{}, 1<<20)
		errs = append(errs, err, differ("deliveries of "+string(id), got, want))
	}
	waited, err := tx.WaitingWebhooks()
	errs = append(errs, err, differ("who is waited for", waited, busy))
	for n := range 3 {
		line := fmt.Sprint("key_", n)
		var want []wallet.Webhook
		for _, w := range m.hooks {
			if w.Lineage == line {
				want = append(want, w)
			}
		}
		slices.SortFunc(want, func(a, b wallet.Webhook) int {
			return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
		})
		got, err := tx.WebhooksOf(line)
		errs = append(errs, err, differ("webhooks of "+line, got, want))
	}
	list, err := tx.OutboxEvents(1 << 20)
	var events []wallet.Event
	for _, a := range list {
		events = append(events, a.Event)
	}
	return errors.Join(append(errs, err, differ("outbox_events", append([]wallet.Event{}, events...), append([]wallet.Event{}, m.announced...)))...)
}

func (m *model) checkContacts(tx store.Tx) error {
	for n := range 4 {
		owner := fmt.Sprintf("usr_%d", n)
		var want []wallet.Contact
		for _, name := range []string{"bank", "rent", "émile"} {
			if c, ok := m.contacts[[2]string{owner, name}]; ok {
				want = append(want, c)
			}
		}
		got, err := tx.ContactsOf(wallet.UserID(owner))
		if err := errors.Join(err, differ("contacts of "+owner, got, want)); err != nil {
			return err
		}
	}
	return nil
}

// checkReservations compares what is held back from an address with what the rows say.
func checkReservations(tx store.Tx, from wallet.Address, unsettled []wallet.Transaction) error {
	got, err := tx.ReservationsFrom(from)
	if err != nil {
		return err
	}
	var want []wallet.Reservation
	for _, t := range unsettled {
		rules, err := tx.Kinds().Of(t.Kind)
		if err != nil {
			return err
		}
		if held, ok := rules.Reservation(t); ok {
			want = append(want, held)
		}
	}
	return differ("reservations from", got, want)
}
