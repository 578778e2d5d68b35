package chat

import (
	"slices"
	"strings"

	"purser/wallet"
)

// warnings returns what the fraud rules found, one paragraph for each finding. A suspected poisoning has a paragraph of its own, and so does why the
// transaction will wait (delay).
func (s *replyTx) warnings(t wallet.Transaction) (html, error) {
	var lines []string
	whyDelayed, err := s.words.reason(t.DelayReason)
	if err != nil {
		return "", err
	}
	for _, f := range t.Findings {
		if f.Rule == wallet.RulePoisoning || f.Rule == wallet.RuleNewRecipient && t.Unfunded { // the card already says that the address holds nothing
			continue
		}
		text, err := s.words.reason(f.Reason)
		if err != nil {
			return "", err
		}
		if t.DelayFor > 0 && text == whyDelayed {
			continue
		}
		sign := "⚠️ "
		if f.Verdict >= wallet.WarnVerdict {
			sign = "🛑 "
		}
		lines = append(lines, sign+string(text))
	}
	return html(strings.Join(lines, "\n\n")), nil
}

// delegateButtons are for the card of a payment whose review says that somebody else may spend from the account: the list to
// revoke it from. Looking at it leaves the payment open.
func (s *replyTx) delegateButtons(t wallet.Transaction) ([][]Button, error) {
	at := slices.IndexFunc(t.Findings, func(f wallet.Finding) bool { return f.Rule == wallet.RuleForeignDelegate })
	if at < 0 {
		return nil, nil
	}
	of := t.From
	if t.Findings[at].Reason.Key == wallet.ForeignDelegateThere {
		of = t.To
	}
	label, err := s.words.text("button.delegates", nil)
	if err != nil {
		return nil, err
	}
	action := runAction + ":/revoke " + of.String()
	b, err := s.buttonOf(nonceOf(string(t.ID), t.Reference.String(), string(t.Status), action), label, action, "menu", t.Deadline)
	return [][]Button{{b}}, err
}
