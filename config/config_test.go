package config

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"purser/wallet"
)

const (
	botToken  = "123456:AAAbbbCCCdddEEEfffGGGhhhIIIjjjKKKlll"
	masterB64 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)

// load runs Load over a file of the given content in a folder of its own.
func load(t *testing.T, file string, environ ...string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "purser.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(Options{File: path, Environ: environ})
}

func TestNothingConfiguredIsAWholeConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	c, err := Load(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for what, is := range map[string]bool{
		"listen":     c.HTTP.Listen == "127.0.0.1:8080",
		"public_url": c.HTTP.PublicURL.String() == "http://127.0.0.1:8080",
		"pages":      c.HTTP.PagesListen == "127.0.0.1:8082" && c.HTTP.PagesURL.String() == "http://127.0.0.1:8082",
		"store":      c.Store.Path == "purser.db",
		"api_url":    c.Telegram.APIURL == "https://api.telegram.org",
		"mode":       c.Telegram.Mode == Poll,
		"steps":      len(c.Access.Steps) == 1 && c.Access.Steps[0] == wallet.ByContact && len(c.Access.Admins) == 0,
		"no mail":    c.Mail == Mail{},
		"level":      c.Log.Level == slog.LevelInfo,
		"format":     c.Log.Format == "text",
		"webhooks": len(c.Webhooks.AllowPrivate) == 0 && !c.Webhooks.AllowHTTP && c.Webhooks.Retention == 72*time.Hour && c.Webhooks.Events == 10_000 &&
			slices.Equal(c.Webhooks.Schedule, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}),
		"no cluster": c.Chain.Cluster == "" && len(c.Chain.RPCURLs) == 0,
	} {
		if !is {
			t.Errorf("default of %s: %s", what, c)
		}
	}
	err = c.CheckServe()
	if err == nil || !strings.Contains(err.Error(), "telegram.token") || !strings.Contains(err.Error(), "chain.rpc_url") {
		t.Errorf("serving without a token: %v", err)
	}
}

func TestFixedWinsOverFlagsOverTheEnvironmentOverTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.yaml")
	file := "http: {listen: '127.0.0.1:2'}\nchain: {cluster: devnet}\nlog: {format: json, level: warn}\n"
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse([]string{"--http-listen=127.0.0.1:4"}); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Options{
		File: path, Flags: flags,
		Environ: []string{"PURSER_HTTP_LISTEN=127.0.0.1:3", "PURSER_LOG_LEVEL=error", "PURSER_LOG_FORMAT=", "PURSER_STORE_URL=bolt:real.db", "HOME=/"},
		Fixed:   map[string]string{"store.url": "bolt:sandbox.db"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.HTTP.Listen != "127.0.0.1:4" || c.Log.Level != slog.LevelError || c.Log.Format != "json" ||
		c.Chain.Cluster != wallet.Devnet || c.Store.Path != "sandbox.db" {
		t.Errorf("layers are mixed up:\n%s", c)
	}
	if len(c.Chain.RPCs()) != 1 || c.Chain.RPCs()[0] != "https://api.devnet.solana.com" {
		t.Errorf("devnet's RPC is %v", c.Chain.RPCs())
	}
}

func TestEverySettingIsRead(t *testing.T) {
	c, err := load(t, `
telegram:
  token: "`+botToken+`"
  api_url: http://127.0.0.1:8081/
  mode: webhook
  webhook_secret: "abc_DEF-1_abc_DEF-1"
chain:
  rpc_url: ["https://rpc.example.org/?api-key=hidden", "http://node:8899"]
  ws_url: wss://rpc.example.org/?api-key=hidden
  cluster: mainnet
  rps: "50"
  explorer_url: https://explorer.example.org/tx/{signature}?cluster={cluster}
watch: {calls_per_minute: "240", subscriptions: "90"}
store:
  url: bolt:/var/lib/purser/purser.db
  master_key: `+masterB64+`
http:
  listen: 0.0.0.0:9000
  public_url: https://Wallet.Example.org:443/
  pages_url: https://Docs.Example.org
  trusted_proxies: 10.0.0.7/8, ::1
fraud: {addresses: "11111111111111111111111111111111, TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA, 11111111111111111111111111111111", addresses_file: /etc/purser/blocked}
market: {sources: "pyth, jupiter, pyth", keys: ["pyth=hidden-pyth", "jupiter=hidden-jupiter"], url: "https://prices.example.org/", pools_url: "https://pools.example.org", rates_url: "https://rates.example.org/", calls_per_minute: "600"}
news: {feeds: ["https://news.example.org/rss?key=hidden", "http://10.1.0.9:8000/feed", "https://news.example.org/rss?key=hidden"]}
verification: {steps: [contact, email, approval, contact]}
admins: 1001, 1002, 1001
webhooks: {allow_private: [10.1.2.3/16, "fd00::7"], allow_http: true, schedule: "5s, 90s, 24h", retention: 1h30m}
mail: {url: "smtps://u:hunter2@mail.example.org", from: "Purser <purser@example.org>"}
log: {level: debug, format: json}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := `telegram.token: [withheld]
telegram.api_url: http://127.0.0.1:8081
telegram.mode: webhook
telegram.webhook_secret: [withheld]
chain.rpc_url: rpc.example.org,node:8899
chain.ws_url: rpc.example.org
chain.cluster: mainnet
chain.rps: 50
chain.explorer_url: https://explorer.example.org/tx/{signature}?cluster={cluster}
watch.calls_per_minute: 240
watch.subscriptions: 90
store.url: bolt:/var/lib/purser/purser.db
store.master_key: [withheld]
http.listen: 0.0.0.0:9000
http.public_url: https://wallet.example.org
http.pages_listen: 127.0.0.1:8082
http.pages_url: https://docs.example.org
http.trusted_proxies: 10.0.0.0/8,::1/128
limits.api_free: 100
limits.api_pro: 1000
limits.bot_free: 50
limits.bot_pro: 500
limits.messages: 30
limits.webhook_events: 10000
webhooks.allow_private: 10.1.0.0/16,fd00::7/128
webhooks.allow_http: true
webhooks.schedule: 5s,1m30s,24h0m0s
webhooks.retention: 1h30m0s
fraud.addresses: 2
fraud.addresses_file: /etc/purser/blocked
market.sources: pyth,jupiter
market.pools_url: https://pools.example.org
market.rates_url: https://rates.example.org
news.feeds: news.example.org,10.1.0.9:8000
verification.steps: contact,email,approval
admins: 2 of them
mail.url: mail.example.org
mail.from: Purser <purser@example.org>
log.level: debug
log.format: json
`
	if got := c.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if c.Telegram.Token.Reveal() != botToken || c.Chain.RPCs()[0] != "https://rpc.example.org/?api-key=hidden" {
		t.Error("secrets cannot be used")
	}
	sources := []PriceSource{{Name: Pyth, Key: "hidden-pyth"}, {Name: Jupiter, URL: "https://prices.example.org", Key: "hidden-jupiter", PerMinute: 600}}
	if !slices.Equal(c.Market.Sources, sources) {
		t.Errorf("sources: %+v", c.Market.Sources)
	}
	if !slices.Equal(c.Fraud.Addresses, []wallet.Address{{}, wallet.TokenProgram}) || c.Fraud.File != "/etc/purser/blocked" {
		t.Errorf("blocked: %+v", c.Fraud)
	}
	if feeds := c.News.Addresses(); !slices.Equal(feeds, []string{"https://news.example.org/rss?key=hidden", "http://10.1.0.9:8000/feed"}) {
		t.Errorf("feeds: %q", feeds)
	}
	if err := c.CheckServe(); err != nil {
		t.Error(err)
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	c, err := load(t, "telegram: {token: '"+botToken+"'}\nstore: {master_key: '"+masterB64+"'}\nchain: {rpc_url: 'http://127.0.0.1:1/?k=hidden-key'}\n"+
		"mail: {url: 'smtp://user:hidden-password@mail.example.org', from: a@b.example}\nmarket: {sources: jupiter, keys: jupiter=hidden-market}\nnews: {feeds: 'https://news.example/?k=hidden-feed'}")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("settings", "config", c, "telegram", c.Telegram, "chain", c.Chain)
	slog.New(slog.NewTextHandler(&out, nil)).Info("settings", "config", c, "store", c.Store, "chain", c.Chain)
	fmt.Fprintf(&out, "%v %+v %#v %s", c, c, c, c.Telegram)
	fmt.Fprintf(&out, "%v %+v %#v", c.Market, c.Market, c.Market)
	fmt.Fprintf(&out, "%v %+v %#v", c.News, c.News, c.News)
	fmt.Fprintf(&out, "%v %+v %#v %v %+v %#v", c.Chain, c.Chain, c.Store, c.Mail, c.Mail, c.Mail)
	for _, secret := range []string{botToken, masterB64, "hidden-key", "hidden-password", "hidden-market", "hidden-feed"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q is printed in %s", secret, out.String())
		}
	}
	if !strings.Contains(out.String(), withheld) {
		t.Error("nothing was withheld: does this test still print the settings?")
	}
}

// wrongSetting is a settings file with something wrong in it, and what the error says about it. The word s3cret must not be in that.
type wrongSetting struct {
	name, file string
	says       []string
}

// refuses checks that none of the files is accepted.
func refuses(t *testing.T, cases []wrongSetting) {
	t.Helper()
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			_, err := load(t, test.file)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, word := range test.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%q repeats the value", err)
			}
		})
	}
}

func TestWrongSettingsAreNamedWithoutTheirSecrets(t *testing.T) {
	refuses(t, []wrongSetting{
		{"misspelt key", "http: {listne: x}", []string{`"http.listne"`, "spelling"}},
		{"no blocked address", "fraud: {addresses: x}", []string{"fraud.addresses", `"x" is no address`}},
		{"key of a later day", "backup: {every: x}", []string{`"backup.every"`}},
		{"scalar for a section", "telegram: s3cret", []string{`"telegram"`}},
		{"mapping for a value", "telegram: {token: {a: s3cret}}", []string{`"telegram.token.a"`}},
		{"number for text", "telegram: {webhook_secret: 0123}", []string{"telegram.webhook_secret", "quotes"}},
		{"list for text", "http: {listen: [a, b]}", []string{"http.listen", "quotes"}},
		{"list of numbers", "chain: {rpc_url: [1]}", []string{"chain.rpc_url", "quotes"}},
		{"no YAML", "telegram: {token: s3cret", []string{"YAML"}},
		{"a bare secret", "s3cret", []string{"YAML"}},
		{"key twice", "log:\n  level: info\n  level: warn\n", []string{"line"}},
		{"token shape", "telegram: {token: s3cret}", []string{"telegram.token", "PURSER_TELEGRAM_TOKEN"}},
		{"token over http", "telegram: {api_url: 'http://example.org'}", []string{"telegram.api_url", "https"}},
		{"mode", "telegram: {mode: push}", []string{"telegram.mode", "poll, webhook"}},
		{"webhook without secret", "telegram: {mode: webhook}", []string{"telegram.webhook_secret"}},
		{"webhook secret", "telegram: {webhook_secret: 's3cret!'}", []string{"telegram.webhook_secret"}},
		{"rpc scheme", "chain: {rpc_url: 'ftp://s3cret'}", []string{"chain.rpc_url", "http"}},
		{"rpc unreadable", "chain: {rpc_url: 'http://s3cret%zz'}", []string{"chain.rpc_url"}},
		{"three rpcs", "chain: {rpc_url: 'http://127.0.0.1:1,http://127.0.0.1:2,http://127.0.0.1:3'}", []string{"chain.rpc_url", "two"}},
		{"ws scheme", "chain: {ws_url: 'https://s3cret'}", []string{"chain.ws_url", "ws"}},
		{"cluster", "chain: {cluster: testnet}", []string{"chain.cluster", "devnet"}},
		{"cluster untold", "chain: {rpc_url: 'https://rpc.example.org/s3cret'}", []string{"chain.cluster"}},
		{"rps", "chain: {rps: 'many s3cret'}", []string{"chain.rps", "whole number"}},
		{"rps, too many", "chain: {rps: '100001'}", []string{"chain.rps", "whole number"}}, {"rps, less than none", "chain: {rps: '-1'}", []string{"chain.rps", "whole number"}},
		{"watch", "watch: {calls_per_minute: 's3cret'}", []string{"watch.calls_per_minute", "whole number"}}, {"subscriptions", "watch: {subscriptions: '-1'}", []string{"watch.subscriptions", "whole number"}}, {"subscriptions, too many", "watch: {subscriptions: '10001'}", []string{"watch.subscriptions", "10000"}}, {"watch, too many", "watch: {calls_per_minute: '1000001'}", []string{"watch.calls_per_minute", "1000000"}},
		{"explorer", "chain: {explorer_url: 'javascript:x'}", []string{"chain.explorer_url"}},
		{"store", "store: {url: 'postgres://s3cret'}", []string{"store.url", "bolt:"}},
		{"store without file", "store: {url: 'bolt:'}", []string{"store.url"}},
		{"master key", "store: {master_key: s3cret}", []string{"store.master_key", "base64"}},
		{"two master keys", "store: {master_key: " + masterB64 + ", master_key_file: x}", []string{"not both"}},
		{"listen", "http: {listen: '8080'}", []string{"http.listen", "host:port"}},
		{"pages where the signing page is", "http: {public_url: 'https://A.example', pages_url: 'https://a.example:443'}", []string{"http.pages_url", "another"}},
		{"pages on an open line", "http: {pages_url: 'http://docs.example.org'}", []string{"http.pages_url", "https"}},
		{"pages listen", "http: {pages_listen: '8082'}", []string{"http.pages_listen", "host:port"}},
		{"listen port", "http: {listen: '127.0.0.1:99999'}", []string{"http.listen"}},
		{"public http", "http: {public_url: 'http://wallet.example.org'}", []string{"http.public_url", "https"}},
		{"public path", "http: {public_url: 'https://wallet.example.org/app'}", []string{"http.public_url", "path"}},
		{"public query", "http: {public_url: 'https://wallet.example.org?'}", []string{"http.public_url", "path"}},
		{"public fragment", "http: {public_url: 'https://wallet.example.org#x'}", []string{"http.public_url"}},
		{"public user", "http: {public_url: 'https://a:s3cret@wallet.example.org'}", []string{"http.public_url"}},
		{"public without host", "http: {public_url: 'https:///'}", []string{"http.public_url"}},
		{"public name", "http: {public_url: 'https://wällét.example'}", []string{"http.public_url", "xn--"}},
		{"public port", "http: {public_url: 'https://wallet.example.org:99999'}", []string{"http.public_url", "port"}},
		{"public lookalike", "http: {public_url: 'http://127.0.0.1.example.org'}", []string{"http.public_url", "https"}},
		{"proxies", "http: {trusted_proxies: '10.0.0.0/99'}", []string{"http.trusted_proxies", "10.0.0.0/99"}},
		{"proxies everywhere", "http: {trusted_proxies: '10.0.0.0/8,0.0.0.0/0'}", []string{"http.trusted_proxies", "0.0.0.0/0", "every address"}},
		{"private networks everywhere", "webhooks: {allow_private: '::/0'}", []string{"webhooks.allow_private", "::/0", "every address"}},
		{"limits", "limits: {api_free: 0, messages: many}", []string{"limits.api_free", "limits.messages"}},
		{"webhook events", "limits: {webhook_events: '0'}", []string{"limits.webhook_events"}},
		{"private networks", "webhooks: {allow_private: '10.0.0.0/8,lan'}", []string{"webhooks.allow_private", `"lan"`}},
		{"private network, mapped", "webhooks: {allow_private: '::ffff:10.0.0.0/104'}", []string{"webhooks.allow_private", "IPv4"}},
		{"http to nowhere", "webhooks: {allow_http: true}", []string{"webhooks.allow_private", "webhooks.allow_http"}},
		{"http perhaps", "webhooks: {allow_http: 'perhaps'}", []string{"webhooks.allow_http", "true, false"}},
		{"no schedule", "webhooks: {schedule: ','}", []string{"webhooks.schedule", "1 to 20"}},
		{"long schedule", "webhooks: {schedule: '" + strings.Repeat("1s,", 21) + "'}", []string{"webhooks.schedule", "1 to 20"}},
		{"hasty schedule", "webhooks: {schedule: '1s,999ms'}", []string{"webhooks.schedule", `"999ms"`, "1s"}},
		{"slow schedule", "webhooks: {schedule: '24h1s'}", []string{"webhooks.schedule", "24h"}},
		{"schedule of numbers", "webhooks: {schedule: '1,2'}", []string{"webhooks.schedule", `"1"`}},
		{"backward schedule", "webhooks: {schedule: '-5s'}", []string{"webhooks.schedule", `"-5s"`}},
		{"short retention", "webhooks: {retention: 59m}", []string{"webhooks.retention", "1h"}},
		{"long retention", "webhooks: {retention: 721h}", []string{"webhooks.retention", "720h"}},
		{"retention for ever", "webhooks: {retention: 99999999999999h}", []string{"webhooks.retention"}},
		{"source of prices", "market: {sources: 'jupiter,oracle'}", []string{"market.sources", `"oracle"`, "coingecko"}},
		{"no source and one", "market: {sources: 'none,jupiter'}", []string{"market.sources", `"none"`}},
		{"pyth without a key", "market: {sources: pyth}", []string{"market.keys", "pyth"}},
		{"market on an open line", "market: {url: 'http://prices.example.org'}", []string{"market.url", "https"}},
		{"market with a query", "market: {url: 'https://prices.example.org?key=s3cret'}", []string{"market.url", "query"}},
		{"rates without TLS", "market: {rates_url: 'http://rates.example.org'}", []string{"market.rates_url", "https"}},
		{"pools with a user", "market: {pools_url: 'https://u:s3cret@pools.example.org'}", []string{"market.pools_url", "user"}},
		{"market key without a name", "market: {keys: s3cret}", []string{"market.keys", "NAME=KEY"}},
		{"market key of nobody", "market: {keys: 'oracle=s3cret'}", []string{"market.keys", "NAME=KEY"}},
		{"market key in two lines", "market: {keys: \"jupiter=s3cret\\nx\"}", []string{"market.keys", "NAME=KEY"}},
		{"market calls", "market: {calls_per_minute: '0'}", []string{"market.calls_per_minute", "whole number"}},
		{"market calls, too many", "market: {calls_per_minute: '60001'}", []string{"market.calls_per_minute", "60000"}},
		{"step", "verification: {steps: contact;email}", []string{"verification.steps", "approval"}},
		{"no step", "verification: {steps: ','}", []string{"verification.steps", "at least one"}},
		{"email without a server", "verification: {steps: email}", []string{"mail.url", "verification.steps"}},
		{"mail from nobody", "mail: {url: 'smtp://mail.example.org'}", []string{"mail.from"}},
		{"mail scheme", "mail: {url: 'http://u:s3cret@mail.example.org', from: a@b.example}", []string{"mail.url", "smtps"}},
		{"mail unreadable", "mail: {url: 'smtp://u:s3cret%zz@h', from: a@b.example}", []string{"mail.url"}},
		{"mail path", "mail: {url: 'smtp://h/s3cret', from: a@b.example}", []string{"mail.url", "path"}},
		{"mail user alone", "mail: {url: 'smtp://s3cret@h', from: a@b.example}", []string{"mail.url", "password"}},
		{"mail from", "mail: {from: purser}", []string{"mail.from"}},
		{"approval by nobody", "verification: {steps: [contact, approval]}", []string{"admins", "approval"}},
		{"approval by a comma", "verification: {steps: approval}\nadmins: ','", []string{"admins", "approves"}},
		{"admin", "admins: '@alice'", []string{"admins", "@alice", "number"}},
		{"admin group", "admins: '-100123'", []string{"admins", "-100123"}},
		{"level", "log: {level: loud}", []string{"log.level"}},
		{"format", "log: {format: xml}", []string{"log.format"}},
	})
}

func TestAllMistakesAreToldAtOnce(t *testing.T) {
	_, err := load(t, "log: {level: loud, format: xml}\nhttp: {listen: x, typo: y}", "PURSER_HTTP_LISTNE=x")
	if err == nil || strings.Count(err.Error(), "\n") != 4 {
		t.Errorf("want five lines, got: %v", err)
	}
}

func TestAMisspeltVariableOfOursIsRefusedAndAPlatformsIsNot(t *testing.T) {
	if _, err := load(t, "", "PURSER_CHAIN_RPCURL=http://127.0.0.1"); err == nil || !strings.Contains(err.Error(), "PURSER_CHAIN_RPCURL") {
		t.Errorf("a misspelt variable: %v", err)
	}
	if _, err := load(t, "", "PURSER_SERVICE_HOST=10.0.0.1", "PURSER_PORT=tcp://10.0.0.1:80"); err != nil {
		t.Errorf("a platform's variables: %v", err)
	}
}

func TestEmptySectionsAndNamesAreNotSet(t *testing.T) {
	c, err := load(t, "# nothing yet\ntelegram:\n  # token: x\nhttp:\n  listen:\nlog: {}\n")
	if err != nil {
		t.Fatal(err)
	}
	if c.HTTP.Listen != "127.0.0.1:8080" {
		t.Errorf("listen is %q", c.HTTP.Listen)
	}
}

func TestAFileThatWasNamedMustExist(t *testing.T) {
	if _, err := Load(Options{File: filepath.Join(t.TempDir(), "nowhere.yaml")}); err == nil {
		t.Error("accepted")
	}
}

func TestPublicURLIsTheOriginThatBrowsersSend(t *testing.T) {
	for given, want := range map[string]string{
		"http://localhost:8080":        "http://127.0.0.1:8080",
		"http://LOCALHOST/":            "http://127.0.0.1",
		"http://[::1]:8080":            "http://[::1]:8080",
		"http://127.0.0.1:80":          "http://127.0.0.1",
		"https://A.example.org:443/":   "https://a.example.org",
		"https://a.example.org:80":     "https://a.example.org:80",
		"https://xn--wllt-7qa.example": "https://xn--wllt-7qa.example",
	} {
		c, err := load(t, "http: {public_url: '"+given+"'}")
		if err != nil {
			t.Errorf("%s: %v", given, err)
		} else if got := c.HTTP.PublicURL.String(); got != want {
			t.Errorf("%s became %s, want %s", given, got, want)
		}
	}
}

// TestPublicNodesAreAskedAsOftenAsTheyAllow: whoever has a node of their own says how often it may be asked.
func TestPublicNodesAreAskedAsOftenAsTheyAllow(t *testing.T) {
	for chain, want := range map[string]int{
		"cluster: devnet": 10,
		"rpc_url: 'https://mainnet.rpc.example.org/'": 10,
		"cluster: localnet":                           0,
		"cluster: devnet, rps: '0'":                   0,
		"cluster: localnet, rps: '100000'":            100_000,
	} {
		c, err := load(t, "chain: {"+chain+"}")
		if err != nil || c.Chain.PerSecond != want {
			t.Errorf("%s: %d calls a second, %v, want %d", chain, c.Chain.PerSecond, err, want)
		}
	}
}

func TestClusterIsReadOffAKnownRPC(t *testing.T) {
	for rpc, want := range map[string]string{
		"http://127.0.0.1:8899":                wallet.Localnet,
		"https://api.devnet.solana.com":        wallet.Devnet,
		"https://mainnet.rpc.example.org/?k=v": wallet.Mainnet,
	} {
		c, err := load(t, "chain: {rpc_url: '"+rpc+"'}")
		if err != nil || c.Chain.Cluster != want {
			t.Errorf("%s is %q, %v", rpc, c.Chain.Cluster, err)
		}
	}
}

// TestOnMainnetNobodyOnTheWayAnswersForTheRPC: without TLS they could call a payment failed that landed.
func TestOnMainnetNobodyOnTheWayAnswersForTheRPC(t *testing.T) {
	for chain, setting := range map[string]string{
		"cluster: mainnet, rpc_url: 'http://rpc.example.org/s3cret'":                                  "chain.rpc_url",
		"rpc_url: 'http://mainnet.rpc.example.org/?k=s3cret'":                                         "chain.rpc_url",
		"cluster: mainnet, rpc_url: 'https://rpc.example.org,http://203.0.113.5:8899'":                "chain.rpc_url",
		"cluster: mainnet, rpc_url: 'http://3405803781:8899'":                                         "chain.rpc_url",
		"cluster: mainnet, rpc_url: 'http://[2001:db8::1]:8899'":                                      "chain.rpc_url",
		"cluster: mainnet, rpc_url: 'http://local.example.org'":                                       "chain.rpc_url",
		"cluster: mainnet, rpc_url: 'https://rpc.example.org', ws_url: 'ws://rpc.example.org'":        "chain.ws_url",
		"cluster: mainnet, rpc_url: 'http://127.0.0.1:8899', ws_url: 'ws://127.0.0.1:8900'":           "",
		"cluster: mainnet, rpc_url: 'http://localhost:8899,http://[::1]:8899'":                        "",
		"cluster: mainnet, rpc_url: 'http://10.1.2.3:8899,http://[fd00::7]:8899'":                     "",
		"cluster: mainnet, rpc_url: 'http://node:8899,http://rpc.internal', ws_url: 'ws://rpc.local'": "",
		"cluster: mainnet, rpc_url: 'https://rpc.example.org', ws_url: 'wss://rpc.example.org'":       "",
		"cluster: devnet, rpc_url: 'http://rpc.example.org', ws_url: 'ws://rpc.example.org'":          "", // test money
		"rpc_url: 'http://203.0.113.5:8899', cluster: localnet":                                       "",
	} {
		_, err := load(t, "chain: {"+chain+"}")
		switch {
		case setting == "" && err != nil:
			t.Errorf("%s: %v", chain, err)
		case setting != "" && (err == nil || !strings.Contains(err.Error(), setting) || !strings.Contains(err.Error(), "TLS") || strings.Contains(err.Error(), "s3cret")):
			t.Errorf("%s: %v", chain, err)
		}
	}
}

// TestAProxyThatIsNotKnownIsNoticedAtTheStart: behind it all people would share one limit.
func TestAProxyThatIsNotKnownIsNoticedAtTheStart(t *testing.T) {
	serves := "telegram: {token: '" + botToken + "'}\nchain: {cluster: devnet}\n"
	for http, refused := range map[string]bool{
		"public_url: 'https://wallet.example.org'":                                                                  true,
		"public_url: 'https://wallet.example.org', listen: 'localhost:8080'":                                        true,
		"public_url: 'https://wallet.example.org', listen: '[::1]:8080'":                                            true,
		"public_url: 'https://wallet.example.org', trusted_proxies: '127.0.0.1'":                                    false,
		"public_url: 'https://wallet.example.org', listen: '0.0.0.0:8080'":                                          false, // who forwards is seen later
		"public_url: 'https://wallet.example.org', listen: ':8080'":                                                 false,
		"public_url: 'http://127.0.0.1:8080'":                                                                       false,
		"pages_url: 'https://pages.example.org', public_url: 'http://127.0.0.1:8080', pages_listen: '127.0.0.1:82'": false,
	} {
		c, err := load(t, serves+"http: {"+http+"}")
		if err != nil {
			t.Fatal(err)
		}
		err = c.CheckServe()
		if (err != nil) != refused {
			t.Errorf("%s: %v", http, err)
		}
		if err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "PURSER_HTTP_TRUSTED_PROXIES") || !strings.Contains(err.Error(), "127.0.0.1")) {
			t.Errorf("%s: it says %q", http, err)
		}
	}
}

// TestAGuessableWebhookSecretIsRefused: whoever has it speaks for every Telegram user.
func TestAGuessableWebhookSecretIsRefused(t *testing.T) {
	for secret, ok := range map[string]bool{"a": false, strings.Repeat("x", 15): false, strings.Repeat("x", 16): true, strings.Repeat("x", 257): false} {
		if _, err := load(t, "telegram: {webhook_secret: \""+secret+"\"}"); (err == nil) != ok {
			t.Errorf("%d characters: %v", len(secret), err)
		}
	}
}

// TestPricesAreAskedForOnMainnetAlone unless somebody names a source: tokens of test networks have no price.
func TestPricesAreAskedForOnMainnetAlone(t *testing.T) {
	for file, want := range map[string]Market{
		"chain: {cluster: devnet}":                                      {},
		"chain: {cluster: mainnet, rpc_url: 'https://rpc.example.org'}": {Sources: []PriceSource{{Name: Jupiter, URL: "https://api.jup.ag"}}, PoolsURL: "https://api.geckoterminal.com"},
		"chain: {cluster: mainnet}\nmarket: {sources: none}":            {PoolsURL: "https://api.geckoterminal.com"},
		"chain: {cluster: localnet}\nmarket: {sources: jupiter, pools_url: 'http://127.0.0.1:1/pools/'}": {
			Sources: []PriceSource{{Name: Jupiter, URL: "https://api.jup.ag"}}, PoolsURL: "http://127.0.0.1:1/pools"},
	} {
		c, err := load(t, file)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.Market.Sources, want.Sources) || c.Market.PoolsURL != want.PoolsURL {
			t.Errorf("%s: %+v, want %+v", file, c.Market, want)
		}
		if c.Market.RatesURL != "https://api.frankfurter.dev" {
			t.Errorf("%s: rates from %q", file, c.Market.RatesURL)
		}
	}
	if c, err := load(t, "market: {rates_url: none}"); err != nil || c.Market.RatesURL != "" {
		t.Errorf("none is %q, %v", c.Market.RatesURL, err)
	}
}
