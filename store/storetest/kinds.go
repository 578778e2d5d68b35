package storetest

import "purser/wallet"

// Kinds are the kinds of transactions of an unmodified purser, for a test's store. A send may have any terms, so that
// tests of rows can fill them.
func Kinds() wallet.Kinds {
	send := wallet.SendRules()
	send.CheckTerms = func(wallet.Transaction) error { return nil }
	kinds, err := wallet.NewKinds(send, wallet.ReceiveRules(), wallet.RequestRules(), wallet.SwapRules(), wallet.StakeRules(), wallet.UnstakeRules(), wallet.WithdrawRules(), wallet.RevokeRules())
	if err != nil {
		panic(err) // cannot happen: a test of wallet checks the built-in rules
	}
	return kinds
}
