package wallet

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Reason is a sentence as data: the key of a text in the catalogue (package locale) and the values of its variables.
// Refusals carry it and the store keeps it, so each front renders it in the reader's language when it is shown. The zero
// Reason is no sentence.
type Reason struct {
	Key  string `json:"key"`
	Args []Arg  `json:"args,omitempty"`
}

// Because returns a Reason. The key and the names of the arguments must be literals: a test in package locale compares
// them with the catalogue.
func Because(key string, args ...Arg) Reason { return Reason{Key: key, Args: args} }

// IsZero reports whether r is no sentence.
func (r Reason) IsZero() bool { return r.Key == "" }

// Equal reports whether two reasons read the same in every language.
func (r Reason) Equal(other Reason) bool {
	return r.Key == other.Key && (len(r.Args) == 0 && len(other.Args) == 0 || reflect.DeepEqual(r.Args, other.Args))
}

// String is for logs: the key and the arguments, without a language.
func (r Reason) String() string {
	var b strings.Builder
	b.WriteString(r.Key)
	for _, a := range r.Args {
		fmt.Fprintf(&b, " %s=%v", a.Name, a.value)
	}
	return b.String()
}

// Arg is a named value of a Reason. It is data and never part of a sentence. Create it with TextArg, NumberArg,
// AmountArg, DurationArg, TimeArg, AddressArg or ListArg.
type Arg struct {
	Name  string
	value any // string, int64, Amount, time.Duration, time.Time, Address or []string
}

// Value returns a string, int64, Amount, time.Duration, time.Time, Address or []string.
func (a Arg) Value() any { return a.value }

// TextArg is a name, a command, a host or the like. It may come from outside: each front escapes it.
func TextArg[S ~string](name string, text S) Arg { return Arg{name, string(text)} }

// NumberArg is a count or a limit. The argument named Count selects the plural form.
func NumberArg[N ~int | ~int64 | ~uint64 | ~uint8](name string, n N) Arg { return Arg{name, int64(n)} }

// AmountArg is a quantity of a token, with its decimals.
func AmountArg(name string, a Amount) Arg { return Arg{name, a} }

// DurationArg is a length of time.
func DurationArg(name string, d time.Duration) Arg { return Arg{name, d} }

// TimeArg is a moment.
func TimeArg(name string, t time.Time) Arg { return Arg{name, t.UTC()} }

// AddressArg is an address.
func AddressArg(name string, a Address) Arg { return Arg{name, a} }

// ListArg is several names, in their order.
func ListArg[S ~string](name string, items []S) Arg {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = string(item)
	}
	return Arg{name, texts}
}

// storedArg is the JSON form of an Arg: its name, and exactly one field with the value.
type storedArg struct {
	Name     string         `json:"name"`
	Text     *string        `json:"text,omitempty"`
	Number   *int64         `json:"number,omitempty"`
	Amount   *Amount        `json:"amount,omitempty"`
	Duration *time.Duration `json:"duration,omitempty"` // nanoseconds
	Time     *time.Time     `json:"time,omitempty"`
	Address  *Address       `json:"address,omitempty"`
	List     *[]string      `json:"list,omitempty"`
}

var errNoArg = errors.New("an argument of a reason has no value of a known type")

// MarshalJSON writes the name and the value with its type.
func (a Arg) MarshalJSON() ([]byte, error) {
	s := storedArg{Name: a.Name}
	switch v := a.value.(type) {
	case string:
		s.Text = &v
	case int64:
		s.Number = &v
	case Amount:
		s.Amount = &v
	case time.Duration:
		s.Duration = &v
	case time.Time:
		s.Time = &v
	case Address:
		s.Address = &v
	case []string:
		s.List = &v
	default:
		return nil, errNoArg
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (a *Arg) UnmarshalJSON(raw []byte) error {
	var s storedArg
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	a.Name = s.Name
	switch {
	case s.Text != nil:
		a.value = *s.Text
	case s.Number != nil:
		a.value = *s.Number
	case s.Amount != nil:
		a.value = *s.Amount
	case s.Duration != nil:
		a.value = *s.Duration
	case s.Time != nil:
		a.value = s.Time.UTC()
	case s.Address != nil:
		a.value = *s.Address
	case s.List != nil:
		a.value = *s.List
	default:
		return errNoArg
	}
	return nil
}
