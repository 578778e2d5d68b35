package chat

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"purser/wallet"
)

// Words of /security limits, and objects of its buttons.
const (
	limitsWord      = "limits"
	limitPayment    = "payment"
	limitDay        = "day"
	limitRecipients = "recipients"
	limitNew        = "new"
	limitOff        = "off"
)

// limitEdit is a change of one part of a policy. It is applied to the policy that holds, in the store transaction. Its error says why the change
// makes no sense for that policy.
type limitEdit func(wallet.Policy) (wallet.Policy, error)

// limitsOf returns the wallet that the words after "/security limits" name first, by its address or its last characters, and the words after it. "" is the
// default wallet.
func limitsOf(words []string) (which string, rest []string) {
	if len(words) == 0 || slices.Contains([]string{limitPayment, limitDay, limitRecipients, limitNew}, strings.ToLower(words[0])) {
		return "", words
	}
	return strings.TrimLeft(words[0], "…."), words[1:]
}

// readLimits reads the words of a change: "payment 1 SOL", "day USDC off", "new 24h", "recipients add anna". which is put into the command of a question
// about a token. A nil edit without an error or a question: these words are no change.
func (c *Chat) readLimits(ctx context.Context, h Inbound, which string, words []string) (edit limitEdit, question Action, err error) {
	part, more := strings.ToLower(words[0]), words[1:]
	switch {
	case len(more) == 0:
		return nil, nil, nil
	case part == limitNew:
		edit, err = readWait(more)
	case part == limitRecipients:
		edit, err = c.readRecipients(ctx, h, more)
	case part == limitPayment, part == limitDay:
		return c.readLimit(ctx, h, which, part, more)
	}
	return edit, nil, err
}

// readLimit reads "1 SOL", "SOL off", or "off" for all tokens.
func (c *Chat) readLimit(ctx context.Context, h Inbound, which, part string, words []string) (edit limitEdit, question Action, err error) {
	command := func(words ...string) func(mint string) string { // "" stands for the token
		return func(mint string) string {
			all := []string{"/security", limitsWord, part}
			if which != "" {
				all = []string{"/security", limitsWord, which, part}
			}
			for _, word := range words {
				all = append(all, cmp.Or(word, mint))
			}
			return strings.Join(all, " ")
		}
	}
	if strings.EqualFold(words[len(words)-1], limitOff) {
		return c.readNoLimit(ctx, h, part, words[:len(words)-1], command("", limitOff))
	}
	// Exactly as programs write it: a limit knows no currencies, and no contacts.
	p, err := readParts(words, book{listed: c.Transfers.Lists})
	if mint := p.To.Address; err == nil && p.Token.IsZero() && p.To.Wrong.IsZero() && !mint.IsZero() { // nobody is paid here, so an address is a mint
		p.Token, p.To = wallet.TokenRef{Mint: mint}, saidRecipient{}
	}
	switch {
	case err != nil:
		return nil, nil, err
	case !p.Amount.given(), p.To.given(), p.Token.IsZero(), p.Memo != "", p.Amount.Quantity.Max:
		return nil, nil, wallet.Refuse(wallet.InvalidRequest, "limits.amount")
	case p.Amount.refusal() != nil:
		return nil, nil, p.Amount.refusal()
	}
	ref := p.Token
	if ref.Mint.IsZero() {
		if ref, question, err = c.whichToken(ctx, h, p.Token.Symbol, command(p.Amount.Quantity.Exact.String(), "")); err != nil || question != nil {
			return nil, question, err
		}
	}
	token, err := c.limitedToken(ctx, h, ref)
	if err != nil {
		return nil, nil, err
	}
	amount, err := token.Exactly(p.Amount.Quantity.Exact)
	if err != nil {
		return nil, nil, err
	}
	return editLimits(part, func(all []wallet.TokenLimit) []wallet.TokenLimit {
		return append(withoutLimit(all, token.Mint), wallet.TokenLimit{Mint: token.Mint, Units: amount.Units})
	}), nil, nil
}

// readNoLimit reads the words before "off": a token, or none for all of them.
func (c *Chat) readNoLimit(ctx context.Context, h Inbound, part string, words []string, command func(mint string) string) (edit limitEdit, question Action, err error) {
	switch len(words) {
	case 0:
		return editLimits(part, func([]wallet.TokenLimit) []wallet.TokenLimit { return nil }), nil, nil
	case 1:
	default:
		return nil, nil, nil
	}
	ref, question, err := c.whichToken(ctx, h, words[0], command)
	if err != nil || question != nil {
		return nil, question, err
	}
	token, err := c.limitedToken(ctx, h, ref)
	if err != nil {
		return nil, nil, err
	}
	return editLimits(part, func(all []wallet.TokenLimit) []wallet.TokenLimit { return withoutLimit(all, token.Mint) }), nil, nil
}

// limitedToken returns the token of a limit. Wrapped SOL is SOL: a payment of either counts as SOL.
func (c *Chat) limitedToken(ctx context.Context, h Inbound, ref wallet.TokenRef) (wallet.Token, error) {
	if limited := (wallet.Policy{Day: []wallet.TokenLimit{{Mint: ref.Mint}}}).WithWrappedAsSOL(); !ref.Mint.IsZero() && limited.Day[0].Mint.IsZero() {
		return wallet.SOL, nil
	}
	if _, unlisted := c.unlisted(ref); unlisted { // only a node knows its decimals
		if err := c.mayAsk(h); err != nil {
			return wallet.Token{}, err
		}
	}
	return c.Transfers.Token(ctx, ref)
}

// editLimits changes the limits of one payment, or of 24 hours.
func editLimits(part string, change func([]wallet.TokenLimit) []wallet.TokenLimit) limitEdit {
	return func(p wallet.Policy) (wallet.Policy, error) {
		if part == limitPayment {
			p.Payment = change(p.Payment)
		} else {
			p.Day = change(p.Day)
		}
		return p, nil
	}
}

// withoutLimit returns a new list of limits without that of a token.
func withoutLimit(all []wallet.TokenLimit, mint wallet.Address) []wallet.TokenLimit {
	return slices.DeleteFunc(slices.Clone(all), func(l wallet.TokenLimit) bool { return l.Mint == mint })
}

// readWait reads how long payments to new recipients wait: "24h", "3d", "24", or "off".
func readWait(words []string) (limitEdit, error) {
	word := strings.ToLower(words[0])
	unit := time.Hour
	switch {
	case strings.HasSuffix(word, "d"):
		unit = 24 * time.Hour
		word = strings.TrimSuffix(word, "d")
	case word == limitOff:
		word = "0"
	default:
		word = strings.TrimSuffix(word, "h")
	}
	n, err := strconv.ParseUint(word, 10, 16) // so many days are no overflow
	if err != nil || len(words) > 1 {
		return nil, wallet.Refuse(wallet.InvalidRequest, "limits.hours", wallet.DurationArg("Most", wallet.MaxNewRecipientWait))
	}
	return func(p wallet.Policy) (wallet.Policy, error) {
		p.NewRecipientWait = time.Duration(n) * unit
		return p, nil
	}, nil
}

// readRecipients reads "add anna", "remove anna", "only anna bob", or "any". Somebody is the name of a contact, or an address.
func (c *Chat) readRecipients(ctx context.Context, h Inbound, words []string) (limitEdit, error) {
	action := strings.ToLower(words[0])
	if action == "any" && len(words) == 1 {
		return func(p wallet.Policy) (wallet.Policy, error) { p.Recipients = nil; return p, nil }, nil
	}
	if !slices.Contains([]string{"add", "remove", "only"}, action) || len(words) == 1 {
		return nil, nil
	}
	b, err := c.book(ctx, h)
	if err != nil {
		return nil, err
	}
	named, err := b.named(words[1:])
	if err != nil {
		return nil, err
	}
	return editRecipients(action, named), nil
}

// namesRecipients reports whether words are "recipients" and then people, without saying what to do with them.
func (c *Chat) namesRecipients(ctx context.Context, h Inbound, words []string) (bool, error) {
	if strings.ToLower(words[0]) != limitRecipients || len(words) == 1 {
		return false, nil
	}
	b, err := c.book(ctx, h)
	if err != nil {
		return false, err
	}
	_, unread := b.named(words[1:])
	return unread == nil, nil
}

// suggestRecipients asks whether people whom somebody named are to be the only recipients, or where there is a list, one more of them.
func (s *replyTx) suggestRecipients(which string, named []string) error {
	address, err := s.limitedWallet(which)
	if err != nil {
		return s.refuse(err)
	}
	state, err := s.Policies.Of(s.tx, s.user.ID, address)
	if err != nil {
		return s.refuse(err)
	}
	action, label := "add", "limits_button.add_these"
	if state.Current.Recipients == nil {
		action, label = "only", "limits_button.only_these"
	}
	words := []string{"/security", limitsWord}
	if which != "" {
		words = append(words, which)
	}
	command := strings.Join(slices.Concat(words, []string{limitRecipients, action}, named), " ")
	rows, err := s.menu(label, command)
	if err != nil {
		return err
	}
	return s.reply("limits_text.meant", vars{"Command": code(command), "Tail": address.Tail(), "Only": action == "only"}, rows...)
}

// named reads people by the names of contacts and by addresses. A name may have several words.
func (b book) named(words []string) (all []wallet.Address, _ error) {
	for len(words) > 0 {
		contact, n := b.at(words)
		if n == 0 {
			said := b.recipient(words[0])
			if err := said.refusal(); err != nil {
				return nil, err
			}
			contact.Address, n = said.Address, 1
		}
		if err := contact.Address.Payable(); err != nil {
			return nil, err
		}
		all, words = append(all, contact.Address), words[n:]
	}
	return all, nil
}

// editRecipients changes the list of recipients. Where anybody can be paid there is no list to add to or remove from: adding one would forbid all others.
func editRecipients(action string, named []wallet.Address) limitEdit {
	return func(p wallet.Policy) (wallet.Policy, error) {
		var list []wallet.Address
		switch {
		case action == "only":
			list = named
		case p.Recipients == nil:
			return p, wallet.Refuse(wallet.Conflict, "limits.no_list")
		case action == "add":
			list = slices.Concat(*p.Recipients, named)
		default:
			for _, a := range named {
				if !slices.Contains(*p.Recipients, a) {
					return p, wallet.Refuse(wallet.NotFound, "limits.not_listed", wallet.AddressArg("Address", a))
				}
			}
			list = slices.DeleteFunc(slices.Clone(*p.Recipients), func(a wallet.Address) bool { return slices.Contains(named, a) })
		}
		p.Recipients = &list
		return p, nil
	}
}
