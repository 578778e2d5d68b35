// Package terminal has the commands that people run on their own machine. One signs a link's transaction with a key file: it
// decodes the bytes itself, shows them, asks and signs. The other receives events and posts them to a local receiver. It
// trusts the server as little as the signing page does (docs/architecture.md, Custody and the signing page).
//
// A Signer follows one link (Follow): it reads the key file (ReadKey), decodes the transaction by package chain, asks
// the person, and notes in a History what it signed, so that the same payment is not signed twice by mistake. A Listener
// takes events over one connection and posts each to a receiver (Run).
package terminal
