package store

import "slices"

// JobQueue describes a queue of jobs for code that handles all of them: the operator's commands, metrics, docs and
// tests.
type JobQueue struct {
	Queue  Queue
	Worker string // the package whose pool empties it
	Holds  string // what its jobs are, for the operator
	// WaitsByDesign says that jobs wait long by design, so an old one is no sign of trouble.
	WaitsByDesign bool
}

// JobQueues lists every queue of jobs, in the order in which a person's message passes through them. A new queue needs
// a row here besides its name.
func JobQueues() []JobQueue {
	return []JobQueue{
		{Queue: Inbox, Worker: "bot", Holds: "updates from Telegram that wait to be answered"},
		{Queue: Events, Worker: "notify", Holds: "events that can lead to a message in the chat"},
		{Queue: Outbox, Worker: "bot", Holds: "messages that wait to be sent to Telegram"},
		{Queue: HeldEvents, Worker: "notify", Holds: "events of which people are notified when their quiet hours end", WaitsByDesign: true},
		{Queue: Settlement, Worker: "settle", Holds: "transactions that wait for their owner or for Solana", WaitsByDesign: true},
		{Queue: Collecting, Worker: "settle", Holds: "payment requests, and rejected or expired transactions that may still land", WaitsByDesign: true},
		{Queue: WalletScans, Worker: "settle", Holds: "connected wallets whose transactions on Solana are to be read", WaitsByDesign: true},
		{Queue: ArrivalSearches, Worker: "settle", Holds: "connected wallets in which payments that are not final are looked for"},
		{Queue: ArrivingPayments, Worker: "settle", Holds: "payments that the chat shows as arriving, until they are final", WaitsByDesign: true},
		{Queue: StakeChecks, Worker: "settle", Holds: "connected wallets whose stakes are read when an epoch ends", WaitsByDesign: true},
		{Queue: FoldedSummaries, Worker: "settle", Holds: "people who are notified within the hour of how many tiny or unknown payments came in", WaitsByDesign: true},
		{Queue: PortfolioSummaries, Worker: "notify", Holds: "people who get a summary of their portfolio each day or week", WaitsByDesign: true},
		{Queue: NewsRounds, Worker: "notify", Holds: "one job while there is news for the people who want it", WaitsByDesign: true},
		{Queue: ConversationTimeouts, Worker: "chat", Holds: "conversations that end when nobody answers", WaitsByDesign: true},
		{Queue: Relay, Worker: "webhooks", Holds: "one job while events wait to be turned into webhook deliveries", WaitsByDesign: true},
		{Queue: Deliveries, Worker: "webhooks", Holds: "webhooks that deliveries wait for", WaitsByDesign: true},
	}
}

// KnownJobQueue tells whether a queue is one of JobQueues.
func KnownJobQueue(queue Queue) bool {
	return slices.ContainsFunc(JobQueues(), func(q JobQueue) bool { return q.Queue == queue })
}
