package terminal

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"purser/wallet"
)

// ReadKey reads a key file as Solana's command line tools write it: a JSON array of 64 numbers, the
// seed and then the public key. A file that others may read is refused, as ssh does.
func ReadKey(path string) (ed25519.PrivateKey, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the key file cannot be read: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("the key file cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("the key file is no plain file")
	}
	// The mode of the open file is checked, not that of the path, so nobody can swap the file in between.
	const others fs.FileMode = 0o077
	if info.Mode().Perm()&others != 0 {
		return nil, fmt.Errorf("others on this machine may read the key file: chmod 600 %s", path)
	}
	const longest = 4096 // 64 numbers with any spacing that a tool writes
	raw, err := io.ReadAll(io.LimitReader(file, longest))
	if err != nil {
		return nil, fmt.Errorf("the key file cannot be read: %w", err)
	}
	// Copies of the key are wiped as far as Go allows it. The key itself lives until the process ends.
	defer clear(raw)
	var numbers []int // a []byte would be base64 in JSON
	if json.Unmarshal(raw, &numbers) != nil || len(numbers) != ed25519.PrivateKeySize {
		return nil, errNoKey
	}
	defer clear(numbers)
	key := make(ed25519.PrivateKey, len(numbers))
	for i, n := range numbers {
		if n < 0 || n > 255 {
			return nil, errNoKey
		}
		key[i] = byte(n)
	}
	// A wrong public half would make signatures that are invalid, and can reveal the key.
	if !ed25519.NewKeyFromSeed(key.Seed()).Equal(key) {
		return nil, errors.New("the two halves of the key file do not belong together")
	}
	return key, nil
}

// errNoKey refuses a file that holds something else than a key. It shows none of the content.
var errNoKey = errors.New("that is no key file: it must be a JSON array of 64 numbers, as solana-keygen writes it")

// addressOf returns the wallet's address, which is the public key.
func addressOf(key ed25519.PrivateKey) wallet.Address {
	return wallet.Address(key.Public().(ed25519.PublicKey))
}
