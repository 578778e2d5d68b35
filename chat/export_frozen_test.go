package chat

import (
	"slices"
	"strings"
)

// WorksWhileFrozen lists the commands, with the actions of /wallet and /security, and the buttons that work while an account is frozen.
func WorksWhileFrozen() (commands, callbacks []string) {
	for _, conv := range append([]conversation{menuButtons()}, conversations()...) {
		callbacks = append(callbacks, conv.callbacksWhileFrozen...)
		for _, row := range conv.commands {
			if row.allowed(parsedLine{}) {
				commands = append(commands, "/"+row.name)
			}
			for _, words := range []string{"log", "limits", "limits …abcd", "limits payment", "limits payment 1 SOL", "limits …abcd new 24h", "limits recipients any"} {
				if row.name == "security" && row.allowed(parsedLine{args: strings.Fields(words)}) {
					commands = append(commands, "/security "+words)
				}
			}
			for _, action := range walletActions() {
				if row.name == "wallet" && row.allowed(parsedLine{args: []string{action}}) {
					commands = append(commands, "/wallet "+action)
				}
			}
		}
	}
	slices.Sort(commands)
	slices.Sort(callbacks)
	return commands, callbacks
}
