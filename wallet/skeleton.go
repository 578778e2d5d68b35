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

// Likeness is a name's skeleton without the accents, dots and strokes that any letter may have: two apps whose
// names share it can be taken for each other. Vowel signs, of which words are made, count.
func Likeness(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsMark(r) && unicode.Is(unicode.Inherited, r) {
			return -1
		}
		return r
	}, Skeleton(name))
}

// HoldsSymbol tells of a tick, an emoji or another picture in a name, which reads as a badge: a symbol that is
// neither on every keyboard nor a currency's.
func HoldsSymbol(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII && unicode.IsSymbol(r) && !unicode.Is(unicode.Sc, r) ||
			unicode.Is(unicode.Me, r) || r == 0xFE0F // what frames a digit, and what makes a picture of a character
	})
}

// ReservedWords are in no name of a developer's app: people would take it for purser, for whoever runs it, or
// for Telegram or Solana themselves.
func ReservedWords() []string {
	return []string{"purser", "operator", "support", "wallet", "security", "telegram", "solana", "admin", "official", "verified"}
}

// Official tells whether a name could be taken for purser's own, or for that of whoever runs it: it looks as
// if it held one of the ReservedWords, or the bot's name. botName is the bot's username without @; "" while unknown.
func Official(name, botName string) bool {
	var seen []string
	for _, text := range readings(name) {
		for _, form := range []string{withoutMarks(Skeleton(text)), withoutMarks(shape(text))} {
			// "admin" in this word is nobody's office.
			form = strings.ReplaceAll(form, Skeleton("badminton"), " ")
			seen = append(seen, form, strings.ReplaceAll(form, "vv", "w"))
		}
	}
	held := func(like string, read func(string) string) bool {
		return slices.ContainsFunc(seen, func(text string) bool { return strings.Contains(read(text), read(like)) })
	}
	// Of purser_bot it is purser that people read. A very short name stands in too many others, and so does one
	// of which doubled letters are left out.
	if own := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(botName), "bot"), "_"); len(own) >= 4 &&
		held(Skeleton(own), func(text string) string { return text }) {
		return true
	}
	return slices.ContainsFunc(ReservedWords(), func(word string) bool { return held(Skeleton(word), undoubled) })
}

// readings are the ways in which people read a name that has digits and signs for letters. A capital sigma
// stands for S, which it is, and for E, which it looks like.
func readings(name string) []string {
	all := []string{name}
	for _, sigma := range []string{"s", "e"} {
		all = append(all, strings.NewReplacer("5", "s", "$", "s", "ᔕ", "s", "€", "e", "3", "e", "ᗴ", "e", "4", "a", "@", "a", "7", "t",
			"ꟼ", "p", "℗", "p", "Σ", sigma, "∑", sigma, "Ʃ", sigma).Replace(name))
	}
	return all
}

// undoubled writes each row of one letter once: Purrser reads as purser.
func undoubled(text string) string {
	return string(slices.Compact([]rune(text)))
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
