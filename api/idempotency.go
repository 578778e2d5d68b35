package api

import (
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"purser/store"
	"purser/wallet"
)

// idempotencyTTL is how long an answer is replayed (docs/specification.md).
const (
	idempotencyTTL    = 24 * time.Hour
	maxIdempotencyKey = 128
)

// inFlight holds the idempotency keys whose request this node works on, so that a second one need not be worked out.
// That no request takes effect twice, on whichever nodes it comes, is the store's doing: its record is put in the
// Update of its effect, where a record that is there already is ErrConflict.
type inFlight struct {
	mu   sync.Mutex
	keys map[string]struct{}
}

func newInFlight() *inFlight { return &inFlight{keys: map[string]struct{}{}} }

func (b *inFlight) enter(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, in := b.keys[key]; in {
		return false
	}
	b.keys[key] = struct{}{}
	return true
}

func (b *inFlight) leave(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.keys, key)
}

// save keeps an answer under the request's idempotency key; it belongs into the Update of the
// effect. Without a key it does nothing.
type save func(tx store.Tx, status int, body []byte) error

// record is the idempotency record of one request; the zero record is of one without a key.
type record struct {
	name        string
	fingerprint [32]byte
	now         func() time.Time
}

// sendResultUntil is how long what became of a message is needed to answer the request: as long as it may wait, where it has
// no key and nobody can ask again. Else no longer than the record lives, and a moment for a request that came as it ended.
func (r record) sendResultUntil(now time.Time) time.Time {
	if r.name == "" {
		return now.UTC().Add(answerTimeout + time.Minute)
	}
	return now.UTC().Add(idempotencyTTL + time.Minute)
}

// stillPending is errSettled when another node has answered the request, whose outcome was open.
func (r record) stillPending(tx store.Tx) error {
	if r.name == "" {
		return nil
	}
	answer, err := tx.Answer(r.name, r.now())
	if errors.Is(err, store.ErrNotFound) || err == nil && answer.Status == pending {
		return nil
	}
	return errors.Join(err, errSettled)
}

// keep writes the answer, first of all.
func (r record) keep(tx store.Tx, status int, body []byte) error {
	if r.name == "" {
		return nil
	}
	// Asked again inside the Update, since a key whose time is over is freed by being looked up.
	if _, err := tx.Answer(r.name, r.now()); !errors.Is(err, store.ErrNotFound) {
		return errors.Join(err, store.ErrConflict)
	}
	return tx.PutAnswer(r.name, store.Answer{
		Fingerprint: r.fingerprint, Status: status, Body: body, ExpiresAt: r.now().UTC().Add(idempotencyTTL),
	})
}

// replace puts the answer in the place of what was kept while its outcome was open.
func (r record) replace(tx store.Tx, status int, body []byte) error {
	if r.name == "" {
		return nil
	}
	return errors.Join(tx.DropAnswer(r.name), r.keep(tx, status, body))
}

// free gives the key back: nothing came of the request.
func (r record) free(tx store.Tx) error {
	if r.name == "" {
		return nil
	}
	return tx.DropAnswer(r.name)
}

// idempotent runs a POST at most once for each Idempotency-Key: work decides and commits, and calls
// save inside its own Update. Refusals remember nothing and leave the key free.
func (s *Server) idempotent(c *fiber.Ctx, key wallet.Key, work func(save) error) error {
	return s.idempotentPending(c, key, func(r record) error { return work(r.keep) }, func(record, []byte) error {
		return errors.New("an answer without a status")
	})
}

// pending is the status of a record whose request is answered only when something outside has ended.
const pending = 0

// idempotentPending is idempotent for a request whose outcome is open for a while: its record is kept with the status
// open, together with what was begun. When the same request comes again before that ended, or after a
// crash, resume goes on from what was kept.
func (s *Server) idempotentPending(c *fiber.Ctx, key wallet.Key, work func(record) error, resume func(record, []byte) error) error {
	header, given, err := idempotencyKey(c)
	if err != nil {
		return err
	}
	if !given {
		return work(record{})
	}
	// Keyed by whose key, method and path too: a header alone would hand one customer another's answer.
	whose := key.Lineage()
	if c.Path() == rotatePath { // a successor rotates itself, whatever header it reuses
		whose = key.ID
	}
	r := record{name: whose + " " + c.Method() + " " + c.Path() + " " + header, fingerprint: sha256.Sum256(c.BodyRaw()), now: s.Now}
	if !s.busy.enter(r.name) {
		c.Set(fiber.HeaderRetryAfter, "1") // by which programs tell it from other conflicts
		return wallet.Refuse(wallet.Conflict, "idempotency.running")
	}
	defer s.busy.leave(r.name)

	found, err := s.replay(c, r, resume)
	if found || err != nil {
		return err
	}
	if err = work(r); err == nil {
		return nil
	}
	// Another node may have been quicker with the same request: then nothing of this one is true, and what that one
	// answered is the answer. An outcome that is open is this request's own, unless the store says otherwise.
	if !errors.Is(err, store.ErrConflict) {
		resume = nil
	}
	if found, replayed := s.replay(c, r, resume); found {
		return replayed
	}
	return err
}

// replay answers a request that was answered before, or resumes it (not with a nil resume); not found when its key is
// free.
func (s *Server) replay(c *fiber.Ctx, r record, resume func(record, []byte) error) (found bool, _ error) {
	var answer store.Answer
	err := s.Store.View(c.UserContext(), func(tx store.Tx) (err error) {
		answer, err = tx.Answer(r.name, s.Now())
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case answer.Fingerprint != r.fingerprint:
		return true, wallet.Refuse(wallet.IdempotencyConflict, "idempotency.reused")
	case answer.Status == pending && resume == nil:
		return false, nil
	case answer.Status == pending:
		return true, resume(r, answer.Body)
	}
	c.Set("Idempotency-Replayed", "true")
	return true, sendJSON(c, answer.Status, answer.Body)
}

func idempotencyKey(c *fiber.Ctx) (key string, given bool, err error) {
	headers := c.Request().Header.PeekAll("Idempotency-Key")
	if len(headers) == 0 {
		return "", false, nil
	}
	key = string(headers[0])
	printable := only(key, func(b byte) bool { return b >= 0x20 && b < 0x7f })
	if len(headers) > 1 || key == "" || len(key) > maxIdempotencyKey || !printable {
		return "", false, wallet.Refuse(wallet.InvalidRequest, "idempotency.malformed", wallet.NumberArg("Most", maxIdempotencyKey))
	}
	return key, true, nil
}
