package handlers_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/market"
	"purser/wallet"
)

// fakeTokens is a source of tokens that a test answers for.
type fakeTokens struct {
	asked  chan string
	answer func(ctx context.Context, query string) ([]wallet.TokenMatch, error)
}

func (f *fakeTokens) Search(ctx context.Context, query string) ([]wallet.TokenMatch, error) {
	f.asked <- query
	return f.answer(ctx, query)
}

func newTokenSearch(t *testing.T, at *time.Time, answer func(context.Context, string) ([]wallet.TokenMatch, error)) (*handlers.TokenSearch, *fakeTokens) {
	t.Helper()
	tokens, err := market.Listed(wallet.Localnet)
	if err != nil {
		t.Fatal(err)
	}
	source := &fakeTokens{asked: make(chan string, 100), answer: answer}
	return &handlers.TokenSearch{Tokens: tokens, Source: source, Now: func() time.Time { return *at }}, source
}

// found is what a search found, in one line each.
func found(t *testing.T, s *handlers.TokenSearch, query string) (lines []string, complete bool) {
	t.Helper()
	matches, complete, err := s.Find(t.Context(), handlers.Caller{User: "usr_1"}, query)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range matches {
		line := m.Symbol
		if m.Listed {
			line += " listed"
		}
		if m.Trusted() {
			line += " trusted"
		}
		if m.Suspect {
			line += " suspect"
		}
		if m.Source != "" {
			line += " " + m.Source
		}
		lines = append(lines, line)
	}
	return lines, complete
}

// TestTheListComesFirstAndCannotBeImitated: what the source says of a listed token changes neither what it is nor its place, and what looks
// like a listed symbol is suspect however much the source verifies it.
func TestTheListComesFirstAndCannotBeImitated(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	tokens, err := market.Listed(wallet.Localnet)
	if err != nil {
		t.Fatal(err)
	}
	usdc, _ := tokens.BySymbol("USDC")
	theirs := []wallet.TokenMatch{
		{Mint: wallet.Address{1}, Symbol: "USDC", Verified: true, Source: "jupiter"},
		{Mint: wallet.Address{2}, Symbol: "UЅDC", Verified: true, Source: "jupiter"}, // with a Cyrillic letter
		{Mint: wallet.Address{3}, Symbol: "other", Source: "jupiter"},
		{Mint: wallet.Address{4}, Symbol: "Verified", Verified: true, Source: "jupiter"},
		{Mint: wallet.Address{5}, Symbol: "sol", Verified: true, Source: "jupiter"},
		{Mint: wallet.Address{6}, Symbol: "warned of", Verified: true, Suspect: true, Source: "jupiter"},
		{Mint: usdc.Mint, Symbol: "something else", Decimals: 77, Suspect: true, Holders: 5, Source: "jupiter"},
	}
	s, _ := newTokenSearch(t, &at, func(context.Context, string) ([]wallet.TokenMatch, error) { return theirs, nil })
	lines, complete := found(t, s, "usdc")
	if want := "USDC listed trusted jupiter|Verified trusted jupiter|USDC suspect jupiter|UЅDC suspect jupiter|other jupiter|sol suspect jupiter|warned of suspect jupiter"; strings.Join(lines, "|") != want || !complete {
		t.Errorf("%v %q", complete, lines)
	}
	matches, _, _ := s.Find(t.Context(), handlers.Caller{User: "usr_1"}, "usdc")
	if m := matches[0]; m.Mint != usdc.Mint || m.Decimals != usdc.Decimals || m.Holders != 5 {
		t.Errorf("%+v", m)
	}
	// By another word the source alone finds it, and it is what the list says all the same.
	lines, _ = found(t, s, "anything")
	if lines[0] != "USDC listed trusted jupiter" {
		t.Errorf("%q", lines)
	}
	if lines, _ = found(t, s, usdc.Mint.String()); lines[0] != "USDC listed trusted jupiter" {
		t.Errorf("by mint: %q", lines)
	}
	if lines, _ = found(t, s, "sOl"); lines[0] != "SOL listed trusted" {
		t.Errorf("%q", lines)
	}
}

// TestASourceThatDoesNotAnswerLeavesTheList, and is asked again by the next who searches.
func TestASourceThatDoesNotAnswerLeavesTheList(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	s, source := newTokenSearch(t, &at, func(context.Context, string) ([]wallet.TokenMatch, error) { return nil, errors.New("down") })
	for range 2 {
		if lines, complete := found(t, s, "USDC"); complete || len(lines) != 1 || lines[0] != "USDC listed trusted" {
			t.Errorf("%v %q", complete, lines)
		}
	}
	if n := len(source.asked); n != 2 {
		t.Errorf("asked %d times", n)
	}
	s.Source = nil
	if lines, complete := found(t, s, "USDC"); !complete || len(lines) != 1 {
		t.Errorf("without a source: %v %q", complete, lines)
	}
}

// TestTheSameSearchIsMadeOnce for all who wait for it and for five minutes, whatever case it is written in.
func TestTheSameSearchIsMadeOnce(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	answers := make(chan struct{})
	s, source := newTokenSearch(t, &at, func(ctx context.Context, _ string) ([]wallet.TokenMatch, error) {
		select {
		case <-answers:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return []wallet.TokenMatch{{Mint: wallet.Address{1}, Symbol: "BEAN"}}, nil
	})
	results := make(chan int, 10)
	for range 10 {
		go func() {
			matches, _, _ := s.Find(context.Background(), handlers.Caller{User: "usr_1"}, "Bean")
			results <- len(matches)
		}()
	}
	if query := <-source.asked; query != "bean" {
		t.Errorf("asked for %q", query)
	}
	// One who gives up takes nothing from the others.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Find(gone, handlers.Caller{User: "usr_1"}, "BEAN"); !errors.Is(err, context.Canceled) {
		t.Errorf("gave up with %v", err)
	}
	close(answers)
	for range 10 {
		if n := <-results; n != 1 {
			t.Errorf("found %d", n)
		}
	}
	at = at.Add(5 * time.Minute)
	if lines, _ := found(t, s, "  bEAN "); len(lines) != 1 || len(source.asked) != 0 {
		t.Errorf("after five minutes: %q, asked %d times more", lines, len(source.asked))
	}
	at = at.Add(time.Second)
	if _, _ = found(t, s, "bean"); len(source.asked) != 1 {
		t.Error("it is never asked again")
	}
}

// TestAQueryThatMeansNothingIsRefused before anybody is asked.
func TestAQueryThatMeansNothingIsRefused(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	s, source := newTokenSearch(t, &at, func(context.Context, string) ([]wallet.TokenMatch, error) { return nil, nil })
	for _, query := range []string{"", "   ", strings.Repeat("x", handlers.MaxTokenQuery+1), "a\u202eb", "a\x00"} {
		if _, _, err := s.Find(t.Context(), handlers.Caller{User: "usr_1"}, query); wallet.CodeOf(err) != wallet.InvalidRequest || wallet.FieldOf(err) != "query" {
			t.Errorf("%q: %v", query, err)
		}
	}
	if len(source.asked) != 0 {
		t.Error("somebody was asked")
	}
	// However many different things are searched for, few are remembered.
	for i := range 2000 {
		if _, _, err := s.Find(t.Context(), handlers.Caller{User: "usr_1"}, strings.Repeat("x", 1+i%40)+string(rune('a'+i/40%26))+string(rune('a'+i/1000))); err != nil {
			t.Fatal(err)
		}
		for len(source.asked) > 0 {
			<-source.asked
		}
	}
}
