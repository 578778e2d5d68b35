package chat

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// Options are what a Chat talks with.
type Options struct {
	Store     store.Store
	Users     *handlers.Users
	Wallets   *handlers.Wallets
	Transfers *handlers.Transfers
	Contacts  *handlers.Contacts
	// Developers have access to the API, Apps are what people allow theirs.
	Developers *handlers.Developers
	Apps       *handlers.Apps
	Portal     *handlers.Portal
	// Receives tells whether a person lets an app be told of events, and whether a webhook of it takes them now.
	Receives func(tx store.Tx, app wallet.AppID, person wallet.UserID, name wallet.EventName) (granted, listening bool, err error)
	// PublicURL is where the signing page lives: its links end up in people's own chats only.
	PublicURL *url.URL
	PagesURL  *url.URL // where the portal of webhooks is
	DocsURL   *url.URL // where the API is described; nil: nowhere
	// Hourly is how many requests an hour a key of a kind has by its tier; nil: it is not told.
	Hourly func(wallet.KeyKind, wallet.Tier) uint64
	// ExplorerURL makes links of signatures: {signature} is put in, and {cluster} by the name that
	// Solana's explorers use (mainnet-beta, devnet, custom). Without {signature} it is a base, and
	// /tx/<signature> is added. Empty: no links.
	ExplorerURL string
	Cluster     string        // mainnet, devnet or localnet
	BotName     func() string // the bot's username without @; "" while unknown
	Now         func() time.Time
	After       func(time.Duration) <-chan time.Time // wakes Run; nil: time.After
	Node        string                               // the name of this node, as work.Pool has it; "": "main"
	Random      io.Reader
	Log         *slog.Logger
	Lookups     int    // that one person has at once; 0: Lookups
	Cards       []Card // how the kinds of transactions are shown that the store knows, each once
}

// Chat answers what people say and tap. What it must remember is in the store; by itself it holds only how
// often people had a node asked lately. It is safe for use by several goroutines.
//
// A front asks Receive where an input belongs, lets its router find that Endpoint, and commits the Turn that the
// endpoint returns. What there is to talk about stands in conversations, and nowhere else.
type Chat struct {
	Options
	words    catalogue // in English
	secrets  Secrets
	registry *registry
	budget   *budget
	cards    cards
}

// New checks the options, reads the catalogue and joins the conversations.
func New(o Options) (*Chat, error) { return newChat(o, conversations(), locales) }

// newChat is New with a list of conversations, and the roots of the files with what they say.
func newChat(o Options, all []conversation, texts ...fs.FS) (*Chat, error) {
	if o.Store == nil || o.Users == nil || o.Wallets == nil || o.Transfers == nil || o.Contacts == nil ||
		o.Developers == nil || o.Apps == nil || o.Portal == nil || o.Receives == nil || o.PublicURL == nil || o.PagesURL == nil || o.Now == nil || o.Random == nil || o.Log == nil || len(o.Cards) == 0 {
		return nil, errors.New("chat: Store, Users, Wallets, Transfers, Contacts, Developers, Apps, Portal, Receives, PublicURL, PagesURL, Now, Random, Log and Cards are needed")
	}
	if o.ExplorerURL != "" {
		if u, err := url.Parse(o.ExplorerURL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, fmt.Errorf("chat: %q is no http(s) address of an explorer", o.ExplorerURL)
		}
	}
	if o.BotName == nil {
		o.BotName = func() string { return "" }
	}
	if o.After == nil {
		o.After = time.After
	}
	for _, card := range o.Cards {
		if card.Locales != nil {
			texts = append(texts, card.Locales)
		}
	}
	words, err := newCatalogue(texts...)
	if err != nil {
		return nil, err
	}
	cards, err := newCards(o.Cards, o.Store.Kinds(), words)
	if err != nil {
		return nil, fmt.Errorf("chat: %w", err)
	}
	registry, err := newRegistry(append([]conversation{menuButtons()}, all...), cards.notices(), words)
	if err != nil {
		return nil, fmt.Errorf("chat: %w", err)
	}
	return &Chat{Options: o, words: words, secrets: NewSecrets(), registry: registry, budget: newBudget(cmp.Or(o.Lookups, Lookups)), cards: cards}, nil
}

// wordsFor is the catalogue in a person's language.
func (c *Chat) wordsFor(language string) catalogue { return c.words.in(language) }
