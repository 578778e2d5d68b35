package handlers

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
)

// Portal gives a person access to a page where they manage the webhooks of a key. A link from their chat can be opened
// once and starts a session, which stands for the key's lineage. Both are rows of the store (store.PortalToken), so every node
// knows them and a restart ends neither. A session is read at each request, and written only at its beginning and end.
type Portal struct {
	Store  store.Store
	Now    Clock
	Random io.Reader
}

// Lifetimes of links and sessions, and how many of each a lineage can have. A new one beyond that replaces the oldest.
const (
	PortalLinkLife    = 10 * time.Minute
	PortalSessionLife = 2 * time.Hour
	maxPortalLinks    = 1
	maxPortalSessions = 5
)

// PortalSession is the prefix of session secrets. It distinguishes them from API keys.
const PortalSession = "pur_session_"

// PortalOpened is a new session. Its secret is returned only here.
type PortalOpened struct {
	Secret  string
	EndsAt  time.Time
	Key     wallet.Key // the key that the session stands for
	AppName string     // of the key's app; "" for none
}

// For returns nil if a key may have webhooks, which is what the portal is for. TIER_REQUIRED, INSUFFICIENT_SCOPE.
func (*Portal) For(key wallet.Key) error {
	switch {
	case key.Tier != wallet.ProTier:
		return wallet.Refuse(wallet.TierRequired, "tier_needed.webhooks")
	case !key.May(wallet.Webhooks):
		return wallet.Refuse(wallet.InsufficientScope, "scope_needed.missing", wallet.TextArg("Scope", wallet.Webhooks))
	}
	return nil
}

// NewToken makes the token of a link. It opens nothing until Offer stores it.
func (p *Portal) NewToken() (string, error) { return p.random("") }

// random returns 32 random bytes in base64url behind a prefix.
func (p *Portal) random(prefix string) (string, error) {
	raw := make([]byte, 32)
	if _, err := io.ReadFull(p.Random, raw); err != nil {
		return "", fmt.Errorf("draw a secret of the portal: %w", err)
	}
	return prefix + base64.RawURLEncoding.EncodeToString(raw), nil
}

// Offer stores the token of a link, which can be opened once within PortalLinkLife. It replaces an older link of the
// lineage. Call it in the store transaction that sends the link. TIER_REQUIRED, INSUFFICIENT_SCOPE.
func (p *Portal) Offer(tx store.Tx, token string, key wallet.Key) error {
	if err := errors.Join(p.For(key), usable(tx, key.Owner, wallet.ByPerson)); err != nil {
		return err
	}
	return tx.PutPortalToken(p.token(store.PortalLink, key, PortalLinkLife), token, maxPortalLinks)
}

// token returns the row of a link or session that lives from now on.
func (p *Portal) token(kind store.PortalTokenKind, key wallet.Key, life time.Duration) store.PortalToken {
	return store.PortalToken{Kind: kind, Owner: key.Owner, Lineage: key.Lineage(), EndsAt: p.Now().UTC().Add(life)}
}

// Open turns a link into a session. It deletes the link and creates the session in one store transaction, so if two nodes
// get the same link, one opens it. A link whose key has ended is used up too. The owner's security log has the session, and they are notified
// of a new device. INVALID_API_KEY.
func (p *Portal) Open(ctx context.Context, token string, from Client) (PortalOpened, error) {
	// Read first: guessing tokens must not cost commits.
	if _, err := read(ctx, p.Store, func(tx store.Tx) (store.PortalToken, error) { return p.link(tx, token) }); err != nil {
		return PortalOpened{}, err
	}
	secret, err := p.random(PortalSession)
	if err != nil {
		return PortalOpened{}, err
	}
	var opened PortalOpened
	var refusal error
	err = p.Store.Update(ctx, func(tx store.Tx) error {
		opened, refusal = PortalOpened{Secret: secret}, nil
		link, err := p.link(tx, token)
		if err != nil {
			return err
		}
		if err := tx.DeletePortalToken(store.PortalLink, token); err != nil {
			return err
		}
		if opened.Key, err = p.keyOf(tx, link.Lineage); wallet.CodeOf(err) == wallet.InvalidAPIKey {
			refusal = err // returned after the commit, so that the link is used up
			return nil
		}
		if err != nil {
			return err
		}
		session := p.token(store.PortalSession, opened.Key, PortalSessionLife)
		opened.EndsAt = session.EndsAt
		if err := tx.PutPortalToken(session, secret, maxPortalSessions); err != nil {
			return err
		}
		if opened.Key.Owner != "" {
			details := wallet.SecurityDetails{Key: opened.Key.ID, KeyKind: opened.Key.Kind, KeyHint: opened.Key.Hint}
			if err := logDevice(tx, opened.Key.Owner, p.Now(), wallet.LogPortalOpened, details, from, true); err != nil {
				return err
			}
		}
		app, err := tx.App(opened.Key.App)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		opened.AppName = app.Name
		return err
	})
	if err := errors.Join(err, refusal); err != nil {
		return PortalOpened{}, err
	}
	return opened, nil
}

// link returns the unused link of a token. INVALID_API_KEY.
func (p *Portal) link(tx store.Tx, token string) (store.PortalToken, error) {
	return p.unexpired(tx, store.PortalLink, token, "portal_access.link")
}

// unexpired returns the portal token of a secret if it has not expired. Otherwise it is INVALID_API_KEY with the given sentence.
func (p *Portal) unexpired(tx store.Tx, kind store.PortalTokenKind, secret, sentence string) (store.PortalToken, error) {
	token, err := tx.PortalToken(kind, secret)
	if errors.Is(err, store.ErrNotFound) || err == nil && !p.Now().Before(token.EndsAt) {
		return store.PortalToken{}, wallet.Refuse(wallet.InvalidAPIKey, sentence)
	}
	return token, err
}

// Check returns the key that a session stands for, in its current state. INVALID_API_KEY.
func (p *Portal) Check(ctx context.Context, secret string) (wallet.Key, error) {
	return read(ctx, p.Store, func(tx store.Tx) (wallet.Key, error) {
		session, err := p.unexpired(tx, store.PortalSession, secret, "portal_access.session")
		if err != nil {
			return wallet.Key{}, err
		}
		return p.keyOf(tx, session.Lineage)
	})
}

// keyOf returns the newest usable key of a lineage. INVALID_API_KEY, POLICY_VIOLATION while its owner's account is frozen.
func (p *Portal) keyOf(tx store.Tx, first string) (wallet.Key, error) {
	line, err := store.KeyLineage(tx, first)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return wallet.Key{}, err
	}
	key, ok := wallet.NewestUsable(line, p.Now())
	if !ok {
		return key, wallet.Refuse(wallet.InvalidAPIKey, "portal_access.key_ended")
	}
	return key, usable(tx, key.Owner, wallet.ByKey)
}

// End ends a session. It is no error if the session has ended already.
func (p *Portal) End(ctx context.Context, secret string) error {
	return p.Store.Update(ctx, func(tx store.Tx) error {
		session, err := tx.PortalToken(store.PortalSession, secret)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		key, err := tx.Key(session.Lineage)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return errors.Join(tx.DeletePortalToken(store.PortalSession, secret), store.LogSecurity(tx, session.Owner, p.Now(), wallet.LogPortalEnded,
			wallet.SecurityDetails{Key: session.Lineage, KeyKind: key.Kind, KeyHint: key.Hint}))
	})
}

// IsPortalSession reports whether a text has the form of a session secret. It does not check that the session exists.
func IsPortalSession(text string) bool { return strings.HasPrefix(text, PortalSession) }
