package chat_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// happensToSecurity plays what people's security logs are about.
func (r *harness) happensToSecurity(who, line string) bool {
	r.Helper()
	if _, address, ok := strings.Cut(line, "'s key is used from "); ok {
		r.Must(r.Security.UsedKey(r.Context(), r.newestKey(who), address))
		r.settle()
		return true
	}
	_, from, ok := strings.Cut(line, "'s link opens in ")
	if !ok {
		return false
	}
	device, address, _ := strings.Cut(from, " at ")
	client := handlers.Client{Address: address, Device: device}
	kind, secret, _ := strings.Cut(r.people[who].link, "=")
	switch kind {
	case "b":
		r.Must(r.Security.OpenedLink(r.Context(), wallet.LinkToConnect, secret, client))
	case "s":
		r.Must(r.Security.OpenedLink(r.Context(), wallet.LinkToSign, secret, client))
	case "l":
		r.Must(r.Security.OpenedLink(r.Context(), wallet.LinkToSetLimits, secret, client))
	case "u":
		r.Must(r.Security.OpenedLink(r.Context(), wallet.LinkToUnfreeze, secret, client))
	default:
		_, err := r.Portal.Open(r.Context(), secret, client)
		r.Must(err)
	}
	r.settle()
	return true
}

// newestKey is the key that somebody got last.
func (r *harness) newestKey(who string) (newest wallet.Key) {
	r.Helper()
	r.View(func(tx store.Tx) error {
		all, err := tx.KeysOf(r.userOf(who))
		newest = all[len(all)-1]
		return err
	})
	return newest
}

// logSome writes entries into somebody's log.
func (r *harness) logSome(who string, entries int) {
	r.Helper()
	for i := range entries {
		r.Must(r.Update(func(tx store.Tx) error {
			_, err := tx.AppendSecurityEntry(wallet.SecurityEntry{Owner: r.userOf(who), At: r.Now(), Kind: wallet.LogKeyRevoked, Details: wallet.SecurityDetails{KeyHint: fmt.Sprintf("h%03d", i)}})
			return err
		}))
	}
}

// TestTheLogIsPaged: ten entries a page, newest first, to the oldest and back, in one message.
func TestTheLogIsPaged(t *testing.T) {
	r := newHarness(t)
	r.says("alice", "/start")
	r.logSome("alice", 25)
	shown := func() string {
		t.Helper()
		said := strings.Join(r.seen, "")
		r.seen = nil
		var numbers []string
		for _, n := range regexp.MustCompile(`#(\d+)</b> API key …h`).FindAllStringSubmatch(said, -1) {
			numbers = append(numbers, n[1])
		}
		return strings.Join(numbers, " ")
	}
	r.seen = nil
	r.says("alice", "/security log")
	newest, middle, oldest := "25 24 23 22 21 20 19 18 17 16", "15 14 13 12 11 10 9 8 7 6", "5 4 3 2 1"
	messages := len(r.messages[1001])
	for _, step := range []struct{ tap, want string }{{"", newest}, {"Older", middle}, {"Older", oldest}, {"Newer", middle}, {"Newer", newest}, {"Older", middle}} {
		if step.tap != "" {
			r.presses("alice", step.tap, "alice")
		}
		if got := shown(); got != step.want {
			t.Errorf("after %q: %s, want %s", step.tap, got, step.want)
		}
	}
	if got := len(r.messages[1001]); got != messages {
		t.Errorf("%d messages became %d: pages are not drawn in place", messages, got)
	}
}

// TestTheLogNamesItsBrokenPlaces: a changed and a missing entry are named, in the state and in their lines, also on the card.
func TestTheLogNamesItsBrokenPlaces(t *testing.T) {
	r := newHarness(t)
	r.says("alice", "/start")
	r.logSome("alice", 12)
	place := func(n byte) []byte { return append([]byte(r.userOf("alice")), 0, 0, 0, 0, 0, 0, 0, 0, n) }
	var seven []byte
	r.Rewrite(place(12), func([]byte) []byte { return []byte("garbage") })
	r.Rewrite(place(4), func([]byte) []byte { return nil })
	r.Rewrite(place(7), func(raw []byte) []byte { seven = raw; return raw })
	r.Rewrite(place(11), func(raw []byte) []byte { raw, seven = seven, raw; return raw })
	r.Rewrite(place(7), func([]byte) []byte { return seven })
	for _, command := range []string{"/security log", "/security"} {
		r.seen = nil
		r.says("alice", command)
		said := strings.Join(r.seen, "")
		for _, want := range []string{"not as it was written", "• Entry 4 is missing.", "• Entry 11 stands in the place of entry 7.", "• Entry 7 stands in the place of entry 11.", "• Entry 12 was changed.",
			"<b>#12</b> not what was written", "<b>#10</b> API key …h009"} {
			if !strings.Contains(said, want) {
				t.Errorf("%s does not say %q:\n%s", command, want, said)
			}
		}
		if strings.Contains(said, "complete and unchanged") || strings.Contains(said, "h010") || strings.Contains(said, "h006") {
			t.Errorf("%s vouches for what is broken:\n%s", command, said)
		}
	}
	r.seen = nil
	r.says("alice", "/security log")
	r.presses("alice", "Older", "alice")
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "<b>#2</b> API key …h001") {
		t.Errorf("behind the broken places: %s", said)
	}
	if !strings.Contains(strings.Join(r.seen, ""), "<b>#4</b> missing") {
		t.Errorf("a missing entry has no line")
	}
}

// TestTheLogIsInThePersonsTimeZone, and names it.
func TestTheLogIsInThePersonsTimeZone(t *testing.T) {
	r := newHarness(t)
	r.says("alice", "/start")
	r.Must(r.Update(func(tx store.Tx) error {
		_, err := r.Notifications.Customize(tx, handlers.Caller{User: r.userOf("alice")}, func(s *wallet.Settings) { s.TimeZone = "Asia/Tokyo" })
		return err
	}))
	r.logSome("alice", 1)
	r.seen = nil
	r.says("alice", "/security log")
	want := r.Now().In(wallet.TimeZone("Asia/Tokyo").Location()).Format("15:04")
	if said := strings.Join(r.seen, ""); !strings.Contains(said, want+" <b>#1</b>") || !strings.Contains(said, "Times: UTC+9") {
		t.Errorf("at %s: %s", want, said)
	}
}

// TestANoticeOfAFirstComesWhateverIsSet: with messages off and in quiet hours, at once, and never twice.
func TestANoticeOfAFirstComesWhateverIsSet(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	who := handlers.Caller{User: r.userOf("alice")}
	r.Must(r.Update(func(tx store.Tx) error { return r.Notifications.Turn(tx, who, false) }))
	r.Must(r.Update(func(tx store.Tx) error {
		_, err := r.Notifications.Customize(tx, who, func(s *wallet.Settings) { s.Quiet = &wallet.QuietHours{From: 0, To: 1439} })
		return err
	}))
	key, _, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: r.people["alice"].TelegramID})
	r.Must(err)
	for _, address := range []string{"203.0.113.7", "203.0.113.7", "198.51.100.9"} {
		r.seen = nil
		r.Must(r.Security.UsedKey(r.Context(), key, address))
		r.settle()
		said := strings.Join(r.seen, "")
		if first := address == "198.51.100.9" || said != ""; first != strings.Contains(said, "used from a new address") || first && !strings.Contains(said, address) {
			t.Errorf("%s: %q", address, said)
		}
	}
	r.Pass(time.Hour)
	r.seen = nil
	r.settle()
	if len(r.seen) > 0 {
		t.Errorf("once more: %q", r.seen)
	}
}

// TestEachFirstHasAMessage: whatever kind of entry says that the person is notified has a text, in every language.
func TestEachFirstHasAMessage(t *testing.T) {
	r := newHarness(t)
	r.says("alice", "/start")
	for _, kind := range []wallet.SecurityKind{wallet.LogKeyUsed, wallet.LogLinkOpened, wallet.LogPortalOpened} {
		r.seen = nil
		r.Must(r.Update(func(tx store.Tx) error {
			return store.LogSecurityAndNotify(tx, r.userOf("alice"), r.Now(), kind, wallet.SecurityDetails{KeyHint: "abcd", Client: "203.0.113.7", Device: "<b>", Last: true})
		}))
		r.settle()
		said := strings.Join(r.seen, "")
		if !strings.Contains(said, "203.0.113.7") || !strings.Contains(said, "today.") || strings.Contains(said, " <b>,") || !strings.Contains(said, "[Log]") {
			t.Errorf("%s: %q", kind, said)
		}
	}
}

// TestAPausedAppIsNamed: the message says whose requests are refused. It leads to the apps if there is a grant to revoke.
func TestAPausedAppIsNamed(t *testing.T) {
	for _, language := range []string{"en", "es", "pt", "ru", "tr", "zh", "ar"} {
		r := newHarness(t)
		r.speaks("alice", language)
		r.says("alice", "/start")
		for _, app := range []wallet.SecurityDetails{{App: "app_1", AppName: "Shop <1>"}, {}} {
			r.seen = nil
			r.Must(r.Update(func(tx store.Tx) error {
				return store.LogSecurityAndNotify(tx, r.userOf("alice"), r.Now(), wallet.LogAccessPaused, app)
			}))
			r.settle()
			message := strings.Join(r.seen, "")
			r.seen = nil
			r.says("alice", "/security log")
			entry := strings.Join(r.seen, "")
			if !strings.Contains(message, strconv.Itoa(handlers.MaxPrivateRefusals)) || strings.Contains(message, "Shop <1>") {
				t.Errorf("%s: %q", language, message)
			}
			if named := app.App != ""; strings.Contains(message, "Shop &lt;1&gt;") != named || strings.Contains(message, "/apps") != named || named && !strings.Contains(entry, "Shop &lt;1&gt;") {
				t.Errorf("%s, app %q: message %q, entry %q", language, app.App, message, entry)
			}
		}
	}
}

// TestEachKindOfLinkIsNamed: in its message and in the log, in every language.
func TestEachKindOfLinkIsNamed(t *testing.T) {
	for _, language := range []string{"en", "es", "pt", "ru", "tr", "zh", "ar"} {
		r := newHarness(t)
		r.speaks("alice", language)
		r.says("alice", "/start")
		messages, entries := map[string]string{}, map[string]string{}
		for _, link := range []string{wallet.LinkToSign, wallet.LinkToConnect, wallet.LinkToSetLimits, wallet.LinkToUnfreeze} {
			r.seen = nil
			r.Must(r.Update(func(tx store.Tx) error {
				return store.LogSecurityAndNotify(tx, r.userOf("alice"), r.Now(), wallet.LogLinkOpened, wallet.SecurityDetails{Link: link, Client: "203.0.113.7", Device: "Firefox (Linux)"})
			}))
			r.settle()
			message := strings.Join(r.seen, "")
			if other := messages[message]; other != "" || !strings.Contains(message, "203.0.113.7") {
				t.Errorf("%s: the message about a link to %s is that of one to %s: %q", language, link, other, message)
			}
			messages[message] = link
			r.seen = nil
			r.says("alice", "/security log")
			entry := regexp.MustCompile(`</b>[^\n]*203\.0\.113\.7`).FindString(strings.Join(r.seen, "")) // the newest, without its number
			if other := entries[entry]; other != "" || entry == "" {
				t.Errorf("%s: the entry of a link to %s is that of one to %s: %q", language, link, other, entry)
			}
			entries[entry] = link
		}
	}
}

// TestAppsDoNotReadTheLog: those that hear of commands learn that one was sent, and nothing of its answer.
func TestAppsDoNotReadTheLog(t *testing.T) {
	r := newHarness(t)
	r.listen()
	r.says("alice", "/start")
	r.logSome("alice", 11)
	before := len(r.announced(wallet.CommandExecuted))
	for _, command := range []string{"/security", "/security log"} {
		r.says("alice", command)
	}
	got := r.announced(wallet.CommandExecuted)[before:]
	if len(got) != 2 {
		t.Fatalf("announced %q", got)
	}
	for _, raw := range got {
		var data wallet.CommandExecutedData
		r.Must(json.Unmarshal([]byte(raw), &data))
		if data.Response != "[withheld]" {
			t.Errorf("announced %q", raw)
		}
	}
}

// TestAnExportIsLogged, once for each file, and not where there was nothing to export.
func TestAnExportIsLogged(t *testing.T) {
	r := newHarness(t)
	r.says("alice", "/start")
	r.says("alice", "/wallet export csv")
	exports := func() (out []string) {
		view, err := r.Security.Log(r.Context(), r.userOf("alice"))
		r.Must(err)
		for _, row := range view.Rows {
			if row.Entry.Kind == wallet.LogHistoryExported {
				out = append(out, row.Entry.Details.Value)
			}
		}
		return out
	}
	if got := exports(); len(got) > 0 {
		t.Errorf("without a history: %q", got)
	}
	r.rich("alice", sol)
	r.received("alice", 1, wallet.SOL, 7_000_000, false)
	r.says("alice", "/wallet export json")
	if got := exports(); len(got) != 1 || got[0] != "json" {
		t.Errorf("of one export: %q", got)
	}
}
