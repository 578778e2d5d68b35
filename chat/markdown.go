package chat

import (
	stdhtml "html"
	"strings"
)

// markdown converts a text of the catalogue (Telegram HTML) to Telegram's legacy Markdown, in which programs get replies (Bot
// API, "Markdown style"). Tags without a counterpart are dropped, and foreign characters with a meaning in Markdown are
// escaped. Nothing can be escaped inside `code`, so a backquote there becomes an apostrophe.
func markdown(text string) string {
	escaper := strings.NewReplacer("_", `\_`, "*", `\*`, "`", "\\`", "[", `\[`)
	var out strings.Builder
	inCode := false
	for text != "" {
		open := strings.IndexByte(text, '<')
		if open < 0 {
			open = len(text)
		}
		// Text up to the next tag: decode entities, then escape for Markdown.
		plain := stdhtml.UnescapeString(text[:open])
		if inCode {
			out.WriteString(strings.ReplaceAll(plain, "`", "'"))
		} else {
			out.WriteString(escaper.Replace(plain))
		}
		text = text[open:]
		end := strings.IndexByte(text, '>')
		if end < 0 {
			break
		}
		// The tag itself. Nested tags need no stack, since Markdown opens and closes with the same character.
		switch strings.TrimSuffix(text[1:end], "/") {
		case "b", "/b", "strong", "/strong":
			out.WriteByte('*')
		case "i", "/i", "em", "/em":
			out.WriteByte('_')
		case "code":
			out.WriteByte('`')
			inCode = true
		case "/code":
			out.WriteByte('`')
			inCode = false
		}
		text = text[end+1:]
	}
	return out.String()
}
