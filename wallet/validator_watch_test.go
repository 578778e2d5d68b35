package wallet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"purser/wallet"
)

// TestAValidatorIsComparedWithWhatIsKnown: each change is told once, a short silence is not, and the same reading again changes nothing.
func TestAValidatorIsComparedWithWhatIsKnown(t *testing.T) {
	at := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	v := wallet.Validator{Vote: wallet.Address{1}, Name: "Elm", Commission: 500}
	const typical = 1000
	earned := func(epoch, credits uint64) { v.Credits[epoch%5] = wallet.EpochCredits{Epoch: epoch, Credits: credits} }
	earned(7, 1000)
	known := wallet.WatchValidator(v, 7, typical)
	ended := uint64(7)
	next := func(after time.Duration, want string) {
		t.Helper()
		at = at.Add(after)
		is, changes := known.Next(v, ended, typical, at)
		var got []string
		for _, c := range changes {
			if c.Vote != v.Vote || c.Name != "Elm" {
				t.Errorf("%s of %s %q", c.Kind, c.Vote, c.Name)
			}
			got = append(got, fmt.Sprint(c.Kind, " ", c.From, " ", c.To, " ", c.Epoch, " ", c.Share))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%v, want %q", got, want)
		}
		if again, changes := is.Next(v, ended, typical, at); again != is || len(changes) > 0 {
			t.Errorf("the same reading again: %+v, %v", again, changes)
		}
		known = is
	}
	next(0, "")
	v.Commission = 400
	next(time.Hour, "")
	v.Commission = 1000
	next(time.Hour, "commission_raised 400 1000 0 0")
	v.Delinquent = true
	next(time.Hour, "")
	if due := known.Due(); !due.Equal(at.Add(30 * time.Minute)) {
		t.Errorf("read again at %s", due)
	}
	v.Delinquent = false // it was restarted
	next(29*time.Minute, "")
	if due := known.Due(); !due.IsZero() {
		t.Errorf("read again at %s", due)
	}
	v.Delinquent = true
	next(time.Hour, "")
	since := at
	next(29*time.Minute, "")
	_, changes := known.Next(v, ended, typical, at.Add(time.Minute))
	if len(changes) != 1 || !changes[0].Since.Equal(since) {
		t.Errorf("silent since %+v, not %s", changes, since)
	}
	next(time.Minute, "silent 0 0 0 0")
	if due := known.Due(); !due.IsZero() {
		t.Errorf("read again at %s", due)
	}
	next(time.Hour, "")
	earned(8, 100)
	ended = 8
	next(time.Hour, "") // that it is silent says it already
	v.Delinquent = false
	next(time.Hour, "votes 0 0 0 0")
	earned(9, 899)
	ended = 9
	next(time.Hour, "")
	earned(10, 900)
	ended = 10
	next(time.Hour, "caught_up 0 0 10 0")
	earned(11, 800)
	ended = 11
	next(time.Hour, "")
	earned(12, 799)
	ended = 12
	next(time.Hour, "behind 0 0 12 79")
	ended = 10 // a node that lags
	next(time.Hour, "")
	ended = 13 // of which its credits are not known
	next(time.Hour, "")
	if known.Judged != 12 {
		t.Errorf("judged is %d", known.Judged)
	}
	at = at.Add(-2 * time.Hour) // the clock is set back
	v.Delinquent = true
	next(0, "")
	at = at.Add(-time.Hour)
	next(0, "")
	next(30*time.Minute, "silent 0 0 0 0")
}

// TestBeginningToWatchIsNoNews but of a validator that does not vote.
func TestBeginningToWatchIsNoNews(t *testing.T) {
	at := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	v := wallet.Validator{Vote: wallet.Address{1}, Commission: 10_000, Delinquent: true, Credits: [5]wallet.EpochCredits{{Epoch: 7, Credits: 10}}}
	known, changes := wallet.WatchValidator(v, 7, 1000).Next(v, 7, 1000, at)
	if len(changes) > 0 || !known.SilentSince.Equal(at) || !known.NotifiedBehind {
		t.Errorf("%+v, %v", known, changes)
	}
	if _, changes = known.Next(v, 7, 1000, at.Add(time.Hour)); len(changes) != 1 || changes[0].Kind != wallet.ValidatorSilent {
		t.Errorf("%v", changes)
	}
}

// TestTypicalCredits is the middle of those that vote, so that no single one moves it.
func TestTypicalCredits(t *testing.T) {
	of := func(credits ...uint64) (all []wallet.Validator) {
		for _, c := range credits {
			all = append(all, wallet.Validator{Credits: [5]wallet.EpochCredits{{Epoch: 6, Credits: 5}, {Epoch: 7, Credits: c}}})
		}
		return all
	}
	for _, c := range []struct {
		all  []wallet.Validator
		want uint64
	}{{nil, 0}, {of(7), 7}, {of(1, ^uint64(0), 500), 500}, {of(9, 1, 5, 7), 7}, {append(of(9), wallet.Validator{Delinquent: true, Credits: of(100)[0].Credits}), 9}} {
		if got := wallet.TypicalCredits(c.all, 7); got != c.want {
			t.Errorf("%d, want %d", got, c.want)
		}
	}
	if got := wallet.TypicalCredits(of(1, 2, 3), 8); got != 0 {
		t.Errorf("of an epoch that nobody tells of: %d", got)
	}
}
