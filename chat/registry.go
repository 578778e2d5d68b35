package chat

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"purser/wallet"
)

// registry is every conversation there is, by what leads to it. It is built once and does not change.
type registry struct {
	all       []conversation
	commands  []command // in the order of the menu
	byName    map[string]*conversation
	callbacks map[string]Callback
	aliases   map[string][]string // a command of other wallets: the command here, and its arguments
	topics    map[string]string
	notices   map[wallet.EventName]notice
	planned   []string
}

// newRegistry joins conversations, and the notices of the kinds' own events. Two of them may not claim the
// same thing, and none may name what it does not have: such a mistake is found at start, not by the person who meets it.
func newRegistry(all []conversation, ofKinds map[wallet.EventName]notice, words catalogue) (*registry, error) {
	r := &registry{all: all, byName: map[string]*conversation{}, callbacks: map[string]Callback{}, aliases: map[string][]string{}, topics: map[string]string{},
		notices: map[wallet.EventName]notice{}}
	maps.Copy(r.notices, ofKinds)
	var wrong []error
	for i := range all {
		c := &all[i]
		if c.name == "" || r.byName[c.name] != nil {
			wrong = append(wrong, fmt.Errorf("the conversation %q has no name of its own", c.name))
		}
		r.byName[c.name] = c
		r.planned = append(r.planned, c.planned...)
		wrong = append(wrong, c.check(), claim(r.callbacks, c.callbacks, "action"), claim(r.topics, c.topics, "topic of help"),
			claim(r.notices, c.events, "event"))
	}
	for _, c := range all {
		for _, row := range c.commands {
			wrong = append(wrong, row.check(words))
			if r.knows(row.name) {
				wrong = append(wrong, fmt.Errorf("two commands are /%s", row.name))
			}
			r.commands = append(r.commands, row)
		}
	}
	for _, row := range r.commands {
		aliases := map[string][]string{}
		for alias, args := range row.aliases {
			if aliases[alias] = append([]string{row.name}, strings.Fields(args)...); r.knows(alias) {
				wrong = append(wrong, fmt.Errorf("/%s is a command and an alias of /%s", alias, row.name))
			}
		}
		wrong = append(wrong, claim(r.aliases, aliases, "alias"))
	}
	for _, name := range r.planned {
		if _, alias := r.aliases[name]; alias || r.knows(name) {
			wrong = append(wrong, fmt.Errorf("/%s works: it is not planned any more", name))
		}
	}
	return r, errors.Join(append(wrong, r.checkRefusals(), r.checkSlots(), r.checkLinks())...)
}

// claim adds what one conversation has to what all have.
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

// check finds what does not fit together within one conversation.
func (c *conversation) check() error {
	var wrong []error
	if c.flow != nil && (c.data == nil || c.flow[idle] == nil) {
		wrong = append(wrong, fmt.Errorf("the conversation %q needs data and a beginning", c.name))
	}
	for kind, handlers := range map[Kind]map[State]Handler{ByText: c.texts, ByContact: c.contacts, ByPerson: c.people} {
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

// check finds what a command lacks.
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

// checkRefusals holds each code to one conversation that says more of it.
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

// checkSlots holds each slot to one conversation that ends it.
func (r *registry) checkSlots() error {
	seen := map[string]bool{"": true} // the person's own
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

// checkLinks holds each deep link to one conversation.
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

// command finds a row of the command table.
func (r *registry) command(name string) (command, bool) {
	at := slices.IndexFunc(r.commands, func(row command) bool { return row.name == name })
	if at < 0 {
		return command{}, false
	}
	return r.commands[at], true
}

// isPlanned tells whether a command is to come.
func (r *registry) isPlanned(name string) bool { return slices.Contains(r.planned, name) }

func (r *registry) knows(name string) bool { _, ok := r.command(name); return ok }

// names lists every command's name.
func (r *registry) names() []string {
	out := make([]string, len(r.commands))
	for i, row := range r.commands {
		out[i] = row.name
	}
	return out
}

// flow is the table of a conversation; nil for one that this version does not know.
func (r *registry) flow(name string) Flow {
	if c := r.byName[name]; c != nil {
		return c.flow
	}
	return nil
}

// asMeant reads a command that other wallets have as the one that does the same here.
func (r *registry) asMeant(l line) line {
	to, ok := r.aliases[l.command]
	if !ok {
		return l
	}
	l.command, l.args = to[0], slices.Concat(to[1:], l.args)
	return l
}
