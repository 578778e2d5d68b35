package webhooks

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"purser/wallet"
)

// TestWhatIsSaidToBeEmittedIsEmitted, and nothing else: a package that emits an event makes its data somewhere.
func TestTheReasonOfAFailureIsRenderedWhenTheEventIs(t *testing.T) {
	stored := wallet.TransactionFailedEvent{TransactionFailedData: wallet.TransactionFailedData{TransactionID: "tx_1", ErrorCode: wallet.ChainError},
		ErrorReason: wallet.Because("failed_because.on_chain", wallet.TextArg("Error", "InstructionError 0: Custom 1"))}
	e, err := wallet.NewEvent("evt_1", wallet.TransactionFailed, time.Unix(0, 0), "usr_1", stored)
	if err != nil {
		t.Fatal(err)
	}
	body, err := Body(wallet.APIKey, e)
	if err != nil || !bytes.Contains(body, []byte(`"error_message":"It failed on Solana: InstructionError 0: Custom 1"`)) || bytes.Contains(body, []byte("error_reason")) {
		t.Errorf("%s, %v", body, err)
	}
	stored.ErrorReason = wallet.Because("failed_because.nothing")
	if e, err = wallet.NewEvent("evt_1", wallet.TransactionFailed, time.Unix(0, 0), "usr_1", stored); err != nil {
		t.Fatal(err)
	}
	if body, err := Body(wallet.APIKey, e); err == nil {
		t.Errorf("a reason that nobody knows is sent as %s", body)
	}
}

func TestWhatIsSaidToBeEmittedIsEmitted(t *testing.T) {
	made := map[string]string{} // where the data of each type is made
	for _, folder := range []string{"wallet", "handlers", "settle", "chat", "bot", "notify", "market", "api"} {
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(folder, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				literal, ok := n.(*ast.CompositeLit)
				if !ok {
					return true
				}
				switch kind := literal.Type.(type) {
				case *ast.Ident:
					made[kind.Name] = file
				case *ast.SelectorExpr:
					made[kind.Sel.Name] = file
				}
				return true
			})
		}
	}
	emitted := 0
	for _, e := range Catalogue() {
		data := reflect.TypeOf(e.data).Name()
		if e.Name == wallet.WalletConnected {
			data = "WalletConnectedData" // bots are told a part of it
		}
		if where, ok := made[data]; ok != e.Emitted {
			t.Errorf("%s is said to be emitted: %v; its %s is made in %q", e.Name, e.Emitted, data, where)
		}
		if e.Emitted {
			emitted++
		}
	}
	if emitted < 10 {
		t.Errorf("%d events are emitted", emitted)
	}
}

// schema compiles the schema of an event as a developer's tools do.
func schema(t *testing.T, e EventType) *jsonschema.Schema {
	t.Helper()
	raw, err := e.Schema()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%s: %v in %s", e.Name, err, raw)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("event.json", parsed); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("event.json")
	if err != nil {
		t.Fatalf("%s: %v", e.Name, err)
	}
	return compiled
}

func example(t *testing.T, e EventType) map[string]any {
	t.Helper()
	raw, err := e.Example()
	if err != nil {
		t.Fatal(err)
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return body.(map[string]any)
}

// specified are the fields of docs/specification.md, Events, and of the one event that we add.
func specified() map[wallet.KeyKind]map[wallet.EventName]string {
	return map[wallet.KeyKind]map[wallet.EventName]string{
		wallet.APIKey: {
			"transaction.pending":      "transaction_id wallet_address amount token type recipient submitted_at",
			"transaction.confirmed":    "transaction_id signature wallet_address amount token fee type recipient block_height confirmations confirmed_at",
			"transaction.failed":       "transaction_id wallet_address amount token type error_code error_message failed_at",
			"transaction.received":     "transaction_id signature wallet_address amount token sender received_at",
			"balance.updated":          "wallet_address balances total_usd_value updated_at",
			"wallet.connected":         "user_id wallet_address wallet_type connected_at",
			"wallet.disconnected":      "user_id wallet_address disconnected_at reason",
			"price.alert":              "alert_id user_id token condition target_price current_price triggered_at",
			"price.significant_change": "token previous_price current_price change_percent change_amount timeframe triggered_at",
			"stake.delegated":          "user_id wallet_address validator_address amount transaction_signature delegated_at",
			"stake.reward":             "user_id wallet_address reward_amount epoch validator_address distributed_at",
			"stake.undelegated":        "user_id wallet_address validator_address amount transaction_signature cooldown_end undelegated_at",
			"webhook.test":             "webhook_id message",
		},
		wallet.BotKey: {
			"message.received": "chat_id username message timestamp",
			"command.executed": "chat_id command success response timestamp",
			"user.registered":  "chat_id username first_name registered_at",
			"wallet.connected": "chat_id wallet_address connected_at",
		},
	}
}

func TestTheCatalogueIsTheSpecifications(t *testing.T) {
	seen, specified := map[wallet.EventName]bool{}, specified()
	for _, e := range Catalogue() {
		seen[e.Name] = true
		body := example(t, e)
		envelope := []string{"data", "event", "timestamp"}
		if e.Kind == wallet.BotKey {
			envelope = envelope[:2]
		}
		if got := slices.Sorted(maps.Keys(body)); !slices.Equal(got, envelope) {
			t.Errorf("%s: the envelope holds %v", e.Name, got)
		}
		fields := body["data"].(map[string]any)
		want := strings.Fields(specified[e.Kind][e.Name])
		if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s of %s: data holds %v, specified is %v", e.Name, e.Kind, got, want)
		}
		for name, value := range fields {
			if number, ok := value.(json.Number); ok && !slices.Contains([]string{"block_height", "confirmations", "epoch", "change_percent"}, name) {
				t.Errorf("%s: %s is the number %s", e.Name, name, number)
			}
		}
		delete(specified[e.Kind], e.Name)
		if e.When == "" || !strings.HasSuffix(e.When, ".") || e.Public && e.Scope != "" {
			t.Errorf("%s: %+v", e.Name, e)
		}
	}
	for kind, missing := range specified {
		if len(missing) > 0 {
			t.Errorf("%s: not in the catalogue: %v", kind, slices.Sorted(maps.Keys(missing)))
		}
	}
	// And there is no event besides.
	file, err := parser.ParseFile(token.NewFileSet(), "../wallet/events.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	public := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		if ident, ok := spec.Type.(*ast.Ident); ok && ident.Name == "EventName" {
			text, _ := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if name := wallet.EventName(text); name.Public() {
				public++
				if !seen[name] {
					t.Errorf("%s is not in the catalogue", name)
				}
			}
		}
		return true
	})
	if public != len(seen) {
		t.Errorf("%d names in wallet, %d in the catalogue", public, len(seen))
	}
}

func TestBodiesKeepTheirSchemaAndChangedOnesDoNot(t *testing.T) {
	for _, e := range Catalogue() {
		s := schema(t, e)
		if err := s.Validate(example(t, e)); err != nil {
			t.Errorf("%s of %s: %v", e.Name, e.Kind, err)
			continue
		}
		changed := 0
		fails := func(what string, change func(body map[string]any)) {
			body := example(t, e)
			change(body)
			changed++
			if s.Validate(body) == nil {
				t.Errorf("%s of %s keeps its schema: %s", e.Name, e.Kind, what)
			}
		}
		fails("another event", func(b map[string]any) { b["event"] = "transaction.lost" })
		fails("data is a list", func(b map[string]any) { b["data"] = []any{} })
		for name := range example(t, e) {
			fails("without "+name, func(b map[string]any) { delete(b, name) })
		}
		if e.Kind == wallet.APIKey {
			fails("a timestamp of another form", func(b map[string]any) { b["timestamp"] = "2026-01-31T12:00:00Z" })
			fails("a timestamp in seconds", func(b map[string]any) { b["timestamp"] = json.Number("1769860800") })
		}
		data := func(b map[string]any) map[string]any { return b["data"].(map[string]any) }
		for name, value := range data(example(t, e)) {
			fails("without "+name, func(b map[string]any) { delete(data(b), name) })
			fails(name+" is null", func(b map[string]any) { data(b)[name] = nil })
			switch value.(type) {
			case string:
				fails(name+" is a number", func(b map[string]any) { data(b)[name] = json.Number("1") })
			default:
				fails(name+" is a text", func(b map[string]any) { data(b)[name] = "1" })
			}
			form := meanings[name].form
			if form != anyForm || strings.HasSuffix(name, "_at") || name == "timestamp" {
				fails(name+" has another form", func(b map[string]any) { data(b)[name] = "\n" })
			}
			if form == decimalForm {
				for _, odd := range []string{"", "1e3", "1,5", ".5", "NaN", "+1", "0x1"} {
					fails(name+" is "+odd, func(b map[string]any) { data(b)[name] = odd })
				}
			}
		}
		if changed < 8 {
			t.Errorf("%s: %d changes only", e.Name, changed)
		}
		more := example(t, e)
		more["added"], data(more)["added"] = "one day", json.Number("1")
		if err := s.Validate(more); err != nil {
			t.Errorf("%s forbids a field that is added: %v", e.Name, err)
		}
	}
	balances := ruled(t, wallet.APIKey, wallet.BalanceUpdated)
	body := example(t, balances)
	delete(body["data"].(map[string]any)["balances"].(map[string]any)["SOL"].(map[string]any), "change")
	if schema(t, balances).Validate(body) == nil {
		t.Error("a balance without its change keeps the schema")
	}
}

func ruled(t *testing.T, kind wallet.KeyKind, name wallet.EventName) EventType {
	t.Helper()
	e, ok := ruleOf(kind, name)
	if !ok {
		t.Fatalf("%s has no %s", kind, name)
	}
	return e
}

// What is unset or unknown is "" where the specification gives a text, and that keeps the schema too.
func TestUnknownValuesKeepTheirSchema(t *testing.T) {
	address := exampleAddress("7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU")
	at := wallet.Timestamp(time.Unix(0, 0))
	for _, c := range []struct {
		kind wallet.KeyKind
		name wallet.EventName
		data any
	}{
		{wallet.APIKey, wallet.BalanceUpdated, wallet.BalanceUpdatedData{WalletAddress: address, UpdatedAt: at,
			Balances: map[string]wallet.BalanceData{"mint": {Amount: "0", Change: "0"}}}},
		{wallet.APIKey, wallet.BalanceUpdated, wallet.BalanceUpdatedData{WalletAddress: address, UpdatedAt: at, Balances: map[string]wallet.BalanceData{}}},
		{wallet.APIKey, wallet.WalletConnected, wallet.WalletConnectedData{WalletAddress: address, WalletType: wallet.DeveloperWallet, ConnectedAt: at}},
		{wallet.BotKey, wallet.WalletConnected, wallet.WalletConnectedData{WalletAddress: address, WalletType: wallet.DeveloperWallet, ConnectedAt: at}},
		{wallet.APIKey, wallet.TransactionReceived, wallet.TransactionReceivedData{TransactionID: "tx_1", Signature: exampleSignature("5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW"),
			WalletAddress: address, Amount: "1", Token: "SOL", ReceivedAt: at}},
		{wallet.APIKey, wallet.PriceSignificantChange, wallet.PriceSignificantChangeData{Token: "SOL", PreviousPrice: "2", CurrentPrice: "1", ChangePercent: "-50", ChangeAmount: "-1", Timeframe: "24h", TriggeredAt: at}},
		{wallet.BotKey, wallet.MessageReceived, wallet.MessageReceivedData{ChatID: "-1", Message: "<b>\u2028\x00&", Timestamp: at}},
		{wallet.BotKey, wallet.CommandExecuted, wallet.CommandExecutedData{ChatID: "1", Command: "/help", Timestamp: at}},
		{wallet.BotKey, wallet.UserRegistered, wallet.UserRegisteredData{ChatID: "1", RegisteredAt: at}},
	} {
		event, err := wallet.NewEvent("evt_1", c.name, time.Unix(0, 0), "", c.data)
		if err != nil {
			t.Fatal(err)
		}
		body, err := Body(c.kind, event)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if err := schema(t, ruled(t, c.kind, c.name)).Validate(parsed); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestEachKindIsToldItsOwnOfAConnectedWallet(t *testing.T) {
	event, err := wallet.NewEvent("evt_1", wallet.WalletConnected, time.Date(2026, 1, 31, 12, 0, 0, 5_000_000, time.UTC), "usr_1",
		wallet.WalletConnectedData{ChatID: "42", UserID: "usr_1", WalletAddress: exampleAddress("7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU"),
			WalletType: wallet.PageWallet, ConnectedAt: "2026-01-31T12:00:00.005Z"})
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[wallet.KeyKind]string{
		wallet.APIKey: `{"event":"wallet.connected","data":{"user_id":"usr_1","wallet_address":"7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU","wallet_type":"page","connected_at":"2026-01-31T12:00:00.005Z"},"timestamp":"2026-01-31T12:00:00.005Z"}`,
		wallet.BotKey: `{"event":"wallet.connected","data":{"chat_id":"42","wallet_address":"7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU","connected_at":"2026-01-31T12:00:00.005Z"}}`,
	} {
		first, err := Body(kind, event)
		again, _ := Body(kind, event)
		if err != nil || string(first) != want || !bytes.Equal(first, again) {
			t.Errorf("%s: %s (%v)", kind, first, err)
		}
	}
}

func TestWhatIsNotForAKindHasNoBody(t *testing.T) {
	for _, c := range []struct {
		kind wallet.KeyKind
		name wallet.EventName
	}{{wallet.BotKey, wallet.TransactionPending}, {wallet.APIKey, wallet.MessageReceived}, {wallet.APIKey, wallet.TransactionSigned},
		{wallet.BotKey, wallet.TransactionSigned}, {"", wallet.TransactionPending}, {wallet.APIKey, ""}} {
		if body, err := Body(c.kind, wallet.Event{Name: c.name, Data: json.RawMessage(`{}`)}); err == nil {
			t.Errorf("%s for %s: %s", c.name, c.kind, body)
		}
	}
	if body, err := Body(wallet.APIKey, wallet.Event{Name: wallet.WalletConnected, Data: json.RawMessage(`[`)}); err == nil {
		t.Errorf("broken data: %s", body)
	}
}
