package handlers_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// portalKey is a key that may have webhooks, and a portal.
func portalKey(t *testing.T) (*harness, *handlers.Portal, wallet.Key) {
	t.Helper()
	r := newHarness(t)
	user := r.meet(1001)
	key, _, err := r.Keys.Create(context.Background(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: user.TelegramID, App: "Shop"})
	r.Must(err)
	return r, r.Portal, key
}

func offered(t *testing.T, p *handlers.Portal, key wallet.Key) string {
	t.Helper()
	token, err := p.NewToken()
	if err == nil {
		err = p.Store.Update(t.Context(), func(tx store.Tx) error { return p.Offer(tx, token, key) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func opened(t *testing.T, p *handlers.Portal, key wallet.Key) string {
	t.Helper()
	session, err := p.Open(t.Context(), offered(t, p, key), portalClient())
	if err != nil {
		t.Fatal(err)
	}
	return session.Secret
}

func refused(t *testing.T, what string, err error) {
	t.Helper()
	if wallet.CodeOf(err) != wallet.InvalidAPIKey {
		t.Errorf("%s: %v", what, err)
	}
}

func TestAPortalLinkOpensOnceAndSoon(t *testing.T) {
	r, p, key := portalKey(t)
	token := offered(t, p, key)
	session, err := p.Open(t.Context(), token, portalClient())
	if err != nil || session.Key.ID != key.ID || session.AppName != "Shop" || !handlers.IsPortalSession(session.Secret) || len(token) != 43 {
		t.Fatalf("%+v, %v", session, err)
	}
	_, err = p.Open(t.Context(), token, portalClient())
	refused(t, "a second use", err)

	older := offered(t, p, key)
	newer := offered(t, p, key)
	_, err = p.Open(t.Context(), older, portalClient())
	refused(t, "a link that another took the place of", err)
	r.Pass(handlers.PortalLinkLife)
	_, err = p.Open(t.Context(), newer, portalClient())
	refused(t, "an old link", err)
	for _, text := range []string{"", "x", session.Secret, key.ID} {
		_, err = p.Open(t.Context(), text, portalClient())
		refused(t, text, err)
	}
}

func TestAPortalIsForKeysThatMayHaveWebhooks(t *testing.T) {
	r, p, key := portalKey(t)
	free, without := key, key
	free.Tier, without.Scopes = wallet.FreeTier, []wallet.Scope{wallet.WalletRead}
	for code, key := range map[wallet.Code]wallet.Key{wallet.TierRequired: free, wallet.InsufficientScope: without} {
		err := r.Store.Update(t.Context(), func(tx store.Tx) error { return p.Offer(tx, "token", key) })
		if wallet.CodeOf(err) != code || wallet.CodeOf(p.For(key)) != code {
			t.Errorf("%s: %v", code, err)
		}
	}
	_, err := p.Open(t.Context(), "token", portalClient())
	refused(t, "a link that was not offered", err)
	if err := p.For(key); err != nil {
		t.Error(err)
	}
}

func TestAPortalSessionEnds(t *testing.T) {
	r, p, key := portalKey(t)
	secret := opened(t, p, key)
	if got, err := p.Check(t.Context(), secret); err != nil || got.ID != key.ID {
		t.Fatalf("%+v, %v", got, err)
	}
	r.Pass(handlers.PortalSessionLife - time.Second)
	if _, err := p.Check(t.Context(), secret); err != nil {
		t.Error(err)
	}
	r.Pass(time.Second)
	_, err := p.Check(t.Context(), secret)
	refused(t, "after two hours", err)

	secret = opened(t, p, key)
	r.Must(p.End(t.Context(), secret))
	r.Must(p.End(t.Context(), secret))
	_, err = p.Check(t.Context(), secret)
	refused(t, "ended", err)
}

// TestAPortalIsKnownToEveryNode, and to the next life of one: links, sessions and their ends are in the store.
func TestAPortalIsKnownToEveryNode(t *testing.T) {
	r, p, key := portalKey(t)
	other := &handlers.Portal{Store: r.Store, Now: r.Now, Random: r}
	token := offered(t, p, key)
	session, err := other.Open(t.Context(), token, portalClient())
	r.Must(err)
	if got, err := p.Check(t.Context(), session.Secret); err != nil || got.ID != key.ID {
		t.Errorf("a session of the other node: %+v, %v", got, err)
	}
	_, err = p.Open(t.Context(), token, portalClient())
	refused(t, "a link that was used there", err)
	r.Must(p.End(t.Context(), session.Secret))
	_, err = other.Check(t.Context(), session.Secret)
	refused(t, "a session that was ended here", err)
	_, err = p.Check(t.Context(), offered(t, p, key))
	refused(t, "a link as a session", err)
	_, err = p.Open(t.Context(), opened(t, p, key), portalClient())
	refused(t, "a session as a link", err)
}

// TestOfTwoNodesOneOpensALink, when both are asked at the same moment.
func TestOfTwoNodesOneOpensALink(t *testing.T) {
	r, p, key := portalKey(t)
	for range 20 {
		token := offered(t, p, key)
		var sessions atomic.Int32
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				node := &handlers.Portal{Store: r.Store, Now: r.Now, Random: rand.Reader}
				switch _, err := node.Open(context.Background(), token, portalClient()); {
				case err == nil:
					sessions.Add(1)
				case wallet.CodeOf(err) != wallet.InvalidAPIKey:
					t.Error(err)
				}
			})
		}
		if group.Wait(); sessions.Load() != 1 {
			t.Fatalf("%d sessions of one link", sessions.Load())
		}
	}
}

// TestALinkOfAKeyThatEndedIsUsedUp, so that it opens nothing when it is tried again.
func TestALinkOfAKeyThatEndedIsUsedUp(t *testing.T) {
	r, p, key := portalKey(t)
	token := offered(t, p, key)
	r.Must(r.Update(func(tx store.Tx) error { key.ExpiresAt = r.Now(); return tx.PutKey(key) }))
	for _, sentence := range []string{"portal_access.key_ended", "portal_access.link"} {
		_, err := p.Open(t.Context(), token, portalClient())
		var refusal *wallet.Error
		if refused(t, sentence, err); !errors.As(err, &refusal) || refusal.Reason.Key != sentence {
			t.Errorf("%v, not %s", err, sentence)
		}
	}
}

// TestWrongTokensWriteNothing: whoever guesses costs no commit.
func TestWrongTokensWriteNothing(t *testing.T) {
	r, _, _ := portalKey(t)
	p := &handlers.Portal{Store: unwritable{r.Store}, Now: r.Now, Random: r}
	_, err := p.Open(t.Context(), "guess", portalClient())
	refused(t, "a guess", err)
}

// unwritable is a store that is only read.
type unwritable struct{ store.Store }

func (unwritable) Update(context.Context, func(store.Tx) error) error {
	return errors.New("it is written")
}

// TestAnErasedPersonHasNoPortal.
func TestAnErasedPersonHasNoPortal(t *testing.T) {
	r, p, key := portalKey(t)
	secret, token := opened(t, p, key), offered(t, p, key)
	r.Must(r.Store.Update(t.Context(), func(tx store.Tx) error { return tx.EraseUser(key.Owner) }))
	_, err := p.Check(t.Context(), secret)
	refused(t, "a session", err)
	_, err = p.Open(t.Context(), token, portalClient())
	refused(t, "a link", err)
}

func TestAPortalSessionIsItsKeysLine(t *testing.T) {
	r, p, key := portalKey(t)
	secret := opened(t, p, key)
	next, _, err := r.Keys.Rotate(t.Context(), key.ID, false)
	r.Must(err)
	if got, err := p.Check(t.Context(), secret); err != nil || got.ID != next.ID {
		t.Errorf("after a rotation: %+v, %v", got, err)
	}
	r.Must(r.Store.Update(t.Context(), func(tx store.Tx) error {
		next, err := tx.Key(next.ID)
		next.Tier = wallet.FreeTier
		r.Must(err)
		return tx.PutKey(next)
	}))
	if got, err := p.Check(t.Context(), secret); err != nil || got.Tier != wallet.FreeTier {
		t.Errorf("of a lower tier: %+v, %v", got, err)
	}
	unopened := offered(t, p, key)
	_, err = r.Keys.Revoke(t.Context(), next.ID)
	r.Must(err)
	_, err = p.Check(t.Context(), secret)
	refused(t, "its key is revoked", err)
	_, err = p.Open(t.Context(), unopened, portalClient())
	refused(t, "a link of a revoked key", err)
}

// TestAKeyThatIsEndedAtOnceTakesPortalSessionsWithIt: somebody who took a link may have the session, though a successor goes on.
func TestAKeyThatIsEndedAtOnceTakesPortalSessionsWithIt(t *testing.T) {
	for what, end := range map[string]func(k *handlers.Keys, id string) error{
		"rotated with end_now": func(k *handlers.Keys, id string) error {
			_, _, err := k.Rotate(t.Context(), id, true)
			return err
		},
		"revoked in its grace period": func(k *handlers.Keys, id string) error {
			_, _, err := k.Rotate(t.Context(), id, false)
			_, revoking := k.Revoke(t.Context(), id)
			return errors.Join(err, revoking)
		},
	} {
		r, p, key := portalKey(t)
		other, _, err := r.Keys.Create(t.Context(), handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier, OwnerTelegramID: 1001})
		r.Must(err)
		stays, secret, unopened := opened(t, p, other), opened(t, p, key), offered(t, p, key)
		r.Must(end(r.Keys, key.ID))
		_, err = p.Check(t.Context(), secret)
		refused(t, what+": a session", err)
		_, err = p.Open(t.Context(), unopened, portalClient())
		refused(t, what+": a link", err)
		if _, err := p.Check(t.Context(), stays); err != nil {
			t.Errorf("%s: another line's session: %v", what, err)
		}
	}
}

func TestALineHasFewPortalSessions(t *testing.T) {
	r, p, key := portalKey(t)
	other, _, err := r.Keys.Create(t.Context(), handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier, OwnerTelegramID: 1001})
	r.Must(err)
	kept := opened(t, p, other)
	var secrets []string
	for range 7 {
		secrets = append(secrets, opened(t, p, key))
		r.Pass(time.Second)
	}
	for i, secret := range secrets {
		if _, err := p.Check(t.Context(), secret); (err == nil) != (i >= 2) {
			t.Error("session "+strconv.Itoa(i), err)
		}
	}
	if _, err := p.Check(t.Context(), kept); err != nil {
		t.Error("another line's session went:", err)
	}
}

// portalClient is the browser that opens links in these tests.
func portalClient() handlers.Client {
	return handlers.Client{Address: "203.0.113.7", Device: "Chrome (Android)"}
}
