package chain

import (
	"encoding/binary"

	"purser/wallet"
)

// movement is what one instruction of a known program moves between two of its accounts. from, to, mint and authority
// are positions among them; absent: the program makes or destroys units.
type movement struct {
	how                       string // one of wallet.MovedByTransfer, MovedByMint, MovedByBurn
	lamports                  bool   // lamports, not units of a token
	checked                   bool   // the instruction names mint and decimals, and the program compared them
	create                    bool   // the lamports go to an account that the same instruction creates
	all                       moved
	from, to, mint, authority int
	first                     int // position of the first account that the movement does not need
	units, fee                uint64
	decimals                  uint8
}

// absent is the position of an account that an instruction does not have.
const absent = -1

// moved says which part of an account an instruction moves if its data does not say how much.
type moved int

const (
	asSaid     moved = iota // units
	everything              // all lamports: the account is closed or merged
	wrapped                 // all lamports that are wrapped SOL
	excess                  // all lamports beyond what the account needs
)

// Discriminators of instructions that move something, beside those in transfer.go.
const (
	systemCreate         = 0 // u32
	systemCreateSeed     = 3
	systemWithdrawNonce  = 5
	systemTransferSeed   = 11
	systemCreatePrefund  = 13
	stakeSplit           = 3 // u32
	stakeWithdraw        = 4
	stakeMerge           = 7
	stakeMoveStake       = 16
	stakeMoveLamports    = 17
	tokenTransfer        = 3 // u8, of both token programs
	tokenMintTo          = 7
	tokenBurn            = 8
	tokenClose           = 9
	tokenMintToChecked   = 14
	tokenBurnChecked     = 15
	tokenFees            = 26 // followed by a second discriminator
	tokenFeesTransfer    = 1
	tokenWithdrawExcess  = 38
	tokenUnwrapLamports  = 45
	tokenBatch           = 255
	maxBatched           = 64 // instructions of one batch that are read
	tokenInitialize      = 1
	tokenInitialize2     = 16
	tokenInitialize3     = 18
	longestReadData      = 1 << 10 // bytes; no instruction that is read here is longer
	longestReadDataChars = 1400    // of such bytes in base58
)

// movementOf reads an instruction with so many accounts. false: it moves nothing, or is not known here. Data may go on
// after what the program reads.
func movementOf(program wallet.Address, accounts int, data []byte) (movement, bool) {
	var m movement
	var ok bool
	switch {
	case program == wallet.SystemProgram:
		m, ok = systemMovement(data)
	case program == wallet.StakeProgram:
		m, ok = stakeMovement(data)
	case isTokenProgram(program):
		m, ok = tokenMovement(data)
	}
	if !ok || max(m.from, m.to, m.mint, m.authority) >= accounts {
		return movement{}, false
	}
	return m, true
}

// lamportsFrom is a movement of lamports from one position to another.
func lamportsFrom(from, to int, units uint64) movement {
	return movement{how: wallet.MovedByTransfer, lamports: true, from: from, to: to, mint: absent, authority: from, first: max(from, to) + 1, units: units}
}

// systemMovement reads an instruction of the System program: u32, then its arguments.
func systemMovement(data []byte) (movement, bool) {
	if len(data) < 12 {
		return movement{}, false
	}
	lamports := binary.LittleEndian.Uint64(data[4:])
	switch binary.LittleEndian.Uint32(data) {
	case systemTransfer:
		return lamportsFrom(0, 1, lamports), true
	case systemCreate:
		m := lamportsFrom(0, 1, lamports)
		m.create = true
		return m, true
	case systemCreatePrefund: // the account first, then who pays
		m := lamportsFrom(1, 0, lamports)
		m.create = true
		return m, lamports > 0
	case systemWithdrawNonce:
		return lamportsFrom(0, 1, lamports), true
	case systemTransferSeed: // source, its base, destination
		return lamportsFrom(0, 2, lamports), true
	// The seed has a length of its own in front, so the lamports have no fixed place.
	case systemCreateSeed: // base 32, seed u64 and text, lamports
		if len(data) < 4+32+8 {
			return movement{}, false
		}
		seed := binary.LittleEndian.Uint64(data[36:])
		if rest := data[44:]; seed <= uint64(len(rest)) && uint64(len(rest))-seed >= 8 {
			m := lamportsFrom(0, 1, binary.LittleEndian.Uint64(rest[seed:]))
			m.create = true
			return m, true
		}
	}
	return movement{}, false
}

// stakeMovement reads an instruction of the Stake program as far as it moves lamports: u32, then its arguments.
func stakeMovement(data []byte) (movement, bool) {
	if len(data) < 4 {
		return movement{}, false
	}
	kind := binary.LittleEndian.Uint32(data)
	if kind == stakeMerge { // into the first, all of the second
		m := lamportsFrom(1, 0, 0)
		m.all = everything
		return m, true
	}
	if len(data) < 12 {
		return movement{}, false
	}
	switch kind {
	case stakeSplit, stakeWithdraw, stakeMoveStake, stakeMoveLamports:
		return lamportsFrom(0, 1, binary.LittleEndian.Uint64(data[4:])), true
	}
	return movement{}, false
}

// tokenMovement reads an instruction of a token program: u8, then its arguments.
func tokenMovement(data []byte) (movement, bool) {
	if len(data) == 0 {
		return movement{}, false
	}
	switch data[0] {
	case tokenClose:
		m := lamportsFrom(0, 1, 0)
		m.all = everything
		return m, true
	case tokenWithdrawExcess:
		m := lamportsFrom(0, 1, 0)
		m.all = excess
		return m, true
	case tokenUnwrapLamports: // Option<u64>
		m := lamportsFrom(0, 1, 0)
		if len(data) >= 10 && data[1] == 1 {
			m.units = binary.LittleEndian.Uint64(data[2:])
			return m, true
		}
		m.all = wrapped
		return m, len(data) >= 2 && data[1] == 0
	}
	// TransferCheckedWithFee is TransferChecked with one more argument.
	if data[0] == tokenFees { // the same arguments behind the second discriminator, and the fee
		if len(data) < 19 || data[1] != tokenFeesTransfer {
			return movement{}, false
		}
		m, ok := tokenMovement(append([]byte{transferChecked}, data[2:11]...))
		m.fee = binary.LittleEndian.Uint64(data[11:])
		return m, ok && m.fee <= m.units
	}
	if len(data) < 9 {
		return movement{}, false
	}
	// All that remain begin with an amount in base units.
	m := movement{units: binary.LittleEndian.Uint64(data[1:]), how: wallet.MovedByTransfer}
	switch data[0] {
	case tokenTransfer:
		m.from, m.to, m.mint, m.authority, m.first = 0, 1, absent, 2, 3
	case transferChecked:
		m.from, m.mint, m.to, m.authority, m.first = 0, 1, 2, 3, 4
	case tokenMintTo, tokenMintToChecked:
		m.how, m.from, m.to, m.mint, m.authority, m.first = wallet.MovedByMint, absent, 1, 0, 2, 3
	case tokenBurn, tokenBurnChecked:
		m.how, m.from, m.to, m.mint, m.authority, m.first = wallet.MovedByBurn, 0, absent, 1, 2, 3
	default:
		return movement{}, false
	}
	if data[0] == transferChecked || data[0] == tokenMintToChecked || data[0] == tokenBurnChecked {
		if len(data) < 10 {
			return movement{}, false
		}
		m.checked, m.decimals = true, data[9]
	}
	return m, true
}

// initialized reads an instruction of a token program that makes an account a token account: positions of the account
// and of its mint, and its owner, which is an account (at a position) or in the data.
func initialized(data []byte) (account, mint, ownerAt int, owner wallet.Address, ok bool) {
	switch {
	case len(data) >= 1 && data[0] == tokenInitialize:
		return 0, 1, 2, owner, true
	case len(data) >= 33 && (data[0] == tokenInitialize2 || data[0] == tokenInitialize3):
		return 0, 1, absent, wallet.Address(data[1:33]), true
	}
	return 0, 0, absent, owner, false
}

// unbatched splits a batch of a token program into its instructions: for each the number of its accounts, the length
// of its data, and the data; the accounts follow each other. Anything else is returned as it is. A batch that is not
// whole ends where it ends.
func unbatched(program wallet.Address, in instruction) []instruction {
	if !isTokenProgram(program) || len(in.data) == 0 || in.data[0] != tokenBatch {
		return []instruction{in}
	}
	var out []instruction
	// The two bytes in front of each instruction are the number of its accounts and the length of its data.
	accounts, data := in.accounts, in.data[1:]
	for len(data) >= 2 && len(out) < maxBatched {
		n, length := int(data[0]), int(data[1])
		if n > len(accounts) || length > len(data)-2 {
			break
		}
		one := instruction{program: in.program, accounts: accounts[:n], data: data[2 : 2+length]}
		accounts, data = accounts[n:], data[2+length:]
		// The token program allows no batch within a batch.
		if length > 0 && one.data[0] != tokenBatch {
			out = append(out, one)
		}
	}
	return out
}
