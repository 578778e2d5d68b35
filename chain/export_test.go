package chain

import "purser/wallet"

// buildTransfer is Codec.Build of a transfer with the standard rows.
func buildTransfer(t wallet.Transaction) ([]byte, error) {
	return Codec{}.Build(t, wallet.TransferActions(t))
}
