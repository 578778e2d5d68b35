package locale_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"text/template/parse"
	"unicode"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"

	"purser/locale"
)

// spoken are the languages besides English, with the plural forms that each has by Unicode's CLDR. The signing page takes them from
// Intl.PluralRules.
var spoken = map[string][]string{
	"ar": {"few", "many", "one", "other", "two", "zero"},
	"es": {"many", "one", "other"},
	"pt": {"many", "one", "other"},
	"ru": {"few", "many", "one", "other"},
	"tr": {"one", "other"},
	"zh": {"other"},
}

// texts reads a file of texts: each key with its forms. A text without plural forms has one, "".
func texts(t *testing.T, path string) map[string]map[string]string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]map[string]any
	if err := toml.Unmarshal(raw, &file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	out := map[string]map[string]string{}
	for section, entries := range file {
		for name, entry := range entries {
			forms := map[string]string{}
			switch entry := entry.(type) {
			case string:
				forms[""] = entry
			case map[string]any:
				for form, text := range entry {
					forms[form], _ = text.(string)
				}
			}
			out[section+"."+name] = forms
		}
	}
	return out
}

// shape is what a translation must keep of a text.
type shape struct {
	variables  map[string]bool // that it prints
	conditions map[string]bool // that it asks
	tags       []string        // of HTML, sorted
	code       []string        // what stands in code tags, sorted
	commands   map[string]bool // such as /send, outside of code tags
	longest    int             // most characters that one way through its conditions shows, without variables
}

var (
	codeTag   = regexp.MustCompile(`(?s)<code>(.*?)</code>`)
	anyTag    = regexp.MustCompile(`</?[a-z-]+[^<>]*>`)
	templates = regexp.MustCompile(`\{\{.*?\}\}`)
	slashWord = regexp.MustCompile(`(^|[^\w<])(/[a-z_]+)\b`)
)

func shapeOf(t *testing.T, key, text string) shape {
	t.Helper()
	parsed, err := template.New(key).Parse(text)
	if err != nil {
		t.Errorf("%s: %v", key, err)
		return shape{}
	}
	s := shape{variables: map[string]bool{}, conditions: map[string]bool{}, commands: map[string]bool{}}
	s.longest = s.walk(parsed.Root)
	s.tags = anyTag.FindAllString(text, -1)
	for _, found := range codeTag.FindAllStringSubmatch(text, -1) {
		s.code = append(s.code, found[1])
	}
	for _, found := range slashWord.FindAllStringSubmatch(codeTag.ReplaceAllString(text, " "), -1) {
		s.commands[found[2]] = true
	}
	slices.Sort(s.tags)
	slices.Sort(s.code)
	return s
}

// walk reads one node of a template, and returns the most characters that it shows.
func (s *shape) walk(node parse.Node) (longest int) {
	switch node := node.(type) {
	case *parse.ListNode:
		if node == nil {
			return 0
		}
		for _, inner := range node.Nodes {
			longest += s.walk(inner)
		}
	case *parse.TextNode:
		return utf8.RuneCountInString(anyTag.ReplaceAllString(string(node.Text), ""))
	case *parse.ActionNode:
		s.variables[node.Pipe.String()] = true
	case *parse.IfNode:
		s.conditions[node.Pipe.String()] = true
		return max(s.walk(node.List), s.walk(node.ElseList))
	}
	return longest
}

// TestEachLanguageSaysEverything: the same texts, with the same variables, conditions, tags and commands, in all plural forms.
func TestEachLanguageSaysEverything(t *testing.T) {
	english, err := filepath.Glob("../chat/*.en.toml")
	if err != nil || len(english) < 10 {
		t.Fatal("the chat has no catalogue", err)
	}
	for tag, forms := range spoken {
		t.Run(tag, func(t *testing.T) {
			for _, original := range append(english, "en.toml") {
				path := filepath.Join(filepath.Dir(original), strings.TrimSuffix(filepath.Base(original), "en.toml")+tag+".toml")
				if _, err := os.Stat(path); err != nil {
					t.Errorf("%s is missing", path)
					continue
				}
				want, got := texts(t, original), texts(t, path)
				for _, key := range slices.Sorted(maps.Keys(want)) {
					if got[key] == nil {
						t.Errorf("%s: %s is missing", path, key)
						continue
					}
					for _, wrong := range unlike(t, key, want[key], got[key], forms) {
						t.Errorf("%s: %s %s", path, key, wrong)
					}
				}
				for _, key := range slices.Sorted(maps.Keys(got)) {
					if want[key] == nil {
						t.Errorf("%s: %s is no text of English", path, key)
					}
				}
			}
		})
	}
}

// unlike returns how a translated text differs from its original in what must be the same.
func unlike(t *testing.T, key string, original, translated map[string]string, forms []string) (wrong []string) {
	t.Helper()
	counted := original["other"] != ""
	if got := slices.Sorted(maps.Keys(translated)); counted && !slices.Equal(got, forms) || !counted && !slices.Equal(got, []string{""}) {
		return []string{fmt.Sprintf("has the forms %q", got)}
	}
	want := shapeOf(t, key, cmp.Or(original["other"], original[""]))
	for form, text := range translated {
		if strings.Trim(text, " \n\t") == "" { // a no-break space is something
			wrong = append(wrong, "says nothing")
			continue
		}
		got := shapeOf(t, key, text)
		if form != "" && form != "other" && want.variables[".Count"] { // "one day" needs no number
			got.variables[".Count"] = true
		}
		for what, same := range map[string]bool{
			"prints other variables": maps.Equal(got.variables, want.variables), "asks other conditions": maps.Equal(got.conditions, want.conditions),
			"has other tags": slices.Equal(got.tags, want.tags), "has another text to copy": slices.Equal(got.code, want.code), "names other commands": maps.Equal(got.commands, want.commands),
		} {
			if !same {
				wrong = append(wrong, fmt.Sprintf("%s (form %q): %q", what, form, text))
			}
		}
		section, _, _ := strings.Cut(key, ".")
		switch {
		case strings.HasSuffix(section, "button") && got.longest > 20:
			wrong = append(wrong, fmt.Sprintf("is a button of %d characters: %q", got.longest, text))
		case section == "toast" && got.longest > 180:
			wrong = append(wrong, fmt.Sprintf("is a toast of %d characters", got.longest))
		case section == "menu" && got.longest > 100, key == "about.short" && got.longest > 120, key == "about.long" && got.longest > 512:
			wrong = append(wrong, fmt.Sprintf("has %d characters, which is too many for Telegram or its readers", got.longest))
		}
		if words := strings.FieldsFunc(templates.ReplaceAllString(codeTag.ReplaceAllString(text, ""), ""), func(r rune) bool { return !unicode.IsLetter(r) }); text == cmp.Or(original[form], original["other"], original[""]) && len(words) > 6 {
			wrong = append(wrong, fmt.Sprintf("is English: %q", text))
		}
	}
	return wrong
}

// TestEnglishButtonsAreShort, since the other languages are held to the same length.
func TestEnglishButtonsAreShort(t *testing.T) {
	files, err := filepath.Glob("../chat/*.en.toml")
	if err != nil {
		t.Fatal(err)
	}
	buttons := 0
	for _, path := range files {
		for key, forms := range texts(t, path) {
			if section, _, _ := strings.Cut(key, "."); !strings.HasSuffix(section, "button") {
				continue
			}
			buttons++
			for _, text := range forms {
				if n := shapeOf(t, key, text).longest; n > 20 {
					t.Errorf("%s is a button of %d characters: %q", key, n, text)
				}
			}
		}
	}
	if buttons < 50 {
		t.Errorf("%d buttons found: the search is broken", buttons)
	}
}

// TestPluralFormsAreThoseOfTheLanguage: the forms that the test above wants are those that numbers select.
func TestPluralFormsAreThoseOfTheLanguage(t *testing.T) {
	names := map[plural.Form]string{plural.Other: "other", plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many"}
	for tag, forms := range spoken {
		for _, n := range []int{0, 1, 2, 5, 11, 21, 101} {
			form := names[plural.Cardinal.MatchPlural(language.MustParse(tag), n, 0, 0, 0, 0)]
			if !slices.Contains(forms, form) {
				t.Errorf("%s: %d is %s", tag, n, form)
			}
		}
	}
}

// TestEachNumberIsSaidInEachLanguage: durations, which most sentences about time use.
func TestEachNumberIsSaidInEachLanguage(t *testing.T) {
	all, err := locale.Refusals()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{ // of hours, for 0, 1, 2, 5, 11, 21, 101
		"ru": {"0 часов", "1 час", "2 часа", "5 часов", "11 часов", "21 час", "101 час"},
		"tr": {"0 saat", "1 saat", "2 saat", "5 saat", "11 saat", "21 saat", "101 saat"},
		"es": {"0 horas", "1 hora", "2 horas", "5 horas", "11 horas", "21 horas", "101 horas"},
	}
	for tag, texts := range want {
		printer := all.Printer(tag, locale.Style{})
		for i, n := range []int{0, 1, 2, 5, 11, 21, 101} {
			if got, err := printer.Text("duration.hours", map[string]any{"Count": n}); err != nil || got != texts[i] {
				t.Errorf("%s: %d hours is %q, %v", tag, n, got, err)
			}
		}
	}
	for tag := range spoken {
		for _, n := range []int{0, 1, 2, 5, 11, 21, 101, 1_000_000} {
			if got, err := all.Printer(tag, locale.Style{}).Text("duration.minutes", map[string]any{"Count": n}); err != nil || got == "" || strings.Contains(got, "minute") && tag != "tr" {
				t.Errorf("%s: %d minutes is %q, %v", tag, n, got, err)
			}
		}
	}
}

// TestWhatIsCopiedKeepsItsOrder: in a text from right to left, addresses, amounts and commands stand between isolates, and what a code tag holds
// is as it was.
func TestWhatIsCopiedKeepsItsOrder(t *testing.T) {
	c := catalogue(t, map[string]string{"en.toml": "[test]\na = \"x\"\n", "x.ar.toml": "[test]\na = '''\nأرسل ${{.Sum}} SOL {{if .To}}إلى {{.To}}{{end}} بالأمر /wallet history all أو /v1/telegram إلى @{{.To}} بنسبة {{.Sum}}% أو <code>/send max {{.Sum}}</code> <b>الآن</b>.\n{{.Address}}\n{{.Sum}} SOL الآن\nإلى {{.To}}\n/help'''\n"})
	got, err := c.Printer("ar", locale.Style{}).Text("test.a", map[string]any{"Sum": "1.5", "To": "anna", "Address": "9xQe"})
	want := "أرسل \u2068$1.5 SOL\u2069 إلى \u2068anna\u2069 بالأمر \u2066/wallet history all\u2069 أو \u2066/v1/telegram\u2069 إلى \u2068@anna\u2069 بنسبة \u20681.5%\u2069 أو \u2066<code>/send max 1.5</code>\u2069 <b>الآن</b>.\n9xQe\n\u20681.5 SOL\u2069 الآن\nإلى \u2068anna\u2069\n/help"
	if err != nil || got != want {
		t.Errorf("%q, %v, not\n%q", got, err, want)
	}
	for tag, rtl := range map[string]bool{"ar": true, "ar-EG": true, "he": true, "fa": true, "en": false, "ru": false, "zh-Hans": false, "": false} {
		if locale.RightToLeft(tag) != rtl {
			t.Errorf("%q is read from right to left: %t", tag, !rtl)
		}
	}
}

// markedCommand is the beginning of a command in a page's text, with its mark.
var markedCommand = regexp.MustCompile("\u200e/[a-z]")

// TestFilesOfLanguagesArePlainText: no byte order mark, no character that turns the direction of what follows. Files of pages may have
// a left-to-right mark before the slash of a command, without which it would stand behind it.
func TestFilesOfLanguagesArePlainText(t *testing.T) {
	for _, pattern := range []string{"*.toml", "../chat/*.toml", "../signer/page/*.json", "../pages/portal/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range files {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(path, ".json") {
				raw = markedCommand.ReplaceAll(raw, nil)
			}
			if !utf8.Valid(raw) || bytes.ContainsAny(raw, "\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufffd") {
				t.Errorf("%s has characters that do not belong into it", path)
			}
		}
	}
}
