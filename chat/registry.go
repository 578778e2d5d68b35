package chat

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"purser/wallet"
)

// registry indexes all conversations by what leads to them: commands, buttons, aliases, help topics and events.
// newRegistry builds it once. It never changes afterwards, so goroutines read it without a lock.
type registry struct {
	all       []conversation
	commands  []command // in the order of the menu
	byName    map[string]*conversation
	callbacks map[string]Callback
	aliases   map[string][]string // a command of another wallet: our command, then its arguments
	topics    map[string]string
	notices   map[wallet.EventName]notice
}

// newRegistry indexes the conversations and adds ofKinds, the notices of the events of transaction kinds. It returns an
// error if two conversations claim the same name, command, button, alias, topic, event, slot or link prefix, or if a
// command lacks a text. All mistakes are joined into one error, so that they surface when the process starts and not
// when a person meets them.
func newRegistry(all []conversation, ofKinds map[wallet.EventName]notice, words catalogue) (*registry, error) {
	r := &registry{all: all, byName: map[string]*conversation{}, callbacks: map[string]Callback{}, aliases: map[string][]string{}, topics: map[string]string{},
		notices: map[wallet.EventName]notice{}}
	// The notices of kinds come first, so that claim reports an event that a conversation claims as well.
	maps.Copy(r.notices, ofKinds)
	var wrong []error
	for i := range all {
		c := &all[i]
		if c.name == "" || r.byName[c.name] != nil {
			wrong = append(wrong, fmt.Errorf("the conversation %q has no name of its own", c.name))
		}
		r.byName[c.name] = c
		wrong = append(wrong, c.check(), claim(r.callbacks, c.callbacks, "action"), claim(r.topics, c.topics, "topic of help"),
			claim(r.notices, c.events, "event"))
	}
	// All conversations are indexed by now. Their commands follow in the order of the menu.
	for _, c := range all {
		for _, row := range c.commands {
			wrong = append(wrong, row.check(words))
			if r.knows(row.name) {
				wrong = append(wrong, fmt.Errorf("two commands are /%s", row.name))
			}
			r.commands = append(r.commands, row)
		}
	}
	// Aliases come after all commands: an alias may not have the name of any command.
	for _, row := range r.commands {
		aliases := map[string][]string{}
		for alias, args := range row.aliases {
			if aliases[alias] = append([]string{row.name}, strings.Fields(args)...); r.knows(alias) {
				wrong = append(wrong, fmt.Errorf("/%s is a command and an alias of /%s", alias, row.name))
			}
		}
		wrong = append(wrong, claim(r.aliases, aliases, "alias"))
	}
	return r, errors.Join(append(wrong, r.checkRefusals(), r.checkSlots(), r.checkLinks())...)
}

// claim adds the entries of one conversation to those of all. An entry that is taken already is an error. what names the
// sort of entry in the error text.
func claim[K ~string, V any](all, one map[K]V, what string) error {
	var wrong []error
	for _, key := range slices.Sorted(maps.Keys(one)) {
		if _, taken := all[key]; taken {
			wrong = append(wrong, fmt.Errorf("two conversations have the %s %q", what, string(key)))
		}
		all[key] = one[key]
	}
	return errors.Join(wrong...)
}

// check returns an error if parts of the conversation contradict each other: a flow without data, an answer handler for
// a state that the flow lacks, a notice without a function, or a button action that routers cannot parse.
func (c *conversation) check() error {
	var wrong []error
	if c.flow != nil && (c.data == nil || c.flow[idle] == nil) {
		wrong = append(wrong, fmt.Errorf("the conversation %q needs data and a beginning", c.name))
	}
	for kind, handlers := range map[InputKind]map[State]Handler{ByText: c.texts, ByContact: c.contacts, ByPerson: c.people} {
		for state := range handlers {
			if c.flow[state] == nil || state == idle {
				wrong = append(wrong, fmt.Errorf("the conversation %q waits for a %s in %q, which is no state of it", c.name, kind, state))
			}
		}
	}
	for name, n := range c.events {
		if name == "" || n.notify == nil {
			wrong = append(wrong, fmt.Errorf("the conversation %q says nothing of the event %q", c.name, string(name)))
		}
	}
	for action := range c.callbacks {
		if action == "" || strings.Trim(action, "abcdefghijklmnopqrstuvwxyz") != "" {
			wrong = append(wrong, fmt.Errorf("the conversation %q has an action %q: a-z is what routers read", c.name, action))
		}
	}
	return errors.Join(wrong...)
}

// check returns an error if the command has an invalid name, no handler, or a menu or usage text that the catalogue
// lacks.
func (row command) check(words catalogue) error {
	var wrong []error
	if row.name == "" || strings.Trim(row.name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		wrong = append(wrong, fmt.Errorf("a command's name must be of a-z, 0-9 and _: %q", row.name))
	}
	if row.run == nil {
		wrong = append(wrong, fmt.Errorf("/%s does nothing", row.name))
	}
	for _, key := range []string{row.menu, row.usage} {
		if _, err := words.text(key, nil); err != nil {
			wrong = append(wrong, fmt.Errorf("/%s: %w", row.name, err))
		}
	}
	return errors.Join(wrong...)
}

// checkRefusals makes sure that at most one conversation has its own answer for each error code.
func (r *registry) checkRefusals() error {
	seen := map[wallet.Code]bool{}
	for _, c := range r.all {
		for code := range c.refusals {
			if seen[code] {
				return fmt.Errorf("two conversations answer %s", code)
			}
			seen[code] = true
		}
	}
	return nil
}

// checkSlots makes sure that exactly one conversation ends each slot.
func (r *registry) checkSlots() error {
	seen := map[string]bool{"": true} // "" is the person's main conversation, which every flow uses
	for _, c := range r.all {
		for slot := range c.slots {
			if seen[slot] {
				return fmt.Errorf("two conversations end the slot %q", slot)
			}
			seen[slot] = true
		}
	}
	return nil
}

// checkLinks makes sure that no prefix of a deep link is the beginning of another one: a link must lead to one
// conversation.
func (r *registry) checkLinks() error {
	var seen []string
	for _, c := range r.all {
		for prefix := range c.links {
			for _, other := range seen {
				if strings.HasPrefix(prefix, other) || strings.HasPrefix(other, prefix) {
					return fmt.Errorf("deep links of two conversations begin with %q", max(prefix, other))
				}
			}
			seen = append(seen, prefix)
		}
	}
	return nil
}

// command returns the command of this name; ok is false if there is none.
func (r *registry) command(name string) (command, bool) {
	at := slices.IndexFunc(r.commands, func(row command) bool { return row.name == name })
	if at < 0 {
		return command{}, false
	}
	return r.commands[at], true
}

// knows reports whether a command of this name works. Aliases do not count.
func (r *registry) knows(name string) bool { _, ok := r.command(name); return ok }

// names returns the names of all commands, in the order of the menu.
func (r *registry) names() []string {
	out := make([]string, len(r.commands))
	for i, row := range r.commands {
		out[i] = row.name
	}
	return out
}

// forApps lists the commands that apps may run, in the order of the menu: "/wallet, /send, /help".
func (r *registry) forApps() string {
	var names []string
	for _, row := range r.commands {
		if row.app != nil {
			names = append(names, "/"+row.name)
		}
	}
	return strings.Join(names, ", ")
}

// flow returns the table of a conversation, or nil for a conversation that this version of purser does not have.
func (r *registry) flow(name string) Flow {
	if c := r.byName[name]; c != nil {
		return c.flow
	}
	return nil
}

// asMeant resolves an alias: it replaces a command that other wallets have with ours, and puts the alias's arguments first:
// "/balance usdc" becomes "/wallet balance usdc". Other lines are returned unchanged.
func (r *registry) asMeant(l parsedLine) parsedLine {
	to, ok := r.aliases[l.command]
	if !ok {
		return l
	}
	l.command, l.args = to[0], slices.Concat(to[1:], l.args)
	return l
}
