package chain

import (
	"slices"

	"purser/wallet"
)

// view tells one owner's part of a transaction. Its sums are in lamports.
type view struct {
	*effects
	*ledger
	owner    wallet.Address
	activity *wallet.Activity

	wallet        int                                 // position of the owner's own account; absent if it is not named
	rentIn        []uint64                            // rent of own token accounts that others paid
	rentOut       []uint64                            // rent of own token accounts that others got
	ownRents      map[int]bool                        // such rent, by index in Movements
	before, after map[wallet.Address]uint64           // units of own token accounts, by mint
	byMint        map[wallet.Address]wallet.Token     // their tokens
	order         []wallet.Address                    // mints, in the order of accounts
	explained     map[wallet.Address]bool             // by mint; the zero mint is SOL, and wrapped SOL with it
	totals        map[wallet.Address]wallet.NetChange // what Net says, by mint; nothing for what did not change
}

// accounts lists the owner's balances before and after.
func (v *view) accounts() {
	a := v.activity
	v.ownRents = map[int]bool{}
	v.before, v.after, v.byMint = map[wallet.Address]uint64{}, map[wallet.Address]uint64{}, map[wallet.Address]wallet.Token{}
	// The wallet's own account, as far as the transaction names it. Its change includes the fee, if the owner paid that.
	v.wallet = slices.Index(v.keys, v.owner)
	if v.wallet != absent {
		if t, ok := v.effects.tokens[byte(v.wallet)]; ok && (t.pre != nil || t.post != nil) {
			v.wallet = absent // a token account owns nothing but what it holds
		} else if v.pre[v.wallet] != v.post[v.wallet] {
			a.Changes = append(a.Changes, wallet.BalanceChange{Token: wallet.SOL, Account: v.owner, Pre: v.pre[v.wallet], Post: v.post[v.wallet]})
		}
	}
	// Its token accounts, in the order of the transaction's keys. One may be the owner's before, after, or at both ends: it
	// can be opened, closed, or be handed to another owner.
	a.Rent.Token, a.Rent.Account = wallet.SOL, v.owner
	for at, key := range v.keys {
		t, ok := v.effects.tokens[byte(at)]
		if !ok {
			continue
		}
		had, has := v.owns(at, t.pre), v.owns(at, t.post)
		if !had && !has {
			continue
		}
		change := wallet.BalanceChange{Account: key}
		if had {
			change.Token, change.Pre = t.pre.token, t.pre.units
			a.Rent.Pre += v.deposits[at].Pre
		}
		if has {
			change.Token, change.Post = t.post.token, t.post.units
			a.Rent.Post += v.deposits[at].Post
			a.Accounts = append(a.Accounts, key)
			if t.pre == nil {
				v.rentIn = append(v.rentIn, v.pre[at]) // anybody may send lamports to an address before it is one
			}
		}
		switch {
		case !had:
			a.Opened = append(a.Opened, key)
		case !has:
			a.Closed = append(a.Closed, key)
		}
		v.count(t, had, has)
		if change.Pre != change.Post {
			a.Changes = append(a.Changes, change)
		}
	}
}

// count adds an own token account to the sums by mint. effects checked that they do not overflow.
func (v *view) count(t tokenAt, had, has bool) {
	for _, side := range []struct {
		own  bool
		held *heldTokens
		sum  map[wallet.Address]uint64
	}{{had, t.pre, v.before}, {has, t.post, v.after}} {
		if !side.own {
			continue
		}
		mint := side.held.token.Mint
		if _, known := v.byMint[mint]; !known {
			v.byMint[mint] = side.held.token
			v.order = append(v.order, mint)
		}
		side.sum[mint] += side.held.units
	}
}

// owns tells whether a token account is the owner's. If the node does not say whose it is, the associated account still
// shows it.
func (v *view) owns(at int, held *heldTokens) bool {
	switch {
	case held == nil:
		return false
	case held.owner.IsZero():
		return wallet.AssociatedAccount(v.owner, held.token.Mint, held.token.Program) == v.keys[at]
	}
	return held.owner == v.owner
}

// own tells whether the account at a position is the owner's: the wallet, or a token account.
func (v *view) own(at int) bool {
	return at != absent && (at == v.wallet || v.owns(at, v.ledger.tokens[byte(at)]))
}

// ownEnds tells whether the source and the destination of a movement were the owner's when it happened.
func (v *view) ownEnds(f flow) (from, to bool) {
	return !f.goneFrom && v.own(f.from), !f.goneTo && v.own(f.to)
}

// movements lists what came from others and what went to them.
func (v *view) movements() {
	for _, f := range v.flows {
		if f.how == wallet.MovedByAuthority {
			v.handedOver(f)
			continue
		}
		// What moved between two own accounts, or between two of others, is no movement of this owner.
		from, to := v.ownEnds(f)
		if from == to {
			continue // within the wallet, or none of it
		}
		mine, other := f.from, f.to
		if to {
			mine, other = f.to, f.from
		}
		m := wallet.Movement{How: f.how, In: to, Token: f.token, Units: f.units, Fee: f.fee, References: f.references, Memo: f.memo}
		if m.With, m.Account = v.party(other, f.goneTo); m.In && other != absent {
			m.With = v.payer(f)
			m.Signed = v.isSigner(m.With)
		}
		// Lamports into or out of a token account are its deposit as far as the account needs them, and money beyond that.
		if f.deposit {
			v.deposited(f, mine, m)
			continue
		}
		v.activity.Movements = append(v.activity.Movements, m)
	}
}

// party is who is on the other side: the wallet, and the account. gone: it was closed before.
func (v *view) party(at int, gone bool) (who, account wallet.Address) {
	if at == absent {
		return who, account
	}
	if held := v.ledger.tokens[byte(at)]; held != nil && !gone {
		return held.owner, v.keys[at]
	}
	return v.keys[at], v.keys[at]
}

// payer is who paid what came in: the owner of its source before the transaction, and nobody if that changed within it. The
// owner after it can be anybody whom the payer likes to name.
func (v *view) payer(f flow) (none wallet.Address) {
	at := byte(f.from)
	t, listed := v.effects.tokens[at]
	made, within := v.made[at]
	switch {
	case f.system || !listed && !within:
		return v.keys[f.from]
	case t.pre != nil && (t.post == nil || t.post.owner == t.pre.owner):
		return t.pre.owner
	case t.pre == nil && (t.post == nil || t.post.owner == made):
		return made
	}
	return none
}

// isSigner tells whether a wallet signed the transaction.
func (v *view) isSigner(who wallet.Address) bool {
	return !who.IsZero() && slices.Contains(v.keys[:v.message.signers], who)
}

// deposited adds lamports that moved as such between a token account and somebody else, mine being the own one of the
// two accounts: as rent, and as money.
func (v *view) deposited(f flow, mine int, m wallet.Movement) {
	ownAccount := mine != v.wallet
	rent := f.rentTo
	if ownAccount != m.In { // it is the source that is a token account, or the own one
		rent = f.rentFrom
	}
	if rent > 0 {
		part := m
		part.How, part.Units, part.References, part.Memo = wallet.MovedAsRent, rent, nil, ""
		v.rent(part, ownAccount)
	}
	if m.Units -= rent; m.Units > 0 || rent == 0 {
		v.activity.Movements = append(v.activity.Movements, m)
	}
}

// rent adds rent; own tells that it is of an own token account, which Net leaves out.
func (v *view) rent(m wallet.Movement, own bool) {
	v.ownRents[len(v.activity.Movements)] = own
	v.activity.Movements = append(v.activity.Movements, m)
	switch {
	case own && m.In:
		v.rentIn = append(v.rentIn, m.Units)
	case own:
		v.rentOut = append(v.rentOut, m.Units)
	}
}

// handedOver adds a token account that got another owner.
func (v *view) handedOver(f flow) {
	t := v.effects.tokens[byte(f.from)]
	had, has := v.owns(f.from, t.pre), v.owns(f.from, t.post)
	if had == has {
		return
	}
	m := wallet.Movement{How: f.how, In: has, With: t.pre.owner, Account: v.keys[f.from], Token: f.token, Units: f.units}
	if m.Signed = v.isSigner(m.With); had {
		m.With, m.Signed = t.post.owner, false
	}
	v.activity.Movements = append(v.activity.Movements, m)
	// With the account goes the deposit that it holds.
	m.How, m.Token, m.Units = wallet.MovedAsRent, wallet.SOL, v.deposits[f.from].Pre
	v.rent(m, true)
}

// net adds up by token, and leaves out movements that do not explain the result.
func (v *view) net() {
	a := v.activity
	v.explained, v.totals = map[wallet.Address]bool{}, map[wallet.Address]wallet.NetChange{}
	// SOL: the wallet itself, without the fee, and with what its token accounts hold as rent, as far as it paid that.
	// The fee counts as if the owner still had it, and rent that others paid or got is added on the side where it is missing:
	// then a payment of 1 SOL is 1 SOL in Net, also if own accounts were opened or closed with it.
	before, after := []uint64{a.Rent.Pre}, []uint64{a.Rent.Post, a.OwnFee(v.owner)}
	if v.wallet != absent {
		before, after = append(before, v.pre[v.wallet]), append(after, v.post[v.wallet])
	}
	had, ok := sum(append(before, v.rentIn...))
	has, also := sum(append(after, v.rentOut...))
	if ok && also { // sums of real lamports always fit
		native := v.explainsNative(had, has)
		v.explained[wallet.Address{}], v.explained[wallet.WrappedSOL] = native, native
		v.change(wallet.SOL, had, has)
	}
	for _, mint := range v.order {
		if mint != wallet.WrappedSOL {
			v.explained[mint] = v.explains(mint)
		}
		v.change(v.byMint[mint], v.before[mint], v.after[mint])
	}
	// Movements that do not add up to the result would tell a wrong story, so none of that token is shown. Net stays: it comes
	// from the balances alone.
	a.Movements = slices.DeleteFunc(a.Movements, func(m wallet.Movement) bool {
		if v.explained[m.Token.Mint] {
			return false
		}
		a.Unexplained = append(a.Unexplained, m)
		return true
	})
}

// change adds a token to Net if it changed.
func (v *view) change(token wallet.Token, before, after uint64) {
	if before == after {
		return
	}
	n := wallet.NetChange{Token: token, Units: max(before, after) - min(before, after), Lost: after < before, Explained: v.explained[token.Mint]}
	v.totals[token.Mint] = n
	v.activity.Net = append(v.activity.Net, n)
}

// explainsNative tells whether the instructions lead to the lamports of every own account, and movements add up to what
// the owner gained or lost in SOL and wrapped SOL.
func (v *view) explainsNative(had, has uint64) bool {
	// Both sides are sums of what was there and what came or went. They are equal if nothing is missing.
	in, out := []uint64{had, v.before[wallet.WrappedSOL]}, []uint64{has, v.after[wallet.WrappedSOL]}
	for at := range v.keys {
		if v.own(at) && (v.broken[at] || v.lamports[at] != v.post[at]) {
			return false
		}
	}
	for i, m := range v.activity.Movements {
		switch {
		case !m.Token.Native() && m.Token.Mint != wallet.WrappedSOL || v.ownRents[i]:
		case m.In:
			in = append(in, m.Units)
		default:
			out = append(out, m.Units)
		}
	}
	x, ok := sum(in)
	y, also := sum(out)
	return ok && also && x == y
}

// explains tells whether movements of a token add up to what the owner's accounts gained or lost. If one came in, and
// less of it arrived, the rest is the fee that the issuer withheld.
func (v *view) explains(mint wallet.Address) bool {
	in, out := []uint64{v.before[mint]}, []uint64{v.after[mint]}
	var last *wallet.Movement
	came := 0
	for i := range v.activity.Movements {
		m := &v.activity.Movements[i]
		switch {
		case m.Token.Mint != mint:
		case m.In:
			in, out = append(in, m.Units), append(out, m.Fee)
			last = m
			came++
		default:
			out = append(out, m.Units)
		}
	}
	x, ok := sum(in)
	y, also := sum(out)
	if !ok || !also || x < y {
		return false
	}
	// Token-2022 can withhold a fee from a transfer. With one incoming transfer it is clear which one it was.
	missing := x - y
	if missing == 0 {
		return true
	}
	if came != 1 || last.Fee > 0 || missing > last.Units || last.How != wallet.MovedByTransfer || last.Token.Program != wallet.Token2022Program {
		return false
	}
	last.Fee = missing
	return true
}

// kind says in one word what the activity is. A word that is wrong would mislead: what is in doubt is ActivityOther.
func (v *view) kind() wallet.EntryType {
	a := v.activity
	if a.Failure != "" {
		return wallet.ActivityOther
	}
	if step, ok := v.stakeStep(); ok {
		return step
	}
	gains, losses, explained := v.sides()
	in, out := v.transfers()
	// understood: no unknown program took part, and the movements explain all of the result.
	understood := a.Program.IsZero() && explained
	switch {
	// One token for another. It is called a swap only if the owner signed, and is ActivityOther otherwise.
	case gains > 0 && losses > 0:
		if a.Signed {
			return wallet.ActivitySwapped
		}
	case gains > 0:
		if explained && (!a.Signed || understood) {
			return wallet.ActivityReceived
		}
	case losses > 0:
		switch {
		case !a.Signed || !understood:
		case out == 0 && in == 0: // somebody else's account
			return wallet.ActivityAccountOpened
		default:
			return wallet.ActivitySent
		}
	case in > 0 && out == 0 && (!a.Signed || understood):
		return wallet.ActivityReceived
	case out > 0 && in == 0 && a.Signed && understood:
		return wallet.ActivitySent
	case in > 0 || out > 0 || !a.Program.IsZero():
	case len(a.Opened) > 0 && len(a.Closed) == 0 && len(a.Changes) <= 1:
		return wallet.ActivityAccountOpened
	case len(a.Closed) > 0 && len(a.Opened) == 0 && len(a.Changes) <= 1:
		return wallet.ActivityAccountClosed
	case v.within():
		return wallet.ActivityInternal
	}
	return wallet.ActivityOther
}

// sides counts what the owner gained and lost. SOL and wrapped SOL are one.
func (v *view) sides() (gains, losses int, explained bool) {
	explained = true
	count := func(lost bool) {
		if lost {
			losses++
		} else {
			gains++
		}
	}
	for mint, n := range v.totals {
		explained = explained && n.Explained
		if mint.IsZero() || mint == wallet.WrappedSOL {
			continue
		}
		count(n.Lost)
	}
	// Wrapping SOL is neither gain nor loss. Otherwise the larger of the two changes decides.
	sol, wrapped := v.totals[wallet.Address{}], v.totals[wallet.WrappedSOL]
	switch {
	case sol.Units == 0 && wrapped.Units == 0 || sol.Units == wrapped.Units && sol.Lost != wrapped.Lost:
	case sol.Units > wrapped.Units:
		count(sol.Lost)
	default:
		count(wrapped.Lost)
	}
	return gains, losses, explained
}

// transfers counts the movements that are not rent.
func (v *view) transfers() (in, out int) {
	for _, m := range v.activity.Movements {
		switch {
		case m.How == wallet.MovedAsRent:
		case m.In:
			in++
		default:
			out++
		}
	}
	return in, out
}

// within tells whether any instruction moved something between two own accounts.
func (v *view) within() bool {
	return slices.ContainsFunc(v.flows, func(f flow) bool {
		from, to := v.ownEnds(f)
		return f.how != wallet.MovedByAuthority && from && to
	})
}
