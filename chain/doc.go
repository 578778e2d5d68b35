// Package chain knows Solana: it reads accounts, builds and decodes messages, checks signatures,
// and broadcasts one transaction when asked. It refuses to know users, chats, stores and what a
// transaction means to its owner: it never retries, never decides that something failed, and holds
// no key.
//
// A Client asks the nodes. A Codec is the table of actions that may be signed: it builds a message from a list of
// wallet.Action (Build), reads one strictly before it is signed (Decode), and recognises on chain what was intended
// (Client.Find). Each action is one row, an ActionCodec. What a wallet hands back is held against what was asked for
// by CheckSigned.
//
// Whatever a node answers is treated as hostile: answers are bounded, read strictly, and turn into
// wallet.NetworkError when they make no sense. No error of this package holds an RPC address, which
// often contains an API key; nodes are called "rpc 1", "rpc 2".
package chain
