package api

import (
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// wantPage holds an answer of the page, which has no envelope, to a status and an error code.
func (r *harness) wantPage(a answer, status int, code wallet.Code) {
	r.Helper()
	if a.status != status || a.code() != code {
		r.Errorf("got %d %s, want %d %s", a.status, a.body, status, code)
	}
}

// recoveryLink is the token of a person's recovery link.
func (r *harness) recoveryLink(p person) (token string) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) (err error) { token, err = r.Freezing.NewLink(tx, p.User.ID); return err }))
	r.secrets = append(r.secrets, token)
	return token
}

// unfreezeLink is the token of a person's link to unfreeze.
func (r *harness) unfreezeLink(p person) (token string) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) (err error) { token, _, err = r.Freezing.NewUnfreezeLink(tx, p.User.ID); return err }))
	r.secrets = append(r.secrets, token)
	return token
}

// frozen reports whether a person's account is frozen.
func (r *harness) frozen(p person) bool {
	r.Helper()
	var user wallet.User
	r.View(func(tx store.Tx) (err error) { user, err = tx.User(p.User.ID); return err })
	return user.Freeze != nil
}

// proofText is wallet.UnfreezeText, wallet.SignInText, or wallet.PolicyText for one policy.
type proofText func(host, origin string, address wallet.Address, account, chain, nonce string, issued, expires time.Time) string

// signature is a key's signature over the text of a link, as the page makes it from the challenge at a path. of is the wallet that signs; zero: the one of
// the challenge. change makes it another challenge.
func (r *harness) signature(path, token string, key ed25519.PrivateKey, of wallet.Address, compose proofText, change func(map[string]any)) string {
	r.Helper()
	challenge := r.page(path, map[string]any{"token": token})
	r.wantPage(challenge, 200, "")
	fields := map[string]any{}
	r.Must(json.Unmarshal(challenge.body, &fields))
	if change != nil {
		change(fields)
	}
	if of.IsZero() {
		var err error
		of, err = wallet.ParseAddress(fields["address"].(string))
		r.Must(err)
	}
	at := func(name string) time.Time {
		at, err := time.Parse(time.RFC3339, fields[name].(string))
		r.Must(err)
		return at
	}
	text := compose(strings.TrimPrefix(r.base, "http://"), r.base, of, "Telegram account "+fields["telegram_id"].(string), fields["chain"].(string),
		fields["nonce"].(string), at("issued_at"), at("expires_at"))
	return wallet.Signature(ed25519.Sign(key, []byte(text))).String()
}

// signed is the body that unfreezes by a link with a key.
func (r *harness) signed(token string, key ed25519.PrivateKey, of wallet.Address, compose proofText, change func(map[string]any)) map[string]any {
	r.Helper()
	return map[string]any{"token": token, "address": of.String(), "signature": r.signature("/w/unfreeze/challenge", token, key, of, compose, change)}
}

// TestARecoveryLinkFreezesAndDoesNothingElse: any number of times, until a newer one replaces it.
func TestARecoveryLinkFreezesAndDoesNothingElse(t *testing.T) {
	r := newHarness(t)
	old := r.recoveryLink(r.alice)
	token := r.recoveryLink(r.alice)
	bind := r.Link(r.alice.User)
	for what, bad := range map[string]string{"an older link": old, "a link that connects": bind, "nothing": "x"} {
		r.wantPage(r.page("/w/freeze", map[string]any{"token": bad}), 404, wallet.NotFound)
		if r.frozen(r.alice) {
			t.Fatalf("%s froze the account", what)
		}
	}
	r.wantPage(r.page("/w/freeze", map[string]any{}), 400, wallet.InvalidRequest)
	r.wantPage(r.page("/w/freeze", map[string]any{"token": token}, "Origin", "https://evil.example"), 403, wallet.PolicyViolation)

	first := r.page("/w/freeze", map[string]any{"token": token})
	r.wantPage(first, 200, "")
	if !r.frozen(r.alice) || r.frozen(r.bob) {
		t.Fatal("not frozen, or not the right one")
	}
	if want := `{"status":"frozen","frozen_at":"` + wallet.Timestamp(r.Now()) + `"}`; strings.TrimSpace(string(first.body)) != want {
		t.Errorf("it answers %s, want %s", first.body, want) // nothing of the account
	}
	r.Pass(time.Hour)
	if again := r.page("/w/freeze", map[string]any{"token": token}); string(again.body) != string(first.body) {
		t.Errorf("again: %d %s", again.status, again.body)
	}
	for _, path := range []string{"/w/unfreeze/challenge", "/w/bind/challenge"} {
		r.wantPage(r.page(path, map[string]any{"token": token}), 404, wallet.NotFound)
	}
	r.wantPage(r.page("/w/tx/get", map[string]any{"id": token}), 404, wallet.NotFound)
}

// TestOnlyADeviceUnfreezes: with the text of this account, link and server, by a wallet that was connected before.
func TestOnlyADeviceUnfreezes(t *testing.T) {
	r := newHarness(t)
	_, err := r.Freezing.FreezeByLink(r.Context(), r.recoveryLink(r.alice))
	r.Must(err)
	old := r.unfreezeLink(r.alice)
	token := r.unfreezeLink(r.alice)
	r.wantPage(r.page("/w/unfreeze/challenge", map[string]any{"token": old}), 404, wallet.NotFound)
	// Somebody connected a wallet of their own after the freeze, by whatever hole.
	later := r.NewKey()
	laterAddress := wallet.Address(later.Public().(ed25519.PublicKey))
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: laterAddress, Owner: r.alice.User.ID, Type: wallet.PageWallet, ConnectedAt: r.Now().Add(time.Second)})
	}))
	if challenge := r.page("/w/unfreeze/challenge", map[string]any{"token": token}); strings.Contains(string(challenge.body), laterAddress.String()) || !strings.Contains(string(challenge.body), r.alice.Address().String()) {
		t.Errorf("the wallets: %s", challenge.body)
	}
	mine := r.alice.Address()
	for what, body := range map[string]map[string]any{
		"the text that connects a wallet": r.signed(token, r.alice.Key, mine, wallet.SignInText, nil),
		"another account":                 r.signed(token, r.alice.Key, mine, wallet.UnfreezeText, func(c map[string]any) { c["telegram_id"] = "1002" }),
		"another link":                    r.signed(token, r.alice.Key, mine, wallet.UnfreezeText, func(c map[string]any) { c["nonce"] = "aB3dE5gH7jK9mN1pQ2rS4t" }),
		"another network":                 r.signed(token, r.alice.Key, mine, wallet.UnfreezeText, func(c map[string]any) { c["chain"] = "mainnet" }),
		"another's signature":             r.signed(token, r.bob.Key, mine, wallet.UnfreezeText, nil),
	} {
		r.wantPage(r.page("/w/unfreeze", body), 422, wallet.InvalidSignature)
		if !r.frozen(r.alice) {
			t.Fatalf("%s unfroze the account", what)
		}
	}
	for what, body := range map[string]map[string]any{
		"another person's wallet":             r.signed(token, r.bob.Key, r.bob.Address(), wallet.UnfreezeText, nil),
		"a wallet connected after the freeze": r.signed(token, later, laterAddress, wallet.UnfreezeText, nil),
	} {
		r.wantPage(r.page("/w/unfreeze", body), 403, wallet.PolicyViolation)
		if !r.frozen(r.alice) {
			t.Fatalf("%s unfroze the account", what)
		}
	}
	good := r.signed(token, r.alice.Key, mine, wallet.UnfreezeText, nil)
	r.Pass(wallet.UnfreezeWindow)
	r.wantPage(r.page("/w/unfreeze", good), 404, wallet.NotFound)
	token = r.unfreezeLink(r.alice)
	good = r.signed(token, r.alice.Key, mine, wallet.UnfreezeText, nil)
	r.wantPage(r.page("/w/unfreeze", good, "Origin", "https://evil.example"), 403, wallet.PolicyViolation)
	r.wantPage(r.page("/w/unfreeze", good), 200, "")
	r.wantPage(r.page("/w/unfreeze", good), 200, "") // the page repeats a request whose answer it did not get
	if r.frozen(r.alice) {
		t.Fatal("still frozen")
	}
	// The same signature ends no later freeze.
	r.Must(r.Update(func(tx store.Tx) error {
		_, err := r.Freezing.Freeze(tx, r.alice.User.ID, wallet.FrozenInChat, 1)
		return err
	}))
	r.wantPage(r.page("/w/unfreeze", good), 404, wallet.NotFound)
	if !r.frozen(r.alice) {
		t.Error("an old signature unfroze the account")
	}
}

// state is what a freeze must keep as it is, as JSON.
func (c *customer) state() string {
	c.Helper()
	var out []byte
	c.View(func(tx store.Tx) error {
		user, err := tx.User(c.User.ID)
		c.Must(err)
		wallets, err := tx.WalletsOf(c.User.ID)
		c.Must(err)
		keys, err := tx.KeysOf(c.User.ID)
		c.Must(err)
		for i := range keys {
			keys[i].LastUsed = time.Time{}
		}
		grants, err := tx.GrantsOf(c.User.ID)
		c.Must(err)
		hooks, err := tx.WebhooksOf(keys[len(keys)-1].Lineage())
		c.Must(err)
		bind, _ := tx.BindOf(c.User.ID)
		alerts, err := tx.AlertsOf(c.User.ID)
		c.Must(err)
		sent, err := tx.TransactionsOf(c.User.ID, store.Page{Limit: 100})
		c.Must(err)
		policies, err := tx.PoliciesOf(c.User.ID)
		c.Must(err)
		out, err = json.Marshal([]any{user, wallets, keys, grants, hooks, bind, alerts, sent, policies})
		return err
	})
	return string(out)
}

// TestNothingMovesAndNothingUnfreezesThroughAnyDoor walks over every endpoint with every kind of key, the page, the portal and the
// admin socket while an account is frozen. The walk over the chat is in package chat.
func TestNothingMovesAndNothingUnfreezesThroughAnyDoor(t *testing.T) {
	r := newHarness(t)
	r.bot.auto = sentAtOnce
	c := newCustomer(r)
	waits := r.Confirmed(c.Person, r.bob.Address(), "0.1", "SOL")
	signed := r.Signed(c.Person, r.bob.Address(), "0.2", "SOL")
	bind := r.Link(c.User)
	recovery := r.recoveryLink(c.person)
	ownKey := func(kind wallet.KeyKind) (string, wallet.Key) {
		key, secret, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: kind, Tier: wallet.ProTier, OwnerTelegramID: 1004})
		r.Must(err)
		return secret, key
	}
	ownBot, _ := ownKey(wallet.BotKey)
	ownAPI, hookKey := ownKey(wallet.APIKey)
	portal := &portalKey{harness: r, key: hookKey, secret: ownAPI}
	session, unopened := portal.session(), portal.link()
	apps := map[wallet.KeyKind]string{}
	for _, kind := range []wallet.KeyKind{wallet.APIKey, wallet.BotKey} {
		secret, app := c.key(kind, 1002, "All of it "+string(kind))
		c.grants(app, wallet.ScopesOf(kind)...)
		apps[kind] = secret
	}
	operators, _ := c.key(wallet.BotKey, 0, "")
	r.want(r.get("/v1/key", ownAPI), 200, "", "") // and is remembered as good

	r.limits(c.person, wallet.Policy{NewRecipientWait: time.Hour})
	limits := r.limits(c.person, wallet.Policy{})

	r.wantPage(r.page("/w/freeze", map[string]any{"token": recovery}), 200, "")
	r.wantPage(r.page("/w/limits/challenge", map[string]any{"token": limits}), 404, wallet.NotFound)
	r.wantPage(r.page("/w/limits/sign", map[string]any{"token": limits, "signature": c.Sign([]byte("x")).String()}), 404, wallet.NotFound)

	// What was open is rejected for that reason, with its event. What is signed goes on.
	for _, id := range []wallet.TransactionID{waits.ID, wallet.TransactionID(c.id)} {
		if got := r.Transaction(id); got.Status != wallet.Rejected || got.ErrorReason.Key != "failed_because.frozen" || !slices.Contains(r.Events(id), wallet.TransactionFailed) {
			t.Errorf("%s is %s because of %s, with %v", id, got.Status, got.ErrorReason, r.Events(id))
		}
	}
	if got := r.Transaction(signed.ID); got.Status != wallet.Signed {
		t.Errorf("what was signed is %s", got.Status)
	}
	before := c.state()

	for kind, keys := range map[wallet.KeyKind][]string{wallet.APIKey: {c.secret, ownAPI}, wallet.BotKey: {ownBot}} {
		for _, e := range r.server.endpoints() {
			if e.kind != "" && e.kind != kind {
				continue
			}
			for _, key := range keys {
				r.want(c.asks(e.method+" "+e.pattern, key), 403, wallet.PolicyViolation, "frozen")
			}
		}
	}
	// Programs of others hear that, where they had access. Nothing else about the person.
	ends := foreignEnds()
	reach := []string{"POST /v1/wallet/send", "POST /v1/wallet/request", "GET /v1/wallet/transactions", "GET /v1/wallet/transactions/:id", "POST /v1/stake", "POST /v1/swap/quote",
		"GET /v1/stake/positions", "GET /v1/stake/rewards"}
	for who, secret := range map[string]string{"api": apps[wallet.APIKey], "bot": apps[wallet.BotKey], "operator": operators} {
		for _, e := range r.server.endpoints() {
			name := e.method + " " + e.pattern
			if e.kind != "" && (e.kind == wallet.APIKey) != (who == "api") || ends[name].status < 300 {
				continue
			}
			a := c.asks(name, secret)
			switch consent := ends[name].code == wallet.ConsentRequired || slices.Contains(reach, name); {
			case who == "operator" && name == "POST /v1/telegram/send-message": // what an operator writes only informs
				r.want(a, 200, "", "")
			case consent:
				r.want(a, 403, wallet.PolicyViolation, "frozen")
			case a.status < 400:
				t.Errorf("%s of %s: %d %s", name, who, a.status, a.body)
			}
		}
	}
	// The portal.
	r.want(portal.asks("GET", "/v1/webhooks", session), 401, wallet.InvalidAPIKey, "")
	r.want(portal.opens(unopened), 401, wallet.InvalidAPIKey, "")
	if err := r.Update(func(tx store.Tx) error { return r.Portal.Offer(tx, "another", hookKey) }); wallet.CodeOf(err) != wallet.PolicyViolation {
		t.Errorf("a new portal link: %v", err)
	}
	// The signing page.
	for _, operation := range []string{"get", "refresh", "blocks", "reject"} {
		for _, sign := range []string{waits.SignID, signed.SignID} {
			r.wantPage(r.page("/w/tx/"+operation, map[string]any{"id": sign}), 403, wallet.PolicyViolation)
		}
	}
	r.wantPage(r.page("/w/tx/signature", map[string]any{"id": waits.SignID, "message_sha256": "00", "signature": c.Sign([]byte("x")).String()}), 403, wallet.PolicyViolation)
	for path, body := range map[string]map[string]any{"/w/bind/challenge": {"token": bind}, "/w/bind/accounts": {"token": bind, "addresses": []string{c.Address().String()}},
		"/w/bind": {"token": bind, "address": c.Address().String(), "signature": c.Sign([]byte("x")).String()}} {
		r.wantPage(r.page(path, body), 403, wallet.PolicyViolation)
	}
	// The admin socket: no command of it ends a freeze, and those that make keys refuse.
	path := socketPath(t)
	stop := r.admin(path)
	admin, err := DialAdmin(path)
	check(t, err)
	if _, _, err := admin.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1004}); wallet.CodeOf(err) != wallet.PolicyViolation {
		t.Errorf("a key by the operator: %v", err)
	}
	if _, _, err := admin.Rotate(r.Context(), hookKey.ID, true); wallet.CodeOf(err) != wallet.PolicyViolation {
		t.Errorf("a rotation by the operator: %v", err)
	}
	_, err = admin.List(r.Context())
	check(t, err)
	admin.Close()
	check(t, stop())

	if after := c.state(); after != before {
		t.Errorf("something moved:\n%s\n%s", before, after)
	}
	if !r.frozen(c.person) {
		t.Fatal("the account is not frozen any more")
	}
	r.wantPage(r.page("/w/unfreeze", r.signed(r.unfreezeLink(c.person), c.Key, c.Address(), wallet.UnfreezeText, nil)), 200, "")
	r.want(r.get("/v1/key", ownAPI), 200, "", "")
	if a := c.asks("POST /v1/wallet/send", apps[wallet.APIKey]); a.status != http.StatusAccepted {
		t.Errorf("an app after it: %d %s", a.status, a.body)
	}
}
