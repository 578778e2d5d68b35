package bot

import (
	"errors"
	"fmt"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/sandbox/telegram"
	"purser/store"
)

// damage spoils the first row of a queue in the file, while no process has it open.
func (w *world) damage(queue string) {
	w.t.Helper()
	db, err := bbolt.Open(w.path, 0o600, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		in := tx.Bucket([]byte("jobs"))
		key, raw := in.Cursor().Seek([]byte(queue + "\x00r"))
		return in.Put(append([]byte(nil), key...), append([]byte("spoiled"), raw...))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		w.t.Fatal(err)
	}
}

func TestADamagedRowIsLeftOutAndChatGoesOn(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice)
	err := w.store.Update(w.ctx(), func(tx store.Tx) error {
		var waiting []store.Job
		for n := range 3 {
			waiting = append(waiting, store.Job{Queue: store.Inbox, Key: store.ChatKey(telegram.Alice), Owner: store.ChatKey(telegram.Alice), At: time.Now(),
				Body: message(700+n, telegram.Alice, fmt.Sprint("word ", n))})
		}
		_, err := tx.PutJobs(waiting, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.enqueue(row(telegram.Alice, 0, says("reply 0")), row(telegram.Alice, 0, says("reply 1")))
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	w.damage("inbox")
	w.damage("outbox")
	w.openStore()
	w.opt.Store = w.store
	w.run()
	for _, text := range []string{"reply 1", "you said: word 1", "you said: word 2"} {
		w.hears(telegram.Alice, text)
	}
	w.must(w.telegram.Say(telegram.Alice, "/start"))
	w.hears(telegram.Alice, "you said: /start")
	for _, text := range w.fromBot(telegram.Alice) {
		if text == "reply 0" || text == "you said: word 0" {
			t.Errorf("the chat holds %q, of a damaged row", text)
		}
	}
}
