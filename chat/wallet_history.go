package chat

import (
	"context"
	"maps"
	"strings"

	"purser/handlers"
	"purser/wallet"
)

// maxPast is the number of payments on a page of /wallet history.
const maxPast = 15

// maxPages bounds how many pages of the list one page of /wallet history is made of. Pages are short where a filter leaves
// out much, such as spam.
const maxPages = 3

// allHistory is the word after /wallet history that shows rejected and expired payments as well, and suspicious ones.
const allHistory = "all"

// isFolded reports whether payments at this stage are only counted in the history: they moved no money and never will.
func isFolded(stage Stage) bool {
	switch stage {
	case StageRejected, StageNotConfirmed, StageNotSigned, StageNotPaid:
		return true
	}
	return false
}

// historyContent is a page of the history before it is worded.
type historyContent struct {
	all        bool // with what is folded otherwise
	entries    []handlers.HistoryEntry
	folded     int    // rejected and expired payments
	suspects   int    // incoming transactions that are left out
	next       string // cursor of the page behind; "" at the end
	incomplete bool   // a node did not answer
}

// history shows the newest page of what happened to the person's wallets, newest first, one line each. Rejected and expired
// payments, and suspicious incoming ones, are only counted, with a button that shows them.
func (c *Chat) history(ctx context.Context, h Inbound) (Action, error) {
	return c.historyPage(ctx, h, false, "")
}

// wholeHistory is history with everything.
func (c *Chat) wholeHistory(ctx context.Context, h Inbound) (Action, error) {
	return c.historyPage(ctx, h, true, "")
}

// tapOlder and tapOlderOfAll show the page behind a cursor.
func (c *Chat) tapOlder(ctx context.Context, h Inbound, cursor string) (Action, error) {
	return c.historyPage(ctx, h, false, cursor)
}

func (c *Chat) tapOlderOfAll(ctx context.Context, h Inbound, cursor string) (Action, error) {
	return c.historyPage(ctx, h, true, cursor)
}

// historyPage reads the page behind a cursor, and returns the action that words it. It may read up to maxPages pages of the
// list, because a filter can leave few entries on each. It stops early when a node does not answer: the page then says that it
// is incomplete. All reading happens before the transaction.
func (c *Chat) historyPage(ctx context.Context, h Inbound, all bool, cursor string) (Action, error) {
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	p := historyContent{all: all, next: cursor}
	for read := 0; read < maxPages && len(p.entries) < maxPast && (read == 0 || p.next != "" && !p.incomplete); read++ {
		page, err := c.History.List(ctx, h.caller(), handlers.Filter{Cursor: p.next, Limit: maxPast - len(p.entries), Fold: c.folding(all), Anonymous: h.app != nil})
		if err != nil {
			return refuse(err)
		}
		for _, entry := range page.Entries {
			if entry.Suspect != "" && !all {
				p.suspects++
				continue
			}
			p.entries = append(p.entries, entry)
		}
		p.folded, p.next, p.incomplete = p.folded+page.Folded, page.Next, page.Incomplete
	}
	return func(s *replyTx) error {
		s.private = true // marks and counts of look-alikes would tell apps whom the person knows
		return s.sayPast(p, cursor != "")
	}, nil
}

// folding returns what the history leaves out of purser's own transactions. Stages without a line are left out always: a
// payment request that was paid is listed by the receipt of its payment.
func (c *Chat) folding(all bool) func(wallet.Transaction) handlers.Folding {
	return func(t wallet.Transaction) handlers.Folding {
		rules, err := c.Store.Kinds().Of(t.Kind)
		// A kind that this binary does not know is shown rather than hidden.
		if err != nil { // the list itself fails on it
			return handlers.Shown
		}
		stage := stageOf(t, rules.Life)
		switch _, listed := c.cards[t.Kind].Lines[stage]; {
		case !listed:
			return handlers.Omitted
		case !all && isFolded(stage):
			return handlers.Counted
		}
		return handlers.Shown
	}
}

// sayPast words a page of the history. older is true for every page but the newest.
func (s *replyTx) sayPast(p historyContent, older bool) error {
	var lines []string
	for _, entry := range p.entries {
		line, err := s.entryLine(entry)
		if err != nil {
			return err
		}
		lines = append(lines, string(line))
	}
	if len(lines) == 0 && p.folded == 0 && p.suspects == 0 && !p.incomplete && p.next == "" {
		if older {
			return s.reply("activity.no_more", nil)
		}
		return s.reply("history.none", nil)
	}
	var row []Button
	if p.folded+p.suspects > 0 {
		b, err := s.catalogueButton("button.show_all", "run:/wallet history "+allHistory, "menu", s.now.Add(menuLife))
		if err != nil {
			return err
		}
		row = append(row, b)
	}
	if p.next != "" {
		action := "past:"
		if p.all {
			action = "pastall:"
		}
		b, err := s.catalogueButton("button.older", action+p.next, "menu", s.now.Add(menuLife))
		if err != nil {
			return err
		}
		row = append(row, b)
	}
	var rows [][]Button
	if len(row) > 0 {
		rows = append(rows, row)
	}
	v := vars{"Lines": html(strings.Join(lines, "\n")), "Network": s.network(), "Folded": html(""), "Suspects": html(""), "Incomplete": p.incomplete, "Older": older,
		"Zone": s.words.clock.String()}
	for _, more := range []struct {
		name, text string
		count      int
	}{{"Folded", "history.folded", p.folded}, {"Suspects", "history.suspects", p.suspects}} {
		if more.count == 0 {
			continue
		}
		text, err := s.words.text(more.text, vars{"Count": more.count})
		if err != nil {
			return err
		}
		v[more.name] = text
	}
	key := "history.list"
	if p.all {
		key = "history.whole"
	}
	return s.reply(key, v, rows...)
}

// entryLine returns the line of one entry.
func (s *replyTx) entryLine(e handlers.HistoryEntry) (html, error) {
	if e.Transaction != nil {
		return s.pastLine(*e.Transaction)
	}
	v := vars{"Sum": e.Main.Token.Amount(e.Main.Units).String(), "Pending": e.Status == wallet.Pending, "Suspect": string(e.Suspect),
		"Signature": code("…" + tail(e.Signature.String())), "Program": html("")}
	var err error
	if v["Token"], err = s.sumName(e.Main.Token); err != nil {
		return "", err
	}
	if v["Other"], err = s.nameOrEnd(e.Name, e.With); err != nil {
		return "", err
	}
	if v["Changes"], err = s.changes(e.Activity); err != nil {
		return "", err
	}
	if e.Activity != nil && !e.Activity.Program.IsZero() {
		v["Program"] = code("…" + e.Activity.Program.Tail())
	}
	text, err := s.words.text(activityText(e), v)
	return s.words.short(e.At) + " " + text, err
}

// activityText is the catalogue key of the line of a transaction that was read on chain.
func activityText(e handlers.HistoryEntry) string {
	switch {
	case e.Activity == nil:
		return "activity.unreadable"
	case e.Activity.Failure != "":
		return "activity.failed"
	case e.Suspect == wallet.ZeroValue:
		return "activity.nothing"
	}
	text, ok := map[wallet.EntryType]string{wallet.ActivitySent: "activity.sent", wallet.ActivityReceived: "activity.received",
		wallet.ActivitySwapped: "activity.swap", wallet.ActivityInternal: "activity.internal",
		wallet.ActivityStaked: "activity.stake", wallet.ActivityUnstaked: "activity.unstake", wallet.ActivityWithdrawn: "activity.withdraw",
		wallet.ActivityAccountOpened: "activity.account_opened", wallet.ActivityAccountClosed: "activity.account_closed"}[e.Activity.Kind]
	switch {
	case !ok:
		return "activity.changed"
	// Scammers put their address into histories by a transfer of nothing, so that somebody copies it.
	case text == "activity.received" && e.Main.Units == 0:
		return "activity.nothing"
	case text == "activity.sent" && e.Main.Units == 0:
		return "activity.changed"
	}
	return text
}

// longestQuote is how many characters of a text of others a line of the history repeats.
const longestQuote = 40

// maxChanges bounds how many tokens a line of the history names.
const maxChanges = 4

// changes lists what an activity added and took, such as "−1 SOL, +150 USDC". "" for nothing.
func (s *replyTx) changes(a *wallet.Activity) (html, error) {
	if a == nil {
		return "", nil
	}
	var parts []string
	for i, change := range a.Net {
		if i == maxChanges {
			parts = append(parts, "…")
			break
		}
		name, err := s.sumName(change.Token)
		if err != nil {
			return "", err
		}
		sign := "+"
		if change.Lost {
			sign = "−"
		}
		parts = append(parts, sign+change.Token.Amount(change.Units).String()+" "+string(name))
	}
	return html(strings.Join(parts, ", ")), nil
}

// tail is the last characters of a long text.
func tail(text string) string { return text[max(0, len(text)-6):] }

// pastLine returns the line of one of purser's own payments: its time (UTC), what it is, and the other party.
func (s *replyTx) pastLine(t wallet.Transaction) (html, error) {
	card, stage, err := s.cardOf(t)
	if err != nil {
		return "", err
	}
	key := card.Lines[stage]
	// A payment that gave way to another one is Rejected, too, but nobody rejected it.
	if replaced := card.Lines[StageReplaced]; replaced != "" && handlers.IsReplaced(t) {
		key = replaced
	}
	// The request may have named a token account of the recipient, and the person's contact may have that address.
	with := card.With(t)
	var name string
	if s.inbound.app == nil { // apps must not learn contacts
		if name, err = handlers.NameOf(s.tx, t.Owner, with, t.RequestedDestination); err != nil {
			return "", err
		}
	}
	v := vars{"Sum": t.Money().String(), "State": html(""), "Quoted": html("")}
	if s.inbound.app == nil { // apps get the label by the API
		if v["Quoted"], err = s.quoted("history.quoted", cut(t.Label, longestQuote), cut(t.Purpose, longestQuote), t.KeyID != ""); err != nil {
			return "", err
		}
	}
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
	return s.words.short(t.CreatedAt) + " " + text, err
}

// stateNames is the catalogue key of each status that a line of the history mentions.
func stateNames() map[wallet.Status]string {
	return map[wallet.Status]string{
		wallet.AwaitingConfirmation: "history.awaiting_confirmation", wallet.Delayed: "history.delayed", wallet.AwaitingSignature: "history.awaiting_signature",
		wallet.Signed: "history.signed", wallet.Pending: "history.pending",
		wallet.Failed: "history.failed", wallet.Rejected: "history.rejected", wallet.Expired: "history.expired",
	}
}
