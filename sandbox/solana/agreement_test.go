package solana

import (
	"bufio"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// needLiteSVM finds LiteSVM's runner. Without its package the test cannot run: CI fails then,
// a developer's machine skips.
func needLiteSVM(t *testing.T) {
	t.Helper()
	const sentence = "LiteSVM is not installed: run `npm ci` in sandbox/solana/agreement (Linux on x64, Node 20 or later)"
	_, err := os.Stat("agreement/node_modules/litesvm-linux-x64-gnu")
	if err == nil {
		_, err = exec.LookPath("node")
	}
	if err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal(sentence)
	}
	t.Skip(sentence)
}

// liteSVM is the runner process: one request a line, one answer a line.
type liteSVM struct {
	in        *json.Encoder
	out       *bufio.Scanner
	blockhash hash
	slot      uint64
}

type liteAccount struct {
	Address    string `json:"address,omitempty"`
	Lamports   string `json:"lamports"`
	Owner      string `json:"owner"`
	Data       string `json:"data"`
	Executable bool   `json:"executable"`
}

type liteRequest struct {
	Accounts     []liteAccount `json:"accounts"`
	Transactions []string      `json:"transactions"`
	Expire       bool          `json:"expire"`
	Rent         uint64        `json:"rent"`
	Watch        []string      `json:"watch"`
}

type liteAnswer struct {
	Results []struct {
		Err   json.RawMessage `json:"err"`
		Units uint64          `json:"units"`
		Logs  []string        `json:"logs"`
	} `json:"results"`
	Accounts []*liteAccount `json:"accounts"`
}

func startLiteSVM(t *testing.T) *liteSVM {
	t.Helper()
	needLiteSVM(t)
	cmd := exec.CommandContext(t.Context(), "node", "agreement/run.mjs")
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	l := &liteSVM{in: json.NewEncoder(in), out: bufio.NewScanner(out)}
	l.out.Buffer(nil, 64<<20)
	var hello struct {
		Blockhash string `json:"blockhash"`
		Slot      uint64 `json:"slot"`
	}
	l.read(t, &hello)
	key, err := parseAddress(hello.Blockhash)
	if err != nil {
		t.Fatal(err)
	}
	l.blockhash, l.slot = hash(key), hello.Slot
	return l
}

func (l *liteSVM) read(t *testing.T, into any) {
	t.Helper()
	if !l.out.Scan() {
		t.Fatalf("LiteSVM ended: %v", l.out.Err())
	}
	if err := json.Unmarshal(l.out.Bytes(), into); err != nil {
		t.Fatalf("LiteSVM said %q: %v", l.out.Bytes(), err)
	}
}

// TestSandboxAgreesWithLiteSVM runs the same signed bytes here and through Agave's own execution:
// equal errors, equal accounts afterwards.
func TestSandboxAgreesWithLiteSVM(t *testing.T) {
	lite := startLiteSVM(t)
	cases := agreementCases(lite.blockhash)
	tokens := tokenCases(lite)
	if len(cases) < 130 || len(tokens) < 250 {
		t.Fatalf("only %d and %d cases", len(cases), len(tokens))
	}
	cases = append(append(cases, tokens...), v1Cases(lite.blockhash)...)
	cases = append(cases, rentCases(lite.blockhash)...)
	cases = append(cases, stakeCases(lite)...)
	cases = append(cases, purserStakeCases(lite)...)
	cases = append(cases, purserRevokeCases(lite)...)
	names := map[string]bool{}
	for _, c := range cases {
		if names[c.name] {
			t.Fatalf("two cases are called %q", c.name)
		}
		names[c.name] = true
		t.Run(c.name, func(t *testing.T) { agree(t, lite, c) })
	}
}

func agree(t *testing.T, lite *liteSVM, c agreementCase) {
	outcomes := compare(t, lite, c)
	last := outcomes[len(outcomes)-1]
	if mine := shown(t, last.Err); mine != c.want {
		t.Errorf("the last transaction ends with %s, the case expects %s\n%q", mine, c.want, last.Logs)
	}
}

func shown(t *testing.T, err *TransactionError) string {
	t.Helper()
	text, bad := json.Marshal(err.wire())
	if bad != nil {
		t.Fatal(bad)
	}
	return string(text)
}

// compare runs the case's transactions on both sides and requires that everything agrees.
func compare(t *testing.T, lite *liteSVM, c agreementCase) []outcome {
	ours, err := Open(Options{LamportsPerByte: c.rent, Now: func() time.Time { return time.Unix(1_700_000_000, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	request := liteRequest{Expire: c.expired, Rent: c.rent}
	for key, a := range c.accounts {
		ours.state.set(key, 0, a, 0)
		request.Accounts = append(request.Accounts, liteAccount{
			Address: hex.EncodeToString(key[:]), Lamports: strconv.FormatUint(a.Lamports, 10),
			Owner: hex.EncodeToString(a.Owner[:]), Data: hex.EncodeToString(a.Data), Executable: a.Executable,
		})
	}

	var outcomes []outcome
	watched := map[address]bool{}
	var watch []address
	for i, wire := range c.wires {
		request.Transactions = append(request.Transactions, base64.StdEncoding.EncodeToString(wire))
		tx, err := parseTransaction(wire)
		if err != nil {
			outcomes = append(outcomes, outcome{Err: failed("undecodable")})
			continue
		}
		if err := tx.sanitize(); err != nil {
			outcomes = append(outcomes, outcome{Err: err, loaded: tx})
		} else {
			height := uint64(i + 1)
			b := ours.bank(height)
			b.recent = func(h hash) bool { return h == lite.blockhash && !c.expired }
			b.slot = lite.slot
			b.time = func(uint64) int64 { return 1_700_000_000 }
			b.epoch = func(slot uint64) uint64 { return slot / SlotsPerEpoch }
			b.recentSlot = func(slot uint64) (int, bool) {
				return int(lite.slot - 1 - slot), slot < lite.slot && lite.slot-slot <= tableHistory
			}
			out := b.execute(tx)
			if out.Landed {
				ours.settle(out.loaded, height, out)
			}
			outcomes = append(outcomes, out)
		}
		for _, key := range outcomes[i].loaded.Keys {
			// The sysvars are set on both sides where a case needs them.
			if !watched[key] && !ours.state.at(key, 0).Executable && ours.state.at(key, 0).Owner != sysvarOwner {
				watched[key] = true
				watch = append(watch, key)
			}
		}
	}
	for _, key := range watch {
		request.Watch = append(request.Watch, hex.EncodeToString(key[:]))
	}

	if err := lite.in.Encode(request); err != nil {
		t.Fatal(err)
	}
	var theirs liteAnswer
	lite.read(t, &theirs)

	for i, out := range outcomes {
		mine, their := shown(t, out.Err), theirs.Results[i]
		last := i == len(outcomes)-1
		if mine != string(their.Err) && !(last && c.lite == string(their.Err)) {
			t.Errorf("transaction %d: the sandbox says %s, LiteSVM %s\nours: %q\ntheirs: %q", i, mine, their.Err, out.Logs, their.Logs)
		}
		if !slices.Equal(hideUnits(out.Logs), hideUnits(their.Logs)) {
			t.Errorf("transaction %d logs\nhere    %q\nLiteSVM %q", i, out.Logs, their.Logs)
		}
		if c.anyUnits {
			continue
		}
		if estimated := out.loaded != nil && out.loaded.has(memoV1); !near(out.Units, their.Units, estimated) && !out.loaded.roughly(out, their.Units) {
			t.Errorf("transaction %d uses %d units here, %d in LiteSVM\n%q", i, out.Units, their.Units, their.Logs)
		}
	}
	// The fee payer comes first.
	for i, key := range watch {
		mine, their := ours.state.at(key, ours.tip+uint64(len(c.wires))), theirs.Accounts[i]
		if their == nil {
			their = &liteAccount{Lamports: "0", Owner: hex.EncodeToString(make([]byte, 32))}
		}
		if c.free && i == 0 {
			mine.Lamports += outcomes[0].Fee
		}
		if got := strconv.FormatUint(mine.Lamports, 10); got != their.Lamports {
			t.Errorf("%s holds %s here, %s in LiteSVM", key, got, their.Lamports)
		}
		if got := hex.EncodeToString(mine.Owner[:]); got != their.Owner && mine.exists() {
			t.Errorf("%s belongs to %s here, %s in LiteSVM", key, got, their.Owner)
		}
		if got := hex.EncodeToString(mine.Data); got != their.Data {
			t.Errorf("%s has %d bytes here, %d in LiteSVM\nhere    %s\nLiteSVM %s", key, len(mine.Data), len(their.Data)/2, got, their.Data)
		}
		if mine.Executable != their.Executable {
			t.Errorf("%s: executable is %v here, %v in LiteSVM", key, mine.Executable, their.Executable)
		}
	}
	return outcomes
}

// roughly compares compute units where a transaction calls programs whose units are estimated by
// the instruction alone: within a quarter (a half for stake) or 250 units, and not at all for what failed on the way.
func (m *message) roughly(out outcome, theirs uint64) bool {
	part := uint64(4)
	if m.has(stakeProgram) {
		part = 2 // these depend on the states of the accounts too
	}
	return m.tokens() && (out.Err != nil || out.Units <= theirs+max(theirs/part, 250) && theirs <= out.Units+max(out.Units/part, 250))
}

func (m *message) tokens() bool {
	for _, ix := range m.Instructions {
		switch m.Keys[ix.Program] {
		case tokenProgram, token2022Program, associatedProgram, lookupProgram, stakeProgram:
			return true
		}
	}
	return false
}

// hideUnits leaves out the lines that tell compute units, which are compared by near.
func hideUnits(logs []string) []string {
	var kept []string
	for _, line := range logs {
		if !strings.HasSuffix(line, " compute units") {
			kept = append(kept, line)
		}
	}
	return kept
}

// near compares compute units: exactly for builtin programs, within a quarter where a memo's
// machine code was estimated.
func near(ours, theirs uint64, estimated bool) bool {
	if !estimated {
		return ours == theirs
	}
	return ours <= theirs+theirs/4 && theirs <= ours+ours/4
}
