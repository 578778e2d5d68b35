package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// transactionRow is the plain part of a transaction. Chat, sign id, poisoning suspect, findings, label, purpose, reason of the delay, terms, and what
// repeats them or a memo are sealed with the owner's data key.
type transactionRow struct {
	wallet.Transaction
	Sign []byte `json:"sign,omitempty"` // H(sign id), the key in bySignID
}

// transactionIndex is what the index entries of a transaction are made of, read from the same JSON as transactionRow.
// No data key is needed for it.
type transactionIndex struct {
	ID        wallet.TransactionID `json:"id"`
	Kind      wallet.Kind          `json:"type"`
	Owner     wallet.UserID        `json:"owner"`
	From      wallet.Address       `json:"from"`
	CreatedAt time.Time            `json:"created_at"`
	Signature wallet.Signature     `json:"signature"`
	Closed    bool                 `json:"closed"`
	Changes   uint64               `json:"changes"`
	Version   uint64               `json:"version"` // see store.Transactions.PutTransaction
	Sign      []byte               `json:"sign"`

	To          wallet.Address `json:"to"`
	Status      wallet.Status  `json:"status"`
	ConfirmedAt time.Time      `json:"confirmed_at"`
	EndedAt     time.Time      `json:"ended_at"`

	rules wallet.Rules // of its kind; zero if this binary does not know the kind
}

// index is the transactionIndex of a row that is about to be written.
func (r transactionRow) index(rules wallet.Rules) transactionIndex {
	return transactionIndex{r.ID, r.Kind, r.Owner, r.From, r.CreatedAt, r.Signature, r.Closed, r.Changes, r.Version, r.Sign,
		r.To, r.Status, r.ConfirmedAt, r.EndedAt, rules}
}

// reached is wallet.Rules.Reached for the fields that the index knows.
func (x transactionIndex) reached() bool {
	return x.rules.Reached(wallet.Transaction{Status: x.Status, ConfirmedAt: x.ConfirmedAt, EndedAt: x.EndedAt})
}

// paid is the entry in paidBy of a transfer that reached its recipient.
func (x transactionIndex) paid() indexEntry {
	return indexEntry{paidBy, join(userPrefix(x.Owner), timeKey(x.CreatedAt), x.To[:], []byte(x.ID)), false}
}

// indexEntry is one key of an index. A unique one maps to the transaction's id, and only one transaction may have it.
// Others have no value, since the id is part of the key.
type indexEntry struct {
	in     table
	key    []byte
	unique bool
}

// historyKey is the entry in byWallet for the wallet that the transaction concerns: for a receipt the one that
// received.
func (x transactionIndex) historyKey() indexEntry {
	at := x.rules.WalletOf(wallet.Transaction{From: x.From, To: x.To})
	return indexEntry{byWallet, join(historyPrefix(at), timeKey(x.CreatedAt), []byte(x.ID)), false}
}

// unsettledKey is the entry in byWallet of a transaction that is not settled. It lies near its historyKey, so that both
// are often on one page of the file.
func (x transactionIndex) unsettledKey() indexEntry {
	return indexEntry{byWallet, join(unsettledPrefix(x.From), timeKey(x.CreatedAt), []byte(x.ID)), false}
}

// historyPrefix begins the history of a wallet in byWallet.
func historyPrefix(a wallet.Address) []byte { return append(a[:], 'h') }

// unsettledPrefix begins the unsettled transactions from a wallet in byWallet.
func unsettledPrefix(a wallet.Address) []byte { return append(a[:], 'u') }

// entries lists all index entries of a transaction in its present state. reindex compares the lists before and after
// a change.
func (x transactionIndex) entries() []indexEntry {
	// Always: the lists of the owner and of the wallet.
	created := append(timeKey(x.CreatedAt), x.ID...)
	out := make([]indexEntry, 0, 7)
	out = append(out, indexEntry{byOwner, join(userPrefix(x.Owner), created), false}, x.historyKey())
	// Until it is closed: the lists of workers and of reservations.
	if !x.Closed {
		out = append(out,
			indexEntry{unsettled, created, false},
			x.unsettledKey())
	}
	// Once the recipient was paid, for the check of look-alike addresses.
	if x.reached() {
		out = append(out, x.paid())
	}
	// By its signing link, and by its signature once there is one.
	if len(x.Sign) > 0 {
		out = append(out, indexEntry{bySignID, x.Sign, true})
	}
	if !x.Signature.IsZero() {
		out = append(out, indexEntry{bySignature, x.Signature[:], true})
	}
	return out
}

// Kinds returns Options.Kinds.
func (t *tx) Kinds() wallet.Kinds { return t.store.kinds }

// Transaction reads a row and puts its sealed fields back in place. ErrNotFound: there is none, or its owner was
// erased. wallet.ErrUnknownKind: this binary cannot judge it. ErrDamaged: nor can its kind, which refuses its terms.
func (t *tx) Transaction(id wallet.TransactionID) (wallet.Transaction, error) {
	key := []byte(id)
	raw := t.get(transactions, key)
	if raw == nil {
		return wallet.Transaction{}, store.ErrNotFound
	}
	var r transactionRow
	sealed, err := t.unseal(transactions, key, raw, &r, "identity")
	if err != nil {
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
	return t.followed(t.get(bySignID, hash[:]), func(r wallet.Transaction) bool { return r.SignID == signID })
}

// followed reads the transaction that an index entry leads to and checks that it is the right one. Index entries have
// no tag, so somebody who can write to the file could lead one elsewhere.
func (t *tx) followed(id []byte, meant func(wallet.Transaction) bool) (wallet.Transaction, error) {
	r, err := t.Transaction(wallet.TransactionID(id))
	if err == nil && !meant(r) {
		return wallet.Transaction{}, fmt.Errorf("%w: an index leads to another row", store.ErrDamaged)
	}
	return r, err
}

// TransactionBySignature finds a payment, or a receipt if no payment of this store has that signature.
func (t *tx) TransactionBySignature(signature wallet.Signature) (wallet.Transaction, error) {
	return t.followed(t.get(bySignature, signature[:]), func(r wallet.Transaction) bool { return r.Signature == signature })
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
	if t.get(transactions, []byte(n.ID)) != nil {
		return store.ErrConflict
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
	old, found, err := t.transactionIndex([]byte(n.ID))
	if err != nil {
		return err
	}
	if !found {
		return store.ErrNotFound
	}
	if old.Version != n.Version || old.Owner != n.Owner || old.Kind != n.Kind {
		return store.ErrConflict
	}
	n.Version++
	return t.writeTransaction(n, &old)
}

// writeTransaction writes the row, and those of its index entries that differ from the old row's.
func (t *tx) writeTransaction(n wallet.Transaction, old *transactionIndex) error {
	rules, err := t.store.kinds.Of(n.Kind)
	if err != nil {
		return err
	}
	if err := rules.Check(n); err != nil {
		return err
	}
	key := []byte(n.ID)
	r, raw, err := t.sealTransaction(key, n)
	if err != nil {
		return err
	}
	// Move the index from the old state to the new one, then write the row.
	var before []indexEntry
	if old != nil {
		before = old.entries()
	}
	if err := t.reindex(key, rules, before, r.index(rules).entries()); err != nil {
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
	raw = t.store.tagged(transactions.String(), key, raw)
	// The next payment from the wallet asks what this row holds back. A commit that fails does no harm: the row is compared then.
	if !n.Closed {
		if _, err := t.store.remember(n, rules, raw); err != nil {
			return err
		}
	}
	return t.put(transactions, key, raw)
}

// sealTransaction returns the row of a transaction: its plain part, and the whole without its tag.
func (t *tx) sealTransaction(key []byte, n wallet.Transaction) (r transactionRow, raw []byte, err error) {
	// Move the private fields from the plain part to the sealed one.
	r = transactionRow{Transaction: n}
	if n.SignID != "" {
		hash := t.store.lookup.Text(store.BySignID, n.SignID)
		r.Sign = hash[:]
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
	if err != nil {
		return r, nil, err
	}
	plain, err := json.Marshal(r)
	if err != nil {
		return r, nil, fmt.Errorf("write a row of %s: %w", transactions, err)
	}
	// What never changes again is kept for good, and takes as little room as it can.
	if n.Closed {
		plain, who.value = pack(plain), pack(who.value)
	}
	raw, err = t.sealBeside(transactions.String(), key, n.Owner, plain, who)
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
	raw := t.get(transactions, id)
	if raw == nil {
		return nil
	}
	r, _, err := plainOf[transactionRow](t, transactions, id, raw)
	if err != nil {
		return err
	}
	if !r.NothingSigned() {
		return nil
	}
	rules, err := t.store.kinds.Of(r.Kind)
	if err != nil {
		return nil // what nobody here can judge is not removed
	}
	for _, e := range r.index(rules).entries() {
		if e.unique && !bytes.Equal(t.get(e.in, e.key), id) {
			continue
		}
		if err := t.delete(e.in, e.key); err != nil {
			return err
		}
	}
	return errors.Join(t.forgetEvents(r.Transaction), t.delete(transactions, id))
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

// reindex replaces the index entries of a row. It checks all unique entries before it writes any, so ErrConflict has
// written nothing.
func (t *tx) reindex(id []byte, rules wallet.Rules, before, after []indexEntry) error {
	// First find out what may be added.
	var adds []indexEntry
	for _, e := range after {
		if holds(before, e) {
			continue
		}
		if e.unique {
			free, err := t.free(e, rules)
			if err != nil {
				return err
			}
			if !free {
				continue
			}
		}
		adds = append(adds, e)
	}
	// Then remove what no longer holds.
	for _, e := range before {
		// A unique one may be another's: a receipt gives way to its sender.
		if holds(after, e) || e.unique && !bytes.Equal(t.get(e.in, e.key), id) {
			continue
		}
		if err := t.delete(e.in, e.key); err != nil {
			return err
		}
	}
	// Then add.
	for _, e := range adds {
		var value []byte
		if e.unique {
			value = id
		}
		if err := t.put(e.in, e.key, value); err != nil {
			return err
		}
	}
	return nil
}

// holds tells whether a list has an entry.
func holds(entries []indexEntry, e indexEntry) bool {
	return slices.ContainsFunc(entries, func(o indexEntry) bool { return o.in == e.in && bytes.Equal(o.key, e.key) })
}

// free tells whether a row of this kind may take a unique entry that it does not have. ErrConflict: another row has
// it. A receipt and a payment may share a signature. The signature then leads to the payment, and the receipt is
// found by its id. So a receipt never takes an entry that exists (false), and a payment takes it from a receipt
// (true).
func (t *tx) free(e indexEntry, rules wallet.Rules) (bool, error) {
	holder := t.get(e.in, e.key)
	if holder == nil {
		return true, nil
	}
	if e.in == bySignature && rules.Life == wallet.Incoming {
		return false, nil
	}
	other, found, err := t.transactionIndex(holder)
	if err != nil {
		return false, err
	}
	if found && (e.in != bySignature || other.rules.Life != wallet.Incoming) {
		return false, store.ErrConflict
	}
	return true, nil
}

// transactionIndex reads what the index entries of a stored row are made of.
func (t *tx) transactionIndex(id []byte) (x transactionIndex, found bool, err error) {
	raw := t.get(transactions, id)
	if raw == nil {
		return x, false, nil
	}
	if x, _, err = plainOf[transactionIndex](t, transactions, id, raw); err == nil {
		x.rules, _ = t.store.kinds.Of(x.Kind)
	}
	return x, true, err
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
		if err := t.appendTransaction(&out, key[len(prefix):]); err != nil {
			return nil, err
		}
	}
	return out, nil
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
