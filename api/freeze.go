package api

import (
	"github.com/gofiber/fiber/v2"

	"purser/wallet"
)

// frozenAnswer is the response of POST /w/freeze.
type frozenAnswer struct {
	Status   string `json:"status"`    // frozen
	FrozenAt string `json:"frozen_at"` // RFC 3339 UTC; of the first freeze, if the account was frozen already
}

// freeze is POST /w/freeze {token}. It freezes the account of a recovery link, and says nothing about it but that.
func (s *Server) freeze(c *fiber.Ctx, fields object) error {
	token, err := fields.text("token")
	if err != nil {
		return err
	}
	at, err := s.Freezing.FreezeByLink(c.UserContext(), token)
	if err != nil {
		return err
	}
	return bare(c, frozenAnswer{"frozen", stamp(at)})
}

// unfreezeChallengeAnswer is the response of POST /w/unfreeze/challenge: the fields of the text to sign, and the wallets whose
// keys can sign it.
type unfreezeChallengeAnswer struct {
	challengeAnswer
	FrozenAt string           `json:"frozen_at"`
	Wallets  []unfreezeWallet `json:"wallets"` // oldest first
}

// unfreezeWallet is a wallet that was connected before the freeze.
type unfreezeWallet struct {
	Address wallet.Address    `json:"address"`
	Type    wallet.WalletType `json:"wallet_type"`
}

// unfreezeChallenge is POST /w/unfreeze/challenge {token}. It returns what the page composes the text to sign from.
func (s *Server) unfreezeChallenge(c *fiber.Ctx, fields object) error {
	token, err := fields.text("token")
	if err != nil {
		return err
	}
	ch, err := s.Freezing.UnfreezeChallenge(c.UserContext(), token)
	if err != nil {
		return err
	}
	answer := unfreezeChallengeAnswer{FrozenAt: stamp(ch.FrozenAt), Wallets: []unfreezeWallet{}, challengeAnswer: answerOf(ch.Challenge)}
	for _, w := range ch.Wallets {
		answer.Wallets = append(answer.Wallets, unfreezeWallet{w.Address, w.Type})
	}
	return bare(c, answer)
}

// unfreeze is POST /w/unfreeze {token, address, signature}. The signature is over wallet.UnfreezeText.
func (s *Server) unfreeze(c *fiber.Ctx, fields object) error {
	token, err := fields.text("token")
	if err != nil {
		return err
	}
	address, signature, err := fields.proof()
	if err != nil {
		return err
	}
	if err := s.Freezing.Unfreeze(c.UserContext(), token, address, signature); err != nil {
		return err
	}
	return bare(c, struct {
		Status string `json:"status"`
	}{"unfrozen"})
}
