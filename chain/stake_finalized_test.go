package chain

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/wallet"
)

// said is one call to one node of severalScripted.
type said struct {
	node       int
	method     string
	commitment string
	minSlot    uint64
}

// severalScripted is a client of nodes that answer as say tells, and the calls that were made.
func severalScripted(t *testing.T, nodes int, now func() time.Time, say func(node int, method string) string) (*Client, *[]said) {
	t.Helper()
	var calls []said
	var urls []string
	for i := range nodes {
		urls = append(urls, newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var request struct {
				Method string            `json:"method"`
				Params []json.RawMessage `json:"params"`
			}
			if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
				t.Error(err)
			}
			call := said{node: i, method: request.Method}
			for _, p := range request.Params {
				var asked struct {
					Commitment     string `json:"commitment"`
					MinContextSlot uint64 `json:"minContextSlot"`
				}
				if json.Unmarshal(p, &asked) == nil && asked.Commitment != "" {
					call.commitment, call.minSlot = asked.Commitment, asked.MinContextSlot
				}
			}
			calls = append(calls, call)
			io.WriteString(w, say(i, request.Method))
		}))+secretPath)
	}
	c, err := New(Options{RPCURLs: urls, Cluster: wallet.Localnet, Timeout: 5 * time.Second, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, &calls
}

// refused is a node's error response.
func refused(code int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":"x","data":{"slot":5}}}`, code)
}

// TestRewardsOfAnyNodeCount: what one node has forgotten or cannot tell yet another one may know. They are forgotten only if every
// node says so, and an answer of one that could not be asked is waited for.
func TestRewardsOfAnyNodeCount(t *testing.T) {
	const paid = `[{"amount":5,"effectiveSlot":9,"epoch":7,"postBalance":105,"commission":8}]`
	const pruned, early, lags, broken = -32001, -32004, -32016, -32005
	for name, c := range map[string]struct {
		codes []int // of each node; 0: it tells
		want  error
		told  bool
		lost  bool // nothing but a failure is known
	}{
		"the first tells":                {codes: []int{0, pruned}, told: true},
		"the first has forgotten":        {codes: []int{pruned, 0}, told: true},
		"the first has a gap":            {codes: []int{-32018, 0}, told: true},
		"the first lags":                 {codes: []int{lags, 0}, told: true},
		"the first has not paid":         {codes: []int{early, 0}, told: true},
		"the first fails":                {codes: []int{broken, 0}, told: true},
		"all have forgotten":             {codes: []int{pruned, -32018}, want: wallet.ErrHistoryPruned},
		"all have no history":            {codes: []int{-32011, -32007}, want: wallet.ErrHistoryPruned},
		"one has forgotten, one fails":   {codes: []int{pruned, broken}, lost: true},
		"one fails, one has forgotten":   {codes: []int{broken, pruned}, lost: true},
		"one has forgotten, one lags":    {codes: []int{pruned, lags}, lost: true},
		"one has forgotten, one is late": {codes: []int{pruned, early}, want: wallet.ErrRewardsNotPaid},
		"one is late, one has forgotten": {codes: []int{early, pruned}, want: wallet.ErrRewardsNotPaid},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := severalScripted(t, 2, time.Now, func(node int, _ string) string {
				if code := c.codes[node]; code != 0 {
					return refused(code)
				}
				return result(paid)
			})
			for _, read := range []func() ([]*wallet.InflationReward, error){
				func() ([]*wallet.InflationReward, error) {
					return client.StakeRewards(t.Context(), []wallet.Address{{1}}, 7)
				},
				func() ([]*wallet.InflationReward, error) {
					return client.FinalizedStakes().StakeRewards(t.Context(), []wallet.Address{{1}}, 7)
				},
			} {
				got, err := read()
				if c.told {
					if err != nil || len(got) != 1 || got[0].Lamports != 5 {
						t.Errorf("%+v, %v", got, err)
					}
					continue
				}
				nobodyKnows(t, err)
				for _, known := range []error{wallet.ErrRewardsNotPaid, wallet.ErrHistoryPruned} {
					if errors.Is(err, known) != (known == c.want) || c.lost && errors.Is(err, known) {
						t.Errorf("%v", err)
					}
				}
			}
		})
	}
}

// epochAnswers are the answers of a node in an epoch, at a slot.
func epochAnswers(epoch, slot uint64) map[string]string {
	clock := make([]byte, 40)
	binary.LittleEndian.PutUint64(clock[16:], epoch)
	var sysvars []string
	for _, data := range [][]byte{clock, make([]byte, 8), make([]byte, 81)} {
		sysvars = append(sysvars, fmt.Sprintf(`{"lamports":5,"owner":%q,"executable":false,"rentEpoch":0,"space":%d,"data":[%q,"base64"]}`, memoProgram, len(data), base64.StdEncoding.EncodeToString(data)))
	}
	return map[string]string{
		"getMultipleAccounts":         fmt.Sprintf(`{"context":{"slot":%d},"value":[%s]}`, slot, strings.Join(sysvars, ",")),
		"getEpochInfo":                `{"slotIndex":100,"slotsInEpoch":432000,"epoch":7}`,
		"getRecentPerformanceSamples": `[]`,
		"getProgramAccounts":          fmt.Sprintf(`{"context":{"slot":%d},"value":[]}`, slot),
		"getInflationReward":          `[null]`,
	}
}

// TestAnnouncedStakesAreFinalized: every state is asked for at finalized, and from nodes that have come to the epoch that was read.
func TestAnnouncedStakesAreFinalized(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	slots := []uint64{500, 400}
	epochs := []uint64{8, 7}
	dead := false
	client, calls := severalScripted(t, 2, func() time.Time { return at }, func(node int, method string) string {
		if dead && node == 0 {
			return refused(-32005)
		}
		return result(epochAnswers(epochs[node], slots[node])[method]) // it ignores minContextSlot
	})
	f := client.FinalizedStakes()
	read := func() error {
		_, first := f.StakeAccounts(t.Context(), wallet.Address{1})
		return first
	}
	e, err := f.StakeEpoch(t.Context())
	if err != nil || e.Epoch != 8 {
		t.Fatalf("%+v, %v", e, err)
	}
	if err := read(); err != nil {
		t.Error(err)
	}
	if _, err := f.StakeRewards(t.Context(), []wallet.Address{{1}}, 7); err != nil {
		t.Error(err)
	}
	for i, c := range *calls {
		if c.method == "getRecentPerformanceSamples" {
			continue
		}
		behind := uint64(500)
		if i < 3 { // the first epoch
			behind = 0
		}
		if c.node != 0 || c.commitment != "finalized" || c.minSlot != behind {
			t.Errorf("call %d is %+v", i, c)
		}
	}
	dead = true // the other node is in the epoch before
	for what, err := range map[string]error{"accounts": read(), "epoch": func() error { _, err := f.StakeEpoch(t.Context()); return err }()} {
		nobodyKnows(t, err)
		if !errors.Is(err, wallet.ErrNodeBehind) {
			t.Errorf("%s: %v", what, err)
		}
	}
	slots[1], epochs[1] = 501, 8
	if e, err := f.StakeEpoch(t.Context()); err != nil || e.Epoch != 8 {
		t.Errorf("when it has come to it: %+v, %v", e, err)
	}
	slots[1], epochs[1] = 20, 1 // a test chain that was reset
	at = at.Add(59 * time.Minute)
	if err := read(); !errors.Is(err, wallet.ErrNodeBehind) {
		t.Errorf("within the hour: %v", err)
	}
	at = at.Add(time.Minute)
	if e, err := f.StakeEpoch(t.Context()); err != nil || e.Epoch != 1 {
		t.Errorf("an hour later: %+v, %v", e, err)
	}
	if !slices.ContainsFunc(*calls, func(c said) bool { return c.node == 1 && c.minSlot == 501 }) {
		t.Error("a node is not told how far it must have come")
	}
}
