package records

import "bytes"

// holdsRows tells whether the values of a table, or some of them (isRow), are rows (row.go). Other tables hold keys of rows, times and numbers,
// which have no tag: what they lead to is checked when it is read.
func (b table) holdsRows() bool {
	switch b {
	case users, wallets, watches, staked, folded, binds, freezeLinks, policies, policyLinks, transactions, finals, contacts, conversations, buttons, sendResults, outboxEvents,
		idempotencyRecords, keys, portalTokens, apps, grants, developers, webhooks, webhookHealth, deliveryRows, counters, jobs, deadJobs, leaders, prices, rates, newsItems, newsFeeds, swapQuotes, alerts, securityLog, securityHeads, securitySeen:
		return true
	}
	return false
}

// isRow tells whether what lies under a key is a row: in jobs, what leads to rows lies beside them, and in finals the engine has two keys of
// its own.
func (b table) isRow(key []byte) bool {
	_, what, _ := bytes.Cut(key, []byte{0})
	return b.holdsRows() && (b != finals || len(key) == 8) && (b != jobs || len(what) > 0 && what[0] == rowOf)
}
