package store

import "time"

// How long an engine keeps what nobody asks it to remove; Sweep removes it then. Rows with a time of
// their own (buttons: ExpiresAt, used or not; replies: NotAfter; idempotency answers: ExpiresAt) are
// kept until that. All else is kept: transactions that were signed, or could have been, and the ids of events for good, users, wallets,
// contacts, conversations, cards and keys until they are replaced or their person is erased.
const (
	// SeenFor is how long an update id is known as seen (docs/architecture.md, Telegram), from when it was last taken
	// in.
	SeenFor = 48 * time.Hour
	// BindKeptFor is how long a bind link is kept after it expired, so that a late visitor is told
	// what became of it.
	BindKeptFor = 24 * time.Hour
	// ProposalKeptFor is how long a transaction that came to nothing (wallet.Transaction.NothingSigned) is kept, from
	// its end: anybody can propose as many as they like, and history needs the recent ones alone.
	ProposalKeptFor = 30 * 24 * time.Hour
)
