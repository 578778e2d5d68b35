package chat

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// State is where a conversation is. A conversation is forgetful, and ends by silence; the money's
// own life is wallet.Lifecycle, which no conversation can bend.
type State string

// Trigger is what moves a conversation: what a person did, or what came of it.
type Trigger string

// Effect is what a step does besides moving: it writes to the store transaction of its replyTx.
type Effect func(*replyTx) error

// Step is one answer of a conversation's table: where it goes, and what is said or done there.
type Step struct {
	To State
	Do Effect
}

// Flow is one conversation as a table. docs/conversations.md is printed from it.
type Flow map[State]map[Trigger]Step

// Next is the step that a table holds; false when the trigger means nothing there.
func (f Flow) Next(at State, by Trigger) (Step, bool) {
	step, ok := f[at][by]
	return step, ok
}

// idle is every conversation's beginning and end.
const idle State = "idle"

// Silence is how long a question waits for its answer.
const Silence = 5 * time.Minute

// What can move any conversation.
const (
	cancelled Trigger = "/cancel"
	movedOn   Trigger = "another command"
	silence   Trigger = "silence"
	ended     Trigger = "ended elsewhere"
)

// The conversation of /send.
const (
	asksAmount  State = "amount"
	asksAddress State = "address"
	asksToken   State = "token"
	inReview    State = "review"
	signing     State = "signing"

	amountMissing  Trigger = "amount missing or wrong"
	addressMissing Trigger = "address missing or wrong"
	tokenMissing   Trigger = "token unknown"
	peopleWanted   Trigger = "Choose a person"
	possible       Trigger = "transfer possible"
	impossible     Trigger = "transfer refused"
	confirmed      Trigger = "Confirm"
	signed         Trigger = "signed"
)

// The conversation of /wallet new.
const (
	linkOpen State = "link open"
	choosing State = "choosing"

	linked Trigger = "link sent"
	proven Trigger = "address proven"
	chosen Trigger = "choice made"
)

// The conversation of /api.
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

// The conversation of naming a contact.
const (
	naming State = "name"

	nameWanted Trigger = "name missing or wrong"
	named      Trigger = "name given"
)

// Names of the flows, as conversations carry them.
const (
	sendFlow   = "send"
	walletFlow = "wallet"
	apiFlow    = "api"

	contactFlow = "contacts"
)

// flows is every conversation there is. The person's words and taps become triggers in send.go,
// link.go, access.go and taps.go; a transaction's steps come by ShowTransaction.
func flows() map[string]Flow {
	asking := func(dropped Effect) map[Trigger]Step {
		return map[Trigger]Step{
			amountMissing:  {asksAmount, (*replyTx).askAmount},
			addressMissing: {asksAddress, (*replyTx).askAddress},
			tokenMissing:   {asksToken, (*replyTx).askToken},
			possible:       {inReview, (*replyTx).showReview},
			impossible:     {idle, (*replyTx).sayRefused},
			cancelled:      {idle, (*replyTx).sayCancelled},
			movedOn:        {idle, dropped},
			silence:        {idle, (*replyTx).saySilent},
		}
	}
	askingAddress := asking((*replyTx).sayDropped)
	askingAddress[peopleWanted] = Step{asksAddress, (*replyTx).offerPeople}
	return map[string]Flow{
		sendFlow: {
			idle: {
				amountMissing:  {asksAmount, (*replyTx).askAmount},
				addressMissing: {asksAddress, (*replyTx).askAddress},
				tokenMissing:   {asksToken, (*replyTx).askToken},
				possible:       {inReview, (*replyTx).showReview},
				impossible:     {idle, (*replyTx).sayRefused},
			},
			asksAmount:  asking((*replyTx).sayDropped),
			asksAddress: askingAddress,
			asksToken:   asking((*replyTx).sayDropped),
			inReview: {
				confirmed: {signing, nil}, // the card says the rest
				cancelled: {idle, (*replyTx).rejectTransaction},
				movedOn:   {idle, (*replyTx).dropTransaction},
				ended:     {idle, nil},
				silence:   {idle, nil}, // the card says so when the transaction expires
			},
			signing: {
				signed:    {idle, nil},
				cancelled: {idle, (*replyTx).rejectTransaction},
				movedOn:   {idle, nil}, // confirmed already: its card and its link stay
				ended:     {idle, nil},
				silence:   {idle, nil},
			},
		},
		walletFlow: {
			idle: {
				linked: {linkOpen, (*replyTx).sendLink},
			},
			linkOpen: {
				proven:    {choosing, nil},
				cancelled: {idle, (*replyTx).closeLink},
				movedOn:   {idle, nil}, // the link still works: the question comes when it is used
				silence:   {idle, (*replyTx).linkRanOut},
			},
			choosing: {
				chosen:    {idle, nil},
				cancelled: {idle, (*replyTx).closeLink},
				movedOn:   {idle, nil},
				silence:   {idle, (*replyTx).linkRanOut},
			},
		},
		contactFlow: {
			idle: {nameWanted: {naming, (*replyTx).askName}},
			naming: {
				nameWanted: {naming, (*replyTx).askName},
				named:      {idle, nil},
				cancelled:  {idle, (*replyTx).sayNotNamed},
				movedOn:    {idle, nil},
				silence:    {idle, nil},
			},
		},
		apiFlow: onboarding(),
	}
}

// onboarding is the table of /api. What is known or was proven before is skipped, so that each question
// may be followed by itself and by every later one.
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
	flow := Flow{idle: {keyMade: {keyShown, (*replyTx).showKeys}}} // a rotation
	for i, q := range questions {
		if q.by != codeMailed {
			flow[idle][q.by] = Step{q.at, q.ask}
		}
		flow[q.at] = map[Trigger]Step{
			cancelled: {idle, (*replyTx).dropAccess},
			movedOn:   {idle, (*replyTx).leaveAccess},
			silence:   {idle, (*replyTx).pauseAccess},
		}
		for _, next := range questions[i:] {
			if next.by != codeMailed || q.at == mailing || q.at == coding {
				flow[q.at][next.by] = Step{next.at, next.ask}
			}
		}
	}
	flow[coding][emailMissing] = Step{mailing, (*replyTx).askEmail}            // another address
	flow[connecting][movedOn] = Step{idle, nil}                                // to /wallet new: its button leads back
	flow[choosingKey][purposeUnknown] = Step{sayingWhy, (*replyTx).askPurpose} // another one
	flow[choosingKey][operatorsAsked] = Step{idle, (*replyTx).sayAsked}
	flow[choosingKey][keyMade] = Step{keyShown, (*replyTx).showKeys}
	flow[keyShown] = map[Trigger]Step{
		keySaved:  {idle, (*replyTx).keysAreSaved},
		cancelled: {idle, (*replyTx).removeKeys},
		movedOn:   {idle, (*replyTx).leaveKeys},
		silence:   {idle, (*replyTx).removeKeys},
	}
	return flow
}

// Diagrams prints every conversation as a Mermaid state diagram, for docs/conversations.md.
func Diagrams() string {
	var out strings.Builder
	all := flows()
	for _, name := range sortedKeys(all) {
		fmt.Fprintf(&out, "## /%s\n\n```mermaid\nstateDiagram-v2\n    [*] --> idle\n", name)
		flow := all[name]
		for _, from := range sortedKeys(flow) {
			for _, by := range sortedKeys(flow[from]) {
				fmt.Fprintf(&out, "    %s --> %s: %s\n", stateID(from), stateID(flow[from][by].To), by)
			}
		}
		out.WriteString("```\n\n")
	}
	return out.String()
}

// stateID is a state's name without spaces, which Mermaid's ids cannot have.
func stateID(s State) string { return strings.ReplaceAll(string(s), " ", "_") }

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
