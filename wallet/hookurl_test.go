package wallet

import (
	"net/netip"
	"testing"
)

// TestWebhooksReachWhatIsOpenToThem: what is public, and what the operator opened, without TLS only where
// that was said. The API's tests have the list of what is never open.
func TestWebhooksReachWhatIsOpenToThem(t *testing.T) {
	opened := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("fd00::/64")}
	for _, c := range []struct {
		url                    string
		closed, private, plain bool // whether it may be reached
	}{
		{"https://example.com/hook", true, true, true},
		{"https://8.8.8.8/", true, true, true},
		{"http://example.com/hook", false, false, true}, // it may lead to what is opened: each delivery looks
		{"http://8.8.8.8/", false, false, false},
		{"https://127.0.0.1:9000/", false, true, true},
		{"http://127.0.0.1:9000/", false, false, true},
		{"http://localhost:9000/", false, false, true},
		{"https://db.internal/", false, true, true},
		{"https://[fd00::1]/", false, true, true},
		{"http://[fd00::1]/", false, false, true},
		{"https://[fd01::1]/", false, false, false},
		{"https://[::ffff:127.0.0.1]/", false, false, false},
		{"https://10.0.0.1/", false, false, false},
		{"http://10.0.0.1/", false, false, false},
		{"ftp://127.0.0.1/", false, false, false},
		{"http://user@127.0.0.1/", false, false, false},
	} {
		for _, n := range []struct {
			networks WebhookNetworks
			want     bool
		}{{WebhookNetworks{}, c.closed}, {WebhookNetworks{Private: opened}, c.private}, {WebhookNetworks{Private: opened, Plain: true}, c.plain}} {
			if err := n.networks.Check(c.url); (err == nil) != n.want || err != nil && CodeOf(err) != InvalidWebhookURL {
				t.Errorf("%s with %+v: %v", c.url, n.networks, err)
			}
		}
	}
}
