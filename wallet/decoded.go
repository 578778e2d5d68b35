package wallet

// Action is one thing that a transaction does, decoded from its bytes or intended before it is built. Type says which of
// the fields are set.
type Action struct {
	Type      string  // one of the constants ActionTransfer, ActionTokenTransfer and so on
	From, To  Address // wallets, not token accounts; To of a token transfer is zero if the bytes do not prove it; of a delegation the vote account
	Lamports  uint64  // of a transfer, a new stake account, a split or a withdrawal
	Account   Address // token account: of a token transfer where it goes, or the one created, or the one whose delegate is taken away; or the stake account that is changed
	Source    Address // the stake account that a split or a merge takes from
	Mint      Address
	Program   Address // the token program
	Units     uint64  // base units of a token transfer
	Decimals  uint8   // of a token transfer: the network checks it against the mint
	Reference Address // of a principal action: the last of References, which identifies it to purser; zero without
	// References are the accounts that a transfer names without needing them, in order: first those of the payment link
	// that it answers, then purser's own.
	References []Address
	Text       string // of a memo, or the seed of a new stake account
	Swap       *SwapAction
}

// Decoded is what a message says, read from its bytes alone. Intent is the SHA-256 of the message with a zero blockhash.
// Two messages with equal intents differ in their blockhash at most.
type Decoded struct {
	Version          string // "legacy" or "v0"
	FeePayer         Address
	Blockhash        [32]byte
	Intent           [32]byte
	Actions          []Action
	ComputeUnitLimit *uint32
	ComputeUnitPrice uint64 // micro-lamports per compute unit
	Fee              uint64 // lamports: 5,000 for each signature, and the priority fee, rounded up
}
