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

// usualBeat is the interval between keep-alive lines on a listening connection. A failed write shows the server that the
// client is gone; a missing line shows the client that the server is. Each beat also checks that the key may still listen.
const usualBeat = 10 * time.Second

// listeningData is `data` of the first line of GET …/listen.
type listeningData struct {
	Events []string `json:"events"`
	Secret string   `json:"secret"` // signs what comes, for as long as the connection lasts
}

// receivedData is `data` of each further line: the headers and body that a webhook endpoint would have received. The
// signature covers the bytes of Body. Both fields are empty on a keep-alive line.
type receivedData struct {
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// listen is GET /v1/webhooks/listen?events=…, and the same endpoint for bot tokens. It streams lines of JSON, each an
// envelope, for as long as the connection lasts. If the key loses the right to listen, the last line is that error.
// HEAD is refused: the stream has no length to report.
//
// Order: the listener is attached before its webhook is stored, so that no event is queued that nothing can take.
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
	// Draws an id and a secret for a webhook that lives as long as the connection.
	made, err := s.Webhooks.PrepareListener(key, events)
	if err != nil {
		return err
	}
	// The stream ends with the connection, or when the server begins to drain (serving).
	ear := &eventStream{s: s, hook: made, received: make(chan receivedData), taken: make(chan error)}
	ear.ctx, ear.over = context.WithCancel(s.serving)
	ear.stop = s.Webhooks.Listen(made.ID, ear.take)
	if err := s.Store.Update(c.UserContext(), func(tx store.Tx) error { return s.Webhooks.CommitListener(tx, key, made) }); err != nil {
		ear.hangUp()
		return err
	}
	// From here on each write has a deadline of its own (conn.lasting).
	own, ours := c.Context().Conn().(*conn)
	if ours {
		own.lasting.Store(true)
	}
	c.Set(fiber.HeaderContentType, "application/x-ndjson")
	s.lasting.Add(1) // fasthttp runs the writer below on its own goroutine; shutdown waits for it
	c.Status(fiber.StatusOK).Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer s.lasting.Done()
		defer func() {
			ear.hangUp()
			if ours { // the client may send another request over this connection
				own.lasting.Store(false)
			}
		}()
		ear.write(w, listeningData{made.Events, made.Secret})
	})
	return nil
}

// eventStream is one listening connection and its temporary webhook. A webhook session passes events in through take; the
// connection's own goroutine runs write. The two channels are unbuffered: take hands over one event and then waits for
// the result of writing it.
type eventStream struct {
	s        *Server
	hook     wallet.Webhook
	ctx      context.Context // ends with the connection
	over     context.CancelFunc
	stop     func()
	received chan receivedData
	taken    chan error // the result of writing the last event from received
}

// take passes an event to the connection and returns the result of writing it. nil means that the bytes were written to
// the socket; the client does not acknowledge them, so they may still be lost on the way.
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

// hangUp ends the stream: it detaches the listener and then deletes its webhook. It does not use the request's context,
// because the row must go even while the server shuts down. If the deletion fails, the row stays until the next start.
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

// write writes the first line, then events and keep-alive lines, until the connection or the server ends.
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

// beat writes a keep-alive line. If the key may no longer listen, it writes that error as the last line and returns it.
func (e *eventStream) beat(w *bufio.Writer) error {
	refused := e.s.Webhooks.CheckListener(e.ctx, e.hook)
	if wallet.CodeOf(refused) == wallet.Internal { // a store failure or a shutdown, no refusal: the next beat checks again
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

// line writes one envelope. said is the catalogue's key of its message.
func (e *eventStream) line(w *bufio.Writer, said string, data any) error {
	body, err := e.s.envelope(said, data)
	if err != nil {
		return err
	}
	return e.put(w, body)
}

// put writes a line and flushes it, so that the client gets it at once.
func (e *eventStream) put(w *bufio.Writer, body []byte) error {
	if _, err := w.Write(append(body, '\n')); err != nil {
		return err
	}
	return w.Flush()
}
