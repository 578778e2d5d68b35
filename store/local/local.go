// Package local joins purser's rows (store/records) with the engine that keeps them in files of this machine
// (store/bolt): Open makes or opens a store, OpenLog its delivery log. Whoever chooses another engine writes another
// package of this size.
package local

import (
	"io"
	"log/slog"

	"purser/store/bolt"
	"purser/store/records"
	"purser/wallet"
)

// Options say which file to open and how.
type Options struct {
	Path      string
	MasterKey []byte       // 32 bytes; the one that the store was created with
	Random    io.Reader    // for keys and nonces: crypto/rand.Reader. It is read by one goroutine at a time
	Log       *slog.Logger // hears of damaged rows; nil for silence
	Kinds     wallet.Kinds // of transactions, at least one: what a binary cannot judge it must not open
}

// Open opens or creates (mode 0600) the store in a file, and brings an older schema up to date. Errors that a person
// can act on are those of bolt.Open and records.Open.
func Open(o Options) (*records.Store, error) {
	random := records.Shared(o.Random)
	e, err := bolt.Open(bolt.Options{Path: o.Path, Random: random, Log: o.Log})
	if err != nil {
		return nil, err
	}
	return records.Open(e, records.Options{MasterKey: o.MasterKey, Random: random, Log: o.Log, Kinds: o.Kinds})
}

// OpenLog opens the delivery log of a store in a folder, which it makes (mode 0700) if need be. The log is closed before
// the store.
func OpenLog(folder string, s *records.Store) (*records.Log, error) {
	days, err := bolt.OpenDays(folder, records.LogLayout(), s.Logger())
	if err != nil {
		return nil, err
	}
	return records.OpenLog(days, s), nil
}
