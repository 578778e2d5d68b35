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
