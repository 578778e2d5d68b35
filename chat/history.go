package chat

import (
	"maps"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// mostPast is the number of payments that /wallet history shows.
const mostPast = 15

// history lists the person's last payments, newest first, one line each. Stages without a line are left out: a payment
// request that was paid is listed by the receipt of its payment.
func (s *replyTx) history() error {
	// A paid request is left out, but its receipt is newer and has a line. So at least half of what is read has one.
	past, err := s.tx.TransactionsOf(s.user.ID, store.Page{Limit: 2 * mostPast})
	if err != nil {
		return err
	}
	var lines []string
	for _, t := range past {
		line, err := s.pastLine(t)
		if err != nil {
			return err
		}
		if line != "" && len(lines) < mostPast {
			lines = append(lines, string(line))
		}
	}
	if len(lines) == 0 {
		return s.reply("history.none", nil)
	}
	return s.reply("history.list", vars{"Lines": html(strings.Join(lines, "\n")), "Network": s.network()})
}

// pastLine returns the line of one payment: its time (UTC), what it is, and the other party; "" if its stage has no line.
func (s *replyTx) pastLine(t wallet.Transaction) (html, error) {
	card, stage, err := s.cardOf(t)
	if err != nil {
		return "", err
	}
	key, ok := card.Lines[stage]
	if !ok {
		return "", nil
	}
	// The request may have named a token account of the recipient, and the person's contact may have that address.
	with := card.With(t)
	name, err := handlers.NameOf(s.tx, t.Owner, with, t.RequestedDestination)
	if err != nil {
		return "", err
	}
	v := vars{"Sum": t.Money().String(), "State": html("")}
	if v["Token"], err = s.sumName(t.Token); err != nil {
		return "", err
	}
	if v["Other"], err = s.nameOrEnd(name, with); err != nil {
		return "", err
	}
	if state, ok := stateNames()[t.Status]; ok {
		if v["State"], err = s.words.text(state, nil); err != nil {
			return "", err
		}
	}
	if card.Vars != nil {
		maps.Copy(v, card.Vars(t))
	}
	text, err := s.words.text(key, v)
	return html(escape(t.CreatedAt.UTC().Format("2 Jan 15:04"))) + " " + text, err
}

// who returns the person's name for an address, or else its last characters.
func (s *replyTx) who(address wallet.Address) (html, error) {
	name, err := s.nameOf(address)
	if err != nil {
		return "", err
	}
	return s.nameOrEnd(name, address)
}

// nameOrEnd shows a name, or else the last characters of the address. The zero address is shown as unknown.
func (s *replyTx) nameOrEnd(name string, address wallet.Address) (html, error) {
	switch {
	case name != "":
		return html("<b>" + escape(name) + "</b>"), nil
	case address.IsZero():
		return s.words.text("history.nobody", nil)
	}
	return code("…" + address.Tail()), nil
}

// stateNames is the catalogue key of each status that a line of the history mentions.
func stateNames() map[wallet.Status]string {
	return map[wallet.Status]string{
		wallet.AwaitingConfirmation: "history.awaiting_confirmation", wallet.AwaitingSignature: "history.awaiting_signature",
		wallet.Signed: "history.signed", wallet.Pending: "history.pending",
		wallet.Failed: "history.failed", wallet.Rejected: "history.rejected", wallet.Expired: "history.expired",
	}
}
