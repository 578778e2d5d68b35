package wallet

import (
	"errors"
	"time"
)

// Blockhash is a recent blockhash (getLatestBlockhash). A transaction with it cannot land in a block higher than
// LastValidBlockHeight. Slot is the slot of the node's answer. Heights and slots differ: a slot may have no block.
type Blockhash struct {
	Hash                 [32]byte `json:"hash"`
	LastValidBlockHeight uint64   `json:"last_valid_block_height"`
	Slot                 uint64   `json:"slot"`
}

// IssuedBlockhash is a blockhash that was issued to a device for one transaction, and when. It is stored before the
// device gets it.
type IssuedBlockhash struct {
	Blockhash Blockhash `json:"blockhash"`
	At        time.Time `json:"at"`
}

// Landing is what the chain reports of a transaction in a block.
type Landing struct {
	Signature     Signature `json:"signature"` // may differ from ours: a wallet that changes fees signs other bytes
	Slot          uint64    `json:"slot"`
	BlockHeight   uint64    `json:"block_height"`
	Fee           uint64    `json:"fee"`   // lamports
	Spent         uint64    `json:"spent"` // lamports that the fee payer lost in total; 0 if the node did not say
	Confirmations int       `json:"confirmations"`
	Finalized     bool      `json:"finalized"`
	Failure       string    `json:"failure"` // short form of the chain's error; "" for success
	// Gained is the one token of which the fee payer got more than it gave; zero if there is none, or several.
	Gained Gain `json:"gained,omitzero"`
}

// Gain is how much of one token somebody gained, in base units. SOL and wrapped SOL are one.
type Gain struct {
	Mint  Address `json:"mint,omitzero"` // zero for SOL
	Units uint64  `json:"units"`
}

// OnlyGain returns the one token of which there is more after an Activity with these net changes; zero if there is none, or several.
func OnlyGain(net []NetChange) (only Gain) {
	totals := map[Address][2]uint64{} // gained and lost
	for _, n := range net {
		mint := n.Token.Mint
		if mint == WrappedSOL {
			mint = Address{}
		}
		sum := totals[mint]
		if n.Lost {
			sum[1] += n.Units
		} else {
			sum[0] += n.Units
		}
		totals[mint] = sum
	}
	for mint, sum := range totals {
		switch {
		case sum[0] <= sum[1]:
		case only != Gain{}:
			return Gain{}
		default:
			only = Gain{Mint: mint, Units: sum[0] - sum[1]}
		}
	}
	return only
}

// ErrSomeUnread means that a search for payments was complete except for single transactions that could not be read.
// Another search may read them.
var ErrSomeUnread = errors.New("some transactions could not be read")

// Account is the state of an address on chain.
type Account struct {
	Exists     bool
	Lamports   uint64
	Owner      Address // the program that owns the account
	Executable bool
	Slot       uint64 // of the node's answer
}
