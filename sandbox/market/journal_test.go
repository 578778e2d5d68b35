package market

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAJournalThatACrashCutGoesOn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "market.jsonl")
	now := func() time.Time { return start }
	first, err := Open(Options{Dir: dir, Now: now, Mint: mintOf})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Set("SOL", "111"); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, torn := range []string{`{"mint":"So1111`, "{", strings.Repeat("x", 100_000)} {
		if err := os.WriteFile(path, append(append([]byte{}, whole...), torn...), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := Open(Options{Dir: dir, Now: now, Mint: mintOf})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.history(m.byMint(wrappedSOL)).at(start); got != 111*oneDollar || !m.born.Equal(start) {
			t.Errorf("after %.20q SOL is at %s", torn, got)
		}
		if err := m.Set("FEE", "2"); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := os.ReadFile(path)
		if err != nil || strings.Count(string(again), "\n") != 3 || !strings.HasSuffix(string(again), "\n") {
			t.Errorf("%.300s %v", again, err)
		}
		last, err := Open(Options{Dir: dir, Now: now, Mint: mintOf})
		if err != nil {
			t.Fatal(err)
		}
		if got := last.history(last.byMint(mintOf("FEE"))).at(start); got != 2*oneDollar {
			t.Errorf("after %.20q FEE is at %s", torn, got)
		}
		if err := last.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADamagedJournalIsNamed(t *testing.T) {
	for name, text := range map[string]string{
		"no birth":       `{"mint":"x","at":"2026-11-23T10:30:07Z","price":1}` + "\n",
		"no JSON":        "hello\n",
		"no mint":        `{"born":"2026-11-23T10:30:07Z"}` + "\n" + `{"at":"2026-11-23T10:30:07Z","price":1}` + "\n",
		"no time":        `{"born":"2026-11-23T10:30:07Z"}` + "\n" + `{"mint":"x","price":1}` + "\n",
		"a huge price":   `{"born":"2026-11-23T10:30:07Z"}` + "\n" + `{"mint":"x","at":"2026-11-23T10:30:07Z","price":1000000000000000001}` + "\n",
		"a broken price": `{"born":"2026-11-23T10:30:07Z"}` + "\n" + `{"mint":"x","at":"2026-11-23T10:30:07Z","price":-1}` + "\n",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "market.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(Options{Dir: dir, Now: time.Now, Mint: mintOf}); err == nil || !strings.Contains(err.Error(), "market.jsonl") || !strings.Contains(err.Error(), "line") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFolderThatCannotBeMadeIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: filepath.Join(file, "x"), Now: time.Now, Mint: mintOf}); err == nil {
		t.Error("no error")
	}
}
