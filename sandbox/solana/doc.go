// Package solana knows one Solana cluster that lives in this process: it takes real wire
// transactions over real JSON-RPC and WebSockets and settles them as Agave would. It refuses to
// know who is asking; nothing of the product is imported here, and wire bytes are parsed by its
// own hand, so that a mistake in the product's library cannot hide behind the same mistake here
// (docs/architecture.md, The sandbox).
//
// What it keeps: accounts with their recent versions (for commitment levels), every landed
// transaction, and a journal of both. What it lacks against a real cluster is written down (see
// docs/sandbox-differences.md) and checked against LiteSVM by the package agreement.
//
// The files, in the order of a transaction's way: wire.go reads it, rpc_send.go answers for it,
// cluster.go holds it until its block, execute.go runs it with budget.go, system.go and memo.go,
// state.go remembers the accounts, journal.go writes them down, rpc_history.go and ws.go tell.
package solana
