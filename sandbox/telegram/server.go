// Package telegram is one Telegram in this process, as it looks to a bot (the Bot API over HTTP) and to two people (a
// page that plays their app). It must not know anything about wallets, Solana or the bot that talks to it.
//
// A Server has one bot. Open makes it from Options, and its Handler serves the Bot API and the page. Say, Tap, Block
// and the like act as a person does, and WaitMessage and WaitFor wait for the bot's answer. Run delivers updates to a
// webhook, if one is set. A Fault makes calls fail as they do in reality.
//
// All that survives a restart is a state. It is only modified by changes, and each list of changes is a line of the
// journal before it is applied. So a restart replays the journal and has the same state. The feed of recent events,
// for the page, is in memory only.
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

// The two people of the page. The id of a private chat is the id of its person.
const (
	Alice int64 = 1001
	Bob   int64 = 1002
)

// DefaultToken has the form of a real token, but is valid for a sandbox only.
const DefaultToken = "1000000001:SANDBOX-purser-not-a-real-bot-token"

// Options configure a Server. The zero value is valid.
type Options struct {
	Now         func() time.Time // nil: time.Now
	Rand        io.Reader        // nil: crypto/rand
	Dir         string           // folder of the journal and files; "": in memory only
	Token       string           // "": DefaultToken
	BotName     string           // "": "purser"
	BotUsername string           // "": "purser_sandbox_bot"
	Hint        string           // shown on the page until the bot sets a description
	Unlimited   bool             // accept messages faster than Telegram's published limits
	Other       *OtherBot        // the page links to it; nil: none

	// Faucet gives test SOL (in lamports) to an address. nil: the page has no faucet.
	Faucet func(ctx context.Context, address string, lamports uint64) error
	// FaucetToken gives a test token (its symbol, in base units) to its future owner's address. nil:
	// the faucet has SOL only.
	FaucetToken func(ctx context.Context, owner, symbol string, units uint64) error
	// PlantApproval lets a stranger spend a test token (its symbol, in base units) of an address, as a hostile app gets people to allow,
	// and returns the stranger's address. Errors: ErrNothingToPlant. nil: the page does not offer it.
	PlantApproval func(owner, symbol string, units uint64) (delegate string, err error)
	// NextEpoch makes the cluster begin its next epoch, and returns that epoch. nil: the page has no such button.
	NextEpoch func(ctx context.Context) (uint64, error)
	// Shop asks for payments. nil: the page has no shop.
	Shop Shop
	// Market has prices of tokens. nil: the page shows none.
	Market Market
	// Mails are those that the sandbox's mail server took in, newest first. nil: the page has no mail box.
	Mails func() []Mail
	// Client posts to webhooks. nil: a client of its own, 60 s a request, no redirects.
	Client *http.Client
}

// OtherBot is another bot of the same sandbox, to which the page links.
type OtherBot struct {
	Name string `json:"name"`
	Path string `json:"path"` // of its page
}

// Server is a Telegram with one bot. Its methods are safe for concurrent use. mu guards the fields below it; opt, bot
// and methods do not change after Open.
type Server struct {
	opt     Options
	bot     User
	methods map[string]method

	mu      sync.Mutex
	st      *state
	journal *journal
	changed chan struct{} // closed and replaced on every change; see wake

	poll   *poller // the getUpdates call that waits, or nil
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

// tokenShape is the form of a bot token: the bot's id, a colon, and a secret.
var tokenShape = regexp.MustCompile(`^([0-9]{1,16}):[A-Za-z0-9_-]{30,50}$`)

// Open reads the state in o.Dir, or begins a new one. Callers must Close the Server.
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
	// The bot's id is the number in its token.
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

// begin adds Alice and Bob to a new state.
func (s *Server) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first []change
	if s.st.NextUpdate == 0 {
		var b [3]byte
		if _, err := io.ReadFull(s.opt.Rand, b[:]); err != nil {
			return fmt.Errorf("sandbox telegram: first update id: %w", err)
		}
		// Real update ids can start anywhere. A bot that assumes 1 fails here too.
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

// Token is the bot's token for the Bot API.
func (s *Server) Token() string { return s.opt.Token }

// Bot is the bot's own account, with the name from Options.
func (s *Server) Bot() User { return s.bot }

// Close ends all waiting requests and closes the journal. Later calls that change anything fail.
func (s *Server) Close() error {
	s.closeOnce.Do(func() { close(s.done) })
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.journal.close()
}

// Handler serves the Bot API at /bot<token>/<method> and /file/bot<token>/<path>, and the page at / and /app/. It
// refuses requests of other sites' pages, also those under a domain name of their own (DNS rebinding), because the
// sandbox's token is no secret.
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

// The path in front of a token for the Bot API, and for the files of getFile.
const (
	botPath  = "/bot"
	filePath = "/file/bot"
)

// Handler serves several bots at one address, as Telegram does; the token tells which one a call is for. The first
// bot's page is at /, and each other page is at its path, which begins and ends with a slash.
func Handler(first *Server, others map[string]*Server) http.Handler {
	// The first bot's token is not in the map, so unknown tokens also go to its handler, which refuses them.
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
		handlers[""].ServeHTTP(w, r) // it has the remaining token, and refuses all others
	})
}

// commit writes the changes as one line of the journal, then applies them and wakes all waiters. After an error
// nothing is applied. Callers hold s.mu.
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

// wake makes everything that waits on s.changed look again. Callers hold s.mu.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// randomText is n random bytes in URL-safe base64. Callers hold s.mu, because Options.Rand need not be safe for
// concurrent use.
func (s *Server) randomText(n int) string {
	b := make([]byte, n)
	if _, err := io.ReadFull(s.opt.Rand, b); err != nil {
		panic("sandbox telegram: randomness ended: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// randomDigits is an identifier of n decimal digits, the first of which is not zero. Callers hold s.mu.
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

// unix is the time in Unix seconds, Telegram's unit.
func (s *Server) unix() int64 { return s.opt.Now().Unix() }

// orElse is s, or otherwise if s is empty.
func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
