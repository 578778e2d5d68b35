package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"purser/store/engine"
)

func engineSecrets(t *testing.T, open OpenEngine) {
	folder := t.TempDir()
	e := engineIn(t, open, folder)
	secret := func(fill byte) []byte { return bytes.Repeat([]byte{fill}, engine.SecretSize) }
	reads := func(tx engine.Tx, owner string, want byte) {
		t.Helper()
		name, state := tx.SecretOf(owner)
		if want == 0 {
			if state == engine.Kept || name != nil {
				t.Errorf("%s has a secret", owner)
			}
			return
		}
		if got, err := tx.Secret(name); err != nil || state != engine.Kept || !bytes.Equal(got, secret(want)) {
			t.Errorf("the secret of %s is %v, %d, %v", owner, got, state, err)
		}
	}
	change(t, e, func(tx engine.Tx) error {
		err := errors.Join(tx.PutSecret("a", secret(1)), tx.PutSecret("b", secret(2)), tx.PutSecret("c", secret(3)))
		reads(tx, "a", 1)
		reads(tx, "nobody", 0)
		return err
	})
	undo := errors.New("undo")
	if err := e.Update(t.Context(), func(tx engine.Tx) error {
		return errors.Join(tx.PutSecret("d", secret(4)), tx.PutSecret("b", secret(9)), tx.DestroySecret("a"), undo)
	}); !errors.Is(err, undo) {
		t.Fatal(err)
	}
	if err := e.Update(t.Context(), func(tx engine.Tx) error { return tx.PutSecret("e", secret(1)[1:]) }); err == nil {
		t.Error("a short secret was kept")
	}
	look(t, e, func(before engine.Tx) {
		name, _ := before.SecretOf("a")
		change(t, e, func(tx engine.Tx) error { return errors.Join(tx.DestroySecret("a"), tx.PutSecret("c", secret(7))) })
		if got, err := before.Secret(name); !errors.Is(err, engine.ErrDestroyed) {
			t.Errorf("an older snapshot reads a destroyed secret: %v, %v", got, err)
		}
	})
	check := func(e engine.Engine, a byte) {
		t.Helper()
		look(t, e, func(tx engine.Tx) {
			for owner, want := range map[string]byte{"a": a, "b": 2, "c": 7, "d": 0, "e": 0, "nobody": 0} {
				reads(tx, owner, want)
			}
			_, gone := tx.SecretOf("a")
			_, never := tx.SecretOf("d")
			if (gone == engine.Destroyed) != (a == 0) || never != engine.NoSecret {
				t.Errorf("states %d and %d", gone, never)
			}
		})
	}
	check(e, 0)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = engineIn(t, open, folder)
	check(e, 0)
	change(t, e, func(tx engine.Tx) error { return errors.Join(tx.PutSecret("a", secret(8)), tx.DestroySecret("nobody")) })
	check(e, 8)
}

func engineDestroys(t *testing.T, open OpenEngine) {
	folder := t.TempDir()
	e := engineIn(t, open, folder)
	secret := func(n int) []byte {
		out := make([]byte, engine.SecretSize)
		r := rand.NewChaCha8([32]byte{byte(n)})
		_, _ = r.Read(out)
		return out
	}
	lies := func(n int) bool {
		for _, raw := range filesIn(t, folder) {
			if bytes.Contains(raw, secret(n)) {
				return true
			}
		}
		return false
	}
	for n := range 6 {
		change(t, e, func(tx engine.Tx) error { return tx.PutSecret(fmt.Sprint(n), secret(n)) })
	}
	for n := range 6 {
		if !lies(n) {
			t.Fatalf("secret %d is in no file: this test cannot fail", n)
		}
	}
	change(t, e, func(tx engine.Tx) error { return tx.DestroySecret("1") })
	change(t, e, func(tx engine.Tx) error { return tx.PutSecret("2", secret(7)) })
	change(t, e, func(tx engine.Tx) error { // of this very transaction
		return errors.Join(tx.PutSecret("8", secret(8)), tx.DestroySecret("8"))
	})
	for n, want := range map[int]bool{0: true, 1: false, 2: false, 3: true, 7: true, 8: false} {
		if lies(n) != want {
			t.Errorf("secret %d lies in a file: %t", n, !want)
		}
	}
}
