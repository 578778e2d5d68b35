package solana

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
)

// object is a JSON object of a response.
type object = map[string]any

// rpcError is a JSON-RPC error. Codes and messages are those of Agave's RPC service, because clients match on both.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// The JSON-RPC error codes of Agave's RPC service. The first five are those of JSON-RPC 2.0 itself.
const (
	codeParse            = -32700
	codeInvalidRequest   = -32600
	codeMethodNotFound   = -32601
	codeInvalidParams    = -32602
	codeInternal         = -32603
	codePreflight        = -32002
	codeSignature        = -32003
	codeBlockNotHere     = -32004
	codeUnhealthy        = -32005
	codeSlotSkipped      = -32007
	codeNoSnapshot       = -32008
	codeVersion          = -32015
	codeMinContextNotYet = -32016
	codeRewardsActive    = -32017
	codeFilterNotFound   = -32020
)

// invalidParams is the error for parameters that a method refuses.
func invalidParams(format string, args ...any) *rpcError {
	return &rpcError{Code: codeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// request is a JSON-RPC request. ID and Params stay raw: the ID is returned as it came.
type request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// response has either Result or Error. A nil Result of a success must become null, or it would be left out.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// null is JSON's null, which clients send for absent values.
var null = json.RawMessage("null")

// answer builds a response with a result (nil becomes null) or an error, never both.
func answer(id json.RawMessage, result any, err *rpcError) response {
	if id == nil {
		id = null
	}
	r := response{Version: "2.0", ID: id, Error: err}
	if err == nil {
		if r.Result = result; result == nil {
			r.Result = null
		}
	}
	return r
}

// method answers one JSON-RPC method. It is called with the cluster's mu held, after catchUp, so it must not block.
type method func(c *Cluster, p params) (any, *rpcError)

// methods are all methods that HTTP clients can call. The subscriptions of WebSockets are in ws.go. Read-only after
// start.
var methods = map[string]method{
	"getBlockCommitment":        getBlockCommitment,
	"getBlockProduction":        getBlockProduction,
	"getBlocksWithLimit":        getBlocksWithLimit,
	"getClusterNodes":           getClusterNodes,
	"getEpochSchedule":          getEpochSchedule,
	"getStakeMinimumDelegation": getStakeMinimumDelegation,
	"getVoteAccounts":           getVoteAccounts,
	"getInflationGovernor":      getInflationGovernor,
	"getInflationRate":          getInflationRate,
	"getInflationReward":        getInflationReward,
	"getHighestSnapshotSlot": func(*Cluster, params) (any, *rpcError) {
		return nil, &rpcError{Code: codeNoSnapshot, Message: "No snapshot"}
	},
	"getLargestAccounts":                getLargestAccounts,
	"getMaxRetransmitSlot":              func(c *Cluster, _ params) (any, *rpcError) { return slotOf(c.tip), nil },
	"getMaxShredInsertSlot":             func(c *Cluster, _ params) (any, *rpcError) { return slotOf(c.tip), nil },
	"getRecentPerformanceSamples":       getPerformanceSamples,
	"getSlotLeader":                     getSlotLeader,
	"getSlotLeaders":                    getSlotLeaders,
	"getSupply":                         getSupply,
	"getTokenAccountsByDelegate":        getTokenAccountsByDelegate,
	"getTokenLargestAccounts":           getTokenLargestAccounts,
	"minimumLedgerSlot":                 func(*Cluster, params) (any, *rpcError) { return 0, nil },
	"getAccountInfo":                    getAccountInfo,
	"getBalance":                        getBalance,
	"getBlock":                          getBlock,
	"getBlockHeight":                    getBlockHeight,
	"getBlockTime":                      getBlockTime,
	"getBlocks":                         getBlocks,
	"getEpochInfo":                      getEpochInfo,
	"getFeeForMessage":                  getFeeForMessage,
	"getFirstAvailableBlock":            func(*Cluster, params) (any, *rpcError) { return 0, nil },
	"getGenesisHash":                    func(c *Cluster, _ params) (any, *rpcError) { return c.world.String(), nil },
	"getHealth":                         getHealth,
	"getIdentity":                       func(c *Cluster, _ params) (any, *rpcError) { return object{"identity": c.collector().String()}, nil },
	"getLatestBlockhash":                getLatestBlockhash,
	"getMinimumBalanceForRentExemption": getMinimumBalance,
	"getMultipleAccounts":               getMultipleAccounts,
	"getProgramAccounts":                getProgramAccounts,
	"getRecentPrioritizationFees":       getPrioritizationFees,
	"getSignatureStatuses":              getSignatureStatuses,
	"getSignaturesForAddress":           getSignaturesForAddress,
	"getSlot":                           getSlot,
	"getTokenAccountBalance":            getTokenAccountBalance,
	"getTokenAccountsByOwner":           getTokenAccountsByOwner,
	"getTokenSupply":                    getTokenSupply,
	"getTransaction":                    getTransaction,
	"getTransactionCount":               getTransactionCount,
	"getVersion": func(*Cluster, params) (any, *rpcError) {
		return object{"solana-core": apiVersion, "feature-set": 0}, nil
	},
	"isBlockhashValid":    isBlockhashValid,
	"requestAirdrop":      requestAirdrop,
	"sandbox_nextEpoch":   nextEpoch,
	"sandbox_set":         setKnobs,
	"sendTransaction":     sendTransaction,
	"simulateTransaction": simulateTransaction,
}

// apiVersion is the Agave release that the responses follow.
const apiVersion = "4.0.0"

// maxBody is Agave's limit of a request body, in bytes. maxBatch is the sandbox's own limit of calls in one body.
const (
	maxBody  = 50 << 10
	maxBatch = 100
)

// Handler serves JSON-RPC by POST, WebSockets by upgrade, and GET /health. It allows any origin, as public nodes do.
func (c *Cluster) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Access-Control-Allow-Origin", "*")
		switch {
		case isUpgrade(r):
			c.serveWebSocket(w, r)
		case r.Method == http.MethodOptions:
			header.Set("Access-Control-Allow-Methods", "POST, GET, OPTIONS")
			header.Set("Access-Control-Allow-Headers", "*")
			w.WriteHeader(http.StatusNoContent)
		case r.Method == http.MethodGet && r.URL.Path == "/health":
			io.WriteString(w, "ok")
		case r.Method == http.MethodPost:
			c.servePost(w, r)
		default:
			header.Set("Allow", "POST, OPTIONS")
			http.Error(w, "Used HTTP Method is not allowed. POST or OPTIONS is required", http.StatusMethodNotAllowed)
		}
	})
}

// servePost answers one request body, which has one call or a batch. The calls of a batch run in order, each under
// its own lock.
func (c *Cluster) servePost(w http.ResponseWriter, r *http.Request) {
	// Agave insists on the content type, and tests should notice a client that forgets it.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "Supplied content type is not allowed. Content-Type: application/json is required", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		http.Error(w, "Request body is too large", http.StatusRequestEntityTooLarge)
		return
	} else if err != nil {
		return // the client left
	}
	var calls []json.RawMessage
	// A body that begins with a bracket is a batch.
	batch := bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("["))
	if !batch {
		calls = []json.RawMessage{body}
	} else if json.Unmarshal(body, &calls) != nil {
		writeJSON(w, http.StatusOK, answer(nil, nil, &rpcError{Code: codeParse, Message: "Parse error"}))
		return
	}
	if n := len(calls); n == 0 || n > maxBatch {
		writeJSON(w, http.StatusOK, answer(nil, nil, &rpcError{Code: codeInvalidRequest, Message: "Invalid request"}))
		return
	}
	// A fault of one call can end the whole response: it hangs, gets an HTTP status, or is cut off after all calls
	// ran.
	answers := []response{}
	cut := false
	for _, raw := range calls {
		a, fault := c.call(raw)
		switch {
		case fault.Hang:
			select {
			case <-r.Context().Done():
			case <-c.stop:
			}
			panic(http.ErrAbortHandler)
		case fault.Status != 0:
			if fault.RetryAfter > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(int(fault.RetryAfter.Seconds()+0.999)))
			}
			writeJSON(w, fault.Status, a)
			return
		}
		cut = cut || fault.DropAnswer
		answers = append(answers, a)
	}
	// All calls have run by now: the client cannot know which of them took effect.
	if cut {
		panic(http.ErrAbortHandler) // net/http's way to close a connection without an answer
	}
	if batch {
		writeJSON(w, http.StatusOK, answers)
	} else {
		writeJSON(w, http.StatusOK, answers[0])
	}
}

// writeJSON sends a response. The status is 200 for JSON-RPC errors too.
func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body) // an error means that the client left
}

// call answers one call of a body. It also returns the call's fault, because the transport has to hang or cut the
// connection.
func (c *Cluster) call(raw json.RawMessage) (response, Fault) {
	req, bad := parseRequest(raw)
	if bad != nil {
		return answer(req.ID, nil, bad), Fault{}
	}
	// These faults answer without executing anything.
	fault := c.faultFor(req.Method, req.Params)
	switch {
	case fault.Hang:
		return response{}, fault
	case fault.Status != 0:
		text := fault.Message
		if text == "" {
			text = http.StatusText(fault.Status)
		}
		return answer(req.ID, nil, &rpcError{Code: fault.Status, Message: text}), fault
	case fault.Code != 0:
		return answer(req.ID, nil, &rpcError{Code: fault.Code, Message: fault.Message}), fault
	}
	do, ok := methods[req.Method]
	if !ok {
		return answer(req.ID, nil, &rpcError{Code: codeMethodNotFound, Message: "Method not found"}), fault
	}
	p, bad := parseParams(req.Params)
	if bad != nil {
		return answer(req.ID, nil, bad), fault
	}
	// The remaining faults belong to sendTransaction, which reads them from its parameters.
	p.fault = fault

	// From here on the clock has made all blocks that are due, so that a request sees the chain as of now.
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	if c.broken != nil || c.closed {
		return answer(req.ID, nil, &rpcError{Code: codeUnhealthy, Message: "Node is unhealthy", Data: object{"numSlotsBehind": nil}}), fault
	}
	result, bad := do(c, p)
	return answer(req.ID, result, bad), fault
}

// parseRequest checks the JSON-RPC envelope. With an error, the ID is kept if it could be read, to go into the
// response.
func parseRequest(raw json.RawMessage) (request, *rpcError) {
	var req request
	if !json.Valid(raw) {
		return req, &rpcError{Code: codeParse, Message: "Parse error"}
	}
	if json.Unmarshal(raw, &req) != nil || req.Version != "2.0" || req.Method == "" {
		return request{ID: req.ID}, &rpcError{Code: codeInvalidRequest, Message: "Invalid request"}
	}
	return req, nil
}
