package locale

import (
	"regexp"
	"strings"

	"golang.org/x/text/language"
)

// Isolates of the Unicode Bidirectional Algorithm (UAX #9, 2.4): what stands between one of the first two and the last is laid out by
// itself, so that an address or an amount keeps its order in a sentence that is written from right to left.
const (
	leftToRightIsolate = "\u2066"
	firstStrongIsolate = "\u2068" // in the direction of its first letter
	popIsolate         = "\u2069"
)

// RightToLeft reports whether the language of a tag is written in Arabic or Hebrew letters, from right to left.
func RightToLeft(tag string) bool {
	parsed, err := language.Parse(tag)
	if err != nil {
		return false
	}
	script, _ := parsed.Script()
	return script.String() == "Arab" || script.String() == "Hebr"
}

// isolated finds what isolate looks at: text to copy, variables with the signs and the units beside them (@name, 5%, 1.5 SOL), other templates, tags, and
// commands with their words or paths, with the character before them.
var isolated = regexp.MustCompile(`(?s)<code>.*?</code>|[@…$±+-]*\{\{\s*\.\w+\s*\}\}[%$]?(?: (?:[@…$±+-]*\{\{\s*\.\w+\s*\}\}[%$]?|[A-Z]{3,5}\b))*|\{\{.*?\}\}|<[^<>]+>|(?:^|[^\w<])/[a-z0-9_]+(?:/[a-z0-9_{}]+)*(?: [A-Za-z0-9][A-Za-z0-9.:±%-]*)*`)

// variable is a template that prints one variable or several, with what is beside them.
var variable = regexp.MustCompile(`^[@…$±+-]*\{\{\s*\.\w+\s*\}\}[%$]?(?: (?:[@…$±+-]*\{\{\s*\.\w+\s*\}\}[%$]?|[A-Z]{3,5}\b))*$`)

// isolate puts isolates around the variables, the commands and the text to copy of a text that is written from right to left. What is alone on
// its line needs none. Nothing goes into a code tag, since its content is what people copy.
func isolate(text string) string {
	var out strings.Builder
	at := 0
	for _, found := range isolated.FindAllStringIndex(text, -1) {
		from, to := found[0], found[1]
		part := text[from:to]
		open := ""
		switch {
		case strings.HasPrefix(part, "<code>"):
			open = leftToRightIsolate
		case variable.MatchString(part):
			open = firstStrongIsolate
		case strings.HasPrefix(part, "<"), strings.HasPrefix(part, "{{"):
		default: // a command
			open = leftToRightIsolate
			from = to - len(part) + strings.IndexByte(part, '/')
		}
		if open == "" || aloneOnLine(text, from, to) {
			continue
		}
		out.WriteString(text[at:from] + open + text[from:to] + popIsolate)
		at = to
	}
	return out.String() + text[at:]
}

// aloneOnLine reports whether a part of a text is a whole line of it.
func aloneOnLine(text string, from, to int) bool {
	return (from == 0 || text[from-1] == '\n') && (to == len(text) || text[to] == '\n')
}
