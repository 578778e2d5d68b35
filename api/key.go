package api

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	"purser/store"
	"purser/wallet"
)

// keyData is `data` of GET /v1/key: the owner of the key, and what is left of its limit in the rolling hour. Fields
// that are not set are "".
type keyData struct {
	KeyID      string         `json:"key_id"`
	Kind       wallet.KeyKind `json:"kind"`
	Tier       wallet.Tier    `json:"tier"`
	Scopes     []wallet.Scope `json:"scopes"` // [] without any
	Owner      wallet.UserID  `json:"owner"`  // "" for an ownerless key
	AppID      wallet.AppID   `json:"app_id"` // the app to which people can grant access
	Cluster    string         `json:"cluster"`
	CreatedAt  string         `json:"created_at"`
	ExpiresAt  string         `json:"expires_at"`
	LastUsedAt string         `json:"last_used_at"` // of the use before this request; may be behind by up to 30 seconds
	RateLimit  rateLimitData  `json:"rate_limit"`
}

// appendJSON appends the data as encoding/json would, since it is requested often. A test compares the two.
func (d *keyData) appendJSON(to []byte) []byte {
	to = appendText(append(to, `{"key_id":`...), d.KeyID)
	to = appendText(append(to, `,"kind":`...), string(d.Kind))
	to = appendText(append(to, `,"tier":`...), string(d.Tier))
	to = append(to, `,"scopes":[`...)
	for i, scope := range d.Scopes {
		if i > 0 {
			to = append(to, ',')
		}
		to = appendText(to, string(scope))
	}
	to = appendText(append(to, `],"owner":`...), string(d.Owner))
	to = appendText(append(to, `,"app_id":`...), string(d.AppID))
	to = appendText(append(to, `,"cluster":`...), d.Cluster)
	to = appendText(append(to, `,"created_at":`...), d.CreatedAt)
	to = appendText(append(to, `,"expires_at":`...), d.ExpiresAt)
	to = appendText(append(to, `,"last_used_at":`...), d.LastUsedAt)
	to = strconv.AppendUint(append(to, `,"rate_limit":{"limit":`...), d.RateLimit.Limit, 10)
	to = strconv.AppendUint(append(to, `,"remaining":`...), d.RateLimit.Remaining, 10)
	to = strconv.AppendInt(append(to, `,"reset_seconds":`...), d.RateLimit.ResetSeconds, 10)
	return append(to, `}}`...)
}

// rateLimitData is what is left of the key's hourly limit, in requests.
type rateLimitData struct {
	Limit        uint64 `json:"limit"`
	Remaining    uint64 `json:"remaining"`
	ResetSeconds int64  `json:"reset_seconds"` // until one more request is free
}

// whoAmI is GET /v1/key. It shows the key as authenticate found it, and reads nothing more.
func (s *Server) whoAmI(c *fiber.Ctx, key wallet.Key) error {
	// rateLimit or authenticateSession has set what is left.
	r := requestState(c)
	q := r.quota
	// The earlier of both ends counts.
	ends := key.ExpiresAt
	if !key.RevokedAt.IsZero() && (ends.IsZero() || key.RevokedAt.Before(ends)) {
		ends = key.RevokedAt // it was rotated, and ends with the grace period
	}
	data := keyData{
		KeyID: key.ID, Kind: key.Kind, Tier: key.Tier, Scopes: key.Scopes, Owner: key.Owner, AppID: key.App,
		Cluster: s.Cluster, CreatedAt: stamp(key.CreatedAt), ExpiresAt: stamp(ends), LastUsedAt: stamp(key.LastUsed),
		RateLimit: rateLimitData{q.Limit, q.Remaining, int64(q.Reset.Seconds())},
	}
	return s.succeedBy(c, fiber.StatusOK, "done.key", r.now, data.appendJSON)
}

// rotatePath is the only path whose idempotency keys belong to one API key instead of its lineage: after a rotation, the same
// idempotency key with the new API key is another request.
const rotatePath = "/v1/key/rotate"

// rotatedData is `data` of POST /v1/key/rotate. The new key is shown only once: a replay of the response has secret_shown
// instead.
type rotatedData struct {
	KeyID       string `json:"key_id"`
	Key         string `json:"key"`
	SecretShown bool   `json:"secret_shown"` // true in a replay: the key was shown before
	OldEndsAt   string `json:"old_ends_at"`
}

// rotate is POST /v1/key/rotate {end_now}: it makes a successor of the key that the request carries. With end_now the
// old key ends at once, otherwise after the grace period. What is stored for replays does not contain the new key.
func (s *Server) rotate(c *fiber.Ctx, key wallet.Key) error {
	fields, err := optionalBody(c)
	if err != nil {
		return err
	}
	if err := fields.only("end_now"); err != nil {
		return err
	}
	endNow, err := fields.boolean("end_now", false)
	if err != nil {
		return err
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		// The secret is drawn before the transaction, since its closure may run more than once.
		next, err := s.Keys.PrepareRotation(c.UserContext(), key.ID)
		if err != nil {
			return err
		}
		var body []byte
		err = s.Store.Update(c.UserContext(), func(tx store.Tx) error {
			ends, err := s.Keys.CommitRotation(tx, key.ID, next, endNow)
			if err != nil {
				return err
			}
			data := rotatedData{KeyID: next.Key.ID, Key: next.Secret, OldEndsAt: stamp(ends)}
			if body, err = s.envelope("done.key_created", data); err != nil {
				return err
			}
			// The stored response says only that the key was shown.
			data.Key, data.SecretShown = "", true
			replay, err := s.envelope("done.key_shown_before", data)
			if err != nil {
				return err
			}
			return saveAnswer(tx, fiber.StatusOK, replay)
		})
		if err != nil {
			return err
		}
		return sendJSON(c, fiber.StatusOK, body)
	})
}
