package settle

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// reportBalances emits balance.updated for what a look found, in the Update that writes the row: the finalized balances of SOL and of
// listed tokens, and by how much each has moved since the event before. What the first look found is the beginning, so the
// changes of all events add up to what the wallet holds beyond that. news says that the look read something else than folded
// payments. Those alone emit nothing, and their change is part of the next event.
func (l *look) reportBalances(tx store.Tx, row *wallet.Watch, news bool) error {
	row.Accounts = slices.Clone(row.Accounts) // a commit may run again
	for i := range row.Accounts {
		a, was := &row.Accounts[i], wallet.WatchedAccount{}
		if at := slices.IndexFunc(l.before, func(b wallet.WatchedAccount) bool { return b.Address == a.Address }); at >= 0 {
			was = l.before[at]
		}
		if a.Mint.IsZero() { // it is gone
			a.Mint = was.Mint
		}
		a.Before = nil
		if reported := reportedOf(was); a.Units != reported {
			a.Before = &reported
		}
	}
	all, changed, less := l.heldIn(row)
	row.News = row.News || news || less
	if changed && !row.News {
		return nil
	}
	// While a history is not read to its end, the balance that it explains comes with a later look.
	row.News = row.News && !changed && (l.more || l.trouble != nil)
	var slot uint64
	for i := range row.Accounts {
		row.Accounts[i].Before = nil
		slot = max(slot, row.Accounts[i].Slot)
	}
	if !changed {
		return nil
	}
	at := l.Now().UTC()
	total, err := value(tx, all, at)
	if err != nil {
		return err
	}
	balances := map[string]wallet.BalanceData{}
	for _, b := range all {
		balances[b.token.Name()] = b.data
	}
	// No two events share both numbers: a row that was started over counts its versions from 1 again, at a later slot.
	id := fmt.Sprintf("evt_balance_%s_%d_%d", row.Address, slot, row.Version)
	event, err := wallet.NewEvent(id, wallet.BalanceUpdated, at, l.of.Owner, wallet.BalanceUpdatedData{WalletAddress: row.Address, Balances: balances, TotalUSDValue: total.String(), UpdatedAt: wallet.Timestamp(at)})
	if err != nil {
		return err
	}
	return tx.Emit(event)
}

// reportedOf is what an account held when the balances were last reported.
func reportedOf(a wallet.WatchedAccount) uint64 {
	if a.Before != nil {
		return *a.Before
	}
	return a.Units
}

// heldIn adds up a wallet's accounts by token. changed tells whether a balance differs from the one that was reported last, and less
// whether an account holds less: no payment does that.
func (l *look) heldIn(row *wallet.Watch) (all map[wallet.Address]balance, changed, less bool) {
	type sum struct{ reported, now uint64 }
	sums := map[wallet.Address]sum{}
	fell := map[wallet.Address]bool{}
	for _, a := range row.Accounts {
		if a.Address != row.Address && a.Mint.IsZero() { // it was never there
			continue
		}
		s, reported := sums[a.Mint], reportedOf(a)
		sums[a.Mint] = sum{s.reported + reported, s.now + a.Units}
		fell[a.Mint] = fell[a.Mint] || a.Units < reported
	}
	all = map[wallet.Address]balance{}
	for mint, s := range sums {
		token, listed := l.Listed(mint)
		if mint.IsZero() {
			token, listed = wallet.SOL, true
		}
		if !listed {
			continue
		}
		change := token.Amount(s.now - min(s.now, s.reported)).String()
		if s.reported > s.now {
			change = "-" + token.Amount(s.reported-s.now).String()
		}
		changed, less = changed || s.now != s.reported, less || fell[mint]
		all[mint] = balance{token: token, units: s.now, data: wallet.BalanceData{Amount: token.Amount(s.now).String(), Change: change}}
	}
	return all, changed, less
}

// balance is what a wallet holds of one token, by its mint.
type balance struct {
	token wallet.Token
	units uint64
	data  wallet.BalanceData
}

// value fills in what balances are worth, by the prices that are known, and returns the sum.
func value(tx store.Tx, all map[wallet.Address]balance, at time.Time) (total wallet.Worth, _ error) {
	prices, err := tx.Prices(slices.Collect(maps.Keys(all)))
	if err != nil {
		return total, err
	}
	for mint, b := range all {
		worth := wallet.WorthOf(prices[mint], b.token.Amount(b.units), at)
		b.data.USDValue, total = worth.String(), total.Plus(worth)
		all[mint] = b
	}
	return total, nil
}
