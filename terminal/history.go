package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// History is a file on this machine in which Signer notes what it signed and on which network each wallet is
// used. It exposes a server that asks for the same payment again, or that calls real money test money. The signing page keeps
// the same in the browser. Nothing in it is secret, but it shows recipients, so only its owner can read the file.
type History struct{ Path string }

// DefaultHistory is the file in the user's configuration folder.
func DefaultHistory() (History, error) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return History{}, err
	}
	return History{filepath.Join(folder, "purser", "signed.json")}, nil
}

// signedPayment is one signature that was given.
type signedPayment struct {
	Intent    string    `json:"intent"` // hex SHA-256 of the message without its blockhash
	Reference string    `json:"reference,omitempty"`
	Address   string    `json:"address"`
	Paid      string    `json:"paid"` // what, how much and to which account: equal texts are equal payments
	At        time.Time `json:"at"`
	Signature string    `json:"signature"`
	SHA256    string    `json:"sha256"` // of the message that was signed, in hex
}

// memory is what the file holds.
type memory struct {
	Networks map[string]string `json:"networks"` // address → cluster
	Signed   []signedPayment   `json:"signed"`   // oldest first
}

const (
	// What the file keeps: at most keptPayments signatures, none for longer than keptFor. A payment of the same amount to
	// the same account counts as alike for alikeWithin.
	keptPayments = 500
	keptFor      = 90 * 24 * time.Hour
	alikeWithin  = 24 * time.Hour
)

// read returns what is remembered; nothing when there is no file yet.
func (h History) read() (memory, error) {
	m := memory{Networks: map[string]string{}}
	raw, err := os.ReadFile(h.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("read what was signed before: %w", err)
	}
	// A damaged file stops the signing instead of being replaced: it may hold the warning that this payment was signed.
	if json.Unmarshal(raw, &m) != nil {
		return m, fmt.Errorf("%s is damaged: it says what was signed before. Move it away to go on without it", h.Path)
	}
	if m.Networks == nil {
		m.Networks = map[string]string{}
	}
	return m, nil
}

// write replaces the file in one step, so that a crash leaves the old one or the new one.
func (h History) write(m memory) error {
	raw, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(h.Path), 0o700); err != nil {
		return fmt.Errorf("note what was signed: %w", err)
	}
	// The new content is on the disk before the name points to it. CreateTemp makes a file that only its owner can read.
	temporary, err := os.CreateTemp(filepath.Dir(h.Path), ".signed-*") // 0600
	if err != nil {
		return fmt.Errorf("note what was signed: %w", err)
	}
	_, err = temporary.Write(raw)
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), h.Path)
	}
	if err != nil {
		return fmt.Errorf("note what was signed: %w", errors.Join(err, os.Remove(temporary.Name())))
	}
	return nil
}

// before finds what was signed before: the same payment, by intent or reference, or else one of the same amount
// to the same account within a day. Either may be nil.
func (m memory) before(p signedPayment, now time.Time) (same, alike *signedPayment) {
	// From the newest to the oldest: a person is shown when they signed last.
	for i := len(m.Signed) - 1; i >= 0; i-- {
		old := &m.Signed[i]
		switch {
		case old.Intent == p.Intent || p.Reference != "" && old.Reference == p.Reference:
			return old, nil
		case alike == nil && old.Address == p.Address && old.Paid == p.Paid && now.Sub(old.At) < alikeWithin:
			alike = old
		}
	}
	return nil, alike
}

// note writes down a signature, and the network of a wallet that has none yet, before the signature leaves this
// machine.
func (h History) note(p signedPayment, network string) error {
	m, err := h.read()
	if err != nil {
		return err
	}
	// The first network stays. A later signature on another one was warned of, and must not silence the next warning.
	if m.Networks[p.Address] == "" {
		m.Networks[p.Address] = network
	}
	m.Signed = slices.DeleteFunc(append(m.Signed, p), func(old signedPayment) bool { return p.At.Sub(old.At) > keptFor })
	m.Signed = m.Signed[max(0, len(m.Signed)-keptPayments):]
	return h.write(m)
}

// pin notes the network of a wallet.
func (h History) pin(address, network string) error {
	m, err := h.read()
	if err != nil {
		return err
	}
	m.Networks[address] = network
	return h.write(m)
}
