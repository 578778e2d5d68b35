package telegram

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// visit makes a request to the page as a browser would; headers are "Name: value".
func (w *world) visit(method, path, body string, headers ...string) (int, http.Header, string) {
	w.t.Helper()
	req, err := http.NewRequest(method, w.http.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		} else {
			req.Header.Set(name, value)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(data)
}

func TestPageIsSelfContained(t *testing.T) {
	w := newWorld(t, Options{})
	status, header, html := w.visit("GET", "/", "")
	if status != 200 || !strings.Contains(html, "purser sandbox") {
		t.Fatalf("%d %.80s", status, html)
	}
	csp := header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(csp, want) {
			t.Errorf("policy lacks %s", want)
		}
	}
	files, err := pageFiles.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		status, header, body := w.visit("GET", "/page/"+f.Name(), "")
		if status != 200 || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d", f.Name(), status)
		}
		for _, never := range []string{"innerHTML", "insertAdjacentHTML", "document.write", "https://", "telegram-web-app"} {
			if strings.Contains(body, never) {
				t.Errorf("%s contains %s", f.Name(), never)
			}
		}
	}
	for _, path := range []string{"/page/../server.go", "/page/nothing.js", "/page/", "/app/", "/etc"} {
		if status, _, _ := w.visit("GET", path, ""); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestOtherSitesAreRefused(t *testing.T) {
	w := newWorld(t, Options{})
	say := `{"as":1001,"text":"hi"}`
	for _, c := range []struct {
		path, body string
		headers    []string
		want       int
	}{
		{"/app/say", say, nil, 200},
		{"/app/say", say, []string{"Origin: " + w.http.URL, "Sec-Fetch-Site: same-origin"}, 200},
		{"/app/say", say, []string{"Origin: https://evil.example"}, 403},
		{"/app/say", say, []string{"Origin: null"}, 403},
		{"/app/say", say, []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"/app/say", say, []string{"Host: evil.example:8081"}, 403},
		{"/app/say", say, []string{"Host: 192.0.2.1:8081"}, 403},
		{"/app/say", say, []string{"Content-Type: text/plain"}, 415},
		{"/bot" + w.Token() + "/sendMessage", `{"chat_id":1001,"text":"x"}`, []string{"Origin: https://evil.example"}, 403},
		{"/bot" + w.Token() + "/sendMessage", `{"chat_id":1001,"text":"x"}`, []string{"Host: evil.example"}, 403},
	} {
		if status, _, body := w.visit("POST", c.path, c.body, c.headers...); status != c.want {
			t.Errorf("%s %v: %d %s, want %d", c.path, c.headers, status, body, c.want)
		}
	}
	if got := texts(w.Messages(Alice)); got != "hi | hi" {
		t.Error(got)
	}
}

// TestPageOffersOnlyWhatTheSandboxHas: what it has not is not found, and the page is told.
func TestPageOffersOnlyWhatTheSandboxHas(t *testing.T) {
	w := newWorld(t, Options{})
	for _, path := range []string{"faucet", "approval", "epoch"} {
		if status, _, got := w.visit("POST", "/app/"+path, `{"address":"9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin","sol":1}`); status != 404 || !strings.Contains(got, "This sandbox") {
			t.Errorf("%s: %d %s", path, status, got)
		}
	}
	if _, _, state := w.visit("GET", "/app/state", ""); !strings.Contains(state, `"faucet":false`) || !strings.Contains(state, `"approvals":false`) || !strings.Contains(state, `"epochs":false`) {
		t.Errorf("the page is told %s", state)
	}
}

func TestPageActsForItsPerson(t *testing.T) {
	var paid string
	var lamports uint64
	var given string
	var units uint64
	var planted string
	const rich = "4Nd1mYx3eG7zkkLwZP2v5Wk5gWv8vNGJkQXKQvYb1hQd"
	epoch := uint64(7)
	w := newWorld(t, Options{Faucet: func(_ context.Context, address string, n uint64) error {
		if paid != "" {
			return errors.New("the cluster is down")
		}
		paid, lamports = address, n
		return nil
	}, FaucetToken: func(_ context.Context, owner, symbol string, n uint64) error {
		if given != "" {
			return errors.New("the mint is frozen")
		}
		given, units = symbol+" to "+owner, n
		return nil
	}, PlantApproval: func(owner, symbol string, units uint64) (string, error) {
		if planted != "" {
			return "", errors.New("the journal is full")
		}
		if owner != rich {
			return "", ErrNothingToPlant
		}
		planted = fmt.Sprint(units, " ", symbol)
		return "Thief", nil
	}, NextEpoch: func(context.Context) (uint64, error) {
		if epoch++; epoch > 8 {
			return 0, errors.New("the journal is full")
		}
		return epoch, nil
	}})
	post := func(path, body string, want int, says string) string {
		t.Helper()
		status, _, got := w.visit("POST", "/app/"+path, body)
		if status != want || !strings.Contains(got, says) {
			t.Errorf("%s %s: %d %s", path, body, status, got)
		}
		return got
	}
	post("say", `{"as":1001,"text":"  "}`, 400, "nothing to send")
	post("say", `{"as":7,"text":"x"}`, 400, "Reload")
	post("say", `nonsense`, 400, "Reload")
	post("say", `{"as":1001,"text":"`+strings.Repeat("x", maxPageBody)+`"}`, 413, "too long")
	post("say", `{"as":1001,"text":"/start"}`, 200, "")
	m := w.call("sendMessage", map[string]any{"chat_id": Alice, "text": "?", "reply_markup": `{"inline_keyboard":[[{"text":"Go","callback_data":"1"},{"text":"Web","url":"http://127.0.0.1/"}]]}`}).message(t)
	var tapped struct {
		ID string `json:"query_id"`
	}
	at := `{"as":1001,"message_id":` + jsonText(m.ID)
	if err := json.Unmarshal([]byte(post("tap", at+`,"row":0,"col":0}`, 200, "query_id")), &tapped); err != nil || tapped.ID == "" {
		t.Error(err)
	}
	for _, where := range []string{`,"row":0,"col":1}`, `,"row":5,"col":0}`, `,"row":-1,"col":0}`, `,"row":0,"col":99}`} {
		post("tap", at+where, 409, "gone")
	}
	post("contact", `{"as":1001}`, 200, "")
	post("read", at+`}`, 200, "")
	post("block", `{"as":1001,"blocked":true}`, 200, "")
	post("say", `{"as":1001,"text":"x"}`, 409, "Unblock")

	const address = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"
	post("faucet", `{"address":"0x12","sol":1}`, 400, "not an address")
	post("faucet", `{"address":"`+address+`","sol":11}`, 400, "1 to 10")
	post("faucet", `{"address":"`+address+`","sol":-1}`, 400, "")
	post("faucet", `{"address":"`+address+`","sol":5}`, 200, "")
	if paid != address || lamports != 5_000_000_000 {
		t.Errorf("paid %d to %s", lamports, paid)
	}
	post("faucet", `{"address":"`+address+`","sol":1}`, 502, "the cluster is down")
	post("faucet", `{"address":"`+address+`","usdc":1001}`, 400, "1 to 1000 USDC")
	post("faucet", `{"address":"`+address+`","usdc":-1}`, 400, "")
	post("faucet", `{"address":"`+address+`","usdc":1,"sol":1}`, 400, "both")
	post("faucet", `{"address":"0x12","usdc":1}`, 400, "not an address")
	post("faucet", `{"address":"`+address+`","usdc":100}`, 200, "")
	if given != "USDC to "+address || units != 100_000_000 || lamports != 5_000_000_000 {
		t.Errorf("gave %d %s, and %d lamports", units, given, lamports)
	}
	post("faucet", `{"address":"`+address+`","usdc":1}`, 502, "the mint is frozen")

	post("approval", `{"address":"0x12"}`, 400, "not an address")
	post("approval", `{"address":"`+address+`"}`, 409, "Get 100 USDC first")
	post("approval", `{"address":" `+rich+` "}`, 200, `{"delegate":"Thief"}`)
	if planted != "25000000 USDC" {
		t.Errorf("planted %q", planted)
	}
	post("approval", `{"address":"`+rich+`"}`, 502, "the journal is full")

	post("epoch", `{}`, 200, `{"epoch":8}`)
	post("epoch", `{}`, 502, "the journal is full")

	_, _, state := w.visit("GET", "/app/state", "")
	if !strings.Contains(state, `"approvals":true`) {
		t.Error("the page does not know that approvals can be planted")
	}
	if !strings.Contains(state, `"epochs":true`) {
		t.Error("the page does not know that there are epochs")
	}
	var s struct {
		Faucet      bool `json:"faucet"`
		FaucetToken bool `json:"faucet_token"`
		People      []struct {
			User    User `json:"user"`
			Blocked bool
			Read    int64
		} `json:"people"`
	}
	if err := json.Unmarshal([]byte(state), &s); err != nil {
		t.Fatal(err)
	}
	if !s.Faucet || !s.FaucetToken || len(s.People) != 2 || s.People[0].User.ID != Alice || !s.People[0].Blocked || s.People[0].Read != m.ID {
		t.Errorf("%+v", s)
	}
	if strings.Contains(state, w.Token()) {
		t.Error("the page is told the bot's token")
	}
}

func TestPageShowsMail(t *testing.T) {
	if status, _, _ := newWorld(t, Options{}).visit("GET", "/app/mails", ""); status != 404 {
		t.Errorf("a mail box without a mail server: %d", status)
	}
	mails := []Mail{}
	w := newWorld(t, Options{Mails: func() []Mail { return mails }})
	if _, _, state := w.visit("GET", "/app/state", ""); !strings.Contains(state, `"mail":true`) {
		t.Errorf("the page is not told of its mail box: %s", state)
	}
	if status, _, got := w.visit("GET", "/app/mails", ""); status != 200 || got != `{"mails":[]}` {
		t.Errorf("%d %s", status, got)
	}
	mails = append(mails, Mail{To: "alice@example.org", From: "purser@sandbox.example", Subject: "Your code", Text: "<b>1</b>", At: 1})
	w.MailCame()
	if _, _, got := w.visit("GET", "/app/mails", ""); !strings.Contains(got, `"subject":"Your code"`) || strings.Contains(got, "<b>") {
		t.Errorf("got %s", got)
	}
}

// listen opens the event stream and gives a function that reads the next "data:" or "event:" line.
func (w *world) listen(after, lastID string) func() string {
	w.t.Helper()
	req, err := http.NewRequestWithContext(soon(w.t), "GET", w.http.URL+"/app/events?after="+after, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	return func() string {
		for lines.Scan() {
			if l := lines.Text(); strings.HasPrefix(l, "data:") || strings.HasPrefix(l, "event:") || strings.HasPrefix(l, "id:") {
				return l
			}
		}
		return "end"
	}
}

func TestEventsStreamAndResume(t *testing.T) {
	w := newWorld(t, Options{})
	next := w.listen(w.feed.epoch+".0", "")
	w.say(Alice, "one")
	w.say(Alice, "two")
	first := next()
	if first != "id: "+w.feed.epoch+".1" {
		t.Fatal(first)
	}
	if data := next(); !strings.Contains(data, `"kind":"message"`) || !strings.Contains(data, `"text":"one"`) {
		t.Error(data)
	}
	resumed := w.listen("nonsense", strings.TrimPrefix(first, "id: "))
	resumed()
	if data := resumed(); !strings.Contains(data, `"text":"two"`) {
		t.Error(data)
	}
	for _, stale := range []string{"other.1", w.feed.epoch + ".999", "", w.feed.epoch + ".-5"} {
		lost := w.listen(stale, "")
		lost()
		if l := lost(); l != "event: reset" {
			t.Errorf("after %q: %s", stale, l)
		}
	}
}

func TestFeedForgetsTheDistantPast(t *testing.T) {
	var f feed
	for range feedLength + 10 {
		f.add(event{Kind: "profile"})
	}
	if _, whole := f.since(1); whole {
		t.Error("events that are gone were promised")
	}
	got, whole := f.since(feedLength)
	if !whole || len(got) != 10 || got[0].Seq != feedLength+1 {
		t.Errorf("%v %d", whole, len(got))
	}
}

// counter is a shop that remembers what it was asked.
type counter struct{ paid bool }

func (*counter) Items() []Item { return []Item{{"tea", "Tea", "1 SOL"}} }

func (*counter) Order(item string) (string, string, error) {
	if item != "tea" {
		return "", "", ErrNoOrder
	}
	return "ref-1", "solana:shop?amount=1", nil
}

func (c *counter) Paid(_ context.Context, reference string) (bool, error) {
	if reference == "broken" {
		return false, errors.New("no node")
	}
	if reference != "ref-1" {
		return false, ErrNoOrder
	}
	return c.paid, nil
}

func TestPageBuysFromTheShop(t *testing.T) {
	shop := &counter{}
	w := newWorld(t, Options{Shop: shop})
	if _, _, state := w.visit("GET", "/app/state", ""); !strings.Contains(state, `"shop":[{"id":"tea","name":"Tea","price":"1 SOL"}]`) {
		t.Errorf("state: %s", state)
	}
	status, _, says := w.visit("POST", "/app/buy", `{"as":1001,"item":"tea"}`)
	if status != 200 || says != `{"reference":"ref-1"}` {
		t.Errorf("buy: %d %s", status, says)
	}
	if all := w.Messages(Alice); len(all) != 1 || all[0].Text != "solana:shop?amount=1" || all[0].FromBot() {
		t.Errorf("chat: %+v", all)
	}
	for _, c := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/app/paid", `{"reference":"ref-1"}`, 200, `{"paid":false}`},
		{"/app/paid", `{"reference":"ref-2"}`, 404, "does not know this order"},
		{"/app/paid", `{"reference":"broken"}`, 502, "cannot reach Solana"},
		{"/app/buy", `{"as":1001,"item":"car"}`, 404, "does not know this order"},
	} {
		if status, _, says := w.visit("POST", c.path, c.body); status != c.status || !strings.Contains(says, c.says) {
			t.Errorf("%s %s: %d %s", c.path, c.body, status, says)
		}
	}
	shop.paid = true
	if _, _, says := w.visit("POST", "/app/paid", `{"reference":"ref-1"}`); says != `{"paid":true}` {
		t.Errorf("paid: %s", says)
	}
	without := newWorld(t, Options{})
	for _, path := range []string{"/app/buy", "/app/paid"} {
		if status, _, _ := without.visit("POST", path, `{"as":1001}`); status != 404 {
			t.Errorf("%s without a shop: %d", path, status)
		}
	}
}

func TestPageRepliesToAMessage(t *testing.T) {
	w := newWorld(t, Options{})
	w.say(Alice, "/start")
	asked := w.call("sendMessage", map[string]any{"chat_id": Alice, "text": "How are you?"}).message(t)
	status, _, says := w.visit("POST", "/app/say", fmt.Sprintf(`{"as":1001,"text":"Fine","message_id":%d}`, asked.ID))
	all := w.Messages(Alice)
	if last := all[len(all)-1]; status != 200 || last.Text != "Fine" || last.ReplyTo == nil || last.ReplyTo.ID != asked.ID {
		t.Errorf("%d %s %+v", status, says, last)
	}
}

// Two bots share an address and people, and nothing else: their tokens and paths tell them apart.
func TestTwoBotsAtOneAddress(t *testing.T) {
	first := newWorld(t, Options{})
	second := newWorld(t, Options{Token: "1000000002:another-bot-of-the-same-sandbox", BotUsername: "second_bot", Hint: "Program me."})
	both := httptest.NewServer(Handler(first.Server, map[string]*Server{"/own/": second.Server}))
	defer both.Close()
	get := func(path string) (int, string) {
		res, err := http.Get(both.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	for path, want := range map[string]string{
		"/bot" + first.Token() + "/getMe":   `"username":"purser_sandbox_bot"`,
		"/bot" + second.Token() + "/getMe":  `"username":"second_bot"`,
		"/botwrong/getMe":                   `Unauthorized`,
		"/file/bot" + second.Token() + "/x": `Not Found`,
		"/file/botwrong/x":                  `Unauthorized`,
		"/":                                 `<title>purser sandbox`,
		"/own/":                             `<title>purser sandbox`,
		"/app/state":                        `"username":"purser_sandbox_bot"`,
		"/own/app/state":                    `"description":"Program me."`,
		"/own/page/app.js":                  `import `,
	} {
		if _, says := get(path); !strings.Contains(says, want) {
			t.Errorf("%s: %.200s", path, says)
		}
	}
	first.say(Alice, "for the first")
	second.say(Alice, "for the second")
	for w, want := range map[*world]string{first: "for the first", second: "for the second"} {
		if got := w.updates(nil); len(got) != 1 || got[0].Message.Text != want {
			t.Errorf("updates: %+v", got)
		}
	}
}
