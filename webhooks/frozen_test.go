package webhooks_test

import (
	"testing"

	"purser/store"
	"purser/wallet"
)

// TestAFrozenAccountIsNotToldOf: to its own programs and to those of others. Nor are programs of a frozen developer told of anybody.
// Operators are. After the end of the freeze all get what happens then.
func TestAFrozenAccountIsNotToldOf(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, developer, bob := r.person(), r.person(), r.person()
		freeze := func(who wallet.UserID, f *wallet.Freeze) {
			r.update(func(tx store.Tx) error {
				user, err := tx.User(who)
				if err != nil {
					return err
				}
				user.Freeze = f
				return tx.PutUser(user)
			})
		}
		app := r.key(developer, wallet.APIKey)
		own, others, operators := r.hook(r.key(alice, wallet.APIKey), "*"), r.hook(app, "*"), r.hook(r.key("", wallet.APIKey), "*")
		r.grant(alice, app, wallet.Scopes()...)
		r.grant(bob, app, wallet.Scopes()...)
		r.run()
		happens := func(what string, who wallet.UserID, want ...wallet.Webhook) {
			t.Helper()
			r.emit(r.event(who, wallet.TransactionReceived, wallet.TransactionReceivedData{}))
			r.quiet()
			got := map[string]bool{}
			for _, s := range r.took() {
				got[s.url] = true
			}
			if len(got) != len(want) {
				t.Errorf("%s: it came to %v", what, got)
			}
			for _, hook := range want {
				if !got[hook.URL] {
					t.Errorf("%s: it did not come to %s", what, hook.ID)
				}
			}
		}
		happens("before", alice, own, others, operators)
		freeze(alice, &wallet.Freeze{})
		happens("while she is frozen", alice, operators)
		happens("of somebody else", bob, others, operators)
		freeze(alice, nil)
		happens("after it", alice, own, others, operators)
		freeze(developer, &wallet.Freeze{})
		happens("while the developer is frozen", alice, own, operators)
		happens("of somebody else, then", bob, operators)
		freeze(developer, nil)
		happens("at the end", bob, others, operators)
	})
}
