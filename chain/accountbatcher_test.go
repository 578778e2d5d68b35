package chain

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"purser/sandbox/solana"
	"purser/wallet"
)

// numbered is the address of a number.
func numbered(n int) (a wallet.Address) {
	binary.BigEndian.PutUint32(a[:], uint32(n))
	a[31] = 1
	return a
}

// asking is a node that an accountBatcher asks. Each call waits until it is let go, and says of each address its number as lamports, or nothing for 0.
type asking struct {
	*accountBatcher
	began chan []wallet.Address
	goOn  chan error
	group sync.WaitGroup
}

func newAsking() *asking {
	a := &asking{began: make(chan []wallet.Address), goOn: make(chan error)}
	a.accountBatcher = newAccountBatcher(a.ask)
	a.wait = time.Hour // however slow the machine is
	return a
}

func (a *asking) ask(ctx context.Context, as []wallet.Address) (out answerAt[[]*accountData], err error) {
	a.began <- slices.Clone(as)
	select {
	case err = <-a.goOn:
	case <-ctx.Done():
		err = ctx.Err()
	}
	out.slot = 7
	for _, at := range as {
		var account *accountData
		if n := uint64(binary.BigEndian.Uint32(at[:])); n != 0 {
			account = &accountData{accountInfo: accountInfo{Lamports: &n}}
		}
		out.value = append(out.value, account)
	}
	return out, err
}

// get asks in the background, and hands on what comes of it.
func (a *asking) get(t *testing.T, ctx context.Context, numbers ...int) <-chan error {
	as := make([]wallet.Address, len(numbers))
	for i, n := range numbers {
		as[i] = numbered(n)
	}
	done := make(chan error, 1)
	a.group.Go(func() {
		answer, err := a.accountBatcher.get(ctx, as)
		if err == nil {
			if len(answer.value) != len(as) || answer.slot != 7 {
				t.Errorf("%v: %+v", numbers, answer)
			}
			for i, n := range numbers {
				if account := answer.value[i]; (account == nil) != (n == 0) || n != 0 && *account.Lamports != uint64(n) {
					t.Errorf("%d of %v: %+v", i, numbers, account)
				}
			}
		}
		done <- err
	})
	return done
}

// waitingFor waits until the open batch has so many addresses.
func (a *asking) waitingFor(count int) {
	for {
		a.mu.Lock()
		open := a.open
		have := 0
		if open != nil {
			have = len(open.addresses)
		}
		a.mu.Unlock()
		if have == count {
			return
		}
		runtime.Gosched()
	}
}

// busy lets as many calls begin as may be in progress.
func (a *asking) busy(t *testing.T) {
	for i := range batchesAtOnce {
		a.get(t, t.Context(), 1000+i)
		if as := <-a.began; len(as) != 1 {
			t.Fatalf("a caller alone asks for %d", len(as))
		}
	}
}

func TestCallersMeanwhileShareTheNextCall(t *testing.T) { synctest.Test(t, callersShare) }

func callersShare(t *testing.T) {
	a := newAsking()
	a.busy(t)
	a.get(t, t.Context(), 1, 0)
	a.waitingFor(2)
	a.get(t, t.Context(), 2, 0)
	a.waitingFor(3)
	a.get(t, t.Context(), 0, 1)
	a.get(t, t.Context(), 3, 2)
	synctest.Wait() // the last but one adds no address
	a.waitingFor(4)
	a.goOn <- nil
	as := <-a.began
	want := []wallet.Address{numbered(1), numbered(0), numbered(2), numbered(3)}
	if !slices.Equal(as, want) {
		t.Errorf("asked for %v", as)
	}
	// It has begun, so nobody joins it.
	late := a.get(t, t.Context(), 1)
	a.waitingFor(1)
	a.goOn <- nil
	if as := <-a.began; len(as) != 1 {
		t.Errorf("then asked for %v", as)
	}
	a.goOn <- nil
	a.goOn <- nil
	if err := <-late; err != nil {
		t.Error(err)
	}
	a.group.Wait()
}

func TestACallForManyIsNoLongerThanANodeTakes(t *testing.T) {
	a := newAsking()
	a.busy(t)
	for i := range maxAccountsAsked/2 + 1 {
		a.get(t, t.Context(), 2*i, 2*i+1)
		a.waitingFor((2*i+1)%maxAccountsAsked + 1)
	}
	var sizes []int
	for range batchesAtOnce {
		a.goOn <- nil
		sizes = append(sizes, len(<-a.began))
	}
	for range batchesAtOnce {
		a.goOn <- nil
	}
	a.group.Wait()
	slices.Sort(sizes)
	if !slices.Equal(sizes, []int{2, maxAccountsAsked}) {
		t.Errorf("the calls were for %v", sizes)
	}
}

// TestACallerWhoGivesUpFailsNobodyElse: neither while it waits for its turn, nor while it asks.
func TestACallerWhoGivesUpFailsNobodyElse(t *testing.T) {
	for what, asks := range map[string]bool{"waiting": false, "asking": true} {
		a := newAsking()
		a.busy(t)
		ctx, giveUp := context.WithCancel(t.Context())
		first := a.get(t, ctx, 1)
		a.waitingFor(1)
		second := a.get(t, t.Context(), 2)
		a.waitingFor(2)
		if asks {
			a.goOn <- nil
			<-a.began
		}
		giveUp()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: who gave up got %v", what, err)
		}
		if !asks {
			a.waitingFor(1)
			a.goOn <- nil
		}
		if as := <-a.began; !slices.Equal(as, []wallet.Address{numbered(2)}) {
			t.Errorf("%s: then asked for %v", what, as)
		}
		for range batchesAtOnce {
			a.goOn <- nil
		}
		if err := <-second; err != nil {
			t.Errorf("%s: %v", what, err)
		}
		a.group.Wait()
	}
}

func TestWhoWaitsForAnothersCallMayGiveUp(t *testing.T) {
	a := newAsking()
	a.busy(t)
	first := a.get(t, t.Context(), 1)
	a.waitingFor(1)
	ctx, giveUp := context.WithCancel(t.Context())
	second := a.get(t, ctx, 2)
	a.waitingFor(2)
	giveUp()
	if err := <-second; !errors.Is(err, context.Canceled) || wallet.CodeOf(err) != wallet.NetworkError {
		t.Errorf("got %v", err)
	}
	a.goOn <- nil
	<-a.began
	for range batchesAtOnce {
		a.goOn <- nil
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
	a.group.Wait()
}

func TestAFailedCallIsEverybodysAndForgotten(t *testing.T) {
	a, broken := newAsking(), errors.New("broken")
	a.busy(t)
	both := []<-chan error{a.get(t, t.Context(), 1), nil}
	a.waitingFor(1)
	both[1] = a.get(t, t.Context(), 2)
	a.waitingFor(2)
	a.goOn <- nil
	<-a.began
	// Of the two calls in progress, one fails whichever it is: both do.
	for range batchesAtOnce {
		a.goOn <- broken
	}
	for _, done := range both {
		if err := <-done; !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
	again := a.get(t, t.Context(), 1)
	<-a.began
	a.goOn <- nil
	if err := <-again; err != nil {
		t.Error(err)
	}
	a.group.Wait()
}

// TestCallsThatHangHoldUpNobody for longer than batchWait.
func TestCallsThatHangHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking()
		a.wait = newAccountBatcher(nil).wait
		a.busy(t)
		began := time.Now()
		third := a.get(t, t.Context(), 1)
		fourth := a.get(t, t.Context(), 2)
		if as := <-a.began; len(as) != 2 || time.Since(began) != batchWait {
			t.Errorf("after %s it asked for %d", time.Since(began), len(as))
		}
		for range batchesAtOnce + 1 {
			a.goOn <- nil
		}
		if err := errors.Join(<-third, <-fourth); err != nil {
			t.Error(err)
		}
		a.group.Wait()
		if len(a.running) != 0 {
			t.Errorf("%d calls are in progress", len(a.running))
		}
	})
}

// TestACallThatPanicsIsAnErrorForOthers who share it.
func TestACallThatPanicsIsAnErrorForOthers(t *testing.T) {
	read := make(chan struct{})
	b := newAccountBatcher(func(context.Context, []wallet.Address) (answerAt[[]*accountData], error) {
		<-read
		panic("no answer")
	})
	b.wait = time.Hour
	for range batchesAtOnce {
		b.running <- struct{}{}
	}
	other := make(chan error, 1)
	go func() {
		defer func() { _ = recover() }() // it runs the batch
		_, _ = b.get(t.Context(), []wallet.Address{numbered(1)})
	}()
	a := &asking{accountBatcher: b}
	a.waitingFor(1)
	go func() {
		_, err := b.get(t.Context(), []wallet.Address{numbered(2)})
		other <- err
	}()
	a.waitingFor(2)
	<-b.running
	close(read)
	if err := <-other; !errors.Is(err, errNoAnswer) {
		t.Errorf("got %v", err)
	}
}

// TestTransfersOfACrowdShareCalls: the client does, where answers may be shared, and each caller gets its own accounts.
func TestTransfersOfACrowdShareCalls(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Share = true })
	rich, poor := testKey(1).address(), testKey(2).address()
	if _, err := w.Airdrop(t.Context(), rich.String(), 5_000_000_000); err != nil {
		t.Fatal(err)
	}
	w.advance(40)
	const crowd = 48
	began := make(chan struct{}, crowd)
	hold := make(chan struct{})
	w.SetFault(func(method string, _ json.RawMessage) solana.Fault {
		if method == accountsMethod {
			began <- struct{}{}
			<-hold
		}
		return solana.Fault{}
	})
	w.Client.transfers[forPerson].wait = time.Hour
	var group sync.WaitGroup
	for i := range crowd {
		group.Go(func() {
			from := []wallet.Address{rich, poor}[i%2]
			got, err := w.Client.Parties(t.Context(), from, numbered(i+1))
			if err != nil || got.From.Exists != (from == rich) || got.From.Lamports != map[wallet.Address]uint64{rich: 5_000_000_000}[from] || got.To.Exists || got.From.Slot == 0 {
				t.Errorf("%d: %+v, %v", i, got, err)
			}
		})
		if i < batchesAtOnce {
			<-began // each alone: its call has begun, so nobody joins it
		}
	}
	waiting := &asking{accountBatcher: w.Client.transfers[forPerson]}
	waiting.waitingFor(crowd - batchesAtOnce + 2)
	close(hold)
	group.Wait()
	if len(began) != 1 {
		t.Errorf("%d calls for %d transfers after the first %d", len(began), crowd-batchesAtOnce, batchesAtOnce)
	}
	// A caller who waits for a list does not wait with those who pay.
	if w.Client.transfers[forPerson] == w.Client.transfers[forList] {
		t.Error("calls of all classes wait for each other")
	}
}
