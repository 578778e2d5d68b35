package solana

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// faucet is the key that holds everything nobody has asked for yet.
func (c *Cluster) faucet() ed25519.PrivateKey {
	seed := sha256.Sum256(append([]byte("faucet"), c.world[:]...))
	return ed25519.NewKeyFromSeed(seed[:])
}

func keyOf(private ed25519.PrivateKey) address {
	return address(private.Public().(ed25519.PublicKey))
}

// Airdrop sends lamports from the faucet by an ordinary signed transaction, and returns its
// signature at once; it lands with the next block. Errors: no address, a transfer that the
// cluster refuses (more than the faucet holds, less than the rent minimum for a new account).
func (c *Cluster) Airdrop(ctx context.Context, to string, lamports uint64) (string, error) {
	key, err := parseAddress(to)
	if err != nil {
		return "", fmt.Errorf("solana sandbox: %q is no address", to)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	return c.drop(key, lamports)
}

func (c *Cluster) drop(to address, lamports uint64) (string, error) {
	if c.closed {
		return "", errClosed
	}
	c.airdrop++
	tx, err := c.airdropTransaction(to, lamports, fmt.Sprintf("airdrop %d", c.airdrop))
	if err != nil {
		return "", err
	}
	if out := c.bank(c.tip).execute(tx); out.Err != nil {
		return "", fmt.Errorf("solana sandbox: airdrop refused: %w", out.Err)
	}
	if !c.enqueue(tx, 0, -1) {
		return "", errors.New("solana sandbox: too many transactions wait")
	}
	return tx.Signature().String(), nil
}

// airdropTransaction signs a transfer with a memo, which keeps equal airdrops apart.
func (c *Cluster) airdropTransaction(to address, lamports uint64, memo string) (*transaction, error) {
	key := c.faucet()
	from, blockhash := keyOf(key), c.blockhash(c.tip)
	if to == from {
		return nil, errors.New("solana sandbox: the faucet needs no airdrop")
	}
	msg := []byte{1, 0, 2, 4}
	for _, k := range []address{from, to, systemProgram, memoV3} {
		msg = append(msg, k[:]...)
	}
	msg = append(msg, blockhash[:]...)
	msg = append(msg, 2)
	msg = append(msg, 2, 2, 0, 1, 12, 2, 0, 0, 0) // System Transfer from account 0 to account 1
	msg = binary.LittleEndian.AppendUint64(msg, lamports)
	msg = append(msg, 3, 0, byte(len(memo)))
	msg = append(msg, memo...)

	wire := append([]byte{1}, ed25519.Sign(key, msg)...)
	return parseTransaction(append(wire, msg...))
}

// enqueue lets a transaction wait for its block, delay blocks later than the next. The same
// message waits once.
func (c *Cluster) enqueue(tx *transaction, delay, retries int) bool {
	for _, q := range c.queue {
		if q.tx.Signature() == tx.Signature() && q.tx.Hash() == tx.Hash() {
			return true
		}
	}
	if len(c.queue) >= maxQueue {
		return false
	}
	c.queue = append(c.queue, &queued{tx: tx, due: c.tip + 1 + uint64(max(delay, 0)), retries: retries})
	return true
}
