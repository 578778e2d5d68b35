package wallet

import "slices"

// TransferActions returns what a transfer does on chain, in order. It creates the recipient's token account if t includes
// its rent. Then comes the memo: Token-2022 accounts that require one, and Solana Pay, want it right before the transfer.
// Then it moves the amount, with the link's references and finally its own.
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
			move.To = t.To // creating the account proves its owner
		}
	}
	if move.Reference = t.Reference; !t.Reference.IsZero() {
		move.References = append(slices.Clone(t.LinkReferences), t.Reference)
	}
	return append(actions, move)
}

// recipientAccount returns the token account that a transfer pays into.
func recipientAccount(t Transaction) Address {
	return AssociatedAccount(t.To, t.Token.Mint, t.Token.Program)
}

// SendRules returns the rules of transfers of SOL or tokens to a wallet.
func SendRules() Rules {
	return Rules{Kind: Send, Life: Outgoing, Pays: true, CanWait: true, Actions: TransferActions, Spends: transferSpends, Writes: transferWrites,
		ComputeUnits: transferUnits, Landed: transferLanded}
}

// transferSpends returns what leaves the sender. For SOL that is amount and fee. For tokens it is the amount, and in
// lamports the fee and the rent of the recipient's account. They were checked against a balance, so the sums cannot
// overflow.
func transferSpends(t Transaction) Spending {
	if t.Token.Native() {
		return Spending{Lamports: t.Amount + t.Fee}
	}
	return Spending{Lamports: t.Fee + t.Rent, Mint: t.Token.Mint, Units: t.Amount}
}

// transferWrites returns the writable accounts of a transfer, by which its priority fee is estimated.
func transferWrites(t Transaction) []Address {
	if t.Token.Native() {
		return []Address{t.From, t.To}
	}
	return []Address{t.From, AssociatedAccount(t.From, t.Token.Mint, t.Token.Program), recipientAccount(t)}
}

// transferUnits returns the compute units of a System transfer: 450 with its two budget instructions. For tokens it is 0,
// because the units depend on the token's program and extensions.
func transferUnits(t Transaction) uint32 {
	const solUnits = 1_000
	if t.Token.Native() {
		return solUnits
	}
	return 0
}

// transferLanded corrects the rent to what was actually paid: nothing, if somebody else created the account first.
func transferLanded(t *Transaction, landing Landing) {
	if landing.Spent >= landing.Fee && landing.Fee > 0 && !t.Token.Native() {
		t.Rent = landing.Spent - landing.Fee
	}
}
