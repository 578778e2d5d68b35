package handlers

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"time"

	"purser/store"
	"purser/wallet"
)

// Portal lets a person look after the webhooks of a key on a page: a link from their chat, which opens
// it once, becomes a session that stands for the key's line. Both are in memory alone, as hashes: a
// restart ends them, and the chat has another link.
type Portal struct {
	Store  store.Store
	Now    Clock
	Random io.Reader

	mu       sync.Mutex
	links    map[[32]byte]portalPass // by the SHA-256 of the token
	sessions map[[32]byte]portalPass // by the SHA-256 of the secret
}

// portalPass is what a link or a session opens, and until when.
type portalPass struct {
	line string
	ends time.Time
}

// For how long links and sessions of the portal live, and how many sessions of one line do.
const (
	PortalLinkLife     = 10 * time.Minute
	PortalSessionLife  = 2 * time.Hour
	mostPortalSessions = 5
)

// PortalSession begins the secret of a session, by which it is told from a key.
const PortalSession = "pur_session_"

// PortalOpened is a session that has begun. Its secret is shown only once.
type PortalOpened struct {
	Secret  string
	EndsAt  time.Time
	Key     wallet.Key // that it stands for
	AppName string     // that the key was made for; "" for none
}

// For tells whether a key may have webhooks, which is what the portal is for. TIER_REQUIRED,
// INSUFFICIENT_SCOPE.
func (*Portal) For(key wallet.Key) error {
	switch {
	case key.Tier != wallet.ProTier:
		return wallet.Refuse(wallet.TierRequired, "tier_needed.webhooks")
	case !key.May(wallet.Webhooks):
		return wallet.Refuse(wallet.InsufficientScope, "scope_needed.missing", wallet.TextArg("Scope", wallet.Webhooks))
	}
	return nil
}

// Draw makes the token of a link, which opens nothing before Offer.
func (p *Portal) Draw() (string, error) { return p.draw("") }

func (p *Portal) draw(prefix string) (string, error) {
	raw := make([]byte, 32)
	if _, err := io.ReadFull(p.Random, raw); err != nil {
		return "", fmt.Errorf("draw a secret of the portal: %w", err)
	}
	return prefix + base64.RawURLEncoding.EncodeToString(raw), nil
}

// Offer makes a token open the portal for a key's line, once and soon, in the place of an older one. It
// may be done again with the same token. TIER_REQUIRED, INSUFFICIENT_SCOPE.
func (p *Portal) Offer(token string, key wallet.Key) error {
	if err := p.For(key); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Now()
	maps.DeleteFunc(p.links, func(_ [32]byte, l portalPass) bool { return l.line == key.Lineage() || !now.Before(l.ends) })
	if p.links == nil {
		p.links = map[[32]byte]portalPass{}
	}
	p.links[sha256.Sum256([]byte(token))] = portalPass{key.Lineage(), now.Add(PortalLinkLife)}
	return nil
}

// Open turns a link into a session; a link opens once. INVALID_API_KEY.
func (p *Portal) Open(ctx context.Context, token string) (PortalOpened, error) {
	link, ok := p.spend(sha256.Sum256([]byte(token)))
	if !ok {
		return PortalOpened{}, wallet.Refuse(wallet.InvalidAPIKey, "portal_access.link")
	}
	secret, err := p.draw(PortalSession)
	if err != nil {
		return PortalOpened{}, err
	}
	opened := PortalOpened{Secret: secret, EndsAt: p.Now().UTC().Add(PortalSessionLife)}
	err = p.Store.View(ctx, func(tx store.Tx) error {
		if opened.Key, err = p.keyOf(tx, link.line); err != nil {
			return err
		}
		app, err := tx.App(opened.Key.App)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		opened.AppName = app.Name
		return err
	})
	if err != nil {
		return PortalOpened{}, err
	}
	p.begin(sha256.Sum256([]byte(secret)), portalPass{link.line, opened.EndsAt})
	return opened, nil
}

// spend takes a link away, and tells whether it was good.
func (p *Portal) spend(sum [32]byte) (portalPass, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	link, ok := p.links[sum]
	delete(p.links, sum)
	return link, ok && p.Now().Before(link.ends)
}

// begin adds a session. Those that are over go, and of too many of a line the one that ends first.
func (p *Portal) begin(sum [32]byte, session portalPass) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Now()
	maps.DeleteFunc(p.sessions, func(_ [32]byte, s portalPass) bool { return !now.Before(s.ends) })
	var oldest [32]byte
	ends, others := session.ends, 0
	for sum, s := range p.sessions {
		if s.line != session.line {
			continue
		}
		if others++; !s.ends.After(ends) {
			oldest, ends = sum, s.ends
		}
	}
	if others >= mostPortalSessions {
		delete(p.sessions, oldest)
	}
	if p.sessions == nil {
		p.sessions = map[[32]byte]portalPass{}
	}
	p.sessions[sum] = session
}

// Check finds the key that a session stands for, as it is now. INVALID_API_KEY.
func (p *Portal) Check(ctx context.Context, secret string) (wallet.Key, error) {
	p.mu.Lock()
	session, ok := p.sessions[sha256.Sum256([]byte(secret))]
	p.mu.Unlock()
	if !ok || !p.Now().Before(session.ends) {
		return wallet.Key{}, wallet.Refuse(wallet.InvalidAPIKey, "portal_access.session")
	}
	return read(ctx, p.Store, func(tx store.Tx) (wallet.Key, error) { return p.keyOf(tx, session.line) })
}

// keyOf is the newest key of a line that opens anything. INVALID_API_KEY.
func (p *Portal) keyOf(tx store.Tx, first string) (wallet.Key, error) {
	line, err := store.KeyLine(tx, first)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return wallet.Key{}, err
	}
	key, ok := wallet.NewestUsable(line, p.Now())
	if !ok {
		return key, wallet.Refuse(wallet.InvalidAPIKey, "portal_access.key_ended")
	}
	return key, nil
}

// End ends a session; one that is over stays so.
func (p *Portal) End(secret string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, sha256.Sum256([]byte(secret)))
}

// IsPortalSession tells whether a text claims to be the secret of a session.
func IsPortalSession(text string) bool { return strings.HasPrefix(text, PortalSession) }
