package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
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
		packed := pack(plain)
		if len(packed) >= len(plain) || !isPacked(packed) {
			t.Errorf("row %d: %d bytes are packed in %d", i, len(plain), len(packed))
		}
		if back, err := unpacked(packed); err != nil || !bytes.Equal(back, plain) {
			t.Errorf("row %d comes back as %s (%v)\n%s", i, back, err, plain)
		}
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
		r, err := t.row(transactions, []byte(row.ID), t.get(transactions, []byte(row.ID)))
		if err != nil {
			return err
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

// TestPackedTextsComeBack: what looks like the text of bytes and is another way to write it stays as it is.
func TestPackedTextsComeBack(t *testing.T) {
	address := wallet.Address{1, 2, 3}.String()
	for _, text := range []string{"", "{", `"`, `{"a`, `["`, "[", `{"a":"b`, `"\"`, `"\\"`, `{"` + address + `":"` + address + `"}`, `"1` + address + `"`, `"` + strings.Repeat("1", 32) + `"`,
		`"` + strings.Repeat("1", 64) + `"`, `"` + strings.Repeat("A", 32) + `"`, `"QUJDREVGR0g="`, `"QUJDREVGR0h="`, `"QUJDREVG R0g="`, `"QUJD\nREVG"`,
		`"2026-01-01T12:00:00Z"`, `"2026-01-01T12:00:00.5Z"`, `"2026-01-01T12:00:00.50Z"`, `"2026-01-01T12:00:00+01:00"`, `"2026-02-30T12:00:00Z"`, `"1969-12-31T23:59:59Z"`, `"9999-12-31T23:59:59.999999999Z"`,
		numbers(32, 7), numbers(31, 7), numbers(33, 7), numbers(32, 255), numbers(32, 256), strings.Replace(numbers(32, 7), "7", "07", 1), strings.Replace(numbers(32, 7), "7", "-7", 1), strings.Replace(numbers(32, 7), "7", "", 1),
		strings.Replace(numbers(32, 0), ",", ", ", 1), numbers(32, 0)[:40], `"` + strings.Repeat("é", 20) + `"`,
	} {
		if back, err := lengthen(shorten([]byte(text))); err != nil || string(back) != text {
			t.Errorf("%q comes back as %q (%v)", text, back, err)
		}
	}
	for text, short := range map[string]int{`"` + address + `"`: 33, `"` + (wallet.Signature{9}).String() + `"`: 65, `"2026-01-01T12:00:00.000000001Z"`: 10, numbers(32, 200): 33, `"QUJDREVGR0g="`: 10} {
		if got := len(shorten([]byte(text))); got != short {
			t.Errorf("%s takes %d bytes, not %d", text, got, short)
		}
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
	packed := pack(plain)
	for size := range len(packed) {
		if size == 1 { // an empty frame is no error of zstd
			continue
		}
		if _, err := unpack(packed[:size]); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("the first %d bytes: %v", size, err)
		}
	}
	short := shorten(plain)
	for at := range short {
		for _, mark := range []byte{packedAddress, packedSignature, packedBase64, packedNumbers, packedTime} {
			if _, err := lengthen(append(bytes.Clone(short[:at]), mark, 255)); err != nil && !errors.Is(err, store.ErrDamaged) {
				t.Errorf("cut at %d: %v", at, err)
			}
		}
	}
	for _, cut := range [][]byte{{packedAddress}, append([]byte{packedAddress}, make([]byte, 31)...), append([]byte{packedSignature}, make([]byte, 63)...),
		{packedBase64}, {packedBase64, 2, 0}, {packedBase64, 255}, append([]byte{packedNumbers}, make([]byte, 31)...), {packedTime}, {packedTime, 1, 0, 0, 0}, {packedTime, 255}} {
		if _, err := lengthen(cut); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%v: %v", cut, err)
		}
	}
	bomb := append([]byte{packedForm}, packer().EncodeAll(make([]byte, 2*maxPacked), nil)...)
	if _, err := unpack(bomb); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a part that unpacks to %d bytes: %v", 2*maxPacked, err)
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
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, _ = unpack(append([]byte{packedForm}, raw...))
		_, _ = lengthen(raw)
		var compact bytes.Buffer
		if json.Compact(&compact, raw) != nil {
			return
		}
		if back, err := lengthen(shorten(compact.Bytes())); err != nil || !bytes.Equal(back, compact.Bytes()) {
			t.Errorf("%q comes back as %q (%v)", compact.Bytes(), back, err)
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
	count := func(b table) (n, packed, size int) {
		if err := s.view(t.Context(), func(t *tx) error {
			for key, raw := range t.scan(b, all()) {
				n++
				size += len(key) + len(raw)
				if b != transactions {
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
				if isPacked(r.plain) != x.Closed {
					return fmt.Errorf("%s is packed: %v, closed: %v", key, isPacked(r.plain), x.Closed)
				}
				if x.Closed {
					packed++
					if len(raw) > 900 {
						return fmt.Errorf("the row of a final transaction has %d bytes", len(raw))
					}
				}
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		return n, packed, size
	}
	if n, packed, _ := count(transactions); n != 20 || packed != 10 {
		t.Errorf("%d rows, %d of them packed", n, packed)
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
