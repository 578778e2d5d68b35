package chat

import (
	"strings"

	"purser/store"
	"purser/wallet"
)

// mostPast is how many payments /wallet history shows.
const mostPast = 15

// history lists the person's last payments, newest first, a line each.
func (s *scene) history() error {
	past, err := s.tx.TransactionsOf(s.user.ID, store.Page{Limit: mostPast})
	if err != nil {
		return err
	}
	if len(past) == 0 {
		return s.say("history.none", nil)
	}
	var lines []string
	for _, t := range past {
		line, err := s.pastLine(t)
		if err != nil {
			return err
		}
		lines = append(lines, string(line))
	}
	return s.say("history.list", vars{"Lines": html(strings.Join(lines, "\n")), "Network": s.network()})
}

// pastLine is one payment: when, what, and with whom.
func (s *scene) pastLine(t wallet.Transaction) (html, error) {
	other := t.To
	if t.Kind == wallet.Receive {
		other = t.From
	}
	name, err := s.who(other)
	if err != nil {
		return "", err
	}
	key := "history.open"
	switch {
	case t.Held:
		key = "history.held"
	case t.Status == wallet.Confirmed:
		key = "history.sent"
	case t.Status == wallet.Received:
		key = "history.received"
	case t.Status == wallet.Requested:
		key = "history.requested"
	case t.Status == wallet.Failed, t.Status == wallet.Rejected, t.Status == wallet.Expired:
		key = "history.not_sent"
	}
	text, err := s.words.text(key, vars{"Sum": t.Money().String(), "Token": sumName(t.Token), "Other": name, "State": strings.ReplaceAll(string(t.Status), "_", " ")})
	return html(escape(t.CreatedAt.UTC().Format("2 Jan 15:04"))) + " " + text, err
}

// who names the other side of a payment: the contact's name, or the end of the address.
func (s *scene) who(address wallet.Address) (html, error) {
	name, err := s.nameOf(address)
	if err != nil || name != "" {
		return html("<b>" + escape(name) + "</b>"), err
	}
	if address.IsZero() {
		return "an unknown sender", nil
	}
	return code("…" + address.Tail()), nil
}
