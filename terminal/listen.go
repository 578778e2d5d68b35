package terminal

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// longestLine bounds one event of the stream: purser's own bodies are far smaller.
const longestLine = 1 << 20

// silence is how long a connection may be silent: purser sends a heartbeat every 10 seconds.
const silence = 35 * time.Second

// straight follows no redirect: a key, and events, go to the addresses that were named and to no other.
var straight = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// Listener takes events from purser's API over one connection and hands them to a receiver on this machine.
type Listener struct {
	API     *url.URL // public_url of the purser that is listened to
	Key     string   // an API key or bot token
	Events  []string
	Forward *url.URL // where they are posted to; nil: they are printed
	Out     io.Writer
	Now     func() time.Time
}

// Run listens until ctx ends or purser refuses. It reopens a broken connection. Events in between are not received.
func (l *Listener) Run(ctx context.Context) error {
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		began := l.Now()
		err := l.listen(ctx)
		var refused *refusedError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &refused):
			return err
		}
		if l.Now().Sub(began) > time.Minute { // it had worked
			wait = time.Second
		}
		hint := ""
		if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
			hint = fmt.Sprintf(" Is purser at %s? You can give another address with --api.", l.API)
		}
		fmt.Fprintf(l.Out, "The connection ended (%v).%s Trying again in %s.\n", err, hint, wait)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// listen opens one connection and follows it to its end.
func (l *Listener) listen(ctx context.Context) error {
	// Every line, a heartbeat too, sets the timer back. When it fires, the request ends with our own reason as its cause.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(silence, func() { cancel(errors.New("purser stopped answering")) })
	defer quiet.Stop()
	path := "/v1/webhooks/listen"
	if strings.HasPrefix(l.Key, "pur_bot_") {
		path = "/v1/telegram/webhook/listen"
	}
	at := l.API.JoinPath(path)
	at.RawQuery = url.Values{"events": {strings.Join(l.Events, ",")}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+l.Key)
	resp, err := straight.Do(req)
	if err != nil {
		return plainly(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return refusal(resp)
	}
	// The response is a stream that ends with the connection: one JSON object in each line.
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		quiet.Reset(silence)
		if err := l.follow(ctx, lines.Bytes()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return plainly(ctx, err)
	}
	return errors.New("purser closed it")
}

// plainly is why a connection failed: our own reason where there is one, without the address and its query.
func plainly(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var asked *url.Error
	if errors.As(err, &asked) {
		return asked.Err
	}
	return err
}

// failed is the error of an envelope.
type failed struct{ Code, Reason, Message, Details string }

// text shows an error to a person: code and reason, by which the documentation and programs name it, and a sentence. The
// sentence names the field to blame, and has the arguments.
func (f failed) text() string {
	name := strings.TrimSpace(tame(f.Code, 50) + " " + tame(f.Reason, 100))
	return name + ": " + tame(cmp.Or(f.Details, f.Message), 300)
}

// refusal is what purser said instead of listening; one that may pass is no refusedError.
func refusal(resp *http.Response) error {
	var said struct {
		Error failed `json:"error"`
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	text := fmt.Sprintf("status %d", resp.StatusCode)
	switch {
	case json.Unmarshal(raw, &said) == nil && said.Error.Code != "":
		text = said.Error.text()
	case resp.StatusCode >= 300 && resp.StatusCode <= 399:
		text += ": redirects are not followed, since the key would go with them; name the address itself"
	}
	// These may pass: Run tries again. Anything else is the same the next time.
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
		return errors.New(text)
	}
	return &refusedError{text}
}

// follow handles one line of the stream.
func (l *Listener) follow(ctx context.Context, raw []byte) error {
	var line struct {
		Error failed `json:"error"`
		Data  struct {
			Events  []string          `json:"events"`
			Secret  string            `json:"secret"`
			Headers map[string]string `json:"headers"`
			Body    string            `json:"body"`
		} `json:"data"`
	}
	if err := json.Unmarshal(raw, &line); err != nil {
		return errors.New("purser sent something that is no event")
	}
	switch d := line.Data; {
	case line.Error.Code == "WEBHOOK_NOT_FOUND": // the connection's webhook was removed: purser restarted
		return errors.New(line.Error.text())
	case line.Error.Code != "": // the key can no longer listen
		return &refusedError{line.Error.text()}
	case d.Secret != "":
		fmt.Fprintf(l.Out, "Listening for %s. While this connection lasts, the signing secret is %s\n", tame(strings.Join(d.Events, ", "), 300), tame(d.Secret, 100))
	case d.Body != "":
		var event struct{ Event string }
		if err := json.Unmarshal([]byte(d.Body), &event); err != nil {
			return errors.New("purser sent an event that is no JSON")
		}
		fmt.Fprintf(l.Out, "%s  %s  %s", l.Now().Format(time.TimeOnly), tame(event.Event, 50), l.hand(ctx, d.Headers, d.Body))
	}
	return nil
}

// hand posts an event to the receiver, and prints the result in one line.
func (l *Listener) hand(ctx context.Context, headers map[string]string, body string) string {
	if l.Forward == nil {
		return tame(body, longestLine) + "\n"
	}
	// A receiver that hangs holds up the events behind it, so it gets 30 seconds, like the receiver of a webhook.
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.Forward.String(), bytes.NewReader([]byte(body)))
	if err != nil {
		return fmt.Sprintf("→ %v\n", err)
	}
	// The headers are those of a webhook delivery, signature included, so the receiver can verify it as in production.
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	began := l.Now()
	resp, err := straight.Do(req)
	if err != nil {
		return fmt.Sprintf("→ %v\n", plainly(ctx, err))
	}
	defer resp.Body.Close()
	return fmt.Sprintf("%s → %d in %d ms\n", tame(headers["Webhook-Id"], 100), resp.StatusCode, l.Now().Sub(began).Milliseconds())
}
