package chat_test

import (
	"errors"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"purser/chat"
	"purser/store"
)

// A tag and an entity of Telegram's HTML, at the beginning of a text.
var (
	tag    = regexp.MustCompile(`^<(/?)(b|i|u|s|code|pre|tg-spoiler|blockquote)>`)
	entity = regexp.MustCompile(`^&(lt|gt|amp|quot);`)
)

// telegramText reads Telegram HTML as strictly as the Bot API describes it: known tags, closed in
// order, the four named entities and no bare markup. It returns the text that is left.
func telegramText(source string) (string, error) {
	var out strings.Builder
	var open []string
	isolates := 0
	for rest := source; rest != ""; {
		switch {
		case rest[0] == '<' && tag.MatchString(rest):
			m := tag.FindStringSubmatch(rest)
			if m[1] == "" {
				// "…can contain and can be part of any other entities, except pre and code" (Bot API, Formatting
				// options): the other one is dropped there, and a spoiler would hide nothing.
				if len(open) > 0 && (m[2] == "code" || m[2] == "pre" || open[len(open)-1] == "code" || open[len(open)-1] == "pre") {
					return "", fmt.Errorf("<%s> inside <%s>", m[2], open[len(open)-1])
				}
				open = append(open, m[2])
			} else if len(open) == 0 || open[len(open)-1] != m[2] {
				return "", fmt.Errorf("</%s> closes nothing", m[2])
			} else {
				open = open[:len(open)-1]
			}
			rest = rest[len(m[0]):]
		case rest[0] == '&' && entity.MatchString(rest):
			m := entity.FindString(rest)
			out.WriteString(html.UnescapeString(m))
			rest = rest[len(m):]
		case rest[0] == '<' || rest[0] == '>' || rest[0] == '&':
			return "", fmt.Errorf("bare %q at %q", rest[:1], rest[:min(len(rest), 20)])
		default:
			r, size := utf8.DecodeRuneInString(rest)
			switch r { // isolates of languages from right to left: each is closed
			case '\u2066', '\u2068':
				isolates++
				rest = rest[size:]
				continue
			case '\u2069':
				if isolates--; isolates < 0 {
					return "", errors.New("an isolate is closed that was not opened")
				}
				rest = rest[size:]
				continue
			}
			if r == utf8.RuneError && size == 1 || unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Cf, r) {
				return "", fmt.Errorf("character %U is not for a message", r)
			}
			out.WriteRune(r)
			rest = rest[size:]
		}
	}
	if len(open) > 0 || isolates > 0 {
		return "", fmt.Errorf("%v and %d isolates are not closed", open, isolates)
	}
	return out.String(), nil
}

func TestStrictReaderRefusesWhatTelegramRefuses(t *testing.T) {
	for _, bad := range []string{"<b>", "</b>", "<b><i></b></i>", "a < b", "a & b", "<script>", "&nbsp;", "a\x00b", "a\u202eb", "a\u2066b", "a\u2069b", "<a href=x>y</a>",
		"<tg-spoiler><code>x</code></tg-spoiler>", "<code><b>x</b></code>"} {
		if text, err := telegramText(bad); err == nil {
			t.Errorf("%q was read as %q", bad, text)
		}
	}
	if text, err := telegramText("<b>1 &lt; <i>2</i></b>\n<code>x</code>"); err != nil || text != "1 < 2\nx" {
		t.Errorf("got %q, %v", text, err)
	}
}

// keySecret is what a key of the API looks like.
var keySecret = regexp.MustCompile(`pur_(live|test|bot)_[0-9A-Za-z]{36}`)

// readable is everything of a reply that a person could read or copy.
func readable(reply chat.Reply) string {
	all := reply.Text
	for _, b := range slices.Concat(reply.Buttons...) {
		all += " " + b.Copy + " " + b.Data
	}
	return all
}

// checkReply holds every single reply of every test to Telegram's limits.
func checkReply(t testing.TB, row store.Reply, reply chat.Reply) {
	t.Helper()
	bad := func(format string, args ...any) {
		t.Helper()
		t.Errorf("reply %q: %s", reply.Text, fmt.Sprintf(format, args...))
	}
	switch reply.Kind {
	case chat.Toast:
		if utf8.RuneCountInString(reply.Text) > 200 {
			bad("a toast of more than 200 characters")
		}
		if reply.CallbackID == "" || row.NotAfter.IsZero() {
			bad("a toast without callback id or end")
		}
		return
	case chat.Delete, chat.Strip:
		if reply.MessageID == 0 {
			bad("is about no message")
		}
		return
	}
	text, err := telegramText(reply.Text)
	if err != nil {
		bad("%v", err)
	}
	limit := 4096
	if (reply.Kind == chat.Document) != (len(reply.File) > 0 && reply.FileName != "") {
		bad("a file %q of %d bytes", reply.FileName, len(reply.File))
	}
	if reply.Kind == chat.Photo || reply.Kind == chat.Document {
		limit = 1024
	}
	if n := len(utf16.Encode([]rune(text))); n == 0 || n > limit {
		bad("%d characters", n)
	}
	if strings.TrimSpace(text) != text || strings.Contains(text, "\n\n\n") || strings.Contains(text, "<no value>") {
		bad("untidy: %q", text)
	}
	if k := reply.Keyboard; k != nil {
		set := map[bool]int{true: 1}
		if row.Card != "" || len(reply.Buttons) > 0 || set[k.Remove]+set[k.People != ""]+set[k.Contact != ""] != 1 || (k.People != "") != (k.Request > 0) {
			bad("keyboard %+v", *k)
		}
	}
	if secret := keySecret.FindString(readable(reply)); secret != "" && !reply.Secret {
		bad("holds a key and is not marked secret")
	}
	for _, b := range slices.Concat(reply.Buttons...) {
		if b.Text == "" || utf8.RuneCountInString(b.Text) > 64 {
			bad("label %q", b.Text)
		}
		set := 0
		for _, value := range []string{b.Data, b.URL, b.Copy} {
			if value != "" {
				set++
			}
		}
		if set != 1 || len(b.Data) > 64 || len(b.Copy) > 256 {
			bad("button %+v", b)
		}
		if b.URL != "" {
			if u, err := url.Parse(b.URL); err != nil || u.Scheme != "https" {
				bad("link %q", b.URL)
			}
		}
	}
}
