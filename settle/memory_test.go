package settle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"purser/wallet"
)

// asking is a chain that answers polls as a test says; nothing else is asked of it.
type asking struct {
	Chain
	answer func(ctx context.Context, signatures []wallet.Signature) ([]*wallet.Landing, error)
}

func (a asking) Statuses(ctx context.Context, signatures []wallet.Signature) ([]*wallet.Landing, error) {
	return a.answer(ctx, signatures)
}

func numbered(n int) wallet.Signature { return wallet.Signature{0: byte(n), 1: byte(n >> 8), 2: 1} }

// TestManyAreAskedForTogether: 600 at the same moment are three questions, and each gets its own answer.
func TestManyAreAskedForTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var sizes []int
		s := &Settler{Pace: DefaultPace(), Chain: asking{answer: func(_ context.Context, signatures []wallet.Signature) ([]*wallet.Landing, error) {
			mu.Lock()
			sizes = append(sizes, len(signatures))
			mu.Unlock()
			out := make([]*wallet.Landing, len(signatures))
			for i, signature := range signatures {
				if signature[0]%2 == 0 {
					out[i] = &wallet.Landing{Signature: signature}
				}
			}
			return out, nil
		}}}
		var all sync.WaitGroup
		for n := range 600 {
			all.Go(func() {
				landing, err := s.status(t.Context(), numbered(n))
				if known := n%2 == 0; err != nil || (landing != nil) != known || known && landing.Signature != numbered(n) {
					t.Errorf("%d: %+v, %v", n, landing, err)
				}
			})
		}
		all.Wait()
		sum := 0
		for _, size := range sizes {
			if sum += size; size > 256 {
				t.Errorf("%d were asked for at once", size)
			}
		}
		if len(sizes) != 3 || sum != 600 {
			t.Errorf("asked for %v", sizes)
		}
		if _, err := s.status(t.Context(), numbered(1)); err != nil || len(sizes) != 4 {
			t.Errorf("a later one: %v, after %d questions", err, len(sizes))
		}
	})
}

// TestAnAnswerOfAnotherLengthIsNone, and a failure is everybody's who asked.
func TestAnAnswerOfAnotherLengthIsNone(t *testing.T) {
	broken := errors.New("broken")
	for name, answer := range map[string]func(context.Context, []wallet.Signature) ([]*wallet.Landing, error){
		"short": func(context.Context, []wallet.Signature) ([]*wallet.Landing, error) { return nil, nil },
		"long": func(context.Context, []wallet.Signature) ([]*wallet.Landing, error) {
			return make([]*wallet.Landing, 9), nil
		},
		"failure": func(context.Context, []wallet.Signature) ([]*wallet.Landing, error) { return nil, broken },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &Settler{Pace: DefaultPace(), Chain: asking{answer: answer}}
			var all sync.WaitGroup
			for n := range 3 {
				all.Go(func() {
					if landing, err := s.status(t.Context(), numbered(n)); err == nil || landing != nil {
						t.Errorf("%s: %+v, %v", name, landing, err)
					}
				})
			}
			all.Wait()
		})
	}
}

// TestWhoeverStillWaitsAsksInThePlaceOfWhoLeft: a lost lease ends one look, not those that were asked with it.
func TestWhoeverStillWaitsAsksInThePlaceOfWhoLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Settler{Pace: DefaultPace(), Chain: asking{answer: func(ctx context.Context, signatures []wallet.Signature) ([]*wallet.Landing, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Second):
				return make([]*wallet.Landing, len(signatures)), nil
			}
		}}}
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := s.status(ctx, numbered(0)); !errors.Is(err, context.Canceled) {
				t.Errorf("who left: %v", err)
			}
		})
		synctest.Wait()
		for n := range 3 {
			all.Go(func() {
				if _, err := s.status(t.Context(), numbered(1+n)); err != nil {
					t.Errorf("who waits: %v", err)
				}
			})
		}
		time.Sleep(500 * time.Millisecond) // in the bubble's time: the question is under way
		leave()
		all.Wait()
	})
}

// TestAllPollsFallOnTheSameHalfSeconds, whenever each began: so one question serves many.
func TestAllPollsFallOnTheSameHalfSeconds(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]time.Duration{0: 500, 1: 500, 499: 500, 500: 1000, 730: 1000} {
		s := &Settler{Pace: DefaultPace(), Now: func() time.Time { return noon.Add(after * time.Millisecond) }}
		if got := s.nextPoll().Sub(noon); got != want*time.Millisecond {
			t.Errorf("after %d ms the next poll is at %v", after, got)
		}
	}
}

// TestWhatNobodyLooksAtIsForgotten: a node remembers what it works on, and nothing for ever.
func TestWhatNobodyLooksAtIsForgotten(t *testing.T) {
	var m memory
	now := time.Now()
	old := m.of("tx_old", now)
	m.hint(numbered(1), old)
	kept := m.of("tx_kept", now)
	m.hint(numbered(2), kept)
	now = now.Add(forgetAfter)
	if m.of("tx_kept", now) != kept {
		t.Fatal("it was forgotten while it was in use")
	}
	now = now.Add(time.Second)
	for n := range 3_000 {
		m.of(wallet.TransactionID(fmt.Sprintf("tx_%d", n)), now)
	}
	if m.of("tx_kept", now) != kept || m.hinted[numbered(2)] != kept {
		t.Error("what is in use was forgotten")
	}
	if m.watches["tx_old"] != nil || m.hinted[numbered(1)] != nil {
		t.Error("what nobody looked at is remembered")
	}
	m.forget("tx_kept", numbered(2))
	if m.of("tx_kept", now) == kept || m.hinted[numbered(2)] != nil {
		t.Error("what has ended is remembered")
	}
	if m.hint(numbered(1), kept); m.hint(numbered(1), kept) {
		t.Error("the same hint was asked for twice")
	}
}
