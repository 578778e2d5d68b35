package wallet

import (
	"errors"
	"fmt"
	"time"
)

// EntryType is what an entry of the history is to its owner, in the words of the API: of a transaction of purser (Rules.Type), and
// of an Activity that was made elsewhere. What is the same to its owner has the same word, no matter who made it.
type EntryType string

// The types of an Activity. Those that a kind of transaction here could be have its word.
const (
	ActivitySent      = EntryType(Send)
	ActivityReceived  = EntryType(Receive)
	ActivityStaked    = EntryType(Stake)
	ActivityUnstaked  = EntryType(Unstake)
	ActivityWithdrawn = EntryType(Withdraw)
	// ActivitySwapped gave something and got something else, in a transaction that the owner signed.
	ActivitySwapped EntryType = "swap"
	// ActivityInternal moved money between accounts of the owner alone: wrapping SOL, or one token account to another.
	ActivityInternal      EntryType = "internal"
	ActivityAccountOpened EntryType = "account_opened" // and nothing else
	ActivityAccountClosed EntryType = "account_closed" // and nothing else
	// ActivityOther is everything that failed (Activity.Failure), or is not understood well enough to be called one of the above.
	// Its balance changes hold all the same.
	ActivityOther EntryType = "other"
)

// activityTypes lists the types of an Activity.
func activityTypes() []EntryType {
	return []EntryType{ActivitySent, ActivityReceived, ActivityStaked, ActivityUnstaked, ActivityWithdrawn, ActivitySwapped, ActivityInternal,
		ActivityAccountOpened, ActivityAccountClosed, ActivityOther}
}

// How a Movement came about.
const (
	MovedByTransfer  = "transfer"
	MovedAsRent      = "rent"      // lamports that a token account holds so that it may exist
	MovedByMint      = "mint"      // the token's issuer made the units
	MovedByBurn      = "burn"      // the units are gone
	MovedByAuthority = "authority" // the token account got another owner, with what was in it
)

// Activity is what a transaction on chain did for one owner. How much is always what the balances before and after it
// say. What instructions say only adds who was on the other side, and only where it agrees with the balances.
type Activity struct {
	Signature Signature
	Slot      uint64
	At        time.Time // of the block, to the second; zero if the node does not know
	Failure   string    // short form of the chain's error; "" for success
	Fee       uint64    // lamports, of the whole transaction
	FeePayer  Address
	Signed    bool   // the owner is one of its signers
	Memo      string // its only memo; "" for none, for several, and for one that CheckMemo refuses
	Kind      EntryType
	// Program is the first program that the transaction calls and that does not belong to SOL and tokens: a stake program,
	// an exchange. Zero if there is none.
	Program Address
	// Net is what the owner gained or lost, by token. SOL is without the fee, and without what the owner's own token
	// accounts hold as rent. Tokens that did not change are left out.
	Net []NetChange
	// Changes are the balances that differ, by account: lamports of the wallet itself, units of its token accounts.
	Changes []BalanceChange
	// Rent is how many lamports the owner's token accounts held as rent before and after.
	Rent BalanceChange
	// Movements are what came from others and went to others, in the order of the instructions. Those of a token are left
	// out if they do not add up to its net change.
	Movements []Movement
	// Unexplained are those that were left out. They do not say who paid, or how much, but which references a payer named.
	Unexplained []Movement
	// Opened and Closed are token accounts of the owner. One that lived only within the transaction is in neither.
	Opened, Closed []Address
	// Accounts are all token accounts that the transaction shows to be the owner's after it.
	Accounts []Address
	// Mentions are all accounts that the transaction names, those of lookup tables included; empty: nobody says.
	Mentions []Address
}

// OwnFee is how many lamports of the fee the owner paid.
func (a Activity) OwnFee(owner Address) uint64 {
	if a.FeePayer != owner {
		return 0
	}
	return a.Fee
}

// NetChange is a gain or a loss of one token.
type NetChange struct {
	Token Token
	Units uint64 // base units; never 0
	Lost  bool
	// Explained says that Movements add up to it. Otherwise nobody knows who was on the other side.
	Explained bool
}

// BalanceChange is a balance before (Pre) and after (Post) a transaction, in base units.
type BalanceChange struct {
	Token     Token
	Account   Address // the token account; for SOL the wallet itself
	Pre, Post uint64
}

// Movement is money that came from somebody else or went there. Zero Units are possible: transfers of nothing put
// addresses into somebody's history.
type Movement struct {
	How string // one of the constants MovedByTransfer and so on
	In  bool
	// With is the other's wallet; zero if it is not known, and for units that were made or burned. Of what came in it is the
	// owner before the transaction, and nobody if that changed within it.
	With Address
	// Signed says of what came in that With signed the transaction. Somebody else may be allowed to move what they own.
	Signed  bool
	Account Address // the other's account: the wallet itself for SOL; zero for units that were made or burned
	Token   Token
	Units   uint64 // base units that left the source
	// Fee is how many of Units the token's issuer withheld (Token-2022). The receiver got the rest.
	Fee uint64
	// References are accounts that the transfer names without needing them, by which payment requests are recognised.
	References []Address
	// Memo is the memo right before a transfer that names References, where Solana Pay puts it, else the transaction's only one.
	Memo string
}

// UnreadableTransaction says that one transaction cannot be shown as an Activity, by any configured node: they show it
// in a way that contradicts itself, or it is of a version that is not read here. It says nothing about other
// transactions.
type UnreadableTransaction struct {
	Signature Signature
	Why       string // in words of our own
	// ForGood says that its version is not read here, so that it cannot be read another time.
	ForGood bool
}

func (e *UnreadableTransaction) Error() string {
	return fmt.Sprintf("transaction %s cannot be read: %s", e.Signature, e.Why)
}

// SignatureEntry is one line of an address's history.
type SignatureEntry struct {
	Signature Signature
	Slot      uint64
	At        time.Time // of the block, to the second; zero if the node does not know
	Failed    bool
	Finalized bool // the block cannot be dropped any more
}

// Watermark is how far an address's history has been read: everything below Slot, and in Slot the signatures Seen. The
// zero Watermark is before everything.
type Watermark struct {
	Slot uint64      `json:"slot"`
	Seen []Signature `json:"seen,omitempty"`
}

// HistoryCursor remembers places on the way back through a long history, newest first, so that the next part of the
// walk need not begin at the newest transaction again. It only saves calls: a walk without it, or with one that no node
// knows any more, finds the same.
type HistoryCursor []Signature

// HistoryQuery is what a walk through an address's history looks for.
type HistoryQuery struct {
	Address Address
	From    Watermark
	Cursor  HistoryCursor // of the walk before; nil to begin at the newest transaction
	// Finalized asks for finalized transactions alone. Otherwise confirmed ones come too, and Next stays before them.
	Finalized bool
	MinSlot   uint64 // the answering node must have come so far: the slot of the sweep that saw a change
	// Changed says that a balance changed since From. Then no node is believed that knows of no transaction.
	Changed bool
	// Skip is how many nodes are passed over, because the histories that they showed leave something out.
	Skip int
}

// HistoryWalk is the part of an address's history that one walk found.
type HistoryWalk struct {
	Entries []SignatureEntry // oldest first
	// Next is the watermark after Entries. It never passes an entry that is not finalized, so it may be stored.
	Next Watermark
	// More says that there are entries after these: walk again from Next, with Cursor.
	More   bool
	Cursor HistoryCursor
	// Since is the first slot from which on the history is complete; 0 if all of it since the watermark was found. It is
	// greater than the watermark's slot if every node has thrown older blocks away.
	Since uint64
	Node  int // which node showed it: the first one is 0
}

// Why a walk or a sweep could not be believed. Each comes inside a NetworkError. Nothing that was found is lost: with
// ErrHistoryPruned and ErrHistoryUnknown come the entries up to where the nodes know the history.
var (
	// ErrNodeBehind: every node lags behind the slot that is asked about.
	ErrNodeBehind = errors.New("every node is behind the slot that was asked about")
	// ErrHistoryPruned: no node has the blocks back to the watermark.
	ErrHistoryPruned = errors.New("no node has the history back to where it was last read")
	// ErrHistoryUnknown: every node's history ends before it reaches what was seen already, although the node says that it
	// has the blocks. There may be transactions that none of them shows.
	ErrHistoryUnknown = errors.New("no node knows what was last read of the history")
	// ErrNothingNew: the balance changed, and no node knows of a transaction that did it.
	ErrNothingNew = errors.New("the balance changed, and no node shows a transaction")
	// ErrHistoryGap: the histories of the nodes that were passed over leave something out, and no other one can be believed.
	ErrHistoryGap = errors.New("every node leaves a transaction out")
	// ErrTransactionUnknown: no node has this transaction.
	ErrTransactionUnknown = errors.New("no node has the transaction")
)

// AccountBalance is one account in a sweep: a wallet or a token account.
type AccountBalance struct {
	Address  Address
	Slot     uint64 // of the node's answer
	Exists   bool
	Lamports uint64
	Program  Address // that owns the account
	// Token is what the account holds, if it is a token account of one of the two programs.
	Token *TokenAccount
}
