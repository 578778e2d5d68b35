package config

import (
	"sort"
	"strings"

	"github.com/spf13/pflag"
)

// key is one setting: its name in the file, its default, and what it is for.
type key struct {
	name     string
	fallback string
	help     string
	secret   bool // no flag: command lines are visible to everybody on the machine
	list     bool // several values, separated by commas
}

// keys are all settings that work today. A key that is not here is refused: a setting that silently
// does nothing can cost money.
func keys() []key {
	return []key{
		{name: "telegram.token", help: "token of the bot, from @BotFather", secret: true},
		{name: "telegram.api_url", fallback: "https://api.telegram.org", help: "address of the Bot API"},
		{name: "telegram.mode", fallback: Poll, help: "how updates come: poll or webhook"},
		{name: "telegram.webhook_secret", help: "what Telegram proves itself with in webhook mode", secret: true},
		{name: "chain.rpc_url", help: "Solana RPC, or two separated by a comma", secret: true, list: true},
		{name: "chain.ws_url", help: "Solana WebSocket, for quicker news", secret: true},
		{name: "chain.cluster", help: "mainnet, devnet or localnet"},
		{name: "chain.rps", help: "calls a second to each Solana RPC; 0 for no bound"},
		{name: "chain.explorer_url", help: "where transaction links lead"},
		{name: "watch.calls_per_minute", fallback: "120", help: "calls a minute to look for incoming payments of quiet wallets; 0 watches none"},
		{name: "watch.subscriptions", fallback: "500", help: "accounts to subscribe to on chain.ws_url, for quicker news of payments; 0 for none"},
		{name: "store.url", fallback: boltScheme + "purser.db", help: "the database, as bolt:FILE"},
		{name: "store.master_key", help: "32 bytes in base64 that seal the database", secret: true},
		{name: "store.master_key_file", help: "file that holds the master key"},
		{name: "http.listen", fallback: "127.0.0.1:8080", help: "address to listen on"},
		{name: "http.public_url", help: "https address at which people reach this listener"},
		{name: "http.pages_listen", fallback: "127.0.0.1:8082", help: "address to listen on for the documentation and the portal of webhooks"},
		{name: "http.pages_url", help: "https address at which people reach the documentation and the portal"},
		{name: "http.trusted_proxies", help: "addresses of reverse proxies, separated by commas", list: true},
		{name: "limits.api_free", fallback: "100", help: "API requests an hour of one owner, tier free"},
		{name: "limits.api_pro", fallback: "1000", help: "API requests an hour of one owner, tier pro"},
		{name: "limits.bot_free", fallback: "50", help: "bot calls an hour of one token, tier free"},
		{name: "limits.bot_pro", fallback: "500", help: "bot calls an hour of one token, tier pro"},
		{name: "limits.messages", fallback: "30", help: "messages of apps a minute to one person"},
		{name: "limits.webhook_events", fallback: "10000", help: "events an hour to one webhook; more wait"},
		{name: "webhooks.allow_private", help: "private networks that webhooks may be in, such as 10.1.0.0/16, separated by commas", list: true},
		{name: "webhooks.allow_http", fallback: "false", help: "let webhooks in those networks do without TLS: true or false"},
		{name: "webhooks.schedule", fallback: "1s,2s,4s,8s,16s", help: "how long to wait before each further attempt of a delivery, separated by commas", list: true},
		{name: "webhooks.retention", fallback: "72h", help: "how long the log of deliveries is kept"},
		{name: "stake.validators", help: "vote accounts to recommend for staking, the default first, separated by commas", list: true},
		{name: "fraud.addresses", help: "addresses that nobody may pay here, separated by commas", list: true},
		{name: "fraud.addresses_file", help: "file of such addresses, one a line; it is read again when it changes"},
		{name: "market.sources", help: "who is asked for prices: jupiter, coingecko, pyth, or none; separated by commas, the preferred one first", list: true},
		{name: "market.url", fallback: "https://api.jup.ag", help: "address of Jupiter's API"},
		{name: "market.pools_url", fallback: geckoTerminal, help: "address of GeckoTerminal's API, for pools and past prices"},
		{name: "market.rates_url", fallback: "https://api.frankfurter.dev", help: "address of Frankfurter's API, for values in other currencies than US dollars; or none"},
		{name: "market.keys", help: "keys of these providers, as jupiter=KEY,coingecko=KEY,pyth=KEY", secret: true, list: true},
		{name: "market.calls_per_minute", help: "calls a minute that your plan at Jupiter allows; without a key 30, with a free one 60"},
		{name: "news.feeds", help: "https addresses of RSS, Atom or JSON feeds to read for market news, separated by commas", secret: true, list: true},
		{name: "verification.steps", fallback: "contact", help: "how developers are verified: contact, email, wallet, approval", list: true},
		{name: "admins", help: "Telegram ids of the operators who approve developers, separated by commas", list: true},
		{name: "mail.url", help: "mail server, as smtp://user:password@host:port or smtps://…", secret: true},
		{name: "mail.from", help: "address that mail comes from"},
		{name: "log.level", fallback: "info", help: "debug, info, warn or error"},
		{name: "log.format", fallback: "text", help: "text or json"},
	}
}

// Variable is the environment variable of a key: http.public_url → PURSER_HTTP_PUBLIC_URL.
func Variable(name string) string {
	return "PURSER_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

// Flag is the flag of a key: http.public_url → --http-public-url.
func Flag(name string) string {
	return strings.NewReplacer(".", "-", "_", "-").Replace(name)
}

// AddFlags adds a flag for each key that is no secret. Their values are read by Load.
func AddFlags(flags *pflag.FlagSet) {
	for _, k := range keys() {
		if !k.secret {
			help := k.help
			if k.fallback != "" {
				help += " (default " + k.fallback + ")"
			}
			flags.String(Flag(k.name), "", help)
		}
	}
}

// strayVariables lists variables that look like ours, of one of our sections, but name no key. Others
// that begin with PURSER_ are let be: container platforms make some (PURSER_SERVICE_HOST).
func strayVariables(environ map[string]string) []string {
	known, sections := map[string]bool{}, map[string]bool{}
	for _, k := range keys() {
		section, _, _ := strings.Cut(k.name, ".")
		known[Variable(k.name)], sections[Variable(section)+"_"] = true, true
	}
	var stray []string
	for name := range environ {
		for section := range sections {
			if strings.HasPrefix(name, section) && !known[name] {
				stray = append(stray, name)
			}
		}
	}
	sort.Strings(stray)
	return stray
}
