package wallet

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	payee = "9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu"
	refA  = "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"
	refB  = "7MNnTJmxb2vJ7WWi15fNMHYhwvmvJyY5XMegUjDKEKKT"
	usdc  = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
)

func TestPaymentLinksAreReadAsTheyAreWritten(t *testing.T) {
	a, b, mint := MustAddress(refA), MustAddress(refB), MustAddress(usdc)
	for link, want := range map[string]PayLink{
		"solana:" + payee: {To: MustAddress(payee)},
		"SOLANA:" + payee + "?amount=1.5&reference=" + refA:                                   {To: MustAddress(payee), Amount: MustDecimal("1.5"), References: []Address{a}},
		"solana:" + payee + "?reference=" + refB + "&amount=1&reference=" + refA:              {To: MustAddress(payee), Amount: MustDecimal("1"), References: []Address{b, a}},
		"solana:" + payee + "?spl-token=" + usdc + "&memo=order%207&label=Caf%C3%A9%20%26+co": {To: MustAddress(payee), Mint: mint, Memo: "order 7", Label: "Café & co"},
		"solana:" + payee + "?message=Thanks&message=Thanks&label=%E2%80%AEevil":              {To: MustAddress(payee)}, // a label that hides what it says
		"solana:" + payee + "?message=Bag%20of%20beans&label=Caf%C3%A9":                       {To: MustAddress(payee), Label: "Café", Purpose: "Bag of beans"},
		"solana:" + payee + "?message=%E2%80%AEevil":                                          {To: MustAddress(payee)},
		"solana:" + payee + "?message=":                                                       {To: MustAddress(payee)},
		"solana:" + payee + "?message=" + strings.Repeat("%C3%A9", MaxPurpose):                {To: MustAddress(payee), Purpose: strings.Repeat("é", MaxPurpose)},
		"solana:" + payee + "?message=" + strings.Repeat("%C3%A9", MaxPurpose+1):              {To: MustAddress(payee), Purpose: strings.Repeat("é", MaxPurpose-1) + "…"},
		"solana:" + payee + "?amount=&memo=&label=&message=":                                  {To: MustAddress(payee)},
	} {
		got, err := ParsePayLink(link)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", link, got, err, want)
		}
		again, err := ParsePayLink(got.String())
		if err != nil || !reflect.DeepEqual(again, got) || strings.Contains(got.String(), "+") {
			t.Errorf("written as %s: %+v, %v", got, again, err)
		}
	}
}

func TestLinksThatCannotBePaidAsTheyAreMeantAreRefused(t *testing.T) {
	many := strings.Repeat("&reference="+refA, 8)
	for _, link := range []string{
		"solana:", "solana:x", "solana:https%3A%2F%2Fshop.example", "solana:https://shop.example", "solana:" + payee + "?%zz",
		"solana:" + payee + "?amount=1&amount=2", "solana:" + payee + "?amount=1e3", "solana:" + payee + "?amount=-1", "solana:" + payee + "?amount=1%2C5", "solana:" + payee + "?spl-token=x", "solana:" + payee + "?spl-token=" + strings.Repeat("1", 32), "solana:" + payee + "?reference=x", "solana:" + payee + "?reference=",
		"solana:" + payee + "?reference=" + refA + "&reference=" + refA, "solana:" + payee + "?reference=" + payee, "solana:" + payee + "?amount=1" + many,
		"solana:" + payee + "?memo=a&memo=b", "solana:" + payee + "?memo=a%0Ab", "solana:" + payee + "?memo=%ff", "solana:" + payee + "?memo=" + strings.Repeat("m", MaxMemo+1),
		"solana:" + payee + "?label=a&label=b", "solana:" + payee + "?redirect=https%3A%2F%2Fshop.example", "solana:" + payee + "?message=" + strings.Repeat("m", maxPayLink),
	} {
		if got, err := ParsePayLink(link); CodeOf(err) != InvalidRequest || ReasonOf(err).IsZero() || !reflect.DeepEqual(got, PayLink{}) {
			t.Errorf("%.200s: %+v, %v", link, got, err)
		}
	}
	longest := "solana:" + payee + "?memo=" + strings.Repeat("m", MaxMemo)
	if got, err := ParsePayLink(longest); err != nil || len(got.Memo) != MaxMemo {
		t.Errorf("a memo of %d bytes: %v", MaxMemo, err)
	}
}

// FuzzPayLink: whatever is read of a link is what a link that we write says.
func FuzzPayLink(f *testing.F) {
	for _, seed := range []string{"solana:" + payee, "solana:" + payee + "?amount=1.5&reference=" + refA + "&reference=" + refB + "&spl-token=" + usdc + "&label=Caf%C3%A9+%26&memo=order%207&message=Two+bags",
		"solana:" + payee + "?memo=%00", "SOLANA:" + payee + "?amount=%2B1", "solana:https%3A%2F%2Fx"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParsePayLink(text)
		if err != nil {
			if CodeOf(err) != InvalidRequest || ReasonOf(err).IsZero() {
				t.Fatalf("an error without a reason: %v", err)
			}
			return
		}
		if CheckMemo(l.Memo) != nil || CheckLabel(l.Label) != nil || checkShown(l.Purpose) != nil || utf8.RuneCountInString(l.Purpose) > MaxPurpose || len(l.References) > MaxLinkReferences {
			t.Fatalf("read as %+v", l)
		}
		if len(l.String()) > maxPayLink {
			return // escaped, it is longer than it was
		}
		again, err := ParsePayLink(l.String())
		if err != nil || !reflect.DeepEqual(again, l) {
			t.Fatalf("%q is read as %+v, written as %q, and read as %+v, %v", text, l, l, again, err)
		}
	})
}
