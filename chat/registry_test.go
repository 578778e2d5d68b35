package chat

import (
	"context"
	"strings"
	"testing"
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
		`/one works: it is not planned`:                      {{name: "a", commands: []command{row("one")}, planned: []string{"one"}}},
		`deep links of two conversations begin with "app_x"`: {{name: "a", links: map[string]func(string) Action{"app_": nil}}, {name: "b", links: map[string]func(string) Action{"app_x": nil}}},
	} {
		if _, err := newRegistry(list, words); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := newRegistry(append([]conversation{menuButtons()}, conversations()...), words); err != nil {
		t.Error(err)
	}
}
