package wallet_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/store/storetest"
	"purser/wallet"
)

// TestTheHashOfAnEntryIsPinned: another program can compute it from decision 0048.
func TestTheHashOfAnEntryIsPinned(t *testing.T) {
	e := wallet.SecurityEntry{Owner: "usr_1", Number: 2, At: time.Date(2026, 11, 24, 12, 0, 0, 5, time.UTC), Kind: wallet.LogKeyUsed,
		Details: wallet.SecurityDetails{Key: "key_1", Client: "203.0.113.7", Scopes: []wallet.Scope{wallet.WalletRead, wallet.WalletSend}, Last: true}, Before: wallet.SecurityHash{1}}
	const want = "65969a23b678180b0233ee348569f466f0e47522587ca02db1411cf78fbaf709"
	if got := e.Hash().String(); got != want {
		t.Errorf("it is %s", got)
	}
	e.At = e.At.In(time.FixedZone("", 3600))
	if e.Hash().String() != want {
		t.Error("another time zone of the same instant is another hash")
	}
}

// TestEveryFieldOfAnEntryIsHashed: changing any one of them, also one that is added later, changes the hash, and so does moving text from one field to the next.
func TestEveryFieldOfAnEntryIsHashed(t *testing.T) {
	var full wallet.SecurityEntry
	storetest.Fill(&full, 1000)
	hashes := map[wallet.SecurityHash]string{full.Hash(): "nothing"}
	var walk func(v reflect.Value, path string)
	changed := 0
	walk = func(v reflect.Value, path string) {
		if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]() {
			for i := range v.NumField() {
				walk(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
			return
		}
		old := reflect.ValueOf(v.Interface())
		if v.Kind() == reflect.Slice {
			shorter := reflect.MakeSlice(v.Type(), 1, 1)
			shorter.Index(0).Set(old.Index(0))
			v.Set(shorter)
		} else {
			v.SetZero()
		}
		changed++
		if same, ok := hashes[full.Hash()]; ok {
			t.Errorf("without %s it has the hash of without %s", path, same)
		}
		hashes[full.Hash()] = path
		v.Set(old)
	}
	walk(reflect.ValueOf(&full).Elem(), "entry")
	if changed < 18 {
		t.Errorf("only %d fields were changed", changed)
	}
	one, two := full, full
	one.Details.Key, one.Details.KeyHint = "ab", "c"
	two.Details.Key, two.Details.KeyHint = "a", "bc"
	if one.Hash() == two.Hash() {
		t.Error("text that moved to the next field has the same hash")
	}
	full.At = full.At.Add(time.Nanosecond)
	if _, ok := hashes[full.Hash()]; ok {
		t.Error("a nanosecond is not hashed")
	}
	raw, err := json.Marshal(full)
	var back wallet.SecurityEntry
	if err != nil || json.Unmarshal(raw, &back) != nil || back.Hash() != full.Hash() {
		t.Errorf("as JSON it has another hash: %v", err)
	}
}

// chainOf is a whole log of so many entries, without those below from.
func chainOf(count, from int) (*wallet.SecurityHead, []wallet.SecurityRow) {
	head := &wallet.SecurityHead{From: uint64(from)}
	var rows []wallet.SecurityRow
	for n := range count {
		e := wallet.SecurityEntry{Owner: "usr_1", Number: uint64(n + 1), At: time.Unix(int64(n), 0), Kind: wallet.LogKeyUsed, Before: head.Hash}
		if n+1 < from {
			head.Anchor = e.Hash()
		} else {
			rows = append(rows, wallet.SecurityRow{Number: e.Number, Entry: &e})
		}
		head.Count, head.Hash = e.Number, e.Hash()
	}
	return head, rows
}

// TestACheckNamesWhatIsWrong: one damage, one name.
func TestACheckNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		what   string
		damage func(head **wallet.SecurityHead, rows *[]wallet.SecurityRow)
		want   string
	}{
		{"whole", func(**wallet.SecurityHead, *[]wallet.SecurityRow) {}, "[]"},
		{"a time", func(_ **wallet.SecurityHead, rows *[]wallet.SecurityRow) {
			(*rows)[1].Entry.At = (*rows)[1].Entry.At.Add(1)
		}, "[{changed 5 0}]"},
		{"the newest", func(_ **wallet.SecurityHead, rows *[]wallet.SecurityRow) {
			(*rows)[3].Entry.Details.Client = "x"
		}, "[{changed 7 0}]"},
		{"the oldest", func(_ **wallet.SecurityHead, rows *[]wallet.SecurityRow) { (*rows)[0].Entry.Kind = "x" }, "[{changed 4 0}]"},
		{"what the oldest follows", func(_ **wallet.SecurityHead, rows *[]wallet.SecurityRow) { (*rows)[0].Entry.Before[0]++ }, "[{changed 4 0}]"},
		{"two", func(_ **wallet.SecurityHead, rows *[]wallet.SecurityRow) {
			(*rows)[0].Entry.Kind, (*rows)[2].Entry.Kind = "x", "x"
		}, "[{changed 4 0} {changed 6 0}]"},
		{"another owner", func(_ **wallet.SecurityHead, rows *[]wallet.SecurityRow) { (*rows)[2].Entry.Owner = "usr_2" }, "[{changed 6 0}]"},
		{"another owner below a changed one", func(_ **wallet.SecurityHead, rows *[]wallet.SecurityRow) {
			(*rows)[2].Entry.Kind, (*rows)[1].Entry.Owner = "x", "usr_2"
		}, "[{changed 5 0} {changed 6 0}]"},
		{"one missing", func(_ **wallet.SecurityHead, rows *[]wallet.SecurityRow) { *rows = slices.Delete(*rows, 1, 2) }, "[{missing 5 0}]"},
		{"the newest missing", func(_ **wallet.SecurityHead, rows *[]wallet.SecurityRow) { *rows = (*rows)[:3] }, "[{missing 7 0}]"},
		{"all missing", func(_ **wallet.SecurityHead, rows *[]wallet.SecurityRow) { *rows = nil }, "[{missing 4 0} {missing 5 0} {missing 6 0} {missing 7 0}]"},
		{"two exchanged", func(_ **wallet.SecurityHead, rows *[]wallet.SecurityRow) {
			(*rows)[1].Entry, (*rows)[2].Entry = (*rows)[2].Entry, (*rows)[1].Entry
		}, "[{reordered 5 6} {reordered 6 5}]"},
		{"unreadable", func(_ **wallet.SecurityHead, rows *[]wallet.SecurityRow) { (*rows)[1].Entry = nil }, "[{changed 5 0}]"},
		{"unreadable, of another place", func(_ **wallet.SecurityHead, rows *[]wallet.SecurityRow) {
			(*rows)[1].Entry, (*rows)[1].Belongs = nil, 7
		}, "[{reordered 5 7}]"},
		{"no head", func(head **wallet.SecurityHead, _ *[]wallet.SecurityRow) { *head = nil }, "[{head 0 0}]"},
		{"an anchor", func(head **wallet.SecurityHead, _ *[]wallet.SecurityRow) { (*head).Anchor[0]++ }, "[{head 4 0}]"},
		{"no anchor", func(head **wallet.SecurityHead, _ *[]wallet.SecurityRow) { (*head).Anchor = wallet.SecurityHash{} }, "[]"},
		{"a shorter head", func(head **wallet.SecurityHead, rows *[]wallet.SecurityRow) {
			(*head).Count, (*head).Hash = 6, (*rows)[2].Entry.Hash()
		}, "[{head 0 0}]"},
		{"an empty head", func(head **wallet.SecurityHead, _ *[]wallet.SecurityRow) { **head = wallet.SecurityHead{} }, "[{head 0 0}]"},
		{"a head that begins later", func(head **wallet.SecurityHead, _ *[]wallet.SecurityRow) { (*head).From = 5 }, "[{head 0 0} {head 5 0}]"},
		{"neither", func(head **wallet.SecurityHead, rows *[]wallet.SecurityRow) { *head, *rows = nil, nil }, "[{head 0 0}]"},
		{"no log", func(head **wallet.SecurityHead, rows *[]wallet.SecurityRow) {
			**head, *rows = wallet.SecurityHead{}, nil
		}, "[]"},
	} {
		head, rows := chainOf(7, 4)
		c.damage(&head, &rows)
		if got := fmt.Sprint(wallet.CheckSecurityLog("usr_1", head, rows)); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// TestDevicesAreNamedInOurWords: whatever a header says.
func TestDevicesAreNamedInOurWords(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36":                      "Chrome (Android)",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1":    "Safari (iPhone)",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/141.0 Mobile/15E148 Safari/604.1":     "Chrome (iPhone)",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0":              "Edge (Windows)",
		"Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0":                                                                     "Firefox (Linux)",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15":                      "Safari (macOS)",
		"Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36": "Samsung Internet (Android)",
		"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 OPR/120":                     "Opera (ChromeOS)",
		"curl/8.5.0": "curl",
		"Windows":    "Windows",
		"":           "",
		"<script>alert(1)</script> /send 5 SOL https://evil.example \x00\xff": "",
		strings.Repeat("x", 5000) + "Firefox/":                                "",
	} {
		if got := wallet.DeviceName(agent); got != want {
			t.Errorf("%.60q is %q, want %q", agent, got, want)
		}
	}
}

// TestFirstsAreBounded: whoever comes from ever new addresses fills neither the memory nor a day.
func TestFirstsAreBounded(t *testing.T) {
	var seen wallet.Seen
	at, rule, firsts := time.Date(2026, 11, 24, 23, 0, 0, 0, time.UTC), wallet.SeenAddresses, 0
	for i := range 10_000 {
		next, first, last := seen.Note(wallet.SeenMark("203.0.113.", fmt.Sprint(i)), at.Add(time.Duration(i)*time.Minute), rule)
		if first {
			firsts++
		}
		if last != (first && next.Today == rule.PerDay) {
			t.Fatalf("last is %t at %+v", last, next)
		}
		seen = next
	}
	if days := 10_000/(24*60) + 2; firsts > days*rule.PerDay || firsts < (days-3)*rule.PerDay || len(seen.Marks) != rule.Remembered {
		t.Errorf("%d firsts in %d days, %d marks", firsts, days, len(seen.Marks))
	}
	if wallet.SeenMark("a", "bc") == wallet.SeenMark("ab", "c") {
		t.Error("parts of a mark run together")
	}
	if newest := at.Add(9_999 * time.Minute); seen.NewestAt().IsZero() || seen.NewestAt().After(newest) || newest.Sub(seen.NewestAt()) > 24*time.Hour {
		t.Errorf("the newest is of %s", seen.NewestAt())
	}
	one, _, _ := wallet.Seen{}.Note("a", at, rule)
	counted, _, _ := one.Count(at.Add(time.Hour), rule)
	two, _, _ := counted.Note("b", at.In(time.FixedZone("", 3600)).Add(2*time.Hour), rule)
	if !one.NewestAt().IsZero() || !counted.At.Equal(at) || !two.NewestAt().Equal(at.Add(2*time.Hour)) || two.At.Location() != time.UTC {
		t.Errorf("the first: %s, counted: %s, the second: %s", one.NewestAt(), counted.At, two.NewestAt())
	}
	next, first, _ := seen.Note(seen.Marks[0], at, rule)
	if first || !reflect.DeepEqual(next, seen) {
		t.Error("what was seen before is new")
	}
}
