package records

import (
	"encoding/json"
	"errors"
	"fmt"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// transactionRow is the plain part of a transaction. Chat, sign id, poisoning suspect, findings, label, purpose, reason of the delay, terms, and what
// repeats them or a memo are sealed with the owner's data key.
type transactionRow struct {
	wallet.Transaction
	Sign []byte `json:"sign,omitempty"` // H(sign id), the key in bySignID; of a final row its first finalHashSize bytes
}

// Kinds returns Options.Kinds.
func (t *tx) Kinds() wallet.Kinds { return t.store.kinds }

// Transaction reads a row and puts its sealed fields back in place. ErrNotFound: there is none, or its owner was
// erased. wallet.ErrUnknownKind: this binary cannot judge it. ErrDamaged: nor can its kind, which refuses its terms.
func (t *tx) Transaction(id wallet.TransactionID) (wallet.Transaction, error) {
	stored, err := t.stored([]byte(id))
	if err != nil {
		return wallet.Transaction{}, err
	}
	return t.opened(stored)
}

// opened is Transaction for a row that was read.
func (t *tx) opened(stored storedTransaction) (wallet.Transaction, error) {
	var r transactionRow
	sealed, err := t.unsealFields(stored.in.String(), stored.key, stored.row, "identity")
	if err != nil {
		return wallet.Transaction{}, err
	}
	if err := stored.into(&r); err != nil {
		return wallet.Transaction{}, err
	}
	who, err := parseIdentity(sealed[0])
	if err != nil {
		return wallet.Transaction{}, err
	}
	// No operation may judge a kind that it does not know.
	rules, err := t.store.kinds.Of(r.Kind)
	if err != nil {
		return wallet.Transaction{}, err
	}
	r.Chat, r.SignID, r.PoisoningSuspect, r.Label, r.Purpose = who.Chat, who.SignID, who.PoisoningSuspect, who.Label, who.Purpose
	r.Findings, r.DelayReason = who.Findings, who.DelayReason
	if who.Memo != "" || len(who.Terms) > 0 {
		r.Memo, r.Terms, r.Message, r.Signed = who.Memo, who.Terms, who.Message, who.Signed
	}
	if err := rules.Check(r.Transaction); err != nil {
		return wallet.Transaction{}, fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	return r.Transaction, nil
}

// TransactionBySignID follows the keyed hash of a signing link's id.
func (t *tx) TransactionBySignID(signID string) (wallet.Transaction, error) {
	hash := t.store.lookup.Text(store.BySignID, signID)
	return t.followed(t.get(bySignID, hash[:]), hash, func(r wallet.Transaction) bool { return r.SignID == signID })
}

// TransactionBySignature finds a payment, or a receipt if no payment of this store has that signature.
func (t *tx) TransactionBySignature(signature wallet.Signature) (wallet.Transaction, error) {
	return t.followed(t.get(bySignature, signature[:]), t.signatureHash(signature), func(r wallet.Transaction) bool { return r.Signature == signature })
}

// followed reads the transaction that an index leads to and checks that it is the right one: by its id, or without one the
// final row under a hash. Index entries have no tag, so somebody who can write to the file could lead one elsewhere. Several
// final rows may have the same first bytes of their hashes, so another one is passed over.
func (t *tx) followed(id []byte, hash store.Hash, meant func(wallet.Transaction) bool) (wallet.Transaction, error) {
	if id != nil {
		r, err := t.Transaction(wallet.TransactionID(id))
		if err == nil && !meant(r) {
			return wallet.Transaction{}, fmt.Errorf("%w: an index leads to another row", store.ErrDamaged)
		}
		return r, err
	}
	failure := store.ErrNotFound
	for stored, err := range t.finalsUnder(finalHashes, hash[:finalHashSize]) {
		var r wallet.Transaction
		if err == nil {
			r, err = t.opened(stored)
		}
		switch {
		case err == nil && meant(r):
			return r, nil
		case err != nil && !erased(err):
			failure = err
		}
	}
	return wallet.Transaction{}, failure
}

// CreateTransaction also records the kind in meta, so that a binary without this kind refuses the store (checkKinds).
func (t *tx) CreateTransaction(n wallet.Transaction) error {
	if err := checkID(string(n.ID)); err != nil {
		return err
	}
	if n.Owner != "" {
		if err := checkID(string(n.Owner)); err != nil {
			return err
		}
	}
	switch _, err := t.stored([]byte(n.ID)); {
	case err == nil:
		return store.ErrConflict
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	n.Version = 1
	if kind := []byte(metaKind + n.Kind); t.get(meta, kind) == nil {
		if err := t.put(meta, kind, []byte{1}); err != nil {
			return err
		}
	}
	return t.writeTransaction(n, nil)
}

// PutTransaction writes only if the stored row has the caller's version: of two changes that read the same row, the
// second gets ErrConflict and must read again.
func (t *tx) PutTransaction(n wallet.Transaction) error {
	old, err := t.transactionIndex([]byte(n.ID))
	if err != nil {
		return err
	}
	if old.Version != n.Version || old.Owner != n.Owner || old.Kind != n.Kind {
		return store.ErrConflict
	}
	n.Version++
	return t.writeTransaction(n, &old)
}

// writeTransaction writes the row, and those of its index entries that differ from the old row's. A row that becomes final
// moves to finals.
func (t *tx) writeTransaction(n wallet.Transaction, old *transactionIndex) error {
	rules, err := t.store.kinds.Of(n.Kind)
	if err != nil {
		return err
	}
	if err := rules.Check(n); err != nil {
		return err
	}
	number, err := t.placeOf(n, old)
	if err != nil {
		return err
	}
	in, key := rowPlace(n.ID, number)
	r, raw, err := t.sealTransaction(in, key, n)
	if err != nil {
		return err
	}
	raw = t.store.tagged(in.String(), key, raw)
	// Move the index from the old state to the new one, then write the row.
	now := r.index(rules)
	now.number, now.tag = number, raw[len(raw)-tagSize:]
	if err := t.reindex(n, old, now); err != nil {
		return err
	}
	if err := t.noteProposal(n); err != nil {
		return err
	}
	if n.Closed && old != nil && !old.Closed {
		if err := t.forgetEvents(n); err != nil {
			return err
		}
	}
	// The next payment from the wallet asks what this row holds back. A commit that fails does no harm: then the index has another tag.
	if !n.Closed {
		if _, err := t.store.remember(n, rules, raw); err != nil {
			return err
		}
	}
	if old != nil && old.number != number {
		if err := t.delete(rowPlace(n.ID, old.number)); err != nil {
			return err
		}
	}
	return t.put(in, key, raw)
}

// sealTransaction returns the row of a transaction for its place: its plain part, and the whole without its tag.
func (t *tx) sealTransaction(in table, key []byte, n wallet.Transaction) (r transactionRow, raw []byte, err error) {
	// Move the private fields from the plain part to the sealed one.
	r = transactionRow{Transaction: n}
	if n.SignID != "" {
		hash := t.store.lookup.Text(store.BySignID, n.SignID)
		r.Sign = hash[:]
		if in == finals {
			r.Sign = hash[:finalHashSize]
		}
	}
	r.Chat, r.SignID, r.PoisoningSuspect, r.Label, r.Purpose = 0, "", wallet.Address{}, "", ""
	r.Findings, r.DelayReason = nil, wallet.Reason{}
	sealed := identity{Chat: n.Chat, SignID: n.SignID, PoisoningSuspect: n.PoisoningSuspect, Label: n.Label, Purpose: n.Purpose,
		Findings: n.Findings, DelayReason: n.DelayReason}
	if n.Memo != "" || len(n.Terms) > 0 {
		sealed.Memo, sealed.Terms, sealed.Message, sealed.Signed = n.Memo, n.Terms, n.Message, n.Signed
		r.Memo, r.Terms, r.Message, r.Signed = "", nil, nil, nil
	}
	who, err := sealed.field()
	if n.Closed {
		who, err = sealed.packedField()
	}
	if err != nil {
		return r, nil, err
	}
	plain, err := json.Marshal(r)
	if err != nil {
		return r, nil, fmt.Errorf("write a row of %s: %w", in, err)
	}
	// What never changes again is kept for good, and takes as little room as it can.
	if n.Closed {
		_, owner, err := t.sealingKey(n.Owner)
		if err != nil {
			return r, nil, err
		}
		plain = pack(plain, owner)
	}
	raw, err = t.sealBeside(in.String(), key, n.Owner, plain, who)
	return r, raw, err
}

// noteProposal notes for Sweep when a transaction that came to nothing is removed. Such a transaction never changes
// again, so the note is never taken back.
func (t *tx) noteProposal(n wallet.Transaction) error {
	if !n.NothingSigned() {
		return nil
	}
	return t.expire(proposalOver, n.EndedAt.Add(store.ProposalKeptFor), []byte(n.ID))
}

// removeProposal removes a transaction that came to nothing, all its index entries, and the ids of its events. It
// keeps any other transaction: whatever was signed or could have been is kept for good.
func (t *tx) removeProposal(id []byte) error {
	stored, err := t.stored(id)
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	}
	var r transactionRow
	if err := stored.into(&r); err != nil {
		return err
	}
	if !r.NothingSigned() {
		return nil
	}
	rules, err := t.store.kinds.Of(r.Kind)
	if err != nil {
		return nil // what nobody here can judge is not removed
	}
	x := r.index(rules)
	x.number = stored.number
	if err := t.removeEntries(t.entries(x), nil); err != nil {
		return err
	}
	return errors.Join(t.forgetEvents(r.Transaction), t.delete(stored.in, stored.key))
}

// forgetEvents removes the ids of the events of a transaction that is closed or gone. None of them can be emitted again: each
// is emitted in the Update that takes its step, and PutTransaction takes no step twice. An event that still waits for notify
// keeps its id.
func (t *tx) forgetEvents(n wallet.Transaction) error {
	for _, event := range n.EventIDs() {
		key := t.eventID(event)
		if t.get(eventIDs, key) == nil {
			continue
		}
		if waits, err := t.waits(event); waits || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if err := t.delete(eventIDs, key); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) UnsettledTransactions(after wallet.Transaction, limit int) ([]wallet.Transaction, error) {
	var out []wallet.Transaction
	r := all()
	if after.ID != "" {
		r.From = join(timeKey(after.CreatedAt), []byte(after.ID), []byte{0}) // the first key behind that one's
	}
	for key := range t.scan(unsettled, r) {
		if len(out) >= limit {
			break
		}
		err := t.appendTransaction(&out, key)
		switch {
		case err != nil && len(key) <= timeSize:
			t.skipDamaged(unsettled, key, err)
		case err != nil:
			t.skipDamaged(transactions, key[timeSize:], err)
		}
	}
	return out, nil
}

// UnsettledFrom passes over rows of erased users and nothing else: a sum of reservations without a row would be wrong.
func (t *tx) UnsettledFrom(from wallet.Address) ([]wallet.Transaction, error) {
	var out []wallet.Transaction
	prefix := unsettledPrefix(from)
	for key := range t.scan(byWallet, engine.Prefix(prefix)) {
		if err := t.appendUnsettled(&out, key[len(prefix):]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// UnsettledOf reads only rows that are not closed: a damaged one that is closed must not keep its owner from anything.
func (t *tx) UnsettledOf(owner wallet.UserID) ([]wallet.Transaction, error) {
	var out []wallet.Transaction
	prefix := userPrefix(owner)
	for key := range t.scan(byOwner, engine.Prefix(prefix)) {
		created := key[len(prefix):]
		if t.get(unsettled, created) == nil {
			continue
		}
		if err := t.appendUnsettled(&out, created); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// appendUnsettled adds the row that a created-at key names, unless its user was erased. A row that is missing is an error:
// erasing keeps rows.
func (t *tx) appendUnsettled(out *[]wallet.Transaction, created []byte) error {
	id, err := idCreated(created)
	if err != nil {
		return err
	}
	if t.get(transactions, id) == nil {
		return fmt.Errorf("%w: an index leads to no transaction", store.ErrDamaged)
	}
	return t.appendTransaction(out, created)
}

// appendTransaction adds the row that a created-at key names, unless its user was erased.
func (t *tx) appendTransaction(out *[]wallet.Transaction, created []byte) error {
	id, err := createdTransaction(created)
	if err != nil {
		return err
	}
	row, err := t.Transaction(id)
	switch {
	case erased(err):
		return nil
	case err != nil:
		return err
	}
	*out = append(*out, row)
	return nil
}

// createdTransaction is the id in a created-at key.
func createdTransaction(created []byte) (wallet.TransactionID, error) {
	id, err := idCreated(created)
	return wallet.TransactionID(id), err
}

// idCreated is createdTransaction without a copy.
func idCreated(created []byte) ([]byte, error) {
	if len(created) <= timeSize {
		return nil, fmt.Errorf("%w: an index of transactions", store.ErrDamaged)
	}
	return created[timeSize:], nil
}
