package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"purser/wallet"
)

// line is one text, taken apart.
type line struct {
	command string   // lower case, without slash; "" when the text is no command
	bot     string   // of "/help@bot": which bot is meant; "" when unsaid
	args    []string // the words after the command, or all words of a plain text
}

// longestLine bounds what is taken apart: a command is short, and what follows does not count.
const longestLine = 2048

// read takes a whole text apart: any case, any white space (newlines and Unicode's too), quotes
// around words. Invisible format characters, which copying brings along, are no part of any word.
func read(text string) line {
	if len(text) > longestLine {
		text = strings.ToValidUTF8(text[:longestLine], "")
	}
	words := ungroup(split(text))
	if len(words) == 0 {
		return line{}
	}
	name, isCommand := strings.CutPrefix(words[0], "/")
	if !isCommand {
		return line{args: words}
	}
	name, bot, _ := strings.Cut(name, "@")
	return line{command: strings.ToLower(name), bot: bot, args: words[1:]}
}

// split cuts a text into words. A quoted stretch is one word without its quotes; a quote that
// nobody closes is passed over.
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

// shortestAddress is how many base58 digits 32 bytes have at least; amounts and symbols are shorter.
const shortestAddress = 32

// ungroup puts addresses together that were copied in groups of four. Words that make no address stay apart.
func ungroup(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		n := i
		for n < len(words) && len(words[n]) == wallet.AddressGroup {
			n++
		}
		if n < len(words) && len(words[n]) < wallet.AddressGroup { // the last group may be shorter
			n++
		}
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

// closes is the quote that ends what r begins, or 0.
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

// near finds the known words that somebody may have meant: at most two slips away, closest first.
func near(word string, known []string) []string {
	if word == "" || utf8.RuneCountInString(word) > 32 {
		return nil
	}
	var found []string
	for slips := 1; slips <= 2; slips++ {
		for _, candidate := range known {
			// Two slips turn any short word into any other.
			if distance(word, candidate) == slips && slips*2 < len(candidate) {
				found = append(found, candidate)
			}
		}
	}
	return found
}

// distance is Levenshtein's, with a swap of neighbours counted as one slip.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
