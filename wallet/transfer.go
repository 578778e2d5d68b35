package wallet

import "slices"

// TransferActions are what a transfer does on chain, in order: it makes the recipient's token account if its rent is
// part of t, then notes the memo (which a Token-2022 account wants right before the transfer, as Solana Pay does), then
// moves the amount, naming the references of the payment link that it answers and last its own.
func TransferActions(t Transaction) []Action {
	var actions []Action
	if t.Rent > 0 {
		actions = append(actions, Action{Type: ActionCreateAccount, From: t.From, To: t.To, Account: recipientAccount(t), Mint: t.Token.Mint, Program: t.Token.Program})
	}
	if t.Memo != "" {
		actions = append(actions, Action{Type: ActionMemo, Text: t.Memo})
	}
	move := Action{Type: ActionTransfer, From: t.From, To: t.To, Lamports: t.Amount}
	if !t.Token.Native() {
		move = Action{Type: ActionTokenTransfer, From: t.From, Account: recipientAccount(t), Mint: t.Token.Mint,
			Program: t.Token.Program, Units: t.Amount, Decimals: t.Token.Decimals}
		if t.Rent > 0 {
			move.To = t.To // the account that is made proves whose it is
		}
	}
	if move.Reference = t.Reference; !t.Reference.IsZero() {
		move.References = append(slices.Clone(t.LinkReferences), t.Reference)
	}
	return append(actions, move)
}

// recipientAccount is where a token transfer goes.
func recipientAccount(t Transaction) Address {
	return AssociatedAccount(t.To, t.Token.Mint, t.Token.Program)
}
