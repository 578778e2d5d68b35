package api

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/wallet"
)

// policyAnswer is a wallet.Policy for the signing page. Its lists are canonical.
type policyAnswer struct {
	Payment    []limitAnswer    `json:"payment"`
	Day        []limitAnswer    `json:"day"`
	Recipients []wallet.Address `json:"recipients"` // null: anybody
	WaitHours  int64            `json:"new_wait_hours"`
}

// limitAnswer is a wallet.TokenLimit.
type limitAnswer struct {
	Mint  string `json:"mint"`  // base58, or SOL
	Units string `json:"units"` // base units, decimal
}

// policyOf renders a policy for the page.
func policyOf(p wallet.Policy) policyAnswer {
	p = p.Canonical()
	limits := func(all []wallet.TokenLimit) []limitAnswer {
		out := make([]limitAnswer, len(all))
		for i, l := range all {
			if out[i] = (limitAnswer{wallet.SOL.Symbol, strconv.FormatUint(l.Units, 10)}); !l.Mint.IsZero() {
				out[i].Mint = l.Mint.String()
			}
		}
		return out
	}
	a := policyAnswer{Payment: limits(p.Payment), Day: limits(p.Day), WaitHours: int64(p.NewRecipientWait / time.Hour)}
	if p.Recipients != nil {
		a.Recipients = append([]wallet.Address{}, *p.Recipients...)
	}
	return a
}

// limitsAnswer is `limits` of POST /w/tx/get and /w/tx/refresh: what the server enforces for the wallet, and the newest policy that the
// wallet signed and that is in force; null for none.
type limitsAnswer struct {
	Current policyAnswer        `json:"current"`
	Waits   bool                `json:"waits"` // a change that allows more was signed, and is not in force yet
	Signed  *signedPolicyAnswer `json:"signed"`
}

// signedPolicyAnswer is a wallet.PolicyProof: the fields of the text that the wallet signed. All but the policy are texts.
type signedPolicyAnswer struct {
	Policy     policyAnswer     `json:"policy"`
	TelegramID string           `json:"telegram_id"`
	Nonce      string           `json:"nonce"`
	IssuedAt   string           `json:"issued_at"` // RFC 3339 UTC in whole seconds
	ExpiresAt  string           `json:"expires_at"`
	Signature  wallet.Signature `json:"signature"`
}

// limitsOf renders a wallet's stored policy for the page; nil for none.
func limitsOf(stored *wallet.WalletPolicy) *limitsAnswer {
	if stored == nil {
		return nil
	}
	a := &limitsAnswer{Current: policyOf(stored.State.Current), Waits: stored.State.Pending != nil}
	if proof := stored.Signed; proof != nil {
		a.Signed = &signedPolicyAnswer{Policy: policyOf(proof.Policy), TelegramID: strconv.FormatInt(proof.TelegramID, 10), Nonce: proof.Nonce,
			IssuedAt: proof.IssuedAt.UTC().Format(time.RFC3339), ExpiresAt: proof.ExpiresAt.UTC().Format(time.RFC3339), Signature: proof.Signature}
	}
	return a
}

// limitsChallengeAnswer is the response of POST /w/limits/challenge.
type limitsChallengeAnswer struct {
	challengeAnswer
	Address  wallet.Address    `json:"address"`
	Type     wallet.WalletType `json:"wallet_type"`
	Current  policyAnswer      `json:"current"`
	Proposed policyAnswer      `json:"proposed"` // what the text to sign says
}

// limitsChallenge is POST /w/limits/challenge {token}. It returns what the page composes the text to sign from.
func (s *Server) limitsChallenge(c *fiber.Ctx, fields object) error {
	token, err := fields.text("token")
	if err != nil {
		return err
	}
	ch, err := s.Policies.Challenge(c.UserContext(), token)
	if err != nil {
		return err
	}
	return bare(c, limitsChallengeAnswer{answerOf(ch.Challenge), ch.Address, ch.Type, policyOf(ch.Current), policyOf(ch.Proposed)})
}

// limitsSignedAnswer is the response of POST /w/limits/sign.
type limitsSignedAnswer struct {
	Status      string `json:"status"`       // set, or waiting if the policy allows more than the current one
	EffectiveAt string `json:"effective_at"` // RFC 3339 UTC
}

// limitsSign is POST /w/limits/sign {token, signature}. The signature is over wallet.PolicyText.
func (s *Server) limitsSign(c *fiber.Ctx, fields object) error {
	token, err := fields.text("token")
	if err != nil {
		return err
	}
	signature, err := fields.signature("signature")
	if err != nil {
		return err
	}
	signed, err := s.Policies.Sign(c.UserContext(), token, signature)
	if err != nil {
		return err
	}
	return bare(c, signedAnswer(signed))
}

func signedAnswer(signed handlers.PolicySigned) limitsSignedAnswer {
	a := limitsSignedAnswer{"set", stamp(signed.EffectiveAt)}
	if signed.Waiting {
		a.Status = "waiting"
	}
	return a
}
