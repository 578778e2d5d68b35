// Package terminal signs with a key file what a purser offers by a link, for people who keep their
// key in a file: it reads the bytes itself, shows them, asks, signs. It believes the server as little
// as the signing page does (DESIGN §4), and refuses to know what is behind it.
package terminal
