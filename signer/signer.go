// Package signer holds the signing page: its files, their hash and the headers they are served with. It does not know who
// serves it. It sees neither keys nor transactions: the page's own code handles those, on the device of the person who
// opened it (docs/architecture.md, Custody and the signing page).
//
// File returns one file of the page, Headers what every response needs, Hash what `purser` prints for comparison. The page
// is plain ES modules in page/, without a build step:
//
//   - main.js reads the link and starts a flow: bind.js connects a wallet, sign.js approves a payment (outcome.js follows
//     it), limits.js sets spending limits, home.js lists the wallets on the device, create.js creates, restores and imports one.
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
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"net/url"
	"path"
	"strings"
)

//go:embed page
var embedded embed.FS

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

// Page returns the page's files, index.html at its root.
func Page() fs.FS {
	sub, err := fs.Sub(embedded, "page")
	if err != nil {
		panic("signer: " + err.Error()) // "page" is a valid path: fs.Sub cannot refuse it
	}
	return sub
}

// File returns the file that GET /w/<name> serves, with its Content-Type. The empty name is index.html. ok is false for a
// name that is not a file of the page.
func File(name string) (content []byte, contentType string, ok bool) {
	if name == "" {
		name = "index.html"
	}
	contentType, ok = ContentType(path.Ext(name))
	if !ok {
		return nil, "", false
	}
	content, err := fs.ReadFile(Page(), name)
	if err != nil {
		return nil, "", false
	}
	return content, contentType, true
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

// Hash returns the lowercase hex sha256 over the page's files sorted by name: for each its name, a
// zero byte, the length of its contents as 8 bytes big-endian, and its contents. It is the hash of what is
// embedded in this binary, not of what a server sends.
func Hash() string {
	sum := sha256.New()
	page := Page()
	err := fs.WalkDir(page, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(page, name)
		if err != nil {
			return err
		}
		sum.Write(append([]byte(name), 0))
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(content))))
		sum.Write(content)
		return nil
	})
	if err != nil {
		panic("signer: " + err.Error()) // embedded files are in memory and always readable
	}
	return hex.EncodeToString(sum.Sum(nil))
}
