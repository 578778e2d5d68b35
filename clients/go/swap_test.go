package purser

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"purser/chain"
	"purser/wallet"
)

// swapFixture is a fixture as far as a swap is concerned.
type swapFixture struct {
	Name    string `json:"name"`
	Message []byte `json:"message"`
	Signer  string `json:"signer"`
	Refused string `json:"refused"`
	Want    struct {
		Actions []struct {
			Type    string `json:"type"`
			Mint    string `json:"mint"`
			OutMint string `json:"out_mint"`
			Units   uint64 `json:"units,string"`
			Minimum uint64 `json:"minimum,string"`
		} `json:"actions"`
	} `json:"want"`
}

func swapFixtures(tb testing.TB) (all []swapFixture) {
	tb.Helper()
	raw, err := os.ReadFile("../../signer/testdata/transactions.json")
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		tb.Fatal(err)
	}
	return all
}

// swaps are what the page reads of a fixture, as a caller would expect it.
func (f swapFixture) swaps() (out []ExpectedSwap) {
	for _, a := range f.Want.Actions {
		if a.Type == "swap" {
			out = append(out, expectedSwap(a.Mint, a.OutMint, a.Units, a.Minimum))
		}
	}
	return out
}

func expectedSwap(in, out string, paid, least uint64) ExpectedSwap {
	token := func(mint string) string {
		if mint == wrappedSOL {
			return "SOL"
		}
		return mint
	}
	return ExpectedSwap{FromToken: token(in), ToToken: token(out), PaidUnits: paid, LeastUnits: least}
}

// TestSignSwapReadsSwapsAsTheSigningPageDoes: what the page shows as a swap is signed for whoever expects it, and for nobody who expects
// anything else; what the page refuses, and every payment, is signed for nobody.
func TestSignSwapReadsSwapsAsTheSigningPageDoes(t *testing.T) {
	var every []ExpectedSwap
	all := swapFixtures(t)
	for _, f := range all {
		for _, s := range f.swaps() {
			if !slices.Contains(every, s) {
				every = append(every, s)
			}
		}
	}
	signed, refused := 0, 0
	for _, f := range all {
		own := f.swaps()
		for _, want := range every {
			err := want.check(f.Message)
			fits := len(own) == 1 && own[0].FromToken == want.FromToken && own[0].ToToken == want.ToToken && own[0].PaidUnits == want.PaidUnits && own[0].LeastUnits >= want.LeastUnits
			if fits != (err == nil) {
				t.Errorf("%s, expecting %+v: %v", f.Name, want, err)
			}
			if err == nil {
				signed++
			} else if refused++; !strings.HasPrefix(err.Error(), "purser: ") {
				t.Errorf("%s: refused with %v", f.Name, err)
			}
		}
		if len(own) == 1 {
			less, more := own[0], own[0]
			less.LeastUnits--
			if err := less.check(f.Message); (err == nil) != (less.LeastUnits > 0) {
				t.Errorf("%s, expecting less: %v", f.Name, err)
			}
			if more.LeastUnits++; more.LeastUnits != 0 && more.check(f.Message) == nil {
				t.Errorf("%s: signed for one that expects more", f.Name)
			}
			if err := (Expected{To: f.Signer, Amount: "0.000001", Token: "SOL"}).check(f.Message); err == nil {
				t.Errorf("%s: a swap is signed as a payment", f.Name)
			}
		}
	}
	if len(every) < 5 || signed < 11 || refused < 2000 {
		t.Errorf("%d expectations, %d signed, %d refused", len(every), signed, refused)
	}
}

// TestNoFlippedBitOfASwapIsSignedThatThePageWouldRefuse: a message that differs anywhere swaps the same, or is refused.
func TestNoFlippedBitOfASwapIsSignedThatThePageWouldRefuse(t *testing.T) {
	same := 0
	for _, f := range swapFixtures(t) {
		own := f.swaps()
		if len(own) != 1 {
			continue
		}
		for i := range f.Message {
			for _, bit := range []byte{1, 4, 0x80} {
				changed := slices.Clone(f.Message)
				changed[i] ^= bit
				if own[0].check(changed) != nil {
					continue
				}
				m, err := readMessage(changed)
				if err != nil || base58(m.keys[0]) != f.Signer {
					continue // another wallet's: ownMessage refuses it
				}
				d, err := chain.Decode(changed, wallet.MustAddress(f.Signer))
				switch {
				case err != nil && strings.Contains(err.Error(), "an account that nothing uses"):
				case err != nil:
					t.Errorf("%s, byte %d: the page refuses it: %v", f.Name, i, err)
				default:
					same++
					for _, a := range d.Actions {
						if s := a.Swap; s != nil {
							if got := expectedSwap(s.InMint.String(), s.OutMint.String(), s.Units, s.Minimum); got.FromToken != own[0].FromToken || got.ToToken != own[0].ToToken || got.PaidUnits != own[0].PaidUnits || got.LeastUnits < own[0].LeastUnits {
								t.Errorf("%s, byte %d: the page reads %+v", f.Name, i, got)
							}
						}
					}
				}
			}
		}
	}
	if same < 100 {
		t.Errorf("%d changes were harmless", same) // blockhashes, references, and accounts of the route
	}
}

// TestASwapIsSignedByItsOwnKeyAlone.
func TestASwapIsSignedByItsOwnKeyAlone(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))
	for _, f := range swapFixtures(t) {
		own := f.swaps()
		if len(own) != 1 {
			continue
		}
		wire := base64.StdEncoding.EncodeToString(append(append([]byte{1}, make([]byte, 64)...), f.Message...))
		if _, err := SignSwap(wire, key, own[0]); err == nil || !strings.Contains(err.Error(), "another wallet") {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

func FuzzExpectedSwap(f *testing.F) {
	for _, one := range swapFixtures(f) {
		f.Add(one.Message)
	}
	f.Fuzz(func(_ *testing.T, raw []byte) {
		_ = ExpectedSwap{FromToken: "SOL", ToToken: systemProgram, PaidUnits: 1, LeastUnits: 1}.check(raw) // it must not panic
	})
}
