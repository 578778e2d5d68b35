package chat

import (
	"context"

	"purser/handlers"
	"purser/wallet"
)

// evaluatedDraft is the result of checking the parts of a transfer given so far. It passes from the handler to the effect of
// its transition (replyTx.found) and is never stored.
type evaluatedDraft struct {
	trigger  Trigger
	parts    parts
	refusal  error             // why a part is asked for again, or the transfer is refused
	amounts  []wallet.Quantity // amounts to offer as buttons
	all      wallet.Amount     // what max would send, for its button; zero if that is not known exactly
	proposal handlers.Proposal
	token    wallet.Token
	choice   tokenChoice // tokens to offer as buttons
}

// with returns p with the parts of newer replacing its own. References, label and purpose belong to the recipient of their
// payment link: a new recipient replaces or clears them, so that no payment carries the reference of another request.
func (p parts) with(newer parts) parts {
	if newer.Amount.given() {
		p.Amount = newer.Amount // keeps the token unless newer names another one
	}
	if !newer.Token.IsZero() {
		p.Token, p.Currency = newer.Token, false
	}
	if newer.To.given() {
		p.To, p.References, p.Label, p.Purpose = newer.To, newer.References, newer.Label, newer.Purpose
	}
	if newer.Memo != "" {
		p.Memo = newer.Memo
	}
	return p
}

// drop removes one part, so that it is asked for again.
func (p *parts) drop(field wallet.Field) {
	switch field {
	case wallet.FieldAmount:
		p.Amount = saidAmount{}
	case wallet.FieldTo:
		if len(p.References) > 0 { // the note came with the payment link
			p.Memo = ""
		}
		p.To, p.References, p.Label, p.Purpose = saidRecipient{}, nil, "", ""
	case wallet.FieldToken:
		p.Token = wallet.TokenRef{}
	}
}

// transfer takes a transfer as far as its parts allow: to a question, a refusal, or a proposal.
//
// at is the state of the question that was answered. idle means that the person began a new payment: the action then also
// ends the question that is open. unread is the refusal of the typed words, or nil. The part that it is about is dropped and
// asked for again.
//
// A refusal becomes a trigger of the table and is no error here. An error means that the store or a node failed before
// anything was decided, or that the person is over their limit of lookups (tooOften).
func (c *Chat) transfer(ctx context.Context, h Inbound, at State, p parts, unread error) (Action, error) {
	p.drop(wallet.FieldOf(unread))
	w, err := c.evaluate(ctx, h, at, evaluatedDraft{parts: p, refusal: unread})
	if labelled(err) {
		w, err = evaluatedDraft{trigger: impossible, refusal: err}, nil
	}
	if err != nil {
		return nil, err
	}
	if at == idle {
		return w.begin, nil
	}
	return w.action, nil
}

// begin is action for a payment that begins. It first ends the question or the review that is open. If a payment follows, it
// replaces what was open, and no message about that is needed.
func (w evaluatedDraft) begin(s *replyTx) error {
	if err := s.leaveFor(w.trigger != impossible); err != nil {
		return err
	}
	return w.action(s)
}

// action saves the parts in the conversation and takes the transition that evaluate found. The effect of that transition finds
// the draft in replyTx.found.
func (w evaluatedDraft) action(s *replyTx) error {
	s.found, s.refusal, dataOf[payment](s).parts = w, w.refusal, w.parts
	return s.transition(sendFlow, w.trigger)
}

// evaluate finds out what is missing, wrong, or possible, and sets the trigger accordingly. A labelled error refuses the
// transfer for good. Checks that need no Solana node come first, so that a stranger's typing costs no requests. It stores
// nothing: the proposal is stored by showReview, and funds are reserved only at Confirm.
func (c *Chat) evaluate(ctx context.Context, h Inbound, at State, w evaluatedDraft) (evaluatedDraft, error) {
	from, err := c.Wallets.Default(ctx, h.user.ID)
	if err != nil {
		return w, err
	}
	to := w.parts.To
	w.checkRecipient(c.Transfers, from.Address)
	if ok, err := c.findToken(ctx, h, at, &w); !ok || err != nil {
		if w.trigger == tokenMissing {
			w.parts.To = to // ask for the token first; the recipient is checked again afterwards
		}
		return w, err
	}
	w.checkAmount()
	// Everything is there: let the operation judge it as a whole.
	if w.parts.Amount.given() && w.parts.To.given() {
		if err := c.mayAsk(h); err != nil {
			return w, err
		}
		w.proposal, err = c.Transfers.Prepare(ctx, h.caller(), handlers.SendRequest{
			From: from.Address, To: w.parts.To.Address, Amount: w.parts.Amount.Quantity, Token: w.parts.Token,
			Memo: w.parts.Memo, Label: w.parts.Label, Purpose: w.parts.Purpose, References: w.parts.References,
		})
		if err == nil {
			w.trigger = possible
			return w, nil
		}
		if !w.asksOn(at, err) {
			return w, err
		}
	}
	// Ask for the part that is missing, or that the operation refused.
	w.trigger = addressMissing
	// A wrong recipient is asked for at once. A word that may be anything is no recipient yet: the amount comes first.
	if !w.parts.Amount.given() && (wallet.FieldOf(w.refusal) != wallet.FieldTo || wallet.ReasonOf(w.refusal).Key == noMeaning) {
		w.trigger = amountMissing
	}
	if len(w.amounts) == 0 && !w.parts.Currency && (w.trigger == amountMissing || at == idle) {
		return w, c.offerAmounts(ctx, h, from.Address, &w)
	}
	return w, nil
}

// checkRecipient checks the recipient as far as no node is needed. A wrong one is dropped and asked for again.
func (w *evaluatedDraft) checkRecipient(transfers *handlers.Transfers, from wallet.Address) {
	if !w.parts.To.given() {
		return
	}
	err := w.parts.To.refusal()
	if err == nil {
		err = transfers.Destination(w.parts.To.Address, from)
	}
	if err != nil {
		w.refusal, w.parts.To = err, saidRecipient{}
	}
}

// findToken resolves the token and stores it in w.token. It returns false if a question must come first; w.trigger says
// which.
func (c *Chat) findToken(ctx context.Context, h Inbound, at State, w *evaluatedDraft) (bool, error) {
	if wallet.FieldOf(w.refusal) == wallet.FieldToken { // the words named no token; do not fall back to SOL
		w.trigger = tokenMissing
		return false, nil
	}
	if mint, ok := c.unlisted(w.parts.Token); ok {
		if wallet.FieldOf(w.refusal) == wallet.FieldTo && !w.parts.To.given() {
			w.trigger, w.token = addressMissing, wallet.Token{Mint: mint}
			return false, nil
		}
		if err := c.mayAsk(h); err != nil {
			return false, err
		}
	}
	if named := w.parts.Token; named.Mint.IsZero() && !named.IsZero() {
		ref, choice, err := c.resolve(ctx, h, named.Symbol)
		switch {
		case err != nil && !labelled(err):
			return false, err
		case err != nil:
			w.trigger, w.refusal = tokenMissing, err
			return false, nil
		case len(choice.found) > 0:
			w.trigger, w.choice, w.refusal = tokenMissing, choice, nil
			return false, nil
		}
		w.parts.Token = ref
	}
	token, err := c.Transfers.Token(ctx, w.parts.Token)
	if wallet.CodeOf(err) == wallet.TokenNotFound || at == asksToken && labelled(err) {
		w.trigger, w.refusal = tokenMissing, err
		return false, nil
	}
	w.token = token
	return err == nil, err
}

// checkAmount checks the amount against the token's decimals. If it is wrong but has a likely meaning, that is offered.
func (w *evaluatedDraft) checkAmount() {
	said := w.parts.Amount
	err := said.refusal()
	if exact := said.Quantity.Exact; err == nil && !exact.IsZero() {
		_, err = w.token.Exactly(exact)
	}
	if err == nil {
		return
	}
	w.refusal, w.parts.Amount = err, saidAmount{}
	w.parts.Currency = w.parts.Token.IsZero() && (w.parts.Currency || said.Wrong.Key == inCurrency)
	if w.amounts = said.meantAmounts(w.token); len(w.amounts) > 0 {
		w.refusal = wallet.About(wallet.FieldAmount, didYouMean(w.amounts))
	}
}

// offerAmounts finds amounts to offer as buttons. A person with nothing to send is refused instead of asked, unless their
// words had another mistake, which is reported first. If the network does not answer or the person is over their limit of
// lookups, the question comes without amounts.
func (c *Chat) offerAmounts(ctx context.Context, h Inbound, from wallet.Address, w *evaluatedDraft) (err error) {
	if c.mayAsk(h) != nil {
		return nil
	}
	w.amounts, err = c.choices(ctx, from, w.token)
	none := wallet.CodeOf(err) == wallet.InsufficientFunds
	if mistaken := w.refusal != nil && wallet.CodeOf(w.refusal) != wallet.InsufficientFunds; labelled(err) && (!none || mistaken) {
		return nil
	}
	return err
}

// unlisted reports whether the token is named by a mint that is not on our list, so that only a node knows it.
func (c *Chat) unlisted(named wallet.TokenRef) (wallet.Address, bool) {
	if named.Mint.IsZero() {
		return named.Mint, false
	}
	_, listed := c.Transfers.Tokens.ByMint(named.Mint)
	return named.Mint, !listed
}

// asksOn reports whether a refused transfer continues with a question: for the part that the refusal is about, or for the
// same part again if the network did not answer. It drops that part and keeps the refusal, which the question shows. Refusals
// about no single part, such as a wallet that was disconnected, end the conversation.
func (w *evaluatedDraft) asksOn(at State, err error) bool {
	silent := wallet.CodeOf(err) == wallet.NetworkError
	switch field := wallet.FieldOf(err); {
	case field != "":
		w.parts.drop(field)
		w.offerNamed(wallet.ReasonOf(err))
	case silent && at == asksAmount:
		w.parts.drop(wallet.FieldAmount)
	case silent && at == asksAddress:
		w.parts.drop(wallet.FieldTo)
	default:
		return false
	}
	w.refusal = err
	return true
}

// offerNamed offers the amounts that a refusal names, so that its buttons do what its sentence says: the arguments Least and
// Most are amounts, and All is what max would send.
func (w *evaluatedDraft) offerNamed(r wallet.Reason) {
	for _, arg := range r.Args {
		amount, ok := arg.Value().(wallet.Amount)
		switch {
		case !ok:
		case arg.Name == "Least", arg.Name == "Most":
			w.amounts = append(w.amounts, wallet.Quantity{Exact: amount.Decimal()})
		case arg.Name == "All":
			w.amounts, w.all = append(w.amounts, wallet.Quantity{Max: true}), amount
		}
	}
}

// choices returns amounts that the balance allows, to offer as buttons: up to three round ones, and max.
func (c *Chat) choices(ctx context.Context, from wallet.Address, token wallet.Token) ([]wallet.Quantity, error) {
	balance, err := c.Wallets.Balance(ctx, from)
	if err != nil {
		return nil, err
	}
	free, err := sendable(balance, token)
	if err != nil {
		return nil, err
	}
	var round []wallet.Quantity
	usual, sums := usualAmounts(token)
	for i, sum := range sums {
		amount, err := sum.In(token.Decimals)
		// The usual small amounts come first; a large balance does not push them out.
		if err == nil && amount.Units <= free && (i < usual || len(round) < 3) {
			round = append(round, wallet.Quantity{Exact: sum})
		}
	}
	return append(round[max(0, len(round)-3):], wallet.Quantity{Max: true}), nil
}

// usualAmounts returns round amounts of the token from small to large, in whole tokens and not in base units. The first ones,
// usual of them, are offered for any balance that allows them. Larger ones are offered only if fewer than three of those fit.
func usualAmounts(token wallet.Token) (usual int, sums []wallet.Decimal) {
	texts := []string{"1", "5", "10", "25", "100", "500", "1000", "10000"}
	if token.Native() {
		texts = []string{"0.01", "0.05", "0.1", "0.5", "1", "5", "10", "50", "100"}
	}
	for _, text := range texts {
		sums = append(sums, wallet.MustDecimal(text))
	}
	return 5, sums
}

// sendable returns how many base units of a token the balance allows to send, before the network fee. It returns a refusal if
// there are none.
func sendable(b handlers.Balance, token wallet.Token) (uint64, error) {
	if token.Native() {
		if b.Lamports > b.Reserved {
			return b.Lamports - b.Reserved, nil // the network fee is judged with the exact amount
		}
		return 0, handlers.NoneToSend(token)
	}
	for _, held := range b.Tokens {
		if held.Token.Mint == token.Mint && held.Free() > 0 {
			return held.Free(), nil
		}
	}
	return 0, handlers.NoneToSend(token)
}
