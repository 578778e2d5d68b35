package telegram

import (
	"strings"
	"unicode/utf8"
)

// parseMarkdown parses the legacy parse_mode Markdown: *bold*, _italic_, `code`, ```pre```, [text](link). Entities do
// not nest.
//
// Long: one loop over the text, with a case for each mark.
func parseMarkdown(src string) (string, []Entity, error) {
	var out strings.Builder
	var entities []Entity
	units := 0
	at := func(i int) byte {
		if i < len(src) {
			return src[i]
		}
		return 0
	}
	write := func(i int) int {
		_, n := utf8.DecodeRuneInString(src[i:])
		out.WriteString(src[i : i+n])
		units += utf16Len(src[i : i+n])
		return i + n
	}
	for i := 0; i < len(src); {
		// A backslash makes the next mark an ordinary character.
		c := src[i]
		if c == '\\' && at(i+1) != 0 && strings.IndexByte("_*`[", at(i+1)) >= 0 {
			i = write(i + 1)
			continue
		}
		if strings.IndexByte("_*`[", c) < 0 {
			i = write(i)
			continue
		}
		begin, end := i, string(c)
		e := Entity{Offset: units}
		i++
		switch {
		case c == '_':
			e.Type = "italic"
		case c == '*':
			e.Type = "bold"
		case c == '[':
			e.Type, end = "text_link", "]"
		case strings.HasPrefix(src[begin:], "```"):
			e.Type, end = "pre", "```"
			e.Language, i = fence(src, begin+3)
		default:
			e.Type = "code"
		}
		// The first end mark ends the entity, because nothing nests.
		stop := strings.Index(src[i:], end)
		if stop < 0 {
			return "", nil, unparsed("Can't find end of the entity starting at byte offset %d", begin)
		}
		inner := src[i : i+stop]
		for j := i; j < i+stop; {
			j = write(j)
		}
		i += stop + len(end)
		e.Length = units - e.Offset
		if c == '[' {
			// Without "(address)" the text itself is the link.
			link := inner
			if at(i) == '(' {
				stop := strings.IndexByte(src[i:], ')')
				if stop < 0 {
					stop = len(src) - i
				}
				link = src[i+1 : i+stop]
				i = min(len(src), i+stop+1)
			}
			if !linkEntity(&e, link) {
				continue
			}
		}
		if e.Length > 0 {
			entities = append(entities, e)
		}
	}
	return out.String(), entities, nil
}

// fence reads the language and one line break after ```. It returns the byte offset at which the text begins.
func fence(src string, i int) (language string, next int) {
	end := i
	for end < len(src) && !isSpace(src[end]) && src[end] != '`' {
		end++
	}
	if end > i && end < len(src) && src[end] != '`' {
		language, i = src[i:end], end
	}
	if strings.HasPrefix(src[i:], "\r\n") {
		return language, i + 2
	}
	if i < len(src) && (src[i] == '\n' || src[i] == '\r') {
		return language, i + 1
	}
	return language, i
}

// openMark is an entity of MarkdownV2 that waits for its end mark.
type openMark struct {
	kind     string // the entity's type; the end mark follows from it
	language string
	offset   int // UTF-16 units
	source   int // byte offset of its mark in the source
	begin    int // byte offset of its text in the output
}

// end is the mark that ends the entity.
func (m openMark) end() string {
	switch m.kind {
	case "bold":
		return "*"
	case "italic":
		return "_"
	case "underline":
		return "__"
	case "strikethrough":
		return "~"
	case "spoiler":
		return "||"
	case "code":
		return "`"
	case "pre":
		return "```"
	case "text_link", "custom_emoji":
		return "]"
	}
	return ""
}

// title is the entity's name in Telegram's errors.
func (m openMark) title() string {
	switch m.kind {
	case "text_link":
		return "TextUrl"
	case "pre":
		if m.language != "" {
			return "PreCode"
		}
	case "custom_emoji":
		return "CustomEmoji"
	case "blockquote", "expandable_blockquote":
		return "BlockQuote"
	}
	return strings.ToUpper(m.kind[:1]) + m.kind[1:]
}

// markdownV2 parses parse_mode MarkdownV2: entities nest, and a reserved character that is no mark must be escaped.
type markdownV2 struct {
	src      string
	i        int
	out      strings.Builder
	units    int
	open     []openMark
	quote    *openMark
	line     int // byte offset of the current line in the output
	entities []Entity
}

// parseMarkdownV2 returns the plain text and its entities. Error texts are Telegram's.
func parseMarkdownV2(src string) (string, []Entity, error) {
	m := &markdownV2{src: src}
	for m.i < len(src) {
		if err := m.step(); err != nil {
			return "", nil, err
		}
	}
	if err := m.endQuote(); err != nil {
		return "", nil, err
	}
	if n := len(m.open); n > 0 {
		return "", nil, unparsed("Can't find end of %s entity at byte offset %d", m.open[n-1].title(), m.open[n-1].source)
	}
	return m.out.String(), m.entities, nil
}

// rest says whether the source continues with s at the cursor.
func (m *markdownV2) rest(s string) bool { return strings.HasPrefix(m.src[m.i:], s) }

// write copies the character at the cursor and counts its UTF-16 units.
func (m *markdownV2) write() {
	_, n := utf8.DecodeRuneInString(m.src[m.i:])
	m.out.WriteString(m.src[m.i : m.i+n])
	m.units += utf16Len(m.src[m.i : m.i+n])
	m.i += n
}

// step consumes one character or one mark.
func (m *markdownV2) step() error {
	c := m.src[m.i]
	// Any ASCII character can be escaped.
	if c == '\\' && m.i+1 < len(m.src) && m.src[m.i+1] > 0 && m.src[m.i+1] <= 126 {
		m.i++
		m.write()
		return nil
	}
	inCode := false
	// The innermost entity is the only one that can end here. Two underscores end underline, not italic.
	if n := len(m.open); n > 0 {
		top := m.open[n-1]
		inCode = top.kind == "code" || top.kind == "pre"
		if m.rest(top.end()) && !(top.kind == "italic" && m.rest("__")) {
			return m.close(top)
		}
	}
	switch {
	case inCode && c != '`':
		m.write()
		return nil
	// A quotation begins only where its line has no text yet. An empty bold entity (**) may come before the mark,
	// which separates the quotation from the one above.
	case c == '>' && m.out.Len() == m.line:
		if m.quote == nil {
			m.quote = &openMark{kind: "blockquote", offset: m.units, source: m.i}
		}
		m.i++
		return nil
	case c == '\n':
		// A quotation ends with the first line that does not begin with '>'.
		if m.quote != nil && !strings.HasPrefix(m.src[m.i+1:], ">") {
			if err := m.endQuote(); err != nil {
				return err
			}
		}
		m.write()
		m.line = m.out.Len()
		return nil
	case m.quote != nil && (m.rest("||\n") || m.src[m.i:] == "||"):
		m.quote.kind = "expandable_blockquote"
		m.i += 2
		return nil
	case strings.IndexByte("_*[]()~`>#+-=|{}.!", c) < 0:
		m.write()
		return nil
	}
	return m.begin(c)
}

// begin opens the entity that begins at the cursor. A character that begins none had to be escaped.
func (m *markdownV2) begin(c byte) error {
	o := openMark{offset: m.units, source: m.i, begin: m.out.Len()}
	// Marks of two or three characters are tried before those of one.
	width := 1
	switch {
	case m.rest("__"):
		o.kind, width = "underline", 2
	case m.rest("||"):
		o.kind, width = "spoiler", 2
	case m.rest("```"):
		o.kind = "pre"
		var next int
		o.language, next = fence(m.src, m.i+3)
		width = next - m.i
	case m.rest("!["):
		o.kind, width = "custom_emoji", 2
	case c == '_':
		o.kind = "italic"
	case c == '*':
		o.kind = "bold"
	case c == '~':
		o.kind = "strikethrough"
	case c == '[':
		o.kind = "text_link"
	case c == '`':
		o.kind = "code"
	default:
		return unparsed("Character '%c' is reserved and must be escaped with the preceding '\\'", c)
	}
	m.i += width
	m.open = append(m.open, o)
	return nil
}

// close ends the innermost entity at its end mark, and adds it unless it has no text.
func (m *markdownV2) close(top openMark) error {
	m.open = m.open[:len(m.open)-1]
	m.i += len(top.end())
	e := Entity{Type: top.kind, Offset: top.offset, Length: m.units - top.offset, Language: top.language}
	switch top.kind {
	case "text_link":
		link := m.out.String()[top.begin:]
		// Without "(address)" the text itself is the link.
		if m.rest("(") {
			var err error
			if link, err = m.link("a URL"); err != nil {
				return err
			}
		}
		if !linkEntity(&e, link) {
			return nil
		}
	case "custom_emoji":
		if !m.rest("(") {
			return unparsed("Custom emoji entity must contain a tg://emoji URL")
		}
		link, err := m.link("a custom emoji URL")
		if err != nil {
			return err
		}
		id, ok := strings.CutPrefix(link, "tg://emoji?id=")
		if !ok || id == "" {
			return unparsed("Custom emoji URL must have an emoji identifier")
		}
		e.CustomEmojiID = id
	}
	if e.Length > 0 {
		m.entities = append(m.entities, e)
	}
	return nil
}

// link reads "(address)", in which characters can be escaped. what names the address in errors.
func (m *markdownV2) link(what string) (string, error) {
	m.i++
	begin := m.i
	var b strings.Builder
	for m.i < len(m.src) && m.src[m.i] != ')' {
		if m.src[m.i] == '\\' && m.i+1 < len(m.src) {
			m.i++
		}
		b.WriteByte(m.src[m.i])
		m.i++
	}
	if m.i >= len(m.src) {
		return "", unparsed("Can't find end of %s at byte offset %d", what, begin)
	}
	m.i++
	return b.String(), nil
}

// endQuote ends a block quote. No entity that began inside it may still be open.
func (m *markdownV2) endQuote() error {
	if m.quote == nil {
		return nil
	}
	if n := len(m.open); n > 0 && m.open[n-1].source > m.quote.source {
		return unparsed("Can't find end of %s entity at byte offset %d", m.open[n-1].title(), m.open[n-1].source)
	}
	if n := m.units - m.quote.offset; n > 0 {
		m.entities = append(m.entities, Entity{Type: m.quote.kind, Offset: m.quote.offset, Length: n})
	}
	m.quote = nil
	return nil
}
