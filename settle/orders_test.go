package settle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	solanago "github.com/gagliardetto/solana-go"

	"purser/e2e/world"
	"purser/handlers"
	"purser/sandbox/solana"
	"purser/settle"
	"purser/store"
	"purser/wallet"
)

// paidInOneGo is a world in which Alice pays Bob's requests by one transaction.
type paidInOneGo struct {
	*watching
	usdc, fee mintOf
}

// lands sends one transaction of Alice, and lets it become final.
func (r *paidInOneGo) lands(instructions ...solanago.Instruction) {
	r.Helper()
	hash, err := r.Chain.Blockhash(context.Background())
	r.Must(err)
	from := public(r.alice.Key)
	tx, err := solanago.NewTransaction(instructions, solanago.Hash(hash.Hash), solanago.TransactionPayer(from))
	r.Must(err)
	private := solanago.PrivateKey(r.alice.Key)
	_, err = tx.Sign(func(solanago.PublicKey) *solanago.PrivateKey { return &private })
	r.Must(err)
	wire, err := tx.MarshalBinary()
	r.Must(err)
	r.Must(r.Chain.Broadcast(context.Background(), wire))
	r.Blocks(40)
	r.Pass(20 * time.Second)
}

// names adds references to a transfer.
func names(in solanago.Instruction, references ...wallet.Address) solanago.Instruction {
	made := in.(*solanago.GenericInstruction)
	for _, r := range references {
		made.AccountValues = append(made.AccountValues, reads(r))
	}
	return made
}

// paysByLink is a payment in purser of a link: it is settled here.
func (r *paidInOneGo) paysByLink(amount string, references ...wallet.Address) {
	r.Helper()
	p, err := r.Transfers.Prepare(context.Background(), r.alice.Caller(), handlers.SendRequest{To: r.bob.Address(), Amount: world.Quantity(amount),
		Token: world.TokenRef("SOL"), References: references})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error { return r.Transfers.Commit(tx, p) }))
	c, err := r.Confirm(r.alice.Caller(), p.Transaction.ID)
	r.Must(err)
	_, err = r.HandIn(r.alice, c.SignID, r.Issue(c.SignID))
	r.Must(err)
	r.Must(r.Chain.Broadcast(context.Background(), r.Transaction(c.ID).Signed))
	r.Blocks(40)
	r.Pass(20 * time.Second)
}

// asks makes Bob ask for a payment. He may ask for FEE, which purser itself refuses: whoever pays would have to pay more.
func (r *paidInOneGo) asks(amount, token string) wallet.Transaction {
	r.Helper()
	if token != solana.FEE {
		return r.requests(amount, token).Transaction
	}
	p, err := r.Transfers.PrepareRequest(context.Background(), r.bob.Caller(), handlers.RequestFor{Amount: wallet.MustDecimal("1"), Token: world.TokenRef("SOL")})
	r.Must(err)
	t := p.Transaction
	t.Token = wallet.Token{Symbol: solana.FEE, Mint: r.fee.mint, Decimals: r.fee.decimals, Program: r.fee.program}
	units, err := wallet.MustDecimal(amount).In(t.Token.Decimals)
	r.Must(err)
	t.Amount = units.Units
	r.Must(r.Update(func(tx store.Tx) error { return store.Create(tx, t) }))
	return t
}

// settledMeanwhile is a chain that has something happen between a search for payments and its commit.
type settledMeanwhile struct {
	settle.Chain
	once sync.Once
	then func()
}

func (m *settledMeanwhile) Payments(ctx context.Context, to, reference, mint wallet.Address, judged map[wallet.Signature]bool) ([]wallet.Activity, error) {
	found, err := m.Chain.Payments(ctx, to, reference, mint, judged)
	m.once.Do(m.then)
	return found, err
}

// watchedMeanwhile is a chain that has something happen between the watcher's reading and its commit.
type watchedMeanwhile struct {
	settle.WatchedChain
	once sync.Once
	then func()
}

func (m *watchedMeanwhile) Activities(ctx context.Context, sig wallet.Signature, owners ...wallet.Address) ([]wallet.Activity, error) {
	read, err := m.WatchedChain.Activities(ctx, sig, owners...)
	m.once.Do(m.then)
	return read, err
}

// outcome is what is left of payments: the receipts, as programs and people see them, and what became of the requests.
type outcome struct {
	Receipts, Events []string
	Requests         []wallet.Status
}

func (r *paidInOneGo) outcome(requests []wallet.Transaction) (out outcome) {
	r.Helper()
	r.View(func(tx store.Tx) error {
		rows, err := tx.TransactionsAt(r.bob.Address(), store.Page{Limit: 100})
		r.Must(err)
		for _, t := range rows {
			if t.Kind != wallet.Receive {
				continue
			}
			about, ends := "none", "none"
			for i, asked := range requests {
				if asked.Reference == t.PaymentRequestRef {
					about = fmt.Sprint(i)
				}
				if asked.ID == t.Answers {
					ends = fmt.Sprint(i)
				}
			}
			out.Receipts = append(out.Receipts, fmt.Sprintf("%s %s from alice %v, request %s, ends %s, memo %q, fee %d", t.Money(), t.Token.Name(),
				t.From == r.alice.Address(), about, ends, t.Memo, t.Landing.Fee))
		}
		events, err := tx.PendingEvents(1000)
		for _, e := range events {
			var data wallet.TransactionReceivedData
			if e.Name == wallet.TransactionReceived && json.Unmarshal(e.Data, &data) == nil && data.WalletAddress == r.bob.Address() {
				out.Events = append(out.Events, data.Amount+" "+data.Token)
			}
		}
		return err
	})
	slices.Sort(out.Receipts)
	slices.Sort(out.Events)
	for _, t := range requests {
		out.Requests = append(out.Requests, r.Transaction(t.ID).Status)
	}
	return out
}

// TestWhoSeesAPaymentFirstDecidesNothing: the settler by the reference, or the watcher by the balance, one after the other or
// one while the other has not committed. The receipt, the event and the request are the same.
func TestWhoSeesAPaymentFirstDecidesNothing(t *testing.T) {
	const received, requested = wallet.Received, wallet.Requested
	type scene struct {
		requests []string
		pay      func(r *paidInOneGo, from solanago.PublicKey, bob wallet.Address, ref []wallet.Address)
		want     outcome
	}
	tokens := func(r *paidInOneGo, m mintOf, units uint64, to wallet.Address, references ...wallet.Address) solanago.Instruction {
		from := public(r.alice.Key)
		return names(instruct(m.program, append(append([]byte{12}, le(units)...), m.decimals),
			writes(m.at(wallet.Address(from))), reads(m.mint), writes(to), solanago.Meta(from).SIGNER()), references...)
	}
	for name, s := range map[string]scene{
		"a tip beside what was asked for": {[]string{"1 SOL"}, func(r *paidInOneGo, from solanago.PublicKey, bob wallet.Address, ref []wallet.Address) {
			r.lands(pays(from, bob, 3*sol), pays(from, bob, sol, ref[0]))
		}, outcome{[]string{`4 SOL from alice true, request 0, ends 0, memo "", fee 5000`}, []string{"4 SOL"}, []wallet.Status{received}}},
		"two halves": {[]string{"1 SOL"}, func(r *paidInOneGo, from solanago.PublicKey, bob wallet.Address, ref []wallet.Address) {
			r.lands(pays(from, bob, sol/2, ref[0]), pays(from, bob, sol/2, ref[0]))
		}, outcome{[]string{`1 SOL from alice true, request 0, ends 0, memo "", fee 5000`}, []string{"1 SOL"}, []wallet.Status{received}}},
		"a part": {[]string{"1 SOL"}, func(r *paidInOneGo, from solanago.PublicKey, bob wallet.Address, ref []wallet.Address) {
			r.lands(pays(from, bob, sol/4, ref[0]), pays(from, bob, sol/4))
		}, outcome{[]string{`0.5 SOL from alice true, request 0, ends none, memo "", fee 5000`}, []string{"0.5 SOL"}, []wallet.Status{requested}}},
		"dust": {[]string{"1 SOL"}, func(r *paidInOneGo, from solanago.PublicKey, bob wallet.Address, ref []wallet.Address) {
			r.lands(pays(from, bob, 1, ref[0]))
		}, outcome{nil, nil, []wallet.Status{requested}}},
		"two requests, of which the second is covered": {[]string{"2 SOL", "1 SOL"}, func(r *paidInOneGo, from solanago.PublicKey, bob wallet.Address, ref []wallet.Address) {
			r.lands(pays(from, bob, sol, ref[0], ref[1]), pays(from, bob, sol/2))
		}, outcome{[]string{`1.5 SOL from alice true, request 1, ends 1, memo "", fee 5000`}, []string{"1.5 SOL"}, []wallet.Status{requested, received}}},
		"two requests, both covered, the second named first": {[]string{"1 SOL", "1 SOL"}, func(r *paidInOneGo, from solanago.PublicKey, bob wallet.Address, ref []wallet.Address) {
			r.lands(pays(from, bob, sol, ref[1]), pays(from, bob, sol, ref[0]))
		}, outcome{[]string{`2 SOL from alice true, request 1, ends 1, memo "", fee 5000`}, []string{"2 SOL"}, []wallet.Status{requested, received}}},
		"two requests for two tokens": {[]string{"1 SOL", "2 USDC"}, func(r *paidInOneGo, from solanago.PublicKey, bob wallet.Address, ref []wallet.Address) {
			r.lands(pays(from, bob, sol, ref[0]), r.usdc.opens(from, bob), tokens(r, r.usdc, 2_000_000, r.usdc.at(bob), ref[1]))
		}, outcome{[]string{`1 SOL from alice true, request 0, ends 0, memo "", fee 5000`, `2 USDC from alice true, request 1, ends 1, memo "", fee 5000`},
			[]string{"1 SOL", "2 USDC"}, []wallet.Status{received, received}}},
		"a request for SOL named by a payment of USDC": {[]string{"1 SOL"}, func(r *paidInOneGo, from solanago.PublicKey, bob wallet.Address, ref []wallet.Address) {
			r.lands(pays(from, bob, 2*sol), r.usdc.opens(from, bob), tokens(r, r.usdc, 2_000_000, r.usdc.at(bob), ref[0]))
		}, outcome{[]string{`2 SOL from alice true, request none, ends none, memo "", fee 5000`, `2 USDC from alice true, request none, ends none, memo "", fee 5000`},
			[]string{"2 SOL", "2 USDC"}, []wallet.Status{requested}}},
		"a fee that the issuer keeps": {[]string{"1 SOL"}, func(r *paidInOneGo, from solanago.PublicKey, bob wallet.Address, ref []wallet.Address) {
			r.lands(pays(from, bob, sol, ref[0]), r.fee.opens(from, bob), tokens(r, r.fee, 1_000_000, r.fee.at(bob)))
		}, outcome{[]string{`0.99 FEE from alice true, request none, ends none, memo "", fee 5000`, `1 SOL from alice true, request 0, ends 0, memo "", fee 5000`},
			[]string{"0.99 FEE", "1 SOL"}, []wallet.Status{received}}},
		"TransferCheckedWithFee": {[]string{"0.99 " + solana.FEE}, func(r *paidInOneGo, from solanago.PublicKey, bob wallet.Address, ref []wallet.Address) {
			r.lands(r.fee.opens(from, bob), names(instruct(r.fee.program, slices.Concat([]byte{26, 1}, le(1_000_000), []byte{r.fee.decimals}, le(10_000)),
				writes(r.fee.at(wallet.Address(from))), reads(r.fee.mint), writes(r.fee.at(bob)), solanago.Meta(from).SIGNER()), ref[0]))
		}, outcome{[]string{`0.99 FEE from alice true, request 0, ends 0, memo "", fee 5000`}, []string{"0.99 FEE"}, []wallet.Status{received}}},
		"a memo before each": {[]string{"1 SOL"}, func(r *paidInOneGo, from solanago.PublicKey, bob wallet.Address, ref []wallet.Address) {
			memo := wallet.MustAddress("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
			r.lands(instruct(memo, []byte("tip")), pays(from, bob, sol), instruct(memo, []byte("order 7")), pays(from, bob, sol, ref[0]))
		}, outcome{[]string{`2 SOL from alice true, request 0, ends 0, memo "order 7", fee 5000`}, []string{"2 SOL"}, []wallet.Status{received}}},
		"a link that is paid here": {[]string{"1 SOL"}, func(r *paidInOneGo, _ solanago.PublicKey, _ wallet.Address, ref []wallet.Address) {
			r.paysByLink("1", ref[0])
		}, outcome{[]string{`1 SOL from alice true, request 0, ends 0, memo "", fee 5000`}, []string{"1 SOL"}, []wallet.Status{received}}},
	} {
		for _, order := range []string{"settler", "watcher", "settler, while the watcher looks", "watcher, while the settler looks"} {
			t.Run(name+"/"+order, func(t *testing.T) {
				r := &paidInOneGo{watching: newWatching(t)}
				r.usdc = mintOf{mint: wallet.MustAddress(r.Cluster.Mint(solana.USDC)), program: wallet.TokenProgram, decimals: 6}
				r.fee = mintOf{mint: wallet.MustAddress(r.Cluster.Mint(solana.FEE)), program: wallet.Token2022Program, decimals: 6}
				r.Fund(r.alice.Address(), 20*sol)
				for _, symbol := range []string{solana.USDC, solana.FEE} {
					_, err := r.Cluster.AirdropToken(t.Context(), r.alice.Address().String(), symbol, 1<<40)
					r.Must(err)
				}
				r.final()
				var requests []wallet.Transaction
				var references []wallet.Address
				for _, what := range s.requests {
					amount, token, _ := strings.Cut(what, " ")
					asked := r.asks(amount, token)
					requests, references = append(requests, asked), append(references, asked.Reference)
				}
				s.pay(r, public(r.alice.Key), r.bob.Address(), references)
				settles := func() { r.Pass(r.Settler.Pace.Collect); r.Rounds(1) }
				switch order {
				case "settler":
					settles()
				case "watcher":
					r.look()
				case "settler, while the watcher looks":
					r.Watcher.Chain = &watchedMeanwhile{WatchedChain: r.Watcher.Chain, then: settles}
					r.look()
				case "watcher, while the settler looks":
					r.Settler.Chain = &settledMeanwhile{Chain: r.Settler.Chain, then: r.look}
					settles()
				}
				for range 2 {
					r.Restart()
					settles()
					r.look()
				}
				if got := r.outcome(requests); !reflect.DeepEqual(got, s.want) {
					t.Errorf("got  %+v\nwant %+v", got, s.want)
				}
			})
		}
	}
}
