// Package bundle makes the files that the signing page is served as from its sources in signer/page: one script, one style
// sheet, one catalogue for each language, and the HTML that names them by their SHA-256. It is no part of the binary: its test
// writes the files into signer/served, where package signer embeds them, and fails when they are stale:
//
//	go test ./signer/bundle -update
//
// The same sources and the same version of esbuild (go.mod) make the same bytes on every machine. docs/decisions/0057 has
// the reasons.
package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// English is the catalogue that other languages take from what they lack.
const English = "en.json"

// oldest are the browsers that the page is written for; esbuild writes nothing newer.
const oldest = api.ES2022

// Build returns what the page in folder is served as, by plain name: index.html, main.js, style.css and <language>.json. folder is a path of the
// disk, since esbuild reads the modules itself; sources is the same folder.
func Build(folder string, sources fs.FS) (map[string][]byte, error) {
	served := map[string][]byte{}
	var err error
	if served["main.js"], err = compile(folder+"/main.js", api.FormatESModule); err != nil {
		return nil, err
	}
	if served["style.css"], err = compile(folder+"/style.css", api.FormatDefault); err != nil {
		return nil, err
	}
	texts, err := catalogues(sources)
	if err != nil {
		return nil, err
	}
	maps.Copy(served, texts)
	boot, err := compile(folder+"/boot.js", api.FormatIIFE)
	if err != nil {
		return nil, err
	}
	icon, err := fs.ReadFile(sources, "icon.svg")
	if err != nil {
		return nil, err
	}
	page, err := fs.ReadFile(sources, "index.html")
	if err != nil {
		return nil, err
	}
	served["index.html"], err = html(page, boot, icon, served)
	return served, err
}

// compile bundles and minifies a script or a style sheet.
func compile(entry string, format api.Format) ([]byte, error) {
	made := api.Build(api.BuildOptions{
		EntryPoints: []string{entry}, Bundle: true, Format: format, Target: oldest, Charset: api.CharsetUTF8,
		LogOverride:  map[string]api.LogLevel{"empty-import-meta": api.LogLevelSilent}, // in a function of catalogue.js that boot.js does not use
		MinifySyntax: true, MinifyWhitespace: true, MinifyIdentifiers: true, LegalComments: api.LegalCommentsNone,
	})
	for _, message := range append(made.Errors, made.Warnings...) {
		return nil, fmt.Errorf("bundle %s: %s", entry, message.Text)
	}
	if len(made.OutputFiles) != 1 {
		return nil, fmt.Errorf("bundle %s: %d files, not one", entry, len(made.OutputFiles))
	}
	return bytes.TrimRight(made.OutputFiles[0].Contents, "\n"), nil
}

// catalogues returns the catalogue of each language, complete: what one lacks is there in English, so that a page loads one.
func catalogues(sources fs.FS) (map[string][]byte, error) {
	names, err := fs.Glob(sources, "*.json")
	if err != nil {
		return nil, err
	}
	english, err := catalogue(sources, English)
	if err != nil {
		return nil, err
	}
	served := map[string][]byte{}
	for _, name := range names {
		texts, err := catalogue(sources, name)
		if err != nil {
			return nil, err
		}
		if served[name], err = compact(completed(texts, english)); err != nil {
			return nil, err
		}
	}
	return served, nil
}

func catalogue(sources fs.FS, name string) (map[string]any, error) {
	content, err := fs.ReadFile(sources, name)
	if err != nil {
		return nil, err
	}
	var texts map[string]any
	if err := json.Unmarshal(content, &texts); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return texts, nil
}

// completed returns the sections of a catalogue with the texts of English that it lacks. A text with plural forms is one text.
func completed(texts, english map[string]any) map[string]any {
	whole := map[string]any{}
	for section, of := range english {
		all, ok := of.(map[string]any)
		if !ok {
			whole[section] = of
			continue
		}
		whole[section] = maps.Clone(all)
	}
	for section, of := range texts {
		own, ok := of.(map[string]any)
		all, both := whole[section].(map[string]any)
		if !ok || !both {
			whole[section] = of
			continue
		}
		maps.Copy(all, own)
	}
	return whole
}

// compact writes JSON with sorted keys and no needless escapes.
func compact(texts map[string]any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(texts)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// html returns the page's HTML with the names of what is served, their hashes, and the boot script and the icon inside. Script and style have the
// attribute `integrity`, by which a browser refuses another file than this HTML names.
func html(page, boot, icon []byte, served map[string][]byte) ([]byte, error) {
	if bytes.Contains(boot, []byte("</")) || bytes.Contains(boot, []byte("<!--")) {
		return nil, errors.New("boot.js has what ends a script inside HTML")
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(served)) {
		if path.Ext(name) == ".json" {
			names = append(names, Hashed(name, served[name]))
		}
	}
	picture := "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(icon)
	text := string(page)
	for _, one := range []struct {
		of, by string
		times  int
	}{
		{`<meta name="texts" content="">`, `<meta name="texts" content="` + strings.Join(names, " ") + `">`, 1},
		{`<script src="boot.js"></script>`, `<script>` + string(boot) + `</script>`, 1},
		{`<link rel="stylesheet" href="style.css">`, `<link rel="stylesheet" href="` + Hashed("style.css", served["style.css"]) + `" integrity="` + Integrity(served["style.css"]) + `">`, 1},
		{`<script type="module" src="main.js"></script>`, `<script type="module" src="` + Hashed("main.js", served["main.js"]) + `" integrity="` + Integrity(served["main.js"]) + `"></script>`, 1},
		{`"icon.svg"`, `"` + picture + `"`, 2},
	} {
		if n := strings.Count(text, one.of); n != one.times {
			return nil, fmt.Errorf("index.html has %s %d times, not %d", one.of, n, one.times)
		}
		text = strings.ReplaceAll(text, one.of, one.by)
	}
	return []byte(text), nil
}

// Hashed returns the name that a file is served by: main.js becomes main.<SHA-256 in base64url>.js.
func Hashed(name string, content []byte) string {
	sum := sha256.Sum256(content)
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + "." + base64.RawURLEncoding.EncodeToString(sum[:]) + ext
}

// Integrity returns the value of the attribute `integrity` of a file.
func Integrity(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
