package chat

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	stdhtml "html"
	"strings"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// Order of replies (store.Reply.Priority): what apps write goes last (docs/architecture.md, Telegram).
const (
	answers = iota
	confirmations
	alerts
	broadcasts
)

// toastLife is how long a tap waits for its toast; Telegram gives up a little later.
const toastLife = 12 * time.Second

// menuLife is how long the buttons of an overview work.
const menuLife = 7 * 24 * time.Hour

// replyTx is one run of an action inside a store transaction: it holds what the action may touch, and
// gathers what is said. A run that is repeated begins with a new one.
type replyTx struct {
	*Chat
	words   catalogue // in the person's language
	tx      store.Tx
	inbound Inbound
	user    wallet.User
	now     time.Time

	conv     store.Conversation
	question question
	data     any  // of the conversation: see data
	moved    bool // conv is to be written

	anew      bool  // cards are sent anew, not edited
	refusal   error // of the last answer: why something is asked again, or refused for good
	found     any   // what a handler found out for the effect of its transition, such as a proposal. It is never stored
	priority  int
	out       []store.Reply
	toasted   bool
	answered  int          // replies that only end what was asked before, and answer nothing that is said now
	unhandled bool         // what was said was not for purser
	to        wallet.AppID // the app that it was said to; "" for none
	failed    bool         // it was refused
}

// dataOf is the data of the conversation, as D. It begins empty.
func dataOf[D any](s *replyTx) *D {
	if d, ok := s.data.(*D); ok {
		return d
	}
	d := new(D)
	s.data = d
	return d
}

// read is a copy of what data holds, as D; the zero D where it holds something else.
func copyOf[D any](data any) (d D) {
	if held, ok := data.(*D); ok {
		return *held
	}
	return d
}

// renew begins the conversation's memory anew: with data, and without the question that was asked.
func (s *replyTx) renew(data any) { s.question, s.data = question{}, data }

// play runs an action with everything around it: the person is met, the conversation is compared and
// set, the replies are queued.
func (c *Chat) play(tx store.Tx, h Inbound, action Action) error {
	s := &replyTx{Chat: c, tx: tx, inbound: h, user: h.user, now: c.Now().UTC(), conv: h.conv}
	s.question, s.data = c.open(&s.conv)
	if h.Private { // who speaks in a group has not let the bot write to them
		user, _, err := c.Users.Meet(tx, handlers.Person{
			TelegramID: h.From.TelegramID, Username: h.From.Username,
			FirstName: h.From.FirstName, LastName: h.From.LastName, Language: h.From.Language,
		})
		if err != nil {
			return fmt.Errorf("meet the person: %w", err)
		}
		s.user = user
	}
	s.words = c.wordsFor(h.From.Language)
	if h.silent {
		if err := s.transition(h.conv.Flow, silence); err != nil {
			return err
		}
		s.answered = len(s.out)
	}
	if err := action(s); err != nil {
		return err
	}
	if err := s.announce(); err != nil {
		return fmt.Errorf("announce what was said: %w", err)
	}
	if h.Tap != nil && !s.toasted { // ends the spinner of the button
		if err := s.enqueue(Reply{Kind: Toast, CallbackID: h.Tap.CallbackID}, ""); err != nil {
			return err
		}
	}
	return s.end()
}

// end writes what the replyTx has gathered.
func (s *replyTx) end() error {
	if s.moved {
		var err error
		if s.conv.Data, err = s.remembered(s.conv.Flow); err != nil {
			return err
		}
		if s.conv.State == "" {
			s.conv.Flow, s.conv.Data, s.conv.ExpiresAt = "", nil, time.Time{}
		}
		if err := store.Converse(s.tx, s.conv, s.now); err != nil {
			return err
		}
	}
	if len(s.out) == 0 {
		return nil
	}
	return store.Enqueue(s.tx, s.out...)
}

// state is where the conversation is.
func (s *replyTx) state() State {
	if s.conv.State == "" {
		return idle
	}
	return State(s.conv.State)
}

// transition takes one step of a conversation's table: the new state and its effect are saved together.
func (s *replyTx) transition(flow string, by Trigger) error {
	step, ok := s.registry.flow(flow).Next(s.state(), by)
	if !ok {
		return fmt.Errorf("conversation %s has no step from %q by %q", flow, s.state(), by)
	}
	s.moved = true
	was := s.question
	if by == silence && was.Asked != "" {
		if err := s.fellSilent(); err != nil {
			return err
		}
	}
	s.conv.Flow, s.conv.State, s.conv.ExpiresAt = flow, string(step.To), s.now.Add(Silence)
	if k := was.Keyboard; k.Closed != "" && k.In != step.To {
		if err := s.closeKeyboard(k.Closed, nil); err != nil {
			return err
		}
	}
	if step.Do != nil {
		if err := step.Do(s); err != nil {
			return err
		}
	}
	if step.To == idle {
		s.conv.State = ""
		s.renew(nil)
	}
	return s.closeQuestion(was)
}

// leave ends the conversation that something new interrupts.
func (s *replyTx) leave() error {
	if s.conv.State == "" {
		return nil
	}
	err := s.transition(s.conv.Flow, movedOn)
	s.answered = len(s.out)
	return err
}

// caller is the person as handlers know them.
func (s *replyTx) caller() handlers.Caller { return handlers.Caller{User: s.user.ID} }

// enqueue queues one enqueue to this chat.
func (s *replyTx) enqueue(r Reply, card string) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write a reply: %w", err)
	}
	out := store.Reply{Chat: s.conv.Chat, Priority: s.priority, Card: card, Body: body, At: s.now}
	if r.Kind == Toast {
		out.NotAfter = s.now.Add(toastLife)
		s.out = append([]store.Reply{out}, s.out...) // first: it ends the spinner
		return nil
	}
	s.out = append(s.out, out)
	return nil
}

// reply queues one text of the catalogue, with rows of buttons.
func (s *replyTx) reply(key string, v vars, rows ...[]Button) error {
	return s.show("", key, v, rows...)
}

// show is say for a message that later ones of the same card replace.
func (s *replyTx) show(card, key string, v vars, rows ...[]Button) error {
	text, err := s.words.text(key, v)
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: rows}, card)
}

// toast answers the tap, once: the first word counts.
func (s *replyTx) toast(key string, v vars) error {
	if s.inbound.Tap == nil || s.toasted {
		return nil
	}
	text, err := s.words.text(key, v)
	if err != nil {
		return err
	}
	s.toasted = true
	return s.enqueue(Reply{Kind: Toast, CallbackID: s.inbound.Tap.CallbackID, Text: plain(text)}, "")
}

// longestToast is Telegram's limit for the text of answerCallbackQuery.
const longestToast = 200

// plain is a text of the catalogue where Telegram takes no HTML: toasts, buttons, the menu.
func plain(text html) string { return cut(stdhtml.UnescapeString(string(text)), longestToast) }

// refused says why something is not done, with buttons below. A tap is answered by the headline, and below by the whole.
func (s *replyTx) refused(err error, rows ...[]Button) error {
	s.failed = true
	headline, reason, sayErr := s.words.refusal(err)
	if sayErr != nil {
		return sayErr
	}
	if err := s.toast("toast.refused", vars{"Headline": headline}); err != nil {
		return err
	}
	for _, conv := range s.registry.all {
		if say := conv.refusals[wallet.CodeOf(err)]; say != nil {
			if said, err := say(s, headline, reason); said || err != nil {
				return err
			}
		}
	}
	return s.reply("refusal.said", vars{"Headline": headline, "Reason": reason}, rows...)
}

// refuse answers with a refusal, and passes breakdowns on.
func (s *replyTx) refuse(err error) error {
	if labelled(err) {
		return s.refused(err)
	}
	return err
}

// did answers the tap that ran an operation: with its refusal, or else with a toast, once the button is used.
func (s *replyTx) did(err error, toast string) (ok bool, _ error) {
	if err != nil {
		return false, s.refuse(err)
	}
	if err := s.use(); err != nil {
		return false, err
	}
	err = s.toast(toast, nil)
	return err == nil, err
}

// nonce draws what callback data holds: it says nothing, and cannot be guessed.
func (s *replyTx) nonce() (string, error) { return wallet.RandomToken(s.Random, nonceBytes) }

const nonceBytes = 16

// nonceOf is a nonce that follows from what it is for.
func nonceOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return base64.RawURLEncoding.EncodeToString(sum[:nonceBytes])
}

// nonceLike tells whether callback data could be a nonce of ours; anything may come there.
func nonceLike(data string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(data)
	return err == nil && len(raw) == nonceBytes
}

// button makes a button that means action, for this person in this chat, until a time.
func (s *replyTx) button(label html, action, subject string, until time.Time) (Button, error) {
	nonce, err := s.nonce()
	if err != nil {
		return Button{}, err
	}
	return s.buttonOf(nonce, label, action, subject, until)
}

func (s *replyTx) buttonOf(nonce string, label html, action, subject string, until time.Time) (Button, error) {
	return Button{Text: plain(label), Data: nonce}, s.tx.PutButtons([]store.Button{{
		Nonce: nonce, Chat: s.conv.Chat, User: s.conv.User, Action: action, Subject: subject, ExpiresAt: until,
	}})
}

// moveCard has the next message of a card sent below all others, and takes the buttons from the one that
// shows it now.
func (s *replyTx) moveCard(card string) error {
	message, err := s.tx.Card(s.conv.Chat, card)
	if errors.Is(err, store.ErrNotFound) || err == nil && message == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	s.anew = true
	// A newer state may take this one's place before it is sent: that, too, is to be a new message.
	if err := s.tx.PutCard(s.conv.Chat, card, 0, time.Time{}); err != nil {
		return err
	}
	before := fmt.Sprintf("%s before %d", card, message)
	until := s.now.Add(menuLife) // what happens to it is one edit
	if err := errors.Join(s.tx.PutCard(s.conv.Chat, before, message, until), s.show(before, "card.moved", nil)); err != nil {
		return err
	}
	s.out[len(s.out)-1].CardUntil = until
	return nil
}

// use marks the tapped button and its neighbours as used. A tap that was faster is a conflict: the
// Input is handled again, and then finds it used.
func (s *replyTx) use() error {
	b, err := s.tx.Button(s.inbound.button.Nonce)
	if errors.Is(err, store.ErrNotFound) || err == nil && !b.UsedAt.IsZero() {
		return store.ErrConflict
	}
	if err != nil {
		return err
	}
	return s.tx.UseButtons(b.Chat, b.User, b.Subject, s.now)
}

// strip takes the buttons from the message that was tapped, which no card redraws: they are used.
func (s *replyTx) strip() error {
	if s.inbound.Tap == nil || s.inbound.MessageID == 0 {
		return nil
	}
	return s.enqueue(Reply{Kind: Strip, MessageID: s.inbound.MessageID}, "")
}

// takeAwaySecret removes a message that holds what must never be in a chat, and says why and what to do. Its
// text is gone since the update came in: see Input.Secret.
func (s *replyTx) takeAwaySecret() error {
	why := "talk.secret"
	if s.inbound.Secret == CredentialSecret {
		why = "talk.credential"
	}
	if err := s.enqueue(Reply{Kind: Delete, MessageID: s.inbound.MessageID}, ""); err != nil {
		return err
	}
	return s.reply(why, nil)
}

// ours makes a button with a label of the catalogue.
func (s *replyTx) ours(label, action, subject string, until time.Time) (Button, error) {
	text, err := s.words.text(label, nil)
	if err != nil {
		return Button{}, err
	}
	return s.button(text, action, subject, until)
}

// elsewhere is a replyTx in another person's private chat, in the same store transaction. It ends by its
// own end, and is no part of anybody's conversation.
func (s *replyTx) elsewhere(telegramID int64) (*replyTx, error) {
	words := s.words // of who has never written, as an operator may have
	switch user, err := s.tx.UserByTelegram(telegramID); {
	case err == nil:
		words = s.wordsFor(user.Language)
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	return &replyTx{Chat: s.Chat, words: words, tx: s.tx, now: s.now,
		conv: store.Conversation{Chat: telegramID, User: telegramID}, priority: confirmations}, nil
}

// newest tells whether the tapped button is below the newest question of a flow that stands at a state.
func (h Inbound) newest(flow string, at State) bool {
	return h.at(flow) == at && h.question.Ask == h.button.Subject
}

func toast(key string) Action { return func(s *replyTx) error { return s.toast(key, nil) } }
