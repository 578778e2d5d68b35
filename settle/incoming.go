package settle

import (
	"errors"
	"log/slog"
	"time"

	"purser/store"
	"purser/wallet"
)

// incoming decides what to do about what came into a wallet, inside the store transaction in which it is written.
type incoming struct {
	receipts
	listed func(wallet.Address) (wallet.Token, bool)

	known *[]wallet.Address // whom the owner knows; nil: not read yet
	news  bool              // a transaction did something else than bring folded payments
}

// incomingOf begins to decide about what came into one wallet.
func incomingOf(tx store.Tx, of wallet.Wallet, listed func(wallet.Address) (wallet.Token, bool), at time.Time, log *slog.Logger) *incoming {
	return &incoming{receipts: receipts{Tx: tx, to: of, at: at, log: log}, listed: listed}
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
		is, err := in.pay(a, gain)
		if err != nil {
			return false, err
		}
		folded, in.news = folded || is == counted, in.news || is != counted
	}
	if len(a.Net) > 0 {
		return folded, nil
	}
	if err := in.readKnown(); err != nil || a.Suspicion(*in.known, in.listed) == wallet.NotSuspicious {
		return false, err
	}
	for _, m := range a.Movements {
		if m.In {
			if err := in.remember(a.Incoming(wallet.NetChange{Token: m.Token}).From); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// remember marks who sent something suspicious: the wallet's owner is warned before they pay that address (wallet.RulePlantedSender).
func (in *incoming) remember(from wallet.Address) error {
	if err := in.readOwner(); err != nil {
		return store.IgnoreNotFound(err)
	}
	if from.IsZero() || in.to.Owner == "" {
		return nil
	}
	return in.Tx.PutPlantedSender(in.user.ID, from, in.at.Add(wallet.PlantedFor))
}

// pay writes the receipt of a gain, unless it is folded, and ends the payment request that it answers.
func (in *incoming) pay(a wallet.Activity, gain wallet.NetChange) (verdictOnGain, error) {
	paid, is, err := in.judge(a, gain)
	if err == nil && is != counted {
		err = in.write(paid, a.Incoming(gain))
	}
	return is, err
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
	p := a.Incoming(gain)
	paid = wallet.Transaction{From: p.From, To: in.to.Address, Token: gain.Token, Amount: gain.Units, Signature: a.Signature, Memo: p.Memo,
		Landing: &wallet.Landing{Signature: a.Signature, Slot: a.Slot, Fee: a.Fee, Finalized: true}}
	switch _, err := in.Transaction(wallet.ReceivedID(a.Signature, in.to.Address, gain.Token.Mint)); {
	case err == nil || store.IsDamaged(err): // it was written, so it was announced
		return paid, known, nil
	case !errors.Is(err, store.ErrNotFound):
		return paid, known, err
	}
	if err := in.readOwner(); err != nil {
		return paid, known, store.IgnoreNotFound(err)
	}
	if token, ok := in.listed(gain.Token.Mint); ok {
		paid.Token = token
	} else if !gain.Token.Native() && !p.FromSigned { // who made the token may be able to move what others hold
		paid.From = wallet.Address{}
	}
	own, err := in.TransactionBySignature(a.Signature)
	ours := err == nil && own.To == in.to.Address && own.Token.Mint == gain.Token.Mint // a payment that purser made
	if ours {
		paid.From, paid.PaymentRequestRef = own.From, own.PaymentRequestRef
	} else if err != nil && !errors.Is(err, store.ErrNotFound) && !store.IsDamaged(err) {
		return paid, known, err
	}
	request, covered, err := in.answered(p)
	if err != nil {
		return paid, known, err
	}
	if !request.Reference.IsZero() {
		paid.PaymentRequestRef = request.Reference
	}
	// A link is known to many: who names its reference and pays next to nothing is treated as anybody else.
	if ours || covered || !paid.PaymentRequestRef.IsZero() && !gain.Dust() {
		return paid, announced, nil
	}
	suspicious, err := in.suspicious(a, gain)
	if err == nil && suspicious {
		return paid, counted, in.remember(p.From)
	}
	return paid, announced, err
}

// readKnown reads whom the wallet's owner knows.
func (in *incoming) readKnown() error {
	if in.known != nil {
		return nil
	}
	var all []wallet.Address
	if in.to.Owner != "" {
		var err error
		if all, err = store.KnownTo(in.Tx, in.to.Owner); store.IsDamaged(err) { // nobody is known then
			in.log.Error("watch: whom a person knows cannot be read", "wallet", in.to.Address, "error", err)
			all, err = nil, nil
		}
		if err != nil {
			return err
		}
	}
	in.known = &all
	return nil
}

// suspicious reports whether a gain is one that strangers plant. It stays in the history on chain, marked there, and is counted
// and neither announced nor stored.
func (in *incoming) suspicious(a wallet.Activity, gain wallet.NetChange) (bool, error) {
	if err := in.readKnown(); err != nil {
		return false, err
	}
	return a.Screen(gain, *in.known, in.listed) != wallet.NotSuspicious, nil
}
