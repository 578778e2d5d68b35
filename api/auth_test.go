package api

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/wallet"
)

func TestKeysThatOpenNothing(t *testing.T) {
	r := newHarness(t)
	short := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, ExpiresAt: r.Now().Add(time.Minute)})
	key, revoked, err := r.Keys.Create(context.Background(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	check(t, err)
	path := "/v1/wallet/balance?address=" + r.bob.Address().String()
	if a := r.get(path, short); a.status != 200 {
		t.Fatalf("before its end: %d %s", a.status, a.body)
	}
	r.Pass(time.Minute)
	_, err = r.Keys.Revoke(context.Background(), key.ID)
	check(t, err)
	for name, header := range map[string]string{
		"none": "", "empty": "Bearer ", "scheme": "Basic " + r.alice.secret, "bare": r.alice.secret, "expired": "Bearer " + short,
		"revoked": "Bearer " + revoked, "one letter off": "Bearer " + r.alice.secret[:len(r.alice.secret)-1] + "?", "two words": "Bearer " + r.alice.secret + " x",
		"tab": "Bearer\t" + r.alice.secret, "long": "Bearer " + strings.Repeat("x", 5000), "unknown": "Bearer pur_test_0000000000000000000000000000000000000",
	} {
		t.Run(name, func(t *testing.T) {
			defer r.under(t)()
			a := r.do("GET", path, "", "Authorization", header)
			r.want(a, 401, wallet.InvalidAPIKey, "Bearer")
			if a.header.Get("WWW-Authenticate") != "Bearer" {
				t.Error("no WWW-Authenticate")
			}
		})
	}
	good := "Bearer " + r.alice.secret
	r.want(r.do("GET", path, "", "Authorization", good, "Authorization", good), 401, wallet.InvalidAPIKey, "")
	if a := r.do("GET", path, "", "Authorization", "bearer  "+r.alice.secret); a.status != 200 {
		t.Errorf("the scheme's case: %d %s", a.status, a.body)
	}
}

func TestAKeyIsAskedForBeforeAnythingIsTold(t *testing.T) {
	r := newHarness(t)
	r.want(r.do("POST", "/v1/wallet/send", "garbage"), 401, wallet.InvalidAPIKey, "")
	r.want(r.do("GET", "/v1/wallet/transactions/tx_1", ""), 401, wallet.InvalidAPIKey, "")
}

func TestAKeyDoesWhatItsScopesSay(t *testing.T) {
	r := newHarness(t)
	reads := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, Scopes: []wallet.Scope{wallet.WalletRead}, OwnerTelegramID: r.alice.User.TelegramID})
	sends := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, Scopes: []wallet.Scope{wallet.WalletSend}, OwnerTelegramID: r.alice.User.TelegramID})
	r.want(r.send(reads, r.sendBody()), 403, wallet.InsufficientScope, "wallet:send")
	r.want(r.get("/v1/wallet/balance?address="+r.bob.Address().String(), sends), 403, wallet.InsufficientScope, "wallet:read")
	if a := r.send(sends, r.sendBody()); a.status != 202 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestRefusedKeysAreSlowedDownAndGoodOnesAreNot(t *testing.T) {
	r := newHarness(t)
	path := "/v1/wallet/balance?address=" + r.bob.Address().String()
	for range badKeysPerMinute {
		if a := r.get(path, "guess"); a.status != 401 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	a := r.get(path, "guess")
	r.want(a, 429, wallet.RateLimitExceeded, "1 minute")
	if a.header.Get("Retry-After") != "60" || a.header.Get("RateLimit-Remaining") != "0" || a.header.Get("RateLimit-Limit") != "60" {
		t.Errorf("%v", a.header)
	}
	if a := r.get(path, r.alice.secret); a.status != 200 {
		t.Errorf("a good key: %d %s", a.status, a.body)
	}
	r.Pass(time.Minute)
	if a := r.get(path, "guess"); a.status != 401 {
		t.Errorf("a minute later: %d %s", a.status, a.body)
	}
}

func TestAWindowNeverLetsMoreThroughInAnySpan(t *testing.T) {
	w := newWindow[netip.Prefix](3, time.Minute)
	client := netip.MustParsePrefix("192.0.2.1/32")
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var passed []time.Time
	for s := range 400 { // one try a second
		now := start.Add(time.Duration(s) * time.Second)
		if w.take(client, now).OK {
			passed = append(passed, now)
		}
	}
	for i := 3; i < len(passed); i++ {
		if passed[i].Sub(passed[i-3]) < time.Minute {
			t.Errorf("four within %s", passed[i].Sub(passed[i-3]))
		}
	}
	if len(passed) != 3*7 {
		t.Errorf("%d passed in 400 s, want 21", len(passed))
	}
}

func TestAWindowForgetsClients(t *testing.T) {
	w := newWindow[netip.Prefix](1, time.Minute)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for i := range maxClients + 100 {
		w.take(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32), now)
	}
	if len(w.clients) != maxClients {
		t.Errorf("%d clients are kept", len(w.clients))
	}
	w.take(netip.MustParsePrefix("192.0.2.1/32"), now.Add(time.Hour))
	if len(w.clients) != 1 {
		t.Errorf("%d clients are kept after an hour", len(w.clients))
	}
}

func TestWhoAClientIs(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for _, test := range []struct {
		remote    string
		forwarded string
		want      string
	}{
		{"192.0.2.1", "", "192.0.2.1/32"},
		{"192.0.2.1", "198.51.100.7", "192.0.2.1/32"}, // not a proxy of ours: its word counts for nothing
		{"10.0.0.1", "198.51.100.7", "198.51.100.7/32"},
		{"10.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7/32"}, // the first is what the client claims
		{"10.0.0.1", "198.51.100.7, 10.0.0.2", "198.51.100.7/32"},
		{"10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3/32"},
		{"10.0.0.1", "198.51.100.7, junk", "10.0.0.1/32"},
		{"10.0.0.1", "", "10.0.0.1/32"},
		{"::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7/32"},
		{"::1", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
		{"2001:db8:1:2:ffff::1", "", "2001:db8:1:2::/64"},
		{"10.0.0.1", "fe80::1%eth0", "fe80::/64"},
	} {
		var forwarded []string
		if test.forwarded != "" {
			forwarded = strings.Split(test.forwarded, ",")
		}
		if got := clientPrefix(netip.MustParseAddr(test.remote), forwarded, trusted); got.String() != test.want {
			t.Errorf("%s via %q is %s, want %s", test.remote, test.forwarded, got, test.want)
		}
	}
	if got := clientPrefix(netip.Addr{}, nil, trusted); got.IsValid() {
		t.Errorf("no address is %s", got)
	}
}

func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"", "Bearer", "Bearer x", "bearer  x ", "Basic x", "Bearer\x00x", "Bearer x y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		secret := bearer(header)
		if secret != strings.Trim(secret, " ") || len(secret) > len(header) || !strings.HasSuffix(strings.TrimRight(header, " "), secret) {
			t.Errorf("%q gives %q", header, secret)
		}
		if secret != "" && !strings.EqualFold(header[:7], "bearer ") {
			t.Errorf("%q is no bearer header, gives %q", header, secret)
		}
	})
}

// TestTheOtherKindOfKeyIsCalledWhatItIs: to whoever has a good one; of all others nothing is said.
func TestTheOtherKindOfKeyIsCalledWhatItIs(t *testing.T) {
	r := newHarness(t)
	bot := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	const unknown = "Send a valid key in the header Authorization: Bearer KEY. To create one, send /api in the chat."
	r.want(r.get("/v1/telegram/webhook", r.alice.secret), 401, wallet.InvalidAPIKey, "This is an API key. /v1/telegram takes a bot token (pur_bot_…). To create one, send /api in the chat.")
	r.want(r.get("/v1/wallets", bot), 401, wallet.InvalidAPIKey, "This is a bot token, which is for /v1/telegram. An API key (pur_live_… or pur_test_…) is needed here. To create one, send /api in the chat.")
	stranger, err := wallet.NewKeySecret(r, wallet.APIKey, false)
	r.Must(err)
	for _, secret := range []string{"", "nonsense", stranger} {
		r.want(r.get("/v1/telegram/webhook", secret), 401, wallet.InvalidAPIKey, unknown)
		r.want(r.get("/v1/wallets", secret), 401, wallet.InvalidAPIKey, unknown)
	}
	var id string
	for _, key := range r.keyList() {
		if key.Kind == wallet.BotKey {
			id = key.ID
		}
	}
	_, err = r.Keys.Revoke(r.Context(), id)
	r.Must(err)
	r.want(r.get("/v1/wallets", bot), 401, wallet.InvalidAPIKey, unknown)
}

func (r *harness) keyList() []wallet.Key {
	r.Helper()
	all, err := r.Keys.List(r.Context())
	r.Must(err)
	return all
}
