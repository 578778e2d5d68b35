package handlers_test

import (
	"context"
	"strings"
	"testing"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// changing is a network that asks other fees and rents than the sandbox's.
type changing struct {
	node
	fee      uint64 // lamports that it asks for every message; 0 is the true fee
	rent     func(size, today uint64) uint64
	refused  error // of simulations
	simulate int   // calls
}

func (c *changing) Fee(ctx context.Context, message []byte) (uint64, error) {
	if c.fee > 0 {
		return c.fee, nil
	}
	return c.node.Fee(ctx, message)
}

func (c *changing) RentMinimum(ctx context.Context, size uint64) (uint64, error) {
	today, err := c.node.RentMinimum(ctx, size)
	if c.rent != nil {
		today = c.rent(size, today)
	}
	return today, err
}

func (c *changing) Simulate(ctx context.Context, message []byte) (uint64, error) {
	c.simulate++
	if c.refused != nil || c.fee > 0 { // the sandbox would leave what it does not charge as dust
		return 450, c.refused
	}
	return c.node.Simulate(ctx, message)
}

// changed gives a harness such a network.
func (r *harness) changed() *changing {
	c := &changing{node: r.Chain}
	r.dials(c)
	return c
}

// node is all that transfers ask the chain.
type node interface {
	handlers.TransferChain
	handlers.Network
}

// dials has transfers ask another node.
func (r *harness) dials(n node) { r.Transfers.Chain, r.Transfers.Network = n, n }

// asked counts the questions that a stranger's words cost.
type asked struct {
	handlers.TransferChain
	calls int
}

func (a *asked) Mint(ctx context.Context, at wallet.Address) (wallet.Mint, error) {
	a.calls++
	return a.TransferChain.Mint(ctx, at)
}

func (a *asked) Parties(ctx context.Context, from, to wallet.Address) (wallet.Parties, error) {
	a.calls++
	return a.TransferChain.Parties(ctx, from, to)
}

// TestWhatNeedsNoNodeIsLookedAtFirst: who has no wallet, or sends to no address, has no mint read that they name.
func TestWhatNeedsNoNodeIsLookedAtFirst(t *testing.T) {
	r := newHarness(t)
	alice, stranger := r.rich(1001, sol), handlers.Caller{User: r.meet(1009).ID}
	mint := wallet.TokenRef{Mint: r.Stranger()}
	node := &asked{TransferChain: r.Transfers.Chain}
	r.Transfers.Chain = node
	for name, err := range map[string]error{
		"no wallet":            second(r.Transfers.Prepare(context.Background(), stranger, handlers.SendRequest{To: r.Stranger(), Amount: world.Quantity("1"), Token: mint})),
		"the System program":   second(r.Transfers.Prepare(context.Background(), alice.Caller(), handlers.SendRequest{Amount: world.Quantity("1"), Token: mint})),
		"to oneself":           second(r.Transfers.Prepare(context.Background(), alice.Caller(), handlers.SendRequest{To: alice.Address(), Amount: world.Quantity("1"), Token: mint})),
		"a request, no wallet": second(r.Transfers.PrepareRequest(context.Background(), stranger, handlers.RequestFor{Amount: wallet.MustDecimal("1"), Token: mint})),
	} {
		if err == nil || node.calls > 0 {
			t.Errorf("%s: %v, after %d questions to the node", name, err, node.calls)
		}
	}
	if _, err := r.History.List(context.Background(), alice.Caller(), handlers.Filter{OwnOnly: true, Token: mint, Limit: 5}); err != nil || node.calls > 0 {
		t.Errorf("a list: %v, after %d questions", err, node.calls)
	}
}

func second[T any](_ T, err error) error { return err }

// TestWhatAFeeWillBeTheNetworkSays, not a constant: signatures may cost something else some day.
func TestWhatAFeeWillBeTheNetworkSays(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 2*sol), r.rich(1002, sol)
	r.changed().fee = 7_000
	tx, err := r.Prepare(alice, bob.Address(), "max", "SOL")
	r.Must(err)
	if tx.Fee != 7_000 || tx.Amount != 2*sol-7_000 || tx.BalanceLeft != 0 {
		t.Errorf("max is %d with a fee of %d, leaves %d", tx.Amount, tx.Fee, tx.BalanceLeft)
	}
	_, err = r.Prepare(alice, bob.Address(), "1.999995", "SOL") // all but today's fee
	r.Refused(wallet.InsufficientFunds, err)
	if !strings.Contains(wallet.ReasonOf(err).String(), "Fee=0.000007") {
		t.Errorf("told as %v", err)
	}
	usdc := r.token("USDC")
	r.FundToken(alice.Address(), usdc.Mint.String(), 5_000_000)
	r.FundToken(bob.Address(), usdc.Mint.String(), 1)
	tx, err = r.Prepare(alice, bob.Address(), "max", "USDC")
	r.Must(err)
	if tx.Fee != 7_000 || tx.Amount != 5_000_000 {
		t.Errorf("max is %d with a fee of %d", tx.Amount, tx.Fee)
	}
}

// TestRentMayFallBetweenProposalAndConfirm: Solana lowers it step by step. What was shown then was the most that it
// could cost, and what it cost is told in the end.
func TestRentMayFallBetweenProposalAndConfirm(t *testing.T) {
	r := newHarness(t)
	alice, carol := r.rich(1001, 2*sol), r.Stranger()
	usdc := r.token("USDC")
	r.FundToken(alice.Address(), usdc.Mint.String(), 5_000_000)
	network := r.changed()
	network.rent = func(_, today uint64) uint64 { return today * 6960 / 5080 }
	proposed := r.Propose(alice, carol, "1", "USDC")
	today, err := r.Chain.RentMinimum(context.Background(), 165)
	r.Must(err)
	if proposed.Rent != today*6960/5080 {
		t.Fatalf("proposed with a rent of %d", proposed.Rent)
	}
	network.rent = nil
	confirmed, err := r.Confirm(alice.Caller(), proposed.ID)
	r.Must(err)
	before := r.Cluster.Balance(alice.Address().String())
	_, err = r.HandIn(alice, confirmed.SignID, r.Issue(confirmed.SignID))
	r.Must(err)
	paid := r.Settled(confirmed.ID)
	if paid.Status != wallet.Confirmed || paid.Rent != today {
		t.Errorf("ended as %s with a rent of %d, want %d", paid.Status, paid.Rent, today)
	}
	if spent := before - r.Cluster.Balance(alice.Address().String()); spent != paid.Rent+paid.Fee {
		t.Errorf("%d lamports left the wallet, told as %d", spent, paid.Rent+paid.Fee)
	}
}

func TestRentMayNotRiseBetweenProposalAndConfirm(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, 2*sol)
	r.FundToken(alice.Address(), r.token("USDC").Mint.String(), 5_000_000)
	proposed := r.Propose(alice, r.Stranger(), "1", "USDC")
	r.changed().rent = func(_, today uint64) uint64 { return today + 1 }
	_, err := r.Confirm(alice.Caller(), proposed.ID)
	r.Refused(wallet.InvalidRequest, err)
	if wallet.ReasonOf(err).Key != "proposal.rent_grew" {
		t.Errorf("told as %v", err)
	}
}

// TestTheRentMinimumMayFallBeforeConfirm: what would have left too little then leaves enough now.
func TestTheRentMinimumMayFallBeforeConfirm(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 2*sol), r.rich(1002, sol)
	network := r.changed()
	network.rent = func(size, today uint64) uint64 { return today * 2 }
	floor, err := r.Chain.RentMinimum(context.Background(), 0)
	r.Must(err)
	left := floor + 1 // enough by today's minimum, not by twice of it
	amount := wallet.Lamports(2*sol - 5_000 - left).String()
	_, err = r.Prepare(alice, bob.Address(), amount, "SOL")
	r.Refused(wallet.InsufficientFunds, err)
	network.rent = nil
	tx := r.Propose(alice, bob.Address(), amount, "SOL")
	_, err = r.Confirm(alice.Caller(), tx.ID)
	r.Must(err)
}

// TestConfirmAsksTheNetworkOnceMore: what it would carry out at the proposal, it may refuse minutes later.
func TestConfirmAsksTheNetworkOnceMore(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 2*sol), r.rich(1002, sol)
	id := r.proposed(alice, bob.Address(), "1")
	network := r.changed()
	network.refused = &wallet.PreflightError{Failure: wallet.SimulationFailed, Reason: wallet.Because("preflight.frozen")}
	_, err := r.Confirm(alice.Caller(), id)
	r.Refused(wallet.InvalidRequest, err)
	if network.simulate != 1 || r.Transaction(id).Status != wallet.AwaitingConfirmation {
		t.Errorf("%d simulations, and it is %s", network.simulate, r.Transaction(id).Status)
	}
	network.refused = nil
	_, err = r.Confirm(alice.Caller(), id)
	r.Must(err)
}

// TestAmountsAtTheEdgeOf64BitsAreRefused: amount and fee must not wrap around to next to nothing.
func TestAmountsAtTheEdgeOf64BitsAreRefused(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 2*sol), r.rich(1002, sol)
	network := r.changed()
	for _, amount := range []string{"18446744073.709551615", "18446744073.709546616", "18446744073.709546615"} {
		_, err := r.Prepare(alice, bob.Address(), amount, "SOL")
		r.Refused(wallet.InsufficientFunds, err)
		if network.simulate > 0 || wallet.ReasonOf(err).Key != "funds.sol_short" {
			t.Errorf("%s: told by the network, not by us: %v", amount, err)
		}
	}
	r.FundToken(alice.Address(), r.token("USDC").Mint.String(), 5_000_000)
	r.FundToken(bob.Address(), r.token("USDC").Mint.String(), 1)
	_, err := r.Prepare(alice, bob.Address(), "18446744073709.551615", "USDC")
	r.Refused(wallet.InsufficientFunds, err)
}

// TestTheDeadlineIsLookedAtOnceMoreWhenAConfirmIsWritten: between the look at the chain and the commit it may pass.
func TestTheDeadlineIsLookedAtOnceMoreWhenAConfirmIsWritten(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 2*sol), r.rich(1002, sol)
	id := r.proposed(alice, bob.Address(), "1")
	c, err := r.Transfers.PrepareConfirm(context.Background(), alice.Caller(), id, "")
	r.Must(err)
	r.Pass(wallet.ConfirmWindow)
	err = r.Update(func(tx store.Tx) error {
		_, err := r.Transfers.CommitConfirm(tx, c)
		return err
	})
	r.Refused(wallet.Conflict, err)
	if got := r.Transaction(id); got.Status != wallet.AwaitingConfirmation || got.SignID != "" {
		t.Errorf("it is %s", got.Status)
	}
}

// lateHash is a chain whose answer takes until after the deadline.
type lateHash struct {
	handlers.SigningChain
	late func()
}

func (l lateHash) Blockhash(ctx context.Context) (wallet.Blockhash, error) {
	l.late()
	return l.SigningChain.Blockhash(ctx)
}

// TestNoBlockhashIsIssuedAfterTheDeadline, however long the node took to tell it: a device could sign with it.
func TestNoBlockhashIsIssuedAfterTheDeadline(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 2*sol), r.rich(1002, sol)
	tx := r.Confirmed(alice, bob.Address(), "1", "SOL")
	r.Signing.Chain = lateHash{r.Signing.Chain, func() { r.Pass(wallet.SignWindow) }}
	view, err := r.Signing.Refresh(context.Background(), handlers.ByLink(tx.SignID))
	r.Refused(wallet.Conflict, err)
	if got := r.Transaction(tx.ID); len(got.IssuedBlockhashes) != 0 || view.Message != nil {
		t.Errorf("%d blockhashes were issued", len(got.IssuedBlockhashes))
	}
}

// TestAnotherOwnersWalletIsNotSentFrom: between a program's proposal and its commit the wallet may have moved to
// somebody else, who must not be asked for, nor pay, what was proposed to the first.
func TestAnotherOwnersWalletIsNotSentFrom(t *testing.T) {
	r := newHarness(t)
	alice, bob, mallory := r.rich(1001, 2*sol), r.rich(1002, sol), r.rich(1003, sol)
	app := handlers.Caller{App: "app_1", KeyID: "key_1", KeyLineage: "key_1", Bot: true}
	r.Must(r.Update(func(tx store.Tx) error {
		for _, p := range []*world.Person{alice, mallory} {
			if err := tx.PutGrant(wallet.Grant{User: p.User.ID, App: "app_1", Scopes: []wallet.Scope{wallet.WalletSend}}); err != nil {
				return err
			}
		}
		return nil
	}))
	p, err := r.Transfers.Prepare(context.Background(), app, handlers.SendRequest{From: alice.Address(), To: bob.Address(), Amount: world.Quantity("1"), Token: world.TokenRef("SOL")})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error {
		w, err := tx.Wallet(alice.Address())
		if err != nil {
			return err
		}
		if err := tx.DeleteWallet(w.Address); err != nil {
			return err
		}
		return tx.PutWallet(wallet.Wallet{Address: w.Address, Owner: mallory.User.ID, Type: w.Type, ConnectedAt: r.Now()})
	}))
	err = r.Update(func(tx store.Tx) error {
		_, err := r.Transfers.CommitByProgram(tx, p)
		return err
	})
	r.Refused(wallet.Conflict, err)
	r.View(func(tx store.Tx) error {
		if _, err := tx.Transaction(p.Transaction.ID); err == nil {
			t.Error("the proposal was stored")
		}
		return nil
	})
}

// TestAnotherTryCarriesTheSameWords: memo, label and the references of the link that it answers.
func TestAnotherTryCarriesTheSameWords(t *testing.T) {
	r := newHarness(t)
	alice, bob, reference := r.rich(1001, 2*sol), r.rich(1002, sol), r.Stranger()
	p, err := r.Transfers.Prepare(context.Background(), alice.Caller(), handlers.SendRequest{To: bob.Address(), Amount: world.Quantity("1"), Token: world.TokenRef("SOL"),
		Memo: "order 7", Label: "Café", Purpose: "Two bags", References: []wallet.Address{reference}})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error {
		if err := r.Transfers.Commit(tx, p); err != nil {
			return err
		}
		first, err := tx.Transaction(p.Transaction.ID)
		if err != nil {
			return err
		}
		first.Status, first.Closed = wallet.Failed, true
		return tx.PutTransaction(first)
	}))
	again, err := r.Transfers.PrepareRetry(context.Background(), alice.Caller(), p.Transaction.ID)
	r.Must(err)
	if got := again.Transaction; got.Memo != "order 7" || got.Label != "Café" || got.Purpose != "Two bags" || got.PaymentRequestRef != reference || len(got.LinkReferences) != 1 {
		t.Errorf("tried again as %+v", got)
	}
}

// TestAnotherTryIsOfTheSameTokenAndAmount: of a token, and of as many base units.
func TestAnotherTryIsOfTheSameTokenAndAmount(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 2*sol), r.rich(1002, sol)
	r.FundToken(alice.Address(), "USDC", 25_500_000)
	for _, token := range []string{"USDC", "SOL"} {
		first := r.Propose(alice, bob.Address(), "1.000005", token)
		r.Must(r.Update(func(tx store.Tx) error {
			ended, err := tx.Transaction(first.ID)
			if err != nil {
				return err
			}
			ended.Status, ended.Closed = wallet.Failed, true
			return tx.PutTransaction(ended)
		}))
		again, err := r.Transfers.PrepareRetry(context.Background(), alice.Caller(), first.ID)
		r.Must(err)
		if got := again.Transaction; got.Token != first.Token || got.Amount != first.Amount || got.Amount == 0 || got.To != bob.Address() || got.From != alice.Address() {
			t.Errorf("%s: tried again as %+v, first was %+v", token, got, first)
		}
	}
}

// TestWhatIsLackingAtConfirmIsSaidBeforeTheNetworkIsAsked, in words of our own.
func TestWhatIsLackingAtConfirmIsSaidBeforeTheNetworkIsAsked(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 5*sol), r.rich(1002, sol)
	node := r.changed()
	proposed := r.Propose(alice, bob.Address(), "1", "SOL")
	node.rent = func(uint64, uint64) uint64 { return 100 * sol }
	before := node.simulate
	_, err := r.Confirm(alice.Caller(), proposed.ID)
	if wallet.CodeOf(err) != wallet.InvalidRequest && wallet.CodeOf(err) != wallet.InsufficientFunds || node.simulate != before {
		t.Errorf("after %d more questions: %v", node.simulate-before, err)
	}
}

// TestAReferenceIsNoAccountOfThePayment: what a link names beside the recipient must be able to lose nothing.
func TestAReferenceIsNoAccountOfThePayment(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 5*sol), r.rich(1002, sol)
	fresh := r.Stranger()
	for name, references := range map[string][]wallet.Address{"the recipient": {bob.Address()}, "the sender": {alice.Address()}, "one twice": {fresh, fresh}} {
		_, err := r.Transfers.Prepare(context.Background(), alice.Caller(), handlers.SendRequest{To: bob.Address(), Amount: world.Quantity("1"), Token: world.TokenRef("SOL"), References: references})
		if wallet.CodeOf(err) != wallet.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
}
