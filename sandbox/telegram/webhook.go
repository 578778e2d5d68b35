package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// secretShape is the form of a secret token, which Telegram sends in a header of each request.
var secretShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`) })

// setWebhook switches the bot from getUpdates to a webhook. An empty URL switches back.
func (s *Server) setWebhook(q *request) (result, error) {
	target := strings.TrimSpace(q.text("url"))
	if target == "" {
		return s.deleteWebhook(q)
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return result{}, badRequest("bad webhook: invalid URL specified")
	}
	// Telegram accepts https only. The sandbox also accepts http to a loopback address.
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "https" && !(u.Scheme == "http" && ip != nil && ip.IsLoopback()) {
		return result{}, badRequest("bad webhook: An HTTPS URL must be provided for webhook")
	}
	// The secret is optional. The receiver can check by it that an update comes from Telegram.
	secret := q.text("secret_token")
	if secret != "" && !secretShape().MatchString(secret) {
		return result{}, badRequest("secret token contains unallowed characters")
	}
	connections := q.number("max_connections", 40)
	if connections < 1 || connections > 100 {
		connections = 40
	}
	hook := &webhook{URL: target, Secret: secret, MaxConnections: int(connections), IP: q.text("ip_address")}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.st.Profile
	if err := s.setAllowed(q, &next); err != nil {
		return result{}, err
	}
	// Setting the same webhook again is a success, with another description.
	same := next.Webhook != nil && *next.Webhook == *hook
	next.Webhook = hook
	// A waiting getUpdates call ends, because the bot has switched.
	s.endPoll("setWebhook request")
	s.hook = hookTrouble{}
	if err := s.commit(append(s.dropPending(q), change{Profile: &next})...); err != nil {
		return result{}, err
	}
	if same {
		return result{true, "Webhook is already set"}, nil
	}
	return result{true, "Webhook was set"}, nil
}

// deleteWebhook switches the bot to getUpdates. Updates that wait stay, unless the call drops them.
func (s *Server) deleteWebhook(q *request) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.st.Profile
	had := next.Webhook != nil
	next.Webhook = nil
	s.hook = hookTrouble{}
	if err := s.commit(append(s.dropPending(q), change{Profile: &next})...); err != nil {
		return result{}, err
	}
	if !had {
		return result{true, "Webhook is already deleted"}, nil
	}
	return result{true, "Webhook was deleted"}, nil
}

// dropPending removes all waiting updates if the call asks for it. Callers hold s.mu.
func (s *Server) dropPending(q *request) []change {
	n := len(s.st.Updates)
	if n == 0 || !q.flag("drop_pending_updates") {
		return nil
	}
	return []change{{Ack: s.st.Updates[n-1].ID}}
}

// hookTrouble is the last failed delivery, as getWebhookInfo returns it: Unix seconds and a description.
type hookTrouble struct {
	at   int64
	what string
}

// getWebhookInfo returns the webhook and its last error. That error is cleared when a webhook is set or deleted.
func (s *Server) getWebhookInfo(*request) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := struct {
		URL         string   `json:"url"`
		Certificate bool     `json:"has_custom_certificate"`
		Pending     int      `json:"pending_update_count"`
		IP          string   `json:"ip_address,omitempty"`
		ErrorAt     int64    `json:"last_error_date,omitempty"`
		Error       string   `json:"last_error_message,omitempty"`
		Connections int      `json:"max_connections,omitempty"`
		Allowed     []string `json:"allowed_updates,omitempty"`
	}{Pending: len(s.st.Updates), Allowed: s.st.Profile.Allowed, ErrorAt: s.hook.at, Error: s.hook.what}
	if h := s.st.Profile.Webhook; h != nil {
		info.URL, info.IP, info.Connections = h.URL, h.IP, h.MaxConnections
	}
	return result{value: info}, nil
}

// Run delivers updates to the webhook while one is set, one at a time and in order. It repeats each after 1, 2, 4,
// ... 60 seconds until the receiver answers 2xx. It returns nil when ctx ends or the Server closes.
func (s *Server) Run(ctx context.Context) error {
	failures := 0
	for {
		s.mu.Lock()
		// The oldest update goes first. The next one waits until it was accepted.
		hook, changed := s.st.Profile.Webhook, s.changed
		var next *pendingUpdate
		if hook != nil && len(s.st.Updates) > 0 {
			u := s.st.Updates[0]
			next = &u
		}
		s.mu.Unlock()
		if next == nil {
			failures = 0
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return nil
			case <-s.done:
				return nil
			}
		}
		trouble := s.deliver(ctx, hook, next)
		// When ctx ends during a delivery, the update stays and goes out after the next start.
		if ctx.Err() != nil {
			return nil
		}
		if trouble == "" {
			failures = 0
			continue
		}
		s.mu.Lock()
		s.hook = hookTrouble{s.unix(), trouble}
		s.mu.Unlock()
		// The delay doubles with each failure, up to a minute. A new webhook ends it early.
		failures++
		if !s.pause(ctx, hook, min(time.Second<<min(failures-1, 6), time.Minute)) {
			return nil
		}
	}
}

// pause waits d, or until the webhook changes. It returns false if Run has to stop.
func (s *Server) pause(ctx context.Context, hook *webhook, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		s.mu.Lock()
		now, changed := s.st.Profile.Webhook, s.changed
		s.mu.Unlock()
		if now == nil || *now != *hook {
			return true
		}
		select {
		case <-timer.C:
			return true
		case <-changed:
		case <-ctx.Done():
			return false
		case <-s.done:
			return false
		}
	}
}

// deliver posts one update, and removes it once the receiver has it. If the process dies in between, the receiver
// gets the update again after the restart. It returns a description of what went wrong, as in last_error_message, or
// "".
func (s *Server) deliver(ctx context.Context, hook *webhook, u *pendingUpdate) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.URL, bytes.NewReader(u.Body))
	if err != nil {
		return "Wrong webhook URL"
	}
	req.Header.Set("Content-Type", "application/json")
	if hook.Secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", hook.Secret)
	}
	// The default client follows no redirects, so a 3xx counts as a failure.
	res, err := s.opt.Client.Do(req)
	if err != nil {
		var timeout net.Error
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			return "Connection refused"
		case errors.As(err, &timeout) && timeout.Timeout():
			return "Connection timed out"
		}
		return "Connection failed"
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return "Wrong response from the webhook: " + res.Status
	}
	if err != nil {
		return "Read timeout expired"
	}
	// The webhook may have changed during the request. Its answer then counts for nothing.
	s.mu.Lock()
	same := s.st.Profile.Webhook != nil && *s.st.Profile.Webhook == *hook
	if same {
		err = s.commit(change{Ack: u.ID})
	}
	s.mu.Unlock()
	if err != nil {
		return err.Error()
	}
	if same {
		s.callFromAnswer(req, body)
	}
	return ""
}

// callFromAnswer carries out the method call that a receiver may put into its response. Its result goes nowhere, as
// in Telegram; Calls lists it.
func (s *Server) callFromAnswer(r *http.Request, body []byte) {
	q := &request{r: r, params: map[string]string{}, files: map[string]upload{}}
	// The receiver's body is optional; one that is no method call is ignored.
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || q.readJSON(bytes.NewReader(body)) != nil {
		return
	}
	m, known := s.methods[strings.ToLower(q.text("method"))]
	if !known || m.name == "getUpdates" {
		return
	}
	delete(q.params, "method")
	status, answer := answerBody(s.run(m, q))
	s.record(Call{Method: m.name, Params: q.params, At: s.opt.Now(), Status: status, Answer: string(answer)})
}
