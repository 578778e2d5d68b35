package bot

import (
	"html"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// splitHTML cuts Telegram HTML into parts of at most limit visible characters (UTF-16 units, which
// is how Telegram counts), at a line break or space where there is one near, never inside a tag or
// an entity. Tags that are open at a cut are closed and opened again. A text that fits comes back
// as it is.
func splitHTML(text string, limit int) []string {
	var parts []string
	var part strings.Builder
	inked := false    // part shows more than white space: Telegram refuses one that does not
	var open []string // opening tags that are not closed yet
	size, breakAt, breakSize := 0, 0, 0
	var breakOpen []string

	finish := func() {
		if inked {
			parts = append(parts, part.String())
		}
		inked = false
		part.Reset()
		for _, tag := range open {
			part.WriteString(tag)
		}
		size, breakAt = 0, 0
	}
	for rest := text; rest != ""; {
		piece, width := nextPiece(rest)
		rest = rest[len(piece):]
		if size+width > limit {
			if piece == " " || piece == "\n" { // what came before it fills the part exactly
				closeAll(&part, open)
				finish()
				continue
			}
			if breakAt > 0 && breakSize > limit/2 { // carry what follows the last space over
				whole, carried, carriedSize, nowOpen := part.String(), "", size-breakSize, open
				carried = whole[breakAt:]
				part.Reset()
				part.WriteString(strings.TrimRight(whole[:breakAt], " \n"))
				open = breakOpen
				closeAll(&part, open)
				finish()
				part.WriteString(carried)
				size, open, inked = carriedSize, nowOpen, carriedSize > 0
			} else {
				closeAll(&part, open)
				finish()
			}
		}
		part.WriteString(piece)
		size += width
		inked = inked || width > 0 && strings.TrimSpace(piece) != ""
		switch {
		case width == 0 && strings.HasPrefix(piece, "</"):
			if len(open) > 0 {
				open = open[: len(open)-1 : len(open)-1]
			}
		case width == 0:
			open = append(open[:len(open):len(open)], piece)
		case piece == " " || piece == "\n":
			breakAt, breakSize, breakOpen = part.Len(), size, open
		}
	}
	if inked || len(parts) == 0 {
		parts = append(parts, part.String())
	}
	return parts
}

func closeAll(part *strings.Builder, open []string) {
	for i := len(open) - 1; i >= 0; i-- {
		name, _, _ := strings.Cut(strings.Trim(open[i], "<>"), " ")
		part.WriteString("</" + name + ">")
	}
}

// nextPiece is the tag, entity or character that text begins with, and how many UTF-16 units of it
// can be seen.
func nextPiece(text string) (string, int) {
	if text[0] == '<' {
		if end := strings.IndexByte(text, '>'); end > 0 {
			return text[:end+1], 0
		}
	}
	if text[0] == '&' {
		if end := strings.IndexByte(text[:min(len(text), 12)], ';'); end > 0 {
			piece := text[:end+1]
			return piece, len(utf16.Encode([]rune(html.UnescapeString(piece))))
		}
	}
	r, size := utf8.DecodeRuneInString(text)
	return text[:size], max(1, utf16.RuneLen(r))
}
