package chat

import (
	"maps"
	"strconv"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// mostPast is the number of payments that /wallet history shows.
const mostPast = 15

// mostLookedAt bounds how many transactions /wallet history reads. Somebody who rejected more than that in a row sees no older
// payment.
const mostLookedAt = 300

// allHistory is the word after /wallet history that shows rejected and expired payments as well.
const allHistory = "all"

// isFolded reports whether payments at this stage are only counted in the history: they moved no money and never will.
func isFolded(stage Stage) bool {
	switch stage {
	case StageRejected, StageNotConfirmed, StageNotSigned, StageNotPaid:
		return true
	}
	return false
}

// history lists the person's last payments that moved money or are still open, newest first, one line each. Rejected and
// expired ones are counted in one line, with a button that shows them.
func (s *replyTx) history() error {
	lines, count, err := s.pastLines(isFolded)
	if err != nil {
		return err
	}
	if len(lines) == 0 && count == 0 {
		return s.reply("history.none", nil)
	}
	var rows [][]Button
	if count > 0 {
		if rows, err = s.menu("button.show_all", "/wallet history "+allHistory); err != nil {
			return err
		}
	}
	v := vars{"Lines": html(strings.Join(lines, "\n")), "Network": s.network(), "Folded": "", "One": count == 1}
	if count > 0 {
		v["Folded"] = strconv.Itoa(count)
	}
	return s.reply("history.list", v, rows...)
}

// wholeHistory lists the person's last payments of all stages, newest first.
func (s *replyTx) wholeHistory() error {
	lines, _, err := s.pastLines(func(Stage) bool { return false })
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		return s.reply("history.none", nil)
	}
	return s.reply("history.whole", vars{"Lines": html(strings.Join(lines, "\n")), "Network": s.network()})
}

// pastLines returns the lines of the person's newest payments, at most mostPast, and how many payments between them are left
// out by fold. Stages without a line count for nothing: a payment request that was paid is listed by the receipt of its
// payment. It reads page by page, so that many rejections do not hide the payments before them.
func (s *replyTx) pastLines(fold func(Stage) bool) (lines []string, count int, _ error) {
	var after wallet.TransactionID
	for read := 0; read < mostLookedAt && len(lines) < mostPast; {
		past, err := s.tx.TransactionsOf(s.user.ID, store.Page{After: after, Limit: 2 * mostPast})
		if err != nil {
			return nil, 0, err
		}
		for _, t := range past {
			line, stage, err := s.pastLine(t)
			switch {
			case err != nil:
				return nil, 0, err
			case line == "" || len(lines) == mostPast:
			case fold(stage):
				count++
			default:
				lines = append(lines, string(line))
			}
		}
		if len(past) < 2*mostPast {
			break
		}
		read, after = read+len(past), past[len(past)-1].ID
	}
	return lines, count, nil
}

// pastLine returns the line of one payment: its time (UTC), what it is, and the other party; "" if its stage has no line. It
// also returns the stage.
func (s *replyTx) pastLine(t wallet.Transaction) (_ html, stage Stage, _ error) {
	card, stage, err := s.cardOf(t)
	if err != nil {
		return "", "", err
	}
	key, ok := card.Lines[stage]
	if !ok {
		return "", stage, nil
	}
	// The request may have named a token account of the recipient, and the person's contact may have that address.
	with := card.With(t)
	var name string
	if s.inbound.app == nil { // apps must not learn contacts
		if name, err = handlers.NameOf(s.tx, t.Owner, with, t.RequestedDestination); err != nil {
			return "", "", err
		}
	}
	v := vars{"Sum": t.Money().String(), "State": html("")}
	if v["Token"], err = s.sumName(t.Token); err != nil {
		return "", "", err
	}
	if v["Other"], err = s.nameOrEnd(name, with); err != nil {
		return "", "", err
	}
	if state, ok := stateNames()[t.Status]; ok {
		if v["State"], err = s.words.text(state, nil); err != nil {
			return "", "", err
		}
	}
	if card.Vars != nil {
		maps.Copy(v, card.Vars(t))
	}
	text, err := s.words.text(key, v)
	return html(escape(t.CreatedAt.UTC().Format("2 Jan 15:04"))) + " " + text, stage, err
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
