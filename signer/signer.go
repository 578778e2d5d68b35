// Package signer holds the signing page: its files, their hash and the headers they are served with. It does not know who
// serves it. It sees neither keys nor transactions: the page's own code handles those, on the device of the person who
// opened it (docs/architecture.md, Custody and the signing page).
//
// Lookup returns one file of the page, Headers what every response needs, Hash what `purser page-hash` prints for comparison. The
// sources are plain ES modules in page/. signer/bundle makes the files in served/ from them, which are embedded
// (docs/decisions/0057):
//
//   - boot.js runs inside the HTML, chooses the part of the page that the link needs (link.js), and asks for its script and texts, and for what
//     the link is about (ask.js). files.js knows the files that the HTML names by their hash.
//   - main.js is the whole page, connecting.js and signing.js are parts for what is opened most. Each begins with start.js, which starts
//     a flow: bind.js connects a wallet, sign.js approves a payment (outcome.js follows
//     it), limits.js sets spending limits, home.js lists the wallets on the device, create.js creates, restores and imports one. whole.js stands for
//     create.js in the part that signs.
//   - decode.js reads what a transaction does, from its bytes alone, and payment.js shows it. offer.js and challenge.js
//     check the server's answers, server.js asks for them. external.js and apps.js use wallet apps.
//   - freeze.js freezes and unfreezes an account. proof.js is what the flows share in which a wallet signs a text, and how a
//     wallet is unlocked. retry.js asks the server again.
//   - mnemonic.js, keyfile.js, seal.js and vault.js make, seal and store keys. webauthn.js and passkey.js unlock them with a
//     passkey (docs/decisions/0052). history.js remembers what was signed, policies.js the spending limits,
//     and policy.js says what they allow (docs/decisions/0054).
//   - dom.js and parts.js build the screens. Every text comes from <language>.json by catalogue.js
//     (docs/decisions/0028).
//
// pagetest tests the modules in Node against independent implementations, and the page in Chromium against an honest and
// a hostile server.
package signer

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// served has each file twice, compressed with brotli and with gzip. signer/bundle writes them.
//
//go:embed served
var served embed.FS

// headers is its own file because the page's tests, which are JavaScript, serve the page with
// exactly the same headers.
//
//go:embed headers.txt
var headers string

// Header is one HTTP response header.
type Header struct{ Name, Value string }

// strictTransport makes browsers reach a host by https alone for one year (RFC 6797), without its subdomains.
const strictTransport = "max-age=31536000"

// Headers returns the headers that every file of the page must be served with, errors included, at its public address.
// Content-Type comes from File. The other pages of purser start from the same headers.
func Headers(public *url.URL) []Header {
	var list []Header
	if public != nil && public.Scheme == "https" { // over plain http, browsers ignore it
		list = append(list, Header{"Strict-Transport-Security", strictTransport})
	}
	for line := range strings.Lines(headers) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ": "); found {
			list = append(list, Header{name, value})
		}
	}
	return list
}

// index is the page's HTML: the only file without its hash in its name.
const index = "index.html"

// File is one file of the page.
type File struct {
	ContentType string
	// ETag names the content: its SHA-256 in base64url. "" for index.html, which nobody may keep.
	ETag string
	// Headers replace those of Headers with the same name.
	Headers             []Header
	plain, gzip, brotli []byte
}

// Lookup returns the file that GET /w/<name> serves: the empty name is index.html, every other file has its SHA-256 in its
// name. ok is false for a name that is not a file of the page.
func Lookup(name string) (file File, ok bool) {
	if name == "" {
		name = index
	}
	file, ok = files()[name]
	return file, ok
}

// Names returns the names of all files, sorted. They can be requested with Lookup.
func Names() []string { return slices.Sorted(maps.Keys(files())) }

// Encoded returns the file in the form that a client prefers by its header Accept-Encoding, and the value of Content-Encoding: br, gzip,
// or "" for the file as it is. Brotli comes before gzip where a client likes both the same. The bytes are shared: do not change them.
func (f File) Encoded(accept string) (content []byte, encoding string) {
	br, gz, plain := qualities(accept)
	switch {
	case br > 0 && br >= gz && br >= plain:
		return f.brotli, "br"
	case gz > 0 && gz >= plain:
		return f.gzip, "gzip"
	}
	return f.plain, ""
}

// files unpacks the files and names them by their hashes. It does so when the first one is asked for, so that no start waits for it.
var files = sync.OnceValue(func() map[string]File {
	named := map[string]File{}
	for name, plain := range contents() {
		contentType, _ := ContentType(path.Ext(name)) // a test asks for every file
		file := File{ContentType: contentType, plain: plain, gzip: embeddedFile(name + ".gz"), brotli: embeddedFile(name + ".br")}
		if name == index {
			file.Headers = []Header{{"Content-Security-Policy", policyOf(plain)}}
		} else {
			file.ETag = hash(plain)
			file.Headers = []Header{{"Cache-Control", "public,max-age=31536000,immutable"}}
			name = HashedName(name, plain)
		}
		named[name] = file
	}
	return named
})

// HashedName returns the name by which a file is served: main.js becomes main.<SHA-256 in base64url>.js. The HTML names it so.
func HashedName(name string, content []byte) string {
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + "." + hash(content) + ext
}

// hash is the SHA-256 of a file in base64url.
func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// contents returns the files as they are, by plain name (main.js).
func contents() map[string][]byte {
	entries, err := fs.ReadDir(served, "served")
	if err != nil {
		panic("signer: " + err.Error()) // embedded files are in memory and always readable
	}
	plain := map[string][]byte{}
	for _, e := range entries {
		name, packed := strings.CutSuffix(e.Name(), ".gz")
		if !packed {
			continue
		}
		reader, err := gzip.NewReader(bytes.NewReader(embeddedFile(e.Name())))
		if err == nil {
			plain[name], err = io.ReadAll(reader)
		}
		if err != nil {
			panic("signer: " + e.Name() + ": " + err.Error()) // a test unpacks each
		}
	}
	return plain
}

func embeddedFile(name string) []byte {
	content, err := served.ReadFile("served/" + name)
	if err != nil {
		panic("signer: " + err.Error())
	}
	return content
}

var inline = regexp.MustCompile(`<script>([^<]*)</script>`)

// policyOf returns the content security policy of the HTML: that of all files, and the hash of the one script that stands in it.
func policyOf(html []byte) string {
	sources := "script-src 'self'"
	for _, script := range inline.FindAllSubmatch(html, -1) {
		sum := sha256.Sum256(script[1])
		sources += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	for _, h := range Headers(nil) {
		if h.Name == "Content-Security-Policy" {
			return strings.Replace(h.Value, "script-src 'self'", sources, 1)
		}
	}
	panic("signer: headers.txt has no Content-Security-Policy")
}

// ContentType returns the Content-Type of a page's file by its extension (".js"). It is a fixed list, since systems' own
// lists differ: with nosniff, browsers run no module of a wrong type.
func ContentType(ext string) (string, bool) {
	switch ext {
	case ".html":
		return "text/html; charset=utf-8", true
	case ".js":
		return "text/javascript; charset=utf-8", true
	case ".css":
		return "text/css; charset=utf-8", true
	case ".json":
		return "application/json; charset=utf-8", true
	case ".svg":
		return "image/svg+xml", true
	}
	return "", false
}

// Hash returns the lowercase hex sha256 over the page's files as they are served, sorted by name (main.js, without its hash): for each its name, a
// zero byte, the length of its uncompressed contents as 8 bytes big-endian, and its contents. It is the hash of what is
// embedded in this binary, not of what a server sends.
func Hash() string {
	sum := sha256.New()
	all := contents()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sum.Write(append([]byte(name), 0))
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(all[name]))))
		sum.Write(all[name])
	}
	return hex.EncodeToString(sum.Sum(nil))
}
