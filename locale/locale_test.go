package locale_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"purser/locale"
	"purser/wallet"
)

func catalogue(t *testing.T, files map[string]string) *locale.Catalogue {
	t.Helper()
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	c, err := locale.New(root)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// every is a reason with an argument of each type.
var at = time.Date(2026, 11, 22, 14, 5, 0, 0, time.UTC)

func every() wallet.Reason {
	return wallet.Because("test.every", wallet.TextArg("Text", "<b>"), wallet.NumberArg("Number", 1234),
		wallet.AmountArg("Amount", wallet.Lamports(1_500_000_000)), wallet.DurationArg("NextTry", 90*time.Second),
		wallet.TimeArg("Time", at), wallet.AddressArg("Address", wallet.Address{}), wallet.ListArg("List", []string{"a", "<i>"}), wallet.NumberArg("TelegramID", 7))
}

const everyText = `[test]
every = "{{.Text}}|{{.Number}}|{{.Amount}}|{{.NextTry}}|{{.Time}}|{{.Address}}|{{.List}}"
`

func TestEachTypeOfArgumentIsRendered(t *testing.T) {
	c := catalogue(t, map[string]string{"en.toml": everyText})
	const zero = "11111111111111111111111111111111"
	plain, err := c.Printer("en", locale.Style{}).Reason(every())
	if want := "<b>|1234|1.5|90 seconds|2026-11-22T14:05:00.000Z|" + zero + "|a, <i>"; err != nil || plain != want {
		t.Errorf("%q, %v, not %q", plain, err, want)
	}
	style := locale.Style{Escape: func(s string) string { return strings.ReplaceAll(s, "<", "&lt;") },
		Time: func(t time.Time) string { return t.Format("15:04 <UTC>") }}
	escaped, err := c.Printer("en", style).Reason(every())
	if want := "&lt;b>|1234|1.5|90 seconds|14:05 &lt;UTC>|" + zero + "|a, &lt;i>"; err != nil || escaped != want {
		t.Errorf("%q, %v, not %q", escaped, err, want)
	}
	published, err := json.Marshal(locale.Arguments(every()))
	want := `{"address":"` + zero + `","amount":"1.5","list":["a","\u003ci\u003e"],"next_try":90,"number":1234,"telegram_id":7,"text":"\u003cb\u003e","time":"2026-11-22T14:05:00.000Z"}`
	if err != nil || string(published) != want {
		t.Errorf("%s, %v, not %s", published, err, want)
	}
	if got := locale.Arguments(wallet.Reason{}); got == nil || len(got) != 0 {
		t.Errorf("no arguments are %v, which is not {} in JSON", got)
	}
}

func TestAMissingArgumentOrTextIsAnError(t *testing.T) {
	p := catalogue(t, map[string]string{"en.toml": everyText + "many = { one = \"one\", other = \"{{.Count}}\" }\n"}).Printer("en", locale.Style{})
	for _, r := range []wallet.Reason{
		wallet.Because("test.every"), wallet.Because("test.none"), wallet.Because("test.many"),
		wallet.Because("test.every", every().Args[1:]...), {Key: "test.every", Args: []wallet.Arg{{Name: "Text"}}},
	} {
		if text, err := p.Reason(r); err == nil {
			t.Errorf("%v is shown as %q", r, text)
		}
	}
	if text, err := p.Reason(wallet.Reason{}); text != "" || err != nil {
		t.Errorf("no reason is %q, %v", text, err)
	}
}

func TestPluralFormsFollowTheLanguage(t *testing.T) {
	c := catalogue(t, map[string]string{
		"en.toml": "[test]\ntries = { one = \"{{.Count}} try\", other = \"{{.Count}} tries\" }\n",
		"pl.toml": "[test]\ntries = { one = \"{{.Count}} próba\", few = \"{{.Count}} próby\", many = \"{{.Count}} prób\", other = \"{{.Count}} próby\" }\n",
	})
	for _, want := range []struct {
		tag   string
		count int
		text  string
	}{
		{"en", 1, "1 try"}, {"en", 0, "0 tries"}, {"en", 2, "2 tries"},
		{"pl", 1, "1 próba"}, {"pl", 3, "3 próby"}, {"pl", 5, "5 prób"}, {"pl-PL", 22, "22 próby"},
	} {
		got, err := c.Printer(want.tag, locale.Style{}).Reason(wallet.Because("test.tries", wallet.NumberArg("Count", want.count)))
		if err != nil || got != want.text {
			t.Errorf("%d in %s is %q, %v", want.count, want.tag, got, err)
		}
	}
}

func TestUnknownLanguagesAndUntranslatedTextsAreEnglish(t *testing.T) {
	c := catalogue(t, map[string]string{
		"en.toml": "[test]\nfixed = \"Hello.\"\nopen = \"Hello {{.Name}}.\"\nrest = \"Only here.\"\nmore = \"Only {{.Name}}.\"\n",
		"de.toml": "[test]\nfixed = \"Hallo.\"\nopen = \"Hallo {{.Name}}.\"\n",
	})
	for _, want := range []struct{ tag, fixed, open, rest, more string }{
		{"en", "Hello.", "Hello A.", "Only here.", "Only A."}, {"de", "Hallo.", "Hallo A.", "Only here.", "Only A."},
		{"de-CH", "Hallo.", "Hallo A.", "Only here.", "Only A."}, {"", "Hello.", "Hello A.", "Only here.", "Only A."},
		{"sw", "Hello.", "Hello A.", "Only here.", "Only A."}, {"<script>", "Hello.", "Hello A.", "Only here.", "Only A."},
		{strings.Repeat("x-", 5000), "Hello.", "Hello A.", "Only here.", "Only A."},
	} {
		p := c.Printer(want.tag, locale.Style{})
		for key, text := range map[string]string{"test.fixed": want.fixed, "test.open": want.open, "test.rest": want.rest, "test.more": want.more} {
			if got, err := p.Text(key, map[string]any{"Name": "A"}); err != nil || got != text {
				t.Errorf("%s in %.20q is %q, %v", key, want.tag, got, err)
			}
		}
	}
	if tags := c.Languages(); tags[0] != "en" || !slices.Contains(tags, "de") || len(tags) != len(spoken)+2 {
		t.Errorf("the languages are %v", tags)
	}
}

func TestDurationsAreSaidInTheirLargestWholeUnit(t *testing.T) {
	c := catalogue(t, map[string]string{"en.toml": "[test]\nwait = \"{{.Wait}}\"\n"})
	for d, want := range map[time.Duration]string{
		0: "0 seconds", 300 * time.Millisecond: "1 second", time.Second: "1 second", 59500 * time.Millisecond: "60 seconds",
		time.Minute: "1 minute", 61 * time.Second: "61 seconds", 121 * time.Second: "3 minutes", time.Hour: "1 hour",
		90 * time.Minute: "90 minutes", 24 * time.Hour: "24 hours", 36 * time.Hour: "36 hours", 47 * time.Hour: "47 hours", 48 * time.Hour: "2 days",
		49 * time.Hour: "49 hours", 72 * time.Hour: "3 days", 168 * time.Hour: "7 days", 48*time.Hour + time.Second: "2881 minutes",
	} {
		got, err := c.Printer("en", locale.Style{}).Reason(wallet.Because("test.wait", wallet.DurationArg("Wait", d)))
		if err != nil || got != want {
			t.Errorf("%v is %q, %v, not %q", d, got, err, want)
		}
	}
}

func TestOneKeyHasOneText(t *testing.T) {
	for name, files := range map[string][2]string{
		"of this package": {"en.toml", "[amount]\nmissing = \"Another.\"\n"},
		"malformed":       {"en.toml", "[test\n"},
		"of a language":   {"en.toml", "[amount.missing]\nother = \"Another.\"\n"},
	} {
		root := fstest.MapFS{files[0]: {Data: []byte(files[1])}}
		if _, err := locale.New(root); err == nil {
			t.Errorf("%s: it was read", name)
		}
	}
	twice := fstest.MapFS{"en.toml": {Data: []byte("[test]\na = \"A.\"\n")}}
	if _, err := locale.New(twice, twice); err == nil {
		t.Error("two files of a front share a key")
	}
}
