package api

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/signer"
	"purser/store"
	"purser/wallet"
)

type fields map[string]string

// refused requires the page's own shape of refusal: {error: {code, message, reason}} and nothing more. Every
// refusal of these tests has a reason.
func (r *harness) refused(a answer, status int, code wallet.Code, says string) {
	r.Helper()
	var shape map[string]map[string]string
	if err := json.Unmarshal(a.body, &shape); err != nil || len(shape) != 1 || len(shape["error"]) != 3 || shape["error"]["reason"] == "" {
		r.Errorf("shape: %s", a.body)
	}
	message := a.text("error", "message")
	if a.status != status || a.code() != code || !strings.Contains(strings.ToLower(message), strings.ToLower(says)) || !strings.HasSuffix(message, ".") {
		r.Errorf("got %d %s, want %d %s saying %q", a.status, a.body, status, code, says)
	}
}

func TestThePageIsServedAsItIsEmbedded(t *testing.T) {
	r := newHarness(t)
	for _, name := range append(signer.Names(), "") {
		file, ok := signer.Lookup(name)
		if !ok {
			t.Fatalf("no file %s", name)
		}
		own := map[string]string{}
		for _, h := range file.Headers {
			own[h.Name] = h.Value
		}
		for accept, want := range map[string]string{"identity": "", "gzip": "gzip", "gzip, br": "br", "br;q=0,gzip": "gzip"} {
			content, _ := file.Encoded(accept)
			a := r.do("GET", "/w/"+name, "", "Accept-Encoding", accept)
			if a.status != 200 || string(a.body) != string(content) || a.header.Get("Content-Encoding") != want || a.header.Get("Content-Type") != file.ContentType || a.header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s as %q: %d, %d bytes, %v", name, accept, a.status, len(a.body), a.header)
			}
			for _, h := range signer.Headers(nil) {
				if value, set := own[h.Name]; set {
					h.Value = value
				}
				if got := a.header.Values(h.Name); len(got) != 1 || got[0] != h.Value {
					t.Errorf("%s: %s is %q", name, h.Name, got)
				}
			}
			if head := r.do("HEAD", "/w/"+name, "", "Accept-Encoding", accept); head.status != 200 || len(head.body) != 0 || head.header.Get("Content-Length") != strconv.Itoa(len(content)) ||
				head.header.Get("Content-Encoding") != want || head.header.Get("ETag") != a.header.Get("ETag") {
				t.Errorf("HEAD %s as %q: %d, %v", name, accept, head.status, head.header)
			}
		}
	}
	if len(signer.Headers(nil)) < 5 {
		t.Error("the page has lost its headers")
	}
	if a := r.do("GET", "/w/", "", "Accept-Encoding", "identity"); a.header.Get("Cache-Control") != "no-store" || a.header.Get("ETag") != "" {
		t.Errorf("the HTML may be kept: %v", a.header)
	}
	gone := "/w/main." + strings.Repeat("A", 43) + ".js" // of another version
	for _, path := range []string{"/w/nothing.js", gone, "/w/main.js", "/w/decode.js"} {
		a := r.do("GET", path, "", "Accept-Encoding", "br")
		r.refused(a, 404, wallet.NotFound, "nothing at this path")
		if a.header.Get("Cache-Control") != "no-store" || a.header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %v", path, a.header)
		}
	}
}

func TestAFileThatABrowserHasIsNotSentAgain(t *testing.T) {
	r := newHarness(t)
	for _, name := range signer.Names() {
		br := r.do("GET", "/w/"+name, "", "Accept-Encoding", "br").header.Get("ETag")
		gz := r.do("GET", "/w/"+name, "", "Accept-Encoding", "gzip").header.Get("ETag")
		if name == "index.html" {
			if a := r.do("GET", "/w/"+name, "", "Accept-Encoding", "br", "If-None-Match", "*"); a.status != 200 {
				t.Errorf("the HTML: %d", a.status)
			}
			continue
		}
		if br == "" || br == gz {
			t.Errorf("%s: %s as br, %s as gzip", name, br, gz)
		}
		for sent, want := range map[string]int{br: 304, "W/" + br: 304, `"x", ` + br: 304, "*": 304, gz: 200, `"x"`: 200, strings.Trim(br, `"`): 200, "": 200, `",,"`: 200} {
			a := r.do("GET", "/w/"+name, "", "Accept-Encoding", "br", "If-None-Match", sent)
			if a.status != want || (want == 304) != (len(a.body) == 0) || a.header.Get("ETag") != br || a.header.Get("Vary") != "Accept-Encoding" || !strings.Contains(a.header.Get("Cache-Control"), "immutable") {
				t.Errorf("%s with %s: %d, %d bytes, %v", name, sent, a.status, len(a.body), a.header)
			}
		}
	}
}

func TestAWalletIsProvenByThePage(t *testing.T) {
	r := newHarness(t)
	token := r.Link(r.bob.User)
	a := r.page("/w/bind/challenge", fields{"token": token})
	var ch map[string]string
	if err := json.Unmarshal(a.body, &ch); a.status != 200 || err != nil {
		t.Fatalf("%d %s", a.status, a.body)
	}
	nonce := ch["nonce"]
	want := map[string]string{"telegram_id": "1002", "telegram_name": "Alice <b>", "username": "alice", "chain": "localnet", "nonce": nonce,
		"issued_at": "2026-11-21T12:00:00Z", "expires_at": "2026-11-21T12:10:00Z"}
	if !reflect.DeepEqual(ch, want) || len(nonce) < 8 {
		t.Errorf("%v\nwant %v", ch, want)
	}
	key := r.NewKey()
	address := world.AddressOf(key)
	host := strings.TrimPrefix(r.base, "http://")
	text := host + " wants you to sign in with your Solana account:\n" + address.String() + "\n\nConnect this wallet to the Telegram account 1002.\n\nURI: " + r.base +
		"\nVersion: 1\nChain ID: localnet\nNonce: " + nonce + "\nIssued At: " + ch["issued_at"] + "\nExpiration Time: " + ch["expires_at"]
	proof := fields{"token": token, "address": address.String(), "signature": wallet.Signature(ed25519.Sign(key, []byte(text))).String()}

	wrong := fields{"token": token, "address": address.String(), "signature": wallet.Signature(ed25519.Sign(key, []byte(text+" "))).String()}
	r.refused(r.page("/w/bind", wrong), 422, wallet.InvalidSignature, "doesn't match")
	for range 2 { // an answer may be lost: the same again is harmless
		if a := r.page("/w/bind", proof); a.status != 200 || string(a.body) != `{"address":"`+address.String()+`","status":"proven"}` {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	other := fields{"token": token, "address": r.alice.Address().String(), "signature": proof["signature"]}
	r.refused(r.page("/w/bind", other), 404, wallet.NotFound, "ask the bot for a new one")
	r.refused(r.page("/w/bind/challenge", fields{"token": token}), 404, wallet.NotFound, "This link was used")
}

// toSign brings a send of Alice to where the device is asked, and returns its sign id.
func (r *harness) toSign() (wallet.TransactionID, string) {
	r.Helper()
	id := wallet.TransactionID(r.send(r.alice.secret, r.sendBody()).text("data", "transaction_id"))
	t, err := r.Confirm(r.alice.Caller(), id)
	r.Must(err)
	return id, t.SignID
}

func TestATransactionIsSignedByThePage(t *testing.T) {
	r := newHarness(t)
	id, signID := r.toSign()
	got := r.page("/w/tx/get", fields{"id": signID})
	if got.status != 200 || got.text("status") != "awaiting_signature" || got.text("address") != r.alice.Address().String() ||
		got.text("chain") != "localnet" || got.text("message") == "" || got.text("expires_at") != "2026-11-21T12:15:00.000Z" {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if !strings.Contains(string(got.body), `"default_wallet_changed_at":null`) {
		t.Errorf("without another default wallet: %s", got.body)
	}
	r.Must(r.Update(func(tx store.Tx) error { // her default was changed to another wallet
		user, err := tx.User(r.alice.User.ID)
		if err != nil {
			return err
		}
		return tx.PutUser(user.WithDefault(wallet.Address{7}, r.Now()))
	}))
	if at := r.page("/w/tx/get", fields{"id": signID}).text("default_wallet_changed_at"); at != "2026-11-21T12:00:00.000Z" {
		t.Errorf("with another default wallet: %q", at)
	}
	fresh := r.page("/w/tx/refresh", fields{"id": signID})
	message, err := base64.StdEncoding.DecodeString(fresh.text("message"))
	if err != nil || fresh.text("message") == got.text("message") {
		t.Fatalf("refreshed: %v %s", err, fresh.body)
	}
	signature := r.alice.Sign(message)
	submit := fields{"id": signID, "message_sha256": world.HashOf(message), "signature": signature.String()}

	r.refused(r.page("/w/tx/signature", fields{"id": signID, "message_sha256": world.HashOf(message), "signature": wallet.Signature{1}.String()}), 422, wallet.InvalidSignature, "")
	v1 := base64.StdEncoding.EncodeToString(append([]byte{0x81}, append(message, signature[:]...)...))
	r.refused(r.page("/w/tx/signature", fields{"id": signID, "signed_transaction": v1}), 422, wallet.InvalidSignature, "version 1 transaction")
	for range 2 { // an answer may be lost: the same again is harmless
		if a := r.page("/w/tx/signature", submit); a.status != 200 || string(a.body) != `{"status":"signed"}` {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	if a := r.page("/w/tx/get", fields{"id": signID}); a.text("status") != "signed" || a.text("signature") != signature.String() || a.field("message") != nil || !strings.Contains(string(a.body), `"message":null`) {
		t.Errorf("%s", a.body)
	}
	a := r.get("/v1/wallet/transactions/"+string(id), r.alice.secret)
	if a.text("data", "signature") != signature.String() || a.text("data", "status") != "signed" {
		t.Errorf("%s", a.body)
	}
	r.refused(r.page("/w/tx/reject", fields{"id": signID}), 409, wallet.Conflict, "already signed")
}

// TestThePageLearnsHowLongASignatureIsGood by blocks, not by a clock: they come faster every year.
func TestThePageLearnsHowLongASignatureIsGood(t *testing.T) {
	r := newHarness(t)
	_, signID := r.toSign()
	r.refused(r.page("/w/tx/blocks", fields{"id": signID}), 409, wallet.Conflict, "No blockhash was issued")
	left := func() int {
		t.Helper()
		a := r.page("/w/tx/blocks", fields{"id": signID})
		n, ok := a.field("blocks_left").(float64)
		if a.status != 200 || !ok {
			t.Fatalf("%d %s", a.status, a.body)
		}
		return int(n)
	}
	if a := r.page("/w/tx/refresh", fields{"id": signID}); a.status != 200 {
		t.Fatalf("%s", a.body)
	}
	whole := left()
	r.Blocks(40)
	r.Pass(time.Minute) // says nothing
	if n := left(); whole < 140 || whole > 151 || n != whole-40 {
		t.Errorf("%d blocks, %d after 40 more", whole, n)
	}
	r.Blocks(whole)
	if n := left(); n != -40 {
		t.Errorf("%d blocks when it is over", n)
	}
	if a := r.page("/w/tx/reject", fields{"id": signID}); a.status != 200 {
		t.Fatalf("%s", a.body)
	}
	r.refused(r.page("/w/tx/blocks", fields{"id": signID}), 409, wallet.Conflict, "")
}

// TestOnlyAnOpenLinkLearnsWhichAccountsAreInUse, ten at a time, and nothing but that.
func TestOnlyAnOpenLinkLearnsWhichAccountsAreInUse(t *testing.T) {
	r := newHarness(t)
	token := r.Link(r.alice.User)
	ask := func(token string, addresses ...string) answer {
		body, err := json.Marshal(map[string]any{"token": token, "addresses": append([]string{}, addresses...)})
		r.Must(err)
		return r.do("POST", "/w/bind/accounts", string(body), "Content-Type", "application/json", "Origin", r.base)
	}
	empty, ruled := wallet.Address{9: 7}.String(), r.bob.Address().String()
	if a := ask(token, empty, ruled, empty); a.status != 200 || string(a.body) != `{"holds":[false,true,false]}` {
		t.Errorf("%d %s", a.status, a.body)
	}
	r.refused(ask("another", ruled), 404, wallet.NotFound, "")
	r.refused(ask(token), 400, wallet.InvalidRequest, "1 to 10")
	r.refused(ask(token, slices.Repeat([]string{ruled}, 11)...), 400, wallet.InvalidRequest, "at most 10")
	r.refused(ask(token, ruled, "x"), 400, wallet.InvalidRequest, "Addresses: ")
	r.Pass(11 * time.Minute)
	r.refused(ask(token, ruled), 404, wallet.NotFound, "")
}

// TestThePageHearsWhatTheBytesDoNotSay: the owner's name for the recipient, the app that asked, and how it ends.
func TestThePageHearsWhatTheBytesDoNotSay(t *testing.T) {
	r := newHarness(t)
	id, signID := r.toSign()
	told := func() answer {
		t.Helper()
		return r.page("/w/tx/get", fields{"id": signID})
	}
	var key wallet.Key
	r.Must(r.Update(func(tx store.Tx) error {
		transaction, err := tx.Transaction(id)
		r.Must(err)
		key, err = tx.Key(transaction.KeyID)
		return err
	}))
	if a := told(); a.text("key_hint") != key.Hint || a.field("app") != nil || a.field("contact") != nil || a.field("label") != nil || a.text("bot") != "purser_bot" || a.field("signature") != nil {
		t.Errorf("%s", a.body)
	}
	r.Must(r.Update(func(tx store.Tx) error {
		if err := tx.PutContact(wallet.Contact{Owner: r.alice.User.ID, Name: "Bob of the shop", Address: r.bob.Address()}); err != nil {
			return err
		}
		app := wallet.App{ID: "app_1", Owner: r.alice.User.ID, Name: "Tip jar"}
		if err := tx.PutApp(app); err != nil {
			return err
		}
		key.App = app.ID
		transaction, err := tx.Transaction(id)
		r.Must(err)
		transaction.Label = "Sandbox Coffee"
		r.Must(tx.PutTransaction(transaction))
		return tx.PutKey(key)
	}))
	if a := told(); a.text("app") != "Tip jar" || a.field("key_hint") != nil || a.text("contact") != "Bob of the shop" || a.text("label") != "Sandbox Coffee" {
		t.Errorf("%s", a.body)
	}
	if a := r.page("/w/tx/reject", fields{"id": signID}); a.status != 200 {
		t.Fatalf("%s", a.body)
	}
	if a := told(); a.text("status") != "rejected" || a.text("error_code") != "USER_REJECTED" {
		t.Errorf("%s", a.body)
	}
}

func TestATransactionIsRejectedByThePage(t *testing.T) {
	r := newHarness(t)
	id, signID := r.toSign()
	for range 2 {
		if a := r.page("/w/tx/reject", fields{"id": signID}); a.status != 200 || string(a.body) != `{"status":"rejected"}` {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	a := r.get("/v1/wallet/transactions/"+string(id), r.alice.secret)
	if a.text("data", "error_code") != "USER_REJECTED" || a.text("data", "expires_at") != "" {
		t.Errorf("%s", a.body)
	}
}

var pageRoutes = []string{"/w/bind/challenge", "/w/bind", "/w/bind/accounts", "/w/tx/get", "/w/tx/refresh", "/w/tx/blocks", "/w/tx/signature", "/w/tx/reject"}

func TestOnlyOurOwnPageMayAsk(t *testing.T) {
	r := newHarness(t)
	_, signID := r.toSign()
	for _, path := range pageRoutes {
		for _, origin := range []string{"", "null", "https://evil.example", r.base + "/", r.base + ".evil.example", strings.ToUpper(r.base), "http://localhost" + r.base[strings.LastIndex(r.base, ":"):]} {
			headers := []string{"Content-Type", "application/json"}
			if origin != "" {
				headers = append(headers, "Origin", origin)
			}
			r.refused(r.do("POST", path, `{"id":"`+signID+`"}`, headers...), 403, wallet.PolicyViolation, r.base+"/w/")
		}
		r.Pass(time.Minute)
	}
	if a := r.page("/w/tx/get", fields{"id": signID}); a.text("status") != "awaiting_signature" {
		t.Errorf("somebody else moved it: %s", a.body)
	}
}

func TestHostileRequestsToThePageAreAnsweredPlainly(t *testing.T) {
	r := newHarness(t)
	long := strings.Repeat("x", 20000)
	for _, path := range pageRoutes {
		r.Pass(time.Minute)
		for _, body := range []string{"", "null", "[]", "{", `{"id":1}`, `{"id":null}`, `{"id":""}`, `{"id":"` + long + `","token":"` + long + `"}`,
			`{"id":"x","id":"y"}`, `{"token":["x"]}`, "\xff", strings.Repeat("[", 30000),
			`{"id":"\u0000","token":"\u0000","address":"\u0000","signature":"\u0000","message_sha256":"\u0000"}`,
			`{"id":"x","token":"x","address":"x","signature":"x","message_sha256":"x"}`} {
			a := r.do("POST", path, body, "Content-Type", "application/json", "Origin", r.base)
			if (a.status < 400 || a.status > 404) && !(a.status == 413 && len(body) > maxPageBody) {
				t.Errorf("%s %.60q: %d %s", path, body, a.status, a.body)
			}
			r.refused(a, a.status, a.code(), "")
		}
		r.refused(r.do("POST", path, "{}", "Content-Type", "text/plain", "Origin", r.base), 400, wallet.InvalidRequest, "application/json")
		r.refused(r.do("POST", path, strings.Repeat(" ", maxBody+1), "Content-Type", "application/json", "Origin", r.base), 413, wallet.PayloadTooLarge, "")
		r.refused(r.do("GET", path, ""), map[bool]int{true: 405, false: 404}[path != "/w/bind"], map[bool]wallet.Code{true: wallet.MethodNotAllowed, false: wallet.NotFound}[path != "/w/bind"], "")
	}
}

func TestSixtyPageRequestsAMinuteFromOneAddress(t *testing.T) {
	r := newHarness(t, func(s *Server) { s.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	from := func(address string) answer { return r.page("/w/tx/get", fields{"id": "x"}, "X-Forwarded-For", address) }
	for i := range pagePerMinute {
		if a := from("192.0.2.1"); a.status != 404 {
			t.Fatalf("request %d: %d %s", i, a.status, a.body)
		}
	}
	a := from("192.0.2.1")
	r.refused(a, 429, wallet.RateLimitExceeded, "in 1 minute")
	if a.header.Get("Retry-After") != "60" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	if a := from("192.0.2.2"); a.status != 404 || a.header.Get("RateLimit-Remaining") != "59" {
		t.Errorf("another address: %d %v", a.status, a.header)
	}
	if a := r.do("GET", "/w/", "", "X-Forwarded-For", "192.0.2.1"); a.status != 200 {
		t.Errorf("the page itself: %d", a.status)
	}
	r.Pass(time.Minute)
	if a := from("192.0.2.1"); a.status != 404 {
		t.Errorf("a minute later: %d %s", a.status, a.body)
	}
}

// TestNobodyUsesUpWhatANeighbourNeedsToSign: all come from one address here, as behind a proxy that is not known.
func TestNobodyUsesUpWhatANeighbourNeedsToSign(t *testing.T) {
	r := newHarness(t)
	_, signID := r.toSign()
	for range pagePerMinute {
		r.refused(r.page("/w/tx/get", fields{"id": "x"}, "X-Forwarded-For", "192.0.2.1"), 404, wallet.NotFound, "")
	}
	for _, body := range []fields{{"id": "x"}, {"id": "y"}, {"token": "y"}, {}} {
		r.refused(r.page("/w/tx/get", body), 429, wallet.RateLimitExceeded, "60 requests a minute")
	}
	for i := range pagePerMinute { // and whoever holds the link has a limit of their own, however they spell it
		a := r.page("/w/tx/get", fields{"id": signID, "token": fmt.Sprint(i)})
		if a.status != 200 || a.header.Get("RateLimit-Remaining") != fmt.Sprint(pagePerMinute-1-i) {
			t.Fatalf("request %d with a living link: %d %s %v", i, a.status, a.body, a.header)
		}
	}
	r.refused(r.page("/w/tx/get", fields{"id": signID}), 429, wallet.RateLimitExceeded, "60 requests a minute")
	r.refused(r.do("POST", "/w/tx/get", `{"id":"\u00`+fmt.Sprintf("%02x", signID[0])+signID[1:]+`"}`, "Content-Type", "application/json", "Origin", r.base), 429, wallet.RateLimitExceeded, "60 requests a minute")
	_, other := r.toSign()
	if a := r.page("/w/tx/get", fields{"id": other}); a.status != 200 {
		t.Errorf("another link: %d %s", a.status, a.body)
	}
	first, second := r.Link(r.alice.User), r.Link(r.bob.User)
	for range pagePerMinute {
		if a := r.page("/w/bind/challenge", fields{"token": first}); a.status != 200 {
			t.Fatalf("with a living bind link: %d %s", a.status, a.body)
		}
	}
	r.refused(r.page("/w/bind/challenge", fields{"token": first}), 429, wallet.RateLimitExceeded, "60 requests a minute")
	if a := r.page("/w/bind/challenge", fields{"token": second}); a.status != 200 {
		t.Errorf("another bind link: %d %s", a.status, a.body)
	}
	if n := len(r.server.page.clients); n != 4 {
		t.Errorf("%d links are remembered: those that live would do", n)
	}
	if n := strings.Count(r.logged.String(), "http.trusted_proxies"); n != 1 || !strings.Contains(r.logged.String(), "address=127.0.0.1") {
		t.Errorf("the proxy that is not known is named once: %d times", n)
	}
}

// TestMalformedRequestsWinBackNothing for who holds a living link, and neither does a new link for look-ups.
func TestMalformedRequestsWinBackNothing(t *testing.T) {
	r := newHarness(t)
	ask := func(token string, addresses ...string) answer {
		body, err := json.Marshal(map[string]any{"token": token, "addresses": append([]string{}, addresses...)})
		r.Must(err)
		return r.do("POST", "/w/bind/accounts", string(body), "Content-Type", "application/json", "Origin", r.base)
	}
	token, ruled := r.Link(r.alice.User), r.bob.Address().String()
	r.refused(ask(token), 400, wallet.InvalidRequest, "1 to 10")
	if n := len(r.server.page.clients); n != 0 {
		t.Errorf("%d links are remembered of which none is known to live", n)
	}
	for i := range pagePerMinute - 1 {
		if a := ask(token, ruled); a.status != 200 {
			t.Fatalf("look-up %d: %d %s", i, a.status, a.body)
		}
	}
	r.refused(ask(token), 400, wallet.InvalidRequest, "1 to 10")
	r.refused(ask(token, ruled), 429, wallet.RateLimitExceeded, "60 requests a minute")
	r.refused(ask(token), 429, wallet.RateLimitExceeded, "60 requests a minute")
	r.refused(ask(token, ruled), 429, wallet.RateLimitExceeded, "60 requests a minute")
	next := r.Link(r.alice.User)
	if a := ask(next, ruled); a.status != 200 {
		t.Errorf("the last look-up of this minute: %d %s", a.status, a.body)
	}
	r.refused(ask(next, ruled), 429, wallet.RateLimitExceeded, "60 lookups a minute")
	if a := ask(r.Link(r.bob.User), ruled); a.status != 200 {
		t.Errorf("another person: %d %s", a.status, a.body)
	}
	r.Pass(time.Minute)
	if a := ask(next, ruled); a.status != 200 {
		t.Errorf("a minute later: %d %s", a.status, a.body)
	}
}

// TestOtherPagesUseUpNothing: any page in the owner's browser can send what is refused.
func TestOtherPagesUseUpNothing(t *testing.T) {
	r := newHarness(t)
	for range 200 {
		if got := r.do("POST", "/w/tx/get", "{}", "Content-Type", "text/plain", "Origin", "https://evil.example"); got.status != 403 {
			t.Fatalf("status %d", got.status)
		}
	}
	if got := r.page("/w/tx/get", map[string]string{"id": "AAAAAAAAAAAAAAAAAAAAAA"}); got.status != 404 {
		t.Errorf("the owner's own page is answered %d %s", got.status, got.body)
	}
}
