package records

// holdsRows tells whether the values of a table are rows (row.go). Other tables hold keys of rows, times and numbers,
// which have no tag: what they lead to is checked when it is read.
func (b table) holdsRows() bool {
	switch b {
	case users, wallets, binds, transactions, contacts, conversations, buttons, sendResults, announcements,
		answers, keys, portalTokens, apps, grants, developers, webhooks, webhookHealth, deliveryRows, counters, jobs, deadJobs, leaders:
		return true
	}
	return false
}
