package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"purser/wallet"
)

// free marks an act that answers what was not for purser: bots of others may be told of it.
func free(next act) act {
	return func(s *scene) error {
		s.free = true
		return next(s)
	}
}

// announce tells of what a person typed in their own chat (SPEC, Bot event types): a command with the reply
// that it got, or a message that no conversation of purser's took up. What holds words or keys that nobody
// may see is told of to nobody.
func (s *scene) announce() error {
	h := s.heard
	if !h.Private || h.Tap != nil || h.Forwarded || h.Edited || s.secrets.in(h.Text) {
		return nil
	}
	at := h.At.UTC()
	chat := strconv.FormatInt(h.Chat, 10)
	switch {
	case slices.Contains(s.names(), h.line.command):
		response, err := s.said()
		if err != nil {
			return err
		}
		return s.tell("command", wallet.CommandExecuted, wallet.CommandExecutedData{ChatID: chat, Command: h.Text,
			Success: !s.failed, Response: response, Timestamp: wallet.Timestamp(at)})
	case s.free && h.Text != "":
		return s.tell("message", wallet.MessageReceived, wallet.MessageReceivedData{ChatID: chat, Username: s.user.Handle(),
			Message: h.Text, Timestamp: wallet.Timestamp(at)})
	}
	return nil
}

func (s *scene) tell(what string, name wallet.EventName, data any) error {
	event, err := wallet.NewEvent(fmt.Sprintf("evt_%s_%s_%d", s.user.ID, what, s.heard.MessageID), name, s.heard.At.UTC(), s.user.ID, data)
	if err != nil {
		return err
	}
	return s.tx.Emit(event)
}

// said is what the scene has said so far, as Markdown.
func (s *scene) said() (string, error) {
	var all []string
	for _, out := range s.out {
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
	case r.Kind == Toast, r.Kind == Delete:
		return ""
	}
	return markdown(r.Text)
}
