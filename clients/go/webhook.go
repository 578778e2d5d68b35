package purser

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Errors of VerifyWebhook.
var (
	ErrWebhookSignature = errors.New("purser: the webhook's signature is missing or not of this secret")
	ErrWebhookTime      = errors.New("purser: the webhook's time is missing or more than 5 minutes from now")
)

// webhookAge is how far a delivery's time may be from now. An older delivery may be a replay, and one from the future
// would stay valid for too long.
const webhookAge = 5 * time.Minute

// VerifyWebhook checks that a delivery was signed with the webhook's secret, and within the last 5 minutes. body is the raw
// body as it arrived, before any JSON is parsed. One valid signature of purser's two schemes is enough:
//
//   - Standard Webhooks: webhook-id, webhook-timestamp, webhook-signature, which cover the time too;
//   - x-service-signature with x-service-timestamp, and x-service-signature-previous while the secret is
//     being rotated.
//
// The second does not cover its time, so anyone who saw a delivery could send it again. Handle each transaction_id, alert_id
// or message once, even if this check passes. The errors are ErrWebhookSignature and ErrWebhookTime: return 401 for both.
func VerifyWebhook(secret string, header http.Header, body []byte, now time.Time) error {
	if secret == "" {
		return fmt.Errorf("%w: there is no secret to compare with", ErrWebhookSignature)
	}
	standard := verifyStandard(secret, header, body, now)
	if standard == nil {
		return nil
	}
	service := verifyService(secret, header, body, now)
	if service == nil || errors.Is(service, ErrWebhookTime) {
		return service
	}
	return standard
}

func verifyStandard(secret string, header http.Header, body []byte, now time.Time) error {
	id, at := header.Get("webhook-id"), header.Get("webhook-timestamp")
	key := []byte(secret)
	if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(decoded) > 0 {
			key = decoded
		}
	}
	sum := macOf(key, []byte(id+"."+at+"."), body)
	good := false
	for _, one := range strings.Fields(header.Get("webhook-signature")) {
		encoded, ok := strings.CutPrefix(one, "v1,")
		given, err := base64.StdEncoding.DecodeString(encoded)
		good = ok && err == nil && hmac.Equal(given, sum) || good
	}
	if !good || id == "" {
		return ErrWebhookSignature
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return ErrWebhookTime
	}
	return fresh(time.Unix(seconds, 0), now)
}

func verifyService(secret string, header http.Header, body []byte, now time.Time) error {
	sum := macOf([]byte(secret), body)
	good := false
	for _, name := range []string{"x-service-signature", "x-service-signature-previous"} {
		encoded, ok := strings.CutPrefix(header.Get(name), "sha256=")
		given, err := hex.DecodeString(encoded)
		good = ok && err == nil && hmac.Equal(given, sum) || good
	}
	if !good {
		return ErrWebhookSignature
	}
	at, err := time.Parse(time.RFC3339, header.Get("x-service-timestamp"))
	if err != nil {
		return ErrWebhookTime
	}
	return fresh(at, now)
}

func fresh(at, now time.Time) error {
	if age := now.Sub(at); age > webhookAge || age < -webhookAge {
		return ErrWebhookTime
	}
	return nil
}

func macOf(key []byte, parts ...[]byte) []byte {
	m := hmac.New(sha256.New, key)
	for _, part := range parts {
		m.Write(part)
	}
	return m.Sum(nil)
}
