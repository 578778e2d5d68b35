package signer

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// BenchmarkUnlock runs the page's own vault code in Node: what a passphrase costs, beside the bare
// PBKDF2 of as many rounds that it is to cost.
func BenchmarkUnlock(b *testing.B) {
	node, err := exec.LookPath("node")
	if err != nil {
		b.Skip("node is not installed")
	}
	var took struct {
		Unlock float64 `json:"unlock_ms"`
		Bound  float64 `json:"pbkdf2_ms"`
	}
	for b.Loop() {
		out, err := exec.CommandContext(b.Context(), node, "pagetest/unlock.mjs").Output()
		if err != nil {
			b.Fatal(err)
		}
		if err := json.Unmarshal(out, &took); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(took.Unlock, "ms-to-unlock")
	b.ReportMetric(took.Bound, "ms-bare-pbkdf2")
}
