package chain

import (
	"errors"
	"strings"
	"testing"

	"purser/wallet"
)

const aBlockhash = `{"context":{"slot":90},"value":{"blockhash":"AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9","lastValidBlockHeight":240}}`

func TestFeesAreTheNetworksWord(t *testing.T) {
	w := newWorld(t)
	for want, transfer := range map[uint64]wallet.Transaction{
		5_000: {From: testKey(1).address(), To: testKey(2).address(), Reference: testKey(3).address(), Amount: 5},
		5_013: {From: testKey(1).address(), To: testKey(2).address(), Amount: 5, ComputeUnitLimit: 1_000, ComputeUnitPrice: 12_345},
	} {
		message, err := buildTransfer(transfer)
		if err != nil {
			t.Fatal(err)
		}
		if fee, err := w.Fee(t.Context(), message); err != nil || fee != want {
			t.Errorf("the fee is %d, %v, want %d", fee, err, want)
		}
	}
	message := signedTransfer(t, wallet.Transaction{To: testKey(2).address(), Amount: 5}).message
	for name, test := range map[string]struct {
		answers string // of getFeeForMessage, one after the other
		want    uint64
		why     error
	}{
		"another than today's":          {"7000", 7_000, nil},
		"the highest that is signed":    {"1005000", 1_005_000, nil},
		"one lamport more":              {"1005001", 0, errGarbage},
		"blockhash unknown, then known": {"null 6000", 6_000, nil},
		"unknown twice":                 {"null null 6000", 0, errBehind},
	} {
		answers := strings.Fields(test.answers)
		c := scripted(t, func(method string) string {
			if method == "getLatestBlockhash" {
				return result(aBlockhash)
			}
			next := answers[0]
			answers = answers[1:]
			return result(`{"context":{"slot":90},"value":` + next + `}`)
		})
		fee, err := c.Fee(t.Context(), message)
		if fee != test.want || !errors.Is(err, test.why) {
			t.Errorf("%s: %d, %v", name, fee, err)
		}
	}
}
