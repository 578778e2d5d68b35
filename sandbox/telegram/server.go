// Package telegram knows how Telegram looks from outside, to a bot (the Bot API over HTTP) and to
// two people (a page that plays their app); it refuses to know anything of wallets, of Solana, or
// of the bot that talks to it.
//
// A Server is one Telegram: its Handler answers the Bot API and the page, and methods such as Say, Tap and Block act as the
// people do. State is a value that changes are applied to; each change is a line of the journal first, so a
// restart has it again. A Fault makes calls fail as real ones do.
package telegram

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The two people of the page. Their private chats have the same ids.
const (
	Alice int64 = 1001
	Bob   int64 = 1002
)

// DefaultToken has a real token's shape and opens nothing but a sandbox.
const DefaultToken = "1000000001:SANDBOX-purser-not-a-real-bot-token"

// Options say what the sandbox is to be. All fields may be zero.
type Options struct {
	Now         func() time.Time // nil: time.Now
	Rand        io.Reader        // nil: crypto/rand
	Dir         string           // where state is kept; "": in memory only
	Token       string           // "": DefaultToken
	BotName     string           // "": "purser"
	BotUsername string           // "": "purser_sandbox_bot"
	Hint        string           // shown on the page as long as the bot has not described itself
	Unlimited   bool             // accept messages faster than Telegram's published limits
	Other       *OtherBot        // another bot of the same sandbox, to which the page links; nil: none

	// Faucet gives test SOL (in lamports) to an address. nil: the page has no faucet.
	Faucet func(ctx context.Context, address string, lamports uint64) error
	// FaucetToken gives a test token (its symbol, in base units) to its future owner's address. nil:
	// the faucet has SOL only.
	FaucetToken func(ctx context.Context, owner, symbol string, units uint64) error
	// Shop asks for payments. nil: the page has no shop.
	Shop Shop
	// Mails are those that the sandbox's mail server took in, newest first. nil: the page has no mail box.
	Mails func() []Mail
	// Client posts to webhooks. nil: a client of its own, 60 s a request, no redirects.
	Client *http.Client
}

// OtherBot is where people chat with another bot of the same sandbox.
type OtherBot struct {
	Name string `json:"name"`
	Path string `json:"path"` // of its page
}

// Server is a Telegram with one bot. Its methods are safe for concurrent use.
type Server struct {
	opt     Options
	bot     User
	methods map[string]method

	mu      sync.Mutex
	st      *state
	journal *journal
	changed chan struct{} // closed and replaced whenever anything changes

	poll   *poller // the long poll that waits now
	hook   hookTrouble
	toasts []Toast
	calls  []Call
	onCall []func(Call)
	fault  func(method string) Fault
	feed   feed
	limits limits

	done      chan struct{}
	closeOnce sync.Once
}

var tokenShape = regexp.MustCompile(`^([0-9]{1,16}):[A-Za-z0-9_-]{30,50}$`)

// Open reads the state in o.Dir, or begins a new one. Close it when done.
func Open(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	o.Token = orElse(o.Token, DefaultToken)
	o.BotName = orElse(o.BotName, "purser")
	o.BotUsername = orElse(o.BotUsername, "purser_sandbox_bot")
	if o.Client == nil {
		o.Client = &http.Client{
			Timeout:       60 * time.Second,
			Transport:     &http.Transport{Proxy: nil, MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	shape := tokenShape.FindStringSubmatch(o.Token)
	if shape == nil {
		return nil, errors.New("sandbox telegram: the token must look like 123456:ABC..., with 30 to 50 characters after the colon")
	}
	id, err := strconv.ParseInt(shape[1], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("sandbox telegram: bot id in the token: %w", err)
	}
	st := newState()
	j, err := openJournal(o.Dir, st)
	if err != nil {
		return nil, err
	}
	s := &Server{
		opt: o, st: st, journal: j, methods: methods(),
		bot:     User{ID: id, IsBot: true, FirstName: o.BotName, Username: o.BotUsername},
		changed: make(chan struct{}),
		done:    make(chan struct{}),
	}
	s.feed.epoch = s.randomText(9)
	if err := s.begin(); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return s, nil
}

// begin introduces Alice and Bob to a new state.
func (s *Server) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first []change
	if s.st.NextUpdate == 0 {
		var b [3]byte
		if _, err := io.ReadFull(s.opt.Rand, b[:]); err != nil {
			return fmt.Errorf("sandbox telegram: first update id: %w", err)
		}
		// Real update ids begin anywhere; a bot that assumes 1 should fail here already.
		start := int64(100_000_000) + int64(b[0])<<16 + int64(b[1])<<8 + int64(b[2])
		first = append(first, change{Counters: &counters{NextUpdate: start, NextMessage: 1}})
	}
	for _, p := range []person{
		{User: User{ID: Alice, FirstName: "Alice", LastName: "Adler", Username: "alice", LanguageCode: "en"}, Phone: "+15550101001"},
		{User: User{ID: Bob, FirstName: "Bob", LastName: "Brook", Username: "bob", LanguageCode: "en"}, Phone: "+15550101002"},
	} {
		if s.st.People[p.User.ID] == nil {
			first = append(first, change{Person: &p})
		}
	}
	if len(first) == 0 {
		return nil
	}
	return s.commit(first...)
}

// Token is the token that opens the Bot API of this sandbox.
func (s *Server) Token() string { return s.opt.Token }

// Bot is the bot's own account.
func (s *Server) Bot() User { return s.bot }

// Close ends every waiting request and closes the journal.
func (s *Server) Close() error {
	s.closeOnce.Do(func() { close(s.done) })
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.journal.close()
}

// Handler answers the Bot API at /bot<token>/<method> and /file/bot<token>/<path>, and the page at
// / and /app/. Requests that another site's page sends are refused, also under a name of its own
// (DNS rebinding): the sandbox's token is no secret.
func (s *Server) Handler() http.Handler {
	page := s.pageHandler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host && o != "https://"+r.Host || !ownHost(r.Host) {
			http.Error(w, "This sandbox answers its own page only.", http.StatusForbidden)
			return
		}
		switch {
		case strings.HasPrefix(r.URL.Path, botPath):
			s.serveBot(w, r)
		case strings.HasPrefix(r.URL.Path, filePath):
			s.serveBotFile(w, r)
		default:
			page.ServeHTTP(w, r)
		}
	})
}

// Where a token opens the Bot API, and where the files of getFile are.
const (
	botPath  = "/bot"
	filePath = "/file/bot"
)

// Handler serves several bots at one address, as Telegram does: their tokens tell them apart. The page
// of the first is at /, that of each other one at its path, which begins and ends with a slash.
func Handler(first *Server, others map[string]*Server) http.Handler {
	handlers := map[string]http.Handler{"": first.Handler()} // by token
	mux := http.NewServeMux()
	for path, s := range others {
		h := s.Handler()
		handlers[s.Token()] = h
		mux.Handle(path, http.StripPrefix(strings.TrimSuffix(path, "/"), h))
	}
	mux.Handle("/", handlers[""])
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, ofFile := strings.CutPrefix(r.URL.Path, filePath)
		ofBot := false
		if !ofFile {
			rest, ofBot = strings.CutPrefix(r.URL.Path, botPath)
		}
		if !ofFile && !ofBot {
			mux.ServeHTTP(w, r)
			return
		}
		token, _, _ := strings.Cut(rest, "/")
		if h := handlers[token]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		handlers[""].ServeHTTP(w, r) // which knows its own token, or refuses
	})
}

// commit writes the changes as one line of the journal, then applies them and wakes whoever waits.
// The caller holds s.mu.
func (s *Server) commit(cs ...change) error {
	if err := s.journal.append(cs); err != nil {
		return err
	}
	for _, c := range cs {
		s.st.apply(c)
	}
	s.wake()
	return nil
}

// wake tells everyone who waits to look again. The caller holds s.mu.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// randomText is n random bytes in URL-safe base64.
func (s *Server) randomText(n int) string {
	b := make([]byte, n)
	if _, err := io.ReadFull(s.opt.Rand, b); err != nil {
		panic("sandbox telegram: randomness ended: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// randomDigits is an identifier of n decimal digits, the first not zero.
func (s *Server) randomDigits(n int) string {
	b := make([]byte, n)
	if _, err := io.ReadFull(s.opt.Rand, b); err != nil {
		panic("sandbox telegram: randomness ended: " + err.Error())
	}
	for i := range b {
		b[i] = '0' + b[i]%10
	}
	if b[0] == '0' {
		b[0] = '7'
	}
	return string(b)
}

func (s *Server) unix() int64 { return s.opt.Now().Unix() }

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
