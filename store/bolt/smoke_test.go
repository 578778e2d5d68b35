package bolt

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

func TestSmoke(t *testing.T) {
	s, err := Open(Options{Path: t.TempDir() + "/x.db", MasterKey: make([]byte, 32), Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Update(context.Background(), func(tx store.Tx) error {
		if err := tx.PutUser(wallet.User{ID: "usr_1", TelegramID: 5, FirstName: "A", RegisteredAt: time.Now()}); err != nil {
			return err
		}
		return tx.CreateTransaction(wallet.Transaction{ID: "tx_1", Owner: "usr_1", SignID: "s", Chat: 5})
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.View(context.Background(), func(tx store.Tx) error {
		u, err := tx.UserByTelegram(5)
		if err != nil {
			return err
		}
		t.Log(u)
		x, err := tx.TransactionBySignID("s")
		t.Log(x)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
