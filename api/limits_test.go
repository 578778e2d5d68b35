package api

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// limits asks for a policy of a person's wallet, as the chat does.
func (r *harness) limits(p person, to wallet.Policy) (token string) {
	r.Helper()
	return r.limitsOf(p, p.Address(), to)
}

// limitsOf asks for a policy of a certain wallet of a person's.
func (r *harness) limitsOf(p person, address wallet.Address, to wallet.Policy) (token string) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) error {
		change, err := r.Policies.Change(tx, p.User.ID, address, to)
		token = change.Token
		return err
	}))
	if token != "" {
		r.secrets = append(r.secrets, token)
	}
	return token
}

// policy is a person's policy as it is now.
func (r *harness) policy(p person) (state wallet.PolicyState) {
	r.Helper()
	r.View(func(tx store.Tx) error {
		stored, err := tx.Policy(p.User.ID, p.Address())
		state = stored.At(r.Now()).State
		return err
	})
	return state
}

// signedLimits is the body that signs a link. policy is what the page reads in the challenge.
func (r *harness) signedLimits(token string, key ed25519.PrivateKey, policy wallet.Policy, change func(map[string]any)) map[string]any {
	r.Helper()
	compose := func(host, origin string, address wallet.Address, account, chain, nonce string, issued, expires time.Time) string {
		return wallet.PolicyText(host, origin, address, policy, account, chain, nonce, issued, expires)
	}
	return map[string]any{"token": token, "signature": r.signature("/w/limits/challenge", token, key, wallet.Address{}, compose, change)}
}

// TestThePageSignsLimits: with the text of this account, wallet, policy, link and server.
func TestThePageSignsLimits(t *testing.T) {
	r := newHarness(t)
	usdc, _ := r.Tokens.BySymbol("USDC")
	to := []wallet.Address{r.bob.Address(), r.alice.Address()}
	slices.SortFunc(to, func(a, b wallet.Address) int { return strings.Compare(a.String(), b.String()) })
	tight := wallet.Policy{Payment: []wallet.TokenLimit{{Mint: usdc.Mint, Units: 1 << 63}, {Units: sol}}, NewRecipientWait: 24 * time.Hour, Recipients: &to}
	loose := wallet.Policy{Day: []wallet.TokenLimit{{Units: 3}}}
	r.limits(r.alice, tight)
	token := r.limits(r.alice, loose)
	now := tight.Intersect(loose)
	c := r.page("/w/limits/challenge", map[string]any{"token": token})
	want := map[string]any{
		"payment":    []any{map[string]any{"mint": "SOL", "units": "1000000000"}, map[string]any{"mint": usdc.Mint.String(), "units": "9223372036854775808"}},
		"day":        []any{map[string]any{"mint": "SOL", "units": "3"}},
		"recipients": []any{to[0].String(), to[1].String()}, "new_wait_hours": 24.0,
	}
	if !reflect.DeepEqual(c.field("current"), any(want)) {
		t.Errorf("the current policy is\n%v, want\n%v", c.field("current"), want)
	}
	if want := any(map[string]any{"payment": []any{}, "day": want["day"], "recipients": nil, "new_wait_hours": 0.0}); !reflect.DeepEqual(c.field("proposed"), want) {
		t.Errorf("the proposed policy is\n%v, want\n%v", c.field("proposed"), want)
	}
	if c.text("address") != r.alice.Address().String() || c.text("wallet_type") != "page" || c.text("telegram_id") != "1001" || c.text("chain") != "localnet" || c.text("nonce") == "" {
		t.Errorf("the challenge is %s", c.body)
	}
	for what, body := range map[string]map[string]any{
		"another policy":      r.signedLimits(token, r.alice.Key, wallet.Policy{}, nil),
		"another's signature": r.signedLimits(token, r.bob.Key, loose, nil),
		"another wallet":      r.signedLimits(token, r.alice.Key, loose, func(c map[string]any) { c["address"] = r.bob.Address().String() }),
		"another account":     r.signedLimits(token, r.alice.Key, loose, func(c map[string]any) { c["telegram_id"] = "1002" }),
		"another link":        r.signedLimits(token, r.alice.Key, loose, func(c map[string]any) { c["nonce"] = "aB3dE5gH7jK9mN1pQ2rS4t" }),
	} {
		a := r.page("/w/limits/sign", body)
		r.wantPage(a, 422, wallet.InvalidSignature)
		if got := r.policy(r.alice); got.Pending != nil || !got.Current.Equal(now) {
			t.Fatalf("%s changed it to %+v", what, got)
		}
	}
	good := r.signedLimits(token, r.alice.Key, loose, nil)
	r.wantPage(r.page("/w/limits/sign", good, "Origin", "https://evil.example"), 403, wallet.PolicyViolation)
	for what, bad := range map[string]map[string]any{"nothing": {}, "no signature": {"token": token}, "half a signature": {"token": token, "signature": "5"}, "a number": {"token": 5, "signature": good["signature"]}} {
		if a := r.page("/w/limits/sign", bad); a.status != 400 || a.code() != wallet.InvalidRequest {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
	}
	answer := fmt.Sprintf(`{"status":"waiting","effective_at":%q}`, wallet.Timestamp(r.Now().Add(wallet.PolicyDelay)))
	for range 2 { // the page repeats a request whose answer it did not get
		a := r.page("/w/limits/sign", good)
		r.wantPage(a, 200, "")
		if strings.TrimSpace(string(a.body)) != answer {
			t.Errorf("it answers %s, want %s", a.body, answer)
		}
	}
	r.Pass(wallet.PolicyWindow)
	r.wantPage(r.page("/w/limits/sign", good), 404, wallet.NotFound)
	r.wantPage(r.page("/w/limits/challenge", map[string]any{"token": token}), 404, wallet.NotFound)
	r.Pass(wallet.PolicyDelay)
	if got := r.policy(r.alice); !got.Current.Equal(loose) {
		t.Errorf("a day later it is %+v", got)
	}
	// What holds already is set at once, on another device.
	r.Must(r.Update(func(tx store.Tx) (err error) {
		token, err = r.Policies.LinkForCurrent(tx, r.alice.User.ID, r.alice.Address())
		return err
	}))
	r.secrets = append(r.secrets, token)
	if a := r.page("/w/limits/sign", r.signedLimits(token, r.alice.Key, loose, nil)); a.text("status") != "set" || a.text("effective_at") != wallet.Timestamp(r.Now()) {
		t.Errorf("it answers %d %s", a.status, a.body)
	}
	r.Must(r.Update(func(tx store.Tx) error {
		_, err := r.Freezing.Freeze(tx, r.alice.User.ID, wallet.FrozenInChat, 1)
		return err
	}))
	r.wantPage(r.page("/w/limits/challenge", map[string]any{"token": token}), 404, wallet.NotFound) // a freeze ends it
}

// TestThePageLearnsTheLimitsOfAPayment: what the server enforces, and what the wallet signed. A payment that waits for a new recipient has its link.
func TestThePageLearnsTheLimitsOfAPayment(t *testing.T) {
	r := newHarness(t)
	id := r.Confirmed(r.alice.Person, r.bob.Address(), "0.1", "SOL").SignID
	if a := r.page("/w/tx/get", map[string]any{"id": id}); a.status != 200 || !strings.Contains(string(a.body), `"limits":null`) || a.field("ready_at") != nil {
		t.Errorf("without limits: %s", a.body)
	}
	policy := wallet.Policy{Payment: []wallet.TokenLimit{{Units: 5 * sol}}, NewRecipientWait: 48 * time.Hour}
	r.limits(r.alice, policy)
	var token string
	r.Must(r.Update(func(tx store.Tx) (err error) {
		token, err = r.Policies.LinkForCurrent(tx, r.alice.User.ID, r.alice.Address())
		return err
	}))
	r.secrets = append(r.secrets, token)
	body := r.signedLimits(token, r.alice.Key, policy, nil)
	c := r.page("/w/limits/challenge", map[string]any{"token": token})
	r.wantPage(r.page("/w/limits/sign", body), 200, "")
	stricter := wallet.Policy{Payment: []wallet.TokenLimit{{Units: 4 * sol}}, NewRecipientWait: 48 * time.Hour}
	r.limits(r.alice, stricter)
	units := func(a answer, path ...string) any {
		limits, _ := a.field(append([]string{"limits"}, append(path, "payment")...)...).([]any)
		if len(limits) != 1 {
			return a.body
		}
		return limits[0].(map[string]any)["units"]
	}
	check := func(where string, a answer) {
		t.Helper()
		if a.status != 200 || units(a, "current") != "4000000000" || units(a, "signed", "policy") != "5000000000" {
			t.Errorf("%s: %d %s", where, a.status, a.body)
		}
		for _, name := range []string{"telegram_id", "nonce", "issued_at", "expires_at"} {
			if a.text("limits", "signed", name) != c.text(name) || c.text(name) == "" {
				t.Errorf("%s: %s is %q, signed was %q", where, name, a.text("limits", "signed", name), c.text(name))
			}
		}
		if a.field("limits", "waits") != any(false) {
			t.Errorf("%s: something waits", where)
		}
		if a.text("limits", "signed", "signature") != body["signature"] {
			t.Errorf("%s: the signature is %s", where, a.text("limits", "signed", "signature"))
		}
	}
	check("get", r.page("/w/tx/get", map[string]any{"id": id}))
	check("refresh", r.page("/w/tx/refresh", map[string]any{"id": id}))
	check("refresh again", r.page("/w/tx/refresh", map[string]any{"id": id})) // the same blockhash

	// A new recipient: the page is told of it, and can sign nothing yet.
	waits := r.Confirmed(r.alice.Person, r.Stranger(), "1", "SOL")
	a := r.page("/w/tx/get", map[string]any{"id": waits.SignID})
	check("while it waits", a)
	if a.text("status") != "delayed" || a.text("message") == "" || a.text("ready_at") != wallet.Timestamp(r.Now().Add(48*time.Hour)) || a.text("recipient") != waits.To.String() ||
		a.text("expires_at") != wallet.Timestamp(r.Now().Add(48*time.Hour+wallet.DelayedSignWindow)) {
		t.Errorf("while it waits: %s", a.body)
	}
	r.wantPage(r.page("/w/tx/refresh", map[string]any{"id": waits.SignID}), 409, wallet.Conflict)
	r.wantPage(r.page("/w/tx/blocks", map[string]any{"id": waits.SignID}), 409, wallet.Conflict)
	r.wantPage(r.page("/w/tx/signature", map[string]any{"id": waits.SignID, "message_sha256": strings.Repeat("0", 64), "signature": r.alice.Sign(waits.Message).String()}), 409, wallet.Conflict)
	r.Pass(48 * time.Hour)
	r.Look()
	if a := r.page("/w/tx/get", map[string]any{"id": waits.SignID}); a.text("status") != "awaiting_signature" || a.field("ready_at") != nil {
		t.Errorf("after it: %s", a.body)
	}
	check("refresh after it", r.page("/w/tx/refresh", map[string]any{"id": waits.SignID}))
	// A looser change that was signed waits, and is no part of what is signed yet.
	looser := r.limits(r.alice, wallet.Policy{NewRecipientWait: 48 * time.Hour})
	r.wantPage(r.page("/w/limits/sign", r.signedLimits(looser, r.alice.Key, wallet.Policy{NewRecipientWait: 48 * time.Hour}, nil)), 200, "")
	if a := r.page("/w/tx/get", map[string]any{"id": waits.SignID}); a.field("limits", "waits") != any(true) || units(a, "current") != "4000000000" || units(a, "signed", "policy") != "5000000000" {
		t.Errorf("with a change that waits: %s", a.body)
	}
	r.Pass(wallet.PolicyDelay)
	if a := r.page("/w/tx/get", map[string]any{"id": waits.SignID}); a.field("limits", "waits") != any(false) || fmt.Sprint(a.field("limits", "current", "payment"), a.field("limits", "signed", "policy", "payment")) != "[] []" {
		t.Errorf("when it came into force: %s", a.body)
	}
	// It can be rejected while it waits.
	waits = r.Confirmed(r.alice.Person, r.Stranger(), "1", "SOL")
	if a := r.page("/w/tx/reject", map[string]any{"id": waits.SignID}); a.text("status") != "rejected" || !r.Transaction(waits.ID).Closed {
		t.Errorf("rejected: %s", a.body)
	}
}

// TestNothingAllowsMoreThroughAnyDoor walks over every endpoint with every kind of key, the page, the portal and the admin socket, while a looser policy
// only lacks the signature of the device. The walk over the chat is in package chat.
func TestNothingAllowsMoreThroughAnyDoor(t *testing.T) {
	r := newHarness(t)
	r.bot.auto = sentAtOnce
	c := newCustomer(r)
	current := wallet.Policy{Payment: []wallet.TokenLimit{{Units: sol}}, Day: []wallet.TokenLimit{{Units: 2 * sol}}, Recipients: &[]wallet.Address{r.bob.Address()}, NewRecipientWait: 24 * time.Hour}
	r.limits(c.person, current)
	token := r.limits(c.person, wallet.Policy{})
	challenge := r.page("/w/limits/challenge", map[string]any{"token": token})
	ownKey := func(kind wallet.KeyKind) (string, wallet.Key) {
		key, secret, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: kind, Tier: wallet.ProTier, OwnerTelegramID: 1004})
		r.Must(err)
		return secret, key
	}
	ownBot, _ := ownKey(wallet.BotKey)
	ownAPI, hookKey := ownKey(wallet.APIKey)
	portal := &portalKey{harness: r, key: hookKey, secret: ownAPI}
	session := portal.session()
	state := func() string {
		var out []byte
		r.View(func(tx store.Tx) error {
			all, err := tx.PoliciesOf(c.User.ID)
			for i := range all {
				all[i] = all[i].At(r.Now())
			}
			r.Must(err)
			out, err = json.Marshal(all)
			return err
		})
		return string(out)
	}
	before, steps := state(), 0
	unmoved := func(what string) {
		t.Helper()
		steps++
		if after := state(); after != before {
			t.Fatalf("%s moved something:\n%s\n%s", what, before, after)
		}
	}
	keys := map[string]string{"own api": ownAPI, "own bot": ownBot, "own, unnamed": c.secret}
	for _, kind := range []wallet.KeyKind{wallet.APIKey, wallet.BotKey} {
		secret, app := c.key(kind, 1002, "All of it "+string(kind))
		c.grants(app, wallet.ScopesOf(kind)...)
		keys["app "+string(kind)] = secret
		operators, _ := c.key(kind, 0, "")
		keys["operator "+string(kind)] = operators
	}
	words := []string{"/security limits", "/security limits off", "/security limits payment off", "/security limits payment 100 SOL", "/security limits day 100 SOL", "/security limits recipients any",
		"/security limits add " + r.Stranger().String(), "/security limits wait 0", "/unfreeze"}
	for who, secret := range keys {
		for _, e := range r.server.endpoints() {
			name := e.method + " " + e.pattern
			if name == "DELETE /v1/wallets/:address" || strings.HasSuffix(e.pattern, "/listen") || strings.Contains(name, "rotate") { // a stream; and gone with the others were what the walk is about, and the key
				continue
			}
			c.asks(name, secret)
			unmoved(name + " of " + who)
		}
		for _, command := range words {
			for name, body := range map[string]map[string]any{"POST /v1/commands": {"command": command}, "POST /v1/telegram/execute-command": {"chat_id": "1004", "command": command}} {
				raw, err := json.Marshal(body)
				r.Must(err)
				c.request[name] = string(raw)
				c.asks(name, secret)
				unmoved(command + " by " + who)
			}
		}
	}
	portal.asks("GET", "/v1/webhooks", session)
	portal.asks("POST", "/v1/wallet/send", session)
	unmoved("the portal")
	// The page without the device: wrong signatures, those of others, and of other texts.
	address := c.Address().String()
	for what, signature := range map[string]wallet.Signature{
		"nothing": {}, "another key": wallet.Signature(ed25519.Sign(r.alice.Key, challenge.body)), "another text": c.Sign(challenge.body), "an empty text": c.Sign(nil),
	} {
		for path, body := range map[string]map[string]any{
			"/w/limits/sign": {"token": token}, "/w/bind": {"token": token, "address": address}, "/w/unfreeze": {"token": token, "address": address},
			"/w/freeze": {"token": token}, "/w/tx/signature": {"id": token, "message_sha256": "00"}, "/w/bind/challenge": {"token": token},
		} {
			body["signature"] = signature.String()
			if a := r.page(path, body); a.status < 400 {
				t.Errorf("%s with %s: %d %s", path, what, a.status, a.body)
			}
			unmoved(path + " with " + what)
		}
	}
	// The admin socket has no command for it.
	path := socketPath(t)
	stop := r.admin(path)
	admin, err := DialAdmin(path)
	check(t, err)
	_, _, err = admin.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1004})
	check(t, err)
	_, _, err = admin.Rotate(r.Context(), hookKey.ID, true)
	check(t, err)
	_, err = admin.List(r.Context())
	check(t, err)
	admin.Close()
	check(t, stop())
	unmoved("the admin socket")
	if steps < 200 {
		t.Errorf("%d steps: the walk is broken", steps)
	}
	r.Pass(wallet.PolicyDelay) // nor does anything of it come into force later
	unmoved("a day")

	// The device allows it, 24 hours later.
	token = r.limits(c.person, wallet.Policy{})
	r.wantPage(r.page("/w/limits/sign", r.signedLimits(token, c.Key, wallet.Policy{}, nil)), 200, "")
	r.Pass(wallet.PolicyDelay)
	if got := r.policy(c.person); !got.Current.Equal(wallet.Policy{}) {
		t.Errorf("signed, it is %+v", got)
	}
}
