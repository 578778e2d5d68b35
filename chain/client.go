package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"purser/wallet"
)

// Options say which nodes to call, and how.
type Options struct {
	// RPCURLs are http or https addresses. The first is the primary node. The others give the second opinion that
	// docs/architecture.md (The rule against paying twice, 2) asks for.
	RPCURLs []string
	// WSURL is a ws or wss address for notifications; "": none, then landings are found by polling alone.
	WSURL string
	// Cluster is what the operator says these nodes are: mainnet, devnet, testnet or localnet. New checks the word.
	// GenesisCluster finds out whether it is true.
	Cluster string
	// Codec is the table by which transactions are recognised; the zero Codec has the standard rows.
	Codec Codec
	// Timeout bounds each call; 0 means 10 seconds.
	Timeout time.Duration
	// PerSecond bounds the calls a second to each node; 0: no bound. Signed payments go first, then people who wait for
	// an answer, then the rest. A call waits for its turn within its Timeout.
	PerSecond int
	// Share lets operations within two seconds share answers: the newest blockhash, the fee of messages that cost the
	// same, the price of compute units for the same accounts, the finalized height. Those that read accounts of transfers at the
	// same time share a call. false asks each time.
	Share bool
	// Subscriptions is how many accounts are subscribed to at once (WatchAccount); 0: none.
	Subscriptions int
	// Log gets reports of the WebSocket's outages; nil: none.
	Log *slog.Logger
	// Now is the clock.
	Now func() time.Time
	// Dial opens connections; nil means the net package.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client calls Solana's RPC nodes. Any number of goroutines may use it.
type Client struct {
	nodes     []*node // nodes[0] is primary
	codec     Codec
	now       func() time.Time
	transport *http.Transport
	hints     *hints[wallet.Signature]
	accounts  *hints[wallet.AccountHint]

	rents   cache[uint64, rent]              // by account size in bytes
	details cache[place, transactionDetails] // of transactions, by signature and slot
	heights cache[uint64, uint64]            // block heights by slot

	sharedFor time.Duration                      // age up to which the answers below are shared; 0: not at all
	hashes    shared[struct{}, wallet.Blockhash] // the newest blockhash
	fees      shared[string, uint64]             // by everything that a fee depends on
	prices    shared[string, uint64]             // of compute units, by the accounts that are written
	finalized shared[struct{}, uint64]           // block height
	transfers [classes]*accountBatcher           // accounts of transfers, by the class of the call

	validators shared[struct{}, []wallet.Validator]        // for validatorsLive
	names      shared[struct{}, map[wallet.Address]string] // of validators, by identity, for namesLive
}

// defaultTimeout bounds a call if Options.Timeout is 0.
const defaultTimeout = 10 * time.Second

// New makes a Client. It makes no connection yet. Errors name the wrong setting and never repeat a URL.
func New(o Options) (*Client, error) {
	if o.Now == nil {
		return nil, errors.New("chain: Now is needed")
	}
	if len(o.RPCURLs) == 0 {
		return nil, errors.New("chain.rpc_url: at least one address is needed")
	}
	switch o.Cluster {
	case "", wallet.Mainnet, wallet.Devnet, wallet.Testnet, wallet.Localnet:
	default:
		return nil, fmt.Errorf("chain.cluster: must be %s, %s, %s or %s", wallet.Mainnet, wallet.Devnet, wallet.Testnet, wallet.Localnet)
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: o.Timeout}).DialContext
	}
	// All nodes share one transport, with enough idle connections for all lanes.
	c := &Client{
		codec: o.Codec,
		now:   o.Now,
		transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         o.Dial,
			ForceAttemptHTTP2:   true,
			TLSHandshakeTimeout: o.Timeout,
			MaxIdleConnsPerHost: signedAtOnce + readsAtOnce + backgroundAtOnce,
			IdleConnTimeout:     90 * time.Second,
		},
	}
	if o.Share {
		c.sharedFor = sharedFor
	}
	for i := range c.transfers {
		c.transfers[i] = newAccountBatcher(func(ctx context.Context, addresses []wallet.Address) (answerAt[[]*accountData], error) {
			return accountsAt(ctx, c.primary(), sliced(confirmed, tokenData), addresses)
		})
	}
	for i, text := range o.RPCURLs {
		if !validURL(text, "http", "https") {
			return nil, fmt.Errorf("chain.rpc_url: address %d is not a http or https URL", i+1)
		}
		c.nodes = append(c.nodes, newNode(fmt.Sprintf("rpc %d", i+1), text, o, c.transport))
	}
	if o.WSURL != "" && !validURL(o.WSURL, "ws", "wss") {
		return nil, errors.New("chain.ws_url: not a ws or wss URL")
	}
	c.hints = newHints(landings(), o.WSURL, maxWatched, o, c.transport)
	c.accounts = newHints(changes(), o.WSURL, o.Subscriptions, o, c.transport)
	return c, nil
}

// validURL accepts an absolute URL of one of two schemes.
func validURL(text string, schemes ...string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Fragment != "" {
		return false
	}
	return u.Scheme == schemes[0] || u.Scheme == schemes[1]
}

// Close closes idle connections. Calls in progress end by their deadlines.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// primary is the node of everything that needs no second opinion.
func (c *Client) primary() *node { return c.nodes[0] }

// cache remembers a bounded number of answers that never change. When it is full, it forgets everything: that costs a
// few calls now and then, and needs no order of use.
type cache[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]V
}

// cacheSize is the number of answers that a cache holds.
const cacheSize = 4096

func (c *cache[K, V]) get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	value, ok := c.values[key]
	return value, ok
}

func (c *cache[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil || len(c.values) >= cacheSize {
		c.values = make(map[K]V)
	}
	c.values[key] = value
}

// settings is the configuration object of a JSON-RPC method.
type settings map[string]any

// The commitments that are used. Neither reads the state of "processed" blocks, which may still be dropped.
const (
	confirmed = "confirmed"
	finalized = "finalized"
)

// addresses returns addresses in base58.
func addresses(as []wallet.Address) []string {
	out := make([]string, len(as))
	for i, a := range as {
		out[i] = a.String()
	}
	return out
}
