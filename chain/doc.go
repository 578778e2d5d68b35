// Package chain speaks to Solana. It reads accounts, builds and decodes messages, checks signatures, and broadcasts a
// transaction when it is asked to.
//
// Its main types:
//
//   - Client calls the RPC nodes. It is what handlers and settle name as small interfaces
//   - Codec is the table of actions that may be signed. It builds a message from wallet.Actions (Build), reads one
//     strictly before it is signed (Decode), and recognises on chain what was intended (Client.Find)
//   - effects is a landed transaction with all its balances. It becomes a wallet.Activity for each owner
//     (Client.Activities). Client.Sweep finds out whose balance changed, Client.Walk by which transactions
//   - ActionCodec is one row of that table: one type of action
//   - NotAllowed is the decoder's refusal of a message. CheckSigned compares what a wallet returns with what was asked
//     for
//
// The package knows no users, chats or stores, and not what a transaction means to its owner. It never retries, never
// decides that a payment failed, and holds no key: settle does the first two, the device the third.
//
// Every answer of a node is treated as hostile: its size is bounded, it is read strictly, and it becomes a
// wallet.NetworkError if it makes no sense. No error of this package contains an RPC address, which often contains an
// API key. Nodes are named "rpc 1", "rpc 2".
//
// Amounts are in base units: lamports for SOL. Heights are block heights, slots are slots: a slot may have no block, so
// the two differ.
package chain
