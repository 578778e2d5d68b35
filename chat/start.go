package chat

import (
	"context"
	"strings"
)

// startCommand is /start: the welcome, or what a deep link begins.
func startCommand() conversation {
	return conversation{
		name:     "start",
		commands: []command{{name: "start", menu: "menu.start", usage: "usage.start", groups: true, run: (*Chat).start, whileFrozen: withoutWords}},
	}
}

// start begins what the payload of a deep link is for. Anybody can make such a link, so a payload may only begin a question and
// never decide anything. Without a payload that a conversation knows, start sends the welcome.
func (c *Chat) start(_ context.Context, h Inbound) (Action, error) {
	if len(h.line.args) == 1 && h.Private {
		if action := c.linked(h.line.args[0]); action != nil {
			return action, nil
		}
		if h.line.args[0] == fromGroup {
			return (*replyTx).welcome, nil
		}
	}
	return afterNote(h.line.args, "/start", (*replyTx).welcome), nil
}

// linked returns the action of a deep link's payload, or nil if no conversation has one. At most one prefix fits
// (registry.checkLinks).
func (c *Chat) linked(payload string) Action {
	for _, conv := range c.registry.all {
		for prefix, begin := range conv.links {
			if strings.HasPrefix(payload, prefix) {
				return begin(payload)
			}
		}
	}
	return nil
}

// welcome sends the welcome with the list of commands. In a private chat it shows the person's wallet, or how to create one.
func (s *replyTx) welcome() error {
	list, err := s.list()
	if err != nil {
		return err
	}
	var rows [][]Button
	tail := html("")
	switch { // a group must not see anybody's wallet
	case s.inbound.Private && s.user.DefaultWallet.IsZero():
		rows, err = s.menu("button.create_wallet", "/wallet new")
	case s.inbound.Private:
		tail = code("…" + s.user.DefaultWallet.Tail())
		rows, err = s.menu("button.balance", "/wallet balance", "button.address", "/wallet address", "button.send", "/send")
	default:
		rows, err = s.privateChat()
	}
	if err != nil {
		return err
	}
	return s.reply("start.welcome", vars{"Name": cut(echo(s.inbound.From.FirstName), 32), "Commands": list,
		"Private": s.inbound.Private, "Tail": tail, "Network": s.network()}, rows...)
}
