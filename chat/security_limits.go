package chat

import (
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
	wait, err := s.waitText(p.NewRecipientWait)
	if err != nil {
		return "", err
	}
	err = add("security_limits.wait", vars{"Wait": wait})
	return html(strings.Join(lines, "\n")), err
}

// waitText words how long a new recipient waits, in days from two on, as the signing page says it.
func (s *replyTx) waitText(wait time.Duration) (html, error) {
	const day = 24 * time.Hour
	if wait > day && wait%day == 0 {
		return s.words.text("duration.days", vars{"Count": int64(wait / day)})
	}
	return s.words.text("duration.hours", vars{"Count": int64(wait / time.Hour)})
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
