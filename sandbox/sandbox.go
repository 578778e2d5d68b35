// Package sandbox is the outside world in one process: a Telegram, a Solana and, where they are wanted, a
// mail server, a shop and a second bot, at addresses of their own, for the unchanged product to talk to.
// It refuses to know the product.
//
// Open makes a World and its listeners, Run serves them until its context ends, and Close ends what Open began.
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
	"purser/sandbox/solana"
	"purser/sandbox/telegram"
)

// Options says where a world listens and what it keeps.
type Options struct {
	Dir            string // where both keep their state; "": in memory only
	TelegramListen string // host:port; port 0 takes a free one
	RPCListen      string
	WSListen       string
	MailListen     string        // "": no mail server
	SlotTime       time.Duration // 0: solana.DefaultSlotTime

	LamportsPerByte uint64 // rent; 0: solana.DefaultLamportsPerByte, or what the kept cluster has
	Alpenglow       bool   // blocks are final as soon as they are seen
	Now             func() time.Time
	Playground      bool // also a shop on the chat page, and a second bot for programs of one's own
	Unlimited       bool // the Telegram accepts messages faster than its published limits
}

// OwnBotToken opens the second bot of a playground, and OwnBotPath is its chat page.
const (
	OwnBotToken = "1000000002:SANDBOX-your-own-bot-not-a-real-token"
	OwnBotPath  = "/own/"
)

// What a world keeps in Options.Dir.
const (
	TelegramDir = "telegram"
	SolanaDir   = "solana"
)

// World is a Telegram with its chat page, a Solana cluster, and perhaps a mail server, all listening.
type World struct {
	Telegram *telegram.Server
	Solana   *solana.Cluster
	Mail     *mail.Server     // nil without MailListen
	OwnBot   *telegram.Server // nil without Playground

	telegramOn, rpcOn, wsOn, mailOn net.Listener
}

// InUse says that an address is taken.
type InUse struct {
	What, Address string
	Err           error
}

func (e *InUse) Error() string {
	return fmt.Sprintf("%s cannot listen on %s: %v", e.What, e.Address, e.Err)
}

func (e *InUse) Unwrap() error { return e.Err }

// Open makes a world, or goes on with the one that Dir holds. It listens when it returns, and
// answers once Run runs.
//
// Long: each part needs the address of the one that was opened before it.
func Open(o Options) (*World, error) {
	if o.SlotTime == 0 {
		o.SlotTime = solana.DefaultSlotTime
	}
	w := &World{}
	for _, l := range []struct {
		what, address string
		on            *net.Listener
	}{
		{"the sandbox's Telegram", o.TelegramListen, &w.telegramOn},
		{"the sandbox's Solana", o.RPCListen, &w.rpcOn},
		{"the sandbox's Solana (WebSocket)", o.WSListen, &w.wsOn},
		{"the sandbox's mail server", o.MailListen, &w.mailOn},
	} {
		if l.on == &w.mailOn && l.address == "" {
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
	cluster := solana.Options{Now: o.Now, SlotTime: o.SlotTime, LamportsPerByte: o.LamportsPerByte, Dir: solanaDir, Seed: "purser"}
	if o.Alpenglow {
		cluster.ConfirmedLag, cluster.FinalizedLag = -1, -1
	}
	if w.Solana, err = solana.Open(cluster); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	var mails func() []telegram.Mail
	if w.mailOn != nil {
		w.Mail = mail.New(o.Now)
		mails = w.mails
	}
	var store telegram.Shop
	var neighbour *telegram.OtherBot
	if o.Playground {
		if store, err = w.openShop(); err != nil {
			return nil, errors.Join(err, w.Close())
		}
		if w.OwnBot, err = openOwnBot(o, telegramDir, w.TelegramURL()); err != nil {
			return nil, errors.Join(err, w.Close())
		}
		neighbour = &telegram.OtherBot{Name: "your own bot", Path: OwnBotPath}
	}
	w.Telegram, err = telegram.Open(telegram.Options{Now: o.Now, Dir: telegramDir, Mails: mails, Unlimited: o.Unlimited,
		Shop: store, Other: neighbour,
		Faucet: func(ctx context.Context, address string, lamports uint64) error {
			_, err := w.Solana.Airdrop(ctx, address, lamports)
			return err
		},
		FaucetToken: func(ctx context.Context, owner, symbol string, units uint64) error {
			_, err := w.Solana.AirdropToken(ctx, owner, symbol, units)
			return err
		}})
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if w.Mail != nil {
		w.Mail.Came = w.Telegram.MailCame
	}
	return w, nil
}

// mails is the mail box as the chat page shows it.
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

// Run serves until ctx ends.
func (w *World) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return w.Solana.Run(ctx) })
	group.Go(func() error { return w.Telegram.Run(ctx) })
	chat := w.Telegram.Handler()
	if w.OwnBot != nil {
		group.Go(func() error { return w.OwnBot.Run(ctx) })
		chat = telegram.Handler(w.Telegram, map[string]*telegram.Server{OwnBotPath: w.OwnBot})
	}
	if w.Mail != nil {
		group.Go(func() error { return w.Mail.Run(ctx, w.mailOn) })
	}
	for listener, handler := range map[net.Listener]http.Handler{
		w.telegramOn: chat,
		w.rpcOn:      w.Solana.Handler(),
		w.wsOn:       w.Solana.WebSocketHandler(),
	} {
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		group.Go(func() error {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
		group.Go(func() error {
			<-ctx.Done()
			return server.Close() // long polls and event streams would outwait any grace
		})
	}
	return group.Wait()
}

// Close ends what Open began. Run must have returned, or never been called.
func (w *World) Close() error {
	var errs []error
	for _, listener := range []net.Listener{w.telegramOn, w.rpcOn, w.wsOn, w.mailOn} {
		if listener != nil {
			if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	if w.Solana != nil {
		errs = append(errs, w.Solana.Close())
	}
	for _, bot := range []*telegram.Server{w.Telegram, w.OwnBot} {
		if bot != nil {
			errs = append(errs, bot.Close())
		}
	}
	return errors.Join(errs...)
}
