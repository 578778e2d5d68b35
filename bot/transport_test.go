package bot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	tele "gopkg.in/telebot.v3"

	"purser/chat"
	"purser/sandbox/telegram"
)

const testToken = "123456789:AAF-this-is-a-very-secret-token"

func testTransport(t *testing.T, address string) *transport {
	t.Helper()
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	w := newTransport(base, testToken, nil)
	t.Cleanup(w.next.(*http.Transport).CloseIdleConnections)
	return w
}

// troubles are ways in which the answer of a call can go wrong, most of them with the token in it.
func troubles(t *testing.T) map[string]string {
	t.Helper()
	serve := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	dead := httptest.NewServer(nil)
	dead.Close()
	elsewhere := serve(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("a redirect was followed to %s", r.URL) })
	return map[string]string{
		"nobody listens":          dead.URL,
		"no such host":            "http://no-such-host.invalid",
		"plain http behind https": strings.Replace(serve(func(http.ResponseWriter, *http.Request) {}), "http:", "https:", 1),
		"redirect": serve(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusTemporaryRedirect)
		}),
		"302": serve(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusFound)
		}),
		"echo in HTML": serve(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprintf(w, "<html>%s is down</html>", r.URL.Path)
		}),
		"echo in JSON": serve(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"ok":false,"error_code":400,"description":"Bad Request: no %s here"}`, r.URL.Path)
		}),
		"echo as a string": serve(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%q", r.URL.Path) }),
		"200 without ok":   serve(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"path":%q}`, r.URL.Path) }),
		"an odd result":    serve(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"ok":true,"result":%q}`, r.URL.Path) }),
		"an odd error": serve(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"ok":false,"parameters":%q}`, r.URL.Path)
		}),
		"a broken answer": serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			_, _ = io.WriteString(w, "{")
		}),
		"no answer": serve(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		"500 in JSON": serve(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"ok":false,"error_code":500,"description":"x"}`)
		}),
		"hang": serve(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // net/http notices a caller's going only after the body
			<-r.Context().Done()
		}),
		"port 0": "http://" + net.JoinHostPort("127.0.0.1", "0"),
	}
}

func leaks(text string) bool {
	_, secret, _ := strings.Cut(testToken, ":")
	return strings.Contains(text, secret) || strings.Contains(text, url.QueryEscape(secret)) || strings.Contains(text, "AAF-this")
}

func TestNoErrorHoldsTheToken(t *testing.T) {
	for name, address := range troubles(t) {
		w := testTransport(t, address)
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		if name != "hang" {
			ctx, cancel = context.WithTimeout(context.Background(), 20*time.Second)
		}
		var result struct{ ID int }
		err := w.call(ctx, "sendMessage", map[string]string{"text": "x"}, &result)
		cancel()
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if leaks(err.Error()) || leaks(fmt.Sprintf("%+v", err)) || leaks(fmt.Sprint(errors.Unwrap(err))) {
			t.Errorf("%s: the error holds the token: %v", name, err)
		}
		if !errors.As(err, new(*transportError)) && refused(err) == nil {
			t.Errorf("%s: an error of unknown kind: %T", name, err)
		}

		// telebot's own way, through the same client.
		r, err := newRouter(newTalker(), w, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if name == "hang" {
			continue // telebot gives its calls no deadline; we make none through it
		}
		if _, err = r.tele.Send(tele.ChatID(1), "x"); err != nil && leaks(err.Error()) && name != "echo in JSON" {
			t.Errorf("%s: telebot's error holds the token: %v", name, err)
		}
		if leaks(r.tele.Token) || leaks(r.tele.URL) {
			t.Error("telebot was given the token")
		}
	}
}

// The control: without our transport, net/http and telebot do put the token into errors.
func TestTheControlLeaksTheToken(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	_, err := http.Get(dead.URL + "/bot" + testToken + "/getMe")
	if err == nil || !leaks(err.Error()) {
		t.Errorf("net/http: %v", err)
	}
	_, err = tele.NewBot(tele.Settings{URL: dead.URL, Token: testToken})
	if err == nil || !leaks(err.Error()) {
		t.Errorf("telebot: %v", err)
	}
}

func TestNoLogHoldsTheToken(t *testing.T) {
	for name, address := range troubles(t) {
		if name == "hang" {
			continue
		}
		w := newWorld(t)
		w.opt.Token, w.opt.APIURL = testToken, address
		b, err := New(w.opt)
		w.must(nil, err)
		ctx, cancel := context.WithCancel(w.ctx())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		w.eventually(name+": the trouble is told", func() bool { return strings.Contains(w.log.String(), "level=") || len(ended) > 0 })
		cancel()
		if err := <-ended; err != nil && leaks(err.Error()) {
			t.Errorf("%s: Run's error holds the token", name)
		}
		if leaks(w.log.String()) {
			t.Errorf("%s: the log holds the token:\n%s", name, w.log)
		}
	}
	w := newWorld(t)
	for _, bad := range []string{"ftp://x/" + testToken, "://" + testToken, ""} {
		w.opt.Token, w.opt.APIURL, w.opt.Mode = testToken, bad, "odd"
		if _, err := New(w.opt); err == nil || leaks(err.Error()) {
			t.Errorf("New: %v", err)
		}
	}
}

func TestTheTransportServesTelegramOnly(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it went out") }))
	defer other.Close()
	w := testTransport(t, other.URL)
	if _, err := w.client.Post(other.URL+"/x", "text/plain", strings.NewReader("x")); err == nil {
		t.Error("no error")
	}
}

func TestTheTransportReachesServersUnderAPath(t *testing.T) {
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.URL.Path
		fmt.Fprint(w, `{"ok":true,"result":true}`)
	}))
	defer s.Close()
	for _, suffix := range []string{"/api/v1", "/api/v1/"} {
		if err := testTransport(t, s.URL+suffix).call(context.Background(), "getMe", nil, nil); err != nil {
			t.Fatal(err)
		}
		if got != "/api/v1/bot"+testToken+"/getMe" {
			t.Errorf("the path was %s", got)
		}
	}
}

func TestABotThatCannotServeIsRefusedAtOnce(t *testing.T) {
	w := newWorld(t)
	for name, change := range map[string]func(*Options){
		"no store":          func(o *Options) { o.Store = nil },
		"no talker":         func(o *Options) { o.Chat = nil },
		"no token":          func(o *Options) { o.Token = "" },
		"odd mode":          func(o *Options) { o.Mode = "push" },
		"odd address":       func(o *Options) { o.APIURL = "telegram.org" },
		"no webhook URL":    func(o *Options) { o.Mode, o.WebhookSecret = Webhook, "s" },
		"no webhook secret": func(o *Options) { o.Mode, o.WebhookURL = Webhook, "https://example.com" },
		"odd secret":        func(o *Options) { o.Mode, o.WebhookURL, o.WebhookSecret = Webhook, "https://example.com", "a b" },
	} {
		o := w.opt
		change(&o)
		if _, err := New(o); err == nil || !strings.HasPrefix(err.Error(), "bot: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWaitsAfterFailuresAreRandom: both pools draw their waits from the source that main gives.
func TestWaitsAfterFailuresAreRandom(t *testing.T) {
	w := newWorld(t)
	w.opt.Random = strings.NewReader("chance")
	b, err := New(w.opt)
	w.must(nil, err)
	if b.inbox.Schedule.Random != w.opt.Random || b.outbox.Schedule.Random != w.opt.Random {
		t.Error("a pool has another source")
	}
}

// TestTheProfileIsToldInEachLanguageWhenItChanged: a restart repeats nothing.
func TestTheProfileIsToldInEachLanguageWhenItChanged(t *testing.T) {
	w := newWorld(t)
	w.must(nil, w.telegram.AddUser(telegram.User{ID: 2001, FirstName: "Dora", LanguageCode: "de"}, ""))
	w.must(nil, w.telegram.AddUser(telegram.User{ID: 2002, FirstName: "Sara", LanguageCode: "sw"}, ""))
	profile := func(language, start, description, short string) chat.Profile {
		return chat.Profile{Language: language, Commands: []chat.Command{{Name: "start", Description: start}, {Name: "send", Description: "SOL"}}, Description: description, Short: short}
	}
	english, german := profile("", "Begin", "An echo.", "Echo"), profile("de", "Los", "Ein Echo.", "Das Echo")
	told, runs := 0, 0
	// run starts a bot, and gives the calls that it changed the profile by. The last text is new each time.
	run := func(profiles ...chat.Profile) (changes []string) {
		t.Helper()
		runs++
		end := fmt.Sprint("run ", runs)
		w.talker.profiles = append(profiles, profile("zz", "x", "x", end))
		_, stop := w.run()
		w.must(nil, w.telegram.WaitFor(w.ctx(), func() bool {
			return slices.ContainsFunc(w.calls("setMyShortDescription"), func(c telegram.Call) bool { return c.Params["short_description"] == end && c.Status == 200 })
		}))
		stop()
		all := w.telegram.Calls()
		for _, c := range all[told:] {
			if strings.HasPrefix(c.Method, "setMy") && c.Params["language_code"] != "zz" {
				changes = append(changes, c.Method+" "+c.Params["language_code"])
			}
		}
		told = len(all)
		return changes
	}
	if got, want := run(english, german), []string{"setMyCommands ", "setMyDescription ", "setMyShortDescription ", "setMyCommands de", "setMyDescription de", "setMyShortDescription de"}; !slices.Equal(got, want) {
		t.Errorf("at first %q", got)
	}
	for id, want := range map[int64]string{2001: "Los", 2002: "Begin", telegram.Alice: "Begin"} {
		if menu := w.telegram.Commands(id); len(menu) != 2 || menu[0].Description != want {
			t.Errorf("%d sees %v", id, menu)
		}
	}
	if got := run(english, german); len(got) != 0 {
		t.Errorf("unchanged: %q", got)
	}
	german.Commands[1].Description = "SOL senden"
	if got := run(english, german); !slices.Equal(got, []string{"setMyCommands de"}) {
		t.Errorf("another command: %q", got)
	}
	german.Description, english.Short = "Ein neues Echo.", "An echo"
	if got := run(english, german); !slices.Equal(got, []string{"setMyShortDescription ", "setMyDescription de"}) {
		t.Errorf("other texts: %q", got)
	}
}

func TestTheSandboxSeesNoWebApp(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.must(w.telegram.Say(telegram.Alice, "/start"))
	m := w.hears(telegram.Alice, "you said: /start")
	query, err := w.telegram.TapData(telegram.Alice, m.ID, "x")
	w.must(nil, err)
	if _, err := w.telegram.WaitToast(w.ctx(), query); err != nil {
		t.Fatal(err)
	}
	w.must(nil, w.telegram.WaitFor(w.ctx(), func() bool { return len(w.calls("setMyCommands")) == 1 }))
	var all bytes.Buffer
	for _, c := range w.telegram.Calls() {
		fmt.Fprintln(&all, c.Method, c.Params)
	}
	if strings.Contains(all.String(), "web_app") || strings.Contains(all.String(), "setChatMenuButton") {
		t.Errorf("the calls:\n%s", &all)
	}
}

// answering answers every call with the same bytes.
type answering struct {
	status int
	body   []byte
}

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(a.body)), Request: req}, nil
}

// FuzzAnswer: whatever answers in Telegram's place, a call ends in a result or in one of the two errors that callers
// know, whose text tells nothing of the token, or of what Telegram quoted; and its updates are read or left.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"ok":true,"result":[{"update_id":1,"message":{"message_id":1,"from":{"id":7},"chat":{"id":7,"type":"private"},"text":"hi"}}]}`,
		`{"ok":true,"result":{"message_id":5}}`, `{"ok":true,"result":true}`, `{"ok":true}`, `{"ok":true,"result":null}`,
		`{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 99999999999","parameters":{"retry_after":99999999}}`,
		`{"ok":false,"error_code":-1,"parameters":{"retry_after":-5}}`, `{"ok":false,"description":"quoted-secret"}`, `{"ok":"yes"}`, `[]`, ``, `{"ok":true,"result":[{"update_id":-1}]}`,
	} {
		f.Add(200, []byte(body))
		f.Add(502, []byte(body))
	}
	const token = "123456:fuzz-token"
	base, err := url.Parse("https://api.example")
	if err != nil {
		f.Fatal(err)
	}
	read := testReader()
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		w := newTransport(base, token, answering{status, body})
		var updates []json.RawMessage
		var me account
		var sent struct {
			ID int `json:"message_id"`
		}
		for method, result := range map[string]any{"getUpdates": &updates, "getMe": &me, "sendMessage": &sent, "answerCallbackQuery": nil} {
			err := w.call(t.Context(), method, struct{}{}, result)
			var quiet *transportError
			no := refused(err)
			if err != nil && no == nil && !errors.As(err, &quiet) {
				t.Errorf("%s: an error of another kind: %T %v", method, err, err)
			}
			if err != nil && (strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "quoted-secret")) {
				t.Errorf("%s: the error tells too much: %v", method, err)
			}
			if no != nil && (no.retryAfter < 0 || no.retryAfter > 24*time.Hour) {
				t.Errorf("%s: a wait of %s", method, no.retryAfter)
			}
		}
		for _, raw := range updates {
			if u, err := read.arrived(raw); err == nil && u.id < 0 {
				t.Errorf("an update of the id %d", u.id)
			}
		}
	})
}
