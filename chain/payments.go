package chain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"purser/wallet"
)

// maxPayments bounds how many new mentions of one reference are examined at once. A payer pays once. Every mention by
// somebody else costs calls.
const maxPayments = 20

// Payments lists what finalized transactions that mention a reference did for an address, oldest first: those that brought
// it units of the mint by a transfer that names the reference (Solana Pay), by any payer. Whether that is enough, and for
// which payment request, is not decided here. The zero mint is SOL.
//
// judged is the caller's memory between calls. Mentions that are true in it are skipped. Those that are final and pay
// nothing, or are of a version that cannot be read, are added as true, so that nobody can hide a payment behind
// mentions of their own. What could not be read this time is added as false: its turn comes after all others'.
//
// With an error come the payments that were found nevertheless. wallet.ErrSomeUnread: only single transactions could
// not be read, or there are more mentions than can be examined. Any other error: there may be more payments than were
// listed.
func (c *Client) Payments(ctx context.Context, to, reference, mint wallet.Address, judged map[wallet.Signature]bool) ([]wallet.Activity, error) {
	ctx = withClass(ctx, inBackground)
	n := c.primary()
	// List the mentions that are not judged yet, oldest first.
	mentioned, failed := signaturesForAddress(ctx, n, reference)
	mentioned = slices.DeleteFunc(mentioned, func(sig wallet.Signature) bool { return judged[sig] })
	slices.Reverse(mentioned)
	slices.SortStableFunc(mentioned, func(a, b wallet.Signature) int { // those that made trouble before come last
		_, x := judged[a]
		_, y := judged[b]
		switch {
		case x == y:
			return 0
		case x:
			return 1
		}
		return -1
	})
	// Examine a bounded number of them.
	var out []wallet.Activity
	var unread error
	for _, sig := range mentioned[:min(len(mentioned), maxPayments)] {
		a, verdict, err := c.mention(ctx, n, sig, to, reference, mint)
		switch {
		case verdict == pays:
			out = append(out, a)
		case verdict == paysNothing:
			judged[sig] = true
		case err != nil:
			judged[sig] = false
			unread = fmt.Errorf("%w: %w", wallet.ErrSomeUnread, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	// An incomplete list is the more serious error.
	switch {
	case errors.Is(failed, errTooMany): // the oldest are beyond reach, and will stay so
		return out, fmt.Errorf("%w: %w", wallet.ErrSomeUnread, failed)
	case failed != nil:
		return out, failed
	}
	return out, unread
}

// mentionClass is what is known of a mention of a reference.
type mentionClass int

const (
	notYet      mentionClass = iota // not final, or not readable now
	paysNothing                     // final, and no payment
	pays
)

// mention examines one mention. That it is final is the word of the node that listed it. What it brought is read from two
// nodes, if there are two.
func (c *Client) mention(ctx context.Context, n *node, sig wallet.Signature, to, reference, mint wallet.Address) (none wallet.Activity, _ mentionClass, _ error) {
	found, err := statuses(ctx, n, []wallet.Signature{sig}, true)
	if err != nil {
		return none, notYet, err
	}
	landing := found[0].landing(sig)
	if landing == nil || !landing.Finalized {
		return none, notYet, nil
	}
	if landing.Failure != "" {
		return none, paysNothing, nil
	}
	a, err := c.agreed(ctx, sig, to)
	var unread *wallet.UnreadableTransaction
	switch {
	case errors.As(err, &unread) && unread.ForGood:
		return none, paysNothing, nil
	case err != nil:
		return none, notYet, err
	case a.Slot != landing.Slot || a.Failure != "": // a node that contradicts the one that knows it as final
		return none, notYet, n.nodeError("getTransaction", errGarbage)
	case !a.PaysBy(reference, mint):
		return none, paysNothing, nil
	}
	return a, pays, nil
}

// memoOf is the public note of the instruction at an index (absent: of none): the memo right before it, where Solana Pay puts it, else the
// only memo of the transaction. It is "" if there is none, if several are possible, and if wallet.CheckMemo refuses it:
// the payer wrote it, and people and programs read it.
func (m *message) memoOf(index int) string {
	var memos []string
	for i, in := range m.instructions {
		if program, ok := m.key(in.program); !ok || !isMemo(program) {
			continue
		}
		memos = append(memos, string(in.data))
		if i == index-1 {
			memos = memos[len(memos)-1:]
			break
		}
	}
	if len(memos) != 1 || wallet.CheckMemo(memos[0]) != nil {
		return ""
	}
	return memos[0]
}

// isMemo tells whether a program is one of those that only carry a note.
func isMemo(program wallet.Address) bool {
	return program == memoProgram || program == memoProgramV4 || program == memoProgramV1
}

// fetchMessage fetches a transaction by its signature and verifies that its fee payer made the signature. A node that
// lists a transaction but cannot show it, or shows another one, is an error.
func fetchMessage(ctx context.Context, n *node, sig wallet.Signature) (*message, error) {
	const method = "getTransaction"
	answer, err := transaction(ctx, n, sig)
	if err != nil {
		return nil, err
	}
	if answer == nil {
		return nil, n.nodeError(method, errGarbage)
	}
	m, err := answer.message(sig)
	if err != nil {
		return nil, n.nodeError(method, err)
	}
	return m, nil
}

// message reads the answer's bytes, which must carry this signature of their fee payer. Otherwise it is errGarbage, or
// errUnreadable for a version that is not read here.
func (t *transactionAnswer) message(sig wallet.Signature) (*message, error) {
	wire, err := t.wire()
	if err != nil {
		return nil, errGarbage
	}
	signatures, raw, m, err := disassemble(wire)
	if refused := (*NotAllowed)(nil); errors.As(err, &refused) && refused.Code == Version {
		return nil, errUnreadable
	}
	if err != nil || signatures[0] != sig || !VerifySignature(raw, m.keys[0], sig) {
		return nil, errGarbage
	}
	return m, nil
}

// transfer is an instruction that moves SOL or a token. source and destination are token accounts; for SOL they are the
// wallets themselves. references are the accounts beyond those that the transfer needs. units are base units.
type transfer struct {
	from, source, destination wallet.Address
	references                []wallet.Address
	units                     uint64
}

// transferred reads an instruction as a transfer of a token: System's Transfer for SOL, else TransferChecked. It must be
// exactly that, and name at least one account more than the transfer needs.
func (m *message) transferred(in instruction, token wallet.Token) (transfer, bool) {
	// SOL's program is the zero address, which is the System program's.
	program, ok := m.key(in.program)
	if !ok || program != token.Program {
		return transfer{}, false
	}
	moves, ok := movementOf(program, len(in.accounts), in.data)
	if !ok || moves.how != wallet.MovedByTransfer || len(in.accounts) <= moves.first {
		return transfer{}, false
	}
	at := func(i int) wallet.Address {
		key, _ := m.key(in.accounts[i])
		return key
	}
	if token.Native() {
		if len(in.data) != 12 || in.data[0] != systemTransfer {
			return transfer{}, false
		}
	} else if len(in.data) != 10 || !moves.checked || at(moves.mint) != token.Mint || moves.decimals != token.Decimals {
		return transfer{}, false
	}
	t := transfer{from: at(moves.authority), source: at(moves.from), destination: at(moves.to), units: moves.units}
	for i := moves.first; i < len(in.accounts); i++ {
		t.references = append(t.references, at(i))
	}
	return t, true
}

// leaves tells whether the transfer comes from a wallet, or from its associated account of the token.
func (t transfer) leaves(from wallet.Address, token wallet.Token) bool {
	if t.from != from || token.Native() {
		return t.from == from
	}
	return t.source == wallet.AssociatedAccount(from, token.Mint, token.Program)
}
