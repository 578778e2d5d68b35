package storetest

import (
	"errors"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// testWatches: a watch belongs to its wallet, is replaced by the one who read it last, and goes with it.
func testWatches(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1001)) })
	mine := wallet.Wallet{Address: wallet.Address{9}, Owner: "usr_a", ConnectedAt: noon()}
	keys := wallet.Wallet{Address: wallet.Address{1}, KeyLineage: "key_1", ConnectedAt: noon()}
	last := wallet.Wallet{Address: wallet.Address{9, 1}, Owner: "usr_a", ConnectedAt: noon()}
	connected := func(after wallet.Address, limit int) []wallet.Address {
		return get(t, s, func(tx store.Tx) ([]wallet.Address, error) { return tx.ConnectedWallets(after, limit) })
	}
	same(t, "nobody", len(connected(wallet.Address{}, 10)), 0)
	watch := wallet.Watch{Address: mine.Address, Since: 7, FullAt: noon(), FullSlot: 6, FullTo: 8, Failures: 2, News: true,
		Accounts: []wallet.WatchedAccount{{Address: mine.Address, Slot: 8, Exists: true, Units: 9, Mint: wallet.Address{4}, Before: new(uint64), Mark: wallet.Watermark{Slot: 8, Seen: []wallet.Signature{{1}}}, Cursor: wallet.HistoryCursor{{2}}}},
		Unread:   []wallet.UnreadTransaction{{Signature: wallet.Signature{3}, Slot: 8, Since: noon(), Next: noon().Add(time.Hour), Shown: true}}}
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.PutWatch(watch) })
	for _, w := range []wallet.Wallet{mine, keys, last} {
		update(t, s, func(tx store.Tx) error { return tx.PutWallet(w) })
	}
	same(t, "all", connected(wallet.Address{}, 10), []wallet.Address{keys.Address, mine.Address, last.Address})
	same(t, "a page", connected(wallet.Address{}, 2), []wallet.Address{keys.Address, mine.Address})
	same(t, "the next", connected(mine.Address, 2), []wallet.Address{last.Address})
	same(t, "behind one that is gone", connected(wallet.Address{8}, 1), []wallet.Address{mine.Address})
	same(t, "none of none", len(connected(wallet.Address{}, 0)), 0)

	read := func(at wallet.Address) func(tx store.Tx) error {
		return func(tx store.Tx) error { _, err := tx.Watch(at); return err }
	}
	absent(t, s, "before the first look", read(mine.Address))
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { late := watch; late.Version = 1; return tx.PutWatch(late) })
	update(t, s, func(tx store.Tx) error { return tx.PutWatch(watch) })
	stored := get(t, s, func(tx store.Tx) (wallet.Watch, error) { return tx.Watch(mine.Address) })
	want := watch
	want.Version = 1
	same(t, "as written", stored, want)
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutWatch(watch) })
	stored.Failures = 0
	update(t, s, func(tx store.Tx) error { return tx.PutWatch(stored) })
	same(t, "the newer", get(t, s, func(tx store.Tx) (wallet.Watch, error) { return tx.Watch(mine.Address) }).Version, uint64(2))
	mine.Type = wallet.ExternalWallet // another row of the same wallet
	update(t, s, func(tx store.Tx) error { return tx.PutWallet(mine) })
	same(t, "a wallet that changes keeps it", get(t, s, func(tx store.Tx) (wallet.Watch, error) { return tx.Watch(mine.Address) }).Version, uint64(2))

	update(t, s, func(tx store.Tx) error { return tx.DropWatch(mine.Address) })
	absent(t, s, "dropped", read(mine.Address))
	update(t, s, func(tx store.Tx) error { return tx.DropWatch(mine.Address) })
	for _, at := range []wallet.Address{mine.Address, last.Address, keys.Address} {
		watch.Address = at
		update(t, s, func(tx store.Tx) error { return tx.PutWatch(watch) })
	}
	update(t, s, func(tx store.Tx) error { return tx.DeleteWallet(mine.Address) })
	absent(t, s, "of a wallet that is gone", read(mine.Address))
	update(t, s, func(tx store.Tx) error { return tx.PutWallet(mine) })
	absent(t, s, "of one that was connected again", read(mine.Address))
	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	absent(t, s, "of somebody who is erased", read(last.Address))
	same(t, "an operator key's stays", get(t, s, func(tx store.Tx) (wallet.Watch, error) { return tx.Watch(keys.Address) }).Version, uint64(1))
	same(t, "the others are gone", connected(wallet.Address{}, 10), []wallet.Address{keys.Address})
}

// testWatchOrders: a wallet has one job, the most urgent that was ordered, for its owner.
func testWatchOrders(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1001)) })
	mine := wallet.Wallet{Address: wallet.Address{9}, Owner: "usr_a"}
	keys := wallet.Wallet{Address: wallet.Address{1}, KeyLineage: "key_1"}
	found := store.WatchOrder{Found: []wallet.WatchedAccount{{Address: mine.Address, Slot: 3, Exists: true, Units: 4}}}
	order := func(w wallet.Wallet, o store.WatchOrder, priority store.Priority) {
		update(t, s, func(tx store.Tx) error { return store.OrderWatch(tx, w, o, priority, noon()) })
	}
	order(mine, store.WatchOrder{}, store.JobBackground)
	order(mine, found, store.JobSoon)
	order(mine, store.WatchOrder{}, store.JobSoon)
	order(mine, store.WatchOrder{}, store.JobBackground)
	order(keys, store.WatchOrder{}, store.JobNormal)
	var jobs []store.Job
	update(t, s, func(tx store.Tx) (err error) {
		jobs, _, err = tx.ClaimJobs(store.Claim{Queue: store.WalletScans, Node: "a", Now: noon(), Max: 10, Lease: time.Minute})
		return err
	})
	if len(jobs) != 2 {
		t.Fatalf("%d jobs: %+v", len(jobs), jobs)
	}
	o, at, err := store.WatchOrderOf(jobs[0])
	same(t, "the urgent one", []any{o, at, err, jobs[0].Owner, jobs[0].About, jobs[0].Priority}, []any{found, mine.Address, nil, "usr_a", wallet.UserID("usr_a"), store.JobSoon})
	o, at, err = store.WatchOrderOf(jobs[1])
	same(t, "of a key", []any{o, at, err, jobs[1].Owner, jobs[1].About}, []any{store.WatchOrder{}, keys.Address, nil, "key_1", wallet.UserID("")})
	order(mine, store.WatchOrder{}, store.JobSoon)
	update(t, s, func(tx store.Tx) error { return tx.DoneJobs(jobs[0].Ref(), jobs[1].Ref()) })
	same(t, "an order while it is in flight", len(Jobs(t, s, store.WalletScans)), 0)
	for _, bad := range []store.Job{{ID: "no address", Body: []byte("{}")}, {ID: store.JobID(mine.Address.String()), Body: []byte("{")}} {
		if _, _, err := store.WatchOrderOf(bad); err == nil {
			t.Errorf("%+v was read", bad)
		}
	}
}

// testStakeChecks: a watched wallet has one job that reads its stakes, which a newer order replaces, and which goes with its owner.
func testStakeChecks(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1001)) })
	mine := wallet.Wallet{Address: wallet.Address{9}, Owner: "usr_a", ConnectedAt: noon()}
	keys := wallet.Wallet{Address: wallet.Address{1}, KeyLineage: "key_1", ConnectedAt: noon()}
	order := func(w wallet.Wallet, at time.Time) {
		t.Helper()
		update(t, s, func(tx store.Tx) error { return store.OrderStakeCheck(tx, w, at) })
	}
	has := func(w wallet.Wallet) bool {
		t.Helper()
		return get(t, s, func(tx store.Tx) (bool, error) { return store.HasStakeCheck(tx, w.Address) })
	}
	for _, w := range []wallet.Wallet{mine, keys} {
		update(t, s, func(tx store.Tx) error { return tx.PutWallet(w) })
		order(w, noon())
		same(t, "before the first look at the wallet", has(w), false)
		update(t, s, func(tx store.Tx) error { return tx.PutWatch(wallet.Watch{Address: w.Address}) })
		order(w, noon())
		order(w, noon().Add(time.Minute))
		same(t, "afterwards", has(w), true)
	}
	jobs := Jobs(t, s, store.StakeChecks)
	if len(jobs) != 2 {
		t.Fatalf("%d jobs", len(jobs))
	}
	for i, w := range []wallet.Wallet{mine, keys} {
		owner := string(w.Owner) + w.KeyLineage
		same(t, "a job", []any{jobs[i].ID, jobs[i].Owner, jobs[i].About, jobs[i].Priority, jobs[i].At}, []any{store.JobID(w.Address.String()), owner, w.Owner, store.JobBackground, noon().Add(time.Minute)})
	}
	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	same(t, "of somebody erased", []bool{has(mine), has(keys)}, []bool{false, true})
}

// testWatchedStakes: what is known of stakes, and how many payments were folded, are rows of their own: nobody who writes one of
// them or the watch conflicts with the others. They go with the wallet.
func testWatchedStakes(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1001)) })
	mine := wallet.Wallet{Address: wallet.Address{9}, Owner: "usr_a", ConnectedAt: noon()}
	keys := wallet.Wallet{Address: wallet.Address{1}, KeyLineage: "key_1", ConnectedAt: noon()}
	stakes := wallet.WatchedStakes{Address: mine.Address, ReadAt: noon(), Rewarded: 6, All: []wallet.WatchedStake{{Account: wallet.Address{5}, Voter: wallet.Address{6}, State: wallet.StakeActive}}}
	read := func(at wallet.Address) func(tx store.Tx) error {
		return func(tx store.Tx) error { _, err := tx.WatchedStakes(at); return err }
	}
	counted := func(at wallet.Address) uint64 {
		return get(t, s, func(tx store.Tx) (uint64, error) { return tx.Folded(at) })
	}
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.PutWatchedStakes(stakes) })
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.PutFolded(mine.Address, 1) })
	write := func(w wallet.Wallet) {
		update(t, s, func(tx store.Tx) error {
			stakes.Address = w.Address
			return errors.Join(tx.PutWallet(w), tx.PutWatch(wallet.Watch{Address: w.Address}), tx.PutWatchedStakes(stakes), tx.PutFolded(w.Address, 3))
		})
	}
	update(t, s, func(tx store.Tx) error { return tx.PutWallet(mine) })
	absent(t, s, "before they were read", read(mine.Address))
	same(t, "before any was folded", counted(mine.Address), uint64(0))
	write(mine)
	write(keys)
	stakes.Address = mine.Address
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutWatchedStakes(stakes) })
	want := stakes
	want.Version = 1
	same(t, "as written", get(t, s, func(tx store.Tx) (wallet.WatchedStakes, error) { return tx.WatchedStakes(mine.Address) }), want)
	for range 2 { // each has its own version
		update(t, s, func(tx store.Tx) error { return tx.PutWatchedStakes(want) })
		want.Version++
		update(t, s, func(tx store.Tx) error { return tx.PutFolded(mine.Address, 4) })
		same(t, "the version of the watch", get(t, s, func(tx store.Tx) (wallet.Watch, error) { return tx.Watch(mine.Address) }).Version, uint64(1))
	}
	update(t, s, func(tx store.Tx) error { return tx.DropWatch(mine.Address) })
	update(t, s, read(mine.Address)) // still there
	same(t, "after the watch was dropped", counted(mine.Address), uint64(4))
	update(t, s, func(tx store.Tx) error { return tx.PutFolded(mine.Address, 0) })
	same(t, "counted anew", counted(mine.Address), uint64(0))
	for range 2 {
		update(t, s, func(tx store.Tx) error { return tx.DropWatchedStakes(mine.Address) })
		absent(t, s, "dropped", read(mine.Address))
	}
	for _, goes := range []func(store.Tx) error{
		func(tx store.Tx) error { return tx.DeleteWallet(mine.Address) },
		func(tx store.Tx) error { return tx.EraseUser("usr_a") },
	} {
		update(t, s, func(tx store.Tx) error { return tx.PutWatchedStakes(stakes) })
		update(t, s, func(tx store.Tx) error { return tx.PutFolded(mine.Address, 5) })
		update(t, s, goes)
		absent(t, s, "of a wallet that is gone", read(mine.Address))
		same(t, "of a wallet that is gone", counted(mine.Address), uint64(0))
		if get(t, s, func(tx store.Tx) (wallet.UserID, error) { return tx.PersonOf(1001), nil }) != "" {
			update(t, s, func(tx store.Tx) error { return tx.PutWallet(mine) })
		}
	}
	update(t, s, read(keys.Address))
	same(t, "an operator key's", counted(keys.Address), uint64(3))
}

// testSummaries: a person has one job that sums up, an hour after it was ordered, which goes with the person.
func testSummaries(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1001)) })
	order := func(at time.Time) {
		update(t, s, func(tx store.Tx) error { return store.OrderSummary(tx, "usr_a", at) })
	}
	order(noon())
	order(noon().Add(time.Minute))
	claim := func(at time.Time) (jobs []store.Job) {
		update(t, s, func(tx store.Tx) (err error) {
			jobs, _, err = tx.ClaimJobs(store.Claim{Queue: store.FoldedSummaries, Node: "a", Now: at, Max: 10, Lease: time.Minute})
			return err
		})
		return jobs
	}
	if early := claim(noon().Add(store.SummaryEvery - time.Second)); len(early) != 0 {
		t.Errorf("claimed %+v", early)
	}
	jobs := claim(noon().Add(store.SummaryEvery))
	if len(jobs) != 1 {
		t.Fatalf("%d jobs", len(jobs))
	}
	same(t, "the job", []any{jobs[0].ID, jobs[0].Owner, jobs[0].About}, []any{store.JobID("usr_a"), "usr_a", wallet.UserID("usr_a")})
	order(noon()) // one is in flight
	update(t, s, func(tx store.Tx) error { return tx.DoneJobs(jobs[0].Ref()) })
	same(t, "while one is in flight", len(Jobs(t, s, store.FoldedSummaries)), 0)
	order(noon())
	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	same(t, "of somebody erased", len(Jobs(t, s, store.FoldedSummaries)), 0)
	order(noon())
	update(t, s, func(tx store.Tx) error {
		return store.NotifyOwner(tx, wallet.Event{ID: "evt_1", Name: wallet.PaymentsFolded, At: noon(), User: "usr_a"})
	})
	same(t, "after that", []int{len(Jobs(t, s, store.FoldedSummaries)), len(Jobs(t, s, store.Events))}, []int{0, 0})
}

// testNotifyOwner: the event waits for its person like others, in order, and its ID may come again once it is done.
func testNotifyOwner(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1001)) })
	e := wallet.Event{ID: "evt_1", Name: wallet.PaymentsFolded, At: noon(), User: "usr_a", Data: []byte(`{"count":3}`)}
	for range 2 {
		update(t, s, func(tx store.Tx) error { return store.NotifyOwner(tx, e) })
		jobs := Jobs(t, s, store.Events)
		if len(jobs) != 1 {
			t.Fatalf("%d jobs", len(jobs))
		}
		got, err := store.EventOf(jobs[0])
		same(t, "the event", []any{got, err, jobs[0].Key, jobs[0].About}, []any{e, nil, "usr_a", wallet.UserID("usr_a")})
		update(t, s, func(tx store.Tx) error { return tx.RemoveJobs(store.Events, jobs[0].ID) })
	}
}
