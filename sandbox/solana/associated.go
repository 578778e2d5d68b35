package solana

import "encoding/binary"

// Compute units of the associated token account program: each try for an address, and what lies
// around its calls.
const (
	unitsOfDerivation = 1500
	unitsOfAssociated = 1850
	unitsOfCall       = 2350
)

// associated runs one instruction of the associated token account program: Create (0, or no data)
// and CreateIdempotent (1). RecoverNested is refused (docs/sandbox-differences.md).
func (in *invocation) associated() *InstructionError {
	kind := byte(0)
	if len(in.data) > 0 {
		kind = in.data[0]
	}
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

// createAssociated makes account 1 the associated account of wallet 2 for mint 3, of token
// program 5; account 0 pays, account 4 is the System program.
func (in *invocation) createAssociated(idempotent bool) *InstructionError {
	if err := in.atLeast(6); err != nil {
		return err
	}
	wallet, mint, tokens := in.key(2), in.key(3), in.key(5)
	want, tries := associatedAddress(wallet, tokens, mint)
	if err := in.spend(uint64(tries) * unitsOfDerivation); err != nil {
		return err
	}
	if want != in.key(1) {
		in.say("Error: Associated address does not match seed derivation")
		return refused("InvalidSeeds")
	}
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
	if a.Owner != systemProgram {
		return refused("IllegalOwner")
	}
	size, err := in.askSize(tokens, mint)
	if err != nil {
		return err
	}
	if err := in.createDerived(tokens, size); err != nil {
		return err
	}
	in.say("Initialize the associated token account")
	if err := in.callCosting(tokens, []byte{22}, nil, callMeta{key: want, writable: true}); err != nil {
		return err
	}
	return in.callCosting(tokens, append([]byte{18}, wallet[:]...), nil, callMeta{key: want, writable: true}, callMeta{key: mint})
}

// askSize asks the token program how long the new account has to be.
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

// createDerived makes account 1, a derived address, which may have been sent lamports before.
func (in *invocation) createDerived(owner address, size uint64) *InstructionError {
	payer, made := in.key(0), in.key(1)
	reserve := in.rent.minimum(int(size))
	held := in.account(1).Lamports
	signed := []address{made}
	if held == 0 {
		data := binary.LittleEndian.AppendUint32(nil, 0)
		data = binary.LittleEndian.AppendUint64(data, reserve)
		data = binary.LittleEndian.AppendUint64(data, size)
		return in.callCosting(systemProgram, append(data, owner[:]...), signed,
			callMeta{payer, true, true}, callMeta{made, true, true})
	}
	if held < reserve {
		if err := in.callTransfer(payer, made, reserve-held); err != nil {
			return err
		}
	}
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

// callCosting is call with the units that calling takes.
func (in *invocation) callCosting(program address, data []byte, derived []address, metas ...callMeta) *InstructionError {
	if err := in.spend(unitsOfCall); err != nil {
		return err
	}
	return in.call(program, data, derived, metas...)
}
