package world

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"purser/chain"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// Prepare works out a transfer, and stores nothing.
func (w *World) Prepare(p *Person, to wallet.Address, amount, token string) (wallet.Transaction, error) {
	req, err := SendRequest(to.String(), amount, token)
	if err != nil {
		return wallet.Transaction{}, err
	}
	proposal, err := w.Transfers.Prepare(context.Background(), p.Caller(), req)
	return proposal.Transaction, err
}

// SendRequest reads a transfer that is written in words, as a front does.
func SendRequest(to, amount, token string) (req handlers.SendRequest, err error) {
	if req.To, err = wallet.ParseAddress(to); err != nil {
		return req, wallet.About(wallet.FieldTo, err)
	}
	if req.Amount, err = wallet.ParseQuantity(amount); err != nil {
		return req, err
	}
	req.Token, err = wallet.ParseTokenRef(token)
	return req, err
}

// Quantity is an amount, or wallet.Max, that is a constant of a test.
func Quantity(text string) wallet.Quantity {
	q, err := wallet.ParseQuantity(text)
	if err != nil {
		panic(err)
	}
	return q
}

// TokenRef names a token by a constant of a test: a symbol or a mint.
func TokenRef(text string) wallet.TokenRef {
	ref, err := wallet.ParseTokenRef(text)
	if err != nil {
		panic(err)
	}
	return ref
}

// Propose stores a proposal of somebody's, and waits for its Confirm.
func (w *World) Propose(p *Person, to wallet.Address, amount, token string) wallet.Transaction {
	w.Helper()
	t, err := w.Prepare(p, to, amount, token)
	w.Must(err)
	w.Must(w.Update(func(tx store.Tx) error { return w.Transfers.Commit(tx, handlers.Proposal{Transaction: t}) }))
	return w.Transaction(t.ID)
}

// Typed is what the owner of a transaction types to confirm it; "" if a tap suffices.
func Typed(t wallet.Transaction) string {
	switch t.Typing() {
	case wallet.TypesAddress:
		_, middle := t.To.Middle()
		return middle
	case wallet.TypesAmount:
		return t.Money().String()
	}
	return ""
}

// Confirm is the owner's word; it may be refused. They type what a fraud rule asks for, but nothing for a suspected poisoning.
func (w *World) Confirm(who handlers.Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	typed := ""
	if t := w.Transaction(id); t.PoisoningSuspect.IsZero() {
		typed = Typed(t)
	}
	c, err := w.Transfers.PrepareConfirm(context.Background(), who, id, typed)
	if err != nil {
		return wallet.Transaction{}, err
	}
	var t wallet.Transaction
	err = w.Update(func(tx store.Tx) error {
		var err error
		t, err = w.Transfers.CommitConfirm(tx, c)
		return err
	})
	return t, err
}

// Issue hands the device a fresh blockhash, and returns the message to sign.
func (w *World) Issue(signID string) []byte {
	w.Helper()
	view, err := w.Signing.Refresh(context.Background(), handlers.ByLink(signID))
	w.Must(err)
	return view.Message
}

// HandIn gives the device's signature over a message to purser, as the page does.
func (w *World) HandIn(p *Person, signID string, message []byte) (wallet.Status, error) {
	return w.Signing.Submit(context.Background(), handlers.ByLink(signID), handlers.Signature{Over: HashOf(message), Signature: p.Sign(message)})
}

// HashOf names a message, as the page does: SHA-256 in hexadecimal.
func HashOf(message []byte) string {
	sum := sha256.Sum256(message)
	return hex.EncodeToString(sum[:])
}

// Confirmed carries a transfer up to and with its Confirm.
func (w *World) Confirmed(p *Person, to wallet.Address, amount, token string) wallet.Transaction {
	w.Helper()
	t, err := w.Confirm(p.Caller(), w.Propose(p, to, amount, token).ID)
	w.Must(err)
	return t
}

// Signed carries a transfer up to and with the device's signature.
func (w *World) Signed(p *Person, to wallet.Address, amount, token string) wallet.Transaction {
	w.Helper()
	t := w.Confirmed(p, to, amount, token)
	_, err := w.HandIn(p, t.SignID, w.Issue(t.SignID))
	w.Must(err)
	return w.Transaction(t.ID)
}

// Paid carries a transfer to the point where nothing can take it back.
func (w *World) Paid(p *Person, to wallet.Address, amount, token string) wallet.Transaction {
	w.Helper()
	t := w.Settled(w.Signed(p, to, amount, token).ID)
	if t.Status != wallet.Confirmed {
		w.Fatalf("the payment ended as %s: %s", t.Status, t.ErrorReason)
	}
	return t
}

// SendBehind builds, signs and sends a transfer from a device, behind purser's back.
func (w *World) SendBehind(p *Person, t wallet.Transaction) {
	w.Helper()
	ctx := context.Background()
	message, err := chain.Codec{}.Build(t, wallet.TransferActions(t))
	w.Must(err)
	hash, err := w.Chain.Blockhash(ctx)
	w.Must(err)
	message, err = chain.WithBlockhash(message, hash.Hash)
	w.Must(err)
	wire, err := chain.Assemble(message, p.Sign(message))
	w.Must(err)
	w.Must(w.Chain.Broadcast(ctx, wire))
}

// Transaction reads what is stored under an id.
func (w *World) Transaction(id wallet.TransactionID) wallet.Transaction {
	w.Helper()
	var t wallet.Transaction
	w.View(func(tx store.Tx) error {
		var err error
		t, err = tx.Transaction(id)
		return err
	})
	return t
}

// Events lists what was announced of a transaction and not delivered yet, in order.
func (w *World) Events(id wallet.TransactionID) []wallet.EventName {
	w.Helper()
	var names []wallet.EventName
	w.View(func(tx store.Tx) error {
		all, err := tx.PendingEvents(1000)
		for _, event := range all {
			if event.Transaction == id {
				names = append(names, event.Name)
			}
		}
		return err
	})
	return names
}
