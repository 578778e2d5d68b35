package wallet

// Action is one thing that a decoded transaction does.
type Action struct {
	Type      string
	From, To  Address // owners; To of a token transfer is zero where the bytes do not prove it
	Lamports  uint64  // of a transfer
	Account   Address // token account: of a token transfer where it goes, or the one created
	Mint      Address
	Program   Address // the token program
	Units     uint64  // of a token transfer
	Decimals  uint8   // of a token transfer
	Reference Address // of either transfer: the last of References, which is purser's own; zero without
	// References are all accounts that a transfer names beyond those that it needs, in their order: those of
	// a payment link that it answers, then purser's own.
	References []Address
	Text       string // of a memo
}

// Decoded is what a message says, read from its bytes alone. Intent is the SHA-256 of the message
// with its blockhash zeroed: two messages of equal intent differ in nothing else.
type Decoded struct {
	Version          string // "legacy" or "v0"
	FeePayer         Address
	Blockhash        [32]byte
	Intent           [32]byte
	Actions          []Action
	ComputeUnitLimit *uint32
	ComputeUnitPrice uint64 // micro-lamports a unit
	Fee              uint64 // lamports: 5,000 a signature and the priority fee, rounded up
}
