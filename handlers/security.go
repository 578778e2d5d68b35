package handlers

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"purser/store"
	"purser/wallet"
)

// Security reads people's security logs, and logs the first time that a key is used from a client address, and the devices
// on which links are opened. What changes by an operation is logged by that operation, in its own transaction
// (store.LogSecurity).
type Security struct {
	Store store.Store
	Now   Clock

	mu    sync.Mutex              // guards known
	known map[remembered]struct{} // what needs no read
}

// remembered is something that Security remembers: a mark that was seen before, a use of the lineage of a key from an address, or a
// lineage of which no more is noted on a day.
type remembered struct{ what, by string }

// Client is where a request comes from. Both parts are what the connection and the header say: a device is recognised only
// by the pair of them.
type Client struct {
	Address string // an IPv4 address, or an IPv6 network of 64 bits
	Device  string // wallet.DeviceName of the User-Agent
}

// maxSeen bounds the memory of Security: an entry takes about 100 bytes. A full one is emptied.
const maxSeen = 16384

// What a person's things are seen by: subjects of wallet.Seen.
const (
	seenDevices  = "devices"
	seenOpenings = "openings"
)

// UsedKey logs the first use of a key from a client address (Client.Address) and notifies its owner. Rotations of a key count
// as one key. Of any further use it writes nothing: memory answers, or after a restart one read. From ever new addresses it
// writes at most wallet.SeenAddresses.PerDay times a day.
func (s *Security) UsedKey(ctx context.Context, key wallet.Key, address string) error {
	if key.Owner == "" {
		return nil
	}
	use := remembered{key.Lineage(), address}
	if s.isKnown(use) { // nearly always, so the rest is worked out after this
		return nil
	}
	subject, mark, now := "key "+key.Lineage(), wallet.SeenMark(key.Lineage(), address), s.Now()
	all := remembered{key.Lineage(), now.UTC().Format(time.DateOnly)} // no address is a date
	if s.isKnown(all) {
		return nil
	}
	seen, err := read(ctx, s.Store, func(tx store.Tx) (wallet.Seen, error) { return tx.Seen(key.Owner, subject) })
	switch {
	case err != nil:
		return err
	case seen.Has(mark):
		s.remember(use)
		return nil
	case seen.FullOn(now, wallet.SeenAddresses):
		s.remember(all) // of this key no more is noted on this day, from whatever address
		return nil
	}
	// A person who was erased meanwhile has no log.
	return store.IgnoreNotFound(s.Store.Update(ctx, func(tx store.Tx) error {
		first, last, err := store.NoteSeen(tx, key.Owner, subject, mark, now, wallet.SeenAddresses)
		if err != nil || !first {
			return err
		}
		return store.LogSecurityAndNotify(tx, key.Owner, now, wallet.LogKeyUsed,
			wallet.SecurityDetails{Key: key.ID, KeyKind: key.Kind, KeyHint: key.Hint, App: key.App, Client: address, Last: last})
	}))
}

// OpenedLink logs that a link was opened on a device, and notifies its person if the device is new. It is called for every
// request that names a link, and writes once for each link and device. link is one of wallet.LinkToSign ..., and secret that
// of the link. A link that nobody has is logged nowhere.
func (s *Security) OpenedLink(ctx context.Context, link, secret string, from Client) error {
	mark, device, now := wallet.SeenMark(link, secret, from.Address, from.Device), deviceMark(from), s.Now()
	if s.isKnown(remembered{what: mark}) {
		return nil
	}
	var person wallet.UserID
	opened, fresh := false, false
	err := s.Store.View(ctx, func(tx store.Tx) (err error) {
		if person, err = personOfLink(tx, link, secret, now); err != nil || person == "" {
			return err
		}
		openings, err := tx.Seen(person, seenOpenings)
		if err != nil {
			return err
		}
		devices, err := tx.Seen(person, seenDevices)
		opened, fresh = openings.Has(mark), !openings.Has(mark) && !openings.FullOn(now, wallet.SeenOpenings) || !devices.Has(device) && !devices.FullOn(now, wallet.SeenDevices)
		return err
	})
	if err != nil || !fresh {
		if opened {
			s.remember(remembered{what: mark})
		}
		return err
	}
	// A person who was erased meanwhile has no log.
	return store.IgnoreNotFound(s.Store.Update(ctx, func(tx store.Tx) error {
		first, _, err := store.NoteSeen(tx, person, seenOpenings, mark, now, wallet.SeenOpenings)
		if err != nil {
			return err
		}
		return logDevice(tx, person, now, wallet.LogLinkOpened, wallet.SecurityDetails{Link: link}, from, first)
	}))
}

// personOfLink returns whose link it is, "" for a dead one.
func personOfLink(tx store.Tx, link, secret string, now time.Time) (wallet.UserID, error) {
	hash := sha256.Sum256([]byte(secret))
	switch link {
	case wallet.LinkToSign:
		t, err := tx.TransactionBySignID(secret)
		return t.Owner, store.IgnoreNotFound(err)
	case wallet.LinkToSetLimits:
		limits, err := tx.PolicyLink(hash)
		if err != nil || !limits.OpenAt(now) {
			return "", store.IgnoreNotFound(err)
		}
		return limits.User, nil
	case wallet.LinkToUnfreeze:
		freeze, err := tx.FreezeLink(hash)
		if err != nil || freeze.Use != wallet.LinkUnfreezes || !freeze.OpenAt(now) {
			return "", store.IgnoreNotFound(err)
		}
		return freeze.User, nil
	}
	bind, err := tx.Bind(hash)
	if err != nil || bind.KeyID != "" || !bind.OpenAt(now) && !bind.ChoosableAt(now) { // a program's attempt has no link
		return "", store.IgnoreNotFound(err)
	}
	return bind.User, nil
}

// deviceMark is the mark of a device.
func deviceMark(from Client) string { return wallet.SeenMark(from.Address, from.Device) }

// logDevice logs what happened on a device, and notifies the person if the device is new. With always unset it logs a new device only.
func logDevice(tx store.Tx, person wallet.UserID, at time.Time, kind wallet.SecurityKind, details wallet.SecurityDetails, from Client, always bool) error {
	first, last, err := store.NoteSeen(tx, person, seenDevices, deviceMark(from), at, wallet.SeenDevices)
	if err != nil {
		return err
	}
	details.Client, details.Device, details.First, details.Last = from.Address, from.Device, first, last
	switch {
	case first:
		return store.LogSecurityAndNotify(tx, person, at, kind, details)
	case always:
		return store.LogSecurity(tx, person, at, kind, details)
	}
	return nil
}

// isKnown reports whether something was remembered: then nothing is to be written.
func (s *Security) isKnown(one remembered) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.known[one]
	return ok
}

// remember keeps something in memory for isKnown.
func (s *Security) remember(one remembered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxSeen {
		s.known = map[remembered]struct{}{}
	}
	s.known[one] = struct{}{}
}

// SecurityLogView is a person's whole log, checked. Rows are in the order of their places.
type SecurityLogView struct {
	Rows   []wallet.SecurityRow
	Head   wallet.SecurityHead
	Faults []wallet.SecurityFault
}

// Log reads and checks the whole log of a person.
func (s *Security) Log(ctx context.Context, person wallet.UserID) (SecurityLogView, error) {
	return read(ctx, s.Store, func(tx store.Tx) (view SecurityLogView, err error) {
		view.Rows, view.Head, view.Faults, err = store.SecurityLog(tx, person)
		return view, err
	})
}

// logKey logs what became of a key, for its owner.
func logKey(tx store.Tx, at time.Time, kind wallet.SecurityKind, key wallet.Key) error {
	details := wallet.SecurityDetails{Key: key.ID, KeyKind: key.Kind, KeyHint: key.Hint, App: key.App}
	if kind == wallet.LogKeyCreated {
		details.Scopes = key.Scopes
	}
	return store.LogSecurity(tx, key.Owner, at, kind, details)
}

// logWallet logs what became of a wallet, for a person. by is the key by which a program did it.
func logWallet(tx store.Tx, at time.Time, person wallet.UserID, kind wallet.SecurityKind, address wallet.Address, by string) error {
	return store.LogSecurity(tx, person, at, kind, wallet.SecurityDetails{Wallet: address, By: by})
}
