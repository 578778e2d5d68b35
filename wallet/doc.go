// Package wallet knows the domain: users, wallets, addresses, amounts, transactions and their
// lifecycle, events and error codes. It refuses to know how any of it is stored, sent or shown:
// no I/O, no clock, no randomness of its own.
package wallet
