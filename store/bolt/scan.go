package bolt

import (
	"bytes"
	"iter"

	bbolt "go.etcd.io/bbolt"

	"purser/store/engine"
)

// keptEnd is the first of two keys at the end of each Kept table, which nobody sees. Why: bbolt begins no page with fewer than three
// entries. When a page is full and one row comes, as most commits bring one, the two last rows of that page move on with it, and
// their room stays free for good. The two keys move in their place.
func keptEnd() []byte { return []byte{0xff} }

// within is a range without what the engine itself keeps in a table.
func within(spec engine.Spec, r engine.Range) engine.Range {
	if spec.Kept && (r.Before == nil || bytes.Compare(r.Before, keptEnd()) > 0) {
		r.Before = keptEnd()
	}
	return r
}

// scan walks a range of a bucket in either direction. Keys and values are the engine's, valid until the transaction
// ends.
func scan(in *bbolt.Bucket, r engine.Range) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		cursor := in.Cursor()
		if r.Backward {
			key, value := before(cursor, r.Before)
			for key != nil && bytes.Compare(key, r.From) >= 0 && yield(key, value) {
				key, value = back(cursor, key)
			}
			return
		}
		key, value := cursor.Seek(r.From)
		for key != nil && (r.Before == nil || bytes.Compare(key, r.Before) < 0) && yield(key, value) {
			key, value = cursor.Next()
		}
	}
}

// first returns the first entry of a range. It moves the cursor, and does not depend on where that was.
func first(cursor *bbolt.Cursor, r engine.Range) (key, value []byte) {
	if r.Backward {
		key, value = before(cursor, r.Before)
	} else {
		key, value = cursor.Seek(r.From)
	}
	if key == nil || bytes.Compare(key, r.From) < 0 || r.Before != nil && bytes.Compare(key, r.Before) >= 0 {
		return nil, nil
	}
	return key, value
}

// before returns the last key below a bound (nil: of all), nil without one.
func before(cursor *bbolt.Cursor, bound []byte) (key, value []byte) {
	if bound == nil {
		return last(cursor)
	}
	// No key at or above the bound: the last one of the table is below it.
	if key, _ := cursor.Seek(bound); key == nil {
		return last(cursor)
	}
	return back(cursor, bound)
}

// last is cursor.Last with a guard. bbolt's Last never returns if this transaction has emptied all pages of the
// bucket.
func last(cursor *bbolt.Cursor) (key, value []byte) {
	if first, _ := cursor.First(); first == nil {
		return nil, nil
	}
	return cursor.Last()
}

// back is cursor.Prev from a key. bbolt's Prev stops at a page that this transaction has emptied. back goes on to the
// pages before it.
func back(cursor *bbolt.Cursor, from []byte) (key, value []byte) {
	if key, value = cursor.Prev(); key != nil {
		return key, value
	}
	// Is there any key below? If not, Prev would never find one.
	if first, _ := cursor.Bucket().Cursor().First(); first == nil || bytes.Compare(first, from) >= 0 {
		return nil, nil
	}
	for key == nil {
		key, value = cursor.Prev() // ends at the first key at the latest
	}
	return key, value
}
