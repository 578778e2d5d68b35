// Package solana is one Solana cluster in this process. It takes wire transactions over JSON-RPC and WebSockets,
// executes them as Agave would, and answers as an Agave RPC node does. It imports nothing of the product and parses
// wire bytes itself, so that a mistake in the product's Solana library cannot hide behind the same mistake here
// (docs/architecture.md, The sandbox).
//
// Open returns a Cluster. Its Handler and WebSocketHandler serve clients, and Run makes a block in each slot. A test
// moves the clock with Advance, abandons blocks with Fork, and makes requests fail with SetFault. A Cluster keeps
// accounts with their recent versions (for commitment levels), every landed transaction, and a journal of both, from
// which it resumes after a restart. What differs from a real cluster is listed in docs/sandbox-differences.md and
// compared with LiteSVM by the tests in package agreement.
//
// A transaction takes this way through the files: wire.go parses it, rpc_send.go checks it and answers, cluster.go
// holds it until its block, execute.go runs it, with invoke.go and one file for each program (system.go, memo.go,
// token.go, ...). Then state.go keeps the accounts, journal.go writes them to disk, and rpc_history.go and ws.go
// return them.
package solana
