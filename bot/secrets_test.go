package bot

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mr-tron/base58"

	"purser/chat"
	"purser/sandbox/telegram"
)

// typed are updates with something in them that must never get into the store, each with what is left of it: the
// kind of secret, or "" where only what is beside the person's own words is left out.
func typed() map[string]struct {
	body   string
	hidden []string
	secret chat.Secret
} {
	const twelve = "legal winner thank year wave sausage worth useful legal winner thank yellow"
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32)))
	numbers, err := json.Marshal(slices.Collect(func(yield func(int) bool) {
		for _, b := range key {
			if !yield(int(b)) {
				return
			}
		}
	}))
	if err != nil {
		panic(err)
	}
	apiKey := "pur_live_" + strings.Repeat("a1B", 12)
	me := fmt.Sprintf(`"from":{"id":%d,"first_name":"P"},"chat":{"id":%d,"type":"private"}`, telegram.Alice, telegram.Alice)
	type sample = struct {
		body   string
		hidden []string
		secret chat.Secret
	}
	words := strings.Fields(twelve)[:2]
	return map[string]sample{
		"a phrase":         {`"message":{"message_id":41,` + me + `,"text":"` + twelve + `"}`, words, chat.WalletSecret},
		"an edited phrase": {`"edited_message":{"message_id":41,` + me + `,"text":"` + twelve + `"}`, words, chat.WalletSecret},
		"a phrase to send": {`"message":{"message_id":41,` + me + `,"text":"/send ` + twelve + `"}`, words, chat.WalletSecret},
		"a caption":        {`"message":{"message_id":41,` + me + `,"photo":[{"file_id":"legal"}],"caption":"` + twelve + `"}`, words, chat.WalletSecret},
		"a forwarded one":  {`"message":{"message_id":41,` + me + `,"forward_origin":{"type":"hidden_user","sender_user_name":"legal"},"text":"` + twelve + `"}`, words, chat.WalletSecret},
		"a private key":    {`"message":{"message_id":41,` + me + `,"text":"` + base58.Encode(key) + `"}`, []string{base58.Encode(key)[:20]}, chat.WalletSecret},
		"a key in numbers": {`"message":{"message_id":41,` + me + `,"text":"` + string(numbers) + `"}`, []string{"107,107"}, chat.WalletSecret},
		"a key of the API": {`"message":{"message_id":41,` + me + `,"text":"my key: ` + apiKey + `"}`, []string{apiKey[:20], "my key"}, chat.CredentialSecret},
		"what is replied to": {`"message":{"message_id":41,` + me + `,"text":"no","reply_to_message":{"message_id":40,` + me + `,"text":"` + twelve + `"},"quote":{"text":"` + twelve + `"}}`,
			words, chat.NoSecret},
		"a tap below a key": {`"callback_query":{"id":"q","from":{"id":1001},"message":{"message_id":41,` + me + `,"text":"Your key: ` + apiKey + `"},"data":"nonce"}`,
			[]string{apiKey[:20]}, chat.NoSecret},
		"an entity":      {`"message":{"message_id":41,` + me + `,"text":"look","entities":[{"type":"text_link","url":"https://example.com/` + apiKey + `"}]}`, []string{apiKey[:20]}, chat.NoSecret},
		"a phone number": {`"message":{"message_id":41,` + me + `,"contact":{"phone_number":"+4915112345678","user_id":1001,"vcard":"legal winner"}}`, []string{"4915112345678", "legal"}, chat.NoSecret},
		"a poll":         {`"message":{"message_id":41,` + me + `,"poll":{"question":"` + twelve + `"}}`, words, chat.NoSecret},
	}
}

// TestNoSecretGetsIntoTheInbox: rows are written durably before they are handled, and stay in free pages of the file
// for long after they are removed. What is left is enough to remove the message and to warn.
func TestNoSecretGetsIntoTheInbox(t *testing.T) {
	for name, c := range typed() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.opt.Mode, w.opt.WebhookURL, w.opt.WebhookSecret = Webhook, "https://example.com/hook", "s3cret"
			w.greet(telegram.Alice)
			b, err := New(w.opt)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Accept(w.ctx(), "s3cret", []byte(`{"update_id":700,`+c.body+`}`)); err != nil {
				t.Fatal(err)
			}
			rows := w.inbox()
			if len(rows) != 1 {
				t.Fatalf("the inbox holds %d rows", len(rows))
			}
			for _, hidden := range c.hidden {
				if strings.Contains(string(rows[0].Body), hidden) {
					t.Errorf("%q is in the row %s", hidden, rows[0].Body)
				}
			}
			w.run()
			w.eventually("it is handled", func() bool { return len(w.inbox()) == 0 })
			in := w.talker.inputs()[0]
			if in.Secret != c.secret || in.MessageID != 41 || in.Chat != telegram.Alice || c.secret != chat.NoSecret && in.Text != "" {
				t.Errorf("handled as %+v", in)
			}
		})
	}
}

// TestPolledSecretsAreNotKeptEither: the other way by which updates come in.
func TestPolledSecretsAreNotKeptEither(t *testing.T) {
	w := newWorld(t)
	b, err := New(w.opt)
	if err != nil {
		t.Fatal(err)
	}
	var bodies []json.RawMessage
	id := 700
	hidden := map[int64][]string{}
	for _, c := range typed() {
		id++
		bodies = append(bodies, json.RawMessage(fmt.Sprintf(`{"update_id":%d,%s}`, id, c.body)))
		hidden[int64(id)] = c.hidden
	}
	next, err := b.keep(w.ctx(), bodies)
	if err != nil || next != int64(id)+1 {
		t.Fatalf("%d, %v", next, err)
	}
	rows := w.inbox()
	if len(rows) != len(bodies) {
		t.Fatalf("%d rows of %d", len(rows), len(bodies))
	}
	for _, row := range rows {
		u, err := kept(row.Body)
		if err != nil || len(hidden[u.id]) == 0 {
			t.Fatalf("%s: %v", row.Body, err)
		}
		for _, text := range hidden[u.id] {
			if strings.Contains(string(row.Body), text) {
				t.Errorf("%q is in the row %s", text, row.Body)
			}
		}
	}
}

// TestNobodyOutsideSaysThatSomethingWasASecret: the mark in a row is ours alone.
func TestNobodyOutsideSaysThatSomethingWasASecret(t *testing.T) {
	u, err := testReader().arrived([]byte(`{"update_id":12,"message":{"message_id":3,` + from + `,` + private + `,"text":"hello","purser_secret":"wallet"}}`))
	if err != nil || u.in.Secret != chat.NoSecret || u.in.Text != "hello" {
		t.Errorf("%+v, %v", u.in, err)
	}
}
