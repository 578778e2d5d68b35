package handlers_test

import (
	"context"
	"errors"
	"slices"
	"sync"

	"purser/wallet"
)

// scripted is a chain that says what a test wants.
type scripted struct {
	mu      sync.Mutex
	entries map[wallet.Address][]wallet.SignatureEntry // newest first
	does    map[wallet.Signature]wallet.Activity       // received 1 SOL from address 99 if there is none
	broken  map[wallet.Signature]error
	down    map[wallet.Address]bool
	calls   int
	asked   func(context.Context) // runs before each call; nil: nothing
	reads   map[wallet.Signature]int
	flaky   func() bool
}

func newScripted() *scripted {
	return &scripted{entries: map[wallet.Address][]wallet.SignatureEntry{}, does: map[wallet.Signature]wallet.Activity{}, broken: map[wallet.Signature]error{},
		down: map[wallet.Address]bool{}, reads: map[wallet.Signature]int{}, flaky: func() bool { return false }}
}

var errDown = &wallet.Error{Code: wallet.NetworkError, Reason: wallet.Because("network.unreachable"), Err: errors.New("down")}

func (s *scripted) History(ctx context.Context, a wallet.Address, before wallet.Signature, limit int) ([]wallet.SignatureEntry, bool, error) {
	if s.asked != nil {
		s.asked(ctx)
	}
	if ctx.Err() != nil {
		return nil, false, errDown
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.down[a] || s.flaky() {
		return nil, false, errDown
	}
	all := s.entries[a]
	if !before.IsZero() {
		at := slices.IndexFunc(all, func(e wallet.SignatureEntry) bool { return e.Signature == before })
		if at < 0 {
			return nil, false, errDown
		}
		all = all[at+1:]
	}
	return all[:min(limit, len(all))], len(all) >= limit, nil
}

func (s *scripted) Activities(ctx context.Context, sig wallet.Signature, owners ...wallet.Address) ([]wallet.Activity, error) {
	if s.asked != nil {
		s.asked(ctx)
	}
	if ctx.Err() != nil {
		return nil, errDown
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.reads[sig]++
	if err := s.broken[sig]; err != nil {
		return nil, err
	}
	if s.flaky() {
		return nil, errDown
	}
	a, ok := s.does[sig]
	if !ok {
		a = receipt(sol, wallet.Address{99})
	}
	a.Signature = sig
	return []wallet.Activity{a}, nil
}
