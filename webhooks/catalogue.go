package webhooks

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"purser/locale"
	"purser/wallet"
)

// EventType describes all events of one name, before any of them happens. The documentation, GET /v1/webhooks/events
// and the rules of authorize are made from it.
type EventType struct {
	Name   wallet.EventName
	Kind   wallet.KeyKind // kind of the keys whose webhooks take it
	When   string         // one sentence, shown in the documentation: when it is emitted
	Scope  wallet.Scope   // of the grant that lets apps of other people receive it; "" for none
	Public bool           // it is about nobody, so every webhook of its kind may have it
	// Emitted says that purser emits it today. Others can be subscribed to, and come with a later version.
	Emitted bool

	data any // an example; its type is the shape of the data
}

// Catalogue lists all events that webhooks can receive (docs/specification.md, Events).
//
// Long: one entry for each event.
func Catalogue() []EventType {
	var (
		// Values of the examples. They are no secrets: the addresses are well-known accounts of Solana's main
		// network.
		owner     = exampleAddress("7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU")
		other     = exampleAddress("9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM")
		validator = exampleAddress("CertusDeBmqN8ZawdkxK5kFGMwBXdudvWHYwtNgNhvLu")
		signature = exampleSignature("5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW")
	)
	const (
		at   = "2026-01-31T12:00:00.000Z"
		txID = wallet.TransactionID("tx_4f9a2c7be01d")
		user = wallet.UserID("usr_81c5d2")
		chat = "123456789"
	)
	// The two kinds of keys have events of their own. wallet.connected exists for both, with different data.
	api, bot := wallet.APIKey, wallet.BotKey
	all := []EventType{
		{Name: wallet.TransactionPending, Kind: api, When: "A transaction was accepted by the network.", Scope: wallet.WalletRead,
			data: wallet.TransactionPendingData{TransactionID: txID, WalletAddress: owner, Amount: "1.5", Token: "SOL", Type: wallet.ActivitySent, Recipient: other, SubmittedAt: at}},
		{Name: wallet.TransactionConfirmed, Kind: api, When: "A transaction was confirmed by the network.", Scope: wallet.WalletRead,
			data: wallet.TransactionConfirmedData{TransactionID: txID, Signature: signature, WalletAddress: owner, Amount: "1.5", Token: "SOL", Fee: "0.000005", Type: wallet.ActivitySent,
				Recipient: other, BlockHeight: 301_442_117, Confirmations: 32, ConfirmedAt: at}},
		{Name: wallet.TransactionFailed, Kind: api, When: "A transaction failed, was rejected, or expired.", Scope: wallet.WalletRead,
			data: wallet.TransactionFailedData{TransactionID: txID, WalletAddress: owner, Amount: "1.5", Token: "SOL", Type: wallet.ActivitySent,
				ErrorCode: wallet.InsufficientBalance, ErrorMessage: "the wallet holds 0.4 SOL", FailedAt: at}},
		{Name: wallet.TransactionReceived, Kind: api, When: "A payment to a wallet became final, whoever sent it. Left out are dust and unlisted tokens, from unknown senders.", Scope: wallet.WalletRead,
			data: wallet.TransactionReceivedData{TransactionID: txID, Signature: signature, WalletAddress: owner, Amount: "25", Token: "USDC", Sender: other, ReceivedAt: at}},
		{Name: wallet.BalanceUpdated, Kind: api, When: "A finalized balance of a wallet changed, by whatever transaction. Changes by left-out payments alone come with the next one.", Scope: wallet.WalletRead,
			data: wallet.BalanceUpdatedData{WalletAddress: owner, Balances: map[string]wallet.BalanceData{
				"SOL":  {Amount: "3.5", USDValue: "532.00", Change: "-1.500005"},
				"USDC": {Amount: "25", USDValue: "25.00", Change: "0"},
			}, TotalUSDValue: "557.00", UpdatedAt: at}},
		{Name: wallet.WalletConnected, Kind: api, When: "A wallet was connected: its owner proved that they hold its key.", Scope: wallet.WalletRead,
			data: wallet.WalletConnectedData{UserID: user, WalletAddress: owner, WalletType: wallet.PageWallet, ConnectedAt: at}},
		{Name: wallet.WalletDisconnected, Kind: api, When: "A wallet was disconnected.", Scope: wallet.WalletRead,
			data: wallet.WalletDisconnectedData{UserID: user, WalletAddress: owner, DisconnectedAt: at, Reason: wallet.UserInitiated}},
		{Name: wallet.PriceAlert, Kind: api, When: "The condition of a price alert was met. An alert on a change has `change_percent` and `timeframe`, and no `target_price`.", Scope: wallet.WalletRead,
			data: wallet.PriceAlertData{AlertID: "alr_51b7", UserID: user, Token: "SOL", Condition: "above", TargetPrice: "150", CurrentPrice: "151.27", TriggeredAt: at}},
		{Name: wallet.PriceSignificantChange, Kind: api, When: "The price of SOL or a listed token moved by 5% within an hour, or by 10% within a day.", Public: true,
			data: wallet.PriceSignificantChangeData{Token: "SOL", PreviousPrice: "140", CurrentPrice: "151.27", ChangePercent: "8.05", ChangeAmount: "11.27", Timeframe: "1h", TriggeredAt: at}},
		{Name: wallet.StakeDelegated, Kind: api, When: "SOL was delegated to a validator.", Scope: wallet.WalletRead,
			data: wallet.StakeDelegatedData{UserID: user, WalletAddress: owner, ValidatorAddress: validator, Amount: "10", TransactionSignature: signature, DelegatedAt: at}},
		{Name: wallet.StakeReward, Kind: api, When: "A stake earned its reward of an epoch. One event for each stake and epoch, when the rewards of the epoch have been paid.", Scope: wallet.WalletRead,
			data: wallet.StakeRewardData{UserID: user, WalletAddress: owner, RewardAmount: "0.00212", Epoch: 742, ValidatorAddress: validator, DistributedAt: at}},
		{Name: wallet.StakeUndelegated, Kind: api, When: "A stake was undelegated: it can be withdrawn when its cooldown ends.", Scope: wallet.WalletRead,
			data: wallet.StakeUndelegatedData{UserID: user, WalletAddress: owner, ValidatorAddress: validator, Amount: "10", TransactionSignature: signature,
				CooldownEnd: "2026-02-02T12:00:00.000Z", UndelegatedAt: at}},
		{Name: wallet.WebhookTest, Kind: api, When: "A test of the webhook was requested. It is sent only to that webhook.",
			data: wallet.WebhookTestData{WebhookID: "wh_0c6e"}},

		{Name: wallet.MessageReceived, Kind: bot, When: "A person wrote to the bot outside its own questions. A reply to an app's message is sent only to that app and to operators.", Scope: wallet.BotMessages,
			data: wallet.MessageReceivedData{ChatID: chat, Username: "@alice", Message: "Good morning!", Timestamp: at}},
		{Name: wallet.CommandExecuted, Kind: bot, When: "A person ran a command, or an app ran one for them. Unknown commands are included, with `success` false.", Scope: wallet.BotMessages,
			data: wallet.CommandExecutedData{ChatID: chat, Command: "/price SOL", Success: true, Response: "1 SOL is 151.27 USD", Timestamp: at}},
		{Name: wallet.UserRegistered, Kind: bot, When: "A person started to use the bot.", Scope: wallet.BotUsers,
			data: wallet.UserRegisteredData{ChatID: chat, Username: "@alice", FirstName: "Alice", RegisteredAt: at}},
		{Name: wallet.WalletConnected, Kind: bot, When: "A person connected a wallet.", Scope: wallet.BotUsers,
			data: wallet.BotWalletConnectedData{ChatID: chat, WalletAddress: owner, ConnectedAt: at}},
	}
	for i := range all {
		all[i].Emitted = true
	}
	return all
}

// types has the events of the catalogue by kind and name. It never changes.
var types = func() map[wallet.KeyKind]map[wallet.EventName]EventType {
	all := map[wallet.KeyKind]map[wallet.EventName]EventType{wallet.APIKey: {}, wallet.BotKey: {}}
	for _, t := range Catalogue() {
		all[t.Kind][t.Name] = t
	}
	return all
}()

// ruleOf returns the entry of an event as webhooks of a kind get it. ok is false if they do not get it.
func ruleOf(kind wallet.KeyKind, name wallet.EventName) (EventType, bool) {
	t, ok := types[kind][name]
	return t, ok
}

// english renders the reasons of events. It is made once, from embedded texts, and never changes.
var english = sync.OnceValues(func() (*locale.Printer, error) {
	texts, err := locale.Refusals()
	if err != nil {
		return nil, err
	}
	return texts.Printer("en", locale.Style{}), nil
})

// failed returns the data of transaction.failed as it is published: its reason becomes error_message, in English. The
// event stores a key and arguments instead, for the chat to render in the person's language.
func failed(data json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(data, []byte(`"error_reason":`)) { // most have none, and need not be read
		return data, nil
	}
	var stored wallet.TransactionFailedEvent
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, err
	}
	if stored.ErrorReason.IsZero() {
		return data, nil
	}
	printer, err := english()
	if err != nil {
		return nil, err
	}
	if stored.ErrorMessage, err = printer.Reason(stored.ErrorReason); err != nil {
		return nil, err
	}
	return json.Marshal(stored.TransactionFailedData)
}

// tested returns the data of webhook.test as it is published: with its message, in English.
func tested(data json.RawMessage) (json.RawMessage, error) {
	var test wallet.WebhookTestData
	if err := json.Unmarshal(data, &test); err != nil {
		return nil, err
	}
	printer, err := english()
	if err != nil {
		return nil, err
	}
	if test.Message, err = printer.Text("webhooks.test", nil); err != nil {
		return nil, err
	}
	return json.Marshal(test)
}

// Body renders an event for webhooks of a kind, in the envelope of docs/specification.md: {event, data, timestamp},
// or {event, data} for bots. Every attempt sends these same bytes, so they are signed as they are stored. An error is
// a mistake of the program: the kind has no such event, or its data is not what the catalogue says.
func Body(kind wallet.KeyKind, e wallet.Event) ([]byte, error) {
	if _, ok := ruleOf(kind, e.Name); !ok {
		return nil, fmt.Errorf("%s is no event of webhooks of the kind %s", e.Name, kind)
	}
	// Most data is published as it was stored. These three are not.
	data, err := e.Data, error(nil)
	switch e.Name {
	case wallet.WalletConnected:
		data, err = connected(kind, data)
	case wallet.TransactionFailed:
		data, err = failed(data)
	case wallet.WebhookTest:
		data, err = tested(data)
	}
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", e.Name, err)
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("%s without data", e.Name)
	}
	// The data is JSON already, and compact: it need not be read to be copied.
	body := make([]byte, 0, len(data)+len(e.Name)+80)
	body = append(append(append(body, `{"event":"`...), e.Name...), `","data":`...)
	body = append(body, data...)
	if kind != wallet.BotKey {
		body = append(wallet.AppendTimestamp(append(body, `,"timestamp":"`...), e.At), '"')
	}
	return append(body, '}'), nil
}

// connected returns the data of wallet.connected for a kind. Both kinds have an event of this name, with different
// data.
func connected(kind wallet.KeyKind, data json.RawMessage) (json.RawMessage, error) {
	var all wallet.WalletConnectedData
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	if kind == wallet.BotKey {
		return json.Marshal(wallet.BotWalletConnectedData{ChatID: all.ChatID, WalletAddress: all.WalletAddress, ConnectedAt: all.ConnectedAt})
	}
	all.ChatID = ""
	return json.Marshal(all)
}

// Example returns a body as it is sent, with the data of the catalogue.
func (t EventType) Example() (json.RawMessage, error) {
	e, err := wallet.NewEvent("", t.Name, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), "", t.data)
	if err != nil {
		return nil, err
	}
	return Body(t.Kind, e)
}

// Schema returns the JSON Schema (2020-12) of a body. It allows unknown fields, since later versions may add some.
func (t EventType) Schema() (json.RawMessage, error) {
	// The envelope: bots get no timestamp.
	properties := ordered{{"event", map[string]any{"const": t.Name}}, {"data", schemaOf(reflect.TypeOf(t.data))}}
	required := []string{"event", "data"}
	if t.Kind == wallet.APIKey {
		properties = append(properties, member{"timestamp", append(meaningOf("timestamp"), member{"type", "string"})})
		required = append(required, "timestamp")
	}
	return json.Marshal(ordered{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", t.Name},
		{"description", t.When},
		{"type", "object"},
		{"properties", properties},
		{"required", required},
	})
}

// schemaOf returns the schema of a struct of data. Fields with omitempty are left out; all others are required.
func schemaOf(shape reflect.Type) any {
	var properties ordered
	var required []string
	for field := range shape.Fields() {
		// The name in JSON. A field with omitempty is not published for every kind, so it is not part of the schema.
		name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		if option == "omitempty" {
			continue
		}
		required = append(required, name)
		about := meaningOf(name)
		// The JSON type follows from the Go type.
		switch kind := field.Type.Kind(); {
		case kind == reflect.Map:
			about = append(about, member{"type", "object"}, member{"additionalProperties", schemaOf(field.Type.Elem())})
		case field.Type == reflect.TypeFor[json.Number]():
			about = append(about, member{"type", "number"})
		case kind == reflect.String, field.Type.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
			about = append(about, member{"type", "string"})
		case kind == reflect.Bool:
			about = append(about, member{"type", "boolean"})
		default:
			about = append(about, member{"type", "integer"}, member{"minimum", 0})
		}
		properties = append(properties, member{name, about})
	}
	return ordered{{"type", "object"}, {"properties", properties}, {"required", required}}
}

// Patterns of texts, as JSON Schema has them, and parts of descriptions.
const (
	decimalForm    = `^-?[0-9]+(\.[0-9]+)?$`
	unknownForm    = `^(-?[0-9]+(\.[0-9]+)?)?$`
	addressForm    = `^[1-9A-HJ-NP-Za-km-z]{32,44}$`
	senderForm     = `^([1-9A-HJ-NP-Za-km-z]{32,44})?$`
	signatureForm  = `^[1-9A-HJ-NP-Za-km-z]{64,88}$`
	timestampForm  = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$`
	idForm         = `^.+$`
	chatForm       = `^(-?[0-9]+)?$`
	anyForm        = ""
	decimalInUSD   = "in US dollars, as a decimal number"
	decimalInToken = "as a decimal number in units of the token"
)

// meanings describes all fields by name. A name means the same in every event.
var meanings = map[string]struct{ form, means string }{
	"transaction_id": {idForm, "The transaction's id, the same in all its events"}, "signature": {signatureForm, "The transaction's signature on chain"},
	"wallet_address": {addressForm, "The wallet that the event is about"}, "amount": {decimalForm, "How much, " + decimalInToken},
	"token": {idForm, "The token's symbol, or its mint where it has no verified symbol"}, "fee": {decimalForm, "The network fee, in SOL"},
	"type":          {idForm, "send, receive, stake, unstake, withdraw, swap or revoke"},
	"recipient":     {addressForm, "The recipient: the validator's vote account for stakes, the wallet itself for withdrawals, swaps and revocations"},
	"sender":        {senderForm, "The sender. Empty if it is unknown"},
	"block_height":  {anyForm, "The height of its block (not the slot)"},
	"confirmations": {anyForm, "Blocks built on it. 32 when it is final"}, "error_code": {idForm, "Why it failed, as a code"}, "error_message": {anyForm, "Why it failed, as a sentence"},
	"balances": {anyForm, "SOL and every listed token of the wallet, by symbol"}, "usd_value": {unknownForm, "Its value " + decimalInUSD + ". Empty if no price is known"},
	"change": {decimalForm, "By how much it moved since the event before, " + decimalInToken}, "total_usd_value": {unknownForm, "The value of all of them " + decimalInUSD + ". Empty if a price is unknown"},
	"user_id": {anyForm, "The person's id. Empty for a wallet that an ownerless key connected"}, "wallet_type": {idForm, "page, external or developer"},
	"reason": {idForm, "user_initiated, or moved_to_another"}, "alert_id": {idForm, "The alert"}, "condition": {idForm, "The condition of the alert, such as above"},
	"target_price": {decimalForm, "The price in the condition, " + decimalInUSD}, "current_price": {decimalForm, "The price now, " + decimalInUSD},
	"previous_price": {decimalForm, "The price before, " + decimalInUSD}, "change_percent": {anyForm, "By how many percent it moved"},
	"change_amount": {decimalForm, "By how much it moved, " + decimalInUSD}, "timeframe": {idForm, "Within which time, such as 1h"},
	"validator_address": {addressForm, "The validator's vote account"}, "transaction_signature": {signatureForm, "The signature on chain of the transaction that did it"},
	"reward_amount": {decimalForm, "The reward, in SOL"}, "epoch": {anyForm, "The epoch of the reward"}, "cooldown_end": {timestampForm, "When the stake can be withdrawn (an estimate)"},
	"chat_id": {chatForm, "The person's chat with the bot"}, "username": {anyForm, "Their Telegram username. Empty if they have none"}, "first_name": {anyForm, "Their first name"},
	"message": {anyForm, "The text"}, "command": {idForm, "The command as it was sent. If no app may run it, or it names a contact: its name and [withheld]"}, "success": {anyForm, "Whether the command succeeded"},
	"response": {anyForm, "The bot's reply, as Markdown. [withheld] if it is only for the person"}, "webhook_id": {idForm, "The webhook"},
}

// meaningOf begins the schema of a field: its description and pattern. Times are recognised by their names.
func meaningOf(name string) ordered {
	about, ok := meanings[name]
	// Times need no entry in meanings, unless they mean more than when the event happened.
	if strings.HasSuffix(name, "_at") || name == "timestamp" || name == "cooldown_end" {
		if !ok {
			about.form, about.means = timestampForm, "When it happened"
		}
		return ordered{{"description", about.means + ", ISO 8601 in UTC"}, {"format", "date-time"}, {"pattern", about.form}}
	}
	if about.form == anyForm {
		return ordered{{"description", about.means}}
	}
	return ordered{{"description", about.means}, {"pattern", about.form}}
}

// ordered is a JSON object whose members keep their order, since people read schemas.
type ordered []member

// member is one name of an object and its value.
type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order.
func (o ordered) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, m := range o {
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.WriteByte("{,"[min(i, 1)])
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	if len(o) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// exampleAddress parses an address that stands in the catalogue.
func exampleAddress(text string) (a wallet.Address) {
	_ = a.UnmarshalText([]byte(text)) // a test holds the examples to their schemas
	return a
}

// exampleSignature parses a signature that stands in the catalogue.
func exampleSignature(text string) (s wallet.Signature) {
	_ = s.UnmarshalText([]byte(text))
	return s
}
