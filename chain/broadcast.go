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

// Broadcast hands signed wire bytes to the primary node once (sendTransaction: base64, preflight at
// confirmed like the blockhash, no retries by the node). nil: the node took it, or has processed it
// already. *wallet.PreflightError: the node did not pass it on, which is no verdict, since it may have
// landed or may still land by another way. wallet.NetworkError: nobody knows.
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

// refusal sorts out what a failed sendTransaction means.
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

func notAccepted(why wallet.Failure, reason wallet.Reason) error {
	return &wallet.PreflightError{Failure: why, Reason: reason}
}
