package chat

import (
	"strings"

	"purser/wallet"
)

// StakeCard, UnstakeCard and WithdrawCard show the kinds of staking. Each has sentences of its own, because languages word them
// in different forms. StakeCard shows delegating.
func StakeCard() Card { return stakingCard(wallet.Stake) }

// UnstakeCard shows undelegating.
func UnstakeCard() Card { return stakingCard(wallet.Unstake) }

// WithdrawCard shows a withdrawal from a stake account.
func WithdrawCard() Card { return stakingCard(wallet.Withdraw) }

func stakingCard(kind wallet.Kind) Card {
	of := stakingTexts(kind)
	card := Card{Kind: kind, With: func(t wallet.Transaction) wallet.Address { return t.To }, Vars: stakingVars,
		Texts: map[Stage]string{
			StageReview: of + "review", StageSign: of + "sign", StageSignProgram: of + "sign_program", StageSigned: of + "signed",
			StagePending: of + "pending", StageHeld: of + "held", StageConfirmed: of + "confirmed", StageFailed: of + "failed",
			StageRejected: of + "rejected", StageNotConfirmed: of + "not_confirmed", StageNotSigned: of + "not_signed", StageLandedLate: of + "landed_late",
		}, Lines: map[Stage]string{}}
	for _, stage := range []Stage{StageReview, StageSign, StageSignProgram, StageSigned, StagePending} {
		card.Lines[stage] = of + "line_open"
	}
	for _, stage := range []Stage{StageFailed, StageRejected, StageNotConfirmed, StageNotSigned} {
		card.Lines[stage] = of + "line_not_done"
	}
	card.Lines[StageHeld], card.Lines[StageConfirmed] = of+"line_held", of+"line_done"
	return card
}

// stakingTexts returns what the keys of a kind's sentences begin with.
func stakingTexts(kind wallet.Kind) string { return "staking_" + string(kind) + "." }

// stakingVars are the variables of staking's texts. Validator is a name that nobody has verified, "" without one.
func stakingVars(t wallet.Transaction) map[string]any {
	terms := t.StakeTerms()
	v := map[string]any{"Validator": validatorName(terms.ValidatorName), "Vote": grouped(t.To.String()), "Account": html(""), "Split": terms.Split,
		"Merged": left(len(terms.Merged)), "Total": code(wallet.Lamports(t.Amount + t.Rent).String()), "CooldownEnd": "", "AtOnce": false}
	if !terms.Account.IsZero() {
		v["Account"] = code(terms.Account.String())
	}
	switch end := t.CooldownEndsAt(); {
	case end.IsZero():
	case !end.After(t.CreatedAt): // it never became active, so there is nothing to cool down
		v["AtOnce"] = true
	default:
		v["CooldownEnd"] = end
	}
	return v
}

// validatorName shows what a validator calls itself, in a fixed font, in which Telegram makes no link of it; "" without a name.
// Nobody verifies it: anybody can run a validator with the name of another one.
func validatorName(name string) html {
	if strings.TrimSpace(escape(name)) == "" {
		return ""
	}
	return code(name)
}

// validatorLabel is the label of a validator's button: its name, or the end of its address if nothing of the name can be seen.
func validatorLabel(v wallet.Validator) html {
	if name := escape(v.Name); strings.TrimSpace(name) != "" {
		return html(name)
	}
	return html("…" + v.Vote.Tail())
}
