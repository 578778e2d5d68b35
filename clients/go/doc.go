// Package purser is a client of purser's /v1 API. It knows the wire: paths, envelope, refusals,
// retries and signatures. It refuses to know what is behind it (nothing of purser's other packages is
// imported) and to hold a wallet's key longer than a call of Sign.
//
//	client := purser.New("https://wallet.example.org", os.Getenv("PURSER_KEY"))
//	proposal, err := client.Send(ctx, purser.SendRequest{From: alice, To: bob, Amount: "1.5", Token: "SOL"})
//
// Amounts are decimal strings in the token's own unit ("1.5" SOL), never floats. Addresses and
// signatures are base58, transactions base64. A time that has not come is the zero time.Time.
//
// # Errors
//
// What purser refuses is an [*Error], with the code of its error table:
//
//	var refused *purser.Error
//	if errors.As(err, &refused) && refused.Code == purser.InsufficientFunds { ... }
//
// Every other error means that nobody answered, or that the arguments were never sent.
//
// # Retries
//
// A call is tried up to 4 times: after 429, 502, 503, 504, a 409 that asks for patience by Retry-After,
// and where no answer came. That is safe for every call: each POST carries an Idempotency-Key, the same
// one on every try, by which purser carries it out once. To repeat a call after your own process
// ended, choose the key yourself: see [WithIdempotencyKey].
package purser
