package chat

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"purser/wallet"
)

// TestRegistryRefusesWhatTwoConversationsClaim: what would be decided by order alone is refused at start.
func TestRegistryRefusesWhatTwoConversationsClaim(t *testing.T) {
	words, err := newCatalogue(locales)
	if err != nil {
		t.Fatal(err)
	}
	run := func(*Chat, context.Context, Inbound) (Action, error) { return nil, nil }
	tap := func(*Chat, context.Context, Inbound, string) (Action, error) { return nil, nil }
	row := func(name string) command {
		return command{name: name, menu: "menu.privacy", usage: "usage.privacy", run: run}
	}
	said := notice{notify: func(*replyTx, wallet.Event) error { return nil }}
	flow := Flow{idle: {}, "asking": {}}
	data := func() any { return new(payment) }
	for what, list := range map[string][]conversation{
		`no name of its own`:                                 {{name: "one"}, {name: "one"}},
		`"" has no name`:                                     {{}},
		`two commands are /one`:                              {{name: "a", commands: []command{row("one")}}, {name: "b", commands: []command{row("one")}}},
		`the action "tap"`:                                   {{name: "a", callbacks: map[string]Callback{"tap": tap}}, {name: "b", callbacks: map[string]Callback{"tap": tap}}},
		`the topic of help "x"`:                              {{name: "a", topics: map[string]string{"x": "help.security"}}, {name: "b", topics: map[string]string{"x": "help.security"}}},
		`is a command and an alias of /two`:                  {{name: "a", commands: []command{row("one"), {name: "two", menu: "menu.privacy", usage: "usage.privacy", run: run, aliases: map[string]string{"one": ""}}}}},
		`the alias "x"`:                                      {{name: "a", commands: []command{{name: "one", menu: "menu.privacy", usage: "usage.privacy", run: run, aliases: map[string]string{"x": ""}}, {name: "two", menu: "menu.privacy", usage: "usage.privacy", run: run, aliases: map[string]string{"x": ""}}}}},
		`/one does nothing`:                                  {{name: "a", commands: []command{{name: "one", menu: "menu.privacy", usage: "usage.privacy"}}}},
		`no.such`:                                            {{name: "a", commands: []command{{name: "one", menu: "no.such", usage: "usage.privacy", run: run}}}},
		`must be of a-z, 0-9 and _`:                          {{name: "a", commands: []command{row("One")}}},
		`an action "a:b"`:                                    {{name: "a", callbacks: map[string]Callback{"a:b": tap}}},
		`needs data and a beginning`:                         {{name: "a", flow: flow}},
		`waits for a text in "lost"`:                         {{name: "a", flow: flow, data: data, texts: map[State]Handler{"lost": run}}},
		`waits for a contact in "idle"`:                      {{name: "a", flow: flow, data: data, contacts: map[State]Handler{idle: run}}},
		`two conversations end the slot`:                     {{name: "a", slots: apiConversation().slots}, {name: "b", slots: apiConversation().slots}},
		`two conversations answer`:                           {{name: "a", refusals: walletConversation().refusals}, {name: "b", refusals: walletConversation().refusals}},
		`two conversations have the event "a.b"`:             {{name: "a", events: map[wallet.EventName]notice{"a.b": said}}, {name: "b", events: map[wallet.EventName]notice{"a.b": said}}},
		`says nothing of the event "a.b"`:                    {{name: "a", events: map[wallet.EventName]notice{"a.b": {}}}},
		`says nothing of the event ""`:                       {{name: "a", events: map[wallet.EventName]notice{"": said}}},
		`deep links of two conversations begin with "app_x"`: {{name: "a", links: map[string]func(string) Action{"app_": nil}}, {name: "b", links: map[string]func(string) Action{"app_x": nil}}},
	} {
		if _, err := newRegistry(list, nil, words); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := newRegistry(append([]conversation{menuButtons()}, conversations()...), nil, words); err != nil {
		t.Error(err)
	}
}

// TestWhichConversationTellsOfWhichEvent: everything else was told when it happened (wallet.connected, user.registered),
// shows nowhere (finalized), or belongs to a later version.
func TestWhichConversationTellsOfWhichEvent(t *testing.T) {
	want := map[string][]wallet.EventName{
		"cards": {wallet.TransactionProposed, wallet.TransactionApproved, wallet.TransactionSigned, wallet.TransactionPending, wallet.TransactionConfirmed,
			wallet.TransactionFailed, wallet.TransactionHeld, wallet.TransactionRolledBack, wallet.TransactionClosed, wallet.TransactionDelayed, wallet.TransactionDelayEnded, wallet.TransactionReceived, wallet.PaymentArriving, wallet.PaymentsFolded},
		"wallet":     {wallet.WalletProven, wallet.WalletWanted, wallet.WalletClaimed, wallet.WalletDisconnected, wallet.DefaultChanged},
		"api":        {wallet.WebhookDeadLettered, wallet.WebhookEnded, wallet.KeyTierSet},
		"apps":       {wallet.AppEventsChosen},
		"stake":      {wallet.StakesChanged, wallet.ValidatorsChanged},
		"alert":      {wallet.PriceAlert},
		"security":   {wallet.SecurityNoticed},
		"freeze":     {wallet.AccountFrozen, wallet.AccountUnfrozen},
		"news":       {wallet.NewsPublished},
		settingsFlow: {wallet.NotificationsSet},
	}
	for _, c := range conversations() {
		got := slices.Sorted(maps.Keys(c.events))
		slices.Sort(want[c.name])
		if !slices.Equal(got, want[c.name]) {
			t.Errorf("%s tells of %v, want %v", c.name, got, want[c.name])
		}
	}
}

// TestCardsNeedNoSend: without /send, the cards of other kinds are redrawn and their buttons work.
func TestCardsNeedNoSend(t *testing.T) {
	words, err := newCatalogue(locales)
	if err != nil {
		t.Fatal(err)
	}
	others := slices.DeleteFunc(conversations(), func(c conversation) bool { return c.name == sendFlow })
	r, err := newRegistry(append([]conversation{menuButtons()}, others...), nil, words)
	if err != nil {
		t.Fatal(err)
	}
	for _, button := range []string{"confirm", "reject", "again", "check"} {
		if r.callbacks[button] == nil {
			t.Errorf("nobody answers %q", button)
		}
	}
	for name := range cardEvents() {
		if r.notices[name].notify == nil {
			t.Errorf("nobody shows %s", name)
		}
	}
}

// TestKindsMayShareAnEventAndNoConversationTakesIt from them.
func TestKindsMayShareAnEventAndNoConversationTakesIt(t *testing.T) {
	words, err := newCatalogue(locales)
	if err != nil {
		t.Fatal(err)
	}
	shown := cards{"one": {Events: map[wallet.EventName]string{"a.b": "help.security"}}, "two": {Events: map[wallet.EventName]string{"a.b": "help.security"}}}
	if r, err := newRegistry(conversations(), shown.notices(), words); err != nil || r.notices["a.b"].notify == nil || !r.notices["a.b"].waits {
		t.Errorf("two kinds: %v", err)
	}
	said := notice{notify: func(*replyTx, wallet.Event) error { return nil }}
	if _, err := newRegistry([]conversation{{name: "a", events: map[wallet.EventName]notice{"a.b": said}}}, shown.notices(), words); err == nil || !strings.Contains(err.Error(), `the event "a.b"`) {
		t.Errorf("a conversation and a kind: %v", err)
	}
}
