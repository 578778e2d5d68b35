// Package product assembles purser from its packages, in one place for main and for e2e/world: the operations (handlers)
// over a store and a cluster, their limits, webhook delivery and settlement.
//
// Kinds is the registry of transaction kinds. Options is what differs between a server and a test: settings, store,
// cluster, clock, IDs and randomness. New turns Options into Parts. Parts.Chat then gives the options of the chat:
//
//	kinds, err := product.NewKinds(product.StandardKinds()...)
//	// open the store with kinds.Rules() and the chain client with kinds.Codec()
//	parts, err := product.New(product.Options{Kinds: kinds, ...})
//	go parts.Settler.Run(ctx)
//
// The package opens nothing and starts nothing. The caller runs the workers and closes what it opened. The fronts (bot,
// api, pages) are added by main, the only package that listens on sockets.
package product

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"purser/chain"
	"purser/chat"
	"purser/config"
	"purser/egress"
	"purser/handlers"
	"purser/mail"
	"purser/market"
	"purser/pages"
	"purser/quota"
	"purser/settle"
	"purser/store"
	"purser/wallet"
	"purser/webhooks"
	"purser/work"
)

// Poster sends one webhook message, and can report beforehand whether it would send to an address (webhooks.Poster).
type Poster interface {
	handlers.Reachability
	Post(ctx context.Context, m webhooks.Message) webhooks.Result
}

// Options are the dependencies of the parts. All fields must be set.
type Options struct {
	Config     config.Config
	Kinds      Kinds // the registry that Store and Chain were opened with
	Store      store.Store
	Deliveries store.DeliveryLog
	PastPrices store.PriceHistory
	Chain      *chain.Client
	Poster     Poster
	BotName    func() string // without @; returns "" until Telegram has answered getMe
	Node       string        // name of this node, unchanged by restarts (work.Pool)

	Now    handlers.Clock
	NewID  handlers.IDs
	Random io.Reader // makes keys, tokens and references: crypto/rand outside tests
	Log    *slog.Logger
}

// Parts is purser without its fronts. Its fields do not change after New, and all of them are safe for concurrent use.
type Parts struct {
	Options
	Tokens *market.Tokens

	Users        *handlers.Users
	Wallets      *handlers.Wallets
	Transactions *handlers.Transactions     // proposals of every kind
	Blocked      *handlers.BlockedAddresses // that nobody may pay; of Config.Fraud, and of its file as the caller reads it
	Transfers    *handlers.Transfers        // sends and payment requests, over Transactions
	History      *handlers.History          // what happened to wallets, on chain and here
	Stakes       *handlers.Stakes           // native stakes, over Transactions
	Swaps        *handlers.Swaps            // swaps of tokens, over Transactions
	Revokes      *handlers.Revokes          // who else may spend tokens, and taking that back, over Transactions
	Prices       *handlers.Prices           // what tokens cost
	TokenSearch  *handlers.TokenSearch      // which tokens there are
	Signing      *handlers.Signing
	Contacts     *handlers.Contacts
	Operator
	Apps          *handlers.Apps
	People        *handlers.People
	Notifications *handlers.Notifications
	Summaries     *handlers.Summaries
	Alerts        *handlers.Alerts
	Freezing      *handlers.Freezing
	Policies      *handlers.Policies
	Webhooks      *handlers.Webhooks
	Portal        *handlers.Portal
	Security      *handlers.Security
	Developers    *handlers.Developers

	// These are workers: the caller runs them, and stops them before it closes the store.
	Meter    *quota.Meter
	Delivery *webhooks.Service
	Settler  *settle.Settler
	Watcher  *settle.Watcher
	Market   *market.Prices
	News     *market.News // nil without feeds
}

// New makes the parts. It returns an error for a missing option, a setting that cannot work, or a kind without its
// operation. It neither reads the store nor connects to anything.
func New(o Options) (*Parts, error) {
	if len(o.Kinds.all) == 0 || o.Store == nil || o.Chain == nil || o.Poster == nil || o.PastPrices == nil || o.Node == "" || o.Now == nil || o.NewID == nil || o.Random == nil || o.Log == nil || o.BotName == nil {
		return nil, errors.New("product: an option is missing")
	}
	c := o.Config
	tokens, err := market.Listed(c.Chain.Cluster)
	if err != nil {
		return nil, err
	}
	p := &Parts{Options: o, Tokens: tokens}
	p.Users = &handlers.Users{Now: o.Now, NewID: o.NewID}
	links := handlers.DeviceLinks{Signatures: chain.Messages{}, PublicURL: c.HTTP.PublicURL, Cluster: c.Chain.Cluster, Now: o.Now, Random: o.Random}
	p.Wallets = &handlers.Wallets{DeviceLinks: links, Store: o.Store, Chain: o.Chain, Tokens: tokens}
	p.Blocked = &handlers.BlockedAddresses{}
	p.Blocked.Replace(c.Fraud.Addresses)
	p.Transactions = &handlers.Transactions{Rules: wallet.FraudRules(), Blocked: p.Blocked, Store: o.Store, Network: o.Chain, Messages: o.Kinds.Codec(), Now: o.Now, NewID: o.NewID, Random: o.Random}
	p.Freezing = &handlers.Freezing{DeviceLinks: links, Store: o.Store, Wallets: p.Wallets}
	p.Policies = &handlers.Policies{DeviceLinks: links, Store: o.Store}
	p.Transfers = &handlers.Transfers{Transactions: p.Transactions, Chain: o.Chain, Tokens: tokens}
	p.History = &handlers.History{Transfers: p.Transfers, Chain: o.Chain}
	quoter := p.price()
	p.Swaps = &handlers.Swaps{Transactions: p.Transactions, Transfers: p.Transfers, Chain: o.Chain, Quoter: quoter, Limit: p.TokenSearch.Limit, Reader: o.Kinds.Codec(), Book: p.Market}
	p.Revokes = &handlers.Revokes{Transactions: p.Transactions, Chain: o.Chain, Tokens: tokens}
	p.Stakes = &handlers.Stakes{Transactions: p.Transactions, Chain: o.Chain, Preferred: c.Stake.Validators}
	// The operations of kinds need parts that exist by now, such as Transfers.
	if p.Transactions.Operations, err = o.Kinds.operations(p); err != nil {
		return nil, err
	}
	p.Signing = &handlers.Signing{Store: o.Store, Chain: o.Chain, Messages: chain.Messages{}, Cluster: c.Chain.Cluster, Now: o.Now}
	p.Contacts = &handlers.Contacts{Store: o.Store, Tokens: tokens, Now: o.Now}
	p.Apps = &handlers.Apps{Now: o.Now}
	p.People = &handlers.People{Store: o.Store, Now: o.Now, Bot: o.BotName}
	p.Notifications = &handlers.Notifications{Store: o.Store, Now: o.Now, NewID: o.NewID}
	p.Alerts = &handlers.Alerts{Store: o.Store, Now: o.Now, NewID: o.NewID}
	p.Summaries = &handlers.Summaries{Store: o.Store, Wallets: p.Wallets, Stakes: p.Stakes, Background: chain.InBackground, Now: o.Now}
	p.Portal = &handlers.Portal{Store: o.Store, Now: o.Now, Random: o.Random}
	p.Security = &handlers.Security{Store: o.Store, Now: o.Now}
	p.Operator = NewOperator(o)
	p.Developers = &handlers.Developers{Store: o.Store, Keys: p.Keys, Steps: c.Access.Steps, Admins: c.Access.Admins,
		Log: o.Log, Now: o.Now, NewID: o.NewID, Random: o.Random}
	// Without a mail server the step that verifies an e-mail address is unavailable.
	if c.Mail.URL != "" {
		p.Developers.Mail, err = mail.New(mail.Options{URL: c.Mail.URL.Reveal(), From: c.Mail.From, Now: o.Now, Random: o.Random})
		if err != nil {
			return nil, err
		}
	}
	p.deliver()
	p.readNews()
	p.Settler = &settle.Settler{Store: o.Store, Chain: o.Chain, Release: p.Transactions.Release, Now: o.Now, Log: o.Log, Pace: settle.DefaultPace(), Node: o.Node, Random: o.Random}
	p.Watcher = &settle.Watcher{Store: o.Store, Chain: o.Chain, Arriving: o.Chain, Stakes: o.Chain.FinalizedStakes(), Hints: o.Chain, Subscriptions: c.Watch.Subscriptions, Listed: tokens.ByMint, Expected: tokens.Currencies(), Background: chain.InBackground,
		Now: o.Now, Log: o.Log, Pace: settle.DefaultWatchPace(c.Watch.Calls), Node: o.Node, Random: o.Random}
	if c.Chain.Cluster == wallet.Localnet { // an epoch ends whenever somebody wants
		p.Watcher.Pace.Stakes = 15 * time.Second
	}
	return p, nil
}

// Operator is what the operator's command line works with: beside a server over its admin socket, or without one.
type Operator struct {
	Keys   *handlers.Keys
	Queues *handlers.Queues
}

// NewOperator makes them. It needs of the options Store, Config.Chain.Cluster, Now, NewID and Random. Without BotName names of
// apps are not compared with the bot's.
func NewOperator(o Options) Operator {
	return Operator{
		Keys: &handlers.Keys{Store: o.Store, Mainnet: o.Config.Chain.Cluster == wallet.Mainnet, Now: o.Now, NewID: o.NewID,
			Random: o.Random, Log: o.Log, Bot: o.BotName},
		Queues: &handlers.Queues{Store: o.Store, Now: o.Now},
	}
}

// deliver makes the parts that bring events to webhooks, and the operations by which owners manage their webhooks.
func (p *Parts) deliver() {
	c := p.Config.Webhooks
	p.Meter = &quota.Meter{Store: p.Store, Node: p.Node, Now: p.Now, Log: p.Log}
	p.Delivery = &webhooks.Service{Store: p.Store, Node: p.Node, Log: p.Deliveries, Transport: p.Poster, Meter: p.Meter, Limit: quota.Limit{Count: c.Events, Span: time.Hour},
		Schedule: work.Schedule{Waits: c.Schedule}, Retention: c.Retention, Now: p.Now, Logger: p.Log}
	p.Webhooks = &handlers.Webhooks{Store: p.Store, Node: p.Node, Log: p.Deliveries, Retention: c.Retention, Reachability: p.Poster, Deliverer: p.Delivery,
		Networks: wallet.WebhookNetworks{Private: c.AllowPrivate, Plain: c.AllowHTTP}, Now: p.Now, NewID: p.NewID, Random: p.Random}
}

// price makes the parts that know what tokens cost, with the sources of the settings. It returns who quotes swaps; nil for nobody.
// Jupiter knows the tokens of mainnet only, and trades there; the sandbox brings its own.
func (p *Parts) price() (quoter wallet.SwapQuoter) {
	p.Market = &market.Prices{Store: p.Store, History: p.PastPrices, Tokens: p.Tokens, Node: p.Node, Now: p.Now, Log: p.Log}
	p.TokenSearch = &handlers.TokenSearch{Tokens: p.Tokens, Now: p.Now}
	c := p.Config.Market
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	for _, s := range c.Sources {
		o := market.Options{URL: s.URL, Key: s.Key.Reveal(), PerMinute: s.PerMinute, Client: client, Now: p.Now}
		switch s.Name {
		case config.Jupiter:
			jupiter := market.NewJupiter(o)
			p.Market.Sources = append(p.Market.Sources, jupiter)
			if cluster := p.Config.Chain.Cluster; cluster == wallet.Mainnet || cluster == wallet.Localnet {
				quoter, p.TokenSearch.Source, p.TokenSearch.Limit = jupiter, jupiter, handlers.NewSourceLimit(jupiter.PerMinute())
			}
		case config.CoinGecko:
			p.Market.Sources = append(p.Market.Sources, market.NewCoinGecko(o))
		case config.Pyth:
			p.Market.Sources = append(p.Market.Sources, market.NewPyth(o))
		}
	}
	p.Prices = &handlers.Prices{Transfers: p.Transfers, Book: p.Market, Now: p.Now}
	if c.PoolsURL != "" {
		gecko := market.NewGeckoTerminal(market.Options{URL: c.PoolsURL, Client: client, Now: p.Now})
		p.Market.Candles, p.Prices.PoolSource = gecko, pools{gecko}
	}
	if c.RatesURL != "" {
		p.Market.Rates = market.NewFrankfurter(market.Options{URL: c.RatesURL, Client: client, Now: p.Now})
	}
	return quoter
}

// readNews makes the part that reads the feeds of the settings, if there are any. They may be where webhooks may be.
func (p *Parts) readNews() {
	if feeds := p.Config.News.Addresses(); len(feeds) > 0 {
		client := market.NewFeedClient(egress.Options{AllowPrivate: p.Config.Webhooks.AllowPrivate})
		p.News = &market.News{Store: p.Store, Feeds: feeds, Client: client, Node: p.Node, Now: p.Now, Log: p.Log, Added: store.OrderNews}
	}
}

// Chat returns the options of the chat over these parts.
func (p *Parts) Chat() chat.Options {
	c := p.Config
	return chat.Options{Prices: p.Prices, Store: p.Store, Users: p.Users, Wallets: p.Wallets, Transfers: p.Transfers, Stakes: p.Stakes, Swaps: p.Swaps, Revokes: p.Revokes, TokenSearch: p.TokenSearch, History: p.History,
		Contacts: p.Contacts, Notifications: p.Notifications, Alerts: p.Alerts, Freezing: p.Freezing, Policies: p.Policies, Developers: p.Developers, Apps: p.Apps, People: p.People, Portal: p.Portal, Security: p.Security, Receivers: p.Delivery,
		PublicURL: c.HTTP.PublicURL, PagesURL: c.HTTP.PagesURL, DocsURL: c.HTTP.PagesURL.JoinPath(pages.Docs), Limits: c.Limits,
		ExplorerURL: c.Chain.ExplorerURL, Cluster: c.Chain.Cluster,
		BotName: p.BotName, Node: p.Node, Now: p.Now, Random: p.Random, Log: p.Log, Cards: p.Kinds.Cards()}
}
