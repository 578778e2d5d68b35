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

// Diagrams prints every conversation as a Mermaid state diagram, for docs/conversations.md.
func Diagrams() string {
	var out strings.Builder
	all := map[string]Flow{}
	for _, c := range conversations() {
		if c.flow != nil {
			all[c.name] = c.flow
		}
	}
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
