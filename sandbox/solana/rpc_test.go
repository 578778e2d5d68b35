package solana

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestTransferClimbsTheCommitmentLevels(t *testing.T) {
	s := serve(t, Options{})
	s.fund(t, "alice", 10*sol)
	text, sig := s.transfer(t, "alice", "bob", sol)

	var answered string
	s.must(t, &answered, "sendTransaction", text, preflight)
	if answered != sig {
		t.Fatalf("answered %s, not %s", answered, sig)
	}
	if got := s.status(t, sig); got != nil {
		t.Fatalf("landed before a block was made: %+v", got)
	}
	balance := func(commitment string) (lamports uint64) {
		t.Helper()
		var b struct{ Value uint64 }
		s.must(t, &b, "getBalance", addressOf("bob").String(), object{"commitment": commitment})
		return b.Value
	}
	for _, step := range []struct {
		blocks int
		level  string
		seen   map[string]uint64
	}{
		{1, processed, map[string]uint64{processed: sol}},
		{1, confirmed, map[string]uint64{processed: sol, confirmed: sol}},
		{30, confirmed, map[string]uint64{processed: sol, confirmed: sol}},
		{1, finalized, map[string]uint64{processed: sol, confirmed: sol, finalized: sol}},
	} {
		s.advance(t, step.blocks)
		st := s.status(t, sig)
		if st == nil || st.Level != step.level || (st.Confirmations == nil) != (step.level == finalized) {
			t.Fatalf("status %+v, want %s", st, step.level)
		}
		for _, level := range []string{processed, confirmed, finalized} {
			if got := balance(level); got != step.seen[level] {
				t.Errorf("at %s, %s shows %d, want %d", step.level, level, got, step.seen[level])
			}
		}
	}
	if got := s.Balance(addressOf("alice").String()); got != 9*sol-5000 {
		t.Errorf("alice holds %d", got)
	}
	if got := s.TotalLamports(); got != supply {
		t.Errorf("%d lamports in all, not %d", got, uint64(supply))
	}
}

func TestPreflightErrorsHaveTheRealShapes(t *testing.T) {
	s := serve(t, Options{})
	s.fund(t, "alice", sol)

	poor, _ := s.transfer(t, "alice", "bob", 2*sol)
	message, data := s.refused(t, codePreflight, "sendTransaction", poor, preflight)
	if want := "Transaction simulation failed: Error processing Instruction 0: custom program error: 0x1"; message != want {
		t.Errorf("%q, not %q", message, want)
	}
	var shape struct {
		Err           json.RawMessage
		Logs          []string
		Accounts      json.RawMessage
		UnitsConsumed uint64
	}
	if err := json.Unmarshal(data, &shape); err != nil {
		t.Fatal(err)
	}
	if string(shape.Err) != `{"InstructionError":[0,{"Custom":1}]}` || string(shape.Accounts) != "null" || shape.UnitsConsumed != 150 {
		t.Errorf("data %s", data)
	}
	want := []string{
		"Program 11111111111111111111111111111111 invoke [1]",
		"Transfer: insufficient lamports 999995000, need 2000000000",
		"Program 11111111111111111111111111111111 failed: custom program error: 0x1",
	}
	if fmt.Sprint(shape.Logs) != fmt.Sprint(want) {
		t.Errorf("logs %q", shape.Logs)
	}

	stale, _ := encode(draft{payer: "alice", blockhash: hash{1}, calls: []call{transferTo(addressOf("alice"), addressOf("bob"), 1)}}.bytes())
	message, data = s.refused(t, codePreflight, "sendTransaction", stale, preflight)
	if message != "Transaction simulation failed: Blockhash not found" || !strings.Contains(string(data), `"err":"BlockhashNotFound"`) || !strings.Contains(string(data), `"logs":[]`) {
		t.Errorf("%s %s", message, data)
	}
	s.refused(t, codePreflight, "sendTransaction", mustTransfer(s.transfer(t, "carol", "bob", 1)), preflight)

	h, _ := s.blockhashAt(t, processed)
	forged, _ := encode(draft{payer: "alice", blockhash: h, calls: []call{transferTo(addressOf("bob"), addressOf("alice"), 1)}}.bytes())
	if message, _ = s.refused(t, codeSignature, "sendTransaction", forged, preflight); message != "Transaction signature verification failure" {
		t.Error(message)
	}
	// Finalized is the default preflight commitment; this hash is younger.
	text, _ := s.transfer(t, "alice", "bob", sol/10)
	s.refused(t, codePreflight, "sendTransaction", text, inBase64)

	future := object{"encoding": "base64", "preflightCommitment": processed, "minContextSlot": 1_000_000}
	message, data = s.refused(t, codeMinContextNotYet, "sendTransaction", text, future)
	if message != "Minimum context slot has not been reached" || !sameJSON(data, []byte(`{"contextSlot":1}`)) {
		t.Errorf("%s %s", message, data)
	}
}

func mustTransfer(text, _ string) string { return text }

func TestSameTransactionLandsOnce(t *testing.T) {
	s := serve(t, Options{})
	s.fund(t, "alice", 10*sol)
	text, sig := s.transfer(t, "alice", "bob", sol)
	var answered string
	for range 3 { // waiting for its block it may be sent again
		s.must(t, &answered, "sendTransaction", text, preflight)
	}
	s.advance(t, 1)
	message, data := s.refused(t, codePreflight, "sendTransaction", text, preflight)
	if message != "Transaction simulation failed: This transaction has already been processed" || !strings.Contains(string(data), `"err":"AlreadyProcessed"`) {
		t.Errorf("%s %s", message, data)
	}
	s.must(t, &answered, "sendTransaction", text, blindly) // answers, and changes nothing
	s.advance(t, 3)
	if got := s.Balance(addressOf("bob").String()); got != sol {
		t.Errorf("bob holds %d", got)
	}
	count := 0
	for _, l := range s.Landed() {
		if l.Signature == sig {
			count++
		}
	}
	if count != 1 {
		t.Errorf("landed %d times", count)
	}
}

func TestFailedTransactionLandsAndPays(t *testing.T) {
	s := serve(t, Options{})
	s.fund(t, "alice", sol)
	text, sig := s.transfer(t, "alice", "bob", 2*sol)
	var answered string
	s.must(t, &answered, "sendTransaction", text, blindly)
	s.advance(t, 40)
	if st := s.status(t, sig); st == nil || string(st.Err) != `{"InstructionError":[0,{"Custom":1}]}` {
		t.Fatalf("status %+v", st)
	}
	if got := s.Balance(addressOf("alice").String()); got != sol-5000 {
		t.Errorf("alice holds %d", got)
	}
	var tx struct {
		Meta struct {
			Err                       json.RawMessage
			Status                    json.RawMessage
			Fee                       uint64
			PreBalances, PostBalances []uint64
		}
	}
	s.must(t, &tx, "getTransaction", sig, object{"encoding": "json", "maxSupportedTransactionVersion": 0})
	if tx.Meta.Fee != 5000 || tx.Meta.PreBalances[0] != sol || tx.Meta.PostBalances[0] != sol-5000 ||
		!sameJSON(tx.Meta.Status, []byte(`{"Err":{"InstructionError":[0,{"Custom":1}]}}`)) {
		t.Errorf("meta %+v", tx.Meta)
	}
}

func TestBlockhashLives150Blocks(t *testing.T) {
	for _, c := range []struct {
		wait  int
		lands bool
	}{{149, true}, {150, false}} {
		t.Run(fmt.Sprint(c.wait), func(t *testing.T) {
			s := serve(t, Options{})
			s.fund(t, "alice", 10*sol)
			h, last := s.blockhashAt(t, processed)
			if want := s.Height() + 150; last != want {
				t.Fatalf("last valid height %d, want %d", last, want)
			}
			text, sig := s.transfer(t, "alice", "bob", sol)
			s.advance(t, c.wait) // the next block is wait+1 blocks younger than the hash
			var valid struct{ Value bool }
			s.must(t, &valid, "isBlockhashValid", h.String(), object{"commitment": processed})
			var answered string
			s.must(t, &answered, "sendTransaction", text, blindly)
			s.advance(t, 1)
			if landed := s.status(t, sig) != nil; landed != c.lands {
				t.Errorf("landed: %v", landed)
			}
			if !valid.Value { // the bank itself still takes it
				t.Errorf("not valid after %d blocks", c.wait)
			}
			s.must(t, &valid, "isBlockhashValid", h.String(), object{"commitment": processed})
			if valid.Value != c.lands {
				t.Errorf("valid is %v after %d blocks", valid.Value, c.wait+1)
			}
			if !c.lands {
				s.refused(t, codePreflight, "sendTransaction", text, preflight)
			}
		})
	}
}

func TestUnfundedTransactionWaitsWhileItsBlockhashLives(t *testing.T) {
	s := serve(t, Options{})
	s.advance(t, 1)
	text, sig := s.transfer(t, "alice", "bob", sol)
	var answered string
	s.must(t, &answered, "sendTransaction", text, blindly)
	s.advance(t, 20)
	if s.status(t, sig) != nil {
		t.Fatal("landed without money")
	}
	s.fund(t, "alice", 3*sol)
	s.advance(t, retryAfter+1)
	if s.status(t, sig) == nil {
		t.Fatal("did not land once funded")
	}

	text, sig = s.transfer(t, "carol", "bob", sol)
	s.must(t, &answered, "sendTransaction", text, object{"encoding": "base64", "skipPreflight": true, "maxRetries": 0})
	s.advance(t, 1)
	s.fund(t, "carol", 3*sol)
	s.advance(t, 50)
	if s.status(t, sig) != nil {
		t.Fatal("landed although it was not to be tried again")
	}
}

func TestHistoryOfAnAddress(t *testing.T) {
	s := serve(t, Options{})
	s.fund(t, "alice", 10*sol)
	reference := addressOf("reference")
	var sigs []string
	send := func(amount uint64) {
		t.Helper()
		h, _ := s.blockhashAt(t, processed)
		c := transferTo(addressOf("alice"), addressOf("bob"), amount)
		c.metas = append(c.metas, meta{reference, ""})
		text, sig := encode(draft{payer: "alice", blockhash: h, calls: []call{c, memoCall(memoV3, "for you")}}.bytes())
		var answered string
		s.must(t, &answered, "sendTransaction", text, preflight)
		sigs = append(sigs, sig)
	}
	send(sol)
	send(sol + 1) // the same block
	s.advance(t, 1)
	send(sol + 2)
	s.advance(t, 1)

	list := func(cfg object) (found []string) {
		t.Helper()
		var rows []struct {
			Signature, Memo, ConfirmationStatus string
			BlockTime                           int64
		}
		s.must(t, &rows, "getSignaturesForAddress", reference.String(), cfg)
		for _, r := range rows {
			found = append(found, r.Signature)
			if r.Memo != "[7] for you" || r.BlockTime < 1_700_000_000 {
				t.Errorf("row %+v", r)
			}
		}
		return found
	}
	expect := func(got []string, want ...string) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	expect(list(object{"commitment": confirmed}), sigs[1], sigs[0])
	expect(list(object{}))
	s.advance(t, 32)
	expect(list(object{}), sigs[2], sigs[1], sigs[0])
	expect(list(object{"limit": 2}), sigs[2], sigs[1])
	expect(list(object{"before": sigs[2]}), sigs[1], sigs[0])
	expect(list(object{"before": sigs[1]}), sigs[0])
	expect(list(object{"until": sigs[0]}), sigs[2], sigs[1])
	expect(list(object{"before": sigs[2], "until": sigs[0]}), sigs[1])
	s.refused(t, codeInvalidParams, "getSignaturesForAddress", reference.String(), object{"commitment": processed})
	s.refused(t, codeInvalidParams, "getSignaturesForAddress", reference.String(), object{"limit": 1001})
	s.refused(t, codeInvalidParams, "getSignaturesForAddress", "not an address")
}

func TestTransactionEncodings(t *testing.T) {
	s := serve(t, Options{})
	s.fund(t, "alice", 10*sol)
	h, _ := s.blockhashAt(t, processed)
	wire := draft{payer: "alice", versioned: true, blockhash: h, calls: []call{transferTo(addressOf("alice"), addressOf("bob"), sol), memoCall(memoV3, "hi")}}.bytes()
	text, sig := encode(wire)
	var answered string
	s.must(t, &answered, "sendTransaction", text, preflight)
	s.advance(t, 33)

	message, _ := s.refused(t, codeVersion, "getTransaction", sig, object{"encoding": "base64"})
	if !strings.HasPrefix(message, "Transaction version (0) is not supported by the requesting client.") {
		t.Error(message)
	}
	for encoding, want := range map[string]string{
		"base64":     `["` + base64.StdEncoding.EncodeToString(wire) + `","base64"]`,
		"json":       `"addressTableLookups":[]`,
		"jsonParsed": `"parsed":"hi"`,
		"base58":     `,"base58"]`,
	} {
		var tx struct {
			Slot        uint64
			Version     int
			Transaction json.RawMessage
		}
		s.must(t, &tx, "getTransaction", sig, object{"encoding": encoding, "maxSupportedTransactionVersion": 0})
		if tx.Slot != 2 || !strings.Contains(string(tx.Transaction), want) {
			t.Errorf("%s: slot %d, %s", encoding, tx.Slot, tx.Transaction)
		}
	}
	s.refused(t, codeInvalidParams, "getTransaction", sig, object{"encoding": "xml", "maxSupportedTransactionVersion": 0})
	s.refused(t, codeInvalidParams, "getTransaction", sig, object{"commitment": processed})
	if r := s.ask(t, "getTransaction", signature{1}.String()); r.Error != nil || string(r.Result) != "null" {
		t.Errorf("unknown signature: %+v", r)
	}
}

func TestSimulationChangesNothing(t *testing.T) {
	s := serve(t, Options{})
	s.fund(t, "alice", 10*sol)
	wire := draft{payer: "alice", blockhash: hash{7}, calls: []call{transferTo(addressOf("alice"), addressOf("bob"), sol)}}.bytes()
	text := base64.StdEncoding.EncodeToString(wire)
	var got struct {
		Value struct {
			Err                  json.RawMessage
			UnitsConsumed        uint64
			Fee                  uint64
			ReplacementBlockhash struct{ LastValidBlockHeight uint64 }
			Accounts             []struct{ Lamports uint64 }
		}
	}
	s.must(t, &got, "simulateTransaction", text, object{"encoding": "base64", "commitment": processed})
	if string(got.Value.Err) != `"BlockhashNotFound"` {
		t.Errorf("err %s", got.Value.Err)
	}
	s.must(t, &got, "simulateTransaction", text, object{
		"encoding": "base64", "commitment": processed, "replaceRecentBlockhash": true,
		"accounts": object{"encoding": "base64", "addresses": []string{addressOf("bob").String()}},
	})
	v := got.Value
	if string(v.Err) != "null" || v.UnitsConsumed != 150 || v.Fee != 5000 || v.Accounts[0].Lamports != sol ||
		v.ReplacementBlockhash.LastValidBlockHeight != s.Height()+150 {
		t.Errorf("%+v", v)
	}
	s.refused(t, codeInvalidParams, "simulateTransaction", text, object{"encoding": "base64", "replaceRecentBlockhash": true, "sigVerify": true})
	s.advance(t, 5)
	if s.Balance(addressOf("bob").String()) != 0 {
		t.Error("a simulation paid")
	}
}

func TestFeeForMessage(t *testing.T) {
	s := serve(t, Options{})
	s.fund(t, "alice", sol)
	h, _ := s.blockhashAt(t, processed)
	ask := func(d draft) string {
		d.payer = "alice"
		wire := d.bytes()
		message := wire[1+64*int(wire[0]):]
		r := s.ask(t, "getFeeForMessage", base64.StdEncoding.EncodeToString(message), object{"commitment": processed})
		var got struct{ Value json.RawMessage }
		if r.Error != nil || json.Unmarshal(r.Result, &got) != nil {
			t.Fatalf("%+v", r)
		}
		return string(got.Value)
	}
	pay := transferTo(addressOf("alice"), addressOf("bob"), 1)
	if got := ask(draft{blockhash: h, calls: []call{pay}}); got != "5000" {
		t.Error(got)
	}
	if got := ask(draft{blockhash: h, calls: []call{unitLimit(1500), unitPrice(1_000_000), pay}}); got != "6500" {
		t.Error(got)
	}
	if got := ask(draft{blockhash: hash{1}, calls: []call{pay}}); got != "null" {
		t.Error(got)
	}
	ed25519 := func(data ...byte) call { return call{ed25519Program, nil, data} }
	for _, c := range []struct {
		name  string
		calls []call
		want  string
	}{
		{"rounded up", []call{unitLimit(1), unitPrice(1), pay}, "5001"},
		{"exact", []call{unitLimit(2_000_000), unitPrice(1_000_000), pay}, "1405000"}, // at most 1.4 million units
		{"a price of 0", []call{unitLimit(1000), unitPrice(0), pay}, "5000"},
		{"a limit of 0", []call{unitLimit(0), unitPrice(1_000_000), pay}, "5000"},
		{"builtins alone", []call{unitPrice(1_000_000), pay}, "11000"},
		{"another program", []call{unitPrice(1_000_000), pay, memoCall(memoV3, "x")}, "211000"},
		{"builtins that cannot be called here", []call{unitPrice(1_000_000), {voteProgram, nil, nil}, {loaderV3, nil, nil}, ed25519()}, "17000"},
		{"the newest precompile is no builtin", []call{unitPrice(1_000_000), {secp256r1Program, nil, nil}}, "208000"},
		{"signatures that programs check", []call{ed25519(2), {secp256k1Program, nil, []byte{1}}, {secp256r1Program, nil, []byte{3}}, ed25519()}, "35000"},
		{"the largest price", []call{unitLimit(1_000_000), unitPrice(math.MaxUint64), pay}, "18446744073709551615"},
		{"a unit price twice", []call{unitPrice(7), unitPrice(7), pay}, "5000"},
		{"an unknown request", []call{{budgetProgram, nil, []byte{9}}, unitPrice(1_000_000), pay}, "5000"},
		{"other requests", []call{{budgetProgram, nil, pack(byte(1), uint32(64<<10))}, {budgetProgram, nil, pack(byte(4), uint32(99))}, unitLimit(9), unitPrice(1_000_000), pay}, "5009"},
		{"another payer", []call{transferTo(addressOf("bob"), addressOf("alice"), 1)}, "10000"},
	} {
		for _, versioned := range []bool{false, true} {
			if got := ask(draft{blockhash: h, calls: c.calls, versioned: versioned}); got != c.want {
				t.Errorf("%s (versioned %v): %s, not %s", c.name, versioned, got, c.want)
			}
		}
	}
}

func TestAccountsAreShown(t *testing.T) {
	s := serve(t, Options{FinalizedLag: -1, ConfirmedLag: -1})
	s.fund(t, "alice", sol)
	alice := addressOf("alice").String()
	for encoding, data := range map[string]string{"": `""`, "base58": `["","base58"]`, "base64": `["","base64"]`, "jsonParsed": `["","base64"]`} {
		cfg := object{}
		if encoding != "" {
			cfg["encoding"] = encoding
		}
		r := s.ask(t, "getAccountInfo", alice, cfg)
		var got struct{ Value json.RawMessage }
		if err := json.Unmarshal(r.Result, &got); err != nil {
			t.Fatal(err)
		}
		want := `{"data":` + data + `,"executable":false,"lamports":1000000000,"owner":"11111111111111111111111111111111","rentEpoch":18446744073709551615,"space":0}`
		if !sameJSON(got.Value, []byte(want)) {
			t.Errorf("%s: %s", encoding, got.Value)
		}
	}
	s.refused(t, codeInvalidParams, "getAccountInfo", alice, object{"encoding": "base32"})
	s.refused(t, codeInvalidParams, "getAccountInfo", addressOf("carol").String(), object{"encoding": "base32"})
	var several struct{ Value []json.RawMessage }
	s.must(t, &several, "getMultipleAccounts", []string{alice, addressOf("carol").String(), systemProgram.String()},
		object{"encoding": "base64", "dataSlice": object{"offset": 0, "length": 6}})
	if string(several.Value[1]) != "null" || !strings.Contains(string(several.Value[2]), base64.StdEncoding.EncodeToString([]byte("solana"))) {
		t.Errorf("%s", several.Value)
	}
	var tokens struct{ Value []any }
	s.must(t, &tokens, "getTokenAccountsByOwner", alice, object{"programId": "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"}, inBase64)
	if tokens.Value == nil || len(tokens.Value) != 0 {
		t.Errorf("%v", tokens.Value)
	}
}

func TestSlotsWithoutABlock(t *testing.T) {
	s := serve(t, Options{})
	s.advance(t, 100)
	var slots []uint64
	s.must(t, &slots, "getBlocks", 17, 21, object{"commitment": confirmed})
	if fmt.Sprint(slots) != "[17 18 20 21]" {
		t.Errorf("blocks %v", slots)
	}
	s.refused(t, codeSlotSkipped, "getBlock", 19)
	s.refused(t, codeBlockNotHere, "getBlock", 9999)
	var block struct {
		BlockHeight, ParentSlot uint64
		BlockTime               int64
	}
	s.must(t, &block, "getBlock", 20)
	if block.BlockHeight != 19 || block.ParentSlot != 18 || block.BlockTime != 1_700_000_006 {
		t.Errorf("%+v", block)
	}
	for height := range uint64(1000) {
		if slot := slotOf(height); heightAt(slot) != height || skipped(slot) {
			t.Fatalf("height %d has slot %d", height, slot)
		}
	}
}
