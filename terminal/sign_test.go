package terminal

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"purser/chain"
	"purser/wallet"
)

// desk is a server as purser's, that can be made to lie, and a person at a terminal before it.
type desk struct {
	*httptest.Server
	t         *testing.T
	key       ed25519.PrivateKey
	pay       wallet.Transaction
	challenge map[string]string
	limits    map[string]any                              // what /w/limits/challenge says beside the challenge
	change    func(refreshed bool, answer map[string]any) // what a liar does to its answers
	refuse    string
	said      []map[string]string // to /w/tx/signature and /w/bind
	history   History
	now       time.Time
	out       bytes.Buffer
}

func newDesk(t *testing.T) *desk {
	seed := sha256.Sum256([]byte("terminal"))
	d := &desk{t: t, key: ed25519.NewKeyFromSeed(seed[:]), history: History{filepath.Join(t.TempDir(), "config", "signed.json")},
		now: time.Date(2026, 11, 21, 10, 1, 0, 0, time.UTC)}
	d.pay = wallet.Transaction{From: addressOf(d.key), To: addressOf(ed25519.NewKeyFromSeed(make([]byte, 32))), Amount: 1_500_000_000,
		Reference: wallet.Address{7}, Token: wallet.SOL}
	d.challenge = map[string]string{"telegram_id": "700100", "telegram_name": "Alice \u202e\x1b[2J", "username": "alice", "chain": "localnet",
		"nonce": "aB3dE5gH7jK9mN1p", "issued_at": "2026-11-21T10:00:00Z", "expires_at": "2026-11-21T10:10:00Z"}
	d.Server = httptest.NewServer(d)
	t.Cleanup(d.Close)
	return d
}

func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]string
	if json.NewDecoder(r.Body).Decode(&body) != nil || r.Header.Get("Origin") != d.URL {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answer := any(map[string]any{"status": "signed"})
	switch r.URL.Path {
	case "/w/tx/get", "/w/tx/refresh":
		actions := wallet.TransferActions
		if rules := stakingRules()[d.pay.Kind]; rules.Actions != nil {
			actions = rules.Actions
		}
		message, err := chain.Codec{}.Build(d.pay, actions(d.pay))
		if err != nil {
			d.t.Error(err)
		}
		if r.URL.Path == "/w/tx/refresh" {
			message, _ = chain.WithBlockhash(message, [32]byte{5})
		}
		offer := map[string]any{"status": "awaiting_signature", "address": d.pay.From.String(), "chain": "localnet",
			"message": base64.StdEncoding.EncodeToString(message), "expires_at": "2026-11-21T10:10:00Z", "recipient": d.pay.To.String()}
		if d.change != nil {
			d.change(r.URL.Path == "/w/tx/refresh", offer)
		}
		answer = offer
	case "/w/bind/challenge", "/w/unfreeze/challenge":
		answer = d.challenge
	case "/w/limits/challenge":
		all := map[string]any{}
		for name, value := range d.challenge {
			all[name] = value
		}
		for name, value := range d.limits {
			all[name] = value
		}
		answer = all
	case "/w/limits/sign":
		d.said = append(d.said, body)
		answer = map[string]any{"status": "waiting", "effective_at": "2026-11-22T10:00:00Z"}
	default:
		d.said = append(d.said, body)
	}
	if d.refuse == r.URL.Path {
		w.WriteHeader(http.StatusConflict)
		answer = map[string]any{"error": map[string]string{"code": "CONFLICT", "message": "too late \x1b[31m"}}
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		d.t.Error(err)
	}
}

// follows types the given lines at the link.
func (d *desk) follows(fragment string, lines ...string) error {
	d.out.Reset()
	in := bufio.NewReader(strings.NewReader(strings.Join(lines, "\n") + "\n"))
	return (&Signer{Key: d.key, History: d.history, In: in, Out: &d.out, Now: func() time.Time { return d.now }}).Follow(d.t.Context(), d.URL+"/w/#"+fragment)
}

func (d *desk) shows(words ...string) {
	d.t.Helper()
	for _, word := range words {
		if !strings.Contains(d.out.String(), word) {
			d.t.Errorf("the terminal does not show %q:\n%s", word, d.out.String())
		}
	}
	if strings.ContainsAny(d.out.String(), "\x1b\u202e") {
		d.t.Errorf("foreign text moves the cursor: %q", d.out.String())
	}
}

func TestAPaymentIsShownAndSigned(t *testing.T) {
	d := newDesk(t)
	if err := d.follows("s=secret", "yes"); err != nil {
		t.Fatal(err)
	}
	d.shows("1.5 SOL", d.pay.To.String(), d.pay.To.Grouped(), d.pay.From.String(), "0.000005 SOL", "localnet")
	message, err := chain.Codec{}.Build(d.pay, wallet.TransferActions(d.pay))
	if err != nil {
		t.Fatal(err)
	}
	message, err = chain.WithBlockhash(message, [32]byte{5})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(message)
	signature, err := wallet.ParseSignature(d.said[0]["signature"])
	if err != nil || d.said[0]["message_sha256"] != hex.EncodeToString(sum[:]) || !chain.VerifySignature(message, d.pay.From, signature) {
		t.Errorf("handed in %v", d.said)
	}
}

func TestATokenIsNamedByTheListAlone(t *testing.T) {
	d := newDesk(t)
	mint, err := wallet.ParseAddress("CLpKfvqp1swFzmEVcet1uKo9qv9CggxRdfXfCKpp2Acj")
	if err != nil {
		t.Fatal(err)
	}
	d.pay.Token = wallet.Token{Symbol: "WORTHLESS", Mint: mint, Decimals: 6, Program: wallet.TokenProgram}
	d.pay.Amount, d.pay.Rent, d.pay.Memo = 25_500_000, 1, "rent"
	if err := d.follows("s=secret", "yes"); err != nil {
		t.Fatal(err)
	}
	d.shows("25.5 USDC", mint.String(), d.pay.To.String(), "rent", "deposit")
	d.pay.Reference[0]++ // another payment each time
	d.pay.Token.Mint[0] ^= 1
	d.pay.Rent = 0
	if err := d.follows("s=secret", "yes"); err != nil {
		t.Fatal(err)
	}
	d.shows("25.5 of the unlisted token "+d.pay.Token.Mint.String(), "To           "+d.pay.To.String())
	d.pay.Reference[0]++
	d.change = func(_ bool, o map[string]any) { o["recipient"] = d.pay.From.String() }
	if err := d.follows("s=secret", "yes"); err != nil {
		t.Fatal(err)
	}
	d.shows("whose it is cannot be told")
}

func TestNothingIsSignedUnlessItIsWhatWasShown(t *testing.T) {
	d := newDesk(t)
	pay := d.pay
	for name, lie := range map[string]func(bool, map[string]any){
		"another amount later": func(refreshed bool, o map[string]any) {
			if refreshed {
				other := pay
				other.Amount++
				message, _ := chain.Codec{}.Build(other, wallet.TransferActions(other))
				message, _ = chain.WithBlockhash(message, [32]byte{5})
				o["message"] = base64.StdEncoding.EncodeToString(message)
			}
		},
		"no blockhash": func(refreshed bool, o map[string]any) {
			message, _ := chain.Codec{}.Build(pay, wallet.TransferActions(pay))
			o["message"] = base64.StdEncoding.EncodeToString(message)
		},
		"another network later": func(refreshed bool, o map[string]any) {
			if refreshed {
				o["chain"] = "mainnet"
			}
		},
		"another wallet":  func(_ bool, o map[string]any) { o["address"] = pay.To.String() },
		"nothing to sign": func(_ bool, o map[string]any) { o["message"], o["status"] = nil, "expired" },
		"no base64":       func(_ bool, o map[string]any) { o["message"] = "@@" },
		"no message":      func(_ bool, o map[string]any) { o["message"] = "AAAA" },
		"version 1": func(_ bool, o map[string]any) {
			message, _ := chain.Codec{}.Build(pay, wallet.TransferActions(pay))
			o["message"] = base64.StdEncoding.EncodeToString(append([]byte{0x81}, message...))
		},
	} {
		d.change = lie
		if err := d.follows("s=secret", "yes"); err == nil || len(d.said) > 0 {
			t.Errorf("%s: %v, handed in %v", name, err, d.said)
		} else if name == "version 1" && !strings.Contains(err.Error(), "version 1 transaction, and only legacy and version 0 transactions are signed here") {
			t.Errorf("%s: the sentence is %q", name, err)
		}
	}
	d.change = nil
	for _, answer := range []string{"", "no", "sign", "YES", "yes please"} {
		if err := d.follows("s=secret", answer); err != ErrDeclined || len(d.said) > 0 {
			t.Errorf("after %q: %v, handed in %v", answer, err, d.said)
		}
	}
	d.refuse = "/w/tx/signature"
	if err := d.follows("s=secret", "yes"); err == nil || !strings.Contains(err.Error(), "look in the chat") || strings.Contains(err.Error(), "\x1b") || len(d.said) != 1 {
		t.Errorf("refused: %v, handed in %d", err, len(d.said))
	}
}

func TestAWalletIsConnectedByTheTextOfTheDesign(t *testing.T) {
	d := newDesk(t)
	if err := d.follows("b=secret", "yes"); err != nil {
		t.Fatal(err)
	}
	d.shows("@alice", "700100", addressOf(d.key).String(), addressOf(d.key).Tail())
	issued := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	text := wallet.SignInText(d.Listener.Addr().String(), d.URL, addressOf(d.key), wallet.TelegramAccount(700100), "localnet", "aB3dE5gH7jK9mN1p",
		issued, issued.Add(10*time.Minute))
	signature, err := wallet.ParseSignature(d.said[0]["signature"])
	if err != nil || !ed25519.Verify(d.key.Public().(ed25519.PublicKey), []byte(text), signature[:]) || d.said[0]["wallet_type"] != "external" {
		t.Errorf("handed in %v", d.said)
	}
	for field, value := range map[string]string{"telegram_id": "7001 00", "chain": "moonnet", "nonce": "short\nURI: x", "issued_at": "now", "expires_at": ""} {
		d := newDesk(t)
		d.challenge[field] = value
		if err := d.follows("b=secret", "yes"); err == nil || len(d.said) > 0 {
			t.Errorf("%s %q: %v", field, value, err)
		}
	}
	if err := d.follows("b=secret", "no"); err != ErrDeclined {
		t.Errorf("after a no: %v", err)
	}
}

func TestOnlyLinksOfPursersAreFollowed(t *testing.T) {
	for _, text := range []string{"", "x", "http://wallet.example/w/#s=abc", "https://wallet.example/w/", "https://wallet.example/w/#x=abc",
		"https://wallet.example/w/#s=", "https://a:b@wallet.example/w/#s=abc", "https://wallet.example/w/?a=b#s=abc", "file:///w/#s=abc",
		"http://localhost/w/#s=abc", "https://wallet.example/v1/#s=abc"} {
		if _, err := readLink(text); err == nil {
			t.Errorf("%q is followed", text)
		}
	}
	for _, text := range []string{"https://wallet.example/w/#s=abc", "http://127.0.0.1:8080/w/#b=abc", " https://wallet.example/w/#s=abc\n", "https://wallet.example/w/#s=abc&lang=de"} {
		if got, err := readLink(text); err != nil || got.secret != "abc" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestKeyFiles(t *testing.T) {
	d := newDesk(t)
	numbers := make([]int, 64)
	for i, b := range d.key {
		numbers[i] = int(b)
	}
	good, err := json.Marshal(numbers)
	if err != nil {
		t.Fatal(err)
	}
	write := func(content string, mode os.FileMode) string {
		path := filepath.Join(t.TempDir(), "id.json")
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if key, err := ReadKey(write(string(good), 0o600)); err != nil || !key.Equal(d.key) {
		t.Errorf("a good one: %v", err)
	}
	numbers[63] ^= 1
	halves, err := json.Marshal(numbers)
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"open to others": write(string(good), 0o644),
		"no JSON":        write("hello", 0o600),
		"63 numbers":     write("["+strings.Repeat("1,", 62)+"1]", 0o600),
		"too large":      write("["+strings.Repeat("256,", 63)+"256]", 0o600),
		"two halves":     write(string(halves), 0o600),
		"a folder":       t.TempDir(),
		"nothing":        filepath.Join(t.TempDir(), "none"),
	} {
		if key, err := ReadKey(path); err == nil || key != nil {
			t.Errorf("%s: read", name)
		}
	}
}

// TestASecondSignatureOfOnePaymentIsWarnedOf: a server that withholds its answer and offers the payment again gets
// the same signature again, or none, unless the person asks for a second one by name.
func TestASecondSignatureOfOnePaymentIsWarnedOf(t *testing.T) {
	d := newDesk(t)
	if err := d.follows("s=secret", "yes"); err != nil {
		t.Fatal(err)
	}
	first := d.said[0]
	d.now = d.now.Add(5 * time.Minute)
	for _, answer := range []string{"yes", "", "no"} {
		if err := d.follows("s=another", answer, "yes"); err != ErrDeclined || len(d.said) != 1 {
			t.Errorf("%q: %v, handed in %d", answer, err, len(d.said))
		}
		d.shows("WARNING: you signed this transaction on", "may carry it out twice", first["signature"])
	}
	if err := d.follows("s=another", "again"); err != nil {
		t.Fatal(err)
	}
	if again := d.said[1]; again["signature"] != first["signature"] || again["message_sha256"] != first["message_sha256"] || again["id"] != "another" {
		t.Errorf("sent again: %v", again)
	}
	d.pay.Amount++ // its reference tells that it is the same
	if err := d.follows("s=another", "no"); err != ErrDeclined {
		t.Errorf("the same reference: %v", err)
	}
	d.shows("WARNING: you signed this transaction on")
	if err := d.follows("s=another", "second", "yes"); err != nil || len(d.said) != 3 || d.said[2]["signature"] == first["signature"] {
		t.Errorf("a second one: %v", err)
	}

	d.pay.Reference[0]++ // another payment, which looks alike
	if err := d.follows("s=third", "yes"); err != nil {
		t.Fatal(err)
	}
	d.shows("the same amount to the same recipient on")
	shown, at := d.pay, d.now
	for _, other := range []func(){func() { d.pay.Amount++ }, func() { d.pay.To[5]++ }, func() { d.now = d.now.Add(24 * time.Hour) }} {
		d.pay, d.now = shown, at
		d.pay.Reference[0]++
		other()
		if err := d.follows("s=fourth", "no"); err != ErrDeclined || strings.Contains(d.out.String(), "You signed") {
			t.Errorf("another payment: %v\n%s", err, d.out.String())
		}
	}
}

// TestAPaymentWithoutReferenceIsKnownByItsIntent: everything but its blockhash.
func TestAPaymentWithoutReferenceIsKnownByItsIntent(t *testing.T) {
	d := newDesk(t)
	d.pay.Reference = wallet.Address{}
	if err := d.follows("s=secret", "yes"); err != nil {
		t.Fatal(err)
	}
	if err := d.follows("s=another", "no"); err != ErrDeclined {
		t.Fatal(err)
	}
	d.shows("WARNING: you signed this transaction on")
	d.pay.Amount++
	if err := d.follows("s=third", "yes"); err != nil || strings.Contains(d.out.String(), "WARNING") {
		t.Errorf("another payment without reference: %v\n%s", err, d.out.String())
	}
}

// TestTheNetworkOfAWalletIsPinned by its connection or its first signature, and a change is warned of.
func TestTheNetworkOfAWalletIsPinned(t *testing.T) {
	d := newDesk(t)
	d.challenge["chain"] = "mainnet"
	if err := d.follows("b=secret", "yes"); err != nil {
		t.Fatal(err)
	}
	const changed = "WARNING: the network changed. This wallet is used on mainnet, and the server now says localnet."
	if err := d.follows("s=secret", "no"); err != ErrDeclined { // the desk says localnet
		t.Fatal(err)
	}
	d.shows(changed, "real money", "localnet, says the server")
	if err := d.follows("s=secret", "yes"); err != nil { // a signature all the same changes nothing of what is remembered
		t.Fatal(err)
	}
	d.pay.Reference[0]++
	if err := d.follows("s=another", "no"); err != ErrDeclined {
		t.Fatal(err)
	}
	d.shows(changed)
	d.challenge["chain"] = "localnet"
	if err := d.follows("b=secret", "no"); err != ErrDeclined {
		t.Fatal(err)
	}
	d.shows(changed)
	if err := d.follows("b=secret", "yes"); err != nil {
		t.Fatal(err)
	}
	if err := d.follows("s=secret", "yes"); err != nil || strings.Contains(d.out.String(), "WARNING") {
		t.Errorf("by its owner's word it changed: %v\n%s", err, d.out.String())
	}

	d = newDesk(t)
	if err := d.follows("s=secret", "yes"); err != nil || strings.Contains(d.out.String(), "WARNING") {
		t.Fatalf("%v\n%s", err, d.out.String())
	}
	d.pay.Reference[0]++
	d.change = func(_ bool, o map[string]any) { o["chain"] = "devnet" }
	if err := d.follows("s=secret", "no"); err != ErrDeclined {
		t.Fatal(err)
	}
	d.shows("used on localnet, and the server now says devnet")
}

// TestWhatWasSignedIsKeptForItsOwnerOnly, within bounds, and a damaged file stops the signature, not the warning.
func TestWhatWasSignedIsKeptForItsOwnerOnly(t *testing.T) {
	d := newDesk(t)
	if err := d.follows("s=secret", "yes"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{d.history.Path: 0o600, filepath.Dir(d.history.Path): 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if files, err := os.ReadDir(filepath.Dir(d.history.Path)); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v %v", files, err)
	}
	var many memory
	for i := range keptPayments {
		many.Signed = append(many.Signed, signedPayment{Intent: fmt.Sprint(i), Address: "a", At: d.now})
	}
	if err := d.history.write(many); err != nil {
		t.Fatal(err)
	}
	if err := d.history.note(signedPayment{Intent: "newest", Address: "a", At: d.now}, "localnet"); err != nil {
		t.Fatal(err)
	}
	m, err := d.history.read()
	if err != nil || len(m.Signed) != keptPayments || m.Signed[keptPayments-1].Intent != "newest" || m.Signed[0].Intent != "1" {
		t.Errorf("%d kept, %v", len(m.Signed), err)
	}
	if err := d.history.note(signedPayment{Intent: "late", Address: "a", At: d.now.Add(keptFor + time.Hour)}, "localnet"); err != nil {
		t.Fatal(err)
	}
	if m, err = d.history.read(); err != nil || len(m.Signed) != 1 {
		t.Errorf("%d kept after 90 days, %v", len(m.Signed), err)
	}
	if err := os.WriteFile(d.history.Path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.pay.Reference[0]++
	if err := d.follows("s=secret", "yes"); err == nil || !strings.Contains(err.Error(), "is damaged") || len(d.said) != 1 {
		t.Errorf("a damaged file: %v, handed in %d", err, len(d.said))
	}
}

// TestWhatCannotBeShownIsNotSigned: an action that the decoder has a row for, and the terminal no words.
func TestWhatCannotBeShownIsNotSigned(t *testing.T) {
	var out strings.Builder
	s := &Signer{Out: &out}
	err := s.show(offer{Chain: wallet.Devnet}, wallet.Decoded{Actions: []wallet.Action{{Type: "stake\x1b[2J"}}})
	if err == nil || !strings.Contains(err.Error(), "not signed") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%v", err)
	}
}
