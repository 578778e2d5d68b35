package chat_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// limitsOf is the policy of somebody's own wallet.
func (r *harness) limitsOf(who string) (state wallet.PolicyState) {
	r.Helper()
	r.View(func(tx store.Tx) (err error) {
		state, err = r.Policies.Of(tx, r.userOf(who), r.people[who].Address())
		return err
	})
	return state
}

// acts presses a button with this action, which stands in no message. The object may be none of those that purser gives its buttons: then
// nothing is committed.
func (r *harness) acts(who, action string) {
	r.Helper()
	nonce, err := wallet.RandomToken(r, 16)
	r.Must(err)
	id := r.people[who].TelegramID
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutButtons([]store.Button{{Nonce: nonce, Chat: id, User: id, Action: action, Subject: "walk", ExpiresAt: r.Now().Add(time.Hour)}})
	}))
	in := r.input(who)
	in.Tap = &chat.Tap{CallbackID: "cb", Data: nonce}
	if err := r.try(in); err != nil && strings.HasPrefix(action, "limit") {
		r.Errorf("the button %s: %v", action, err)
	}
	r.settle()
}

// TestTheChatAllowsNothingMoreWithoutTheDevice walks over every command, every button and every kind of answer, with words that would allow more. None of them does,
// now or later. The walk over the API, the page and the admin socket is in package api.
func TestTheChatAllowsNothingMoreWithoutTheDevice(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 20_000_000_000)
	address, bob := r.people["alice"].Address().String(), r.people["bob"].Address().String()
	r.says("alice", "/contacts add anna "+bob)
	for _, more := range []string{"payment 1 SOL", "day 3 SOL", "new 24h", "recipients only anna"} {
		r.says("alice", "/security limits "+more)
	}
	before := r.limitsOf("alice")
	if len(before.Current.Payment) != 1 || len(before.Current.Day) != 1 || before.Current.NewRecipientWait != 24*time.Hour || len(*before.Current.Recipients) != 1 {
		t.Fatalf("the limits are %+v", before)
	}
	held := func(what string) {
		t.Helper()
		now := r.limitsOf("alice")
		if now.Pending != nil || now.Current.Loosens(before.Current) {
			t.Fatalf("%s allows more: %+v", what, now)
		}
	}
	words := []string{"payment 2 SOL", "payment SOL off", "payment off", "day 4 SOL", "day SOL off", "day off", "new 1h", "new off", "recipients any", "recipients add " + address, "recipients only anna " + address}
	var endpoints int
	for _, e := range r.chat.Endpoints() {
		switch {
		case e.Kind == chat.ByCommand && (e.Name == "freeze" || e.Name == "unfreeze" || e.Name == "delete_me"):
		case e.Kind == chat.ByCommand:
			for _, more := range words {
				endpoints++
				for _, prefix := range []string{"", "limits ", "limits " + address + " "} {
					if e.Name == "security" || prefix == "limits " {
						r.says("alice", "/"+e.Name+" "+prefix+more)
						held("/" + e.Name + " " + prefix + more)
					}
				}
			}
		case e.Kind == chat.ByCallback && e.Name != "" && e.Name != "erase" && e.Name != "disconnect":
			objects := []string{address, address + ":payment", ""}
			if strings.HasPrefix(e.Name, "limit") {
				for _, more := range words {
					objects = append(objects, address+":"+more)
				}
			}
			for _, object := range objects {
				endpoints++
				r.acts("alice", e.Name+":"+object)
				held("the button " + e.Name + ":" + object)
				r.acts("alice", "limitask:"+address+":payment")
			}
		}
	}
	for part, answers := range map[string][]string{"payment": {"2 SOL", "SOL off", "off"}, "day": {"4 SOL", "off"}, "recipients": {address, "anna"}} {
		for _, answer := range answers {
			r.acts("alice", "limitask:"+address+":"+part)
			r.says("alice", answer)
			held("the answer " + answer)
		}
	}
	if endpoints < 100 {
		t.Errorf("%d endpoints: the walk is broken", endpoints)
	}
	if _, err := r.chat.Execute(r.Context(), chat.AppCommand{By: handlers.Caller{User: r.userOf("alice"), KeyID: "key_1", KeyLineage: "key_1"}, Person: r.person("alice"), Text: "/security limits payment off"}); wallet.CodeOf(err) != wallet.PolicyViolation {
		t.Errorf("a program: %v", err)
	}
	r.clock(48 * time.Hour)
	held("time")
	// Signed by another key, the link does nothing. Signed by the device, it waits.
	r.says("alice", "/security limits payment 2 SOL")
	if err := r.signsLimits(r.people["alice"].link[len("l="):], r.NewKey()); wallet.CodeOf(err) != wallet.InvalidSignature {
		t.Errorf("another key: %v", err)
	}
	held("another key")
	r.setsLimits("alice", r.people["alice"].Key)
	if now := r.limitsOf("alice"); now.Pending == nil || now.Current.Loosens(before.Current) {
		t.Errorf("signed by the device: %+v", now)
	}
}

// TestADeadLimitsLinkIsReplaced: by the next change, by a stricter one, and after ten minutes.
func TestADeadLimitsLinkIsReplaced(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 20_000_000_000)
	r.says("alice", "/security limits payment 1 SOL")
	link := func(command string) string {
		t.Helper()
		r.says("alice", command)
		return r.people["alice"].link[len("l="):]
	}
	for name, then := range map[string]func(){
		"a newer link": func() { link("/security limits payment 3 SOL") },
		"a stricter change": func() {
			r.says("alice", "/security limits payment 0.5 SOL")
			r.says("alice", "/security limits day 5 SOL")
		},
		"ten minutes": func() { r.clock(10 * time.Minute) },
		"a freeze": func() {
			r.says("alice", "/freeze")
			r.says("alice", "/unfreeze")
			r.unfreezes("alice", r.people["alice"].Key)
		},
	} {
		old := link("/security limits payment 2 SOL")
		then()
		if err := r.signsLimits(old, r.people["alice"].Key); wallet.CodeOf(err) != wallet.NotFound {
			t.Errorf("%s: the older link: %v", name, err)
		}
		if now := r.limitsOf("alice"); now.Pending != nil {
			t.Errorf("%s: %+v", name, now)
		}
	}
}

// TestLimitsOfAWalletThatIsGoneAreNotShown: its buttons are still in the chat.
func TestLimitsOfAWalletThatIsGoneAreNotShown(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 20_000_000_000)
	address := r.people["alice"].Address().String()
	bob := fmt.Sprint(r.people["bob"].Address())
	for _, object := range []string{bob, "", "nonsense", bob + ":payment"} {
		for _, name := range []string{"limits", "limitask", "limitwait", "limitwho", "limitedit", "limitcancel", "limitdevice"} {
			r.acts("alice", name+":"+object)
		}
	}
	r.View(func(tx store.Tx) error {
		all, err := tx.PoliciesOf(r.userOf("alice"))
		if len(all) != 0 {
			t.Errorf("%+v", all)
		}
		return err
	})
	r.acts("alice", "limitedit:"+address+":payment 1 SOL")
	if now := r.limitsOf("alice"); len(now.Current.Payment) != 1 {
		t.Errorf("her own: %+v", now)
	}
}

// TestTheMessageAboutSignedLimitsLeadsToTheirWallet: also if it is not the default.
func TestTheMessageAboutSignedLimitsLeadsToTheirWallet(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 20_000_000_000)
	second := r.people["carol"]
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: second.Address(), Owner: r.userOf("alice"), Type: wallet.PageWallet, ConnectedAt: r.Now()})
	}))
	r.says("alice", "/security limits "+second.Address().String()+" payment 1 SOL")
	r.says("alice", "/security limits "+second.Address().String()+" payment 2 SOL")
	r.Must(r.signsLimits(r.people["alice"].link[len("l="):], second.Key))
	r.settle()
	r.seen = nil
	r.presses("alice", "Limits", "alice")
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "Spending limits of wallet …carol") || !strings.Contains(said, "[Cancel change]") {
		t.Errorf("its button leads to %s", said)
	}
	r.presses("alice", "Cancel change", "alice")
	r.View(func(tx store.Tx) error {
		state, err := r.Policies.Of(tx, r.userOf("alice"), second.Address())
		if state.Pending != nil || len(state.Current.Payment) != 1 {
			t.Errorf("after Cancel: %+v", state)
		}
		return err
	})
}
