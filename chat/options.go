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

// Receivers knows which apps get an event about a person. webhooks.Service implements it.
type Receivers interface {
	// Receives reports whether the person has granted the app this type of event, and whether an active webhook of the app
	// subscribes to it. It reads only from tx.
	Receives(tx store.Tx, app wallet.AppID, person wallet.UserID, name wallet.EventName) (granted, listening bool, err error)
}

// KeyLimits knows the limits of API keys. quota.Limits implements it.
type KeyLimits interface {
	// Hourly returns the requests per hour of a key by its kind and tier.
	Hourly(kind wallet.KeyKind, tier wallet.Tier) uint64
}

// Options are the dependencies and settings of a Chat. Fields are required unless their comment says otherwise.
type Options struct {
	Store     store.Store
	Users     *handlers.Users
	Wallets   *handlers.Wallets
	Transfers *handlers.Transfers
	History   *handlers.History
	Stakes    *handlers.Stakes
	Swaps     *handlers.Swaps
	Revokes   *handlers.Revokes
	// TokenSearch finds tokens for symbols outside the list.
	TokenSearch *handlers.TokenSearch
	Contacts    *handlers.Contacts
	// Notifications changes how purser speaks to a person.
	Notifications *handlers.Notifications
	Prices        Prices
	Alerts        *handlers.Alerts
	Freezing      *handlers.Freezing
	Policies      *handlers.Policies
	// Developers manage access to the API. Apps manage what people allow the apps of others. People decides what an app may
	// do for a person.
	Developers *handlers.Developers
	Apps       *handlers.Apps
	People     *handlers.People
	Portal     *handlers.Portal
	Security   *handlers.Security
	Receivers  Receivers
	// PublicURL is the address of the signing page. Its links are secret and go only to people's own chats.
	PublicURL *url.URL
	PagesURL  *url.URL // address of the webhook portal
	DocsURL   *url.URL // address of the API documentation; nil: no link
	// Limits are those of keys, to tell developers. nil: the chat does not mention them.
	Limits KeyLimits
	// ExplorerURL is the template of links to transactions. {signature} is replaced, and so is {cluster}, by the name that
	// Solana's explorers use (mainnet-beta, devnet, custom). Without {signature} it is a base to which /tx/<signature> is
	// added. Empty: no links.
	ExplorerURL string
	Cluster     string        // mainnet, devnet or localnet
	BotName     func() string // the bot's username without @; "" while unknown
	Now         func() time.Time
	After       func(time.Duration) <-chan time.Time // timer of Run; nil: time.After
	Node        string                               // name of this node, see work.Pool; "": "main"
	Random      io.Reader
	Log         *slog.Logger
	Lookups     int    // lookups that one person may make at once; 0: the constant Lookups
	Cards       []Card // one Card for each kind of transaction that the store knows
}

// Chat answers what people type and tap. All state of conversations is in the store; a Chat itself only counts recent lookups
// (budget). It is safe for concurrent use.
//
// Receive finds the Endpoint of an Input. The front's router calls that endpoint and commits the Turn that it returns. Run
// ends conversations whose time is over.
type Chat struct {
	Options
	words    catalogue // in English
	secrets  Secrets
	registry *registry
	budget   *budget
	cards    cards
}

// New checks the options, reads the catalogue and indexes the conversations. It returns an error if an option is missing, or
// if conversations, cards and texts do not fit together.
func New(o Options) (*Chat, error) { return newChat(o, conversations(), locales) }

// newChat is New with a given list of conversations and the file systems that hold their texts. Tests use it.
func newChat(o Options, all []conversation, texts ...fs.FS) (*Chat, error) {
	if o.Store == nil || o.Users == nil || o.Wallets == nil || o.Transfers == nil || o.History == nil || o.Contacts == nil ||
		o.Developers == nil || o.Apps == nil || o.People == nil || o.Stakes == nil || o.Swaps == nil || o.Revokes == nil || o.TokenSearch == nil || o.Prices == nil || o.Notifications == nil || o.Alerts == nil || o.Freezing == nil || o.Policies == nil || o.Portal == nil || o.Receivers == nil || o.PublicURL == nil || o.PagesURL == nil || o.Now == nil || o.Random == nil || o.Log == nil || len(o.Cards) == 0 {
		return nil, errors.New("chat: Store, Users, Wallets, Transfers, History, Contacts, Stakes, Swaps, Revokes, TokenSearch, Prices, Alerts, Freezing, Policies, Notifications, Developers, Apps, Portal, Receivers, PublicURL, PagesURL, Now, Random, Log and Cards are needed")
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
	// Kinds outside this package may bring sentences of their own.
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
	registry, err := newRegistry(append([]conversation{menuButtons(), limitsLinks()}, all...), cards.notices(), words)
	if err != nil {
		return nil, fmt.Errorf("chat: %w", err)
	}
	return &Chat{Options: o, words: words, secrets: NewSecrets(), registry: registry, budget: newBudget(cmp.Or(o.Lookups, Lookups)), cards: cards}, nil
}

// wordsFor returns the catalogue as a person reads it: in their language, with times by their clock.
func (c *Chat) wordsFor(reader wallet.User) catalogue {
	return c.words.in(reader.Tag(), reader.Settings.TimeZone.Location())
}
