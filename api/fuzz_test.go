package api

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"purser/wallet"
)

// FuzzForwardedFor: whatever a client writes into X-Forwarded-For, it counts as itself. Only what proxies of ours
// have added is believed.
func FuzzForwardedFor(f *testing.F) {
	for _, seed := range []string{"", "192.0.2.7", "10.0.0.1, 192.0.2.7", "::1", "fe80::1%eth0", "::ffff:10.0.0.1", "unknown, _hidden", "192.0.2.7:1234", "[2001:db8::1]", "10.0.0.1,,10.0.0.2", " \t,"} {
		f.Add(seed)
	}
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	f.Fuzz(func(t *testing.T, claims string) {
		given := strings.Split(claims, ",")
		stranger := netip.MustParseAddr("203.0.113.9")
		if got := clientPrefix(stranger, given, trusted); got != netip.MustParsePrefix("203.0.113.9/32") {
			t.Errorf("a stranger counts as %s", got)
		}
		proxy := netip.MustParseAddr("10.0.0.5")
		for _, sees := range []string{"203.0.113.9", "2001:db8:1:2:3::9"} { // what our proxy adds about whom it sees
			want, err := netip.MustParseAddr(sees).Prefix(map[bool]int{true: 64, false: 32}[strings.Contains(sees, ":")])
			if err != nil {
				t.Fatal(err)
			}
			if got := clientPrefix(proxy, append(given[:len(given):len(given)], " "+sees), trusted); got != want {
				t.Errorf("behind a proxy %s counts as %s", sees, got)
			}
		}
		// A proxy that adds nothing is believed as far as it goes: the answer is an address, not a guess.
		if got := clientPrefix(proxy, given, trusted); !got.IsValid() || got.Addr().Zone() != "" || got.Masked() != got {
			t.Errorf("%q counts as %s", claims, got)
		}
	})
}

// FuzzListOfTransactions: a list holds what its filter says, or it is refused with a reason.
func FuzzListOfTransactions(f *testing.F) {
	for _, seed := range [][4]string{
		{"", "", "", ""}, {"2026-01-01T00:00:00Z", "2027-01-01T00:00:00+01:00", "", "1"}, {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "", "2"},
		{"0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "tx_x", "100"}, {"2262-04-12T00:00:00Z", "1677-09-21T00:00:00Z", ".", "0"},
		{"2026-11-21T12:00:00", "2026-02-30T00:00:00Z", "\x00", "-1"}, {"x", "é", strings.Repeat("c", 300), "1e2"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	r := newHarness(f)
	const sends = 3
	for range sends {
		r.want(r.send(r.alice.secret, r.sendBody("amount", "0.1")), 202, "", "")
		r.Pass(time.Minute)
	}
	f.Fuzz(func(t *testing.T, since, until, cursor, limit string) {
		defer r.under(t)()
		q := url.Values{"since": {since}, "until": {until}, "cursor": {cursor}, "limit": {limit}}
		a := r.get("/v1/wallet/transactions?"+q.Encode(), r.alice.secret)
		if a.status == 400 && a.code() == wallet.InvalidRequest && a.text("error", "details") != "" {
			return
		}
		if a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		listed, _ := a.field("data", "transactions").([]any)
		for _, one := range listed {
			at, err := time.Parse(time.RFC3339, one.(map[string]any)["created_at"].(string))
			if err != nil {
				t.Fatal(err)
			}
			if from, err := time.Parse(time.RFC3339, since); err == nil && at.Before(from.Truncate(time.Millisecond)) {
				t.Errorf("made at %s, since %s", at, since)
			}
			if to, err := time.Parse(time.RFC3339, until); err == nil && at.After(to) {
				t.Errorf("made at %s, until %s", at, until)
			}
		}
		if since == "" && until == "" && cursor == "" && limit == "" && len(listed) != sends+1 { // and what the faucet sent
			t.Errorf("%d of %d are listed", len(listed), sends)
		}
	})
}

// FuzzListOfDeliveries is the same of deliveries, whose cursors hold a time of their own.
func FuzzListOfDeliveries(f *testing.F) {
	for _, seed := range [][3]string{{"", "", ""}, {"2026-01-01T00:00:00Z", "1.a.b", "1"}, {"9999-12-31T23:59:59Z", "9223372036854775807.a.", "100"}, {"0000-01-01T00:00:00Z", "-9223372036854775808.a.b", "2"},
		{"0001-01-01T00:00:00Z", "..", "x"}, {"", "1.a.b.c", ""}, {"", "0.\xff.", ""}} {
		f.Add(seed[0], seed[1], seed[2])
	}
	r := newHarness(f)
	secret := r.pro(wallet.APIKey, 1001, "")
	path, _ := r.hook(secret, `["*"]`)
	for range 3 {
		r.call("POST", path+"/test", secret, "{}")
		r.Pass(time.Minute)
	}
	f.Fuzz(func(t *testing.T, since, cursor, limit string) {
		defer r.under(t)()
		q := url.Values{"since": {since}, "cursor": {cursor}, "limit": {limit}}
		a := r.get(path+"/deliveries?"+q.Encode(), secret)
		if a.status != 200 && (a.status != 400 || a.code() != wallet.InvalidRequest || a.text("error", "details") == "") {
			t.Fatalf("%d %s", a.status, a.body)
		}
	})
}
