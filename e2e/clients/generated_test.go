package clients

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	purser "purser/clients/go"
	"purser/e2e/harness"
)

// Other people make their own clients of openapi.json: with oapi-codegen in Go and openapi-typescript in
// TypeScript, both pinned here. What they make compiles, and works against the built binary.

// program is a program of a wallet's own: its key with funds, connected to an operator's API key.
type program struct {
	key  ed25519.PrivateKey
	from string
}

func (w *town) program(s settings) program {
	w.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.Context(), harness.Wait)
	defer cancel()
	j := &journey{w.T, ctx, s, key}
	client := purser.New(s.URL, s.Operator)
	j.connect(client, "done")
	if _, err := w.world.Solana.Airdrop(ctx, purser.Address(key), 5_000_000_000); err != nil {
		w.Fatal(err)
	}
	j.until("funds", func() bool {
		b, err := client.Balance(ctx, purser.Address(key))
		return err == nil && b.Balances["SOL"].Amount == "5"
	})
	return program{key, purser.Address(key)}
}

// runs a command in a folder, and returns what it printed.
func runs(t *testing.T, folder string, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*harness.Wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	var out, all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &all
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out.String(), all.String())
	}
	return out.String()
}

func TestAClientThatOapiCodegenMakes(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles sixty thousand lines")
	}
	document, err := filepath.Abs("../../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	// A module of its own: its tools are none of purser's, and its go.sum pins them.
	folder := filepath.Join(t.TempDir(), "oapi")
	if err := os.CopyFS(folder, os.DirFS("testdata/oapi")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "client"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"GOWORK=off", "GOFLAGS=-mod=readonly"}
	if out, err := exec.CommandContext(t.Context(), "go", "-C", folder, "mod", "download").CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the Go proxy: %v\n%s", err, out)
		}
		t.Skipf("oapi-codegen cannot be fetched: %s", out)
	}
	runs(t, folder, env, "go", "tool", "oapi-codegen", "-config", "config.yaml", document)
	runs(t, folder, env, "go", "build", "-o", "program", ".")

	w := newTown(t)
	s := w.settings()
	own := w.program(s)
	if got, want := runs(t, folder, nil, "./program", s.URL, s.Operator, own.from, s.To), "tier pro\nsent 0.001 awaiting_signature\nrefused\n"; got != want {
		t.Errorf("it printed %q, want %q", got, want)
	}
}

func TestAClientThatOpenAPITypeScriptMakes(t *testing.T) {
	run := node(t)
	const folder = "generated"
	if _, err := os.Stat(filepath.Join(folder, "node_modules")); err != nil {
		missing(t)("e2e/clients/generated has no node_modules: run `npm ci` there")
	}
	made := filepath.Join(folder, "made")
	if err := os.MkdirAll(made, 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "program.ts"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(made, "program.ts"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	run(folder, "node_modules/openapi-typescript/bin/cli.js", "../../../api/openapi.json", "-o", "made/schema.d.ts")
	run(folder, "node_modules/typescript/bin/tsc", "-p", ".")

	w := newTown(t)
	s := w.settings()
	own := w.program(s)
	if got, want := run(folder, "made/program.js", s.URL, s.Operator, own.from, s.To), "tier pro\nsent 0.002 awaiting_signature\nrefused INSUFFICIENT_FUNDS\n"; got != want {
		t.Errorf("it printed %q, want %q", got, want)
	}
}
