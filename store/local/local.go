// Package local joins purser's rows (store/records) with the engine that keeps them in files on this machine
// (store/bolt). Open makes or opens a store, OpenLog its delivery log, OpenPriceHistory its past prices. For another engine, write another package of
// this size.
package local

import (
	"errors"
	"io"
	"log/slog"
	"path/filepath"

	"purser/store/bolt"
	"purser/store/records"
	"purser/wallet"
)

// Options say which file to open and how.
type Options struct {
	Path      string       // of the database; its key file lies beside it
	MasterKey []byte       // 32 bytes; the key with which the store was created
	Random    io.Reader    // source of keys and nonces: crypto/rand.Reader; one goroutine at a time reads it
	Log       *slog.Logger // gets reports of damaged rows; nil: none
	Kinds     wallet.Kinds // kinds of transactions this binary knows, at least one
}

// Open opens or creates (mode 0600) the store in a file, and upgrades an older schema. A person can act on the errors
// of bolt.Open and records.Open.
func Open(o Options) (*records.Store, error) {
	random := records.Shared(o.Random)
	e, err := bolt.Open(bolt.Options{Path: o.Path, Random: random, Log: o.Log})
	if err != nil {
		return nil, err
	}
	return records.Open(e, records.Options{MasterKey: o.MasterKey, Random: random, Log: o.Log, Kinds: o.Kinds})
}

// OpenLog opens the delivery log of a store in a folder, which it makes with mode 0700 if there is none. Close the log
// before the store.
func OpenLog(folder string, s *records.Store) (*records.Log, error) {
	days, err := bolt.OpenDays(folder, records.LogLayout(), s.Logger())
	if err != nil {
		return nil, err
	}
	return records.OpenLog(days, s), nil
}

// OpenPriceHistory opens the past prices in a folder, which it makes with mode 0700 if there is none. log gets reports of
// damaged files; nil: none.
func OpenPriceHistory(folder string, log *slog.Logger) (*records.PriceHistory, error) {
	minutes, err := bolt.OpenDays(filepath.Join(folder, "minutes"), records.PriceHistoryLayout(), log)
	if err != nil {
		return nil, err
	}
	hours, err := bolt.OpenDays(filepath.Join(folder, "hours"), records.PriceHistoryLayout(), log)
	if err != nil {
		return nil, errors.Join(err, minutes.Close())
	}
	return records.OpenPriceHistory(minutes, hours), nil
}
