package signer

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// names lists the page's files, sorted.
func names(t *testing.T) []string {
	t.Helper()
	entries, err := fs.ReadDir(Page(), ".")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestEveryFileOfThePageIsServedWithItsType(t *testing.T) {
	for _, name := range names(t) {
		content, contentType, ok := File(name)
		if !ok || len(content) == 0 || contentType == "" {
			t.Errorf("%s: ok %v, %d bytes, type %q", name, ok, len(content), contentType)
		}
	}
	page, contentType, ok := File("")
	index, _, _ := File("index.html")
	if !ok || contentType != "text/html; charset=utf-8" || string(page) != string(index) {
		t.Errorf("the empty name is not the page: ok %v, type %q", ok, contentType)
	}
}

func TestNothingElseIsServed(t *testing.T) {
	for _, name := range []string{"..", "../signer.go", "/index.html", "./index.html", "page/index.html", "index.html/", "no.js", "\x00.js", ".js", "a/../main.js", `..\signer.go`} {
		if _, _, ok := File(name); ok {
			t.Errorf("served %q", name)
		}
	}
}

func TestHashIsTheStatedOne(t *testing.T) {
	sum := sha256.New()
	for _, name := range names(t) {
		content, err := os.ReadFile(filepath.Join("page", name))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "%s\x00", name)
		for shift := 56; shift >= 0; shift -= 8 {
			sum.Write([]byte{byte(len(content) >> shift)})
		}
		sum.Write(content)
	}
	if want := hex.EncodeToString(sum.Sum(nil)); Hash() != want {
		t.Errorf("Hash() = %s, want %s", Hash(), want)
	}
}

func TestHeadersAreTheDesigns(t *testing.T) {
	want := map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
		"Referrer-Policy":         "no-referrer",
		"X-Content-Type-Options":  "nosniff",
		"Cache-Control":           "no-store",
		"Permissions-Policy":      "camera=(), microphone=(), geolocation=(), payment=(), usb=(), publickey-credentials-get=(self), publickey-credentials-create=(self)",
	}
	got := map[string]string{}
	for _, h := range Headers(&url.URL{Scheme: "http", Host: "127.0.0.1"}) {
		got[h.Name] = h.Value
	}
	if https := Headers(&url.URL{Scheme: "https", Host: "wallet.example.org"}); len(https) != len(got)+1 {
		t.Errorf("by https: %v", https)
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s: %q, want %q", name, got[name], value)
		}
	}
}

// The browser enforces the policy; this names the line when somebody writes what it would block, or
// what it cannot block.
func TestPageKeepsToItsOwnRules(t *testing.T) {
	forbidden := map[string]string{
		`(?i)\b(inner|outer)HTML\b|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment`: "markup from text",
		`\beval\(|new Function\(|\bsetTimeout\(\s*['"]`:                                                   "code from text",
		`(?i)\bstyle\s*=|<style|\.style\b|cssText`:                                                        "inline style",
		`(?i)\bon[a-z]+\s*=\s*["']`:                                                                       "inline handler",
		`localStorage|sessionStorage|document\.cookie|\bcaches\b|serviceWorker`:                           "storage beside the vault",
		`\bconsole\.`:                  "console output",
		`Math\.random`:                 "randomness that is not for keys",
		`(?i)telegram-web-app|web_app`: "a Mini App",
		`import\(`:                     "dynamic import",
	}
	outside := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9]`)
	for _, name := range names(t) {
		content, _, _ := File(name)
		for number, line := range strings.Split(string(content), "\n") {
			for pattern, what := range forbidden {
				if regexp.MustCompile(pattern).MatchString(line) {
					t.Errorf("page/%s:%d: %s: %s", name, number+1, what, strings.TrimSpace(line))
				}
			}
			// The one way out is a link that a person taps, back to the chat: it names the bot and nothing else.
			known := strings.NewReplacer("http://www.w3.org/2000/svg", "", "`https://t.me/${bot}`", "").Replace(line)
			if outside.MatchString(known) {
				t.Errorf("page/%s:%d: names an address elsewhere: %s", name, number+1, strings.TrimSpace(line))
			}
		}
	}
}

func TestEveryImportIsAFileOfThePage(t *testing.T) {
	list := names(t)
	from := regexp.MustCompile(`from '([^']*)'`)
	for _, name := range list {
		content, _, _ := File(name)
		for _, match := range from.FindAllStringSubmatch(string(content), -1) {
			if file, relative := strings.CutPrefix(match[1], "./"); !relative || !slices.Contains(list, file) {
				t.Errorf("page/%s imports %q", name, match[1])
			}
		}
	}
}

func TestPageDecodesSignsAndShows(t *testing.T) {
	if _, err := os.Stat("pagetest/node_modules"); err != nil {
		missing(t, "signer/pagetest has no node_modules: run `npm ci` there")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing(t, "node is not installed")
	}
	// Four files at once: by itself Node takes one less than there are processors, and a browser waits more than it works.
	run := exec.CommandContext(t.Context(), node, "--test", "--test-concurrency=4", "--test-reporter=spec")
	run.Dir = "pagetest"
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("node --test: %v\n%s", err, out)
	}
	if !regexp.MustCompile(`(?m)^ℹ pass [1-9]`).Match(out) {
		t.Fatalf("no test ran:\n%s", out)
	}
}

// missing ends a test that wants a tool: skipped on a person's machine, failed in CI.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}
