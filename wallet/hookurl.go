package wallet

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// longestURL is the longest URL of a webhook, in bytes.
const longestURL = 2048

// WebhookNetworks is where the operator allows webhooks besides the public internet. The zero value allows nothing else.
type WebhookNetworks struct {
	Private []netip.Prefix // prefixes that are allowed although they are not public
	Plain   bool           // http is allowed in those
}

// Check validates the URL of a webhook by its text: https, and a host that may be public. INVALID_WEBHOOK_URL. It uses no
// DNS: what a name resolves to is checked at each delivery, because it can change.
func (n WebhookNetworks) Check(text string) error {
	no := func(key string, args ...Arg) error { return About("url", Refuse(InvalidWebhookURL, key, args...)) }
	u, err := url.Parse(text)
	switch {
	case len(text) > longestURL || !printable(text):
		return no("webhook_url.too_long", NumberArg("Most", longestURL))
	case err != nil || u.Host == "" || u.Opaque != "":
		return no("webhook_url.malformed")
	case u.Scheme != "https" && (u.Scheme != "http" || !n.Plain):
		return no("webhook_url.not_https")
	case u.User != nil:
		return no("webhook_url.credentials")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return no("webhook_url.fragment")
	}
	if number, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || number == 0) {
		return no("webhook_url.port")
	}
	if address, err := netip.ParseAddr(u.Hostname()); err == nil {
		return n.checkAddress(address, u.Scheme == "https", no)
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	top := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case !hostName(host) || numeric(top):
		return no("webhook_url.host")
	case ownName(host, top) && len(n.Private) == 0:
		return no("webhook_url.not_public")
	}
	return nil
}

// checkAddress checks a URL whose host is an IP address.
func (n WebhookNetworks) checkAddress(address netip.Addr, secure bool, no func(key string, args ...Arg) error) error {
	opened := slices.ContainsFunc(n.Private, func(p netip.Prefix) bool { return p.Contains(address) })
	switch {
	case !opened && !public(address.Unmap()), address.Is4In6(), address.Zone() != "":
		return no("webhook_url.not_public")
	case !opened && !secure:
		return no("webhook_url.not_https")
	}
	return nil
}

// ownName reports whether a name exists in no public DNS, so it must be in a private network.
func ownName(host, top string) bool {
	return !strings.Contains(host, ".") ||
		slices.Contains([]string{"localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "arpa", "test", "invalid", "onion", "corp"}, top)
}

// public reports whether an IP address is on the public internet: not private, not this machine, not reserved, and not a
// form that embeds an IPv4 address (RFC 6890, RFC 6052, RFC 3056).
func public(address netip.Addr) bool {
	if !address.IsGlobalUnicast() || address.IsPrivate() {
		return false
	}
	for _, special := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"240.0.0.0/4", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10"} {
		if netip.MustParsePrefix(special).Contains(address) {
			return false
		}
	}
	return true
}

// hostName reports whether a name is valid in DNS (RFC 1123, 2.1): labels of letters, digits and hyphens.
func hostName(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if len(label) == 0 || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return true
}

// printable reports whether a text has no spaces, control characters or non-ASCII bytes.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// numeric reports whether resolvers may read a last label as part of an IPv4 address: 127.1, 0x7f.1.
func numeric(label string) bool {
	return strings.Trim(label, "0123456789") == "" || strings.HasPrefix(label, "0x")
}
