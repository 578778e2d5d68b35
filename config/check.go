package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"purser/quota"
	"purser/wallet"
)

const boltScheme = "bolt:"

// checker turns texts into values and collects what is wrong with them.
type checker struct {
	values   map[string]string
	problems []error
}

func check(values map[string]string) (Config, []error) {
	ch := &checker{values: values}
	c := Config{Telegram: ch.telegram(), Chain: ch.chain(), Watch: ch.watch(), Store: ch.store(), HTTP: ch.http(), Limits: ch.limits(), Webhooks: ch.webhooks(), Stake: ch.stake(), Fraud: ch.fraud(), Access: ch.access(), Mail: ch.mail(), Log: ch.log()}
	c.Market = ch.market(c.Chain.Cluster)
	c.News = ch.news(c.Webhooks)
	ch.steps(c)
	if c.Telegram.Mode == Webhook {
		ch.webhook(c)
	}
	return c, ch.problems
}

// wrong notes a problem. Its sentence must not repeat the value of a secret.
func (ch *checker) wrong(name, format string, args ...any) {
	ch.problems = append(ch.problems, fmt.Errorf("%s: %s (in the settings file, or %s)", name, fmt.Sprintf(format, args...), Variable(name)))
}

func (ch *checker) oneOf(name string, allowed ...string) string {
	if !slices.Contains(allowed, ch.values[name]) {
		ch.wrong(name, "must be one of %s", strings.Join(allowed, ", "))
	}
	return ch.values[name]
}

// isToken tells whether s has the form of a bot token: the bot's ID, a colon, and at least 20 characters of a secret. Written
// by hand, like isSecret: compiling expressions for both took a twentieth of the time to start.
func isToken(s string) bool {
	id, secret, _ := strings.Cut(s, ":")
	return id != "" && strings.Trim(id, "0123456789") == "" && len(secret) >= 20 && isPlain(secret)
}

// isSecret tells whether s has the form of setWebhook's secret_token.
func isSecret(s string) bool { return len(s) >= 1 && len(s) <= 256 && isPlain(s) }

// isPlain tells whether s has ASCII letters, digits, _ and - alone.
func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

func (ch *checker) telegram() Telegram {
	t := Telegram{
		Token:         Secret(ch.values["telegram.token"]),
		Mode:          ch.oneOf("telegram.mode", Poll, Webhook),
		WebhookSecret: Secret(ch.values["telegram.webhook_secret"]),
	}
	if t.Token != "" && !isToken(t.Token.Reveal()) {
		ch.wrong("telegram.token", "this is no bot token: copy it from @BotFather, digits, a colon, then the rest")
	}
	const shortest = 16 // characters: only this secret distinguishes Telegram from others, whose guesses are not limited
	if secret := t.WebhookSecret.Reveal(); secret != "" && (len(secret) < shortest || !isSecret(secret)) {
		ch.wrong("telegram.webhook_secret", "must be 16 to 256 letters, digits, _ or -")
	}
	if api, ok := ch.url("telegram.api_url", "http", "https"); ok {
		if api.Scheme == "http" && !loopback(api.Hostname()) {
			ch.wrong("telegram.api_url", "must be https: the bot's token travels there")
		}
		t.APIURL = strings.TrimRight(api.String(), "/")
	}
	return t
}

// webhook checks what webhook mode needs beyond its own values.
func (ch *checker) webhook(c Config) {
	if c.Telegram.WebhookSecret == "" {
		ch.wrong("telegram.webhook_secret", "webhook mode needs it: set 32 random letters and digits")
	}
}

// url reads an address of one of the schemes; not set is "not ok".
func (ch *checker) url(name string, schemes ...string) (*url.URL, bool) {
	return ch.parseURL(name, ch.values[name], schemes...)
}

func (ch *checker) parseURL(name, value string, schemes ...string) (*url.URL, bool) {
	if value == "" {
		return nil, false
	}
	// The parser's own error quotes the address, which can hold a key.
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" || !slices.Contains(schemes, u.Scheme) || u.Fragment != "" {
		ch.wrong(name, "must be an address that begins with %s://", strings.Join(schemes, ":// or "))
		return nil, false
	}
	return u, true
}

func (ch *checker) chain() Chain {
	c := Chain{Cluster: ch.values["chain.cluster"], ExplorerURL: ch.values["chain.explorer_url"]}
	openWS := false
	open := false // an address that anybody on the way can answer for
	for _, item := range split(ch.values["chain.rpc_url"]) {
		if u, ok := ch.parseURL("chain.rpc_url", item, "http", "https"); ok {
			c.RPCURLs = append(c.RPCURLs, Secret(item))
			open = open || u.Scheme == "http" && !nearby(u.Hostname())
		}
	}
	if len(c.RPCURLs) > 2 {
		ch.wrong("chain.rpc_url", "give one address, or two separated by a comma")
	}
	if u, ok := ch.url("chain.ws_url", "ws", "wss"); ok {
		c.WSURL = Secret(ch.values["chain.ws_url"])
		openWS = u.Scheme == "ws" && !nearby(u.Hostname())
	}
	if c.ExplorerURL != "" {
		ch.url("chain.explorer_url", "http", "https")
	}
	switch {
	case c.Cluster != "":
		ch.oneOf("chain.cluster", wallet.Clusters()...)
		if len(c.RPCURLs) == 0 && ch.values["chain.rpc_url"] == "" {
			c.RPCURLs = publicRPC(c.Cluster)
		}
	case len(c.RPCURLs) > 0:
		if c.Cluster = guessCluster(c.RPCURLs[0]); c.Cluster == "" {
			ch.wrong("chain.cluster", "set mainnet, devnet or localnet: the address of the RPC does not tell which it is")
		}
	}
	c.PerSecond = ch.rps(c.Cluster)
	if c.Cluster == wallet.Mainnet {
		const unsafe = "must begin with %s:// on mainnet: without TLS, anybody between you and the RPC can change what it says of people's money. Only addresses of this machine or its own network may go without"
		if open {
			ch.wrong("chain.rpc_url", unsafe, "https")
		}
		if openWS {
			ch.wrong("chain.ws_url", unsafe, "wss")
		}
	}
	return c
}

// nearby reports whether a host is this machine, or one of its own network: a private address, or a name that no
// public DNS has.
func nearby(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if !strings.Contains(host, ".") {
		return host[0] > '9' // a number alone is an address too, for some resolvers
	}
	return slices.ContainsFunc([]string{".localhost", ".local", ".internal"}, func(end string) bool { return strings.HasSuffix(host, end) })
}

// publicRPC is where a cluster can be asked by anybody. Mainnet's takes no steady use, so there an
// operator must name one.
func publicRPC(cluster string) []Secret {
	switch cluster {
	case wallet.Devnet:
		return []Secret{"https://api.devnet.solana.com"}
	case wallet.Localnet:
		return []Secret{"http://127.0.0.1:8899"}
	}
	return nil
}

// guessCluster guesses the cluster from an RPC's host name; "" if it cannot. The node's genesis hash is compared before use, so
// a wrong guess moves no money.
func guessCluster(rpc Secret) string {
	u, err := url.Parse(rpc.Reveal())
	switch {
	case err != nil:
		return ""
	case loopback(u.Hostname()):
		return wallet.Localnet
	case strings.Contains(u.Hostname(), "devnet"):
		return wallet.Devnet
	case strings.Contains(u.Hostname(), "mainnet"):
		return wallet.Mainnet
	}
	return ""
}

// publicRPS is how many calls a second a public node, or a provider's free plan, takes from one address.
const publicRPS = 10

// rps is how many calls a second each RPC may be asked: by default what public nodes allow, and as many as there are
// of a node of one's own.
func (ch *checker) rps(cluster string) int {
	const most = 100_000
	text := ch.values["chain.rps"]
	switch {
	case text == "" && cluster == wallet.Localnet:
		return 0
	case text == "":
		return publicRPS
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > most {
		ch.wrong("chain.rps", "must be a whole number from 0, which is no bound, to %d", most)
	}
	return int(n)
}

// watch is how often wallets are looked at.
func (ch *checker) watch() Watch {
	const most = 1_000_000
	n, err := strconv.ParseUint(ch.values["watch.calls_per_minute"], 10, 32)
	if err != nil || n > most {
		ch.wrong("watch.calls_per_minute", "must be a whole number from 0, which watches no wallet, to %d", most)
	}
	const maxAccounts = 10_000
	accounts, err := strconv.ParseUint(ch.values["watch.subscriptions"], 10, 32)
	if err != nil || accounts > maxAccounts {
		ch.wrong("watch.subscriptions", "must be a whole number from 0, which subscribes to none, to %d", maxAccounts)
	}
	return Watch{Calls: int(n), Subscriptions: int(accounts)}
}

func (ch *checker) store() Store {
	path, ok := strings.CutPrefix(ch.values["store.url"], boltScheme)
	if !ok || path == "" {
		ch.wrong("store.url", "must be bolt:FILE, for example bolt:purser.db")
	}
	s := Store{Path: path, MasterKey: Secret(ch.values["store.master_key"]), MasterKeyFile: ch.values["store.master_key_file"]}
	if s.MasterKey != "" && s.MasterKeyFile != "" {
		ch.wrong("store.master_key", "set it or store.master_key_file, not both")
	}
	if s.MasterKey != "" {
		if _, err := decodeKey(s.MasterKey.Reveal()); err != nil {
			ch.wrong("store.master_key", "%v", err)
		}
	}
	return s
}

// split reads a list with commas, without its empty items.
func split(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func (ch *checker) limits() quota.Limits {
	return quota.Limits{APIFree: ch.limit("api_free"), APIPro: ch.limit("api_pro"), BotFree: ch.limit("bot_free"), BotPro: ch.limit("bot_pro"), Messages: ch.limit("messages")}
}

func (ch *checker) limit(name string) uint64 {
	n, err := strconv.ParseUint(ch.values["limits."+name], 10, 32)
	if err != nil || n == 0 {
		ch.wrong("limits."+name, "must be a whole number from 1 to 4294967295")
	}
	return n
}

// Bounds of webhooks.
const (
	maxAttempts      = 20 // after the first
	longestWait      = 24 * time.Hour
	longestRetention = 720 * time.Hour
)

func (ch *checker) webhooks() Webhooks {
	w := Webhooks{AllowPrivate: ch.prefixes("webhooks.allow_private"), AllowHTTP: ch.oneOf("webhooks.allow_http", "true", "false") == "true",
		Events: ch.limit("webhook_events")}
	for _, prefix := range w.AllowPrivate {
		if prefix.Addr().Is4In6() {
			ch.wrong("webhooks.allow_private", "write %s as an IPv4 range", prefix)
		}
	}
	if w.AllowHTTP && ch.values["webhooks.allow_private"] == "" {
		ch.wrong("webhooks.allow_private", "is not set: webhooks.allow_http is for networks that it names")
	}
	waits := split(ch.values["webhooks.schedule"])
	if len(waits) == 0 || len(waits) > maxAttempts {
		ch.wrong("webhooks.schedule", "must hold 1 to %d waits, such as 1s,2s,4s,8s,16s", maxAttempts)
	}
	for _, item := range waits {
		w.Schedule = append(w.Schedule, ch.duration("webhooks.schedule", item, time.Second, longestWait))
	}
	w.Retention = ch.duration("webhooks.retention", ch.values["webhooks.retention"], time.Hour, longestRetention)
	return w
}

func (ch *checker) duration(name, text string, shortest, longest time.Duration) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d < shortest || d > longest {
		ch.wrong(name, "%q is no time from %v to %v, such as 90s or 1h30m", text, shortest, longest)
	}
	return d
}

func (ch *checker) access() Access {
	var a Access
	for _, item := range split(ch.values["verification.steps"]) {
		step := wallet.Verification(item)
		if !slices.Contains(wallet.Verifications(), step) {
			ch.wrong("verification.steps", "%q is no step: they are contact, email, wallet, approval", item)
			continue
		}
		if !slices.Contains(a.Steps, step) {
			a.Steps = append(a.Steps, step)
		}
	}
	if len(a.Steps) == 0 && len(split(ch.values["verification.steps"])) == 0 {
		ch.wrong("verification.steps", "name at least one of contact, email, wallet, approval")
	}
	for _, item := range split(ch.values["admins"]) {
		id, err := strconv.ParseInt(item, 10, 64)
		if err != nil || id <= 0 {
			ch.wrong("admins", "%q is no Telegram id: a person's is a number, such as 123456789", item)
			continue
		}
		if !slices.Contains(a.Admins, id) {
			a.Admins = append(a.Admins, id)
		}
	}
	return a
}

func (ch *checker) stake() (s Stake) {
	for _, item := range split(ch.values["stake.validators"]) {
		vote, err := wallet.ParseAddress(item)
		if err != nil {
			ch.wrong("stake.validators", "%q is no address of a vote account", item)
			continue
		}
		if !slices.Contains(s.Validators, vote) {
			s.Validators = append(s.Validators, vote)
		}
	}
	return s
}

func (ch *checker) mail() Mail {
	m := Mail{From: ch.values["mail.from"]}
	if u, ok := ch.url("mail.url", "smtp", "smtps"); ok {
		_, hasPassword := u.User.Password()
		switch {
		case u.Path != "" && u.Path != "/" || u.RawQuery != "":
			ch.wrong("mail.url", "must be like smtp://user:password@host:587, without a path")
		case (u.User != nil) != hasPassword || u.User != nil && u.User.Username() == "":
			ch.wrong("mail.url", "a user needs a password, and a password a user: smtp://user:password@host:587")
		}
		m.URL = Secret(ch.values["mail.url"])
	}
	if m.From != "" {
		if _, err := mail.ParseAddress(m.From); err != nil {
			ch.wrong("mail.from", "must be a mail address, such as purser@example.org")
		}
	}
	return m
}

// steps checks that what verifies people can do so.
func (ch *checker) steps(c Config) {
	if ch.values["mail.url"] != "" && c.Mail.From == "" {
		ch.wrong("mail.from", "is not set: mail.url needs an address to send from")
	}
	if slices.Contains(c.Access.Steps, wallet.ByEmail) && ch.values["mail.url"] == "" {
		ch.wrong("mail.url", "is not set: the step email needs a mail server, or take email out of verification.steps")
	}
	if slices.Contains(c.Access.Steps, wallet.ByApproval) && len(split(ch.values["admins"])) == 0 { // a malformed id has been reported already
		ch.wrong("admins", "is not set: the step approval needs somebody who approves, or take approval out of verification.steps")
	}
}

func (ch *checker) log() Log {
	l := Log{Format: ch.oneOf("log.format", "text", "json")}
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	l.Level = levels[ch.oneOf("log.level", "debug", "info", "warn", "error")]
	return l
}

// CheckServe returns an error for each setting that serving needs and that the sandbox does without.
func (c Config) CheckServe() error {
	ch := &checker{}
	if c.Telegram.Token == "" {
		ch.wrong("telegram.token", "is not set: make a bot with @BotFather and copy its token")
	}
	if len(c.Chain.RPCURLs) == 0 {
		if c.Chain.Cluster == wallet.Mainnet {
			ch.wrong("chain.rpc_url", "is not set: mainnet needs an RPC provider of your own")
		} else {
			ch.wrong("chain.rpc_url", "is not set: name a Solana RPC, or set chain.cluster to devnet")
		}
	}
	if host, _, err := net.SplitHostPort(c.HTTP.Listen); err == nil && loopback(host) && c.HTTP.PublicURL != nil && c.HTTP.PublicURL.Scheme == "https" && len(c.HTTP.TrustedProxies) == 0 {
		ch.wrong("http.trusted_proxies", "is not set: a proxy on this machine serves %s, so set this to its address (127.0.0.1), or all people would share one limit", c.HTTP.PublicURL)
	}
	return errors.Join(ch.problems...)
}
