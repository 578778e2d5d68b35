package api

import (
	"encoding/json"
	"html"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"purser/handlers"
	"purser/pages"
	"purser/quota"
	"purser/wallet"
	"purser/webhooks"
)

// TestEveryCallOfTheDocumentationRuns: each example of the page for developers is typed into a shell as it stands.
// The server takes its path, method, headers, parameters and body; what it does not have is the ids that the examples
// name.
func TestEveryCallOfTheDocumentationRuns(t *testing.T) {
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(tool + " is not installed")
		}
	}
	r := newHarness(t)
	r.bot.auto = sentAtOnce
	r.savePrices(wallet.TokenPrice{Price: wallet.MustPrice("147"), At: r.Now(), Source: "jupiter"})
	key := r.pro(wallet.APIKey, 1001, "")
	token := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	events, err := webhooks.Describe()
	r.Must(err)
	at, err := url.Parse(r.base)
	r.Must(err)
	docs, err := pages.New(pages.Options{Document: Document(), Events: events, API: at, Limits: quota.Limits{APIFree: 1}, Log: slog.New(slog.DiscardHandler)})
	r.Must(err)
	served := httptest.NewRecorder()
	docs.ServeHTTP(served, httptest.NewRequest("GET", pages.Docs, nil))
	calls := regexp.MustCompile(`(?s)<pre id="(curl-[^"]+|example-start|example-webhook)">(.*?)</pre>`).FindAllStringSubmatch(served.Body.String(), -1)
	if len(calls) < 40 {
		t.Fatalf("the page holds %d calls (%d)", len(calls), served.Code)
	}
	// What an example's id leads to nowhere with, and no other refusal.
	nowhere := map[string]bool{"TRANSACTION_NOT_FOUND": true, "WEBHOOK_NOT_FOUND": true, "WALLET_NOT_FOUND": true, "USER_NOT_FOUND": true, "CONSENT_REQUIRED": true,
		"NOT_FOUND": true, "INVALID_SIGNATURE": true, "TOKEN_NOT_FOUND": true, "QUOTE_EXPIRED": true}
	portal := map[string]bool{"curl-openPortal": true, "curl-closePortal": true} // there is no link and no session
	home := t.TempDir()
	curlrc := "silent\nmax-time = 20\nwrite-out = \"\\n%{http_code}\"\n"
	r.Must(os.WriteFile(filepath.Join(home, ".curlrc"), []byte(curlrc), 0o600))
	well := 0
	for _, call := range calls {
		name, typed := call[1], strings.ReplaceAll(html.UnescapeString(call[2]), "pur_test_…", key)
		given := home
		if strings.Contains(typed, "/listen") { // an answer without an end
			given = t.TempDir()
			r.Must(os.WriteFile(filepath.Join(given, ".curlrc"), []byte(strings.Replace(curlrc, "20", "1", 1)), 0o600))
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-c", typed)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + given, "KEY=" + key, "BOT_TOKEN=" + token, "SESSION=" + key}
		out, err := cmd.Output()
		if err != nil && given == home {
			t.Errorf("%s: %v\n%s\n%s", name, err, typed, out)
			continue
		}
		cut := strings.LastIndexByte(string(out), '\n')
		body, status := string(out[:max(cut, 0)]), string(out[cut+1:])
		var refused struct {
			Error struct{ Code, Details string }
		}
		if status[0] == '2' {
			well++
			continue
		}
		if err := json.Unmarshal([]byte(body), &refused); err != nil || !nowhere[refused.Error.Code] && !(portal[name] && refused.Error.Code == "INVALID_API_KEY") || strings.Contains(refused.Error.Details, "nothing at this path") {
			t.Errorf("%s: %s %s\n%s", name, status, body, typed)
		}
	}
	if well < 15 {
		t.Errorf("%d of %d calls did what they say", well, len(calls))
	}
	t.Logf("%d of %d calls did what they say; the others name what is not there", well, len(calls))
}
