package telegram

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// formatted reads a text parameter with its parse_mode or its entities, as sendMessage and similar methods take them.
// It returns the text as Telegram would store it. nameOfText and nameOfEntities are the names of the parameters.
func formatted(q *request, nameOfText, nameOfEntities string) (string, []Entity, error) {
	src := q.text(nameOfText)
	// Offsets count UTF-16 units of valid text only.
	if !utf8.ValidString(src) {
		return "", nil, badRequest("strings must be encoded in UTF-8")
	}
	text, entities := src, []Entity(nil)
	var err error
	switch mode := strings.ToLower(q.text("parse_mode")); mode {
	case "":
		if entities, err = explicitEntities(src, q.text(nameOfEntities)); err != nil {
			return "", nil, err
		}
	case "html":
		text, entities, err = parseHTML(src)
	case "markdown":
		text, entities, err = parseMarkdown(src)
	case "markdownv2":
		text, entities, err = parseMarkdownV2(src)
	case "none":
	default:
		return "", nil, badRequest("unsupported parse_mode")
	}
	if err != nil {
		return "", nil, err
	}
	text, entities = tidy(text, entities)
	return text, withFound(text, entities), nil
}

// unparsed is the error for a text with invalid markup.
func unparsed(format string, args ...any) error {
	return badRequest("can't parse entities: "+format, args...)
}

// explicitEntities checks an entities array against its text. Offsets are in UTF-16 units and may not split a
// character.
func explicitEntities(text, raw string) ([]Entity, error) {
	if strings.TrimSpace(raw) == "" {
		return nil, nil
	}
	var list []Entity
	if err := json.Unmarshal([]byte(raw), &list); err != nil {
		return nil, badRequest("can't parse MessageEntity: an Array of Objects is expected")
	}
	// The checks need the text in the unit of the offsets.
	units := utf16.Encode([]rune(text))
	kept := list[:0]
	for _, e := range list {
		switch e.Type {
		case "bold", "italic", "underline", "strikethrough", "spoiler", "blockquote", "expandable_blockquote",
			"code", "pre", "text_link", "text_mention", "custom_emoji":
		case "mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number":
			continue // withFound finds these in the text again
		default:
			return nil, badRequest("can't parse MessageEntity: unsupported type specified")
		}
		if e.Offset < 0 || e.Length < 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset {
			return nil, badRequest("entity begins or ends outside of the text at UTF-16 offset %d with length %d", e.Offset, e.Length)
		}
		// Neither edge may split a surrogate pair.
		for _, edge := range []int{e.Offset, e.Offset + e.Length} {
			if edge > 0 && edge < len(units) && utf16.IsSurrogate(rune(units[edge])) && units[edge] >= 0xdc00 && utf16.IsSurrogate(rune(units[edge-1])) {
				return nil, badRequest("entity begins in a middle of a UTF-16 symbol at UTF-16 offset %d", edge)
			}
		}
		if e.Length == 0 || e.Type == "text_link" && !linkEntity(&e, e.URL) {
			continue
		}
		kept = append(kept, e)
	}
	return kept, nil
}

// linkEntity makes e a link or a mention of a user. It returns false if Telegram would show plain text, without an
// error.
func linkEntity(e *Entity, link string) bool {
	if id, ok := strings.CutPrefix(link, "tg://user?id="); ok {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil || n <= 0 {
			return false
		}
		e.Type, e.URL, e.User = "text_mention", "", &User{ID: n}
		return true
	}
	checked, problem := checkLink(link)
	if problem != "" {
		return false
	}
	e.Type, e.URL = "text_link", checked
	return true
}

// checkLink validates and normalises the URL of a link or button as Telegram does. problem is Telegram's description:
// a host without a dot (localhost) is a "Wrong HTTP URL", but a numeric address is not.
func checkLink(link string) (normal, problem string) {
	link = strings.TrimSpace(link)
	if link == "" {
		return "", "URL must be non-empty"
	}
	if len(link) > 2048 || strings.ContainsFunc(link, func(r rune) bool { return r < 0x21 || r == utf8.RuneError }) {
		return "", "Wrong HTTP URL"
	}
	// A tg: link needs no host. Without a scheme, http is assumed.
	scheme, _, found := strings.Cut(link, ":")
	switch {
	case strings.EqualFold(scheme, "tg") && found:
		return "tg:" + link[3:], ""
	case !strings.Contains(link, "://"):
		link = "http://" + link
	case !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https"):
		return "", "Unsupported URL protocol"
	}
	u, err := url.Parse(link)
	if err != nil || u.Host == "" {
		return "", "Wrong HTTP URL"
	}
	// A host needs a dot, unless it is a numeric IPv6 address.
	host := strings.ToLower(u.Hostname())
	if !strings.Contains(host, ":") && !strings.Contains(host, ".") || strings.HasPrefix(host, ".") || strings.Contains(host, "..") {
		return "", "Wrong HTTP URL"
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String(), ""
}

// tidy removes what Telegram removes from a text: carriage returns, control characters, and white space at both ends.
// It moves the entities along, and drops those that have no text left.
func tidy(text string, entities []Entity) (string, []Entity) {
	var out []rune
	// The table maps each old offset to its new one, so that entities can follow.
	moved := make([]int, 0, len(text)+1) // moved[u] is the new offset of the old offset u, in UTF-16 units
	units := 0
	for _, r := range text {
		keep, n := true, 1
		if r > 0xffff {
			n = 2
		}
		switch {
		case r == '\r', r == 0x0b, r == 0x0c, r >= 0x202a && r <= 0x202e:
			keep = false
		case r < 0x20 && r != '\n':
			r = ' '
		}
		for range n {
			moved = append(moved, units)
		}
		if keep {
			out = append(out, r)
			units += n
		}
	}
	moved = append(moved, units)
	// White space at both ends goes last, so that what was removed before can leave some there.
	front := 0
	for front < len(out) && unicode.IsSpace(out[front]) {
		front++ // every white space character is one UTF-16 unit
	}
	back := len(out)
	for back > front && unicode.IsSpace(out[back-1]) {
		back--
	}
	out = out[front:back]
	length := utf16Len(string(out))
	kept := make([]Entity, 0, len(entities))
	for _, e := range entities {
		if e.Type == "code" {
			e.Language = ""
		}
		begin := min(max(moved[e.Offset]-front, 0), length)
		end := min(max(moved[e.Offset+e.Length]-front, 0), length)
		if end > begin {
			e.Offset, e.Length = begin, end-begin
			kept = append(kept, e)
		}
	}
	// Entities are in the order of their beginning, the outer one first.
	slices.SortStableFunc(kept, func(a, b Entity) int {
		if a.Offset != b.Offset {
			return a.Offset - b.Offset
		}
		return b.Length - a.Length
	})
	if len(kept) == 0 {
		kept = nil
	}
	return string(out), kept
}

// finder finds the entities of one kind in a plain text.
type finder struct {
	kind string
	re   *regexp.Regexp // its group 1 is the entity
}

// finders are the kinds that Telegram marks by itself. Earlier ones take precedence. They are compiled when they are first
// needed: purser itself needs none, and would start later.
var finders = sync.OnceValue(func() []finder {
	return []finder{
		{"url", regexp.MustCompile(`(?i)(?:^|[^\w@/.])((?:https?://|www\.)[a-z0-9\-._~%]+\.[a-z0-9\-]+(?::\d+)?(?:[/?#][^\s<>"]*)?)`)},
		{"email", regexp.MustCompile(`(?i)(?:^|[^\w.+-])([a-z0-9_.+-]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,})`)},
		{"bot_command", regexp.MustCompile(`(?:^|[^\w/<>@])(/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?)\b`)},
		{"mention", regexp.MustCompile(`(?:^|[^\w@/])(@[A-Za-z][A-Za-z0-9_]{2,31})\b`)},
		{"hashtag", regexp.MustCompile(`(?:^|[^\w#&])(#[\p{L}_][\p{L}\p{N}_]{0,255})`)},
		{"cashtag", regexp.MustCompile(`(?:^|[^\w$])(\$[A-Z]{1,8})\b`)},
	}
})

// withFound adds the entities that Telegram finds by itself, except inside code, links and each other.
func withFound(text string, entities []Entity) []Entity {
	if !strings.ContainsAny(text, "/@#$.") {
		return entities
	}
	// Nothing is found inside these.
	taken := make([]Entity, 0, len(entities))
	for _, e := range entities {
		switch e.Type {
		case "code", "pre", "text_link", "text_mention", "custom_emoji":
			taken = append(taken, e)
		}
	}
	all := entities
	for _, f := range finders() {
		// The search goes on behind each hit, so that hits of one kind do not overlap.
		for from := 0; from < len(text); {
			m := f.re.FindStringSubmatchIndex(text[from:])
			if m == nil {
				break
			}
			begin, end := from+m[2], from+m[3]
			// Punctuation at the end belongs to the sentence, not to the URL.
			if f.kind == "url" {
				end = begin + len(strings.TrimRight(text[begin:end], ".,:;!?)('\"…»"))
			}
			from = max(end, from+1)
			e := Entity{Type: f.kind, Offset: utf16Len(text[:begin]), Length: utf16Len(text[begin:end])}
			if !slices.ContainsFunc(taken, func(o Entity) bool {
				return e.Offset < o.Offset+o.Length && o.Offset < e.Offset+e.Length
			}) {
				taken, all = append(taken, e), append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Entity) int {
		if a.Offset != b.Offset {
			return a.Offset - b.Offset
		}
		return b.Length - a.Length
	})
	return all
}

// utf16Len counts UTF-16 code units, the unit of all entity offsets in the Bot API.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
