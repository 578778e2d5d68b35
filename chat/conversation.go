package chat

import (
	"context"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// Handler answers one Input. It does the slow work, such as reading from a Solana node, with no store transaction open, and
// leaves all writing to the Action that it returns. A nil Action sends nothing. From an interceptor or an offer, nil means
// that the input is not for this conversation. An error means that nothing was decided: the front may try the Input again.
type Handler func(c *Chat, ctx context.Context, h Inbound) (Action, error)

// Callback answers a tap of a valid, unused button. object is the part of store.Button.Action after the first colon:
// "to:ADDRESS" calls the callback "to" with the address as its object.
type Callback func(c *Chat, ctx context.Context, h Inbound, object string) (Action, error)

// command is one slash command: its texts, where it works and its handler.
type command struct {
	name    string            // without the slash: a-z, 0-9 and _
	menu    string            // catalogue key of the line in the menu
	usage   string            // catalogue key of the line that shows its syntax
	aliases map[string]string // commands of other wallets that mean this one, with the arguments to add
	groups  bool              // works in groups too; other commands only point to the private chat there
	looks   bool              // changes nothing: the open question stays open
	begins  bool              // its action ends the open question itself, as it sees fit
	bare    bool              // takes no words: words after it are answered with a note (afterNote)
	run     Handler
	app     Handler // runs it for an app; nil: apps may not run it (docs/specification.md, Messages and commands)

	// whileFrozen reports whether the command with these arguments works while the person's account is frozen. nil: it does
	// not. Only what reads the person's own data, or protects them, may.
	whileFrozen func(args []string) bool

	// appNeeds returns the scope that the person must have granted to an app, besides bot:execute, for the command with these
	// arguments. "", and a nil appNeeds, mean no other scope.
	appNeeds func(args []string) wallet.Scope
}

// conversation is one subject that people can talk about with the bot: its commands, its questions and the handlers of their
// answers. The kernel knows nothing else about it. A new conversation is one more value in conversations. Fields left at
// their zero value mean that the conversation lacks that part.
type conversation struct {
	name     string // unique: stored in its rows (store.Conversation.Flow), and the heading of its diagram
	commands []command

	// flow is the table of its states. Between two inputs the store keeps the value behind data()'s pointer as JSON, together
	// with version. A row of another version is dropped and the conversation starts over. No money depends on that row.
	flow    Flow
	version int
	data    func() any

	// Handlers of answers, by the state that waits for them: plain text, a shared contact, a person chosen from Telegram's
	// list.
	texts, contacts, people map[State]Handler

	// callbacks are its buttons, by the name of their action. Names are unique across all conversations.
	callbacks map[string]Callback
	// callbacksWhileFrozen are those that work while the person's account is frozen. All others, and all answers, do not.
	callbacksWhileFrozen []string

	// intercept sees plain text before the open question does. offer sees text that no question waits for. Both return a nil
	// Action to pass the text on.
	intercept, offer Handler

	// follow is called while the conversation is open, when a transaction has taken a step and its card was redrawn. It moves
	// the conversation if that is about the transaction. review takes a new proposal of one of these kinds that did not come
	// from its own questions (Try again), and shows its card. A proposal of another kind is stored, and its card shown.
	follow func(*replyTx, wallet.Transaction) error
	review map[wallet.Kind]func(*replyTx, handlers.Proposal) error

	// events are the types of events that send the person a message. Events of transaction kinds are in Card.Events instead.
	events map[wallet.EventName]notice

	links  map[string]func(payload string) Action // deep links (t.me/bot?start=payload), by prefix of the payload
	topics map[string]string                      // topics of /help, with the catalogue key of each

	// refusals add to the answer when an operation is refused with this code, such as a button that solves the problem. They
	// return false to leave the ordinary answer.
	refusals map[wallet.Code]func(s *replyTx, headline, reason html) (bool, error)
	// refusalButtons are rows below the answer to any refusal that this conversation can help with, by its reason; nil for others.
	refusalButtons func(s *replyTx, err error) ([][]Button, error)
	// cancelIdle answers /cancel when no question is open. It returns false if nothing of this conversation can be cancelled.
	cancelIdle func(*replyTx) (bool, error)
	// usedButton answers a tap of a button that was used before. It returns false if the button is not its own.
	usedButton func(*replyTx) (bool, error)
	// lateAnswer reports whether a text may be a late answer to a question that has ended. Such text is not announced to
	// apps, since it may be private.
	lateAnswer func(s *replyTx, text string) (bool, error)

	// cleanup lists the states that leave something in the chat that must be removed, such as a new key. While the person has
	// blocked the bot nothing can be removed, so such a state is kept and tried again every hour (unreachablePause). slots
	// end conversations that wait beside the main one, by store.Conversation.Slot.
	cleanup map[State]bool
	slots   map[string]func(s *replyTx, beside store.Conversation) error
}

// InputKind is what sort of input an Endpoint takes.
type InputKind string

// The kinds of endpoints. Nobody marks inputs that get no answer, such as ordinary talk in a group.
const (
	Nobody     InputKind = ""
	ByCommand  InputKind = "command"  // Route.Name is the command
	ByCallback InputKind = "callback" // Route.Name is the action of the button
	ByText     InputKind = "text"     // Route.Name is the conversation and the waiting state (answerName), also for the next two
	ByContact  InputKind = "contact"
	ByPerson   InputKind = "person" // chosen from Telegram's list of people
	ByEdit     InputKind = "edit"
)

// Route names the endpoint for an input. A Route with a Kind and without a Name takes the inputs of that kind that no named
// endpoint is for: text that answers no question, buttons that no longer work.
type Route struct {
	Kind InputKind
	Name string
}

// Endpoint is one handler with its route, for a front to register with its router.
type Endpoint struct {
	Route
	Groups bool // works in groups too; if false, the front answers inputs from groups with PrivateOnly
	Handle func(ctx context.Context, h Inbound) (Turn, error)
}
