package solana

import "encoding/binary"

// Compute units of the associated token account program: for each bump that the derivation tries, for the program
// itself, and for each call of another program.
const (
	unitsOfDerivation = 1500
	unitsOfAssociated = 1850
	unitsOfCall       = 2350
)

// associated runs one instruction of the associated token account program: Create (0, or no data) and
// CreateIdempotent (1). RecoverNested (2) is refused (docs/sandbox-differences.md).
func (in *invocation) associated() *InstructionError {
	kind := byte(0)
	if len(in.data) > 0 {
		kind = in.data[0]
	}
	// Create may also be called without data; more than one byte is never valid.
	if len(in.data) > 1 || kind > 2 {
		return refused("InvalidInstructionData")
	}
	in.say("%s", [3]string{"Create", "CreateIdempotent", "RecoverNested"}[kind])
	if err := in.spend(unitsOfAssociated); err != nil {
		return err
	}
	if kind == 2 {
		in.say("Nested accounts are not recovered by this sandbox")
		return refused("InvalidInstructionData")
	}
	return in.createAssociated(kind == 1)
}

// createAssociated makes the associated token account. Its accounts are: 0 the payer, 1 the new account, 2 the
// wallet, 3 the mint, 4 the System program, 5 the token program. With idempotent set, an account that already exists
// for this wallet and mint is a success.
func (in *invocation) createAssociated(idempotent bool) *InstructionError {
	if err := in.atLeast(6); err != nil {
		return err
	}
	wallet, mint, tokens := in.key(2), in.key(3), in.key(5)
	want, tries := associatedAddress(wallet, tokens, mint)
	if err := in.spend(uint64(tries) * unitsOfDerivation); err != nil {
		return err
	}
	// The address derives from wallet, token program and mint, so that anyone can compute it and nobody can choose
	// it.
	if want != in.key(1) {
		in.say("Error: Associated address does not match seed derivation")
		return refused("InvalidSeeds")
	}
	// An idempotent create accepts an account that exists, but only with the expected owner and mint.
	a := in.account(1)
	if idempotent && a.Owner == tokens && unpack(a.Data, kindAccount, false) == nil {
		h := tokenAccount(a.Data)
		if h.owner() != wallet {
			in.say("Associated token account owner does not match address derivation")
			return custom(0)
		}
		if h.mint() != mint {
			return refused("InvalidAccountData")
		}
		return nil
	}
	// Only an account that is still the System program's can be created.
	if a.Owner != systemProgram {
		return refused("IllegalOwner")
	}
	// The token program knows the size, because Token-2022 mints can require extensions in their accounts.
	size, err := in.askSize(tokens, mint)
	if err != nil {
		return err
	}
	// The account is made first and initialized afterwards, by three calls within one instruction: a failure undoes
	// all of them.
	if err := in.createDerived(tokens, size); err != nil {
		return err
	}
	in.say("Initialize the associated token account")
	// InitializeImmutableOwner (22), then InitializeAccount3 (18).
	if err := in.callCosting(tokens, []byte{22}, nil, callMeta{key: want, writable: true}); err != nil {
		return err
	}
	return in.callCosting(tokens, append([]byte{18}, wallet[:]...), nil, callMeta{key: want, writable: true}, callMeta{key: mint})
}

// askSize calls the token program's GetAccountDataSize (21) and returns the size of the new account in bytes.
func (in *invocation) askSize(tokens, mint address) (uint64, *InstructionError) {
	if !isTokenProgram(tokens) {
		return 0, refused("IncorrectProgramId")
	}
	if err := in.callCosting(tokens, []byte{21, extImmutableOwner, 0}, nil, callMeta{key: mint}); err != nil {
		return 0, err
	}
	r := in.returned
	switch {
	case r == nil || len(r.data) != 8:
		return 0, refused("InvalidInstructionData")
	case r.program != tokens:
		return 0, refused("IncorrectProgramId")
	}
	return binary.LittleEndian.Uint64(r.data), nil
}

// createDerived makes account 1, a program-derived address. Anyone can send lamports to it beforehand, and
// CreateAccount refuses an account with a balance, so in that case the account is topped up, allocated and assigned
// in three calls.
func (in *invocation) createDerived(owner address, size uint64) *InstructionError {
	payer, made := in.key(0), in.key(1)
	reserve := in.rent.minimum(int(size))
	held := in.account(1).Lamports
	signed := []address{made}
	// Nobody has paid into the address: one CreateAccount (0) is enough.
	if held == 0 {
		data := binary.LittleEndian.AppendUint32(nil, 0)
		data = binary.LittleEndian.AppendUint64(data, reserve)
		data = binary.LittleEndian.AppendUint64(data, size)
		return in.callCosting(systemProgram, append(data, owner[:]...), signed,
			callMeta{payer, true, true}, callMeta{made, true, true})
	}
	// Top up what is missing for the rent minimum.
	if held < reserve {
		if err := in.callTransfer(payer, made, reserve-held); err != nil {
			return err
		}
	}
	// System instructions Allocate (8) and Assign (1).
	data := binary.LittleEndian.AppendUint32(nil, 8)
	if err := in.callCosting(systemProgram, binary.LittleEndian.AppendUint64(data, size), signed, callMeta{made, true, true}); err != nil {
		return err
	}
	data = binary.LittleEndian.AppendUint32(nil, 1)
	return in.callCosting(systemProgram, append(data, owner[:]...), signed, callMeta{made, true, true})
}

// callTransfer calls the System program to move lamports.
func (in *invocation) callTransfer(from, to address, lamports uint64) *InstructionError {
	data := binary.LittleEndian.AppendUint32(nil, 2)
	return in.callCosting(systemProgram, binary.LittleEndian.AppendUint64(data, lamports), nil,
		callMeta{from, true, true}, callMeta{to, false, true})
}

// callCosting calls another program and charges the compute units of the call itself.
func (in *invocation) callCosting(program address, data []byte, derived []address, metas ...callMeta) *InstructionError {
	if err := in.spend(unitsOfCall); err != nil {
		return err
	}
	return in.call(program, data, derived, metas...)
}
