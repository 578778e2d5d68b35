package settle

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// incoming announces what came into a wallet, inside the store transaction in which the wallet's watermark moves.
type incoming struct {
	store.Tx
	of     wallet.Wallet
	listed func(wallet.Address) (wallet.Token, bool)
	at     time.Time
	log    *slog.Logger

	user  *wallet.User     // the owner, once read; the zero User for a wallet without one
	known []wallet.Address // whom the owner knows; read with user
}

// announce writes a receipt for each token that a finalized transaction brought. A receipt that exists was announced
// before: by an earlier look, by the settlement of a payment between two wallets of purser, or for a payment request.
func (in *incoming) announce(a wallet.Activity) error {
	if a.Failure != "" || a.Signed && a.Kind != wallet.ActivityReceived { // what the owner did is no news to them
		return nil
	}
	for _, gain := range a.Net {
		if gain.Lost {
			continue
		}
		if err := in.receive(a, gain); err != nil {
			return err
		}
	}
	return nil
}

// receive writes the receipt of one token and its event.
func (in *incoming) receive(a wallet.Activity, gain wallet.NetChange) error {
	switch _, err := in.Transaction(wallet.ReceivedID(a.Signature, in.of.Address, gain.Token.Mint)); {
	case err == nil:
		return nil
	case damaged(err): // it was written, so it was announced
		in.log.Error("watch: a receipt is damaged; its payment is not announced again", "wallet", in.of.Address, "transaction", a.Signature, "error", err)
		return nil
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	if err := in.readOwner(); err != nil {
		return gone(err)
	}
	from, references := sender(a, gain.Token.Mint)
	paid := wallet.Transaction{From: from, To: in.of.Address, Token: gain.Token, Amount: gain.Units, Signature: a.Signature, Memo: a.Memo,
		Landing: &wallet.Landing{Signature: a.Signature, Slot: a.Slot, Fee: a.Fee, Finalized: true}}
	if token, ok := in.listed(gain.Token.Mint); ok {
		paid.Token = token
	}
	own, err := in.TransactionBySignature(a.Signature)
	switch {
	case err == nil && own.To == in.of.Address && own.Token.Mint == gain.Token.Mint: // a payment that purser made
		paid.From, paid.PaymentRequestRef = own.From, own.PaymentRequestRef
	case err != nil && !errors.Is(err, store.ErrNotFound) && !damaged(err):
		return err
	default:
		if in.folded(a, gain, from) {
			return nil
		}
	}
	if paid.PaymentRequestRef.IsZero() {
		if paid.PaymentRequestRef, err = in.requested(references); err != nil {
			return err
		}
	}
	receipt, event, err := paid.ReceiptOf(in.of, in.user.TelegramID, in.at)
	if err == nil {
		err = in.CreateTransaction(receipt)
	}
	if errors.Is(err, store.ErrConflict) { // the receipt of an erased owner of the wallet, which nobody can read any more
		return nil
	}
	if err != nil {
		return err
	}
	return in.Emit(event)
}

// readOwner reads the wallet's owner and whom they know. ErrNotFound: the owner is being erased.
func (in *incoming) readOwner() (err error) {
	if in.user != nil {
		return nil
	}
	var user wallet.User
	if in.of.Owner != "" {
		if user, err = in.User(in.of.Owner); err != nil {
			return err
		}
		if in.known, err = store.KnownTo(in, in.of.Owner); damaged(err) { // nobody is known then, and what they pay is announced
			in.log.Error("watch: whom a person knows cannot be read", "wallet", in.of.Address, "error", err)
			in.known, err = nil, nil
		}
		if err != nil {
			return err
		}
	}
	in.user = &user
	return nil
}

// folded tells whether a gain is one of those that strangers plant: dust, and anything from an address that resembles one
// that the owner knows. It stays in the history on chain, marked there, and is neither announced nor stored.
func (in *incoming) folded(a wallet.Activity, gain wallet.NetChange, from wallet.Address) bool {
	if slices.Contains(in.known, from) {
		return false
	}
	if !from.IsZero() {
		if _, similar := wallet.PoisoningSuspect(from, in.known); similar {
			return true
		}
	}
	return gain.Dust() && !slices.ContainsFunc(a.Net, func(n wallet.NetChange) bool { return !n.Lost && !n.Dust() })
}

// damaged reports whether an error is about one row that is not what was written.
func damaged(err error) bool {
	return errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrUnsealed)
}

// mostRequests is how many of a wallet's newest transactions are searched for a payment request.
const mostRequests = 100

// requested returns the reference of an open payment request that a transfer names; zero for none.
func (in *incoming) requested(references []wallet.Address) (none wallet.Address, _ error) {
	if len(references) == 0 {
		return none, nil
	}
	newest, err := in.TransactionsAt(in.of.Address, store.Page{Limit: mostRequests})
	if err != nil {
		return none, err
	}
	for _, t := range newest {
		rules, err := in.Kinds().Of(t.Kind)
		if err != nil {
			return none, err
		}
		if rules.Awaits(t) && slices.Contains(references, t.Reference) {
			return t.Reference, nil
		}
	}
	return none, nil
}

// sender returns the one wallet that a token came from, zero for several or if nobody knows, and the references that its
// transfers name.
func sender(a wallet.Activity, mint wallet.Address) (from wallet.Address, references []wallet.Address) {
	several := false
	for _, m := range a.Movements {
		if !m.In || m.Token.Mint != mint || m.How == wallet.MovedAsRent {
			continue
		}
		several = several || !from.IsZero() && m.With != from
		from = m.With
		references = append(references, m.References...)
	}
	if several {
		from = wallet.Address{}
	}
	return from, references
}
