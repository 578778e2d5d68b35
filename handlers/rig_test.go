package handlers_test

import (
	"testing"

	"purser/e2e/world"
	"purser/store"
	"purser/wallet"
)

const sol = world.SOL

// rig is the world, with what only the tests of the deeds do.
type rig struct{ *world.World }

func newRig(t *testing.T) *rig {
	t.Helper()
	return &rig{world.New(t, world.Options{})}
}

// meet registers somebody without a wallet.
func (r *rig) meet(telegramID int64) wallet.User {
	r.Helper()
	p := r.Somebody(telegramID, "Alice")
	r.Meet(p)
	return p.User
}

// rich registers somebody with a bound wallet and lamports in it.
func (r *rig) rich(telegramID int64, lamports uint64) *world.Person {
	r.Helper()
	return r.Rich(telegramID, "Alice", lamports)
}

// proposed stores a proposal of p's to pay SOL.
func (r *rig) proposed(p *world.Person, to wallet.Address, amount string) wallet.TransactionID {
	r.Helper()
	return r.Propose(p, to, amount, "SOL").ID
}

// token is what the list knows by a symbol.
func (r *rig) token(symbol string) wallet.Token {
	r.Helper()
	token, ok := r.Tokens.BySymbol(symbol)
	if !ok {
		r.Fatalf("%s is on no list", symbol)
	}
	return token
}

// bindOf is somebody's newest bind link.
func (r *rig) bindOf(user wallet.UserID) wallet.Bind {
	r.Helper()
	var bind wallet.Bind
	r.View(func(tx store.Tx) error {
		var err error
		bind, err = tx.BindOf(user)
		return err
	})
	return bind
}
