package chat

import (
	"context"
	"strings"
	"unicode/utf8"
)

// helpCommand is /help: the list of commands, the syntax of each, and the topics of all conversations.
func helpCommand() conversation {
	return conversation{
		name: "help",
		commands: []command{{name: "help", menu: "menu.help", usage: "usage.help", groups: true, looks: true, run: (*Chat).help, whileFrozen: always, app: (*Chat).help,
			aliases: map[string]string{"commands": "", "menu": "", "about": "", "support": "", "faq": ""}}},
		topics: map[string]string{"security": "help.security", "notifications": "help.notifications"},
	}
}

// help answers /help and its topics. The order decides what a word means that is several things: a topic of a conversation, then
// a command, then a command of another wallet.
func (c *Chat) help(_ context.Context, h Inbound) (Action, error) {
	topic := ""
	if len(h.line.args) > 0 {
		topic = strings.TrimPrefix(strings.ToLower(h.line.args[0]), "/")
	}
	switch {
	case topic == "":
		return func(s *replyTx) error {
			list, err := s.list()
			if err != nil {
				return err
			}
			return s.reply("help.overview", vars{"Commands": list})
		}, nil
	case topic == "commands":
		return (*replyTx).helpCommands, nil
	case c.registry.topics[topic] != "":
		return reply(c.registry.topics[topic], vars{"Host": c.PublicURL.Host, "API": code(c.PublicURL.String()), "Docs": c.docs()}), nil
	case c.registry.knows(topic):
		return func(s *replyTx) error { return s.replyUsage(topic) }, nil
	}
	// A command of another wallet is explained by ours.
	if to, ok := c.registry.aliases[topic]; ok {
		return func(s *replyTx) error { return s.replyUsage(to[0]) }, nil
	}
	return reply("help.unknown", vars{"Topic": echo(topic)}), nil
}

// helpAMessage is how many characters of syntax one message has. Telegram's limit is 4,096 (UTF-16 units).
const helpAMessage = 3000

// helpCommands sends the syntax of every command, in as few messages as it takes.
func (s *replyTx) helpCommands() error {
	var part []string
	length := 0
	send := func() error {
		text := strings.Join(part, "\n\n")
		part, length = nil, 0
		return s.reply("help.commands", vars{"Usages": html(text)})
	}
	for _, row := range s.registry.commands {
		text, err := s.usage(row.name)
		if err != nil {
			return err
		}
		characters := utf8.RuneCountInString(string(text))
		if length > 0 && length+characters > helpAMessage {
			if err := send(); err != nil {
				return err
			}
		}
		part, length = append(part, string(text)), length+characters
	}
	return send()
}
