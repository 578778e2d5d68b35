package wallet

import (
	"math"
	"slices"
	"time"
)

// Watch is how far the chain was read for one connected wallet, so that each incoming payment is announced once. Everything
// in it is of finalized blocks.
type Watch struct {
	Address Address `json:"address"`
	// Since is the first slot that is watched. What is older is the wallet's history and is not announced.
	Since  uint64    `json:"since"`
	FullAt time.Time `json:"full_at"` // when all histories were last read, whether a balance had moved or not
	// FullSlot is the slot up to which they were read then, and FullTo the one up to which they are being read again; zero:
	// they are not. An account whose Slot is FullTo or later was read.
	FullSlot uint64 `json:"full_slot,omitzero"`
	FullTo   uint64 `json:"full_to,omitzero"`
	// Accounts are the wallet itself, then its token accounts: those that are known, and those that it would be paid to.
	Accounts []WatchedAccount    `json:"accounts"`
	Unread   []UnreadTransaction `json:"unread,omitempty"`
	// News says that more than folded payments moved the wallet since its balances were last reported (balance.updated).
	News bool `json:"news,omitzero"`
	// Failures counts looks in a row that nodes kept from being complete.
	Failures int    `json:"failures,omitzero"`
	Version  uint64 `json:"version"` // for the store's compare-and-set
}

// WatchedAccount is one account of a watched wallet: its balance at a slot, and how far its history was read. Every
// transaction up to Slot that moved the balance is within Mark.
type WatchedAccount struct {
	Address Address   `json:"address"`
	Slot    uint64    `json:"slot"`
	Exists  bool      `json:"exists,omitzero"`
	Units   uint64    `json:"units,omitzero"`  // lamports of the wallet itself, base units of a token account
	Mint    Address   `json:"mint,omitzero"`   // of a token account that was seen
	Before  *uint64   `json:"before,omitzero"` // Units when the balances were last reported; nil: the same
	Mark    Watermark `json:"mark"`
	// AtMark is what the account held after the transactions of Mark, while its history is read beyond Slot and that is known. By
	// it the next look notices that a node leaves out what follows.
	AtMark *uint64       `json:"at_mark,omitempty"`
	Cursor HistoryCursor `json:"cursor,omitempty"` // of a walk that takes more than one look
	// DeniedSince is since when every node has denied what its history must hold; zero: they do not.
	DeniedSince time.Time `json:"denied_since,omitzero"`
}

// UnreadTransaction is one that every node shows in a way that cannot be read, or not at all. It is tried again and hides
// no other.
type UnreadTransaction struct {
	Signature Signature `json:"signature"`
	Slot      uint64    `json:"slot"`
	Since     time.Time `json:"since"`
	Next      time.Time `json:"next"`            // when it is tried again
	Shown     bool      `json:"shown,omitempty"` // nodes showed it at the last try, in a way that can't be read
}

// Lists tells whether an account is among those that are watched.
func (w Watch) Lists(account Address) bool {
	return slices.ContainsFunc(w.Accounts, func(a WatchedAccount) bool { return a.Address == account })
}

// Past is the watermark behind entries, which follow each other from w on, oldest first. It stays before the first that
// is not finalized.
func (w Watermark) Past(entries []SignatureEntry) Watermark {
	out := Watermark{Slot: w.Slot, Seen: slices.Clone(w.Seen)}
	for _, entry := range entries {
		if !entry.Finalized {
			break
		}
		if entry.Slot != out.Slot {
			out = Watermark{Slot: entry.Slot}
		}
		out.Seen = append(out.Seen, entry.Signature)
	}
	return out
}

// DustLamports is the amount of SOL below which a payment from an unknown sender counts as dust: 0.0001 SOL.
const DustLamports = 100_000

// Dust reports whether a gain is so small that it is worth next to nothing: of SOL, wrapped or not, less than DustLamports, of
// another token less than a thousandth, or, if it has more than six decimals, than a ten-thousandth. Of a token without decimals no
// unit is dust.
func (n NetChange) Dust() bool {
	const common = 6 // decimals; tokens with more are mostly worth more
	switch d := n.Token.Decimals; {
	case n.Lost:
		return false
	case n.Token.Native() || n.Token.Mint == WrappedSOL:
		return n.Units < DustLamports
	case d == 0:
		return false
	case d <= common:
		return n.Units < powerOfTen(max(d, 3)-3)
	default:
		return n.Units < powerOfTen(d-4)
	}
}

// powerOfTen returns 10^n, or the largest number that there is.
func powerOfTen(n uint8) uint64 {
	power := uint64(1)
	for range n {
		if power > math.MaxUint64/10 {
			return math.MaxUint64
		}
		power *= 10
	}
	return power
}

// AccountHint names an account that may have changed, and the wallet to which it belongs. It is no evidence.
type AccountHint struct{ Account, Owner Address }

// WatchedStakes is what was last read of the stakes that a wallet can use, and what their owner was notified of. It is a row of
// its own: reading the history of a wallet neither waits for it nor changes it.
type WatchedStakes struct {
	Address  Address        `json:"address"` // the wallet
	ReadAt   time.Time      `json:"read_at"`
	Rewarded uint64         `json:"rewarded"` // the first epoch whose rewards are not announced: the current one, if all are
	All      []WatchedStake `json:"all,omitempty"`
	// Validators are those that active stakes are delegated to.
	Validators []WatchedValidator `json:"validators,omitempty"`
	Version    uint64             `json:"version"` // for the store's compare-and-set
}

// WatchedStake is the state in which a stake account was last read.
type WatchedStake struct {
	Account Address    `json:"account"`
	Voter   Address    `json:"voter,omitzero"`
	State   StakeState `json:"state"`
}
