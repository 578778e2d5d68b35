package product

import (
	"errors"
	"fmt"

	"purser/chain"
	"purser/chat"
	"purser/handlers"
	"purser/wallet"
)

// Kind is one kind of transaction with all of its parts, one for each package that judges transactions. Confirming,
// signing, settling, retrying and listing are the same for all kinds, so that a kind is added by one of these values.
type Kind struct {
	Rules   wallet.Rules        // what it does on chain, spends and announces
	Actions []chain.ActionCodec // rows of the decoder's table that no other kind has brought
	// Operation is how it is proposed: what it loads from the chain and how it is judged by that. nil for a kind that
	// nobody here signs.
	Operation func(*Parts) handlers.Operation
	Card      chat.Card // how it is shown
}

// StandardKinds are those that purser has by itself.
func StandardKinds() []Kind {
	return []Kind{
		{Rules: wallet.SendRules(), Card: chat.SendCard(), Operation: func(p *Parts) handlers.Operation { return p.Transfers.Operation() }},
		{Rules: wallet.ReceiveRules(), Card: chat.ReceiptCard()},
		{Rules: wallet.RequestRules(), Card: chat.RequestCard()},
	}
}

// Kinds is the registry of a binary: what the store, the chain, the operations and the chat know of kinds is taken from
// it, and so is the same. It does not change. The zero Kinds is empty: NewKinds makes one.
type Kinds struct {
	all   []Kind
	rules wallet.Kinds
	codec chain.Codec
}

// NewKinds joins kinds. One that lacks a part is refused here, before anything is opened.
func NewKinds(all ...Kind) (Kinds, error) {
	k := Kinds{all: all}
	var rules []wallet.Rules
	var codecs []chain.ActionCodec
	var wrong []error
	for _, one := range all {
		kind := one.Rules.Kind
		if (one.Operation != nil) != (one.Rules.Life == wallet.Outgoing) {
			wrong = append(wrong, fmt.Errorf("the kind %s: it is signed here if it can be proposed, and only then", kind))
		}
		if one.Card.Kind != kind {
			wrong = append(wrong, fmt.Errorf("the kind %s has the card of %q", kind, one.Card.Kind))
		}
		rules, codecs = append(rules, one.Rules), append(codecs, one.Actions...)
	}
	var err error
	k.rules, err = wallet.NewKinds(rules...)
	wrong = append(wrong, err)
	k.codec, err = chain.NewCodec(codecs...)
	return k, errors.Join(append(wrong, err)...)
}

// Rules are what a store must know of them.
func (k Kinds) Rules() wallet.Kinds { return k.rules }

// Codec is by what the chain reads and writes them.
func (k Kinds) Codec() chain.Codec { return k.codec }

// Cards are how a chat shows them.
func (k Kinds) Cards() []chat.Card {
	out := make([]chat.Card, len(k.all))
	for i, one := range k.all {
		out[i] = one.Card
	}
	return out
}

// operations are how they are proposed with these parts.
func (k Kinds) operations(p *Parts) ([]handlers.Operation, error) {
	var out []handlers.Operation
	for _, one := range k.all {
		if one.Operation == nil {
			continue
		}
		operation := one.Operation(p)
		if operation.Kind != one.Rules.Kind || operation.Load == nil || operation.Retry == nil {
			return nil, fmt.Errorf("product: the kind %s: Load and Retry of its own are needed", one.Rules.Kind)
		}
		out = append(out, operation)
	}
	return out, nil
}
