package chat

import (
	"errors"
	"slices"
	"strings"
	"time"

	"purser/wallet"
)

// recipientsShown is how many allowed recipients of a policy are listed. Each is an address of up to 44 characters.
const recipientsShown = 10

// limitLines words spending limits, one line for each part. Amounts of tokens on no list are in base units, since nothing here says how many decimals they
// have.
func (s *replyTx) limitLines(p wallet.Policy) (html, error) {
	p = p.Canonical()
	var lines []string
	add := func(key string, v vars) error {
		line, err := s.words.text(key, v)
		lines = append(lines, string(line))
		return err
	}
	for _, part := range []struct {
		key    string
		limits []wallet.TokenLimit
	}{{"security_limits.payment", p.Payment}, {"security_limits.day", p.Day}} {
		for _, l := range part.limits {
			v, err := s.limitVars(l)
			if err != nil {
				return "", err
			}
			if err := add(part.key, v); err != nil {
				return "", err
			}
		}
	}
	if len(p.Payment)+len(p.Day) == 0 {
		if err := add("security_limits.any_amount", nil); err != nil {
			return "", err
		}
	}
	if err := s.recipientLines(p, add); err != nil {
		return "", err
	}
	if p.NewRecipientWait <= 0 {
		err := add("security_limits.no_wait", nil)
		return html(strings.Join(lines, "\n")), err
	}
	wait, err := s.words.duration(p.NewRecipientWait)
	if err != nil {
		return "", err
	}
	err = add("security_limits.wait", vars{"Wait": wait})
	return html(strings.Join(lines, "\n")), err
}

// limitVars are the variables of a limit: its amount, and its token.
func (s *replyTx) limitVars(l wallet.TokenLimit) (vars, error) {
	if l.Mint.IsZero() {
		return vars{"Amount": wallet.Lamports(l.Units).String(), "Token": wallet.SOL.Name()}, nil
	}
	if token, ok := s.Transfers.Tokens.ByMint(l.Mint); ok {
		return vars{"Amount": token.Amount(l.Units).String(), "Token": token.Name()}, nil
	}
	units, err := s.words.text("security_limits.units", vars{"Mint": code(l.Mint.String())})
	return vars{"Amount": wallet.Amount{Units: l.Units}.String(), "Token": units}, err
}

// limitAmounts words the limits of one payment, or of 24 hours, in one line: "1 SOL, 100 USDC". Without any it says so.
func (s *replyTx) limitAmounts(limits []wallet.TokenLimit) (html, error) {
	var all []string
	for _, l := range limits {
		v, err := s.limitVars(l)
		if err != nil {
			return "", err
		}
		amount, err := s.words.text("security_limits.amount", v)
		if err != nil {
			return "", err
		}
		all = append(all, string(amount))
	}
	if len(all) == 0 {
		return s.words.text("security_limits.no_limit", nil)
	}
	return html(strings.Join(all, ", ")), nil
}

// changesShown is how many changes of limits an entry of the security log names.
const changesShown = 3

// limitChanges words what one policy has instead of another, in one line: "in one payment: no SOL limit → 1 SOL". "" if they are the same.
func (s *replyTx) limitChanges(was, is wallet.Policy) (html, error) {
	var changes []string
	var failed error
	add := func(key string, was, is func() (html, error)) {
		before, err := was()
		after, laterErr := is()
		if failed = errors.Join(failed, err, laterErr); failed != nil {
			return
		}
		change, err := s.words.text(key, vars{"Was": before, "Is": after})
		failed = errors.Join(failed, err)
		changes = append(changes, string(change))
	}
	for _, part := range []struct {
		key     string
		was, is []wallet.TokenLimit
	}{{"limits_change.payment", was.Payment, is.Payment}, {"limits_change.day", was.Day, is.Day}} {
		for _, mint := range limitedMints(part.was, part.is) {
			before, hadOne := wallet.Limit(part.was, mint)
			after, hasOne := wallet.Limit(part.is, mint)
			if before == after && hadOne == hasOne {
				continue
			}
			add(part.key, func() (html, error) { return s.changedLimit(mint, before, hadOne) }, func() (html, error) { return s.changedLimit(mint, after, hasOne) })
		}
	}
	if !(wallet.Policy{Recipients: was.Recipients}).Equal(wallet.Policy{Recipients: is.Recipients}) {
		add("limits_change.recipients", func() (html, error) { return s.changedRecipients(was.Recipients) }, func() (html, error) { return s.changedRecipients(is.Recipients) })
	}
	if was.NewRecipientWait != is.NewRecipientWait {
		add("limits_change.wait", func() (html, error) { return s.changedWait(was.NewRecipientWait) }, func() (html, error) { return s.changedWait(is.NewRecipientWait) })
	}
	if failed != nil {
		return "", failed
	}
	if more := len(changes) - changesShown; more > 0 {
		rest, err := s.words.text("limits_change.more", vars{"Count": more})
		if err != nil {
			return "", err
		}
		changes = append(changes[:changesShown], string(rest))
	}
	separator, err := s.words.text("limits_change.separator", nil)
	return html(strings.Join(changes, string(separator))), err
}

// limitedMints lists the mints that two lists of limits name, each once, SOL first.
func limitedMints(was, is []wallet.TokenLimit) (mints []wallet.Address) {
	for _, l := range (wallet.Policy{Payment: slices.Concat(was, is)}).Canonical().Payment {
		mints = append(mints, l.Mint)
	}
	return mints
}

// changedLimit words one side of a changed limit: "1 SOL", or "no SOL limit".
func (s *replyTx) changedLimit(mint wallet.Address, units uint64, limited bool) (html, error) {
	token, listed := s.Transfers.Tokens.ByMint(mint)
	if mint.IsZero() {
		token, listed = wallet.SOL, true
	}
	name := html(escape(token.Name()))
	if !listed { // as all addresses are shortened; the limits themselves show it whole
		name = code("…" + mint.Tail())
	}
	if !limited {
		return s.words.text("limits_change.none", vars{"Token": name})
	}
	v := vars{"Amount": token.Amount(units).String(), "Token": name}
	if !listed {
		v["Amount"] = wallet.Amount{Units: units}.String()
		units, err := s.words.text("security_limits.units", vars{"Mint": name})
		if err != nil {
			return "", err
		}
		v["Token"] = units
	}
	return s.words.text("security_limits.amount", v)
}

// changedRecipients words one side of a changed list of recipients, by the ends of their addresses.
func (s *replyTx) changedRecipients(allowed *[]wallet.Address) (html, error) {
	const named = 3
	switch {
	case allowed == nil:
		return s.words.text("limits_change.anybody", nil)
	case len(*allowed) == 0:
		return s.words.text("limits_change.nobody", nil)
	case len(*allowed) > named:
		return s.words.text("limits_change.many", vars{"Count": len(*allowed)})
	}
	var tails []string
	for _, a := range *allowed {
		tails = append(tails, string(code("…"+a.Tail())))
	}
	return html(strings.Join(tails, ", ")), nil
}

// changedWait words one side of a changed wait for new recipients.
func (s *replyTx) changedWait(d time.Duration) (html, error) {
	if d <= 0 {
		return s.words.text("limits_change.no_wait", nil)
	}
	return s.words.duration(d)
}

// recipientLines adds whom a policy allows to pay.
func (s *replyTx) recipientLines(p wallet.Policy, add func(string, vars) error) error {
	switch {
	case p.Recipients == nil:
		return add("security_limits.anybody", nil)
	case len(*p.Recipients) == 0:
		return add("security_limits.nobody", nil)
	}
	for i, a := range *p.Recipients {
		if i == recipientsShown {
			return add("security_limits.more_recipients", vars{"Count": len(*p.Recipients) - i})
		}
		who, err := s.recipientName(a)
		if err != nil {
			return err
		}
		if err := add("security_limits.recipient", vars{"Address": who}); err != nil {
			return err
		}
	}
	return nil
}
