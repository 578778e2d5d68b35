package settle_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"purser/sandbox/solana"
	"purser/store"
	"purser/wallet"
)

// connectedAgain is a harness in which Bob's wallet was just connected, and got something before.
func connectedAgain(t *testing.T) *watching {
	t.Helper()
	r := newWatching(t)
	r.Must(r.Update(func(tx store.Tx) error { return tx.DeleteWallet(r.bob.Address()) }))
	r.Fund(r.bob.Address(), sol)
	r.FundToken(r.bob.Address(), solana.USDC, 1_000_000)
	r.Pass(time.Minute)
	r.Blocks(150) // the time of blocks is their number: it comes to a minute, too
	r.Connect(r.bob)
	return r
}

// TestWhatCameBeforeALateFirstLookIsAnnounced: the node was away after the wallet was connected.
func TestWhatCameBeforeALateFirstLookIsAnnounced(t *testing.T) {
	for name, late := range map[string]time.Duration{"where blocks are final at once": time.Second, "soon": 15 * time.Second, "after ten minutes": 10 * time.Minute, "in the last moment": 24*time.Hour - time.Minute} {
		t.Run(name, func(t *testing.T) {
			r := connectedAgain(t)
			r.Pass(time.Second)
			r.Fund(r.bob.Address(), 2*sol)
			r.FundToken(r.bob.Address(), solana.USDC, 3_000_000)
			r.FundToken(r.bob.Address(), solana.USDC, 4_000_000)
			r.Blocks(40)
			r.Pass(late)
			r.look()
			got := strings.Join(r.told(), "; ")
			for _, want := range []string{"2 SOL to bob", "3 USDC to bob", "4 USDC to bob"} {
				if !strings.Contains(got, want) {
					t.Errorf("announced were %q", got)
				}
			}
			if len(r.told()) != 3 {
				t.Errorf("announced were %q", got)
			}
			r.Fund(r.bob.Address(), 5*sol)
			r.final()
			if n := len(r.told()); n != 4 {
				t.Errorf("announced were %q", r.told())
			}
			r.quiet()
		})
	}
}

func TestAFirstLookAfterADayIsABeginning(t *testing.T) {
	r := connectedAgain(t)
	r.Fund(r.bob.Address(), 2*sol)
	r.Blocks(40)
	r.Pass(25 * time.Hour)
	r.look()
	r.expect()
	if log := r.log.String(); strings.Count(log, "is watched from now on") != 1 {
		t.Error(log)
	}
	r.Fund(r.bob.Address(), 5*sol)
	r.final()
	r.expect("5 SOL to bob")
}

// pageless is a chain whose histories cannot be listed, or only in part.
type pageless struct {
	*moody
	fails bool
	more  bool
}

func (p *pageless) History(ctx context.Context, at wallet.Address, before wallet.Signature, limit int) ([]wallet.SignatureEntry, bool, error) {
	if p.fails {
		return nil, false, errors.New("no answer")
	}
	page, more, err := p.moody.History(ctx, at, before, limit)
	if p.more {
		page, more = page[:1], true
	}
	return page, more, err
}

// TestALateFirstLookThatFailsIsMadeAgain: and what is more than one page is told to the operator.
func TestALateFirstLookThatFailsIsMadeAgain(t *testing.T) {
	r := connectedAgain(t)
	m := &pageless{moody: r.moody(), fails: true}
	r.Watcher.Chain = m
	r.Fund(r.bob.Address(), 2*sol)
	r.Blocks(2)
	r.Fund(r.bob.Address(), 3*sol)
	r.Blocks(40)
	r.Pass(time.Minute)
	r.look()
	if err := r.Store.View(r.Context(), func(tx store.Tx) error { _, err := tx.Watch(r.bob.Address()); return err }); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("it began without: %v", err)
	}
	m.fails, m.more = false, true
	r.Pass(time.Minute)
	r.look()
	r.expect("3 SOL to bob")
	if log := r.log.String(); strings.Count(log, "a part is not announced") == 0 {
		t.Error(log)
	}
}
