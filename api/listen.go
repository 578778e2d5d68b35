package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"purser/store"
	"purser/wallet"
)

// usualBeat is how often a connection that listens is written to while nothing happens, so that either side finds
// out when the other is gone, and how often it is asked whether the key may still listen.
const usualBeat = 10 * time.Second

// listeningData is `data` of the first line of GET …/listen.
type listeningData struct {
	Events []string `json:"events"`
	Secret string   `json:"secret"` // signs what comes, for as long as the connection lasts
}

// receivedData is `data` of each further line: what a receiver would have been sent. The body's bytes are what is
// signed. Both are empty on a line that only says that the connection lives.
type receivedData struct {
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// listen is GET /v1/webhooks/listen?events=…, and the same of a bot token: lines of JSON, each an envelope, for
// as long as the connection lasts. The last one is a refusal where the key may not listen any more. No HEAD: there
// is no end of it whose length could be known.
func (s *Server) listen(c *fiber.Ctx, key wallet.Key) error {
	if c.Method() == fiber.MethodHead {
		c.Set(fiber.HeaderAllow, fiber.MethodGet)
		return fiber.ErrMethodNotAllowed
	}
	asked, err := query(c, "events")
	if err != nil {
		return err
	}
	events := []string{"*"}
	if asked["events"] != "" {
		events = strings.Split(asked["events"], ",")
	}
	if len(events) > maxEvents {
		return bad("events", "body.too_many", wallet.NumberArg("Most", maxEvents))
	}
	made, err := s.Webhooks.PrepareListener(key, events)
	if err != nil {
		return err
	}
	ear := &eventStream{s: s, hook: made, received: make(chan receivedData), taken: make(chan error)}
	ear.ctx, ear.over = context.WithCancel(s.serving)
	ear.stop = s.Webhooks.Listen(made.ID, ear.take)
	if err := s.Store.Update(c.UserContext(), func(tx store.Tx) error { return s.Webhooks.CommitListener(tx, made) }); err != nil {
		ear.hangUp()
		return err
	}
	own, ours := c.Context().Conn().(*conn)
	if ours {
		own.lasting.Store(true)
	}
	c.Set(fiber.HeaderContentType, "application/x-ndjson")
	s.lasting.Add(1) // fasthttp writes on a goroutine of its own
	c.Status(fiber.StatusOK).Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer s.lasting.Done()
		defer func() {
			ear.hangUp()
			if ours { // another request may come over it
				own.lasting.Store(false)
			}
		}()
		ear.write(w, listeningData{made.Events, made.Secret})
	})
	return nil
}

// eventStream is one connection that listens.
type eventStream struct {
	s        *Server
	hook     wallet.Webhook
	ctx      context.Context // ends with the connection
	over     context.CancelFunc
	stop     func()
	received chan receivedData
	taken    chan error // of what was received
}

// take hands an event to the connection. Whether it arrives there nobody knows.
func (e *eventStream) take(ctx context.Context, header http.Header, body []byte) error {
	h := receivedData{Headers: map[string]string{}, Body: string(body)}
	for name := range header {
		h.Headers[name] = header.Get(name)
	}
	select {
	case e.received <- h:
	case <-e.ctx.Done():
		return e.ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-e.taken:
		return err
	case <-e.ctx.Done():
		return e.ctx.Err()
	}
}

// hangUp ends the connection's webhook with it.
func (e *eventStream) hangUp() {
	e.over()
	e.stop()
	err := e.s.Store.Update(context.Background(), func(tx store.Tx) error { return e.s.Webhooks.RemoveListener(tx, e.hook.ID) })
	if err != nil {
		e.s.Log.Error("a listener's webhook is left over until the next start", "webhook", e.hook.ID, "error", err)
		return
	}
	e.s.Webhooks.Wake(e.hook.ID)
}

// write writes what is received until the connection or the server ends.
func (e *eventStream) write(w *bufio.Writer, first listeningData) {
	if e.line(w, "done.listening", first) != nil {
		return
	}
	ticker := time.NewTicker(e.s.beat)
	defer ticker.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-ticker.C:
			if e.beat(w) != nil {
				return
			}
		case h := <-e.received:
			err := e.line(w, "done.event", h)
			select {
			case e.taken <- err:
			case <-e.ctx.Done():
			}
			if err != nil {
				return
			}
		}
	}
}

// beat says that the connection lives, or why it ends, which is its error too.
func (e *eventStream) beat(w *bufio.Writer) error {
	refused := e.s.Webhooks.CheckListener(e.ctx, e.hook)
	if wallet.CodeOf(refused) == wallet.Internal { // else the store is in trouble, or the server ends: the next beat asks again
		refused = nil
	}
	if refused == nil {
		return e.line(w, "done.alive", receivedData{Headers: map[string]string{}})
	}
	known := labelled(refused)
	body, err := json.Marshal(e.s.failure(known))
	if err != nil {
		return err
	}
	return errors.Join(refused, e.put(w, body))
}

func (e *eventStream) line(w *bufio.Writer, said string, data any) error {
	body, err := e.s.envelope(said, data)
	if err != nil {
		return err
	}
	return e.put(w, body)
}

func (e *eventStream) put(w *bufio.Writer, body []byte) error {
	if _, err := w.Write(append(body, '\n')); err != nil {
		return err
	}
	return w.Flush()
}
