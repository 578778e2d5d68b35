package chat

import (
	"context"
	"strings"
)

// startCommand is /start: the welcome, and what a deep link brings along.
func startCommand() conversation {
	return conversation{
		name:     "start",
		commands: []command{{name: "start", menu: "menu.start", usage: "usage.start", groups: true, run: (*Chat).start}},
	}
}

// start welcomes. Of what a deep link brings along only what a conversation has links for counts.
func (c *Chat) start(_ context.Context, h Inbound) (Action, error) {
	if len(h.line.args) == 1 && h.Private {
		if action := c.linked(h.line.args[0]); action != nil {
			return action, nil
		}
	}
	return (*replyTx).welcome, nil
}

// linked is what a deep link with a payload begins; nil for nothing.
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

func (s *replyTx) welcome() error {
	list, err := s.list()
	if err != nil {
		return err
	}
	var rows [][]Button
	tail := html("")
	switch { // in a group, nobody's wallet is anybody's business
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
