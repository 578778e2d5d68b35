// Package terminal is what people do with a purser from their own machine. It signs with a key file what a purser
// offers by a link: it reads the bytes itself, shows them, asks, signs. And it listens to events and hands them to a
// receiver there. It believes the server as little as the signing page does (docs/architecture.md, Custody and the
// signing page), and refuses to know what is behind it.
//
// A Signer follows one link (Follow): it reads the key file (ReadKey), decodes the transaction by package chain, asks
// the person, and notes in a History what it signed, so that the same payment is not signed twice by mistake. A Listener
// takes events over one connection and posts each to a receiver (Run).
package terminal
