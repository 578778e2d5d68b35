package wallet

import (
	"math"
	"slices"
)

// Limited reports whether a Policy counts transactions of the kind: payments to others, and swaps.
func (r Rules) Limited() bool { return r.Pays || r.Kind == Swap }

// limited reports whether a Policy counts the transaction of the facts.
func (f *RuleInput) limited() bool { return f.Person && (f.Pays || f.swaps()) }

// LimitRules are the rules of the owner's own spending limits, as the server enforces them. The signing page has the same.
func LimitRules() []Rule {
	return []Rule{
		{Name: RuleLimitPayment, Verdicts: one(RefuseVerdict), Private: true, Binding: true, Judge: judgeLimitPayment},
		{Name: RuleLimitDay, Verdicts: one(RefuseVerdict), Private: true, Binding: true, Judge: judgeLimitDay},
		{Name: RuleLimitRecipients, Verdicts: one(RefuseVerdict), Private: true, Binding: true, Judge: judgeLimitRecipients},
		{Name: RuleLimitNewRecipient, Verdicts: one(DelayVerdict), Private: true, Recipient: true, Binding: true, Judge: judgeLimitNewRecipient},
	}
}

func judgeLimitPayment(f *RuleInput) Finding {
	t := f.Transaction
	most, limited := Limit(f.Policy.Payment, limitedMint(t.Token.Mint))
	if !f.limited() || !limited || t.Amount <= most {
		return Finding{}
	}
	return Finding{Verdict: RefuseVerdict, Reason: Because("rule.limit_payment", AmountArg("Most", t.Token.Amount(most)), TextArg("Token", t.Token.Name()))}
}

func judgeLimitDay(f *RuleInput) Finding {
	t := f.Transaction
	most, limited := Limit(f.Policy.Day, limitedMint(t.Token.Mint))
	if !f.limited() || !limited || f.SpentInDay <= math.MaxUint64-t.Amount && f.SpentInDay+t.Amount <= most {
		return Finding{}
	}
	return Finding{Verdict: RefuseVerdict, Reason: Because("rule.limit_day", AmountArg("Most", t.Token.Amount(most)), AmountArg("Spent", t.Token.Amount(f.SpentInDay)),
		TextArg("Token", t.Token.Name()))}
}

// judgeLimitRecipients refuses anybody who is not listed, and every swap: nothing in a swap says whom its pools belong to.
func judgeLimitRecipients(f *RuleInput) Finding {
	switch t := f.Transaction; {
	case !f.limited() || f.Policy.Recipients == nil:
	case f.Pays && !slices.Contains(*f.Policy.Recipients, t.To):
		return Finding{Verdict: RefuseVerdict, Reason: Because("rule.limit_recipients", AddressArg("Address", t.To))}
	case f.swaps():
		return Finding{Verdict: RefuseVerdict, Reason: Because("rule.limit_swap")}
	}
	return Finding{}
}

// judgeLimitNewRecipient knows neither contacts nor own wallets: somebody who holds the chat can add both.
func judgeLimitNewRecipient(f *RuleInput) Finding {
	if !f.Person || !f.Pays || f.Policy.NewRecipientWait <= 0 || f.PaidBefore {
		return Finding{}
	}
	return Finding{Verdict: DelayVerdict, Wait: f.Policy.NewRecipientWait, Reason: Because("rule.limit_new_recipient")}
}

// AwaitsNewRecipient reports whether t waits, after Confirm, for RuleLimitNewRecipient. The signing page waits for the same, so it may see t during its delay.
func (t Transaction) AwaitsNewRecipient() bool {
	return slices.ContainsFunc(t.Findings, func(f Finding) bool { return f.Rule == RuleLimitNewRecipient && f.Wait > 0 })
}
