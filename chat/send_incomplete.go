package chat

import (
	"slices"
	"strings"

	"purser/wallet"
)

// incomplete returns what is wrong with an address that is cut off or mistyped, and which address it may be; the zero Reason
// for any other text. Apps and purser itself show addresses shortened, as "7xKX…9fQ2", and people copy them like that.
func (b book) incomplete(text string) wallet.Reason {
	if to, err := wallet.ParseAddress(text); err == nil {
		if slices.Contains(b.known, to) {
			return wallet.Reason{}
		}
		for _, known := range b.known {
			if wallet.Mistyped(to, known) { // nobody can make such an address on purpose
				if name := b.nameOf(known); name != "" {
					return wallet.Because("input.mistyped_contact", wallet.TextArg("Name", name))
				}
				return wallet.Because("input.mistyped_known", wallet.AddressArg("Known", known))
			}
		}
		return wallet.Reason{}
	}
	front, back, shortened := shortenedAddress(text)
	var meant []wallet.Address
	for _, known := range b.known {
		whole := known.String()
		fits := shortened && strings.HasPrefix(whole, front) && strings.HasSuffix(whole, back) ||
			!shortened && len(text) >= shortestPiece && (strings.HasPrefix(whole, text) || strings.HasSuffix(whole, text))
		if fits && !slices.Contains(meant, known) {
			meant = append(meant, known)
		}
	}
	switch {
	case len(meant) == 1 && b.nameOf(meant[0]) != "":
		return wallet.Because("input.cut_contact", wallet.TextArg("Name", b.nameOf(meant[0])))
	case len(meant) == 1:
		return wallet.Because("input.cut_known", wallet.AddressArg("Known", meant[0]))
	case shortened, len(meant) > 1, longPiece(text):
		return wallet.Because("input.cut_off")
	}
	return wallet.Reason{}
}

// nameOf returns the name of the contact with this address; "" if it is none.
func (b book) nameOf(address wallet.Address) string {
	for _, c := range b.byKey {
		if c.Address == address {
			return c.Name
		}
	}
	return ""
}

// Lengths of a piece of an address, in characters: shortestPiece is enough to recognise a known address, surePiece to tell that a
// word is a piece of an unknown one.
const shortestPiece, surePiece = 6, 16

// shortenedAddress splits an address that was shortened by an ellipsis ("7xKX…9fQ2", "7xKX...9fQ2", "…9fQ2").
func shortenedAddress(text string) (front, back string, ok bool) {
	if !strings.Contains(text, "…") && !strings.Contains(text, "..") { // most words, and a text may have thousands
		return "", "", false
	}
	text = strings.NewReplacer("...", "…", "..", "…").Replace(text)
	front, back, ok = strings.Cut(text, "…")
	piece := front + back
	return front, back, ok && len(piece) >= 4 && isBase58(piece) && strings.Trim(piece, "0123456789") != ""
}

// longPiece reports whether a word can only be a part of an address: long, of base58, with digits and letters of both cases.
func longPiece(text string) bool {
	return len(text) >= surePiece && len(text) < shortestAddress && isBase58(text) && strings.ContainsAny(text, "123456789") &&
		strings.ToLower(text) != text && strings.ToUpper(text) != text
}

// isBase58 reports whether a word has only digits of base58, as addresses do.
func isBase58(word string) bool { return word != "" && strings.Trim(word, base58Digits) == "" }
