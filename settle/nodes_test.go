// Long: the answers of lying, slow and silent nodes, by one fake node.

package settle_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	solanago "github.com/gagliardetto/solana-go"

	"purser/chain"
	"purser/e2e/world"
	"purser/handlers"
	"purser/wallet"
)

// node is a Solana node that says what a test has written down, true or not.
type node struct {
	t testing.TB

	mu       sync.Mutex
	silent   map[string]bool   // methods that get no answer; "" is all
	slot     uint64            // finalized, as getEpochInfo tells it
	height   uint64            // likewise
	reads    map[string]uint64 // the slot at which it says that it reads, by method; 0 is slot
	first    uint64            // the first block that it still has
	statuses map[wallet.Signature]string
	mentions map[wallet.Address][]wallet.Signature // newest first
	wires    map[wallet.Signature][]byte
	before   func(n *node, method string) // called before each answer, with the lock held
	calls    map[string]int
}

// What a status is.
const (
	processed = `{"slot":50,"confirmations":0,"err":null,"confirmationStatus":"processed"}`
	succeeded = `{"slot":50,"confirmations":3,"err":null,"confirmationStatus":"confirmed"}`
	final     = `{"slot":50,"confirmations":null,"err":null,"confirmationStatus":"finalized"}`
	failing   = `{"slot":50,"confirmations":3,"err":{"InstructionError":[0,{"Custom":1}]},"confirmationStatus":"confirmed"}`
	failedFor = `{"slot":50,"confirmations":null,"err":{"InstructionError":[0,{"Custom":1}]},"confirmationStatus":"finalized"}`
)

// change alters what the node says.
func (n *node) change(how func(*node)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	how(n)
}

// has lets the node know a transaction, by its signature, and by the references that it names.
func (n *node) has(signature wallet.Signature, status string, wire []byte, references ...wallet.Address) {
	n.change(func(n *node) {
		n.statuses[signature], n.wires[signature] = status, wire
		for _, reference := range references {
			n.mentions[reference] = append([]wallet.Signature{signature}, n.mentions[reference]...)
		}
	})
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var request struct {
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		n.t.Error(err)
	}
	n.calls[request.Method]++
	if n.before != nil {
		n.before(n, request.Method)
	}
	if n.silent[""] || n.silent[request.Method] {
		http.Error(w, "no", http.StatusServiceUnavailable)
		return
	}
	result, code := n.answer(request.Method, request.Params)
	if code != 0 {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":"no"}}`, code)
		return
	}
	io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":`+result+`}`)
}

func (n *node) answer(method string, params []json.RawMessage) (result string, code int) {
	read := func(i int, into any) {
		if err := json.Unmarshal(params[i], into); err != nil {
			n.t.Error(err)
		}
	}
	at := n.reads[method]
	if at == 0 {
		at = n.slot
	}
	switch method {
	case "getEpochInfo":
		return fmt.Sprintf(`{"absoluteSlot":%d,"blockHeight":%d,"epoch":1}`, n.slot, n.height), 0
	case "getFirstAvailableBlock":
		return fmt.Sprint(n.first), 0
	case "getSignatureStatuses":
		var names []string
		read(0, &names)
		all := ""
		for i, name := range names {
			status := "null"
			for signature, known := range n.statuses {
				if signature.String() == name {
					status = known
				}
			}
			if i > 0 {
				all += ","
			}
			all += status
		}
		return fmt.Sprintf(`{"context":{"slot":%d},"value":[%s]}`, at, all), 0
	case "getSignaturesForAddress":
		var name string
		var asked struct {
			MinContextSlot uint64 `json:"minContextSlot"`
		}
		read(0, &name)
		read(1, &asked)
		if asked.MinContextSlot > at {
			return "", -32016
		}
		list := []map[string]string{}
		for address, signatures := range n.mentions {
			if address.String() == name {
				for _, signature := range signatures {
					list = append(list, map[string]string{"signature": signature.String()})
				}
			}
		}
		raw, err := json.Marshal(list)
		if err != nil {
			n.t.Error(err)
		}
		return string(raw), 0
	case "getTransaction":
		var name string
		read(0, &name)
		for signature, wire := range n.wires {
			if signature.String() == name && wire != nil {
				return fmt.Sprintf(`{"slot":50,"transaction":[%q,"base64"],"meta":{"fee":5000,"err":null}}`, base64.StdEncoding.EncodeToString(wire)), 0
			}
		}
		return "null", 0
	case "getBlock":
		return `{"blockHeight":40}`, 0
	case "sendTransaction":
		var text string
		read(0, &text)
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(raw) < 65 {
			return "", -32602
		}
		return fmt.Sprintf("%q", wallet.Signature(raw[1:65])), 0 // taken, and forgotten
	}
	n.t.Errorf("unexpected call of %s", method)
	return "", -32601
}

// two is the money path up to the signature, and then two nodes that say what the test wants.
type two struct {
	*harness
	first, second *node
	urls          map[*node]string
}

func (r *two) serverOf(n *node) string { return r.urls[n] }

// newTwo has the settler ask two scripted nodes, which agree: nothing is on chain, and its blocks are far away.
func newTwo(t *testing.T) *two {
	t.Helper()
	r := &two{harness: newHarness(t), urls: map[*node]string{}}
	r.Trouble() // silent nodes are the subject
	var urls []string
	for _, n := range []**node{&r.first, &r.second} {
		*n = &node{t: t, slot: 1_000, height: 900, first: 0, silent: map[string]bool{}, reads: map[string]uint64{}, statuses: map[wallet.Signature]string{},
			mentions: map[wallet.Address][]wallet.Signature{}, wires: map[wallet.Signature][]byte{}, calls: map[string]int{}}
		server := httptest.NewServer(*n)
		t.Cleanup(server.Close)
		urls = append(urls, server.URL)
		r.urls[*n] = server.URL
	}
	client, err := chain.New(chain.Options{RPCURLs: urls, Cluster: wallet.Localnet, Now: r.Now, Timeout: time.Minute})
	r.Must(err)
	t.Cleanup(client.Close)
	r.Settler.Chain = client
	return r
}

func (r *two) both(how func(*node)) {
	r.first.change(how)
	r.second.change(how)
}

// late brings a transaction to where our own clock and the heights of both nodes say that no block can hold it any
// more, unless one does.
func (r *two) late(tx wallet.Transaction) {
	r.Helper()
	r.Rounds(1)
	r.is(tx.ID, wallet.Pending)
	r.both(func(n *node) { n.slot, n.height = 5_000, r.Transaction(tx.ID).LastValidBlockHeight()+1 })
	r.Pass(wallet.NeverLandsAfter)
}

// again lets the settler search once more.
func (r *two) again() {
	r.Helper()
	r.Pass(r.Settler.Pace.Idle + r.Settler.Pace.Search)
	r.Look()
}

func (r *two) held(id wallet.TransactionID) {
	r.Helper()
	if now := r.is(id, wallet.Pending); !now.Indeterminate {
		r.Fatal("nobody can tell, and it is not held")
	}
}

// TestNeverLandedIsTheWordOfBothNodes: one that says nothing to any single question may know better.
func TestNeverLandedIsTheWordOfBothNodes(t *testing.T) {
	for _, method := range []string{"", "getEpochInfo", "getSignatureStatuses", "getSignaturesForAddress", "getFirstAvailableBlock"} {
		t.Run("silent to "+method, func(t *testing.T) {
			r := newTwo(t)
			tx := r.signed("2")
			r.late(tx)
			r.second.change(func(n *node) { n.silent[method] = true })
			r.Look()
			r.held(tx.ID)
			r.again()
			r.held(tx.ID)
			r.second.change(func(n *node) { n.silent[method] = false })
			r.again()
			if got := r.is(tx.ID, wallet.Failed); got.ErrorCode != wallet.BlockhashExpired || !got.Closed {
				t.Errorf("failed as %+v", got)
			}
		})
	}
}

// TestWhatOneNodeKnowsHasLanded, whatever the other does not know: it lags, or lies.
func TestWhatOneNodeKnowsHasLanded(t *testing.T) {
	r := newTwo(t)
	tx := r.signed("2")
	r.late(tx)
	r.second.has(tx.Signature, final, tx.Signed, tx.Reference)
	r.Look()
	r.is(tx.ID, wallet.Confirmed)
}

// TestAFailureIsTheWordOfBothNodes: whoever believed one that lies would pay again.
func TestAFailureIsTheWordOfBothNodes(t *testing.T) {
	for name, test := range map[string]struct {
		second string // what the second node says; "silent" or a status
		want   wallet.Status
		held   bool
	}{
		"the second is silent":           {"silent", wallet.Pending, true},
		"the second knows nothing":       {"null", wallet.Pending, true},
		"the second saw it processed":    {processed, wallet.Pending, true},
		"the second saw it succeed":      {succeeded, wallet.Pending, false}, // until that is final
		"the second knows it succeeded":  {final, wallet.Confirmed, false},
		"the second says the same":       {failedFor, wallet.Failed, false},
		"the second sees it fail lately": {failing, wallet.Failed, false}, // what is final for one is final
	} {
		t.Run(name, func(t *testing.T) {
			r := newTwo(t)
			tx := r.signed("2")
			r.Rounds(1)
			r.is(tx.ID, wallet.Pending)
			r.first.has(tx.Signature, failedFor, tx.Signed, tx.Reference)
			if test.second == "silent" {
				r.second.change(func(n *node) { n.silent[""] = true })
			} else if test.second != "null" {
				r.second.has(tx.Signature, test.second, tx.Signed, tx.Reference)
			}
			r.Rounds(1)
			if got := r.is(tx.ID, test.want); got.Indeterminate != test.held {
				t.Errorf("held: %v, want %v", got.Indeterminate, test.held)
			}
		})
	}
}

// TestAFailureThatIsNotFinalEndsNothing: a fork may have it succeed.
func TestAFailureThatIsNotFinalEndsNothing(t *testing.T) {
	r := newTwo(t)
	tx := r.signed("2")
	for _, n := range []*node{r.first, r.second} {
		n.has(tx.Signature, failing, tx.Signed, tx.Reference)
	}
	for i := range 4 {
		r.again()
		r.second.change(func(n *node) { n.silent[""] = i%2 == 0 })
	}
	if got := r.Transaction(tx.ID); got.Status != wallet.Pending || got.ErrorCode != "" || got.Indeterminate {
		t.Fatalf("it is %s, %s, held %v", got.Status, got.ErrorCode, got.Indeterminate)
	}
}

// twiceIssued has Alice's device ask for a blockhash now, and for another after a while, by both of which it could sign.
func (r *two) twiceIssued(apart time.Duration, blocks int) wallet.Transaction {
	r.Helper()
	tx := r.confirmed("2")
	r.Issue(tx.SignID)
	r.Pass(apart)
	r.Blocks(blocks)
	r.Issue(tx.SignID)
	tx = r.Transaction(tx.ID)
	if len(tx.IssuedBlockhashes) != 2 {
		r.Fatalf("%d blockhashes were issued", len(tx.IssuedBlockhashes))
	}
	return tx
}

// TestThreeMinutesCountFromTheLastBlockhash: with it the device may have signed, and a signature may travel.
func TestThreeMinutesCountFromTheLastBlockhash(t *testing.T) {
	r := newTwo(t)
	tx := r.twiceIssued(2*time.Minute, 1)
	_, err := r.Signing.Reject(t.Context(), handlers.ByLink(tx.SignID))
	r.Must(err)
	r.both(func(n *node) { n.slot, n.height = 5_000, tx.LastValidBlockHeight()+1 })
	r.Pass(wallet.NeverLandsAfter - time.Second)
	r.Look()
	if got := r.is(tx.ID, wallet.Rejected); got.Closed {
		t.Fatal("it is closed although a device may have signed it less than three minutes ago")
	}
	r.Pass(time.Second)
	r.again()
	if got := r.is(tx.ID, wallet.Rejected); !got.Closed {
		t.Fatal("three minutes after the last blockhash it is still open")
	}
}

// TestBlocksCountFromTheHighestBlockhash: the last one issued need not be it, and one block less is too early.
func TestBlocksCountFromTheHighestBlockhash(t *testing.T) {
	r := newTwo(t)
	tx := r.signed("2")
	r.late(tx)
	r.both(func(n *node) { n.height = tx.LastValidBlockHeight() })
	r.Look()
	r.held(tx.ID)
	r.first.change(func(n *node) { n.height++ })
	r.again()
	r.held(tx.ID) // the other node's finalized block could still hold it
	if told := slices.DeleteFunc(r.Events(tx.ID), func(name wallet.EventName) bool { return name != wallet.TransactionHeld }); len(told) != 1 {
		t.Errorf("after two looks the owner was told %d times that nobody can tell", len(told))
	}
	r.second.change(func(n *node) { n.height++ })
	r.again()
	r.is(tx.ID, wallet.Failed)
}

// TestHistoryMustReachBackToTheFirstBlockhash: whatever was signed with it may be in a block that a node with a short
// memory has forgotten.
func TestHistoryMustReachBackToTheFirstBlockhash(t *testing.T) {
	r := newTwo(t)
	tx := r.twiceIssued(time.Minute, 50)
	early, late := tx.IssuedBlockhashes[0].Blockhash.Slot, tx.IssuedBlockhashes[1].Blockhash.Slot
	if early >= late {
		t.Fatal("both blockhashes are of one slot")
	}
	_, err := r.Signing.Reject(t.Context(), handlers.ByLink(tx.SignID))
	r.Must(err)
	r.both(func(n *node) { n.slot, n.height = 5_000, tx.LastValidBlockHeight()+1 })
	r.Pass(wallet.NeverLandsAfter)
	for _, short := range []*node{r.first, r.second} {
		short.change(func(n *node) { n.first = early + 1 })
		r.again()
		if got := r.is(tx.ID, wallet.Rejected); got.Closed {
			t.Fatal("closed on the word of a node that has forgotten the first blockhash's time")
		}
		short.change(func(n *node) { n.first = early })
	}
	r.again()
	if got := r.is(tx.ID, wallet.Rejected); !got.Closed {
		t.Fatal("still open, although both see back")
	}
}

// TestTheHeightIsReadBeforeTheLook: a transaction may land in its last block while nodes are asked for it. Only a look
// that began after that block proves that it is in none.
func TestTheHeightIsReadBeforeTheLook(t *testing.T) {
	r := newTwo(t)
	tx := r.signed("2")
	r.late(tx)
	r.second.change(func(n *node) {
		n.height = tx.LastValidBlockHeight()
		n.before = func(n *node, method string) {
			if method == "getSignaturesForAddress" { // the last look: now its last block comes, and holds it
				n.height, n.before = tx.LastValidBlockHeight()+1, nil
			}
		}
	})
	r.Look()
	r.held(tx.ID)
	for _, n := range []*node{r.first, r.second} {
		n.has(tx.Signature, final, tx.Signed, tx.Reference)
	}
	r.again()
	r.is(tx.ID, wallet.Confirmed)
}

// TestALaggingNodeKnowsOfNothing: an address may stand for many machines. One that is behind the finalized height that
// its neighbour told cannot say that nothing is there.
func TestALaggingNodeKnowsOfNothing(t *testing.T) {
	for _, lags := range []string{"first", "second"} {
		t.Run(lags, func(t *testing.T) {
			r := newTwo(t)
			tx := r.signed("2")
			r.late(tx)
			n := map[string]*node{"first": r.first, "second": r.second}[lags]
			n.change(func(n *node) { n.reads["getSignatureStatuses"] = n.slot - 1 })
			r.Look()
			r.held(tx.ID)
			n.change(func(n *node) { n.reads["getSignatureStatuses"] = n.slot })
			r.again()
			r.is(tx.ID, wallet.Failed)
		})
		t.Run(lags+", looking for a reference", func(t *testing.T) {
			r := newTwo(t)
			tx := r.twiceIssued(time.Minute, 1)
			_, err := r.Signing.Reject(t.Context(), handlers.ByLink(tx.SignID))
			r.Must(err)
			r.both(func(n *node) { n.slot, n.height = 5_000, tx.LastValidBlockHeight()+1 })
			r.Pass(wallet.NeverLandsAfter)
			n := map[string]*node{"first": r.first, "second": r.second}[lags]
			n.change(func(n *node) { n.reads["getSignaturesForAddress"] = n.slot - 1 })
			r.again()
			if got := r.is(tx.ID, wallet.Rejected); got.Closed {
				t.Fatal("closed on the word of a node that lags")
			}
			n.change(func(n *node) { n.reads["getSignaturesForAddress"] = 0 })
			r.again()
			if got := r.is(tx.ID, wallet.Rejected); !got.Closed {
				t.Fatal("still open")
			}
		})
	}
}

// paying is a transaction that pays Bob and is fee-paid by payer, with Alice as the one who pays.
func (r *two) paying(payer *world.Person, tx wallet.Transaction, reference wallet.Address) ([]byte, wallet.Signature) {
	r.Helper()
	key := func(a wallet.Address) solanago.PublicKey { return solanago.PublicKey(a) }
	accounts := solanago.AccountMetaSlice{solanago.Meta(key(r.alice.Address())).WRITE().SIGNER(), solanago.Meta(key(tx.To)).WRITE(), solanago.Meta(key(reference))}
	made, err := solanago.NewTransaction([]solanago.Instruction{
		solanago.NewInstruction(solanago.SystemProgramID, accounts, binary.LittleEndian.AppendUint64([]byte{2, 0, 0, 0}, tx.Amount)),
	}, solanago.Hash{9}, solanago.TransactionPayer(key(payer.Address())))
	r.Must(err)
	_, err = made.Sign(func(k solanago.PublicKey) *solanago.PrivateKey {
		for _, p := range []*world.Person{r.alice, payer} {
			if wallet.Address(k) == p.Address() {
				private := solanago.PrivateKey(p.Key)
				return &private
			}
		}
		return nil
	})
	r.Must(err)
	wire, err := made.MarshalBinary()
	r.Must(err)
	return wire, wallet.Signature(made.Signatures[0])
}

// TestOnlyWhatIsOursHasLanded: nodes list transactions under a reference, and may list others. Yesterday's payment of
// the same amount to the same recipient is not today's, and what somebody else pays the fee for is not ours.
func TestOnlyWhatIsOursHasLanded(t *testing.T) {
	for name, test := range map[string]struct {
		payer     func(*two) *world.Person
		reference func(wallet.Transaction) wallet.Address
		ours      bool
	}{
		"ours, with another fee": {func(r *two) *world.Person { return r.alice }, func(tx wallet.Transaction) wallet.Address { return tx.Reference }, true},
		"another reference":      {func(r *two) *world.Person { return r.alice }, func(wallet.Transaction) wallet.Address { return wallet.Address{5: 1} }, false},
		"another fee payer":      {func(r *two) *world.Person { return r.bob }, func(tx wallet.Transaction) wallet.Address { return tx.Reference }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTwo(t)
			tx := r.confirmed("2")
			r.Issue(tx.SignID)
			_, err := r.Signing.Reject(t.Context(), handlers.ByLink(tx.SignID))
			r.Must(err)
			tx = r.Transaction(tx.ID)
			wire, signature := r.paying(test.payer(r), tx, test.reference(tx))
			for _, n := range []*node{r.first, r.second} {
				n.has(signature, final, wire, tx.Reference)
			}
			r.both(func(n *node) { n.slot, n.height = 5_000, tx.LastValidBlockHeight()+1 })
			r.Pass(wallet.NeverLandsAfter)
			r.again()
			got := r.Transaction(tx.ID)
			if landed := got.Status == wallet.Confirmed; landed != test.ours || !landed && got.Status != wallet.Rejected || !got.Closed {
				t.Errorf("it is %s, final %v", got.Status, got.Closed)
			}
		})
	}
}

// TestTheOrderOfAHistoryDecidesNothing: a node may list what it has in any order, and the same payment may have failed
// once and succeeded later.
func TestTheOrderOfAHistoryDecidesNothing(t *testing.T) {
	for _, order := range []string{"failure first", "success first"} {
		t.Run(order, func(t *testing.T) {
			r := newTwo(t)
			tx := r.confirmed("2")
			r.Issue(tx.SignID)
			_, err := r.Signing.Reject(t.Context(), handlers.ByLink(tx.SignID))
			r.Must(err)
			tx = r.Transaction(tx.ID)
			good, signature := r.paying(r.alice, tx, tx.Reference)
			again := wallet.Transaction{From: tx.From, To: tx.To, Amount: tx.Amount, Reference: tx.Reference, ComputeUnitLimit: 900, ComputeUnitPrice: 10}
			message, err := chain.Codec{}.Build(again, wallet.TransferActions(again))
			r.Must(err)
			bad, err := chain.Assemble(message, r.alice.Sign(message))
			r.Must(err)
			for _, n := range []*node{r.first, r.second} {
				if order == "failure first" {
					n.has(r.alice.Sign(message), failedFor, bad, tx.Reference)
				}
				n.has(signature, final, good, tx.Reference)
				if order != "failure first" {
					n.has(r.alice.Sign(message), failedFor, bad, tx.Reference)
				}
			}
			r.again()
			if got := r.is(tx.ID, wallet.Confirmed); got.Signature != signature {
				t.Errorf("found as %s", got.Signature)
			}
		})
	}
}

// TestAStatusMayGoFromNothingToFinalized: with finality after one slot nobody ever sees a transaction confirmed only.
func TestAStatusMayGoFromNothingToFinalized(t *testing.T) {
	r := newTwo(t)
	tx := r.signed("2")
	r.Rounds(2)
	r.is(tx.ID, wallet.Pending)
	for _, n := range []*node{r.first, r.second} {
		n.has(tx.Signature, final, tx.Signed, tx.Reference)
	}
	r.Rounds(1)
	got := r.is(tx.ID, wallet.Confirmed)
	if !got.Closed || got.Landing == nil || got.Landing.Confirmations != 32 || got.Landing.BlockHeight != 40 || got.ConfirmedAt.IsZero() {
		t.Errorf("closed as %+v", got)
	}
	told := r.Events(tx.ID)
	if n := len(told); n < 2 || told[n-2] != wallet.TransactionConfirmed || told[n-1] != wallet.TransactionFinalized {
		t.Errorf("announced %v", told)
	}
	if in := r.received(); len(in) != 1 || in[0].Amount != 2*sol {
		t.Errorf("Bob was told %+v", in)
	}
}
