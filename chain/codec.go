package chain

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/gagliardetto/solana-go"

	"purser/wallet"
)

// Account is one account of an instruction, with what the instruction may do to it.
type Account struct {
	Address  wallet.Address
	Signer   bool
	Writable bool
	// Table and Index say where it stands in an address lookup table, if Address is zero.
	Table wallet.Address
	Index byte
}

// Roles of an account in an instruction.
func signer(a wallet.Address) Account   { return Account{Address: a, Signer: true, Writable: true} } // the fee payer, which is always writable
func writable(a wallet.Address) Account { return Account{Address: a, Writable: true} }
func readonly(a wallet.Address) Account { return Account{Address: a} }

// Instruction is one call of a program, before it is put into a message.
type Instruction struct {
	Program  wallet.Address
	Accounts []Account
	Data     []byte
}

// Call is one instruction of a message, as an ActionCodec reads it. Positions count the instruction's own accounts,
// from 0. The address of an account from a lookup table is not in the message: it reads as zero.
type Call struct {
	m  *message
	in instruction
}

// Data is the instruction's data, as the program receives it. It must not be changed.
func (c Call) Data() []byte { return c.in.data }

// Len is the number of accounts of the instruction.
func (c Call) Len() int { return len(c.in.accounts) }

// Program is the address of the called program; zero from a lookup table.
func (c Call) Program() wallet.Address {
	program, _ := c.m.key(c.in.program)
	return program
}

// Payer is the fee payer of the message. Decode has checked that it is the only signer.
func (c Call) Payer() wallet.Address { return c.m.keys[0] }

// At is the address of the account at a position, which must be less than Len; zero from a lookup table.
func (c Call) At(i int) wallet.Address {
	key, _ := c.m.key(c.in.accounts[i])
	return key
}

// IsPayer tells whether the account at a position is the fee payer.
func (c Call) IsPayer(i int) bool { return c.in.accounts[i] == 0 }

// Same tells whether two positions name the same account.
func (c Call) Same(i, j int) bool { return c.in.accounts[i] == c.in.accounts[j] }

// Writable tells whether the message makes the account at a position writable.
func (c Call) Writable(i int) bool { return c.m.writable(c.in.accounts[i]) }

// ActionCodec is one row of the codec's table: one type of action, and how an instruction expresses it. Its functions
// are pure. Several rows may share a program: the first that claims an instruction reads it.
type ActionCodec struct {
	Type     string // wallet.Action.Type
	Programs []wallet.Address
	// Principal actions are what a transaction is about. A message has exactly one; all other actions only support it.
	Principal bool
	// Claims tells whether an instruction of these programs is this action; nil: every one is.
	Claims func(Call) bool
	// Decode reads an instruction strictly, for signing. Errors are *NotAllowed. before has the actions that come
	// before it in the message.
	Decode func(c Call, before []wallet.Action) (wallet.Action, error)
	// Encode returns the instruction that Decode reads as the action.
	Encode func(wallet.Action) Instruction
	// Matches tells whether an instruction on chain does what was intended, whatever a wallet added around it. The
	// message may be of any form, also with lookup tables. Principal rows need it; another has it if a message without it
	// would not be the one that was intended.
	Matches func(c Call, intended wallet.Action) bool
	// Check judges the action at an index among all of the message, and may complete them; nil: nothing to judge.
	Check func(all []wallet.Action, at int) error
}

// claims is Claims, or true without one.
func (r ActionCodec) claims(c Call) bool { return r.Claims == nil || r.Claims(c) }

// Codec is the table of actions that may be signed through purser. It writes them, reads them, and recognises them on
// chain. It knows no kind of transaction: a kind lists its actions. The zero Codec has the standard rows.
type Codec struct {
	all []ActionCodec // the rows that were added, and the standard ones behind them; nil: only these
}

// NewCodec returns a Codec with rows before the standard ones. An error says which row is incomplete or double.
func NewCodec(extra ...ActionCodec) (Codec, error) {
	c := Codec{all: slices.Concat(extra, standardRows())}
	seen := map[string]bool{}
	for _, row := range c.rows() {
		switch {
		case row.Type == "" || len(row.Programs) == 0 || row.Decode == nil || row.Encode == nil:
			return Codec{}, fmt.Errorf("action %q: type, programs, Decode and Encode are needed", row.Type)
		case row.Principal && row.Matches == nil:
			return Codec{}, fmt.Errorf("action %q: a principal action must be recognised on chain, and has no Matches", row.Type)
		case seen[row.Type]:
			return Codec{}, fmt.Errorf("action %q has two rows", row.Type)
		}
		seen[row.Type] = true
	}
	return c, nil
}

// standard are the rows of what purser itself sends.
func standard() []ActionCodec {
	return append([]ActionCodec{wrapCodec(), referenceCodec(), transferCodec(), tokenTransferCodec(), createAccountCodec(), revokeCodec(), memoCodec()}, append(stakeCodecs(), swapCodecs()...)...)
}

// standardRows are made once, since each message is written and read with them. Nobody changes them.
var standardRows = sync.OnceValue(standard)

// rows are all rows, in the order in which they claim instructions. The caller must not change them.
func (c Codec) rows() []ActionCodec {
	if c.all == nil {
		return standardRows()
	}
	return c.all
}

// Actions lists the types of the actions that have a row, sorted.
func (c Codec) Actions() []string {
	var out []string
	for _, row := range c.rows() {
		out = append(out, row.Type)
	}
	slices.Sort(out)
	return out
}

// Knows tells whether an action has a row (ok), and whether a transaction can be about it (principal).
func (c Codec) Knows(action string) (principal, ok bool) {
	row, ok := c.row(action)
	return row.Principal, ok
}

// row is the row of a type of action.
func (c Codec) row(action string) (ActionCodec, bool) {
	rows := c.rows()
	at := slices.IndexFunc(rows, func(r ActionCodec) bool { return r.Type == action })
	if at < 0 {
		return ActionCodec{}, false
	}
	return rows[at], true
}

// Build makes the message that does these actions in their order, after t's compute budget, with a zero blockhash
// (docs/architecture.md, The rule against paying twice, 4). It is a legacy message, or version 0 if it needs lookup tables.
// The result has passed Decode, so a *NotAllowed means that the actions are such that no device would sign them.
func (c Codec) Build(t wallet.Transaction, actions []wallet.Action) ([]byte, error) {
	instructions := budgetOf(t)
	for _, a := range actions {
		row, ok := c.row(a.Type)
		if !ok {
			return nil, fmt.Errorf("build %s: no row for the action %q", t.Kind, a.Type)
		}
		instructions = append(instructions, row.Encode(a))
	}
	raw, err := marshal(t.From, instructions)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", t.Kind, err)
	}
	// solana-go wrote the message. Our own reader must find in it what was asked for, and nothing else.
	d, err := c.Decode(raw, t.From)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", t.Kind, err)
	}
	if !reflect.DeepEqual(d.Actions, actions) {
		return nil, fmt.Errorf("build %s: the message does not do what was asked for", t.Kind)
	}
	return raw, nil
}

// Decode is Codec.Decode with the standard rows.
func Decode(raw []byte, signer wallet.Address) (wallet.Decoded, error) {
	return Codec{}.Decode(raw, signer)
}

// marshal writes a message with a zero blockhash: legacy, or version 0 if an account comes from a lookup table.
func marshal(payer wallet.Address, instructions []Instruction) ([]byte, error) {
	if slices.ContainsFunc(instructions, func(in Instruction) bool {
		return slices.ContainsFunc(in.Accounts, func(a Account) bool { return !a.Table.IsZero() })
	}) {
		return marshalV0(payer, instructions)
	}
	list := make([]solana.Instruction, len(instructions))
	for i, in := range instructions {
		accounts := make(solana.AccountMetaSlice, len(in.Accounts))
		for j, a := range in.Accounts {
			accounts[j] = solana.NewAccountMeta(solana.PublicKey(a.Address), a.Writable, a.Signer)
		}
		list[i] = solana.NewInstruction(solana.PublicKey(in.Program), accounts, in.Data)
	}
	tx, err := solana.NewTransaction(list, solana.Hash{}, solana.TransactionPayer(solana.PublicKey(payer)))
	if err != nil {
		return nil, err
	}
	return tx.Message.MarshalBinary()
}

// recognises tells whether a message on chain does what was intended: the same wallet pays its fee, and it contains
// each action whose row recognises it. It may contain anything else.
func (c Codec) recognises(m *message, query wallet.TransactionQuery) (bool, error) {
	about := 0
	for _, intended := range query.Actions {
		row, ok := c.row(intended.Type)
		if !ok {
			return false, fmt.Errorf("recognise: no row for the action %q", intended.Type)
		}
		if row.Matches == nil {
			continue
		}
		if row.Principal {
			about++
		}
		if !slices.ContainsFunc(m.instructions, func(in instruction) bool {
			call := Call{m, in}
			program, ok := m.key(in.program)
			return ok && slices.Contains(row.Programs, program) && row.claims(call) && row.Matches(call, intended)
		}) {
			return false, nil
		}
	}
	if about == 0 { // "not the one" would be a lie
		return false, errors.New("recognise: nothing is intended")
	}
	return m.keys[0] == query.From, nil
}
