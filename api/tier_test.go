package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// TestATierStopsWebhooksAndStartsThemAgain: an operator's word on a key's tier, by the admin socket.
func TestATierStopsWebhooksAndStartsThemAgain(t *testing.T) {
	r := newHarness(t)
	path := socketPath(t)
	stop := r.admin(path)
	defer func() { check(t, stop()) }()
	client, err := DialAdmin(path)
	check(t, err)
	defer client.Close()
	var service KeyService = client
	ctx := context.Background()

	key, secret, err := service.Create(ctx, handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1001})
	check(t, err)
	hook := func(active bool) string {
		a := r.call("POST", "/v1/webhooks", secret, fmt.Sprintf(`{"url":"https://hooks.example.com/x","events":["*"],"active":%t}`, active))
		r.want(a, 201, "", "")
		return a.text("data", "webhook_id")
	}
	on, off := hook(true), hook(false)
	successor, next, err := service.Rotate(ctx, key.ID, false)
	check(t, err)
	other := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1001}) // another line, untouched
	shown := func(id string) string {
		a := r.get("/v1/webhooks/"+id, next)
		r.want(a, 200, "", "")
		return fmt.Sprint(a.field("data", "active"), " ", a.text("data", "ended"))
	}
	before := len(r.told(r.alice))

	down, err := service.SetTier(ctx, successor.ID, wallet.FreeTier)
	if err != nil || down.Tier != wallet.FreeTier || down.ID != successor.ID {
		t.Fatalf("%+v, %v", down, err)
	}
	for name, secret := range map[string]string{"the key": next, "the one before it": secret} {
		if a := r.get("/v1/key", secret); a.text("data", "tier") != "free" {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	if a := r.get("/v1/key", other); a.text("data", "tier") != "pro" {
		t.Errorf("another key: %s", a.body)
	}
	if got := shown(on) + ", " + shown(off); got != "false tier, false " {
		t.Errorf("the webhooks are %s", got)
	}
	r.want(r.call("PUT", "/v1/webhooks/"+on, next, `{"active":true}`), 403, wallet.TierRequired, "pro")
	said := r.told(r.alice)
	if len(said) != before+1 || !strings.Contains(said[before], "Your API key …"+successor.Hint+" is now on the free tier") || !strings.Contains(said[before], "1 webhook: stopped.") {
		t.Errorf("told: %q", said[before:])
	}
	if _, err := service.SetTier(ctx, successor.ID, wallet.FreeTier); err != nil { // as it is already
		t.Error(err)
	}
	if said := r.told(r.alice); len(said) != before+1 {
		t.Errorf("told again: %q", said[before+1:])
	}

	if _, err := service.SetTier(ctx, successor.ID, wallet.ProTier); err != nil {
		t.Fatal(err)
	}
	if got := shown(on) + ", " + shown(off); got != "true , false " {
		t.Errorf("on pro again the webhooks are %s", got)
	}
	said = r.told(r.alice)
	if len(said) != before+2 || !strings.Contains(said[before+1], "is now on the pro tier") || !strings.Contains(said[before+1], "1 webhook: active again.") {
		t.Errorf("told: %q", said[before+1:])
	}

	for what, c := range map[string]struct {
		id   string
		tier wallet.Tier
		code wallet.Code
	}{"another tier": {successor.ID, "gold", wallet.InvalidRequest}, "no tier": {successor.ID, "", wallet.InvalidRequest}, "no key": {"key_x", wallet.ProTier, wallet.NotFound}} {
		if _, err := service.SetTier(ctx, c.id, c.tier); wallet.CodeOf(err) != c.code || wallet.ReasonOf(err).IsZero() {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := service.Revoke(ctx, successor.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := service.SetTier(ctx, successor.ID, wallet.FreeTier); wallet.CodeOf(err) != wallet.Conflict {
		t.Errorf("of a key that has ended: %v", err)
	}

	// An operator's key belongs to nobody who could be told.
	nobodys, operator, err := service.Create(ctx, handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.FreeTier})
	check(t, err)
	if _, err := service.SetTier(ctx, nobodys.ID, wallet.ProTier); err != nil {
		t.Error(err)
	}
	r.want(r.call("POST", "/v1/telegram/webhook", operator, `{"url":"https://hooks.example.com/y","events":["*"]}`), 201, "", "")
	r.told(r.alice)
	r.View(func(tx store.Tx) error {
		left, err := tx.PendingEvents(10)
		if len(left) != 0 {
			t.Errorf("%d events are left", len(left))
		}
		return err
	})
	r.secrets = append(r.secrets, secret, next, operator)
}
