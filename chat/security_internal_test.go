package chat

import (
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/wallet"
)

// TestAChangedEntryIsNotRepeated: somebody who holds the keys can write an entry that reads well. Its line says only that it is not what was written.
func TestAChangedEntryIsNotRepeated(t *testing.T) {
	words, err := newCatalogue(locales)
	if err != nil {
		t.Fatal(err)
	}
	s := &replyTx{words: words}
	entry := wallet.SecurityEntry{Owner: "usr_1", Number: 1, At: time.Unix(0, 0), Kind: wallet.LogKeyUsed, Details: wallet.SecurityDetails{Client: "203.0.113.7"}}
	for fault, repeats := range map[wallet.SecurityFaultKind]bool{wallet.SecurityChanged: false, wallet.SecurityReordered: false, wallet.SecurityHeadLost: true} {
		log := handlers.SecurityLogView{Rows: []wallet.SecurityRow{{Number: 1, Entry: &entry}}, Faults: []wallet.SecurityFault{{Kind: fault, Number: 1}}}
		line, err := s.logLines(log, []uint64{1})
		if err != nil || strings.Contains(string(line), "203.0.113.7") != repeats || strings.Contains(string(line), "not what was written") == repeats {
			t.Errorf("%s: %q, %v", fault, line, err)
		}
	}
}
