package handlers_test

import (
	"testing"
	"time"

	"purser/handlers"
	"purser/wallet"
)

// TestTheLastUseOfAKeyIsKnownToTheSecond, also when the key is known from memory, and when the clock is set back.
func TestTheLastUseOfAKeyIsKnownToTheSecond(t *testing.T) {
	r := newHarness(t)
	_, secret, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier})
	r.Must(err)
	// use uses the key after a while, which may be negative.
	use := func(after time.Duration) {
		t.Helper()
		r.Pass(after)
		_, err := r.Keys.Check(r.Context(), r.Now(), secret, wallet.APIKey)
		r.Must(err)
	}
	written := func(want time.Time) {
		t.Helper()
		r.Must(r.Keys.WriteUse(r.Context()))
		keys, err := r.Keys.List(r.Context())
		r.Must(err)
		if len(keys) != 1 || !keys[0].LastUsed.Equal(want) {
			t.Errorf("%d keys, last used %s, not %s", len(keys), keys[0].LastUsed, want)
		}
	}
	began := r.Now()
	use(0)
	written(began)
	use(2 * time.Second)
	use(999 * time.Millisecond) // not a second after the last that was noted
	written(began.Add(2 * time.Second))
	use(2 * time.Second)
	use(time.Second)
	use(time.Second)
	written(began.Add(2*time.Second + 999*time.Millisecond + 4*time.Second))
	last := r.Now()
	use(9 * time.Second)
	use(-5 * time.Second)
	written(last.Add(4 * time.Second))
}

// TestAKeyKnownFromMemoryEndsAtOnce, when it is revoked and when its time is over.
func TestAKeyKnownFromMemoryEndsAtOnce(t *testing.T) {
	r := newHarness(t)
	key, secret, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier})
	r.Must(err)
	_, short, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, ExpiresAt: r.Now().Add(time.Minute)})
	r.Must(err)
	use := func(secret string, want wallet.Code) {
		t.Helper()
		if _, err := r.Keys.Check(r.Context(), r.Now(), secret, ""); wallet.CodeOf(err) != want {
			t.Errorf("%v", err)
		}
	}
	for range 3 {
		use(secret, "")
		use(short, "")
	}
	_, err = r.Keys.Revoke(r.Context(), key.ID)
	r.Must(err)
	use(secret, wallet.InvalidAPIKey)
	use(short, "")
	r.Pass(time.Minute)
	use(short, wallet.InvalidAPIKey)
}
