package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"purser/chat"
	"purser/sandbox/telegram"
	"purser/store"
)

const (
	from    = `"from":{"id":7,"first_name":"P","username":"@pat","language_code":"de"}`
	private = `"chat":{"id":7,"type":"private"}`
	inGroup = `"chat":{"id":-5,"type":"supergroup"}`
)

func testReader() reader { return reader{chat.NewSecrets()} }

func TestUpdatesAreReadForWhatTheyAre(t *testing.T) {
	for _, c := range []struct {
		name, body string
		kind       updateKind
		check      func(chat.Input) bool
	}{
		{"text", `"message":{"message_id":3,"date":1700000000,` + from + `,` + private + `,"text":"a\nb"}`, words,
			func(in chat.Input) bool {
				return in.Text == "a\nb" && in.Private && in.MessageID == 3 && in.From.Username == "pat" && in.From.Language == "de" && in.At.Unix() == 1700000000
			}},
		{"group", `"message":{` + from + `,` + inGroup + `,"text":"/help"}`, words, func(in chat.Input) bool { return !in.Private && in.Chat == -5 && in.From.TelegramID == 7 }},
		{"a reply", `"message":{"message_id":5,` + from + `,` + private + `,"text":"At five","reply_to_message":{"message_id":4,"text":"When?"}}`, words, func(in chat.Input) bool { return in.ReplyTo == 4 }},
		{"forwarded", `"message":{` + from + `,` + private + `,"text":"/send 1","forward_origin":{"type":"hidden_user"}}`, words, func(in chat.Input) bool { return in.Forwarded }},
		{"forwarded, old form", `"message":{` + from + `,` + private + `,"text":"/send 1","forward_date":5}`, words, func(in chat.Input) bool { return in.Forwarded }},
		{"composed by another bot", `"message":{` + from + `,` + private + `,"text":"/send 1","via_bot":{"id":9}}`, words, func(in chat.Input) bool { return in.Forwarded }},
		{"edited", `"edited_message":{` + from + `,` + private + `,"date":1,"edit_date":9,"text":"/send 1"}`, edit, func(in chat.Input) bool { return in.Edited && in.At.Unix() == 9 }},
		{"photo", `"message":{` + from + `,` + private + `,"photo":[{}],"caption":"twelve words"}`, media, func(in chat.Input) bool { return in.Text == "twelve words" }},
		{"sticker", `"message":{` + from + `,` + private + `,"sticker":{}}`, media, func(in chat.Input) bool { return in.Text == "" }},
		{"photo in a group", `"message":{` + from + `,` + inGroup + `,"photo":[{}]}`, ignored, nil},
		{"contact", `"message":{` + from + `,` + private + `,"contact":{"phone_number":"+1","user_id":7}}`, contact,
			func(in chat.Input) bool { return in.Contact.TelegramID == 7 }},
		{"a person chosen", `"message":{` + from + `,` + private + `,"users_shared":{"request_id":9,"users":[{"user_id":8}]}}`, picked,
			func(in chat.Input) bool {
				return in.Picked.Request == 9 && in.Picked.TelegramID == 8 && in.From.TelegramID == 7
			}},
		{"a person chosen, old form", `"message":{` + from + `,` + private + `,"users_shared":{"request_id":9,"user_ids":[8],"users":[{"user_id":8}]}}`, picked,
			func(in chat.Input) bool { return in.Picked.TelegramID == 8 }},
		{"several people", `"message":{` + from + `,` + private + `,"users_shared":{"request_id":9,"users":[{"user_id":8},{"user_id":6}]}}`, picked,
			func(in chat.Input) bool { return in.Picked.TelegramID == 0 }},
		{"no people", `"message":{` + from + `,` + private + `,"users_shared":{}}`, picked, func(in chat.Input) bool { return *in.Picked == chat.Picked{} }},
		{"people, in a group", `"message":{` + from + `,` + inGroup + `,"users_shared":{"request_id":9,"users":[{"user_id":8}]}}`, ignored, nil},
		{"people, in an edit", `"edited_message":{` + from + `,` + private + `,"users_shared":{"request_id":9,"users":[{"user_id":8}]}}`, edit,
			func(in chat.Input) bool { return in.Picked == nil && in.Edited }},
		{"tap", `"callback_query":{"id":"q",` + from + `,"message":{"message_id":4,` + private + `},"data":"\fconfirm"}`, tap,
			func(in chat.Input) bool {
				return in.Tap.CallbackID == "q" && in.Tap.Data == "\fconfirm" && in.MessageID == 4 && in.Private
			}},
		{"tap under an old message", `"callback_query":{"id":"q",` + from + `,"message":{"message_id":4,"date":0,` + private + `}}`, tap, func(in chat.Input) bool { return in.Tap.Data == "" }},
		{"tap without message", `"callback_query":{"id":"q",` + from + `,"inline_message_id":"x","data":"d"}`, ignored, nil},
		{"tap without person", `"callback_query":{"id":"q","message":{"message_id":4,` + private + `},"data":"d"}`, ignored, nil},
		{"blocked", `"my_chat_member":{` + private + `,` + from + `,"new_chat_member":{"status":"kicked"}}`, membership, func(in chat.Input) bool { return in.From.TelegramID == 7 }},
		{"added to a group", `"my_chat_member":{` + inGroup + `,` + from + `,"new_chat_member":{"status":"member"}}`, ignored, nil},
		{"channel post", `"channel_post":{"chat":{"id":-9,"type":"channel"},"text":"/start"}`, ignored, nil},
		{"another bot", `"message":{"from":{"id":8,"is_bot":true},` + inGroup + `,"text":"/start"}`, ignored, nil},
		{"anonymous admin", `"message":{` + from + `,` + inGroup + `,"sender_chat":{"id":-5},"text":"/start"}`, ignored, nil},
		{"nobody", `"message":{` + private + `,"text":"/start"}`, ignored, nil},
		{"nowhere", `"message":{` + from + `,"text":"/start"}`, ignored, nil},
		{"service message", `"message":{` + from + `,` + private + `,"pinned_message":{}}`, ignored, nil},
		{"unknown kind", `"business_message":{"x":1}`, ignored, nil},
		{"nothing", `"x":null`, ignored, nil},
	} {
		u, err := testReader().arrived([]byte(`{"update_id":12,` + c.body + `}`))
		if again, kerr := kept(u.body); u.kind != ignored && (kerr != nil || again.kind != u.kind || !reflect.DeepEqual(again.in, u.in) || again.blocked != u.blocked) {
			t.Errorf("%s: kept as %s, which reads as %+v, %v", c.name, u.body, again, kerr)
		}
		if err != nil || u.id != 12 || u.kind != c.kind || c.check != nil && !c.check(u.in) {
			t.Errorf("%s: kind %d, %+v, %v", c.name, u.kind, u.in, err)
		}
	}
	if u, err := testReader().arrived([]byte(`{"update_id":12,"message":{"chat":7}}`)); !errors.Is(err, errForeign) || u.id != 12 {
		t.Errorf("a foreign form: %+v, %v", u, err)
	}
}

// TestAPersonIsChosenFromTelegramsList goes through the Bot API: the key opens the list, the answer
// comes back with its number, and the ordinary keyboard is given back.
func TestAPersonIsChosenFromTelegramsList(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.greet(telegram.Alice)
	w.enqueue(row(telegram.Alice, 0, chat.Reply{Kind: chat.Message, Text: "Whom?", Keyboard: &chat.Keyboard{People: "Choose", Request: 77}}))
	w.hears(telegram.Alice, "Whom?")
	k := w.telegram.Keyboard(telegram.Alice)
	if k == nil || len(k.Rows) != 1 || !k.OneTime || k.Rows[0][0].Text != "Choose" {
		t.Fatalf("the keyboard is %+v", k)
	}
	if r := k.Rows[0][0].RequestUsers; r == nil || r.RequestID != 77 || r.MaxQuantity != 1 || r.UserIsBot == nil || *r.UserIsBot {
		t.Fatalf("the key asks for %+v", r)
	}
	w.must(w.telegram.ShareUsers(telegram.Alice, 77, telegram.Bob))
	var chosen *chat.Picked
	w.eventually("the choice is heard", func() bool {
		for _, in := range w.talker.inputs() {
			if in.Picked != nil {
				chosen = in.Picked
			}
		}
		return chosen != nil
	})
	if *chosen != (chat.Picked{Request: 77, TelegramID: telegram.Bob}) {
		t.Errorf("chosen: %+v", *chosen)
	}
	w.enqueue(row(telegram.Alice, 0, chat.Reply{Kind: chat.Message, Text: "Noted.", Keyboard: &chat.Keyboard{Remove: true}}))
	w.hears(telegram.Alice, "Noted.")
	if k := w.telegram.Keyboard(telegram.Alice); k != nil {
		t.Errorf("the keyboard is still %+v", k)
	}
}

// TestAContactIsSharedByItsKey goes through the Bot API: the key shares the person's own contact.
func TestAContactIsSharedByItsKey(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.greet(telegram.Alice)
	w.enqueue(row(telegram.Alice, 0, chat.Reply{Kind: chat.Message, Text: "Who?", Keyboard: &chat.Keyboard{Contact: "Share"}}))
	w.hears(telegram.Alice, "Who?")
	k := w.telegram.Keyboard(telegram.Alice)
	if k == nil || len(k.Rows) != 1 || !k.OneTime || k.Rows[0][0].Text != "Share" || !k.Rows[0][0].RequestContact || k.Rows[0][0].RequestUsers != nil {
		t.Fatalf("the keyboard is %+v", k)
	}
	w.must(w.telegram.ShareContact(telegram.Alice, telegram.Alice))
	w.eventually("the contact is heard", func() bool {
		for _, in := range w.talker.inputs() {
			if in.Contact != nil {
				return in.Contact.TelegramID == telegram.Alice
			}
		}
		return false
	})
}

func TestOddTextsAllGetAnAnswer(t *testing.T) {
	w := newWorld(t)
	w.run()
	for _, text := range []string{
		"\fconfirm", "\fconfirm|7", "\aphoto", "\atext", "\x01\x02", "/", "//", "/start@", "/start@another_bot hi", "/START", "/nosuch",
		"/send\n1.5\nSOL", "٣ SOL", "\u202egnirts", strings.Repeat("x", 10_000), "/start\x00", "text", "\\a",
	} {
		w.must(w.telegram.SayRaw(json.RawMessage(message(1, telegram.Alice, text))))
	}
	heard := func() []chat.Input { return w.talker.inputs() }
	w.eventually("all are heard", func() bool { return len(heard()) == 18 && len(w.inbox()) == 0 })
	if got := heard()[0].Text; got != "\fconfirm" {
		t.Errorf("the first text arrived as %q", got)
	}
	if got := heard()[14].Text; len(got) != 10_000 {
		t.Errorf("the long text arrived with %d bytes", len(got))
	}
	if strings.Contains(w.log.String(), "level=ERROR") {
		t.Errorf("the log holds an error:\n%s", w.log)
	}
}

func TestGroupsForwardsEditsAndForgedTaps(t *testing.T) {
	w := newWorld(t)
	_, stop := w.run()
	group, err := w.telegram.NewGroup("team", telegram.Alice, telegram.Bob)
	w.must(nil, err)
	w.must(w.telegram.SayIn(group, telegram.Bob, "/start@another_bot"))
	w.must(w.telegram.SayIn(group, telegram.Bob, "/start@PURSER_sandbox_bot hi"))
	w.must(w.telegram.Forward(telegram.Alice, telegram.Bob, "/send 1 SOL x"))
	m := w.hears(telegram.Alice, "you said: /send 1 SOL x")
	w.hears(group, "you said: /start@PURSER_sandbox_bot hi")
	mine := w.telegram.Messages(telegram.Alice)[0]
	w.must(w.telegram.EditSaid(telegram.Alice, mine.ID, "/send 9 SOL y"))
	query, err := w.telegram.TapData(telegram.Bob, m.ID, strings.Repeat("\f|'\"", 12))
	w.must(nil, err)
	if _, err := w.telegram.WaitToast(w.ctx(), query); err != nil {
		t.Error(err)
	}
	w.hears(telegram.Alice, "you said: /send 9 SOL y")
	w.must(w.telegram.SayRaw([]byte(`{"channel_post":{"message_id":1,"chat":{"id":-100,"type":"channel"},"text":"/start"}}`)))
	w.must(w.telegram.SayRaw([]byte(`{"message":{"message_id":1,"chat":{"id":1001,"type":"private"},"from":"nobody"}}`)))
	w.must(w.telegram.Say(telegram.Alice, "done"))
	w.hears(telegram.Alice, "you said: done")
	w.eventually("all are acknowledged", func() bool { return w.telegram.Pending() == 0 && len(w.inbox()) == 0 })
	stop()
	var log []string
	for _, in := range w.talker.inputs() {
		what := in.Text
		if in.Tap != nil {
			what = fmt.Sprint("tap by ", in.From.TelegramID)
		}
		log = append(log, fmt.Sprint(what, " private=", in.Private, " forwarded=", in.Forwarded, " edited=", in.Edited))
	}
	got := strings.Join(log, "\n")
	for _, want := range []string{
		"/start@PURSER_sandbox_bot hi private=false forwarded=false edited=false",
		"/send 1 SOL x private=true forwarded=true edited=false",
		"/send 9 SOL y private=true forwarded=true edited=true",
		"tap by 1002 private=true",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing: %s", want)
		}
	}
	if len(log) != 5 || strings.Contains(got, "another_bot") {
		t.Errorf("heard:\n%s", got)
	}
}

// FuzzUpdate: whatever Telegram, or whoever holds the webhook secret, sends: no panic, neither in
// our reading nor in telebot's routing, and an Input only from somebody in some chat.
func FuzzUpdate(f *testing.F) {
	for _, seed := range []string{
		`"message":{"message_id":3,` + from + `,` + private + `,"text":"/start"}`,
		`"message":{` + from + `,` + inGroup + `,"text":"\u0007photo"}`,
		`"message":{` + from + `,` + private + `,"text":"\fconfirm|x"}`,
		`"message":{` + from + `,` + private + `,"contact":{}}`,
		`"edited_message":{` + from + `,` + private + `,"photo":[]}`,
		`"callback_query":{"id":"q",` + from + `,"message":{` + private + `},"data":"\fx"}`,
		`"my_chat_member":{` + private + `,` + from + `}`,
		`"channel_post":{}`, `"message":null`,
	} {
		f.Add([]byte(`{"update_id":12,` + seed + `}`))
	}
	f.Add([]byte(`[]`))
	talker := newTalker()
	talker.answer = func(context.Context, chat.Input) ([]store.Reply, error) { return nil, errNoUpdate }
	r, err := newRouter(talker, &transport{}, slog.New(slog.DiscardHandler))
	if err != nil {
		f.Fatal(err)
	}
	all := testReader()
	f.Fuzz(func(t *testing.T, body []byte) {
		u, err := all.arrived(body)
		if err != nil || u.kind == ignored {
			return
		}
		if again, err := kept(u.body); err != nil || again.kind != u.kind || !reflect.DeepEqual(again.in, u.in) {
			t.Errorf("%s is kept as %s, which reads as %+v, %v", body, u.body, again, err)
		}
		if u.in.Chat == 0 || u.in.From.TelegramID <= 0 || u.in.From.IsBot {
			t.Errorf("an input of nobody: %+v", u.in)
		}
		if !utf8.ValidString(u.in.Text) {
			t.Errorf("text that is not UTF-8: %q", u.in.Text)
		}
		_, err = r.handle(t.Context(), u.in)
		ran := errors.Is(err, errNoUpdate)
		if err != nil && !ran {
			t.Errorf("routed with %v", err)
		}
		if !ran && (u.in.Private || u.kind != words) {
			t.Errorf("a person gets no answer: %+v", u.in)
		}
	})
}
