package chat

import "slices"

// WorksWhileFrozen lists the commands, with the actions of /wallet, and the buttons that work while an account is frozen.
func WorksWhileFrozen() (commands, callbacks []string) {
	for _, conv := range append([]conversation{menuButtons()}, conversations()...) {
		callbacks = append(callbacks, conv.callbacksWhileFrozen...)
		for _, row := range conv.commands {
			if row.allowed(parsedLine{}) {
				commands = append(commands, "/"+row.name)
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
