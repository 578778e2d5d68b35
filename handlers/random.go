package handlers

import (
	"encoding/base64"
	"fmt"
	"io"
)

// secretText draws n random bytes as base64url text without padding, fit for a URL's fragment.
func secretText(random io.Reader, n int) (string, error) {
	raw := make([]byte, n)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", fmt.Errorf("draw a secret: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// below draws a number in [0, n), each equally likely.
func below(random io.Reader, n int) (int, error) {
	// One byte with rejection: n is tiny (positions among three buttons).
	limit := 256 - 256%n
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
