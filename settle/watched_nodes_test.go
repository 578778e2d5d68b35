package settle_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// nodes are RPC nodes of one chain, each in a mood of its own. They answer over sockets, and everything that they answer
// but what a mood spoils comes from the cluster. What a mood does to a call depends on the seed, the round and the call
// alone, so that a run can be repeated.
type nodes struct {
	seed    uint64
	cluster http.Handler
	urls    []string

	mu       sync.Mutex
	round    int
	tip      uint64 // the newest finalized slot when the round began
	moods    []mood
	balances map[string][]snapshot // of accounts, as nodes showed them before: what a node that lags shows
	spoiled  map[string]int        // how often each kind of trouble came, by its name
}

// snapshot is an account as it was at a slot.
type snapshot struct {
	slot  uint64
	value json.RawMessage
}

// mood is what is wrong with a node. The zero value is: nothing. Shares are of 100.
type mood struct {
	cut     int    // share of the calls that get no answer, a part of one, or one that is no JSON-RPC
	behind  uint64 // slots that it lags
	admits  bool   // it says so to whoever names the slot that is needed
	keeps   uint64 // the first slot that it has; 0: it has all
	unknown bool   // it knows no place to go on from
	omits   int    // share of the entries that it leaves out of histories
	garbage int    // share of the transactions that it shows in a way that makes no sense
}

const nodeCount = 3

// newNodes starts the nodes, all of them in a good mood.
func newNodes(t interface{ Cleanup(func()) }, cluster http.Handler, seed uint64) *nodes {
	n := &nodes{seed: seed, cluster: cluster, moods: make([]mood, nodeCount), balances: map[string][]snapshot{}, spoiled: map[string]int{}}
	for i := range nodeCount {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { n.serve(w, r, i) }))
		t.Cleanup(server.Close)
		n.urls = append(n.urls, server.URL)
	}
	return n
}

// begin is a new round.
func (n *nodes) begin(round int, moods ...mood) {
	tip := n.finalized()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.round, n.tip = round, tip
	for i := range n.moods {
		n.moods[i] = mood{}
		if i < len(moods) {
			n.moods[i] = moods[i]
		}
	}
}

// finalized is the newest finalized slot.
func (n *nodes) finalized() (slot uint64) {
	var answer struct{ Result uint64 }
	raw := n.ask([]byte(`{"jsonrpc":"2.0","id":1,"method":"getSlot","params":[{"commitment":"finalized"}]}`))
	if json.Unmarshal(raw, &answer) != nil {
		return 0
	}
	return answer.Result
}

// ask is a call as the cluster answers it.
func (n *nodes) ask(body []byte) []byte {
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	n.cluster.ServeHTTP(w, r)
	return w.Body.Bytes()
}

// chance is a number below most that follows from the seed, the round and what it is about.
func (n *nodes) chance(most int, about ...any) int {
	h := fnv.New64a()
	fmt.Fprint(h, n.seed, n.round, about)
	const spread = 0x9e3779b97f4a7c15 // neighbours differ in all bits
	return int((h.Sum64() * spread >> 33) % uint64(most))
}

// rpcCall is a JSON-RPC call, and rpcAnswer its answer.
type (
	rpcCall struct {
		Version string            `json:"jsonrpc"`
		ID      json.RawMessage   `json:"id"`
		Method  string            `json:"method"`
		Params  []json.RawMessage `json:"params"`
	}
	rpcAnswer struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result,omitempty"`
		Error   any             `json:"error,omitempty"`
	}
	asked struct {
		Before  string `json:"before"`
		MinSlot uint64 `json:"minContextSlot"`
	}
	listedEntry struct {
		Signature string `json:"signature"`
		Slot      uint64 `json:"slot"`
	}
)

func (n *nodes) serve(w http.ResponseWriter, r *http.Request, i int) {
	body, err := io.ReadAll(r.Body)
	var call rpcCall
	if err != nil || json.Unmarshal(body, &call) != nil {
		http.Error(w, "no call", http.StatusBadRequest)
		return
	}
	n.mu.Lock()
	m := n.moods[i]
	how := n.chance(500, "cut", i, call.Method, fmt.Sprintf("%s", call.Params))
	n.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if how < 5*m.cut {
		n.cutOff(w, body, how%5)
		return
	}
	answer := rpcAnswer{Version: "2.0", ID: call.ID}
	var whole struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(n.ask(body), &whole); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if answer.Result = whole.Result; len(whole.Error) > 0 {
		answer.Error, answer.Result = whole.Error, nil
	}
	n.spoil(&answer, call, i, m)
	_ = json.NewEncoder(w).Encode(answer) // an error means that the client left
}

// cutOff is no answer.
func (n *nodes) cutOff(w http.ResponseWriter, body []byte, how int) {
	n.count("cut off")
	switch how {
	case 0:
		panic(http.ErrAbortHandler)
	case 1:
		http.Error(w, "busy", http.StatusServiceUnavailable)
	case 2:
		_, _ = io.WriteString(w, "<html><body>Sign in</body></html>")
	case 3:
		http.Error(w, `{"jsonrpc":"2.0","error":{"code":429,"message":"Too many requests"}}`, http.StatusTooManyRequests)
	default: // the connection drops in the middle
		whole := n.ask(body)
		w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
		_, _ = w.Write(whole[:len(whole)/2])
		panic(http.ErrAbortHandler)
	}
}

func (n *nodes) count(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.spoiled[what]++
}

// refuse answers an error instead.
func (n *nodes) refuse(a *rpcAnswer, code int, what string) {
	n.count(what)
	a.Result, a.Error = nil, map[string]any{"code": code, "message": what}
}

// spoil changes an answer as the mood wants it.
func (n *nodes) spoil(a *rpcAnswer, call rpcCall, i int, m mood) {
	const (
		minSlotNotReached = -32016
		notFound          = -32020
	)
	var with asked
	if len(call.Params) > 1 {
		_ = json.Unmarshal(call.Params[1], &with)
	}
	n.mu.Lock()
	view := uint64(math.MaxUint64) // the newest slot that this node has seen
	if m.behind > 0 {
		view = n.tip - min(n.tip, m.behind)
	}
	n.mu.Unlock()
	if m.admits && with.MinSlot > view {
		n.refuse(a, minSlotNotReached, "behind")
		return
	}
	switch {
	case a.Error != nil:
	case call.Method == "getMultipleAccounts":
		n.accounts(a, call, view)
	case call.Method == "getFirstAvailableBlock" && m.keeps > 0:
		a.Result, _ = json.Marshal(m.keeps)
	case call.Method == "getSignaturesForAddress" && m.unknown && with.Before != "":
		n.refuse(a, notFound, "unknown place")
	case call.Method == "getSignaturesForAddress":
		n.history(a, i, m, view)
	case call.Method == "getTransaction":
		n.transaction(a, call, i, m, view)
	}
}

// accounts notes the balances of an answer, and shows older ones if the node lags and knows some.
func (n *nodes) accounts(a *rpcAnswer, call rpcCall, view uint64) {
	const kept = 4
	var names []string
	var shown struct {
		Context struct {
			Slot uint64 `json:"slot"`
		} `json:"context"`
		Value []json.RawMessage `json:"value"`
	}
	if json.Unmarshal(call.Params[0], &names) != nil || json.Unmarshal(a.Result, &shown) != nil || len(names) != len(shown.Value) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if shown.Context.Slot <= view {
		for i, name := range names {
			all := append(n.balances[name], snapshot{shown.Context.Slot, shown.Value[i]})
			n.balances[name] = all[max(0, len(all)-kept):]
		}
		return
	}
	slot := uint64(math.MaxUint64)
	for i, name := range names {
		for _, s := range slices.Backward(n.balances[name]) {
			if s.slot <= view {
				shown.Value[i], slot = s.value, min(slot, s.slot)
				break
			}
		}
	}
	if slot < shown.Context.Slot {
		shown.Context.Slot = slot
		a.Result, _ = json.Marshal(shown)
		n.spoiled["old balances"]++
	}
}

// history leaves out what the node has not seen yet, what it has thrown away, and what it hides.
func (n *nodes) history(a *rpcAnswer, i int, m mood, view uint64) {
	var list []json.RawMessage
	if json.Unmarshal(a.Result, &list) != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	list = slices.DeleteFunc(list, func(raw json.RawMessage) bool {
		var e listedEntry
		switch {
		case json.Unmarshal(raw, &e) != nil:
			return false
		case e.Slot > view:
			n.spoiled["nothing new"]++
			return true
		case e.Slot < m.keeps:
			n.spoiled["pruned"]++
			return true
		case n.chance(100, "omit", i, e.Signature) < m.omits:
			n.spoiled["left out"]++
			return true
		}
		return false
	})
	a.Result, _ = json.Marshal(list)
}

// transaction shows none, or one that makes no sense.
func (n *nodes) transaction(a *rpcAnswer, call rpcCall, i int, m mood, view uint64) {
	const versionUnknown = -32015
	var shown map[string]json.RawMessage
	if json.Unmarshal(a.Result, &shown) != nil || shown == nil {
		return
	}
	var slot uint64
	_ = json.Unmarshal(shown["slot"], &slot)
	if slot > view || slot < m.keeps {
		a.Result = json.RawMessage("null")
		n.count("no transaction")
		return
	}
	signature := string(call.Params[0])
	n.mu.Lock()
	how, later := n.chance(900, "garbage", i, signature), 1+n.chance(1000, "slot", i, signature)
	n.mu.Unlock()
	if how >= 9*m.garbage {
		return
	}
	n.count("garbage")
	var meta map[string]json.RawMessage
	_ = json.Unmarshal(shown["meta"], &meta)
	switch how % 9 {
	case 0:
		a.Result = json.RawMessage("null")
		return
	case 1:
		n.refuse(a, versionUnknown, "a version of tomorrow")
		return
	case 2:
		shown["meta"] = json.RawMessage("null")
	case 3:
		shown["slot"], _ = json.Marshal(slot + uint64(later)) // hardly ever the same twice
	case 4:
		shown["transaction"] = json.RawMessage(`["AQ==","base64"]`)
	case 5:
		meta["postBalances"] = json.RawMessage(strings.Replace(string(meta["postBalances"]), "[", "[18446744073709551615,", 1))
	case 6:
		meta["loadedAddresses"] = json.RawMessage(`{"writable":["So11111111111111111111111111111111111111112"],"readonly":[]}`)
	case 7:
		meta["err"] = json.RawMessage(`{"InstructionError":[0,{"Custom":1}]}`)
	default:
		meta["preTokenBalances"] = json.RawMessage(`[{"accountIndex":255}]`)
	}
	if string(shown["meta"]) != "null" {
		shown["meta"], _ = json.Marshal(meta)
	}
	a.Result, _ = json.Marshal(shown)
}
