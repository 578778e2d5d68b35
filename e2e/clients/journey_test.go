package clients

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	purser "purser/clients/go"
	"purser/e2e/harness"
)

// journey is a program's day with the Go client. Keep journey.mjs like it.
type journey struct {
	*testing.T
	ctx context.Context
	settings
	own ed25519.PrivateKey // of a wallet of the program's own
}

func TestGoClientOverTheRealBinary(t *testing.T) {
	w := newTown(t)
	s := w.settings()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*harness.Wait)
	defer cancel()
	j := &journey{t, ctx, s, key}

	operator := purser.New(s.URL, s.Operator)
	j.connect(operator, "done")
	if _, err := w.world.Solana.Airdrop(ctx, purser.Address(key), 5_000_000_000); err != nil {
		t.Fatal(err)
	}
	j.pay(operator)
	j.market(operator)
	j.person(purser.New(s.URL, s.Own))
	j.bot(purser.New(s.URL, s.Bot))
	j.hooks(purser.New(s.URL, s.Own), operator)
	j.rotate(purser.New(s.URL, s.App))
	j.lose(purser.New(s.Losing, s.Operator), purser.New(s.Losing, s.Bot))
	w.checked(s)
}

func (j *journey) must(what string, err error) {
	j.Helper()
	if err != nil {
		j.Fatalf("%s: %v", what, err)
	}
}

// connect proves the program's key and wants a status.
func (j *journey) connect(c *purser.Client, want string) {
	j.Helper()
	challenge, err := c.ConnectChallenge(j.ctx, purser.Address(j.own))
	j.must("challenge", err)
	signature, err := purser.SignChallenge(challenge.Message, j.own)
	j.must("sign the challenge", err)
	connected, err := c.Connect(j.ctx, challenge.Address, signature)
	if err != nil || connected.Status != want || challenge.ExpiresAt.Before(time.Now()) {
		j.Fatalf("connect: %+v (%v)", connected, err)
	}
	all, err := c.Wallets(j.ctx)
	j.must("wallets", err)
	if (want == "done") != slices.ContainsFunc(all, func(w purser.Wallet) bool {
		return w.Address == challenge.Address && w.WalletType == "developer" && !w.ConnectedAt.IsZero()
	}) {
		j.Errorf("wallets: %+v", all)
	}
}

// until asks again and again, at the pace of a patient program: blocks come by the clock.
func (j *journey) until(what string, done func() bool) {
	j.Helper()
	for !done() {
		select {
		case <-j.ctx.Done():
			j.Fatalf("%s: %v", what, j.ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// sends proposes, signs and waits for the end.
func (j *journey) sends(c *purser.Client, to, amount string) string {
	j.Helper()
	proposal, err := c.Send(j.ctx, purser.SendRequest{From: purser.Address(j.own), To: to, Amount: amount, Token: "SOL"})
	j.must("send", err)
	if proposal.Status != purser.AwaitingSignature || proposal.Recipient != to || proposal.ExpiresAt.Before(time.Now()) {
		j.Fatalf("proposal: %+v", proposal)
	}
	if _, err := purser.SignBlindly(proposal.UnsignedTransaction, j.own); err != nil {
		j.Errorf("sign the first: %v", err)
	}
	fresh, err := c.Refresh(j.ctx, proposal.TransactionID)
	j.must("refresh", err)
	want := purser.Expected{To: to, Amount: amount, Token: "SOL"}
	signature, err := purser.Sign(fresh.UnsignedTransaction, j.own, want)
	j.must("sign", err)
	want.Amount = "0.000000001"
	if _, err := purser.Sign(fresh.UnsignedTransaction, j.own, want); err == nil {
		j.Error("signed what was not expected")
	}
	progress, err := c.SubmitSignature(j.ctx, proposal.TransactionID, purser.Signature{Signature: signature})
	j.must("submit", err)
	if progress.TransactionID != proposal.TransactionID {
		j.Errorf("progress: %+v", progress)
	}
	j.until("confirmed", func() bool {
		t, err := c.Transaction(j.ctx, proposal.TransactionID)
		j.must("transaction", err)
		if t.Status != purser.Confirmed {
			return false
		}
		if t.Amount != amount || t.Signature != signature || t.ConfirmedAt.IsZero() || t.BlockHeight == nil || t.Token != "SOL" {
			j.Errorf("transaction: %+v", t)
		}
		return true
	})
	return proposal.TransactionID
}

// pay is the life of payments with a key of one's own.
func (j *journey) pay(c *purser.Client) {
	j.Helper()
	me, err := c.Key(j.ctx)
	if err != nil || me.Kind != "api" || me.Tier != "pro" || me.Owner != "" || me.RateLimit.Limit != 1_000_000 || !me.ExpiresAt.IsZero() || me.CreatedAt.IsZero() {
		j.Errorf("key: %+v (%v)", me, err)
	}
	j.until("funds", func() bool {
		b, err := c.Balance(j.ctx, purser.Address(j.own))
		return err == nil && b.Balances["SOL"].Amount == "5"
	})
	paid := j.sends(c, j.To, "1")

	proposal, err := c.Send(j.ctx, purser.SendRequest{From: purser.Address(j.own), To: j.To, Amount: "0.5", Token: "SOL"})
	j.must("send", err)
	rejected, err := c.Reject(j.ctx, proposal.TransactionID)
	if err != nil || rejected.Status != purser.Rejected {
		j.Errorf("reject: %+v (%v)", rejected, err)
	}

	page, err := c.TransactionPage(j.ctx, purser.TransactionFilter{Address: purser.Address(j.own), Type: "send", Limit: 1})
	if err != nil || len(page.Transactions) > 1 || page.NextCursor == "" {
		j.Errorf("page: %+v (%v)", page, err)
	}
	var ids []string
	for t, err := range c.Transactions(j.ctx, purser.TransactionFilter{Address: purser.Address(j.own), Type: "send", Since: time.Now().Add(-time.Hour), Limit: 1}) {
		j.must("transactions", err)
		ids = append(ids, t.TransactionID)
	}
	if !slices.Equal(ids, []string{proposal.TransactionID, paid}) {
		j.Errorf("transactions: %v", ids)
	}

	_, err = c.Send(j.ctx, purser.SendRequest{From: purser.Address(j.own), To: j.To, Amount: "1000", Token: "SOL"})
	var refused *purser.Error
	if !errors.As(err, &refused) || refused.Code != purser.InsufficientFunds || refused.RequestID == "" || refused.Details == "" ||
		refused.Field != "amount" || refused.Reason != "funds.sol_short" || refused.Arguments["amount"] != "1000" || refused.Arguments["free"] == nil ||
		!strings.Contains(err.Error(), "INSUFFICIENT_FUNDS funds.sol_short: ") {
		j.Errorf("too much: %v, %+v", err, refused)
	}
	_, err = c.Send(j.ctx, purser.SendRequest{From: purser.Address(j.own), To: j.To, Amount: "1"})
	if !errors.As(err, &refused) || refused.Code != purser.InvalidRequest || refused.Field != "token" || refused.Reason != "body.empty" || refused.Arguments["field"] != "token" {
		j.Errorf("no token: %v, %+v", err, refused)
	}
	_, err = purser.New(j.URL, j.Bot).Wallets(j.ctx)
	if !errors.As(err, &refused) || refused.Code != purser.InvalidAPIKey {
		j.Errorf("a bot token: %v", err)
	}
}

// market is what a program finds out about tokens, and a swap with a key of its own.
func (j *journey) market(c *purser.Client) {
	j.Helper()
	found, err := c.Tokens(j.ctx, "usdc")
	if err != nil || !found.Complete || len(found.Tokens) < 2 || !found.Tokens[0].Listed || found.Tokens[0].Holders == 0 || !found.Tokens[1].Suspect {
		j.Fatalf("tokens: %+v (%v)", found, err)
	}
	usdc := found.Tokens[0].Mint
	pools, err := c.Pools(j.ctx, usdc)
	if err != nil || pools.Token != "USDC" || pools.Source == "" || pools.UpdatedAt.IsZero() || len(pools.Pools) == 0 || pools.Pools[0].LiquidityUSD == "" || pools.Pools[0].URL == "" {
		j.Errorf("pools: %+v (%v)", pools, err)
	}
	prices, err := c.Prices(j.ctx, "SOL", usdc)
	if err != nil || len(prices.Prices)+len(prices.Missing) != 2 {
		j.Errorf("prices: %+v (%v)", prices, err)
	}
	quote, err := c.SwapQuote(j.ctx, purser.SwapRequest{Address: purser.Address(j.own), FromToken: "SOL", ToToken: usdc, Amount: "0.5", SlippageBPS: 100})
	if err != nil || quote.InAmount != "0.5" || quote.ToToken.Mint != usdc || quote.SlippageBPS != 100 || quote.ExpiresAt.Before(time.Now()) || len(quote.Route) == 0 {
		j.Fatalf("quote: %+v (%v)", quote, err)
	}
	proposal, err := c.Swap(j.ctx, quote.QuoteID)
	j.must("swap", err)
	least, ok := new(big.Rat).SetString(quote.MinOut + "e6") // in base units of USDC
	if !ok || !least.IsInt() {
		j.Fatalf("the least is %s", quote.MinOut)
	}
	want := purser.ExpectedSwap{FromToken: "SOL", ToToken: usdc, PaidUnits: 500_000_000, LeastUnits: least.Num().Uint64()}
	more := want
	more.LeastUnits++
	if _, err := purser.SignSwap(proposal.UnsignedTransaction, j.own, more); err == nil {
		j.Error("signed a swap that brings less than was expected")
	}
	signature, err := purser.SignSwap(proposal.UnsignedTransaction, j.own, want)
	j.must("sign the swap", err)
	_, err = c.SubmitSignature(j.ctx, proposal.TransactionID, purser.Signature{Signature: signature})
	j.must("submit the swap", err)
	j.until("swapped", func() bool {
		t, err := c.Transaction(j.ctx, proposal.TransactionID)
		j.must("transaction", err)
		if t.Status != purser.Confirmed && t.ErrorCode != "" {
			j.Fatalf("the swap ended as %+v", t)
		}
		return t.Status == purser.Confirmed
	})
	var refused *purser.Error
	if _, err := c.Swap(j.ctx, quote.QuoteID); !errors.As(err, &refused) || refused.Code != purser.QuoteExpired {
		j.Errorf("the quote again: %v", err)
	}
}

// person is what a key of somebody's own does.
func (j *journey) person(c *purser.Client) {
	j.Helper()
	wallets, err := c.Wallets(j.ctx)
	if err != nil || len(wallets) != 1 {
		j.Errorf("wallets: %+v (%v)", wallets, err)
	}
	if same, err := c.WalletsOf(j.ctx, j.Alice); err != nil || !slices.Equal(same, wallets) {
		j.Errorf("wallets by Telegram id: %+v (%v)", same, err)
	}
	set, err := c.SetNotifications(j.ctx, purser.NotificationSettings{Enabled: true, Events: []string{"transaction.received", "price.*"}})
	if err != nil || !set.Enabled || len(set.Events) != 2 {
		j.Errorf("set notifications: %+v (%v)", set, err)
	}
	got, err := c.Notifications(j.ctx)
	if err != nil || !slices.Equal(got.Events, set.Events) || got.UpdatedAt.IsZero() {
		j.Errorf("notifications: %+v (%v)", got, err)
	}
	alert, err := c.SetAlert(j.ctx, purser.AlertRequest{Token: "SOL", Condition: "change", ChangePercent: "7.5", Timeframe: "24h"})
	if err != nil || alert.Token != "SOL" || alert.ChangePercent != "7.50" || alert.Timeframe != "24h" || !alert.Armed || alert.CreatedAt.IsZero() || !alert.TriggeredAt.IsZero() {
		j.Errorf("set an alert: %+v (%v)", alert, err)
	}
	if all, err := c.Alerts(j.ctx); err != nil || !slices.Equal(all.Alerts, []purser.Alert{alert}) || all.Limit < 2 {
		j.Errorf("alerts: %+v (%v)", all, err)
	}
	if gone, err := c.DeleteAlert(j.ctx, alert.AlertID); err != nil || gone != alert {
		j.Errorf("delete an alert: %+v (%v)", gone, err)
	}
	sent, err := c.MessageOwner(j.ctx, purser.OwnerMessage{Text: "*The backup is done*", ParseMode: "Markdown"})
	if err != nil || sent.SentAt.IsZero() {
		j.Errorf("message to the owner: %+v (%v)", sent, err)
	}
	ran, err := c.CommandOwner(j.ctx, purser.OwnerCommand{Command: "/wallet balance", Silent: true})
	if err != nil || !strings.Contains(ran.Response, "SOL") || ran.ExecutedAt.IsZero() {
		j.Errorf("command for the owner: %+v (%v)", ran, err)
	}
	link, err := c.CreateWallet(j.ctx, j.Alice)
	if err != nil || link.Status != "sent_to_chat" || link.ExpiresAt.Before(time.Now()) {
		j.Errorf("create: %+v (%v)", link, err)
	}
	j.rotate(c)
}

// rotate replaces a key and uses the new one.
func (j *journey) rotate(c *purser.Client) {
	j.Helper()
	next, err := c.RotateKey(j.ctx, purser.Rotation{})
	j.must("rotate", err)
	me, err := purser.New(j.URL, string(next.Key)).Key(j.ctx)
	if err != nil || me.KeyID != next.KeyID || next.OldEndsAt.Before(time.Now().Add(23*time.Hour)) {
		j.Errorf("after rotation: %+v, %+v (%v)", next, me, err)
	}
}

// bot is what a bot token does.
func (j *journey) bot(c *purser.Client) {
	j.Helper()
	sent, err := c.SendMessage(j.ctx, purser.Message{ChatID: j.Alice, Text: "*Hello by API*", ParseMode: "Markdown"})
	if err != nil || sent.SentAt.IsZero() {
		j.Errorf("send message: %+v (%v)", sent, err)
	}
	ran, err := c.ExecuteCommand(j.ctx, purser.Command{ChatID: j.Alice, Command: "/wallet balance", Silent: true})
	if err != nil || !strings.Contains(ran.Response, "SOL") || ran.ExecutedAt.IsZero() {
		j.Errorf("execute: %+v (%v)", ran, err)
	}
	user, err := c.User(j.ctx, j.Alice)
	if err != nil || user.TelegramID != j.Alice || !user.WalletConnected || !user.NotificationsEnabled || user.RegisteredAt.IsZero() {
		j.Errorf("user: %+v (%v)", user, err)
	}
	off, err := c.SetUserNotifications(j.ctx, j.Alice, purser.NotificationSettings{})
	if err != nil || off.Enabled || len(off.Events) != 0 {
		j.Errorf("set user notifications: %+v (%v)", off, err)
	}
	if _, err := c.SetUserNotifications(j.ctx, j.Alice, purser.NotificationSettings{Enabled: true, Events: []string{"*"}}); err != nil {
		j.Error(err)
	}
	set, err := c.SetBotWebhook(j.ctx, purser.BotWebhookRequest{URL: j.Receiver + "/bot", Events: []string{"wallet.*"}})
	if err != nil || !strings.HasPrefix(string(set.Secret), "whsec_") {
		j.Errorf("set webhook: %+v (%v)", set, err)
	}
	hook := c.BotHook()
	got, err := hook.Status(j.ctx)
	if err != nil || got.WebhookID != set.WebhookID || got.URL != set.URL || got.Secret != "" || got.CreatedAt.IsZero() {
		j.Errorf("webhook: %+v (%v)", got, err)
	}
	if tested, err := hook.Test(j.ctx); err != nil || !tested.Delivered || tested.Status != 200 {
		j.Errorf("test: %+v (%v)", tested, err)
	}
	if gone, err := hook.Delete(j.ctx); err != nil || gone.WebhookID != set.WebhookID {
		j.Errorf("delete webhook: %+v (%v)", gone, err)
	}
	var refused *purser.Error
	if _, err := hook.Status(j.ctx); !errors.As(err, &refused) || refused.Code != purser.WebhookNotFound {
		j.Errorf("no webhook: %v", err)
	}
}

// hooks is the life of a webhook: an event that its receiver does not take, and one that is sent again.
func (j *journey) hooks(c, payer *purser.Client) {
	j.Helper()
	events, err := c.WebhookEvents(j.ctx)
	if err != nil || !slices.ContainsFunc(events, func(e purser.WebhookEvent) bool {
		return e.Event == "transaction.received" && len(e.Schema) > 0 && len(e.Example) > 0
	}) {
		j.Errorf("events: %+v (%v)", events, err)
	}
	made, err := c.CreateWebhook(j.ctx, purser.WebhookRequest{URL: j.Receiver + "/none", Events: []string{"price.*"}})
	if err != nil || !strings.HasPrefix(string(made.Secret), "whsec_") || !made.Active || !made.LastTriggered.IsZero() {
		j.Fatalf("create: %+v (%v)", made, err)
	}
	hook := c.Hook(made.WebhookID)
	if tested, err := hook.Test(j.ctx); err != nil || tested.Delivered || tested.Status != 404 || tested.Error == "" {
		j.Errorf("test: %+v (%v)", tested, err)
	}
	changed, err := hook.Change(j.ctx, purser.WebhookChange{Events: []string{"transaction.received"}})
	if err != nil || !slices.Equal(changed.Events, []string{"transaction.received"}) || changed.URL != made.URL {
		j.Errorf("change: %+v (%v)", changed, err)
	}
	wallets, err := c.Wallets(j.ctx)
	j.must("wallets", err)
	j.sends(payer, wallets[0].Address, "0.1")
	parked := purser.DeliveryFilter{State: "dead_lettered", Event: "transaction.received", Since: time.Now().Add(-time.Hour)}
	var missed purser.Delivery
	j.until("dead_lettered", func() bool {
		page, err := hook.DeliveryPage(j.ctx, parked)
		j.must("deliveries", err)
		if len(page.Deliveries) == 0 {
			return false
		}
		missed = page.Deliveries[0]
		return true
	})
	whole, err := hook.Delivery(j.ctx, missed.DeliveryID)
	if err != nil || !whole.BodyShown || !strings.Contains(whole.Body, wallets[0].Address) || len(whole.Attempted) != 1 || whole.Attempted[0].Status != 404 ||
		strings.TrimSpace(whole.Attempted[0].Answer) != "nothing here" {
		j.Errorf("delivery: %+v (%v)", whole, err)
	}
	if _, err := hook.Change(j.ctx, purser.WebhookChange{URL: j.Receiver + "/hook"}); err != nil {
		j.Error(err)
	}
	rotated, err := hook.RotateSecret(j.ctx, purser.SecretRotation{Grace: time.Hour})
	if err != nil || rotated.Secret == made.Secret || rotated.PreviousUntil.Before(time.Now()) {
		j.Errorf("rotate: %+v (%v)", rotated, err)
	}
	recovered, err := hook.Recover(j.ctx, time.Now().Add(-time.Hour))
	if err != nil || recovered.Recovered != 1 || !recovered.NextSince.IsZero() {
		j.Errorf("recover: %+v (%v)", recovered, err)
	}
	delivered := func(id string) func() bool {
		return func() bool {
			d, err := hook.Delivery(j.ctx, id)
			j.must("delivery", err)
			return d.State == "delivered"
		}
	}
	j.until("recovered", delivered(missed.DeliveryID))
	again, err := hook.Resend(j.ctx, missed.DeliveryID)
	if err != nil || again.EventID != missed.EventID || again.DeliveryID == missed.DeliveryID {
		j.Errorf("resend: %+v (%v)", again, err)
	}
	j.until("resent", delivered(again.DeliveryID))
	n := 0
	for _, err := range hook.Deliveries(j.ctx, purser.DeliveryFilter{Limit: 1}) {
		j.must("deliveries", err)
		n++
	}
	status, err := hook.Status(j.ctx)
	if err != nil || n < 3 || status.Health.LastSuccess.IsZero() || !status.FailingSince.IsZero() || status.Health.Events.Limit != 10_000 || status.Health.Hours[0].Succeeded < 2 {
		j.Errorf("%d deliveries, status: %+v (%v)", n, status, err)
	}
	if gone, err := hook.Delete(j.ctx); err != nil || gone.WebhookID != made.WebhookID {
		j.Errorf("delete: %+v (%v)", gone, err)
	}
	if all, err := c.Webhooks(j.ctx); err != nil || len(all) != 0 {
		j.Errorf("webhooks: %+v (%v)", all, err)
	}
}

// lose does with lost answers what must happen once.
func (j *journey) lose(c, bot *purser.Client) {
	j.Helper()
	j.sends(c, j.To, "0.25")
	if _, err := bot.SendMessage(j.ctx, purser.Message{ChatID: j.Alice, Text: "Not an echo"}); err != nil {
		j.Error(err)
	}
	if _, err := bot.SetBotWebhook(j.ctx, purser.BotWebhookRequest{URL: "http://127.0.0.1:9/hook", Events: []string{"*"}}); !errors.Is(err, purser.ErrSecretLost) {
		j.Errorf("a lost secret: %v", err)
	}
	if _, err := bot.SetBotWebhook(j.ctx, purser.BotWebhookRequest{URL: "http://127.0.0.1:9/hook", Events: []string{"*"}, Secret: "a secret of my own"}); err != nil {
		j.Error(err)
	}
	if _, err := bot.BotHook().Delete(j.ctx); err != nil {
		j.Error(err)
	}
	if gone, err := c.Disconnect(j.ctx, purser.Address(j.own)); err != nil || gone.Address != purser.Address(j.own) {
		j.Errorf("disconnect: %+v (%v)", gone, err)
	}
	j.connect(c, "done")
	direct := purser.New(j.URL, j.Operator)
	if gone, err := direct.Disconnect(j.ctx, purser.Address(j.own)); err != nil || gone.WalletType != "developer" {
		j.Errorf("disconnect: %+v (%v)", gone, err)
	}
	if _, err := bot.ExecuteCommand(j.ctx, purser.Command{ChatID: j.Alice, Command: "/send 0.015 SOL " + j.To, Silent: true}); err != nil {
		j.Error(err)
	}
}
