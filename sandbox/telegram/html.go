package telegram

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// htmlKind is the entity type of a tag in parse_mode HTML (Bot API, "HTML style"), or "" for a tag that is not
// allowed.
func htmlKind(tag string) string {
	switch tag {
	case "b", "strong":
		return "bold"
	case "i", "em":
		return "italic"
	case "u", "ins":
		return "underline"
	case "s", "strike", "del":
		return "strikethrough"
	case "span", "tg-spoiler":
		return "spoiler"
	case "a":
		return "text_link"
	case "code", "pre", "blockquote":
		return tag
	case "tg-emoji":
		return "custom_emoji"
	}
	return ""
}

// openTag is a tag that waits for its end tag.
type openTag struct {
	name     string
	argument string // value of href, class or emoji-id
	expand   bool   // blockquote expandable
	offset   int    // UTF-16 units of text before it
	begin    int    // bytes of text before it
}

// htmlScanner parses parse_mode HTML. Offsets in errors are in bytes of the source, as Telegram's are.
type htmlScanner struct {
	src      string
	i        int
	out      strings.Builder
	units    int // UTF-16 units written
	open     []openTag
	entities []Entity
}

// parseHTML returns the plain text and its entities. Error texts are Telegram's, because bots log them.
func parseHTML(src string) (string, []Entity, error) {
	h := &htmlScanner{src: src}
	for h.i < len(src) {
		switch src[h.i] {
		case '<':
			if err := h.tag(); err != nil {
				return "", nil, err
			}
		case '&':
			// A character reference becomes its character. An ampersand that begins none stays as it is.
			if r, n := characterReference(src[h.i:]); n > 0 {
				h.write(string(r))
				h.i += n
				continue
			}
			fallthrough
		default:
			_, n := utf8.DecodeRuneInString(src[h.i:])
			h.write(src[h.i : h.i+n])
			h.i += n
		}
	}
	if n := len(h.open); n > 0 {
		return "", nil, unparsed("Can't find end tag corresponding to start tag %q", h.open[n-1].name)
	}
	return h.out.String(), h.entities, nil
}

// write appends text and counts its UTF-16 units.
func (h *htmlScanner) write(s string) {
	h.out.WriteString(s)
	h.units += utf16Len(s)
}

// peek is the byte at the cursor, or 0 at the end.
func (h *htmlScanner) peek() byte {
	if h.i < len(h.src) {
		return h.src[h.i]
	}
	return 0
}

// spaces skips white space.
func (h *htmlScanner) spaces() {
	for isSpace(h.peek()) {
		h.i++
	}
}

// tag reads a start or end tag. The cursor is at its '<'.
func (h *htmlScanner) tag() error {
	begin := h.i
	h.i++
	if h.peek() == '/' {
		h.i++
		return h.endTag(begin)
	}
	from := h.i
	for h.i < len(h.src) && !isSpace(h.peek()) && h.peek() != '>' {
		h.i++
	}
	if h.i == len(h.src) {
		return unparsed("Unclosed start tag at byte offset %d", begin)
	}
	// Offsets for the entity and for the text are kept apart: the first is in UTF-16 units, the second in bytes.
	t := openTag{name: strings.ToLower(h.src[from:h.i]), offset: h.units, begin: h.out.Len()}
	if htmlKind(t.name) == "" {
		return unparsed("Unsupported start tag \"%s\" at byte offset %d", t.name, begin)
	}
	if err := h.attributes(&t, begin); err != nil {
		return err
	}
	h.i++ // the closing >
	if t.name == "span" && t.argument != "spoiler" {
		return unparsed(`Tag "span" must have class "tg-spoiler" at byte offset %d`, begin)
	}
	h.open = append(h.open, t)
	return nil
}

// attributes reads the attributes, up to the tag's closing '>', at which it leaves the cursor. Unknown attributes are
// ignored.
func (h *htmlScanner) attributes(t *openTag, begin int) error {
	for {
		h.spaces()
		switch h.peek() {
		case '>':
			return nil
		case 0:
			return unparsed("Unclosed start tag \"%s\" at byte offset %d", t.name, begin)
		}
		from := h.i
		for h.i < len(h.src) && !isSpace(h.peek()) && h.peek() != '=' && h.peek() != '>' {
			h.i++
		}
		name := strings.ToLower(h.src[from:h.i])
		if name == "" {
			return unparsed("Empty attribute name in the tag \"%s\" at byte offset %d", t.name, begin)
		}
		h.spaces()
		value := ""
		if h.peek() == '=' {
			h.i++
			h.spaces()
			var err error
			if value, err = h.attributeValue(t.name, begin); err != nil {
				return err
			}
		} else if t.name != "blockquote" || name != "expandable" {
			return unparsed("Expected equal sign in declaration of an attribute of the tag \"%s\" at byte offset %d", t.name, begin)
		}
		// Each tag uses at most one attribute. The values of others are parsed and dropped.
		switch {
		case t.name == "a" && name == "href", t.name == "tg-emoji" && name == "emoji-id":
			t.argument = value
		case t.name == "code" && name == "class" && strings.HasPrefix(value, "language-"):
			t.argument = strings.TrimPrefix(value, "language-")
		case t.name == "span" && name == "class" && strings.HasPrefix(value, "tg-"):
			t.argument = strings.TrimPrefix(value, "tg-")
		case t.name == "blockquote" && name == "expandable":
			t.expand = true
		}
	}
}

// attributeValue reads a quoted value, or a bare one of letters, digits, '.' and '-'.
func (h *htmlScanner) attributeValue(tag string, begin int) (string, error) {
	quote := h.peek()
	if quote == 0 {
		return "", unparsed("Unclosed start tag \"%s\" at byte offset %d", tag, begin)
	}
	// A bare value ends at a space or '>'.
	if quote != '"' && quote != '\'' {
		from := h.i
		for c := h.peek(); c == '.' || c == '-' || isAlnum(c); c = h.peek() {
			h.i++
		}
		if !isSpace(h.peek()) && h.peek() != '>' {
			return "", unparsed("Unexpected end of name token at byte offset %d", from)
		}
		return strings.ToLower(h.src[from:h.i]), nil
	}
	h.i++
	var value strings.Builder
	for h.i < len(h.src) && h.peek() != quote {
		if r, n := characterReference(h.src[h.i:]); n > 0 {
			value.WriteRune(r)
			h.i += n
			continue
		}
		value.WriteByte(h.src[h.i])
		h.i++
	}
	if h.i == len(h.src) {
		return "", unparsed("Unclosed start tag at byte offset %d", begin)
	}
	h.i++
	return value.String(), nil
}

// endTag closes the innermost open tag and adds its entity. An entity without text is dropped.
func (h *htmlScanner) endTag(begin int) error {
	if len(h.open) == 0 {
		return unparsed("Unexpected end tag at byte offset %d", begin)
	}
	from := h.i
	for h.i < len(h.src) && !isSpace(h.peek()) && h.peek() != '>' {
		h.i++
	}
	name := strings.ToLower(h.src[from:h.i])
	h.spaces()
	if h.peek() != '>' {
		return unparsed("Unclosed end tag at byte offset %d", begin)
	}
	h.i++
	// Tags must close in the reverse order of opening. An empty name closes the innermost one.
	t := h.open[len(h.open)-1]
	if name != "" && name != t.name {
		return unparsed("Unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\"", begin, t.name, name)
	}
	h.open = h.open[:len(h.open)-1]
	e := Entity{Type: htmlKind(t.name), Offset: t.offset, Length: h.units - t.offset}
	if e.Length == 0 {
		return nil
	}
	switch t.name {
	case "a":
		link := t.argument
		if link == "" {
			link = h.out.String()[t.begin:]
		}
		if !linkEntity(&e, link) {
			return nil
		}
	case "tg-emoji":
		if n, err := strconv.ParseInt(t.argument, 10, 64); err != nil || n == 0 {
			return unparsed("Invalid custom emoji identifier specified")
		}
		e.CustomEmojiID = t.argument
	case "blockquote":
		if t.expand {
			e.Type = "expandable_blockquote"
		}
	case "pre":
		// <pre><code class="language-x"> is one entity: a block with a language.
		if n := len(h.entities); n > 0 {
			if in := h.entities[n-1]; in.Type == "code" && in.Offset == e.Offset && in.Length == e.Length && in.Language != "" {
				h.entities[n-1].Type = "pre"
				return nil
			}
		}
	case "code":
		e.Language = t.argument // tidy removes it, unless a <pre> around it takes it over
	}
	h.entities = append(h.entities, e)
	return nil
}

// characterReference decodes &lt; &gt; &amp; &quot; &#N; &#xN; at the start of s. It returns the character and the
// number of bytes it took, or 0 if Telegram would leave the ampersand as it is.
func characterReference(s string) (rune, int) {
	if len(s) < 2 || s[0] != '&' {
		return 0, 0
	}
	end := 1
	var r rune
	// Numeric references have at most a dozen characters, and must name a valid character.
	if s[1] == '#' {
		base, digits := 10, 2
		if len(s) > 2 && (s[2] == 'x' || s[2] == 'X') {
			base, digits = 16, 3
		}
		end = digits
		for end < len(s) && end < 12 && isBaseDigit(s[end], base) {
			end++
		}
		n, err := strconv.ParseUint(s[digits:end], base, 32)
		if err != nil || n == 0 || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
			return 0, 0
		}
		r = rune(n)
	} else {
		for end < len(s) && isAlpha(s[end]) {
			end++
		}
		switch s[1:end] {
		case "lt":
			r = '<'
		case "gt":
			r = '>'
		case "amp":
			r = '&'
		case "quot":
			r = '"'
		default:
			return 0, 0
		}
	}
	// The semicolon is optional.
	if end < len(s) && s[end] == ';' {
		end++
	}
	return r, end
}

// The classes of characters are those of ASCII, as in Telegram's parser.
func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'
}
func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlnum(c byte) bool { return isAlpha(c) || isDigit(c) }
func isBaseDigit(c byte, base int) bool {
	return isDigit(c) || base == 16 && 'a' <= c|0x20 && c|0x20 <= 'f'
}
