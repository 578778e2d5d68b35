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

// SendRules are those of a transfer of SOL or of a token to somebody's wallet.
func SendRules() Rules {
	return Rules{Kind: Send, Life: Outgoing, Pays: true, Actions: TransferActions, Spends: transferSpends, Writes: transferWrites,
		ComputeUnits: transferUnits, Landed: transferLanded}
}

// transferSpends is amount and fee of SOL; of a token the amount, and in SOL the fee and the deposit of the recipient's
// account. Both were checked against a balance: no overflow.
func transferSpends(t Transaction) Spending {
	if t.Token.Native() {
		return Spending{Lamports: t.Amount + t.Fee}
	}
	return Spending{Lamports: t.Fee + t.Rent, Mint: t.Token.Mint, Units: t.Amount}
}

func transferWrites(t Transaction) []Address {
	if t.Token.Native() {
		return []Address{t.From, t.To}
	}
	return []Address{t.From, AssociatedAccount(t.From, t.Token.Mint, t.Token.Program), recipientAccount(t)}
}

// transferUnits knows the units of a System transfer, which takes 450 with the two instructions of its budget. How much
// tokens take depends on their program.
func transferUnits(t Transaction) uint32 {
	const solUnits = 1_000
	if t.Token.Native() {
		return solUnits
	}
	return 0
}

// transferLanded learns what the recipient's token account cost: nothing, if somebody else made it first.
func transferLanded(t *Transaction, landing Landing) {
	if landing.Spent >= landing.Fee && landing.Fee > 0 && !t.Token.Native() {
		t.Rent = landing.Spent - landing.Fee
	}
}
