package wallet

import (
	"encoding/base64"
	"fmt"
	"io"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// RandomToken returns n random bytes in base64url without padding, which is safe in URL fragments and in callback data.
func RandomToken(random io.Reader, n int) (string, error) {
	raw := make([]byte, n)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", fmt.Errorf("draw a token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// RandomText returns n random base62 digits, each equally likely.
func RandomText(random io.Reader, n int) (string, error) {
	out := make([]byte, n)
	for i := range out {
		digit, err := RandomBelow(random, len(base62))
		if err != nil {
			return "", err
		}
		out[i] = base62[digit]
	}
	return string(out), nil
}

// RandomBelow returns a random number in [0, n), each equally likely. n is at most 256.
func RandomBelow(random io.Reader, n int) (int, error) {
	limit := 256 - 256%n // values from here on are rejected: they would make small numbers likelier
	var b [1]byte
	for {
		if _, err := io.ReadFull(random, b[:]); err != nil {
			return 0, fmt.Errorf("draw a number: %w", err)
		}
		if int(b[0]) < limit {
			return int(b[0]) % n, nil
		}
	}
}
