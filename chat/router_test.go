package chat_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/bot"
	"purser/chat"
	"purser/sandbox/telegram"
	"purser/store"
	"purser/wallet"
)

// inTelegram is a chat behind the real bot and its router, before a Telegram of the sandbox's.
type inTelegram struct {
	*harness
	telegram *telegram.Server
	url      string // of its HTTP server
	restart  func() // stops the bot and runs another one over the same store
	last     int64  // the newest message that was waited for
}

// telegramOf runs the bot with a chat until the test ends.
func telegramOf(t *testing.T, made func(chat.Options) (*chat.Chat, error)) *inTelegram {
	t.Helper()
	w := &inTelegram{harness: newHarness(t)}
	var err error
	w.chat, err = made(w.options())
	w.Must(err)
	w.telegram, err = telegram.Open(telegram.Options{Unlimited: true})
	w.Must(err)
	server := httptest.NewServer(w.telegram.Handler())
	w.url = server.URL
	start := func() (stop func()) {
		b, err := bot.New(bot.Options{Token: w.telegram.Token(), APIURL: server.URL, Store: w.Store, Chat: w.chat, Log: slog.New(slog.DiscardHandler), Pace: bot.Pace{Unlimited: true}})
		w.Must(err)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		return func() {
			cancel()
			w.Must(<-ended)
		}
	}
	stop := start()
	w.restart = func() {
		stop()
		w.Must(w.Update(func(tx store.Tx) error { return tx.ReleaseNode("main") })) // as main does
		stop = start()
	}
	t.Cleanup(func() {
		stop()
		w.Must(w.telegram.Close())
		server.Close()
	})
	return w
}

// waits for an answer that holds a text, below all that was waited for before.
func (w *inTelegram) waits(where int64, text string) telegram.Message {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	m, err := w.telegram.WaitMessage(ctx, where, func(m telegram.Message) bool {
		return m.ID > w.last && strings.Contains(m.Body(), text)
	})
	w.Must(err)
	w.last = m.ID
	return m
}

func (w *inTelegram) types(text string) {
	w.Helper()
	_, err := w.telegram.Say(telegram.Alice, text)
	w.Must(err)
}

// TestAConversationIsOneValue: a conversation that the product does not have works in all its ways, by its value alone,
// through the bot's real router.
func TestAConversationIsOneValue(t *testing.T) {
	w := telegramOf(t, chat.NewWithProbe)
	w.types("/help")
	w.waits(telegram.Alice, "/probe — tell me your favourite colour")
	w.types("/help colours")
	w.waits(telegram.Alice, "All about colours.")
	w.types("/colours") // an alias
	w.waits(telegram.Alice, "Which colour?")
	w.types("panic") // it is said that something went wrong, and the question waits on
	w.waits(telegram.Alice, "something went wrong on our side")
	w.types("blue") // a text
	w.waits(telegram.Alice, "blue? Share your contact.")
	w.types("/cancel")
	w.waits(telegram.Alice, "The key is gone.")
	w.waits(telegram.Alice, "As you like.")
	w.types("/probe")
	asked := w.waits(telegram.Alice, "Which colour?")
	if _, err := w.telegram.Tap(telegram.Alice, asked.ID, "Red"); err != nil {
		t.Fatal(err)
	}
	w.waits(telegram.Alice, "red? Share your contact.")
	_, err := w.telegram.ShareContact(telegram.Alice, telegram.Alice)
	w.Must(err)
	w.waits(telegram.Alice, "Thank you.")
	w.waits(telegram.Alice, "You like red.")
	w.types("green") // no question waits for it any more
	w.waits(telegram.Alice, "I only understand commands")

	group, err := w.telegram.NewGroup("Friends", telegram.Alice)
	w.Must(err)
	_, err = w.telegram.SayIn(group, telegram.Alice, "/probe")
	w.Must(err)
	w.last = 0
	w.waits(group, "in a private chat")

	var user wallet.User
	w.View(func(tx store.Tx) (err error) { user, err = tx.UserByTelegram(telegram.Alice); return err })
	commit, err := w.chat.Execute(t.Context(), chat.AppCommand{Person: user, Text: "/probe", Silent: true})
	w.Must(err)
	w.Must(w.Update(func(tx store.Tx) error {
		said, err := commit(tx)
		if said != "An app asks about colours." {
			t.Errorf("an app got %q", said)
		}
		return err
	}))
}

// TestConversationOfAnotherDataVersionIsForgotten: what a row holds is read by the version that wrote it, or not at all.
func TestConversationOfAnotherDataVersionIsForgotten(t *testing.T) {
	r := newHarness(t)
	var err error
	r.chat, err = chat.NewWithProbe(r.options())
	r.Must(err)
	r.says("alice", "/probe")
	r.says("alice", "blue")
	conv := r.conversation("alice")
	if !strings.Contains(string(conv.Data), `"v":3`) {
		t.Fatalf("the row holds %s", conv.Data)
	}
	conv.Data = []byte(strings.Replace(string(conv.Data), `"v":3`, `"v":2`, 1))
	r.Must(r.Update(func(tx store.Tx) error { return tx.PutConversation(conv) }))
	r.seen = nil
	r.says("alice", "/cancel")
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "nothing to cancel") {
		t.Errorf("said %s", said)
	}
}

// TestACommandGoesWithItsValue: without its value, /privacy is in no menu, help, alias or endpoint.
func TestACommandGoesWithItsValue(t *testing.T) {
	r := newHarness(t)
	var err error
	r.chat, err = chat.NewWithout(r.options(), "privacy")
	r.Must(err)
	for _, c := range r.chat.Profiles()[0].Commands {
		if c.Name == "privacy" {
			t.Error("it is in the menu")
		}
	}
	if slices.ContainsFunc(r.chat.Endpoints(), func(e chat.Endpoint) bool { return e.Name == "privacy" }) {
		t.Error("it is an endpoint")
	}
	for text, want := range map[string]string{"/privacy": "I don't know /privacy. See /help.", "/help privacy": "no help on “privacy”", "/help commands": "", "/help": "", "privacy": "I only understand commands"} {
		r.seen = nil
		r.says("alice", text)
		said := strings.Join(r.seen, "")
		if !strings.Contains(said, want) || want == "" && strings.Contains(said, "privacy") {
			t.Errorf("%s: said %s", text, said)
		}
	}
	if _, err := chat.NewWithoutSentences(r.options(), "privacy"); err == nil || !strings.Contains(err.Error(), "/privacy") {
		t.Errorf("without its sentences alone: %v", err)
	}
}

// TestACommandIsDeletedByDeletingItsFiles builds the package without /privacy's files and its line in the list.
func TestACommandIsDeletedByDeletingItsFiles(t *testing.T) {
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("all.go")
	if err != nil {
		t.Fatal(err)
	}
	shorter := filepath.Join(t.TempDir(), "all.go")
	if err := os.WriteFile(shorter, []byte(strings.Replace(string(list), "\t\tprivacyCommand(),\n", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	replace := `{"Replace":{"` + here + `/privacy.go":"","` + here + `/privacy.en.toml":"","` + here + `/all.go":"` + shorter + `"}}`
	if err := os.WriteFile(overlay, []byte(replace), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", overlay, ".").CombinedOutput(); err != nil {
		t.Errorf("it does not build: %s", out)
	}
}
