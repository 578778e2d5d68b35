// Package wallet knows the domain: users, wallets, addresses, amounts, transactions and their
// lifecycle, events and error codes. It refuses to know how any of it is stored, sent or shown:
// no I/O, no clock, no randomness of its own.
//
// A Transaction is a row. What may become of it is one table for all kinds (Lifecycle); what it does, spends and
// announces are the Rules of its Kind. Kinds gathers the rules that a binary knows, takes the steps (Kinds.Apply), and
// returns the events that a step announces:
//
//	next, events, err := kinds.Apply(t, wallet.TransitionInput{By: wallet.DeviceSigned, At: now})
package wallet
