package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock is a clock that moves only when told to.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Unix(1_750_000_000, 0)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// world is a Telegram on a real socket.
type world struct {
	*Server
	t    *testing.T
	http *httptest.Server
}

// newWorld opens a Telegram without limits: a test's clock may stand still.
func newWorld(t *testing.T, o Options) *world {
	t.Helper()
	o.Unlimited = true
	return newLimitedWorld(t, o)
}

func newLimitedWorld(t *testing.T, o Options) *world {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Server: s, t: t, http: httptest.NewServer(s.Handler())}
	t.Cleanup(w.stop)
	return w
}

// stop ends the process: what it did not keep on disk is lost.
func (w *world) stop() {
	w.http.CloseClientConnections()
	if err := w.Close(); err != nil {
		w.t.Error(err)
	}
	w.http.Close()
}

func (w *world) url(method string) string { return w.http.URL + "/bot" + w.Token() + "/" + method }

// reply is a Bot API answer.
type reply struct {
	Status      int
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int `json:"retry_after"`
	} `json:"parameters"`
}

func (r reply) message(t *testing.T) Message {
	t.Helper()
	if !r.OK {
		t.Fatalf("refused: %s", r.Description)
	}
	var m Message
	if err := json.Unmarshal(r.Result, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// call makes a Bot API call with a JSON body.
func (w *world) call(method string, params map[string]any) reply {
	w.t.Helper()
	body, err := json.Marshal(params)
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := http.Post(w.url(method), "application/json", bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	return readReply(w.t, res)
}

func readReply(t *testing.T, res *http.Response) reply {
	t.Helper()
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := reply{Status: res.StatusCode}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatalf("%s: not JSON: %q", res.Status, data)
	}
	if r.OK == (r.ErrorCode != 0) || !r.OK && r.ErrorCode != r.Status {
		t.Errorf("envelope does not fit status %d: %s", res.StatusCode, data)
	}
	return r
}

func (w *world) say(user int64, text string) int64 {
	w.t.Helper()
	id, err := w.Say(user, text)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// update is what getUpdates gives, as far as the tests look.
type update struct {
	ID       int64    `json:"update_id"`
	Message  *Message `json:"message"`
	Edited   *Message `json:"edited_message"`
	Callback *struct {
		ID      string  `json:"id"`
		From    User    `json:"from"`
		Data    string  `json:"data"`
		Message Message `json:"message"`
	} `json:"callback_query"`
	MyChatMember json.RawMessage `json:"my_chat_member"`
}

func (w *world) updates(params map[string]any) []update {
	w.t.Helper()
	r := w.call("getUpdates", params)
	var list []update
	if !r.OK {
		w.t.Fatalf("getUpdates: %s", r.Description)
	}
	if err := json.Unmarshal(r.Result, &list); err != nil {
		w.t.Fatal(err)
	}
	return list
}

// soon bounds a wait for something that should happen at once.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func texts(messages []Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, m.Body())
	}
	return strings.Join(all, " | ")
}
