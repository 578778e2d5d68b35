package chat

// plannedCommands are the commands of docs/specification.md that do not work yet. The reply to one of them says so, and not
// that the command is unknown.
func plannedCommands() conversation {
	return conversation{name: "planned", planned: []string{"alerts"}}
}
