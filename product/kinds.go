package product

import (
	"errors"
	"fmt"

	"purser/chain"
	"purser/chat"
	"purser/handlers"
	"purser/wallet"
)

// Kind is one kind of transaction (a send, a receipt, a payment request) with all of its parts: one for each package that
// treats kinds differently. Everything else, such as confirming, signing, settling, retrying and listing, is the same for
// all kinds. A new kind is one more value of this type.
type Kind struct {
	Rules   wallet.Rules        // what it does on chain, what it spends and which events it emits
	Actions []chain.ActionCodec // decoder rows for actions that no other kind has registered
	// Operation loads the chain data by which this kind is judged. It is nil for a kind that nobody here signs. It is
	// called once, when the Parts are made.
	Operation func(*Parts) handlers.Operation
	Card      chat.Card // its wording in the chat
}

// StandardKinds returns the kinds of an unmodified purser: sends, receipts, payment requests, swaps, the steps of staking and
// revocations.
func StandardKinds() []Kind {
	return []Kind{
		{Rules: wallet.SendRules(), Card: chat.SendCard(), Operation: func(p *Parts) handlers.Operation { return p.Transfers.Operation() }},
		{Rules: wallet.ReceiveRules(), Card: chat.ReceiptCard()},
		{Rules: wallet.RequestRules(), Card: chat.RequestCard()},
		{Rules: wallet.SwapRules(), Card: chat.SwapCard(), Operation: func(p *Parts) handlers.Operation { return p.Swaps.Operation() }},
		{Rules: wallet.StakeRules(), Card: chat.StakeCard(), Operation: staking(wallet.Stake)},
		{Rules: wallet.UnstakeRules(), Card: chat.UnstakeCard(), Operation: staking(wallet.Unstake)},
		{Rules: wallet.WithdrawRules(), Card: chat.WithdrawCard(), Operation: staking(wallet.Withdraw)},
		{Rules: wallet.RevokeRules(), Card: chat.RevokeCard(), Operation: func(p *Parts) handlers.Operation { return p.Revokes.Operation() }},
	}
}

// staking returns how a kind of staking is proposed.
func staking(kind wallet.Kind) func(*Parts) handlers.Operation {
	return func(p *Parts) handlers.Operation { return p.Stakes.Operation(kind) }
}

// Kinds is the immutable registry of a binary. The store, the chain, the operations and the chat all take their kinds
// from it, so they cannot disagree. The zero value is empty. Create one with NewKinds.
type Kinds struct {
	all   []Kind
	rules wallet.Kinds
	codec chain.Codec
}

// NewKinds joins kinds into a registry. It reports every kind that lacks a part, or has parts of another kind, in one
// joined error. Call it before opening the store.
func NewKinds(all ...Kind) (Kinds, error) {
	k := Kinds{all: all}
	var rules []wallet.Rules
	var codecs []chain.ActionCodec
	var wrong []error
	for _, one := range all {
		kind := one.Rules.Kind
		// A kind is signed here if and only if it can be proposed here.
		if (one.Operation != nil) != (one.Rules.Life == wallet.Outgoing) {
			wrong = append(wrong, fmt.Errorf("the kind %s: it is signed here if it can be proposed, and only then", kind))
		}
		if one.Card.Kind != kind {
			wrong = append(wrong, fmt.Errorf("the kind %s has the card of %q", kind, one.Card.Kind))
		}
		rules, codecs = append(rules, one.Rules), append(codecs, one.Actions...)
	}
	// Duplicate kinds and duplicate actions are found by the two registries below.
	var err error
	k.rules, err = wallet.NewKinds(rules...)
	wrong = append(wrong, err)
	k.codec, err = chain.NewCodec(codecs...)
	return k, errors.Join(append(wrong, err)...)
}

// Rules returns what a store needs to know of the kinds.
func (k Kinds) Rules() wallet.Kinds { return k.rules }

// Codec returns how the chain encodes, decodes and recognizes their actions.
func (k Kinds) Codec() chain.Codec { return k.codec }

// Cards returns how the chat words them, in the order of registration.
func (k Kinds) Cards() []chat.Card {
	out := make([]chat.Card, len(k.all))
	for i, one := range k.all {
		out[i] = one.Card
	}
	return out
}

// operations returns how the kinds are proposed with these parts. It fails if an operation has the wrong kind or lacks
// Load or Retry.
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
