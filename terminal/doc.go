// Package terminal is what people do with a purser from their own machine. It signs with a key file what a purser
// offers by a link: it reads the bytes itself, shows them, asks, signs. And it listens to events and hands them to a
// receiver there. It believes the server as little as the signing page does (docs/architecture.md, Custody and the
// signing page), and refuses to know what is behind it.
package terminal
