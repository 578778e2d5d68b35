// Package markettest makes quotes of swaps for tests, in the layout of Jupiter's instructions.
package markettest

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"sync"

	"purser/wallet"
)

// Quote returns a quote for a swap as Jupiter's /swap/v2/build gives it, with one step whose accounts lie in a lookup table.
func Quote(req wallet.SwapRequest, quoted uint64) wallet.SwapQuote {
	own := func(mint wallet.Address) wallet.Address {
		return wallet.AssociatedAccount(req.Taker, mint, wallet.TokenProgram)
	}
	events := wallet.MustAddress("D8cy77BBepLMngZx6ZukaTff5hCt1HrWyKk3Hnd9oitf")
	pool := []wallet.Address{{201}, {202}, {203}}
	q := wallet.SwapQuote{Source: "Jupiter", Venues: []string{"Orca"}, Program: wallet.SwapProgram, Data: Data(req, quoted),
		Tables: []wallet.LookupTable{{Address: wallet.Address{200}, Addresses: append([]wallet.Address{{199}}, pool...)}}}
	add := func(a wallet.Address, signer, writable bool) {
		q.Accounts = append(q.Accounts, wallet.QuotedAccount{Address: a, Signer: signer, Writable: writable})
	}
	add(wallet.Address{101}, false, false)
	add(req.Taker, true, false)
	add(own(req.InMint), false, true)
	add(wallet.Address{102}, false, true)
	add(wallet.Address{103}, false, true)
	add(own(req.OutMint), false, true)
	add(req.InMint, false, false)
	add(req.OutMint, false, false)
	add(wallet.TokenProgram, false, false)
	add(wallet.TokenProgram, false, false)
	add(events, false, false)
	add(wallet.SwapProgram, false, false)
	for i, a := range pool {
		add(a, false, i > 0)
	}
	return q
}

// Data is the data of shared_accounts_route_v2 with one step.
func Data(req wallet.SwapRequest, quoted uint64) []byte {
	data, _ := hex.DecodeString("d19853937cfed8e9")
	data = append(data, 1)
	data = binary.LittleEndian.AppendUint64(data, req.Units)
	data = binary.LittleEndian.AppendUint64(data, quoted)
	data = binary.LittleEndian.AppendUint16(data, req.SlippageBPS)
	data = append(data, 0, 0, 0, 0) // no fees
	data = binary.LittleEndian.AppendUint32(data, 1)
	return append(data, 7, 0x10, 0x27, 0, 1)
}

// DirectQuote returns the same swap as route_v2, which passes the signature on.
func DirectQuote(req wallet.SwapRequest, quoted uint64) wallet.SwapQuote {
	q := Quote(req, quoted)
	a := q.Accounts
	q.Accounts = append([]wallet.QuotedAccount{a[1], a[2], a[5], a[6], a[7], a[8], a[9], a[11], a[10], a[11], a[1]}, a[12:]...)
	selector, _ := hex.DecodeString("bb64facc31c4af14")
	q.Data = append(selector, q.Data[9:]...)
	return q
}

// Source is a source of quotes whose answers a test sets. It is safe for concurrent use.
type Source struct {
	mu     sync.Mutex
	quoted uint64
	change func(*wallet.SwapQuote)
	err    error
	Asked  []wallet.SwapRequest
}

// Set makes the source quote this many base units, with a change to each quote (nil: none), or an error.
func (s *Source) Set(quoted uint64, change func(*wallet.SwapQuote), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quoted, s.change, s.err = quoted, change, err
}

// Quote answers as Set says.
func (s *Source) Quote(_ context.Context, req wallet.SwapRequest) (wallet.SwapQuote, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Asked = append(s.Asked, req)
	if s.err != nil {
		return wallet.SwapQuote{}, s.err
	}
	q := Quote(req, s.quoted)
	if s.change != nil {
		s.change(&q)
	}
	return q, nil
}
