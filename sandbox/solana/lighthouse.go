package solana

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strings"

	"golang.org/x/crypto/sha3"
)

// Lighthouse's assertions, which wallets add to a transaction that they sign: they change nothing,
// and let the transaction fail where an account is not as the wallet showed it. Those about accounts
// that cannot exist here (stake, upgradeable programs, compressed trees) end as for an account of
// another owner (docs/sandbox-differences.md).

// Lighthouse's errors, as Custom codes.
const (
	lighthouseInvalid       = 6000
	lighthouseFailed        = 6001
	lighthouseOutOfBounds   = 6005
	lighthouseDeserialize   = 6007
	lighthouseOtherOwner    = 6009
	lighthouseUninitialized = 6011
	lighthouseValidation    = 6015
	lighthouseFailedMulti   = 0x1900 // and the place of the assertion that failed
)

// lighthouseNames are the instructions by their first byte. The first two keep state, the rest assert.
var lighthouseNames = [...]string{"MemoryWrite", "MemoryClose", "AssertAccountData", "AssertAccountDataMulti",
	"AssertAccountDelta", "AssertAccountInfo", "AssertAccountInfoMulti", "AssertMintAccount", "AssertMintAccountMulti",
	"AssertTokenAccount", "AssertTokenAccountMulti", "AssertStakeAccount", "AssertStakeAccountMulti",
	"AssertUpgradeableLoaderAccount", "AssertUpgradeableLoaderAccountMulti", "AssertSysvarClock",
	"AssertMerkleTreeAccount", "AssertBubblegumTreeConfigAccount"}

// How an assertion's result is logged; the last three say nothing of what holds.
const (
	logSilent = iota
	logText
	logData
	logNoop
	logFailedText
	logFailedData
	logFailedNoop
)

const (
	unitsOfLighthouse = 900 // estimates: of an instruction, and of each of its assertions
	unitsOfAssertion  = 400
)

// assertion compares something of an account, or of the clock, with what the instruction says.
type assertion func(in *invocation, level byte) *InstructionError

// lighthouse runs one instruction. It is read as a whole before anything is compared.
func (in *invocation) lighthouse() *InstructionError {
	if err := in.spend(unitsOfLighthouse); err != nil {
		return err
	}
	d := &borshReader{rest: in.data}
	kind := d.byte()
	if d.bad || int(kind) >= len(lighthouseNames) {
		return custom(lighthouseInvalid)
	}
	if kind < 2 {
		in.say("Memory accounts are not kept by this sandbox")
		return custom(lighthouseInvalid)
	}
	level := d.byte()
	read, multi := map[byte]func(*borshReader) assertion{
		2: readDataAssertion, 3: readDataAssertion, 4: readDeltaAssertion, 5: readInfoAssertion, 6: readInfoAssertion,
		7: readMintAssertion, 8: readMintAssertion, 9: readTokenAssertion, 10: readTokenAssertion, 15: readClockAssertion,
	}[kind], kind == 3 || kind == 6 || kind == 8 || kind == 10
	var asserted []assertion
	if read != nil {
		n := uint64(1)
		if multi {
			n = d.leb128()
		}
		for i := uint64(0); i < n && !d.bad; i++ {
			asserted = append(asserted, read(d))
		}
	}
	if d.bad || level > logFailedNoop {
		return custom(lighthouseInvalid)
	}
	if level == logText {
		in.say("Instruction: %s", lighthouseNames[kind])
	}
	if err := in.targets(kind); err != nil {
		return err
	}
	for i, assert := range asserted {
		if err := in.spend(unitsOfAssertion); err != nil {
			return err
		}
		err := assert(in, level)
		if err != nil && multi && err.Name == "Custom" && err.Code == lighthouseFailed {
			return custom(lighthouseFailedMulti + uint32(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// targets checks the accounts that the instruction is about.
func (in *invocation) targets(kind byte) *InstructionError {
	need := 1
	switch kind {
	case 4:
		need = 2
	case 15:
		need = 0
	case 16:
		need = 3
	}
	if err := in.atLeast(need); err != nil {
		return err
	}
	switch kind {
	case 7, 8, 9, 10:
		if !isTokenProgram(in.account(0).Owner) {
			return custom(lighthouseOtherOwner)
		}
	case 11, 12, 13, 14, 17:
		return custom(lighthouseOtherOwner)
	case 16:
		return custom(lighthouseValidation)
	}
	return nil
}

// Operators, by their byte. Keys, bools, bytes and options know the first two.
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

var operatorSigns = [...]string{"==", "!=", ">", "<", ">=", "<=", "&", "|"}

// quantity is a value that assertions compare: a number, or bytes. A missing option has neither.
type quantity struct {
	number *big.Int
	bytes  []byte
}

func number(n uint64) quantity      { return quantity{number: new(big.Int).SetUint64(n)} }
func signedNumber(n int64) quantity { return quantity{number: big.NewInt(n)} }

func (q quantity) missing() bool { return q.number == nil && q.bytes == nil }

// shape says how values of one type are read from bytes and written into logs.
type shape struct {
	size    int  // bytes
	signed  bool // a number
	key     bool // an address
	boolean bool
	list    bool // bytes of any length
	result  byte // its number in AssertionResult
}

var (
	shapeBool = shape{size: 1, boolean: true, result: 12}
	shapeKey  = shape{size: 32, key: true, result: 10}
	shapeList = shape{list: true, result: 11}
	shapeU8   = shape{size: 1, result: 0}
	shapeU64  = shape{size: 8, result: 3}
	shapeI64  = shape{size: 8, signed: true, result: 8}
	shapeI128 = shape{size: 16, signed: true, result: 9}

	// dataShapes are what AccountData compares, by the byte that names it.
	dataShapes = [...]shape{shapeBool, shapeU8, {size: 1, signed: true, result: 5}, {size: 2, result: 1}, {size: 2, signed: true, result: 6},
		{size: 4, result: 2}, {size: 4, signed: true, result: 7}, shapeU64, shapeI64, {size: 16, result: 4}, shapeI128, shapeList, shapeKey}
)

// ordered says whether values are numbers, which know all operators.
func (s shape) ordered() bool { return !s.key && !s.boolean && !s.list }

// read takes a value out of exactly its bytes; false for a bool that is neither.
func (s shape) read(b []byte) (quantity, bool) {
	if s.key || s.list {
		return quantity{bytes: append([]byte{}, b...)}, true
	}
	if s.boolean && b[0] > 1 {
		return quantity{}, false
	}
	return quantity{number: littleEndian(b, s.signed)}, true
}

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

// compare judges, logs and fails an assertion that does not hold.
func (in *invocation) compare(level byte, s shape, actual, wanted quantity, operator byte) *InstructionError {
	holds := false
	switch {
	case s.ordered() && !actual.missing() && !wanted.missing():
		order := actual.number.Cmp(wanted.number)
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

func (q quantity) same(o quantity) bool {
	switch {
	case q.missing() || o.missing():
		return q.missing() && o.missing()
	case q.number != nil:
		return q.number.Cmp(o.number) == 0
	}
	return string(q.bytes) == string(o.bytes)
}

func (in *invocation) logResult(level byte, s shape, actual, wanted quantity, operator byte, holds bool) *InstructionError {
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

// text writes a value as Rust's Debug form does, keys as base58.
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

// encode is borsh's form of AssertionResult.
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

// at reads a value of an account's data.
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

// slice takes length bytes of an account's data.
func (in *invocation) slice(data []byte, offset, length uint64, s shape) ([]byte, *InstructionError) {
	if offset > math.MaxUint64-length {
		err := refused("ProgramFailedToComplete") // the program's own sum overflows
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

func (s shape) name() string {
	switch {
	case s.boolean:
		return "bool"
	case s.signed:
		return fmt.Sprintf("i%d", 8*s.size)
	}
	return fmt.Sprintf("u%d", 8*s.size)
}

// option reads what a token program keeps as an option: four bytes of 0 or 1, then the value.
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

// readDataAssertion compares a value at a place of the account's data.
func readDataAssertion(d *borshReader) assertion {
	offset, s, ok := d.leb128(), shape{}, false
	if kind := d.byte(); int(kind) < len(dataShapes) {
		s, ok = dataShapes[kind], true
	}
	if !ok {
		d.bad = true
		return nil
	}
	wanted := d.value(s)
	operator := d.operator(s.ordered())
	return func(in *invocation, level byte) *InstructionError {
		data := in.account(0).Data
		if len(data) == 0 {
			return custom(lighthouseUninitialized)
		}
		s := s
		if s.list {
			s.size = len(wanted.bytes)
		}
		actual, err := in.at(data, s, offset)
		if err != nil {
			return err
		}
		return in.compare(level, s, actual, wanted, operator)
	}
}

// readDeltaAssertion compares how far two accounts' values are apart: the second less the first.
func readDeltaAssertion(d *borshReader) assertion {
	switch d.byte() {
	case 0:
		return readInfoDelta(d)
	case 1:
		return readDataDelta(d)
	}
	d.bad = true
	return nil
}

// readInfoDelta compares an account with the copy of it that the first account's data holds.
func readInfoDelta(d *borshReader) assertion {
	offset, kind := d.leb128(), d.byte()
	var wanted quantity
	if kind != 2 {
		wanted = d.value(shapeI128)
	}
	operator := d.operator(kind != 2)
	if kind > 3 {
		d.bad = true
	}
	return func(in *invocation, level byte) *InstructionError {
		data, now := in.account(0).Data, in.account(1)
		if len(data) == 0 {
			return custom(lighthouseUninitialized)
		}
		if kind == 2 {
			was, err := in.at(data, shapeKey, offset)
			if err != nil {
				return err
			}
			return in.compare(level, shapeKey, was, quantity{bytes: now.Owner[:]}, operator)
		}
		was, err := in.at(data, shapeU64, offset)
		if err != nil {
			return err
		}
		is := map[byte]uint64{0: now.Lamports, 1: uint64(len(now.Data)), 3: math.MaxUint64}[kind]
		apart := new(big.Int).Sub(number(is).number, was.number)
		return in.compare(level, shapeI128, quantity{number: apart}, wanted, operator)
	}
}

// readDataDelta compares values in the data of two accounts.
func readDataDelta(d *borshReader) assertion {
	from, to, kind := d.leb128(), d.leb128(), d.byte()
	if kind > 8 {
		d.bad = true
		return nil
	}
	if kind == 8 {
		length := uint64(d.number(2))
		operator := d.operator(false)
		return func(in *invocation, level byte) *InstructionError {
			s := shapeList
			s.size = int(length)
			was, is, err := in.two(s, from, to)
			if err != nil {
				return err
			}
			return in.compare(level, s, was, is, operator)
		}
	}
	s := shape{size: 1 << (kind / 2), signed: kind%2 == 1}
	wide := shape{size: 2 * s.size, signed: true, result: 6 + kind/2} // of the next size: i16 to i128
	wanted := d.value(wide)
	operator := d.operator(true)
	return func(in *invocation, level byte) *InstructionError {
		was, is, err := in.two(s, from, to)
		if err != nil {
			return err
		}
		return in.compare(level, wide, quantity{number: new(big.Int).Sub(is.number, was.number)}, wanted, operator)
	}
}

// two reads a value of each of the first two accounts.
func (in *invocation) two(s shape, from, to uint64) (a, b quantity, err *InstructionError) {
	first, second := in.account(0).Data, in.account(1).Data
	if len(first) == 0 || len(second) == 0 {
		return a, b, custom(lighthouseUninitialized)
	}
	if a, err = in.at(first, s, from); err != nil {
		return a, b, err
	}
	b, err = in.at(second, s, to)
	return a, b, err
}

// knownOwners are the programs that AccountInfo names by a byte.
var knownOwners = [...]address{systemProgram, tokenProgram, token2022Program, rentSysvar,
	known("Stake11111111111111111111111111111111111111"), voteProgram, loaderV2, loaderV3,
	known("Config1111111111111111111111111111111111111")}

// readInfoAssertion compares what the runtime knows of an account.
func readInfoAssertion(d *borshReader) assertion {
	kind := d.byte()
	switch kind {
	case 0, 1, 4: // lamports, length of the data, rent epoch
		wanted, operator := d.value(shapeU64), d.operator(true)
		return func(in *invocation, level byte) *InstructionError {
			a := in.account(0)
			actual := map[byte]uint64{0: a.Lamports, 1: uint64(len(a.Data)), 4: math.MaxUint64}[kind]
			return in.compare(level, shapeU64, number(actual), wanted, operator)
		}
	case 2, 3: // owner, by its address or as a known program
		var wanted quantity
		if kind == 2 {
			wanted = d.value(shapeKey)
		} else if place := d.byte(); int(place) < len(knownOwners) {
			wanted = quantity{bytes: knownOwners[place][:]}
		} else {
			d.bad = true
		}
		operator := d.operator(false)
		return func(in *invocation, level byte) *InstructionError {
			owner := in.account(0).Owner
			return in.compare(level, shapeKey, quantity{bytes: owner[:]}, wanted, operator)
		}
	case 5, 6, 7: // signer, writable, executable
		wanted, operator := d.value(shapeBool), d.operator(false)
		return func(in *invocation, level byte) *InstructionError {
			actual := uint64(0)
			if map[byte]bool{5: in.signs(0), 6: in.writable(0), 7: in.account(0).Executable}[kind] {
				actual = 1
			}
			return in.compare(level, shapeBool, number(actual), wanted, operator)
		}
	case 8: // Keccak-256 of a part of the data
		wanted := quantity{bytes: d.take(32)}
		start, length := d.leb128(), d.leb128()
		return func(in *invocation, level byte) *InstructionError {
			data, err := in.slice(in.account(0).Data, start, length, shapeList)
			if err != nil {
				return err
			}
			sum := sha3.NewLegacyKeccak256()
			sum.Write(data)
			return in.compare(level, shapeList, quantity{bytes: sum.Sum(nil)}, wanted, opEqual)
		}
	}
	d.bad = true
	return nil
}

// field is a place in a mint or token account that can be asserted.
type field struct {
	shape
	offset   int
	optional bool
}

var (
	mintFields  = [...]field{{shapeKey, 0, true}, {shapeU64, 36, false}, {shapeU8, 44, false}, {shapeBool, 45, false}, {shapeKey, 46, true}}
	tokenFields = [...]field{{shapeKey, 0, false}, {shapeKey, 32, false}, {shapeU64, 64, false}, {shapeKey, 72, true}, {shapeU8, 108, false},
		{shapeU64, 109, true}, {shapeU64, 121, false}, {shapeKey, 129, true}}
)

func readMintAssertion(d *borshReader) assertion { return readFieldAssertion(d, mintFields[:]) }

// readTokenAssertion knows, beside the fields, that the account is its owner's associated one.
func readTokenAssertion(d *borshReader) assertion {
	if len(d.rest) > 0 && int(d.rest[0]) == len(tokenFields) {
		d.byte()
		return func(in *invocation, level byte) *InstructionError {
			a := in.account(0)
			mint, err := in.at(a.Data, shapeKey, 0)
			if err != nil {
				return err
			}
			owner, err := in.at(a.Data, shapeKey, 32)
			if err != nil {
				return err
			}
			wanted, _ := associatedAddress(address(owner.bytes), a.Owner, address(mint.bytes))
			own := in.key(0)
			return in.compare(level, shapeKey, quantity{bytes: own[:]}, quantity{bytes: wanted[:]}, opEqual)
		}
	}
	return readFieldAssertion(d, tokenFields[:])
}

func readFieldAssertion(d *borshReader, fields []field) assertion {
	kind := int(d.byte())
	if kind >= len(fields) {
		d.bad = true
		return nil
	}
	f := fields[kind]
	var wanted quantity
	if !f.optional || d.flag() {
		wanted = d.value(f.shape)
	}
	operator := d.operator(f.ordered() && !f.optional)
	return func(in *invocation, level byte) *InstructionError {
		data := in.account(0).Data
		read := func() (quantity, *InstructionError) { return in.at(data, f.shape, uint64(f.offset)) }
		if f.optional {
			read = func() (quantity, *InstructionError) { return in.coption(data, f.shape, f.offset) }
		}
		actual, err := read()
		if err != nil {
			return err
		}
		return in.compare(level, f.shape, actual, wanted, operator)
	}
}

// readClockAssertion compares the Clock sysvar.
func readClockAssertion(d *borshReader) assertion {
	kind := d.byte()
	if kind > 4 {
		d.bad = true
		return nil
	}
	s := shapeU64
	if kind == 1 || kind == 4 {
		s = shapeI64
	}
	wanted, operator := d.value(s), d.operator(true)
	return func(in *invocation, level byte) *InstructionError {
		epoch := in.slot / slotsPerEpoch
		var actual quantity
		switch kind {
		case 0:
			actual = number(in.slot)
		case 1:
			actual = signedNumber(in.time(epoch * slotsPerEpoch))
		case 2:
			actual = number(epoch)
		case 3:
			actual = number(epoch + 1)
		case 4:
			actual = signedNumber(in.time(in.slot))
		}
		return in.compare(level, s, actual, wanted, operator)
	}
}

// borshReader reads borsh with lengths and offsets in LEB128. What is missing or impossible makes
// it bad, and what it then returns means nothing.
type borshReader struct {
	rest []byte
	bad  bool
}

// take returns n bytes; zeros when they are not there.
func (d *borshReader) take(n int) []byte {
	if d.bad || n > len(d.rest) {
		d.bad = true
		return make([]byte, n)
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *borshReader) byte() byte { return d.take(1)[0] }

func (d *borshReader) number(size int) int64 { return littleEndian(d.take(size), false).Int64() }

// flag reads a bool, or whether an option is there.
func (d *borshReader) flag() bool {
	b := d.byte()
	d.bad = d.bad || b > 1
	return b == 1
}

// leb128 reads a number of 7 bits a byte, the lowest first.
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

// value reads one value of the instruction; a list has its length before it.
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

func (d *borshReader) operator(ordered bool) byte {
	operator := d.byte()
	if most := byte(opNotEqual); operator > opDoesNotContain || !ordered && operator > most {
		d.bad = true
	}
	return operator
}
