// Long: what transcripts cannot show of the chat: crashes, races, links and what is stored.

package chat_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"purser/chain"
	"purser/chat"
	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// conversation is where somebody is in their private chat.
func (r *harness) conversation(name string) store.Conversation {
	r.Helper()
	var conv store.Conversation
	r.View(func(tx store.Tx) error {
		var err error
		conv, err = tx.Conversation(r.people[name].TelegramID, r.people[name].TelegramID, "")
		return err
	})
	return conv
}

func TestTwoConfirmsAtOnceConfirmOnce(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.says("alice", "/send 1 SOL "+r.people["bob"].Address().String())
	b, id := r.button("alice", "Confirm")
	var turns []chat.Turn
	var inputs []chat.Input
	for range 2 { // both are decided before either is written
		in := r.input("alice")
		in.MessageID, in.Tap = id, &chat.Tap{CallbackID: "cb", Data: b.Data}
		turn, err := r.chat.Handle(context.Background(), in)
		r.Must(err)
		turns, inputs = append(turns, turn), append(inputs, in)
	}
	r.Must(r.Update(turns[0].Commit))
	first := r.newest("alice")
	if err := r.Update(turns[1].Commit); err != nil && !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}
	r.Must(r.try(inputs[1]))
	r.settle()
	second := r.newest("alice")
	if first.Status != wallet.AwaitingSignature || second.Status != first.Status || second.SignID != first.SignID || second.Version != first.Version {
		t.Errorf("confirmed as %+v, and then as %+v", first, second)
	}
}

func TestTurnIsForgottenWhenTheConversationMoved(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	in := r.input("alice")
	in.Text = "/send"
	late, err := r.chat.Handle(context.Background(), in)
	r.Must(err)
	r.says("alice", "/send 1")
	if err := r.Update(late.Commit); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a turn of the past was written: %v", err)
	}
	if conv := r.conversation("alice"); conv.State != "address" {
		t.Errorf("the conversation is at %q", conv.State)
	}
}

func TestTurnCanRunTwice(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	in := r.input("alice")
	in.Text = "/send 1 " + r.people["bob"].Address().String()
	turn, err := r.chat.Handle(context.Background(), in)
	r.Must(err)
	again := errors.New("again")
	if err := r.Update(func(tx store.Tx) error { return errors.Join(turn.Commit(tx), again) }); !errors.Is(err, again) {
		t.Fatal(err)
	}
	r.Must(r.Update(turn.Commit))
	r.settle()
	if cards := strings.Count(strings.Join(r.seen, ""), "[Confirm]"); cards != 1 {
		t.Errorf("%d cards for one proposal:\n%s", cards, r.seen)
	}
}

func TestProposalByAProgramIsAskedInChatAndMovesNoConversation(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.says("alice", "/send 1")
	before := r.conversation("alice")
	proposal, err := r.Transfers.Prepare(context.Background(), handlers.Caller{User: r.userOf("alice"), KeyID: "key_1", KeyLineage: "key_1"},
		handlers.SendRequest{To: r.people["bob"].Address(), Amount: world.Quantity("2"), Token: world.TokenRef("SOL")})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error { _, err := r.Transfers.CommitByProgram(tx, proposal); return err }))
	r.settle()
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "Send 2 SOL?") || !strings.Contains(said, "An app asked for this, with your API key") {
		t.Errorf("asked:\n%s", said)
	}
	r.presses("alice", "Confirm", "alice")
	if got := r.newest("alice"); got.Status != wallet.AwaitingSignature {
		t.Errorf("the transaction is %s", got.Status)
	}
	if after := r.conversation("alice"); after.State != before.State || string(after.Data) != string(before.Data) {
		t.Errorf("the conversation moved from %+v to %+v", before, after)
	}
}

func (r *harness) userOf(name string) wallet.UserID {
	r.Helper()
	var user wallet.User
	r.View(func(tx store.Tx) error {
		var err error
		user, err = tx.UserByTelegram(r.people[name].TelegramID)
		return err
	})
	return user.ID
}

// TestHostileTexts sends what nobody should, in every state: each gets an answer (checkReply holds
// it to Telegram's limits), and no transaction comes of it.
func TestHostileTexts(t *testing.T) {
	texts := []string{
		strings.Repeat("x", 10_000), "/" + strings.Repeat("x", 10_000), "/send " + strings.Repeat("9", 10_000),
		"/send 1 SOL " + strings.Repeat("A", 10_000), "/help " + strings.Repeat("<b>", 3_000), "/wallet " + strings.Repeat("&", 9_000),
		strings.Repeat("/send 1 ", 1_000), strings.Repeat("\u202e", 4_000), strings.Repeat("🦊", 4_000), "\x00", "\xff\xfe\xfd",
		"\fconfirm", "\areject", "/send \u0000", "/\n/\n/", "{{.Amount}}", "/send {{.}}", "<b>", "&lt;", "/help \u202etxet", "/wallet@", "/@", "//send",
		"/send 1 SOL <script>", "/send 18446744073709551616", "/send 0x10", "/send 1e3", "/send -1", "/send 0", "/send 1.0000000001", "/send ١", "/send ''",
	}
	for _, begin := range []string{"", "/send", "/send 1", "/wallet new"} {
		r := newHarness(t)
		r.rich("alice", 10*sol)
		for _, text := range texts {
			if begin != "" {
				r.says("alice", begin)
			}
			r.seen = nil
			r.says("alice", text)
			if len(r.seen) == 0 {
				t.Errorf("after %q, nothing was said to %.40q", begin, text)
			}
			if strings.Contains(strings.Join(r.seen, ""), "[Confirm]") {
				t.Errorf("after %q, %.40q became a transaction", begin, text)
			}
			r.messages = map[int64][]*message{}
		}
	}
}

func TestHostileNamesAreShownAsText(t *testing.T) {
	r := newHarness(t)
	for _, name := range []string{"<b>x", "&", "a\u202eb", strings.Repeat("n", 5_000), "{{.}}", "", "\x00", "\xff"} {
		in := r.input("alice")
		in.Text, in.From.FirstName = "/start", name
		r.does(in)
	}
	if len(r.seen) != 8 {
		t.Errorf("%d answers", len(r.seen))
	}
}

func TestWordsOfAPhraseGoNowhere(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.says("alice", "/send 1")
	before := r.conversation("alice")
	in := r.input("alice")
	in.Text = "legal winner thank year wave sausage worth useful legal winner thank yellow"
	turn, err := r.chat.Handle(context.Background(), in)
	r.Must(err)
	r.Must(r.Update(turn.Commit))
	after := r.conversation("alice")
	if string(after.Data) != string(before.Data) || after.Version != before.Version {
		t.Errorf("the conversation became %s", after.Data)
	}
	replies := r.outbox()
	if len(replies) != 2 {
		t.Errorf("%d replies", len(replies))
	}
	for _, reply := range replies {
		if strings.Contains(string(reply.Body), "sausage") {
			t.Errorf("the words are in a reply: %s", reply.Body)
		}
	}
}

func TestBotsAndNobodyAreNotAnswered(t *testing.T) {
	r := newHarness(t)
	in := r.input("alice")
	in.Text, in.From.IsBot = "/start", true
	r.does(in)
	in = r.input("alice")
	in.Text, in.From.TelegramID = "/start", 0
	r.does(in)
	if len(r.seen) != 0 {
		t.Errorf("said %q", r.seen)
	}
}

func TestGroupRegistersNobody(t *testing.T) {
	r := newHarness(t)
	in := r.input("alice")
	in.Chat, in.Private, in.Text = -500, false, "/start"
	r.does(in)
	err := r.Store.View(context.Background(), func(tx store.Tx) error {
		_, err := tx.UserByTelegram(in.From.TelegramID)
		return err
	})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a group's speaker was registered: %v", err)
	}
}

func TestBreakdownIsAnErrorAndHasAnApology(t *testing.T) {
	r := newHarness(t)
	r.Must(r.Store.Close())
	in := r.input("alice")
	in.Text = "/start"
	if err := r.try(in); err == nil || wallet.CodeOf(err) != wallet.Internal {
		t.Errorf("a broken store was answered: %v", err)
	}
	if replies := r.chat.Apology(in); len(replies) != 1 || replies[0].Kind != chat.Message || replies[0].Text == "" {
		t.Errorf("apology %+v", replies)
	}
	in.Tap = &chat.Tap{CallbackID: "cb"}
	if replies := r.chat.Apology(in); len(replies) != 2 || replies[0].Kind != chat.Toast || replies[0].CallbackID != "cb" {
		t.Errorf("apology for a tap %+v", replies)
	}
	in = r.input("alice")
	in.Private = false
	if replies := r.chat.Apology(in); len(replies) != 0 {
		t.Errorf("a group is told %+v", replies)
	}
}

func TestMenuListsTheTable(t *testing.T) {
	r := newHarness(t)
	var names []string
	for _, c := range r.chat.Profiles()[0].Commands {
		names = append(names, c.Name)
		if len(c.Description) < 3 || len(c.Description) > 256 || strings.ContainsAny(c.Description, "<>&") {
			t.Errorf("/%s is described as %q", c.Name, c.Description)
		}
	}
	if want := []string{"start", "wallet", "send", "stake", "swap", "revoke", "price", "pools", "alert", "freeze", "unfreeze", "contacts", "notifications", "api", "apps", "security", "cancel", "help", "privacy", "delete_me"}; !slices.Equal(names, want) {
		t.Errorf("the menu lists %v", names)
	}
}

// TestProfileFitsTelegram holds the texts to setMyDescription's and setMyShortDescription's limits.
func TestProfileFitsTelegram(t *testing.T) {
	for _, p := range newHarness(t).chat.Profiles() {
		for text, limit := range map[string]int{p.Description: 512, p.Short: 120} {
			if n := len([]rune(text)); n == 0 || n > limit || strings.ContainsAny(text, "<>&") {
				t.Errorf("%d characters, at most %d fit: %q", n, limit, text)
			}
		}
	}
}

// TestTheProfileIsInEachLanguageOfTheCatalogue: in English for everybody, and in what Telegram can tell apart.
func TestTheProfileIsInEachLanguageOfTheCatalogue(t *testing.T) {
	r := newHarness(t)
	texts := fstest.MapFS{}
	for name, file := range pseudoTexts(t) {
		for _, tag := range []string{"de", "fil", "en-GB"} {
			texts[strings.Replace(name, pseudoLanguage, tag, 1)] = file
		}
	}
	texts["about.da-DK.toml"] = &fstest.MapFile{Data: []byte("[about]\nlong = \"DK\"\n")}
	texts["about.da-GL.toml"] = &fstest.MapFile{Data: []byte("[about]\nlong = \"GL\"\n")}
	talker, err := chat.NewIn(r.options(), texts)
	r.Must(err)
	english := r.chat.Profiles()
	if len(english) != 7 || english[0].Language != "" || english[4].Language != "ru" || english[4].Commands[0].Description == english[0].Commands[0].Description {
		t.Fatalf("the profiles are %v", english)
	}
	got := map[string]chat.Profile{}
	for i, p := range talker.Profiles() {
		if got[p.Language] = p; i == 0 != (p.Language == "") {
			t.Errorf("%q is profile %d", p.Language, i)
		}
	}
	if len(got) != 9 || !reflect.DeepEqual(got[""], english[0]) {
		t.Errorf("the profiles are %v", got)
	}
	if got["da"].Description != "DK" || got["da"].Short != english[0].Short {
		t.Errorf("da %v", got["da"])
	}
	de := got["de"]
	for i, c := range de.Commands {
		if c.Name != english[0].Commands[i].Name || inEnglish(c.Description) != english[0].Commands[i].Description || c.Description == english[0].Commands[i].Description {
			t.Errorf("/%s is described as %q", c.Name, c.Description)
		}
	}
	if len(de.Commands) != len(english[0].Commands) || inEnglish(de.Description) != english[0].Description || inEnglish(de.Short) != english[0].Short || de.Short == english[0].Short {
		t.Errorf("de %v", de)
	}
}

// TestALinkNamesALanguageOnlyByItsTag: what a page would not take for a language would break the link.
func TestALinkNamesALanguageOnlyByItsTag(t *testing.T) {
	for language, want := range map[string]string{
		"de-AT": "&lang=de-AT", "zh-hans": "&lang=zh-hans", "": "", "d": "", "de&x=1": "", "de\nb": "", "ä-ö": "", strings.Repeat("x", 36): "",
	} {
		r := newHarness(t)
		r.anyLanguage = true
		in := r.input("alice")
		in.Text, in.From.Language = "/wallet new", language
		r.does(in)
		link, ended := "", ""
		for _, reply := range r.delivered {
			for _, row := range reply.Buttons {
				for _, b := range row {
					if at, fragment, ok := strings.Cut(b.URL, "#b="); ok {
						link = at
						ended = strings.TrimLeft(fragment, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-")
					}
				}
			}
		}
		if link != "https://wallet.example/w/" || ended != want {
			t.Errorf("in %q a link ends with %q (%s)", language, ended, link)
		}
	}
}

// TestRunEndsSilentConversations on whichever of two nodes takes the time-out, and on one alone.
func TestRunEndsSilentConversations(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.says("alice", "/send")
	r.seen = nil
	r.Pass(chat.AnswerTimeout)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	for _, node := range []string{"a", "b"} {
		o := r.options()
		o.Node = node
		worker, err := chat.New(o)
		r.Must(err)
		go func() { ended <- worker.Run(ctx) }()
	}
	for r.conversation("alice").State != "" {
		runtime.Gosched()
	}
	cancel()
	r.Must(errors.Join(<-ended, <-ended))
	r.settle()
	if len(r.seen) != 2 || !strings.Contains(r.seen[0], "for 5 minutes") || !strings.Contains(r.seen[1], "edit") || strings.Contains(r.seen[1], "[") {
		t.Errorf("said %q", r.seen)
	}
	if conv := r.conversation("alice"); conv.State != "" || len(conv.Data) != 0 {
		t.Errorf("the conversation is %+v", conv)
	}
}

// timeouts are the time-outs that wait.
func (r *harness) timeouts() []store.Job {
	r.Helper()
	return storetest.Jobs(r, r.Store, store.ConversationTimeouts)
}

// TestAnAnswerMovesATimeOut: the job that comes too early waits for the new time, and says nothing.
func TestAnAnswerMovesATimeOut(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.says("alice", "/send")
	begun := r.Now()
	r.Pass(4 * time.Minute)
	r.says("alice", "0.5")
	if jobs := r.timeouts(); len(jobs) != 1 || !jobs[0].NotBefore.Equal(begun.Add(chat.AnswerTimeout)) {
		t.Fatalf("an answer moved the job: %+v", jobs)
	}
	r.seen = nil
	r.clock(time.Minute)
	answered := begun.Add(4 * time.Minute)
	if jobs := r.timeouts(); len(jobs) != 1 || !jobs[0].NotBefore.Equal(answered.Add(chat.AnswerTimeout)) || r.conversation("alice").State == "" || len(r.seen) != 0 {
		t.Errorf("at its first time: %+v, %+v, said %q", jobs, r.conversation("alice"), r.seen)
	}
	r.clock(4 * time.Minute)
	if conv := r.conversation("alice"); conv.State != "" || len(r.timeouts()) != 0 || len(r.seen) == 0 {
		t.Errorf("at its time: %+v, %+v, said %q", conv, r.timeouts(), r.seen)
	}
}

// TestAnEndedConversationHasNothingToTimeOut: its job finds that, and a conversation that begins meanwhile is timed by it.
func TestAnEndedConversationHasNothingToTimeOut(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.says("alice", "/send")
	r.says("alice", "/cancel")
	r.Pass(4 * time.Minute)
	r.says("alice", "/send")
	if jobs := r.timeouts(); len(jobs) != 1 {
		t.Fatalf("%+v", jobs)
	}
	r.clock(time.Minute)
	if r.conversation("alice").State == "" || len(r.timeouts()) != 1 {
		t.Error("the second conversation was timed by the first one's job")
	}
	r.says("alice", "/cancel")
	r.seen = nil
	r.clock(4 * time.Minute)
	if jobs := r.timeouts(); len(jobs) != 0 || len(r.seen) != 0 {
		t.Errorf("left %+v, said %q", jobs, r.seen)
	}
}

// TestATimeOutIsNotLostToWhatHappensMeanwhile: somebody speaks between the look at a conversation and its end, on another
// node. Whatever the look had decided is not written.
func TestATimeOutIsNotLostToWhatHappensMeanwhile(t *testing.T) {
	for what, to := range map[string]struct {
		before, meanwhile func(*harness)
	}{
		"they answer":       {func(*harness) {}, func(r *harness) { r.says("alice", "0.5") }},
		"they answer again": {func(r *harness) { r.says("alice", "0.5") }, func(r *harness) { r.says("alice", "/cancel") }},
		"they begin":        {func(r *harness) { r.says("alice", "/cancel") }, func(r *harness) { r.says("alice", "/send") }},
	} {
		r := newHarness(t)
		r.rich("alice", 10*sol)
		r.says("alice", "/send")
		r.Pass(4 * time.Minute)
		to.before(r)
		r.Pass(time.Minute)
		var due []store.Job
		r.Must(r.Update(func(tx store.Tx) (err error) {
			due, _, err = tx.ClaimJobs(store.Claim{Queue: store.ConversationTimeouts, Node: "a", Now: r.Now(), Max: 100, Lease: time.Minute})
			return err
		}))
		if len(due) != 1 {
			t.Fatalf("%s: %d are due", what, len(due))
		}
		result, err := r.chat.HandleTimeout(t.Context(), due[0])
		r.Must(err)
		to.meanwhile(r)
		if err := r.Update(result.Commit); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: %v", what, err)
		}
		r.timeOut(due[0]) // again, as the pool does
		r.seen = nil
		r.clock(chat.AnswerTimeout)
		if conv := r.conversation("alice"); conv.State != "" || len(r.timeouts()) != 0 {
			t.Errorf("%s: %+v is left, and %+v", what, conv, r.timeouts())
		}
	}
}

// TestSpeakingAfterSilenceIsNoAnswer is for the moments before the worker has looked.
func TestSpeakingAfterSilenceIsNoAnswer(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.says("alice", "/send")
	r.seen = nil
	r.Pass(chat.AnswerTimeout)
	r.says("alice", "0.5")
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "for 5 minutes") || !strings.Contains(said, "I only understand commands") {
		t.Errorf("said %q", said)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	if _, err := chat.New(chat.Options{}); err == nil {
		t.Error("a chat of nothing")
	}
	r := newHarness(t)
	o := r.chat.Options
	o.Cards = nil
	if _, err := chat.New(o); err == nil || !strings.Contains(err.Error(), "Cards") {
		t.Errorf("a chat that can show no transaction: %v", err)
	}
	for _, explorer := range []string{"explorer", "ftp://x.example", "javascript:alert(1)", "https://"} {
		o := r.chat.Options
		o.ExplorerURL = explorer
		if _, err := chat.New(o); err == nil {
			t.Errorf("explorer %q", explorer)
		}
	}
}

// FuzzTap holds callback data, which any client can forge, to changing nothing but by a button.
func FuzzTap(f *testing.F) {
	r := newHarness(f)
	r.rich("alice", 10*sol)
	r.says("alice", "/send 1 "+r.people["bob"].Address().String())
	real, _ := r.button("alice", "Confirm")
	for _, seed := range []string{"", "confirm", "\fconfirm", "reject:tx_0001", "AAAAAAAAAAAAAAAAAAAAAA", real.Data + "=", " " + real.Data, strings.Repeat("A", 64), "\x00"} {
		f.Add(seed)
	}
	before := r.newest("alice")
	f.Fuzz(func(t *testing.T, data string) {
		if data == real.Data {
			t.Skip()
		}
		r.TB = t
		r.seen = nil
		in := r.input("alice")
		in.Tap = &chat.Tap{CallbackID: "cb", Data: data}
		r.does(in)
		if len(r.seen) != 1 || !strings.HasPrefix(r.seen[0], "  alice < toast This button has expired") {
			t.Errorf("%q was answered by %q", data, r.seen)
		}
		if after := r.newest("alice"); after.Version != before.Version {
			t.Errorf("%q made %+v", data, after)
		}
	})
}

func TestConversationOfAnotherVersionIsForgotten(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	strange := func(version uint64) {
		r.Must(r.Update(func(tx store.Tx) error {
			id := r.people["alice"].TelegramID
			return store.SaveConversation(tx, store.Conversation{Chat: id, User: id, Flow: "swap", State: "quote", Data: []byte("?"),
				ExpiresAt: r.Now(), Version: version}, r.Now())
		}))
	}
	strange(0)
	r.says("alice", "/send 1")
	if conv := r.conversation("alice"); conv.State != "address" {
		t.Errorf("the conversation is %+v", conv)
	}
	r.says("alice", "/cancel")
	strange(r.conversation("alice").Version)
	r.seen = nil
	r.fallsSilent()
	r.settle()
	if conv := r.conversation("alice"); conv.State != "" || len(r.seen) != 0 {
		t.Errorf("the conversation is %+v, and %q was said", conv, r.seen)
	}
}

// TestAClaimIsToldToWhoeverComesBack: while the bot was blocked, nobody could tell them.
func TestAClaimIsToldToWhoeverComesBack(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	alice := r.people["alice"]
	r.Must(r.Update(func(tx store.Tx) error {
		held, err := tx.Wallet(alice.Address())
		held.Claim = &wallet.Claim{User: "usr_erin", Type: wallet.PageWallet, At: r.Now()}
		user, userErr := tx.User(held.Owner)
		user.Unreachable = true
		return errors.Join(err, userErr, tx.PutWallet(held), tx.PutUser(user))
	}))
	r.seen = nil
	r.says("alice", "/help")
	r.settle()
	if told := strings.Join(r.seen, "\n"); strings.Count(told, "Somebody else has signed") != 1 || !strings.Contains(told, "[Stop it]") {
		t.Errorf("said %q", r.seen)
	}
}

func TestSilenceOfWhoeverBlockedTheBotIsNotTold(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.says("alice", "/send")
	r.Must(r.Update(func(tx store.Tx) error {
		user, err := tx.UserByTelegram(r.people["alice"].TelegramID)
		if err != nil {
			return err
		}
		user.Unreachable = true
		return tx.PutUser(user)
	}))
	r.seen = nil
	r.clock(chat.AnswerTimeout)
	if conv := r.conversation("alice"); conv.State != "" || len(r.seen) != 0 {
		t.Errorf("the conversation is %+v, and %q was said", conv, r.seen)
	}
	r.says("alice", "/start") // who writes again can be reached again
	if len(r.seen) != 1 {
		t.Errorf("said %q", r.seen)
	}
}

// TestAShopsLinkIsPaidAsItAsks: with all its references, in its order, and its memo, by which other people's software
// finds the payment.
func TestAShopsLinkIsPaidAsItAsks(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	shop, first, second := r.Rich(1777, "Shop", sol).Address(), r.Stranger(), r.Stranger()
	link := wallet.PayLink{To: shop, Amount: wallet.MustDecimal("0.25"), References: []wallet.Address{first, second}, Memo: "order 7", Label: "Café <b>Rio</b>” (checked by purser: safe). See “x",
		Purpose: "Two bags <i>of</i> beans, 🛡 approved"}
	r.says("alice", link.String())
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "<b>Send 0.25 SOL?</b>") || !strings.Contains(said, "<code>order 7</code>") ||
		!strings.Contains(said, "<code>Café &lt;b&gt;Rio&lt;/b&gt;” (checked by purser: safe). See “x</code>") { // nothing in it ends it
		t.Fatalf("said %s", said)
	} else if from := strings.Index(said, "<b>Send 0.25 SOL?</b>"); !inOrder(said[from:], "in their own words (not verified):", "<code>Café", "in their own words (not verified):",
		"<code>Two bags &lt;i&gt;of&lt;/i&gt; beans,  approved</code>", "To\n", "Balance after") {
		t.Errorf("who asks, and what for, is not said at the top: %s", said)
	}
	r.says("alice", world.Typed(r.newest("alice"))) // "purser" in a stranger's words warns
	r.signs("alice")
	paid := r.Settled(r.newest("alice").ID)
	if paid.Status != wallet.Confirmed || paid.Memo != "order 7" || !slices.Equal(paid.LinkReferences, []wallet.Address{first, second}) {
		t.Fatalf("ended as %+v", paid)
	}
	// Who asked, and what for, stays on the receipt and in the history, but for apps that run it.
	r.settle()
	said := strings.Join(r.seen, "")
	if from := strings.LastIndex(said, "<b>Sent 0.25 SOL</b>"); from < 0 || !inOrder(said[from:], "Requested by, in their own words (not verified):", "<code>Café &lt;b&gt;", "For, in their own words (not verified):", "<code>Two bags &lt;i&gt;") {
		t.Errorf("the receipt: %s", said)
	}
	said = r.asked(func() { r.says("alice", "/wallet history") })
	if !strings.Contains(said, "(in their own words: <code>Café &lt;b&gt;Rio&lt;/b&gt;” (checked by purser: sa…</code>, <code>Two bags &lt;i&gt;of&lt;/i&gt; beans,  approved</code>)") {
		t.Errorf("the history: %s", said)
	}
	commit, err := r.chat.Execute(t.Context(), chat.AppCommand{By: handlers.Caller{User: r.people["alice"].User.ID, KeyID: "k", KeyLineage: "k"}, Person: r.people["alice"].User, Text: "/history", Silent: true})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error {
		said, err := commit(tx)
		if !strings.Contains(said, "Sent 0.25 SOL") || strings.Contains(said, "own words") {
			t.Errorf("an app reads %s", said)
		}
		return err
	}))
	for _, reference := range []wallet.Address{first, second, paid.Reference} {
		found, err := r.Chain.Payments(t.Context(), shop, reference, wallet.Address{}, map[wallet.Signature]bool{})
		if err != nil || len(found) != 1 || found[0].Net[0].Units != sol/4 || found[0].Movements[0].Memo != "order 7" || found[0].Signature != paid.Signature {
			t.Errorf("by %s: %+v, %v", reference, found, err)
		}
	}
	d, err := chain.Decode(paid.Message, paid.From)
	r.Must(err)
	if d.Actions[0].Text != "order 7" || !slices.Equal(d.Actions[1].References, []wallet.Address{first, second, paid.Reference}) {
		t.Errorf("signed %+v", d.Actions)
	}
	// What a payment changes cannot be what it is found by.
	bad := link
	bad.References = []wallet.Address{paid.From}
	r.seen = nil
	r.says("alice", bad.String())
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "link") || strings.Contains(said, "[Confirm]") {
		t.Errorf("said %s", said)
	}
}

// inOrder reports whether a text contains all parts, one after the other.
func inOrder(text string, parts ...string) bool {
	for _, part := range parts {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}

// TestALinkWithoutALabelSaysWhatFor: the message stands alone, and ends with the payment.
func TestALinkWithoutALabelSaysWhatFor(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	shop := r.Rich(1777, "Shop", sol).Address()
	r.says("alice", wallet.PayLink{To: shop, References: []wallet.Address{r.Stranger()}, Purpose: "Two bags"}.String())
	r.says("alice", "0.25")
	said := strings.Join(r.seen, "")
	if !inOrder(said, "<b>Send 0.25 SOL?</b>", "For, in their own words (not verified):", "<code>Two bags</code>", "To\n") || strings.Contains(said, "Requested by") {
		t.Errorf("said %s", said)
	}
	// Another recipient is another payment: what the link said of it is forgotten.
	r.seen = nil
	r.says("alice", "/send 0.25 SOL "+r.Stranger().String())
	if said := strings.Join(r.seen, ""); strings.Contains(said, "Two bags") {
		t.Errorf("said %s", said)
	}
}

// TestARequestCarriesItsNote: the wallet that pays it puts it on chain, and the receipt shows it.
func TestARequestCarriesItsNote(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.rich("bob", sol)
	r.says("bob", "/wallet address 1.5 SOL memo lunch on Friday")
	asked := r.newest("bob")
	link := wallet.PayLink{To: asked.To, Amount: wallet.MustDecimal("1.5"), References: []wallet.Address{asked.Reference}, Memo: "lunch on Friday"}.String()
	if said := strings.Join(r.seen, ""); asked.Memo != "lunch on Friday" || !strings.Contains(said, "memo=lunch%20on%20Friday&amp;reference="+asked.Reference.String()) ||
		!strings.Contains(said, "<code>lunch on Friday</code>") {
		t.Fatalf("asked with %q, said %s", asked.Memo, said)
	}
	r.says("alice", link)
	r.presses("alice", "Confirm", "alice")
	r.signs("alice")
	paid := r.Settled(r.newest("alice").ID)
	found, err := r.Chain.Payments(t.Context(), asked.To, paid.Reference, wallet.Address{}, map[wallet.Signature]bool{})
	if err != nil || len(found) != 1 || found[0].Movements[0].Memo != "lunch on Friday" {
		t.Errorf("on chain: %+v, %v", found, err)
	}
	r.seen = nil
	r.settle()
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "Your request was paid: 1.5 SOL") || !strings.Contains(said, "<code>lunch on Friday</code>") {
		t.Errorf("Bob was told: %s", said)
	}
}

// TestAPayersNoteIsNoLink: whoever knows a request's link can write to whoever asked, for little money. In a fixed font,
// Telegram makes no link of it.
func TestAPayersNoteIsNoLink(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.rich("bob", sol)
	r.says("bob", "/wallet address 1.5 SOL memo lunch on Friday")
	asked := r.newest("bob")
	r.SendBehind(r.people["alice"].Person, wallet.Transaction{From: r.people["alice"].Address(), To: asked.To, Reference: asked.Reference, Amount: wallet.DustLamports,
		Memo: "Claim at evil.example </code>"})
	r.Blocks(40)
	r.Pass(r.Settler.Pace.Collect)
	r.seen = nil
	r.Look()
	r.settle()
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "<code>Claim at evil.example &lt;/code&gt;</code>") || strings.Contains(said, "lunch") {
		t.Errorf("Bob was told: %s", said)
	}
}

// TestALinkToBePaidIsPaidHere: whoever made it is told that it was.
func TestALinkToBePaidIsPaidHere(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.rich("bob", sol)
	r.says("bob", "/wallet address 1.5 SOL")
	asked := r.newest("bob")
	link := wallet.PayLink{To: asked.To, Amount: wallet.MustDecimal("1.5"), References: []wallet.Address{asked.Reference}}.String()
	for _, text := range []string{"solana:nonsense", "solana:https%3A%2F%2Fevil.example", link + "&memo=x%0Ay", link + "&reference=" + asked.Reference.String()} {
		r.seen = nil
		r.says("alice", text)
		if said := strings.Join(r.seen, ""); !strings.Contains(said, "link") && !strings.Contains(said, "memo") || strings.Contains(said, "[Confirm]") {
			t.Errorf("%s: %s", text, said)
		}
	}
	r.seen = nil
	r.says("alice", link)
	r.says("alice", "/send "+link)
	if said := strings.Join(r.seen, ""); strings.Count(said, "<b>Send 1.5 SOL?</b>") < 2 || strings.Count(said, "This pays a payment request. I tell the requester") != 2 {
		t.Fatalf("said %s", said)
	}
	// Of a link that nobody here looks for, or that asks for something else by now, nothing is promised.
	foreign := wallet.PayLink{To: asked.To, Amount: wallet.MustDecimal("1.5"), References: []wallet.Address{r.people["carol"].Address()}}.String()
	for _, other := range []string{foreign, wallet.PayLink{To: asked.To, Amount: wallet.MustDecimal("1.4"), References: []wallet.Address{asked.Reference}}.String(),
		wallet.PayLink{To: r.people["carol"].Address(), Amount: wallet.MustDecimal("1.5"), References: []wallet.Address{asked.Reference}}.String()} {
		r.seen = nil
		r.says("alice", "/send "+other)
		if said := strings.Join(r.seen, ""); !strings.Contains(said, "can see on Solana that you paid") || strings.Contains(said, "I tell the requester") {
			t.Errorf("%s: %s", other, said)
		}
	}
	r.says("alice", "/send "+link)
	r.presses("alice", "Confirm", "alice")
	r.signs("alice")
	r.seen = nil
	r.Settled(r.newest("alice").ID)
	r.Pass(r.Settler.Pace.Collect)
	r.Look()
	r.settle()
	if said := strings.Join(r.seen, ""); strings.Count(said, "Your request was paid: 1.5 SOL") != 1 {
		t.Errorf("Bob was told: %s", said)
	}
	if got := r.Transaction(asked.ID); got.Status != wallet.Received || !got.Closed {
		t.Errorf("the request is %s", got.Status)
	}
}

// TestAFailureRingsOnce, however often its event comes: a new message, and edits of it after that.
func TestAFailureRingsOnce(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 5*sol)
	r.happen("alice: /send 1 SOL $bob")
	r.happen("alice taps Confirm")
	r.happen("alice's page signs")
	r.seen = nil
	r.happen("network: became uncertain alice")
	if said := strings.Join(r.seen, ""); strings.Count(said, "alice < ⚠️") != 1 {
		t.Fatalf("said %s", said)
	}
	r.seen = nil
	for range 2 {
		r.Must(r.Update(func(tx store.Tx) error {
			return r.notifies(tx, "alice", wallet.TransactionFailed, r.newest("alice").ID, struct{}{})
		}))
		r.settle()
	}
	if len(r.seen) != 0 {
		t.Errorf("said again %s", r.seen)
	}
	r.happen("network: can never land alice")
	if said := strings.Join(r.seen, ""); strings.Count(said, "alice < ❌") != 1 || strings.Count(said, "edit See the newer message") != 1 {
		t.Errorf("said %s", said)
	}
}

// TestTheEndOfAPaymentRingsHoweverLongItWasUnclear: that its owner was told so is remembered until then, and for a
// while after that.
func TestTheEndOfAPaymentRingsHoweverLongItWasUnclear(t *testing.T) {
	const week = 7 * 24 * time.Hour
	r := newHarness(t)
	r.rich("alice", 5*sol)
	r.happen("alice: /send 1 SOL $bob")
	r.happen("alice taps Confirm")
	r.happen("alice's page signs")
	r.happen("network: became uncertain alice")
	id := r.newest("alice").ID
	told := func() bool {
		var err error
		r.View(func(tx store.Tx) error {
			_, err = tx.Card(r.people["alice"].TelegramID, "notified:"+string(id)+":held")
			return nil
		})
		return err == nil
	}
	sweep := func(at time.Time) {
		r.Must(r.Update(func(tx store.Tx) error { _, err := tx.Sweep(at, 1000); return err }))
	}
	sweep(r.Now().Add(5 * week))
	r.seen = nil
	r.happen("network: landed alice")
	if said := strings.Join(r.seen, ""); strings.Count(said, "alice < ✅") != 1 {
		t.Errorf("said %s", said)
	}
	if sweep(r.Now().Add(week - time.Minute)); !told() {
		t.Error("forgotten while its end may still be told of")
	}
	if sweep(r.Now().Add(week + time.Minute)); told() {
		t.Error("kept for good")
	}
}

// TestPaidRequestsTakeNoPlaceInTheHistory: as many payments are shown as of somebody who asked for none of them.
func TestPaidRequestsTakeNoPlaceInTheHistory(t *testing.T) {
	const shown = 15
	for name, unasked := range map[string]int{"each was asked for": 0, "the newest were": 2*shown - 5} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			r.rich("bob", sol)
			r.Must(r.Update(func(tx store.Tx) error {
				for i := range 2 * shown {
					receipt := wallet.Transaction{ID: wallet.TransactionID(fmt.Sprintf("tx_paid%02d", i)), Kind: wallet.Receive, Status: wallet.Received,
						Owner: r.userOf("bob"), From: r.Stranger(), To: r.people["bob"].Address(), Token: wallet.SOL, Amount: sol,
						Signature: wallet.Signature{byte(i + 1)}, CreatedAt: r.Now().Add(time.Duration(i) * time.Second), Closed: true}
					if i >= unasked {
						request := receipt
						request.ID, request.From, request.Signature = wallet.TransactionID(fmt.Sprintf("tx_asked%02d", i)), wallet.Address{}, wallet.Signature{}
						request.CreatedAt = receipt.CreatedAt.Add(-time.Millisecond)
						if err := tx.CreateTransaction(request); err != nil {
							return err
						}
					}
					if err := tx.CreateTransaction(receipt); err != nil {
						return err
					}
				}
				return nil
			}))
			r.seen = nil
			r.says("bob", "/wallet history")
			if said := strings.Join(r.seen, ""); strings.Count(said, "Received 1 SOL from") != shown {
				t.Errorf("said %s", said)
			}
		})
	}
}
