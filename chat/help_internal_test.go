package chat

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// inHelp matches a command that a text shows to be typed.
var inHelp = regexp.MustCompile(`<code>/([a-z_]+)((?: [^<]+)?)</code>`)

// TestHelpAndCommandsAgree: every command that a text shows works, and every action that works is shown in the help of its
// command.
func TestHelpAndCommandsAgree(t *testing.T) {
	words, err := newCatalogue(locales)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRegistry(append([]conversation{menuButtons()}, conversations()...), nil, words)
	if err != nil {
		t.Fatal(err)
	}
	actions := map[string][]string{"wallet": walletActions(), "contacts": {"add", "anna", "rename", "remove", "findable"}}
	shown := map[string][]string{} // by command: the actions that its help names
	check := func(key, text string) {
		t.Helper()
		for _, found := range inHelp.FindAllStringSubmatch(text, -1) {
			name, args := found[1], strings.Fields(found[2])
			if !r.knows(name) {
				t.Errorf("%s shows /%s, which is no command", key, name)
			}
			if len(args) == 0 {
				continue
			}
			shown[name] = append(shown[name], args[0])
			if known := actions[name]; known != nil && !slices.Contains(known, args[0]) {
				t.Errorf("%s shows /%s %s, which does not work", key, name, args[0])
			}
			if topic := args[0]; name == "help" && topic != "commands" && r.topics[topic] == "" && !r.knows(topic) {
				t.Errorf("%s shows /help %s, which is no topic", key, topic)
			}
		}
	}
	for _, row := range r.commands {
		text, err := words.text(row.usage, nil)
		if err != nil || !strings.HasPrefix(string(text), "<b>/"+row.name+"</b>") {
			t.Errorf("the help of /%s begins %.20q, %v", row.name, text, err)
		}
		check(row.usage, string(text))
	}
	for command, all := range actions {
		for _, action := range all {
			if !slices.Contains(shown[command], action) {
				t.Errorf("/%s %s works, and the help of /%s does not show it", command, action, command)
			}
		}
	}
	overview, err := words.text("help.overview", vars{"Commands": html("")})
	if err != nil {
		t.Fatal(err)
	}
	check("help.overview", string(overview))
	for topic := range r.topics {
		if !strings.Contains(string(overview), "<code>/help "+topic+"</code>") {
			t.Errorf("/help does not name its topic %s", topic)
		}
	}
}
