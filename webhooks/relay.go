package webhooks

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

const (
	// relayAtOnce is how many outbox events are read in one View.
	relayAtOnce = 256
	// rowsAtOnce is the most deliveries that one transaction writes. It bounds how long other writers wait.
	rowsAtOnce = 1000
)

// relayPoll is how often the relay looks for events of other nodes. Their commits wake nobody on this node.
const relayPoll = 250 * time.Millisecond

// errLost says that another node has claimed the relay's job, so this one must write nothing more.
var errLost = errors.New("webhooks: another node relays")

// relay handles the one job of store.Relay: it turns outbox events into deliveries. Only one node at a time holds the job, so
// deliveries keep the order of their events. It goes on until no event came for the time linger: while events come often, one
// claim of the job then serves many of them.
//
// Its Commit puts the job again if outbox events are left, so that none waits without a job.
func (s *sender) relay(ctx context.Context, job store.Job) (work.Result, error) {
	for idle := time.Now(); time.Since(idle) < linger && !s.stops(ctx); {
		count, more, err := s.relaySome(ctx)
		switch {
		case errors.Is(err, errLost):
			return work.Result{}, nil // the job is another node's, so there is nothing to end
		case err != nil && !s.stops(ctx):
			return work.Result{}, fmt.Errorf("turn events into deliveries: %w", err)
		case count > 0:
			idle = time.Now()
		}
		if more {
			continue
		}
		// Wait for an event of this node, or look for those of other nodes.
		select {
		case <-ctx.Done():
		case <-s.stopping:
		case <-s.Store.Changed(store.RelaySignal):
		case <-time.After(relayPoll):
		}
	}
	return work.Result{Commit: func(tx store.Tx) error {
		// The job ends in the same transaction. An event that is emitted after it puts the job again.
		left, err := tx.OutboxEvents(1)
		if err != nil || len(left) == 0 {
			return err
		}
		again := job
		again.At, again.NotBefore = s.Now(), time.Time{}
		_, err = tx.PutJobs([]store.Job{again}, nil)
		return err
	}}, nil
}

// stops reports whether the service is stopping, so that no new work may begin.
func (s *sender) stops(ctx context.Context) bool {
	select {
	case <-s.stopping:
		return true
	default:
		return ctx.Err() != nil
	}
}

// relaySome turns a batch of outbox events into deliveries, counts them, and reports whether there may be more. An event
// with very many receivers takes several transactions; after a crash or a stop between them it is relayed from the start.
func (s *sender) relaySome(ctx context.Context) (count int, more bool, err error) {
	known := s.subscriptionsNow()
	var waiting []store.OutboxEvent
	var rows [][]store.Delivery // of each event in waiting, in the same order
	made := 0
	// Read events, and render one delivery for each webhook that may have them.
	err = s.Store.View(ctx, func(tx store.Tx) (err error) {
		if waiting, err = tx.OutboxEvents(relayAtOnce); err != nil {
			return err
		}
		for i, a := range waiting {
			if made >= rowsAtOnce {
				waiting, more = waiting[:i], true
				break
			}
			hooks, err := known.listeners(tx, eventScope{a.Event.Name, a.Event.User, a.Event.To}, s.Now())
			if err != nil {
				return err
			}
			of := s.deliveries(a.Event, hooks)
			rows, made = append(rows, of), made+len(of)
		}
		return nil
	})
	if err != nil || len(waiting) == 0 {
		return 0, false, err
	}
	// Write the deliveries in the order of the events. Each transaction also removes the events that it completes.
	count, more = len(waiting), more || len(waiting) == relayAtOnce
	for len(waiting) > 0 {
		n, some := cut(rows)
		numbers := make([]uint64, n)
		for i := range numbers {
			numbers[i] = waiting[i].Number
		}
		placed, err := s.place(ctx, some, numbers)
		if err != nil {
			return 0, false, fmt.Errorf("write deliveries: %w", err)
		}
		s.hand(placed)
		waiting, rows = waiting[n:], rows[n:]
	}
	return count, more, nil
}

// place writes deliveries, and removes the outbox events (done) that are complete with them, in one transaction. If the
// transaction fails, place tries it again by itself: starting over from the events would write the deliveries of earlier
// transactions a second time. If this node has room for more sessions, the same transaction claims jobs of webhooks for it.
//
// The errors are errLost, ctx's, store.ErrClosed and store.ErrUnknownOutcome.
func (s *sender) place(ctx context.Context, rows []store.Delivery, done []uint64) (placed []store.PlacedDelivery, err error) {
	for {
		// The claim by which this node relays. A later claim of the same job has another Ref.
		ref, ok := s.relays.Ref(relayJob)
		if !ok {
			return nil, errLost
		}
		// Some of these webhooks have no session here: claim their jobs in the same transaction, if there is room.
		var offer *store.Claim
		if !s.hasAll(rows) {
			offer = s.pool.Offer()
		}
		var claimed []store.Job
		err = s.Store.Update(ctx, func(tx store.Tx) (err error) {
			// The fence: a node that lost its lease while it was paused writes nothing.
			lost, err := tx.LostJobs(ref)
			if err == nil && len(lost) > 0 {
				err = errLost
			}
			if err != nil {
				return err
			}
			if placed, err = tx.PutDeliveries(rows); err != nil {
				return err
			}
			if offer != nil {
				offer.Max, offer.Now = min(offer.Max, rowsAtOnce), s.Now() // now: the Update may have waited long for its turn
				if claimed, _, err = tx.ClaimJobs(*offer); err != nil {
					return err
				}
			}
			return tx.DoneOutboxEvents(done)
		})
		if err == nil {
			s.pool.Hand(claimed)
			return placed, nil
		}
		if errors.Is(err, errLost) && s.renewed(ref) {
			continue
		}
		if ctx.Err() != nil || errors.Is(err, errLost) || store.IsFatal(err) {
			return nil, err
		}
		s.Logger.Error("writing deliveries failed: it is tried again", "error", err)
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(readAgain):
		}
	}
}

// relayJob is the name of the one job of store.Relay.
const relayJob store.JobID = "relay"

// renewed reports whether this node claimed the relay's job again meanwhile, as after the clock was set forward.
func (s *sender) renewed(was store.Ref) bool {
	ref, ok := s.relays.Ref(relayJob)
	return ok && ref != was
}

// cut takes the first deliveries, at most rowsAtOnce, and returns them with the number of events that they complete.
// The rest of an event that is too large for one transaction stays at the front of rows.
func cut(rows [][]store.Delivery) (done int, some []store.Delivery) {
	for done < len(rows) {
		room := rowsAtOnce - len(some)
		if of := rows[done]; len(of) > room {
			some, rows[done] = append(some, of[:room]...), of[room:]
			return done, some
		}
		some = append(some, rows[done]...)
		done++
	}
	return done, some
}

// deliveries returns a delivery of the event for each webhook. Webhooks of keys of one kind share the bytes of the body, which
// is rendered once. If the event cannot be rendered for a kind, that is logged and its webhooks get nothing.
func (s *Service) deliveries(e wallet.Event, hooks []wallet.Webhook) []store.Delivery {
	bodies := map[wallet.KeyKind][]byte{}
	now := s.Now().UTC()
	out := make([]store.Delivery, 0, len(hooks))
	for _, hook := range hooks {
		// A body is rendered once for each kind of keys.
		body, tried := bodies[hook.Kind]
		if !tried {
			var err error
			if body, err = Body(hook.Kind, e); err != nil {
				s.Logger.Error("an event cannot be rendered: it is left out", "event", e.Name, "id", e.ID, "error", err)
			}
			bodies[hook.Kind] = body
		}
		if body != nil {
			out = append(out, deliveryOf(hook, e, body, now))
		}
	}
	return out
}

// deliveryOf returns a new delivery, due now. Its OrderingKey is the subject of the event: deliveries of one wallet or chat
// are sent in their order.
func deliveryOf(hook wallet.Webhook, e wallet.Event, body []byte, now time.Time) store.Delivery {
	return store.Delivery{ID: deliveryID(now, string(hook.ID), e.ID), Webhook: hook.ID, EventID: e.ID, Event: e.Name, User: e.User,
		OrderingKey: e.Subject, Urgency: urgencyOf(e.Name), Body: body, CreatedAt: now, NextAt: now}
}

// deliveryID returns "dlv_", 11 hex digits of the time in milliseconds, and 16 of a hash of parts. The same event and webhook
// at the same time give the same ID. IDs sort by time, so that deliveries made together lie together in the store and the log.
func deliveryID(at time.Time, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "/")))
	var millis [8]byte
	binary.BigEndian.PutUint64(millis[:], uint64(at.UnixMilli()))
	return "dlv_" + hex.EncodeToString(millis[:])[5:] + hex.EncodeToString(sum[:8])
}

// urgencyOf returns how urgent an event is, by the first word of its name. Where deliveries compete for a slot, more urgent
// ones are sent first.
func urgencyOf(name wallet.EventName) store.Urgency {
	family, _, _ := strings.Cut(string(name), ".")
	switch family {
	case "transaction", "wallet", "stake", "webhook":
		return store.Money
	case "price":
		return store.Prices
	}
	return store.Normal
}
