package solana

import (
	"bytes"
	"testing"
)

func wellFormed() []byte {
	return draft{payer: "alice", blockhash: hash{1}, calls: []call{
		unitPrice(5), transferTo(addressOf("alice"), addressOf("bob"), 7), memoCall(memoV3, "hello"),
	}}.bytes()
}

func TestUnsoundTransactionsAreRefused(t *testing.T) {
	many := make([]call, maxInstructions+1)
	for i := range many {
		many[i] = call{memoV3, nil, nil}
	}
	for name, d := range map[string]draft{
		"too many instructions": {calls: many},
		"more signatures than signers": {calls: []call{memoCall(memoV3, "x")}, wire: func(w []byte) []byte {
			w[0] = 2
			return append(w[:65:65], append(make([]byte, 64), w[65:]...)...)
		}},
		"fewer signatures than signers": {calls: []call{memoCall(memoV3, "x")}, wire: func(w []byte) []byte {
			return append([]byte{0}, w[65:]...)
		}},
		"no signer at all": {calls: []call{memoCall(memoV3, "x")}, wire: func(w []byte) []byte {
			w = append([]byte{0}, w[65:]...)
			w[1] = 0
			return w
		}},
	} {
		d.payer = "alice"
		tx, err := parseTransaction(d.bytes())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if fault := tx.sanitize(); fault == nil || fault.Name != "SanitizeFailure" {
			t.Errorf("%s: %v", name, fault)
		}
	}
}

func TestMalformedBytesAreRefused(t *testing.T) {
	whole := wellFormed()
	for n := range whole {
		if _, err := parseTransaction(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes parse", n, len(whole))
		}
	}
	if _, err := parseTransaction(append(bytes.Clone(whole), 0)); err == nil {
		t.Error("a byte too many parses")
	}
	if _, err := parseTransaction(append([]byte{0x81, 0}, whole[1:]...)); err == nil {
		t.Error("a length in two bytes where one does parses")
	}
	if _, err := parseTransaction(append([]byte{0xff, 0xff, 0x7f}, whole[1:]...)); err == nil {
		t.Error("a length beyond 16 bits parses")
	}
	later := bytes.Clone(whole)
	later[65] = 0x82
	if _, err := parseTransaction(later); err == nil {
		t.Error("version 2 parses")
	}
	if _, err := parseTransaction(append([]byte{0x82}, whole[1:]...)); err == nil {
		t.Error("version 2 parses in the envelope of version 1")
	}
}

func TestSignaturesOfSmallOrderAreRefused(t *testing.T) {
	// The neutral element as key and commitment satisfies the plain equation for every message.
	neutral := address{1}
	sig := signature{1}
	if verifySignature(neutral, []byte("anything"), sig) {
		t.Error("a key of small order signs")
	}
}

// FuzzParseTransaction takes any bytes: no panic, and what parses and is sound can be executed.
func FuzzParseTransaction(f *testing.F) {
	f.Add(wellFormed())
	f.Add(draft{payer: "alice", versioned: true, calls: []call{memoCall(memoV1, "\xff")}}.bytes())
	f.Add(draft{payer: "alice", versioned: true, lookups: append(append([]byte{1}, make([]byte, 32)...), 1, 0, 0),
		calls: []call{system(pack(uint32(3), addressOf("alice"), "seed", 1, 2, memoV3), meta{addressOf("alice"), "sw"}, meta{addressOf("bob"), "w"})}}.bytes())
	f.Add(draft{payer: "alice", config: &messageConfig{new(uint64(5)), new(uint32(9000)), new(uint32(1 << 20)), new(uint32(32 << 10))}, calls: []call{
		transferTo(addressOf("alice"), addressOf("bob"), 7), memoCall(memoV3, "hello")}}.bytes())
	f.Fuzz(func(t *testing.T, wire []byte) {
		tx, err := parseTransaction(wire)
		if err != nil || tx.sanitize() != nil {
			return
		}
		if !bytes.Equal(tx.Wire, wire) {
			t.Fatal("the bytes are not kept")
		}
		b := bank{
			read: func(key address) account {
				switch key {
				case systemProgram, budgetProgram, memoV1, memoV3:
					return account{Lamports: 1, Owner: nativeLoader, Executable: true}
				}
				return account{Lamports: sol}
			},
			done:    func(*transaction) bool { return false },
			anyHash: true, unverified: true,
		}
		out := b.execute(tx)
		if !out.Landed {
			return
		}
		var pre, post uint64
		for i := range out.Pre {
			pre += out.Pre[i]
			post += out.Post[i]
		}
		if pre != post+out.Fee {
			t.Fatalf("%d lamports became %d and a fee of %d", pre, post, out.Fee)
		}
	})
}
