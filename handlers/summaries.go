package handlers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
)

// Summaries sums up people's portfolios: what they hold in all their wallets and stakes, what it is worth, and what came and went.
type Summaries struct {
	Store   store.Store
	Wallets interface {
		Balance(context.Context, wallet.Address) (Balance, error)
	}
	Stakes interface {
		Rewards(ctx context.Context, owner wallet.Address, epochs uint64) (Rewards, error)
	}
	Background func(context.Context) context.Context // marks calls to nodes that nobody waits for
	Now        Clock
}

const (
	// maxSummedUp bounds how many of the newest transactions a summary counts.
	maxSummedUp = 1000
	// longestOpen is longer than any transaction may take from its proposal until it lands.
	longestOpen = 24 * time.Hour
	// longestSummary bounds what time a summary is about, for somebody who had turned summaries off.
	longestSummary = 31 * 24 * time.Hour
)

// PortfolioSummary is what Prepare found.
type PortfolioSummary struct {
	Person  wallet.User
	Summary wallet.Summary
	Due     bool // the summary is to be sent; else the value is only recorded
	next    wallet.Portfolio
}

// Prepare reads what a person has. begun is when they turned summaries on: before the first one, a summary is about what happened since then. ok is false
// for a person who was erased, has no wallet, or wants no summary any more. Errors: NETWORK_ERROR, or of the store.
func (s *Summaries) Prepare(ctx context.Context, who wallet.UserID, begun time.Time) (out PortfolioSummary, ok bool, err error) {
	var wallets []wallet.Wallet
	var staking map[wallet.Address]bool
	var before wallet.Portfolio
	err = s.Store.View(ctx, func(tx store.Tx) (err error) {
		if out.Person, err = tx.User(who); err != nil {
			return err
		}
		if before, err = tx.Portfolio(who); err != nil {
			return err
		}
		if wallets, err = tx.WalletsOf(who); err != nil {
			return err
		}
		staking = map[wallet.Address]bool{}
		for _, w := range wallets {
			if staking[w.Address], err = store.HasStakeCheck(tx, w.Address); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return out, false, nil
	case err != nil:
		return out, false, fmt.Errorf("sum up a portfolio: %w", err)
	case len(wallets) == 0 || !out.Person.Wants(wallet.CategorySummary):
		return out, false, nil
	}
	now := s.Now().UTC()
	first := before.SentAt.IsZero()
	if first {
		before.SentAt = begun.UTC()
	}
	before = before.Until(now)
	out.Due = out.Person.Settings.SummaryDue(before.SentAt, now, first)
	out.next = before
	out.Summary = wallet.Summary{At: now, Since: latest(before.SentAt, now.Add(-longestSummary)), Daily: out.Person.Settings.Summary.Daily}
	if err := s.hold(s.Background(ctx), &out, wallets, staking); err != nil {
		return out, false, err
	}
	if err := s.move(ctx, &out); err != nil {
		return out, false, err
	}
	sum := &out.Summary
	if value, known := before.ValueAt(sum.Since.Add(time.Hour)); known { // the value that was recorded with the summary before
		sum.Before = wallet.Worth{USD: value}
	} else {
		sum.Before = wallet.Worth{Unknown: true}
	}
	if !sum.Total.Unknown {
		out.next = out.next.Record(now, sum.Total.USD)
	}
	sum.Points = out.next.Points
	if out.Due {
		out.next.SentAt = now
	}
	return out, true, nil
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// hold reads what all wallets and stakes hold, and what the stakes earned.
func (s *Summaries) hold(ctx context.Context, out *PortfolioSummary, wallets []wallet.Wallet, staking map[wallet.Address]bool) error {
	held := map[wallet.Address]wallet.PortfolioHolding{} // by mint; SOL by the zero address
	add := func(token wallet.Token, units uint64) {
		h := held[token.Mint]
		h.Token, h.Units = token, h.Units+units
		held[token.Mint] = h
	}
	var staked uint64
	var earned []Rewards
	for _, w := range wallets {
		b, err := s.Wallets.Balance(ctx, w.Address)
		if err != nil {
			return fmt.Errorf("sum up a portfolio: %w", err)
		}
		add(wallet.SOL, b.Lamports)
		for _, t := range b.Tokens {
			if t.Token.Symbol != "" { // anybody can send a token that nobody listed
				add(t.Token, t.Units)
			}
		}
		if !staking[w.Address] {
			continue
		}
		r, err := s.Stakes.Rewards(ctx, w.Address, MaxRewardEpochs)
		if err != nil {
			return fmt.Errorf("sum up the stakes of a portfolio: %w", err)
		}
		staked += r.InStakes
		earned = append(earned, r)
	}
	out.countRewards(earned)
	all := slices.Collect(maps.Values(held))
	if staked > 0 {
		all = append(all, wallet.PortfolioHolding{Token: wallet.SOL, Units: staked, Staked: true})
	}
	all = slices.DeleteFunc(all, func(h wallet.PortfolioHolding) bool { return h.Units == 0 })
	err := s.Store.View(ctx, func(tx store.Tx) error {
		prices, err := tx.Prices(slices.Collect(maps.Keys(held)))
		for i := range all {
			all[i].Worth = wallet.WorthOf(prices[all[i].Token.Mint], all[i].Token.Amount(all[i].Units), out.Summary.At)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("value a portfolio: %w", err)
	}
	wallet.SortHoldings(all)
	out.Summary.Holdings = all
	for _, h := range all {
		out.Summary.Total = out.Summary.Total.Plus(h.Worth)
	}
	return nil
}

// countRewards adds up what the stakes earned in the epochs that no summary has counted yet and whose rewards are paid in all wallets. The first check
// sets the baseline and counts none.
func (out *PortfolioSummary) countRewards(earned []Rewards) {
	if len(earned) == 0 {
		return
	}
	last := earned[0].Last
	for _, r := range earned[1:] {
		last = min(last, r.Last)
	}
	from := out.next.RewardsFrom
	for _, r := range earned {
		for _, one := range r.All {
			if from > 0 && one.Epoch >= from && one.Epoch <= last {
				out.Summary.Rewards += one.Lamports
			}
		}
	}
	if out.Due || from == 0 {
		out.next.RewardsFrom = max(from, last+1)
	}
}

// move counts the payments that came and went since the summary before.
func (s *Summaries) move(ctx context.Context, out *PortfolioSummary) error {
	sum, flows := out.Summary, map[wallet.Address]wallet.TokenFlow{}
	err := s.Store.View(ctx, func(tx store.Tx) error {
		page := store.Page{Limit: 200}
		for seen := 0; seen < maxSummedUp; {
			list, err := tx.TransactionsOf(out.Person.ID, page)
			if err != nil || len(list) == 0 {
				return err
			}
			for _, t := range list {
				if sum.Since.Sub(t.CreatedAt) > longestOpen {
					return nil
				}
				rules, err := tx.Kinds().Of(t.Kind)
				if err != nil {
					return err
				}
				sum = sum.Count(rules, t, flows)
			}
			seen += len(list)
			page.After = list[len(list)-1].ID
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("count the payments of a portfolio: %w", err)
	}
	out.Summary = sum
	out.Summary.Flows = slices.SortedFunc(maps.Values(flows), func(a, b wallet.TokenFlow) int {
		if a.Token.Native() != b.Token.Native() {
			return map[bool]int{true: -1, false: 1}[a.Token.Native()]
		}
		return strings.Compare(a.Token.Name(), b.Token.Name())
	})
	return nil
}

// Commit records the value of the portfolio, and that the summary was sent if it was due. The caller puts the message into the same transaction.
func (s *Summaries) Commit(tx store.Tx, p PortfolioSummary) error {
	p.next.Owner = p.Person.ID
	return tx.PutPortfolio(p.next)
}
