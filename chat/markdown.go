package chat

import (
	stdhtml "html"
	"strings"
)

// markdown turns a text of the catalogue (Telegram HTML) into Telegram's legacy Markdown, which
// programs get replies in (Bot API, "Markdown style"). Tags that Markdown has no counterpart for are
// left out; every foreign character that means something in Markdown is escaped. Inside `code` nothing
// can be escaped: a backquote there becomes an apostrophe.
func markdown(text string) string {
	escaper := strings.NewReplacer("_", `\_`, "*", `\*`, "`", "\\`", "[", `\[`)
	var out strings.Builder
	inCode := false
	for text != "" {
		open := strings.IndexByte(text, '<')
		if open < 0 {
			open = len(text)
		}
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
