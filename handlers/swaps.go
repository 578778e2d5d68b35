package handlers

import (
	"context"

	"purser/store"
	"purser/wallet"
)

// SwapChain is what swaps need to know of the chain. Errors are NETWORK_ERROR unless stated otherwise.
type SwapChain interface {
	// RentMinimum returns the smallest balance an account with size bytes of data may have, in lamports.
	RentMinimum(ctx context.Context, size uint64) (uint64, error)
	// TokenFacts reads the mint and both sides of a token transfer at one slot.
	TokenFacts(ctx context.Context, from, to, mint, program wallet.Address) (wallet.TokenFacts, error)
}

// Swaps are swaps of one token for another (docs/decisions/0042): a quote of a source, checked by its instruction. What happens to
// a proposal afterwards is the same for every kind (Transactions).
type Swaps struct {
	*Transactions
	Transfers *Transfers // resolves tokens
	Chain     SwapChain
	Quoter    wallet.SwapQuoter // nil: nobody quotes on this cluster
	Reader    wallet.SwapReader
	Book      PriceBook // what the market says, beside the quote
	Limit     *SourceLimit
}

// tokenAccountSize is the size of an account of the first token program, in bytes.
const tokenAccountSize = 165

// Fields of a request for a swap that refusals are about.
const (
	FieldFromToken wallet.Field = "from_token"
	FieldToToken   wallet.Field = "to_token"
	FieldSlippage  wallet.Field = "slippage_bps"
)

// Operation returns the Operation of swaps, for Transactions.Operations.
func (s *Swaps) Operation() Operation {
	return Operation{Kind: wallet.Swap, Load: s.load, Retry: s.retry}
}

// SwapRequest asks for a swap, in values that a front has parsed.
type SwapRequest struct {
	From        wallet.Address // zero: the caller's default wallet
	Amount      wallet.Quantity
	Token       wallet.TokenRef // what is paid
	ToToken     wallet.TokenRef // what is received
	SlippageBPS uint16          // hundredths of a percent; 0: wallet.DefaultSlippage
	RetryOf     wallet.TransactionID
	Ask         bool // require the owner's confirmation in chat, even if a program holds the key
}

// Prepare asks for a quote, checks it, and prepares the swap that it offers. Nothing is stored.
//
// Errors: INVALID_REQUEST, also if nobody makes this swap; TOKEN_NOT_FOUND, WALLET_NOT_FOUND, INSUFFICIENT_FUNDS; POLICY_VIOLATION for
// a quote that is far worse than the market, and for one that no device of purser may sign; NETWORK_ERROR; RATE_LIMIT_EXCEEDED.
func (s *Swaps) Prepare(ctx context.Context, who Caller, req SwapRequest) (Proposal, error) {
	t, from, f, err := s.quote(ctx, who, req)
	if err != nil {
		return Proposal{}, err
	}
	return s.Propose(ctx, who, from, req.Ask, t, f)
}

// quote returns the draft of a swap with the terms of a fresh quote, and by what it is judged.
func (s *Swaps) quote(ctx context.Context, who Caller, req SwapRequest) (t wallet.Transaction, from wallet.Wallet, f swapSnapshot, err error) {
	// First everything that needs no call: somebody without a wallet must not be able to use up the budget of quotes.
	from, user, err := s.Sender(ctx, who, req.From)
	if err != nil {
		return t, from, f, err
	}
	if s.Quoter == nil {
		return t, from, f, wallet.Refuse(wallet.PolicyViolation, "swap.not_here")
	}
	if req.SlippageBPS > wallet.MaxSlippage {
		return t, from, f, wallet.About(FieldSlippage, wallet.Refuse(wallet.InvalidRequest, "swap.slippage"))
	}
	if req.SlippageBPS == 0 {
		req.SlippageBPS = wallet.DefaultSlippage
	}
	t = wallet.Transaction{Kind: wallet.Swap, Owner: user.ID, Chat: user.TelegramID, From: from.Address, To: from.Address, RetryOf: req.RetryOf}
	terms := wallet.SwapTerms{SlippageBPS: req.SlippageBPS}
	if t.Token, terms.ToToken, err = s.tokens(ctx, req); err != nil {
		return t, from, f, err
	}
	if f, err = s.fetch(ctx, t.From, t.Token, terms.ToToken); err != nil {
		return t, from, f, err
	}
	if t.Amount, err = s.amount(ctx, req, t, f); err != nil {
		return t, from, f, err
	}
	if err := s.Limit.take(who, s.Now()); err != nil {
		return t, from, f, err
	}
	// Then the quote. All that counts is read from its instruction.
	if terms, err = s.offer(ctx, t, terms); err != nil {
		return t, from, f, err
	}
	terms.Passing = f.passing
	t.Rent, t.Terms, t.Deadline = f.rent, terms.Terms(), terms.Expires
	return t, from, f, nil
}

// tokens resolves both sides of a swap. Swaps are of SOL and of tokens of the first token program.
func (s *Swaps) tokens(ctx context.Context, req SwapRequest) (in, out wallet.Token, err error) {
	resolve := func(field wallet.Field, ref wallet.TokenRef) (wallet.Token, error) {
		token, err := s.Transfers.Token(ctx, ref)
		switch {
		case err != nil:
			return token, wallet.AboutInstead(field, err)
		case token.Mint == wallet.WrappedSOL:
			return wallet.SOL, nil // a swap wraps and unwraps by itself
		case !token.Native() && token.Program != wallet.TokenProgram:
			return token, wallet.About(field, wallet.Refuse(wallet.PolicyViolation, "swap.token_2022", wallet.TextArg("Token", token.Name())))
		}
		return token, nil
	}
	if in, err = resolve(FieldFromToken, req.Token); err != nil {
		return in, out, err
	}
	if out, err = resolve(FieldToToken, req.ToToken); err != nil {
		return in, out, err
	}
	if in.Mint == out.Mint {
		return in, out, wallet.About(FieldToToken, wallet.Refuse(wallet.InvalidRequest, "swap.same_token"))
	}
	return in, out, nil
}

// amount returns the base units that are paid. All of SOL leaves enough for the fee, for what the accounts need, and for fees later.
func (s *Swaps) amount(ctx context.Context, req SwapRequest, t wallet.Transaction, f swapSnapshot) (uint64, error) {
	if !req.Amount.Max {
		amount, err := t.Token.Exactly(req.Amount.Exact)
		return amount.Units, err
	}
	net, err := read(ctx, s.Store, f.NetOfReservations)
	if err != nil {
		return 0, err
	}
	f = net.(swapSnapshot)
	if !t.Token.Native() {
		if f.units == 0 {
			return 0, wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InsufficientFunds, "swap.none", wallet.TextArg("Token", t.Token.Name())))
		}
		return f.units, nil
	}
	kept := f.rent + f.passing + f.floor + feesKept
	if f.free <= kept {
		return 0, wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InsufficientFunds, "swap.fee_short", wallet.AmountArg("Free", wallet.Lamports(f.free)), wallet.AmountArg("Around", wallet.Lamports(kept))))
	}
	return f.free - kept, nil
}

// offer asks for a quote, and returns the terms of the swap if it is acceptable.
func (s *Swaps) offer(ctx context.Context, t wallet.Transaction, terms wallet.SwapTerms) (wallet.SwapTerms, error) {
	asked := wallet.SwapRequest{Taker: t.From, InMint: t.Token.SwapMint(), OutMint: terms.ToToken.SwapMint(), Units: t.Amount, SlippageBPS: terms.SlippageBPS}
	q, err := s.Quoter.Quote(ctx, asked)
	if err != nil {
		return terms, err
	}
	does, err := s.Reader.ReadSwap(q, t.From)
	switch {
	case err != nil:
		return terms, &wallet.Error{Code: wallet.PolicyViolation, Reason: wallet.Because("swap.unreadable"), Err: err}
	case does.Units != asked.Units || does.InMint != asked.InMint || does.OutMint != asked.OutMint || does.SlippageBPS > asked.SlippageBPS:
		return terms, wallet.Refuse(wallet.PolicyViolation, "swap.other_terms")
	case does.PassesSignature:
		return terms, wallet.Refuse(wallet.PolicyViolation, "swap.passes_signature")
	}
	terms.Quoted, terms.Minimum, terms.SlippageBPS, terms.Route = does.Quoted, does.Minimum, does.SlippageBPS, does.Route
	terms.Source, terms.Venues, terms.ImpactBPS, terms.ImpactUnknown = q.Source, q.Venues, q.ImpactBPS, q.ImpactUnknown
	terms.Expires = s.Now().UTC().Add(wallet.QuoteLife)
	if terms.BelowMarketBPS, err = s.belowMarket(ctx, t, terms); err != nil {
		return terms, err
	}
	t.Terms = terms.Terms()
	found := wallet.Judge(wallet.RuleInput{Transaction: t}, wallet.QuoteRules())
	if err := wallet.Refusal(found); err != nil {
		if found[len(found)-1].Rule == wallet.RulePriceImpact {
			err = wallet.About(wallet.FieldAmount, err)
		}
		return terms, err
	}
	return terms, nil
}

// belowMarket compares what the quote promises with the market's prices: by how many hundredths of a percent it is worth less than what
// is paid; negative if it is worth more. Where two sources disagree, each side counts at the price that is worse for the person: who quotes is often
// who prices. nil if a price is unknown or old.
func (s *Swaps) belowMarket(ctx context.Context, t wallet.Transaction, terms wallet.SwapTerms) (*int64, error) {
	prices, err := s.Book.Lookup(ctx, []wallet.Address{t.Token.Mint, terms.ToToken.Mint})
	if err != nil {
		return nil, err
	}
	now := s.Now()
	_, paid, ok := prices[t.Token.Mint].Values(t.Money(), now)
	promised, _, also := prices[terms.ToToken.Mint].Values(terms.Expected(), now)
	if !ok || !also || !s.trusted(t.Token) || !s.trusted(terms.ToToken) {
		return nil, nil
	}
	below, ok := promised.Below(paid)
	if !ok {
		return nil, nil
	}
	return &below, nil
}

// trusted reports whether a token's price is one to compare with: anybody can give an unlisted token any price.
func (s *Swaps) trusted(token wallet.Token) bool { return token.Symbol != "" }

// retry prepares the same swap by a new quote, which may be better or worse: its owner sees it and confirms it.
func (s *Swaps) retry(ctx context.Context, who Caller, first wallet.Transaction) (Proposal, error) {
	terms := first.SwapTerms()
	return s.Prepare(ctx, who, SwapRequest{From: first.From, Amount: wallet.Quantity{Exact: first.Money().Decimal()}, Token: first.Token.Ref(),
		ToToken: terms.ToToken.Ref(), SlippageBPS: terms.SlippageBPS, RetryOf: first.ID})
}

// load reads again what a stored swap is judged by.
func (s *Swaps) load(ctx context.Context, t wallet.Transaction) (Snapshot, error) {
	f, err := s.fetch(ctx, t.From, t.Token, t.SwapTerms().ToToken)
	return f, err
}

// fetch reads both sides of a swap.
func (s *Swaps) fetch(ctx context.Context, owner wallet.Address, in, out wallet.Token) (f swapSnapshot, err error) {
	f = swapSnapshot{owner: owner, in: in, out: out}
	if f.floor, err = s.Chain.RentMinimum(ctx, 0); err != nil {
		return f, err
	}
	deposit, err := s.Chain.RentMinimum(ctx, tokenAccountSize)
	if err != nil {
		return f, err
	}
	if f.paying, err = s.Chain.TokenFacts(ctx, owner, owner, in.SwapMint(), wallet.TokenProgram); err != nil {
		return f, err
	}
	if f.receiving, err = s.Chain.TokenFacts(ctx, owner, owner, out.SwapMint(), wallet.TokenProgram); err != nil {
		return f, err
	}
	switch {
	case !out.Native() && !f.receiving.Destination.Exists:
		f.rent = deposit
	case out.Native() && !f.receiving.Destination.Exists:
		f.passing = deposit
	}
	if in.Native() && !f.paying.Source.Exists {
		f.passing = deposit
	}
	return f, nil
}

// swapSnapshot is the Snapshot of swaps. free and units are set by NetOfReservations.
type swapSnapshot struct {
	owner     wallet.Address
	in, out   wallet.Token
	paying    wallet.TokenFacts // the accounts for what is paid, wrapped SOL for SOL
	receiving wallet.TokenFacts
	floor     uint64 // rent minimum of the wallet, in lamports
	rent      uint64 // lamports to create the account for what is received; 0 if it exists
	passing   uint64 // lamports that an account for wrapped SOL needs while the swap runs, and that come back
	free      uint64 // lamports that are not reserved
	units     uint64 // base units of what is paid that are not reserved; 0 for SOL
}

// FillRuleInput sets the owner's accounts of both tokens. One for wrapped SOL is left out: what a swap moves through it does not stay
// there.
func (f swapSnapshot) FillRuleInput(in *wallet.RuleInput) {
	if !f.in.Native() {
		in.Accounts = append(in.Accounts, f.paying.Source)
	}
	if !f.out.Native() {
		in.Accounts = append(in.Accounts, f.receiving.Destination)
	}
}

// NetOfReservations subtracts what unfinished transactions have reserved.
func (f swapSnapshot) NetOfReservations(tx store.Tx) (Snapshot, error) {
	reserved, err := Reserved(tx, f.owner, min(f.paying.From.Slot, f.receiving.From.Slot))
	if err != nil {
		return f, err
	}
	held := min(f.paying.From.Lamports, f.receiving.From.Lamports)
	f.free = held - min(reserved.Lamports, held)
	if !f.in.Native() {
		f.units = f.paying.Source.Units - min(reserved.Tokens[f.in.Mint], f.paying.Source.Units)
	}
	return f, nil
}

// Complete judges the swap at its fee.
func (f swapSnapshot) Complete(t wallet.Transaction) (wallet.Transaction, error) {
	if err := f.StillFits(t); err != nil {
		return t, err
	}
	return t, nil
}

// StillFits judges the accounts and the funds.
func (f swapSnapshot) StillFits(t wallet.Transaction) error {
	if err := f.checkAccounts(); err != nil {
		return err
	}
	if f.rent > t.Rent {
		return wallet.Refuse(wallet.InvalidRequest, "proposal.rent_grew")
	}
	if !t.Token.Native() && t.Amount > f.units {
		return wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InsufficientFunds, "swap.token_short",
			wallet.AmountArg("Free", t.Token.Amount(f.units)), wallet.TextArg("Token", t.Token.Name())))
	}
	return f.checkLamports(t)
}

// checkAccounts refuses wallets and token accounts that cannot take part in a swap.
func (f swapSnapshot) checkAccounts() error {
	no := func(key string, token wallet.Arg) error { return wallet.Refuse(wallet.PolicyViolation, key, token) }
	in, out := wallet.TextArg("Token", f.in.Name()), wallet.TextArg("Token", f.out.Name())
	source, destination := f.paying.Source, f.receiving.Destination
	switch {
	case f.paying.From.Exists && f.paying.From.Owner != wallet.SystemProgram:
		return wallet.Refuse(wallet.PolicyViolation, "sender.owned_by_program")
	case !f.in.Native() && f.paying.Mint.Decimals != f.in.Decimals:
		return no("token.other_decimals", in)
	case !f.out.Native() && f.receiving.Mint.Decimals != f.out.Decimals:
		return no("token.other_decimals", out)
	case source.Frozen:
		return no("swap.paying_frozen", in)
	case destination.Frozen:
		return no("swap.receiving_frozen", out)
	case source.Exists && source.Owner != f.owner:
		return no("token.account_given_away", in)
	case destination.Exists && destination.Owner != f.owner:
		return no("token.account_given_away", out)
	}
	return nil
}

// checkLamports checks that the SOL suffices while the swap runs and after it.
func (f swapSnapshot) checkLamports(t wallet.Transaction) error {
	needs := []uint64{t.Fee, t.Rent, f.passing}
	if t.Token.Native() {
		needs = append(needs, t.Amount)
	}
	left := f.free
	for _, n := range needs {
		if n > left {
			return f.short(t)
		}
		left -= n
	}
	// What passes through comes back, and so does SOL that is received. Otherwise the wallet ends with the rent minimum, or with nothing.
	left += f.passing
	if f.out.Native() || left == 0 || left >= f.floor {
		return nil
	}
	return f.short(t)
}

// short is the refusal of a swap for which the SOL does not suffice.
func (f swapSnapshot) short(t wallet.Transaction) error {
	around := t.Fee + t.Rent + max(f.passing, f.floor) // each is far below 64 bits: they are amounts that a node charges for small accounts
	if t.Token.Native() {
		return wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InsufficientFunds, "swap.sol_short",
			wallet.AmountArg("Free", wallet.Lamports(f.free)), wallet.AmountArg("Amount", t.Money()), wallet.AmountArg("Around", wallet.Lamports(around))))
	}
	return wallet.Refuse(wallet.InsufficientFunds, "swap.fee_short", wallet.AmountArg("Free", wallet.Lamports(f.free)), wallet.AmountArg("Around", wallet.Lamports(around)))
}

// Remaining returns how many base units of what is paid remain, for a swap that fits.
func (f swapSnapshot) Remaining(t wallet.Transaction) uint64 {
	if t.Token.Native() {
		return f.free - t.Amount - t.Fee - t.Rent
	}
	return f.units - t.Amount
}
