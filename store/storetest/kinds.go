package storetest

import "purser/wallet"

// Kinds are the kinds of transactions of an unmodified purser, for a test's store.
func Kinds() wallet.Kinds {
	kinds, err := wallet.NewKinds(wallet.SendRules(), wallet.ReceiveRules(), wallet.RequestRules(), wallet.StakeRules(), wallet.UnstakeRules(), wallet.WithdrawRules())
	if err != nil {
		panic(err) // cannot happen: a test of wallet checks the built-in rules
	}
	return kinds
}
