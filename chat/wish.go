package chat

import (
	"slices"
	"strings"

	"purser/store"
	"purser/wallet"
)

// TellWish says that an app changed which events about a person it receives. Their own notifications are
// another thing: what the app wants changes none of them, and this says so.
func (c *Chat) TellWish(tx store.Tx, user wallet.UserID, wish wallet.AppWishedData) error {
	s, err := c.replyTxOf(tx, user, alerts)
	if err != nil {
		return err
	}
	v := vars{"KeyHint": html(""), "Foreign": false, "App": "", "About": html("")}
	if err := s.askedBy(wish.KeyID, user, v); err != nil {
		return err
	}
	if wish.Enabled {
		if v["About"], err = s.subjectsOf(wish.Events); err != nil {
			return err
		}
	}
	if err := s.reply("wish.told", v); err != nil {
		return err
	}
	return s.end()
}

// subjectsOf lists in words what names of events are about, each once; "" for none.
func (s *replyTx) subjectsOf(events []string) (html, error) {
	subjects := []struct {
		word     string
		families []string
	}{
		{"wish.transactions", []string{"transaction"}}, {"wish.wallets", []string{"wallet", "balance", "portfolio"}},
		{"wish.prices", []string{"price", "market"}}, {"wish.staking", []string{"stake", "validator"}},
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
