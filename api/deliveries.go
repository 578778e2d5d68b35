package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// deliveryData is a delivery in a list, from the delivery log. Times are "" if there is none.
type deliveryData struct {
	DeliveryID string              `json:"delivery_id"`
	EventID    string              `json:"event_id"`
	Event      wallet.EventName    `json:"event"`
	State      store.DeliveryState `json:"state"`
	CreatedAt  string              `json:"created_at"`
	NextAt     string              `json:"next_at"`  // of the next attempt, while it waits; else ""
	EndedAt    string              `json:"ended_at"` // "" while it waits
	Resend     bool                `json:"resend"`
	Attempts   int                 `json:"attempts"`
	LastStatus int                 `json:"last_status"` // HTTP status of the last attempt; 0: no answer, or no attempt
	LastError  string              `json:"last_error"`  // why the last attempt failed; "" if it did not
}

// deliveriesData is `data` of GET …/deliveries, newest first. A page may have fewer entries than the limit, and still not be
// the last.
type deliveriesData struct {
	Deliveries []deliveryData `json:"deliveries"`
	NextCursor string         `json:"next_cursor"`
}

// wholeDeliveryData is `data` of GET …/deliveries/{delivery_id}.
type wholeDeliveryData struct {
	deliveryData
	Body      string        `json:"body"`       // exactly the bytes that are signed and sent; "" if they may not be shown
	BodyShown bool          `json:"body_shown"` // the key may still read the event, and the body is still kept
	Attempted []attemptData `json:"attempted"`
}

// attemptData is one attempt.
type attemptData struct {
	At        string `json:"at"`
	LatencyMS int64  `json:"latency_ms"`
	Status    int    `json:"status"` // HTTP status; 0: no answer
	Error     string `json:"error"`
	Answer    string `json:"answer"` // the first KiB, as text
}

// recoveredData is `data` of POST …/recover.
type recoveredData struct {
	Recovered int    `json:"recovered"`
	NextSince string `json:"next_since"` // `since` of the request that continues; "" if all deliveries were looked at
}

// deliveryOf renders a delivery for a list.
func (s *Server) deliveryOf(e store.LogEntry) deliveryData {
	d := deliveryData{DeliveryID: e.ID, EventID: e.EventID, Event: e.Event, State: e.State, CreatedAt: stamp(e.CreatedAt), EndedAt: stamp(e.EndedAt),
		Resend: e.Resend, Attempts: len(e.Attempted)}
	if e.State == store.DeliveryWaiting {
		d.NextAt = stamp(e.NextAt)
	}
	if n := len(e.Attempted); n > 0 {
		d.LastStatus, d.LastError = e.Attempted[n-1].Status, s.explainReason(e.Attempted[n-1].Reason)
	}
	return d
}

// deliveries is GET …/deliveries?state&event&since&cursor&limit: a page of the delivery log, newest first.
func (s *Server) deliveries(c *fiber.Ctx, key wallet.Key) error {
	id, err := hookID(c, key)
	if err != nil {
		return err
	}
	f, err := deliveryFilter(c, key.Kind)
	if err != nil {
		return err
	}
	page, err := s.Webhooks.Deliveries(c.UserContext(), handlers.CallerOf(key), id, f)
	if err != nil {
		return err
	}
	data := deliveriesData{Deliveries: []deliveryData{}, NextCursor: page.Next}
	for _, e := range page.Entries {
		data.Deliveries = append(data.Deliveries, s.deliveryOf(e))
	}
	return s.succeed(c, fiber.StatusOK, "done.deliveries", data)
}

// deliveryFilter parses the query of a list of deliveries. kind decides which events there are.
func deliveryFilter(c *fiber.Ctx, kind wallet.KeyKind) (f handlers.DeliveryFilter, err error) {
	q, err := query(c, "state", "event", "since", "cursor", "limit")
	if err != nil {
		return f, err
	}
	f.State, f.Event, f.Cursor = store.DeliveryState(q["state"]), wallet.EventName(q["event"]), q["cursor"]
	if f.State != "" && !f.State.Known() {
		return f, bad("state", "body.one_of", wallet.ListArg("Choices", store.DeliveryStates()))
	}
	// A misspelt event is refused. Otherwise its list would be empty, and look right.
	known := f.Event == "" || f.Event == wallet.WebhookTest
	for _, name := range wallet.EventsOf(kind) {
		known = known || f.Event == name
	}
	if !known {
		return f, bad("event", "body.event")
	}
	if f.Since, err = parseMoment("since", q["since"]); err != nil {
		return f, err
	}
	f.Limit, err = parseLimit(q["limit"])
	return f, err
}

// deliveryID returns the webhook and the delivery that the path names. NOT_FOUND for a malformed id.
func deliveryID(c *fiber.Ctx, key wallet.Key) (hook wallet.WebhookID, id string, err error) {
	if hook, err = hookID(c, key); err != nil {
		return hook, "", err
	}
	if id = c.Params("delivery_id"); !saneID(id) {
		err = wallet.Refuse(wallet.NotFound, "delivery.unknown")
	}
	return hook, id, err
}

// delivery is GET …/deliveries/{delivery_id}: one delivery with its body and attempts. The answers of receivers are
// shown as text, with replacement characters for bytes that are not UTF-8.
func (s *Server) delivery(c *fiber.Ctx, key wallet.Key) error {
	hook, id, err := deliveryID(c, key)
	if err != nil {
		return err
	}
	e, shown, err := s.Webhooks.Delivery(c.UserContext(), handlers.CallerOf(key), hook, id)
	if err != nil {
		return err
	}
	data := wholeDeliveryData{deliveryData: s.deliveryOf(e), Body: string(e.Body), BodyShown: shown, Attempted: []attemptData{}}
	for _, a := range e.Attempted {
		data.Attempted = append(data.Attempted, attemptData{stamp(a.At), a.Latency.Milliseconds(), a.Status, s.explainReason(a.Reason), strings.ToValidUTF8(string(a.ResponseBody), "\ufffd")})
	}
	return s.succeed(c, fiber.StatusOK, "done.delivery", data)
}

// resend is POST …/deliveries/{delivery_id}/resend. It sends the same event again, as a new delivery with the same
// event id.
func (s *Server) resend(c *fiber.Ctx, key wallet.Key) error {
	hook, id, err := deliveryID(c, key)
	if err != nil {
		return err
	}
	if _, _, err := aboutHook(c, key, optionalBody); err != nil {
		return err
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		who := handlers.CallerOf(key)
		// Read the delivery from the log before the transaction: the log is in files of its own.
		again, err := s.Webhooks.PrepareResend(c.UserContext(), who, hook, id)
		if err != nil {
			return err
		}
		defer s.Webhooks.Wake(again.Webhook)
		return s.answer(c, fiber.StatusAccepted, saveAnswer, func(tx store.Tx) ([]byte, error) {
			if err := s.Webhooks.CommitResend(tx, who, hook, again); err != nil {
				return nil, err
			}
			return s.envelope("done.resend", s.deliveryOf(store.LogEntry{Delivery: again, State: store.DeliveryWaiting}))
		})
	})
}

// recover is POST …/recover {since}. It makes dead-lettered deliveries wait again, each under its own id. If there
// are too many for one request, next_since in the response is the since of the next. The deliveries are stored before
// the idempotency record. After a crash in between, a retry puts back, and counts, only those that do not wait already.
func (s *Server) recover(c *fiber.Ctx, key wallet.Key) error {
	id, fields, err := aboutHook(c, key, jsonBody, "since")
	if err != nil {
		return err
	}
	text, err := fields.text("since")
	if err != nil {
		return err
	}
	since, err := parseMoment("since", text)
	if err != nil {
		return err
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		done, err := s.Webhooks.Recover(c.UserContext(), handlers.CallerOf(key), id, since)
		if err != nil {
			return err
		}
		return s.answer(c, fiber.StatusAccepted, saveAnswer, func(store.Tx) ([]byte, error) {
			return s.envelope("done.recovered", recoveredData{done.Count, stamp(done.Next)}, wallet.NumberArg("Count", done.Count))
		})
	})
}
