package chat

import (
	"errors"
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

// TellTier says to a key's owner that an operator changed its tier, and what became of its webhooks.
func (c *Chat) TellTier(tx store.Tx, owner wallet.UserID, set wallet.KeyTierSetData) error {
	key, err := tx.Key(set.KeyID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := c.replyTxOf(tx, owner, alerts)
	if err != nil {
		return err
	}
	kind, err := s.words.text(kindNames()[key.Kind], nil)
	if err != nil {
		return err
	}
	count, err := s.words.text("hook.count", vars{"One": set.Webhooks == 1, "N": set.Webhooks})
	if err != nil {
		return err
	}
	err = s.reply("tier.told", vars{"Kind": kind, "Hint": key.Hint, "Pro": set.Tier == wallet.ProTier, "Webhooks": set.Webhooks, "Count": count})
	if err != nil {
		return err
	}
	return s.end()
}

// subjectsOf lists in words what names of events are about, each once; "" for none.
func (s *replyTx) subjectsOf(events []string) (html, error) {
	subjects := []struct{ word, families string }{
		{"wish.transactions", "transaction"}, {"wish.wallets", "wallet balance portfolio"}, {"wish.prices", "price market"}, {"wish.staking", "stake validator"},
	}
	var words []string
	for _, subject := range subjects {
		about := func(event string) bool {
			family, _, _ := strings.Cut(event, ".")
			return event == "*" || slices.Contains(strings.Fields(subject.families), family)
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
