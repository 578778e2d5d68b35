package chat

import (
	"slices"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// mostPast is how many payments /wallet history shows.
const mostPast = 15

// history lists the person's last payments, newest first, a line each. A request that was paid has none of its own:
// the receipt of its payment has one.
func (s *replyTx) history() error {
	// Each request that was paid is older than a receipt of it, so half of what is read has a line at least.
	past, err := s.tx.TransactionsOf(s.user.ID, store.Page{Limit: 2 * mostPast})
	if err != nil {
		return err
	}
	past = slices.DeleteFunc(past, func(t wallet.Transaction) bool { return t.Kind == wallet.Request && t.Status == wallet.Received })
	if len(past) == 0 {
		return s.reply("history.none", nil)
	}
	var lines []string
	for _, t := range past[:min(len(past), mostPast)] {
		line, err := s.pastLine(t)
		if err != nil {
			return err
		}
		lines = append(lines, string(line))
	}
	return s.reply("history.list", vars{"Lines": html(strings.Join(lines, "\n")), "Network": s.network()})
}

// pastLine is one payment: when, what, and with whom.
func (s *replyTx) pastLine(t wallet.Transaction) (html, error) {
	name, err := s.otherSide(t)
	if err != nil {
		return "", err
	}
	key := "history.open"
	switch {
	case t.Indeterminate:
		key = "history.held"
	case t.Status == wallet.Confirmed:
		key = "history.sent"
	case t.Status == wallet.Received:
		key = "history.received"
	case t.Status == wallet.Requested:
		key = "history.requested"
	case t.Kind == wallet.Request && t.Status == wallet.Expired:
		key = "history.not_paid"
	case t.Status == wallet.Failed, t.Status == wallet.Rejected, t.Status == wallet.Expired:
		key = "history.not_sent"
	}
	text, err := s.words.text(key, vars{"Sum": t.Money().String(), "Token": sumName(t.Token), "Other": name, "State": strings.ReplaceAll(string(t.Status), "_", " ")})
	return html(escape(t.CreatedAt.UTC().Format("2 Jan 15:04"))) + " " + text, err
}

// otherSide names whom a payment goes to, or comes from.
func (s *replyTx) otherSide(t wallet.Transaction) (html, error) {
	if t.Kind == wallet.Receive || t.Kind == wallet.Request {
		return s.who(t.From)
	}
	name, err := handlers.ContactName(s.tx, t)
	return nameOrEnd(name, t.To), err
}

// who names whoever an address belongs to: the contact's name, or the end of the address.
func (s *replyTx) who(address wallet.Address) (html, error) {
	name, err := s.nameOf(address)
	return nameOrEnd(name, address), err
}

func nameOrEnd(name string, address wallet.Address) html {
	switch {
	case name != "":
		return html("<b>" + escape(name) + "</b>")
	case address.IsZero():
		return "an unknown sender"
	}
	return code("…" + address.Tail())
}
