package chat

import (
	"context"

	"purser/store"
	"purser/wallet"
)

// Handler finds the answer to something that a person did. What is slow happens here, with no store transaction open;
// the Action does the rest inside one. A nil Action says nothing, or (see conversation) leaves the input to others.
type Handler func(c *Chat, ctx context.Context, h Inbound) (Action, error)

// Callback is what a button means when its owner taps it in time. object is what follows the action's name in
// store.Button.Action ("to:ADDRESS" is the action "to" with an address as its object).
type Callback func(c *Chat, ctx context.Context, h Inbound, object string) (Action, error)

// command is one slash command: a line of the menu, and what runs.
type command struct {
	name    string            // without slash: a-z, 0-9 and _
	menu    string            // catalogue key: one line of what it is for
	usage   string            // catalogue key: how it is written
	aliases map[string]string // commands of other wallets, and the arguments by which they mean the same here
	groups  bool              // works in a group too; all others are answered there by the way to a private chat
	looks   bool              // only looks at something: what was being asked goes on
	run     Handler
	app     Handler // runs it for an app; nil: no app may (docs/specification.md, Messages and commands)
}

// conversation is one thing that people can talk about with the bot: its commands, what it asks, and how each answer is
// taken. It is all that the kernel knows of it: a registry is built from a list of these values (conversations), so
// that one more is one more value. Fields that are left out mean that it has none of these.
type conversation struct {
	name     string // unique: its rows and its diagram carry it
	commands []command

	// flow is the table of what it asks. Its rows keep data: what a pointer from data() holds, as JSON of this version.
	// A row of another version is forgotten, as no money hangs on a conversation.
	flow    Flow
	version int
	data    func() any

	// What answers it in a state: plain text, a shared contact, and a person chosen from Telegram's list.
	texts, contacts, people map[State]Handler

	// callbacks are its buttons, by the name of their action.
	callbacks map[string]Callback

	// intercept takes plain text before the question that waits; offer takes what no question waits for. Both return a
	// nil Action for what is none of theirs.
	intercept, offer Handler

	// events are the types of events that a person is told of, beside those that a kind of transactions tells of itself
	// (Card.Events).
	events map[wallet.EventName]notice

	links   map[string]func(payload string) Action // deep links (t.me/bot?start=payload), by how the payload begins
	topics  map[string]string                      // topics of /help, and the catalogue key of each
	planned []string                               // commands that do not work yet, told apart from typing mistakes

	// refusals say more of a refused operation than its reason; false leaves it at that.
	refusals map[wallet.Code]func(s *replyTx, headline, reason html) (bool, error)
	// cancelIdle answers /cancel when no question waits; false: nothing of this waits either.
	cancelIdle func(*replyTx) (bool, error)
	// usedButton answers the tap of a button that was used before; false: it is none of these.
	usedButton func(*replyTx) (bool, error)
	// lateAnswer tells whether a text may answer a question that waits no more, so that no app is told of it.
	lateAnswer func(s *replyTx, text string) (bool, error)

	// cleanup are states that leave something in the chat which must be taken away: they end when the person can be
	// reached. slots end what waits beside the person's conversation (store.Conversation.Slot).
	cleanup map[State]bool
	slots   map[string]func(s *replyTx, beside store.Conversation) error
}

// Kind is how a person reached an Endpoint.
type Kind string

// The kinds of endpoints. Nobody is for what nobody answers.
const (
	Nobody     Kind = ""
	ByCommand  Kind = "command"  // Route.Name is the command
	ByCallback Kind = "callback" // ... the action of the button
	ByText     Kind = "text"     // ... the conversation and the state that wait for it
	ByContact  Kind = "contact"
	ByPerson   Kind = "person" // chosen from Telegram's list of people
	ByEdit     Kind = "edit"
)

// Route is the endpoint that an input is for. A kind without a name takes what no endpoint of that kind is for: words
// that answer no question, buttons that mean nothing any more.
type Route struct {
	Kind Kind
	Name string
}

// Endpoint is one handler with its route, as fronts register it with their router.
type Endpoint struct {
	Route
	Groups bool // answers in groups too; elsewhere a front answers by PrivateOnly
	Handle func(ctx context.Context, h Inbound) (Turn, error)
}
