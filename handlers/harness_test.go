package handlers_test

import (
	"testing"

	"purser/e2e/world"
	"purser/store"
	"purser/wallet"
)

const sol = world.SOL

// harness is the world, with what only the tests of the operations do.
type harness struct{ *world.World }

func newHarness(t *testing.T) *harness {
	t.Helper()
	return &harness{world.New(t, world.Options{})}
}

// meet registers somebody without a wallet.
func (r *harness) meet(telegramID int64) wallet.User {
	r.Helper()
	p := r.Somebody(telegramID, "Alice")
	r.Meet(p)
	return p.User
}

// rich registers somebody with a bound wallet and lamports in it.
func (r *harness) rich(telegramID int64, lamports uint64) *world.Person {
	r.Helper()
	return r.Rich(telegramID, "Alice", lamports)
}

// proposed stores a proposal of p's to pay SOL.
func (r *harness) proposed(p *world.Person, to wallet.Address, amount string) wallet.TransactionID {
	r.Helper()
	return r.Propose(p, to, amount, "SOL").ID
}

// token is what the list knows by a symbol.
func (r *harness) token(symbol string) wallet.Token {
	r.Helper()
	token, ok := r.Tokens.BySymbol(symbol)
	if !ok {
		r.Fatalf("%s is on no list", symbol)
	}
	return token
}

// bindOf is somebody's newest bind link.
func (r *harness) bindOf(user wallet.UserID) wallet.Bind {
	r.Helper()
	var bind wallet.Bind
	r.View(func(tx store.Tx) error {
		var err error
		bind, err = tx.BindOf(user)
		return err
	})
	return bind
}
