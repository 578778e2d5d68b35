package api

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/e2e/world"
	"purser/handlers"
	"purser/notify"
	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// told turns events into messages, and returns what waits to be said to a person, oldest first. It leaves out that a key was used from
// a new address, which is said of each key's first request.
func (r *harness) told(p person) []string {
	r.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := notify.Notifier{Store: world.UntilIdle{Store: r.Store, Queue: store.Events, Idle: cancel}, Chat: r.chat, Node: "a", Width: 1, Now: time.Now, Log: slog.New(slog.NewTextHandler(r.logged, nil))}
	r.Must(n.Run(ctx))
	var out []string
	for _, reply := range storetest.Outbox(r, r.Store) {
		var said chat.Reply
		if reply.Chat == p.TelegramID {
			r.Must(json.Unmarshal(reply.Body, &said))
			if !strings.Contains(said.Text, "was used from a new address") {
				out = append(out, said.Text)
			}
		}
	}
	return out
}

func (r *harness) choosesEvents(token, id, body string) answer {
	r.Helper()
	return r.call("PUT", "/v1/telegram/user/"+id+"/notifications", token, body)
}

// TestAnAppCannotSilenceAPerson: what an app wants to hear of somebody is its own affair. The person is told of
// it, keeps their own alerts, and the choice ends with the access.
func TestAnAppCannotSilenceAPerson(t *testing.T) {
	r := newHarness(t)
	a := r.app()
	r.allows(r.alice, a)
	before := len(r.told(r.alice))
	r.want(r.choosesEvents(a.token, "1001", `{"enabled":false,"events":[]}`), 200, "", "")
	said := r.told(r.alice)
	if len(said) != before+1 || !strings.Contains(said[before], "<b>Carol's &lt;Shop&gt;</b> no longer receives events about you") || !strings.Contains(said[before], "Your own notifications in this chat stay as they are") {
		t.Errorf("she is told %q", said[before:])
	}
	r.want(r.choosesEvents(a.token, "1001", `{"enabled":false,"events":[]}`), 200, "", "") // nothing new
	r.Paid(r.bob.Person, r.alice.Address(), "0.1", "SOL")
	said = r.told(r.alice)
	if len(said) != before+2 || !strings.Contains(said[before+1], "0.1 SOL") {
		t.Errorf("her own alert of a payment: %q", said[before+1:])
	}
	if got := r.get("/v1/telegram/user/1001", a.token); got.field("data", "notifications_enabled") != false {
		t.Errorf("the app reads %s", got.body)
	}

	// The other way round: what she mutes for herself says nothing to the app.
	r.want(r.choosesEvents(a.token, "1001", `{"enabled":true,"events":["stake.*","price.alert"]}`), 200, "", "")
	r.want(r.call("PUT", "/v1/notifications", r.alice.secret, `{"enabled":false,"events":[]}`), 200, "", "")
	if got := r.get("/v1/telegram/user/1001", a.token); got.field("data", "notifications_enabled") != true {
		t.Errorf("the app reads %s", got.body)
	}
	said = r.told(r.alice)
	if last := said[len(said)-1]; !strings.Contains(last, "Your notifications were changed</b> with your key …") || !strings.Contains(last, "All optional notifications are now off") {
		t.Errorf("of the change by her key she is told %q", last)
	}
	if !strings.Contains(said[len(said)-2], "now receives events about your price alerts, staking") {
		t.Errorf("she is told %q", said[len(said)-2])
	}

	// It ends with the access, and begins as any other.
	r.withdraws(r.alice, a)
	r.want(r.choosesEvents(a.token, "1001", `{"enabled":true,"events":["*"]}`), 403, wallet.ConsentRequired, "")
	r.allows(r.alice, a)
	choice := func(who wallet.UserID, app wallet.AppID) (choice *wallet.Notifications) {
		r.View(func(tx store.Tx) error {
			grant, err := tx.Grant(who, app)
			choice = grant.Events
			return err
		})
		return choice
	}
	if got := choice(r.alice.User.ID, a.id); got != nil {
		t.Errorf("a new grant begins with the choice %+v", got)
	}
	// Of a grant that goes on it is a part, as long as the scope is by which it was made.
	r.want(r.choosesEvents(a.token, "1001", `{"enabled":true,"events":["price.alert"]}`), 200, "", "")
	again := func(scopes ...wallet.Scope) {
		r.Must(r.Update(func(tx store.Tx) error {
			asked, err := r.Apps.ConsentFor(tx, r.alice.User.ID, a.id)
			if err != nil {
				return err
			}
			return r.Apps.Allow(tx, r.alice.User.ID, a.id, asked.App.Scopes, scopes)
		}))
	}
	again(wallet.BotUsers, wallet.BotSend)
	if got := choice(r.alice.User.ID, a.id); got == nil || fmt.Sprint(got.Events) != "[price.alert]" {
		t.Errorf("after another switch the choice is %+v", got)
	}
	again(wallet.BotSend)
	if got := choice(r.alice.User.ID, a.id); got != nil {
		t.Errorf("without bot:users the choice is %+v", got)
	}
}

// TestKeysThatNeedNoGrantChooseEventsToo, which allow them nothing and show in no list of apps.
func TestKeysThatNeedNoGrantChooseEventsToo(t *testing.T) {
	r := newHarness(t)
	a := r.app()
	operator := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	own := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier, OwnerTelegramID: 1001})
	for what, c := range map[string]struct{ token, id, says string }{
		"an operator's token": {operator, "1001", "The operator of this bot now receives events about your transactions"},
		"a person's own":      {own, "1001", "Your key …" + own[len(own)-4:] + " now receives events about your transactions"},
		"a developer's app":   {a.token, "1003", "Your app <b>Carol's &lt;Shop&gt;</b> now receives events about your transactions"},
	} {
		person := r.alice
		if c.id == "1003" {
			person = r.carol(t)
		}
		r.want(r.choosesEvents(c.token, c.id, `{"enabled":true,"events":["transaction.failed"]}`), 200, "", "")
		if said := r.told(person); len(said) == 0 || !strings.Contains(said[len(said)-1], c.says) {
			t.Errorf("%s: the person is told %q", what, said)
		}
		r.want(r.choosesEvents(c.token, c.id, `{"enabled":false,"events":["transaction.failed"]}`), 200, "", "")
		if got := r.get("/v1/telegram/user/"+c.id, c.token); got.field("data", "notifications_enabled") != false {
			t.Errorf("%s reads %s", what, got.body)
		}
		r.View(func(tx store.Tx) error {
			listed, err := r.Apps.Of(tx, person.User.ID)
			if len(listed) != 0 {
				t.Errorf("%s: /apps lists %+v", what, listed)
			}
			return err
		})
	}
	// A choice is no permission, neither of the app ...
	r.want(r.get("/v1/wallets?chat_id=1001", a.secret), 403, wallet.ConsentRequired, "")
	// ... nor something to take back.
	r.Must(r.Update(func(tx store.Tx) error {
		if err := r.Apps.Withdraw(tx, r.carol(t).User.ID, a.id); wallet.CodeOf(err) != wallet.NotFound {
			t.Errorf("taken back: %v", err)
		}
		return nil
	}))
}

// carol is the developer of harness.app.
func (r *harness) carol(t *testing.T) person {
	t.Helper()
	p := person{Person: &world.Person{TelegramID: 1003}}
	r.View(func(tx store.Tx) (err error) {
		p.User, err = tx.UserByTelegram(1003)
		return err
	})
	return p
}

// TestAppsCannotFloodAPersonWithChanges: each change is notified, so there is an end to them.
func TestAppsCannotFloodAPersonWithChanges(t *testing.T) {
	r := newHarness(t)
	a := r.app()
	r.allows(r.alice, a)
	for i := range 20 {
		r.want(r.choosesEvents(a.token, "1001", fmt.Sprintf(`{"enabled":%t,"events":[]}`, i%2 == 0)), 200, "", "")
	}
	r.want(r.choosesEvents(a.token, "1001", `{"enabled":true,"events":[]}`), 429, wallet.RateLimitExceeded, "20 times within an hour")
	r.want(r.choosesEvents(a.token, "1001", `{"enabled":false,"events":[]}`), 200, "", "") // as it is already
	r.Pass(time.Hour + time.Second)
	r.want(r.choosesEvents(a.token, "1001", `{"enabled":true,"events":[]}`), 200, "", "")
}
