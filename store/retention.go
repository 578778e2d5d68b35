package store

import "time"

// How long rows are kept that nobody removes; then Sweep does. Rows with a time of their own (buttons, idempotency
// answers, send results, portal tokens: when they expire) are kept until then. The rest is kept: transactions that were or could
// have been signed, and the ids of events, for good; users, wallets, contacts, conversations and keys until they are
// replaced, removed, or their person is erased.
const (
	// SeenFor is how long the id of a Telegram update is known, from when it was last taken in (docs/architecture.md,
	// Telegram).
	SeenFor = 48 * time.Hour
	// BindKeptFor is how long a bind link is kept after it expired, so that a late visitor is shown what became of it.
	BindKeptFor = 24 * time.Hour
	// ProposalKeptFor is how long a transaction that came to nothing (wallet.Transaction.NothingSigned) is kept after
	// its end. Anybody can propose as many as they like, and the history only needs the recent ones.
	ProposalKeptFor = 30 * 24 * time.Hour
)
