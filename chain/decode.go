package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf8"

	"purser/wallet"
)

// Refusal codes of the decoder. signer/page/decode.js says the same things with the same words;
// signer/testdata/transactions.json holds both to them.
const (
	Version            = "version"
	Malformed          = "malformed"
	TooLarge           = "too_large"
	Signers            = "signers"
	LookupTables       = "lookup_tables"
	UnknownProgram     = "unknown_program"
	UnknownInstruction = "unknown_instruction"
	NotTheOwner        = "not_the_owner"
	ExtraAccounts      = "extra_accounts"
	BadReference       = "reference"
	Budget             = "budget"
	BadMemo            = "memo"
	NoAction           = "no_action"
	TooManyActions     = "too_many_actions"
	SelfTransfer       = "self_transfer"
	ZeroAmount         = "zero_amount"
	WrongAccount       = "wrong_account"
)

// NotAllowed is the decoder's refusal: a message that may not be signed through purser.
type NotAllowed struct {
	Code   string // one of the constants above
	Detail string // a few plain words
}

func (e *NotAllowed) Error() string { return "transaction not allowed (" + e.Code + "): " + e.Detail }

func refuse(code, detail string) error { return &NotAllowed{Code: code, Detail: detail} }

const (
	memoLimit          = 512       // bytes
	maxReferences      = 8         // those of a payment link, and purser's own
	priorityFeeCeiling = 1_000_000 // lamports; more is a mistake or a theft
)

// Instruction discriminators.
const (
	systemTransfer   = 2  // u32, little endian
	budgetLimit      = 2  // u8
	budgetPrice      = 3  // u8
	transferChecked  = 12 // u8, of both token programs
	createIdempotent = 1  // u8, of the associated account program; 0 or nothing is Create
)

// Decode says what message does, read from its bytes alone, if signer may sign it. It is an allow-list
// (docs/architecture.md, Custody and the signing page): one transfer (System, or TransferChecked from the signer's own
// associated account, for which the recipient's may be created) with at most eight references, at most one memo,
// compute budget under a ceiling; whatever it does not know it refuses. Checks and their order are those that
// signer/page/decode.js sets out, since a message can be wrong in several ways at once. Errors are *NotAllowed.
func Decode(raw []byte, signer wallet.Address) (wallet.Decoded, error) {
	if err := checkVersion(raw); err != nil {
		return wallet.Decoded{}, err
	}
	m, err := parse(raw)
	if err != nil {
		return wallet.Decoded{}, err
	}
	if m.signers != 1 || m.keys[0] != signer {
		return wallet.Decoded{}, refuse(Signers, "this wallet is not its only signer")
	}
	if len(m.lookups) > 0 {
		return wallet.Decoded{}, refuse(LookupTables, "it takes accounts from a lookup table")
	}
	t := tally{message: m}
	for _, in := range m.instructions {
		if err := t.read(in); err != nil {
			return wallet.Decoded{}, err
		}
	}
	fee, err := t.totals()
	if err != nil {
		return wallet.Decoded{}, err
	}
	d := wallet.Decoded{
		Version:          m.version,
		FeePayer:         m.keys[0],
		Blockhash:        m.blockhash,
		Intent:           sha256.Sum256(m.zeroed(raw)),
		Actions:          t.actions,
		ComputeUnitLimit: t.limit,
		Fee:              fee,
	}
	if t.price != nil {
		d.ComputeUnitPrice = *t.price
	}
	return d, nil
}

// checkVersion refuses a message of version 1 or later (its first byte is 128 + version) before anything else is
// read of it. The chain executes such transactions, but purser's devices show and sign only older ones.
func checkVersion(raw []byte) error {
	const v0 = 0x80
	if len(raw) == 0 || raw[0] <= v0 {
		return nil
	}
	return refuse(Version, fmt.Sprintf("it is a version %d transaction, and only legacy and version 0 transactions are signed here", raw[0]-v0))
}

// tally adds up the instructions of one message.
type tally struct {
	*message
	actions          []wallet.Action
	transfers, memos int
	created          *wallet.Action
	limit            *uint32
	price            *uint64 // micro-lamports a unit
}

func (t *tally) read(in instruction) error {
	switch t.program(in) {
	case wallet.SystemProgram:
		return t.transfer(in)
	case wallet.TokenProgram, wallet.Token2022Program:
		return t.tokenTransfer(in)
	case wallet.AssociatedProgram:
		return t.create(in)
	case memoProgram, memoProgramV4:
		return t.memo(in)
	case computeBudgetProgram:
		return t.budget(in)
	}
	return refuse(UnknownProgram, "it calls the program "+t.program(in).String())
}

func (t *tally) transfer(in instruction) error {
	t.transfers++
	if len(in.data) < 4 || binary.LittleEndian.Uint32(in.data) != systemTransfer {
		return refuse(UnknownInstruction, "a System instruction that is not a transfer")
	}
	if len(in.data) != 12 || len(in.accounts) < 2 {
		return refuse(Malformed, "not a whole transfer")
	}
	from, to := in.accounts[0], in.accounts[1] // 0 is the only signer
	switch {
	case from != 0:
		return refuse(NotTheOwner, "it moves funds of another account")
	case to == 0:
		return refuse(SelfTransfer, "it pays this wallet itself")
	case !t.writable(to):
		return refuse(Malformed, "the recipient cannot receive")
	}
	action := wallet.Action{Type: wallet.ActionTransfer, From: t.keys[from], To: t.keys[to]}
	var err error
	if action.References, action.Reference, err = t.references(in.accounts[2:]); err != nil {
		return err
	}
	action.Lamports = binary.LittleEndian.Uint64(in.data[4:])
	if action.Lamports == 0 {
		return refuse(ZeroAmount, "it transfers nothing")
	}
	t.actions = append(t.actions, action)
	return nil
}

// references are the accounts that a transfer names beyond those that it needs (Solana Pay), and the last
// of them. None may be able to do or to lose anything.
func (t *tally) references(extra []byte) (all []wallet.Address, last wallet.Address, _ error) {
	no := refuse(BadReference, "the transfer names accounts that it does not need")
	if len(extra) > maxReferences {
		return nil, last, no
	}
	for i, index := range extra {
		if t.writable(index) || slices.Contains(extra[:i], index) { // the signer is writable
			return nil, last, no
		}
		last = t.keys[index]
		all = append(all, last)
	}
	return all, last, nil
}

func (t *tally) tokenTransfer(in instruction) error {
	t.transfers++
	if len(in.data) == 0 || in.data[0] != transferChecked {
		return refuse(UnknownInstruction, "a token instruction that is not a checked transfer")
	}
	if len(in.data) != 10 || len(in.accounts) < 4 {
		return refuse(Malformed, "not a whole token transfer")
	}
	source, mint, destination, authority := in.accounts[0], in.accounts[1], in.accounts[2], in.accounts[3]
	program := t.program(in)
	switch {
	case authority != 0 || t.keys[source] != wallet.AssociatedAccount(t.keys[0], t.keys[mint], program):
		return refuse(NotTheOwner, "it moves tokens that are not in this wallet's own account")
	case destination == source:
		return refuse(SelfTransfer, "it pays this wallet itself")
	case !t.writable(source) || !t.writable(destination):
		return refuse(Malformed, "a token account that cannot change")
	}
	action := wallet.Action{Type: wallet.ActionTokenTransfer, From: t.keys[0], Account: t.keys[destination],
		Mint: t.keys[mint], Program: program, Decimals: in.data[9]}
	var err error
	if action.References, action.Reference, err = t.references(in.accounts[4:]); err != nil {
		return err
	}
	if action.Units = binary.LittleEndian.Uint64(in.data[1:]); action.Units == 0 {
		return refuse(ZeroAmount, "it transfers nothing")
	}
	t.actions = append(t.actions, action)
	return nil
}

// create reads the making of an associated account, in both its forms.
func (t *tally) create(in instruction) error {
	if len(in.data) > 1 || len(in.data) == 1 && in.data[0] > createIdempotent {
		return refuse(UnknownInstruction, "an unknown Associated Token Account instruction")
	}
	if len(in.accounts) != 6 {
		return refuse(Malformed, "not a whole creation of a token account")
	}
	payer, at, owner, mint, system, program := in.accounts[0], in.accounts[1], t.keys[in.accounts[2]],
		t.keys[in.accounts[3]], t.keys[in.accounts[4]], t.keys[in.accounts[5]]
	switch {
	case payer != 0:
		return refuse(NotTheOwner, "it makes another account pay")
	case system != wallet.SystemProgram || !isTokenProgram(program):
		return refuse(UnknownProgram, "a token account of an unknown program")
	case owner.IsZero() || t.keys[at] != wallet.AssociatedAccount(owner, mint, program):
		return refuse(WrongAccount, "the token account is not the one that belongs to its owner")
	case !t.writable(at):
		return refuse(Malformed, "a token account that cannot change")
	case t.created != nil:
		return refuse(TooManyActions, "it creates more than one token account")
	}
	action := wallet.Action{Type: wallet.ActionCreateAccount, From: t.keys[0], To: owner, Account: t.keys[at], Mint: mint, Program: program}
	t.created, t.actions = &action, append(t.actions, action)
	return nil
}

func (t *tally) memo(in instruction) error {
	t.memos++
	text := string(in.data)
	switch {
	case t.memos > 1:
		return refuse(BadMemo, "it holds more than one memo")
	case len(in.accounts) > 0:
		return refuse(BadMemo, "the memo names accounts")
	case text == "" || len(text) > memoLimit:
		return refuse(BadMemo, "the memo is empty or too long")
	case !utf8.ValidString(text):
		return refuse(BadMemo, "the memo is not text")
	}
	if wallet.HidesCharacters(text) {
		return refuse(BadMemo, "the memo holds characters that do not show")
	}
	t.actions = append(t.actions, wallet.Action{Type: wallet.ActionMemo, Text: text})
	return nil
}

func (t *tally) budget(in instruction) error {
	if len(in.data) == 0 || in.data[0] != budgetLimit && in.data[0] != budgetPrice {
		return refuse(UnknownInstruction, "an unknown Compute Budget instruction")
	}
	isLimit := in.data[0] == budgetLimit
	value := in.data[1:]
	switch {
	case isLimit && len(value) != 4 || !isLimit && len(value) != 8:
		return refuse(Malformed, "not a whole Compute Budget instruction")
	case len(in.accounts) > 0:
		return refuse(ExtraAccounts, "Compute Budget takes no accounts")
	case isLimit && t.limit != nil || !isLimit && t.price != nil:
		return refuse(Budget, "a compute unit limit or price is set twice")
	}
	if isLimit {
		limit := binary.LittleEndian.Uint32(value)
		if limit > wallet.MaxComputeUnits {
			return refuse(Budget, "it asks for more compute units than there are")
		}
		t.limit = &limit
		return nil
	}
	price := binary.LittleEndian.Uint64(value)
	t.price = &price
	return nil
}

// pair holds a created account against the transfer that it must be for, and learns from it who the
// recipient is.
func (t *tally) pair() error {
	if t.created == nil {
		return nil
	}
	for i := range t.actions {
		a := &t.actions[i]
		if a.Type == wallet.ActionTokenTransfer && a.Account == t.created.Account {
			a.To = t.created.To // the account follows from owner, mint and program: so all are alike
			return nil
		}
	}
	return refuse(WrongAccount, "it creates a token account that it does not pay")
}

// totals judges the whole and returns the network fee in lamports.
func (t *tally) totals() (uint64, error) {
	switch {
	case t.transfers > 1:
		return 0, refuse(TooManyActions, "it holds more than one transfer")
	case t.transfers == 0:
		return 0, refuse(NoAction, "it transfers nothing")
	}
	if err := t.pair(); err != nil {
		return 0, err
	}
	return t.fee()
}

// fee is what the budget makes a transaction of one signature cost, in lamports.
func (t *tally) fee() (uint64, error) {
	switch {
	case t.price == nil:
		return wallet.SignatureFee, nil
	case t.limit == nil:
		return 0, refuse(Budget, "a price for compute units, but no limit to them")
	}
	fee := wallet.NetworkFee(*t.limit, *t.price)
	if fee > wallet.SignatureFee+priorityFeeCeiling {
		return 0, refuse(Budget, "its priority fee is too high")
	}
	return fee, nil
}
