package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"purser/wallet"
)

// Codes of the decoder's refusals. signer/page/decode.js has the same codes and words.
// signer/testdata/transactions.json checks both.
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
	Lockup             = "lockup"
	Deposit            = "deposit"
	SwapFee            = "swap_fee"
	Slippage           = "slippage"
)

// NotAllowed is the decoder's refusal: this message may not be signed through purser.
type NotAllowed struct {
	Code   string // one of the constants above
	Detail string // a few plain words, for the person
}

func (e *NotAllowed) Error() string { return "transaction not allowed (" + e.Code + "): " + e.Detail }

// refuse makes a NotAllowed.
func refuse(code, detail string) error { return &NotAllowed{Code: code, Detail: detail} }

const (
	maxReferences      = 8         // of a transfer: those of a payment link, and purser's own
	priorityFeeCeiling = 1_000_000 // lamports; a higher fee is a mistake or a theft
)

// Discriminators of the Compute Budget program, u8.
const (
	budgetLimit = 2
	budgetPrice = 3
)

// Decode returns what a message does, read from its bytes alone, if signer may sign it. It is an allow-list
// (docs/architecture.md, Custody and the signing page): one principal action, the actions that may stand beside it, and
// compute budget under a ceiling. An instruction without a row is refused.
//
// With the standard rows a message is one transfer with at most eight references, and at most one memo. The transfer is
// System's, or TransferChecked from the signer's own associated token account. With the latter the message may create
// the recipient's account. Or it is one step of staking by the signer (stakeCodecs), or takes the delegate of a token account
// away (revokeCodec), or a swap (swapCodecs), which alone may take accounts from lookup tables.
//
// The checks and their order are those of signer/page/decode.js: a message can be wrong in several ways at once, and
// both must give the same reason. Errors are *NotAllowed.
func (c Codec) Decode(raw []byte, signer wallet.Address) (wallet.Decoded, error) {
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
	if len(m.lookups) > 0 && !m.calls(wallet.SwapProgram) {
		return wallet.Decoded{}, refuse(LookupTables, "it takes accounts from a lookup table")
	}
	// Read each instruction, then judge the message as a whole.
	t := instructionTotals{message: m, rows: c.rows()}
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

// checkVersion refuses a message of version 1 or later (its first byte is 128 + version) before anything else is read.
// The chain executes such transactions, but purser's devices show and sign only legacy and version 0.
func checkVersion(raw []byte) error {
	const v0 = 0x80
	if len(raw) == 0 || raw[0] <= v0 {
		return nil
	}
	return refuse(Version, fmt.Sprintf("it is a version %d transaction, and only legacy and version 0 transactions are signed here", raw[0]-v0))
}

// instructionTotals collects the instructions of one message.
type instructionTotals struct {
	*message
	rows       []ActionCodec
	actions    []wallet.Action
	principals int
	limit      *uint32 // compute units; nil: not set
	price      *uint64 // micro-lamports a compute unit; nil: not set
}

// read adds one instruction, read by the first row that claims it.
func (t *instructionTotals) read(in instruction) error {
	program, known := t.program(in), false
	if program != wallet.SwapProgram && t.looksUp(in.accounts) {
		return refuse(LookupTables, "it takes accounts from a lookup table")
	}
	if program == computeBudgetProgram {
		return t.budget(in)
	}
	for _, row := range t.rows {
		if !slices.Contains(row.Programs, program) {
			continue
		}
		known = true
		call := Call{t.message, in}
		if !row.claims(call) {
			continue
		}
		action, err := row.Decode(call, t.actions)
		if err != nil {
			return err
		}
		if row.Principal {
			t.principals++
		}
		t.actions = append(t.actions, action)
		return nil
	}
	if known {
		return refuse(UnknownInstruction, "an instruction of a known program that is not allowed here")
	}
	return refuse(UnknownProgram, "it calls the program "+program.String())
}

// budget adds a Compute Budget instruction: the limit or the price, each at most once.
func (t *instructionTotals) budget(in instruction) error {
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

// totals judges the message as a whole, and returns its network fee in lamports.
func (t *instructionTotals) totals() (uint64, error) {
	switch {
	case t.principals > 1:
		return 0, refuse(TooManyActions, "it does more than one thing")
	case t.principals == 0:
		return 0, refuse(NoAction, "it neither pays, stakes, swaps nor takes a right back")
	}
	for i, action := range t.actions {
		for _, row := range t.rows {
			if row.Type != action.Type || row.Check == nil {
				continue
			}
			if err := row.Check(t.actions, i); err != nil {
				return 0, err
			}
		}
	}
	return t.fee()
}

// fee is the network fee of a transaction with one signature, in lamports. A price without a limit is refused, since
// the network would choose the limit and with it the fee.
func (t *instructionTotals) fee() (uint64, error) {
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
