package chain

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/wallet"
)

// big is a node on which every address holds an account of 10 MiB. It counts what it sends.
type big struct {
	t     *testing.T
	owner wallet.Address
	data  func(length int) []byte
	space int

	mu    sync.Mutex
	calls int
	sent  int
}

func (b *big) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		b.t.Error(err)
	}
	if request.Method == "getEpochInfo" {
		io.WriteString(w, result(`{"epoch":3}`))
		return
	}
	var names []string
	var asked struct {
		Slice *struct{ Offset, Length int } `json:"dataSlice"`
	}
	if err := errors.Join(json.Unmarshal(request.Params[0], &names), json.Unmarshal(request.Params[1], &asked)); err != nil {
		b.t.Error(err)
	}
	length := b.space
	if asked.Slice != nil {
		length = min(length, asked.Slice.Length)
	}
	rows := make([]string, len(names))
	for i := range names {
		rows[i] = fmt.Sprintf(`{"lamports":1,"owner":%q,"executable":false,"rentEpoch":0,"space":%d,"data":[%q,"base64"]}`,
			b.owner, b.space, base64.StdEncoding.EncodeToString(b.data(length)))
	}
	n, _ := io.WriteString(w, result(`{"context":{"slot":9},"value":[`+strings.Join(rows, ",")+`]}`))
	b.mu.Lock()
	b.calls, b.sent = b.calls+1, b.sent+n
	b.mu.Unlock()
}

// TestABigAccountIsNotReadWhole: anybody can name any address in /send, as token and as recipient.
func TestABigAccountIsNotReadWhole(t *testing.T) {
	at, mint := testKey(1).address(), testKey(2).address()
	zeros := func(length int) []byte { return make([]byte, length) }
	metadata := func(length int) []byte { // a mint whose metadata fills its account
		return append(aMint(anExtension(14, make([]byte, 64)...)), make([]byte, 10<<20)...)[:length]
	}
	for name, test := range map[string]struct {
		owner wallet.Address
		data  func(int) []byte
		space int
		sent  int // bytes at most, for each call
	}{
		"a program's":        {memoProgram, zeros, 10 << 20, 8 << 10},
		"a token program's":  {wallet.Token2022Program, zeros, 10 << 20, 8 << 10},
		"a mint with a book": {wallet.Token2022Program, metadata, 10 << 20, 8 << 10},
	} {
		node := &big{t: t, owner: test.owner, data: test.data, space: test.space}
		c := clientOf(t, newServer(t, node))
		_, err := c.Mint(t.Context(), mint)
		if wallet.CodeOf(err) != wallet.TokenNotFound {
			t.Errorf("%s as a mint: %v", name, err)
		}
		if parties, err := c.Parties(t.Context(), testKey(3).address(), at); err != nil || parties.AtTo.Exists {
			t.Errorf("%s as a token account: %+v, %v", name, parties, err)
		}
		if _, err := c.TokenFacts(t.Context(), at, testKey(3).address(), mint, wallet.Token2022Program); wallet.CodeOf(err) != wallet.TokenNotFound {
			t.Errorf("%s for a transfer: %v", name, err)
		}
		if node.calls != 3 || node.sent > 7*test.sent {
			t.Errorf("%s: %d calls took %d bytes", name, node.calls, node.sent)
		}
	}
	foreign := &big{t: t, owner: memoProgram, data: zeros, space: 5_000}
	if _, err := clientOf(t, newServer(t, foreign)).Mint(t.Context(), mint); wallet.CodeOf(err) != wallet.TokenNotFound || foreign.calls != 1 {
		t.Errorf("somebody else's account as a mint: %v, after %d calls", err, foreign.calls)
	}
	// What is longer than a token account can be may say more than was read.
	held := append(append(append([]byte{}, mint[:]...), at[:]...), make([]byte, 10<<20)...)
	held[108], held[tokenSize] = 1, kindAccount
	if _, ok := parseTokenAccount(at, wallet.Token2022Program, held[:tokenData]); !ok {
		t.Fatal("the example is no token account")
	}
	odd := &big{t: t, owner: wallet.Token2022Program, data: func(length int) []byte { return held[:length] }, space: len(held)}
	if parties, err := clientOf(t, newServer(t, odd)).Parties(t.Context(), testKey(3).address(), at); err != nil || parties.AtTo.Exists {
		t.Errorf("a token account of 10 MiB: %+v, %v", parties, err)
	}
	// A mint with a page of metadata is read to its end: what comes last may be what matters.
	long := append(aMint(anExtension(19, make([]byte, 5_000)...)), anExtension(14, append(make([]byte, 32), at[:]...)...)...)
	node := &big{t: t, owner: wallet.Token2022Program, data: func(length int) []byte { return long[:length] }, space: len(long)}
	m, err := clientOf(t, newServer(t, node)).Mint(t.Context(), mint)
	if err != nil || m.Hook != at || node.calls != 2 {
		t.Errorf("a long mint: %+v, %v, after %d calls", m, err, node.calls)
	}
	short := aMint()
	node = &big{t: t, owner: wallet.Token2022Program, data: func(length int) []byte { return short[:length] }, space: len(short)}
	if _, err := clientOf(t, newServer(t, node)).Mint(t.Context(), mint); err != nil || node.calls != 1 {
		t.Errorf("a short mint: %v, after %d calls", err, node.calls)
	}
}

// crowded is a node that lets readers wait until the test lets go of them, and answers what carries payments.
type crowded struct {
	arrived chan string // methods, as they come
	leave   chan struct{}
}

func (c *crowded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	_ = json.NewDecoder(r.Body).Decode(&request)
	switch request.Method {
	case "getSignatureStatuses":
		io.WriteString(w, result(`{"context":{"slot":90},"value":[null]}`))
	case "getSignaturesForAddress":
		io.WriteString(w, result(`[]`))
	case "getEpochInfo":
		io.WriteString(w, result(`{"absoluteSlot":9,"blockHeight":8,"epoch":1}`))
	case "getFirstAvailableBlock":
		io.WriteString(w, result(`0`))
	case "sendTransaction":
		var text string
		_ = json.Unmarshal(request.Params[0], &text)
		raw, _ := base64.StdEncoding.DecodeString(text)
		io.WriteString(w, result(fmt.Sprintf("%q", wallet.Signature(raw[1:65]))))
	default:
		c.arrived <- request.Method
		<-c.leave
		io.WriteString(w, result(`{"context":{"slot":9},"value":[]}`))
	}
}

// TestACrowdOfReadersDelaysNoPayment: however many addresses people have looked up, and however large their answers,
// broadcast and settlement have places of their own, and a reader that waits too long goes away.
func TestACrowdOfReadersDelaysNoPayment(t *testing.T) {
	node := &crowded{arrived: make(chan string, 1000), leave: make(chan struct{})}
	leave := sync.OnceFunc(func() { close(node.leave) })
	url := newServer(t, node)
	t.Cleanup(leave) // before the server closes
	c, err := New(Options{RPCURLs: []string{url}, Cluster: wallet.Localnet, Timeout: time.Minute, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	ended := make(chan error, 200)
	for range 100 {
		readers.Go(func() { _, err := c.Holdings(ctx, testKey(1).address()); ended <- err })
		readers.Go(func() { _, err := c.Accounts(ctx, []wallet.Address{testKey(1).address()}); ended <- err })
	}
	count := map[string]int{}
	for range heavyAtOnce + readsAtOnce {
		count[<-node.arrived]++
	}
	if count[holdingsMethod] != heavyAtOnce || count["getMultipleAccounts"] != readsAtOnce {
		t.Errorf("under way at once: %v", count)
	}
	s := signedTransfer(t, wallet.Transaction{To: testKey(2).address(), Reference: testKey(3).address(), Amount: 5})
	for name, call := range map[string]func() error{
		"Broadcast":            func() error { return c.Broadcast(t.Context(), s.wire) },
		"Statuses":             func() error { _, err := c.Statuses(t.Context(), []wallet.Signature{s.signature}); return err },
		"Find":                 func() error { _, err := c.Find(t.Context(), s.query); return err },
		"FindEverywhere":       func() error { _, _, err := c.FindEverywhere(t.Context(), s.query); return err },
		"FinalizedBlockHeight": func() error { _, err := c.FinalizedBlockHeight(t.Context()); return err },
		"CanSeeBackTo":         func() error { _, err := c.CanSeeBackTo(t.Context(), 1); return err },
	} {
		if err := call(); err != nil {
			t.Errorf("%s behind a crowd of readers: %v", name, err)
		}
	}
	select {
	case method := <-node.arrived:
		t.Errorf("one more %s went out", method)
	default:
	}
	cancel() // everybody's deadline
	readers.Wait()
	for range 200 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("a reader ended with %v", err)
		}
	}
	leave()
	again, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if _, err := c.Holdings(again, testKey(1).address()); err != nil {
		t.Errorf("the places are not free again: %v", err)
	}
}

// TestDecodingEndsWithItsReader: an answer of megabytes takes longer to read than to get.
func TestDecodingEndsWithItsReader(t *testing.T) {
	row := parsedRow(testKey(1).address(), wallet.Address{1}, testKey(2).address(), wallet.TokenProgram, "5")
	raw := []byte(`{"context":{"slot":9},"value":[` + row + `,` + row + `]}`)
	ctx, cancel := context.WithCancel(t.Context())
	var out tokenAccounts
	if err := decodeWithin(ctx, raw, &out); err != nil || len(out.all) != 2 || out.slot != 9 {
		t.Fatalf("%+v, %v", out, err)
	}
	cancel()
	var none struct{}
	for name, err := range map[string]error{
		"any answer": decodeWithin(ctx, []byte(`{}`), &none), "a list": out.decodeWithin(ctx, raw),
		"an envelope": func() error { _, err := readEnvelope(ctx, 200, []byte(`{"result":{}}`)); return err }(),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnswersAreBoundedByWhatIsAsked: only the list of somebody's tokens may be long.
func TestAnswersAreBoundedByWhatIsAsked(t *testing.T) {
	pad := func(size int) string { return strings.Repeat(" ", size) }
	for name, test := range map[string]struct {
		size int
		call func(*Client) error
		fits bool
	}{
		"tokens, long":     {maxHoldings - 200, func(c *Client) error { _, err := c.Holdings(t.Context(), testKey(1).address()); return err }, true},
		"tokens, too long": {maxHoldings + 1, func(c *Client) error { _, err := c.Holdings(t.Context(), testKey(1).address()); return err }, false},
		"others, too long": {maxAnswer + 1, func(c *Client) error { _, err := c.RentMinimum(t.Context(), 1); return err }, false},
	} {
		c := scripted(t, func(method string) string {
			if method == holdingsMethod {
				return result(`{"context":{"slot":9},"value":[]}`) + pad(test.size)
			}
			return result(`5`) + pad(test.size)
		})
		if err := test.call(c); (err == nil) != test.fits || !test.fits && !errors.Is(err, errTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
