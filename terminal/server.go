package terminal

import (
	"bytes"
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
	"unicode"

	"purser/wallet"
)

// link is what a chat sends: where the server is, and the secret after #.
type link struct {
	origin *url.URL
	kind   string // "b" connects a wallet, "s" signs a transaction, "u" unfreezes an account, "l" sets spending limits
	secret string
}

// readLink reads {origin}/w/#b=…, #s=…, #u=… or #l=…, as the chat sends them; plain http only to this machine.
func readLink(text string) (link, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	wrong := errors.New("that is no link of purser's: copy the whole link behind the button in your chat")
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Path != "/w/" {
		return link{}, wrong
	}
	kind, secret, ok := strings.Cut(u.Fragment, "=")
	secret, _, _ = strings.Cut(secret, "&") // a link may name a language for the page: &lang=de
	if !ok || kind != "b" && kind != "s" && kind != "u" && kind != "l" || secret == "" || len(secret) > 128 {
		return link{}, wrong
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "https" && !(u.Scheme == "http" && ip != nil && ip.IsLoopback()) {
		return link{}, errors.New("the link is not https: others on the network could change what you sign")
	}
	return link{&url.URL{Scheme: u.Scheme, Host: u.Host}, kind, secret}, nil
}

// caller talks to /w as the signing page does, with its Origin header: the server answers no other origin.
type caller struct {
	origin *url.URL
	http   *http.Client
}

func newCaller(origin *url.URL) *caller {
	return &caller{origin, &http.Client{
		Timeout: 30 * time.Second,
		// A redirect would carry the link's secret to somewhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// refusedError is an error response of the server.
type refusedError struct{ message string }

func (r *refusedError) Error() string { return "the server refuses: " + r.message }

// maxAnswer bounds a response of the server, in bytes.
const maxAnswer = 64 << 10

// post sends one JSON object and reads one into answer. A *refusedError has the server's own sentence, made safe to print.
// After any other error nobody knows whether the server took the request.
func (c *caller) post(ctx context.Context, path string, body, answer any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.origin.JoinPath(path).String(), bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", c.origin.String())
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("the server at %s does not answer: %w", c.origin.Host, errors.Unwrap(err)) // its own text holds the URL
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("the server at %s broke off: %w", c.origin.Host, err)
	}
	if resp.StatusCode == http.StatusOK {
		if json.Unmarshal(got, answer) != nil {
			return errors.New("the server sent something unexpected; nothing was signed")
		}
		return nil
	}
	var refusal struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(got, &refusal) != nil || refusal.Error.Message == "" {
		return fmt.Errorf("the server at %s answered with status %d", c.origin.Host, resp.StatusCode)
	}
	return &refusedError{tame(refusal.Error.Message, 300)}
}

// tame makes foreign text safe for a terminal: control, format and invisible characters become U+FFFD, so that nothing
// moves the cursor, reorders the line or hides in it. longest is the most characters that are shown.
func tame(text string, longest int) string {
	var out strings.Builder
	for i, r := range []rune(strings.ToValidUTF8(text, "\uFFFD")) {
		if i == longest {
			out.WriteRune('…')
			break
		}
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) || wallet.Unseen(r) {
			r = '\uFFFD'
		}
		out.WriteRune(r)
	}
	return out.String()
}
