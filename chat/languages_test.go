package chat_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"purser/locale"
)

// speaks sets the language of somebody's Telegram, in lines such as "alice speaks es".
func (r *harness) speaks(who, tag string) {
	r.Helper()
	p := r.people[who]
	p.Language = tag
	r.labels = map[string]string{}
	english, err := filepath.Glob("*.en.toml")
	r.Must(err)
	for _, name := range english {
		from, to := labelsOf(r, name), labelsOf(r, strings.TrimSuffix(name, "en.toml")+tag+".toml")
		for key, label := range from {
			r.labels[to[key]] = label
		}
	}
}

// labelsOf are the labels of buttons in a file of the catalogue, by key.
func labelsOf(r *harness, name string) map[string]string {
	r.Helper()
	raw, err := os.ReadFile(name)
	r.Must(err)
	var file map[string]map[string]any
	r.Must(toml.Unmarshal(raw, &file))
	out := map[string]string{}
	for section, texts := range file {
		for key, text := range texts {
			if label, ok := text.(string); ok && strings.HasSuffix(section, "button") {
				out[section+"."+key] = label
			}
		}
	}
	return out
}

// mainJob is what every language's transcript plays: a wallet is connected, a payment is made, one is refused, and a payment comes in.
func mainJob(tag string) []string {
	return []string{
		"alice speaks " + tag, "alice: /start", "alice: /send 1 SOL $bob", "alice taps Create a wallet", "alice's page proves alice", "alice taps …alice", "fund alice 3",
		"alice: /send 1.5 SOL $bob", "alice taps Confirm", "alice's page signs", "network: network accepted alice", "network: landed alice", "network: finalized alice",
		"alice: /send 5 SOL $bob", "alice: /send 1,5 SOL $bob", "alice: /snd", "alice: /wallet", "alice: /wallet history", "price SOL 147.478912 1.25 jupiter 12s", "alice: /price", "alice: /alert SOL above 200", "alice: /stake",
		"alice: /notifications", "alice: /help", "alice: /help security",
	}
}

// TestTheMainJobInEachLanguage plays it, and compares with testdata/languages/<language>.chat: what somebody who speaks the language reads. No variable is left open, and no
// English sentence is left over.
func TestTheMainJobInEachLanguage(t *testing.T) {
	all, err := locale.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range all.Languages() {
		if tag == "en" {
			continue // send.chat, wallet.chat and the others
		}
		t.Run(tag, func(t *testing.T) {
			r := newHarness(t)
			var got strings.Builder
			for _, line := range mainJob(tag) {
				got.WriteString("> " + line + "\n")
				r.happen(line)
				for _, said := range r.seen {
					got.WriteString(said)
				}
				r.seen = nil
			}
			for _, wrong := range []string{"<no value>", "{{", "%!", " the ", "Your ", "your ", "<code></code>"} {
				if strings.Contains(got.String(), wrong) {
					t.Errorf("it says %q", wrong)
				}
			}
			path := filepath.Join("testdata", "languages", tag+".chat")
			if *update {
				if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil || got.String() != string(want) {
				t.Errorf("%s is not what happens (go test ./chat -update rewrites it): %v\n%s", path, err, difference(string(want), got.String()))
			}
		})
	}
}
