package chat

// plannedCommands are commands of the specification that do not work yet.
func plannedCommands() conversation {
	return conversation{name: "planned", planned: []string{"price", "stake", "notifications"}}
}
