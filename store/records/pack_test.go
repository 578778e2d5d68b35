package records

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// TestPackedRowsAreTheSameRows: every field of a transaction survives, to the byte of its JSON, and the part is shorter.
func TestPackedRowsAreTheSameRows(t *testing.T) {
	var filled wallet.Transaction
	storetest.Fill(&filled, 7_700_000_000_000)
	for i, row := range []wallet.Transaction{{}, filled, storetest.NewSamples().Transaction, scaleRow(t)} {
		plain, err := json.Marshal(transactionRow{Transaction: row})
		if err != nil {
			t.Fatal(err)
		}
		packed, first := pack(plain, row.Owner), packFirst(plain)
		if len(packed) >= len(first) || packed[0] != packedForm || first[0] != firstForm {
			t.Errorf("row %d: %d bytes are packed in %d, and in %d in the first form", i, len(plain), len(packed), len(first))
		}
		for _, form := range [][]byte{packed, first, plain} {
			if back, err := unpacked(form, row.Owner); err != nil || !bytes.Equal(back, plain) {
				t.Errorf("row %d comes back as %s (%v)\n%s", i, back, err, plain)
			}
		}
	}
}

// TestWhatIsPackedIsTheSameTomorrow: the tables of this form are part of what is stored.
func TestWhatIsPackedIsTheSameTomorrow(t *testing.T) {
	hash := sha256.New()
	hash.Write(repeatBase().dictionary)
	for _, m := range packedMembers().all {
		fmt.Fprintf(hash, "%q %q %d\n", m.name, m.value, m.item)
	}
	const want = "172902e7351f4801"
	if got := hex.EncodeToString(hash.Sum(nil)[:8]); got != want {
		t.Errorf("the tables hash to %s, not %s: rows that were packed with them cannot be read. A change needs a form of its own", got, want)
	}
}

// scaleRow is a transaction as it stands when it is final.
func scaleRow(t *testing.T) wallet.Transaction {
	t.Helper()
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	defer closed(t, s)
	scale := storetest.Scale{Store: s, People: 3, At: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	if err := errors.Join(scale.AddPeople(t.Context()), scale.Finish(t.Context(), 0, 5)); err != nil {
		t.Fatal(err)
	}
	var row wallet.Transaction
	if err := s.View(t.Context(), func(tx store.Tx) (err error) {
		row, err = tx.Transaction(scale.ScaleID(4))
		return err
	}); err != nil || !row.Closed || len(row.Signed) == 0 {
		t.Fatalf("%+v %v", row, err)
	}
	return row
}

// TestSealedBytesOfAFinalRowArePackedToo: with a memo, message and signed bytes are sealed.
func TestSealedBytesOfAFinalRowArePackedToo(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	defer closed(t, s)
	row := scaleRow(t)
	row.Memo = "for the rent"
	mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(row) })
	if err := s.view(t.Context(), func(t *tx) error {
		r, err := t.stored([]byte(row.ID))
		if err != nil {
			return err
		}
		if r.in != finals {
			return fmt.Errorf("it lies in %s", r.in)
		}
		if size := len(r.sealed[0]); size > 500 || size < len(row.Signed) {
			return fmt.Errorf("%d bytes are sealed", size)
		}
		back, err := t.Transaction(row.ID)
		if err != nil || !bytes.Equal(back.Signed, row.Signed) || !bytes.Equal(back.Message, row.Message) || back.Memo != row.Memo || back.SignID != row.SignID {
			return fmt.Errorf("it comes back as %+v (%w)", back, err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestTheLengthOfASealedFieldTellsNothing of what is in it: a stranger's label may be the very address that is kept secret.
func TestTheLengthOfASealedFieldTellsNothing(t *testing.T) {
	secret, other := wallet.Address(bytes.Repeat([]byte{7}, 32)), wallet.Address(bytes.Repeat([]byte{9}, 32))
	if len(secret.String()) != len(other.String()) {
		t.Fatal("the labels differ in length")
	}
	for _, memo := range []string{"", "for the rent"} {
		sizes := map[string]int{}
		for _, label := range []string{secret.String(), other.String()} {
			s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
			row := scaleRow(t)
			row.Memo, row.PoisoningSuspect, row.Label, row.Purpose = memo, secret, label, label
			mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(row) })
			if err := s.view(t.Context(), func(t *tx) error {
				r, err := t.stored([]byte(row.ID))
				if err != nil {
					return err
				}
				sizes[label] = len(r.sealed[0])
				back, err := t.Transaction(row.ID)
				if err == nil && (back.Label != label || back.PoisoningSuspect != secret || back.Memo != memo || !bytes.Equal(back.Signed, row.Signed)) {
					err = fmt.Errorf("it comes back as %+v", back)
				}
				return err
			}); err != nil {
				t.Error(err)
			}
			closed(t, s)
		}
		if sizes[secret.String()] != sizes[other.String()] {
			t.Errorf("with the memo %q: the sealed fields have %v bytes", memo, sizes)
		}
	}
}

// TestPackedTextsComeBack: what looks like the text of bytes and is another way to write it stays as it is.
func TestPackedTextsComeBack(t *testing.T) {
	address, timed, owner := wallet.Address{1, 2, 3}.String(), "1k7uvkhg0fudsbq9o7m5k3i1g0", wallet.UserID("usr_marked")
	texts := []string{"", "{", `"`, `{"a`, `["`, "[", `{"a":"b`, `"\"`, `"\\"`, `"\\\"`, `{"` + address + `":"` + address + `"}`, `"1` + address + `"`, `"` + strings.Repeat("1", 32) + `"`,
		`"` + strings.Repeat("1", 64) + `"`, `"` + strings.Repeat("A", 32) + `"`, `"QUJDREVGR0g="`, `"QUJDREVGR0h="`, `"QUJDREVG R0g="`, `"QUJD\nREVG"`,
		`"2026-01-01T12:00:00Z"`, `"2026-01-01T12:00:00.5Z"`, `"2026-01-01T12:00:00.50Z"`, `"2026-01-01T12:00:00+01:00"`, `"2026-02-30T12:00:00Z"`, `"1969-12-31T23:59:59Z"`, `"9999-12-31T23:59:59.999999999Z"`,
		`"1983-06-19T06:13:26Z"`, `"1983-06-19T06:13:27Z"`, `"2056-07-15T17:46:33Z"`, `"2056-07-15T17:46:32.999999999Z"`, `["1984-01-01T00:00:00.000000001Z","2056-07-01T00:00:00.999999999Z","1984-01-01T00:00:00Z"]`,
		`["2026-01-01T12:00:00Z","2026-01-01T12:00:00.001Z","2026-01-01T12:00:00.001Z","2026-01-01T11:59:00.001000007Z"]`,
		numbers(32, 7), numbers(31, 7), numbers(33, 7), numbers(32, 255), numbers(32, 256), strings.Replace(numbers(32, 7), "7", "07", 1), strings.Replace(numbers(32, 7), "7", "-7", 1), strings.Replace(numbers(32, 7), "7", "", 1),
		strings.Replace(numbers(32, 0), ",", ", ", 1), numbers(32, 0)[:40], `"` + strings.Repeat("é", 20) + `"`,
		"0", "00", "-0", "1.5", "1e9", "18446744073709551615", "18446744073709551616", "true", "false", "null", "nul", "{}", "[]", "[[],{}]", `{"a":1,"b":[true,false,null]}`, `{"a":1,}`, `[1,]`, `[,1]`, `{"a"}`, `{"a":}`, `{"id":{"id":[]}}`,
		`"7"`, `"07"`, `"18446744073709551615"`, `"18446744073709551616"`, `"usr_marked"`, `{"owner":"usr_marked","usr_marked":"usr_marked2"}`,
		`"tx_` + timed + `"`, `"usr_` + timed + `"`, `"key_` + timed + `"`, `"evt_` + timed + `"`, `"tx_` + strings.ToUpper(timed) + `"`, `"tx_` + timed[1:] + `"`, `"tx_w` + timed[1:] + `"`, `"tx_vvvvvvvvvvvvvvvvvvvvvvvvvv"`,
		`"tx_00112233445566778899aabbccddeeff"`, `"tx_00112233445566778899AABBCCDDEEFF"`, `"key_00112233445566778899aabbccddeeff"`, `"00112233445566778899aabbccddeeff"`, `"00112233445566778899AABBCCDDEEFF"`,
		`"abcdefghijklmnopqrstuA"`, `"abcdefghijklmnopqrstuv"`, `"abcdefghijklmnopqr-_uA"`, strings.Repeat("[", deepest) + strings.Repeat("]", deepest),
		`{"type":"send","type":"sold","status":"confirmed","token":{"symbol":"SOL","decimals":9},"token":{"symbol":"SOL","decimals":8},"fee":5000,"fee":-1,"failure":"","amount":"5"}`,
	}
	for _, text := range texts {
		short, ok := shorten([]byte(text), owner)
		if ok != json.Valid([]byte(text)) && !strings.ContainsAny(text, `, -0\`) && text != "nul" {
			t.Errorf("%q is taken for JSON: %v", text, ok)
		}
		if !ok {
			continue
		}
		if back, err := lengthen(short, owner); err != nil || string(back) != text {
			t.Errorf("%q comes back as %q (%v)", text, back, err)
		}
	}
	if _, ok := shorten([]byte(strings.Repeat("[", deepest+1)+strings.Repeat("]", deepest+1)), ""); ok {
		t.Error("what lies deeper than it can be read is packed")
	}
	for text, short := range map[string]int{`"` + address + `"`: 33, `"` + (wallet.Signature{9}).String() + `"`: 65, `"2026-01-01T12:00:00.000000001Z"`: 10, `"2026-01-01T12:00:00.001Z"`: 7, `"2026-01-01T12:00:00Z"`: 6,
		numbers(32, 200): 33, `"QUJDREVGR0g="`: 10, `"tx_` + timed + `"`: 18, `{"owner":"usr_marked"}`: 3, `{"type":"send"}`: 3, `"abcdefghijklmnopqrstuA"`: 17} {
		if got, ok := shorten([]byte(text), owner); len(got) != short || !ok {
			t.Errorf("%s takes %d bytes, not %d", text, len(got), short)
		}
	}
}

// TestTimesArePackedByTheOneBefore, the first by the time in the id.
func TestTimesArePackedByTheOneBefore(t *testing.T) {
	id := wallet.TimedIDs(func() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 123_000_000, time.UTC) }, rand.Reader)("tx")
	key := wallet.TimedIDs(func() time.Time { return time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC) }, rand.Reader)("key")
	text := fmt.Sprintf(`{"id":%q,"key_id":%q,"created_at":"2026-01-01T12:00:00.123000009Z","deadline":"2026-01-01T12:05:00.123000009Z","ended_at":"2026-01-01T12:04:59.123000009Z"}`, id, key)
	short, ok := shorten([]byte(text), "")
	if back, err := lengthen(short, ""); !ok || err != nil || string(back) != text || len(short) != 1+18+18+2+3+2+1 {
		t.Errorf("%d bytes, which come back as %s (%v)", len(short), back, err)
	}
}

func numbers(count, n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(fmt.Sprint(n, ","), count), ",") + "]"
}

// TestDamagedPacksAreErrors, whatever bytes they hold, and never a panic.
func TestDamagedPacksAreErrors(t *testing.T) {
	plain, err := json.Marshal(storetest.NewSamples().Transaction)
	if err != nil {
		t.Fatal(err)
	}
	for _, packed := range [][]byte{pack(plain, ""), packFirst(plain)} {
		for size := range len(packed) {
			if size == 1 && packed[0] == firstForm { // an empty frame is no error of zstd
				continue
			}
			if back, err := unpack(packed[:size], ""); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("the first %d bytes: %q, %v", size, back, err)
			}
		}
		for at := range packed {
			for bit := range 2 {
				broken := bytes.Clone(packed)
				broken[at] ^= 1 << (5 * bit)
				if back, err := unpack(broken, ""); err != nil && !errors.Is(err, store.ErrDamaged) || len(back) > maxPacked {
					t.Fatalf("bit 5*%d of byte %d: %d bytes, %v", bit, at, len(back), err)
				}
			}
		}
	}
	short, _ := shorten(plain, "")
	for at := range short {
		for mark := range itemNumbers + 2 {
			if _, err := lengthen(append(bytes.Clone(short[:at]), byte(mark), 255), ""); err != nil && !errors.Is(err, store.ErrDamaged) {
				t.Errorf("cut at %d: %v", at, err)
			}
		}
	}
	for _, cut := range [][]byte{{}, {itemEnd}, {itemAddress}, append([]byte{itemAddress}, make([]byte, 31)...), append([]byte{itemSignature}, make([]byte, 63)...), append([]byte{itemTimedID}, make([]byte, 16)...),
		append([]byte{itemHashID}, make([]byte, 15)...), append([]byte{itemToken}, make([]byte, 15)...), {itemBase64}, {itemBase64, 2, 0}, {itemText, 255}, {itemOther, 1}, append([]byte{itemNumbers}, make([]byte, 31)...), {itemTime}, {itemTime, 255},
		{itemNumber}, {itemDecimal, 128}, {itemObject}, {itemObject, 1}, {itemObject, 254, itemEnd}, {itemObject, memberNamed, 1}, {itemArray, itemTrue}, {itemTrue, itemTrue}, {22}, bytes.Repeat([]byte{itemArray}, 1_000_000)} {
		if back, err := lengthen(cut, ""); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%v: %q, %v", cut[:min(9, len(cut))], back, err)
		}
	}
	back := binary.AppendUvarint(nil, uint64(len(repeatBase().dictionary)+2))
	for _, cut := range [][]byte{{5}, {1}, {1, 'a', 0}, {1, 'a', 0, 0}, slices.Concat([]byte{1, 'a', 0}, back), {0, 255}, slices.Concat([]byte{1, 'a'}, binary.AppendUvarint(nil, math.MaxUint64), []byte{1})} {
		if out, err := expandRepeats(cut); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%v: %q, %v", cut, out, err)
		}
	}
}

// TestAPackIsNoBomb: a few bytes do not become more than maxPacked.
func TestAPackIsNoBomb(t *testing.T) {
	repeated := func(size int) []byte {
		return append(binary.AppendUvarint([]byte{1, 'a'}, uint64(size-leastRepeat-1)), 1)
	}
	if out, err := expandRepeats(repeated(maxPacked)); err != nil || len(out) != maxPacked {
		t.Errorf("%d bytes: %v", len(out), err)
	}
	if out, err := expandRepeats(repeated(maxPacked + 1)); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("%d bytes: %v", len(out), err)
	}
	whole := packedMembers().whole[`"token":{"symbol":"SOL","decimals":9}`]
	for what, short := range map[string][]byte{"members": slices.Concat([]byte{itemObject}, bytes.Repeat([]byte{whole}, maxPacked-9), []byte{itemEnd}),
		"texts": append(binary.AppendUvarint([]byte{itemText}, maxPacked), make([]byte, maxPacked)...)} {
		if out, err := lengthen(short, ""); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: %d bytes: %v", what, len(out), err)
		}
	}
	// What would not come back is not packed.
	large := []byte(`{"memo":"` + strings.Repeat("a", maxPacked) + `"}`)
	if packed := pack(large, ""); !bytes.Equal(packed, large) {
		t.Errorf("%d bytes are packed in %d", len(large), len(packed))
	}
	for what, short := range map[string][]byte{"zstd's": make([]byte, 2*maxPacked), "the marks'": bytes.Repeat(append([]byte{packedNumbers}, make([]byte, 32)...), maxPacked/64)} {
		bomb := append([]byte{firstForm}, packer().EncodeAll(short, nil)...)
		if back, err := unpack(bomb, ""); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: a part of %d bytes unpacks to %d: %v", what, len(bomb), len(back), err)
		}
	}
}

// FuzzPack: no JSON changes, and no bytes make unpack panic.
func FuzzPack(f *testing.F) {
	plain, err := json.Marshal(storetest.NewSamples().Transaction)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Add([]byte(numbers(32, 1)))
	f.Add(pack(plain, "usr_1")[1:])
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, form := range []byte{firstForm, packedForm} {
			_, _ = unpack(append([]byte{form}, raw...), "usr_1")
		}
		_, _ = lengthenFirst(raw)
		_, _ = lengthen(raw, "usr_1")
		if back, err := expandRepeats(appendRepeats(nil, raw)); err != nil || !bytes.Equal(back, raw) {
			t.Errorf("%q repeats as %q (%v)", raw, back, err)
		}
		var compact bytes.Buffer
		if json.Compact(&compact, raw) != nil {
			return
		}
		if back, err := lengthenFirst(shortenFirst(compact.Bytes())); err != nil || !bytes.Equal(back, compact.Bytes()) {
			t.Errorf("%q comes back as %q (%v)", compact.Bytes(), back, err)
		}
		short, ok := shorten(compact.Bytes(), "usr_1")
		if back, err := lengthen(short, "usr_1"); ok && (err != nil || !bytes.Equal(back, compact.Bytes())) {
			t.Errorf("%q comes back as %q (%v)", compact.Bytes(), back, err)
		}
		if back, err := unpacked(pack(compact.Bytes(), "usr_1"), "usr_1"); err != nil && isPacked(pack(compact.Bytes(), "usr_1")) || err == nil && !bytes.Equal(back, compact.Bytes()) {
			t.Errorf("%q is packed, and comes back as %q (%v)", compact.Bytes(), back, err)
		}
	})
}

// TestOnlyWhatIsFinalIsPacked, and what is left of a final transaction is its row and the entries that lead to it.
func TestOnlyWhatIsFinalIsPacked(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	defer closed(t, s)
	scale := storetest.Scale{Store: s, People: 3, At: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	if err := errors.Join(scale.AddPeople(t.Context()), scale.Finish(t.Context(), 0, 10), scale.Propose(t.Context(), 10, 10)); err != nil {
		t.Fatal(err)
	}
	for b, want := range map[table]int{transactions: 10, finals: 10, finalIDs: 10, finalHashes: 20, finalsOf: 10, finalsAt: 10,
		byOwner: 10, byWallet: 20, unsettled: 10, paidBy: 0, bySignature: 0, bySignID: 0} {
		n := 0
		if err := s.view(t.Context(), func(t *tx) error {
			for key, raw := range t.scan(b, all()) {
				n++
				if !b.holdsRows() {
					continue
				}
				r, err := t.row(b, key, raw)
				if err != nil {
					return err
				}
				var x transactionIndex
				if err := r.into(&x); err != nil {
					return err
				}
				if isPacked(r.plain) != x.Closed || x.Closed != (b == finals) {
					return fmt.Errorf("%x of %s is packed: %v, closed: %v", key, b, isPacked(r.plain), x.Closed)
				}
				if x.Closed && len(raw) > 560 {
					return fmt.Errorf("the row of a final transaction has %d bytes", len(raw))
				}
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if n != want {
			t.Errorf("%s holds %d, not %d", b, n, want)
		}
	}
	// Of its events only the last has its id: it waited for notify when the transaction was closed.
	last := 0
	if err := s.view(t.Context(), func(t *tx) error {
		for n := range 10 {
			row, err := t.Transaction(scale.ScaleID(n))
			if err != nil {
				return err
			}
			for _, id := range row.EventIDs() {
				if t.get(eventIDs, t.eventID(id)) != nil {
					last++
				}
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if last != 10 {
		t.Errorf("%d ids of events of 10 final transactions are left", last)
	}
}
