package chat

import "time"

// State is where a conversation stands in its Flow. Conversations end after a few minutes without an answer. The life of a
// transaction is a separate table, wallet.Lifecycle: no step of a conversation can change what that table forbids.
type State string

// Trigger is what moves a conversation to its next state: an action of the person, or its outcome.
type Trigger string

// Effect is the work of a step besides the change of state. It writes to the store transaction of its replyTx and queues
// replies there. It may run more than once, so it must have no effect outside that transaction.
type Effect func(*replyTx) error

// Step is one entry of a Flow: the next state and the effect of going there. A nil Do only changes the state.
type Step struct {
	To State
	Do Effect
}

// Flow is the table of one conversation: the next step for each state and trigger. A trigger that a state does not list cannot
// happen there. docs/conversations.md is generated from these tables. Flows are built once and never change.
type Flow map[State]map[Trigger]Step

// Next returns the step for a trigger in a state. ok is false if the trigger has no meaning in that state.
func (f Flow) Next(at State, by Trigger) (Step, bool) {
	step, ok := f[at][by]
	return step, ok
}

// idle is the first and last state of every conversation. The store holds it as the empty string.
const idle State = "idle"

// AnswerTimeout is how long a question waits for an answer before its conversation ends.
const AnswerTimeout = 5 * time.Minute

// Triggers that any conversation can have.
const (
	cancelled Trigger = "/cancel"
	movedOn   Trigger = "another command"
	timedOut  Trigger = "timeout"
	ended     Trigger = "ended elsewhere"
)
