package solana

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strings"
)

// Operators, by their byte. Keys, bools, bytes and options can use the first two only.
const (
	opEqual = iota
	opNotEqual
	opGreater
	opLess
	opGreaterOrEqual
	opLessOrEqual
	opContains
	opDoesNotContain
)

// operatorSigns are the operators as the program logs them.
var operatorSigns = [...]string{"==", "!=", ">", "<", ">=", "<=", "&", "|"}

// quantity is a value that assertions compare: a number or bytes. An absent option has neither.
type quantity struct {
	number *big.Int
	bytes  []byte
}

// number and signedNumber make quantities of integers.
func number(n uint64) quantity      { return quantity{number: new(big.Int).SetUint64(n)} }
func signedNumber(n int64) quantity { return quantity{number: big.NewInt(n)} }

func (q quantity) missing() bool { return q.number == nil && q.bytes == nil }

// shape says how the values of one type are read from bytes and written into logs. Its zero flags mean an unsigned
// number.
type shape struct {
	size    int  // bytes
	signed  bool // a signed number
	key     bool // an address
	boolean bool
	list    bool // bytes of any length
	result  byte // the type's number in AssertionResult
}

// The types that have a name here. All others are in dataShapes.
var (
	shapeBool = shape{size: 1, boolean: true, result: 12}
	shapeKey  = shape{size: 32, key: true, result: 10}
	shapeList = shape{list: true, result: 11}
	shapeU8   = shape{size: 1, result: 0}
	shapeU64  = shape{size: 8, result: 3}
	shapeI64  = shape{size: 8, signed: true, result: 8}
	shapeI128 = shape{size: 16, signed: true, result: 9}

	// dataShapes are the types that AccountData compares, by the byte that names them.
	dataShapes = [...]shape{shapeBool, shapeU8, {size: 1, signed: true, result: 5}, {size: 2, result: 1}, {size: 2, signed: true, result: 6},
		{size: 4, result: 2}, {size: 4, signed: true, result: 7}, shapeU64, shapeI64, {size: 16, result: 4}, shapeI128, shapeList, shapeKey}
)

// ordered says whether the values are numbers, which can use all operators.
func (s shape) ordered() bool { return !s.key && !s.boolean && !s.list }

// read decodes a value from exactly its bytes. It returns false for a bool that is neither 0 nor 1.
func (s shape) read(b []byte) (quantity, bool) {
	if s.key || s.list {
		return quantity{bytes: append([]byte{}, b...)}, true
	}
	if s.boolean && b[0] > 1 {
		return quantity{}, false
	}
	return quantity{number: littleEndian(b, s.signed)}, true
}

// littleEndian reads a number of any length, in two's complement if it is signed.
func littleEndian(b []byte, signed bool) *big.Int {
	reversed := make([]byte, len(b))
	for i, x := range b {
		reversed[len(b)-1-i] = x
	}
	n := new(big.Int).SetBytes(reversed)
	if signed && len(b) > 0 && b[len(b)-1]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// compare evaluates an assertion, logs the result, and returns an error if it does not hold.
func (in *invocation) compare(level byte, s shape, actual, wanted quantity, operator byte) *InstructionError {
	holds := false
	switch {
	case s.ordered() && !actual.missing() && !wanted.missing():
		order := actual.number.Cmp(wanted.number)
		// Contains and DoesNotContain are bitwise: all wanted bits are set, or none.
		both := new(big.Int).And(actual.number, wanted.number)
		holds = [...]bool{order == 0, order != 0, order > 0, order < 0, order >= 0, order <= 0,
			both.Cmp(wanted.number) == 0, both.Sign() == 0}[operator]
	default:
		holds = actual.same(wanted) == (operator == opEqual)
	}
	if err := in.logResult(level, s, actual, wanted, operator, holds); err != nil {
		return err
	}
	if !holds {
		return custom(lighthouseFailed)
	}
	return nil
}

// same compares for equality. Two absent options are equal.
func (q quantity) same(o quantity) bool {
	switch {
	case q.missing() || o.missing():
		return q.missing() && o.missing()
	case q.number != nil:
		return q.number.Cmp(o.number) == 0
	}
	return string(q.bytes) == string(o.bytes)
}

// logResult logs at the level that the instruction asks for: text, base64 data, or a call of the no-op program, whose
// data then shows among the inner instructions. That call can fail, which fails the assertion.
func (in *invocation) logResult(level byte, s shape, actual, wanted quantity, operator byte, holds bool) *InstructionError {
	// The three levels for failures are the three others with successes left out.
	if level >= logFailedText {
		if holds {
			return nil
		}
		level -= logFailedText - logText
	}
	switch level {
	case logText:
		word := map[bool]string{true: "Passed", false: "Failed"}[holds]
		if !s.key {
			in.say("Result (%s): %s %s %s", word, s.text(actual), operatorSigns[operator], s.text(wanted))
			return nil
		}
		// Absent keys are logged in a form of their own.
		switch {
		case actual.missing() && wanted.missing():
			in.say("Result: None %s None", operatorSigns[operator])
			return nil
		case wanted.missing():
			in.say("Result (%s): ", word)
		default:
			in.say("Result: ")
		}
		in.say("%s", s.text(actual))
		in.say("%s", operatorSigns[operator])
		in.say("%s", s.text(wanted))
	case logData:
		in.log("Program data: %s", base64.StdEncoding.EncodeToString(s.encode(actual, wanted, operator, holds)))
	case logNoop:
		return in.callCosting(noopProgram, s.encode(actual, wanted, operator, holds), nil)
	}
	return nil
}

// text writes a value in Rust's Debug form, and keys in base58.
func (s shape) text(q quantity) string {
	switch {
	case s.key && q.missing():
		return "None"
	case s.key:
		return address(q.bytes).String()
	case s.list:
		return strings.ReplaceAll(fmt.Sprint(q.bytes), " ", ", ")
	case q.missing():
		return "None"
	case s.boolean:
		return fmt.Sprintf("Some(%v)", q.number.Sign() != 0)
	}
	return fmt.Sprintf("Some(%s)", q.number)
}

// encode is AssertionResult in borsh.
func (s shape) encode(actual, wanted quantity, operator byte, holds bool) []byte {
	b := []byte{s.result}
	for _, q := range []quantity{actual, wanted} {
		switch {
		case s.list:
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(q.bytes))), q.bytes...)
		case q.missing():
			b = append(b, 0)
		case s.key:
			b = append(append(b, 1), q.bytes...)
		default:
			b = append(b, 1)
			n := new(big.Int).Set(q.number)
			if n.Sign() < 0 {
				n.Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*s.size)))
			}
			raw := n.FillBytes(make([]byte, s.size))
			for i := range raw {
				b = append(b, raw[len(raw)-1-i])
			}
		}
	}
	b = append(b, operator, 0)
	if holds {
		b[len(b)-1] = 1
	}
	return b
}

// at reads a value at an offset of an account's data.
func (in *invocation) at(data []byte, s shape, offset uint64) (quantity, *InstructionError) {
	b, err := in.slice(data, offset, uint64(s.size), s)
	if err != nil {
		return quantity{}, err
	}
	q, ok := s.read(b)
	if !ok {
		return q, refused("BorshIoError")
	}
	return q, nil
}

// slice returns length bytes of an account's data. The error and its log line depend on the type that is read, as in
// the program.
func (in *invocation) slice(data []byte, offset, length uint64, s shape) ([]byte, *InstructionError) {
	// The program adds without a check, so the overflow ends it.
	if offset > math.MaxUint64-length {
		err := refused("ProgramFailedToComplete") // the program adds without a check, and its sum overflows
		err.fatal = true
		return nil, err
	}
	if offset+length > uint64(len(data)) {
		if s.ordered() || s.boolean {
			in.say("Failed to deserialized %s range %d..%d was out of bounds", s.name(), offset, offset+length)
		} else {
			in.say("Failed to access account data range %d..%d: out of bounds", offset, offset+length)
		}
		return nil, custom(lighthouseOutOfBounds)
	}
	return data[offset : offset+length], nil
}

// name is the type's name in Rust.
func (s shape) name() string {
	switch {
	case s.boolean:
		return "bool"
	case s.signed:
		return fmt.Sprintf("i%d", 8*s.size)
	}
	return fmt.Sprintf("u%d", 8*s.size)
}

// coption reads a COption of a token program: four bytes with 0 or 1, then the value.
func (in *invocation) coption(data []byte, s shape, offset int) (quantity, *InstructionError) {
	if len(data) < offset+4+s.size {
		in.say("Failed to deserialize COption")
		return quantity{}, custom(lighthouseDeserialize)
	}
	switch binary.LittleEndian.Uint32(data[offset:]) {
	case 0:
		return quantity{}, nil
	case 1:
		q, _ := s.read(data[offset+4 : offset+4+s.size])
		return q, nil
	}
	in.say("Failed to deserialize COption")
	return quantity{}, custom(lighthouseDeserialize)
}

// borshReader reads borsh, with lengths and offsets in LEB128. Missing or impossible bytes set bad, and later results
// mean nothing. So a parser can check bad once, at its end.
type borshReader struct {
	rest []byte
	bad  bool
}

// take returns n bytes, or zeros if there are fewer left.
func (d *borshReader) take(n int) []byte {
	if d.bad || n > len(d.rest) {
		d.bad = true
		return make([]byte, n)
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

// byte reads one byte.
func (d *borshReader) byte() byte { return d.take(1)[0] }

func (d *borshReader) number(size int) int64 { return littleEndian(d.take(size), false).Int64() }

// flag reads a bool, or the presence byte of an option.
func (d *borshReader) flag() bool {
	b := d.byte()
	d.bad = d.bad || b > 1
	return b == 1
}

// leb128 reads an unsigned number with 7 bits in each byte, lowest first.
func (d *borshReader) leb128() uint64 {
	var n uint64
	for shift := 0; ; shift += 7 {
		b := d.byte()
		if d.bad || shift == 63 && b > 1 {
			d.bad = true
			return 0
		}
		n |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			return n
		}
	}
}

// value reads one value of the instruction. A list is preceded by its length.
func (d *borshReader) value(s shape) quantity {
	size := s.size
	if s.list {
		n := d.leb128()
		if n > uint64(len(d.rest)) {
			d.bad = true
			return quantity{}
		}
		size = int(n)
	}
	q, ok := s.read(d.take(size))
	d.bad = d.bad || !ok
	return q
}

// operator reads an operator; values without an order can use the first two only.
func (d *borshReader) operator(ordered bool) byte {
	operator := d.byte()
	if most := byte(opNotEqual); operator > opDoesNotContain || !ordered && operator > most {
		d.bad = true
	}
	return operator
}
