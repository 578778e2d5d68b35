package bundle

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
)

var update = flag.Bool("update", false, "write signer/served anew")

const (
	sources = "../page"
	embeds  = "../served"
)

// forms are the compressed forms of each file, by the ending of its name.
func forms() map[string]struct {
	pack   func([]byte) []byte
	unpack func([]byte) ([]byte, error)
} {
	pack := func(b *bytes.Buffer, w io.WriteCloser, content []byte) []byte {
		_, _ = w.Write(content) // to memory
		_ = w.Close()
		return b.Bytes()
	}
	return map[string]struct {
		pack   func([]byte) []byte
		unpack func([]byte) ([]byte, error)
	}{
		".br": {func(content []byte) []byte {
			var b bytes.Buffer
			return pack(&b, brotli.NewWriterLevel(&b, brotli.BestCompression), content)
		}, func(packed []byte) ([]byte, error) { return io.ReadAll(brotli.NewReader(bytes.NewReader(packed))) }},
		".gz": {func(content []byte) []byte {
			var b bytes.Buffer
			w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
			return pack(&b, w, content)
		}, func(packed []byte) ([]byte, error) {
			r, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				return nil, err
			}
			return io.ReadAll(r)
		}},
	}
}

func built(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	served, err := Build(folder, os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	return served
}

// What the binary embeds is what these sources make, in each form. A form whose content has not changed stays as it is, whatever version of the
// compressor wrote it.
func TestWhatIsServedIsMadeFromTheSources(t *testing.T) {
	served := built(t, sources)
	var names []string
	for name, content := range served {
		for ext, form := range forms() {
			file := filepath.Join(embeds, name+ext)
			names = append(names, name+ext)
			packed, err := os.ReadFile(file)
			var found []byte
			if err == nil {
				found, err = form.unpack(packed)
			}
			if err == nil && bytes.Equal(found, content) {
				continue
			}
			if !*update {
				t.Errorf("%s is stale (%v): run `go test ./signer/bundle -update`", file, err)
				continue
			}
			if err := os.WriteFile(file, form.pack(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	entries, err := os.ReadDir(embeds)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if slices.Contains(names, e.Name()) {
			continue
		}
		if !*update {
			t.Errorf("%s/%s comes from no source", embeds, e.Name())
		} else if err := os.Remove(filepath.Join(embeds, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// copied copies the sources into a folder of the test, with one file changed.
func copied(t *testing.T, name string, change func(string) string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(sources)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, name)
	content, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(change(string(content))), 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestTheSameSourcesMakeTheSameBytesInAnyFolder(t *testing.T) {
	first, second := built(t, sources), built(t, copied(t, "notes.txt", func(string) string { return "no part of the page" }))
	if !maps.EqualFunc(first, second, bytes.Equal) {
		t.Error("another folder makes other bytes")
	}
}

func TestAChangedSourceChangesTheNamesInTheHTML(t *testing.T) {
	page := string(built(t, sources)["index.html"])
	for name, change := range map[string]func(string) string{
		"decode.js": func(s string) string {
			return strings.Replace(s, "export ", "export const planted = 1;\nglobalThis.x = planted;\nexport ", 1)
		},
		"style.css": func(s string) string { return s + "\n.planted { color: red }\n" },
		"ru.json":   func(s string) string { return strings.Replace(s, `": "`, `": "+`, 1) },
		"boot.js":   func(s string) string { return s + "\nglobalThis.planted = 1;\n" },
		"icon.svg":  func(s string) string { return s + "\n" },
	} {
		if string(built(t, copied(t, name, change))["index.html"]) == page {
			t.Errorf("%s is not pinned by the HTML", name)
		}
	}
}

func TestALanguageTakesFromEnglishWhatItLacks(t *testing.T) {
	folder := copied(t, "xx.json", func(string) string { return `{"sign": {"title": "Čau"}}` })
	got := string(built(t, folder)["xx.json"])
	for name, lacks := range map[string]string{"xx.signing.json": `"quiz_title"`, "xx.connecting.json": `"lockup"`} {
		if part := string(built(t, folder)[name]); !strings.Contains(part, `"keys_stay":"Your recovery phrase`) || strings.Contains(part, lacks) {
			t.Errorf("%s: %.300s", name, part)
		}
	}
	if !strings.Contains(got, `"title":"Čau"`) || !strings.Contains(got, `"keys_stay":"Your recovery phrase`) || strings.Contains(got, "Approve this payment?") {
		t.Errorf("%.300s", got)
	}
}

func TestASourceThatCannotBeServedIsRefused(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"main.js":    func(s string) string { return s + "\nimport './nowhere.js';\n" },
		"boot.js":    func(s string) string { return s + "\nglobalThis.x = '<' + '/script>' + '<!--';\n" },
		"en.json":    func(s string) string { return s[1:] },
		"index.html": func(s string) string { return strings.Replace(s, `href="style.css"`, `href="./style.css"`, 1) },
	} {
		folder := copied(t, name, change)
		if _, err := Build(folder, os.DirFS(folder)); err == nil {
			t.Errorf("%s: built all the same", name)
		}
	}
}
