package chat

import (
	"purser/wallet"
)

// StakeCard, UnstakeCard and WithdrawCard show the kinds of staking. They share their texts, which name the step by .Kind.
func StakeCard() Card { return stakingCard(wallet.Stake) }

// UnstakeCard shows undelegating.
func UnstakeCard() Card { return stakingCard(wallet.Unstake) }

// WithdrawCard shows a withdrawal from a stake account.
func WithdrawCard() Card { return stakingCard(wallet.Withdraw) }

func stakingCard(kind wallet.Kind) Card {
	card := Card{Kind: kind, With: func(t wallet.Transaction) wallet.Address { return t.To }, Vars: stakingVars,
		Texts: map[Stage]string{
			StageReview: "staking.review", StageSign: "staking.sign", StageSignProgram: "staking.sign_program", StageSigned: "staking.signed",
			StagePending: "staking.pending", StageHeld: "staking.held", StageConfirmed: "staking.confirmed", StageFailed: "staking.failed",
			StageRejected: "staking.rejected", StageNotConfirmed: "staking.not_confirmed", StageNotSigned: "staking.not_signed", StageLandedLate: "staking.landed_late",
		}, Lines: map[Stage]string{}}
	for _, stage := range []Stage{StageReview, StageSign, StageSignProgram, StageSigned, StagePending} {
		card.Lines[stage] = "staking_history.open"
	}
	for _, stage := range []Stage{StageFailed, StageRejected, StageNotConfirmed, StageNotSigned} {
		card.Lines[stage] = "staking_history.not_done"
	}
	card.Lines[StageHeld], card.Lines[StageConfirmed] = "staking_history.held", "staking_history.done"
	return card
}

// stakingVars are the variables of staking's texts. Validator is a name that nobody has verified, "" without one.
func stakingVars(t wallet.Transaction) map[string]any {
	terms := t.StakeTerms()
	v := map[string]any{"Kind": string(t.Kind), "Validator": html(escape(terms.ValidatorName)), "Vote": grouped(t.To.String()), "Account": html(""), "Split": terms.Split,
		"Merged": left(len(terms.Merged)), "Total": code(wallet.Lamports(t.Amount + t.Rent).String()), "CooldownEnd": "", "AtOnce": false}
	if !terms.Account.IsZero() {
		v["Account"] = code(terms.Account.String())
	}
	switch end := t.CooldownEndsAt(); {
	case end.IsZero():
	case !end.After(t.CreatedAt): // it never became active, so there is nothing to cool down
		v["AtOnce"] = true
	default:
		v["CooldownEnd"] = moment(end)
	}
	return v
}
