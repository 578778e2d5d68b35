package records

import (
	"errors"
	"testing"

	"purser/store"
	"purser/wallet"
)

// TestAnErasureThatFailsLeavesTheCachedKey: only a commit takes a person's key from the cache, and then for good, also
// while an older snapshot still reads by it.
func TestAnErasureThatFailsLeavesTheCachedKey(t *testing.T) {
	s := fresh(t)
	var at secretID
	cached := func() bool {
		s.dataKeys.mu.Lock()
		defer s.dataKeys.mu.Unlock()
		return s.dataKeys.keys[at] != nil
	}
	name := func(tx *tx) {
		t.Helper()
		if u, err := tx.User("usr_1"); err != nil || u.FirstName != "Alice" {
			t.Errorf("read %+v, %v", u, err)
		}
	}
	mustUpdate(t, s, func(tx store.Tx) error {
		return tx.PutUser(wallet.User{ID: "usr_1", TelegramID: 1001, FirstName: "Alice"})
	})
	read := func() {
		t.Helper()
		if err := s.view(t.Context(), func(tx *tx) error {
			secret, _ := tx.in.SecretOf("usr_1")
			at = secretID{"usr_1", string(secret)}
			name(tx)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if !cached() {
		t.Fatal("a key that was used is not cached")
	}
	refused := errors.New("refused")
	if err := s.Update(t.Context(), func(tx store.Tx) error { return errors.Join(tx.EraseUser("usr_1"), refused) }); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	read()
	if !cached() || len(s.dataKeys.gone) > 0 {
		t.Error("the key is treated as destroyed, although nobody was erased")
	}
	// An older snapshot reads the person before the erasure, and finds the key destroyed after it.
	if err := s.view(t.Context(), func(old *tx) error {
		name(old)
		mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_1") })
		if cached() {
			t.Error("the key of somebody erased is still cached")
		}
		later := &tx{in: old.in, store: s}
		if u, err := later.User("usr_1"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("by an older snapshot, somebody erased reads as %+v, %v", u, err)
		}
		if cached() {
			t.Error("an older snapshot has put it back")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
