// Package wallet is the domain: users, wallets, addresses, amounts, transactions and their lifecycle, keys, events and
// error codes. It does not know how any of this is stored, sent or shown. It does no I/O and has no clock or randomness
// of its own: both are arguments, so every function here is deterministic.
//
// A Transaction is a row. One table for all kinds (Lifecycle) says which states it can take. What it does on chain,
// spends and emits are the Rules of its Kind. Kinds holds the rules that a binary knows. Kinds.Apply takes one step and
// returns the new row with the events of that step, which the caller stores in one store transaction:
//
//	next, events, err := kinds.Apply(t, wallet.TransitionInput{By: wallet.DeviceSigned, At: now})
//
// Every refusal is an Error: a Code for programs and a Reason, a sentence as data, for people. Amounts are integers in
// base units (Amount), and text is parsed exactly (Decimal, Quantity): no floating point number touches money.
package wallet
