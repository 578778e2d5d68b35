package settle_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// shifty is a chain whose histories are off by some slots.
type shifty struct {
	*moneyLedger
	by uint64
}

func (s *shifty) Walk(ctx context.Context, q wallet.HistoryQuery) (wallet.HistoryWalk, error) {
	walk, err := s.moneyLedger.Walk(ctx, q)
	for i := range walk.Entries {
		walk.Entries[i].Slot -= s.by
	}
	return walk, err
}

// watchesToo has the watcher of Bob's wallet know a token account of his from now on.
func (r *watching) watchesToo(chain *moneyLedger, account wallet.Address) {
	r.Helper()
	chain.tokens = map[wallet.Address]*wallet.TokenAccount{account: {Address: account, Owner: r.bob.Address()}}
	r.Must(r.Update(func(tx store.Tx) error {
		row, err := tx.Watch(r.bob.Address())
		if err != nil {
			return err
		}
		row.Accounts = append(row.Accounts, wallet.WatchedAccount{Address: account, Slot: chain.slot, Exists: true, Units: chain.balances[account], Mark: wallet.Watermark{Slot: chain.slot + 1}})
		return tx.PutWatch(row)
	}))
}

// TestAFloodBringsNoOldPayments: a flood has the newest transactions of each account read out of turn. What lies before the
// account was watched is not among them.
func TestAFloodBringsNoOldPayments(t *testing.T) {
	r, chain := onLedger(t)
	account := wallet.Address{50}
	for i := range 5 {
		chain.pay(account, uint64(i+1)*sol)
	}
	r.watchesToo(chain, account)
	r.Pass(time.Minute)
	for range 150 {
		chain.pay(r.bob.Address(), 1)
	}
	chain.pay(account, 77*sol)
	chain.tokens[account] = &wallet.TokenAccount{Address: account, Owner: r.bob.Address(), Units: 77}
	r.look()
	if got := r.told(); !slices.Equal(got, []string{"77 SOL to bob"}) {
		t.Errorf("announced were %q", got)
	}
}

// TestAWrongSlotInAHistoryLosesNothing: the slot that the transaction shows counts, if it shows the same once more.
func TestAWrongSlotInAHistoryLosesNothing(t *testing.T) {
	r, chain := onLedger(t)
	liar := &shifty{moneyLedger: chain, by: 1}
	r.Watcher.Chain = liar
	chain.slot += 10
	chain.pay(r.bob.Address(), sol)
	r.Pass(time.Minute)
	r.look()
	if got := r.told(); len(got) != 0 {
		t.Fatalf("announced by one word of one node: %q", got)
	}
	liar.by = 0
	for range 3 {
		r.Pass(6 * time.Hour)
		chain.slot++
		r.look()
	}
	if got := r.told(); !slices.Equal(got, []string{"1 SOL to bob"}) {
		t.Errorf("announced were %q", got)
	}
}

// erasedReceipts is a store transaction in which every receipt is that of an erased person.
type erasedReceipts struct{ store.Tx }

func (e erasedReceipts) Transaction(wallet.TransactionID) (wallet.Transaction, error) {
	return wallet.Transaction{}, store.ErrNotFound
}

func (e erasedReceipts) CreateTransaction(wallet.Transaction) error { return store.ErrConflict }

// damagedContacts is a store transaction in which nobody's contacts can be read.
type damagedContacts struct{ store.Tx }

func (d damagedContacts) ContactsOf(wallet.UserID) ([]wallet.Contact, error) {
	return nil, store.ErrDamaged
}

// committed runs one look at Bob's wallet and commits it in a transaction of the given form.
func (r *watching) committed(form func(store.Tx) store.Tx) error {
	r.Helper()
	r.Must(r.Watcher.Sweep(context.Background()))
	due := r.Due(r.Watcher, 10)
	if len(due) != 1 {
		r.Fatalf("%d wallets are due", len(due))
	}
	result, err := r.Watcher.Handle(context.Background(), due[0])
	r.Must(err)
	return r.Update(func(tx store.Tx) error { return result.Commit(form(tx)) })
}

// TestTheReceiptOfAnErasedPersonBlocksNobody: the wallet has another owner now, and is watched on.
func TestTheReceiptOfAnErasedPersonBlocksNobody(t *testing.T) {
	r, chain := onLedger(t)
	r.Pass(time.Minute)
	chain.pay(r.bob.Address(), sol)
	if err := r.committed(func(tx store.Tx) store.Tx { return erasedReceipts{tx} }); err != nil {
		t.Errorf("the look ended with %v", err)
	}
	if got := r.told(); len(got) != 0 {
		t.Errorf("announced were %q", got)
	}
}

// TestDamagedContactsStopNoAnnouncement: the payment is announced as that of somebody unknown.
func TestDamagedContactsStopNoAnnouncement(t *testing.T) {
	r, chain := onLedger(t)
	r.Pass(time.Minute)
	chain.pay(r.bob.Address(), sol)
	if err := r.committed(func(tx store.Tx) store.Tx { return damagedContacts{tx} }); err != nil {
		t.Fatalf("the look ended with %v", err)
	}
	if got := r.told(); !slices.Equal(got, []string{"1 SOL to bob"}) {
		t.Errorf("announced were %q", got)
	}
}

// TestOneWalletsWrongSlotStopsNoOther: a node once named a slot that does not exist. Every node is behind it, and the other
// wallets are swept all the same.
func TestOneWalletsWrongSlotStopsNoOther(t *testing.T) {
	r, chain := onLedger(t)
	r.Must(r.Update(func(tx store.Tx) error {
		row, err := tx.Watch(r.bob.Address())
		if err != nil {
			return err
		}
		row.Accounts[0].Slot = 1 << 50
		return tx.PutWatch(row)
	}))
	chain.pay(r.alice.Address(), 3*sol)
	r.Pass(2 * time.Hour)
	r.look()
	if got := r.told(); !slices.Equal(got, []string{"3 SOL to alice"}) {
		t.Errorf("announced were %q", got)
	}
}
