package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"purser/api"
	"purser/bot"
	"purser/chain"
	"purser/chat"
	"purser/config"
	"purser/notify"
	"purser/pages"
	"purser/product"
	"purser/store"
	"purser/store/local"
	"purser/store/records"
	"purser/wallet"
	"purser/webhooks"
	"purser/work"
)

// process is purser with everything that it took from the machine: built, and not yet running. Nothing in it knows
// whether it talks to the sandbox or to the world.
type process struct {
	*product.Parts // of store, cluster and clock

	cluster   string
	store     *records.Store
	node      *chain.Client
	history   *records.Log // of deliveries
	past      *records.PriceHistory
	poster    *webhooks.Poster
	chat      *chat.Chat
	bot       *bot.Bot
	notifier  *notify.Notifier
	summaries *notify.Summaries
	headlines *notify.News
	overview  *work.Overview
	sweeper   *store.Sweeper
	server    *api.Server
	admin     *api.Admin
	blocked   *blockedFile
	pages     *pages.Server

	listener net.Listener
	reading  net.Listener                    // of pages
	bound    *api.Connections                // of reading; server bounds its own
	socket   net.Listener                    // of admin
	events   func() (json.RawMessage, error) // webhooks.Describe
}

func runServe(ctx context.Context, settings config.Options, out, errOut io.Writer) error {
	c, err := config.Load(settings)
	if err != nil {
		return err
	}
	if err := c.CheckServe(); err != nil {
		return err
	}
	p, note, err := build(c, newLog(c.Log, errOut))
	if err != nil {
		return err
	}
	if note != "" {
		fmt.Fprintln(out, note)
	}
	if err := p.canWrite(ctx, c.Store.Path); err != nil {
		return errors.Join(err, p.close())
	}
	fmt.Fprintf(out, "purser serves %s (%s), listening on %s; documentation at %s%s\n", c.HTTP.PublicURL, c.Chain.Cluster, p.listener.Addr(), c.HTTP.PagesURL, pages.Docs)
	return p.run(ctx)
}

func newLog(c config.Log, to io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.Level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}

// openStore takes the database, with the key that seals it. The note is for the operator.
func openStore(c config.Config, kinds wallet.Kinds, log *slog.Logger) (*records.Store, string, error) {
	_, err := os.Stat(c.Store.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("store %s: %w", c.Store.Path, err)
	}
	key, note, err := config.MasterKey(c, err == nil, rand.Reader)
	if err != nil {
		return nil, "", err
	}
	s, err := local.Open(local.Options{Path: c.Store.Path, MasterKey: key, Random: rand.Reader, Log: log, Kinds: kinds})
	return s, note, err
}

// listen takes the address of a setting; its error is one clear line.
func listen(setting, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	return nil, addressError(address, "set "+config.Variable(setting)+" to another one", err)
}

// addressError says in one line what is wrong with an address and what to do.
func addressError(address, remedy string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is taken by another program: stop it, or %s", address, remedy)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s may not be listened on by this user: %s", address, remedy)
	}
	return fmt.Errorf("cannot listen on %s: %w", address, err)
}

// logPath is the folder of the delivery log of a database.
func logPath(database string) string { return database + ".deliveries" }

// pricesPath is the folder of past prices of a database.
func pricesPath(database string) string { return database + ".prices" }

// node names this process among those that share a store. A bolt file has one.
const node = "main"

// build makes the process: it opens the store and listens, but talks to nobody yet. The note is for the operator.
func build(c config.Config, log *slog.Logger) (_ *process, note string, err error) {
	p := &process{cluster: c.Chain.Cluster}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	// What needs nobody else is prepared beside the rest: purser starts sooner. The same descriptions are asked for below.
	p.events = sync.OnceValues(webhooks.Describe)
	go p.events() //nolint:errcheck // addFronts sees the error
	// The store first: a second instance must find out before it takes anything else.
	kinds, err := product.NewKinds(product.StandardKinds()...)
	if err != nil {
		return p, "", err
	}
	if p.store, note, err = openStore(c, kinds.Rules(), log); err != nil {
		return p, "", err
	}
	if err := p.take(c, kinds.Codec(), log); err != nil {
		return p, "", err
	}
	p.Parts, err = product.New(product.Options{Config: c, Kinds: kinds, Store: p.store, Deliveries: p.history, PastPrices: p.past, Chain: p.node, Poster: p.poster,
		BotName: p.botName, Node: node, Now: time.Now, NewID: wallet.TimedIDs(time.Now, wallet.Batched(rand.Reader)), Random: rand.Reader, Log: log})
	if err != nil {
		return p, "", err
	}
	return p, note, p.addFronts(c, log)
}

// take opens what belongs to this process alone: addresses, the log of deliveries, connections.
func (p *process) take(c config.Config, codec chain.Codec, log *slog.Logger) (err error) {
	if p.listener, err = listen("http.listen", c.HTTP.Listen); err != nil {
		return err
	}
	if p.reading, err = listen("http.pages_listen", c.HTTP.PagesListen); err != nil {
		return err
	}
	if p.socket, err = api.ListenAdmin(api.SocketPath(c.Store.Path)); err != nil {
		return err
	}
	if p.history, err = local.OpenLog(logPath(c.Store.Path), p.store); err != nil {
		return err
	}
	if p.past, err = local.OpenPriceHistory(pricesPath(c.Store.Path), log); err != nil {
		return err
	}
	p.node, err = chain.New(chain.Options{RPCURLs: c.Chain.RPCs(), WSURL: c.Chain.WSURL.Reveal(), Subscriptions: c.Watch.Subscriptions, Cluster: c.Chain.Cluster,
		PerSecond: c.Chain.PerSecond, Share: true, Codec: codec, Log: log, Now: time.Now})
	if err != nil {
		return err
	}
	p.poster, err = webhooks.NewPoster(webhooks.Options{AllowPrivate: c.Webhooks.AllowPrivate, AllowHTTP: c.Webhooks.AllowHTTP, Now: time.Now})
	return err
}

// botName is without @, and "" while Telegram has not sent it.
func (p *process) botName() string { return p.bot.Me() }

// addFronts makes what people, programs and browsers talk to.
func (p *process) addFronts(c config.Config, log *slog.Logger) (err error) {
	if p.chat, err = chat.New(p.Chat()); err != nil {
		return err
	}
	if p.bot, err = newBot(c, p.store, p.chat, log); err != nil {
		return err
	}
	p.notifier = &notify.Notifier{Store: p.store, Chat: p.chat, Node: node, Now: time.Now, Log: log, Random: rand.Reader}
	p.summaries = &notify.Summaries{Store: p.store, Portfolios: p.Summaries, Chat: p.chat, Node: node, Now: time.Now, Log: log, Random: rand.Reader}
	p.headlines = &notify.News{Store: p.store, Node: node, Now: time.Now, Log: log, Random: rand.Reader}
	p.sweeper = &store.Sweeper{Store: p.store, Node: node, Now: time.Now, Log: log, Every: time.Minute}
	p.overview = &work.Overview{Store: p.store, Queues: store.JobQueues(), Every: time.Minute, Late: 5 * time.Minute, Now: time.Now, Log: log}
	p.blocked = &blockedFile{path: c.Fraud.File, inline: c.Fraud.Addresses, into: p.Blocked, log: log}
	if err := p.blocked.start(); err != nil {
		return err
	}
	p.admin = &api.Admin{Keys: p.Keys, Queues: p.Queues, Log: log}
	catalogue, err := p.events()
	if err != nil {
		return err
	}
	var hook *api.Webhook
	if c.Telegram.Mode == config.Webhook {
		hook = &api.Webhook{Updates: p.bot, Forbidden: bot.ErrForbidden, BadUpdate: bot.ErrBadUpdate, MaxBody: bot.MaxUpdate}
	}
	p.server, err = api.New(api.Options{PublicURL: c.HTTP.PublicURL, PagesURL: c.HTTP.PagesURL, DocsURL: c.HTTP.PagesURL.JoinPath(pages.Docs),
		TrustedProxies: c.HTTP.TrustedProxies, Store: p.store, Keys: p.Keys, Wallets: p.Wallets, Transfers: p.Transfers, Stakes: p.Stakes, Swaps: p.Swaps, TokenSearch: p.TokenSearch, Prices: p.Prices, History: p.History, Signing: p.Signing,
		People: p.People, Notifications: p.Notifications, Alerts: p.Alerts, Webhooks: p.Webhooks, Portal: p.Portal, Security: p.Security, Freezing: p.Freezing, Policies: p.Policies, Catalogue: catalogue,
		BotName: p.botName, LinkedBot: linkedBot(c, p.botName), Chat: p.chat, Bot: p.bot, Meter: p.Meter, Limits: c.Limits,
		Cluster: c.Chain.Cluster, Webhook: hook, Now: p.Now, NewID: p.NewID, Log: log})
	if err != nil {
		return err
	}
	p.bound = p.server.BoundConnections()
	p.pages, err = pages.New(pages.Options{Document: api.Document(), Events: catalogue, API: c.HTTP.PublicURL, URL: c.HTTP.PagesURL, Limits: c.Limits, Log: log})
	return err
}

// linkedBot returns me where https://t.me leads to this bot: not where Telegram is a program on this machine, as in
// the sandbox.
func linkedBot(c config.Config, me func() string) func() string {
	at, err := url.Parse(c.Telegram.APIURL)
	if err != nil || at.Hostname() == "localhost" || net.ParseIP(at.Hostname()).IsLoopback() {
		return func() string { return "" }
	}
	return me
}

func newBot(c config.Config, s store.Store, talker *chat.Chat, log *slog.Logger) (*bot.Bot, error) {
	return bot.New(bot.Options{Token: c.Telegram.Token.Reveal(), APIURL: c.Telegram.APIURL, Mode: bot.Mode(c.Telegram.Mode),
		WebhookURL: c.HTTP.PublicURL.JoinPath(api.WebhookPath).String(), WebhookSecret: c.Telegram.WebhookSecret.Reveal(),
		Store: s, Chat: talker, Node: node, Now: time.Now, Log: log, Random: rand.Reader})
}

// spaceAtStart is how many bytes must be free beside the store before anything is promised to anybody.
const spaceAtStart = 1 << 20

// canWrite finds out before purser says that it serves whether it can keep what it will acknowledge: there is room
// beside the store, and the store takes the first write of this run.
func (p *process) canWrite(ctx context.Context, path string) error {
	if err := probe(path + ".probe"); err != nil {
		return fmt.Errorf("store %s: nothing can be written beside it; is the disk full? %w", path, err)
	}
	// What an earlier life of this process had in hand waits for no lease.
	err := p.store.Update(ctx, func(tx store.Tx) error { return tx.ReleaseNode(node) })
	if err == nil {
		err = p.Meter.Begin(ctx)
	}
	if err != nil {
		return fmt.Errorf("store %s: nothing can be written into it; is the disk full? %w", path, err)
	}
	return nil
}

// probe writes a file, durably, and removes it.
func probe(path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(path)) }()
	if _, err := f.Write(make([]byte, spaceAtStart)); err != nil {
		return err
	}
	return f.Sync()
}

// run works until ctx ends, or until a worker finds that going on would be wrong; then it drains.
func (p *process) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	// What is answered and delivered while they drain is counted, too.
	counting, stopCounting := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error { return p.Meter.Run(counting) })
	var counted sync.WaitGroup
	for _, worker := range []func(context.Context) error{
		func(ctx context.Context) error { return p.server.Run(ctx, p.listener) }, p.Delivery.Run,
	} {
		counted.Add(1)
		group.Go(func() error {
			defer counted.Done()
			return worker(ctx)
		})
	}
	group.Go(func() error {
		counted.Wait()
		stopCounting()
		return nil
	})
	workers := []func(context.Context) error{
		func(ctx context.Context) error { return p.pages.Run(ctx, p.bound.Listener(p.reading)) },
		func(ctx context.Context) error { return p.admin.Run(ctx, p.socket) },
		p.store.Run, p.bot.Run, p.chat.Run, p.notifier.Run, p.summaries.Run, p.headlines.Run, p.Settler.Run, p.Watcher.Run, p.Market.Run, p.node.Run, p.sweeper.Run, p.overview.Run, p.Keys.Run, p.sameCluster, p.blocked.runOnClock,
	}
	if p.News != nil {
		workers = append(workers, p.News.Run)
	}
	for _, worker := range workers {
		group.Go(func() error { return worker(ctx) })
	}
	return errors.Join(group.Wait(), p.close())
}

// sameCluster stops everything when the node belongs to another cluster than the settings say:
// people would sign for the wrong money. A node that does not answer is asked again.
func (p *process) sameCluster(ctx context.Context) error {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		actual, err := p.node.GenesisCluster(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, chain.ErrClustersDiffer):
			return err
		case err == nil && actual != p.cluster:
			return fmt.Errorf("chain.cluster is %s, but chain.rpc_url leads to %s: make them fit", p.cluster, actual)
		case err == nil:
			return nil
		}
		p.Log.Warn("the Solana node does not say which cluster it belongs to", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// close gives back what build took. The workers have ended.
func (p *process) close() error {
	var errs []error
	for _, l := range []net.Listener{p.listener, p.reading, p.socket} {
		if l == nil {
			continue
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if p.node != nil {
		p.node.Close()
	}
	if p.poster != nil {
		p.poster.Close()
	}
	if p.past != nil {
		errs = append(errs, p.past.Close())
	}
	if p.history != nil {
		errs = append(errs, p.history.Close())
	}
	if p.store != nil {
		errs = append(errs, p.store.Close())
	}
	return errors.Join(errs...)
}
