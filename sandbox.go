package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"purser/api"
	"purser/config"
	"purser/pages"
	"purser/sandbox"
	"purser/sandbox/market"
	"purser/sandbox/solana"
	"purser/sandbox/telegram"
	"purser/store/bolt"
	"purser/wallet"
)

// worldOptions are the flags of the sandbox.
type worldOptions struct {
	dir       string
	fresh     bool
	telegram  string
	rpc       string
	ws        string
	market    string
	mail      string
	slotTime  time.Duration
	rent      uint64
	epoch     uint64
	alpenglow bool
}

func worldFlags(root *cobra.Command) *worldOptions {
	o := &worldOptions{}
	flags := root.PersistentFlags()
	flags.StringVar(&o.dir, "sandbox-dir", defaultDir, "sandbox: folder for its data")
	flags.BoolVar(&o.fresh, "fresh", false, "sandbox: delete its data and start over")
	flags.StringVar(&o.telegram, "sandbox-telegram", "127.0.0.1:8081", "sandbox: address of its Telegram and chat page")
	flags.StringVar(&o.rpc, "sandbox-rpc", "127.0.0.1:8899", "sandbox: address of its Solana RPC")
	flags.StringVar(&o.ws, "sandbox-ws", "127.0.0.1:8900", "sandbox: address of its Solana WebSocket")
	flags.StringVar(&o.market, "sandbox-market", "127.0.0.1:8901", "sandbox: address of its market, which answers as Jupiter and GeckoTerminal do")
	flags.StringVar(&o.mail, "sandbox-mail", "127.0.0.1:8025", "sandbox: address of its mail server, if developers are verified by email")
	flags.DurationVar(&o.slotTime, "sandbox-slot", solana.DefaultSlotTime, "sandbox: length of a slot")
	flags.Uint64Var(&o.rent, "sandbox-lamports-per-byte", 0, "sandbox: rent of a byte, in lamports (0: unchanged; a new sandbox has 6960)")
	flags.Uint64Var(&o.epoch, "sandbox-epoch", 1000, "sandbox: length of an epoch in slots, from the next epoch on (mainnet has 432000)")
	flags.BoolVar(&o.alpenglow, "sandbox-alpenglow", false, "sandbox: blocks are final immediately, as with Alpenglow")
	return o
}

// defaultDir is the sandbox's folder, unless a flag names another.
const defaultDir = ".purser-sandbox"

// storeName is the product's database in the sandbox's folder.
const storeName = "purser.db"

// settings point the unchanged product at the sandbox, whatever else is set for Telegram,
// chain, market and store: nothing real may be touched from here.
func (o worldOptions) settings(from config.Options) config.Options {
	from.Fixed = map[string]string{
		"telegram.token": telegram.DefaultToken, "telegram.api_url": "http://" + o.telegram,
		"telegram.mode": config.Poll, "telegram.webhook_secret": "",
		"chain.rpc_url": "http://" + o.rpc, "chain.ws_url": "ws://" + o.ws,
		"chain.cluster": wallet.Localnet, "chain.explorer_url": "",
		"market.sources": config.Jupiter, "market.url": "http://" + o.market, "market.pools_url": "http://" + o.market, "market.rates_url": "http://" + o.market,
		"market.keys": "", "market.calls_per_minute": "", "news.feeds": "",
		"store.url": "bolt:" + filepath.Join(o.dir, storeName), "store.master_key": "", "store.master_key_file": "",
	}
	if !config.IsSet(from, "mail.url") { // an operator who names a server wants to try that one
		from.Fixed["mail.url"], from.Fixed["mail.from"] = o.mailURL(), "purser@sandbox.example"
	}
	if !config.IsSet(from, "admins") { // Alice approves what developers ask for, her own requests included
		from.Fixed["admins"] = strconv.FormatInt(telegram.Alice, 10)
	}
	if !config.IsSet(from, "webhooks.allow_private") { // a developer's receiver runs beside the sandbox
		from.Fixed["webhooks.allow_private"], from.Fixed["webhooks.allow_http"] = "127.0.0.0/8,::1/128", "true"
		from.Fixed["news.feeds"] = "http://" + o.market + market.NewsPath // which is there, too
	}
	return from
}

// mailURL is where the sandbox's own mail server is.
func (o worldOptions) mailURL() string { return "smtp://" + o.mail }

// mailListen is where the sandbox's mail server listens: nowhere when nobody would write to it.
func (o worldOptions) mailListen(c config.Config) string {
	if c.Mail.URL.Reveal() != o.mailURL() || !slices.Contains(c.Access.Steps, wallet.ByEmail) {
		return ""
	}
	return o.mail
}

// runSandbox runs the product against a world that it brings along.
func runSandbox(ctx context.Context, settings config.Options, o worldOptions, called string, out, errOut io.Writer) error {
	unlock, err := takeFolder(o.dir, o.fresh)
	if err != nil {
		return err
	}
	defer unlock()
	c, err := config.Load(o.settings(settings))
	if err != nil {
		return err
	}
	world, err := sandbox.Open(sandbox.Options{Dir: o.dir, TelegramListen: o.telegram, RPCListen: o.rpc, WSListen: o.ws,
		MarketListen: o.market, MailListen: o.mailListen(c), SlotTime: o.slotTime, LamportsPerByte: o.rent, SlotsPerEpoch: o.epoch, Alpenglow: o.alpenglow, Now: time.Now, Playground: true})
	var inUse *sandbox.InUse
	if errors.As(err, &inUse) {
		return addressError(inUse.Address, "choose another one ("+called+" --help shows the --sandbox flags)", inUse.Err)
	}
	if err != nil {
		return err
	}
	p, _, err := build(c, newLog(c.Log, errOut))
	if err != nil {
		return errors.Join(err, world.Close())
	}
	if err := p.canWrite(ctx, c.Store.Path); err != nil {
		return errors.Join(err, p.close(), world.Close())
	}
	fmt.Fprint(out, greeting(o, c.HTTP, o.mailListen(c), called))

	// The world outlives the product, which still has replies to deliver when it is asked to stop.
	worldCtx, endWorld := context.WithCancel(context.WithoutCancel(ctx))
	defer endWorld()
	group, worldCtx := errgroup.WithContext(worldCtx)
	group.Go(func() error { return world.Run(worldCtx) })
	group.Go(func() error {
		defer endWorld()
		both, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(worldCtx, stop)()
		return p.run(both)
	})
	return errors.Join(group.Wait(), world.Close())
}

// goRun matches where "go run" puts a program: in a temporary folder at first, in the build cache when it is run again.
var goRun = regexp.MustCompile(`/go-build[0-9]+/b[0-9]+/exe/[^/]+$|/[0-9a-f]{2}/[0-9a-f]{64}-d/[^/]+$`)

// calledAs is what a person types to run this program again from the same folder, as one or more words of a shell. typed
// is the first word of the command line. A program that was started by "go run ." leaves no file to call later.
func calledAs(typed string, executable func() (string, error)) string {
	if file, err := executable(); err == nil && goRun.MatchString(filepath.ToSlash(file)) {
		return "go run ."
	}
	return shellWord(typed) // a path such as ./purser, or a name that the shell finds in PATH
}

func greeting(o worldOptions, at config.HTTP, mail, purser string) string {
	var b strings.Builder
	here := purser
	if o.dir != defaultDir { // another folder has other keys
		here += " --sandbox-dir " + shellWord(o.dir)
	}
	b.WriteString("purser runs in its own sandbox: no real Telegram, no real money.\n\n")
	fmt.Fprintf(&b, "  Chat with it   http://%s/  (you are Alice or Bob; press Start)\n", o.telegram)
	fmt.Fprintf(&b, "  Your own bot   http://%s%s  (Bot API http://%s, token %s)\n", o.telegram, sandbox.OwnBotPath, o.telegram, sandbox.OwnBotToken)
	fmt.Fprintf(&b, "  HTTP API       %s/v1  (make a key: %s key create --owner 1001 --tier pro)\n", at.PublicURL, here)
	fmt.Fprintf(&b, "  Documentation  %s%s\n", at.PagesURL, pages.Docs)
	fmt.Fprintf(&b, "  Solana         http://%s and ws://%s\n", o.rpc, o.ws)
	fmt.Fprintf(&b, "  Prices         http://%s  (answers as Jupiter and GeckoTerminal do)\n", o.market)
	if mail != "" {
		fmt.Fprintf(&b, "  Mail           smtp://%s  (the chat page shows the mail)\n", mail)
	}
	fmt.Fprintf(&b, "  Data           %s%c  (restart to continue, or add --fresh to start over)\n\n", o.dir, filepath.Separator)
	b.WriteString("For real Telegram and Solana's devnet:\n")
	fmt.Fprintf(&b, "  PURSER_TELEGRAM_TOKEN=<from @BotFather> PURSER_CHAIN_CLUSTER=devnet PURSER_HTTP_PUBLIC_URL=https://<your host> PURSER_HTTP_TRUSTED_PROXIES=127.0.0.1 %s serve\n\n", purser)
	return b.String()
}

// shellWord is a text as a shell takes it for one word.
func shellWord(text string) string {
	plain := strings.Trim(text, "/._-+:@%=,0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
	if plain && text != "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// takeFolder makes the sandbox's folder this process's own, and empties it if it shall be fresh.
func takeFolder(dir string, fresh bool) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the sandbox's folder cannot be made: %w: choose another one with --sandbox-dir", err)
	}
	name := filepath.Join(dir, "lock")
	lock, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the sandbox's folder cannot be written: %w: choose another one with --sandbox-dir", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another purser runs in %s: stop it, or choose another folder with --sandbox-dir", dir), lock.Close())
	}
	unlock = func() { _ = lock.Close() } // the lock goes with the file
	if !fresh {
		return unlock, nil
	}
	// Only what purser makes there: the folder may be shared with something precious by mistake.
	db := filepath.Join(dir, storeName)
	for _, made := range []string{db, bolt.KeysPath(db), bolt.CleanMarkerPath(db), logPath(db), pricesPath(db), api.SocketPath(db), filepath.Join(dir, config.KeyFile),
		filepath.Join(dir, sandbox.TelegramDir), filepath.Join(dir, sandbox.SolanaDir), filepath.Join(dir, sandbox.MarketDir)} {
		if err := os.RemoveAll(made); err != nil {
			unlock()
			return nil, fmt.Errorf("start over: %w", err)
		}
	}
	return unlock, nil
}
