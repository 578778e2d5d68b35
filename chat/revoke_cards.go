package chat

import "purser/wallet"

// RevokeCard shows revocations.
func RevokeCard() Card {
	return Card{Kind: wallet.Revoke, With: func(t wallet.Transaction) wallet.Address { return t.RevokeTerms().Delegate }, Vars: revokeVars}.worded("revoking")
}

// revokeVars are the variables of the texts of revocations. The token account is in groups of four: the person compares it with
// their device.
func revokeVars(t wallet.Transaction) map[string]any {
	terms := t.RevokeTerms()
	v := map[string]any(heldVars(terms.Token, terms.Limit))
	v["Delegate"], v["Account"] = code(terms.Delegate.String()), grouped(terms.Account.String())
	return v
}

// heldVars are the variables of texts about a token that somebody else may spend, up to limit base units. HeldMint is "" for a
// listed token: the symbol of another one could imitate it.
func heldVars(token wallet.Token, limit uint64) vars {
	v := vars{"Held": html(escape(shortTokenName(token))), "HeldMint": html(""), "Limit": token.Amount(limit).String(), "Unlimited": limit == wallet.Unlimited}
	if token.Symbol == "" {
		v["HeldMint"] = code(token.Mint.String())
	}
	return v
}
