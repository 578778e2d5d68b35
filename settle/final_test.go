package settle_test

import (
	"context"
	"errors"
	"testing"

	"purser/store"
	"purser/wallet"
)

// stakingPayments is a store in whose kinds a payment changes the sender's stakes as well.
type stakingPayments struct{ store.Store }

func (s stakingPayments) Update(ctx context.Context, change func(store.Tx) error) error {
	return s.Store.Update(ctx, func(tx store.Tx) error { return change(stakingPaymentsTx{tx}) })
}

type stakingPaymentsTx struct{ store.Tx }

func (s stakingPaymentsTx) Kinds() wallet.Kinds {
	payment := wallet.SendRules()
	payment.ChangesStakes = true
	kinds, err := wallet.NewKinds(payment, wallet.ReceiveRules())
	if err != nil {
		panic(err)
	}
	return kinds
}

// TestAKindMayPayAndChangeStakes: what follows from a final transaction follows from each of its properties.
func TestAKindMayPayAndChangeStakes(t *testing.T) {
	r := newWatching(t)
	r.Settler.Store = stakingPayments{r.Store}
	sent := r.signed("1.5")
	r.Settled(sent.ID)
	r.expect("1.5 SOL to bob")
	r.View(func(tx store.Tx) error {
		checked, err := store.HasStakeCheck(tx, r.alice.Address())
		if !checked {
			t.Error("the stakes of the sender are not checked")
		}
		other, err2 := store.HasStakeCheck(tx, r.bob.Address())
		if other {
			t.Error("the stakes of the recipient are checked")
		}
		return errors.Join(err, err2)
	})
}
