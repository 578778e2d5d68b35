package chat

import "purser/wallet"

// RevokeCard shows revocations.
func RevokeCard() Card {
	card := Card{Kind: wallet.Revoke, With: func(t wallet.Transaction) wallet.Address { return t.RevokeTerms().Delegate }, Vars: revokeVars,
		Texts: map[Stage]string{
			StageReview: "revoking.review", StageSign: "revoking.sign", StageSignProgram: "revoking.sign_program", StageSigned: "revoking.signed",
			StagePending: "revoking.pending", StageHeld: "revoking.held", StageConfirmed: "revoking.confirmed", StageFailed: "revoking.failed",
			StageRejected: "revoking.rejected", StageNotConfirmed: "revoking.not_confirmed", StageNotSigned: "revoking.not_signed", StageLandedLate: "revoking.landed_late",
		}, Lines: map[Stage]string{}}
	for _, stage := range []Stage{StageReview, StageSign, StageSignProgram, StageSigned, StagePending} {
		card.Lines[stage] = "revoking.line_open"
	}
	for _, stage := range []Stage{StageFailed, StageRejected, StageNotConfirmed, StageNotSigned} {
		card.Lines[stage] = "revoking.line_not_done"
	}
	card.Lines[StageHeld], card.Lines[StageConfirmed] = "revoking.line_held", "revoking.line_done"
	return card
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
