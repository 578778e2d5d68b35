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

// fixture is a transaction that the signing page's decoder answers too (signer/testdata).
type fixture struct {
	Name    string `json:"name"`
	Message []byte `json:"message"`
	Signer  string `json:"signer"`
	Refused string `json:"refused"`
	Want    struct {
		Actions []struct {
			Type     string `json:"type"`
			To       string `json:"to"`
			Account  string `json:"account"`
			Mint     string `json:"mint"`
			Lamports uint64 `json:"lamports,string"`
			Units    uint64 `json:"units,string"`
			Decimals uint8  `json:"decimals"`
		} `json:"actions"`
	} `json:"want"`
}

func fixtures(tb testing.TB) []fixture {
	tb.Helper()
	raw, err := os.ReadFile("../../signer/testdata/transactions.json")
	if err != nil {
		tb.Fatal(err)
	}
	var all []fixture
	if err := json.Unmarshal(raw, &all); err != nil {
		tb.Fatal(err)
	}
	return all
}

// payments are what the page reads of a fixture, as a caller would expect them.
func (f fixture) payments() []Expected {
	var out []Expected
	for _, a := range f.Want.Actions {
		switch {
		case a.Type == "transfer":
			out = append(out, Expected{To: a.To, Amount: decimal(a.Lamports, 9), Token: "SOL"})
		case a.Type == "token_transfer" && a.To != "":
			out = append(out, Expected{To: a.To, Amount: decimal(a.Units, a.Decimals), Token: a.Mint})
		case a.Type == "token_transfer":
			out = append(out, Expected{To: a.Account, Amount: decimal(a.Units, a.Decimals), Token: a.Mint})
		}
	}
	return out
}

// TestSignReadsPaymentsAsTheSigningPageDoes: what the page shows as a payment is signed for whoever expects it, and
// for nobody who expects anything else; what the page refuses is signed for nobody.
func TestSignReadsPaymentsAsTheSigningPageDoes(t *testing.T) {
	var every []Expected
	for _, f := range fixtures(t) {
		for _, p := range f.payments() {
			if !slices.Contains(every, p) {
				every = append(every, p)
			}
		}
	}
	// What the page refuses for other reasons than where the money goes.
	harmless := map[string]bool{"memo": true, "an account that nothing uses": true}
	signed, refused := 0, 0
	for _, f := range fixtures(t) {
		own := f.payments()
		if len(own) > 1 {
			own = nil // two payments are nobody's expectation
		}
		for _, want := range every {
			err := want.check(f.Message)
			if err == nil && !slices.Contains(own, want) && f.Refused == "" && f.sameAccount(want) {
				continue // the wallet of the token account that is paid
			}
			if err == nil && (harmless[f.Refused] || harmless[f.Name]) {
				continue
			}
			if slices.Contains(own, want) != (err == nil) {
				t.Errorf("%s, expecting %+v: %v", f.Name, want, err)
			}
			if err == nil {
				signed++
			} else if refused++; !strings.HasPrefix(err.Error(), "purser: ") {
				t.Errorf("%s: refused with %v", f.Name, err)
			}
		}
	}
	if len(every) < 10 || signed < 20 || refused < 1000 {
		t.Errorf("%d expectations, %d signed, %d refused", len(every), signed, refused)
	}
}

// sameAccount tells whether want names the owner of the token account that the fixture pays, and the same payment.
func (f fixture) sameAccount(want Expected) bool {
	for _, a := range f.Want.Actions {
		if a.Type != "token_transfer" || a.Mint != want.Token || decimal(a.Units, a.Decimals) != want.Amount {
			continue
		}
		owner, account := wallet.MustAddress(want.To), wallet.MustAddress(a.Account)
		for _, program := range []string{tokenProgram, token2022Program} {
			if wallet.AssociatedAccount(owner, wallet.MustAddress(a.Mint), wallet.MustAddress(program)) == account {
				return true
			}
		}
		if a.Account == want.To {
			return true
		}
	}
	return false
}

// TestNoFlippedBitIsSignedThatThePageWouldRefuse: a message that differs anywhere pays the same, or is refused.
func TestNoFlippedBitIsSignedThatThePageWouldRefuse(t *testing.T) {
	same := 0
	for _, f := range fixtures(t) {
		own := f.payments()
		if len(own) != 1 {
			continue
		}
		signer := wallet.MustAddress(f.Signer)
		for i := range f.Message {
			for _, bit := range []byte{1, 4, 0x80} {
				changed := slices.Clone(f.Message)
				changed[i] ^= bit
				if own[0].check(changed) != nil {
					continue
				}
				m, err := readMessage(changed)
				if err != nil || !bytes.Equal(m.keys[0], f.Message[payerAt(f.Message):payerAt(f.Message)+32]) {
					continue // another wallet's: ownMessage refuses it
				}
				d, err := chain.Decode(changed, signer)
				switch {
				case err != nil && (strings.Contains(err.Error(), "(memo)") || strings.Contains(err.Error(), "an account that nothing uses")):
				case err != nil:
					t.Errorf("%s, byte %d: the page refuses it: %v", f.Name, i, err)
				case !slices.Contains(fixtureOf(d).payments(), own[0]):
					t.Errorf("%s, byte %d: the page reads %+v", f.Name, i, d.Actions)
				default:
					same++
				}
			}
		}
	}
	if same < 100 {
		t.Errorf("%d changes were harmless", same) // blockhashes, references and memos
	}
}

// fixtureOf is what chain's decoder reads, as the fixtures have it.
func fixtureOf(d wallet.Decoded) fixture {
	var f fixture
	for _, a := range d.Actions {
		f.Want.Actions = append(f.Want.Actions, struct {
			Type     string `json:"type"`
			To       string `json:"to"`
			Account  string `json:"account"`
			Mint     string `json:"mint"`
			Lamports uint64 `json:"lamports,string"`
			Units    uint64 `json:"units,string"`
			Decimals uint8  `json:"decimals"`
		}{a.Type, a.To.String(), a.Account.String(), a.Mint.String(), a.Lamports, a.Units, a.Decimals})
	}
	for i, a := range d.Actions {
		if a.To.IsZero() {
			f.Want.Actions[i].To = ""
		}
	}
	return f
}

func payerAt(message []byte) int {
	if message[0] == 0x80 {
		return 5
	}
	return 4
}

func TestExpectedAmountsAreExact(t *testing.T) {
	for text, want := range map[string]string{
		"1.5": "1.5", "1.50": "1.5", ".5": "0.5", "007": "7", "1e-7": "0.0000001", "1E3": "1000", "1.5e1": "15", "15e-1": "1.5", "0.0000001": "0.0000001",
		"18446744073.709551615": "18446744073.709551615", "100e-2": "1", "1e0": "1", "1e+2": "100",
	} {
		if got, err := plainDecimal(text); err != nil || got != want {
			t.Errorf("%q is %q (%v), want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "0.0", "0e5", "-1", "+1", "1.", ".", "e5", "1e", "1e1e1", "1,5", "max", "1 ", "0x1", "1e9999999", "1e-999999999999", "NaN", "１", strings.Repeat("1", 301)} {
		if got, err := plainDecimal(text); err == nil {
			t.Errorf("%q is %q", text, got)
		}
	}
	for _, c := range []struct {
		units    uint64
		decimals uint8
		want     string
	}{{1, 9, "0.000000001"}, {1_500_000_000, 9, "1.5"}, {10, 0, "10"}, {0, 6, "0"}, {1<<64 - 1, 0, "18446744073709551615"}, {5, 255, "0." + strings.Repeat("0", 254) + "5"}} {
		if got := decimal(c.units, c.decimals); got != c.want {
			t.Errorf("%d with %d decimals is %q", c.units, c.decimals, got)
		}
	}
}

func TestAddressesHaveOneSpelling(t *testing.T) {
	raw := bytes.Repeat([]byte{0, 200}, 16)
	back, err := address(base58(raw))
	if err != nil || !bytes.Equal(back, raw) {
		t.Errorf("%x (%v)", back, err)
	}
	for _, text := range []string{"", "SOL", systemProgram + "1", "1" + tokenProgram, tokenProgram[:31], strings.Repeat("z", 44), strings.Replace(tokenProgram, "o", "0", 1), tokenProgram + " "} {
		if _, err := address(text); err == nil {
			t.Errorf("%q is an address", text)
		}
	}
}

// TestSignSignsWhatPurserBuilds: each kind of payment, as purser's own builder makes it.
func TestSignSignsWhatPurserBuilds(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))
	from := wallet.MustAddress(Address(key))
	to, mint := wallet.MustAddress(Address(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, 32)))), wallet.MustAddress(Address(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, 32))))
	token := wallet.Token{Mint: mint, Decimals: 6, Program: wallet.MustAddress(token2022Program)}
	t22 := func(change func(*wallet.Transaction)) wallet.Transaction {
		tx := wallet.Transaction{From: from, To: to, Token: token, Amount: 1_500_000, Reference: wallet.Address{5}}
		change(&tx)
		return tx
	}
	for name, tx := range map[string]wallet.Transaction{
		"SOL":              {From: from, To: to, Token: wallet.SOL, Amount: 1_500_000_000, Reference: wallet.Address{5}, ComputeUnitLimit: 450, ComputeUnitPrice: 1000},
		"a token":          t22(func(*wallet.Transaction) {}),
		"a new account":    t22(func(tx *wallet.Transaction) { tx.Rent = 2_039_280; tx.ComputeUnitLimit = 30_000 }),
		"a memo":           t22(func(tx *wallet.Transaction) { tx.Memo = "purser" }),
		"a link's payment": t22(func(tx *wallet.Transaction) { tx.LinkReferences = []wallet.Address{{6}, {7}} }),
	} {
		message, err := chain.Codec{}.Build(tx, wallet.TransferActions(tx))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		wire := base64.StdEncoding.EncodeToString(append(append([]byte{1}, make([]byte, 64)...), message...))
		want := Expected{To: to.String(), Amount: "1.5", Token: "SOL"}
		if name != "SOL" {
			want.Token = mint.String()
		}
		if _, err := Sign(wire, key, want); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		account := want
		if account.To = wallet.AssociatedAccount(to, mint, token.Program).String(); name != "SOL" {
			if _, err := Sign(wire, key, account); err != nil {
				t.Errorf("%s, by its token account: %v", name, err)
			}
		}
		for what, other := range map[string]Expected{
			"another recipient": {To: mint.String(), Amount: want.Amount, Token: want.Token},
			"oneself":           {To: from.String(), Amount: want.Amount, Token: want.Token},
			"another amount":    {To: want.To, Amount: "1.500001", Token: want.Token},
			"ten times less":    {To: want.To, Amount: "0.15", Token: want.Token},
			"another token":     {To: want.To, Amount: want.Amount, Token: to.String()},
			"a symbol":          {To: want.To, Amount: want.Amount, Token: "USDC"},
			"nothing":           {},
			"no token":          {To: want.To, Amount: want.Amount},
			"no recipient":      {Amount: want.Amount, Token: want.Token},
			"no amount":         {To: want.To, Token: want.Token},
			"a vague amount":    {To: want.To, Amount: "max", Token: want.Token},
		} {
			if _, err := Sign(wire, key, other); err == nil {
				t.Errorf("%s: signed for %s", name, what)
			}
		}
		if _, err := Sign(wire, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32)), want); err == nil {
			t.Errorf("%s: signed by another key", name)
		}
		if _, err := SignBlindly(wire, key); err != nil {
			t.Errorf("%s: blindly: %v", name, err)
		}
		message[payerAt(message)-1]++ // more keys than there are
		if _, err := SignBlindly(base64.StdEncoding.EncodeToString(append(append([]byte{1}, make([]byte, 64)...), message...)), key); err == nil {
			t.Errorf("%s: a malformed message was signed blindly", name)
		}
	}
}

func FuzzExpected(f *testing.F) {
	for _, one := range fixtures(f) {
		f.Add(one.Message)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := readMessage(raw)
		if err != nil {
			return
		}
		if len(m.keys) > 127 || m.readOnly >= len(m.keys) {
			t.Fatalf("%d keys, %d of them read-only", len(m.keys), m.readOnly)
		}
		for _, want := range []Expected{{To: systemProgram, Amount: "1", Token: "SOL"}, {To: tokenProgram, Amount: "1", Token: tokenProgram}} {
			_ = want.check(raw) // it must not panic
		}
	})
}
