package browser

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/e2e/harness"
	"purser/sandbox/telegram"
)

// receiver is a developer's own, on loopback: it answers what it was told to, and remembers by which
// secrets it could verify what came.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	answer hostile
	got    []delivered
}

// hostile is what a receiver answers.
type hostile struct {
	Status int
	Text   []byte
	Times  int // that Text stands in the answer; 0 is once
}

type delivered struct {
	body             []byte
	sign, signBefore string
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{answer: hostile{Status: 200}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		r.got = append(r.got, delivered{body, q.Header.Get("x-service-signature"), q.Header.Get("x-service-signature-previous")})
		answer := r.answer
		r.mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(answer.Status)
		for range max(1, answer.Times) {
			if _, err := w.Write(answer.Text); err != nil {
				return // purser has read enough
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) answers(a hostile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = a
}

// verified tells whether the newest delivery was signed with a secret, and with the one before it.
func (r *receiver) verified(secret, before string) (now, then bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.got) == 0 {
		return false, false
	}
	last := r.got[len(r.got)-1]
	of := func(secret string) string {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(last.body)
		return "sha256=" + hex.EncodeToString(mac.Sum(nil))
	}
	return last.sign == of(secret), last.signBefore == of(before)
}

// hostileAnswers are what a receiver may say that would be more than text somewhere: by name.
func hostileAnswers() map[string]hostile {
	return map[string]hostile{
		"markup": {Status: 500, Text: []byte(`<script>globalThis.taken=1</script><img src=x onerror="globalThis.taken=1"><iframe srcdoc="<script>parent.taken=1</script>"></iframe><a href="javascript:taken=1">x</a><meta http-equiv=refresh content="0;url=https://evil.example/">`)},
		"bidi":   {Status: 500, Text: []byte("be\u202egro.elpmaxe//:sptth\u2066 \u200b\u0000\u0007\u001b[31mred ")},
		"towers": {Status: 500, Text: []byte("z" + strings.Repeat("\u0301", 400))},
		"bytes":  {Status: 500, Text: []byte("\xff\xfe\xed\xa0\x80\xc0\xaf latin \xe9"), Times: 20},
		"much":   {Status: 500, Text: []byte(strings.Repeat("A", 1<<16)), Times: 48},
		"wide":   {Status: 500, Text: []byte(strings.Repeat("W", 900))},
	}
}

// TestThePortalInTheBrowser: from the chat, by its link, a developer looks after webhooks; receivers that
// mean ill are shown and do nothing; and nobody comes in twice by one link.
func TestThePortalInTheBrowser(t *testing.T) {
	t.Parallel()
	executable := chromium(t)
	world := harness.World(t, 100*time.Millisecond)
	purser := harness.NewProduct(t, program, world, "PURSER_WEBHOOKS_ALLOW_PRIVATE=127.0.0.0/8", "PURSER_WEBHOOKS_ALLOW_HTTP=true", "PURSER_WEBHOOKS_SCHEDULE=1s",
		"PURSER_LOG_LEVEL=debug")
	purser.Start()
	hooks := newReceiver(t)
	var key string
	var end struct {
		walked
		Links, Sessions, Hooks []string
	}
	play(t, "portal.mjs", struct {
		settings
		Receiver string   `json:"receiver"`
		API      string   `json:"api"`
		Hostile  []string `json:"hostile"`
		Album    string   `json:"album"` // where pictures go; "" takes none
	}{settings{Chat: world.TelegramURL(), Page: purser.Pages + "/portal", Profiles: profiles(t), Executable: executable},
		hooks.URL, purser.URL, []string{"markup", "bidi", "towers", "bytes", "much", "wide"}, os.Getenv("PORTAL_PICTURES")}, operations{
		"key": func(value json.RawMessage) any {
			var kind string
			check(t, json.Unmarshal(value, &kind))
			out, err := purser.CLI("key", "create", "--json", "--tier", "pro", "--kind", kind, "--owner", strconv.FormatInt(telegram.Alice, 10), "--app", "Shop <b>")
			check(t, err)
			var made struct{ Key string }
			check(t, json.Unmarshal([]byte(out), &made))
			key = made.Key
			return made.Key[len(made.Key)-4:]
		},
		"answers": func(value json.RawMessage) any {
			var name string
			check(t, json.Unmarshal(value, &name))
			switch answer, known := hostileAnswers()[name]; {
			case known:
				hooks.answers(answer)
			case name == "well":
				hooks.answers(hostile{Status: 200, Text: []byte("thank you")})
			default:
				hooks.answers(hostile{Status: 503, Text: []byte("out of order")})
			}
			return nil
		},
		"verified": func(value json.RawMessage) any {
			var secrets [2]string
			check(t, json.Unmarshal(value, &secrets))
			now, then := hooks.verified(secrets[0], secrets[1])
			return []bool{now, then}
		},
		"many": func(value json.RawMessage) any { // tests, as a program has them made
			var id string
			check(t, json.Unmarshal(value, &id))
			for range 25 {
				req, err := http.NewRequest("POST", fmt.Sprintf("%s/v1/webhooks/%s/test", purser.URL, id), nil)
				check(t, err)
				req.Header.Set("Authorization", "Bearer "+key)
				resp, err := http.DefaultClient.Do(req)
				check(t, err)
				check(t, resp.Body.Close())
				if resp.StatusCode != 200 {
					t.Errorf("a test: %d", resp.StatusCode)
				}
			}
			return nil
		},
		"end": func(value json.RawMessage) any { // as another tab, or another node, has it
			var session string
			check(t, json.Unmarshal(value, &session))
			req, err := http.NewRequest("DELETE", purser.URL+"/v1/portal/session", nil)
			check(t, err)
			req.Header.Set("Authorization", "Bearer "+session)
			resp, err := http.DefaultClient.Do(req)
			check(t, err)
			check(t, resp.Body.Close())
			if resp.StatusCode != 200 {
				t.Errorf("the end of a session: %d", resp.StatusCode)
			}
			return nil
		},
		"restart": func(json.RawMessage) any { purser.Stop(); purser.Start(); return nil },
	}, &end)
	for _, f := range end.Findings {
		t.Error(f)
	}
	if len(end.Looked) < 10*4 {
		t.Errorf("axe looked at %q", end.Looked)
	}
	purser.Stop()

	t.Run("NoSecretIsWrittenDown", func(t *testing.T) {
		if len(end.Links) < 3 || len(end.Sessions) < 3 || len(end.Hooks) < 2 {
			t.Fatalf("%d links, %d sessions, %d secrets of webhooks", len(end.Links), len(end.Sessions), len(end.Hooks))
		}
		everywhere := append(files(t, purser.Dir), place{"the log of purser", []byte(purser.Log())})
		secrets := append(append(end.Links, end.Sessions...), end.Hooks...)
		for _, h := range search(needles{Texts: secrets}, everywhere) {
			t.Errorf("a secret of the portal, as %q, lies in %s", h.needle, h.place)
		}
		if len(search(needles{Texts: []string{"/v1/portal/session"}}, everywhere)) == 0 {
			t.Error("the search finds nothing at all")
		}
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
