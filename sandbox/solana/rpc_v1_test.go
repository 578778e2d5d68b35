package solana

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/gagliardetto/solana-go"
	transfers "github.com/gagliardetto/solana-go/programs/system"
	"github.com/gagliardetto/solana-go/rpc"
)

// v1 is a signed version 1 transaction in base64, its signature and its message.
func (s served) v1(t *testing.T, d draft) (text, sig string, message []byte) {
	t.Helper()
	d.blockhash, _ = s.blockhashAt(t, processed)
	wire := d.bytes()
	end := len(wire) - 64*int(wire[1])
	return base64.StdEncoding.EncodeToString(wire), signature(wire[end : end+64]).String(), wire[:end]
}

func payV1(lamports uint64, config *messageConfig) draft {
	return draft{payer: "alice", config: config, calls: []call{transferTo(addressOf("alice"), addressOf("bob"), lamports)}}
}

func TestVersion1LandsAndIsServed(t *testing.T) {
	s := serve(t, Options{FinalizedLag: 2})
	s.fund(t, "alice", 10*sol)
	config := v1Budget(1000)
	config.PriorityFee = new(uint64(77))
	text, sig, message := s.v1(t, payV1(sol, config))

	var fee struct{ Value uint64 }
	s.must(t, &fee, "getFeeForMessage", base64.StdEncoding.EncodeToString(message), object{"commitment": processed})
	if fee.Value != 5077 {
		t.Errorf("a fee of %d is announced", fee.Value)
	}
	var simulated struct {
		Value struct {
			Err           any
			UnitsConsumed uint64
			Fee           uint64
		}
	}
	s.must(t, &simulated, "simulateTransaction", text, object{"encoding": "base64", "sigVerify": true, "commitment": processed})
	if simulated.Value.Err != nil || simulated.Value.UnitsConsumed != 150 || simulated.Value.Fee != 5077 {
		t.Errorf("simulated: %+v", simulated.Value)
	}
	var answered string
	s.must(t, &answered, "sendTransaction", text, preflight)
	if answered != sig {
		t.Fatalf("sent as %s, not %s", answered, sig)
	}
	s.advance(t, 3)
	if st := s.status(t, sig); st == nil || st.Level != finalized || string(st.Err) != "null" {
		t.Fatalf("%+v", st)
	}
	if got := s.Balance(addressOf("alice").String()); got != 9*sol-5077 {
		t.Errorf("alice holds %d", got)
	}

	slot := s.status(t, sig).Slot
	const unsupported = `Transaction version (1) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": 1`
	for _, options := range []object{{}, {"encoding": "base64"}, {"maxSupportedTransactionVersion": 0}, {"encoding": "jsonParsed", "maxSupportedTransactionVersion": 0}} {
		for method, of := range map[string]any{"getTransaction": sig, "getBlock": slot} {
			if message, data := s.refused(t, -32015, method, of, options); message != unsupported || data != nil {
				t.Errorf("%s: %q %s", method, message, data)
			}
		}
	}
	// Without transactions nobody has to understand them.
	var light struct{ Signatures []string }
	s.must(t, &light, "getBlock", slot, object{"transactionDetails": "signatures"})
	if len(light.Signatures) != 1 || light.Signatures[0] != sig {
		t.Errorf("signatures %v", light.Signatures)
	}

	type shown struct {
		Version     int
		Transaction json.RawMessage
		Meta        struct{ Fee uint64 }
	}
	for _, most := range []int{1, 2, 255} {
		var got shown
		s.must(t, &got, "getTransaction", sig, object{"encoding": "base64", "maxSupportedTransactionVersion": most})
		var wire []string
		if err := json.Unmarshal(got.Transaction, &wire); err != nil || wire[0] != text || got.Version != 1 || got.Meta.Fee != 5077 {
			t.Errorf("version %d, fee %d, %s (%v)", got.Version, got.Meta.Fee, got.Transaction, err)
		}
	}
	for _, encoding := range []string{"json", "jsonParsed"} {
		var got shown
		s.must(t, &got, "getTransaction", sig, object{"encoding": encoding, "maxSupportedTransactionVersion": 1})
		if !strings.Contains(string(got.Transaction), `"transactionConfig":{"computeUnitLimit":1000,"heapSize":null,"loadedAccountsDataSizeLimit":67108864,"priorityFee":77}`) ||
			strings.Contains(string(got.Transaction), "addressTableLookups") {
			t.Errorf("%s: %s", encoding, got.Transaction)
		}
	}
	var block struct{ Transactions []shown }
	s.must(t, &block, "getBlock", slot, object{"encoding": "base64", "maxSupportedTransactionVersion": 1})
	if len(block.Transactions) != 1 || block.Transactions[0].Version != 1 {
		t.Errorf("block %+v", block)
	}
	var paid []struct{ PrioritizationFee uint64 }
	s.must(t, &paid, "getRecentPrioritizationFees", []string{addressOf("alice").String()})
	highest := uint64(0)
	for _, p := range paid {
		highest = max(highest, p.PrioritizationFee)
	}
	if highest != 77_000 { // 77 lamports for 1,000 units
		t.Errorf("a price of %d micro-lamports a unit", highest)
	}
}

func TestAVersion0ClientGetsNoVersion1(t *testing.T) {
	s := serve(t, Options{FinalizedLag: 1})
	s.fund(t, "alice", 10*sol)
	h, _ := s.blockhashAt(t, processed)
	wire := draft{payer: "alice", blockhash: h, versioned: true, calls: []call{memoCall(memoV3, "x")}}.bytes()
	text, sig := encode(wire)
	s.must(t, new(string), "sendTransaction", text, preflight)
	s.advance(t, 2)
	if message, _ := s.refused(t, -32015, "getTransaction", sig); !strings.HasSuffix(message, `"maxSupportedTransactionVersion": 0`) {
		t.Error(message)
	}
	var got struct{ Version int }
	s.must(t, &got, "getTransaction", sig, object{"maxSupportedTransactionVersion": 0})
	if got.Version != 0 {
		t.Errorf("version %d", got.Version)
	}
}

func TestVersion1IsStillThereAfterARestart(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	s := serve(t, Options{Dir: dir, Now: clock.now})
	s.fund(t, "alice", 10*sol)
	text, sig, _ := s.v1(t, payV1(sol, v1Budget(1000)))
	s.must(t, new(string), "sendTransaction", text, preflight)
	s.advance(t, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = serve(t, Options{Dir: dir, Now: clock.now})
	s.advance(t, 40)
	var got struct{ Version int }
	s.must(t, &got, "getTransaction", sig, object{"encoding": "base64", "maxSupportedTransactionVersion": 1})
	if got.Version != 1 || s.Balance(addressOf("bob").String()) != sol {
		t.Errorf("version %d, bob holds %d", got.Version, s.Balance(addressOf("bob").String()))
	}
}

// TestLargeVersion1IsTaken sends one of the most bytes that version 1 allows, and one of a byte more.
func TestLargeVersion1IsTaken(t *testing.T) {
	s := serve(t, Options{})
	s.fund(t, "alice", sol)
	large := func(size int) draft {
		return draft{payer: "alice", config: v1Budget(200_000), calls: []call{memoCall(memoV3, strings.Repeat("x", size-182))}}
	}
	text, sig, _ := s.v1(t, large(4096))
	if n := base64.StdEncoding.DecodedLen(len(text)); n < 4096 || n > 4098 {
		t.Fatalf("%d bytes", n)
	}
	var answered string
	s.must(t, &answered, "sendTransaction", text, preflight)
	s.advance(t, 1)
	if st := s.status(t, sig); answered != sig || st == nil {
		t.Errorf("%+v", st)
	}
	if _, err := parseTransaction(large(4097).bytes()); err == nil {
		t.Error("4,097 bytes parse")
	}
	text, _, _ = s.v1(t, large(4097))
	s.refused(t, codeInvalidParams, "sendTransaction", text, preflight)
	// The other versions have not grown.
	long := draft{payer: "alice", calls: []call{memoCall(memoV3, strings.Repeat("x", 1100))}}
	s.refused(t, codeInvalidParams, "sendTransaction", base64.StdEncoding.EncodeToString(long.bytes()), preflight)
	long.versioned = true
	s.refused(t, codeInvalidParams, "simulateTransaction", base64.StdEncoding.EncodeToString(long.bytes()), inBase64)
}

// TestVersion1AsSolanaGoBuildsIt lets the product's library build and read what the sandbox parses
// by itself.
func TestVersion1AsSolanaGoBuildsIt(t *testing.T) {
	s := serve(t, Options{FinalizedLag: 1})
	s.fund(t, "alice", 10*sol)
	ctx, client := t.Context(), rpc.New(s.url)
	latest, err := client.GetLatestBlockhash(ctx, rpc.CommitmentProcessed)
	if err != nil {
		t.Fatal(err)
	}
	key := sdk.PrivateKey(person("alice"))
	tx, err := sdk.NewTransaction([]sdk.Instruction{
		transfers.NewTransferInstruction(sol, key.PublicKey(), sdk.PublicKey(addressOf("bob"))).Build(),
	}, latest.Value.Blockhash, sdk.TransactionPayer(key.PublicKey()), sdk.TransactionV1Config(
		sdk.TransactionConfig{}.WithPriorityFee(9).WithComputeUnitLimit(500).WithLoadedAccountsDataSizeLimit(1<<20).WithHeapSize(64<<10)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Sign(func(sdk.PublicKey) *sdk.PrivateKey { return &key }); err != nil {
		t.Fatal(err)
	}
	if fee, err := client.GetFeeForMessage(ctx, tx.Message.ToBase64(), rpc.CommitmentProcessed); err != nil || *fee.Value != 5009 {
		t.Errorf("%+v %v", fee, err)
	}
	sig, err := client.SendTransactionWithOpts(ctx, tx, rpc.TransactionOpts{PreflightCommitment: rpc.CommitmentProcessed})
	if err != nil {
		t.Fatal(err)
	}
	s.advance(t, 2)
	one := uint64(1)
	for _, encoding := range []sdk.EncodingType{sdk.EncodingBase64, sdk.EncodingJSON} {
		got, err := client.GetTransaction(ctx, sig, &rpc.GetTransactionOpts{MaxSupportedTransactionVersion: &one, Encoding: encoding})
		if err != nil {
			t.Fatal(err)
		}
		back, err := got.Transaction.GetTransaction()
		if err != nil || got.Version != 1 || got.Meta.Fee != 5009 || back.Message.GetVersion() != sdk.MessageVersionV1 {
			t.Fatalf("%s: %+v %v", encoding, got, err)
		}
		if c := back.Message.TransactionConfig; *c.PriorityFee != 9 || *c.ComputeUnitLimit != 500 || *c.LoadedAccountsDataSizeLimit != 1<<20 || *c.HeapSize != 64<<10 {
			t.Errorf("%s: %+v", encoding, c)
		}
		if err := back.VerifySignatures(); err != nil {
			t.Errorf("%s: %v", encoding, err)
		}
	}
}

// TestVersion1OfTheRustSDK parses a transaction that the official SDK made.
func TestVersion1OfTheRustSDK(t *testing.T) {
	wire, err := hex.DecodeString("8101000113000000070707070707070707070707070707070707070707070707070707070707070701028a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c1010101010101010101010101010101010101010101010101010101010101010010000000000000000800000010100000070083fb1bf5a9e2c90c6903b7328529cdf59e04e2fcf29c718bea8c76fd325f4b67e18feb1f95f9aab171140b81b8c8238c9ffea33d4133bae92af68c6453800")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := parseTransaction(wire)
	if err != nil || tx.sanitize() != nil || !tx.signed() {
		t.Fatalf("%+v %v", tx, err)
	}
	if c := tx.Config; *c.PriorityFee != 1 || *c.Heap != 32768 || c.Units != nil || c.LoadedData != nil {
		t.Errorf("%+v", c)
	}
	for n := range wire {
		if _, err := parseTransaction(wire[:n]); err == nil {
			t.Errorf("%d of its bytes parse", n)
		}
	}
	if _, err := parseTransaction(append(wire, 0)); err == nil {
		t.Error("a byte too many parses")
	}
	// The same message in the envelope of the other versions is malformed.
	message := wire[:len(wire)-64]
	if _, err := parseTransaction(append(append([]byte{1}, wire[len(wire)-64:]...), message...)); err == nil {
		t.Error("version 1 parses behind its signatures")
	}
	if _, err := parseMessage(append(message, 0)); err == nil {
		t.Error("a message with a byte too many parses")
	}
}

func TestAnUnknownBoundOfAHistoryIsAnError(t *testing.T) {
	s := serve(t, Options{FinalizedLag: 1})
	s.fund(t, "alice", sol)
	s.advance(t, 2)
	alice := addressOf("alice").String()
	var all []struct{ Signature string }
	s.must(t, &all, "getSignaturesForAddress", alice)
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	unknown := signature{7}.String()
	for _, bound := range []string{"before", "until"} {
		message, data := s.refused(t, -32020, "getSignaturesForAddress", alice, object{bound: unknown})
		if message != "Transaction "+unknown+" not found" || data != nil {
			t.Errorf("%s: %q %s", bound, message, data)
		}
		var none []any
		s.must(t, &none, "getSignaturesForAddress", alice, object{bound: all[0].Signature})
		if len(none) != 0 {
			t.Errorf("%s the only one: %v", bound, none)
		}
	}
}

func TestTheAnnouncedFeeIsCharged(t *testing.T) {
	s := serve(t, Options{FinalizedLag: 1})
	s.fund(t, "alice", 10*sol)
	pay := transferTo(addressOf("alice"), addressOf("bob"), sol)
	priced := v1Budget(1000)
	priced.PriorityFee = new(uint64(1234))
	for name, d := range map[string]draft{
		"legacy":             {calls: []call{pay}},
		"legacy, priced":     {calls: []call{unitLimit(777), unitPrice(123_456), pay}},
		"version 0, priced":  {versioned: true, calls: []call{unitPrice(99_999), pay}},
		"version 1":          {config: v1Budget(1000), calls: []call{pay}},
		"version 1, priced":  {config: priced, calls: []call{pay, unitPrice(1_000_000)}},
		"version 1, failing": {config: priced, calls: []call{transferTo(addressOf("alice"), addressOf("bob"), 100*sol)}},
	} {
		d.payer = "alice"
		d.blockhash, _ = s.blockhashAt(t, processed)
		wire := d.bytes()
		tx, err := parseTransaction(wire)
		if err != nil {
			t.Fatal(err)
		}
		var announced struct{ Value uint64 }
		s.must(t, &announced, "getFeeForMessage", base64.StdEncoding.EncodeToString(tx.Raw), object{"commitment": processed})
		var sig string
		s.must(t, &sig, "sendTransaction", base64.StdEncoding.EncodeToString(wire), blindly)
		s.advance(t, 2)
		var got struct{ Meta struct{ Fee uint64 } }
		s.must(t, &got, "getTransaction", sig, object{"encoding": "base64", "maxSupportedTransactionVersion": 1})
		if announced.Value < 5000 || got.Meta.Fee != announced.Value {
			t.Errorf("%s: %d announced, %d charged", name, announced.Value, got.Meta.Fee)
		}
	}
}
