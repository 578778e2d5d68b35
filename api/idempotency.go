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

// idempotencyTTL is how long a response is replayed, maxIdempotencyKey the longest key in characters
// (docs/specification.md).
const (
	idempotencyTTL    = 24 * time.Hour
	maxIdempotencyKey = 128
)

// inFlight holds the idempotency keys of the requests that this node works on, so that a second request with the same key is
// refused early. It only saves work. That no request takes effect twice, on any node, is ensured by the store: a request's
// record is written in the Update of its effect, and ErrConflict says that there is one already.
type inFlight struct {
	mu   sync.Mutex
	keys map[string]struct{}
}

// newInFlight returns an empty set.
func newInFlight() *inFlight { return &inFlight{keys: map[string]struct{}{}} }

// enter adds a key. It returns false if a request with that key is running on this node.
func (b *inFlight) enter(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, in := b.keys[key]; in {
		return false
	}
	b.keys[key] = struct{}{}
	return true
}

// leave removes a key when its request has been answered.
func (b *inFlight) leave(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.keys, key)
}

// save stores a response under the request's idempotency key. It must be called in the Update of the effect. It does nothing
// for a request without a key.
type save func(tx store.Tx, status int, body []byte) error

// record is the idempotency record of one request. The zero record belongs to a request without a key: its methods do
// nothing.
type record struct {
	name        string   // key in the store: see idempotentPending
	fingerprint [32]byte // SHA-256 of the body: the same key with another body is a mistake of the caller
	now         func() time.Time
}

// sendResultUntil returns until when the result of a message must be kept to answer the request. A request without a key
// cannot be repeated, so that is as long as it may wait. With a key it is the life of the record, and a little longer for
// a request that came just as it ended.
func (r record) sendResultUntil(now time.Time) time.Time {
	if r.name == "" {
		return now.UTC().Add(answerTimeout + time.Minute)
	}
	return now.UTC().Add(idempotencyTTL + time.Minute)
}

// stillPending returns errSettled if another node has answered the request meanwhile. It is called in the Update that
// writes the final response.
func (r record) stillPending(tx store.Tx) error {
	if r.name == "" {
		return nil
	}
	stored, err := tx.IdempotencyRecord(r.name, r.now())
	if errors.Is(err, store.ErrNotFound) || err == nil && stored.Status == pending {
		return nil
	}
	return errors.Join(err, errSettled)
}

// keep writes the first response to the request. ErrConflict: another request with the same key was quicker.
func (r record) keep(tx store.Tx, status int, body []byte) error {
	if r.name == "" {
		return nil
	}
	// Look the key up again inside the Update: the lookup frees a key that has expired.
	if _, err := tx.IdempotencyRecord(r.name, r.now()); !errors.Is(err, store.ErrNotFound) {
		return errors.Join(err, store.ErrConflict)
	}
	return tx.PutIdempotencyRecord(r.name, store.IdempotencyRecord{
		Fingerprint: r.fingerprint, Status: status, Body: body, ExpiresAt: r.now().UTC().Add(idempotencyTTL),
	})
}

// replace puts the final response in the place of a pending one.
func (r record) replace(tx store.Tx, status int, body []byte) error {
	if r.name == "" {
		return nil
	}
	return errors.Join(tx.DeleteIdempotencyRecord(r.name), r.keep(tx, status, body))
}

// free removes the record, so that the key can be used again: the request had no effect.
func (r record) free(tx store.Tx) error {
	if r.name == "" {
		return nil
	}
	return tx.DeleteIdempotencyRecord(r.name)
}

// idempotent runs a POST at most once for each Idempotency-Key, and replays the stored response to later requests.
// work decides and commits, and calls save in its own Update: after a crash, effect and response are both there or
// both missing. A refusal stores nothing and leaves the key free.
func (s *Server) idempotent(c *fiber.Ctx, key wallet.Key, work func(save) error) error {
	return s.idempotentPending(c, key, func(r record) error { return work(r.keep) }, func(record, []byte) error {
		return errors.New("an answer without a status")
	})
}

// pending is the status in the record of a request whose outcome is still open.
const pending = 0

// idempotentPending is idempotent for a request whose outcome is open for a while, such as a message that waits to be sent.
// Its record is stored with the status pending, together with what was begun. If the same request comes again before the
// end, or after a crash, resume continues from what was stored.
func (s *Server) idempotentPending(c *fiber.Ctx, key wallet.Key, work func(record) error, resume func(record, []byte) error) error {
	header, given, err := idempotencyKey(c)
	if err != nil {
		return err
	}
	if !given {
		return work(record{})
	}
	// The record's name includes the owner of the API key, method and path: by the header alone, one customer could get
	// another's response.
	scope := key.Lineage()
	if c.Path() == rotatePath { // a successor rotates itself, whatever header it reuses
		scope = key.ID
	}
	r := record{name: scope + " " + c.Method() + " " + c.Path() + " " + header, fingerprint: sha256.Sum256(c.BodyRaw()), now: s.Now}
	if !s.busy.enter(r.name) {
		c.Set(fiber.HeaderRetryAfter, "1") // by which programs tell it from other conflicts
		return wallet.Refuse(wallet.Conflict, "idempotency.running")
	}
	defer s.busy.leave(r.name)

	// First look for a stored response. Only then do the work.
	found, err := s.replay(c, r, resume)
	if found || err != nil {
		return err
	}
	// work has stored the response, if it succeeded.
	if err = work(r); err == nil {
		return nil
	}
	// Another node may have been quicker with the same request. Then nothing of this one was committed, and the other's
	// response is the response.
	if !errors.Is(err, store.ErrConflict) {
		resume = nil
	}
	if found, replayed := s.replay(c, r, resume); found {
		return replayed
	}
	return err
}

// replay sends the stored response of a request that was answered before, or resumes one whose outcome is open, unless resume
// is nil. It returns false if the key is free.
func (s *Server) replay(c *fiber.Ctx, r record, resume func(record, []byte) error) (found bool, _ error) {
	var stored store.IdempotencyRecord
	err := s.Store.View(c.UserContext(), func(tx store.Tx) (err error) {
		stored, err = tx.IdempotencyRecord(r.name, s.Now())
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	// The same key with another body: the caller made a mistake, and must not get the response to something else.
	case stored.Fingerprint != r.fingerprint:
		return true, wallet.Refuse(wallet.IdempotencyConflict, "idempotency.reused")
	// The outcome is open, and the caller does not continue it.
	case stored.Status == pending && resume == nil:
		return false, nil
	case stored.Status == pending:
		return true, resume(r, stored.Body)
	}
	c.Set("Idempotency-Replayed", "true")
	return true, sendJSON(c, stored.Status, stored.Body)
}

// idempotencyKey returns the header Idempotency-Key. INVALID_REQUEST if there are several, or if it is empty, too
// long or not printable ASCII.
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
