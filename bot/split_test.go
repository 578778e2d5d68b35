package bot

import (
	"html"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

var tag = regexp.MustCompile(`</?[a-z]+( [^<>]*)?>`)

func visible(part string) string { return html.UnescapeString(tag.ReplaceAllString(part, "")) }

func TestSplitHTMLKeepsTagsEntitiesAndCharactersWhole(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  []string
	}{
		{"short", 10, []string{"short"}},
		{"", 10, []string{""}},
		{"aaaa bbbb cccc", 9, []string{"aaaa bbbb", "cccc"}},
		{"aaaa\nbbbb cccc", 7, []string{"aaaa", "bbbb", "cccc"}},
		{"aaaaaaaaaa", 4, []string{"aaaa", "aaaa", "aa"}},
		{"<b>aaaa bbbb</b> c", 6, []string{"<b>aaaa</b>", "<b>bbbb</b> c"}},
		{`<a href="https://x">aa <i>bbbb</i></a>`, 5, []string{`<a href="https://x">aa</a>`, `<a href="https://x"><i>bbbb</i></a>`}},
		{"aa&amp;&lt;b", 3, []string{"aa&amp;", "&lt;b"}},
		{"😀😀😀", 4, []string{"😀😀", "😀"}},
		{"a & b < c", 100, []string{"a & b < c"}},
	} {
		got := splitHTML(c.text, c.limit)
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("splitHTML(%q, %d) = %q, not %q", c.text, c.limit, got, c.want)
		}
	}
}

// TestManyOpenTagsAreCheap: an app's message may be nothing but tags. They are closed in their order, and remembering which
// are open takes memory of the order of the text and not of its square.
func TestManyOpenTagsAreCheap(t *testing.T) {
	const tags = 1300
	text := strings.Repeat("<b><i>", tags/2) + "abcd"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := splitHTML(text, 3)
	runtime.ReadMemStats(&after)
	open, closed := strings.Repeat("<b><i>", tags/2), strings.Repeat("</i></b>", tags/2)
	if len(got) != 2 || got[0] != open+"abc"+closed || got[1] != open+"d" {
		t.Errorf("%d parts, of %d bytes the first", len(got), len(got[0]))
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 50*uint64(len(text)) {
		t.Errorf("%d bytes of memory for a text of %d", used, len(text))
	}
}

func FuzzSplitHTML(f *testing.F) {
	f.Add("<b>aaaa bbbb</b> c", 6)
	f.Add("a &amp; b <i>x\n</i>", 3)
	f.Add(strings.Repeat("😀 ", 30), 7)
	f.Add("<<b>>&&amp;;", 2)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 4 || limit > 5000 || !utf8.ValidString(text) {
			return
		}
		// What chat makes: tags of ours, everything else escaped.
		safe := html.EscapeString(text)
		safe = strings.ReplaceAll(safe, "[", "<b>")
		safe = strings.ReplaceAll(safe, "]", "</b>")
		if strings.Count(safe, "<b>") != strings.Count(safe, "</b>") {
			return
		}
		bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
		var all strings.Builder
		for _, part := range splitHTML(safe, limit) {
			shown := visible(part)
			if n := len(utf16.Encode([]rune(shown))); n > limit {
				t.Errorf("a part of %d units, not %d", n, limit)
			}
			all.WriteString(shown)
		}
		if bare(all.String()) != bare(visible(safe)) {
			t.Errorf("%q became %q", visible(safe), all.String())
		}
	})
}

func TestATagAroundAClosedOneStaysOpenBehindACut(t *testing.T) {
	got := splitHTML("<b><i>a</i> bbbb cccc</b>", 6)
	if want := []string{"<b><i>a</i> bbbb</b>", "<b>cccc</b>"}; !slices.Equal(got, want) {
		t.Errorf("a text with nested tags was cut into %q, want %q", got, want)
	}
}
