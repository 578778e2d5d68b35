// Package api serves HTTP: the routes of /v1 and /w, the envelope, keys, limits, and the table from error codes to
// statuses. It does not know what an operation does (handlers), how Telegram's updates are read (bot), or what the
// signing page does on a device (signer). Fiber and fasthttp appear in no other package.
//
// Its main types:
//
//   - Server, made by New from Options, answers the public listener
//   - endpoint describes one endpoint of /v1: method, path, the key that it needs, and its operation
//   - record and save store the response to a POST under its Idempotency-Key
//   - window, the Meter of Options, and Connections limit what one client, one key and one listener can cost
//   - Admin serves the operator's socket, AdminClient is its other end
//
// A request passes middleware (default headers, framing, limits of strangers), then its route. Routes of /v1 that
// need a key go through authenticate and rateLimit. The operation reads the body strictly (body.go) and calls
// handlers. It answers by succeed, or by an error that refuse turns into the envelope.
//
// A POST runs in idempotent. Its response is stored in the same transaction as its effect: after a crash there is
// either both, and a retry gets the stored response, or neither, and a retry runs the request again.
//
// No sentence for people stands in the code: they are keys of package locale.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"golang.org/x/sync/semaphore"

	"purser/handlers"
	"purser/locale"
	"purser/quota"
	"purser/store"
	"purser/wallet"
)

// Limits of the listener (docs/specification.md, Limits).
const (
	maxBody   = 64 << 10 // bytes
	maxHeader = 8 << 10  // bytes, the request line included

	readTimeout  = 8 * time.Second  // of one request with its body; shorter than drainTimeout
	writeTimeout = 30 * time.Second // of one write to a stream (listen), and of a whole answer on the admin socket
	takeTimeout  = 15 * time.Second // of writing any other answer, at most about 320 KB
	idleTimeout  = 75 * time.Second // of a connection between two requests
	// answerTimeout is the deadline of every request's context. The signing page waits for 20 s, so it gets the
	// answer.
	answerTimeout = 15 * time.Second
	// drainTimeout is how long requests may finish after Run's context has ended.
	drainTimeout = 9 * time.Second
)

// Options are the parts that the server is made of, and its settings. All must be set, except those with a comment
// that says otherwise. Nothing may change them after New.
type Options struct {
	DocsURL        *url.URL       // of the documentation, named in refusals; nil: none
	PublicURL      *url.URL       // of this listener as clients reach it: the only Origin of the signing page
	PagesURL       *url.URL       // of the portal: the only other Origin whose page may read answers, of its own endpoints only
	TrustedProxies []netip.Prefix // proxies whose X-Forwarded-For is believed

	Store         store.Store
	Keys          *handlers.Keys
	Wallets       *handlers.Wallets
	Transfers     *handlers.Transfers
	History       *handlers.History
	Stakes        *handlers.Stakes
	Swaps         *handlers.Swaps
	TokenSearch   *handlers.TokenSearch
	Prices        *handlers.Prices
	Signing       *handlers.Signing
	People        *handlers.People
	Notifications *handlers.Notifications
	Alerts        *handlers.Alerts
	Webhooks      *handlers.Webhooks
	Catalogue     json.RawMessage // of events, as JSON: webhooks.Describe
	Portal        *handlers.Portal
	Security      *handlers.Security
	Freezing      *handlers.Freezing
	Policies      *handlers.Policies
	BotName       func() string // without @; "" until Telegram has returned it
	LinkedBot     func() string // BotName if https://t.me leads to it, else "": the page's way back to the chat
	Chat          Chat
	Bot           Bot
	Meter         *quota.Meter // counts requests of keys and messages, over all nodes
	Limits        quota.Limits
	Cluster       string
	Webhook       *Webhook // nil: Telegram is polled, and the route does not exist

	Now   func() time.Time
	NewID handlers.IDs // draws ids of requests ("req") and messages ("msg")
	Log   *slog.Logger
}

// Server serves public_url: the API, the signing page, Telegram's webhook, and no other HTML. Run serves; every
// request has a goroutine of its own. The fields are set by New and do not change, except for those that guard
// themselves.
type Server struct {
	Options
	origin         string // of the signing page
	pages          string // the origin of the portal
	refusals       map[wallet.Code]refusal
	defaultHeaders *fasthttp.ResponseHeader // of every answer; copied, never changed
	page           *window[[32]byte]        // requests of the signing page, by hash of the link
	badLinks       *window[netip.Prefix]    // its requests without a living link, by client
	lookups        *window[int64]           // its lookups of accounts on Solana, by Telegram id
	badKeys        *window[netip.Prefix]    // refused keys, by client
	sessions       *window[[32]byte]        // requests of the portal, by hash of the session
	busy           *inFlight                // idempotency keys of requests that run on this node
	english        *locale.Printer

	// Budgets for bodies, in bytes (senderOf).
	fromStrangers, fromKeys, fromTelegram *semaphore.Weighted

	documentTag string                 // ETag of openapi.json
	deprecated  map[string]deprecation // by method and pattern

	serving context.Context    // of streams; ends when draining begins
	beat    time.Duration      // between keep-alive lines: usualBeat; tests set another
	hangUp  context.CancelFunc // ends serving
	lasting sync.WaitGroup     // streams that are open

	base   context.Context // of every request; ends when draining took too long
	cancel context.CancelFunc
	http   *fasthttp.Server

	connections *Connections
	suspected   atomic.Bool // suspectProxy has logged

	// They thin out the log lines of requests without a valid key or link: of usual ones, and of those with a 5xx.
	strangers, strangersTrouble sampler
	app                         *fiber.App
}

// complete returns an error that names which options are missing, nil if none is.
func (o Options) complete() error {
	switch {
	case o.PublicURL == nil || o.PublicURL.Host == "" || o.PagesURL == nil || o.PagesURL.Host == "":
		return errors.New("api: a public URL and one of the pages are needed")
	case o.Store == nil || o.Keys == nil || o.Wallets == nil || o.Transfers == nil || o.Stakes == nil || o.Swaps == nil || o.TokenSearch == nil || o.Prices == nil || o.History == nil || o.Signing == nil ||
		o.People == nil || o.Notifications == nil || o.Alerts == nil || o.Webhooks == nil || len(o.Catalogue) == 0 || o.Portal == nil || o.Freezing == nil || o.Policies == nil || o.BotName == nil || o.LinkedBot == nil ||
		o.Chat == nil || o.Bot == nil || o.Meter == nil:
		return errors.New("api: a store, the operations, the chat, the bot and a meter are needed")
	case o.Webhook != nil && (o.Webhook.Updates == nil || o.Webhook.MaxBody <= 0):
		return errors.New("api: Telegram's webhook is not described")
	case o.Limits == (quota.Limits{}):
		return errors.New("api: limits are needed")
	case o.Now == nil || o.NewID == nil || o.Log == nil:
		return errors.New("api: a clock, ids and a log are needed")
	}
	return nil
}

// New builds the server. It serves nothing before Run. It returns an error if a needed option is missing, or if the
// catalogue of texts is damaged.
func New(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	texts, err := locale.Refusals()
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	s := &Server{
		Options:        o,
		origin:         o.PublicURL.Scheme + "://" + o.PublicURL.Host,
		refusals:       refusals(),
		defaultHeaders: defaultHeaders(o.PublicURL),
		pages:          o.PagesURL.Scheme + "://" + o.PagesURL.Host,
		page:           newWindow[[32]byte](pagePerMinute, time.Minute),
		badLinks:       newWindow[netip.Prefix](pagePerMinute, time.Minute),
		lookups:        newWindow[int64](pagePerMinute, time.Minute),
		badKeys:        newWindow[netip.Prefix](badKeysPerMinute, time.Minute),
		sessions:       newWindow[[32]byte](portalPerHour, time.Hour),
		busy:           newInFlight(),
		english:        texts.Printer("en", locale.Style{}),

		documentTag: documentTag(document),
		deprecated:  deprecated(),
		beat:        usualBeat,
	}
	s.connections = s.BoundConnections()
	s.fromStrangers, s.fromKeys, s.fromTelegram = semaphore.NewWeighted(strangersBudget), semaphore.NewWeighted(keysBudget), semaphore.NewWeighted(telegramBudget)
	s.base, s.cancel = context.WithCancel(context.Background())
	s.serving, s.hangUp = context.WithCancel(s.base)
	s.app = fiber.New(fiber.Config{
		// Without Immutable, strings of a request change under us once it is answered.
		Immutable: true,
		// One spelling for each path: /v1/Wallet and /v1/wallet/send/ are other paths.
		CaseSensitive:                true,
		StrictRouting:                true,
		BodyLimit:                    maxBody,
		ReadBufferSize:               maxHeader,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 takeTimeout,
		IdleTimeout:                  idleTimeout,
		DisableStartupMessage:        true,
		DisablePreParseMultipartForm: true, // else fasthttp parses forms before we refuse them
		StreamRequestBody:            true, // see receive
		ErrorHandler:                 s.unread,
	})
	// The order of what a request passes: knownMethods, middleware, serviceWorker, cors, then its route.
	s.app.Use(s.middleware)
	s.app.Use(s.serviceWorker)
	s.app.Use(s.cors)
	s.routes()
	routed := s.app.Handler()
	s.http = s.app.Server()
	s.http.Handler = s.knownMethods(routed)
	// While the server shuts down, each answer says Connection: close, so that clients connect elsewhere.
	s.http.CloseOnShutdown = true
	s.http.HeaderReceived = s.headerReceived
	return s, nil
}

// endpoint is one endpoint of /v1: its method and path, the key that it needs, and its operation.
type endpoint struct {
	method  string
	pattern string
	kind    wallet.KeyKind // that the key must have; "": either
	scope   wallet.Scope   // that the key must have; "": none
	run     operation
}

// endpoints lists the whole API, except for the document that describes it. A test compares openapi.json with this list.
//
// Long: one line for each endpoint, in the order of the documents.
func (s *Server) endpoints() []endpoint {
	const either, anyScope, api, bot = wallet.KeyKind(""), wallet.Scope(""), wallet.APIKey, wallet.BotKey
	// Fiber takes the first route that fits, so a fixed path stands before a pattern that it would fit too.
	all := []endpoint{
		{fiber.MethodGet, "/v1/key", either, anyScope, s.whoAmI},
		{fiber.MethodPost, "/v1/key/rotate", either, anyScope, s.rotate},
		{fiber.MethodGet, "/v1/wallets", api, wallet.WalletRead, s.wallets},
		{fiber.MethodDelete, "/v1/wallets/:address", api, wallet.WalletSend, s.disconnect},
		{fiber.MethodGet, "/v1/alerts", api, wallet.WalletRead, s.alerts},
		{fiber.MethodPost, "/v1/alerts", api, wallet.WalletSend, s.setAlert},
		{fiber.MethodDelete, "/v1/alerts/:alert_id", api, wallet.WalletSend, s.deleteAlert},
		{fiber.MethodGet, "/v1/notifications", api, wallet.WalletRead, s.notifications},
		{fiber.MethodPut, "/v1/notifications", api, wallet.WalletSend, s.setNotifications},
		{fiber.MethodPost, "/v1/wallet/create", api, wallet.WalletSend, s.createWallet},
		{fiber.MethodGet, "/v1/wallet/balance", api, wallet.WalletRead, s.balance},
		{fiber.MethodPost, "/v1/wallet/send", api, wallet.WalletSend, s.send},
		{fiber.MethodPost, "/v1/wallet/request", api, wallet.WalletSend, s.requestPayment},
		{fiber.MethodGet, "/v1/wallet/transactions", api, wallet.WalletRead, s.transactions},
		{fiber.MethodGet, "/v1/wallet/transactions/:id", api, wallet.WalletRead, s.transaction},
		{fiber.MethodPost, "/v1/wallet/transactions/:id/refresh", api, wallet.WalletSend, s.refresh},
		{fiber.MethodPost, "/v1/wallet/transactions/:id/signature", api, wallet.WalletSend, s.signature},
		{fiber.MethodPost, "/v1/wallet/transactions/:id/reject", api, wallet.WalletSend, s.reject},
		{fiber.MethodPost, "/v1/wallet/connect/challenge", api, wallet.WalletSend, s.connectChallenge},
		{fiber.MethodPost, "/v1/wallet/connect", api, wallet.WalletSend, s.connect},

		{fiber.MethodPost, "/v1/stake", api, wallet.WalletSend, s.stake},
		{fiber.MethodPost, "/v1/swap/quote", api, wallet.WalletSend, s.swapQuote},
		{fiber.MethodPost, "/v1/swap", api, wallet.WalletSend, s.swap},
		{fiber.MethodGet, "/v1/stake/positions", api, wallet.WalletRead, s.stakePositions},
		{fiber.MethodGet, "/v1/stake/rewards", api, wallet.WalletRead, s.stakeRewards},
		{fiber.MethodGet, "/v1/stake/validators", api, wallet.WalletRead, s.stakeValidators},
		{fiber.MethodGet, "/v1/prices", api, wallet.WalletRead, s.prices},
		{fiber.MethodGet, "/v1/tokens", api, wallet.WalletRead, s.tokens},
		{fiber.MethodGet, "/v1/pools", api, wallet.WalletRead, s.pools},
		{fiber.MethodGet, "/v1/prices/:token/history", api, wallet.WalletRead, s.priceHistory},

		{fiber.MethodPost, "/v1/messages", api, wallet.BotSend, s.messageOwner},
		{fiber.MethodPost, "/v1/commands", api, wallet.BotExecute, s.commandOwner},

		{fiber.MethodPost, "/v1/telegram/send-message", bot, wallet.BotSend, s.sendMessage},
		{fiber.MethodPost, "/v1/telegram/execute-command", bot, wallet.BotExecute, s.executeCommand},
		{fiber.MethodGet, "/v1/telegram/user/:telegram_id", bot, wallet.BotUsers, s.user},
		{fiber.MethodPut, "/v1/telegram/user/:chat_id/notifications", bot, wallet.BotUsers, s.setUserNotifications},
		{fiber.MethodGet, botWebhookPath, bot, wallet.Webhooks, s.webhook},
		{fiber.MethodPost, botWebhookPath, bot, wallet.Webhooks, s.createWebhook},
		{fiber.MethodPut, botWebhookPath, bot, wallet.Webhooks, s.changeWebhook},
		{fiber.MethodGet, botWebhookPath + "/listen", bot, wallet.Webhooks, s.listen},
		{fiber.MethodDelete, botWebhookPath, bot, wallet.Webhooks, s.deleteWebhook},

		{fiber.MethodGet, "/v1/webhooks/events", either, anyScope, s.webhookEvents}, // before the ids
		{fiber.MethodGet, "/v1/webhooks/listen", api, wallet.Webhooks, s.listen},
		{fiber.MethodGet, "/v1/webhooks", api, wallet.Webhooks, s.listWebhooks},
		{fiber.MethodPost, "/v1/webhooks", api, wallet.Webhooks, s.createWebhook},
		{fiber.MethodGet, webhookPath, api, wallet.Webhooks, s.webhook},
		{fiber.MethodPut, webhookPath, api, wallet.Webhooks, s.changeWebhook},
		{fiber.MethodDelete, webhookPath, api, wallet.Webhooks, s.deleteWebhook},
	}
	// What both kinds of webhooks have.
	for path, kind := range map[string]wallet.KeyKind{webhookPath: api, botWebhookPath: bot} {
		all = append(all,
			endpoint{fiber.MethodPost, path + "/test", kind, wallet.Webhooks, s.testWebhook},
			endpoint{fiber.MethodPost, path + "/secret/rotate", kind, wallet.Webhooks, s.rotateSecret},
			endpoint{fiber.MethodGet, path + "/deliveries", kind, wallet.Webhooks, s.deliveries},
			endpoint{fiber.MethodGet, path + "/deliveries/:delivery_id", kind, wallet.Webhooks, s.delivery},
			endpoint{fiber.MethodPost, path + "/deliveries/:delivery_id/resend", kind, wallet.Webhooks, s.resend},
			endpoint{fiber.MethodPost, path + "/recover", kind, wallet.Webhooks, s.recover},
		)
	}
	return all
}

// Paths of a webhook: one of those of an API key, and the only one of a bot token.
const (
	webhookPath    = "/v1/webhooks/:webhook_id"
	botWebhookPath = "/v1/telegram/webhook"
)

// routes registers every route of the listener: the API, the portal's sessions, the signing page, and Telegram's webhook if
// there is one.
func (s *Server) routes() {
	s.get("/healthz", s.healthz)

	s.get(documentPath, s.openAPI)
	for _, e := range s.endpoints() {
		if e.scope == wallet.Webhooks {
			e.run = havingWebhooks(e.run)
		}
		s.add(e.method, e.pattern, s.key(e))
	}
	s.post(portalPath, s.openPortal)
	s.add(fiber.MethodDelete, portalPath, s.closePortal)

	s.get("/w", func(c *fiber.Ctx) error { return c.Redirect("/w/", fiber.StatusPermanentRedirect) })
	s.get("/w/", s.asset)
	s.get("/w/:file", s.asset)
	s.post("/w/bind/challenge", s.fromPage(s.bindChallenge))
	s.post("/w/bind", s.fromPage(s.bind))
	s.post("/w/bind/accounts", s.fromPage(s.bindAccounts))
	s.post("/w/freeze", s.fromPage(s.freeze))
	s.post("/w/unfreeze/challenge", s.fromPage(s.unfreezeChallenge))
	s.post("/w/unfreeze", s.fromPage(s.unfreeze))
	s.post("/w/limits/challenge", s.fromPage(s.limitsChallenge))
	s.post("/w/limits/sign", s.fromPage(s.limitsSign))
	s.post("/w/tx/get", s.fromPage(s.signGet))
	s.post("/w/tx/refresh", s.fromPage(s.signRefresh))
	s.post("/w/tx/blocks", s.fromPage(s.signBlocks))
	s.post("/w/tx/signature", s.fromPage(s.signSubmit))
	s.post("/w/tx/reject", s.fromPage(s.signReject))

	if s.Webhook != nil {
		s.post(WebhookPath, s.telegram)
	}
}

// add registers a route. Its pattern is noted for the log before anything can refuse the request: the log must not contain
// the path itself, which may hold addresses. A GET answers HEAD too.
func (s *Server) add(method, pattern string, h fiber.Handler) {
	h = s.named(method, pattern, h)
	if method == fiber.MethodGet {
		s.app.Get(pattern, h)
		return
	}
	s.app.Add(method, pattern, h)
}

// get and post are add for these methods.
func (s *Server) get(pattern string, h fiber.Handler)  { s.add(fiber.MethodGet, pattern, h) }
func (s *Server) post(pattern string, h fiber.Handler) { s.add(fiber.MethodPost, pattern, h) }

// named wraps a handler so that its route's pattern is known to the log. It also adds the headers of a deprecated endpoint.
func (s *Server) named(method, pattern string, h fiber.Handler) fiber.Handler {
	endpoint := method + " " + pattern
	return func(c *fiber.Ctx) error {
		requestState(c).route = pattern
		s.announceEnd(c, endpoint)
		return h(c)
	}
}

// healthz is GET /healthz, for load balancers. It checks nothing else: a process whose store has failed ends.
func (s *Server) healthz(c *fiber.Ctx) error {
	return s.succeed(c, fiber.StatusOK, "done.health", map[string]string{"status": "ok"})
}

// Run serves ln until ctx ends. Then it takes no new connections, ends those that last (listeners), and lets requests
// finish within drainTimeout, after which their contexts end. It returns nil after an orderly end. It runs once.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	defer s.cancel()
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(listener{s.connections.Listener(ln)}) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	// The order of the end: streams, then new connections, then requests in flight, then their contexts.
	s.hangUp()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := s.http.ShutdownWithContext(drain)
	// A Serve that had not begun yet is unknown to Shutdown; a closed listener ends it.
	if closing := ln.Close(); closing != nil && !errors.Is(closing, net.ErrClosed) {
		err = errors.Join(err, closing)
	}
	s.cancel()
	<-served
	s.lasting.Wait() // each ends by s.serving
	if err != nil {
		return fmt.Errorf("requests were cut off after %s: %w", drainTimeout, err)
	}
	return nil
}
