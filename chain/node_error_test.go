package chain

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"purser/sandbox/solana"
	"purser/wallet"
)

func TestTroubleWithTheNodeIsANetworkError(t *testing.T) {
	for name, fault := range map[string]solana.Fault{
		"rate limit":         {Status: 429, RetryAfter: time.Second, Message: "see http://127.0.0.1/s3cr3t"},
		"unavailable":        {Status: 503},
		"forbidden":          {Status: 403, Message: "bad key s3cr3t"},
		"rate limit as code": {Code: 429, Message: "s3cr3t"},
		"node is behind":     {Code: -32005, Message: "Node is behind by 150 slots"},
		"unknown method":     {Code: -32601, Message: "s3cr3t"},
		"internal":           {Code: -32603, Message: "http://127.0.0.1/"},
		"lost answer":        {DropAnswer: true},
		"hang":               {Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.Timeout = 200 * time.Millisecond })
			s := w.sign(testKey(1), wallet.Transaction{To: testKey(2).address(), Reference: testKey(3).address(), Amount: 5_000_000})
			w.fault("", fault)
			everyCall(t, w.Client, s, nobodyKnows)
		})
	}
}

// everyCall makes each call of the client and hands its error on. Without a judge an answer may also have made sense.
func everyCall(t *testing.T, c *Client, s sent, judge func(*testing.T, error)) {
	t.Helper()
	ctx := t.Context()
	byReference := s.query
	byReference.Signature = wallet.Signature{}
	for name, call := range map[string]func() error{
		"Accounts": func() error { _, err := c.Accounts(ctx, []wallet.Address{s.query.From}); return err },
		"Mint":     func() error { _, err := c.Mint(ctx, s.query.From); return err },
		"Parties":  func() error { _, err := c.Parties(ctx, s.query.From, payee(s.query)); return err },
		"TokenFacts": func() error {
			_, err := c.TokenFacts(ctx, s.query.From, payee(s.query), testKey(8).address(), wallet.TokenProgram)
			return err
		},
		"TokenAccounts": func() error { _, err := c.TokenAccounts(ctx, s.query.From); return err },
		"Sweep":         func() error { _, err := c.Sweep(ctx, []wallet.Address{s.query.From}, 1); return err },
		"Walk": func() error {
			_, err := c.Walk(ctx, wallet.HistoryQuery{Address: s.query.From, From: wallet.Watermark{Slot: 5}})
			return err
		},
		"History":   func() error { _, _, err := c.History(ctx, s.query.From, wallet.Signature{}, 5); return err },
		"Holdings":  func() error { _, err := c.Holdings(ctx, s.query.From); return err },
		"UnitPrice": func() error { _, err := c.UnitPrice(ctx, []wallet.Address{s.query.From}); return err },
		"Fee":       func() error { _, err := c.Fee(ctx, s.wire[65:]); return err },
		"Simulate":  func() error { _, err := c.Simulate(ctx, s.wire[65:]); return err },
		"Payments": func() error {
			_, err := c.Payments(ctx, payee(s.query), s.query.Reference, wallet.Address{}, map[wallet.Signature]bool{})
			return err
		},
		"RentMinimum":   func() error { _, err := c.RentMinimum(ctx, 0); return err },
		"StakeAccounts": func() error { _, err := c.StakeAccounts(ctx, s.query.From); return err },
		"StakeEpoch":    func() error { _, err := c.StakeEpoch(ctx); return err },
		"StakeRewards": func() error {
			_, err := c.StakeRewards(ctx, []wallet.Address{s.query.From, testKey(2).address()}, 5)
			return err
		},
		"MinimumDelegation":    func() error { _, err := c.MinimumDelegation(ctx); return err },
		"Validators":           func() error { _, err := c.Validators(ctx); return err },
		"Blockhash":            func() error { _, err := c.Blockhash(ctx); return err },
		"BlockHeight":          func() error { _, err := c.BlockHeight(ctx); return err },
		"FinalizedBlockHeight": func() error { _, err := c.FinalizedBlockHeight(ctx); return err },
		"CanSeeBackTo":         func() error { _, err := c.CanSeeBackTo(ctx, 0); return err },
		"GenesisCluster":       func() error { _, err := c.GenesisCluster(ctx); return err },
		"Broadcast":            func() error { return c.Broadcast(ctx, s.wire) },
		"Statuses":             func() error { _, err := c.Statuses(ctx, []wallet.Signature{s.signature}); return err },
		"Find":                 func() error { _, err := c.Find(ctx, s.query); return err },
		"Find by reference":    func() error { _, err := c.Find(ctx, byReference); return err },
		"FindEverywhere": func() error {
			found, certain, err := c.FindEverywhere(ctx, s.query)
			if judge != nil && (found != nil || certain) {
				t.Errorf("FindEverywhere: %+v, certain %v, %v", found, certain, err)
			}
			return err
		},
	} {
		if judge == nil {
			judged(t, name, call())
			continue
		}
		t.Run(name, func(t *testing.T) { judge(t, call()) })
	}
}

func TestLandingDoesNotWaitForItsDetails(t *testing.T) {
	w := newWorld(t)
	alice := testKey(1)
	w.fund(alice.address(), 1_000_000_000)
	s := w.sign(alice, wallet.Transaction{To: testKey(2).address(), Amount: 5_000_000})
	w.broadcast(s)
	w.advance(2)
	w.SetFault(func(method string, _ json.RawMessage) solana.Fault {
		if method == "getTransaction" || method == "getBlock" {
			return solana.Fault{Status: 503}
		}
		return solana.Fault{}
	})
	if got := w.status(s.signature); got == nil || got.Fee != 0 || got.BlockHeight != 0 || got.Slot == 0 {
		t.Fatalf("got %+v", got)
	}
	w.SetFault(nil)
	if got := w.status(s.signature); got == nil || got.Fee != 5_000 || got.BlockHeight == 0 {
		t.Fatalf("got %+v", got)
	}
}

func TestDetailsAreAskedOnce(t *testing.T) {
	w := newWorld(t)
	alice := testKey(1)
	w.fund(alice.address(), 1_000_000_000)
	s := w.sign(alice, wallet.Transaction{To: testKey(2).address(), Amount: 5_000_000})
	w.broadcast(s)
	w.advance(2)
	var details, polls atomic.Int32
	w.SetFault(func(method string, _ json.RawMessage) solana.Fault {
		switch method {
		case "getTransaction", "getBlock":
			details.Add(1)
		case "getSignatureStatuses":
			polls.Add(1)
		}
		return solana.Fault{}
	})
	for range 3 {
		if w.status(s.signature) == nil {
			t.Fatal("not found")
		}
	}
	if details.Load() != 2 || polls.Load() != 3 {
		t.Errorf("%d calls for details, %d polls; want 2 and 3", details.Load(), polls.Load())
	}
	many := make([]wallet.Signature, 600)
	for i := range many {
		many[i] = testKey(byte(i)).sign([]byte{byte(i >> 8)})
	}
	many[599] = s.signature
	landings, err := w.Statuses(t.Context(), many)
	if err != nil || len(landings) != 600 || landings[599] == nil || landings[0] != nil {
		t.Fatalf("600 at once: %d, %v", len(landings), err)
	}
	if polls.Load() != 6 {
		t.Errorf("600 signatures took %d calls, want 3", polls.Load()-3)
	}
}
