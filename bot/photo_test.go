package bot

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"purser/chat"
	"purser/sandbox/telegram"
	"purser/store"
)

// blank is a picture of a given width.
func blank(t *testing.T, width int) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, width, 10))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestAPictureIsEditedInPlace, with its caption and buttons. One that is gone is sent again.
func TestAPictureIsEditedInPlace(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice)
	w.run()
	picture := func(width int, caption, button string, message int64) store.Reply {
		return row(telegram.Alice, 0, chat.Reply{Kind: chat.Photo, PNG: blank(t, width), Text: caption, MessageID: int(message),
			Buttons: [][]chat.Button{{{Text: button, Data: "n0nce" + button}}}})
	}
	w.enqueue(picture(20, "<b>an hour</b>", "24h", 0))
	first := w.hears(telegram.Alice, "an hour")
	w.enqueue(picture(30, "<b>a day</b>", "1h", first.ID))
	second := w.hears(telegram.Alice, "a day")
	if second.ID != first.ID || second.Photo == nil || second.Photo[0].Width != 30 || len(second.CaptionEntities) != 1 {
		t.Errorf("it is now %+v", second)
	}
	if got := second.Buttons(); len(got) != 1 || got[0].Text != "1h" || got[0].CallbackData != "n0nce1h" {
		t.Errorf("its buttons are %+v", got)
	}
	w.enqueue(row(telegram.Alice, 0, chat.Reply{Kind: chat.Photo, PNG: blank(t, 40), MessageID: int(first.ID)})) // no caption, no buttons
	w.sentAll()
	if m, _ := w.telegram.Message(first.ID); m.Caption != "" || len(m.Buttons()) != 0 || m.Photo[0].Width != 40 {
		t.Errorf("without caption it is %+v", m)
	}
	// The person has deleted it.
	w.enqueue(row(telegram.Alice, 0, chat.Reply{Kind: chat.Delete, MessageID: int(first.ID)}))
	w.enqueue(picture(50, "a week", "1h", first.ID))
	if again := w.hears(telegram.Alice, "a week"); again.ID == first.ID || again.Photo == nil || len(again.Buttons()) != 1 {
		t.Errorf("the picture that is sent again is %+v", again)
	}
	// What is too long for a caption is no caption of an edit either.
	w.enqueue(picture(60, strings.Repeat("long ", 300), "1h", first.ID))
	if long := w.hears(telegram.Alice, strings.TrimSpace(strings.Repeat("long ", 300))); long.Photo != nil || len(long.Buttons()) != 1 {
		t.Errorf("the long caption is %+v", long)
	}
	w.sentAll()
	if strings.Contains(w.log.String(), "level=ERROR") {
		t.Errorf("the log holds an error:\n%s", w.log)
	}
}

// TestAnEditOfAPictureIsTriedAgain: whatever becomes of the first attempt, the message ends with the new picture and is
// the only one.
func TestAnEditOfAPictureIsTriedAgain(t *testing.T) {
	for name, fault := range map[string]telegram.FaultKind{
		"502": telegram.BadGateway, "500": telegram.Internal, "429": telegram.TooMany, "broken": telegram.DropRequest, "lost answer": telegram.DropAnswer,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.greet(telegram.Alice)
			w.run()
			w.enqueue(row(telegram.Alice, 0, chat.Reply{Kind: chat.Photo, PNG: blank(t, 20), Text: "before"}))
			first := w.hears(telegram.Alice, "before")
			var edits atomic.Int32
			w.telegram.SetFault(func(method string) telegram.Fault {
				if method == "editMessageMedia" && edits.Add(1) == 1 {
					return telegram.Fault{Kind: fault}
				}
				return telegram.Fault{}
			})
			w.enqueue(row(telegram.Alice, 0, chat.Reply{Kind: chat.Photo, PNG: blank(t, 30), Text: "after", MessageID: int(first.ID)}))
			w.sentAll()
			if m, _ := w.telegram.Message(first.ID); m.Caption != "after" || m.Photo[0].Width != 30 {
				t.Errorf("it is now %+v", m)
			}
			if got := w.fromBot(telegram.Alice); len(got) != 1 || edits.Load() != 2 {
				t.Errorf("the chat reads %q after %d edits", got, edits.Load())
			}
		})
	}
}

// TestRefusalsOfAnEdit: what each of Telegram's descriptions means for the picture.
func TestRefusalsOfAnEdit(t *testing.T) {
	for description, want := range map[string]struct {
		calls   string
		message int
		refused bool
	}{
		"Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message": {"editMessageMedia", 7, false},
		"Bad Request: canceled by new editMessageMedia request": {"editMessageMedia", 7, false},
		"Bad Request: message to edit not found":                {"editMessageMedia sendPhoto", 8, false},
		"Bad Request: message can't be edited":                  {"editMessageMedia sendPhoto", 8, false},
		"Bad Request: MESSAGE_ID_INVALID":                       {"editMessageMedia sendPhoto", 8, false},
		"Bad Request: IMAGE_PROCESS_FAILED":                     {"editMessageMedia", 7, true},
	} {
		var calls []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			method := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
			calls = append(calls, method)
			if method == "editMessageMedia" {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"ok":false,"error_code":400,"description":%q}`, description)
				return
			}
			fmt.Fprint(w, `{"ok":true,"result":{"message_id":8}}`)
		}))
		base, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		b := &Bot{transport: newTransport(base, "1:token", nil)}
		got, err := b.say(context.Background(), 1001, 0, chat.Reply{Kind: chat.Photo, PNG: blank(t, 10), MessageID: 7})
		server.Close()
		if strings.Join(calls, " ") != want.calls || (refused(err) != nil) != want.refused || err == nil && got != want.message {
			t.Errorf("%s: calls %v, message %d, %v", description, calls, got, err)
		}
	}
}
