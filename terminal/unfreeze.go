package terminal

import (
	"context"
	"crypto/ed25519"
	"fmt"

	"purser/wallet"
)

// unfreeze signs the text that unfreezes a Telegram account. The key must be of a wallet that was connected before the freeze.
func (s *Signer) unfreeze(ctx context.Context, server *caller, token string) error {
	var c challenge
	if err := server.post(ctx, "/w/unfreeze/challenge", map[string]string{"token": token}, &c); err != nil {
		return err
	}
	address := addressOf(s.Key)
	text, err := c.text(server, address, wallet.UnfreezeText)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "Unfreeze an account\n  Wallet    %s\n  Telegram  %s, id %s\n  Server    %s\n\n"+
		"Payments, API keys, bot tokens and apps of this account work again afterwards. Did somebody else ask you for this? Then stop.\n",
		address, c.who(), c.TelegramID, server.origin.Host)
	if err := s.asks("Is this your own Telegram account, and do you want to unfreeze it?"); err != nil {
		return err
	}
	signature := wallet.Signature(ed25519.Sign(s.Key, []byte(text)))
	if err := server.post(ctx, "/w/unfreeze", map[string]string{"token": token, "address": address.String(), "signature": signature.String()}, &struct{}{}); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.Out, "Unfrozen. The chat says so too.")
	return err
}
