// Package sandbox runs the outside world in one process, for the unchanged product to talk to: a Telegram, a Solana
// cluster and, on request, a market of tokens, a mail server, a shop and a second bot. Each listens on an address of its
// own. It must not import the product: only the addresses in the product's configuration differ from production.
//
// Open makes a World and its listeners, Run serves them until its context ends, and Close releases what Open
// acquired. Each part is a package of its own (telegram, solana, market, mail, shop) that knows none of the others. World
// connects them: the chat page's faucet button is an airdrop on the cluster, its list of prices is the market, and its
// mail list is the box of the mail server.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"purser/sandbox/mail"
	"purser/sandbox/market"
	"purser/sandbox/solana"
	"purser/sandbox/telegram"
)

// Options says where a world listens and what it keeps. Addresses are host:port.
type Options struct {
	Dir            string // folder for the state of all parts; "": in memory only
	TelegramListen string // host:port; port 0 takes a free one
	RPCListen      string
	WSListen       string
	MarketListen   string        // "": no market
	MailListen     string        // "": no mail server
	SlotTime       time.Duration // 0: solana.DefaultSlotTime

	LamportsPerByte uint64 // 0: solana.DefaultLamportsPerByte, or the rent of the kept cluster
	SlotsPerEpoch   uint64 // 0: solana.SlotsPerEpoch, or the length that the kept cluster has
	Alpenglow       bool   // blocks are final as soon as they are seen
	Now             func() time.Time
	Playground      bool // adds a shop to the chat page, and a second bot for a developer's own program
	Unlimited       bool // lifts Telegram's limits of messages per second
}

// OwnBotToken is the Bot API token of the second bot in a playground, and OwnBotPath is the path of its chat page.
const (
	OwnBotToken = "1000000002:SANDBOX-your-own-bot-not-a-real-token"
	OwnBotPath  = "/own/"
)

// Folders inside Options.Dir, one for each part that keeps state.
const (
	TelegramDir = "telegram"
	SolanaDir   = "solana"
	MarketDir   = "market"
)

// World is a Telegram with its chat page, a Solana cluster, and optionally a market, a mail server and a second bot, all
// listening. Its exported fields are set by Open and do not change afterwards.
type World struct {
	Telegram *telegram.Server
	Solana   *solana.Cluster
	Market   *market.Market   // nil without MarketListen
	Mail     *mail.Server     // nil without MailListen
	OwnBot   *telegram.Server // nil without Playground

	telegramOn, rpcOn, wsOn, marketOn, mailOn net.Listener
}

// InUse is the error of Open when an address cannot be listened on, usually because another program has it. What
// names the part.
type InUse struct {
	What, Address string
	Err           error
}

func (e *InUse) Error() string {
	return fmt.Sprintf("%s cannot listen on %s: %v", e.What, e.Address, e.Err)
}

func (e *InUse) Unwrap() error { return e.Err }

// seed shapes the cluster's keys and the market's prices. It never changes, so that the product's list of tokens can name
// the mints.
const seed = "purser"

// Open makes a world, or continues the one that Dir holds. It listens when it returns, so clients can connect, but it
// answers only once Run runs. It returns InUse for an address it cannot listen on. After any error it has released
// everything.
//
// Long: each part needs the address of the one that was opened before it.
func Open(o Options) (*World, error) {
	if o.SlotTime == 0 {
		o.SlotTime = solana.DefaultSlotTime
	}
	w := &World{}
	// All addresses are taken first, before any state is opened or made: a second copy of the program fails here and
	// touches nothing.
	for _, l := range []struct {
		what, address string
		on            *net.Listener
	}{
		{"the sandbox's Telegram", o.TelegramListen, &w.telegramOn},
		{"the sandbox's Solana", o.RPCListen, &w.rpcOn},
		{"the sandbox's Solana (WebSocket)", o.WSListen, &w.wsOn},
		{"the sandbox's market", o.MarketListen, &w.marketOn},
		{"the sandbox's mail server", o.MailListen, &w.mailOn},
	} {
		if (l.on == &w.marketOn || l.on == &w.mailOn) && l.address == "" {
			continue
		}
		listener, err := net.Listen("tcp", l.address)
		if err != nil {
			return nil, errors.Join(&InUse{What: l.what, Address: l.address, Err: err}, w.Close())
		}
		*l.on = listener
	}
	var solanaDir, telegramDir string
	if o.Dir != "" {
		solanaDir, telegramDir = filepath.Join(o.Dir, SolanaDir), filepath.Join(o.Dir, TelegramDir)
	}
	var err error
	// The fixed seed only shapes keys and hashes; a new cluster also mixes in the time of its birth.
	cluster := solana.Options{Now: o.Now, SlotTime: o.SlotTime, LamportsPerByte: o.LamportsPerByte, SlotsPerEpoch: o.SlotsPerEpoch,
		Dir: solanaDir, Seed: seed}
	if o.Alpenglow {
		// Negative lags mean "none", as Alpenglow finalizes blocks as soon as they are seen.
		cluster.ConfirmedLag, cluster.FinalizedLag = -1, -1
	}
	if w.Solana, err = solana.Open(cluster); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	var prices telegram.Market
	if w.marketOn != nil {
		if prices, err = w.openMarket(o); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	var mails func() []telegram.Mail
	if w.mailOn != nil {
		w.Mail = mail.New(o.Now)
		mails = w.mails
	}
	var store telegram.Shop
	var neighbour *telegram.OtherBot
	// The shop and the second bot need the addresses of the cluster and of Telegram, and are needed to open Telegram.
	if o.Playground {
		if store, err = w.openShop(); err != nil {
			return nil, errors.Join(err, w.Close())
		}
		if w.OwnBot, err = openOwnBot(o, telegramDir, w.TelegramURL()); err != nil {
			return nil, errors.Join(err, w.Close())
		}
		neighbour = &telegram.OtherBot{Name: "your own bot", Path: OwnBotPath}
	}
	// Telegram is opened last, because its page offers what the other parts provide.
	w.Telegram, err = telegram.Open(telegram.Options{Now: o.Now, Dir: telegramDir, Mails: mails, Unlimited: o.Unlimited,
		Shop: store, Market: prices, Other: neighbour,
		NextEpoch: func(context.Context) (uint64, error) { return w.Solana.NextEpoch() },
		Faucet: func(ctx context.Context, address string, lamports uint64) error {
			_, err := w.Solana.Airdrop(ctx, address, lamports)
			return err
		},
		FaucetToken: func(ctx context.Context, owner, symbol string, units uint64) error {
			_, err := w.Solana.AirdropToken(ctx, owner, symbol, units)
			return err
		},
		PlantApproval: func(owner, symbol string, units uint64) (string, error) {
			delegate, err := w.Solana.PlantApproval(owner, symbol, units)
			if errors.Is(err, solana.ErrNoTokenAccount) {
				err = telegram.ErrNothingToPlant
			}
			return delegate, err
		}})
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	// The mail server was made before Telegram, so it learns only now whom to notify. It serves no connection before
	// Run.
	if w.Mail != nil {
		w.Mail.Came = w.Telegram.MailCame
	}
	return w, nil
}

// mails converts the mailbox to the form that the chat page shows. It returns an empty list, never nil, so that JSON
// has [].
func (w *World) mails() []telegram.Mail {
	out := []telegram.Mail{}
	for _, m := range w.Mail.Mails() {
		out = append(out, telegram.Mail{To: m.To, From: m.From, Subject: m.Subject, Text: m.Text, At: m.At.Unix()})
	}
	return out
}

// TelegramURL is the address of the Bot API and of the chat page.
func (w *World) TelegramURL() string { return "http://" + w.telegramOn.Addr().String() }

// RPCURL is the address of the cluster's JSON-RPC.
func (w *World) RPCURL() string { return "http://" + w.rpcOn.Addr().String() }

// WSURL is the address of the cluster's subscriptions.
func (w *World) WSURL() string { return "ws://" + w.wsOn.Addr().String() }

// MarketURL is the base address of Jupiter's, GeckoTerminal's and Frankfurter's API in this world: "" without a market.
func (w *World) MarketURL() string {
	if w.marketOn == nil {
		return ""
	}
	return "http://" + w.marketOn.Addr().String()
}

// Run serves until ctx ends and returns nil then, or the first error of any part. One failing part stops all others.
func (w *World) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return w.Solana.Run(ctx) })
	// The second bot shares Telegram's address; its token and its page's path tell it apart.
	group.Go(func() error { return w.Telegram.Run(ctx) })
	chat := w.Telegram.Handler()
	if w.OwnBot != nil {
		group.Go(func() error { return w.OwnBot.Run(ctx) })
		chat = telegram.Handler(w.Telegram, map[string]*telegram.Server{OwnBotPath: w.OwnBot})
	}
	if w.Mail != nil {
		group.Go(func() error { return w.Mail.Run(ctx, w.mailOn) })
	}
	handlers := map[net.Listener]http.Handler{
		w.telegramOn: chat,
		w.rpcOn:      w.Solana.Handler(),
		w.wsOn:       w.Solana.WebSocketHandler(),
	}
	if w.Market != nil {
		handlers[w.marketOn] = w.Market.Handler()
	}
	// Closing the servers closes the listeners, so Close finds them closed and ignores that.
	for listener, handler := range handlers {
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		group.Go(func() error {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
		group.Go(func() error {
			<-ctx.Done()
			return server.Close() // Shutdown would wait for long polls and event streams, which do not end
		})
	}
	return group.Wait()
}

// Close ends what Open began. Run must have returned, or never been called.
func (w *World) Close() error {
	// Listeners come first, so that no new request meets a closed part.
	var errs []error
	for _, listener := range []net.Listener{w.telegramOn, w.rpcOn, w.wsOn, w.marketOn, w.mailOn} {
		if listener != nil {
			if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	if w.Solana != nil {
		errs = append(errs, w.Solana.Close())
	}
	if w.Market != nil {
		errs = append(errs, w.Market.Close())
	}
	for _, bot := range []*telegram.Server{w.Telegram, w.OwnBot} {
		if bot != nil {
			errs = append(errs, bot.Close())
		}
	}
	return errors.Join(errs...)
}
