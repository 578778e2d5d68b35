package chain

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"purser/wallet"
)

// JSON-RPC error codes of sendTransaction (Agave, rpc_client/custom_error).
const (
	invalidParams      = -32602
	preflightFailed    = -32002
	signatureIsInvalid = -32003
)

// Broadcast sends signed wire bytes to the primary node once (sendTransaction: base64, preflight at commitment
// confirmed like the blockhash, no retries by the node). The caller has stored the bytes before. Results:
//
//   - nil: the node accepted them, or has processed them already
//   - *wallet.PreflightError: the node did not forward them. That decides nothing: the transaction may have landed by
//     another way, or may still land
//   - wallet.NetworkError: nobody knows
func (c *Client) Broadcast(ctx context.Context, signed []byte) error {
	const method = "sendTransaction"
	signatures, _, m, err := disassemble(signed)
	if err != nil {
		return fmt.Errorf("broadcast: %w", err)
	}
	answer, err := call[string](withSignedTransaction(ctx), c.primary(), method, base64.StdEncoding.EncodeToString(signed), settings{
		"encoding":            "base64",
		"skipPreflight":       false,
		"preflightCommitment": confirmed,
		"maxRetries":          0,
	})
	if err != nil {
		return refusal(err, m)
	}
	if answer != signatures[0].String() {
		return c.primary().nodeError(method, errGarbage)
	}
	return nil
}

// refusal interprets the error of sendTransaction.
func refusal(err error, m *message) error {
	var answered *rpcError
	if !errors.As(err, &answered) {
		return err
	}
	switch answered.code {
	case signatureIsInvalid:
		return notAccepted(wallet.ChainError, wallet.Because("preflight.signature"))
	case invalidParams:
		return notAccepted(wallet.ChainError, wallet.Because("preflight.unreadable"))
	case preflightFailed:
	default:
		return err // node behind, overloaded, rate limit, unknown: it may have gone out
	}
	// preflightFailed carries the TransactionError of the simulation.
	var data struct {
		Err json.RawMessage `json:"err"`
	}
	if json.Unmarshal(answered.data, &data) != nil {
		return err
	}
	f := parseFailure(data.Err)
	switch {
	case f == nil:
		return err
	case f.name == "AlreadyProcessed":
		return nil
	}
	return f.refusal(m)
}

// notAccepted makes the error of a preflight that refused.
func notAccepted(why wallet.Failure, reason wallet.Reason) error {
	return &wallet.PreflightError{Failure: why, Reason: reason}
}
