package wallet

import (
	_ "embed"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// confusables is the table of characters that look alike; its head names source and licence.
//
//go:embed confusables.txt
var confusables string

// Skeleton is what a name looks like: two names with one skeleton can be taken for each other. It is the
// skeleton of UTS 39 (Unicode Security Mechanisms), after which case, spaces and punctuation are dropped, and
// with letters in frames and small capitals read as plain letters. It is for comparing only, never shown.
func Skeleton(name string) string {
	return shape(strings.ToLower(name))
}

// shape is the skeleton of UTS 39 without case, spaces and punctuation. l, i and 1 are one stroke each in many
// fonts, whatever their case. It is taken twice, since some characters resemble others in one case alone.
func shape(text string) string {
	for range 2 {
		text = strings.ToLower(plainLetters(prototypes(plainLetters(text))))
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == 'i' || r == 'ı':
			return 'l'
		case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || unicode.IsSymbol(r):
			return r
		}
		return -1
	}, text)
}

// prototypes replaces each character by the one that stands for all that look like it (UTS 39, section 4).
func prototypes(text string) string {
	var out strings.Builder
	for _, r := range norm.NFKD.String(text) {
		if !Unseen(r) {
			out.WriteString(prototype(r))
		}
	}
	return norm.NFD.String(out.String())
}

// prototype looks a character up in the table; one that is not there stands for itself.
func prototype(r rune) string {
	if r < unicode.MaxASCII { // most of all, so without the table, which says the same
		switch r {
		case '0':
			return "O"
		case '1', 'I', '|':
			return "l"
		case 'm':
			return "rn"
		}
		return string(r)
	}
	key := fmt.Sprintf("%05X ", r)
	line := func(at int) string {
		start := strings.LastIndexByte(confusables[:at], '\n') + 1
		text, _, _ := strings.Cut(confusables[start:], "\n")
		return text
	}
	// Comments come first: # sorts before any digit.
	at := sort.Search(len(confusables), func(i int) bool { return line(i) >= key })
	if at == len(confusables) {
		return string(r)
	}
	found, ok := strings.CutPrefix(line(at), key)
	if !ok {
		return string(r)
	}
	var out strings.Builder
	for _, field := range strings.Fields(found) {
		if code, err := strconv.ParseUint(field, 16, 32); err == nil {
			out.WriteRune(rune(code))
		}
	}
	return out.String()
}

// plainLetters reads letters in circles, squares and flags, and small capitals, as plain ones: Unicode's table
// and normalization leave these apart.
func plainLetters(text string) string {
	const small = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡ\x00ʏᴢ" // a to z; there is no small x
	capitals := []rune(small)
	return strings.Map(func(r rune) rune {
		for _, first := range []rune{0x1F110, 0x1F130, 0x1F150, 0x1F170, 0x1F1E6} {
			if r >= first && r < first+26 {
				return 'a' + r - first
			}
		}
		if i := slices.Index(capitals, r); i >= 0 && r != 0 {
			return 'a' + rune(i)
		}
		return r
	}, text)
}

// Official tells whether a name could be taken for purser's own, or for that of whoever runs it: it looks as
// if it held one of their words, or the bot's name. botName is the bot's username without @; "" while unknown.
func Official(name, botName string) bool {
	seen := []string{withoutMarks(Skeleton(name)), withoutMarks(shape(name))}
	words := []string{"purser", "operator", "support", "wallet", "security"}
	// Of purser_bot it is purser that people read. A very short name stands in too many others.
	if own := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(botName), "bot"), "_"); len(own) >= 4 {
		words = append(words, own)
	}
	return slices.ContainsFunc(words, func(word string) bool {
		like := Skeleton(word)
		return slices.ContainsFunc(seen, func(text string) bool { return strings.Contains(text, like) })
	})
}

// withoutMarks leaves out accents, dots and strokes that are set on letters: ρürser reads as purser.
func withoutMarks(skeleton string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsMark(r) {
			return -1
		}
		return r
	}, skeleton)
}
