package world

import (
	"strings"
	"testing"

	"purser/wallet"
)

// Resembling is an address that somebody could hold, and that shares exactly so many characters at
// either end with another.
func Resembling(t testing.TB, of wallet.Address, front, back int) wallet.Address {
	t.Helper()
	const digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	text := []byte(of.String())
	for i := front; i < len(text)-back; i++ {
		text[i] = digits[(strings.IndexByte(digits, text[i])+29)%len(digits)] // 29 on is no letter's other case
	}
	at := len(text) / 2
	for range len(digits) * len(digits) {
		a, err := wallet.ParseAddress(string(text))
		gotFront, gotBack := wallet.SharedEnds(string(text), of.String())
		if err == nil && a.OnCurve() && gotFront == front && gotBack == back {
			return a
		}
		if text[at] = digits[(strings.IndexByte(digits, text[at])+1)%len(digits)]; text[at] == '1' {
			text[at-1] = digits[(strings.IndexByte(digits, text[at-1])+1)%len(digits)]
		}
	}
	t.Fatal("no such address")
	return of
}
