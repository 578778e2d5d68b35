package handlers

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"purser/wallet"
)

// TokenSource finds tokens by symbol, name or mint (market.Jupiter). The error is of the provider or of ctx.
type TokenSource interface {
	Search(ctx context.Context, query string) ([]wallet.TokenMatch, error)
}

// TokenList is purser's own list of tokens (market.Tokens).
type TokenList interface {
	Tokens
	// All lists them, in the order of the list.
	All() []wallet.Token
}

// TokenSearch finds tokens: purser's own list first, then what a source knows. It is safe for concurrent use.
type TokenSearch struct {
	Tokens TokenList
	Source TokenSource // nil: only the list is searched
	Limit  *SourceLimit
	Now    Clock

	mu     sync.Mutex
	recent map[string]*searched // by the query in lower case
}

// searched is one search, which others with the same query wait for.
type searched struct {
	done  chan struct{} // closed when matches and err are set
	at    time.Time
	found []wallet.TokenMatch
	err   error
}

// Limits of searches.
const (
	MaxTokenQuery = 44 // bytes: the length of a mint
	searchedFor   = 5 * time.Minute
	keptSearches  = 500
	searchTimeout = 1500 * time.Millisecond // a person waits
)

// Find returns the tokens that a query may mean, the most likely first: SOL and listed tokens, then verified ones, then others. A token that
// takes the symbol of a listed one is suspect, whatever the source says. If the source does not answer, complete is false and only the
// list was searched. Errors: INVALID_REQUEST for a query that cannot mean a token; RATE_LIMIT_EXCEEDED.
func (s *TokenSearch) Find(ctx context.Context, who Caller, query string) (found []wallet.TokenMatch, complete bool, err error) {
	query = strings.Join(strings.Fields(query), " ")
	if query == "" || len(query) > MaxTokenQuery || strings.ContainsFunc(query, func(r rune) bool { return r != ' ' && !wallet.Visible(r) }) {
		return nil, false, wallet.About("query", wallet.Refuse(wallet.InvalidRequest, "token.query", wallet.NumberArg("Most", MaxTokenQuery)))
	}
	found = s.listed(query)
	if s.Source == nil {
		return found, true, nil
	}
	theirs, err := s.ask(ctx, who, strings.ToLower(query))
	if err != nil {
		if wallet.CodeOf(err) == wallet.RateLimitExceeded {
			return nil, false, err
		}
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		return found, false, nil
	}
	for _, m := range theirs {
		at := slices.IndexFunc(found, func(own wallet.TokenMatch) bool { return own.Mint == m.Mint })
		if at >= 0 { // our list says what it is, the source who holds it
			found[at].Name, found[at].Holders, found[at].Liquidity, found[at].Source, found[at].At = m.Name, m.Holders, m.Liquidity, m.Source, m.At
			continue
		}
		found = append(found, s.judged(m))
	}
	slices.SortStableFunc(found, func(a, b wallet.TokenMatch) int { return rankOf(a, query) - rankOf(b, query) })
	return found, true, nil
}

// rankOf orders matches: lower comes first.
func rankOf(m wallet.TokenMatch, query string) int {
	rank := 0
	switch {
	case m.Listed:
	case m.Trusted():
		rank = 2
	default:
		rank = 4
	}
	if !strings.EqualFold(m.Symbol, query) && !strings.EqualFold(m.Mint.String(), query) {
		rank++
	}
	return rank
}

// listed are SOL and the listed tokens with this symbol or mint.
func (s *TokenSearch) listed(query string) (found []wallet.TokenMatch) {
	add := func(t wallet.Token) {
		found = append(found, wallet.TokenMatch{Mint: t.Mint, Symbol: t.Symbol, Decimals: t.Decimals, Program: t.Program, Listed: true, Verified: true, Liquidity: wallet.Worth{Unknown: true}})
	}
	if strings.EqualFold(query, wallet.SOL.Symbol) {
		add(wallet.SOL)
	} else if t, ok := s.Tokens.BySymbol(query); ok {
		add(t)
	} else if mint, err := wallet.ParseAddress(query); err == nil {
		if t, ok := s.Tokens.ByMint(mint); ok {
			add(t)
		}
	}
	return found
}

// judged marks a token that takes the symbol of SOL or of a listed token, also in letters that look like it.
func (s *TokenSearch) judged(m wallet.TokenMatch) wallet.TokenMatch {
	if t, ok := s.Tokens.ByMint(m.Mint); ok {
		m.Symbol, m.Decimals, m.Program, m.Listed, m.Verified, m.Suspect = t.Symbol, t.Decimals, t.Program, true, true, false
		return m
	}
	if m.Mint.IsZero() { // SOL, by another query
		m.Listed, m.Verified, m.Suspect = true, true, false
		return m
	}
	look := wallet.Skeleton(m.Symbol)
	takes := look == wallet.Skeleton(wallet.SOL.Symbol)
	for _, t := range s.Tokens.All() {
		takes = takes || look == wallet.Skeleton(t.Symbol)
	}
	m.Suspect = m.Suspect || takes
	return m
}

// ask asks the source, once for all who search the same, and remembers the answer for a few minutes.
func (s *TokenSearch) ask(ctx context.Context, who Caller, query string) ([]wallet.TokenMatch, error) {
	s.mu.Lock()
	if s.recent == nil {
		s.recent = map[string]*searched{}
	}
	one, known := s.recent[query]
	if !known || s.Now().Sub(one.at) > searchedFor {
		if err := s.Limit.take(who, s.Now()); err != nil {
			s.mu.Unlock()
			return nil, err
		}
		if len(s.recent) >= keptSearches {
			s.recent = map[string]*searched{} // the next ones ask again: cheaper than an order of them
		}
		one = &searched{done: make(chan struct{}), at: s.Now()}
		s.recent[query] = one
		go s.run(query, one)
	}
	s.mu.Unlock()
	select {
	case <-one.done:
		return one.found, one.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// run makes one search. It does not end with the request that began it: others wait for it too. A failure is not remembered.
func (s *TokenSearch) run(query string, one *searched) {
	ctx, cancel := context.WithTimeout(context.Background(), searchTimeout)
	defer cancel()
	one.found, one.err = s.Source.Search(ctx, query)
	if one.err != nil {
		s.mu.Lock()
		if s.recent[query] == one {
			delete(s.recent, query)
		}
		s.mu.Unlock()
	}
	close(one.done)
}
