// Long: payments that others make, by one node whose answers are set.

package settle_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	solanago "github.com/gagliardetto/solana-go"

	"purser/chain"
	"purser/e2e/world"
	"purser/handlers"
	"purser/sandbox/solana"
	"purser/settle"
	"purser/store"
	"purser/wallet"
)

// requests makes Bob ask for a payment, and returns what waits for it.
func (r *harness) requests(amount, token string) handlers.PaymentRequest {
	r.Helper()
	p, err := r.Transfers.PrepareRequest(context.Background(), r.bob.Caller(), handlers.RequestFor{Amount: wallet.MustDecimal(amount), Token: world.TokenRef(token)})
	if err != nil {
		r.Fatal(err)
	}
	r.Must(r.Update(func(tx store.Tx) error { return r.Transfers.CommitRequest(tx, p) }))
	return p
}

// received lists what came in for Bob, oldest first.
func (r *harness) received() []wallet.Transaction {
	r.Helper()
	var in []wallet.Transaction
	r.View(func(tx store.Tx) error {
		all, err := tx.TransactionsOf(r.bob.User.ID, store.Page{Limit: 100})
		for _, t := range all {
			if t.Status == wallet.Received && !t.Signature.IsZero() {
				in = append([]wallet.Transaction{t}, in...)
			}
		}
		return err
	})
	return in
}

// look lets the settler look for payments once more.
func (r *harness) look() {
	r.Helper()
	r.Blocks(40)
	r.Pass(r.Settler.Pace.Collect)
	r.Rounds(1)
}

func TestARequestIsPaidByItsReference(t *testing.T) {
	r := newHarness(t)
	asked := r.requests("1.5", "SOL")
	for _, part := range []string{"solana:" + r.bob.Address().String() + "?", "amount=1.5", "reference=" + asked.Transaction.Reference.String()} {
		if !strings.Contains(asked.URL, part) {
			t.Errorf("%s lacks %s", asked.URL, part)
		}
	}
	r.look()
	r.is(asked.Transaction.ID, wallet.Requested)

	// Any wallet may pay it: here one that purser does not know.
	r.SendBehind(r.alice, wallet.Transaction{From: r.alice.Address(), To: r.bob.Address(), Reference: asked.Transaction.Reference, Amount: sol / 2})
	r.Blocks(3)
	r.Pass(r.Settler.Pace.Collect)
	r.Rounds(1)
	if in := r.received(); len(in) != 0 {
		t.Fatalf("told before it is final: %+v", in)
	}
	r.look()
	r.is(asked.Transaction.ID, wallet.Requested) // only a part
	r.SendBehind(r.alice, wallet.Transaction{From: r.alice.Address(), To: r.bob.Address(), Reference: asked.Transaction.Reference, Amount: 3 * sol / 2})
	r.look()
	r.Restart()
	r.look()
	r.is(asked.Transaction.ID, wallet.Received)
	in := r.received()
	if len(in) != 2 || in[0].Amount+in[1].Amount != 2*sol || in[0].From != r.alice.Address() || in[0].ID != wallet.ReceivedID(in[0].Signature, r.bob.Address(), wallet.Address{}) {
		t.Fatalf("received %+v", in)
	}
	for _, one := range in {
		if events := r.Events(one.ID); len(events) != 1 || events[0] != wallet.TransactionReceived {
			t.Errorf("announced as %v", events)
		}
	}
}

func TestATokensRequestIsPaid(t *testing.T) {
	r := newHarness(t)
	usdc, _ := r.Tokens.BySymbol("USDC")
	r.FundToken(r.alice.Address(), usdc.Mint.String(), 30_000_000)
	asked := r.requests("25", "USDC")
	if !strings.Contains(asked.URL, "spl-token="+usdc.Mint.String()) {
		t.Errorf("%s does not name the token", asked.URL)
	}
	pay := wallet.Transaction{From: r.alice.Address(), To: r.bob.Address(), Reference: asked.Transaction.Reference, Token: usdc, Amount: 25_000_000, Rent: 1}
	if _, err := (chain.Codec{}).Build(pay, wallet.TransferActions(pay)); err != nil {
		t.Fatal(err)
	}
	r.SendBehind(r.alice, pay)
	r.look()
	r.is(asked.Transaction.ID, wallet.Received)
	if in := r.received(); len(in) != 1 || in[0].Amount != 25_000_000 || in[0].Token != usdc {
		t.Fatalf("received %+v", in)
	}
}

func TestWhatOnlyMentionsARequestDoesNotPayIt(t *testing.T) {
	r := newHarness(t)
	asked := r.requests("1", "SOL")
	elsewhere := r.Rich(1003, "Carol", sol)
	r.SendBehind(r.alice, wallet.Transaction{From: r.alice.Address(), To: elsewhere.Address(), Reference: asked.Transaction.Reference, Amount: sol})
	r.look()
	r.is(asked.Transaction.ID, wallet.Requested)
	if in := r.received(); len(in) != 0 {
		t.Fatalf("received %+v", in)
	}
	r.Pass(handlers.RequestWindow)
	r.Rounds(1)
	r.is(asked.Transaction.ID, wallet.Requested) // whoever paid in the last second is waited for
	r.Pass(wallet.NeverLandsAfter)
	r.Rounds(1)
	ended := r.is(asked.Transaction.ID, wallet.Expired)
	if !ended.Closed || ended.ErrorCode != "" {
		t.Errorf("ended as %+v", ended)
	}
}

func TestOnlyAFewRequestsAreLookedForAtOnce(t *testing.T) {
	r := newHarness(t)
	for range 5 {
		r.requests("1", "SOL")
	}
	p, err := r.Transfers.PrepareRequest(context.Background(), r.bob.Caller(), handlers.RequestFor{Amount: wallet.MustDecimal("1")})
	if err != nil {
		t.Fatal(err)
	}
	err = r.Update(func(tx store.Tx) error { return r.Transfers.CommitRequest(tx, p) })
	if wallet.CodeOf(err) != wallet.RateLimitExceeded {
		t.Errorf("the sixth: %v", err)
	}
	r.Pass(handlers.RequestWindow + time.Second)
	r.Rounds(1)
	r.requests("1", "SOL")
}

// forgetful is a node whose cheap poll knows nothing.
type forgetful struct{ settle.Chain }

func (forgetful) Statuses(_ context.Context, signatures []wallet.Signature) ([]*wallet.Landing, error) {
	return make([]*wallet.Landing, len(signatures)), nil
}

func TestTheOwnersWordHasAHeldOneLookedForAtOnce(t *testing.T) {
	r := newHarness(t)
	tx := r.signed("2")
	r.Settler.Chain = forgetful{r.Chain}
	r.Settler.Pace.Search = time.Hour
	r.During("sendTransaction", solana.Fault{Swallow: true})
	r.Rounds(1)
	r.Pass(wallet.NeverLandsAfter)
	r.Rounds(1)
	if now := r.is(tx.ID, wallet.Pending); !now.Indeterminate {
		t.Fatal("nobody can tell, so it must be held")
	}
	r.Whole()
	r.Must(r.Chain.Broadcast(context.Background(), tx.Signed)) // it was on its way all the time
	r.Blocks(3)
	r.Rounds(1)
	r.is(tx.ID, wallet.Pending) // history is searched once an hour here
	r.Must(r.Update(func(s store.Tx) error { return r.Transfers.Recheck(s, r.alice.Caller(), tx.ID) }))
	r.Rounds(1)
	if now := r.is(tx.ID, wallet.Confirmed); now.Indeterminate {
		t.Error("it is held after it was found")
	}
}

// TestARequestPaidInItsLastSecondIsPaid: finality comes after the deadline.
func TestARequestPaidInItsLastSecondIsPaid(t *testing.T) {
	r := newHarness(t)
	asked := r.requests("1", "SOL")
	r.Pass(handlers.RequestWindow - time.Second)
	r.SendBehind(r.alice, wallet.Transaction{From: r.alice.Address(), To: r.bob.Address(), Reference: asked.Transaction.Reference, Amount: sol})
	r.Rounds(4)
	r.is(asked.Transaction.ID, wallet.Requested)
	r.Pass(time.Minute)
	r.look()
	r.is(asked.Transaction.ID, wallet.Received)
}

// TestMentionsDoNotHideAPayment: whoever sees the link may mention its reference as often as they like.
func TestMentionsDoNotHideAPayment(t *testing.T) {
	r := newHarness(t)
	asked := r.requests("1", "SOL")
	mallory, carol := r.Rich(1003, "Mallory", 10*sol), r.Rich(1004, "Carol", sol)
	for i := range 50 {
		to, amount := carol.Address(), uint64(1_000_000+i)
		if i%2 == 0 { // a payment, of next to nothing
			to, amount = r.bob.Address(), uint64(1+i)
		}
		r.SendBehind(mallory, wallet.Transaction{From: mallory.Address(), To: to, Reference: asked.Transaction.Reference, Amount: amount})
	}
	r.SendBehind(r.alice, wallet.Transaction{From: r.alice.Address(), To: r.bob.Address(), Reference: asked.Transaction.Reference, Amount: sol})
	for range 3 {
		r.look()
	}
	r.is(asked.Transaction.ID, wallet.Received)
}

// mentioned is a chain whose Payments answers as scripted.
type mentioned struct {
	settle.Chain
	payments []wallet.Activity
	err      error
}

func (m *mentioned) Payments(context.Context, wallet.Address, wallet.Address, wallet.Address, map[wallet.Signature]bool) ([]wallet.Activity, error) {
	return slices.Clone(m.payments), m.err
}

// brings is a payment of Alice to Bob as a chain shows it, by a transfer that names the references of requests.
func (r *harness) brings(n byte, units uint64, requests ...wallet.Transaction) wallet.Activity {
	m := wallet.Movement{How: wallet.MovedByTransfer, In: true, With: r.alice.Address(), Signed: true, Units: units}
	for _, t := range requests {
		m.References = append(m.References, t.Reference)
	}
	return wallet.Activity{Signature: wallet.Signature{n}, Slot: 5, Kind: wallet.ActivityReceived, Net: []wallet.NetChange{{Units: units, Explained: true}},
		Movements: []wallet.Movement{m}}
}

// TestATransactionThatNobodyCanReadStopsNoTimeOut: version 2 is passed over by Payments without an error. What may be
// readable later is waited for once more as long. Where nobody could be asked at all, nothing ends.
func TestATransactionThatNobodyCanReadStopsNoTimeOut(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		after time.Duration // beyond the deadline; 0 is never
	}{
		"all was read":    {nil, wallet.NeverLandsAfter},
		"some was not":    {fmt.Errorf("%w: rpc 1", wallet.ErrSomeUnread), 2 * wallet.NeverLandsAfter},
		"nobody answered": {&wallet.Error{Code: wallet.NetworkError}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			r.Trouble()
			asked := r.requests("1", "SOL").Transaction
			r.Settler.Chain = &mentioned{Chain: r.Chain, err: test.err}
			wait := test.after
			if wait == 0 {
				wait = 24 * time.Hour
			}
			r.Pass(asked.Deadline.Add(wait - time.Second).Sub(r.Now()))
			r.Look()
			r.is(asked.ID, wallet.Requested)
			r.Pass(r.Settler.Pace.Collect)
			r.Look()
			want := wallet.Expired
			if test.after == 0 {
				want = wallet.Requested
			}
			r.is(asked.ID, want)
		})
	}
}

// TestAPaymentBesideTroubleIsReceived: what else could not be read hides nothing.
func TestAPaymentBesideTroubleIsReceived(t *testing.T) {
	r := newHarness(t)
	r.Trouble()
	asked := r.requests("1", "SOL").Transaction
	r.Settler.Chain = &mentioned{Chain: r.Chain, err: &wallet.Error{Code: wallet.NetworkError},
		payments: []wallet.Activity{r.brings(1, sol, asked)}}
	r.Look()
	r.is(asked.ID, wallet.Received)
}

// TestARequestForATokenIsPaidInThatToken: by whoever names its reference, and by one of our own people who answers its link.
func TestARequestForATokenIsPaidInThatToken(t *testing.T) {
	r := newHarness(t)
	usdc, _ := r.Tokens.BySymbol("USDC")
	asked := r.requests("1", "USDC").Transaction // a million units: a lamport is not one of them
	r.SendBehind(r.alice, wallet.Transaction{From: r.alice.Address(), To: r.bob.Address(), Reference: asked.Reference, Amount: sol})
	r.look()
	r.is(asked.ID, wallet.Requested)

	p, err := r.Transfers.Prepare(context.Background(), r.alice.Caller(), handlers.SendRequest{To: r.bob.Address(), Amount: world.Quantity("2"), Token: world.TokenRef("SOL"), References: []wallet.Address{asked.Reference}})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error { return r.Transfers.Commit(tx, p) }))
	c, err := r.Confirm(r.alice.Caller(), p.Transaction.ID)
	r.Must(err)
	_, err = r.HandIn(r.alice, c.SignID, r.Issue(c.SignID))
	r.Must(err)
	if got := r.Settled(c.ID); got.Status != wallet.Confirmed {
		t.Fatalf("the payment is %s", got.Status)
	}
	if in := r.received(); len(in) != 1 || in[0].PaymentRequestRef != asked.Reference {
		t.Fatalf("received %+v", in)
	}
	r.is(asked.ID, wallet.Requested)

	r.FundToken(r.alice.Address(), usdc.Mint.String(), 3_000_000)
	r.SendBehind(r.alice, wallet.Transaction{From: r.alice.Address(), To: r.bob.Address(), Reference: asked.Reference, Token: usdc, Amount: 1_000_000, Rent: 1})
	r.look()
	r.is(asked.ID, wallet.Received)
}

// TestAPaymentThatCouldNotBeStoredIsLookedAtAgain: what is remembered between two looks is what is stored.
func TestAPaymentThatCouldNotBeStoredIsLookedAtAgain(t *testing.T) {
	r := newHarness(t)
	r.Trouble()
	asked := r.requests("1", "SOL").Transaction
	r.SendBehind(r.alice, wallet.Transaction{From: r.alice.Address(), To: r.bob.Address(), Reference: asked.Reference, Amount: sol})
	r.Blocks(40)
	r.Settler.Store = refusing{Store: r.Store, id: asked.ID}
	r.Look()
	r.is(asked.ID, wallet.Requested)
	if in := r.received(); len(in) != 0 {
		t.Fatalf("a part of what failed was stored: %+v", in)
	}
	r.Settler.Store = r.Store
	r.Pass(r.Settler.Pace.Idle)
	r.look()
	r.is(asked.ID, wallet.Received)
}

// TestAPaymentInVersion1EndsARequest: wallets make such transactions since September.
func TestAPaymentInVersion1EndsARequest(t *testing.T) {
	r := newHarness(t)
	asked := r.requests("1", "SOL").Transaction
	hash, err := r.Chain.Blockhash(context.Background())
	r.Must(err)
	key := func(a wallet.Address) solanago.PublicKey { return solanago.PublicKey(a) }
	made, err := solanago.NewTransaction([]solanago.Instruction{solanago.NewInstruction(solanago.SystemProgramID, solanago.AccountMetaSlice{
		solanago.Meta(key(r.alice.Address())).WRITE().SIGNER(), solanago.Meta(key(r.bob.Address())).WRITE(), solanago.Meta(key(asked.Reference)),
	}, binary.LittleEndian.AppendUint64([]byte{2, 0, 0, 0}, sol))}, solanago.Hash(hash.Hash), solanago.TransactionPayer(key(r.alice.Address())),
		solanago.TransactionV1Config(solanago.TransactionConfig{}.WithComputeUnitLimit(20_000).WithPriorityFee(100).WithLoadedAccountsDataSizeLimit(1<<20)))
	r.Must(err)
	_, err = made.Sign(func(solanago.PublicKey) *solanago.PrivateKey {
		private := solanago.PrivateKey(r.alice.Key)
		return &private
	})
	r.Must(err)
	wire, err := made.MarshalBinary()
	r.Must(err)
	r.Must(r.Chain.Broadcast(context.Background(), wire))
	r.look()
	r.is(asked.ID, wallet.Received)
	if in := r.received(); len(in) != 1 || in[0].Amount != sol || in[0].From != r.alice.Address() || in[0].Landing.Fee != 5_100 {
		t.Fatalf("received %+v", in)
	}
}

// TestAReceiptShowsTheNoteOnChain: what the payer wrote, not what they were asked to write.
func TestAReceiptShowsTheNoteOnChain(t *testing.T) {
	for name, note := range map[string]string{"none": "", "another": "Order 8", "the one asked for": "Order 7"} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			p, err := r.Transfers.PrepareRequest(context.Background(), r.bob.Caller(), handlers.RequestFor{Amount: wallet.MustDecimal("1"), Token: world.TokenRef("SOL"), Memo: "Order 7"})
			r.Must(err)
			r.Must(r.Update(func(tx store.Tx) error { return r.Transfers.CommitRequest(tx, p) }))
			asked := p.Transaction
			r.SendBehind(r.alice, wallet.Transaction{From: r.alice.Address(), To: r.bob.Address(), Reference: asked.Reference, Amount: sol, Memo: note})
			r.look()
			if request := r.is(asked.ID, wallet.Received); request.Memo != "Order 7" {
				t.Errorf("the request asks for %q", request.Memo)
			}
			if in := r.received(); len(in) != 1 || in[0].Memo != note {
				t.Fatalf("received %+v", in)
			}
		})
	}
}

// TestAPaymentEndsOneRequestAtMost: a payer names the references of all that they have open, and pays once; then once more.
func TestAPaymentEndsOneRequestAtMost(t *testing.T) {
	r := newHarness(t)
	var ids []wallet.TransactionID
	var references []wallet.Address
	for _, amount := range []string{"1.5", "1.5", "0.2"} {
		asked := r.requests(amount, "SOL").Transaction
		ids, references = append(ids, asked.ID), append(references, asked.Reference)
	}
	ended := func() (paid []wallet.TransactionID) {
		for _, id := range ids {
			if r.Transaction(id).Status == wallet.Received {
				paid = append(paid, id)
			}
		}
		return paid
	}
	payment := wallet.Transaction{From: r.alice.Address(), To: r.bob.Address(), LinkReferences: []wallet.Address{references[0], references[2]}, Reference: references[1], Amount: 3 * sol / 2}
	for payments := 1; payments <= 2; payments++ {
		payment.Amount += uint64(payments) // another payment, no repetition of the same
		r.SendBehind(r.alice, payment)
		for range 2 {
			r.look()
			r.Restart() // what a payment ended is stored
		}
		paid, in := ended(), r.received()
		if len(paid) != payments || len(in) != payments {
			t.Fatalf("%d payments ended %v, with receipts %+v", payments, paid, in)
		}
		for _, id := range paid {
			if !slices.ContainsFunc(in, func(one wallet.Transaction) bool {
				return one.Answers == id && one.PaymentRequestRef == r.Transaction(id).Reference
			}) {
				t.Errorf("no receipt tells that it ended %s: %+v", id, in)
			}
		}
	}
}

// TestAPartOfOneRequestMayEndAnother: what ended none so far is free, whichever request it was first found for.
func TestAPartOfOneRequestMayEndAnother(t *testing.T) {
	r := newHarness(t)
	r.Trouble()
	large := r.requests("2", "SOL").Transaction
	node := &mentioned{Chain: r.Chain, payments: []wallet.Activity{r.brings(1, sol, large)}}
	r.Settler.Chain = node
	r.Look()
	r.is(large.ID, wallet.Requested)
	small := r.requests("1", "SOL").Transaction
	node.payments = []wallet.Activity{r.brings(1, sol, large, small)}
	r.Pass(r.Settler.Pace.Collect)
	r.Look()
	r.is(large.ID, wallet.Requested)
	r.is(small.ID, wallet.Received)
	if in := r.received(); len(in) != 1 || in[0].Answers != small.ID || in[0].PaymentRequestRef != small.Reference {
		t.Fatalf("received %+v", in)
	}
}

// TestWhatAPartLeavesOpenIsLookedForInItsTurn, not at once and again and again; and of two payments that one look finds
// the first ends the request.
func TestWhatAPartLeavesOpenIsLookedForInItsTurn(t *testing.T) {
	r := newHarness(t)
	r.Trouble()
	asked := r.requests("2", "SOL").Transaction
	payment := func(n byte, units uint64) wallet.Activity { return r.brings(n, units, asked) }
	chain := &mentioned{Chain: r.Chain, payments: []wallet.Activity{payment(1, sol)}}
	r.Settler.Chain = chain
	r.Look()
	if next := r.jobs(asked.ID)[store.Collecting]; !next.Equal(r.Now().Add(r.Settler.Pace.Collect)) {
		t.Errorf("after a part it is looked for %v later", next.Sub(r.Now()))
	}
	chain.payments = []wallet.Activity{payment(2, 2*sol), payment(3, 2*sol)}
	r.Pass(r.Settler.Pace.Collect)
	r.Look()
	r.is(asked.ID, wallet.Received)
	if in := r.received(); len(in) != 2 || in[0].Answers != "" && in[1].Answers != "" {
		t.Errorf("received %+v", in)
	}
}

// TestAPaymentOfOurOwnEndsOneRequestAtMost: its receipt is written when it is final, before any look.
func TestAPaymentOfOurOwnEndsOneRequestAtMost(t *testing.T) {
	r := newHarness(t)
	first, second := r.requests("1", "SOL").Transaction, r.requests("1", "SOL").Transaction
	p, err := r.Transfers.Prepare(context.Background(), r.alice.Caller(), handlers.SendRequest{To: r.bob.Address(), Amount: world.Quantity("1"), Token: world.TokenRef("SOL"),
		References: []wallet.Address{r.Stranger(), first.Reference, second.Reference}})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error { return r.Transfers.Commit(tx, p) }))
	c, err := r.Confirm(r.alice.Caller(), p.Transaction.ID)
	r.Must(err)
	_, err = r.HandIn(r.alice, c.SignID, r.Issue(c.SignID))
	r.Must(err)
	r.Settled(c.ID)
	r.look()
	r.look()
	a, b := r.Transaction(first.ID).Status, r.Transaction(second.ID).Status
	if (a == wallet.Received) == (b == wallet.Received) {
		t.Fatalf("one payment: the requests are %s and %s", a, b)
	}
	if in := r.received(); len(in) != 1 {
		t.Fatalf("received %+v", in)
	}
}

// TestAPaymentOfAWalletThatLeftEndsNothing: no receipt is kept, so that nothing
// could tell what it ended. Its requests expire.
func TestAPaymentOfAWalletThatLeftEndsNothing(t *testing.T) {
	r := newHarness(t)
	r.Trouble()
	first, second := r.requests("1", "SOL").Transaction, r.requests("1", "SOL").Transaction
	r.Must(r.Update(func(tx store.Tx) error { return tx.DeleteWallet(r.bob.Address()) }))
	r.Settler.Chain = &mentioned{Chain: r.Chain,
		payments: []wallet.Activity{r.brings(1, sol, first, second)}}
	r.Look()
	r.is(first.ID, wallet.Requested)
	r.is(second.ID, wallet.Requested)
	r.Pass(second.Deadline.Add(wallet.NeverLandsAfter).Sub(r.Now()))
	r.Look()
	r.is(first.ID, wallet.Expired)
	r.is(second.ID, wallet.Expired)
}

// TestNoProgramUsesUpTheRoomForRequests: of another, of the person in chat, and with keys of its own or much that came in since.
func TestNoProgramUsesUpTheRoomForRequests(t *testing.T) {
	r := newHarness(t)
	for _, k := range []wallet.Key{{ID: "key_1", App: "app_1"}, {ID: "key_2", App: "app_1"}, {ID: "key_3"}, {ID: "key_4", First: "key_3"},
		{ID: "key_5", App: "app_2"}, {ID: "key_6", App: "app_3"}} {
		r.Must(r.Update(func(tx store.Tx) error { return tx.CreateKey(k, "secret of "+k.ID) }))
	}
	ask := func(keyID string) error {
		p, err := r.Transfers.PrepareRequest(context.Background(), r.bob.Caller(), handlers.RequestFor{Amount: wallet.MustDecimal("1")})
		r.Must(err)
		p.Transaction.KeyID = keyID
		return r.Update(func(tx store.Tx) error { return r.Transfers.CommitRequest(tx, p) })
	}
	// refused holds a refusal to naming the limit that was reached, and how much counts towards it.
	refused := func(keyID, key string, count int) {
		t.Helper()
		err := ask(keyID)
		r.Refused(wallet.RateLimitExceeded, err)
		if got, want := wallet.ReasonOf(err), wallet.Because(key, wallet.NumberArg("Count", count)); !got.Equal(want) {
			t.Errorf("%q is refused by %+v, want %+v", keyID, got, want)
		}
	}
	fill := func(keyIDs ...string) {
		t.Helper()
		for i := range 5 {
			if err := ask(keyIDs[i%len(keyIDs)]); err != nil {
				t.Fatalf("%v, request %d: %v", keyIDs, i+1, err)
			}
		}
		for _, id := range keyIDs {
			refused(id, "payment_request.too_many", 5)
		}
	}
	fill("key_1", "key_2")
	for i := range 250 { // the first app's requests lie behind these
		r.Pass(time.Second)
		r.Must(r.Update(func(tx store.Tx) error {
			return tx.CreateTransaction(wallet.Transaction{ID: wallet.TransactionID(fmt.Sprintf("tx_in_%d", i)), Kind: wallet.Receive, Status: wallet.Received,
				Owner: r.bob.User.ID, To: r.bob.Address(), CreatedAt: r.Now().UTC(), Closed: true})
		}))
	}
	r.Refused(wallet.RateLimitExceeded, ask("key_1"))
	fill("key_3", "key_4")
	fill("key_5")
	refused("key_6", "payment_request.too_many_of_apps", 15)
	fill("")
	r.Pass(handlers.RequestWindow)
	fill("key_6")
}
