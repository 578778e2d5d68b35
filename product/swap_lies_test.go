package product_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	solanago "github.com/gagliardetto/solana-go"

	"purser/e2e/world"
	"purser/sandbox/solana"
	"purser/store"
	"purser/wallet"
)

// liar is a source of quotes that asks an honest one for something else, or changes what it says.
type liar struct {
	honest wallet.SwapQuoter
	asks   func(*wallet.SwapRequest)
	says   func(*wallet.SwapQuote)
}

func (l liar) Quote(ctx context.Context, req wallet.SwapRequest) (wallet.SwapQuote, error) {
	if l.asks != nil {
		l.asks(&req)
	}
	q, err := l.honest.Quote(ctx, req)
	if l.says != nil {
		l.says(&q)
	}
	return q, err
}

// TestALyingSourceIsNotBelieved: what a quote does is read from its instruction, and one that does something else than what was asked
// for is proposed to nobody. What it says beside the instruction can only make it refused.
func TestALyingSourceIsNotBelieved(t *testing.T) {
	s := newSwapper(t, 10*world.SOL)
	honest := s.Swaps.Quoter
	bean := wallet.MustAddress(solana.MintAddress("purser", "BEAN"))
	for name, c := range map[string]struct {
		liar liar
		want string // the key of the refusal
	}{
		"pays more":               {liar{asks: func(r *wallet.SwapRequest) { r.Units++ }}, "swap.other_terms"},
		"pays less":               {liar{asks: func(r *wallet.SwapRequest) { r.Units-- }}, "swap.other_terms"},
		"brings another token":    {liar{asks: func(r *wallet.SwapRequest) { r.OutMint = bean }}, "swap.other_terms"},
		"takes another token":     {liar{asks: func(r *wallet.SwapRequest) { r.InMint = bean }}, "swap.other_terms"},
		"may bring less":          {liar{asks: func(r *wallet.SwapRequest) { r.SlippageBPS++ }}, "swap.other_terms"},
		"brings it to others":     {liar{asks: func(r *wallet.SwapRequest) { r.Taker = wallet.Address{9} }}, "swap.unreadable"},
		"another program":         {liar{says: func(q *wallet.SwapQuote) { q.Program = wallet.TokenProgram }}, "swap.unreadable"},
		"moves the price by much": {liar{says: func(q *wallet.SwapQuote) { q.ImpactBPS = 1_000 }}, "swap.impact"},
	} {
		c.liar.honest = honest
		s.Swaps.Quoter = c.liar
		code := wallet.PolicyViolation
		_, err := s.Swaps.Prepare(context.Background(), s.Caller(), swapOf("1", "SOL", "USDC"))
		if wallet.CodeOf(err) != code || wallet.ReasonOf(err).Key != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	// Less slippage than asked for is no lie, and it is what is shown.
	s.Swaps.Quoter = liar{honest: honest, asks: func(r *wallet.SwapRequest) { r.SlippageBPS = 7 }}
	better := s.proposes(swapOf("1", "SOL", "USDC")).SwapTerms()
	if better.SlippageBPS != 7 || better.Minimum != wallet.MinimumOut(better.Quoted, 7) {
		t.Errorf("%+v", better)
	}
	for impact, want := range map[int64]int{99: 0, 100: 1, 999: 1} {
		s.Swaps.Quoter = liar{honest: honest, says: func(q *wallet.SwapQuote) { q.ImpactBPS = impact }}
		if got := s.proposes(swapOf("0.1", "SOL", "USDC")).Warnings(); len(got) != want {
			t.Errorf("an impact of %d: %v", impact, got)
		}
	}
}

// TestPricesOfUnlistedTokensJudgeNothing: anybody can give them any price, so that a quote is neither refused nor called good by one.
func TestPricesOfUnlistedTokensJudgeNothing(t *testing.T) {
	s := newSwapper(t, 10*world.SOL)
	bean := solana.MintAddress("purser", "BEAN")
	s.Must(s.Update(func(tx store.Tx) error {
		return tx.SavePrices([]wallet.TokenPrice{{Mint: wallet.MustAddress(bean), Price: wallet.MustPrice("0.000001"), At: s.Now(), Source: "jupiter"}})
	}))
	got := s.proposes(swapOf("1", "SOL", bean))
	if terms := got.SwapTerms(); terms.BelowMarketBPS != nil || len(got.Warnings()) != 2 || got.Warnings()[0] != wallet.RuleUnlisted || got.Warnings()[1] != wallet.RuleNoPrice {
		t.Errorf("%v %v", terms.BelowMarketBPS, got.Warnings())
	}
}

// TestWrappedSOLThatIsThereIsCounted: it comes back as SOL with the swap, and what the swap itself brought is said.
func TestWrappedSOLThatIsThereIsCounted(t *testing.T) {
	s := newSwapper(t, 10*world.SOL)
	s.signs(s.proposes(swapOf("2", "SOL", "USDC")))
	for _, step := range []struct{ amount, in, out string }{{"1", "SOL", "USDC"}, {"100", "USDC", "SOL"}} {
		s.wraps(world.SOL)
		before, usdc := s.holds("SOL"), s.holds("USDC")
		done := s.signs(s.proposes(swapOf(step.amount, step.in, step.out)))
		terms := done.SwapTerms()
		if done.Status != wallet.Confirmed {
			t.Fatalf("%v: %s %v", step, done.Status, done.ErrorReason)
		}
		// The account's deposit and the SOL in it come back.
		back := uint64(world.SOL) + 2_039_280
		if step.in == "SOL" {
			if got := s.holds("SOL"); got != before-done.Amount-done.Fee+back || terms.Received != s.holds("USDC")-usdc {
				t.Errorf("%v: %d lamports of %d, received %d", step, got, before, terms.Received)
			}
			continue
		}
		if got := s.holds("SOL"); got != before-done.Fee+back+terms.Received {
			t.Errorf("%v: %d lamports of %d, received %d", step, got, before, terms.Received)
		}
	}
}

// TestWhatPassesThroughMustBeThere: the deposit of the account for wrapped SOL, while the swap runs; not if there is such an account already.
func TestWhatPassesThroughMustBeThere(t *testing.T) {
	s := newSwapper(t, 2_000_000) // less than the deposit
	s.FundToken(s.Address(), "USDC", 100_000_000)
	s.refused(wallet.InsufficientFunds, "swap.fee_short", swapOf("100", "USDC", "SOL"))
	s.Fund(s.Address(), 50_000)
	done := s.signs(s.proposes(swapOf("100", "USDC", "SOL")))
	if done.Status != wallet.Confirmed || done.SwapTerms().Passing != 2_039_280 {
		t.Errorf("it ended as %s: %+v", done.Status, done.SwapTerms())
	}
	const fee, floor = 5_000, 890_880
	all := func() string { return wallet.Lamports(s.holds("SOL") - fee - floor).String() }
	s.refused(wallet.InsufficientFunds, "swap.sol_short", swapOf(all(), "SOL", "USDC"))
	s.wraps(1)
	if done := s.signs(s.proposes(swapOf(all(), "SOL", "USDC"))); done.Status != wallet.Confirmed || done.SwapTerms().Passing != 0 {
		t.Errorf("with an account there it ended as %s: %+v", done.Status, done.SwapTerms())
	}
}

// TestWhatIsConfirmedIsSpentOnce: a confirmed swap reserves what it pays, so that no second one can be confirmed or quoted with it.
func TestWhatIsConfirmedIsSpentOnce(t *testing.T) {
	for _, token := range []string{"SOL", "USDC"} {
		s := newSwapper(t, 10*world.SOL)
		s.FundToken(s.Address(), "USDC", 10_000_000)
		other := map[string]string{"SOL": "USDC", "USDC": "SOL"}[token]
		first, second := s.proposes(swapOf("6", token, other)), s.proposes(swapOf("6", token, other))
		_, err := s.Confirm(s.Caller(), first.ID)
		s.Must(err)
		if _, err := s.Confirm(s.Caller(), second.ID); wallet.CodeOf(err) != wallet.InsufficientFunds {
			t.Errorf("6 %s of 10 are spent twice: %v", token, err)
		}
		_, err = s.Swaps.Prepare(context.Background(), s.Caller(), swapOf("5", token, other))
		s.Refused(wallet.InsufficientFunds, err)
		if rest := s.proposes(swapOf("max", token, other)); rest.Amount > 4*map[string]uint64{"SOL": world.SOL, "USDC": 1_000_000}[token] {
			t.Errorf("of 4 %s all is %s", token, rest.Money())
		}
	}
}

// TestLamportsAtTheAccountsAddressAreNoProceeds: anybody can send some there before there is an account. They come to the wallet with the
// swap, and the swap did not bring them.
func TestLamportsAtTheAccountsAddressAreNoProceeds(t *testing.T) {
	s := newSwapper(t, 10*world.SOL)
	s.signs(s.proposes(swapOf("1", "SOL", "USDC")))
	for _, gift := range []uint64{700_000_000, 1} {
		_, err := s.Cluster.Airdrop(context.Background(), s.Cluster.Associated(s.Address().String(), wallet.WrappedSOL.String()), gift+890_880)
		s.Must(err)
		s.Blocks(2)
		before := s.holds("SOL")
		done := s.signs(s.proposes(swapOf("10", "USDC", "SOL")))
		terms := done.SwapTerms()
		if done.Status != wallet.Confirmed || terms.Received < terms.Minimum || terms.Received > terms.Quoted || s.holds("SOL") != before-done.Fee+terms.Received+gift+890_880 {
			t.Errorf("with %d lamports there: %s, received %d of %d to %d; %d lamports became %d", gift, done.Status, terms.Received, terms.Minimum, terms.Quoted, before, s.holds("SOL"))
		}
	}
}

// TestASwapNotesADelegate of the account that it pays from and of the one that it brings to, for the token that it is about. An account for
// wrapped SOL does not count: the swap closes it.
func TestASwapNotesADelegate(t *testing.T) {
	s := newSwapper(t, 10*world.SOL)
	thief := s.Stranger()
	s.FundToken(s.Address(), "USDC", 100_000_000)
	s.wraps(world.SOL)
	wrapped := wallet.SOL
	wrapped.Mint, wrapped.Program = wallet.WrappedSOL, wallet.TokenProgram
	notes := func(in, out, want string) {
		t.Helper()
		p, err := s.Swaps.Prepare(context.Background(), s.Caller(), swapOf("1", in, out))
		s.Must(err)
		got := ""
		for _, f := range p.Transaction.Findings {
			if f.Rule == wallet.RuleForeignDelegate {
				for _, a := range f.Reason.Args {
					got += fmt.Sprint(a.Value(), " ")
				}
			}
		}
		if got != want {
			t.Errorf("from %s to %s: %q, want %q", in, out, got, want)
		}
	}
	notes("SOL", "USDC", "")
	s.Approve(s.Person, wrapped, thief, wallet.Unlimited)
	notes("SOL", "USDC", "")
	notes("USDC", "SOL", "")
	s.Approve(s.Person, s.TokenOf("USDC"), thief, 1)
	notes("SOL", "USDC", thief.String()+" USDC ")
	notes("USDC", "SOL", thief.String()+" USDC ")
}

// wraps makes the wallet's account for wrapped SOL, with lamports in it, as another wallet app does.
func (s swapper) wraps(lamports uint64) {
	s.Helper()
	from, account := solanago.PublicKey(s.Address()), solanago.PublicKey(wallet.AssociatedAccount(s.Address(), wallet.WrappedSOL, wallet.TokenProgram))
	program := func(a wallet.Address) solanago.PublicKey { return solanago.PublicKey(a) }
	hash, err := s.Chain.Blockhash(context.Background())
	s.Must(err)
	tx, err := solanago.NewTransaction([]solanago.Instruction{
		solanago.NewInstruction(program(wallet.AssociatedProgram), solanago.AccountMetaSlice{solanago.Meta(from).WRITE().SIGNER(), solanago.Meta(account).WRITE(), solanago.Meta(from),
			solanago.Meta(program(wallet.WrappedSOL)), solanago.Meta(program(wallet.SystemProgram)), solanago.Meta(program(wallet.TokenProgram))}, []byte{1}),
		solanago.NewInstruction(program(wallet.SystemProgram), solanago.AccountMetaSlice{solanago.Meta(from).WRITE().SIGNER(), solanago.Meta(account).WRITE()},
			binary.LittleEndian.AppendUint64([]byte{2, 0, 0, 0}, lamports)),
		solanago.NewInstruction(program(wallet.TokenProgram), solanago.AccountMetaSlice{solanago.Meta(account).WRITE()}, []byte{17}),
	}, solanago.Hash(hash.Hash), solanago.TransactionPayer(from))
	s.Must(err)
	private := solanago.PrivateKey(s.Key)
	_, err = tx.Sign(func(solanago.PublicKey) *solanago.PrivateKey { return &private })
	s.Must(err)
	wire, err := tx.MarshalBinary()
	s.Must(err)
	s.Must(s.Chain.Broadcast(context.Background(), wire))
	s.Blocks(2)
}
