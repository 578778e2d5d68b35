package records

import "purser/store/engine"

// table is one table of the engine: its index in the layout. Tables are stored by their names (String), which must
// not change. The index is stored nowhere.
type table int

// What each table maps to what. Times in keys have 12 bytes, numbers 8, both big-endian, so that byte order is their
// order. "H(x)" is a keyed hash of 32 bytes. "user.0" is a user id and a zero byte, which is a bare zero byte for
// rows of the operator. A row has the form that row.go describes: plain JSON, sealed fields, a tag. "-" is an empty
// value. No key holds a secret: the operator's log may quote keys.
//
// A table that leads to rows of another one is called an index here. A row and its index entries are always written
// in one transaction. A crash leaves both or neither, so nothing rebuilds an index at start.
const (
	meta table = iota // "schema" -> number; "check", "lookup", "system" -> sealed by the master key; "kind/" kind -> 1; "news" -> the highest number that was given in news_items

	users     // user id -> row of wallet.User
	telegrams // H(telegram id) -> user id

	wallets   // address -> row of wallet.Wallet
	walletsOf // user.0 connected-at address -> -
	watches   // address -> row of wallet.Watch
	heldMints // mint address -> -, of what wallets hold by their watches
	staked    // address -> row of wallet.WatchedStakes
	folded    // address -> row of foldedRow
	binds     // sha256 of the link's token -> row of wallet.Bind
	bindsOf   // user.0 number (the newest has the highest) -> key of binds

	freezeLinks   // sha256 of the link's token -> row of wallet.FreezeLink
	freezeLinksOf // user.0 use -> key of freeze_links

	policies      // user.0 address -> row of wallet.WalletPolicy
	policyLinks   // sha256 of the link's token -> row of wallet.PolicyLink
	policyLinksOf // user id -> key of policy_links

	plantedSenders // user.0 address -> the time until which it is remembered

	// What is not final, what came to nothing, and what was final before schema 2. "created-at" is a time and a transaction id.
	transactions // transaction id -> row of wallet.Transaction
	bySignID     // H(sign id) -> transaction id
	bySignature  // signature -> transaction id (that of the payment, where a receipt shares its signature)
	unsettled    // created-at -> -, of those that are not Closed
	byOwner      // user.0 created-at -> -
	paidBy       // user.0 time recipient transaction id -> -, of transfers that reached the recipient
	byWallet     // address 'h' created-at -> -, history of a wallet; 'u' instead -> tag of the row: unsettled, by sender

	// Final transactions (finals.go). "n" is the number of a row in finals without its leading zero bytes, "millis" its time of creation
	// in milliseconds (6 bytes).
	finals      // number -> row of wallet.Transaction
	finalIDs    // first 8 bytes of a timed transaction id, n -> -
	finalHashes // first 6 bytes of H(signature), of H(sign id), or of H(another transaction id); n -> -
	finalsOf    // first 10 bytes of H(owner), 'p' millis n -> recipient, of transfers that reached the recipient; 'o' millis n -> -, of others
	finalsAt    // first 10 bytes of H(address), millis n -> -, history of a wallet

	contacts // user.0 H(user, name) -> row of wallet.Contact

	conversations // H(telegram id) H(chat) slot -> row of store.Conversation
	buttons       // nonce -> row of store.Button
	buttonsOf     // H(telegram id) H(chat, subject) nonce -> -
	cards         // H(chat) H(card) -> message id, then the time when the card expires, if it does

	sendResults // H(chat) H("send_result", card) -> row of store.SendResult

	seen // update id -> time when the update was last received

	outboxEvents       // number -> row of wallet.Event, of events that are not turned into deliveries yet
	eventIDs           // time digits of the transaction's id, if any, 16 bytes of H(event id) -> number of its job for notify, 0 without (uvarint); removed when the transaction is closed, and with a proposal
	idempotencyRecords // number -> row of store.IdempotencyRecord
	idempotencyKeys    // first 16 bytes of H(idempotency key) -> key of idempotencyRecords

	keys       // key id -> row of wallet.Key
	keySecrets // H(secret) -> key id
	keysOf     // user.0 key id -> -

	portalTokens   // H(kind, secret) -> row of store.PortalToken
	portalTokensOf // user.0 kind 0 ends-at key-of-portal-tokens -> H(lineage)

	apps       // app id -> row of wallet.App
	appsOf     // user.0 app id -> -
	grants     // user.0 app id -> row of wallet.Grant
	grantsTo   // app id 0 user id -> -
	developers // user id -> row of wallet.Developer

	webhooks      // webhook id -> row of wallet.Webhook
	webhooksOf    // lineage of the key 0 created-at webhook id -> -
	webhooksOwned // user.0 created-at webhook id -> lineage of the key
	webhookHealth // webhook id -> row of wallet.WebhookHealth

	deliveries      // webhook id 0 urgency (a byte) number -> delivery id
	deliveryRows    // delivery id, which begins with its time -> row of store.Delivery
	deliveriesAbout // user.0 number -> key of deliveries, of those about a person

	prices      // mint (32 zero bytes for SOL) -> row of priceRow
	rates       // code of a currency -> row of rateRow
	askedPrices // mint -> time when somebody last asked for its price, to within an hour

	newsItems // number -> row of newsRow
	newsKeys  // kind of key (a byte) H(id or title) -> time when it was last noted
	newsFeeds // H(address) -> row of newsFeedRow

	swapQuotes // user.0 id -> row of store.SwapQuote

	alerts      // user.0 id -> row of wallet.Alert
	alertLevels // series up-or-down level key-of-alerts -> -
	alertMarks  // series -> level, and the side on which it was announced to all (a byte)

	securityLog   // user.0 number -> row of wallet.SecurityEntry
	securityHeads // user id -> row of wallet.SecurityHead
	securitySeen  // user.0 subject -> row of wallet.Seen

	portfolios // user id -> row of wallet.Portfolio

	newsReaders // user id -> -, of those who want news

	counters // name -> row of store.Counter

	jobs     // queue 0 kind ... -> rows of store.Job and the entries that lead to them (jobqueue.go)
	deadJobs // key of a row of jobs -> row of store.DeadLetter
	leaders  // name -> row of the node that leads it

	heartbeats // node -> number of its heartbeats

	expiries // time, kind of row (expiry), its key -> -; Sweep walks it

	tableCount
)

// String is the table's name in the engine and in reports. The names are part of the stored form.
func (b table) String() string {
	return [tableCount]string{
		"meta", "users", "telegrams", "wallets", "wallets_of", "watches", "held_mints", "watched_stakes", "folded_payments", "binds", "binds_of", "freeze_links", "freeze_links_of", "policies", "policy_links", "policy_links_of", "planted_senders",
		"transactions", "by_sign_id", "by_signature", "unsettled", "by_owner", "paid_by", "by_wallet", "finals", "final_ids", "final_hashes", "finals_of", "finals_at", "contacts",
		"conversations", "buttons", "buttons_of", "cards", "send_results", "seen",
		"outbox_events", "event_ids", "answers", "answer_keys", "keys", "key_secrets", "keys_of", "portal_tokens", "portal_tokens_of",
		"apps", "apps_of", "grants", "grants_to", "developers", "webhooks", "webhooks_of", "webhooks_owned", "webhook_health",
		"deliveries", "delivery_rows", "deliveries_about", "prices", "rates", "asked_prices", "news_items", "news_keys", "news_feeds", "swap_quotes", "alerts", "alert_levels", "alert_marks", "security_log", "security_heads", "security_seen", "portfolios", "news_readers", "counters",
		"jobs", "dead_jobs", "leaders", "heartbeats", "expiries",
	}[b]
}

// grows tells whether most new keys of a table come after all others, or, in jobs, after all others of their queue.
// The engine then fills its pages to the end before it begins another.
func (b table) grows() bool {
	switch b {
	case transactions, unsettled, seen, outboxEvents, eventIDs, idempotencyRecords, deliveryRows, expiries, newsItems,
		jobs, finals, finalIDs:
		return true
	}
	return false
}

// kept tells whether the values of a table hardly ever change or go.
func (b table) kept() bool { return b == finals }

// numbered tells whether the keys of a table are nothing but numbers that the table draws itself (tx.next). Opening a
// store checks that such a table holds no number that is yet to be drawn.
func (b table) numbered() bool {
	return b == outboxEvents || b == idempotencyRecords || b == newsItems || b == finals
}

// layout describes the tables to the engine.
func layout() engine.Layout {
	out := make(engine.Layout, tableCount)
	for b := range tableCount {
		out[b] = engine.Spec{Name: b.String(), Appended: b.grows(), Kept: b.kept(), Numbered: b.numbered()}
	}
	return out
}
