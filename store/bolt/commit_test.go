package bolt

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"purser/store"
	"purser/wallet"
)

// together commits closures in one transaction, in their order, and returns what each was told. The last ones wait
// until all are queued behind one that is held up.
func together(t *testing.T, s *Store, closures ...func(store.Tx) error) []error {
	t.Helper()
	ctx, release, began := context.Background(), make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		first <- s.Update(ctx, func(store.Tx) error {
			close(began)
			<-release
			return nil
		})
	}()
	<-began
	told := make([]chan error, len(closures))
	for i, closure := range closures {
		told[i] = make(chan error, 1)
		go func() { told[i] <- s.Update(ctx, closure) }()
		synctest.Wait() // it is queued
	}
	close(release)
	errs := make([]error, len(closures))
	for i := range told {
		errs[i] = <-told[i]
	}
	if err := <-first; err != nil {
		t.Errorf("the one that was held up: %v", err)
	}
	return errs
}

// registers and meets are two closures of one transaction: the second refuses because of what the first wrote, and
// writes nothing itself.
var errMet = errors.New("this person is known already")

func registers(tx store.Tx) error {
	return tx.PutUser(wallet.User{ID: "usr_1", TelegramID: 1, RegisteredAt: time.Unix(0, 0).UTC()})
}

func meets(tx store.Tx) error {
	_, err := tx.User("usr_1")
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return errors.Join(errMet, err)
}

// TestARefusalWaitsForTheCommitThatItRestsOn: where nobody knows whether that became durable, the refusal is not
// told either, though it wrote nothing.
func TestARefusalWaitsForTheCommitThatItRestsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
		defer s.Close() //nolint:errcheck // it has stopped
		breaks := func(tx store.Tx) error { return tx.(interface{ rollback() error }).rollback() }
		told := together(t, s, registers, meets, breaks)
		for i, err := range told {
			if !errors.Is(err, store.ErrUnknownOutcome) || errors.Is(err, errMet) {
				t.Errorf("closure %d of a commit that failed was told %v", i, err)
			}
		}
	})
}

// TestARefusalIsToldWithItsCommit, which others see when it is told.
func TestARefusalIsToldWithItsCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
		defer s.Close() //nolint:errcheck // of a test
		if told := together(t, s, registers, meets); told[0] != nil || !errors.Is(told[1], errMet) {
			t.Errorf("told %v", told)
		}
	})
}

// TestARefusalThatRestsOnARollbackIsThoughtOverAgain: the one whose row it met wrote, and failed.
func TestARefusalThatRestsOnARollbackIsThoughtOverAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
		defer s.Close() //nolint:errcheck // of a test
		failed, runs := errors.New("no"), 0
		fails := func(tx store.Tx) error { return errors.Join(failed, registers(tx)) }
		counts := func(tx store.Tx) error { runs++; return meets(tx) }
		told := together(t, s, fails, counts)
		if !errors.Is(told[0], failed) || told[1] != nil {
			t.Errorf("told %v", told)
		}
		// Behind one that fails later it runs twice, and is told what the second run says.
		runs = 0
		told = together(t, s, registers, counts, fails)
		if told[0] != nil || !errors.Is(told[1], errMet) || !errors.Is(told[2], failed) || runs != 2 {
			t.Errorf("told %v after %d runs", told, runs)
		}
	})
}

// rollback takes away what a transaction has done, so that its commit fails.
func (t *tx) rollback() error { return t.group.tx.Rollback() }
