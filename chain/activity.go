package chain

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"purser/wallet"
)

// InBackground marks calls for which nobody waits: they come after those of signed payments and of people when the
// budget of calls is short.
func InBackground(ctx context.Context) context.Context { return withClass(ctx, inBackground) }

// Activities reads what one landed transaction did for each of some owners, in their order, with one call. A node that
// does not have the transaction, or shows it in a way that contradicts itself, is not believed: the next one is asked.
// Errors: *wallet.UnreadableTransaction if all nodes answer, and none in a way that can be read; else a
// wallet.NetworkError, with wallet.ErrTransactionUnknown inside if all nodes answer, and one does not have it.
func (c *Client) Activities(ctx context.Context, sig wallet.Signature, owners ...wallet.Address) ([]wallet.Activity, error) {
	shown, err := c.shown(forHistory(ctx), sig, 1)
	if err != nil {
		return nil, err
	}
	return shown[0].activities(owners), nil
}

// shown reads one transaction from the nodes in turn, until as many as wanted have shown it in a way that can be read. One
// is enough. If none does, the error is that of Activities.
func (c *Client) shown(ctx context.Context, sig wallet.Signature, wanted int) (out []*effects, _ error) {
	var failed error
	var unread *wallet.UnreadableTransaction
	forGood := true
	for _, n := range c.nodes {
		e, err := n.effects(ctx, sig)
		var why unreadable
		switch {
		case err == nil:
			if out = append(out, e); len(out) == wanted {
				return out, nil
			}
		case errors.As(err, &why):
			unread = &wallet.UnreadableTransaction{Signature: sig, Why: n.name + ": " + string(why)}
			forGood = forGood && why == unknownVersion
		case failed == nil || errors.Is(failed, wallet.ErrTransactionUnknown): // a node that could not be asked may have it
			failed = err
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case failed != nil: // another time, that node may show it
		return nil, failed
	}
	unread.ForGood = forGood
	return nil, unread
}

// agreed reads what one transaction did for an owner, from two nodes if two can show it. Where they contradict each other,
// neither is believed: what a transaction moved is a node's word, for the signature proves only what was to be done.
func (c *Client) agreed(ctx context.Context, sig wallet.Signature, owner wallet.Address) (wallet.Activity, error) {
	shown, err := c.shown(forHistory(ctx), sig, 2)
	if err != nil {
		return wallet.Activity{}, err
	}
	a := shown[0].activities([]wallet.Address{owner})[0]
	for _, other := range shown[1:] {
		b := other.activities([]wallet.Address{owner})[0]
		b.At = a.At // not every node knows it, and nothing is decided by it
		if !reflect.DeepEqual(a, b) {
			return wallet.Activity{}, c.primary().nodeError("getTransaction", errGarbage)
		}
	}
	return a, nil
}

// unknownVersion is unreadable today and tomorrow.
var unknownVersion = unreadable(errUnreadable.Error())

// effects reads a transaction from a node. The error is unreadable if the node answered, and the transaction cannot be
// read.
func (n *node) effects(ctx context.Context, sig wallet.Signature) (*effects, error) {
	raw, err := rawTransaction(ctx, n, sig)
	switch {
	case errors.Is(err, errUnreadable):
		return nil, unknownVersion
	case err != nil:
		return nil, err
	}
	tx, ok := readTransaction(raw)
	switch {
	case !ok:
		return nil, unreadable(errGarbage.Error())
	case tx == nil:
		return nil, n.nodeError("getTransaction", wallet.ErrTransactionUnknown)
	}
	e, err := tx.effects(sig)
	if errors.Is(err, errGarbage) || errors.Is(err, errUnreadable) {
		return nil, unreadable(err.Error())
	}
	return e, err
}

// activities tells what a transaction did for each owner.
func (e *effects) activities(owners []wallet.Address) []wallet.Activity {
	l := e.replay()
	out := make([]wallet.Activity, len(owners))
	for i, owner := range owners {
		out[i] = e.of(owner, l)
	}
	return out
}

// of tells what a transaction did for one owner.
func (e *effects) of(owner wallet.Address, l *ledger) wallet.Activity {
	a := wallet.Activity{
		Signature: e.signature, Slot: e.slot, At: e.at, Failure: e.failure, Fee: e.fee, FeePayer: e.keys[0],
		Memo: e.message.memoOf(absent), Signed: slices.Contains(e.keys[:e.message.signers], owner), Mentions: e.keys,
	}
	for _, in := range e.message.instructions {
		if program := e.keys[in.program]; !plain(program) {
			a.Program = program
			break
		}
	}
	v := view{effects: e, owner: owner, ledger: l, activity: &a}
	v.accounts()
	if e.failure == "" {
		v.movements()
	}
	v.net()
	a.Kind = v.kind()
	return a
}

// plain tells whether a program only moves SOL and tokens, or accompanies what does.
func plain(program wallet.Address) bool {
	return program == wallet.SystemProgram || isTokenProgram(program) || program == wallet.AssociatedProgram ||
		program == computeBudgetProgram || program == lighthouseProgram || isMemo(program)
}

// flow is one movement between two accounts, by position; absent where units are made or destroyed.
type flow struct {
	how        string
	from, to   int
	token      wallet.Token // SOL for lamports; its Mint is zero too if the token is not known
	units, fee uint64
	references []wallet.Address
	memo       string // of a transfer; see wallet.Movement
	// native: what moves is lamports, also in the form of wrapped SOL.
	native bool
	// system: the system program moves it, so the source is a wallet, whatever becomes of its address later.
	system bool
	// deposit: lamports that move as such into a token account or out of it. As far as the account's deposit changed, they
	// are rent: rentFrom of the source, rentTo of the destination. The rest is money: of an account that was closed at
	// once, or wrapped SOL.
	deposit          bool
	rentFrom, rentTo uint64
	// goneFrom, goneTo: that account was closed before, and its address is one like any other.
	goneFrom, goneTo bool
}

// ledger is what the instructions of a transaction explain.
type ledger struct {
	flows []flow
	// lamports are what each account has by the instructions alone. Where they differ from the balances, a program moved
	// lamports without telling.
	lamports []uint64
	broken   []bool // an account would have had less than nothing
	// tokens are all token accounts, those that lived only within the transaction included.
	tokens map[byte]*heldTokens
	// made is who owned the token accounts that were made within the transaction; zero if one was made for several.
	made map[byte]wallet.Address
	// deposits are what token accounts held as rent before and after, by position.
	deposits map[int]wallet.BalanceChange
	// gone are token accounts that were closed for good, as far as the replay has come.
	gone map[int]bool
}

// replay follows the instructions.
func (e *effects) replay() *ledger {
	l := &ledger{lamports: slices.Clone(e.pre), broken: make([]bool, len(e.keys)), deposits: map[int]wallet.BalanceChange{}, gone: map[int]bool{}}
	l.tokens, l.made = e.holders()
	l.lamports[0] -= e.fee
	for at, t := range e.tokens {
		l.deposits[int(at)] = wallet.BalanceChange{Pre: deposit(t.pre, e.pre[at]), Post: deposit(t.post, e.post[at])}
	}
	if e.failure != "" {
		return l
	}
	for at, t := range e.tokens { // an account that changes hands takes its content along
		if t.pre != nil && t.post != nil && t.pre.owner != t.post.owner {
			l.flows = append(l.flows, flow{how: wallet.MovedByAuthority, from: int(at), to: int(at), token: t.pre.token, units: t.pre.units})
		}
	}
	slices.SortFunc(l.flows, func(a, b flow) int { return a.from - b.from })
	initial := e.initialized()
	for i, in := range e.run {
		program := e.keys[in.program]
		m, ok := movementOf(program, len(in.accounts), in.data)
		if !ok {
			continue
		}
		l.add(e, in, m, e.from[i])
		if m.all == everything && isTokenProgram(program) {
			at := in.accounts[m.from]
			l.gone[int(at)] = i >= initial[at] // what comes before it is made again belongs to the new one
		}
	}
	l.findRent()
	return l
}

// deposit is what a token account holds beyond wrapped SOL; 0 for no token account.
func deposit(held *heldTokens, lamports uint64) uint64 {
	switch {
	case held == nil:
		return 0
	case held.token.Mint == wallet.WrappedSOL:
		return lamports - held.units // effects checked that it is not negative
	}
	return lamports
}

// findRent says of deposits how much of them is rent, the first ones first.
func (l *ledger) findRent() {
	left := make(map[int]uint64, len(l.deposits)) // of the change of each account
	for at, d := range l.deposits {
		left[at] = max(d.Pre, d.Post) - min(d.Pre, d.Post)
	}
	for i := range l.flows {
		f := &l.flows[i]
		if !f.deposit {
			continue
		}
		if d := l.deposits[f.from]; d.Post < d.Pre {
			f.rentFrom = min(f.units, left[f.from])
			left[f.from] -= f.rentFrom
		}
		if d := l.deposits[f.to]; d.Post > d.Pre {
			f.rentTo = min(f.units, left[f.to])
			left[f.to] -= f.rentTo
		}
	}
}

// holders finds who owns each token account: after the transaction, else before it, else as it was made within it. made is
// who owned those that were made within it, at first.
func (e *effects) holders() (all map[byte]*heldTokens, made map[byte]wallet.Address) {
	all, made = make(map[byte]*heldTokens, len(e.tokens)), map[byte]wallet.Address{}
	for at, t := range e.tokens {
		if all[at] = t.post; t.post == nil {
			all[at] = t.pre
		}
	}
	for _, in := range e.run {
		program := e.keys[in.program]
		if !isTokenProgram(program) {
			continue
		}
		account, mint, ownerAt, owner, ok := initialized(in.data)
		if !ok || max(account, mint, ownerAt) >= len(in.accounts) {
			continue
		}
		at := in.accounts[account]
		if ownerAt != absent {
			owner = e.keys[in.accounts[ownerAt]]
		}
		if first, again := made[at]; again && first != owner {
			owner = wallet.Address{}
		}
		made[at] = owner
		if _, known := all[at]; !known {
			all[at] = &heldTokens{token: e.tokenOf(e.keys[in.accounts[mint]], program), owner: owner}
		}
	}
	return all, made
}

// initialized is which instruction made each token account last, of those that were made within the transaction.
func (e *effects) initialized() map[byte]int {
	out := map[byte]int{}
	for i, in := range e.run {
		if account, _, _, _, ok := initialized(in.data); ok && isTokenProgram(e.keys[in.program]) && account < len(in.accounts) {
			out[in.accounts[account]] = i
		}
	}
	return out
}

// tokenOf is a token by its mint, with the decimals that some balance shows; 0 decimals if none does, which then
// nobody holds.
func (e *effects) tokenOf(mint, program wallet.Address) wallet.Token {
	for _, t := range e.tokens {
		for _, held := range []*heldTokens{t.pre, t.post} {
			if held != nil && held.token.Mint == mint {
				return held.token
			}
		}
	}
	token := wallet.Token{Mint: mint, Program: program}
	if mint == wallet.WrappedSOL {
		token.Decimals = wallet.SOL.Decimals
	}
	return token
}

// add follows one movement. top is the instruction of the message that led to it.
func (l *ledger) add(e *effects, in instruction, m movement, top int) {
	f := flow{how: m.how, from: absent, to: absent, units: m.units, fee: m.fee, token: wallet.SOL, native: m.lamports,
		system: e.keys[in.program] == wallet.SystemProgram}
	if m.from != absent {
		f.from = int(in.accounts[m.from])
	}
	if m.to != absent {
		f.to = int(in.accounts[m.to])
	}
	for i := m.first; i < len(in.accounts) && m.how == wallet.MovedByTransfer; i++ {
		f.references = append(f.references, e.keys[in.accounts[i]])
	}
	if len(f.references) > 0 { // only what may answer a payment request has a memo of its own
		f.memo = e.message.memoOf(top)
	}
	if m.lamports {
		f.units = l.amount(e, f.from, m)
		if f.units == 0 && m.all != asSaid {
			return // nothing was left in it
		}
		_, fromToken := l.tokens[byte(f.from)]
		_, toToken := l.tokens[byte(f.to)]
		f.goneFrom, f.goneTo = l.gone[f.from], l.gone[f.to]
		f.deposit = fromToken || toToken
	} else {
		// What is moved is what one of the two accounts holds.
		held := l.tokens[byte(max(f.from, f.to))]
		if f.from != absent && l.tokens[byte(f.from)] != nil {
			held = l.tokens[byte(f.from)]
		}
		if held == nil { // neither was a token account before or after: another way of holding
			f.token = wallet.Token{}
			l.flows = append(l.flows, f)
			return
		}
		f.token = held.token
		f.native = held.token.Mint == wallet.WrappedSOL
	}
	if f.native {
		l.move(f)
	}
	l.flows = append(l.flows, f)
}

// amount is how many lamports a movement takes, as far as its data leaves that open.
func (l *ledger) amount(e *effects, from int, m movement) uint64 {
	have := l.lamports[from]
	switch m.all {
	case everything:
		return have
	case excess: // what is left is what the account needs: its balance after all
		return have - min(have, e.post[from])
	case wrapped:
		t := e.tokens[byte(from)]
		if t.pre == nil {
			l.broken[from] = true
			return 0
		}
		return have - min(have, e.pre[from]-t.pre.units)
	}
	return m.units
}

// move moves lamports.
func (l *ledger) move(f flow) {
	if f.from == absent || f.to == absent {
		return
	}
	if l.lamports[f.from] < f.units {
		l.broken[f.from] = true
		return
	}
	l.lamports[f.from] -= f.units
	l.lamports[f.to] += f.units // no more than there is in all: effects checked the sum
}
