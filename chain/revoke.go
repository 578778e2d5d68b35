package chain

import "purser/wallet"

// tokenRevoke is the instruction Revoke of both token programs, u8.
const tokenRevoke = 5

// revokeCodec is the row of Revoke: it takes the delegate of a token account away. Of Approve nothing is ever signed here.
//
// The programs look at the accounts behind the owner only if the owner is a multisig, which cannot sign. So a reference can
// stand there (docs/decisions/0053).
func revokeCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionRevoke, Programs: []wallet.Address{wallet.TokenProgram, wallet.Token2022Program}, Principal: true,
		Claims: func(c Call) bool { return len(c.Data()) > 0 && c.Data()[0] == tokenRevoke },
		Decode: decodeRevoke,
		Encode: func(a wallet.Action) Instruction {
			return Instruction{a.Program, withReferences(a, writable(a.Account), signer(a.From)), []byte{tokenRevoke}}
		},
		Matches: func(c Call, intended wallet.Action) bool {
			return len(c.Data()) == 1 && c.Len() >= 2 && c.At(0) == intended.Account && c.At(1) == intended.From &&
				c.Program() == intended.Program && c.names(intended.Reference)
		}}
}

// decodeRevoke reads a Revoke for signing. Whose the token account is, the network checks: the owner must have signed.
func decodeRevoke(c Call, _ []wallet.Action) (wallet.Action, error) {
	const account, owner, fixed = 0, 1, 2
	if len(c.Data()) != 1 || c.Len() < fixed {
		return wallet.Action{}, refuse(Malformed, "not a whole revocation")
	}
	switch {
	case !c.IsPayer(owner):
		return wallet.Action{}, refuse(NotTheOwner, "it takes a right back for somebody else")
	case c.IsPayer(account) || !c.Writable(account):
		return wallet.Action{}, refuse(Malformed, "a token account that cannot change")
	}
	action := wallet.Action{Type: wallet.ActionRevoke, From: c.Payer(), Account: c.At(account), Program: c.Program()}
	var err error
	action.References, action.Reference, err = referencesFrom(c, fixed)
	if err != nil {
		return wallet.Action{}, err
	}
	return action, nil
}
