package solana

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// faucet is the key of the account that holds all lamports which nobody has requested yet.
func (c *Cluster) faucet() ed25519.PrivateKey {
	seed := sha256.Sum256(append([]byte("faucet"), c.world[:]...))
	return ed25519.NewKeyFromSeed(seed[:])
}

// keyOf is the address of a private key.
func keyOf(private ed25519.PrivateKey) address {
	return address(private.Public().(ed25519.PublicKey))
}

// Airdrop sends lamports from the faucet with an ordinary signed transaction. It returns the signature at once; the
// transfer lands with the next block. It fails for an invalid address and for a transfer that the cluster refuses:
// more than the faucet holds, or less than the rent minimum for a new account.
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

// drop is Airdrop for a parsed address. Callers hold mu.
func (c *Cluster) drop(to address, lamports uint64) (string, error) {
	if to == keyOf(c.faucet()) {
		return "", errors.New("solana sandbox: the faucet needs no airdrop")
	}
	return c.give(func(faucet address) draftTransaction {
		data := binary.LittleEndian.AppendUint64([]byte{2, 0, 0, 0}, lamports)
		return draftTransaction{{systemProgram, []callMeta{{faucet, true, true}, {to, false, true}}, data}}
	})
}

// give signs and sends the instructions that made returns for the faucet's address. A numbered memo keeps two equal
// airdrops in one block from being the same transaction. Callers hold mu.
func (c *Cluster) give(made func(faucet address) draftTransaction) (string, error) {
	if c.closed {
		return "", errClosed
	}
	// The counter makes each memo different. It is restored from the journal after a restart.
	c.airdrop++
	key := c.faucet()
	memo := draftInstruction{memoV3, nil, fmt.Appendf(nil, "airdrop %d", c.airdrop)}
	tx, err := append(made(keyOf(key)), memo).sign(key, c.blockhash(c.tip))
	if err != nil {
		return "", err
	}
	// The transfer is executed on the newest block as a trial, so that the caller learns at once that it cannot land.
	if out := c.bank(c.tip).execute(tx); out.Err != nil {
		return "", fmt.Errorf("solana sandbox: airdrop refused: %w", out.Err)
	}
	if !c.enqueue(tx, 0, -1) {
		return "", errors.New("solana sandbox: too many transactions wait")
	}
	return tx.Signature().String(), nil
}

// draftTransaction is the instructions of a transaction that one key pays for and signs.
type draftTransaction []draftInstruction

// draftInstruction names its accounts by address; sign turns them into indexes.
type draftInstruction struct {
	program address
	metas   []callMeta
	data    []byte
}

// sign makes a legacy transaction. Its keys are the payer, the writable accounts, and then the read-only ones. Counts
// take one byte each, so a draft may have at most 127 of everything.
func (d draftTransaction) sign(payer ed25519.PrivateKey, blockhash hash) (*transaction, error) {
	// Writable accounts come before read-only ones in the list of keys, and the payer is the very first.
	written := []address{keyOf(payer)}
	var read []address
	for _, ix := range d {
		for _, m := range ix.metas {
			if m.writable && !contains(written, m.key) {
				written = append(written, m.key)
			}
		}
	}
	for _, ix := range d {
		for _, m := range append(ix.metas, callMeta{key: ix.program}) {
			if !contains(written, m.key) && !contains(read, m.key) {
				read = append(read, m.key)
			}
		}
	}
	keys := append(written, read...)
	// Header: one signer, no read-only signer, the number of read-only keys.
	msg := []byte{1, 0, byte(len(read)), byte(len(keys))}
	for _, k := range keys {
		msg = append(msg, k[:]...)
	}
	msg = append(msg, blockhash[:]...)
	msg = append(msg, byte(len(d)))
	place := func(k address) byte { return byte(slices.Index(keys, k)) }
	for _, ix := range d {
		msg = append(msg, place(ix.program), byte(len(ix.metas)))
		for _, m := range ix.metas {
			msg = append(msg, place(m.key))
		}
		msg = append(append(msg, byte(len(ix.data))), ix.data...)
	}
	// One signature, then the message. Parsing it again checks what was built.
	wire := append([]byte{1}, ed25519.Sign(payer, msg)...)
	return parseTransaction(append(wire, msg...))
}

// enqueue lets a transaction wait for the block that is delay blocks after the next one. A transaction that already
// waits is not added again. It returns false if the queue is full. Callers hold mu.
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
