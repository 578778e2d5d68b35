// Package purser is a client of purser's /v1 API: paths, envelope, errors, retries and signatures. It imports none of
// purser's other packages. It holds a wallet's key only during a call of Sign.
//
//	client := purser.New("https://wallet.example.org", os.Getenv("PURSER_KEY"))
//	proposal, err := client.Send(ctx, purser.SendRequest{From: alice, To: bob, Amount: "1.5", Token: "SOL"})
//
// Amounts are decimal strings in the token's own unit ("1.5" SOL), never floats. Addresses and
// signatures are base58, transactions base64. A time that is not known yet is the zero time.Time.
//
// # Errors
//
// An error response is an [*Error], with a code of purser's error table:
//
//	var refused *purser.Error
//	if errors.As(err, &refused) && refused.Code == purser.InsufficientFunds { ... }
//
// Every other error means that there was no response, or that the request was never sent.
//
// # Retries
//
// A call is tried up to 4 times: after 429, 502, 503, 504, a 409 with Retry-After, and when there was no response. This is
// safe for every call: each POST has an Idempotency-Key, the same on every try, so that purser executes it once. To repeat a
// call after your own process restarted, choose the key yourself: see [WithIdempotencyKey].
package purser
