package terminal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// listening runs a listener against a purser that says what answer writes, and returns what it printed and
// its error.
func listening(t *testing.T, answer http.HandlerFunc, forward string) (string, error) {
	t.Helper()
	purser := httptest.NewServer(answer)
	defer purser.Close()
	var out strings.Builder
	l := &Listener{Key: "pur_test_x", Events: []string{"*"}, Out: &out, Now: time.Now}
	var err error
	if l.API, err = url.Parse(purser.URL); err != nil {
		t.Fatal(err)
	}
	if forward != "" {
		if l.Forward, err = url.Parse(forward); err != nil {
			t.Fatal(err)
		}
	}
	err = l.listen(t.Context())
	return out.String(), err
}

const (
	firstLine = `{"success":true,"data":{"events":["*"],"secret":"whsec_x"},"message":"Listening."}` + "\n"
	eventLine = `{"success":true,"data":{"headers":{"Webhook-Id":"evt_1"},"body":"{\"event\":\"price.alert\"}"},"message":"Event."}` + "\n"
)

// TestListenFollowsNoRedirect: neither the key nor an event goes anywhere else than where it was sent.
func TestListenFollowsNoRedirect(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		away := http.RedirectHandler(other.URL, status).ServeHTTP
		_, err := listening(t, away, "")
		var refused *refusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), fmt.Sprintf("status %d: redirects are not followed", status)) {
			t.Errorf("purser answers %d: %v", status, err)
		}
		receiver := httptest.NewServer(http.HandlerFunc(away))
		printed, _ := listening(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, firstLine, eventLine) }, receiver.URL)
		receiver.Close()
		if !strings.Contains(printed, fmt.Sprintf("→ %d", status)) {
			t.Errorf("the receiver answers %d: %s", status, printed)
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// TestListenEndsWhenItsKeyDoes, and tries again where the key is still good.
func TestListenEndsWhenItsKeyDoes(t *testing.T) {
	for code, ends := range map[string]bool{"INVALID_API_KEY": true, "TIER_REQUIRED": true, "INSUFFICIENT_SCOPE": true, "WEBHOOK_NOT_FOUND": false} {
		last := `{"success":false,"error":{"code":"` + code + `","message":"No.","details":"because \u001b[2J","field":"","reason":"why.so","arguments":{}}}` + "\n"
		_, err := listening(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, firstLine, last) }, "")
		var refused *refusedError
		if errors.As(err, &refused) != ends || !strings.Contains(fmt.Sprint(err), code+" why.so: because") || strings.Contains(fmt.Sprint(err), "\x1b") {
			t.Errorf("%s: %v", code, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	purser := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, firstLine, `{"error":{"code":"INVALID_API_KEY","message":"The key has ended.","details":""}}`+"\n")
	}))
	defer purser.Close()
	at, err := url.Parse(purser.URL)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := (&Listener{API: at, Out: &out, Now: time.Now}).Run(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("it goes on: %v\n%s", err, out.String())
	} else if !strings.HasSuffix(err.Error(), "INVALID_API_KEY: The key has ended.") {
		t.Errorf("without details it reads %q", err)
	}
}
