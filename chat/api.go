package chat

import (
	"context"

	"purser/store"
	"purser/wallet"
)

// apiFlow is the name of the conversation of /api.
const apiFlow = "api"

// States and triggers of /api. The store holds the names of states in open conversations: renaming one resets them to idle.
const (
	namingApp    State = "app"
	sayingWhy    State = "purpose"
	readingTerms State = "terms"
	sharing      State = "contact"
	mailing      State = "mail address"
	coding       State = "mail code"
	connecting   State = "wallet step"
	choosingKey  State = "choice of keys"
	keyShown     State = "key shown"

	appUnknown     Trigger = "app unnamed"
	purposeUnknown Trigger = "purpose unsaid"
	termsOpen      Trigger = "terms not accepted"
	contactMissing Trigger = "contact missing"
	emailMissing   Trigger = "mail address missing"
	codeMailed     Trigger = "code mailed"
	walletMissing  Trigger = "wallet missing"
	verified       Trigger = "all verified"
	operatorsAsked Trigger = "operators asked"
	keyMade        Trigger = "key made"
	keySaved       Trigger = "I've saved it"
)

// apiConversation is /api: it leads a person to an API key or bot token, and manages the keys that they have. Its files
// are api_access.go (the questions), api_mailcode.go (the proof of a mail address), api_choice.go (kinds and scopes),
// api_operators.go (requests for approval) and api_keys.go (showing and managing keys).
func apiConversation() conversation {
	texts := map[State]Handler{
		namingApp: (*Chat).receiveApp,
		sayingWhy: (*Chat).receivePurpose,
		mailing:   (*Chat).receiveMailAddress,
		coding:    (*Chat).receiveCode,
		sharing:   func(*Chat, context.Context, Inbound) (Action, error) { return reply("access.use_key", nil), nil },
	}
	// In these states only buttons answer; text gets a hint.
	for _, state := range []State{readingTerms, connecting, choosingKey, keyShown} {
		texts[state] = func(*Chat, context.Context, Inbound) (Action, error) { return reply("access.use_buttons", nil), nil }
	}
	return conversation{
		name: apiFlow,
		commands: []command{{name: "api", menu: "menu.api", usage: "usage.api", bare: true, run: (*Chat).api,
			aliases: map[string]string{"key": "", "keys": "", "token": "", "developer": "", "webhook": "", "webhooks": ""}}},
		flow: onboarding(), version: 1, data: func() any { return new(access) },
		texts:     texts,
		contacts:  map[State]Handler{sharing: (*Chat).receiveContact},
		callbacks: apiCallbacks(),
		events: map[wallet.EventName]notice{
			wallet.WebhookDeadLettered: {priority: alerts, waits: true, notify: withData((*replyTx).notifyWebhook)},
			wallet.WebhookEnded:        {priority: alerts, notify: withData((*replyTx).notifyWebhook)},
			wallet.KeyTierSet:          {priority: alerts, waits: true, notify: withData((*replyTx).notifyTier)},
		},
		topics:     map[string]string{"api": "help.api"},
		cancelIdle: (*replyTx).cancelRequest,
		lateAnswer: (*replyTx).lateMailAnswer,
		cleanup:    map[State]bool{keyShown: true},
		slots: map[string]func(*replyTx, store.Conversation) error{
			keysSlot: func(s *replyTx, beside store.Conversation) error { return s.endKeysBeside(beside, "keys.gone") },
		},
	}
}

// apiCallbacks are the buttons of /api and of the operators who decide on requests.
func apiCallbacks() map[string]Callback {
	return map[string]Callback{
		"accept":     (*Chat).tapAccept,
		"app":        (*Chat).tapApp,
		"draft":      (*Chat).tapDraft,
		"newpurpose": (*Chat).tapNewPurpose,
		"newcode":    (*Chat).tapNewCode,
		"newmail":    (*Chat).tapNewMail,
		"goon":       (*Chat).tapGoOn,
		"turn":       (*Chat).tapTurn,
		"ask":        (*Chat).tapAsk,
		"make":       (*Chat).tapMake,
		"saved":      (*Chat).tapSaved,
		"newkey":     (*Chat).tapNewKey,
		"key":        (*Chat).tapKey,
		"keepkey":    (*Chat).tapKeepKey,
		"rotate":     (*Chat).tapRotate,
		"rotateyes":  (*Chat).tapRotateYes,
		"revoke":     (*Chat).tapRevoke,
		"revokeyes":  (*Chat).tapRevokeYes,
		"portal":     (*Chat).tapPortal,
		"decide":     (*Chat).tapDecide,
		"withdraw":   (*Chat).tapWithdraw,
	}
}

// onboarding returns the table of /api. A step that is known or proven already is skipped, so each question can be followed
// by itself and by every later one. The order is: name of the app, purpose, terms, contact, mail address, code, wallet, keys.
func onboarding() Flow {
	questions := []struct {
		at  State
		by  Trigger
		ask Effect
	}{
		{namingApp, appUnknown, (*replyTx).askApp},
		{sayingWhy, purposeUnknown, (*replyTx).askPurpose},
		{readingTerms, termsOpen, (*replyTx).showTerms},
		{sharing, contactMissing, (*replyTx).askContact},
		{mailing, emailMissing, (*replyTx).askEmail},
		{coding, codeMailed, (*replyTx).askCode},
		{connecting, walletMissing, (*replyTx).askWallet},
		{choosingKey, verified, (*replyTx).askWhichKeys},
	}
	flow := Flow{idle: {keyMade: {keyShown, (*replyTx).showKeys}}} // a rotation shows a new key without any question
	// Every question has the same three ways out: /cancel drops the request, another command leaves it, silence pauses it.
	// From each question every later one can follow, since the steps between may be done already. A mailed code is asked for
	// only after a mail address.
	for i, q := range questions {
		if q.by != codeMailed {
			flow[idle][q.by] = Step{q.at, q.ask}
		}
		flow[q.at] = map[Trigger]Step{
			cancelled: {idle, (*replyTx).dropAccess},
			movedOn:   {idle, (*replyTx).leaveAccess},
			timedOut:  {idle, (*replyTx).pauseAccess},
		}
		for _, next := range questions[i:] {
			if next.by != codeMailed || q.at == mailing || q.at == coding {
				flow[q.at][next.by] = Step{next.at, next.ask}
			}
		}
	}
	flow[coding][emailMissing] = Step{mailing, (*replyTx).askEmail}            // the person chose another address
	flow[connecting][movedOn] = Step{idle, nil}                                // the person goes to /wallet new, which has a button that leads back
	flow[choosingKey][purposeUnknown] = Step{sayingWhy, (*replyTx).askPurpose} // the person changes the purpose
	flow[choosingKey][operatorsAsked] = Step{idle, (*replyTx).sayAsked}
	flow[choosingKey][keyMade] = Step{keyShown, (*replyTx).showKeys}
	flow[keyShown] = map[Trigger]Step{
		keySaved:  {idle, (*replyTx).keysAreSaved},
		cancelled: {idle, (*replyTx).removeKeys},
		movedOn:   {idle, (*replyTx).leaveKeys},
		timedOut:  {idle, (*replyTx).removeKeys},
	}
	return flow
}
