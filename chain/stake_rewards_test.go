package chain

import (
	"errors"
	"fmt"
	"testing"

	"purser/wallet"
)

// TestRewardsAreReadInOldAndNewForms, in the order asked for, and nothing is believed that does not fit the question.
func TestRewardsAreReadInOldAndNewForms(t *testing.T) {
	one, two := testKey(1).address(), testKey(2).address()
	both := []wallet.Address{one, two}
	for answer, want := range map[string]*wallet.InflationReward{
		`[null,{"amount":5,"effectiveSlot":9,"epoch":7,"postBalance":105,"commission":null,"commissionBps":725}]`: {Account: two, Epoch: 7, Lamports: 5, Balance: 105, Commission: 725},
		`[null,{"amount":5,"effectiveSlot":9,"epoch":7,"postBalance":105,"commission":8,"commissionBps":null}]`:   {Account: two, Epoch: 7, Lamports: 5, Balance: 105, Commission: 800},
		`[null,{"amount":5,"effectiveSlot":9,"epoch":7,"postBalance":5,"commission":8}]`:                          {Account: two, Epoch: 7, Lamports: 5, Balance: 5, Commission: 800},
		`[null,{"amount":5,"effectiveSlot":9,"epoch":7,"postBalance":105}]`:                                       {Account: two, Epoch: 7, Lamports: 5, Balance: 105, Commission: wallet.UnknownCommission},
		`[null,{"amount":0,"effectiveSlot":9,"epoch":7,"postBalance":0,"commission":255}]`:                        {Account: two, Epoch: 7, Commission: 10_000},
		`[null,{"amount":0,"effectiveSlot":9,"epoch":7,"postBalance":0,"commissionBps":65535}]`:                   {Account: two, Epoch: 7, Commission: 10_000},
		`[null,{"amount":5,"effectiveSlot":9,"epoch":7,"postBalance":4}]`:                                         nil,
		`[null,{"amount":5,"effectiveSlot":9,"epoch":6,"postBalance":9}]`:                                         nil,
		`[null,{"amount":5,"effectiveSlot":9,"postBalance":9}]`:                                                   nil,
		`[null,{"effectiveSlot":9,"epoch":7,"postBalance":9}]`:                                                    nil,
		`[null,{"amount":5,"effectiveSlot":9,"epoch":7}]`:                                                         nil,
		`[null,{"amount":-5,"effectiveSlot":9,"epoch":7,"postBalance":9}]`:                                        nil,
		`[null]`:           nil,
		`[]`:               nil,
		`[null,null,null]`: nil,
		`null`:             nil,
		`{}`:               nil,
	} {
		got, err := scripted(t, func(method string) string { return result(answer) }).StakeRewards(t.Context(), both, 7)
		if want == nil {
			nobodyKnows(t, err)
			continue
		}
		if err != nil || len(got) != 2 || got[0] != nil || got[1] == nil || *got[1] != *want {
			t.Errorf("%s: %+v, %v", answer, got, err)
		}
	}
	nobody := scripted(t, func(method string) string { t.Errorf("%s was called", method); return "" })
	if got, err := nobody.StakeRewards(t.Context(), nil, 7); err != nil || got != nil {
		t.Errorf("of no accounts: %v, %v", got, err)
	}
}

// TestRewardsThatANodeCannotTell: too early and too late are told apart from trouble.
func TestRewardsThatANodeCannotTell(t *testing.T) {
	for code, want := range map[int]error{
		-32004: wallet.ErrRewardsNotPaid, -32017: wallet.ErrRewardsNotPaid,
		-32001: wallet.ErrHistoryPruned, -32007: wallet.ErrHistoryPruned, -32009: wallet.ErrHistoryPruned,
		-32005: nil, -32602: nil,
	} {
		client := scripted(t, func(string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":"x","data":{"slot":5}}}`, code)
		})
		_, err := client.StakeRewards(t.Context(), []wallet.Address{testKey(1).address()}, 7)
		nobodyKnows(t, err)
		for _, known := range []error{wallet.ErrRewardsNotPaid, wallet.ErrHistoryPruned} {
			if errors.Is(err, known) != (known == want) {
				t.Errorf("%d: %v", code, err)
			}
		}
	}
}
