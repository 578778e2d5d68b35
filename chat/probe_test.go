package chat

import (
	"context"
	"strings"
	"testing/fstest"

	"purser/wallet"
)

// The probe is a conversation that exists in tests alone: one value and its sentences, and nothing else anywhere.

const (
	probeColour  State = "colour"
	probeContact State = "contact"

	colourMissing Trigger = "colour missing"
	colourSaid    Trigger = "colour said"
	contactShared Trigger = "contact shared"
)

// probeData is what it remembers.
type probeData struct {
	Colour string `json:"colour"`
}

const probeTexts = `
[probe]
menu = "tell me your favourite colour"
usage = "<b>/probe</b>"
ask_colour = "{{if .Reason}}{{.Reason}} {{end}}Which colour?"
ask_contact = "{{.Colour}}? Share your contact."
contact_key = "Share"
done = "You like {{.Colour}}."
thanks = "Thank you."
closed = "The key is gone."
stopped = "As you like."
silent = "You fell silent."
app = "An app asks about colours."
topic = "All about colours."
mixed = "Somebody mixed {{.Colour}}."
`

func probe() conversation {
	ask := Step{probeColour, func(s *replyTx) error {
		if err := s.newQuestion(); err != nil {
			return err
		}
		red, err := s.button("Red", "colour:red", s.question.Ask, s.conv.ExpiresAt)
		if err != nil {
			return err
		}
		return s.ask("probe.ask_colour", vars{}, [][]Button{{red}})
	}}
	ends := func(with map[Trigger]Step) map[Trigger]Step {
		for by, text := range map[Trigger]string{cancelled: "probe.stopped", movedOn: "probe.stopped", timedOut: "probe.silent"} {
			with[by] = Step{idle, func(s *replyTx) error { return s.reply(text, nil) }}
		}
		return with
	}
	return conversation{
		name: "probe",
		commands: []command{{name: "probe", menu: "probe.menu", usage: "probe.usage", aliases: map[string]string{"colours": ""},
			run: func(*Chat, context.Context, Inbound) (Action, error) {
				return func(s *replyTx) error { return s.transition("probe", colourMissing) }, nil
			},
			app: func(*Chat, context.Context, Inbound) (Action, error) { return reply("probe.app", nil), nil }}},
		flow: Flow{
			idle: {colourMissing: ask},
			probeColour: ends(map[Trigger]Step{
				colourMissing: ask,
				colourSaid: {probeContact, func(s *replyTx) error {
					return s.openKeyboard("probe.ask_contact", vars{"Colour": dataOf[probeData](s).Colour}, "probe.closed", Keyboard{Contact: "Share"})
				}},
			}),
			probeContact: ends(map[Trigger]Step{
				contactShared: {idle, func(s *replyTx) error { return s.reply("probe.done", vars{"Colour": dataOf[probeData](s).Colour}) }},
			}),
		},
		version: 3, data: func() any { return new(probeData) },
		texts: map[State]Handler{probeColour: func(_ *Chat, _ context.Context, h Inbound) (Action, error) {
			return saidColour(strings.Join(h.line.args, " ")), nil
		}},
		contacts: map[State]Handler{probeContact: func(*Chat, context.Context, Inbound) (Action, error) {
			return func(s *replyTx) error {
				if err := s.closeKeyboard("probe.thanks", nil); err != nil {
					return err
				}
				return s.transition("probe", contactShared)
			}, nil
		}},
		callbacks: map[string]Callback{"colour": func(_ *Chat, _ context.Context, h Inbound, colour string) (Action, error) {
			if !h.newest("probe", probeColour) {
				return toast("toast.old"), nil
			}
			return saidColour(colour), nil
		}},
		topics: map[string]string{"colours": "probe.topic"},
		events: map[wallet.EventName]notice{"colour.mixed": {priority: alerts, notify: withData(func(s *replyTx, data probeData) error {
			return s.reply("probe.mixed", vars{"Colour": data.Colour})
		})}},
	}
}

func saidColour(colour string) Action {
	return func(s *replyTx) error {
		if strings.EqualFold(colour, "panic") {
			panic("a handler that panics")
		}
		dataOf[probeData](s).Colour = colour
		return s.transition("probe", colourSaid)
	}
}

// NewWithProbe is New with the probe among the conversations.
func NewWithProbe(o Options) (*Chat, error) {
	return newChat(o, append(conversations(), probe()), locales, fstest.MapFS{"probe.en.toml": {Data: []byte(probeTexts)}})
}

// NewWithout is New without a conversation and its sentences.
func NewWithout(o Options, name string) (*Chat, error) {
	var rest []conversation
	for _, c := range conversations() {
		if c.name != name {
			rest = append(rest, c)
		}
	}
	return newChat(o, rest, without{locales, name + ".en.toml"})
}

// NewWithoutSentences is New without a conversation's sentences alone.
func NewWithoutSentences(o Options, name string) (*Chat, error) {
	return newChat(o, conversations(), without{locales, name + ".en.toml"})
}
