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

	user  *wallet.User                      // the owner, once read; the zero User for a wallet without one
	known []wallet.Address                  // whom the owner knows; read with user
	asked map[wallet.Address]wallet.Address // the token of each open payment request, by its reference; nil: not read yet
	news  bool                              // a transaction did something else than bring folded payments
}

// isNews tells whether something may have come in that its owner did not do themselves.
func isNews(a wallet.Activity) bool {
	return a.Failure == "" && (!a.Signed || a.Kind == wallet.ActivityReceived)
}

// announce writes a receipt for each token that a finalized transaction brought. A receipt that exists was announced
// before: by an earlier look, by the settlement of a payment between two wallets of purser, or for a payment request. The
// result tells whether something came in that is not announced.
func (in *incoming) announce(a wallet.Activity) (folded bool, _ error) {
	in.news = in.news || a.Signed
	if !isNews(a) {
		return false, nil
	}
	for _, gain := range a.Net {
		if gain.Lost {
			continue
		}
		paid, is, err := in.judge(a, gain)
		if err == nil && is == announced {
			err = in.receive(paid)
		}
		if err != nil {
			return false, err
		}
		folded, in.news = folded || is == counted, in.news || is != counted
	}
	return folded || len(a.Net) == 0 && slices.ContainsFunc(a.Movements, func(m wallet.Movement) bool { return m.In && m.Units == 0 }), nil
}

// verdictOnGain says what is done about a gain.
type verdictOnGain int

const (
	known     verdictOnGain = iota // it has a receipt, or nobody to have one
	announced                      // it gets a receipt and an event
	counted                        // it is folded
)

// judge returns the payment that brought a gain, and what is to be done about it.
func (in *incoming) judge(a wallet.Activity, gain wallet.NetChange) (paid wallet.Transaction, _ verdictOnGain, _ error) {
	switch _, err := in.Transaction(wallet.ReceivedID(a.Signature, in.of.Address, gain.Token.Mint)); {
	case err == nil:
		return paid, known, nil
	case damaged(err): // it was written, so it was announced
		in.log.Error("watch: a receipt is damaged; its payment is not announced again", "wallet", in.of.Address, "transaction", a.Signature, "error", err)
		return paid, known, nil
	case !errors.Is(err, store.ErrNotFound):
		return paid, known, err
	}
	if err := in.readOwner(); err != nil {
		return paid, known, gone(err)
	}
	from := payerOf(a, gain.Token.Mint)
	paid = wallet.Transaction{From: from.Address, To: in.of.Address, Token: gain.Token, Amount: gain.Units, Signature: a.Signature, Memo: a.Memo,
		Landing: &wallet.Landing{Signature: a.Signature, Slot: a.Slot, Fee: a.Fee, Finalized: true}}
	if token, ok := in.listed(gain.Token.Mint); ok {
		paid.Token = token
	}
	own, err := in.TransactionBySignature(a.Signature)
	ours := err == nil && own.To == in.of.Address && own.Token.Mint == gain.Token.Mint // a payment that purser made
	if ours {
		paid.From, paid.PaymentRequestRef = own.From, own.PaymentRequestRef
	} else if err != nil && !errors.Is(err, store.ErrNotFound) && !damaged(err) {
		return paid, known, err
	}
	if paid.PaymentRequestRef.IsZero() {
		if paid.PaymentRequestRef, err = in.requested(from.references, gain.Token.Mint); err != nil {
			return paid, known, err
		}
	}
	if !ours && paid.PaymentRequestRef.IsZero() && in.folded(a, gain, from) {
		return paid, counted, nil
	}
	return paid, announced, nil
}

// receive writes the receipt of a finalized payment and its event.
func (in *incoming) receive(paid wallet.Transaction) error {
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
		if in.known, err = store.KnownTo(in, in.of.Owner); damaged(err) { // nobody is known then
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

// folded tells whether a gain is one of those that strangers plant: dust, units of a token that is not listed, and anything
// from an address that resembles one that the owner knows. It stays in the history on chain, marked there, and is counted
// and neither announced nor stored. What the owner signed is not planted, nor what somebody they know signed: of a token that
// strangers made, the strangers can move what others hold.
func (in *incoming) folded(a wallet.Activity, gain wallet.NetChange, from payer) bool {
	if a.Signed || from.signed && slices.Contains(in.known, from.Address) {
		return false
	}
	if !from.IsZero() {
		if _, similar := wallet.PoisoningSuspect(from.Address, in.known); similar {
			return true
		}
	}
	// Beside a payment that counts, the others of its transaction are announced too.
	return !slices.ContainsFunc(a.Net, func(n wallet.NetChange) bool {
		_, listed := in.listed(n.Token.Mint)
		return !n.Lost && (listed || n.Token.Native()) && !n.Dust()
	})
}

// damaged reports whether an error is about one row that is not what was written.
func damaged(err error) bool {
	return errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrUnsealed)
}

// mostRequests is how many of a wallet's newest transactions are searched for a payment request.
const mostRequests = 100

// requested returns the reference of an open payment request for a token that a transfer names; zero for none.
func (in *incoming) requested(references []wallet.Address, mint wallet.Address) (none wallet.Address, _ error) {
	if len(references) == 0 {
		return none, nil
	}
	if in.asked == nil {
		newest, err := in.TransactionsAt(in.of.Address, store.Page{Limit: mostRequests})
		if err != nil {
			return none, err
		}
		in.asked = map[wallet.Address]wallet.Address{}
		for _, t := range newest {
			rules, err := in.Kinds().Of(t.Kind)
			if err != nil {
				return none, err
			}
			if rules.Awaits(t) {
				in.asked[t.Reference] = t.Token.Mint
			}
		}
	}
	for _, reference := range references {
		if wanted, open := in.asked[reference]; open && wanted == mint {
			return reference, nil
		}
	}
	return none, nil
}

// payer is who paid a token.
type payer struct {
	wallet.Address      // the one wallet that it came from; zero for several, or if nobody knows
	signed         bool // they signed the transaction
	references     []wallet.Address
}

// payerOf returns who paid a token, and the references that its transfers name.
func payerOf(a wallet.Activity, mint wallet.Address) (out payer) {
	some, several := false, false
	for _, m := range a.Movements {
		if !m.In || m.Token.Mint != mint || m.How == wallet.MovedAsRent {
			continue
		}
		several = several || some && m.With != out.Address
		out.Address, out.signed, some = m.With, m.Signed, true
		out.references = append(out.references, m.References...)
	}
	if several {
		out.Address, out.signed = wallet.Address{}, false
	}
	return out
}
