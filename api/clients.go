package api

import (
	"net/netip"
	"strings"
	"sync"
	"time"

	"purser/handlers"
	"purser/quota"
	"purser/wallet"

	"github.com/gofiber/fiber/v2"
)

// Limits of requests by client, link, person or session (docs/specification.md, Limits).
const (
	pagePerMinute    = 60 // of one link, of one client without a living link, and of one person's lookups of accounts
	badKeysPerMinute = 60 // refused keys of one client
	// portalPerHour is how many requests one session of the portal may make: they count apart from its key's.
	portalPerHour = 600
	// maxClients bounds the memory of one window: about half a kilobyte each.
	maxClients = 16384
)

// window is a sliding-window rate limit: at most limit requests of each client in any period of length span. It lives in
// memory only, so a restart clears it.
type window[C comparable] struct {
	limit int
	span  time.Duration

	// mu guards what follows.
	mu      sync.Mutex
	clients map[C][]time.Time // oldest first, at most limit
	swept   time.Time         // when clients without requests in the window were last removed
}

// newWindow returns an empty window.
func newWindow[C comparable](limit int, span time.Duration) *window[C] {
	return &window[C]{limit: limit, span: span, clients: map[C][]time.Time{}}
}

// forget clears a client's count.
func (w *window[C]) forget(client C) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.clients, client)
}

// forgetLone clears a client's count if it is at most one.
func (w *window[C]) forgetLone(client C) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.clients[client]) <= 1 {
		delete(w.clients, client)
	}
}

// take counts one request. If the client is at the limit, it does not count it and returns OK false; Reset is the time
// until the oldest counted request leaves the window.
func (w *window[C]) take(client C, now time.Time) quota.Quota {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.swept) >= w.span {
		w.sweep(now)
	}
	// Requests that are older than span no longer count.
	times := live(w.clients[client], now.Add(-w.span))
	ok := len(times) < w.limit
	if ok {
		times = append(times, now)
	}
	// A new client beyond the bound takes the place of an arbitrary one.
	if _, known := w.clients[client]; !known && len(w.clients) >= maxClients {
		w.forgetOne()
	}
	w.clients[client] = times
	return quota.Quota{OK: ok, Limit: uint64(w.limit), Remaining: uint64(w.limit - len(times)), Reset: times[0].Add(w.span).Sub(now)}
}

// live returns the times after since. times is sorted, oldest first; the result shares its memory.
func live(times []time.Time, since time.Time) []time.Time {
	for i, t := range times {
		if t.After(since) {
			return times[i:]
		}
	}
	return nil
}

// sweep removes the clients without a request in the window. The caller holds w.mu.
func (w *window[C]) sweep(now time.Time) {
	w.swept = now
	for client, times := range w.clients {
		if len(live(times, now.Add(-w.span))) == 0 {
			delete(w.clients, client)
		}
	}
}

// forgetOne removes an arbitrary client when the window is full. That client gets a fresh limit, but new clients are not
// refused. The caller holds w.mu.
func (w *window[C]) forgetOne() {
	for client := range w.clients {
		delete(w.clients, client)
		return
	}
}

// suspectProxy logs once if a request was forwarded by an address that is not in http.trusted_proxies: all clients behind
// that proxy would share one limit. A direct client can cause this one line by sending the header, and nothing more.
func (s *Server) suspectProxy(c *fiber.Ctx) {
	if s.suspected.Load() || len(c.Request().Header.Peek(fiber.HeaderXForwardedFor)) == 0 {
		return
	}
	remote, ok := netip.AddrFromSlice(c.Context().RemoteIP())
	if remote = remote.Unmap(); !ok || contains(s.TrustedProxies, remote) || s.suspected.Swap(true) {
		return
	}
	s.Log.Warn("a request was forwarded by an address that http.trusted_proxies does not name: if that is your proxy, add it, or all its clients share one limit", "address", remote.String())
}

// client returns the prefix that rate limits count by: of the connection's address, or, behind trusted proxies, of the
// last address in X-Forwarded-For that is not one. IPv6 is counted by /64, the usual size of one customer's network.
func (s *Server) client(c *fiber.Ctx) netip.Prefix {
	remote, _ := netip.AddrFromSlice(c.Context().RemoteIP())
	var forwarded []string
	// The header may come several times, and each may have a list. Each proxy appends the address that it got the
	// request from.
	for _, header := range c.Request().Header.PeekAll(fiber.HeaderXForwardedFor) {
		forwarded = append(forwarded, strings.Split(string(header), ",")...)
	}
	return clientPrefix(remote, forwarded, s.TrustedProxies)
}

// from returns where a request comes from, as a person's security log names it.
func (s *Server) from(c *fiber.Ctx) handlers.Client {
	return handlers.Client{Address: s.address(c), Device: wallet.DeviceName(c.Get(fiber.HeaderUserAgent))}
}

// address is client as a text: an IPv4 address, or an IPv6 network; "" for an in-memory connection.
func (s *Server) address(c *fiber.Ctx) string {
	switch prefix := s.client(c); {
	case !prefix.IsValid():
		return ""
	case prefix.IsSingleIP():
		return prefix.Addr().String()
	default:
		return prefix.String()
	}
}

// clientPrefix is client for an address, the addresses that X-Forwarded-For names, oldest first, and the trusted
// proxies. It walks back from the last one while the address before it is a trusted proxy.
func clientPrefix(remote netip.Addr, forwarded []string, trusted []netip.Prefix) netip.Prefix {
	address := remote.Unmap()
	for i := len(forwarded) - 1; i >= 0 && contains(trusted, address); i-- {
		before, err := netip.ParseAddr(strings.TrimSpace(forwarded[i]))
		if err != nil {
			break // a trusted proxy does not write this, so the entries before it cannot be trusted
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

// contains reports whether an address is in any of the prefixes.
func contains(prefixes []netip.Prefix, address netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(address) {
			return true
		}
	}
	return false
}
