package chain

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gagliardetto/solana-go"

	"purser/wallet"
)

// onChain is a transaction as a scripted node tells of it.
type onChain struct {
	signature wallet.Signature
	wire      []byte // of getTransaction
	version   int    // the node refuses to show it to whoever reads only older ones
	answer    string // of getTransaction, in the place of wire
	status    string // of getSignatureStatuses; "" is finalized without error
}

// archive is a node with a history, newest first, of one address. unknownBefore has it answer that it does not
// know the place to go on from, as another machine behind the same address does; heavy is what each entry of
// its list weighs besides.
type archive struct {
	t             *testing.T
	history       []onChain
	unknownBefore bool
	heavy         int

	mu    sync.Mutex
	shown map[wallet.Signature]int // calls of getTransaction
}

func (a *archive) client() *Client { return clientOf(a.t, newServer(a.t, a)) }

func (a *archive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		a.t.Error(err)
	}
	var asked struct {
		Limit   int    `json:"limit"`
		Before  string `json:"before"`
		Version *int   `json:"maxSupportedTransactionVersion"`
	}
	if err := json.Unmarshal(request.Params[len(request.Params)-1], &asked); err != nil {
		a.t.Error(err)
	}
	fail := func(code int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":"s3cr3t"}}`, code)
	}
	answer := ""
	switch request.Method {
	case "getSignaturesForAddress":
		answer = a.list(asked.Before, asked.Limit)
		if asked.Before != "" && a.unknownBefore {
			answer = fail(-32020)
		}
	case "getSignatureStatuses":
		var names []string
		if err := json.Unmarshal(request.Params[0], &names); err != nil {
			a.t.Error(err)
		}
		status := "null"
		if found := a.find(names[0]); found != nil {
			if status = found.status; status == "" {
				status = `{"slot":80,"confirmations":null,"err":null,"confirmationStatus":"finalized"}`
			}
		}
		answer = result(`{"context":{"slot":90},"value":[` + status + `]}`)
	case "getTransaction":
		var name string
		if err := json.Unmarshal(request.Params[0], &name); err != nil {
			a.t.Error(err)
		}
		found := a.find(name)
		a.mu.Lock()
		if found != nil {
			a.shown[found.signature]++
		}
		a.mu.Unlock()
		switch {
		case found == nil:
			answer = result("null")
		case asked.Version == nil || found.version > *asked.Version:
			answer = fail(-32015)
		case found.answer != "":
			answer = found.answer
		default:
			answer = result(fmt.Sprintf(`{"slot":80,"transaction":[%q,"base64"],"meta":{"fee":5000,"err":null%s}}`, base64.StdEncoding.EncodeToString(found.wire), balances(found.wire)))
		}
	case "getBlock":
		answer = result(`{"blockHeight":70}`)
		if asked.Version == nil || *asked.Version < 1 {
			answer = fail(-32015)
		}
	default:
		a.t.Errorf("unexpected call of %s", request.Method)
	}
	io.WriteString(w, answer)
}

// balances are those before and after the transfers of SOL in a transaction, whose accounts hold a SOL each.
func balances(wire []byte) string {
	_, _, m, err := disassemble(wire)
	if err != nil {
		return ""
	}
	pre, post := make([]uint64, len(m.keys)), make([]uint64, len(m.keys))
	for i := range m.keys {
		pre[i], post[i] = 1_000_000_000_000, 1_000_000_000_000
	}
	post[0] -= 5000
	for _, in := range m.instructions {
		if moves, ok := movementOf(m.keys[in.program], len(in.accounts), in.data); ok {
			post[in.accounts[moves.from]] -= moves.units
			post[in.accounts[moves.to]] += moves.units
		}
	}
	return fmt.Sprintf(`,"preBalances":%s,"postBalances":%s`, strings.ReplaceAll(fmt.Sprint(pre), " ", ","), strings.ReplaceAll(fmt.Sprint(post), " ", ","))
}

func (a *archive) find(name string) *onChain {
	for i := range a.history {
		if a.history[i].signature.String() == name {
			return &a.history[i]
		}
	}
	return nil
}

func (a *archive) list(before string, limit int) string {
	rest := a.history
	for i, one := range rest {
		if one.signature.String() == before {
			rest = rest[i+1:]
			break
		}
	}
	memo := strings.Repeat("m", a.heavy)
	page := []map[string]string{}
	for _, one := range rest[:min(limit, len(rest))] {
		page = append(page, map[string]string{"signature": one.signature.String(), "memo": memo})
	}
	raw, err := json.Marshal(page)
	if err != nil {
		a.t.Error(err)
	}
	return result(string(raw))
}

// newArchive has a history of strangers' mentions and payments.
func newArchive(t *testing.T, history ...onChain) *archive {
	return &archive{t: t, history: history, shown: map[wallet.Signature]int{}}
}

// legacyPayment is a payment of units to Bob that names a reference, by key n.
func legacyPayment(t *testing.T, n byte, units uint64, reference wallet.Address) onChain {
	t.Helper()
	key := testKey(n)
	message, err := buildTransfer(wallet.Transaction{From: key.address(), To: testKey(2).address(), Reference: reference, Amount: units})
	if err != nil {
		t.Fatal(err)
	}
	signature := key.sign(message)
	wire, err := Assemble(message, signature)
	if err != nil {
		t.Fatal(err)
	}
	return onChain{signature: signature, wire: wire}
}

// version1 is such a payment as a version 1 transaction, built and signed by solana-go.
func version1(t testing.TB, n byte, units uint64, references ...wallet.Address) ([]byte, wallet.Signature) {
	t.Helper()
	key := solana.PrivateKey(testKey(n).PrivateKey)
	accounts := solana.AccountMetaSlice{solana.Meta(key.PublicKey()).WRITE().SIGNER(), solana.Meta(solana.PublicKey(testKey(2).address())).WRITE()}
	for _, reference := range references {
		accounts = append(accounts, solana.Meta(solana.PublicKey(reference)))
	}
	data := binary.LittleEndian.AppendUint64([]byte{2, 0, 0, 0}, units)
	tx, err := solana.NewTransaction([]solana.Instruction{
		solana.NewInstruction(solana.PublicKey(memoProgramV4), nil, []byte(strings.Repeat("a memo that no packet holds ", 60))),
		solana.NewInstruction(solana.SystemProgramID, accounts, data),
	}, solana.Hash{7}, solana.TransactionPayer(key.PublicKey()), solana.TransactionV1Config(solana.TransactionConfig{}.
		WithComputeUnitLimit(20_000).WithPriorityFee(1_000).WithLoadedAccountsDataSizeLimit(1<<16).WithHeapSize(64<<10)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Sign(func(solana.PublicKey) *solana.PrivateKey { return &key }); err != nil {
		t.Fatal(err)
	}
	wire, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return wire, wallet.Signature(tx.Signatures[0])
}

func version1Payment(t *testing.T, n byte, units uint64, reference wallet.Address) onChain {
	t.Helper()
	wire, signature := version1(t, n, units, reference)
	return onChain{signature: signature, wire: wire, version: 1}
}

func TestVersion1IsReadAsTheLibraryWritesIt(t *testing.T) {
	reference := testKey(3).address()
	wire, signature := version1(t, 1, 1_500_000_000, reference)
	if len(wire) <= packetSize {
		t.Fatalf("only %d bytes: this proves little", len(wire))
	}
	signatures, raw, m, err := disassemble(wire)
	if err != nil {
		t.Fatal(err)
	}
	if len(signatures) != 1 || signatures[0] != signature || !VerifySignature(raw, testKey(1).address(), signature) {
		t.Errorf("signatures: %v", signatures)
	}
	if m.version != "v1" || m.blockhash != [32]byte{7} || m.keys[0] != testKey(1).address() || len(m.instructions) != 2 {
		t.Errorf("read as %+v", m)
	}
	if p, ok := m.transferred(m.instructions[1], wallet.SOL); !ok || p.units != 1_500_000_000 || p.from != testKey(1).address() ||
		p.destination != testKey(2).address() || !slices.Equal(p.references, []wallet.Address{reference}) {
		t.Errorf("the transfer is read as %+v, %v", p, ok)
	}
	if raw[m.blockhashAt] != 7 {
		t.Errorf("the blockhash is said to be at %d", m.blockhashAt)
	}
	for length := range wire {
		if _, _, _, err := disassemble(wire[:length]); err == nil {
			t.Fatalf("cut to %d bytes it is still read", length)
		}
	}
	for name, broken := range map[string][]byte{
		"a byte too many": append(slices.Clone(wire), 0), "too large": append(slices.Clone(wire), make([]byte, 4096)...),
		"65 addresses": set(wire, 1+3+4+32+1, 65), "65 instructions": set(wire, 1+3+4+32, 65), "13 signers": set(wire, 1, 13), "no signers": set(wire, 1, 0),
		"version 2": set(wire, 0, 0x82),
	} {
		var refused *NotAllowed
		if _, _, _, err := disassemble(broken); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func set(raw []byte, at int, to byte) []byte {
	raw = slices.Clone(raw)
	raw[at] = to
	return raw
}

// FuzzVersion1 holds our reader of version 1 against solana-go's, which may panic on foreign bytes.
func FuzzVersion1(f *testing.F) {
	wire, _ := version1(f, 1, 5, testKey(3).address())
	f.Add(wire)
	f.Add(wire[:200])
	f.Fuzz(func(t *testing.T, wire []byte) {
		if len(wire) == 0 || wire[0] != wallet.MessageV1Prefix {
			return
		}
		signatures, raw, m, err := disassemble(wire)
		if err != nil {
			return
		}
		theirs := libraryReads(wire)
		if theirs == nil {
			return // it refuses configurations that say nothing to us
		}
		if len(theirs.Signatures) != len(signatures) || len(theirs.Message.AccountKeys) != len(m.keys) || len(theirs.Message.Instructions) != len(m.instructions) ||
			theirs.Message.RecentBlockhash != m.blockhash || raw[0] != wallet.MessageV1Prefix {
			t.Fatalf("solana-go reads %+v, we %+v", theirs, m)
		}
		for i, in := range m.instructions {
			if int(in.program) != int(theirs.Message.Instructions[i].ProgramIDIndex) || !bytes.Equal(in.data, theirs.Message.Instructions[i].Data) {
				t.Fatalf("instruction %d: solana-go reads %+v, we %+v", i, theirs.Message.Instructions[i], in)
			}
		}
	})
}

func libraryReads(wire []byte) (tx *solana.Transaction) {
	defer func() {
		if recover() != nil {
			tx = nil
		}
	}()
	tx, err := solana.TransactionFromBytes(wire)
	if err != nil {
		return nil
	}
	return tx
}

func TestAPaymentInVersion1Counts(t *testing.T) {
	reference := testKey(3).address()
	paid := version1Payment(t, 1, 700, reference)
	c := newArchive(t, paid).client()
	got, err := c.Payments(t.Context(), testKey(2).address(), reference, wallet.Address{}, map[wallet.Signature]bool{})
	if err != nil || len(got) != 1 || got[0].Net[0].Units != 700 || got[0].Movements[0].With != testKey(1).address() || got[0].Slot != 80 || got[0].Fee != 5000 {
		t.Fatalf("got %+v, %v", got, err)
	}
}

// TestWhatCannotBeReadHidesNoPayment: whoever sees a link may have transactions of any kind name its reference.
func TestWhatCannotBeReadHidesNoPayment(t *testing.T) {
	reference, bob := testKey(3).address(), testKey(2).address()
	for name, unreadable := range map[string]onChain{
		"version 2":        {version: 2},
		"not there":        {answer: result("null")},
		"makes no sense":   {answer: result(`{"slot":80}`)},
		"busy":             {answer: `{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":""}}`},
		"version 2, shown": {wire: append([]byte{0x82}, make([]byte, 300)...)},
		"status unsound":   {status: `{"slot":80,"confirmationStatus":"rooted"}`},
	} {
		t.Run(name, func(t *testing.T) {
			paid := legacyPayment(t, 1, 700, reference)
			a := newArchive(t, paid)
			for i := range 3 * maxPayments { // all older than the payment: it is looked at after them
				one := unreadable
				one.signature = wallet.Signature{0: 9, 1: byte(i), 63: 1}
				a.history = append(a.history, one)
			}
			c, judged := a.client(), map[wallet.Signature]bool{}
			var got []wallet.Activity
			var err error
			for range 4 {
				var more []wallet.Activity
				more, err = c.Payments(t.Context(), bob, reference, wallet.Address{}, judged)
				for _, p := range more {
					judged[p.Signature] = true
				}
				got = append(got, more...)
			}
			if len(got) != 1 || got[0].Net[0].Units != 700 {
				t.Fatalf("got %+v, %v", got, err)
			}
			forGood := strings.HasPrefix(name, "version 2")
			if forGood != (err == nil) || !forGood && !errors.Is(err, wallet.ErrSomeUnread) {
				t.Errorf("told as %v", err)
			}
			if last := a.shown[a.history[1].signature]; forGood && last > 2 { // of the payment, and of its details
				t.Errorf("what nobody can read was asked for %d times", last)
			}
		})
	}
}

// TestAnUnknownPlaceInAHistoryIsNotItsEnd: JSON-RPC error -32020.
func TestAnUnknownPlaceInAHistoryIsNotItsEnd(t *testing.T) {
	reference := testKey(3).address()
	paid := legacyPayment(t, 1, 700, reference)
	a := newArchive(t, paid)
	for i := range mentionsAPage {
		a.history = append(a.history, onChain{signature: wallet.Signature{0: 9, 1: byte(i), 2: byte(i >> 8), 63: 1}})
	}
	a.unknownBefore = true
	c := a.client()
	query := queryFor(wallet.Signature{}, wallet.Transaction{Reference: reference, From: testKey(1).address(), To: testKey(2).address(), Token: wallet.SOL, Amount: 1})
	found, err := c.Find(t.Context(), query)
	if found != nil {
		t.Errorf("found %+v", found)
	}
	nobodyKnows(t, err)
	if _, certain, err := c.FindEverywhere(t.Context(), query); certain || err == nil {
		t.Errorf("taken for certain: %v", err)
	}
	_, err = c.Payments(t.Context(), payee(query), reference, wallet.Address{}, map[wallet.Signature]bool{})
	nobodyKnows(t, err)
	if errors.Is(err, wallet.ErrSomeUnread) {
		t.Error("a history that was not read whole is told as read")
	}
}

// TestMemosDoNotMakeAHistoryUnreadable: a node repeats memos beside signatures, and a version 1 transaction holds
// nearly 4 KiB of them, escaped up to 24.
func TestMemosDoNotMakeAHistoryUnreadable(t *testing.T) {
	reference := testKey(3).address()
	a := newArchive(t, legacyPayment(t, 1, 700, reference))
	for i := range 900 {
		a.history = append(a.history, onChain{signature: wallet.Signature{0: 9, 1: byte(i), 2: byte(i >> 8), 63: 1}, version: 2})
	}
	a.heavy = 24 << 10
	found, err := a.client().Find(t.Context(), queryFor(a.history[0].signature, wallet.Transaction{Reference: reference, From: testKey(1).address(), To: testKey(2).address(), Token: wallet.SOL, Amount: 700}))
	if err != nil || found == nil {
		t.Fatalf("got %+v, %v", found, err)
	}
	all, err := signaturesForAddress(t.Context(), a.client().primary(), reference)
	if err != nil || len(all) != 901 {
		t.Fatalf("%d mentions, %v", len(all), err)
	}
}

// TestAnUnreadableMentionMayBeTheOneLookedFor, unless another one is.
func TestAnUnreadableMentionMayBeTheOneLookedFor(t *testing.T) {
	reference := testKey(3).address()
	query := queryFor(wallet.Signature{}, wallet.Transaction{Reference: reference, From: testKey(1).address(), To: testKey(2).address(), Token: wallet.SOL, Amount: 700})
	unreadable := onChain{signature: wallet.Signature{0: 9, 63: 1}, version: 2}
	found, err := newArchive(t, unreadable).client().Find(t.Context(), query)
	if found != nil {
		t.Errorf("found %+v", found)
	}
	nobodyKnows(t, err)
	paid := legacyPayment(t, 1, 700, reference)
	if found, err := newArchive(t, paid, unreadable).client().Find(t.Context(), query); err != nil || found == nil || found.Signature != paid.signature {
		t.Errorf("got %+v, %v", found, err)
	}
	inVersion1 := version1Payment(t, 1, 700, reference)
	if found, err := newArchive(t, inVersion1).client().Find(t.Context(), query); err != nil || found == nil || found.Signature != inVersion1.signature {
		t.Errorf("in version 1: %+v, %v", found, err)
	}
}

// TestMoreMentionsThanCanBeListedKeepNoRequestOpen: what was listed counts, and the rest is told apart from a node that
// does not answer.
func TestMoreMentionsThanCanBeListedKeepNoRequestOpen(t *testing.T) {
	reference := testKey(3).address()
	paid := legacyPayment(t, 1, 700, reference)
	a, judged := newArchive(t, paid), map[wallet.Signature]bool{}
	for i := range maxMentions {
		sig := wallet.Signature{0: 9, 1: byte(i), 2: byte(i >> 8), 63: 1}
		a.history, judged[sig] = append(a.history, onChain{signature: sig, version: 2}), true
	}
	got, err := a.client().Payments(t.Context(), testKey(2).address(), reference, wallet.Address{}, judged)
	if len(got) != 1 || !errors.Is(err, wallet.ErrSomeUnread) {
		t.Fatalf("got %+v, %v", got, err)
	}
}
