package chat_test

import (
	"crypto/ed25519"

	"purser/wallet"
)

// setsLimits plays the page of somebody's newest link to sign spending limits, with a key.
func (r *harness) setsLimits(who string, key ed25519.PrivateKey) {
	r.Helper()
	r.Must(r.signsLimits(r.people[who].link[len("l="):], key))
	r.settle()
}

// signsLimits signs the text of a link to sign spending limits, and hands it in.
func (r *harness) signsLimits(token string, key ed25519.PrivateKey) error {
	c, err := r.Policies.Challenge(r.Context(), token)
	if err != nil {
		return err
	}
	host := r.Policies.PublicURL.Host
	text := wallet.PolicyText(host, "https://"+host, c.Address, c.Proposed, wallet.TelegramAccount(c.TelegramID), c.Chain, c.Nonce, c.IssuedAt, c.ExpiresAt)
	_, err = r.Policies.Sign(r.Context(), token, wallet.Signature(ed25519.Sign(key, []byte(text))))
	return err
}
