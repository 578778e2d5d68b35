package chat

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// securityConversation is /security: who has access, and the person's security log. It also notifies them of firsts: a key used from a new address, a
// link or a portal session opened on a new device. Those messages come at any time, and cannot be turned off.
func securityConversation() conversation {
	callbacks := limitsCallbacks()
	callbacks["logpage"] = (*Chat).tapLogPage
	return conversation{
		name: securityFlow,
		commands: []command{{name: "security", menu: "menu.security", usage: "usage.security", looks: true, run: (*Chat).security, whileFrozen: securityReads,
			aliases: map[string]string{"securitylog": "log", "limits": limitsWord, "limit": limitsWord}}},
		flow: limitsFlow(), version: 1, data: func() any { return new(limitsAsked) }, texts: limitsTexts(),
		callbacks: callbacks, callbacksWhileFrozen: []string{"logpage", "limits"},
		refusalButtons: (*replyTx).offerLimits,
		events:         map[wallet.EventName]notice{wallet.SecurityNoticed: {priority: alerts, notify: withData((*replyTx).notifySecurity)}},
	}
}

// offerLimits returns a button to the spending limits below a payment that they refuse.
func (s *replyTx) offerLimits(err error) ([][]Button, error) {
	switch wallet.ReasonOf(err).Key {
	case "rule.limit_payment", "rule.limit_day", "rule.limit_recipients", "rule.limit_swap":
		return s.menu("security_button.limits", "/security "+limitsWord)
	}
	return nil, nil
}

// securityReads reports whether /security with these arguments only reads, so that it works while the account is frozen.
func securityReads(args []string) bool {
	if len(args) > 0 && strings.EqualFold(args[0], limitsWord) {
		_, words := limitsOf(args[1:])
		return len(words) == 0
	}
	return len(args) == 0 || len(args) == 1 && strings.EqualFold(args[0], "log")
}

// Cards of the newest messages of /security and /security log.
const (
	securityCard    = "security"
	securityLogCard = "security_log"
)

// How many entries are shown, and how many faults are named in one message.
const (
	entriesOnCard = 3
	entriesAPage  = 10
	faultsNamed   = 10
)

// security answers /security, /security log and /security limits.
func (c *Chat) security(ctx context.Context, h Inbound) (Action, error) {
	args := h.line.args
	if len(args) > 0 && strings.EqualFold(args[0], limitsWord) {
		return c.limits(ctx, h, args[1:])
	}
	isLog := len(args) == 1 && strings.EqualFold(args[0], "log")
	if len(args) > 0 && !isLog {
		return func(s *replyTx) error { return s.replyUsage("security") }, nil
	}
	// It may be a thousand entries, so they are read and checked before the transaction.
	log, err := c.Security.Log(ctx, h.user.ID)
	if err != nil {
		return nil, err
	}
	if isLog {
		return func(s *replyTx) error {
			if err := s.moveCard(securityLogCard); err != nil {
				return err
			}
			return s.drawLog(log, math.MaxUint64)
		}, nil
	}
	spenders, err := c.spenders(ctx, h)
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error {
		if err := s.moveCard(securityCard); err != nil {
			return err
		}
		return s.drawSecurity(log, spenders)
	}, nil
}

// spendersPatience is how long /security waits for a Solana node. Everything else that it shows needs none.
const spendersPatience = 3 * time.Second

// spenders counts who else may spend the person's tokens. It returns nil if nobody can say right now: no node answers, or the person
// has asked too often.
func (c *Chat) spenders(ctx context.Context, h Inbound) (*handlers.Spenders, error) {
	if !c.maySpare(h) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, spendersPatience)
	defer cancel()
	found, err := c.Revokes.Spenders(ctx, h.caller())
	switch {
	case wallet.CodeOf(err) == wallet.NetworkError:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &found, nil
}

// tapLogPage shows another page of the log in its message. object is the number of the newest entry of the page.
func (c *Chat) tapLogPage(ctx context.Context, h Inbound, object string) (Action, error) {
	newest, err := strconv.ParseUint(object, 10, 64)
	if err != nil { // made by another version of purser
		return toast("toast.old"), nil
	}
	log, err := c.Security.Log(ctx, h.user.ID)
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error { return s.drawLog(log, newest) }, nil
}

// securitySections are the lines of the card about what has access, each with its own text.
func securitySections() []func(*replyTx) (html, error) {
	return []func(*replyTx) (html, error){(*replyTx).walletsSection, (*replyTx).appsSection, (*replyTx).keysSection}
}

// walletsSection counts the wallets and names the one that payments go out from.
func (s *replyTx) walletsSection() (html, error) {
	all, err := s.tx.WalletsOf(s.user.ID)
	if err != nil {
		return "", err
	}
	old := ""
	if address, waits := s.user.ReceivesAt(s.now); waits {
		old = tailOf(address)
	}
	return s.words.text("security.wallets", vars{"Count": len(all), "Wallet": tailOf(s.user.DefaultWallet), "Old": old})
}

// appsSection counts the apps with access.
func (s *replyTx) appsSection() (html, error) {
	all, err := s.Apps.Of(s.tx, s.user.ID)
	if err != nil {
		return "", err
	}
	return s.words.text("security.apps", vars{"Count": len(all)})
}

// keysSection counts the keys that can be used.
func (s *replyTx) keysSection() (html, error) {
	all, err := s.tx.KeysOf(s.user.ID)
	if err != nil {
		return "", err
	}
	usable := 0
	for _, key := range all {
		if key.UsableAt(s.now) {
			usable++
		}
	}
	return s.words.text("security.keys", vars{"Count": usable})
}

// spendersSection says how many addresses can spend the person's tokens; nil: nobody knows. It is "" for somebody without wallets.
func (s *replyTx) spendersSection(found *handlers.Spenders) (html, error) {
	switch {
	case found == nil:
		return s.words.text("security.spenders_unknown", nil)
	case found.Wallets == 0:
		return "", nil
	}
	return s.words.text("security.spenders", vars{"Count": found.Count, "Any": found.Count > 0, "AtLeast": found.AtLeast})
}

// drawSecurity shows the card: what has access, who else can spend (nil: nobody knows), and the newest entries of the log.
func (s *replyTx) drawSecurity(log handlers.SecurityLogView, spenders *handlers.Spenders) error {
	var sections []string
	for _, section := range securitySections() {
		line, err := section(s)
		if err != nil {
			return err
		}
		sections = append(sections, string(line))
	}
	line, err := s.spendersSection(spenders)
	if err != nil {
		return err
	}
	buttons := []string{"security_button.log", "/security log", "security_button.limits", "/security " + limitsWord}
	if line != "" {
		sections, buttons = append(sections, string(line)), append(buttons, "security_button.spenders", "/revoke")
	}
	state, err := s.logState(log)
	if err != nil {
		return err
	}
	lines, err := s.logLines(log, places(log)[:min(entriesOnCard, len(places(log)))])
	if err != nil {
		return err
	}
	rows, err := s.menu(buttons...)
	if err != nil {
		return err
	}
	more, err := s.menu("security_button.wallets", "/wallet list", "security_button.apps", "/apps", "security_button.keys", "/api")
	if err != nil {
		return err
	}
	return s.show(securityCard, "security.card", vars{"Sections": html(strings.Join(sections, "\n")), "State": state, "Entries": lines}, append(rows, more...)...)
}

// drawLog shows a page of the log in its message, from entry newest downwards. If that is older than all that are kept, it is the last page.
func (s *replyTx) drawLog(log handlers.SecurityLogView, newest uint64) error {
	all := places(log)
	first := slices.IndexFunc(all, func(n uint64) bool { return n <= newest })
	if first < 0 {
		first = max(0, len(all)-entriesAPage)
	}
	page := all[first:min(first+entriesAPage, len(all))]
	state, err := s.logState(log)
	if err != nil {
		return err
	}
	lines, err := s.logLines(log, page)
	if err != nil {
		return err
	}
	var row []Button
	add := func(label string, at int) error {
		b, err := s.catalogueButton(label, "logpage:"+strconv.FormatUint(all[at], 10), securityLogCard, s.now.Add(menuLife))
		row = append(row, b)
		return err
	}
	if first > 0 {
		if err := add("security_button.newer", max(0, first-entriesAPage)); err != nil {
			return err
		}
	}
	if behind := first + entriesAPage; behind < len(all) {
		if err := add("security_button.older", behind); err != nil {
			return err
		}
	}
	var rows [][]Button
	if len(row) > 0 {
		rows = append(rows, row)
	}
	return s.show(securityLogCard, "security.log", vars{"State": state, "Entries": lines, "Zone": zoneName(s.now.In(s.words.clock)), "Most": wallet.MaxSecurityEntries,
		"Bounded": log.Head.From > 1}, rows...)
}

// places lists the numbers of all entries of a log, and of those that are missing, newest first.
func places(log handlers.SecurityLogView) (out []uint64) {
	for _, row := range log.Rows {
		out = append(out, row.Number)
	}
	for _, fault := range log.Faults {
		if fault.Number > 0 {
			out = append(out, fault.Number)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	slices.Reverse(out)
	return out
}

// logState says whether the log is as it was written, and names what is not.
func (s *replyTx) logState(log handlers.SecurityLogView) (html, error) {
	if len(log.Faults) == 0 {
		if log.Head.Count == 0 {
			return s.words.text("security.empty", nil)
		}
		return s.words.text("security.whole", vars{"Number": log.Head.Count, "Hash": log.Head.Hash.String()[:16]})
	}
	texts := map[wallet.SecurityFaultKind]string{wallet.SecurityChanged: "security.changed", wallet.SecurityMissing: "security.missing",
		wallet.SecurityReordered: "security.reordered", wallet.SecurityHeadLost: "security.head"}
	var lines []string
	for i, fault := range log.Faults {
		key := texts[fault.Kind]
		switch {
		case i == faultsNamed:
			key = "security.more_faults"
		case fault.Kind == wallet.SecurityHeadLost && fault.Number > 0:
			key = "security.head_before"
		}
		line, err := s.words.text(key, vars{"Number": fault.Number, "Belongs": fault.Belongs})
		if err != nil {
			return "", err
		}
		if lines = append(lines, string(line)); i == faultsNamed {
			break
		}
	}
	return s.words.text("security.broken", vars{"Faults": html(strings.Join(lines, "\n"))})
}

// logLines words the entries at some places. Of an entry that is not what was written it says only that.
func (s *replyTx) logLines(log handlers.SecurityLogView, numbers []uint64) (html, error) {
	faults := map[uint64]wallet.SecurityFaultKind{}
	for _, fault := range log.Faults {
		if fault.Kind != wallet.SecurityHeadLost {
			faults[fault.Number] = fault.Kind
		}
	}
	rows := map[uint64]*wallet.SecurityEntry{}
	for _, row := range log.Rows {
		rows[row.Number] = row.Entry
	}
	var lines []string
	for _, number := range numbers {
		fault, entry := faults[number], rows[number]
		if fault != "" || entry == nil {
			line, err := s.words.text("security.unread", vars{"Number": number, "Missing": fault == wallet.SecurityMissing})
			if err != nil {
				return "", err
			}
			lines = append(lines, string(line))
			continue
		}
		text, err := s.entryText(*entry)
		if err != nil {
			return "", err
		}
		line, err := s.words.text("security.line", vars{"At": s.words.short(entry.At), "Number": number, "Text": text})
		if err != nil {
			return "", err
		}
		lines = append(lines, string(line))
	}
	return html(strings.Join(lines, "\n")), nil
}

// tailOf is the last characters of an address, "" for the zero address.
func tailOf(a wallet.Address) string {
	if a.IsZero() {
		return ""
	}
	return a.Tail()
}

// entryVars are the variables of all texts about an entry.
func (s *replyTx) entryVars(e wallet.SecurityEntry) (vars, error) {
	d := e.Details
	v := vars{"Wallet": tailOf(d.Wallet), "Hint": d.KeyHint, "Bot": d.KeyKind == wallet.BotKey, "Connect": d.Link == wallet.LinkToConnect, "SetsLimits": d.Link == wallet.LinkToSetLimits, "Unfreezes": d.Link == wallet.LinkToUnfreeze, "First": d.First, "Client": d.Client,
		"App": d.AppName, "Form": strings.ToUpper(d.Value), "Off": d.Value == "off", "ByLink": d.Value == string(wallet.FrozenByLink), "On": len(strings.Fields(d.Value)), "All": len(wallet.Categories()), "Kind": string(e.Kind),
		"Last": d.Last, "At": s.words.moment(e.At), "Refused": handlers.MaxPrivateRefusals}
	var scopes []string
	for _, scope := range d.Scopes {
		name, err := s.words.text(scopeKey("scope_switch", scope), nil)
		if err != nil {
			return nil, err
		}
		scopes = append(scopes, string(name))
	}
	v["Scopes"] = html(strings.Join(scopes, ", "))
	var err error
	if v["Where"], err = s.words.text("security.where", vars{"Device": d.Device, "Client": d.Client}); err != nil {
		return nil, err
	}
	v["From"], v["Limits"], v["Changes"] = "", html(""), html("")
	if !d.From.IsZero() {
		v["From"] = s.words.moment(d.From)
	}
	if d.Policy != nil {
		if v["Limits"], err = s.limitLines(*d.Policy); err != nil {
			return nil, err
		}
		if d.Was != nil {
			was, is := *d.Was, *d.Policy
			if e.Kind == wallet.LogLimitsCancelled { // Was would have come: the change is what was cancelled
				was, is = is, was
			}
			if v["Changes"], err = s.limitChanges(was, is); err != nil {
				return nil, err
			}
		}
	}
	v["By"], err = s.byProgram(d.By)
	return v, err
}

// byProgram names the program by whose key something was done, in parentheses; "" for the person themselves. key is an id or a lineage, which is the id of
// its first key.
func (s *replyTx) byProgram(key string) (html, error) {
	if key == "" {
		return "", nil
	}
	by, err := handlers.RequesterOf(s.tx, key)
	switch {
	case err != nil:
		return "", err
	case by.App != "":
		return s.words.text("security.by_app", vars{"App": by.App})
	case by.KeyHint != "":
		return s.words.text("security.by_key", vars{"Hint": by.KeyHint})
	}
	return s.words.text("security.by_program", nil)
}

// securityKey returns the key of a text about a kind of entries: security_entry is its line, and security_notice its message.
func securityKey(section string, kind wallet.SecurityKind) string {
	return section + "." + strings.ReplaceAll(string(kind), ".", "_")
}

// entryText words one entry, without its time.
func (s *replyTx) entryText(e wallet.SecurityEntry) (html, error) {
	v, err := s.entryVars(e)
	if err != nil {
		return "", err
	}
	key := securityKey("security_entry", e.Kind)
	if !s.words.has(key) { // of a later version
		key = "security_entry.unknown"
	}
	text, err := s.words.text(key, v)
	if err != nil || !e.Details.Last {
		return text, err
	}
	last, err := s.words.text("security.last", nil)
	return text + last, err
}

// notifySecurity sends the message about an entry of which the person is notified, with what to do about it.
func (s *replyTx) notifySecurity(data wallet.SecurityNoticedData) error {
	e, err := s.tx.SecurityEntry(s.user.ID, data.Number)
	if errors.Is(err, store.ErrNotFound) || store.IsDamaged(err) { // /security log says so
		return nil
	}
	if err != nil {
		return err
	}
	v, err := s.entryVars(e)
	if err != nil {
		return err
	}
	key := securityKey("security_notice", e.Kind)
	if !s.words.has(key) {
		return nil
	}
	buttons := []string{"security_button.log", "/security log"}
	switch e.Kind {
	case wallet.LogLinkOpened:
	case wallet.LogAccessPaused:
		if e.Details.App != "" { // else the operator's key needs no grant
			buttons = append(buttons, "security_button.apps", "/apps")
		}
	case wallet.LogLimitsSigned:
		if err := s.closeLimitsLink(); err != nil {
			return err
		}
		buttons = append(buttons, "security_button.limits", "/security "+limitsWord+" "+e.Details.Wallet.String())
	default:
		buttons = append(buttons, "security_button.keys", "/api")
	}
	rows, err := s.menu(buttons...)
	if err != nil {
		return err
	}
	return s.reply(key, v, rows...)
}
