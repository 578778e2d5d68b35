package chain

import (
	"encoding/binary"
	"slices"

	"purser/wallet"
)

// Discriminators of the instructions for transfers and token accounts.
const (
	systemTransfer   = 2  // u32, little endian
	transferChecked  = 12 // u8, of both token programs
	createIdempotent = 1  // u8, of the associated account program; 0 or nothing is Create
)

// transferCodec is the row of a System transfer: lamports from the signer.
func transferCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionTransfer, Programs: []wallet.Address{wallet.SystemProgram}, Principal: true,
		Claims: func(c Call) bool {
			return len(c.Data()) >= 4 && binary.LittleEndian.Uint32(c.Data()) == systemTransfer
		},
		Decode:  decodeTransfer,
		Matches: matchesTransfer,
		Encode: func(a wallet.Action) Instruction {
			data := binary.LittleEndian.AppendUint32(nil, systemTransfer)
			return Instruction{wallet.SystemProgram, withReferences(a, signer(a.From), writable(a.To)),
				binary.LittleEndian.AppendUint64(data, a.Lamports)}
		}}
}

// decodeTransfer reads a System transfer for signing.
func decodeTransfer(c Call, _ []wallet.Action) (wallet.Action, error) {
	if len(c.Data()) != 12 || c.Len() < 2 {
		return wallet.Action{}, refuse(Malformed, "not a whole transfer")
	}
	// Whose money moves, and where to.
	switch {
	case !c.IsPayer(0):
		return wallet.Action{}, refuse(NotTheOwner, "it moves funds of another account")
	case c.IsPayer(1):
		return wallet.Action{}, refuse(SelfTransfer, "it pays this wallet itself")
	case !c.Writable(1):
		return wallet.Action{}, refuse(Malformed, "the recipient cannot receive")
	}
	action := wallet.Action{Type: wallet.ActionTransfer, From: c.At(0), To: c.At(1)}
	var err error
	if action.References, action.Reference, err = referencesFrom(c, 2); err != nil {
		return wallet.Action{}, err
	}
	if action.Lamports = binary.LittleEndian.Uint64(c.Data()[4:]); action.Lamports == 0 {
		return wallet.Action{}, refuse(ZeroAmount, "it transfers nothing")
	}
	return action, nil
}

// tokenTransferCodec is the row of TransferChecked of either token program, from the signer's own associated account.
func tokenTransferCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionTokenTransfer, Programs: []wallet.Address{wallet.TokenProgram, wallet.Token2022Program}, Principal: true,
		Claims:  func(c Call) bool { return len(c.Data()) > 0 && c.Data()[0] == transferChecked },
		Decode:  decodeTokenTransfer,
		Matches: matchesTransfer,
		Encode: func(a wallet.Action) Instruction {
			data := binary.LittleEndian.AppendUint64([]byte{transferChecked}, a.Units)
			source := wallet.AssociatedAccount(a.From, a.Mint, a.Program)
			return Instruction{a.Program, withReferences(a, writable(source), readonly(a.Mint), writable(a.Account), signer(a.From)),
				append(data, a.Decimals)}
		}}
}

// decodeTokenTransfer reads a TransferChecked for signing. Its recipient is a token account: who owns that follows from
// pairAccount, or is checked by the caller.
func decodeTokenTransfer(c Call, _ []wallet.Action) (wallet.Action, error) {
	if len(c.Data()) != 10 || c.Len() < 4 {
		return wallet.Action{}, refuse(Malformed, "not a whole token transfer")
	}
	const source, mint, destination, authority = 0, 1, 2, 3
	switch {
	case !c.IsPayer(authority) || c.At(source) != wallet.AssociatedAccount(c.Payer(), c.At(mint), c.Program()):
		return wallet.Action{}, refuse(NotTheOwner, "it moves tokens that are not in this wallet's own account")
	case c.Same(destination, source):
		return wallet.Action{}, refuse(SelfTransfer, "it pays this wallet itself")
	case !c.Writable(source) || !c.Writable(destination):
		return wallet.Action{}, refuse(Malformed, "a token account that cannot change")
	}
	action := wallet.Action{Type: wallet.ActionTokenTransfer, From: c.Payer(), Account: c.At(destination),
		Mint: c.At(mint), Program: c.Program(), Decimals: c.Data()[9]}
	var err error
	if action.References, action.Reference, err = referencesFrom(c, 4); err != nil {
		return wallet.Action{}, err
	}
	if action.Units = binary.LittleEndian.Uint64(c.Data()[1:]); action.Units == 0 {
		return wallet.Action{}, refuse(ZeroAmount, "it transfers nothing")
	}
	return action, nil
}

// withReferences adds an action's references, read-only, to the accounts that a transfer needs.
func withReferences(a wallet.Action, accounts ...Account) []Account {
	for _, reference := range a.References {
		accounts = append(accounts, readonly(reference))
	}
	return accounts
}

// referencesFrom returns the accounts beyond those that a transfer needs (Solana Pay), and the last of them. None may
// be writable, a signer, or named twice.
func referencesFrom(c Call, first int) (all []wallet.Address, last wallet.Address, _ error) {
	no := refuse(BadReference, "the transfer names accounts that it does not need")
	if c.Len()-first > maxReferences {
		return nil, last, no
	}
	for i := first; i < c.Len(); i++ {
		if c.Writable(i) || slices.Contains(c.in.accounts[first:i], c.in.accounts[i]) { // the signer is writable
			return nil, last, no
		}
		last = c.At(i)
		all = append(all, last)
	}
	return all, last, nil
}

// matchesTransfer tells whether an instruction on chain is the transfer that was intended: the same units, from and to
// the same wallets, with its reference.
func matchesTransfer(c Call, intended wallet.Action) bool {
	token, units := wallet.SOL, intended.Lamports
	if intended.Type == wallet.ActionTokenTransfer {
		token, units = wallet.Token{Mint: intended.Mint, Decimals: intended.Decimals, Program: intended.Program}, intended.Units
	}
	t, ok := c.m.transferred(c.in, token)
	if !ok || t.units != units || !slices.Contains(t.references, intended.Reference) || !t.leaves(intended.From, token) {
		return false
	}
	if token.Native() {
		return t.destination == intended.To
	}
	return t.destination == intended.Account
}

// createAccountCodec is the row for the creation of the recipient's associated token account, paid by the signer. It
// reads Create and CreateIdempotent, and writes the latter: it does not fail if the account exists meanwhile.
func createAccountCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionCreateAccount, Programs: []wallet.Address{wallet.AssociatedProgram},
		Claims: func(c Call) bool {
			return len(c.Data()) == 0 || len(c.Data()) == 1 && c.Data()[0] <= createIdempotent
		},
		Decode: decodeCreateAccount,
		Check:  pairAccount,
		Encode: func(a wallet.Action) Instruction {
			return Instruction{wallet.AssociatedProgram, []Account{signer(a.From), writable(a.Account), readonly(a.To), readonly(a.Mint),
				readonly(wallet.SystemProgram), readonly(a.Program)}, []byte{createIdempotent}}
		}}
}

// decodeCreateAccount reads the creation of a token account for signing.
func decodeCreateAccount(c Call, before []wallet.Action) (wallet.Action, error) {
	if c.Len() != 6 {
		return wallet.Action{}, refuse(Malformed, "not a whole creation of a token account")
	}
	const payer, account = 0, 1
	owner, mint, system, program := c.At(2), c.At(3), c.At(4), c.At(5)
	switch {
	case !c.IsPayer(payer):
		return wallet.Action{}, refuse(NotTheOwner, "it makes another account pay")
	case system != wallet.SystemProgram || !isTokenProgram(program):
		return wallet.Action{}, refuse(UnknownProgram, "a token account of an unknown program")
	case owner.IsZero() || c.At(account) != wallet.AssociatedAccount(owner, mint, program):
		return wallet.Action{}, refuse(WrongAccount, "the token account is not the one that belongs to its owner")
	case !c.Writable(account):
		return wallet.Action{}, refuse(Malformed, "a token account that cannot change")
	case countActions(before, wallet.ActionCreateAccount) >= c.m.maxCreated():
		return wallet.Action{}, refuse(TooManyActions, "it creates too many token accounts")
	}
	return wallet.Action{Type: wallet.ActionCreateAccount, From: c.Payer(), To: owner, Account: c.At(account), Mint: mint, Program: program}, nil
}

// pairAccount compares a created account with the transfer that it must be for, and fills in the transfer's recipient.
func pairAccount(all []wallet.Action, at int) error {
	if hasAction(all, wallet.ActionSwap) {
		return nil // checkSwap judges it
	}
	created := all[at]
	for i := range all {
		if all[i].Type == wallet.ActionTokenTransfer && all[i].Account == created.Account {
			all[i].To = created.To // the account follows from owner, mint and program: so all are alike
			return nil
		}
	}
	return refuse(WrongAccount, "it creates a token account that it does not pay")
}
