package wallet

import "slices"

// TokenRules judge the token of a transfer or a swap.
func TokenRules() []Rule {
	on := func(v Verdict, is func(*RuleInput) bool, reason func(*RuleInput) Reason) func(*RuleInput) Finding {
		return func(f *RuleInput) Finding {
			if !is(f) {
				return Finding{}
			}
			return Finding{Verdict: v, Reason: reason(f)}
		}
	}
	mint := func(is func(*Mint) bool) func(*RuleInput) bool {
		return func(f *RuleInput) bool { return f.Mint != nil && is(f.Mint) }
	}
	return []Rule{
		{Name: RuleNonTransferable, Verdicts: one(RefuseVerdict), Judge: on(RefuseVerdict, mint(func(m *Mint) bool { return m.NonTransferable }),
			func(f *RuleInput) Reason {
				return Because("token.not_transferable", TextArg("Token", f.Transaction.Token.Name()))
			})},
		{Name: RuleHook, Verdicts: one(RefuseVerdict), Judge: on(RefuseVerdict, mint(func(m *Mint) bool { return !m.Hook.IsZero() }),
			func(f *RuleInput) Reason {
				return Because("token.transfer_hook", TextArg("Token", f.Transaction.Token.Name()))
			})},
		{Name: RuleUnlisted, Verdicts: one(NoteVerdict), Judge: on(NoteVerdict, unlisted, func(*RuleInput) Reason { return Because("rule.unlisted_token") })},
		{Name: RuleDelegate, Verdicts: one(NoteVerdict), Judge: on(NoteVerdict, mint(func(m *Mint) bool { return !m.PermanentDelegate.IsZero() }),
			func(*RuleInput) Reason { return Because("rule.permanent_delegate") })},
		{Name: RuleScaled, Verdicts: one(NoteVerdict), Judge: on(NoteVerdict, mint(func(m *Mint) bool { return m.Scaled }),
			func(*RuleInput) Reason { return Because("rule.scaled_amounts") })},
		{Name: RuleUnknownExtensions, Verdicts: one(NoteVerdict), Judge: on(NoteVerdict, mint(func(m *Mint) bool { return m.Unknown }),
			func(*RuleInput) Reason { return Because("rule.unknown_extensions") })},
		{Name: RuleAllSOL, Verdicts: one(NoteVerdict), Judge: on(NoteVerdict, func(f *RuleInput) bool {
			return (f.Pays || f.swaps()) && f.Transaction.Token.Native() && f.Left == 0
		}, func(*RuleInput) Reason { return Because("rule.all_sol") })},
	}
}

// unlisted reports whether a token of the transaction is not in the list of well-known ones.
func unlisted(f *RuleInput) bool {
	t := f.Transaction
	return (f.Pays || f.swaps()) && t.Token.Symbol == "" || f.swaps() && t.SwapTerms().ToToken.Symbol == ""
}

// swaps reports whether the transaction is a swap.
func (f *RuleInput) swaps() bool { return f.Transaction.Kind == Swap }

// accountRules judge the token accounts of the owner. They are private: what they find is a weakness of a wallet.
func accountRules() []Rule {
	return []Rule{{Name: RuleForeignDelegate, Verdicts: one(NoteVerdict), Private: true, Judge: judgeForeignDelegate}}
}

// ForeignDelegateThere is the reason of a delegate of the account that is paid, of another wallet of the owner (Transaction.To).
const ForeignDelegateThere = "rule.foreign_delegate_there"

// judgeForeignDelegate finds a delegate of an account that the owner pays from, or moves tokens to. The payment itself is not in danger,
// and leaving it out saves nothing: so it is noted, and never asks for more.
func judgeForeignDelegate(f *RuleInput) Finding {
	t := f.Transaction
	for _, a := range f.Accounts {
		d, foreign := a.Foreign()
		if !foreign || slices.Contains(f.Own, d.Delegate) {
			continue
		}
		token, key := t.Token, "rule.foreign_delegate"
		switch {
		case a.Owner == t.From:
		case slices.Contains(f.Own, a.Owner):
			key = ForeignDelegateThere
		default: // the account of somebody else is their concern
			continue
		}
		if f.swaps() && a.Mint != token.Mint {
			token = t.SwapTerms().ToToken
		}
		return Finding{Verdict: NoteVerdict, Reason: Because(key, AddressArg("Delegate", d.Delegate), TextArg("Token", token.Name()))}
	}
	return Finding{}
}

// QuoteRules judge the quote of a swap.
func QuoteRules() []Rule {
	quote := func(judge func(SwapTerms) Finding) func(*RuleInput) Finding {
		return func(f *RuleInput) Finding {
			if !f.swaps() {
				return Finding{}
			}
			return judge(f.Transaction.SwapTerms())
		}
	}
	both := []Verdict{NoteVerdict, RefuseVerdict}
	return []Rule{
		{Name: RuleNoPrice, Verdicts: one(NoteVerdict), Judge: quote(func(terms SwapTerms) Finding {
			if terms.BelowMarketBPS != nil {
				return Finding{}
			}
			return Finding{Verdict: NoteVerdict, Reason: Because("rule.no_price")}
		})},
		{Name: RuleBelowMarket, Verdicts: both, Judge: quote(func(terms SwapTerms) Finding {
			switch below := terms.BelowMarketBPS; {
			case below == nil || *below < warnBelowMarket:
				return Finding{}
			case *below >= maxBelowMarket:
				return Finding{Verdict: RefuseVerdict, Reason: Because("swap.below_market", TextArg("Percent", Change(*below).Percent()))}
			}
			return Finding{Verdict: NoteVerdict, Reason: Because("rule.below_market")}
		})},
		{Name: RulePriceImpact, Verdicts: both, Judge: quote(func(terms SwapTerms) Finding {
			switch impact := terms.ImpactBPS; {
			case impact < warnImpact:
				return Finding{}
			case impact >= maxImpact:
				return Finding{Verdict: RefuseVerdict, Reason: Because("swap.impact", TextArg("Percent", Change(impact).Percent()))}
			}
			return Finding{Verdict: NoteVerdict, Reason: Because("rule.price_impact")}
		})},
	}
}
