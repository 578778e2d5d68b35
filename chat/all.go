package chat

// conversations lists every conversation of the product and is the only place that names them all. Their commands appear
// in the menu in this order, and their interceptors run in this order. consentConversation comes first so that its
// interceptor sees plain text before any other.
func conversations() []conversation {
	return []conversation{
		consentConversation(),
		appReplies(),
		startCommand(),
		walletConversation(),
		transactionCards(),
		sendConversation(),
		stakeCommand(),
		swapCommand(),
		revokeCommand(),
		priceCommand(),
		poolsCommand(),
		alertCommand(),
		freezeCommands(),
		contactsConversation(),
		settingsConversation(),
		apiConversation(),
		appsCommand(),
		securityConversation(),
		cancelCommand(),
		helpCommand(),
		privacyCommand(),
		deleteMeCommand(),
		newsNotices(),
	}
}
