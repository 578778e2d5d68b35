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

// Skeleton returns what a name looks like: two names with the same skeleton can be confused. It is the skeleton of UTS 39
// (Unicode Security Mechanisms) without case, spaces and punctuation, and with framed letters and small capitals read as
// plain letters. Use it to compare only, never to show.
func Skeleton(name string) string {
	return shape(strings.ToLower(name))
}

// shape returns the skeleton of UTS 39 without case, spaces and punctuation. In many fonts l, i and 1 are one stroke, so
// they are equal. It is applied twice, because some characters resemble others only in one case.
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

// prototypes replaces each character by the representative of all that look like it (UTS 39, section 4).
func prototypes(text string) string {
	var out strings.Builder
	for _, r := range norm.NFKD.String(text) {
		if !Unseen(r) {
			out.WriteString(prototype(r))
		}
	}
	return norm.NFD.String(out.String())
}

// prototype looks a character up in the table. One that is not there represents itself.
func prototype(r rune) string {
	if r < unicode.MaxASCII { // most characters: the table says the same, only slower
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

// plainLetters replaces letters in circles, squares and flags, and small capitals, by plain ones. Unicode's table and
// normalization do not.
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

// LooseSkeleton returns a name's skeleton without accents, dots and strokes. Two apps whose names share it can be confused.
// Vowel signs, which make words, count.
func LooseSkeleton(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsMark(r) && unicode.Is(unicode.Inherited, r) {
			return -1
		}
		return r
	}, Skeleton(name))
}

// HoldsSymbol reports whether a name has a tick, an emoji or another picture, which people could take for a badge.
// Symbols of keyboards and of currencies are allowed.
func HoldsSymbol(name string) bool { return strings.ContainsFunc(name, isBadge) }

// isBadge reports whether a character is what HoldsSymbol looks for.
func isBadge(r rune) bool {
	return r > unicode.MaxASCII && unicode.IsSymbol(r) && !unicode.Is(unicode.Sc, r) ||
		unicode.Is(unicode.Me, r) || r == 0xFE0F // what frames a digit, and what makes a picture of a character
}

// Symbols returns the characters of a name that HoldsSymbol finds, and the name without them, which may be empty.
func Symbols(name string) (symbols, rest string) {
	for _, r := range name {
		if isBadge(r) && r != 0xFE0F {
			symbols += string(r)
		}
	}
	return symbols, strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if isBadge(r) {
			return -1
		}
		return r
	}, name)), " ")
}

// ReservedWords must not be in the name of a developer's app: people would take it for purser, its operator, Telegram or
// Solana.
func ReservedWords() []string {
	return []string{"purser", "operator", "support", "wallet", "security", "telegram", "solana", "admin", "official", "verified"}
}

// Official reports whether a name could be taken for purser or its operator: it looks as if it contained one of the
// ReservedWords or the bot's name. botName is the bot's username without @; "" while unknown.
func Official(name, botName string) bool { return OfficialWord(name, botName) != "" }

// OfficialWord returns which of the ReservedWords, or the bot's name, a name looks as if it contained; "" for none.
func OfficialWord(name, botName string) string {
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
		return own
	}
	for _, word := range ReservedWords() {
		if held(Skeleton(word), undoubled) {
			return word
		}
	}
	return ""
}

// readings returns the ways in which people read a name with digits and signs in place of letters. A capital sigma stands
// for S, which it is, and for E, which it resembles.
func readings(name string) []string {
	all := []string{name}
	for _, sigma := range []string{"s", "e"} {
		all = append(all, strings.NewReplacer("5", "s", "$", "s", "ᔕ", "s", "€", "e", "3", "e", "ᗴ", "e", "4", "a", "@", "a", "7", "t",
			"ꟼ", "p", "℗", "p", "Σ", sigma, "∑", sigma, "Ʃ", sigma).Replace(name))
	}
	return all
}

// undoubled reduces repeated letters to one: Purrser reads as purser.
func undoubled(text string) string {
	return string(slices.Compact([]rune(text)))
}

// withoutMarks removes accents, dots and strokes: ρürser reads as purser.
func withoutMarks(skeleton string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsMark(r) {
			return -1
		}
		return r
	}, skeleton)
}
