package chain

import (
	"strings"
	"testing"

	"purser/wallet"
)

// TestAPaymentSaysItsMemo: of which program ever, and which of several.
func TestAPaymentSaysItsMemo(t *testing.T) {
	m := &message{keys: []wallet.Address{testKey(1).address(), wallet.SystemProgram, memoProgram, memoProgramV4, memoProgramV1, testKey(9).address()}}
	transfer := instruction{program: 1}
	says := func(program byte, text string) instruction { return instruction{program: program, data: []byte(text)} }
	for name, test := range map[string]struct {
		instructions []instruction
		of           int
		want         string
	}{
		"none":                        {[]instruction{transfer}, 0, ""},
		"version 3":                   {[]instruction{says(2, "Order 7"), transfer}, 1, "Order 7"},
		"version 4":                   {[]instruction{says(3, "Order 7"), transfer}, 1, "Order 7"},
		"version 1":                   {[]instruction{says(4, "Order 7"), transfer}, 1, "Order 7"},
		"another program":             {[]instruction{says(5, "Order 7"), transfer}, 1, ""},
		"a program that nobody knows": {[]instruction{says(6, "Order 7"), transfer}, 1, ""},
		"not right before":            {[]instruction{says(2, "Order 7"), says(5, "x"), transfer}, 2, "Order 7"},
		"after it":                    {[]instruction{transfer, says(2, "Order 7")}, 0, "Order 7"},
		"each its own, the first":     {[]instruction{says(2, "Order 7"), transfer, says(2, "Order 8"), transfer}, 1, "Order 7"},
		"each its own, the second":    {[]instruction{says(2, "Order 7"), transfer, says(2, "Order 8"), transfer}, 3, "Order 8"},
		"two, both elsewhere":         {[]instruction{transfer, says(2, "Order 7"), says(2, "Order 8")}, 0, ""},
		"as long as may be":           {[]instruction{says(2, strings.Repeat("x", wallet.MaxMemo)), transfer}, 1, strings.Repeat("x", wallet.MaxMemo)},
		"too long":                    {[]instruction{says(2, strings.Repeat("x", wallet.MaxMemo+1)), transfer}, 1, ""},
		"that turns the text around":  {[]instruction{says(2, "Order \u202e7"), transfer}, 1, ""},
		"not text":                    {[]instruction{says(4, "\xff"), transfer}, 1, ""},
	} {
		m.instructions = test.instructions
		if got := m.memoOf(test.of); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
