package api

import (
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"purser/wallet"
)

// Limits per client address (DESIGN §6).
const (
	pagePerMinute    = 60
	badKeysPerMinute = 60
	// portalPerHour is how many requests one session of the portal may make: they count apart from its key's.
	portalPerHour = 600
	// maxClients bounds the memory of one window: about half a kilobyte each.
	maxClients = 16384
)

// window counts what each client did in the last span: never more than limit in any span.
type window[C comparable] struct {
	limit int
	span  time.Duration

	mu      sync.Mutex
	clients map[C][]time.Time // oldest first, at most limit
	swept   time.Time
}

func newWindow[C comparable](limit int, span time.Duration) *window[C] {
	return &window[C]{limit: limit, span: span, clients: map[C][]time.Time{}}
}

// share is what a client has left.
type share struct {
	ok        bool
	limit     int
	span      time.Duration
	remaining int
	reset     time.Duration // until one more is free
}

// take counts one more, unless the client has had its fill.
func (w *window[C]) take(client C, now time.Time) share {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.swept) >= w.span {
		w.sweep(now)
	}
	times := live(w.clients[client], now.Add(-w.span))
	q := share{limit: w.limit, span: w.span, ok: len(times) < w.limit}
	if q.ok {
		times = append(times, now)
	}
	if _, known := w.clients[client]; !known && len(w.clients) >= maxClients {
		w.forgetOne()
	}
	w.clients[client] = times
	q.remaining = w.limit - len(times)
	q.reset = times[0].Add(w.span).Sub(now)
	return q
}

// live drops what is no longer in the window.
func live(times []time.Time, since time.Time) []time.Time {
	for i, t := range times {
		if t.After(since) {
			return times[i:]
		}
	}
	return nil
}

func (w *window[C]) sweep(now time.Time) {
	w.swept = now
	for client, times := range w.clients {
		if len(live(times, now.Add(-w.span))) == 0 {
			delete(w.clients, client)
		}
	}
}

// forgetOne makes room. Forgetting somebody is kinder than refusing everybody new.
func (w *window[C]) forgetOne() {
	for client := range w.clients {
		delete(w.clients, client)
		return
	}
}

// tooMany writes the headers of a 429 and returns its error.
func (s *Server) tooMany(c *fiber.Ctx, q share) error {
	quotaHeaders(c, q)
	c.Set(fiber.HeaderRetryAfter, seconds(q.reset))
	span := map[time.Duration]string{time.Minute: "a minute", time.Hour: "an hour"}[q.span]
	return wallet.Refuse(wallet.RateLimitExceeded, "at most %d %s: try again in %s seconds", q.limit, span, seconds(q.reset))
}

func quotaHeaders(c *fiber.Ctx, q share) {
	c.Set("RateLimit-Limit", strconv.Itoa(q.limit))
	c.Set("RateLimit-Remaining", strconv.Itoa(q.remaining))
	c.Set("RateLimit-Reset", seconds(q.reset))
}

// seconds rounds up, and is never zero: waiting that long is enough.
func seconds(d time.Duration) string { return strconv.FormatInt(wholeSeconds(d), 10) }

func wholeSeconds(d time.Duration) int64 { return max(1, int64((d+time.Second-1)/time.Second)) }

// client is the address that limits count by: the connection's, or the nearest one in
// X-Forwarded-For that is no proxy of ours. Whoever holds one IPv6 address holds its whole /64.
func (s *Server) client(c *fiber.Ctx) netip.Prefix {
	remote, _ := netip.AddrFromSlice(c.Context().RemoteIP())
	var forwarded []string
	for _, header := range c.Request().Header.PeekAll(fiber.HeaderXForwardedFor) {
		forwarded = append(forwarded, strings.Split(string(header), ",")...)
	}
	return clientPrefix(remote, forwarded, s.TrustedProxies)
}

func clientPrefix(remote netip.Addr, forwarded []string, trusted []netip.Prefix) netip.Prefix {
	address := remote.Unmap()
	for i := len(forwarded) - 1; i >= 0 && contains(trusted, address); i-- {
		before, err := netip.ParseAddr(strings.TrimSpace(forwarded[i]))
		if err != nil {
			break // a proxy of ours would not write this: believe nothing before it
		}
		address = before.Unmap().WithZone("")
	}
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	prefix, err := address.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // no address at all (an in-memory connection): one client
	}
	return prefix
}

func contains(prefixes []netip.Prefix, address netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(address) {
			return true
		}
	}
	return false
}
