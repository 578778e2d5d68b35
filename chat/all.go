package chat

// conversations lists everything that the chat can talk about. Their commands stand in the menu in this order, and
// their interceptors are asked in it too. It is the one place that names them all.
func conversations() []conversation {
	return []conversation{
		consentConversation(),
		appReplies(),
		startCommand(),
		walletConversation(),
		sendConversation(),
		contactsConversation(),
		apiConversation(),
		appsCommand(),
		cancelCommand(),
		helpCommand(),
		privacyCommand(),
		deleteMeCommand(),
		plannedCommands(),
	}
}
