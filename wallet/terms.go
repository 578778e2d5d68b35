package wallet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// MaxTerms is the size of the largest Terms in bytes.
const MaxTerms = 4096

// ErrTerms means that the terms of a transaction are not what its kind writes: they are damaged, or of a schema that this
// binary does not know. Nobody here can say what such a transaction does, so the store neither writes nor returns it.
var ErrTerms = errors.New("the terms of a transaction are not those of its kind")

// Terms are what only the kind of a transaction knows of it, such as the accounts of a stake. They are one JSON object
// whose "schema" names the kind's data and its version, of at most MaxTerms bytes; nil for a kind without terms. Only the
// kind reads them, by ReadTerms with a type of its own. Everybody else passes them on as they are. Programs that may read the
// transaction see them too, and so does the signing page: they hold no secrets. They are never changed in place.
type Terms json.RawMessage

// MarshalJSON returns the terms, or null.
func (t Terms) MarshalJSON() ([]byte, error) { return json.RawMessage(t).MarshalJSON() }

// UnmarshalJSON copies raw. null are no terms.
func (t *Terms) UnmarshalJSON(raw []byte) error {
	if *t = nil; string(raw) != "null" {
		*t = bytes.Clone(raw)
	}
	return nil
}

// NewTerms writes a kind's data, a struct without a field "schema", as terms. The schema is the name of the data and its
// version, such as "stake/1". It panics if T cannot be JSON, which a test of the kind finds. Terms that are too large come back as they are, and their kind's Check refuses them.
func NewTerms[T any](schema string, data T) Terms {
	// One object with the schema in it, rather than one within another: that is how programs read it.
	raw, err := json.Marshal(data)
	if err != nil || len(raw) < 2 || raw[0] != '{' {
		panic(fmt.Sprintf("terms of %T: %v", data, err))
	}
	out := fmt.Appendf(nil, `{"schema":%q`, schema)
	if raw[1] != '}' {
		out = append(out, ',')
	}
	return append(out, raw[1:]...)
}

// ReadTerms reads what NewTerms wrote with this schema. A kind that changes its data changes the schema, and reads the old
// one as well for as long as there are rows of it. ErrTerms: they are too large, of another schema, or not what T has.
// Without terms it is the zero T.
func ReadTerms[T any](t Terms, schema string) (data T, _ error) {
	if len(t) == 0 {
		return data, nil
	}
	if len(t) > MaxTerms {
		return data, fmt.Errorf("%w: %d bytes", ErrTerms, len(t))
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(t, &fields); err != nil {
		return data, fmt.Errorf("%w: %v", ErrTerms, err)
	}
	if got := string(fields["schema"]); got != strconv.Quote(schema) {
		return data, fmt.Errorf("%w: schema %.40s", ErrTerms, got)
	}
	var read T
	if err := json.Unmarshal(t, &read); err != nil {
		return data, fmt.Errorf("%w: %v", ErrTerms, err)
	}
	// Nothing is passed over: a field that T lacks, comes twice, or is spelt otherwise could mean something else to another
	// reader of the same bytes.
	if !bytes.Equal(NewTerms(schema, read), t) {
		return data, fmt.Errorf("%w: they are not written as %T is", ErrTerms, read)
	}
	return read, nil
}
