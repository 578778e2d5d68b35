package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	client "purser/clients/go"
	"purser/e2e/harness"
	"purser/sandbox/telegram"
)

// TestListenHandsEventsToAReceiverOnThisMachine goes all the way: a person writes to the bot, and what a
// webhook would have been sent arrives at the developer's own receiver, signed with the secret that was shown.
func TestListenHandsEventsToAReceiverOnThisMachine(t *testing.T) {
	w := harness.World(t, 50*time.Millisecond)
	i := newInstance(t).beside(w)
	i.start("serve")
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(i.says("key", "create", "--kind", "bot", "--tier", "pro", "--json")), &made); err != nil {
		t.Fatal(err)
	}
	type delivery struct {
		header http.Header
		body   []byte
	}
	came := make(chan delivery, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came <- delivery{r.Header, body}
	}))
	defer receiver.Close()

	listening := &instance{t: t}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, "purser", []string{"listen", "--api", i.public, "--forward-to", receiver.URL + "/hook", "--events", "user.registered"},
			[]string{"PURSER_API_KEY=" + made.Key}, listening, listening)
	}()
	shown := regexp.MustCompile(`whsec_\S+`)
	for deadline := time.Now().Add(harness.Wait); shown.FindString(listening.printed()) == ""; <-time.After(5 * time.Millisecond) { // it prints to us
		if time.Now().After(deadline) {
			t.Fatalf("it does not listen: %s", listening.printed())
		}
	}
	alice := harness.NewPerson(t, w, telegram.Alice)
	alice.Say("/start")
	select {
	case d := <-came:
		if err := client.VerifyWebhook(shown.FindString(listening.printed()), d.header, d.body, time.Now()); err != nil {
			t.Errorf("%v\n%v\n%s", err, d.header, d.body)
		}
		if !strings.Contains(string(d.body), `"event":"user.registered"`) {
			t.Errorf("got %s", d.body)
		}
	case <-time.After(harness.Wait):
		t.Fatalf("nothing came: %s", listening.printed())
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("ended with %d: %s", code, listening.printed())
	}
	if strings.Contains(listening.printed(), made.Key) || strings.Contains(i.printed(), shown.FindString(listening.printed())) {
		t.Error("a secret is printed or logged")
	}
}

// TestListenSaysInOneLineWhatIsInTheWay.
func TestListenSaysInOneLineWhatIsInTheWay(t *testing.T) {
	w := harness.World(t, 50*time.Millisecond)
	i := newInstance(t).beside(w)
	i.start("serve")
	at := []string{"listen", "--api", i.public}
	i.fails(at, "no key", "PURSER_API_KEY")
	i.fails(append(at, "pur_bot_x"), "no arguments", "--key-file")
	i.env = append(i.env, "PURSER_API_KEY=pur_test_wrong")
	i.fails(at, "INVALID_API_KEY")
	i.fails([]string{"listen", "--api", "http://example.com"}, "https")
	i.fails(append(at, "--forward-to", "localhost:3000"), "--forward-to", "http://")
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(i.says("key", "create", "--tier", "free", "--json")), &made); err != nil {
		t.Fatal(err)
	}
	i.env = append(i.env[:len(i.env)-1], "PURSER_API_KEY="+made.Key)
	i.fails(at, "TIER_REQUIRED")
}
