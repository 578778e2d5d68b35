// Package config reads purser's settings from a file, the environment and flags, and checks their values. It does not know
// what the settings are used for.
//
// Load reads all sources, checks every value, and returns a Config or an error with one line for each problem.
// keys.go lists the settings with their defaults. A Secret never shows itself in a log or an error: only Reveal does.
// CheckServe says what is missing to serve real people.
package config

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"purser/quota"
	"purser/wallet"
)

// Config is every setting that works today (docs/settings.md), checked.
type Config struct {
	Telegram Telegram
	Chain    Chain
	Watch    Watch
	Store    Store
	HTTP     HTTP
	Limits   quota.Limits
	Webhooks Webhooks
	Stake    Stake
	Fraud    Fraud
	Market   Market
	News     News
	Access   Access
	Mail     Mail
	Log      Log
}

// Telegram is the bot and how its updates come.
type Telegram struct {
	Token         Secret // of the bot; "": none set
	APIURL        string // without a slash at its end
	Mode          string // Poll or Webhook
	WebhookSecret Secret
}

// The modes of telegram.mode.
const (
	Poll    = "poll"
	Webhook = "webhook"
)

// Chain is the cluster and who is asked about it.
type Chain struct {
	RPCURLs     []Secret // the first is asked, a second confirms; they often hold an API key
	WSURL       Secret   // "": no hints, polling alone
	Cluster     string   // wallet.Mainnet, wallet.Devnet or wallet.Localnet
	PerSecond   int      // calls to each of RPCURLs; 0: no bound
	ExplorerURL string   // "": no links
}

// Watch is how connected wallets are watched for what comes in.
type Watch struct {
	Calls         int // a minute to sweep the balances of quiet wallets; 0: nothing is watched
	Subscriptions int // accounts that are subscribed to on the WebSocket at once; 0: none
}

// Store is the database and its master key.
type Store struct {
	Path          string // of the bolt file
	MasterKey     Secret // base64, or ""
	MasterKeyFile string // or ""
}

// HTTP is the listener and how the world reaches it.
type HTTP struct {
	Listen         string   // host:port
	PublicURL      *url.URL // https or loopback; no path
	PagesListen    string   // host:port
	PagesURL       *url.URL // as PublicURL, and another origin than it
	TrustedProxies []netip.Prefix
}

// Webhooks are how events are delivered.
type Webhooks struct {
	AllowPrivate []netip.Prefix  // that deliveries may reach though they are none of the internet's
	AllowHTTP    bool            // to those, without TLS
	Schedule     []time.Duration // the waits before each further attempt; at least one
	Retention    time.Duration   // of the log
	Events       uint64          // limits.webhook_events: an hour to one webhook
}

// Stake is what the operator recommends to people who stake.
type Stake struct {
	Validators []wallet.Address // vote accounts, the first is the default; none: ranked by what the chain says
}

// Fraud is which addresses the operator has blocked.
type Fraud struct {
	Addresses []wallet.Address // that nobody may pay, each once
	File      string           // of further ones, one a line; "": none
}

// News is which feeds are read for market news.
type News struct {
	Feeds []Secret // addresses, which can hold a key, each once; none: no news
}

// Addresses are the feeds in the clear.
func (n News) Addresses() []string {
	addresses := make([]string, len(n.Feeds))
	for i, feed := range n.Feeds {
		addresses[i] = feed.Reveal()
	}
	return addresses
}

// Access is how a developer who asks for API access is verified, and which operators approve.
type Access struct {
	Steps  []wallet.Verification // verification.steps, each once; at least one
	Admins []int64               // Telegram ids of the operators; none: nobody approves anything
}

// Mail is how mail is sent. The zero value: none can be.
type Mail struct {
	URL  Secret // smtp:// or smtps://, with user and password where the server wants them
	From string // an address, with a name before it or not (RFC 5322, 3.4)
}

// Log is what is logged and how.
type Log struct {
	Level  slog.Level
	Format string // "text" or "json"
}

// Secret is text that must not be shown: printing, logging or marshalling it withholds it.
type Secret string

const withheld = "[withheld]"

// String returns a placeholder for a set secret, and "" for none.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return withheld
}

// GoString is String: %#v must not show it either.
func (s Secret) GoString() string { return s.String() }

// MarshalText is String, for JSON and the like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is String, for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Reveal is the secret itself.
func (s Secret) Reveal() string { return string(s) }

// RPCs are the RPC addresses in the clear.
func (c Chain) RPCs() []string {
	urls := make([]string, len(c.RPCURLs))
	for i, u := range c.RPCURLs {
		urls[i] = u.Reveal()
	}
	return urls
}

// LogValue is the whole configuration without its secrets. Of addresses of RPCs and feeds only the host is shown.
//
// Long: one line for each setting, in the order of the struct.
func (c Config) LogValue() slog.Value {
	hosts, feeds := hostsOf(c.Chain.RPCURLs), hostsOf(c.News.Feeds)
	schedule := make([]string, len(c.Webhooks.Schedule))
	for i, wait := range c.Webhooks.Schedule {
		schedule[i] = wait.String()
	}
	public := ""
	if c.HTTP.PublicURL != nil {
		public = c.HTTP.PublicURL.String()
	}
	pages := ""
	if c.HTTP.PagesURL != nil {
		pages = c.HTTP.PagesURL.String()
	}
	steps := make([]string, len(c.Access.Steps))
	for i, step := range c.Access.Steps {
		steps[i] = string(step)
	}
	validators := make([]string, len(c.Stake.Validators))
	for i, vote := range c.Stake.Validators {
		validators[i] = vote.String()
	}
	admins := "" // whose they are is nobody's business in a log
	if n := len(c.Access.Admins); n > 0 {
		admins = fmt.Sprintf("%d of them", n)
	}
	return slog.GroupValue(
		slog.Any("telegram.token", c.Telegram.Token),
		slog.String("telegram.api_url", c.Telegram.APIURL),
		slog.String("telegram.mode", c.Telegram.Mode),
		slog.Any("telegram.webhook_secret", c.Telegram.WebhookSecret),
		slog.String("chain.rpc_url", strings.Join(hosts, ",")),
		slog.String("chain.ws_url", hostOf(c.Chain.WSURL)),
		slog.String("chain.cluster", c.Chain.Cluster),
		slog.Int("chain.rps", c.Chain.PerSecond),
		slog.String("chain.explorer_url", c.Chain.ExplorerURL),
		slog.Int("watch.calls_per_minute", c.Watch.Calls),
		slog.Int("watch.subscriptions", c.Watch.Subscriptions),
		slog.String("store.url", boltScheme+c.Store.Path),
		slog.Any("store.master_key", c.Store.MasterKey),
		slog.String("store.master_key_file", c.Store.MasterKeyFile),
		slog.String("http.listen", c.HTTP.Listen),
		slog.String("http.public_url", public),
		slog.String("http.pages_listen", c.HTTP.PagesListen),
		slog.String("http.pages_url", pages),
		slog.String("http.trusted_proxies", list(c.HTTP.TrustedProxies)),
		slog.Uint64("limits.api_free", c.Limits.APIFree),
		slog.Uint64("limits.api_pro", c.Limits.APIPro),
		slog.Uint64("limits.bot_free", c.Limits.BotFree),
		slog.Uint64("limits.bot_pro", c.Limits.BotPro),
		slog.Uint64("limits.messages", c.Limits.Messages),
		slog.Uint64("limits.webhook_events", c.Webhooks.Events),
		slog.String("webhooks.allow_private", list(c.Webhooks.AllowPrivate)),
		slog.Bool("webhooks.allow_http", c.Webhooks.AllowHTTP),
		slog.String("webhooks.schedule", strings.Join(schedule, ",")),
		slog.Duration("webhooks.retention", c.Webhooks.Retention),
		slog.String("stake.validators", strings.Join(validators, ",")),
		slog.Int("fraud.addresses", len(c.Fraud.Addresses)),
		slog.String("fraud.addresses_file", c.Fraud.File),
		slog.String("market.sources", c.Market.text()),
		slog.String("market.pools_url", c.Market.PoolsURL),
		slog.String("market.rates_url", c.Market.RatesURL),
		slog.String("news.feeds", strings.Join(feeds, ",")),
		slog.String("verification.steps", strings.Join(steps, ",")),
		slog.String("admins", admins),
		slog.String("mail.url", hostOf(c.Mail.URL)),
		slog.String("mail.from", c.Mail.From),
		slog.String("log.level", strings.ToLower(c.Log.Level.String())),
		slog.String("log.format", c.Log.Format),
	)
}

// String is LogValue as lines of "key: value", without what is not set.
func (c Config) String() string {
	var b strings.Builder
	for _, a := range c.LogValue().Group() {
		if value := a.Value.Resolve().String(); value != "" {
			fmt.Fprintf(&b, "%s: %s\n", a.Key, value)
		}
	}
	return b.String()
}

func list(prefixes []netip.Prefix) string {
	texts := make([]string, len(prefixes))
	for i, p := range prefixes {
		texts[i] = p.String()
	}
	return strings.Join(texts, ",")
}

func hostsOf(urls []Secret) []string {
	hosts := make([]string, len(urls))
	for i, u := range urls {
		hosts[i] = hostOf(u)
	}
	return hosts
}

func hostOf(u Secret) string {
	parsed, err := url.Parse(u.Reveal())
	if err != nil {
		return withheld
	}
	return parsed.Host
}

// loopback reports whether a host name or address is this machine's own.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
