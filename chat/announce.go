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

// unhandled marks an action that answers what was not for purser: bots of others may be told of it.
func unhandled(next Action) Action {
	return func(s *replyTx) error {
		s.unhandled = true
		return next(s)
	}
}

// announce tells of what a person typed in their own chat (docs/specification.md, Events): a command, also one that
// purser does not have, with the reply that it got, or a message that no conversation of purser's took up, and that
// answers none of its questions. What holds words or keys that nobody may see is told of to nobody.
func (s *replyTx) announce() error {
	h := s.inbound
	if !h.Private || h.Tap != nil || h.Forwarded || h.Edited || h.Secret != NoSecret {
		return nil
	}
	at := h.At.UTC()
	chat := strconv.FormatInt(h.Chat, 10)
	me := s.BotName()
	switch {
	case h.line.command != "" && h.line.bot != "" && me != "" && !strings.EqualFold(h.line.bot, me): // another bot's
		return nil
	case h.line.command != "":
		words, response, err := s.told()
		if err != nil {
			return err
		}
		return s.tell(fmt.Sprintf("command_%d", h.MessageID), wallet.CommandExecuted, wallet.CommandExecutedData{ChatID: chat, Command: words,
			Success: !s.failed, Response: response, Timestamp: wallet.Timestamp(at)})
	case s.unhandled && h.Text != "":
		if late, err := s.late(); late || err != nil {
			return err
		}
		return s.tell(fmt.Sprintf("message_%d", h.MessageID), wallet.MessageReceived, wallet.MessageReceivedData{ChatID: chat, Username: s.user.Handle(),
			Message: h.Text, Timestamp: wallet.Timestamp(at)})
	}
	return nil
}

// announceRun tells of a command that an app ran for the person, as of one that they typed. said is its reply.
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

// told is what programs are told of a command that was typed: its words and its reply. Of one that no app may run
// they get its name alone. What follows a command that purser does not have may be anything, so it is left out.
func (s *replyTx) told() (words, response string, err error) {
	if response, err = s.said(s.answered); err != nil {
		return "", "", err
	}
	row, known := s.registry.command(s.inbound.line.command)
	switch {
	case !known:
		return s.nameOnly(), response, nil
	case row.app == nil:
		return s.nameOnly(), withheld, nil
	}
	return s.withoutContacts(s.inbound.Text, response)
}

// withoutContacts is a command and its reply as programs are told of them: where a contact of the person's is
// named, they get the command's name alone, since contacts are no app's business.
func (s *replyTx) withoutContacts(text, said string) (words, response string, err error) {
	named, err := s.contactIn(text + " " + said)
	if err != nil || !named {
		return text, said, err
	}
	return s.nameOnly(), withheld, nil
}

// nameOnly is the command without what was written after it.
func (s *replyTx) nameOnly() string {
	name := "/" + echo(s.inbound.line.command)
	if len(s.inbound.line.args) == 0 {
		return name
	}
	return name + " " + withheld
}

// contactIn tells whether a text names a contact of the person's.
func (s *replyTx) contactIn(text string) (bool, error) {
	all, err := s.tx.ContactsOf(s.user.ID)
	words := " " + plainWords(text) + " "
	return slices.ContainsFunc(all, func(c wallet.Contact) bool {
		if name := plainWords(c.Name); name != "" {
			return strings.Contains(words, " "+name+" ")
		}
		return strings.Contains(text, c.Name)
	}), err
}

// plainWords are the words of a text, whatever stands between them.
func plainWords(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }), " ")
}

// lateFor is for how long after a question fell silent what a person writes may be meant as its answer.
const lateFor = 10 * time.Minute

// fellSilent notes that a question was left without an answer.
func (s *replyTx) fellSilent() error {
	return s.tx.PutCounters([]store.Counter{{Name: s.silence(), ExpiresAt: s.now.Add(lateFor)}})
}

func (s *replyTx) silence() string {
	return s.tx.CounterName("silence", strconv.FormatInt(s.conv.User, 10))
}

// late tells whether a message may answer a question that waits no more: one that fell silent lately, or what a
// conversation knows better.
func (s *replyTx) late() (bool, error) {
	switch silent, err := s.tx.Counter(s.silence()); {
	case err == nil && s.now.Before(silent.ExpiresAt):
		return true, nil
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return false, err
	}
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

func (s *replyTx) tell(what string, name wallet.EventName, data any) error {
	event, err := wallet.NewEvent(fmt.Sprintf("evt_%s_%s", s.user.ID, what), name, s.inbound.At.UTC(), s.user.ID, data)
	if err != nil {
		return err
	}
	event.To = s.to
	return s.tx.Emit(event)
}

// said is what the replyTx has said so far, but for the first replies, as Markdown.
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

// response is a reply as programs are told of it.
func response(r Reply) string {
	switch {
	case r.Secret:
		return withheld
	case r.Kind == Toast, r.Kind == Delete, r.Kind == Strip:
		return ""
	}
	return markdown(r.Text)
}
