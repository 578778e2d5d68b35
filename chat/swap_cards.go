package chat

import (
	"strings"

	"purser/wallet"
)

// SwapCard shows swaps.
func SwapCard() Card {
	return Card{Kind: wallet.Swap, With: func(t wallet.Transaction) wallet.Address { return t.To }, Vars: swapVars}.worded("swapping")
}

// swapVars are the variables of the texts of swaps. Below and Impact are "" if there is nothing to say.
func swapVars(t wallet.Transaction) map[string]any {
	terms := t.SwapTerms()
	v := map[string]any{"Out": html(escape(shortTokenName(terms.ToToken))), "OutMint": html(""), "Least": terms.Least().String(), "Expected": code(terms.Expected().String()),
		"Received": "", "Slippage": code(wallet.Change(terms.SlippageBPS).Percent()), "Impact": html(""), "ImpactUnknown": terms.ImpactUnknown, "Below": html(""),
		"Source": terms.Source, "Venues": html(escape(strings.Join(terms.Venues, ", "))), "Slipped": t.Slipped(),
		"SignMinutes": int(wallet.SwapSignWindow.Minutes()), "QuoteSeconds": int(wallet.QuoteLife.Seconds())}
	if terms.ToToken.Symbol == "" { // a symbol could imitate another token: its mint has a line of its own
		v["OutMint"] = code(terms.ToToken.Mint.String())
	}
	if terms.Received > 0 {
		v["Received"] = terms.ToToken.Amount(terms.Received).String()
	}
	if terms.ImpactBPS > 0 {
		v["Impact"] = code(wallet.Change(terms.ImpactBPS).Percent())
	}
	if below := terms.BelowMarketBPS; below != nil && *below > 0 {
		v["Below"] = code(wallet.Change(*below).Percent())
	}
	return v
}
