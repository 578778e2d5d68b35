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

// toastLife is how long a queued toast is worth sending. Telegram stops waiting for the answer to a tap shortly after.
const toastLife = 12 * time.Second

// menuLife is how long the buttons below an overview or an ended transaction keep working.
const menuLife = 7 * 24 * time.Hour

// replyTx is one run of an Action inside a store transaction. It holds what the action may read and change, and collects the
// replies in out. Nothing is queued before end. The store may run the transaction again after a conflict, and each run starts
// with a new replyTx, so no state leaks from a failed run. One goroutine uses it.
type replyTx struct {
	*Chat
	words   catalogue // texts in the person's language
	tx      store.Tx
	inbound Inbound
	user    wallet.User
	now     time.Time

	conv     store.Conversation
	question question
	data     any  // the conversation's data: see dataOf
	moved    bool // conv has changed: end writes it

	asNew     bool  // send cards as new messages instead of editing them
	refusal   error // why the last answer was refused
	found     any   // result of the handler for the effect of its transition, such as a proposal; never stored
	priority  int
	out       []store.Reply
	toasted   bool
	answered  int          // number of leading replies in out that end the previous question; they do not answer this input
	unhandled bool         // the input was not for purser: apps may be notified of it
	to        wallet.AppID // the only app to notify of it; "" for all that may know
	failed    bool         // the input was refused
	private   bool         // the reply is for the person alone: events withhold it
	replacing bool         // the payment that begins now takes the place of what is open
	chosen    html         // what a tapped button answered to the question that ends; it stays below the question's text
}

// dataOf returns the conversation's data as *D. If it holds another type, it is replaced by a new, empty D.
func dataOf[D any](s *replyTx) *D {
	if d, ok := s.data.(*D); ok {
		return d
	}
	d := new(D)
	s.data = d
	return d
}

// copyOf returns a copy of the D behind data, or the zero D if data holds another type. Handlers read an Inbound's data this
// way, since they must not change it outside a store transaction.
func copyOf[D any](data any) (d D) {
	if held, ok := data.(*D); ok {
		return *held
	}
	return d
}

// resetData replaces the conversation's data, and forgets the question that was asked.
func (s *replyTx) resetData(data any) { s.question, s.data = question{}, data }

// play runs an action in the caller's store transaction with everything around it: it records the person, ends a conversation
// that timed out, announces the input to apps and queues the replies. All of that commits together or not at all. play
// returns store.ErrConflict if the conversation has changed since Receive read it.
func (c *Chat) play(tx store.Tx, h Inbound, action Action) error {
	s := &replyTx{Chat: c, tx: tx, inbound: h, user: h.user, now: c.Now().UTC(), conv: h.conv}
	s.question, s.data = c.open(&s.conv)
	// Only private chats record the person: somebody who speaks in a group has not let the bot write to them.
	if h.Private {
		user, _, err := c.Users.Upsert(tx, handlers.Person{
			TelegramID: h.From.TelegramID, Username: h.From.Username,
			FirstName: h.From.FirstName, LastName: h.From.LastName, Language: h.From.Language,
		})
		if err != nil {
			return fmt.Errorf("meet the person: %w", err)
		}
		s.user = user
	}
	// The account may have been frozen since the handler ran: then nothing that it decided takes effect.
	if h.Private && s.user.Freeze != nil && !h.whileFrozen {
		action = (*replyTx).sayFrozen
	}
	// The language of this message, which may be newer than the stored one.
	s.words = c.wordsFor(h.reader())
	// The time-out of the previous question comes first, so that its reply precedes the answer.
	if h.timedOut {
		if err := s.transition(h.conv.Flow, timedOut); err != nil {
			return err
		}
		s.answered = len(s.out)
	}
	if err := action(s); err != nil {
		return err
	}
	// After the action, because apps get the command with its replies.
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

// end writes the conversation, if it moved, and queues the collected replies. It is the last step of every run: an action
// that fails before it leaves nothing behind. store.SaveConversation compares the row's version. It returns
// store.ErrConflict if another input was faster.
func (s *replyTx) end() error {
	if s.moved {
		var err error
		if s.conv.Data, err = s.remembered(s.conv.Flow); err != nil {
			return err
		}
		if s.conv.State == "" {
			s.conv.Flow, s.conv.Data, s.conv.ExpiresAt = "", nil, time.Time{}
		}
		if err := store.SaveConversation(s.tx, s.conv, s.now); err != nil {
			return err
		}
	}
	if len(s.out) == 0 {
		return nil
	}
	return store.Enqueue(s.tx, s.out...)
}

// state returns the state of the conversation; the store's empty string is idle.
func (s *replyTx) state() State {
	if s.conv.State == "" {
		return idle
	}
	return State(s.conv.State)
}

// transition takes one step of a flow: it sets the new state, runs the step's effect and closes the previous question. All of
// it is saved together by end. A trigger that the table does not have in this state is an error, and a bug of the caller.
// The question is closed last, because closing depends on whether the effect asked a new one.
func (s *replyTx) transition(flow string, by Trigger) error {
	step, ok := s.registry.flow(flow).Next(s.state(), by)
	if !ok {
		return fmt.Errorf("conversation %s has no step from %q by %q", flow, s.state(), by)
	}
	s.moved = true
	was := s.question
	if by == timedOut && was.Asked != "" {
		if err := s.fellSilent(); err != nil {
			return err
		}
	}
	// The effect may set another deadline than AnswerTimeout.
	s.conv.Flow, s.conv.State, s.conv.ExpiresAt = flow, string(step.To), s.now.Add(AnswerTimeout)
	// A keyboard that belongs to the state that ends would cover the person's own keyboard: close it.
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
		s.resetData(nil)
	}
	return s.closeQuestion(was)
}

// leave ends the open conversation because the person has begun something else. Its replies do not count as answers to the
// new input.
func (s *replyTx) leave() error {
	if s.conv.State == "" {
		return nil
	}
	err := s.transition(s.conv.Flow, movedOn)
	s.answered = len(s.out)
	return err
}

// leaveFor is leave for a person who begins a payment. replacing: the payment takes the place of one that was still in
// preparation or waited for Confirm. It is false if the new payment is refused.
func (s *replyTx) leaveFor(replacing bool) error {
	s.replacing = replacing
	err := s.leave()
	s.replacing = false
	return err
}

// caller returns the person as the operations of handlers identify them.
func (s *replyTx) caller() handlers.Caller { return handlers.Caller{User: s.user.ID} }

// enqueue collects one reply to this chat. A later reply of the same card replaces an earlier one; "" is no card. Toasts go
// first, since Telegram shows a spinner until the tap is answered, and are dropped after toastLife.
func (s *replyTx) enqueue(r Reply, card string) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write a reply: %w", err)
	}
	out := store.Reply{Chat: s.conv.Chat, Priority: s.priority, Card: card, Body: body, At: s.now}
	if r.Kind == Toast {
		out.NotAfter = s.now.Add(toastLife)
		s.out = append([]store.Reply{out}, s.out...)
		return nil
	}
	s.out = append(s.out, out)
	return nil
}

// reply sends one text of the catalogue, with rows of buttons below.
func (s *replyTx) reply(key string, v vars, rows ...[]Button) error {
	return s.show("", key, v, rows...)
}

// show is reply for a message that later messages of the same card replace.
func (s *replyTx) show(card, key string, v vars, rows ...[]Button) error {
	text, err := s.words.text(key, v)
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: rows}, card)
}

// toast answers the tap with a short text. A tap has one toast: calls after the first do nothing, and neither do calls for an
// input that is no tap.
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

// longestToast is Telegram's limit for the text of answerCallbackQuery, in characters.
const longestToast = 200

// plain converts a text of the catalogue for places where Telegram takes no HTML: toasts, buttons, the menu. It cuts texts
// longer than longestToast.
func plain(text html) string { return cut(stdhtml.UnescapeString(string(text)), longestToast) }

// refused explains why an operation was refused, with buttons below. err must be labelled (see labelled). A tap also gets the
// headline as a toast. A conversation may replace the message (conversation.refusals). If an app runs the command, refused
// sends nothing and returns err, which the API answers with.
func (s *replyTx) refused(err error, rows ...[]Button) error {
	if s.inbound.app != nil { // a program gets the error itself, and nothing is posted
		return err
	}
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
		if conv.refusalButtons != nil {
			more, buttonsErr := conv.refusalButtons(s, err)
			if buttonsErr != nil {
				return buttonsErr
			}
			rows = append(rows, more...)
		}
	}
	return s.reply("refusal.said", vars{"Headline": headline, "Reason": reason}, rows...)
}

// refuse answers a refusal and returns nil. It returns any other error unchanged, so that the input is tried again.
func (s *replyTx) refuse(err error) error {
	if labelled(err) {
		return s.refused(err)
	}
	return err
}

// answerTap answers the tap that ran an operation with the result err. A refusal is explained, and the button stays usable.
// Otherwise the button is marked as used and the toast is sent. ok is true only if the operation succeeded.
func (s *replyTx) answerTap(err error, toast string) (ok bool, _ error) {
	if err != nil {
		return false, s.refuse(err)
	}
	if err := s.use(); err != nil {
		return false, err
	}
	err = s.toast(toast, nil)
	return err == nil, err
}

// nonce returns new random callback data. It carries no meaning and cannot be guessed.
func (s *replyTx) nonce() (string, error) { return wallet.RandomToken(s.Random, nonceBytes) }

// nonceBytes is the length of a nonce before base64. Telegram allows 64 bytes of callback data.
const nonceBytes = 16

// nonceOf returns a nonce derived from what the button is for. The same parts give the same nonce, so a message that is drawn
// twice is identical. Such a nonce can be guessed: rely on the stored owner and chat of the button, not on its secrecy.
func nonceOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return base64.RawURLEncoding.EncodeToString(sum[:nonceBytes])
}

// nonceLike reports whether callback data has the form of a nonce. Clients can send anything, so other data is not looked up.
func nonceLike(data string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(data)
	return err == nil && len(raw) == nonceBytes
}

// button stores a button with a random nonce and returns it. It works until the given time, for this person in this chat.
// action is the callback's name and its object ("revoke:KEY"). subject groups the buttons of one question: use marks them all
// as used.
func (s *replyTx) button(label html, action, subject string, until time.Time) (Button, error) {
	nonce, err := s.nonce()
	if err != nil {
		return Button{}, err
	}
	return s.buttonOf(nonce, label, action, subject, until)
}

// buttonOf is button with a given nonce. Storing the same nonce again replaces the row.
func (s *replyTx) buttonOf(nonce string, label html, action, subject string, until time.Time) (Button, error) {
	return Button{Text: plain(label), Data: nonce}, s.tx.PutButtons([]store.Button{{
		Nonce: nonce, Chat: s.conv.Chat, User: s.conv.User, Action: action, Subject: subject, ExpiresAt: until,
	}})
}

// moveCard makes the next message of a card a new one at the bottom of the chat. It replaces the current message by a short
// text without buttons.
func (s *replyTx) moveCard(card string) error {
	message, err := s.tx.Card(s.conv.Chat, card)
	if errors.Is(err, store.ErrNotFound) || err == nil && message == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	s.asNew = true
	// A newer state may take this one's place before it is sent: that, too, is to be a new message.
	if err := s.tx.PutCard(s.conv.Chat, card, 0, time.Time{}); err != nil {
		return err
	}
	// The old message gets a card name of its own, since the card's name now belongs to the new message.
	before := fmt.Sprintf("%s before %d", card, message)
	until := s.now.Add(menuLife) // the old message is edited once, so its card row may expire
	if err := errors.Join(s.tx.PutCard(s.conv.Chat, before, message, until), s.show(before, "card.moved", nil)); err != nil {
		return err
	}
	s.out[len(s.out)-1].CardUntil = until
	return nil
}

// use marks the tapped button and the other buttons of its subject as used. If another tap used it first, use returns
// store.ErrConflict: the Input is then handled again and finds the button used.
func (s *replyTx) use() error {
	b, err := s.tx.Button(s.inbound.button.Nonce)
	if errors.Is(err, store.ErrNotFound) || err == nil && !b.UsedAt.IsZero() {
		return store.ErrConflict
	}
	if err != nil {
		return err
	}
	return errors.Join(s.tx.UseButtons(b.Chat, b.User, b.Subject, s.now), s.endAside(b.Subject))
}

// strip removes the buttons from the tapped message. It is for messages that no card redraws.
func (s *replyTx) strip() error {
	if s.inbound.Tap == nil || s.inbound.MessageID == 0 {
		return nil
	}
	return s.enqueue(Reply{Kind: Strip, MessageID: s.inbound.MessageID}, "")
}

// takeAwaySecret deletes a message that contains a secret from the chat and explains why. The front has already dropped the
// text itself (see Input.Secret).
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

// catalogueButton is button with a label from the catalogue.
func (s *replyTx) catalogueButton(label, action, subject string, until time.Time) (Button, error) {
	text, err := s.words.text(label, nil)
	if err != nil {
		return Button{}, err
	}
	return s.button(text, action, subject, until)
}

// elsewhere returns a replyTx for another person's private chat in the same store transaction. The caller must call its end.
// It has no conversation, so it can only send messages and buttons.
func (s *replyTx) elsewhere(telegramID int64) (*replyTx, error) {
	words := s.words // the language of this chat, for an operator who has never written to the bot
	switch user, err := s.tx.UserByTelegram(telegramID); {
	case err == nil:
		words = s.wordsFor(user)
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	return &replyTx{Chat: s.Chat, words: words, tx: s.tx, now: s.now,
		conv: store.Conversation{Chat: telegramID, User: telegramID}, priority: confirmations}, nil
}

// newest reports whether the flow is in this state and the tapped button belongs to its newest question.
func (h Inbound) newest(flow string, at State) bool {
	return h.at(flow) == at && h.question.Ask == h.button.Subject
}

// toast returns an action that only answers the tap.
func toast(key string) Action { return func(s *replyTx) error { return s.toast(key, nil) } }
