package product_test

import (
	"context"
	"testing"
	"time"

	"purser/chain"
	"purser/e2e/world"
	"purser/handlers"
	exchange "purser/sandbox/market"
	"purser/sandbox/solana"
	"purser/store"
	"purser/wallet"
)

// swapper plays somebody who swaps, with the device that signs.
type swapper struct {
	*world.World
	*world.Person
}

func newSwapper(t *testing.T, lamports uint64) swapper {
	w := world.New(t, world.Options{Market: true})
	return swapper{w, w.Rich(1001, "Alice", lamports)}
}

// swapOf asks for a swap; amount "max" is all.
func swapOf(amount, in, out string) handlers.SwapRequest {
	ref := func(text string) wallet.TokenRef {
		r, err := wallet.ParseTokenRef(text)
		if err != nil {
			panic(err)
		}
		return r
	}
	return handlers.SwapRequest{Amount: world.Quantity(amount), Token: ref(in), ToToken: ref(out)}
}

// proposes stores the proposal of a swap.
func (s swapper) proposes(req handlers.SwapRequest) wallet.Transaction {
	s.Helper()
	p, err := s.Swaps.Prepare(context.Background(), s.Caller(), req)
	s.Must(err)
	s.Must(s.Update(func(tx store.Tx) error { return s.Transactions.Commit(tx, p) }))
	return p.Transaction
}

// signs confirms a proposal and signs it, as the person and their device do, which reads from the bytes alone what it signs.
func (s swapper) signs(t wallet.Transaction) wallet.Transaction {
	s.Helper()
	t, err := s.Confirm(s.Caller(), t.ID)
	s.Must(err)
	message := s.Issue(t.SignID)
	d, err := chain.Decode(message, s.Address())
	s.Must(err)
	terms := t.SwapTerms()
	for _, a := range d.Actions {
		if a.Type == wallet.ActionSwap && (a.Swap.Units != t.Amount || a.Swap.Minimum != terms.Minimum) {
			s.Errorf("the device reads %d for at least %d, the card says %d for %d", a.Swap.Units, a.Swap.Minimum, t.Amount, terms.Minimum)
		}
	}
	_, err = s.HandIn(s.Person, t.SignID, message)
	s.Must(err)
	return s.Settled(t.ID)
}

// holds is what the wallet has of a token, in base units.
func (s swapper) holds(token string) uint64 {
	s.Helper()
	if token == "SOL" {
		accounts, err := s.Chain.Accounts(context.Background(), []wallet.Address{s.Address()})
		s.Must(err)
		return accounts[0].Lamports
	}
	if len(token) < 32 {
		token = solana.MintAddress("purser", token)
	}
	return s.Cluster.TokenBalance(s.Address().String(), token)
}

// refused is the reason for which a swap is refused.
func (s swapper) refused(code wallet.Code, reason string, req handlers.SwapRequest) {
	s.Helper()
	_, err := s.Swaps.Prepare(context.Background(), s.Caller(), req)
	if wallet.CodeOf(err) != code || wallet.ReasonOf(err).Key != reason {
		s.Errorf("refused with %v, want %s %s", err, code, reason)
	}
}

// TestTheWholeLifeOfASwap: SOL for a token, that token for another one, and back to SOL. Every base unit and lamport is accounted for, and
// what was received is what the chain says.
func TestTheWholeLifeOfASwap(t *testing.T) {
	s := newSwapper(t, 10*world.SOL)
	bean := solana.MintAddress("purser", "BEAN")
	for _, step := range []struct{ amount, in, out string }{{"2", "SOL", "USDC"}, {"50", "USDC", bean}, {"max", bean, "SOL"}, {"max", "USDC", "SOL"}, {"max", "SOL", "USDC"}} {
		paid, got := s.holds(step.in), s.holds(step.out)
		proposal := s.proposes(swapOf(step.amount, step.in, step.out))
		terms := proposal.SwapTerms()
		if terms.Minimum == 0 || terms.Minimum > terms.Quoted || terms.Quoted-terms.Minimum > terms.Quoted/190 {
			t.Errorf("%v: at least %d of %d", step, terms.Minimum, terms.Quoted)
		}
		done := s.signs(proposal)
		if done.Status != wallet.Confirmed || !done.Closed {
			t.Fatalf("%v ended as %s: %s %v", step, done.Status, done.ErrorCode, done.ErrorReason)
		}
		received := done.SwapTerms().Received
		if received < terms.Minimum {
			t.Errorf("%v brought %d, less than %d", step, received, terms.Minimum)
		}
		gave, came := paid-s.holds(step.in), s.holds(step.out)-got
		switch {
		case step.in == "SOL":
			gave -= done.Fee + done.Rent
		case step.out == "SOL":
			came += done.Fee + done.Rent
		}
		if gave != done.Amount || came != received {
			t.Errorf("%v: %d of %d were paid, and %d of %d received; fee %d, rent %d", step, gave, done.Amount, came, received, done.Fee, done.Rent)
		}
		if step.in == "SOL" && done.BalanceLeft != s.holds("SOL") {
			t.Errorf("%v: %d SOL are left, it was told %d", step, s.holds("SOL"), done.BalanceLeft)
		}
	}
}

// TestAQuoteIsNeverTakenForAWorseOne: it ends after a minute, a price that moves makes the swap fail, and what is tried again has numbers
// of its own, which its owner confirms.
func TestAQuoteIsNeverTakenForAWorseOne(t *testing.T) {
	s := newSwapper(t, 10*world.SOL)
	old := s.proposes(swapOf("1", "SOL", "USDC"))
	s.Pass(wallet.QuoteLife)
	if _, err := s.Confirm(s.Caller(), old.ID); wallet.CodeOf(err) != wallet.Conflict {
		t.Errorf("a quote that has ended is confirmed: %v", err)
	}
	s.Must(s.Exchange.SetQuotes(exchange.QuoteMoves))
	before := s.holds("SOL")
	s.refused(wallet.InvalidRequest, "preflight.slippage", swapOf("1", "SOL", "USDC"))
	s.Must(s.Exchange.SetQuotes(""))
	// The price falls between the signature and the block.
	moved := s.proposes(swapOf("1", "SOL", "USDC"))
	confirmed, err := s.Confirm(s.Caller(), moved.ID)
	s.Must(err)
	message := s.Issue(confirmed.SignID)
	_, err = s.HandIn(s.Person, confirmed.SignID, message)
	s.Must(err)
	s.Must(s.Exchange.Jump("SOL", -5))
	_, err = s.Swaps.Prepare(context.Background(), s.Caller(), swapOf("0.1", "SOL", "USDC")) // somebody trades at the new price
	s.Must(err)
	s.Rounds(3)
	s.Blocks(200) // its blockhash is over
	s.Pass(wallet.NeverLandsAfter)
	if ended := s.Settled(moved.ID); ended.Status == wallet.Confirmed || s.holds("SOL") < before-10_000 {
		t.Errorf("it ended as %s with %d SOL of %d", ended.Status, s.holds("SOL"), before)
	}
	s.Pass(wallet.SwapSignWindow)
	again, err := s.Transactions.PrepareRetry(context.Background(), s.Caller(), old.ID)
	s.Must(err)
	if a, b := again.Transaction.SwapTerms(), old.SwapTerms(); a.Minimum >= b.Minimum || again.Transaction.Amount != old.Amount || again.Transaction.Status != wallet.AwaitingConfirmation {
		t.Errorf("tried again: %+v", again.Transaction)
	}
}

// TestASignedSwapMustComeSoon: a device has three minutes.
func TestASignedSwapMustComeSoon(t *testing.T) {
	s := newSwapper(t, 10*world.SOL)
	confirmed, err := s.Confirm(s.Caller(), s.proposes(swapOf("1", "SOL", "USDC")).ID)
	s.Must(err)
	if want := s.Now().UTC().Add(wallet.SwapSignWindow); !confirmed.Deadline.Equal(want) {
		t.Errorf("it can be signed until %s, want %s", confirmed.Deadline, want)
	}
	s.Pass(wallet.SwapSignWindow + time.Second)
	s.Look()
	if ended := s.World.Transaction(confirmed.ID); ended.Status != wallet.Expired {
		t.Errorf("it is %s", ended.Status)
	}
}

// TestSwapsThatAreRefused: by what the source offers, by the funds, and by the tokens.
func TestSwapsThatAreRefused(t *testing.T) {
	s := newSwapper(t, 10*world.SOL)
	s.FundToken(s.Address(), "FEE", 1)
	for mode, want := range map[string]string{exchange.QuoteDirect: "swap.passes_signature", exchange.QuoteLow: "swap.below_market"} {
		s.Must(s.Exchange.SetQuotes(mode))
		s.refused(wallet.PolicyViolation, want, swapOf("1", "SOL", "USDC"))
	}
	s.Must(s.Exchange.SetQuotes(exchange.QuoteNoRoute))
	s.refused(wallet.InvalidRequest, "swap.no_route", swapOf("1", "SOL", "USDC"))
	s.Must(s.Exchange.SetQuotes(""))
	s.refused(wallet.PolicyViolation, "swap.token_2022", swapOf("1", "SOL", "FEE"))
	s.refused(wallet.PolicyViolation, "swap.token_2022", swapOf("1", "FEE", "SOL"))
	s.refused(wallet.InvalidRequest, "swap.same_token", swapOf("1", "SOL", wallet.WrappedSOL.String()))
	s.refused(wallet.TokenNotFound, "token.not_listed", swapOf("1", "SOL", "NOPE"))
	s.refused(wallet.InsufficientFunds, "swap.sol_short", swapOf("10", "SOL", "USDC"))
	s.refused(wallet.InsufficientFunds, "swap.token_short", swapOf("1", "USDC", "SOL"))
	s.refused(wallet.InsufficientFunds, "swap.none", swapOf("max", "USDC", "SOL"))
	req := swapOf("1", "SOL", "USDC")
	req.SlippageBPS = wallet.MaxSlippage + 1
	s.refused(wallet.InvalidRequest, "swap.slippage", req)
	s.Must(s.Exchange.SetFault(exchange.Jupiter, exchange.Fault{Kind: exchange.Garbage}))
	s.refused(wallet.NetworkError, "swap.no_source", swapOf("1", "SOL", "USDC"))
}
