package records

import (
	"bytes"
	"crypto/hmac"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// rowFormat is the version of the layout below, and the first byte of every row. sealFormat is the version of how
// fields are sealed. It is authenticated with each of them, so that a field of one version does not open as another.
const (
	rowFormat  = 1
	sealFormat = 1
)

// tagSize is how many bytes of a row's keyed hash (HMAC-SHA256) are kept. A forger would have to guess 128 bits.
const tagSize = 16

// row is the form of every row in a table of rows (tables_test.go lists those tables):
//
//	format | length owner | length JSON | length ciphertext | length ciphertext ... | tag
//
// A length is a uvarint, in bytes. owner is the user whose data key sealed the fields, "" for the system's. Anyone
// with the file can read the JSON (rows of jobs have a binary form instead: jobRow; JSON that never changes again is
// packed: pack.go). Each sealed field is a ciphertext of its own, so a change of the JSON encrypts nothing again.
//
// The tag is a keyed hash of the table, the key and everything before the tag. Without the keys, somebody who can
// write to the file can change no plain value, move no row, and put no other row's ciphertext beside it. They can put
// back an older version of a whole row. No tag can prevent that, since restoring a backup does the same.
type row struct {
	owner  wallet.UserID
	plain  []byte
	sealed [][]byte
}

// encode writes a row without its tag.
func (r row) encode() []byte {
	size := tagSize
	for _, field := range r.sealed {
		size += binary.MaxVarintLen32 + len(field)
	}
	out := r.begin(size)
	for _, field := range r.sealed {
		out = binary.AppendUvarint(out, uint64(len(field)))
		out = append(out, field...)
	}
	return out
}

// begin writes a row up to its sealed fields, with capacity for `room` more bytes.
func (r row) begin(room int) []byte {
	out := make([]byte, 1, 1+2*binary.MaxVarintLen32+len(r.owner)+len(r.plain)+room)
	out[0] = rowFormat
	out = binary.AppendUvarint(out, uint64(len(r.owner)))
	out = append(out, r.owner...)
	out = binary.AppendUvarint(out, uint64(len(r.plain)))
	return append(out, r.plain...)
}

// tag returns the keyed hash of a row without its tag. where is the name of its table: with where and key in the
// hash, a row that was moved does not pass.
func (s *Store) tag(where string, key, raw []byte) []byte {
	hash := s.lookup.Bytes(store.OfRow, []byte(where), key, raw)
	return hash[:tagSize]
}

// tagged appends its tag to a row.
func (s *Store) tagged(where string, key, raw []byte) []byte {
	return append(raw, s.tag(where, key, raw)...)
}

// row decodes a row of any place after checking its tag. ErrDamaged: the row is not what was written there. The
// result points into raw.
func (s *Store) row(where string, key, raw []byte) (row, error) {
	if len(raw) == 0 || raw[0] != rowFormat { // decodeRow says what is wrong with it
		return decodeRow(bytes.Clone(raw[:min(len(raw), 1)]))
	}
	// The tag comes first: nothing of the row is parsed before it is known to be ours.
	end := len(raw) - tagSize
	if end < 1 || !hmac.Equal(raw[end:], s.tag(where, key, raw[:end])) {
		return row{}, fmt.Errorf("%w: it is not what was written", store.ErrDamaged)
	}
	return decodeRow(raw[:end])
}

// row reads a row of a table.
func (t *tx) row(b table, key, raw []byte) (row, error) {
	return t.store.row(b.String(), key, raw)
}

// putRow appends the tag to a row and puts it.
func (t *tx) putRow(b table, key, raw []byte) error {
	return t.put(b, key, t.store.tagged(b.String(), key, raw))
}

// decodeRow decodes a row without its tag, and checks none. plain and sealed point into raw, so they live as long as
// its transaction.
func decodeRow(raw []byte) (row, error) {
	if len(raw) == 0 {
		return row{}, fmt.Errorf("%w: empty", store.ErrDamaged)
	}
	if raw[0] != rowFormat {
		return row{}, fmt.Errorf("%w: format %d", store.ErrDamaged, raw[0])
	}
	owner, rest, err := cutPart(raw[1:])
	if err != nil {
		return row{}, err
	}
	r := row{owner: wallet.UserID(owner)}
	if r.plain, rest, err = cutPart(rest); err != nil {
		return row{}, err
	}
	for len(rest) > 0 {
		var field []byte
		if field, rest, err = cutPart(rest); err != nil {
			return row{}, err
		}
		r.sealed = append(r.sealed, field)
	}
	return r, nil
}

// cutPart cuts a part with its length off the front. The part has no spare capacity, so an append cannot overwrite
// rest.
func cutPart(raw []byte) (part, rest []byte, err error) {
	length, n := binary.Uvarint(raw)
	if n <= 0 || length > uint64(len(raw)-n) {
		return nil, nil, fmt.Errorf("%w: cut short", store.ErrDamaged)
	}
	end := n + int(length)
	return raw[n:end:end], raw[end:], nil
}

// into decodes the row's plain JSON, packed or not.
func (r row) into(plain any) error {
	raw, err := unpacked(r.plain, r.owner)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, plain); err != nil {
		return fmt.Errorf("%w: %v", store.ErrDamaged, err)
	}
	return nil
}

// field is one value to be sealed. Its name is authenticated, so a ciphertext cannot stand in for another field's.
type field struct {
	name  string
	value []byte
}

// seal encodes a row: plain as JSON, fields sealed with owner's data key. The system's key seals for "" and for a
// user without a data key, such as a person who never wrote to the bot. For an erased user seal fails with
// ErrNotFound. putRow adds the tag.
func (t *tx) seal(b table, key []byte, owner wallet.UserID, plain any, fields ...field) ([]byte, error) {
	return t.sealAs(b.String(), key, owner, plain, fields...)
}

// sealAs is seal for a row whose fields are sealed to another subject than its table. The same subject and key must
// be passed to unsealAs.
func (t *tx) sealAs(subject string, key []byte, owner wallet.UserID, plain any, fields ...field) ([]byte, error) {
	raw, err := json.Marshal(plain)
	if err != nil {
		return nil, fmt.Errorf("write a row of %s: %w", subject, err)
	}
	return t.sealBeside(subject, key, owner, raw, fields...)
}

// sealBeside makes a row of a plain part that is encoded already and of fields that it seals. An error besides
// ErrNotFound is the random source's, or that of a data key that cannot be unwrapped.
func (t *tx) sealBeside(subject string, key []byte, owner wallet.UserID, plain []byte, fields ...field) ([]byte, error) {
	dataKey, sealedFor, err := t.sealingKey(owner)
	if err != nil {
		return nil, err
	}
	r := row{owner: sealedFor, plain: plain}
	// One allocation for the whole row, its tag included: rows are written in every request.
	size := 0
	for _, f := range fields {
		size += binary.MaxVarintLen32 + store.SealedSize(len(f.value))
	}
	out := r.begin(size + tagSize)
	for _, f := range fields {
		out = binary.AppendUvarint(out, uint64(store.SealedSize(len(f.value))))
		if out, err = dataKey.AppendSeal(out, place(subject, key, f.name), f.value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sealingKey returns the key that seals for an owner, and whose it is: "" is the system's. seal says which key is used when.
func (t *tx) sealingKey(owner wallet.UserID) (key *store.Key, of wallet.UserID, err error) {
	key, err = t.dataKey(owner)
	if errors.Is(err, store.ErrNotFound) && !t.isErased(owner) {
		return t.store.system, "", nil
	}
	return key, owner, err
}

// unseal reads a row of a table: its JSON into plain, and its sealed fields. names must be those passed to seal, in
// the same order. ErrNotFound: the user was erased. ErrDamaged or store.ErrUnsealed: the row is not what was written.
func (t *tx) unseal(b table, key, raw []byte, plain any, names ...string) ([][]byte, error) {
	r, err := t.row(b, key, raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b, err)
	}
	return t.unsealAs(b.String(), key, r, plain, names...)
}

// unsealAs is unseal for a row that was read already and whose fields were sealed to another place than it lies in. A
// field whose name is given as "" is not decrypted, and its value is nil: lists leave out bodies in this way.
func (t *tx) unsealAs(subject string, key []byte, r row, plain any, names ...string) ([][]byte, error) {
	values, err := t.unsealFields(subject, key, r, names...)
	if err != nil {
		return nil, err
	}
	if err := r.into(plain); err != nil {
		return nil, fmt.Errorf("%s: %w", subject, err)
	}
	return values, nil
}

// unsealFields decrypts the sealed fields of a row, as unsealAs does. The values are new memory and outlive the
// transaction.
func (t *tx) unsealFields(subject string, key []byte, r row, names ...string) ([][]byte, error) {
	if len(r.sealed) != len(names) {
		return nil, fmt.Errorf("%s: %w: %d sealed fields, not %d", subject, store.ErrDamaged, len(r.sealed), len(names))
	}
	values := make([][]byte, len(names))
	if len(names) > 0 {
		dataKey, err := t.dataKey(r.owner)
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			if name == "" {
				continue
			}
			if values[i], err = dataKey.Open(place(subject, key, name), r.sealed[i]); err != nil {
				return nil, err
			}
		}
	}
	return values, nil
}

// place is where a sealed field belongs. The field opens for no other subject, row or name.
func place(subject string, key []byte, name string) store.Place {
	return store.Place{Subject: subject, ID: string(key), Field: name, Format: sealFormat}
}

// identity is the sealed field with the identifiers of people and chats that a row holds. Rows of several subjects use
// it, each with the fields that it needs.
type identity struct {
	Chat    int64  `json:"chat,omitempty"`
	User    int64  `json:"user,omitempty"`    // Telegram id
	Subject string `json:"subject,omitempty"` // of a button; the card of a reply
	SignID  string `json:"sign_id,omitempty"`
	Nonce   string `json:"nonce,omitempty"`
	Action  string `json:"action,omitempty"` // of a button: it may name a contact's address

	PoisoningSuspect wallet.Address `json:"lookalike,omitzero"` // of a transaction: a known address that its recipient resembles

	// Of a transaction with a memo or terms: the memo, and the bytes that repeat them. They are public once they are on chain,
	// and not before. Label and Purpose say who asks for a payment and what for. People wrote these texts.
	Memo    string `json:"memo,omitempty"`
	Label   string `json:"label,omitempty"`
	Purpose string `json:"purpose,omitempty"`
	Message []byte `json:"message,omitempty"`
	Signed  []byte `json:"signed,omitempty"`

	// Findings and DelayReason of a transaction: they may name whom the person knows.
	Findings    []wallet.Finding `json:"findings,omitempty"`
	DelayReason wallet.Reason    `json:"delay_reason,omitzero"`

	Terms wallet.Terms `json:"terms,omitempty"` // the kind's own data of a transaction
}

// field encodes an identity for sealing.
func (w identity) field() (field, error) {
	raw, err := json.Marshal(w)
	return field{"identity", raw}, err
}

// besideForm is the first byte of an identity whose content is packed beside it (packedField).
const besideForm = 3

// packedField is field for a row that does not change any more. Memo, Terms, Message and Signed are packed. The rest is not: texts
// of strangers stand there beside what only the owner may know, and the length of a ciphertext would tell whether one repeats the
// other.
func (w identity) packedField() (field, error) {
	content := identity{Memo: w.Memo, Terms: w.Terms, Message: w.Message, Signed: w.Signed}
	w.Memo, w.Terms, w.Message, w.Signed = "", nil, nil, nil
	own, err := w.field()
	if err != nil || content.Memo == "" && len(content.Terms) == 0 {
		return own, err
	}
	raw, err := json.Marshal(content)
	out := binary.AppendUvarint([]byte{besideForm}, uint64(len(own.value)))
	out = append(out, own.value...)
	return field{own.name, append(out, pack(raw, "")...)}, err
}

// parseIdentity reads what identity.field or packedField wrote, and what was packed as a whole before schema 2.
func parseIdentity(raw []byte) (w identity, err error) {
	if len(raw) > 0 && raw[0] == besideForm {
		own, rest, err := cutPart(raw[1:])
		if err != nil {
			return identity{}, err
		}
		if err := json.Unmarshal(own, &w); err != nil {
			return identity{}, fmt.Errorf("%w: %v", store.ErrDamaged, err)
		}
		raw = rest
	}
	if raw, err = unpacked(raw, ""); err != nil {
		return identity{}, err
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return identity{}, fmt.Errorf("%w: %v", store.ErrDamaged, err)
	}
	return w, nil
}

// plainOf reads only the plain part of a row, and returns the row as well, so that the caller can rewrite it. It
// needs no data key, so it also works for erased users. The tag is checked, so the plain part can be trusted.
func plainOf[T any](t *tx, b table, key, raw []byte) (plain T, r row, err error) {
	if r, err = t.row(b, key, raw); err != nil {
		return plain, r, err
	}
	err = r.into(&plain)
	return plain, r, err
}

// payloadField is the name of the sealed field of rows that have only one: text that people wrote.
const payloadField = "payload"

// putWithPayload writes a row with one sealed field: payload as JSON. ErrNotFound: the owner was erased.
func (t *tx) putWithPayload(b table, key []byte, owner wallet.UserID, plain, payload any) error {
	sealed, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("write a row of %s: %w", b, err)
	}
	raw, err := t.seal(b, key, owner, plain, field{payloadField, sealed})
	if err != nil {
		return err
	}
	return t.putRow(b, key, raw)
}

// readWithPayload reads what putWithPayload wrote. ErrNotFound: there is no row, or its user was erased.
func readWithPayload[Plain, Payload any](t *tx, b table, key []byte) (plain Plain, payload Payload, _ error) {
	raw := t.get(b, key)
	if raw == nil {
		return plain, payload, store.ErrNotFound
	}
	sealed, err := t.unseal(b, key, raw, &plain, payloadField)
	if err != nil {
		return plain, payload, err
	}
	if err := json.Unmarshal(sealed[0], &payload); err != nil {
		return plain, payload, fmt.Errorf("%s: %w: %v", b, store.ErrDamaged, err)
	}
	return plain, payload, nil
}

// rewrite replaces the plain part of a row and adds a new tag. Its sealed fields stay as they are.
func (t *tx) rewrite(b table, key []byte, r row, plain any) error {
	var err error
	if r.plain, err = json.Marshal(plain); err != nil {
		return fmt.Errorf("write a row of %s: %w", b, err)
	}
	return t.putRow(b, key, r.encode())
}
