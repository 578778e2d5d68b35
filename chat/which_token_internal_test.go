package chat

import "testing"

// The button of a choice puts the mint in the place of the token, not of the amount.
func TestARestatedCommandKeepsItsAmount(t *testing.T) {
	for _, line := range [][]string{{"404", "404", "SOL"}, {"max", "MAX", "SOL"}} {
		if got := restated("/swap", line, line[1])("MINT"); got != "/swap "+line[0]+" MINT SOL" {
			t.Errorf("%v: %s", line, got)
		}
	}
}
