package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"purser/e2e/rig"
)

// shell runs a snippet of a page in bash, and returns what it printed. Where it calls purser, that is noted instead,
// with its arguments and the settings of its environment.
func shell(t *testing.T, snippet string, env ...string) (printed string, args, settings []string) {
	t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("bash is not installed")
	}
	dir := t.TempDir()
	called := `purser() { printf '%s\n' "$@" > "$NOTED/args"; env | grep '^PURSER_' > "$NOTED/settings" || true; }` + "\nset -eu\n"
	cmd := exec.CommandContext(t.Context(), path, "-c", called+snippet)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "NOTED=" + dir}, env...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s%s", err, snippet, out.String(), complaints.String())
	}
	lines := func(name string) []string {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil
		}
		return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	}
	return out.String(), lines("args"), lines("settings")
}

// TestTheShellSnippetsOfTheWebhookDocs runs them in their order as they stand, with this machine's addresses in the
// place of the page's: a webhook is registered, events are listened to, and a saved delivery is verified.
func TestTheShellSnippetsOfTheWebhookDocs(t *testing.T) {
	page, err := os.ReadFile("docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	var snippets []string
	for _, fenced := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		if fenced[1] == "" {
			snippets = append(snippets, fenced[2])
		}
	}
	if len(snippets) != 3 {
		t.Fatalf("the page holds %d shell snippets", len(snippets))
	}
	i := newInstance(t, "PURSER_WEBHOOKS_ALLOW_PRIVATE=127.0.0.0/8", "PURSER_WEBHOOKS_ALLOW_HTTP=true").beside(rig.World(t, 50*time.Millisecond))
	i.start("serve")
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(i.says("key", "create", "--kind", "api", "--tier", "pro", "--json")), &made); err != nil {
		t.Fatal(err)
	}
	came := make(chan []byte, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if raw, err := httputil.DumpRequest(r, true); err == nil {
			came <- raw
		}
	}))
	defer receiver.Close()
	here := strings.NewReplacer("https://wallet.example.org", i.public, "https://example.com/hook", receiver.URL+"/hook",
		"http://localhost:3000/hook", receiver.URL+"/hook", "pur_test_…", made.Key, "hook.secret", filepath.Join(i.dir, "hook.secret"), "saved.http", filepath.Join(i.dir, "saved.http"))

	printed, _, _ := shell(t, here.Replace(snippets[0]), "KEY="+made.Key)
	var registered struct {
		Success bool
		Data    struct {
			ID     string `json:"webhook_id"`
			Secret string
		}
	}
	if err := json.Unmarshal([]byte(printed), &registered); err != nil || !registered.Success || !strings.HasPrefix(registered.Data.Secret, "whsec_") {
		t.Fatalf("%v: %s", err, printed)
	}
	test := func(id string) {
		t.Helper()
		req, err := http.NewRequest("POST", i.public+"/v1/webhooks/"+id+"/test", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+made.Key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Fatalf("the test of a webhook: %d", resp.StatusCode)
		}
	}
	test(registered.Data.ID)
	var saved []byte
	select {
	case saved = <-came:
	case <-time.After(rig.Wait):
		t.Fatal("nothing came")
	}

	_, args, settings := shell(t, here.Replace(snippets[1]))
	listening := &instance{t: t}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, args, settings, listening, listening) }()
	for deadline := time.Now().Add(rig.Wait); !strings.Contains(listening.printed(), "whsec_"); <-time.After(5 * time.Millisecond) { // it prints to us
		if time.Now().After(deadline) {
			t.Fatalf("%q does not listen: %s", args, listening.printed())
		}
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("%q ended with %d: %s", args, code, listening.printed())
	}

	if err := os.WriteFile(filepath.Join(i.dir, "hook.secret"), []byte(registered.Data.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(i.dir, "saved.http"), saved, 0o600); err != nil {
		t.Fatal(err)
	}
	_, args, settings = shell(t, here.Replace(snippets[2]))
	var out bytes.Buffer
	if code := run(t.Context(), args, settings, &out, &out); code != 0 || !strings.Contains(out.String(), "webhook-signature") {
		t.Errorf("%q: status %d, said %s", args, code, out.String())
	}
}
