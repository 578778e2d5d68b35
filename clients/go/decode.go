package purser

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Expected is the payment that a transaction must make so that Sign signs it: exactly this, and nothing else.
type Expected struct {
	To     string // the recipient's wallet, or the token account that is paid, in base58
	Amount string // in the token's own unit, as in SendRequest: "1.5"
	Token  string // "SOL", or the address of a token's mint; a symbol cannot be checked against the transaction
}

// Programs that may appear in a payment.
const (
	systemProgram     = "11111111111111111111111111111111"
	tokenProgram      = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
	token2022Program  = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
	associatedProgram = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
	budgetProgram     = "ComputeBudget111111111111111111111111111111"
	memoV3            = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
	memoV4            = "Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH"
)

const (
	solDecimals = 9
	// maxPriorityFee is the highest priority fee, in lamports.
	maxPriorityFee = 1_000_000
	// maxUnits is the highest compute unit limit.
	maxUnits = 1_400_000
	// maxReferences is how many references (read-only accounts) a payment may have.
	maxReferences = 8
)

// payment is the one transfer of a transaction.
type payment struct {
	to       []byte // the wallet or token account that is paid
	mint     []byte // nil: SOL
	program  []byte // of the token
	units    uint64
	decimals uint8
}

// check refuses a message unless it makes the expected payment from its only signer, and nothing else.
func (want Expected) check(message []byte) error {
	amount, err := plainDecimal(want.Amount)
	if err != nil {
		return err
	}
	to, err := address(want.To)
	if err != nil {
		return fmt.Errorf("purser: expected to: %w", err)
	}
	m, err := readMessage(message)
	if err != nil {
		return err
	}
	if m.loaded > 0 {
		return errors.New("purser: the transaction takes accounts from lookup tables, which cannot be seen here")
	}
	paid, err := m.payment(to, want.Token)
	if err != nil {
		return err
	}
	if got := decimal(paid.units, paid.decimals); got != amount {
		return fmt.Errorf("purser: the transaction pays %s, not %s", got, amount)
	}
	return nil
}

// message is a decoded message, legacy or version 0.
type message struct {
	keys         [][]byte
	readOnly     int // how many of the last keys are read-only
	loaded       int // how many accounts come from lookup tables; their indexes follow those of keys
	instructions []instruction
}

type instruction struct {
	program  string
	accounts []int
	data     []byte
}

// readMessage reads a message with one signer, who is also the fee payer.
func readMessage(raw []byte) (message, error) {
	var m message
	r := reader{rest: raw}
	versioned := false
	switch {
	case len(raw) > 0 && raw[0] == 0x80:
		versioned = true
		r.bytes(1)
	case len(raw) > 0 && raw[0] > 0x80:
		return m, fmt.Errorf("purser: the transaction has version %d, which is not signed here", raw[0]&0x7f)
	}
	header := r.bytes(3)
	count := r.count()
	for range count {
		key := r.bytes(32)
		if slices.ContainsFunc(m.keys, func(other []byte) bool { return bytes.Equal(other, key) }) {
			r.bad = true
		}
		m.keys = append(m.keys, key)
	}
	r.bytes(32) // blockhash
	all := r.instructions()
	if versioned {
		m.loaded = r.lookups()
	}
	if r.bad || len(r.rest) > 0 || len(m.keys) == 0 || len(m.keys)+m.loaded > 256 {
		return m, errMalformed
	}
	if header[0] != 1 || header[1] != 0 {
		return m, errors.New("purser: the transaction needs not exactly one signer who pays")
	}
	if m.readOnly = int(header[2]); m.readOnly >= len(m.keys) {
		return m, errMalformed
	}
	for _, one := range all {
		in, err := m.resolve(one)
		if err != nil {
			return m, err
		}
		m.instructions = append(m.instructions, in)
	}
	return m, nil
}

// unread is an instruction whose program and accounts are indexes of keys.
type unread struct {
	program  byte
	accounts []byte
	data     []byte
}

// instructions reads the instructions of a message, up to the first that is cut off.
func (r *reader) instructions() (all []unread) {
	for range r.count() {
		program := r.bytes(1)
		accounts := r.bytes(r.count())
		data := r.bytes(r.count())
		if r.bad {
			break
		}
		all = append(all, unread{program[0], accounts, data})
	}
	return all
}

// lookups reads the lookup tables of a message, and returns how many accounts they give it.
func (r *reader) lookups() (loaded int) {
	for range r.count() {
		r.bytes(32) // the table
		writable := len(r.bytes(r.count()))
		of := writable + len(r.bytes(r.count()))
		if of == 0 {
			r.bad = true
		}
		if r.bad {
			break
		}
		loaded += of
	}
	return loaded
}

// resolve replaces an instruction's program by its key.
func (m message) resolve(one unread) (instruction, error) {
	in := instruction{data: one.data}
	if int(one.program) >= len(m.keys) {
		return in, errMalformed
	}
	in.program = base58(m.keys[one.program])
	for _, at := range one.accounts {
		if int(at) >= len(m.keys)+m.loaded {
			return in, errMalformed
		}
		in.accounts = append(in.accounts, int(at))
	}
	return in, nil
}

// payment finds the one transfer of a message. It refuses every instruction that is neither the transfer nor harmless.
func (m message) payment(to []byte, token string) (payment, error) {
	var paid *payment
	memos, created := 0, 0
	budgets := budget{}
	for i, in := range m.instructions {
		refuse := func(why string) (payment, error) {
			return payment{}, fmt.Errorf("purser: instruction %d of the transaction %s", i+1, why)
		}
		switch in.program {
		case systemProgram, tokenProgram, token2022Program:
			one, why := m.transfer(in, to, token)
			switch {
			case why != "":
				return refuse(why)
			case paid != nil:
				return refuse("is a second payment")
			}
			paid = &one
		case associatedProgram:
			if why := m.creates(in, to, token); why != "" {
				return refuse(why)
			}
			if created++; created > 1 {
				return refuse("creates a second account")
			}
		case budgetProgram:
			if !budgets.takes(in) {
				return refuse("sets a compute budget in an unknown way")
			}
		case memoV3, memoV4:
			if memos++; memos > 1 || len(in.accounts) > 0 {
				return refuse("is a memo that is not the only one, or is signed")
			}
		default:
			return refuse("calls the program " + in.program)
		}
	}
	if paid == nil {
		return payment{}, errors.New("purser: the transaction pays nothing")
	}
	return *paid, budgets.check()
}

// writable reports whether an instruction may change an account. The first account is the signer's.
func (m message) writable(at int) bool { return at < len(m.keys)-m.readOnly }

// transfer reads a transfer of SOL (System program) or of a token (TransferChecked). why says what is wrong.
func (m message) transfer(in instruction, to []byte, token string) (paid payment, why string) {
	fixed := 4 // source, mint, destination, owner
	if in.program == systemProgram {
		fixed = 2 // from, to
	}
	if len(in.accounts) < fixed || len(in.accounts) > fixed+maxReferences {
		return paid, "is no plain transfer"
	}
	for i, at := range in.accounts {
		if slices.Contains(in.accounts[:i], at) {
			return paid, "names an account twice"
		}
		if i >= fixed && m.writable(at) {
			return paid, "has a reference that can be written to"
		}
	}
	if in.program == systemProgram {
		if len(in.data) != 12 || binary.LittleEndian.Uint32(in.data) != 2 || in.accounts[0] != 0 {
			return paid, "is no transfer of the signer's SOL"
		}
		if token != "SOL" {
			return paid, "pays SOL, not the token " + token
		}
		paid = payment{to: m.keys[in.accounts[1]], units: binary.LittleEndian.Uint64(in.data[4:]), decimals: solDecimals}
		if !bytes.Equal(paid.to, to) || !m.writable(in.accounts[1]) {
			return paid, "pays " + base58(paid.to) + ", not " + base58(to)
		}
		return paid, ""
	}
	if len(in.data) != 10 || in.data[0] != 12 || in.accounts[3] != 0 || !m.writable(in.accounts[0]) || !m.writable(in.accounts[2]) {
		return paid, "is no TransferChecked of the signer's tokens"
	}
	program, _ := address(in.program)
	paid = payment{to: m.keys[in.accounts[2]], mint: m.keys[in.accounts[1]], program: program, units: binary.LittleEndian.Uint64(in.data[1:]), decimals: in.data[9]}
	switch {
	case base58(paid.mint) != token:
		return paid, "pays the token " + base58(paid.mint) + ", not " + token
	case !isAssociated(m.keys[in.accounts[0]], m.keys[0], paid.mint, program):
		return paid, "takes tokens from another account than the signer's own"
	case !bytes.Equal(paid.to, to) && !isAssociated(paid.to, to, paid.mint, program):
		return paid, "pays the token account " + base58(paid.to) + ", which is not that of " + base58(to)
	}
	return paid, ""
}

// creates reads the creation of the recipient's token account, whose rent the signer pays.
func (m message) creates(in instruction, to []byte, token string) (why string) {
	kind := len(in.data) == 0 || len(in.data) == 1 && in.data[0] <= 1 // Create, CreateIdempotent
	if !kind || len(in.accounts) != 6 || in.accounts[0] != 0 || !m.writable(in.accounts[1]) {
		return "creates an account in an unknown way"
	}
	account, owner, mint, program := m.keys[in.accounts[1]], m.keys[in.accounts[2]], m.keys[in.accounts[3]], m.keys[in.accounts[5]]
	known := base58(program) == tokenProgram || base58(program) == token2022Program
	if !known || base58(m.keys[in.accounts[4]]) != systemProgram || base58(mint) != token || !isAssociated(account, owner, mint, program) {
		return "creates an account of another token"
	}
	if !bytes.Equal(owner, to) && !bytes.Equal(account, to) {
		return "creates an account of " + base58(owner) + ", not of " + base58(to)
	}
	return ""
}

// The instructions of the compute budget, by their first byte.
const (
	budgetLimit = 2
	budgetPrice = 3
)

// budget is the compute budget of a transaction: the values of its instructions by their first byte.
type budget map[byte]uint64

// takes reads an instruction of the compute budget; false for one that is unknown, or the second of its kind.
func (b budget) takes(in instruction) bool {
	if len(in.accounts) > 0 || len(in.data) == 0 {
		return false
	}
	kind := in.data[0]
	if _, twice := b[kind]; twice {
		return false
	}
	switch {
	case len(in.data) == 5 && kind == budgetLimit:
		b[kind] = uint64(binary.LittleEndian.Uint32(in.data[1:]))
	case len(in.data) == 9 && kind == budgetPrice:
		b[kind] = binary.LittleEndian.Uint64(in.data[1:])
	default:
		return false
	}
	return true
}

// check refuses a priority fee above maxPriorityFee.
func (b budget) check() error {
	limit, limited := b[budgetLimit]
	price, priced := b[budgetPrice]
	if priced && !limited || limit > maxUnits {
		return errors.New("purser: the transaction's priority fee has no limit")
	}
	fee := new(big.Int).Mul(new(big.Int).SetUint64(price), new(big.Int).SetUint64(limit)) // in micro-lamports
	if fee.Cmp(big.NewInt(maxPriorityFee*1_000_000)) > 0 {
		return errors.New("purser: the transaction's priority fee is too high")
	}
	return nil
}

// isAssociated reports whether a token account is derived from its owner and mint. The real one has the highest bump
// that gives an address off the curve. Being off the curve is not checked: nobody can find a key for another bump's
// address, and the program creates no account there.
func isAssociated(account, owner, mint, program []byte) bool {
	associated, _ := address(associatedProgram)
	for bump := 255; bump >= 0; bump-- {
		h := sha256.New()
		for _, part := range [][]byte{owner, program, mint, {byte(bump)}, associated, []byte("ProgramDerivedAddress")} {
			h.Write(part)
		}
		if bytes.Equal(h.Sum(nil), account) {
			return true
		}
	}
	return false
}

// reader reads bytes from a message. bad is set when there are too few.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) bytes(n int) []byte {
	if r.bad || n > len(r.rest) {
		r.bad = true
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

// count reads a length in Solana's compact form. Two bytes are enough for any transaction, and each length has one
// encoding.
func (r *reader) count() int {
	first := r.bytes(1)
	if r.bad {
		return 0
	}
	if first[0] < 0x80 {
		return int(first[0])
	}
	second := r.bytes(1)
	if r.bad || second[0] == 0 || second[0] >= 0x80 {
		r.bad = true
		return 0
	}
	return int(first[0]&0x7f) | int(second[0])<<7
}

var errMalformed = errors.New("purser: the transaction's message is malformed")

// address reads 32 bytes in base58.
func address(text string) ([]byte, error) {
	wrong := errors.New("that is no Solana address")
	if len(text) < 32 || len(text) > 44 {
		return nil, wrong
	}
	n := new(big.Int)
	for _, c := range text {
		at := strings.IndexRune(base58Alphabet, c)
		if at < 0 {
			return nil, wrong
		}
		n.Add(n.Mul(n, big.NewInt(58)), big.NewInt(int64(at)))
	}
	if n.BitLen() > 8*ed25519.PublicKeySize {
		return nil, wrong
	}
	out := n.FillBytes(make([]byte, ed25519.PublicKeySize))
	if base58(out) != text { // each address has one encoding
		return nil, wrong
	}
	return out, nil
}

// decimal writes base units as an exact decimal without trailing zeros.
func decimal(units uint64, decimals uint8) string {
	text := strconv.FormatUint(units, 10)
	if missing := int(decimals) + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	whole, fraction := text[:len(text)-int(decimals)], strings.TrimRight(text[len(text)-int(decimals):], "0")
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// plainDecimal writes an amount ("1.50", "1e-7") as decimal does.
func plainDecimal(text string) (string, error) {
	wrong := fmt.Errorf("purser: expected amount: %.40q is no positive decimal such as 1.5", text)
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, hasPoint := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if digits == "" || hasPoint && fraction == "" || strings.Trim(digits, "0123456789") != "" || len(text) > 300 {
		return "", wrong
	}
	shift := 0
	if hasExponent {
		if len(exponent) > 4 {
			return "", wrong
		}
		n, err := strconv.Atoi(exponent)
		if err != nil {
			return "", wrong
		}
		shift = n
	}
	point := len(whole) + shift
	if point < -300 || point > 600 {
		return "", wrong
	}
	digits = strings.Repeat("0", max(0, 1-point)) + digits
	point = max(1, point)
	digits += strings.Repeat("0", max(0, point-len(digits)))
	whole, fraction = strings.TrimLeft(digits[:point], "0"), strings.TrimRight(digits[point:], "0")
	switch {
	case whole == "" && fraction == "":
		return "", wrong
	case whole == "":
		whole = "0"
	}
	if fraction == "" {
		return whole, nil
	}
	return whole + "." + fraction, nil
}
