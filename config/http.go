package config

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

func (ch *checker) http() HTTP {
	var h HTTP
	h.Listen, h.PublicURL = ch.listener("http.listen", "http.public_url", 8080)
	h.PagesListen, h.PagesURL = ch.listener("http.pages_listen", "http.pages_url", 8082)
	// No flaw of another page may reach the keys that browsers keep for the signing page (docs/architecture.md, Custody
	// and the signing page).
	if h.PublicURL != nil && h.PagesURL != nil && *h.PublicURL == *h.PagesURL {
		ch.wrong("http.pages_url", "must be another address than http.public_url: another name, or another port")
	}
	h.TrustedProxies = ch.prefixes("http.trusted_proxies")
	return h
}

func (ch *checker) prefixes(name string) []netip.Prefix {
	var list []netip.Prefix
	for _, item := range split(ch.values[name]) {
		prefix, err := parsePrefix(item)
		if err != nil {
			ch.wrong(name, "%q is no address or range, such as 10.0.0.0/8", item)
			continue
		}
		if prefix.Bits() == 0 {
			ch.wrong(name, "%q is every address: name the networks that you mean", item)
			continue
		}
		list = append(list, prefix)
	}
	return list
}

// listener reads where to listen and how browsers reach that, which is by default the same on this
// machine.
func (ch *checker) listener(listen, public string, usual uint64) (string, *url.URL) {
	_, port, err := net.SplitHostPort(ch.values[listen])
	number, notNumber := strconv.ParseUint(port, 10, 16)
	if err != nil || notNumber != nil {
		ch.wrong(listen, "must be host:port, for example 127.0.0.1:%d", usual)
		number = usual // a mistake is reported once
	}
	address := ch.values[public]
	if address == "" {
		// This works for browsers on this machine. All others need the setting.
		address = "http://127.0.0.1:" + strconv.FormatUint(number, 10)
	}
	if u, ok := ch.parseURL(public, address, "http", "https"); ok {
		return ch.values[listen], ch.publicURL(public, u)
	}
	return ch.values[listen], nil
}

// publicURL checks and normalises the origin that browsers will name, letter for letter: lower case,
// no default port, no path. localhost becomes 127.0.0.1, since Telegram refuses it in buttons.
func (ch *checker) publicURL(name string, u *url.URL) *url.URL {
	host, port := strings.ToLower(u.Hostname()), u.Port()
	switch {
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.User != nil:
		ch.wrong(name, "must be an address without a path, such as https://wallet.example.org")
	case u.Scheme == "http" && !loopback(host):
		ch.wrong(name, "must be https (or http on 127.0.0.1): on an open line anybody could change the page")
	case strings.ContainsFunc(host, func(r rune) bool { return r > 0x7e }):
		ch.wrong(name, "write the name as browsers send it, in its xn-- form")
	}
	if number, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || number == 0) {
		ch.wrong(name, "the port must be a number from 1 to 65535")
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && !(u.Scheme == "https" && port == "443") && !(u.Scheme == "http" && port == "80") {
		host += ":" + port
	}
	return &url.URL{Scheme: u.Scheme, Host: host}
}

func parsePrefix(item string) (netip.Prefix, error) {
	if prefix, err := netip.ParsePrefix(item); err == nil {
		return prefix.Masked(), nil
	}
	address, err := netip.ParseAddr(item)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(address, address.BitLen()), nil
}
