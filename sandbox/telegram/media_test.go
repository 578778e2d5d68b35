package telegram

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"
)

// upload makes a multipart call: files are sent under their names.
func (w *world) upload(method string, params map[string]string, files map[string][]byte) reply {
	w.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range params {
		if err := form.WriteField(name, value); err != nil {
			w.t.Fatal(err)
		}
	}
	for name, data := range files {
		part, err := form.CreateFormFile(name, name+".bin")
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := part.Write(data); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		w.t.Fatal(err)
	}
	res, err := http.Post(w.url(method), form.FormDataContentType(), &body)
	if err != nil {
		w.t.Fatal(err)
	}
	return readReply(w.t, res)
}

func TestLocationsDiceAndPollsAreSent(t *testing.T) {
	w := newWorld(t, Options{})
	w.say(Alice, "/start")
	at := w.call("sendLocation", map[string]any{"chat_id": Alice, "latitude": 48.137, "longitude": -111.576}).message(t)
	if at.Location == nil || at.Location.Latitude != 48.137 || at.Location.Longitude != -111.576 {
		t.Errorf("location: %+v", at.Location)
	}
	seen := map[int]bool{}
	for range 60 {
		d := w.call("sendDice", map[string]any{"chat_id": Alice, "emoji": "⚽\ufe0f"}).message(t).Dice
		if d == nil || d.Emoji != "⚽" || d.Value < 1 || d.Value > 5 {
			t.Fatalf("dice: %+v", d)
		}
		seen[d.Value] = true
	}
	if len(seen) != 5 {
		t.Errorf("60 throws showed %v", seen)
	}
	m := w.call("sendPoll", map[string]any{"chat_id": Alice, "question": "Tea?", "options": []any{"Yes", map[string]any{"text": "No"}}}).message(t)
	if p := m.Poll; p == nil || p.Question != "Tea?" || len(p.Options) != 2 || p.Options[1].Text != "No" || !p.IsAnonymous || p.IsClosed || p.Type != "regular" {
		t.Errorf("poll: %+v", m.Poll)
	}
	stopped := w.call("stopPoll", map[string]any{"chat_id": Alice, "message_id": m.ID})
	var p Poll
	if err := json.Unmarshal(stopped.Result, &p); err != nil || !p.IsClosed {
		t.Errorf("stopPoll: %s %v", stopped.Result, err)
	}
	for _, c := range []struct {
		method string
		params map[string]any
		want   string
	}{
		{"stopPoll", map[string]any{"message_id": m.ID}, "poll has already been closed"},
		{"stopPoll", map[string]any{"message_id": at.ID}, "message with poll to stop not found"},
		{"sendLocation", map[string]any{"latitude": 91, "longitude": 0}, "wrong location specified"},
		{"sendLocation", map[string]any{"latitude": "NaN", "longitude": 0}, "latitude is invalid"},
		{"sendLocation", map[string]any{"latitude": 1}, "longitude is invalid"},
		{"sendDice", map[string]any{"emoji": "🐈"}, "wrong dice emoji specified"},
		{"sendPoll", map[string]any{"question": "?", "options": []string{}}, "poll must have 1-12 options"},
		{"sendPoll", map[string]any{"question": "?", "options": []string{"a", " "}}, "poll options must be non-empty"},
		{"sendPoll", map[string]any{"question": strings.Repeat("?", 301), "options": []string{"a"}}, "poll question length must not exceed 300"},
		{"sendPoll", map[string]any{"question": "?", "options": "x"}, "can't parse options JSON object"},
	} {
		c.params["chat_id"] = Alice
		if got := w.call(c.method, c.params); got.Description != "Bad Request: "+c.want {
			t.Errorf("%s %v: %s", c.method, c.params, got.Description)
		}
	}
}

func TestMessagesAreForwardedCopiedAndPinned(t *testing.T) {
	w := newWorld(t, Options{})
	w.say(Alice, "/start")
	w.say(Bob, "hello there")
	theirs := w.Messages(Bob)[0]
	to := func(more map[string]any) map[string]any {
		more["chat_id"], more["from_chat_id"] = Alice, Bob
		return more
	}
	forwarded := w.call("forwardMessage", to(map[string]any{"message_id": theirs.ID})).message(t)
	if forwarded.Text != "hello there" || forwarded.ForwardOrigin == nil || forwarded.ForwardOrigin.SenderUser.ID != Bob || !forwarded.FromBot() {
		t.Errorf("forwarded: %+v", forwarded)
	}
	var copied struct {
		ID int64 `json:"message_id"`
	}
	r := w.call("copyMessage", to(map[string]any{"message_id": theirs.ID}))
	if err := json.Unmarshal(r.Result, &copied); err != nil {
		t.Fatal(err)
	}
	if m, ok := w.Message(copied.ID); !ok || m.Text != "hello there" || m.ForwardOrigin != nil || m.Chat.ID != Alice {
		t.Errorf("copied: %+v", m)
	}
	twice := w.call("forwardMessage", map[string]any{"chat_id": Bob, "from_chat_id": Alice, "message_id": forwarded.ID}).message(t)
	if twice.ForwardOrigin == nil || twice.ForwardOrigin.SenderUser.ID != Bob || twice.ForwardOrigin.Date != theirs.Date {
		t.Errorf("forwarded twice, it names another origin: %+v", twice.ForwardOrigin)
	}
	plain := w.call("copyMessage", map[string]any{"chat_id": Bob, "from_chat_id": Alice, "message_id": forwarded.ID})
	if err := json.Unmarshal(plain.Result, &copied); err != nil {
		t.Fatal(err)
	}
	if m, ok := w.Message(copied.ID); !ok || m.ForwardOrigin != nil {
		t.Errorf("a copy of a forwarded message names its origin: %+v", m)
	}
	secret := w.call("sendMessage", map[string]any{"chat_id": Bob, "text": "not for others", "protect_content": true}).message(t)
	for method, want := range map[string]string{"forwardMessage": "message can't be forwarded", "copyMessage": "message can't be copied"} {
		if got := w.call(method, to(map[string]any{"message_id": secret.ID})); got.Description != "Bad Request: "+want {
			t.Errorf("%s of protected content: %s", method, got.Description)
		}
	}
	if got := w.call("forwardMessage", to(map[string]any{"message_id": forwarded.ID})); got.Description != "Bad Request: message to forward not found" {
		t.Errorf("a message of another chat: %s", got.Description)
	}

	here := map[string]any{"chat_id": Alice, "message_id": forwarded.ID}
	for range 2 {
		if !w.call("pinChatMessage", here).OK {
			t.Error("it was not pinned")
		}
	}
	all := w.Messages(Alice)
	if last := all[len(all)-1]; last.Pinned == nil || last.Pinned.ID != forwarded.ID || all[len(all)-2].Pinned != nil {
		t.Errorf("the chat was not told once: %+v", last)
	}
	if !w.call("unpinChatMessage", map[string]any{"chat_id": Alice}).OK {
		t.Error("it was not unpinned")
	}
	if got := w.call("unpinChatMessage", here); got.Description != "Bad Request: message to unpin not found" {
		t.Errorf("unpinned twice: %s", got.Description)
	}
	if !w.call("unpinAllChatMessages", map[string]any{"chat_id": Alice}).OK {
		t.Error("unpinAllChatMessages failed")
	}
	photos := w.call("getUserProfilePhotos", map[string]any{"user_id": Alice})
	if string(photos.Result) != `{"total_count":0,"photos":[]}` {
		t.Errorf("profile photos: %s", photos.Result)
	}
}

func TestVideosAlbumsAndOtherMedia(t *testing.T) {
	w := newWorld(t, Options{})
	w.say(Alice, "/start")
	chat := fmt.Sprint(Alice)
	film := w.upload("sendVideo", map[string]string{"chat_id": chat, "caption": "A film", "width": "320", "duration": "7"}, map[string][]byte{"video": []byte("not really a film")}).message(t)
	if film.Video == nil || film.Video.Width != 320 || film.Video.Duration != 7 || film.Caption != "A film" || film.Document != nil {
		t.Fatalf("video: %+v", film)
	}
	if got := w.call("sendPhoto", map[string]any{"chat_id": Alice, "photo": film.Video.FileID}); got.Description != "Bad Request: can't use file of type Video as Photo" {
		t.Errorf("a video as photo: %s", got.Description)
	}

	album := w.upload("sendMediaGroup", map[string]string{"chat_id": chat, "media": `[{"type":"photo","media":"attach://photo","caption":"<b>First</b>","parse_mode":"HTML"},{"type":"video","media":"` + film.Video.FileID + `"}]`},
		map[string][]byte{"photo": picture(t, 40, 30)})
	var messages []Message
	if err := json.Unmarshal(album.Result, &messages); err != nil || len(messages) != 2 {
		t.Fatalf("album: %s %v", album.Result, album.Description)
	}
	one, two := messages[0], messages[1]
	if one.Photo == nil || one.Photo[0].Width != 40 || one.Caption != "First" || len(one.CaptionEntities) != 1 || two.Video == nil || one.MediaGroupID == "" || one.MediaGroupID != two.MediaGroupID || two.ID != one.ID+1 {
		t.Errorf("album: %+v %+v", one, two)
	}
	file := w.upload("sendDocument", map[string]string{"chat_id": chat}, map[string][]byte{"document": []byte("words")}).message(t)
	for media, want := range map[string]string{
		`[{"type":"photo","media":"x"}]`:                                                                                      "media must include 2-10 items",
		`[{"type":"photo","media":"attach://none"},{"type":"photo","media":"x"}]`:                                             "there is no photo in the request",
		`[{"type":"sticker","media":"x"},{"type":"photo","media":"x"}]`:                                                       `can't parse InputMedia: the sandbox has no media of type "sticker"`,
		`[{"type":"photo","media":"` + one.Photo[0].FileID + `"},{"type":"document","media":"` + file.Document.FileID + `"}]`: "document can't be mixed with other media types",
		`[1,2]`: "can't parse InputMedia: expected an Object",
		`{}`:    "can't parse media: expected an Array of InputMedia",
	} {
		if got := w.call("sendMediaGroup", map[string]any{"chat_id": Alice, "media": media}); got.Description != "Bad Request: "+want {
			t.Errorf("%s: %s", media, got.Description)
		}
	}

	edited := w.upload("editMessageMedia", map[string]string{"chat_id": chat, "message_id": fmt.Sprint(film.ID), "media": `{"type":"photo","media":"attach://new","caption":"A picture"}`},
		map[string][]byte{"new": picture(t, 50, 50)}).message(t)
	if edited.Video != nil || edited.Photo == nil || edited.Photo[0].Width != 50 || edited.Caption != "A picture" || edited.ID != film.ID {
		t.Errorf("edited: %+v", edited)
	}
	text := w.call("sendMessage", map[string]any{"chat_id": Alice, "text": "words"}).message(t)
	again := w.call("editMessageMedia", map[string]any{"chat_id": Alice, "message_id": text.ID, "media": map[string]any{"type": "photo", "media": edited.Photo[0].FileID}}).message(t)
	if again.Text != "" || again.Photo == nil {
		t.Errorf("a text that became a picture: %+v", again)
	}
}

// An edit that is refused leaves nothing of the file that it brought; one that is made keeps the file before it.
func TestARefusedEditKeepsNoFile(t *testing.T) {
	w := newWorld(t, Options{})
	w.say(Alice, "/start")
	chat := fmt.Sprint(Alice)
	files := func() (described, stored int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.st.Files), len(w.journal.blobs)
	}
	photo := w.upload("sendPhoto", map[string]string{"chat_id": chat}, map[string][]byte{"photo": picture(t, 40, 30)}).message(t)
	edit := func(id int64) reply {
		return w.upload("editMessageMedia", map[string]string{"chat_id": chat, "message_id": fmt.Sprint(id), "media": `{"type":"photo","media":"attach://new"}`},
			map[string][]byte{"new": picture(t, 50, 50)})
	}
	for range 3 {
		if got := edit(photo.ID + 100); got.OK {
			t.Fatal("a message that does not exist was edited")
		}
	}
	if described, stored := files(); described != 1 || stored != 1 {
		t.Errorf("after refused edits there are %d files, described %d", stored, described)
	}
	edited := edit(photo.ID).message(t)
	for _, of := range []Message{photo, edited} {
		if got := w.call("getFile", map[string]any{"file_id": of.Photo[0].FileID}); !got.OK {
			t.Errorf("the file of %d pixels: %s", of.Photo[0].Width, got.Description)
		}
	}
	if described, stored := files(); described != 2 || stored != 2 {
		t.Errorf("after an edit there are %d files, described %d", stored, described)
	}
}

// The published limits hold, what was refused does not count, and waiting as long as the answer says is enough.
func TestTelegramsLimitsHold(t *testing.T) {
	clock := newClock()
	w := newLimitedWorld(t, Options{Now: clock.Now})
	w.say(Alice, "/start")
	group, err := w.NewGroup("Friends", Alice, Bob)
	if err != nil {
		t.Fatal(err)
	}
	send := func(chat int64) reply { return w.call("sendMessage", map[string]any{"chat_id": chat, "text": "x"}) }
	burst := func(chat int64) (n int) {
		for send(chat).OK {
			if n++; n > 100 {
				t.Fatal("there is no limit")
			}
		}
		return n
	}
	if n := burst(Alice); n != chatBurst {
		t.Errorf("a chat took %d messages at once", n)
	}
	refused := send(Alice)
	if refused.Status != 429 || refused.Parameters.RetryAfter != 1 || refused.Description != "Too Many Requests: retry after 1" {
		t.Errorf("%+v", refused)
	}
	clock.advance(time.Second)
	if n := burst(Alice); n != 1 {
		t.Errorf("a second later it took %d", n)
	}
	if n := burst(group); n != groupBurst {
		t.Errorf("a group took %d at once", n)
	}
	if wait := send(group).Parameters.RetryAfter; wait != 3 {
		t.Errorf("the group asks to wait %d s", wait)
	}
	clock.advance(500 * time.Millisecond)
	if wait := send(Alice).Parameters.RetryAfter; wait != 1 {
		t.Errorf("half a second is told as %d s", wait)
	}
	clock.advance(time.Minute)
	edited := w.call("sendMessage", map[string]any{"chat_id": Alice, "text": "0"}).message(t).ID
	edits := 0
	for w.call("editMessageText", map[string]any{"chat_id": Alice, "message_id": edited, "text": fmt.Sprint("text ", edits)}).OK {
		edits++
	}
	if edits != chatBurst-1 {
		t.Errorf("%d edits after one message", edits)
	}
	clock.advance(time.Minute)
	photo := w.upload("sendPhoto", map[string]string{"chat_id": fmt.Sprint(Alice)}, map[string][]byte{"photo": picture(t, 9, 9)}).message(t).Photo[0].FileID
	album := map[string]any{"chat_id": Alice, "media": []map[string]any{{"type": "photo", "media": photo}, {"type": "photo", "media": photo}}}
	for range 2 {
		if !w.call("sendMediaGroup", album).OK {
			t.Error("an album was refused")
		}
	}
	if send(Alice).OK {
		t.Error("an album counts as one message")
	}
	clock.advance(time.Minute)
	total := 0
	for id := int64(2000); id < 2040; id++ {
		if err := w.AddUser(User{ID: id, FirstName: "U"}, ""); err != nil {
			t.Fatal(err)
		}
		w.say(id, "/start")
		if send(id).OK {
			total++
		}
	}
	if total != allBurst {
		t.Errorf("%d messages left in one instant", total)
	}
	if r := w.call("getMe", nil); !r.OK {
		t.Error("what is no message is limited, too")
	}
}
