package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"purser/wallet"
)

// parsedLine is a parsed text: a command with its arguments, or plain words.
type parsedLine struct {
	command string   // lower case, without the slash; "" if the text is no command
	bot     string   // the bot named in "/help@bot"; "" if none is named
	args    []string // the words after the command, or all words of plain text
}

// longestLine is how many bytes of a text are parsed. Commands are short, so the rest is ignored.
const longestLine = 2048

// read parses a text. Commands may be in any case, words are separated by any Unicode white space, and quotes keep words
// together. Invisible format characters, which often come with copied text, are dropped.
func read(text string) parsedLine {
	if len(text) > longestLine {
		text = strings.ToValidUTF8(text[:longestLine], "")
	}
	words := ungroup(split(text))
	if len(words) == 0 {
		return parsedLine{}
	}
	name, isCommand := strings.CutPrefix(words[0], "/")
	if !isCommand {
		return parsedLine{args: words}
	}
	name, bot, _ := strings.Cut(name, "@")
	return parsedLine{command: strings.ToLower(name), bot: bot, args: words[1:]}
}

// split cuts a text into words. A quoted part is one word without its quotes; a quote that is never closed is ignored.
func split(text string) []string {
	var words []string
	var word strings.Builder
	var closing rune
	flush := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case unicode.Is(unicode.Cf, r):
		case closing != 0 && r == closing:
			closing = 0
			flush()
		case unicode.IsSpace(r) || unicode.IsControl(r):
			flush()
		case closing == 0 && word.Len() == 0 && closes(r) != 0:
			closing = closes(r)
		default:
			word.WriteRune(r)
		}
	}
	flush()
	return words
}

// An address has 32 bytes, which are 32 to 44 digits of base58. Amounts and symbols are shorter.
const (
	shortestAddress = 32
	longestAddress  = 44
)

// ungroup joins addresses that were copied in groups of four characters, as purser shows them. Words that form no address are
// left alone. From each word it looks at no more groups than an address has: without a bound, a message of short words would
// keep purser busy for 80 ms.
func ungroup(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		// words[i:n] are the longest run of groups that can begin here.
		n, most := i, min(len(words), i+longestAddress/wallet.AddressGroup)
		for n < most && len(words[n]) == wallet.AddressGroup {
			n++
		}
		if n < most && len(words[n]) < wallet.AddressGroup { // the last group may be shorter than four
			n++
		}
		// Try the whole run first, then shorter ones: the words behind an address may have four characters too.
		joined := 0
		for ; n-i >= shortestAddress/wallet.AddressGroup; n-- {
			if _, err := wallet.ParseAddress(strings.Join(words[i:n], "")); err == nil {
				joined = n - i
				break
			}
		}
		if joined > 0 {
			out = append(out, strings.Join(words[i:i+joined], ""))
			i += joined - 1
			continue
		}
		out = append(out, words[i])
	}
	return out
}

// closes returns the quote that closes an opening quote, or 0 if r opens none.
func closes(r rune) rune {
	switch r {
	case '"', '\'', '`':
		return r
	case '“', '„':
		return '”'
	case '‘', '‚':
		return '’'
	case '«':
		return '»'
	}
	return 0
}

// near returns the known words within two typing mistakes of a word, closest first.
func near(word string, known []string) []string {
	if word == "" || utf8.RuneCountInString(word) > 32 {
		return nil
	}
	var one, two []string
	for _, candidate := range known {
		// Two slips turn any short word into any other.
		switch slips := distance(word, candidate); {
		case slips == 1 && len(candidate) > 2:
			one = append(one, candidate)
		case slips == 2 && len(candidate) > 4:
			two = append(two, candidate)
		}
	}
	return append(one, two...)
}

// longestWord is the length of words, in letters, up to which distance allocates nothing.
const longestWord = 32

// distance is the Levenshtein distance, where a swap of two neighbouring letters counts as one mistake (optimal string
// alignment). It takes time in proportion to len(a)*len(b), so callers bound the length of what people type. Any mistyped command is
// compared with all commands, hence its care about memory.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b) // on the stack up to longestWord letters
	var room [3][longestWord + 1]int
	// Of the distances between the first i letters of a and the first j letters of b: those of i-2, of i-1, and of i.
	older, old, row := room[0][:], room[1][:], room[2][:]
	if len(y) > longestWord {
		older, old, row = make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	}
	for j := range len(y) + 1 {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		older, old, row = old, row, older
		row[0] = i
		for j := 1; j <= len(y); j++ {
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			row[j] = min(old[j]+1, row[j-1]+1, old[j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
	}
	return row[len(y)]
}
