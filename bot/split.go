package bot

import (
	"html"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// splitHTML cuts Telegram HTML into parts of at most limit visible characters (UTF-16 units, which
// is how Telegram counts), at a line break or space where there is one near, never inside a tag or
// an entity. Tags that are open at a cut are closed and opened again. A text that fits comes back
// as it is.
func splitHTML(text string, limit int) []string {
	c := cutter{limit: limit}
	for text != "" {
		piece, width := nextPiece(text)
		text = text[len(piece):]
		c.add(piece, width)
	}
	if c.inked || len(c.parts) == 0 {
		c.parts = append(c.parts, c.part.String())
	}
	return c.parts
}

// cutter is how far splitHTML has come: parts that are whole, and the one that is being filled.
type cutter struct {
	limit int
	parts []string

	part  strings.Builder
	size  int      // of part, in visible UTF-16 units
	inked bool     // part shows more than white space: Telegram refuses one that does not
	open  *openTag // the innermost tag that is not closed yet; nil for none

	// The last place where part may be cut: its offset (0 for none), the size before it, and the tags open there.
	breakAt, breakSize int
	breakOpen          *openTag
}

// openTag is a tag that is not closed yet, and those around it. It never changes, so that remembering which tags are open
// somewhere costs nothing, however many there are.
type openTag struct {
	text  string // the whole opening tag
	outer *openTag
}

// add puts a tag, an entity or a character of a width into the part that is being filled, or into the next one.
func (c *cutter) add(piece string, width int) {
	if c.size+width > c.limit {
		if piece == " " || piece == "\n" { // what came before it fills the part exactly
			c.finish()
			return
		}
		c.cut()
	}
	c.part.WriteString(piece)
	c.size += width
	c.inked = c.inked || width > 0 && strings.TrimSpace(piece) != ""
	switch {
	case width == 0 && strings.HasPrefix(piece, "</"):
		if c.open != nil {
			c.open = c.open.outer
		}
	case width == 0:
		c.open = &openTag{piece, c.open}
	case piece == " " || piece == "\n":
		c.breakAt, c.breakSize, c.breakOpen = c.part.Len(), c.size, c.open
	}
}

// cut ends the part: at its last space, where that leaves it more than half full, and what follows is carried over.
func (c *cutter) cut() {
	if c.breakAt == 0 || c.breakSize <= c.limit/2 {
		c.finish()
		return
	}
	// What stands behind the last space belongs to the next part. The tags that were open at the space are closed there and
	// opened again in front of it.
	whole, carriedSize, nowOpen := c.part.String(), c.size-c.breakSize, c.open
	carried := whole[c.breakAt:]
	c.part.Reset()
	c.part.WriteString(strings.TrimRight(whole[:c.breakAt], " \n"))
	c.open = c.breakOpen
	c.finish()
	c.part.WriteString(carried)
	c.size, c.open, c.inked = carriedSize, nowOpen, carriedSize > 0
}

// finish closes the tags that are open, the innermost first, and begins the next part with them.
func (c *cutter) finish() {
	var tags []string // the innermost first
	for tag := c.open; tag != nil; tag = tag.outer {
		tags = append(tags, tag.text)
		name, _, _ := strings.Cut(strings.Trim(tag.text, "<>"), " ")
		c.part.WriteString("</" + name + ">")
	}
	if c.inked {
		c.parts = append(c.parts, c.part.String())
	}
	c.inked = false
	c.part.Reset()
	for _, tag := range slices.Backward(tags) {
		c.part.WriteString(tag)
	}
	c.size, c.breakAt = 0, 0
}

// nextPiece is the tag, entity or character that text begins with, and how many UTF-16 units of it
// can be seen.
func nextPiece(text string) (string, int) {
	if text[0] == '<' {
		if end := strings.IndexByte(text, '>'); end > 0 {
			return text[:end+1], 0
		}
	}
	// An entity such as &amp; is one visible character. Twelve bytes are more than the longest that purser writes.
	if text[0] == '&' {
		if end := strings.IndexByte(text[:min(len(text), 12)], ';'); end > 0 {
			piece := text[:end+1]
			return piece, len(utf16.Encode([]rune(html.UnescapeString(piece))))
		}
	}
	r, size := utf8.DecodeRuneInString(text)
	return text[:size], max(1, utf16.RuneLen(r))
}
