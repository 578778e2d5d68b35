package product_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"purser/chain"
	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// robbed plays somebody whom a hostile app got to approve a delegate, and the thief whose key that is.
type robbed struct {
	*world.World
	*world.Person
	thief *world.Person
}

func newRobbed(t *testing.T) robbed {
	w := world.New(t, world.Options{})
	r := robbed{w, w.Rich(1001, "Alice", world.SOL), w.Somebody(666, "Mallory")}
	w.Fund(r.thief.Address(), world.SOL)
	for _, token := range []string{"USDC", "FEE"} {
		w.FundToken(r.Address(), token, 100_000_000)
		w.FundToken(r.thief.Address(), token, 1)
	}
	return r
}

// approves lets the thief take up to units of a token, and returns the token and its account.
func (r robbed) approves(symbol string, units uint64) (wallet.Token, wallet.Address) {
	r.Helper()
	token := r.TokenOf(symbol)
	return token, r.Approve(r.Person, token, r.thief.Address(), units)
}

// lists are the delegates of a wallet; the zero address is the default one.
func (r robbed) lists(at wallet.Address) []wallet.TokenDelegate {
	r.Helper()
	_, all, err := r.Revokes.Delegates(context.Background(), r.Caller(), at)
	r.Must(err)
	return all
}

// proposes stores the proposal of a revocation.
func (r robbed) proposes(account wallet.Address) wallet.Transaction {
	r.Helper()
	p, err := r.Revokes.Prepare(context.Background(), r.Caller(), handlers.RevokeRequest{Account: account})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error { return r.Revokes.Commit(tx, p) }))
	return r.Transaction(p.Transaction.ID)
}

// refused is the reason for which a revocation is refused.
func (r robbed) refused(code wallet.Code, reason string, account wallet.Address) {
	r.Helper()
	_, err := r.Revokes.Prepare(context.Background(), r.Caller(), handlers.RevokeRequest{Account: account})
	if wallet.CodeOf(err) != code || wallet.ReasonOf(err).Key != reason {
		r.Errorf("refused with %v, want %s %s", err, code, reason)
	}
}

// notConfirmed is the reason for which a proposal cannot be confirmed any more.
func (r robbed) notConfirmed(t wallet.Transaction, code wallet.Code, reason string) {
	r.Helper()
	_, err := r.Confirm(r.Caller(), t.ID)
	if wallet.CodeOf(err) != code || wallet.ReasonOf(err).Key != reason {
		r.Errorf("refused with %v, want %s %s", err, code, reason)
	}
	if now := r.Transaction(t.ID); now.Status != wallet.AwaitingConfirmation || now.SignID != "" {
		r.Errorf("it is %s", now.Status)
	}
}

// TestWhatTheSandboxPlantsIsRevoked: what the chat page's button does is listed, noted on a payment, and taken back.
func TestWhatTheSandboxPlantsIsRevoked(t *testing.T) {
	r := newRobbed(t)
	planted, err := r.Cluster.PlantApproval(r.Address().String(), "USDC", 25_000_000)
	r.Must(err)
	r.Blocks(3)
	got := r.lists(r.Address())
	if len(got) != 1 || got[0].Delegate.String() != planted || got[0].Limit != 25_000_000 || got[0].Token.Symbol != "USDC" {
		t.Fatalf("listed are %+v", got)
	}
	payment, err := r.Transfers.Prepare(context.Background(), r.Caller(), handlers.SendRequest{To: r.thief.Address(), Amount: world.Quantity("1"), Token: world.TokenRef("USDC")})
	r.Must(err)
	if !slices.Contains(payment.Transaction.Warnings(), wallet.RuleForeignDelegate) {
		t.Errorf("a payment finds %v", payment.Transaction.Warnings())
	}
	proposed := r.proposes(got[0].Account)
	confirmed, err := r.Confirm(r.Caller(), proposed.ID)
	r.Must(err)
	_, err = r.HandIn(r.Person, confirmed.SignID, r.Issue(confirmed.SignID))
	r.Must(err)
	if done := r.Settled(confirmed.ID); done.Status != wallet.Confirmed {
		t.Fatalf("it ended as %s", done.Status)
	}
	if got := r.lists(r.Address()); len(got) > 0 {
		t.Errorf("still listed are %+v", got)
	}
}

// TestAWalletWithoutAnOwnerLearnsOfItsDelegate: the key that holds it is told as an owner is.
func TestAWalletWithoutAnOwnerLearnsOfItsDelegate(t *testing.T) {
	r := newRobbed(t)
	by := handlers.Caller{KeyID: "key_1", KeyLineage: "key_1"}
	holder := &world.Person{Key: r.NewKey()}
	r.Fund(holder.Address(), world.SOL)
	r.FundToken(holder.Address(), "USDC", 100_000_000)
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: holder.Address(), Type: wallet.DeveloperWallet, KeyLineage: "key_1", ConnectedAt: r.Now()})
	}))
	r.Approve(holder, r.TokenOf("USDC"), r.thief.Address(), 1)
	p, err := r.Transfers.Prepare(context.Background(), by, handlers.SendRequest{From: holder.Address(), To: r.Address(), Amount: world.Quantity("1"), Token: world.TokenRef("USDC")})
	r.Must(err)
	if !slices.Contains(p.Transaction.Warnings(), wallet.RuleForeignDelegate) {
		t.Errorf("it finds %v", p.Transaction.Warnings())
	}
}

// TestTheWholeLifeOfARevocation: approved elsewhere, used by the thief, listed, taken back with a signature of the device, and of no
// use to the thief from then on. For both token programs.
func TestTheWholeLifeOfARevocation(t *testing.T) {
	for _, symbol := range []string{"USDC", "FEE"} {
		t.Run(symbol, func(t *testing.T) {
			r := newRobbed(t)
			ctx := context.Background()
			token, account := r.approves(symbol, 25_000_000)
			r.Must(r.Spend(r.thief.Key, account, token, 5_000_000))
			if err := r.Spend(r.thief.Key, account, token, 20_000_001); err == nil {
				t.Error("a delegate takes more than it was allowed")
			}
			want := []wallet.TokenDelegate{{Account: account, Token: token, Delegate: r.thief.Address(), Limit: 20_000_000, Units: 95_000_000}}
			if got := r.lists(wallet.Address{}); !reflect.DeepEqual(got, want) {
				t.Fatalf("listed are %+v, want %+v", got, want)
			}
			proposed := r.proposes(account)
			terms := wallet.RevokeTerms{Account: account, Token: token, Delegate: r.thief.Address(), Limit: 20_000_000}
			if proposed.Status != wallet.AwaitingConfirmation || proposed.RevokeTerms() != terms || proposed.Amount != 0 || proposed.To != r.Address() || len(proposed.Warnings()) > 0 {
				t.Errorf("proposed is %+v", proposed)
			}
			confirmed, err := r.Confirm(r.Caller(), proposed.ID)
			r.Must(err)
			message := r.Issue(confirmed.SignID)
			d, err := chain.Decode(message, r.Address())
			r.Must(err)
			if len(d.Actions) != 1 || d.Actions[0].Type != wallet.ActionRevoke || d.Actions[0].Account != account || d.Actions[0].Reference != confirmed.Reference {
				t.Errorf("the device reads %+v", d.Actions)
			}
			_, err = r.HandIn(r.Person, confirmed.SignID, message)
			r.Must(err)
			done := r.Settled(confirmed.ID)
			if done.Status != wallet.Confirmed || !done.Closed || done.Signature.IsZero() {
				t.Fatalf("it ended as %s: %s %v", done.Status, done.ErrorCode, done.ErrorReason)
			}
			// Nothing but the fee has left the wallet, and the thief has lost the right.
			if err := r.Spend(r.thief.Key, account, token, 1); err == nil {
				t.Error("the thief still spends")
			}
			if got := r.Cluster.TokenBalance(r.Address().String(), token.Mint.String()); got != 95_000_000 {
				t.Errorf("%d units are left", got)
			}
			accounts, err := r.Chain.Accounts(ctx, []wallet.Address{r.Address()})
			r.Must(err)
			if accounts[0].Lamports != done.BalanceLeft {
				t.Errorf("the wallet has %d lamports, %d were to be left", accounts[0].Lamports, done.BalanceLeft)
			}
			if got := r.lists(r.Address()); len(got) > 0 {
				t.Errorf("still listed are %+v", got)
			}
			r.refused(wallet.Conflict, "revokes.none", account)
			// It is recognised by its reference and what it does, whatever signature it got, and nothing else is taken for it.
			rules, err := r.Store.Kinds().Of(wallet.Revoke)
			r.Must(err)
			for name, change := range map[string]func(*wallet.TransactionQuery){
				"":                  func(*wallet.TransactionQuery) {},
				"another account":   func(q *wallet.TransactionQuery) { q.Actions[0].Account = r.thief.Address() },
				"another program":   func(q *wallet.TransactionQuery) { q.Actions[0].Program = wallet.Address{9} },
				"another owner":     func(q *wallet.TransactionQuery) { q.Actions[0].From = r.thief.Address() },
				"another payer":     func(q *wallet.TransactionQuery) { q.From = r.thief.Address() },
				"another reference": func(q *wallet.TransactionQuery) { q.Actions[0].Reference = wallet.Address{9} },
			} {
				query := rules.Query(done)
				query.Signature = wallet.Signature{}
				change(&query)
				found, err := r.Chain.Find(ctx, query)
				if err != nil || (found != nil) != (name == "") || found != nil && found.Signature != done.Signature {
					t.Errorf("%s: found %+v, %v", name, found, err)
				}
			}
			// The history has one entry of it, by its own word.
			page, err := r.History.List(ctx, r.Caller(), handlers.Filter{Limit: 10, Address: r.Address(), Type: wallet.EntryType(wallet.Revoke)})
			r.Must(err)
			if len(page.Entries) != 1 || page.Entries[0].Transaction == nil || page.Entries[0].Transaction.ID != done.ID {
				t.Errorf("the history has %+v", page.Entries)
			}
			if events := r.Events(done.ID); !slices.Contains(events, "transaction.confirmed") {
				t.Errorf("its events are %v", events)
			}
		})
	}
}

// TestOnlyAForeignDelegateOfOnesOwnAccountIsTakenBack.
func TestOnlyAForeignDelegateOfOnesOwnAccountIsTakenBack(t *testing.T) {
	r := newRobbed(t)
	usdc := r.TokenOf("USDC")
	own := wallet.AssociatedAccount(r.Address(), usdc.Mint, usdc.Program)
	r.refused(wallet.InvalidRequest, "revokes.no_account", r.Stranger()) // nothing is there
	r.refused(wallet.InvalidRequest, "revokes.no_account", r.Address())  // a wallet
	r.refused(wallet.InvalidRequest, "revokes.no_account", usdc.Mint)    // a mint
	r.refused(wallet.Conflict, "revokes.none", own)
	r.Approve(r.Person, usdc, r.Address(), 5) // to oneself: nobody else can spend
	r.refused(wallet.Conflict, "revokes.none", own)
	if got := r.lists(wallet.Address{}); len(got) > 0 {
		t.Errorf("listed are %+v", got)
	}
	theirs := r.Approve(r.thief, usdc, r.Address(), 5)
	r.refused(wallet.PolicyViolation, "revokes.not_yours", theirs) // also where the person is the delegate
	// Of somebody else who is known here: the same answer, and their list is not to be had.
	bob := r.Rich(1002, "Bob", world.SOL)
	r.FundToken(bob.Address(), "USDC", 5)
	r.refused(wallet.PolicyViolation, "revokes.not_yours", r.Approve(bob, usdc, r.thief.Address(), 5))
	if _, _, err := r.Revokes.Delegates(context.Background(), r.Caller(), bob.Address()); wallet.CodeOf(err) != wallet.WalletNotFound {
		t.Errorf("of somebody else's wallet: %v", err)
	}
	// Without a wallet no node is asked.
	nobody := r.Somebody(1003, "Carol")
	r.Meet(nobody)
	for _, err := range []error{
		func() error {
			_, err := r.Revokes.Prepare(context.Background(), nobody.Caller(), handlers.RevokeRequest{Account: own})
			return err
		}(),
		func() error {
			_, _, err := r.Revokes.Delegates(context.Background(), nobody.Caller(), wallet.Address{})
			return err
		}(),
	} {
		if wallet.CodeOf(err) != wallet.WalletNotFound || wallet.ReasonOf(err).Key != "own_wallet.no_wallet" {
			t.Errorf("without a wallet: %v", err)
		}
	}
}

// TestADelegateOfAnotherWalletIsTakenBackByThatWallet: it signs and pays, whichever is the default.
func TestADelegateOfAnotherWalletIsTakenBackByThatWallet(t *testing.T) {
	r := newRobbed(t)
	second := &world.Person{User: r.User, TelegramID: r.TelegramID, Key: r.NewKey()}
	r.Connect(second)
	r.Fund(second.Address(), world.SOL)
	r.FundToken(second.Address(), "USDC", 5_000_000)
	usdc := r.TokenOf("USDC")
	account := r.Approve(second, usdc, r.thief.Address(), wallet.Unlimited)
	r.Must(r.Update(func(tx store.Tx) error {
		_, err := r.Wallets.Use(tx, r.User.ID, r.Address().String())
		return err
	}))
	if got := r.lists(wallet.Address{}); len(got) > 0 {
		t.Errorf("of the default wallet are listed %+v", got)
	}
	if got := r.lists(second.Address()); len(got) != 1 || got[0].Account != account || got[0].Limit != wallet.Unlimited {
		t.Errorf("of the other wallet are listed %+v", got)
	}
	proposed := r.proposes(account)
	if proposed.From != second.Address() || proposed.To != second.Address() {
		t.Errorf("it is signed by %s", proposed.From)
	}
	confirmed, err := r.Confirm(r.Caller(), proposed.ID)
	r.Must(err)
	_, err = r.HandIn(second, confirmed.SignID, r.Issue(confirmed.SignID))
	r.Must(err)
	if done := r.Settled(confirmed.ID); done.Status != wallet.Confirmed {
		t.Errorf("it ended as %s", done.Status)
	}
	if err := r.Spend(r.thief.Key, account, usdc, 1); err == nil {
		t.Error("the thief still spends")
	}
}

// delegateLiar is the chain with something odd about the accounts by which revocations are judged.
type delegateLiar struct {
	handlers.RevokeChain
	change func(*wallet.DelegateFacts)
	mint   error
}

func (l *delegateLiar) DelegateFacts(ctx context.Context, owner, account wallet.Address) (wallet.DelegateFacts, error) {
	facts, err := l.RevokeChain.DelegateFacts(ctx, owner, account)
	if err == nil && l.change != nil {
		l.change(&facts)
	}
	return facts, err
}

func (l *delegateLiar) Mint(ctx context.Context, at wallet.Address) (wallet.Mint, error) {
	if l.mint != nil {
		return wallet.Mint{}, l.mint
	}
	return l.RevokeChain.Mint(ctx, at)
}

// TestARevocationIsJudgedAgainAtConfirm: minutes pass between the proposal and the owner's word.
func TestARevocationIsJudgedAgainAtConfirm(t *testing.T) {
	r := newRobbed(t)
	usdc, account := r.approves("USDC", 25)
	proposed := r.proposes(account)
	// The owner approved somebody else, then nobody, elsewhere.
	r.Approve(r.Person, usdc, r.Stranger(), 7)
	r.notConfirmed(proposed, wallet.Conflict, "revokes.changed")
	r.Approve(r.Person, usdc, r.thief.Address(), 9_000) // the same delegate may take more: all of it is taken back
	liar := &delegateLiar{RevokeChain: r.Revokes.Chain}
	r.Revokes.Chain = liar
	for _, c := range []struct {
		change func(*wallet.DelegateFacts)
		code   wallet.Code
		reason string
	}{
		{func(f *wallet.DelegateFacts) { f.Account.Delegate = wallet.Address{} }, wallet.Conflict, "revokes.none"},
		{func(f *wallet.DelegateFacts) { f.Account.Delegate = f.Account.Owner }, wallet.Conflict, "revokes.none"},
		{func(f *wallet.DelegateFacts) { f.Account.Mint = wallet.Address{9} }, wallet.Conflict, "revokes.changed"},
		{func(f *wallet.DelegateFacts) { f.Account.Program = wallet.Token2022Program }, wallet.Conflict, "revokes.changed"},
		{func(f *wallet.DelegateFacts) { f.Account.Frozen = true }, wallet.PolicyViolation, "revokes.frozen"},
		{func(f *wallet.DelegateFacts) { f.Account = wallet.TokenAccount{Address: account} }, wallet.InvalidRequest, "revokes.no_account"},
		{func(f *wallet.DelegateFacts) { f.Account.Owner = wallet.Address{9} }, wallet.PolicyViolation, "revokes.not_yours"},
		{func(f *wallet.DelegateFacts) { f.From.Owner = wallet.StakeProgram }, wallet.PolicyViolation, "sender.owned_by_program"},
		{func(f *wallet.DelegateFacts) { f.From.Lamports = proposed.Fee - 1 }, wallet.InsufficientFunds, "funds.fee_short"},
		{func(f *wallet.DelegateFacts) { f.From.Lamports = proposed.Fee + 1 }, wallet.InsufficientFunds, "funds.fee_leaves_dust"},
	} {
		liar.change = c.change
		r.notConfirmed(proposed, c.code, c.reason)
	}
	liar.change = func(f *wallet.DelegateFacts) { f.From.Lamports = proposed.Fee } // exactly enough
	if confirmed, err := r.Confirm(r.Caller(), proposed.ID); err != nil || confirmed.Status != wallet.AwaitingSignature {
		t.Errorf("confirmed: %s, %v", confirmed.Status, err)
	}
}

// TestAnUnreadableMintHidesNoDelegate: the right can be taken back all the same, and a node that does not answer is no such mint.
func TestAnUnreadableMintHidesNoDelegate(t *testing.T) {
	r := newRobbed(t)
	usdc, account := r.approves("USDC", 25)
	liar := &delegateLiar{RevokeChain: r.Revokes.Chain, mint: wallet.Refuse(wallet.TokenNotFound, "token.none_at")}
	r.Revokes.Chain, r.Revokes.Tokens = liar, unlisting{}
	if got := r.proposes(account).RevokeTerms().Token; got != (wallet.Token{Mint: usdc.Mint, Program: usdc.Program}) {
		t.Errorf("the token is %+v", got)
	}
	liar.mint = wallet.Refuse(wallet.NetworkError, "network.no_answer")
	r.refused(wallet.NetworkError, "network.no_answer", account)
	liar.mint = nil
	if got := r.proposes(account).RevokeTerms().Token; got != (wallet.Token{Mint: usdc.Mint, Decimals: 6, Program: usdc.Program}) {
		t.Errorf("the token is %+v", got)
	}
}

// unlisting is a list of no tokens.
type unlisting struct{}

func (unlisting) BySymbol(string) (wallet.Token, bool)       { return wallet.Token{}, false }
func (unlisting) ByMint(wallet.Address) (wallet.Token, bool) { return wallet.Token{}, false }

// TestARevocationIsTriedAgain: one that nobody signed in time is replaced by another one, of whoever is the delegate by then, once.
func TestARevocationIsTriedAgain(t *testing.T) {
	r := newRobbed(t)
	usdc, account := r.approves("USDC", 25)
	first := r.proposes(account)
	r.Pass(wallet.ConfirmWindow + time.Minute)
	if first = r.Settled(first.ID); first.Status != wallet.Expired {
		t.Fatalf("it is %s", first.Status)
	}
	other := r.Stranger()
	r.Approve(r.Person, usdc, other, 7)
	retry := func() (handlers.Proposal, error) {
		return r.Transactions.PrepareRetry(context.Background(), r.Caller(), first.ID)
	}
	p, err := retry()
	r.Must(err)
	if terms := p.Transaction.RevokeTerms(); p.Transaction.RetryOf != first.ID || terms.Delegate != other || terms.Limit != 7 || terms.Account != account {
		t.Errorf("prepared is %+v", p.Transaction)
	}
	r.Must(r.Update(func(tx store.Tx) error { return r.Revokes.Commit(tx, p) }))
	if _, err := retry(); wallet.CodeOf(err) != wallet.Conflict {
		t.Errorf("a second replacement: %v", err)
	}
}

// TestReservedForARevocationIsItsFee.
func TestReservedForARevocationIsItsFee(t *testing.T) {
	r := newRobbed(t)
	_, account := r.approves("USDC", 25)
	t1, err := r.Confirm(r.Caller(), r.proposes(account).ID)
	r.Must(err)
	balance, err := r.Wallets.Balance(context.Background(), r.Address())
	r.Must(err)
	if balance.Reserved != t1.Fee || t1.Fee == 0 {
		t.Errorf("reserved are %d lamports, the fee is %d", balance.Reserved, t1.Fee)
	}
	for _, held := range balance.Tokens {
		if held.Reserved != 0 {
			t.Errorf("%d of %s are reserved", held.Reserved, held.Token.Name())
		}
	}
}

// TestATokenIsNamedOnlyUnderItsOwnProgram: in the list and in the proposal.
func TestATokenIsNamedOnlyUnderItsOwnProgram(t *testing.T) {
	r := newRobbed(t)
	usdc, account := r.approves("USDC", 25)
	named := usdc
	named.Program = wallet.Token2022Program
	r.Revokes.Tokens = listing{named}
	if got := r.lists(wallet.Address{}); len(got) != 1 || got[0].Token.Symbol != "" {
		t.Errorf("listed are %+v", got)
	}
	if got := r.proposes(account).RevokeTerms().Token; got.Symbol != "" || got.Program != usdc.Program {
		t.Errorf("proposed is %+v", got)
	}
	named = usdc
	named.Decimals++
	r.Revokes.Tokens = listing{named}
	if got := r.lists(wallet.Address{}); len(got) != 1 || got[0].Token.Symbol != "" || got[0].Token.Decimals != usdc.Decimals {
		t.Errorf("with other decimals are listed %+v", got)
	}
}

// listing is a list of one token, which has every symbol and mint.
type listing struct{ token wallet.Token }

func (l listing) BySymbol(string) (wallet.Token, bool)       { return l.token, true }
func (l listing) ByMint(wallet.Address) (wallet.Token, bool) { return l.token, true }

// TestReservedFundsDoNotPayForARevocation.
func TestReservedFundsDoNotPayForARevocation(t *testing.T) {
	r := newRobbed(t)
	_, account := r.approves("USDC", 25)
	r.Confirmed(r.Person, r.Stranger(), "max", "SOL")
	r.refused(wallet.InsufficientFunds, "funds.fee_short", account)
}
