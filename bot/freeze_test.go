package bot

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/sandbox/telegram"
	"purser/store"
	"purser/wallet"
)

// freezesInStore makes the talker freeze as the chat does: /freeze of a known person, in the transaction that it gets.
func (w *world) freezesInStore() {
	w.talker.freezes = func(tx store.Tx, in chat.Input) error {
		if in.Text != "/freeze" {
			return nil
		}
		user, err := tx.UserByTelegram(in.From.TelegramID)
		if err != nil {
			return err
		}
		user.Freeze = &wallet.Freeze{At: time.Date(2026, 11, 24, 20, 0, 0, 0, time.UTC), Message: in.MessageID}
		return tx.PutUser(user)
	}
}

// frozen returns the freeze of a person, nil for none.
func (w *world) frozen(telegramID int64) (f *wallet.Freeze) {
	w.view(func(tx store.Tx) error {
		user, err := tx.UserByTelegram(telegramID)
		f = user.Freeze
		return err
	})
	return f
}

// known makes the people users of purser.
func (f *flood) known(people ...int64) {
	for _, id := range people {
		err := f.store.Update(f.ctx(), func(tx store.Tx) error {
			return tx.PutUser(wallet.User{ID: wallet.UserID(fmt.Sprint("usr_", id)), TelegramID: id})
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// TestAFreezeTakesEffectBeforeWhatWaits: it is true when the call that brings it returns, while an earlier update is still in hand
// and a flood waits before it. It also holds when the flood behind it pushes it out of the inbox.
func TestAFreezeTakesEffectBeforeWhatWaits(t *testing.T) {
	f := newFlood(t)
	f.freezesInStore()
	f.known(telegram.Alice, telegram.Bob)
	f.says(telegram.Alice, "in hand")
	<-f.begun
	for i := range maxOfChat + 20 {
		f.says(telegram.Alice, fmt.Sprint("before ", i))
	}
	f.says(telegram.Alice, "/freeze")
	if f.frozen(telegram.Alice) == nil {
		t.Fatal("not frozen when the update is in the inbox")
	}
	if f.frozen(telegram.Bob) != nil {
		t.Fatal("somebody else is frozen")
	}
	for i := range maxOfChat + 20 {
		f.says(telegram.Alice, fmt.Sprint("after ", i))
	}
	for _, job := range f.inbox() {
		if strings.Contains(string(job.Body), "/freeze") {
			t.Fatal("the flood did not push it out: the test is broken")
		}
	}
	if f.frozen(telegram.Alice) == nil {
		t.Error("a flood ended the freeze")
	}
	close(f.release)
}

// TestAFreezeOfAFullInboxTakesEffect: Telegram keeps the update and delivers it again, and the account is frozen meanwhile.
func TestAFreezeOfAFullInboxTakesEffect(t *testing.T) {
	f := newFlood(t)
	f.freezesInStore()
	f.known(telegram.Alice)
	f.bot.maxWaiting = 1
	f.says(telegram.Alice, "in hand")
	<-f.begun
	if err := f.bot.Accept(f.ctx(), "s", message(900, telegram.Alice, "/freeze")); !errors.Is(err, ErrBusy) {
		t.Fatalf("a full inbox: %v", err)
	}
	if f.frozen(telegram.Alice) == nil {
		t.Error("not frozen")
	}
	close(f.release)
}

// TestAnUpdateThatIsDeliveredAgainDoesNotFreezeAgain: its person may have unfrozen the account since.
func TestAnUpdateThatIsDeliveredAgainDoesNotFreezeAgain(t *testing.T) {
	f := newFlood(t)
	f.freezesInStore()
	f.known(telegram.Alice)
	update := message(901, telegram.Alice, "/freeze")
	f.must(0, f.bot.Accept(f.ctx(), "s", update))
	if f.frozen(telegram.Alice) == nil {
		t.Fatal("not frozen")
	}
	f.known(telegram.Alice) // unfrozen
	f.must(0, f.bot.Accept(f.ctx(), "s", update))
	if f.frozen(telegram.Alice) != nil {
		t.Error("it froze again")
	}
	close(f.release)
}

// TestAFreezeThatFailsLosesNoUpdate: the update is handled as any other, and freezes then.
func TestAFreezeThatFailsLosesNoUpdate(t *testing.T) {
	f := newFlood(t)
	f.talker.freezes = func(tx store.Tx, in chat.Input) error {
		return errors.Join(tx.PutCard(in.Chat, "half", 1, time.Time{}), errors.New("a damaged row"))
	}
	f.says(telegram.Bob, "/freeze")
	f.eventually("the update is handled", func() bool { return len(f.heard(telegram.Bob)) == 1 })
	f.view(func(tx store.Tx) error {
		if _, err := tx.Card(telegram.Bob, "half"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("half a freeze was kept: %v", err)
		}
		return nil
	})
	if !strings.Contains(f.log.String(), "could not be frozen") {
		t.Error("the operator is not told")
	}
	close(f.release)
}
