package browser

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mr-tron/base58"

	"purser/e2e/harness"
)

// settings are what a scenario wants to know.
type settings struct {
	Chat       string            `json:"chat"`
	Page       string            `json:"page,omitempty"`
	To         string            `json:"to,omitempty"` // the recipient of tamper.mjs
	Profiles   map[string]string `json:"profiles"`
	Proxy      string            `json:"proxy,omitempty"`
	Executable string            `json:"executable"`
	Restart    bool              `json:"restart,omitempty"`  // purser ends and begins again on the way
	Plant      bool              `json:"plant,omitempty"`    // decoys are put where secrets must never be
	Look       bool              `json:"look,omitempty"`     // axe looks at the screens
	Pictures   string            `json:"pictures,omitempty"` // folder for screenshots; "": none
}

// walked is what journey.mjs tells at its end.
type walked struct {
	Secrets   struct{ Alice, Bob, Decoy secrets }
	Addresses struct{ Alice, Bob string }
	Marker    string
	Findings  []string
	Looked    []string
}

// The path as a newcomer walks it, with a restart on the way; then nothing that was sent, stored or
// logged holds a secret of the devices.
func TestWholePathInTheBrowser(t *testing.T) {
	t.Parallel()
	executable := chromium(t)
	purser, chat := harness.Unconfigured(t, program, "PURSER_LOG_LEVEL=debug")
	purser.Start()
	wire := newRecorder(t)
	folders := profiles(t)
	var end walked
	play(t, "journey.mjs", settings{Chat: chat, Page: purser.URL + "/w/", Profiles: folders, Proxy: wire.URL,
		Executable: executable, Restart: true, Plant: true}, operations{
		"restart": func(json.RawMessage) any { purser.Stop(); purser.Start(); return nil },
		"needles": func(value json.RawMessage) any {
			var s secrets
			if err := json.Unmarshal(value, &s); err != nil {
				t.Error(err)
			}
			return needlesOf(t, s)
		},
	}, &end)
	purser.Stop()

	var requests []place
	for _, q := range wire.Requests() {
		requests = append(requests, place{q.method + " " + q.host + q.path, q.raw})
	}
	world, alices, bobs := files(t, purser.Dir), files(t, folders["alice"]), files(t, folders["bob"])
	log := place{"the log of purser", []byte(purser.Log())}

	t.Run("NoSecretLeaksFromTheDevice", func(t *testing.T) {
		everywhere := slices.Concat(requests, world, alices, bobs, []place{log})
		for who, s := range map[string]secrets{"Alice": end.Secrets.Alice, "Bob": end.Secrets.Bob} {
			for _, h := range search(needlesOf(t, s), everywhere) {
				t.Errorf("a secret of %s, as %q, lies in %s", who, h.needle, h.place)
			}
		}
	})
	t.Run("TheSearchFindsWhatIsThere", func(t *testing.T) {
		// The secrets are those of the wallets that were used.
		for who, pair := range map[string][2]string{"Alice": {end.Secrets.Alice.Public, end.Addresses.Alice}, "Bob": {end.Secrets.Bob.Public, end.Addresses.Bob}} {
			if got := base58.Encode(fromHex(t, pair[0], 32)); got != pair[1] {
				t.Errorf("the words of %s make %s, and not %s", who, got, pair[1])
			}
		}
		// Decoys in every spelling, which a page stored and sent.
		decoys := needlesOf(t, end.Secrets.Decoy)
		for where, places := range map[string][]place{"requests": requests, "the profile": alices} {
			if lost := missing(decoys, search(decoys, places)); len(lost) > 0 {
				t.Errorf("%d decoys are not found in %s: %q", len(lost), where, lost)
			}
		}
		// What is public, where it belongs.
		address := end.Addresses.Alice
		raw := base64.StdEncoding.EncodeToString(fromHex(t, end.Secrets.Alice.Public, 32))
		for _, c := range []struct {
			text, where string
			places      []place
		}{
			{address, "requests", requests},
			{address, "the vault of the profile", inside(alices, "IndexedDB")},
			{address, "purser.db", inside(world, "purser.db")},
			{address, "Telegram's journal", inside(world, "telegram.jsonl")},
			{end.Marker, "requests", requests},
			{end.Marker, "Telegram's journal", inside(world, "telegram.jsonl")},
			{raw, "Solana's journal", inside(world, "cluster.jsonl")},
			{purser.URL, "the log", []place{log}},
		} {
			if len(search(needles{Texts: []string{c.text}}, c.places)) == 0 {
				t.Errorf("%q is not found in %s", c.text, c.where)
			}
		}
	})
	t.Run("ThePagesTalkToTheirOwnServersOnly", func(t *testing.T) {
		for _, q := range wire.Requests() {
			own := q.host == strings.TrimPrefix(chat, "http://") || q.host == strings.TrimPrefix(purser.URL, "http://")
			chromiums := strings.HasSuffix(q.host, ".googleapis.com:443") || strings.HasSuffix(q.host, ".google.com:443") || strings.HasSuffix(q.host, ".googleapis.com")
			if !own && !chromiums {
				t.Errorf("%s %s%s left the browser", q.method, q.host, q.path)
			}
		}
	})
}

// files reads all that lies in a folder.
func files(t *testing.T, folder string) []place {
	t.Helper()
	var all []place
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		all = append(all, place{path, data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// inside are the places whose name holds part.
func inside(places []place, part string) []place {
	return slices.DeleteFunc(slices.Clone(places), func(p place) bool { return !strings.Contains(p.name, part) })
}
