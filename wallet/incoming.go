package wallet

import "slices"

// IncomingPayment is what one transaction brought to a wallet in one token. However many transfers it took, it is one
// payment, with one receipt (ReceivedID), and how much it is is what the balances say.
type IncomingPayment struct {
	Gain NetChange
	// From is the one wallet that it came from; zero for several, or if nobody knows.
	From       Address
	FromSigned bool      // From signed the transaction
	References []Address // that its transfers name, in their order
	Memo       string    // of the first transfer that names a reference, else of the transaction
}

// Incoming returns the payment that brought a gain of Net.
func (a Activity) Incoming(gain NetChange) IncomingPayment {
	p := IncomingPayment{Gain: gain, Memo: a.Memo}
	some, several := false, false
	for _, m := range a.Movements {
		if !m.In || m.Token.Mint != gain.Token.Mint || m.How == MovedAsRent {
			continue
		}
		several = several || some && m.With != p.From
		p.From, p.FromSigned = m.With, m.Signed && (!some || p.FromSigned)
		some = true
		p.name(m)
	}
	if several {
		p.From, p.FromSigned = Address{}, false
	}
	for _, m := range a.Unexplained {
		if m.In && m.Token.Mint == gain.Token.Mint && m.How != MovedAsRent {
			p.name(m)
		}
	}
	return p
}

// name adds the references of a transfer.
func (p *IncomingPayment) name(m Movement) {
	if len(p.References) == 0 && m.Memo != "" {
		p.Memo = m.Memo
	}
	p.References = append(p.References, m.References...)
}

// PaysBy reports whether the activity brought units of a mint by a transfer that names a reference.
func (a Activity) PaysBy(reference, mint Address) bool {
	return a.Failure == "" && slices.ContainsFunc(a.Net, func(n NetChange) bool {
		return !n.Lost && n.Token.Mint == mint && slices.Contains(a.Incoming(n).References, reference)
	})
}

// Answers returns which of the open payment requests of the wallet the payment answers: of those for its token whose
// reference it names, in the order in which it names them, the first that it covers; if it covers none, the first. ok is
// false if it names none. A payment ends one request at most, however many it names and covers.
func (p IncomingPayment) Answers(open []Transaction) (request Transaction, covered, ok bool) {
	for _, reference := range p.References {
		i := slices.IndexFunc(open, func(t Transaction) bool { return t.Reference == reference && t.Token.Mint == p.Gain.Token.Mint })
		if i < 0 {
			continue
		}
		if open[i].Amount <= p.Gain.Units {
			return open[i], true, true
		}
		if !ok {
			request, ok = open[i], true
		}
	}
	return request, false, ok
}
