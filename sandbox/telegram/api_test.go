package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestRefusalsReadAsTelegrams(t *testing.T) {
	w := newWorld(t, Options{Now: newClock().Now})
	w.say(Alice, "/start")
	own := w.call("sendMessage", map[string]any{"chat_id": Alice, "text": "hello"}).message(t).ID
	theirs := w.Messages(Alice)[0].ID
	if _, err := w.NewGroup("Friends", Alice, Bob); err != nil {
		t.Fatal(err)
	}
	button := func(b map[string]any) map[string]any {
		b["text"] = "Tap"
		return map[string]any{"inline_keyboard": [][]any{{b}}}
	}
	to := func(m map[string]any) map[string]any {
		m["chat_id"] = Alice
		return m
	}
	html := func(text string) map[string]any { return to(map[string]any{"text": text, "parse_mode": "HTML"}) }
	v2 := func(text string) map[string]any { return to(map[string]any{"text": text, "parse_mode": "MarkdownV2"}) }
	markup := func(m any) map[string]any { return to(map[string]any{"text": "x", "reply_markup": m}) }
	for _, c := range []struct {
		method string
		params map[string]any
		code   int
		want   string
	}{
		{"sendNothing", nil, 404, "Not Found: method not found"},
		{"sendMessage", map[string]any{}, 400, "Bad Request: chat_id is empty"},
		{"sendMessage", map[string]any{"chat_id": Alice}, 400, "Bad Request: message text is empty"},
		{"sendMessage", map[string]any{"chat_id": Alice, "text": " \n "}, 400, "Bad Request: text must be non-empty"},
		{"sendMessage", map[string]any{"chat_id": Alice, "text": strings.Repeat("ж", 4097)}, 400, "Bad Request: message is too long"},
		{"sendMessage", map[string]any{"chat_id": 424242, "text": "x"}, 400, "Bad Request: chat not found"},
		{"sendMessage", map[string]any{"chat_id": "alice", "text": "x"}, 400, "Bad Request: chat not found"},
		{"sendMessage", map[string]any{"chat_id": Bob, "text": "x"}, 403, "Forbidden: bot can't initiate conversation with a user"},
		{"sendMessage", to(map[string]any{"text": "x", "parse_mode": "XML"}), 400, "Bad Request: unsupported parse_mode"},
		{"sendMessage", to(map[string]any{"text": "x", "reply_to_message_id": 9999}), 400, "Bad Request: message to be replied not found"},
		{"sendMessage", html("<b>x"), 400, `Bad Request: can't parse entities: Can't find end tag corresponding to start tag "b"`},
		{"sendMessage", html("é<foo>x</foo>"), 400, `Bad Request: can't parse entities: Unsupported start tag "foo" at byte offset 2`},
		{"sendMessage", html("<b>x</i>"), 400, `Bad Request: can't parse entities: Unmatched end tag at byte offset 4, expected "</b>", found "</i>"`},
		{"sendMessage", html("x</b>"), 400, `Bad Request: can't parse entities: Unexpected end tag at byte offset 1`},
		{"sendMessage", html("1 < 2"), 400, `Bad Request: can't parse entities: Unsupported start tag "" at byte offset 2`},
		{"sendMessage", html("x <b"), 400, `Bad Request: can't parse entities: Unclosed start tag at byte offset 2`},
		{"sendMessage", html(`<span>x</span>`), 400, `Bad Request: can't parse entities: Tag "span" must have class "tg-spoiler" at byte offset 0`},
		{"sendMessage", v2("1.5 SOL"), 400, `Bad Request: can't parse entities: Character '.' is reserved and must be escaped with the preceding '\'`},
		{"sendMessage", v2("a *b"), 400, `Bad Request: can't parse entities: Can't find end of Bold entity at byte offset 2`},
		{"sendMessage", to(map[string]any{"text": "a_b", "parse_mode": "Markdown"}), 400, `Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 1`},
		{"sendMessage", markup("[]"), 400, "Bad Request: object expected as reply markup"},
		{"sendMessage", markup("{"), 400, "Bad Request: can't parse reply keyboard markup JSON object"},
		{"sendMessage", markup(button(map[string]any{})), 400, "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"},
		{"sendMessage", markup(button(map[string]any{"callback_data": strings.Repeat("x", 65)})), 400, "Bad Request: BUTTON_DATA_INVALID"},
		{"sendMessage", markup(button(map[string]any{"callback_data": ""})), 400, "Bad Request: BUTTON_DATA_INVALID"},
		{"sendMessage", markup(button(map[string]any{"url": "http://localhost:8080/w/"})), 400, "Bad Request: inline keyboard button URL 'http://localhost:8080/w/' is invalid: Wrong HTTP URL"},
		{"sendMessage", markup(button(map[string]any{"url": "javascript://x.y/"})), 400, "Bad Request: inline keyboard button URL 'javascript://x.y/' is invalid: Unsupported URL protocol"},
		{"sendMessage", markup(button(map[string]any{"web_app": map[string]any{"url": "https://example.com"}})), 400, "Bad Request: web_app in reply_markup: this sandbox accepts no Mini Apps"},
		{"sendMessage", markup(map[string]any{"keyboard": [][]any{{map[string]any{"text": "x", "web_app": map[string]any{"url": "https://example.com"}}}}}), 400, "Bad Request: web_app in reply_markup: this sandbox accepts no Mini Apps"},
		{"setChatMenuButton", map[string]any{"menu_button": map[string]any{"type": "web_app", "text": "x", "web_app": map[string]any{"url": "https://example.com"}}}, 400, "Bad Request: web_app in menu_button: this sandbox accepts no Mini Apps"},
		{"editMessageText", to(map[string]any{"message_id": own, "text": "hello"}), 400, "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"},
		{"editMessageText", to(map[string]any{"message_id": 9999, "text": "x"}), 400, "Bad Request: message to edit not found"},
		{"editMessageText", to(map[string]any{"text": "x"}), 400, "Bad Request: message identifier is not specified"},
		{"editMessageText", to(map[string]any{"message_id": theirs, "text": "x"}), 400, "Bad Request: message can't be edited"},
		{"editMessageCaption", to(map[string]any{"message_id": own, "caption": "x"}), 400, "Bad Request: there is no caption in the message to edit"},
		{"deleteMessage", to(map[string]any{"message_id": 9999}), 400, "Bad Request: message to delete not found"},
		{"answerCallbackQuery", map[string]any{"callback_query_id": "1"}, 400, "Bad Request: query is too old and response timeout expired or query ID is invalid"},
		{"sendPhoto", to(map[string]any{}), 400, "Bad Request: there is no photo in the request"},
		{"sendPhoto", to(map[string]any{"photo": "AgACAgnothing"}), 400, "Bad Request: wrong remote file identifier specified: Wrong string length"},
		{"sendChatAction", to(map[string]any{"action": "dancing"}), 400, "Bad Request: wrong parameter action in request"},
		{"setMyCommands", map[string]any{"commands": []map[string]string{{"command": "Send!", "description": "x"}}}, 400, "Bad Request: BOT_COMMAND_INVALID"},
		{"getFile", map[string]any{"file_id": "x"}, 400, "Bad Request: invalid file_id"},
		{"setWebhook", map[string]any{"url": "http://example.com/hook"}, 400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook"},
		{"setWebhook", map[string]any{"url": "https://example.com/hook", "secret_token": "a b"}, 400, "Bad Request: secret token contains unallowed characters"},
		{"getChat", map[string]any{"chat_id": Bob}, 400, "Bad Request: chat not found"},
	} {
		got := w.call(c.method, c.params)
		if got.OK || got.Status != c.code || got.Description != c.want {
			t.Errorf("%s %v\n got %d %s\nwant %d %s", c.method, c.params, got.Status, got.Description, c.code, c.want)
		}
	}
	if err := w.Block(Alice); err != nil {
		t.Fatal(err)
	}
	if got := w.call("sendMessage", map[string]any{"chat_id": Alice, "text": "x"}); got.Description != "Forbidden: bot was blocked by the user" || got.Status != 403 {
		t.Errorf("to a person who blocked: %d %s", got.Status, got.Description)
	}
	if _, err := w.Say(Alice, "x"); err == nil {
		t.Error("a person who blocked the bot could write to it")
	}
}

func TestWrongTokenIsUnauthorized(t *testing.T) {
	w := newWorld(t, Options{})
	for _, path := range []string{"/bot1:x/getMe", "/bot" + w.Token() + "x/getMe", "/file/bot1:x/photos/1"} {
		res, err := http.Get(w.http.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if r := readReply(t, res); r.Status != 401 || r.Description != "Unauthorized" {
			t.Errorf("%s: %d %s", path, r.Status, r.Description)
		}
	}
}

func TestEveryWayOfPassingParametersWorks(t *testing.T) {
	w := newWorld(t, Options{})
	w.say(Alice, "/start")
	var form bytes.Buffer
	mp := multipart.NewWriter(&form)
	for k, v := range map[string]string{"chat_id": "1001", "text": "multipart"} {
		if err := mp.WriteField(k, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := mp.Close(); err != nil {
		t.Fatal(err)
	}
	for _, do := range []func() (*http.Response, error){
		func() (*http.Response, error) { return http.Get(w.url("sendmessage?chat_id=1001&text=query")) },
		func() (*http.Response, error) {
			return http.PostForm(w.url("sendMessage"), url.Values{"chat_id": {"1001"}, "text": {"form"}})
		},
		func() (*http.Response, error) {
			return http.Post(w.url("SENDMESSAGE"), "application/json; charset=utf-8", strings.NewReader(`{"chat_id":1001,"text":"json","disable_notification":true}`))
		},
		func() (*http.Response, error) {
			return http.Post(w.url("sendMessage"), mp.FormDataContentType(), &form)
		},
	} {
		res, err := do()
		if err != nil {
			t.Fatal(err)
		}
		readReply(t, res).message(t)
	}
	if got := texts(w.Messages(Alice)); got != "/start | query | form | json | multipart" {
		t.Error(got)
	}
	for _, c := range w.Calls() {
		if c.Method != "sendMessage" || c.Params["chat_id"] != "1001" || c.Status != 200 {
			t.Errorf("recorded %+v", c)
		}
	}
}

func TestBadBodiesAreRefusedPolitely(t *testing.T) {
	w := newWorld(t, Options{})
	for _, c := range []struct{ kind, body string }{
		{"application/json", "{"}, {"application/json", "[1]"}, {"application/json", `"x"`},
		{"multipart/form-data; boundary=x", "--x\r\nbroken"}, {"multipart/form-data", "x"},
		{"application/x-www-form-urlencoded", "%zz"},
	} {
		res, err := http.Post(w.url("sendMessage"), c.kind, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if r := readReply(t, res); r.Status != 400 {
			t.Errorf("%s %q: %d %s", c.kind, c.body, r.Status, r.Description)
		}
	}
	if r := w.call("getMe", nil); !r.OK { // telebot sends null
		t.Error(r.Description)
	}
}

func TestPhotosGoUpAndDown(t *testing.T) {
	w := newWorld(t, Options{Dir: t.TempDir()})
	w.say(Alice, "/start")
	data := picture(t, 300, 200)
	post := func(field, name string, data []byte, params map[string]string) reply {
		t.Helper()
		var body bytes.Buffer
		mp := multipart.NewWriter(&body)
		part, err := mp.CreateFormFile(name, "qr.png")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(data); err != nil {
			t.Fatal(err)
		}
		for k, v := range params {
			if err := mp.WriteField(k, v); err != nil {
				t.Fatal(err)
			}
		}
		if err := mp.Close(); err != nil {
			t.Fatal(err)
		}
		res, err := http.Post(w.url("send"+field), mp.FormDataContentType(), &body)
		if err != nil {
			t.Fatal(err)
		}
		return readReply(t, res)
	}
	direct := post("Photo", "photo", data, map[string]string{"chat_id": "1001", "caption": "<b>QR</b>", "parse_mode": "HTML"}).message(t)
	if len(direct.Photo) != 1 || direct.Photo[0].Width != 300 || direct.Caption != "QR" || len(direct.CaptionEntities) != 1 {
		t.Errorf("%+v", direct)
	}
	post("Photo", "pic", data, map[string]string{"chat_id": "1001", "photo": "attach://pic"}).message(t)
	again := w.call("sendPhoto", map[string]any{"chat_id": Alice, "photo": direct.Photo[0].FileID}).message(t)
	doc := post("Document", "document", []byte("a,b\n"), map[string]string{"chat_id": "1001"}).message(t)
	if doc.Document == nil || doc.Document.FileName != "qr.png" || doc.Document.FileSize != 4 {
		t.Errorf("%+v", doc.Document)
	}
	if r := post("Photo", "photo", []byte("no picture"), map[string]string{"chat_id": "1001"}); r.Description != "Bad Request: IMAGE_PROCESS_FAILED" {
		t.Error(r.Description)
	}
	if r := post("Photo", "photo", data, map[string]string{"chat_id": "1001", "caption": strings.Repeat("x", 1025)}); r.Description != "Bad Request: message caption is too long" {
		t.Error(r.Description)
	}
	var file struct {
		Path string `json:"file_path"`
	}
	if err := json.Unmarshal(w.call("getFile", map[string]any{"file_id": again.Photo[0].FileID}).Result, &file); err != nil {
		t.Fatal(err)
	}
	for _, u := range []string{w.http.URL + "/file/bot" + w.Token() + "/" + file.Path, w.http.URL + "/app/file/" + again.Photo[0].FileID} {
		res, err := http.Get(u)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		got.ReadFrom(res.Body)
		res.Body.Close()
		if !bytes.Equal(got.Bytes(), data) {
			t.Errorf("%s gave %d bytes, not the picture", u, got.Len())
		}
	}
}

func TestEditsDeletionsAndButtons(t *testing.T) {
	c := newClock()
	w := newWorld(t, Options{Now: c.Now})
	w.say(Alice, "/start")
	w.say(Bob, "/start")
	sent := w.call("sendMessage", map[string]any{
		"chat_id": Alice, "text": "Send?", "reply_markup": map[string]any{"inline_keyboard": [][]any{
			{map[string]any{"text": "Confirm", "callback_data": "c:1"}, map[string]any{"text": "Cancel", "callback_data": "x:1"}},
			{map[string]any{"text": "Sign", "url": "http://127.0.0.1:8080/w/#s=abc"}, map[string]any{"text": "Copy", "copy_text": map[string]any{"text": "abc"}}},
		}},
	}).message(t)
	if b, _ := sent.Button("Sign"); b.URL != "http://127.0.0.1:8080/w/#s=abc" {
		t.Errorf("url button became %q", b.URL)
	}
	w.updates(map[string]any{"offset": -1})
	id, err := w.Tap(Alice, sent.ID, "Confirm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Tap(Bob, sent.ID, "Cancel"); err != nil { // a forged tap from elsewhere
		t.Fatal(err)
	}
	if _, err := w.TapData(Alice, sent.ID, "\fforged"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Tap(Alice, sent.ID, "Sign"); err == nil {
		t.Error("a url button was tapped as a callback")
	}
	got := w.updates(map[string]any{})
	got = got[len(got)-3:]
	if q := got[0].Callback; q == nil || q.ID != id || q.From.ID != Alice || q.Data != "c:1" || q.Message.ID != sent.ID {
		t.Errorf("tap arrived as %+v", got[0])
	}
	if q := got[1].Callback; q.From.ID != Bob || q.Message.Chat.ID != Alice {
		t.Errorf("somebody else's tap arrived as %+v", q)
	}
	if q := got[2].Callback; q.Data != "\fforged" {
		t.Errorf("forged data arrived as %q", q.Data)
	}
	if r := w.call("answerCallbackQuery", map[string]any{"callback_query_id": id, "text": "Done", "show_alert": true}); !r.OK {
		t.Error(r.Description)
	}
	toast, err := w.WaitToast(soon(t), id)
	if err != nil || toast.Text != "Done" || !toast.Alert || toast.User != Alice {
		t.Errorf("%+v %v", toast, err)
	}
	late := got[1].Callback.ID
	c.advance(2 * time.Minute)
	if r := w.call("answerCallbackQuery", map[string]any{"callback_query_id": late}); r.OK {
		t.Error("a query of two minutes ago was answered")
	}
	edited := w.call("editMessageText", map[string]any{"chat_id": Alice, "message_id": sent.ID, "text": "<b>Sent</b>", "parse_mode": "HTML"}).message(t)
	if edited.EditDate == 0 || edited.ReplyMarkup != nil || len(edited.Entities) != 1 {
		t.Errorf("%+v", edited)
	}
	if _, err := w.Tap(Alice, sent.ID, "Confirm"); err == nil {
		t.Error("a button that an edit took away could be tapped")
	}
	if m, _ := w.Message(sent.ID); m.Edits != 1 || m.Text != "Sent" {
		t.Errorf("%+v", m)
	}
	if r := w.call("deleteMessage", map[string]any{"chat_id": Alice, "message_id": w.Messages(Alice)[0].ID}); !r.OK {
		t.Errorf("a bot may delete what a person wrote in private: %s", r.Description)
	}
	if got := texts(w.Messages(Alice)); got != "Sent" {
		t.Error(got)
	}
}

func TestReplyKeyboardsAskForContacts(t *testing.T) {
	w := newWorld(t, Options{})
	w.say(Alice, "/start")
	w.call("sendMessage", map[string]any{"chat_id": Alice, "text": "Your number?", "reply_markup": `{"keyboard":[[{"text":"Share","request_contact":true}],["No"]],"one_time_keyboard":true,"resize_keyboard":true}`}).message(t)
	k := w.Keyboard(Alice)
	if k == nil || !k.Rows[0][0].RequestContact || k.Rows[1][0].Text != "No" || !k.OneTime {
		t.Fatalf("%+v", k)
	}
	if _, err := w.ShareContact(Alice, Alice); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ShareContact(Alice, Bob); err != nil {
		t.Fatal(err)
	}
	got := w.updates(map[string]any{})
	own, other := got[1].Message, got[2].Message
	if own.Contact.UserID != Alice || own.ReplyTo == nil || own.ReplyTo.Text != "Your number?" {
		t.Errorf("%+v", own)
	}
	if other.Contact.UserID != Bob || other.From.ID != Alice {
		t.Errorf("%+v", other)
	}
	w.call("sendMessage", map[string]any{"chat_id": Alice, "text": "Thanks", "reply_markup": `{"remove_keyboard":true}`}).message(t)
	if w.Keyboard(Alice) != nil {
		t.Error("the keyboard is still there")
	}
}

func TestReplyKeyboardsAskForPeople(t *testing.T) {
	w := newWorld(t, Options{})
	w.say(Alice, "/start")
	key := func(request string) map[string]any {
		return map[string]any{"chat_id": Alice, "text": "Whom?", "reply_markup": `{"keyboard":[[{"text":"Choose","request_users":` + request + `}]],"one_time_keyboard":true}`}
	}
	for _, bad := range []string{`{}`, `{"request_id":"x"}`, `{"request_id":1,"max_quantity":0}`, `{"request_id":1,"max_quantity":11}`, `{"request_id":4294967296}`, `7`} {
		if r := w.call("sendMessage", key(bad)); r.OK || r.ErrorCode != 400 {
			t.Errorf("%s was taken", bad)
		}
	}
	if _, err := w.ShareUsers(Alice, 7, Bob); !errors.Is(err, ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
	w.call("sendMessage", key(`{"request_id":7,"user_is_bot":false,"max_quantity":1}`)).message(t)
	if k := w.Keyboard(Alice); k == nil || k.Rows[0][0].RequestUsers == nil || k.Rows[0][0].RequestUsers.RequestID != 7 || k.Rows[0][0].RequestUsers.MaxQuantity != 1 {
		t.Fatalf("%+v", k)
	}
	for _, ids := range [][]int64{{}, {Bob, Alice}, {999}} {
		if _, err := w.ShareUsers(Alice, 7, ids...); err == nil {
			t.Errorf("%v could be chosen", ids)
		}
	}
	if _, err := w.ShareUsers(Alice, 8, Bob); !errors.Is(err, ErrNoKey) {
		t.Errorf("another request: %v", err)
	}
	if _, err := w.ShareUsers(Alice, 7, Bob); err != nil {
		t.Fatal(err)
	}
	got := w.updates(map[string]any{})
	m := got[len(got)-1].Message
	if m.UsersShared == nil || m.UsersShared.RequestID != 7 || len(m.UsersShared.Users) != 1 || m.UsersShared.Users[0].UserID != Bob || m.Text != "" {
		t.Errorf("%+v", m)
	}
	w.call("sendMessage", map[string]any{"chat_id": Alice, "text": "Thanks", "reply_markup": `{"remove_keyboard":true}`}).message(t)
	if _, err := w.ShareUsers(Alice, 7, Bob); !errors.Is(err, ErrNoKey) {
		t.Errorf("with a key that is gone: %v", err)
	}
}

func TestGroupsLetTheBotHearCommandsOnly(t *testing.T) {
	w := newWorld(t, Options{})
	g, err := w.NewGroup("Friends", Alice, Bob)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"hello all", "/send 1 SOL", "@purser_sandbox_bot hi"} {
		if _, err := w.SayIn(g, Alice, text); err != nil {
			t.Fatal(err)
		}
	}
	var heard []string
	for _, u := range w.updates(nil) {
		if u.Message != nil {
			if u.Message.Chat.Type != "group" || u.Message.Chat.ID != g || g >= 0 {
				t.Errorf("%+v", u.Message.Chat)
			}
			heard = append(heard, u.Message.Text)
		}
	}
	if fmt.Sprint(heard) != "[/send 1 SOL @purser_sandbox_bot hi]" {
		t.Error(heard)
	}
	if r := w.call("sendMessage", map[string]any{"chat_id": g, "text": "In private, please."}); !r.OK {
		t.Error(r.Description)
	}
}

func TestProfileIsKept(t *testing.T) {
	w := newWorld(t, Options{})
	commands := []map[string]string{{"command": "/start", "description": "Begin"}, {"command": "send", "description": "Send"}}
	if r := w.call("setMyCommands", map[string]any{"commands": commands, "scope": map[string]any{"type": "all_private_chats"}}); !r.OK {
		t.Fatal(r.Description)
	}
	if got := w.Commands(Alice); len(got) != 2 || got[0].Command != "start" {
		t.Errorf("%+v", got)
	}
	if r := w.call("getMyCommands", nil); string(r.Result) != "[]" {
		t.Errorf("default scope holds %s", r.Result)
	}
	w.call("setMyDescription", map[string]any{"description": "A wallet"})
	if r := w.call("getMyDescription", nil); string(r.Result) != `{"description":"A wallet"}` {
		t.Errorf("%s", r.Result)
	}
	if r := w.call("getMyName", nil); string(r.Result) != `{"name":"purser"}` {
		t.Errorf("%s", r.Result)
	}
	w.call("deleteMyCommands", map[string]any{"scope": map[string]any{"type": "all_private_chats"}})
	if got := w.Commands(Alice); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	if r := w.call("getChatMember", map[string]any{"chat_id": Alice, "user_id": Alice}); !strings.Contains(string(r.Result), `"member"`) {
		t.Errorf("%s", r.Result)
	}
}

func TestFaultsLookLikeTheRealOnes(t *testing.T) {
	w := newWorld(t, Options{})
	w.say(Alice, "/start")
	var kind atomic.Int64 // a FaultKind
	w.SetFault(func(method string) Fault {
		if method == "sendMessage" {
			return Fault{Kind: FaultKind(kind.Load()), RetryAfter: 7}
		}
		return Fault{}
	})
	send := func(ctx context.Context) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, "POST", w.url("sendMessage"), strings.NewReader("chat_id=1001&text=hi"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return http.DefaultClient.Do(req)
	}
	kind.Store(int64(TooMany))
	res, err := send(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if r := readReply(t, res); r.Status != 429 || r.Parameters.RetryAfter != 7 || r.Description != "Too Many Requests: retry after 7" {
		t.Errorf("%+v", r)
	}
	kind.Store(int64(BadGateway))
	if res, err = send(soon(t)); err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 502 || res.Header.Get("Content-Type") != "text/html" {
		t.Errorf("%d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	res.Body.Close()
	for _, k := range []FaultKind{DropRequest, DropAnswer} {
		kind.Store(int64(k))
		if _, err := send(soon(t)); err == nil {
			t.Errorf("fault %d answered", k)
		}
	}
	if got := texts(w.Messages(Alice)); got != "/start | hi" {
		t.Errorf("only the dropped answer should have been carried out: %s", got)
	}
	kind.Store(int64(Hang))
	ctx, cancel := context.WithCancel(soon(t))
	w.OnCall(func(Call) { cancel() }) // told when the call hangs: give up
	if _, err := send(ctx); err == nil {
		t.Error("a hanging call answered")
	}
}
