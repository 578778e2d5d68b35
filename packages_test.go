package main

import (
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// packages says what each package may import of ours (docs/architecture.md). A package that is not listed may import
// nothing of ours, and a new one has to be written down here.
func packages() map[string][]string {
	return map[string][]string{
		"purser":            nil, // wires everything: exempt below
		"wallet":            {},
		"locale":            {"wallet"},
		"store":             {"wallet"},
		"store/engine":      {},
		"store/records":     {"store", "store/engine", "wallet"},
		"store/bolt":        {"store", "store/engine"},
		"store/local":       {"store/bolt", "store/records", "wallet"},
		"store/storetest":   {"store", "store/engine", "wallet", "work"},
		"chain":             {"wallet"},
		"chart":             {"wallet"},
		"handlers":          {"quota", "store", "wallet"},
		"work":              {"store", "wallet"},
		"settle":            {"wallet", "store", "work"},
		"chat":              {"chart", "wallet", "store", "handlers", "locale", "quota", "work"},
		"bot":               {"chat", "store", "work"},
		"api":               {"handlers", "chat", "locale", "quota", "signer", "wallet", "store"},
		"signer":            {},
		"signer/bundle":     {"signer"}, // no part of the binary
		"notify":            {"handlers", "store", "wallet", "work"},
		"config":            {"quota", "wallet"},
		"market":            {"egress", "store", "wallet", "work"},
		"market/markettest": {"wallet"},
		"pages":             {"quota", "signer"},
		"terminal":          {"chain", "market", "wallet"},
		"sandbox":           {"sandbox/mail", "sandbox/market", "sandbox/shop", "sandbox/telegram", "sandbox/solana"},
		"quota":             {"store", "wallet"},
		"mail":              {"wallet"},
		"egress":            {},
		"webhooks":          {"egress", "locale", "quota", "store", "wallet", "work"},
		"e2e/harness":       {"sandbox", "sandbox/market", "sandbox/telegram"},
		"product":           {"chain", "chat", "config", "egress", "handlers", "mail", "market", "pages", "quota", "settle", "store", "wallet", "webhooks", "work"},
		"e2e/world":         {"chain", "config", "handlers", "product", "quota", "sandbox", "sandbox/market", "sandbox/solana", "settle", "store", "store/bolt", "store/engine", "store/local", "store/records", "store/storetest", "wallet", "webhooks"},
		"e2e/crash":         {},
		"e2e/browser":       {},
		"e2e/clients":       {},
		"e2e/bench":         {},
		"clients/go":        {}, // a developer takes it alone
		"sandbox/mail":      {},
		"sandbox/shop":      {},
		"sandbox/market":    {},
		"sandbox/telegram":  {},
		"sandbox/solana":    {},
	}
}

// owners says which package alone may use a library.
func libraryOwners() map[string][]string {
	return map[string][]string{
		"gopkg.in/telebot.v3":                                      {"bot"},
		"github.com/gofiber/fiber/v2":                              {"api"},
		"go.etcd.io/bbolt":                                         {"store/bolt"},
		"github.com/gagliardetto/solana-go":                        {"chain"},
		"github.com/spf13/viper":                                   {"config"},
		"github.com/spf13/cobra":                                   {"purser"},
		"github.com/nicksnyder/go-i18n/v2":                         {"locale"},
		"github.com/boombuler/barcode":                             {"chat"},
		"golang.org/x/crypto":                                      {"store", "sandbox/solana"},
		"golang.org/x/time":                                        {"chain", "market", "quota"},
		"github.com/getkin/kin-openapi":                            {}, // tests alone
		"github.com/santhosh-tekuri/jsonschema/v6":                 {}, // tests alone
		"github.com/standard-webhooks/standard-webhooks/libraries": {}, // tests alone
		"github.com/wneessen/go-mail":                              {"mail"},
		"code.dny.dev/ssrf":                                        {"egress"},
		"github.com/mmcdole/gofeed":                                {"market"},
		"github.com/emersion/go-smtp":                              {"sandbox/mail"},
		"github.com/klauspost/compress":                            {"sandbox/solana", "store/records"},
		"golang.org/x/image":                                       {"chart"},
		"github.com/evanw/esbuild":                                 {"signer/bundle"},
		"github.com/andybalholm/brotli":                            {}, // tests alone
	}
}

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&pkg); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen++
		name := strings.TrimPrefix(pkg.ImportPath, "purser/")
		allowed, listed := packages()[name]
		if !listed {
			t.Errorf("package %q is not in the table of packages", name)
		}
		for _, may := range allowed {
			if !slices.Contains(pkg.Imports, "purser/"+may) {
				t.Errorf("%s may import %s, and does not", name, may)
			}
		}
		for _, imported := range pkg.Imports {
			if ours, ok := strings.CutPrefix(imported, "purser/"); ok && name != "purser" && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s", name, ours)
			}
			for library, by := range libraryOwners() {
				if (imported == library || strings.HasPrefix(imported, library+"/")) && !slices.Contains(by, name) {
					t.Errorf("%s imports %s, which is %v's alone", name, library, by)
				}
			}
		}
	}
	if seen < 12 {
		t.Fatalf("go list told of %d packages only", seen)
	}
}
