package terminal

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"purser/wallet"
)

// wirePolicy is a policy as the server sends it (docs/decisions/0054-spending-limits.md).
type wirePolicy struct {
	Payment    []wireLimit `json:"payment"`
	Day        []wireLimit `json:"day"`
	Recipients *[]string   `json:"recipients"`
	WaitHours  int64       `json:"new_wait_hours"`
}

type wireLimit struct {
	Mint  string `json:"mint"`
	Units string `json:"units"`
}

// policy parses it. Whatever is not canonical is refused: the text that is signed has one form.
func (w wirePolicy) policy() (p wallet.Policy, _ error) {
	odd := fmt.Errorf("the server sent something unexpected (limits); nothing was signed")
	limits := func(all []wireLimit) (out []wallet.TokenLimit, ok bool) {
		for _, l := range all {
			units, err := strconv.ParseUint(l.Units, 10, 64)
			limit := wallet.TokenLimit{Units: units}
			if l.Mint != wallet.SOL.Symbol {
				var bad error
				if limit.Mint, bad = wallet.ParseAddress(l.Mint); bad != nil || limit.Mint.IsZero() {
					return nil, false
				}
			}
			if err != nil || strconv.FormatUint(units, 10) != l.Units {
				return nil, false
			}
			out = append(out, limit)
		}
		return out, true
	}
	var ok, also bool
	p.Payment, ok = limits(w.Payment)
	p.Day, also = limits(w.Day)
	if !ok || !also || w.WaitHours < 0 || w.WaitHours > int64(wallet.MaxNewRecipientWait/time.Hour) {
		return p, odd
	}
	p.NewRecipientWait = time.Duration(w.WaitHours) * time.Hour
	if w.Recipients != nil {
		to := make([]wallet.Address, len(*w.Recipients))
		for i, text := range *w.Recipients {
			var err error
			if to[i], err = wallet.ParseAddress(text); err != nil {
				return p, odd
			}
		}
		p.Recipients = &to
	}
	canonical := p.Canonical()
	if p.Check() != nil || !slices.Equal(canonical.Payment, p.Payment) || !slices.Equal(canonical.Day, p.Day) || p.Recipients != nil && !slices.Equal(*canonical.Recipients, *p.Recipients) {
		return p, odd
	}
	return p, nil
}

// limits signs spending limits of the key's wallet. The terminal keeps no limits of its own: it shows the whole text that is signed.
func (s *Signer) limits(ctx context.Context, server *caller, token string) error {
	var c struct {
		challenge
		Address  string     `json:"address"`
		Proposed wirePolicy `json:"proposed"`
	}
	if err := server.post(ctx, "/w/limits/challenge", map[string]string{"token": token}, &c); err != nil {
		return err
	}
	address := addressOf(s.Key)
	if c.Address != address.String() {
		return fmt.Errorf("the link is for the wallet %s, and the key file is that of %s; nothing was signed", tame(c.Address, 64), address)
	}
	policy, err := c.Proposed.policy()
	if err != nil {
		return err
	}
	text, err := c.text(server, address, func(host, origin string, address wallet.Address, account, chain, nonce string, issued, expires time.Time) string {
		return wallet.PolicyText(host, origin, address, policy, account, chain, nonce, issued, expires)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "Set spending limits. This is the text to sign:\n\n  %s\n\nTelegram  %s\n\n"+
		"What it forbids is forbidden at once. If it allows more than now, that holds 24 hours later. Did somebody else ask you for this? Then stop.\n",
		strings.ReplaceAll(text, "\n", "\n  "), c.who())
	if err := s.asks("Is this your own Telegram account, and are these the limits you want?"); err != nil {
		return err
	}
	signature := wallet.Signature(ed25519.Sign(s.Key, []byte(text)))
	var answer struct {
		Status      string `json:"status"`
		EffectiveAt string `json:"effective_at"`
	}
	if err := server.post(ctx, "/w/limits/sign", map[string]string{"token": token, "signature": signature.String()}, &answer); err != nil {
		return err
	}
	if answer.Status == "waiting" {
		_, err = fmt.Fprintf(s.Out, "Signed. They hold from %s. Until then you can cancel them in the chat.\n", tame(answer.EffectiveAt, 32))
		return err
	}
	_, err = fmt.Fprintln(s.Out, "Signed. They hold now.")
	return err
}
