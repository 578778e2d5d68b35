package chat

import (
	"slices"
	"strings"

	"purser/wallet"
)

// notifyAppEvents notifies a person that an app changed which events about them it receives. The person's own notifications
// stay as they are, and the message says so. For an app that turned all events off,
// it names no subjects.
func (s *replyTx) notifyAppEvents(chosen wallet.AppEventsChosenData) error {
	// The text uses every variable, so each needs a value even if askedBy sets none.
	v := vars{"KeyHint": html(""), "Foreign": false, "App": "", "About": html("")}
	if err := s.askedBy(chosen.KeyID, s.user.ID, v); err != nil {
		return err
	}
	if chosen.Enabled {
		about, err := s.subjectsOf(chosen.Events)
		if err != nil {
			return err
		}
		v["About"] = about
	}
	return s.reply("app_events.changed", v)
}

// subjectsOf describes in words what event names are about, each subject once; "" if none is known.
func (s *replyTx) subjectsOf(events []string) (html, error) {
	// The family of an event is the part of its name before the first point: "transaction" of "transaction.signed". Families
	// that are missing here are not mentioned.
	subjects := []struct {
		word     string
		families []string
	}{
		{"app_events.transactions", []string{"transaction"}}, {"app_events.wallets", []string{"wallet", "balance"}},
		{"app_events.prices", []string{"price"}}, {"app_events.staking", []string{"stake"}},
	}
	var words []string
	for _, subject := range subjects {
		about := func(event string) bool {
			family, _, _ := strings.Cut(event, ".")
			return event == "*" || slices.Contains(subject.families, family)
		}
		if !slices.ContainsFunc(events, about) {
			continue
		}
		word, err := s.words.text(subject.word, nil)
		if err != nil {
			return "", err
		}
		words = append(words, string(word))
	}
	return html(strings.Join(words, ", ")), nil
}
