package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// KeyFile is the name of the master key beside a store.
const KeyFile = "purser.key"

const masterKeyLen = 32

// MasterKey finds the 32 bytes that seal the store: store.master_key, store.master_key_file, or
// KeyFile beside the store. For a store that does not exist yet, and with no key anywhere, it makes
// KeyFile and returns a note for the operator; an existing store without its key is refused, since
// nothing in it could be read (docs/settings.md).
func MasterKey(c Config, storeExists bool, random io.Reader) (key []byte, note string, err error) {
	if c.Store.MasterKey != "" {
		key, err = decodeKey(c.Store.MasterKey.Reveal())
		return key, "", about("store.master_key", err)
	}
	if c.Store.MasterKeyFile != "" {
		key, err = readKey(c.Store.MasterKeyFile)
		return key, "", about("store.master_key_file", err)
	}
	path := filepath.Join(filepath.Dir(c.Store.Path), KeyFile)
	key, err = readKey(path)
	switch {
	case err == nil:
		return key, "", nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, "", about("master key", err)
	case storeExists:
		return nil, "", fmt.Errorf("the store %s exists, but its master key does not: put %s back, or set store.master_key (%s). Without it nothing sealed in the store can be read",
			c.Store.Path, path, Variable("store.master_key"))
	}
	key = make([]byte, masterKeyLen)
	if _, err := io.ReadFull(random, key); err != nil {
		return nil, "", fmt.Errorf("draw a master key: %w", err)
	}
	if err := writeKey(path, key); err != nil {
		return nil, "", fmt.Errorf("keep the new master key: %w", err)
	}
	return key, fmt.Sprintf("A new master key is in %s. Back it up apart from the store: without it nobody can read the store, and with both anybody can.", path), nil
}

func about(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func readKey(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); !mode.IsRegular() || mode.Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s must be a file that only its owner may read: run chmod 600 %s", path, path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return decodeKey(string(raw))
}

// decodeKey reads 32 bytes of base64. Its error never repeats the text.
func decodeKey(text string) ([]byte, error) {
	key, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != masterKeyLen {
		return nil, fmt.Errorf("must be %d bytes in base64, as from: openssl rand -base64 %d", masterKeyLen, masterKeyLen)
	}
	return key, nil
}

// writeKey makes the file, whole or not at all and never over another, and returns once it would
// survive a power cut: the store that it seals is made right after it.
func writeKey(path string, key []byte) error {
	draft, err := os.CreateTemp(filepath.Dir(path), ".key") // mode 0600
	if err != nil {
		return err
	}
	_, err = io.WriteString(draft, base64.StdEncoding.EncodeToString(key)+"\n")
	err = errors.Join(err, draft.Sync(), draft.Close())
	if err == nil {
		err = os.Link(draft.Name(), path)
	}
	if err := errors.Join(err, os.Remove(draft.Name())); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
