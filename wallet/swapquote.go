package wallet

import "context"

// SwapRequest asks a source for a quote.
type SwapRequest struct {
	Taker       Address
	InMint      Address // the mint of wrapped SOL for SOL
	OutMint     Address
	Units       uint64 // base units of InMint
	SlippageBPS uint16
}

// SwapQuote is what a source offers for a SwapRequest: what it says of the swap, and the instruction that does it. None of it is
// trusted: what counts is read from the instruction (SwapReader).
type SwapQuote struct {
	Source string
	Venues []string // names of exchanges on the route, for people
	// ImpactBPS is how far the swap moves the price, in hundredths of a percent, unless ImpactUnknown.
	ImpactBPS     int64
	ImpactUnknown bool

	Program  Address
	Accounts []QuotedAccount
	Data     []byte
	Tables   []LookupTable
}

// QuotedAccount is one account of a quoted instruction.
type QuotedAccount struct {
	Address          Address
	Signer, Writable bool
}

// LookupTable is an address lookup table and what a source says that it holds, in its order.
type LookupTable struct {
	Address   Address
	Addresses []Address
}

// SwapQuoter is a source of quotes. Errors: NO_ROUTE if there is no way to make this swap, NETWORK_ERROR if the source does not
// answer.
type SwapQuoter interface {
	Quote(ctx context.Context, req SwapRequest) (SwapQuote, error)
}

// SwapReader reads what a quoted instruction would do, signed by a wallet. chain.Codec implements it.
type SwapReader interface {
	// ReadSwap fails if the instruction is none that may be proposed.
	ReadSwap(q SwapQuote, signer Address) (SwapAction, error)
}
