// Package bundle makes the files that the signing page is served as from its sources in signer/page: a script for each part of the page, each with one
// catalogue for each language, one style sheet, and the HTML that names them all by their SHA-256. It is no part of the binary: its test
// writes the files into signer/served, where package signer embeds them, and fails when they are stale:
//
//	go test ./signer/bundle -update
//
// The whole page is main.js with en.json. The parts connecting.js and signing.js are for the links that people open most, and have en.connecting.json
// and en.signing.json: the texts that their scripts name.
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
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"purser/signer"
)

// English is the catalogue that other languages take from what they lack.
const English = "en.json"

// target is the oldest JavaScript version that the page supports. esbuild writes nothing newer.
const target = api.ES2022

// Whole is the script that has every flow; it needs every text.
const Whole = "main.js"

// Scripts returns the entry modules of the parts of the page, in the order of the HTML.
func Scripts() []string { return []string{Whole, "connecting.js", "signing.js"} }

// Build returns what the page in folder is served as, by plain name: index.html, style.css, the scripts, and for each language the catalogue of
// each script. folder is a path of the disk, since esbuild reads the modules itself; sources is the same folder.
func Build(folder string, sources fs.FS) (map[string][]byte, error) {
	served := map[string][]byte{}
	page, err := fs.ReadFile(sources, "index.html")
	if err != nil {
		return nil, err
	}
	for _, script := range Scripts() {
		if served[script], err = compile(folder+"/"+script, api.FormatESModule); err != nil {
			return nil, err
		}
		texts, err := catalogues(sources, script, served[script], page)
		if err != nil {
			return nil, err
		}
		maps.Copy(served, texts)
	}
	if served["style.css"], err = compile(folder+"/style.css", api.FormatDefault); err != nil {
		return nil, err
	}
	boot, err := compile(folder+"/boot.js", api.FormatIIFE)
	if err != nil {
		return nil, err
	}
	icon, err := fs.ReadFile(sources, "icon.svg")
	if err != nil {
		return nil, err
	}
	served["index.html"], err = html(page, boot, icon, served)
	return served, err
}

// compile bundles and minifies a script or a style sheet.
func compile(entry string, format api.Format) ([]byte, error) {
	var plugins []api.Plugin
	if path.Base(entry) == "signing.js" {
		plugins = append(plugins, withoutCreate())
	}
	made := api.Build(api.BuildOptions{
		EntryPoints: []string{entry}, Bundle: true, Format: format, Target: target, Charset: api.CharsetUTF8, Plugins: plugins,
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

// withoutCreate puts whole.js in the place of create.js: a part of the page that creates and restores no wallet leaves that to the whole page, and is
// a third smaller for it.
func withoutCreate() api.Plugin {
	return api.Plugin{Name: "without create.js", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: `^\./create\.js$`}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: filepath.Join(args.ResolveDir, "whole.js")}, nil
		})
	}}
}

// catalogues returns the catalogue of each language for a script, complete: what one lacks is there in English, so that a page loads one. That of
// the whole page has every text.
func catalogues(sources fs.FS, name string, script, page []byte) (map[string][]byte, error) {
	files, err := fs.Glob(sources, "*.json")
	if err != nil {
		return nil, err
	}
	english, err := catalogue(sources, English)
	if err != nil {
		return nil, err
	}
	served := map[string][]byte{}
	for _, file := range files {
		texts, err := catalogue(sources, file)
		if err != nil {
			return nil, err
		}
		texts = completed(texts, english)
		as := file
		if name != Whole {
			texts = named(texts, slices.Concat(script, page))
			as = strings.TrimSuffix(file, ".json") + "." + strings.TrimSuffix(name, ".js") + ".json"
		}
		if served[as], err = compact(texts); err != nil {
			return nil, err
		}
	}
	return served, nil
}

// key matches a text's key that code or HTML names: a whole literal, or the beginning of one that is completed when it is used, as in
// `status.${status}_title`.
var key = regexp.MustCompile("[\"'`]([a-z]+)\\.([a-z0-9_]*)([\"'`]|\\$\\{)")

// named returns the texts of a catalogue whose keys code names. Where code completes a key, all that begin like it are named.
func named(texts map[string]any, code []byte) map[string]any {
	whole := map[string]any{}
	for _, match := range key.FindAllSubmatch(code, -1) {
		section, name, open := string(match[1]), string(match[2]), match[3][0] == '$'
		all, ok := texts[section].(map[string]any)
		if !ok {
			continue
		}
		for one, text := range all {
			if one == name || open && strings.HasPrefix(one, name) {
				if whole[section] == nil {
					whole[section] = map[string]any{}
				}
				whole[section].(map[string]any)[one] = text
			}
		}
	}
	return whole
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
	// Not base64, which compresses badly: the HTML is what every visit loads.
	picture := "data:image/svg+xml," + strings.NewReplacer("%", "%25", "#", "%23", `"`, "'", "<", "%3C", ">", "%3E", "\n", "%0A").Replace(string(icon))
	text := string(page)
	type exchange struct {
		of, by string
		times  int
	}
	all := []exchange{
		{`<script src="boot.js"></script>`, `<script>` + string(boot) + `</script>`, 1},
		{`<link rel="stylesheet" href="style.css">`, `<link rel="stylesheet" href="` + signer.HashedName("style.css", served["style.css"]) + `" integrity="` + Integrity(served["style.css"]) + `">`, 1},
		{`"icon.svg"`, `"` + picture + `"`, 2},
	}
	for _, script := range Scripts() {
		all = append(all,
			exchange{` src="` + script + `"`, ` src="` + signer.HashedName(script, served[script]) + `" integrity="` + Integrity(served[script]) + `"`, 1},
			exchange{` data-texts="` + script + `"`, ` data-texts="` + strings.Join(textsOf(script, served), " ") + `"`, 1})
	}
	for _, one := range all {
		if n := strings.Count(text, one.of); n != one.times {
			return nil, fmt.Errorf("index.html has %s %d times, not %d", one.of, n, one.times)
		}
		text = strings.ReplaceAll(text, one.of, one.by)
	}
	return []byte(text), nil
}

// textsOf returns the names of the catalogues of a script as they are served, sorted.
func textsOf(script string, served map[string][]byte) []string {
	part := ""
	if script != Whole {
		part = strings.TrimSuffix(script, ".js")
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(served)) {
		language, of, _ := strings.Cut(strings.TrimSuffix(name, ".json"), ".")
		if path.Ext(name) == ".json" && language != "" && of == part {
			names = append(names, signer.HashedName(name, served[name]))
		}
	}
	return names
}

// Integrity returns the value of the attribute `integrity` of a file.
func Integrity(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
