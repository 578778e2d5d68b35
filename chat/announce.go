package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"purser/store"
	"purser/wallet"
)

// unhandled wraps an action that answers text not meant for purser. Such text is announced to apps as message.received. The
// mark is set inside the transaction, on the replyTx of that run.
func unhandled(next Action) Action {
	return func(s *replyTx) error {
		s.unhandled = true
		return next(s)
	}
}

// announce emits the event about what a person typed in their private chat (docs/specification.md, Events). A command becomes
// command.executed with its reply, even if purser does not have the command. Text that no conversation took and that answers
// no question becomes message.received. Forwarded, edited and secret text is never announced.
func (s *replyTx) announce() error {
	h := s.inbound
	if !h.Private || h.Tap != nil || h.Forwarded || h.Edited || h.Secret != NoSecret {
		return nil
	}
	at := h.At.UTC()
	chat := strconv.FormatInt(h.Chat, 10)
	me := s.BotName()
	switch {
	case h.line.command != "" && h.line.bot != "" && me != "" && !strings.EqualFold(h.line.bot, me): // a command for another bot
		return nil
	case h.line.command != "":
		words, response, err := s.publicWords()
		if err != nil {
			return err
		}
		return s.tell(fmt.Sprintf("command_%d", h.MessageID), wallet.CommandExecuted, wallet.CommandExecutedData{ChatID: chat, Command: words,
			Success: !s.failed, Response: response, Timestamp: wallet.Timestamp(at)})
	// A late answer may be a secret such as a mailed code, so it stays here.
	case s.unhandled && h.Text != "":
		if late, err := s.late(); late || err != nil {
			return err
		}
		return s.tell(fmt.Sprintf("message_%d", h.MessageID), wallet.MessageReceived, wallet.MessageReceivedData{ChatID: chat, Username: s.user.Handle(),
			Message: h.Text, Timestamp: wallet.Timestamp(at)})
	}
	return nil
}

// announceRun emits command.executed for a command that an app ran for the person. said is the reply as Markdown. The event's
// id is random, because no message of the person identifies the run.
func (s *replyTx) announceRun(said string) error {
	words, response, err := s.withoutContacts(s.inbound.Text, said)
	if err != nil {
		return err
	}
	nonce, err := s.nonce()
	if err != nil {
		return err
	}
	at := s.inbound.At.UTC()
	return s.tell("run_"+nonce, wallet.CommandExecuted, wallet.CommandExecutedData{ChatID: strconv.FormatInt(s.inbound.Chat, 10), Command: words,
		Success: !s.failed, Response: response, Timestamp: wallet.Timestamp(at)})
}

// publicWords returns the command and the reply as apps may see them. For commands that apps may not run, apps get the name
// alone. The arguments of an unknown command may be anything, even private, so they are left out too.
func (s *replyTx) publicWords() (words, response string, err error) {
	if response, err = s.said(s.answered); err != nil {
		return "", "", err
	}
	row, known := s.registry.command(s.inbound.line.command)
	switch {
	case !known:
		return s.nameOnly(), response, nil
	// The reply of such a command is withheld too: it may show what no app may read, such as a key.
	case row.app == nil:
		return s.nameOnly(), withheld, nil
	}
	return s.withoutContacts(s.inbound.Text, response)
}

// withoutContacts returns the command and its reply, reduced to the command's name if either contains the name of one of the
// person's contacts. Apps must not learn contacts. A private reply is withheld first, so that its words cannot change what
// apps see of the command.
func (s *replyTx) withoutContacts(text, said string) (words, response string, err error) {
	if s.private {
		said = withheld
	}
	named, err := s.contactIn(text + " " + said)
	if err != nil || !named {
		return text, said, err
	}
	return s.nameOnly(), withheld, nil
}

// nameOnly returns the command with its arguments replaced by withheld.
func (s *replyTx) nameOnly() string {
	name := "/" + echo(s.inbound.line.command)
	if len(s.inbound.line.args) == 0 {
		return name
	}
	return name + " " + withheld
}

// contactIn reports whether a text contains the name of one of the person's contacts as whole words.
func (s *replyTx) contactIn(text string) (bool, error) {
	all, err := s.tx.ContactsOf(s.user.ID)
	words := " " + plainWords(text) + " "
	return slices.ContainsFunc(all, func(c wallet.Contact) bool {
		if name := plainWords(c.Name); name != "" {
			return strings.Contains(words, " "+name+" ")
		}
		// A name without letters and digits, such as an emoji, has no words to compare.
		return strings.Contains(text, c.Name)
	}), err
}

// plainWords returns the words of a text in lower case, separated by single spaces. Punctuation is dropped, so "Mum's" and
// "mum s" compare as equal.
func plainWords(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }), " ")
}

// lateFor is how long after the time-out of a question a text may still be meant as its answer.
const lateFor = 10 * time.Minute

// fellSilent records that a question has ended without an answer. Text that follows within lateFor is not announced to apps.
func (s *replyTx) fellSilent() error {
	return s.tx.PutCounters([]store.Counter{{Name: s.timedOutCounter(), ExpiresAt: s.now.Add(lateFor)}})
}

// timedOutCounter returns the name of the counter row that records the time-out. There is one per person, for all
// conversations. The name contains a keyed hash of the Telegram id, not the id itself.
func (s *replyTx) timedOutCounter() string {
	return s.tx.CounterName("timeout", strconv.FormatInt(s.conv.User, 10))
}

// late reports whether a text may be a late answer: to a question that ended by time-out within lateFor, or by the judgement
// of a conversation (lateAnswer). Late answers may be private, so they are not announced.
func (s *replyTx) late() (bool, error) {
	switch silent, err := s.tx.Counter(s.timedOutCounter()); {
	case err == nil && s.now.Before(silent.ExpiresAt):
		return true, nil
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return false, err
	}
	// A conversation may also expect an answer that is not bound to an open question, such as a code from a mail.
	for _, conv := range s.registry.all {
		if conv.lateAnswer == nil {
			continue
		}
		if late, err := conv.lateAnswer(s, s.inbound.Text); late || err != nil {
			return late, err
		}
	}
	return false, nil
}

// tell emits an event about the person in this transaction. what makes the event's id unique and is derived from the input,
// so that handling the input twice does not emit two events.
func (s *replyTx) tell(what string, name wallet.EventName, data any) error {
	event, err := wallet.NewEvent(fmt.Sprintf("evt_%s_%s", s.user.ID, what), name, s.inbound.At.UTC(), s.user.ID, data)
	if err != nil {
		return err
	}
	event.To = s.to
	return s.tx.Emit(event)
}

// said returns the replies queued so far as Markdown, separated by blank lines. It skips the first replies, which end an
// earlier question.
func (s *replyTx) said(first int) (string, error) {
	var all []string
	for _, out := range s.out[first:] {
		var r Reply
		if err := json.Unmarshal(out.Body, &r); err != nil {
			return "", err
		}
		if text := response(r); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n\n"), nil
}

// response returns a reply as apps see it: secrets are withheld, and toasts and deletions are left out.
func response(r Reply) string {
	switch {
	case r.Secret:
		return withheld
	case r.Kind == Toast, r.Kind == Delete, r.Kind == Strip:
		return ""
	}
	return markdown(r.Text)
}
