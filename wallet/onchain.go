package wallet

import (
	"errors"
	"time"
)

// Blockhash is a recent blockhash with its end: a transaction that carries it cannot land above
// LastValidBlockHeight (getLatestBlockhash). Slot is the node's slot when it answered.
type Blockhash struct {
	Hash                 [32]byte `json:"hash"`
	LastValidBlockHeight uint64   `json:"last_valid_block_height"`
	Slot                 uint64   `json:"slot"`
}

// IssuedBlockhash is one blockhash that was handed to a device for one transaction.
type IssuedBlockhash struct {
	Blockhash Blockhash `json:"blockhash"`
	At        time.Time `json:"at"`
}

// Landing is what the chain says of a transaction that is in a block.
type Landing struct {
	Signature     Signature `json:"signature"` // may differ from ours: wallets may change fees
	Slot          uint64    `json:"slot"`
	BlockHeight   uint64    `json:"block_height"`
	Fee           uint64    `json:"fee"`   // lamports
	Spent         uint64    `json:"spent"` // lamports that left the fee payer in all; 0 where the node did not tell
	Confirmations int       `json:"confirmations"`
	Finalized     bool      `json:"finalized"`
	Failure       string    `json:"failure"` // "" for success, else the chain's own error, short
}

// ErrSomeUnread tells that a look for payments was whole but for single transactions, which may be read by
// another look.
var ErrSomeUnread = errors.New("some transactions could not be read")

// Payment is one transfer that came in.
type Payment struct {
	From    Address
	Units   uint64
	Memo    string // the public note that it carries on chain; "" for none, or for one that CheckMemo refuses
	Landing Landing
}

// Account is what the chain holds at an address.
type Account struct {
	Exists     bool
	Lamports   uint64
	Owner      Address
	Executable bool
	Slot       uint64 // at which the node read it
}
