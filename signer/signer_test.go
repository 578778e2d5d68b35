package signer

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
)

// sources lists the page's own files, sorted.
func sources(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func source(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("page", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// unpacked returns a form of a file as it was before it was compressed.
func unpacked(t *testing.T, content []byte, encoding string) []byte {
	t.Helper()
	var r io.Reader = bytes.NewReader(content)
	switch encoding {
	case "br":
		r = brotli.NewReader(r)
	case "gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		r = z
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", encoding, err)
	}
	return plain
}

func TestEveryFileOfThePageIsServedWithItsType(t *testing.T) {
	types := map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".json": "application/json; charset=utf-8"}
	for _, name := range Names() {
		file, ok := Lookup(name)
		content, encoding := file.Encoded("")
		if !ok || len(content) == 0 || encoding != "" || file.ContentType != types[path.Ext(name)] || file.ContentType == "" {
			t.Errorf("%s: ok %v, %d bytes, encoding %q, type %q", name, ok, len(content), encoding, file.ContentType)
		}
	}
	page, ok := Lookup("")
	index, _ := Lookup("index.html")
	if !ok || page.ContentType != "text/html; charset=utf-8" || !reflect.DeepEqual(page, index) {
		t.Errorf("the empty name is not the page: ok %v, type %q", ok, page.ContentType)
	}
}

// A browser keeps a file for a year under its name, so the name must be the hash of what it holds. The HTML has no hash, and is kept nowhere.
func TestOnlyFilesNamedByTheirHashMayBeKept(t *testing.T) {
	kept := 0
	for _, name := range Names() {
		file, _ := Lookup(name)
		content, _ := file.Encoded("")
		sum := sha256.Sum256(content)
		cached := slices.ContainsFunc(file.Headers, func(h Header) bool { return h.Name == "Cache-Control" })
		if name == "index.html" {
			if cached || file.ETag != "" {
				t.Error("the HTML may be kept")
			}
			continue
		}
		kept++
		parts := strings.Split(name, ".")
		if hash := parts[len(parts)-2]; len(parts) < 3 || hash != base64.RawURLEncoding.EncodeToString(sum[:]) || file.ETag != hash {
			t.Errorf("%s is not named by its hash %x", name, sum)
		}
		if !slices.Contains(file.Headers, Header{"Cache-Control", "public,max-age=31536000,immutable"}) || len(file.Headers) != 1 {
			t.Errorf("%s: %v", name, file.Headers)
		}
	}
	if kept < 25 { // style, three parts of a script and seven languages each
		t.Errorf("%d files", kept)
	}
}

func TestTheCompressedFormsHoldTheSameBytes(t *testing.T) {
	for _, name := range Names() {
		file, _ := Lookup(name)
		plain, _ := file.Encoded("")
		for accept, want := range map[string]string{"br": "br", "gzip": "gzip"} {
			content, encoding := file.Encoded(accept)
			if encoding != want || len(content) >= len(plain) || !bytes.Equal(unpacked(t, content, encoding), plain) {
				t.Errorf("%s as %s: %q, %d bytes of %d", name, accept, encoding, len(content), len(plain))
			}
		}
	}
}

func TestAClientGetsTheFormItPrefers(t *testing.T) {
	for accept, want := range map[string]string{
		"":                                "",
		"gzip, deflate, br, zstd":         "br",
		"gzip, deflate":                   "gzip",
		"GZIP , BR":                       "br",
		"x-gzip":                          "gzip",
		"*":                               "br",
		"*;q=0":                           "",
		"br;q=0, gzip":                    "gzip",
		"br;q=0, gzip;q=0":                "",
		"br;q=0.000, *":                   "gzip",
		"br; q=0.1, gzip; q=0.5":          "gzip",
		"br;q=0.5, gzip;q=0.5":            "br",
		"identity, br;q=0.5, gzip;q=0.9":  "",
		"identity;q=0.5, gzip":            "gzip",
		"identity;q=0, br;q=0.2":          "br",
		"br;q=2, gzip;q=-1":               "",
		"br;q=NaN, gzip;q=1e-1":           "gzip",
		"br;q=, gzip;Q=0.3;x=y":           "gzip",
		"brotli, gz":                      "",
		",,;;=,br":                        "br",
		strings.Repeat("x;q=1,", 2_000):   "",
		strings.Repeat(";", 2_000) + "br": "",
	} {
		file, _ := Lookup("")
		if _, encoding := file.Encoded(accept); encoding != want {
			t.Errorf("%.60q: %q, want %q", accept, encoding, want)
		}
	}
}

func TestNothingElseIsServed(t *testing.T) {
	list := []string{"..", "../signer.go", "/index.html", "./index.html", "page/index.html", "index.html/", "no.js", "\x00.js", ".js", "a/../main.js", `..\signer.go`,
		"main.js", "main.js.br", "served/main.js.gz", "en.json", "main." + strings.Repeat("A", 43) + ".js", "boot.js", "decode.js", "icon.svg"}
	for _, name := range Names() {
		list = append(list, strings.ToUpper(name), name+".br", name[1:])
	}
	for _, name := range list {
		if _, ok := Lookup(name); ok {
			t.Errorf("served %q", name)
		}
	}
}

// parts are the scripts of the page's parts, and what the names of their catalogues have between language and hash.
var parts = map[string]string{"main.js": "", "connecting.js": `\.connecting`, "signing.js": `\.signing`}

// named returns the file that the HTML names with a plain name, such as main.js.
func named(t *testing.T, plain string) (name string, content []byte) {
	t.Helper()
	ext := path.Ext(plain)
	for _, name := range Names() {
		if strings.HasPrefix(name, strings.TrimSuffix(plain, ext)+".") && path.Ext(name) == ext {
			file, _ := Lookup(name)
			content, _ := file.Encoded("")
			return name, content
		}
	}
	t.Fatalf("no %s", plain)
	return "", nil
}

func TestTheHTMLPinsEveryFileByItsHash(t *testing.T) {
	file, _ := Lookup("")
	html, _ := file.Encoded("")
	pinned := []string{"style.css"}
	for script := range parts {
		pinned = append(pinned, script)
	}
	for _, plain := range pinned {
		name, content := named(t, plain)
		sum := sha256.Sum256(content)
		if want := `="` + name + `" integrity="sha256-` + base64.StdEncoding.EncodeToString(sum[:]) + `"`; strings.Count(string(html), want) != 1 {
			t.Errorf("the HTML lacks %s", want)
		}
	}
	references := regexp.MustCompile(`(?:src|href)="([^"]*)"( integrity=")?`).FindAllStringSubmatch(string(html), -1)
	for _, r := range references {
		if !strings.HasPrefix(r[1], "data:") && r[2] == "" {
			t.Errorf("%s is named without integrity", r[1])
		}
	}
	if len(references) != 3+len(parts) { // the icon twice, the style sheet, the scripts
		t.Errorf("%d references", len(references))
	}
	// The scripts stand in the template, which runs nothing, and boot.js right behind it. Each has its own catalogues.
	template := regexp.MustCompile(`(?s)<template id="parts">(.*?)</template>\s*<script>`).FindSubmatch(html)
	if template == nil {
		t.Fatal("no template before the boot script")
	}
	elements := regexp.MustCompile(`<script type="module" src="([a-z]+)\.[^>]* data-texts="([^"]*)"></script>`).FindAllSubmatch(template[1], -1)
	if len(elements) != len(parts) || strings.Count(string(html), "<script") != len(parts)+1 || string(elements[0][1]) != "main" {
		t.Fatalf("%q in the template", elements)
	}
	for _, e := range elements {
		var catalogues []string
		for _, name := range Names() {
			if ending := parts[string(e[1])+".js"]; regexp.MustCompile(`^[a-z]+` + ending + `\.[A-Za-z0-9_-]{43}\.json$`).MatchString(name) {
				catalogues = append(catalogues, name)
			}
		}
		if string(e[2]) != strings.Join(catalogues, " ") || len(catalogues) < 7 {
			t.Errorf("%s names %s, not %v", e[1], e[2], catalogues)
		}
	}
	scripts := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllSubmatch(html, -1)
	if len(scripts) != 1 {
		t.Fatalf("%d scripts in the HTML", len(scripts))
	}
	sum := sha256.Sum256(scripts[0][1])
	want := strings.Replace(contentPolicy, "script-src 'self'", "script-src 'self' 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", 1)
	if !slices.Equal(file.Headers, []Header{{"Content-Security-Policy", want}}) {
		t.Errorf("the HTML has %v", file.Headers)
	}
}

func TestHashIsTheStatedOne(t *testing.T) {
	plain := map[string][]byte{} // by plain name
	for _, name := range Names() {
		file, _ := Lookup(name)
		content, _ := file.Encoded("")
		plain[strings.Replace(name, "."+file.ETag+".", ".", 1)] = content
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		fmt.Fprintf(sum, "%s\x00", name)
		for shift := 56; shift >= 0; shift -= 8 {
			sum.Write([]byte{byte(len(plain[name]) >> shift)})
		}
		sum.Write(plain[name])
	}
	if want := hex.EncodeToString(sum.Sum(nil)); Hash() != want {
		t.Errorf("Hash() = %s, want %s", Hash(), want)
	}
}

const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

func TestHeadersAreTheDesigns(t *testing.T) {
	want := map[string]string{
		"Content-Security-Policy": contentPolicy,
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
	for _, name := range sources(t) {
		for number, line := range strings.Split(source(t, name), "\n") {
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
	list := sources(t)
	from := regexp.MustCompile(`from '([^']*)'`)
	for _, name := range list {
		for _, match := range from.FindAllStringSubmatch(source(t, name), -1) {
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

// The sizes that docs/performance.md states, with a little room: HTML, style sheet, script and the largest catalogue of each part.
func TestAFirstVisitStaysSmall(t *testing.T) {
	size := func(name string) int {
		file, _ := Lookup(name)
		content, _ := file.Encoded("br")
		return len(content)
	}
	style, _ := named(t, "style.css")
	for script, most := range map[string]int{"main.js": 63_000, "connecting.js": 41_000, "signing.js": 46_000} { // bytes, as brotli
		name, _ := named(t, script)
		largest := 0
		for _, name := range Names() {
			if regexp.MustCompile(`^[a-z]+` + parts[script] + `\.[A-Za-z0-9_-]{43}\.json$`).MatchString(name) {
				largest = max(largest, size(name))
			}
		}
		if total := size("") + size(style) + size(name) + largest; total > most || largest == 0 {
			t.Errorf("a first visit with %s loads %d bytes, %d of a catalogue, at most %d", script, total, largest, most)
		}
	}
}
