package chat

import "context"

// privacyCommand is /privacy, which explains what purser stores about a person and how to delete it.
func privacyCommand() conversation {
	show := func(*Chat, context.Context, Inbound) (Action, error) { return reply("privacy.text", nil), nil }
	return conversation{
		name:     "privacy",
		commands: []command{{name: "privacy", menu: "menu.privacy", usage: "usage.privacy", bare: true, groups: true, looks: true, run: show, whileFrozen: always, app: show}},
	}
}
