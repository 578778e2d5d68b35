package chat_test

import (
	"slices"
	"strings"
	"testing"

	"purser/store"
	"purser/wallet"
)

// TestAReplyIsSentOnlyWhereItIsDelivered: what the chat says is what the relay of webhooks does.
func TestAReplyIsSentOnlyWhereItIsDelivered(t *testing.T) {
	for what, change := range map[string]func(*wallet.Key){
		"as it was":        func(*wallet.Key) {},
		"no longer pro":    func(key *wallet.Key) { key.Tier = wallet.FreeTier },
		"without webhooks": func(key *wallet.Key) { key.Scopes = []wallet.Scope{wallet.BotSend, wallet.BotMessages} },
		"without messages": func(key *wallet.Key) { key.Scopes = []wallet.Scope{wallet.BotSend, wallet.Webhooks} },
	} {
		r := newHarness(t)
		for _, line := range []string{"rich bob 5", "rich alice 5", "alice has a pro token for Shop", "alice: /api", "alice's app writes to bob: Your order is ready.",
			"bob opens alice's app", "bob taps Allow", "alice has a webhook at https://shop.example/hook"} {
			r.happen(line)
		}
		key := r.keys()[0]
		key.Scopes = slices.Clone(key.Scopes)
		change(&key)
		r.Must(r.Update(func(tx store.Tx) error { return tx.PutKey(key) }))
		r.seen = nil
		r.happen("bob answers the app: At five")
		if sent := strings.Contains(strings.Join(r.seen, ""), "Sent to"); sent != (what == "as it was") {
			t.Errorf("%s: said %s", what, r.seen)
		}
	}
}
