package settle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

// StakesChain is what the Watcher needs to know of stakes: the state of finalized blocks, never one that a later block may take
// back. A node that lags or has forgotten something is not believed as long as another one can be asked.
type StakesChain interface {
	// StakeAccounts lists the stake accounts of which an address is staker or withdrawer.
	StakeAccounts(ctx context.Context, owner wallet.Address) ([]wallet.StakeAccount, error)
	// StakeEpoch returns the current epoch, and what the activation of stakes depends on.
	StakeEpoch(ctx context.Context) (wallet.StakeEpoch, error)
	// StakeRewards reads what inflation paid to stake accounts for an epoch, in the order given; nil for nothing. Inside
	// an error may be wallet.ErrRewardsNotPaid or wallet.ErrHistoryPruned.
	StakeRewards(ctx context.Context, accounts []wallet.Address, epoch uint64) ([]*wallet.InflationReward, error)
	// Validators lists the validators with stake. The result must not be changed.
	Validators(ctx context.Context) ([]wallet.Validator, error)
}

const (
	// epochShared is for how long all looks at stakes share one reading of the epoch.
	epochShared = time.Minute
	// rewardsWait is the time until rewards are asked for again that are being paid: it takes some minutes.
	rewardsWait = 2 * time.Minute
	// stakesWatched is how many stakes of a wallet are watched, the largest first.
	stakesWatched = 200
	// epochsCaughtUp is for how many epochs rewards are announced after a long pause, the newest ones.
	epochsCaughtUp = 10
)

// sharedEpoch is the epoch as it was last read, for all looks at stakes.
type sharedEpoch struct {
	mu     sync.Mutex
	last   wallet.StakeEpoch
	readAt time.Time
}

// stakesEpoch returns the current epoch, which may be one behind for epochShared.
func (w *Watcher) stakesEpoch(ctx context.Context) (wallet.StakeEpoch, error) {
	w.epoch.mu.Lock()
	defer w.epoch.mu.Unlock()
	now := w.Now()
	if age := now.Sub(w.epoch.readAt); !w.epoch.readAt.IsZero() && age >= 0 && age < min(epochShared, w.Pace.Stakes) {
		return w.epoch.last, nil
	}
	e, err := w.Stakes.StakeEpoch(ctx)
	if err == nil {
		w.epoch.last, w.epoch.readAt = e, now
	}
	return e, err
}

// stakesLook is one look at the stakes of a wallet.
type stakesLook struct {
	*Watcher
	of    wallet.Wallet
	epoch wallet.StakeEpoch
	known *wallet.WatchedStakes // nil in the first look
	drop  bool                  // the row of known cannot be read
	news  wallet.StakesChangedData
	paid  []paidReward
	// changes are what the owner has to know of the validators.
	changes []wallet.ValidatorChange
}

// paidReward is a reward that is announced.
type paidReward struct {
	wallet.InflationReward
	voter wallet.Address
}

// stakes reads the stakes of a wallet if an epoch has ended since the last look, or something has changed them since then (job.At).
// What began to earn, can be withdrawn, or earned rewards is announced in the Update that writes the row. The first look
// announces nothing. The job ends when there are no stakes.
func (w *Watcher) stakes(ctx context.Context, job store.Job) (work.Result, error) {
	if w.Stakes == nil {
		return work.Result{}, nil
	}
	address, err := wallet.ParseAddress(string(job.ID))
	if err != nil {
		return work.Result{}, work.Permanent(fmt.Errorf("read which stakes to check: %w", err))
	}
	l := &stakesLook{Watcher: w}
	err = w.Store.View(ctx, func(tx store.Tx) (err error) {
		if l.of, err = tx.Wallet(address); err != nil {
			return err
		}
		return l.readKnown(tx)
	})
	now := w.Now().UTC()
	switch {
	case errors.Is(err, store.ErrNotFound): // it is connected no longer
		return work.Result{}, nil
	case err != nil:
		return work.Result{}, fmt.Errorf("watch the stakes of %s: %w", address, err)
	}
	ctx = w.background(ctx)
	if l.epoch, err = w.stakesEpoch(ctx); err != nil {
		return work.Result{}, fmt.Errorf("watch the stakes of %s: %w", address, err)
	}
	l.takeBack(now)
	if k := l.known; k != nil && k.Rewarded >= l.epoch.Epoch && !job.At.After(k.ReadAt) {
		return l.unmoved(ctx, now)
	}
	return l.read(ctx, now)
}

// unmoved ends a look in which stakes need not be read: only their validators are compared.
func (l *stakesLook) unmoved(ctx context.Context, now time.Time) (work.Result, error) {
	validators, err := l.watchValidators(ctx, l.known.All, now)
	if err != nil {
		return work.Result{}, err
	}
	result := work.Result{Again: sooner(l.next(now, false), validators)}
	if slices.Equal(validators, l.known.Validators) {
		return result, nil
	}
	is := *l.known
	is.Validators = validators
	result.Commit = func(tx store.Tx) error {
		if err := unchanged(tx, l.of); err != nil {
			return store.IgnoreNotFound(err)
		}
		if err := l.announceValidators(tx, now); err != nil {
			return err
		}
		return tx.PutWatchedStakes(is)
	}
	return result, nil
}

// takeBack ends the wait for an epoch that never was. Finalized epochs do not go back, so if the one that was read last is still to come
// after an hour, a node had said a wrong one. Rewards from the present epoch on are announced.
func (l *stakesLook) takeBack(now time.Time) {
	k := l.known
	if k == nil || k.Rewarded <= l.epoch.Epoch || !pastDue(k.ReadAt, patience, now) {
		return
	}
	l.Log.Error("a node had named an epoch that is still to come: rewards of the epochs since then are not announced", "wallet", l.of.Address,
		"named", k.Rewarded, "epoch", l.epoch.Epoch)
	k.Rewarded, k.ReadAt = l.epoch.Epoch, time.Time{}
}

// next is when stakes are read again: when the epoch should have ended, spread over some time so that not all wallets ask at once,
// and at the latest after Pace.Stakes, since the end is an estimate.
func (l *stakesLook) next(now time.Time, waiting bool) time.Time {
	most := l.Pace.Stakes
	if waiting {
		return now.Add(min(rewardsWait, most))
	}
	spread := most / 6 * time.Duration(l.of.Address[0]) / 256
	wait := l.epoch.EndsAfter(1).Sub(now) + spread
	return now.Add(min(max(wait, min(epochShared, most)), most))
}

// read reads stakes and rewards, and returns the commit that announces what is new.
func (l *stakesLook) read(ctx context.Context, now time.Time) (work.Result, error) {
	accounts, err := l.usable(ctx)
	if err != nil {
		return work.Result{}, err
	}
	is := wallet.WatchedStakes{Address: l.of.Address, ReadAt: now, Rewarded: l.epoch.Epoch}
	for _, a := range accounts {
		state, _ := l.epoch.StakeState(a)
		is.All = append(is.All, wallet.WatchedStake{Account: a.Address, Voter: a.Voter, State: state})
	}
	waiting := false
	if l.known != nil {
		is.Version = l.known.Version
		l.compare(accounts, is.All)
		all := l.withGone(is.All)
		if is.Rewarded, err = l.rewards(ctx, all); err != nil {
			return work.Result{}, fmt.Errorf("watch the stakes of %s: %w", l.of.Address, err)
		}
		if waiting = is.Rewarded < l.epoch.Epoch; waiting {
			is.All = all // those that are gone may have earned something still
		}
	}
	if is.Validators, err = l.watchValidators(ctx, is.All, now); err != nil {
		return work.Result{}, err
	}
	if err := l.name(ctx); err != nil {
		return work.Result{}, fmt.Errorf("watch the stakes of %s: %w", l.of.Address, err)
	}
	result := work.Result{Again: sooner(l.next(now, waiting), is.Validators)}
	over := len(is.All) == 0 && !waiting
	if over {
		result.Again = time.Time{}
	}
	result.Commit = func(tx store.Tx) error {
		if err := unchanged(tx, l.of); err != nil {
			return store.IgnoreNotFound(err)
		}
		if err := errors.Join(l.announce(tx, now), l.announceValidators(tx, now)); err != nil {
			return err
		}
		return l.write(tx, is, over)
	}
	return result, nil
}

// readKnown reads what is known of the wallet's stakes. What cannot be read is forgotten: the look is the first one.
func (l *stakesLook) readKnown(tx store.Tx) error {
	known, err := tx.WatchedStakes(l.of.Address)
	switch l.known, l.drop = nil, false; {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case store.IsDamaged(err):
		l.Log.Error("what is known of the stakes of a wallet cannot be read: it is read anew, and changes since then are not announced",
			"wallet", l.of.Address, "error", err)
		l.drop = true
		return nil
	case err != nil:
		return err
	}
	l.known = &known
	return nil
}

// write replaces what is known, or removes it with the last stake. Only an attempt that read the same row may.
func (l *stakesLook) write(tx store.Tx, is wallet.WatchedStakes, over bool) error {
	if l.drop {
		if err := tx.DropWatchedStakes(l.of.Address); err != nil {
			return err
		}
	}
	if err := tx.PutWatchedStakes(is); err != nil || !over {
		return err
	}
	return tx.DropWatchedStakes(l.of.Address)
}

// usable lists the stake accounts that the wallet can use, the largest first. Anybody can make others that name it.
func (l *stakesLook) usable(ctx context.Context) ([]wallet.StakeAccount, error) {
	all, err := l.Stakes.StakeAccounts(ctx, l.of.Address)
	if err != nil {
		return nil, fmt.Errorf("list the stakes of %s: %w", l.of.Address, err)
	}
	own := slices.DeleteFunc(slices.Clone(all), func(a wallet.StakeAccount) bool { return l.epoch.Hold(a, l.of.Address) != wallet.HoldNone })
	slices.SortFunc(own, func(a, b wallet.StakeAccount) int {
		return cmp.Or(cmp.Compare(b.Lamports, a.Lamports), slices.Compare(a.Address[:], b.Address[:]))
	})
	return own[:min(len(own), stakesWatched)], nil
}

// compare collects which stakes have become active or inactive. An account that is new since the last look was made in between:
// it counts as one that was on its way.
func (l *stakesLook) compare(accounts []wallet.StakeAccount, is []wallet.WatchedStake) {
	before := map[wallet.Address]wallet.StakeState{}
	for _, one := range l.known.All {
		before[one.Account] = one.State
	}
	for i, a := range accounts {
		was, seen := before[a.Address]
		if !a.Delegated() || seen && was == is[i].State {
			continue
		}
		switch is[i].State {
		case wallet.StakeActive:
			l.news.Active = append(l.news.Active, wallet.StakeNews{Lamports: a.Stake, Voter: a.Voter})
		case wallet.StakeInactive:
			l.news.Inactive = append(l.news.Inactive, wallet.StakeNews{Lamports: a.Lamports, Voter: a.Voter})
		}
	}
}

// withGone adds the stakes of the last look that are gone since then.
func (l *stakesLook) withGone(is []wallet.WatchedStake) []wallet.WatchedStake {
	out := slices.Clone(is)
	for _, old := range l.known.All {
		if !slices.ContainsFunc(is, func(one wallet.WatchedStake) bool { return one.Account == old.Account }) {
			out = append(out, old)
		}
	}
	return out
}

// rewards reads what stakes earned in the epochs that have ended since rewards were last announced. It returns the first epoch whose
// rewards are not announced yet. Those of an epoch that all nodes have forgotten are passed over.
func (l *stakesLook) rewards(ctx context.Context, all []wallet.WatchedStake) (next uint64, _ error) {
	asked := slices.DeleteFunc(slices.Clone(all), func(one wallet.WatchedStake) bool { return one.Voter.IsZero() })
	accounts := make([]wallet.Address, len(asked))
	for i, one := range asked {
		accounts[i] = one.Account
	}
	epoch := l.epoch.Epoch
	next = max(l.known.Rewarded, epoch-min(epoch, epochsCaughtUp))
	for ; next < epoch && len(accounts) > 0; next++ {
		paid, err := l.Stakes.StakeRewards(ctx, accounts, next)
		switch {
		case errors.Is(err, wallet.ErrRewardsNotPaid):
			return next, nil
		case errors.Is(err, wallet.ErrHistoryPruned):
			l.Log.Warn("the rewards of an epoch are forgotten by all nodes: they are not announced", "wallet", l.of.Address, "epoch", next)
			continue
		case err != nil:
			return next, err
		}
		sum := wallet.EpochRewards{Epoch: next}
		for i, r := range paid {
			if r == nil || r.Lamports == 0 {
				continue
			}
			l.paid = append(l.paid, paidReward{*r, asked[i].Voter})
			sum.Lamports += min(r.Lamports, ^uint64(0)-sum.Lamports)
		}
		if sum.Lamports > 0 {
			l.news.Rewards = append(l.news.Rewards, sum)
		}
	}
	return epoch, nil
}

// name adds what the validators of the news call themselves.
func (l *stakesLook) name(ctx context.Context) error {
	if len(l.news.Active) == 0 || l.of.Owner == "" {
		return nil
	}
	all, err := l.Stakes.Validators(ctx)
	if err != nil {
		return err
	}
	for i := range l.news.Active {
		one := &l.news.Active[i]
		if at := slices.IndexFunc(all, func(v wallet.Validator) bool { return v.Vote == one.Voter }); at >= 0 {
			one.ValidatorName = all[at].Name
		}
	}
	return nil
}

// announce emits an event for each reward, and one that notifies the owner of everything.
func (l *stakesLook) announce(tx store.Tx, now time.Time) error {
	for _, r := range l.paid {
		event, err := wallet.NewEvent(fmt.Sprintf("evt_reward_%s_%d", r.Account, r.Epoch), wallet.StakeReward, now, l.of.Owner, wallet.StakeRewardData{
			UserID: l.of.Owner, WalletAddress: l.of.Address, RewardAmount: wallet.Lamports(r.Lamports).String(), Epoch: r.Epoch,
			ValidatorAddress: r.voter, DistributedAt: wallet.Timestamp(now)})
		if err != nil {
			return err
		}
		if err := tx.Emit(event); err != nil {
			return err
		}
	}
	if l.of.Owner == "" || len(l.news.Active)+len(l.news.Inactive)+len(l.news.Rewards) == 0 {
		return nil
	}
	news := l.news
	news.WalletAddress = l.of.Address
	event, err := wallet.NewEvent(fmt.Sprintf("evt_stakes_%s_%d_%d", l.of.Address, l.epoch.Epoch, now.UnixMilli()), wallet.StakesChanged, now, l.of.Owner, news)
	if err != nil {
		return err
	}
	return store.NotifyOwner(tx, event)
}
