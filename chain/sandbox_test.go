package chain

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"purser/sandbox/solana"
	"purser/wallet"
)

// secretPath stands for the API key that RPC addresses often hold.
const secretPath = "/v2/s3cr3t-key"

// world is a sandbox cluster behind a real socket and a client of it. Slots pass by Advance only.
type world struct {
	*solana.Cluster
	*Client
	t *testing.T
}

func newWorld(t *testing.T, change ...func(*Options)) world {
	t.Helper()
	cluster, url := newCluster(t)
	o := Options{
		RPCURLs: []string{url + secretPath},
		WSURL:   "ws" + strings.TrimPrefix(url, "http") + secretPath,
		Cluster: wallet.Localnet,
		Now:     time.Now,
	}
	for _, f := range change {
		f(&o)
	}
	client, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return world{cluster, client, t}
}

func newCluster(t *testing.T) (*solana.Cluster, string) {
	t.Helper()
	cluster, err := solana.Open(solana.Options{Seed: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cluster.Handler())
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil { // lets go of hanging requests
			t.Error(err)
		}
		server.Close()
	})
	if err := cluster.Advance(200); err != nil {
		t.Fatal(err)
	}
	return cluster, server.URL
}

func (w world) advance(n int) {
	w.t.Helper()
	if err := w.Advance(n); err != nil {
		w.t.Fatal(err)
	}
}

// fund gives an address SOL that is there at once at every commitment.
func (w world) fund(a wallet.Address, lamports uint64) {
	w.t.Helper()
	if _, err := w.Airdrop(w.t.Context(), a.String(), lamports); err != nil {
		w.t.Fatal(err)
	}
	w.advance(40)
}

// sent is a transfer that its sender has signed.
type sent struct {
	wire      []byte
	message   []byte
	signature wallet.Signature
	blockhash wallet.Blockhash
	query     wallet.TransactionQuery
}

// sign builds a transfer with the newest blockhash and signs it.
func (w world) sign(key testPrivateKey, transfer wallet.Transaction) sent {
	w.t.Helper()
	transfer.From = key.address()
	message, err := buildTransfer(transfer)
	if err != nil {
		w.t.Fatal(err)
	}
	blockhash, err := w.Blockhash(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if message, err = WithBlockhash(message, blockhash.Hash); err != nil {
		w.t.Fatal(err)
	}
	signature := key.sign(message)
	wire, err := Assemble(message, signature)
	if err != nil {
		w.t.Fatal(err)
	}
	return sent{wire, message, signature, blockhash, queryFor(signature, transfer)}
}

// queryFor looks for a transfer, by a signature or by none.
func queryFor(signature wallet.Signature, transfer wallet.Transaction) wallet.TransactionQuery {
	return wallet.TransactionQuery{Signature: signature, Reference: transfer.Reference, From: transfer.From, Actions: wallet.TransferActions(transfer)}
}

// payee is whom the SOL transfer of a query pays.
func payee(query wallet.TransactionQuery) wallet.Address { return query.Actions[0].To }

func (w world) broadcast(s sent) {
	w.t.Helper()
	if err := w.Broadcast(w.t.Context(), s.wire); err != nil {
		w.t.Fatal(err)
	}
}

// status is what Statuses says of one signature, with its Details.
func (w world) status(sig wallet.Signature) *wallet.Landing {
	w.t.Helper()
	landings, err := w.Statuses(w.t.Context(), []wallet.Signature{sig})
	if err != nil || len(landings) != 1 {
		w.t.Fatalf("statuses: %v, %v", landings, err)
	}
	if landings[0] != nil {
		w.Details(w.t.Context(), landings[0])
	}
	return landings[0]
}

func (w world) find(query wallet.TransactionQuery) *wallet.Landing {
	w.t.Helper()
	landing, err := w.Find(w.t.Context(), query)
	if err != nil {
		w.t.Fatal(err)
	}
	return landing
}

// fault lets calls of one method fail; method "" means all.
func (w world) fault(method string, f solana.Fault) {
	w.SetFault(func(called string, _ json.RawMessage) solana.Fault {
		if method == "" || called == method {
			return f
		}
		return solana.Fault{}
	})
}

// nobodyKnows fails unless err is a NetworkError without a word of the address.
func nobodyKnows(t *testing.T, err error) {
	t.Helper()
	if wallet.CodeOf(err) != wallet.NetworkError || wallet.ReasonOf(err).IsZero() {
		t.Fatalf("got %v, want %s", err, wallet.NetworkError)
	}
	keepsSecret(t, err)
}

func keepsSecret(t *testing.T, err error) {
	t.Helper()
	if text := err.Error(); strings.Contains(text, "s3cr3t") || strings.Contains(text, "127.0.0.1") || strings.Contains(text, "http:") {
		t.Fatalf("the error holds the address: %s", text)
	}
}

func TestTransferFromMessageToFinality(t *testing.T) {
	w := newWorld(t)
	alice, bob, reference := testKey(1), testKey(2).address(), testKey(3).address()
	w.fund(alice.address(), 2_000_000_000)

	s := w.sign(alice, wallet.Transaction{To: bob, Reference: reference, Amount: 1_500_000_000, Memo: "rent", ComputeUnitLimit: 100_000, ComputeUnitPrice: 15})
	const fee = 5_002 // 1.5 lamports of priority, rounded up
	w.broadcast(s)
	if got := w.status(s.signature); got != nil {
		t.Fatalf("landed before any block: %+v", got)
	}
	w.advance(1)
	if got := w.status(s.signature); got != nil {
		t.Fatalf("counted while only processed: %+v", got)
	}
	height := w.Height()
	w.advance(1)
	got := w.status(s.signature)
	if got == nil {
		t.Fatal("confirmed, but not found")
	}
	want := wallet.Landing{Signature: s.signature, Slot: got.Slot, BlockHeight: height, Fee: fee, Spent: 1_500_000_000 + fee, Confirmations: 1}
	if *got != want || got.Slot < height {
		t.Fatalf("got %+v, want %+v", *got, want)
	}
	if found := w.find(s.query); found == nil || *found != want {
		t.Fatalf("by signature: got %+v, want %+v", found, want)
	}
	bySearch := s.query
	bySearch.Signature = wallet.Signature{}
	if found := w.find(bySearch); found == nil || *found != want {
		t.Fatalf("by reference: got %+v, want %+v", found, want)
	}
	accounts, err := w.Accounts(t.Context(), []wallet.Address{alice.address(), bob, reference})
	if err != nil {
		t.Fatal(err)
	}
	if accounts[0].Lamports != 500_000_000-fee || accounts[1].Lamports != 1_500_000_000 || accounts[2].Exists {
		t.Errorf("accounts: %+v", accounts)
	}
	if accounts[0].Slot < got.Slot || accounts[0].Slot != accounts[2].Slot {
		t.Errorf("read at slots %d and %d, landed at %d", accounts[0].Slot, accounts[2].Slot, got.Slot)
	}

	w.advance(40)
	want.Finalized, want.Confirmations = true, 32
	if got := w.status(s.signature); got == nil || *got != want {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	w.advance(400) // beyond the node's recent memory
	if got := w.status(s.signature); got != nil {
		t.Errorf("the cheap poll searched history: %+v", got)
	}
	if found, certain, err := w.FindEverywhere(t.Context(), s.query); err != nil || !certain || found == nil || *found != want {
		t.Errorf("everywhere: %+v, %v, %v", found, certain, err)
	}
	w.broadcastAgain(s)
}

// broadcastAgain sends bytes that have landed long ago.
func (w world) broadcastAgain(s sent) {
	w.t.Helper()
	var refused *wallet.PreflightError
	if err := w.Broadcast(w.t.Context(), s.wire); !errors.As(err, &refused) || refused.Failure != wallet.BlockhashExpired {
		w.t.Errorf("bytes of an expired blockhash: %v", err)
	}
}

func TestBytesThatLandedAlreadyAreNoError(t *testing.T) {
	w := newWorld(t)
	alice := testKey(1)
	w.fund(alice.address(), 1_000_000_000)
	s := w.sign(alice, wallet.Transaction{To: testKey(2).address(), Amount: 10_000_000})
	w.broadcast(s)
	w.broadcast(s) // still waiting
	w.advance(2)
	w.broadcast(s) // AlreadyProcessed
	w.advance(2)
	if landed := w.Landed(); len(landed) != 2 { // the airdrop and one transfer
		t.Fatalf("landed: %+v", landed)
	}
}

func TestFeeChangedByTheWalletIsFoundByReference(t *testing.T) {
	w := newWorld(t)
	alice, bob, reference := testKey(1), testKey(2).address(), testKey(3).address()
	w.fund(alice.address(), 1_000_000_000)
	asked := w.sign(alice, wallet.Transaction{To: bob, Reference: reference, Amount: 5_000_000})
	landed := w.sign(alice, wallet.Transaction{To: bob, Reference: reference, Amount: 5_000_000, ComputeUnitLimit: 200_000, ComputeUnitPrice: 1_000})
	w.broadcast(landed)
	w.advance(3)
	found := w.find(asked.query)
	if found == nil || found.Signature != landed.signature || found.Fee != 5_200 || found.Failure != "" {
		t.Fatalf("got %+v", found)
	}
}

func TestOthersUseOfAReferenceIsNotOurs(t *testing.T) {
	w := newWorld(t)
	alice, mallory, bob, reference := testKey(1), testKey(4), testKey(2).address(), testKey(3).address()
	w.fund(alice.address(), 1_000_000_000)
	w.fund(mallory.address(), 1_000_000_000)
	ours := w.sign(alice, wallet.Transaction{To: bob, Reference: reference, Amount: 5_000_000})

	w.broadcast(w.sign(mallory, wallet.Transaction{To: bob, Reference: reference, Amount: 5_000_000}))                // another payer
	w.broadcast(w.sign(alice, wallet.Transaction{To: bob, Reference: reference, Amount: 5_000_001}))                  // another amount
	w.broadcast(w.sign(alice, wallet.Transaction{To: testKey(5).address(), Reference: reference, Amount: 5_000_000})) // another recipient
	w.broadcast(w.sign(alice, wallet.Transaction{To: bob, Reference: testKey(6).address(), Amount: 5_000_000}))       // another reference
	w.advance(40)
	if landed := w.Landed(); len(landed) != 6 {
		t.Fatalf("the controls did not land: %+v", landed)
	}
	if found := w.find(ours.query); found != nil {
		t.Fatalf("took another transaction for ours: %+v", found)
	}
	if found, certain, err := w.FindEverywhere(t.Context(), ours.query); found != nil || !certain || err != nil {
		t.Fatalf("everywhere: %+v, %v, %v", found, certain, err)
	}
	w.broadcast(ours)
	w.advance(2)
	query := ours.query
	query.Signature = wallet.Signature{}
	if found := w.find(query); found == nil || found.Signature != ours.signature {
		t.Fatalf("ours among others: %+v", found)
	}
}

func TestSuccessIsPreferredToFailure(t *testing.T) {
	w := newWorld(t)
	alice, bob, reference := testKey(1), testKey(2).address(), testKey(3).address()
	w.fund(alice.address(), 1_000_000_000)
	// Each is affordable alone, so preflight lets both pass; together they are not.
	first := w.sign(alice, wallet.Transaction{To: testKey(5).address(), Amount: 600_000_000})
	second := w.sign(alice, wallet.Transaction{To: bob, Reference: reference, Amount: 600_000_000})
	w.broadcast(first)
	w.broadcast(second)
	w.advance(2)
	failed := w.status(second.signature)
	if failed == nil || failed.Failure != "InstructionError 0: Custom 1" || failed.Fee != 5_000 {
		t.Fatalf("got %+v", failed)
	}
	if found := w.find(second.query); found == nil || *found != *failed {
		t.Fatalf("got %+v, want %+v", found, failed)
	}
	w.fund(alice.address(), 1_000_000_000)
	third := w.sign(alice, wallet.Transaction{To: bob, Reference: reference, Amount: 600_000_000})
	w.broadcast(third)
	w.advance(2)
	if found := w.find(second.query); found == nil || found.Signature != third.signature || found.Failure != "" {
		t.Fatalf("got %+v", found)
	}
}

func TestRefusedByPreflight(t *testing.T) {
	w := newWorld(t)
	alice, poor, bob := testKey(1), testKey(4), testKey(2).address()
	w.fund(alice.address(), 1_000_000_000)

	wrong := w.sign(alice, wallet.Transaction{To: bob, Amount: 5_000_000})
	wrong.wire[5] ^= 1
	expired := w.sign(alice, wallet.Transaction{To: bob, Amount: 5_000_000})
	unsoundBlockhash, err := WithBlockhash(expired.message, [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := Assemble(unsoundBlockhash, alice.sign(unsoundBlockhash))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		wire []byte
		want wallet.Failure
	}{
		"more than the balance":         {w.sign(alice, wallet.Transaction{To: bob, Amount: 2_000_000_000}).wire, wallet.InsufficientBalance},
		"nothing left for the fee":      {w.sign(alice, wallet.Transaction{To: bob, Amount: 1_000_000_000}).wire, wallet.InsufficientBalance},
		"sender left under the minimum": {w.sign(alice, wallet.Transaction{To: bob, Amount: 999_994_000}).wire, wallet.InsufficientBalance},
		"an empty wallet":               {w.sign(poor, wallet.Transaction{To: bob, Amount: 5_000_000}).wire, wallet.InsufficientBalance},
		"recipient under the minimum":   {w.sign(alice, wallet.Transaction{To: bob, Amount: 1}).wire, wallet.SimulationFailed},
		"a wrong signature":             {wrong.wire, wallet.ChainError},
		"an unknown blockhash":          {unknown, wallet.BlockhashExpired},
	} {
		t.Run(name, func(t *testing.T) {
			var refused *wallet.PreflightError
			err := w.Broadcast(t.Context(), test.wire)
			if !errors.As(err, &refused) || refused.Failure != test.want || refused.Reason.IsZero() {
				t.Fatalf("got %v, want %s", err, test.want)
			}
			keepsSecret(t, err)
		})
	}
	var notAllowed *NotAllowed
	if err := w.Broadcast(t.Context(), []byte("no transaction")); !errors.As(err, &notAllowed) {
		t.Errorf("garbage of our own: %v", err)
	}
	w.advance(5)
	if len(w.Landed()) != 1 {
		t.Errorf("landed: %+v", w.Landed())
	}
}

func TestLostAnswerIsNotAFailure(t *testing.T) {
	w := newWorld(t)
	alice := testKey(1)
	w.fund(alice.address(), 1_000_000_000)
	s := w.sign(alice, wallet.Transaction{To: testKey(2).address(), Amount: 5_000_000})
	w.fault("sendTransaction", solana.Fault{DropAnswer: true})
	nobodyKnows(t, w.Broadcast(t.Context(), s.wire))
	w.SetFault(nil)
	w.advance(2)
	if got := w.status(s.signature); got == nil || got.Failure != "" {
		t.Fatalf("it landed, but: %+v", got)
	}
}

func TestSwallowedBytesLandWhenSentAgain(t *testing.T) {
	w := newWorld(t)
	alice := testKey(1)
	w.fund(alice.address(), 1_000_000_000)
	s := w.sign(alice, wallet.Transaction{To: testKey(2).address(), Amount: 5_000_000})
	w.fault("sendTransaction", solana.Fault{Swallow: true})
	w.broadcast(s)
	w.advance(10)
	if got := w.status(s.signature); got != nil {
		t.Fatalf("swallowed, but: %+v", got)
	}
	w.SetFault(nil)
	w.broadcast(s)
	w.advance(2)
	if got := w.status(s.signature); got == nil {
		t.Fatal("sent again, but not landed")
	}
}

func TestExpiryCanBeProven(t *testing.T) {
	w := newWorld(t)
	alice := testKey(1)
	w.fund(alice.address(), 1_000_000_000)
	s := w.sign(alice, wallet.Transaction{To: testKey(2).address(), Reference: testKey(3).address(), Amount: 5_000_000})
	w.fault("sendTransaction", solana.Fault{Swallow: true})
	w.broadcast(s)
	w.SetFault(nil)
	height, err := w.FinalizedBlockHeight(t.Context())
	if err != nil || height > s.blockhash.LastValidBlockHeight {
		t.Fatalf("finalized height %d, %v: valid until %d", height, err, s.blockhash.LastValidBlockHeight)
	}
	w.advance(150 + 40)
	if height, err = w.FinalizedBlockHeight(t.Context()); err != nil || height <= s.blockhash.LastValidBlockHeight {
		t.Fatalf("finalized height %d, %v: valid until %d", height, err, s.blockhash.LastValidBlockHeight)
	}
	if found, certain, err := w.FindEverywhere(t.Context(), s.query); found != nil || !certain || err != nil {
		t.Fatalf("got %+v, %v, %v", found, certain, err)
	}
	if sees, err := w.CanSeeBackTo(t.Context(), s.blockhash.Slot); err != nil || !sees {
		t.Fatalf("sees back: %v, %v", sees, err)
	}
	w.broadcastAgain(s)
}

func TestRolledBackTransactionIsUnknownAgain(t *testing.T) {
	w := newWorld(t)
	alice := testKey(1)
	w.fund(alice.address(), 1_000_000_000)
	s := w.sign(alice, wallet.Transaction{To: testKey(2).address(), Amount: 5_000_000})
	w.broadcast(s)
	w.advance(2)
	first := w.status(s.signature)
	if err := w.Fork(3); err != nil || first == nil {
		t.Fatal(first, err)
	}
	if got := w.status(s.signature); got != nil {
		t.Fatalf("rolled back, but: %+v", got)
	}
	w.advance(5)
	w.broadcast(s)
	height := w.Height() + 1
	w.advance(2)
	if got := w.status(s.signature); got == nil || got.Slot == first.Slot || got.BlockHeight != height {
		t.Fatalf("landed again: got %+v at height %d, first %+v", got, height, first)
	}
}
