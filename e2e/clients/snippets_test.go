package clients

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	purser "purser/clients/go"
	"purser/e2e/harness"
	"purser/sandbox"
)

// Snippets of the README, of the clients' and of docs are run as a reader would run them: in a town, with its
// addresses in place of the documented ones.

// documented is where snippets say that purser and the sandbox are.
const (
	documentedURL      = "http://127.0.0.1:8080"
	documentedTelegram = "http://127.0.0.1:8081"
	documentedSolana   = "http://127.0.0.1:8899"
	documentedMarket   = "http://127.0.0.1:8901"
	documentedReceiver = "http://localhost:3000/hook"
)

// documentedHost is the service that docs/webhooks.md talks of.
const documentedHost = "https://wallet.example.org"

// shellOnly are pages whose snippets of a named language other tests run.
var shellOnly = map[string]string{"docs/webhooks.md": "webhooks"}

// elsewhere are pages whose snippets other tests print.
var elsewhere = map[string]string{
	"docs/conversations.md": "chat prints it", "docs/lifecycle.md": "chat prints it", "docs/architecture.md": "a drawing",
}

// snippetsOf are the fenced blocks of a page, by page and number ("README.md 1").
func snippetsOf(t *testing.T) map[string]string {
	t.Helper()
	pages := []string{"README.md", "CONTRIBUTING.md", "clients/go/README.md", "clients/typescript/README.md"}
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(docs) < 5 {
		t.Fatalf("docs: %v (%v)", docs, err)
	}
	for _, page := range docs {
		pages = append(pages, "docs/"+filepath.Base(page))
	}
	out := map[string]string{}
	fence := regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	for _, page := range pages {
		if elsewhere[page] != "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Fatal(err)
		}
		all := fence.FindAllStringSubmatch(string(text), -1)
		if n := strings.Count("\n"+string(text), "\n```"); n != 2*len(all) {
			t.Errorf("%s has %d fences, and %d snippets were found", page, n, len(all))
		}
		for i, found := range all {
			if found[1] != "yaml" && (found[1] == "" || shellOnly[page] == "") { // yaml: package config loads settings
				out[fmt.Sprintf("%s %d", page, i+1)] = found[2]
			}
		}
	}
	return out
}

func TestEverySnippetOfTheDocsWorks(t *testing.T) {
	snippets := snippetsOf(t)
	var w *town // of those that need one
	var s settings
	var example string // the key that docs/api.md makes in its first snippet and uses in its second
	var hook delivered // to the webhook that docs/webhooks.md registers first
	whole := t
	inTown := func(t *testing.T) {
		if w == nil {
			w = newTown(whole) // for all of them
			s = w.settings()
		}
		w.T = t
	}
	tests := map[string]func(t *testing.T, code string){
		"README.md 1":                    commandsExist,
		"CONTRIBUTING.md 1":              commandsExist,
		"docs/settings.md 1":             settingsExist,
		"docs/settings.md 3":             queueCommandsExist,
		"clients/typescript/README.md 2": scriptsExist,
		"clients/go/README.md 2": func(t *testing.T, code string) { // clients/go runs it to the letter
			if !strings.Contains(code, "go mod edit -replace purser=/path/to/purser") {
				t.Error("it does not say where the module is")
			}
		},
		"clients/go/README.md 1": func(t *testing.T, code string) {
			inTown(t)
			own := w.program(s)
			folder := t.TempDir()
			write(t, filepath.Join(folder, "main.go"), replaced(t, code, documentedURL, s.URL))
			paid(t, w, s, "0.5", func() string {
				return runs(t, "../..", []string{"PURSER_KEY=" + s.Operator, "WALLET_SEED=" + hex.EncodeToString(own.key.Seed())}, "go", "run", filepath.Join(folder, "main.go"), s.To)
			})
		},
		"clients/typescript/README.md 1": func(t *testing.T, code string) {
			run := node(t)
			inTown(t)
			s := s
			s.Operator = w.key("--kind", "api") // the Go program has used this one's order-17
			own := w.program(s)
			der, err := x509.MarshalPKCS8PrivateKey(own.key)
			if err != nil {
				t.Fatal(err)
			}
			// Inside of the package, whose own name leads to it.
			folder := filepath.Join(typescript, "dist", "snippet")
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(folder) })
			write(t, filepath.Join(folder, "program.ts"), replaced(t, code, documentedURL, s.URL))
			inside, err := filepath.Rel(typescript, folder)
			if err != nil {
				t.Fatal(err)
			}
			run(typescript, "node_modules/typescript/bin/tsc", "--strict", "--noUncheckedIndexedAccess", "--module", "NodeNext", "--target", "ES2022", "--types", "node", "--skipLibCheck",
				filepath.Join(inside, "program.ts"))
			paid(t, w, s, "0.5", func() string {
				return runs(t, typescript, []string{"PURSER_KEY=" + s.Operator, "WALLET_KEY=" + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))},
					"node", filepath.Join(inside, "program.js"), own.from, s.To)
			})
		},
		"docs/api.md 1": func(t *testing.T, code string) {
			inTown(t)
			create, rest, _ := strings.Cut(code, "export KEY=pur_test_…\n")
			command, _, _ := strings.Cut(create, " #")
			args, asked := strings.CutPrefix(command, "go run . ")
			if !asked {
				t.Fatalf("it begins with %q", create)
			}
			out, err := w.purser.CLI(strings.Fields(args)...)
			if err != nil {
				t.Fatal(err)
			}
			example, _, _ = strings.Cut(out, "\n")
			alice := w.alice.Device.Address()
			send, read, _ := strings.Cut(replaced(t, rest, documentedURL, s.URL), "\n\ncurl -H \"Authorization: Bearer $KEY\" "+s.URL+"/v1/wallet/transactions/<transaction_id>")
			if read != "\n" {
				t.Fatalf("it ends with %q", read)
			}
			send = strings.NewReplacer("<Alice>", alice, "<Bob>", s.To).Replace(send)
			said := shell(t, "export KEY="+example+"\n"+send)
			id := regexp.MustCompile(`tx_[0-9A-Za-z]+`).FindString(said)
			if strings.Count(said, `"success":true`) != 3 || id == "" {
				t.Fatalf("it said %s", said)
			}
			if listed, _, _ := strings.Cut(said, "}{"); !strings.Contains(listed, alice) { // its first response
				t.Errorf("the wallets: %s", listed)
			}
			if said := shell(t, "export KEY="+example+"\ncurl -H \"Authorization: Bearer $KEY\" "+s.URL+"/v1/wallet/transactions/"+id); !strings.Contains(said, `"awaiting_confirmation"`) {
				t.Errorf("the transaction: %s", said)
			}
		},
		"docs/api.md 2": func(t *testing.T, code string) {
			if example == "" {
				t.Fatal("the first snippet made no key")
			}
			inTown(t)
			before, listen, found := strings.Cut(strings.TrimSpace(code), "\ngo run . ")
			if before != "export PURSER_API_KEY=$KEY" || !found {
				t.Fatalf("it reads %q", code)
			}
			listens(t, "KEY="+example+"\n"+before+"\nexec "+binary+" "+replaced(t, listen, documentedReceiver, s.Receiver+"/hook")+" --api "+s.URL)
		},
		"docs/api.md 3": func(t *testing.T, code string) {
			inTown(t)
			stakes(t, w, s, code)
		},
		"docs/webhooks.md 1": func(t *testing.T, code string) {
			inTown(t)
			hook = registers(t, s, replaced(t, code, documentedHost, s.URL))
		},
		"docs/webhooks.md 2": func(t *testing.T, code string) {
			inTown(t)
			code = replaced(t, replaced(t, code, documentedHost, s.URL), documentedReceiver, s.Receiver+"/hook")
			env, command, found := strings.Cut(code, " ./purser ")
			listens(t, replaced(t, env, "pur_test_…", s.Own)+" exec "+binary+" "+command)
			if !found {
				t.Errorf("it does not run ./purser:\n%s", code)
			}
		},
		"docs/webhooks.md 9": func(t *testing.T, code string) {
			if hook.secret == "" {
				t.Fatal("the first snippet registered no webhook")
			}
			folder := t.TempDir()
			write(t, filepath.Join(folder, "hook.secret"), hook.secret+"\n")
			write(t, filepath.Join(folder, "saved.http"), hook.request)
			if said := runs(t, folder, nil, "sh", "-euc", replaced(t, code, "./purser", binary)); !strings.HasPrefix(said, "good: ") {
				t.Errorf("it said %s", said)
			}
		},
		"docs/sandbox-differences.md 1": func(t *testing.T, code string) {
			inTown(t)
			if said := shell(t, replaced(t, code, documentedSolana, w.world.RPCURL())); !strings.Contains(said, `"slotTimeMs":200`) {
				t.Errorf("it said %s", said)
			}
		},
		"docs/sandbox-differences.md 2": func(t *testing.T, code string) {
			p, _ := harness.Unconfigured(t, binary)
			p.Start()
			if said := shell(t, replaced(t, code, documentedMarket, p.Market)); !strings.Contains(said, `"usdPrice"`) || !strings.Contains(said, `"USD Coin"`) || !strings.Contains(said, `"reserve_in_usd"`) {
				t.Errorf("it said %s", said)
			}
		},
		"docs/sandbox-differences.md 3": func(t *testing.T, code string) {
			p, _ := harness.Unconfigured(t, binary)
			p.Start()
			if said := shell(t, replaced(t, code, documentedMarket, p.Market)); !strings.Contains(said, "151.5") {
				t.Errorf("it said %s", said)
			}
		},
		"docs/sandbox-telegram.md 1": func(t *testing.T, code string) {
			if !strings.Contains(code, sandbox.OwnBotToken) {
				t.Fatalf("the token of the second bot is %s", sandbox.OwnBotToken)
			}
			p, chat := harness.Unconfigured(t, binary)
			p.Start()
			if said := shell(t, replaced(t, code, documentedTelegram, chat)); !strings.Contains(said, `"ok":true`) {
				t.Errorf("it said %s", said)
			}
			p.Stop()
		},
	}
	for _, name := range slices.Sorted(maps.Keys(snippets)) {
		test, known := tests[name]
		if !known {
			t.Errorf("nobody runs the snippet %s:\n%s", name, snippets[name])
			continue
		}
		delete(tests, name)
		t.Run(name, func(t *testing.T) { test(t, snippets[name]) })
	}
	for name := range tests {
		t.Errorf("there is no snippet %s", name)
	}
}

// delivered is a delivery as it arrived, and the secret of its webhook.
type delivered struct{ secret, request string }

// registers runs a script that registers a webhook, and has it tested.
func registers(t *testing.T, s settings, script string) delivered {
	t.Helper()
	arrived := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if raw, err := httputil.DumpRequest(r, true); err == nil {
			select {
			case arrived <- string(raw):
			default: // a repetition
			}
		}
	}))
	t.Cleanup(receiver.Close)
	said := shell(t, "KEY="+s.Own+"\n"+replaced(t, script, "https://example.com/hook", receiver.URL+"/hook"))
	var made struct {
		Data struct {
			ID     string `json:"webhook_id"`
			Secret string
			Events []string
		}
	}
	if err := json.Unmarshal([]byte(said), &made); err != nil || made.Data.ID == "" || made.Data.Secret == "" || len(made.Data.Events) != 2 {
		t.Fatalf("it said %s (%v)", said, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Wait)
	defer cancel()
	hook := purser.New(s.URL, s.Own).Hook(made.Data.ID)
	if _, err := hook.Test(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case request := <-arrived:
		if _, err := hook.Delete(ctx); err != nil { // its receiver ends
			t.Error(err)
		}
		return delivered{made.Data.Secret, request}
	case <-ctx.Done():
		t.Fatal("nothing arrived at the webhook")
	}
	return delivered{}
}

// stakes runs the commands of a stake's life with a wallet whose program signs itself: the stake is signed and landed before
// its positions are read.
func stakes(t *testing.T, w *town, s settings, code string) {
	t.Helper()
	own := w.program(s)
	code = strings.ReplaceAll(replaced(t, code, documentedURL, s.URL), "<Alice>", own.from)
	propose, rest, found := strings.Cut(code, "\n\ncurl -H \"Authorization: Bearer $KEY\" \""+s.URL+"/v1/stake/positions")
	if !found {
		t.Fatalf("it reads no positions:\n%s", code)
	}
	said := shell(t, "KEY="+s.Operator+"\n"+propose)
	id := regexp.MustCompile(`tx_[0-9A-Za-z]+`).FindString(said)
	if strings.Count(said, `"success":true`) != 2 || !strings.Contains(said, `"commission_bps"`) || id == "" {
		t.Fatalf("it said %s", said)
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Wait)
	defer cancel()
	j := &journey{T: t, ctx: ctx, settings: s}
	client := purser.New(s.URL, s.Operator)
	fresh, err := client.Refresh(ctx, id)
	j.must("refresh", err)
	signature, err := purser.SignBlindly(fresh.UnsignedTransaction, own.key)
	j.must("sign", err)
	_, err = client.SubmitSignature(ctx, id, purser.Signature{Signature: signature})
	j.must("submit", err)
	j.until("the stake lands", func() bool {
		landed, err := client.Transaction(ctx, id)
		return err == nil && landed.Status == purser.Confirmed
	})
	said = shell(t, "KEY="+s.Operator+"\ncurl -H \"Authorization: Bearer $KEY\" \""+s.URL+"/v1/stake/positions"+rest)
	if strings.Count(said, `"success":true`) != 2 || !strings.Contains(said, `"state":"activating","staked":"2"`) || !strings.Contains(said, `"status":"awaiting_signature"`) {
		t.Errorf("it said %s", said)
	}
}

// paid runs a program that pays s.To, and requires that the money arrives.
func paid(t *testing.T, w *town, s settings, amount string, run func() string) {
	t.Helper()
	before := w.world.Solana.Balance(s.To)
	if out := run(); !strings.Contains(out, " "+amount+" SOL") || !strings.HasPrefix(out, "tx_") {
		t.Errorf("it printed %q", out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Wait)
	defer cancel()
	j := &journey{T: t, ctx: ctx, settings: s}
	client := purser.New(s.URL, s.Operator)
	j.until("the money arrives", func() bool {
		_, err := client.Key(ctx)
		return err == nil && w.world.Solana.Balance(s.To) == before+500_000_000
	})
}

// replaced is a snippet with the town's address in the place of the documented one.
func replaced(t *testing.T, code, documented, real string) string {
	t.Helper()
	if !strings.Contains(code, documented) {
		t.Fatalf("it does not name %s", documented)
	}
	return strings.ReplaceAll(code, documented, real)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// shell runs a script that calls curl.
func shell(t *testing.T, script string) string {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		missing(t)("curl is not installed")
	}
	return runs(t, t.TempDir(), nil, "sh", "-euc", script)
}

// listens runs a script that ends with a listener, until the listener has shown its secret.
func listens(t *testing.T, script string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-euc", script)
	cmd.Dir = t.TempDir()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, said := bufio.NewScanner(out), ""
	for lines.Scan() {
		if said += lines.Text() + "\n"; strings.Contains(said, "whsec_") {
			break
		}
	}
	cancel()
	_ = cmd.Wait() // it was killed
	if !strings.Contains(said, "whsec_") {
		t.Errorf("it said %q", said)
	}
}

// commandsExist requires that each line of a script is a make target, or a go command that there is.
func commandsExist(t *testing.T, code string) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(code) {
		command, _, _ := strings.Cut(line, "#")
		words := strings.Fields(command)
		switch {
		case len(words) == 2 && words[0] == "make":
			if !strings.Contains(string(makefile), "\n"+words[1]+":") {
				t.Errorf("%q: no such target", command)
			}
		case len(words) == 1:
			if info, err := os.Stat(filepath.Join("../..", words[0])); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%q: no such program (%v)", command, err)
			}
		case strings.Join(words, " ") == "go run .":
			p, chat := harness.Unconfigured(t, binary) // it begins with nothing configured
			p.Start()
			if said := shell(t, "curl -s "+chat+"/"); !strings.Contains(said, "<title>") {
				t.Errorf("its chat page is %.200s", said)
			}
			p.Stop()
		case strings.Join(words, " ") == "go test ./...":
		default:
			t.Errorf("%q: what is it?", command)
		}
	}
}

// settingsExist requires that each variable of a script is a setting.
func settingsExist(t *testing.T, code string) {
	help := runs(t, ".", nil, binary, "serve", "--help")
	secrets := []string{"PURSER_TELEGRAM_TOKEN"} // not given as flags
	for line := range strings.Lines(code) {
		line, _, _ = strings.Cut(line, " #")
		name, _, exported := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		flag := "--" + strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "PURSER_")), "_", "-") + " "
		switch {
		case exported && (slices.Contains(secrets, name) || strings.Contains(help, flag)):
		case strings.TrimSpace(line) == "make build", strings.TrimSpace(line) == "./purser serve":
		default:
			t.Errorf("%q is no setting", line)
		}
	}
	runs(t, ".", nil, "sh", "-nc", code)
}

// queueCommandsExist requires that each line of a script is a command about queues.
func queueCommandsExist(t *testing.T, code string) {
	for line := range strings.Lines(code) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "./purser" || words[1] != "queue" {
			t.Errorf("%q is no command about queues", line)
			continue
		}
		if help := runs(t, ".", nil, binary, "queue", words[2], "--help"); !strings.Contains(help, "purser queue "+words[2]+" ") {
			t.Errorf("%q: its help is %s", line, help)
		}
	}
}

// scriptsExist requires what a script runs of npm.
func scriptsExist(t *testing.T, code string) {
	manifest, err := os.ReadFile(filepath.Join(typescript, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, needed := range []string{"npm ci && npm test", "npm pack"} {
		if !strings.Contains(code, needed) {
			t.Errorf("it does not say %s", needed)
		}
	}
	for _, script := range []string{`"test": "tsc && node --test`, `"prepack": "tsc"`} {
		if !strings.Contains(string(manifest), script) {
			t.Errorf("package.json has no %s", script)
		}
	}
}
