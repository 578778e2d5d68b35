package telegram

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// render writes entities back around their text, as [type:text], to compare by eye.
func render(t *testing.T, text string, entities []Entity) string {
	t.Helper()
	units := []rune{} // one slot a UTF-16 unit; the second of a pair is -1
	for _, r := range text {
		units = append(units, r)
		if r > 0xffff {
			units = append(units, -1)
		}
	}
	out := ""
	for i := 0; i <= len(units); i++ {
		for j := len(entities) - 1; j >= 0; j-- {
			if e := entities[j]; e.Offset+e.Length == i {
				out += "]"
			}
		}
		for _, e := range entities {
			if e.Offset == i {
				out += "[" + e.Type
				if e.URL != "" {
					out += "=" + e.URL
				}
				if e.Language != "" {
					out += "=" + e.Language
				}
				out += ":"
			}
		}
		if i < len(units) && units[i] >= 0 {
			out += string(units[i])
		}
	}
	return out
}

func TestMarkupBecomesEntities(t *testing.T) {
	for _, c := range []struct{ mode, src, want string }{
		{"HTML", "<b>bold <i>both</i></b> &lt;x&gt; &amp; &#65;&#x1F600; &nbsp;", "[bold:bold [italic:both]] <x> & A😀 &nbsp;"},
		{"HTML", "😀 <code>9xQe</code>", "😀 [code:9xQe]"},
		{"HTML", `<a href="https://example.com/?a=1&amp;b=2">here</a> <a href="http://localhost/">there</a>`, "[text_link=https://example.com/?a=1&b=2:here] there"},
		{"HTML", `<pre><code class="language-go">x := 1</code></pre>`, "[pre=go:x := 1]"},
		{"HTML", "<pre>a</pre><span class=\"tg-spoiler\">b</span><tg-spoiler>c</tg-spoiler><u>d</u><s>e</s><blockquote expandable>f</blockquote>", "[pre:a][spoiler:b][spoiler:c][underline:d][strikethrough:e][expandable_blockquote:f]"},
		{"HTML", "  <b> padded </b>\n", "[bold:padded]"},
		{"HTML", "<b></b>plain", "plain"},
		{"HTML", "<B>x</B ><i>y</>", "[bold:x][italic:y]"},
		{"Markdown", "*b* _i_ `c` [l](http://example.com) \\*x", "[bold:b] [italic:i] [code:c] [text_link=http://example.com/:l] *x"},
		{"Markdown", "```go\nx\n```", "[pre=go:x]"},
		{"MarkdownV2", "*b _i_* __u__ ~s~ ||p|| `c\\`` [l](https://example.com/a\\)b)", "[bold:b [italic:i]] [underline:u] [strikethrough:s] [spoiler:p] [code:c`] [text_link=https://example.com/a)b:l]"},
		{"MarkdownV2", "1\\.5 \\- \\!", "1.5 - !"},
		{"MarkdownV2", ">quote\n>more\nafter", "[blockquote:quote\nmore]\nafter"},
		{"MarkdownV2", ">one\n**>two\n>three||\nafter", "[blockquote:one]\n[expandable_blockquote:two\nthree]\nafter"},
		{"MarkdownV2", "**>from the start||", "[expandable_blockquote:from the start]"},
		{"", "see https://example.com/x?y=1. /help @alice #tag $SOL a@b.org", "see [url:https://example.com/x?y=1]. [bot_command:/help] [mention:@alice] [hashtag:#tag] [cashtag:$SOL] [email:a@b.org]"},
		{"HTML", "<code>/send 1 SOL</code> /send", "[code:/send 1 SOL] [bot_command:/send]"},
	} {
		text, entities, err := formatted(&request{params: map[string]string{"text": c.src, "parse_mode": c.mode}}, "text", "entities")
		if err != nil {
			t.Errorf("%s %q: %v", c.mode, c.src, err)
			continue
		}
		if got := render(t, text, entities); got != c.want {
			t.Errorf("%s %q\n got %s\nwant %s", c.mode, c.src, got, c.want)
		}
	}
}

func TestEntityArraysAreCounted(t *testing.T) {
	for _, c := range []struct{ entities, want string }{
		{`[{"type":"bold","offset":3,"length":2}]`, "😀 [bold:ab]"},
		{`[{"type":"bold","offset":1,"length":2}]`, "error"},
		{`[{"type":"bold","offset":3,"length":9}]`, "error"},
		{`[{"type":"bold","offset":-1,"length":2}]`, "error"},
		{`[{"type":"glitter","offset":0,"length":2}]`, "error"},
		{`{}`, "error"},
		{`[]`, "😀 ab"},
	} {
		text, entities, err := formatted(&request{params: map[string]string{"text": "😀 ab", "entities": c.entities}}, "text", "entities")
		got := "error"
		if err == nil {
			got = render(t, text, entities)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.entities, got, c.want)
		}
	}
}

func TestLinksAreJudgedAsTelegramDoes(t *testing.T) {
	for _, c := range []struct{ link, normal, problem string }{
		{"https://Example.COM", "https://example.com/", ""},
		{"example.com/x", "http://example.com/x", ""},
		{"http://127.0.0.1:8080/w/#s=x", "http://127.0.0.1:8080/w/#s=x", ""},
		{"tg://resolve?domain=x", "tg://resolve?domain=x", ""},
		{"http://localhost", "", "Wrong HTTP URL"},
		{"https://intranet/x", "", "Wrong HTTP URL"},
		{"https://a b.com", "", "Wrong HTTP URL"},
		{"ftp://example.com", "", "Unsupported URL protocol"},
		{"", "", "URL must be non-empty"},
	} {
		if normal, problem := checkLink(c.link); normal != c.normal || problem != c.problem {
			t.Errorf("%q: %q %q", c.link, normal, problem)
		}
	}
}

func TestWebAppsAreFoundAnywhere(t *testing.T) {
	for value, want := range map[string]bool{
		`{"a":[{"web_app":{}}]}`: true, `{"type":"web_app"}`: true, `{"text":"web_app"}`: false, "the web_app [x]": false,
	} {
		if got := refuseWebApps(map[string]string{"p": value}) != nil; got != want {
			t.Errorf("%s: %v", value, got)
		}
	}
}

func FuzzFormatted(f *testing.F) {
	for _, s := range []string{"<b>x</b>", "&#x1F600;<a href='x.y'>z", "*_`[", "||a||>b\n>c", "😀\r\n\t", "```go\n`", "https://a.b/ @x /y"} {
		for mode := range 4 {
			f.Add(s, mode)
		}
	}
	f.Fuzz(func(t *testing.T, src string, mode int) {
		modes := []string{"", "HTML", "Markdown", "MarkdownV2"}
		q := &request{params: map[string]string{"text": src, "parse_mode": modes[(mode%4+4)%4]}}
		text, entities, err := formatted(q, "text", "entities")
		if err != nil {
			return
		}
		if !utf8.ValidString(text) || strings.TrimSpace(text) != text {
			t.Errorf("%q became %q", src, text)
		}
		for i, e := range entities {
			if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > utf16Len(text) {
				t.Errorf("%q: entity %+v outside of %q", src, e, text)
			}
			if i > 0 && e.Offset < entities[i-1].Offset {
				t.Errorf("%q: entities out of order: %+v", src, entities)
			}
		}
	})
}

func FuzzMarkup(f *testing.F) {
	for _, s := range []string{`{"inline_keyboard":[[{"text":"a","callback_data":"b"}]]}`, `{"keyboard":[["a",{"text":"b","request_contact":true}]]}`, `{"remove_keyboard":true}`, `[]`, `{"inline_keyboard":[[null]]}`, `{"inline_keyboard":[[{"text":"a","copy_text":null}]]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		m, err := readMarkup(raw)
		if err != nil || m.inline == nil {
			return
		}
		b, err := json.Marshal(m.inline)
		if err != nil {
			t.Fatal(err)
		}
		again, err := readMarkup(string(b))
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("%s reads back as %s (%v)", raw, b, err)
		}
	})
}
