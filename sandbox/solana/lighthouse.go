package solana

import (
	"math"
	"math/big"

	"golang.org/x/crypto/sha3"
)

// Lighthouse's assertions. Wallets add them to a transaction that they sign. They change nothing, and make the
// transaction fail if an account is not as the wallet showed it. Assertions about stake accounts, upgradeable programs
// and compressed trees end as for an account with another owner (docs/sandbox-differences.md).

// Lighthouse's error codes, as Custom codes.
const (
	lighthouseInvalid       = 6000
	lighthouseFailed        = 6001
	lighthouseOutOfBounds   = 6005
	lighthouseDeserialize   = 6007
	lighthouseOtherOwner    = 6009
	lighthouseUninitialized = 6011
	lighthouseValidation    = 6015
	lighthouseFailedMulti   = 0x1900 // plus the index of the assertion that failed
)

// lighthouseNames are the instructions by their first byte. The first two manage memory accounts, the others assert.
var lighthouseNames = [...]string{"MemoryWrite", "MemoryClose", "AssertAccountData", "AssertAccountDataMulti",
	"AssertAccountDelta", "AssertAccountInfo", "AssertAccountInfoMulti", "AssertMintAccount", "AssertMintAccountMulti",
	"AssertTokenAccount", "AssertTokenAccountMulti", "AssertStakeAccount", "AssertStakeAccountMulti",
	"AssertUpgradeableLoaderAccount", "AssertUpgradeableLoaderAccountMulti", "AssertSysvarClock",
	"AssertMerkleTreeAccount", "AssertBubblegumTreeConfigAccount"}

// How an assertion's result is logged. The last three log failures only.
const (
	logSilent = iota
	logText
	logData
	logNoop
	logFailedText
	logFailedData
	logFailedNoop
)

// Compute units, estimated, because nothing here runs the program to measure them (docs/sandbox-differences.md).
const (
	unitsOfLighthouse = 900 // estimates: for an instruction, and for each of its assertions
	unitsOfAssertion  = 400
)

// assertion compares a property of an account, or of the clock, with the value in the instruction. Its parser
// (read...Assertion) has consumed its bytes; the closure runs later, on the accounts as they are then.
type assertion func(in *invocation, level byte) *InstructionError

// lighthouse runs one instruction. It parses the whole instruction before it compares anything, so malformed data
// fails first.
func (in *invocation) lighthouse() *InstructionError {
	if err := in.spend(unitsOfLighthouse); err != nil {
		return err
	}
	d := &borshReader{rest: in.data}
	kind := d.byte()
	if d.bad || int(kind) >= len(lighthouseNames) {
		return custom(lighthouseInvalid)
	}
	// The first two instructions keep state in an account of the program, which this sandbox does not have.
	if kind < 2 {
		in.say("Memory accounts are not kept by this sandbox")
		return custom(lighthouseInvalid)
	}
	level := d.byte()
	// Each kind has a parser. Kinds without one concern accounts that cannot exist here; targets fails them.
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
	// Everything was readable, else nothing is compared.
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
		// With several assertions, the error code also tells the index of the one that failed.
		if err != nil && multi && err.Name == "Custom" && err.Code == lighthouseFailed {
			return custom(lighthouseFailedMulti + uint32(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// targets checks that the accounts are there, and that they have the owner which the kind of assertion needs.
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
	// The owner of the account must be the program whose layout the assertion knows.
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

// readDataAssertion compares a value at an offset of the account's data.
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
		// A list takes its length from the value that it is compared with.
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

// readDeltaAssertion compares the difference between two accounts' values: the second minus the first.
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

// readInfoDelta compares an account with the copy of its properties that the first account's data holds. Kinds: 0
// lamports, 1 data length, 2 owner, 3 rent epoch.
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
		// Owners are compared for equality; all other kinds by their difference.
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
		// Accounts have no rent epoch any more; Agave shows the largest number.
		is := map[byte]uint64{0: now.Lamports, 1: uint64(len(now.Data)), 3: math.MaxUint64}[kind]
		apart := new(big.Int).Sub(number(is).number, was.number)
		return in.compare(level, shapeI128, quantity{number: apart}, wanted, operator)
	}
}

// readDataDelta compares values in the data of two accounts. Kinds 0 to 7 are u8, i8, u16 ... i64, and kind 8 is
// bytes.
func readDataDelta(d *borshReader) assertion {
	from, to, kind := d.leb128(), d.leb128(), d.byte()
	if kind > 8 {
		d.bad = true
		return nil
	}
	// Bytes are compared between the two accounts, over the length that the instruction gives.
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
	// The difference of two numbers can be negative and needs the next larger signed type.
	s := shape{size: 1 << (kind / 2), signed: kind%2 == 1}
	wide := shape{size: 2 * s.size, signed: true, result: 6 + kind/2} // the next larger signed type, i16 to i128
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

// two reads a value from each of the first two accounts.
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

// knownOwners are the programs that AccountInfo names by one byte.
var knownOwners = [...]address{systemProgram, tokenProgram, token2022Program, rentSysvar,
	known("Stake11111111111111111111111111111111111111"), voteProgram, loaderV2, loaderV3,
	known("Config1111111111111111111111111111111111111")}

// readInfoAssertion compares what the runtime knows of an account: balance, owner, flags, and a hash of its data.
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

// field is a field of a mint or token account that can be asserted: its shape, its offset in bytes, and whether it is
// a COption.
type field struct {
	shape
	offset   int
	optional bool
}

// The fields in the order of their numbers in the assertion: of a mint, and of a token account.
var (
	mintFields  = [...]field{{shapeKey, 0, true}, {shapeU64, 36, false}, {shapeU8, 44, false}, {shapeBool, 45, false}, {shapeKey, 46, true}}
	tokenFields = [...]field{{shapeKey, 0, false}, {shapeKey, 32, false}, {shapeU64, 64, false}, {shapeKey, 72, true}, {shapeU8, 108, false},
		{shapeU64, 109, true}, {shapeU64, 121, false}, {shapeKey, 129, true}}
)

// readMintAssertion reads an assertion on a field of a mint.
func readMintAssertion(d *borshReader) assertion { return readFieldAssertion(d, mintFields[:]) }

// readTokenAssertion reads an assertion on a field. One more kind asserts that the account is its owner's associated
// token account.
func readTokenAssertion(d *borshReader) assertion {
	// This kind has no value in the instruction: the expected address derives from the account itself.
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

// readFieldAssertion reads an assertion on one of the fields. An absent option can be compared for equality only.
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

// readClockAssertion compares the Clock sysvar: slot, epoch start time, epoch, leader schedule epoch, and time.
func readClockAssertion(d *borshReader) assertion {
	kind := d.byte()
	if kind > 4 {
		d.bad = true
		return nil
	}
	// Slots and epochs are unsigned, times are signed.
	s := shapeU64
	if kind == 1 || kind == 4 {
		s = shapeI64
	}
	wanted, operator := d.value(s), d.operator(true)
	return func(in *invocation, level byte) *InstructionError {
		epoch := in.epoch(in.slot)
		var actual quantity
		switch kind {
		case 0:
			actual = number(in.slot)
		case 1:
			actual = signedNumber(in.time(in.firstSlot(epoch)))
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
