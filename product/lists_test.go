package product

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestManualListsFollowTheRegistry: what learns actions and kinds by hand is held against the registry, so that a new kind
// which was forgotten somewhere fails here. The signing page and `purser sign` do not take their lists from the server's
// table, on purpose: they are the second opinion on what it built (docs/architecture.md, Custody and the signing page).
func TestManualListsFollowTheRegistry(t *testing.T) {
	kinds, err := NewKinds(StandardKinds()...)
	if err != nil {
		t.Fatal(err)
	}
	actions := kinds.Codec().Actions()
	var types []string
	for _, typ := range kinds.Rules().Types() {
		types = append(types, string(typ))
	}
	slices.Sort(types)
	read := func(name string) string {
		t.Helper()
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	all := func(text, pattern string) (found []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	unions := func(text, pattern string) (lists [][]string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			lists = append(lists, all(m[1], `"([a-z_]+)"`))
		}
		return lists
	}
	same := func(where string, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s knows %v, the registry has %v", where, got, want)
		}
	}
	decoder := read("../signer/page/decode.js")
	same("signer/page/decode.js", all(decoder+read("../signer/page/swap.js"), `\btype: '([a-z_]+)'`), actions)
	same("the description in signer/page/decode.js", all(decoder, `type: "([a-z_]+)"`), actions)
	same("signer/page, what it shows", all(read("../signer/page/payment.js")+read("../signer/page/sign.js"), `a\.type === '([a-z_]+)'`), actions)
	same("terminal/sign.go", shownInTerminal(t), actions)

	inDocument := typeEnums(t, read("../api/openapi.json"))
	for where, list := range inDocument {
		want := types
		if strings.Contains(where, "/HistoryEntry/") { // lists what only the chain says too
			want = nil
			for _, typ := range kinds.Rules().EntryTypes() {
				want = append(want, string(typ))
			}
		}
		same(where, list, want)
	}
	inClient := unions(read("../clients/typescript/src/records/transactions.ts"), `\btype\??: ("[a-z]+"(?: \| "[a-z]+")+)`)
	for _, list := range inClient {
		same("clients/typescript/src/records/transactions.ts", list, types)
	}
	if len(inDocument) < 3 || len(inClient) < 1 {
		t.Errorf("%d lists in openapi.json and %d in the client were found: the search is broken", len(inDocument), len(inClient))
	}
}

// typeEnums are the lists of transactions' types in the document of the API, by where they stand: of the parameter that is
// called type, and of properties of this name that list a type of transactions.
func typeEnums(t *testing.T, document string) map[string][]string {
	t.Helper()
	var root any
	if err := json.Unmarshal([]byte(document), &root); err != nil {
		t.Fatal(err)
	}
	lists := map[string][]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if enum, ok := v["enum"].([]any); ok {
				var list []string
				for _, item := range enum {
					list = append(list, fmt.Sprint(item))
				}
				slices.Sort(list)
				if slices.Contains(list, "send") || slices.Contains(list, "receive") {
					lists["api/openapi.json"+path] = list
				}
			}
			for key, below := range v {
				walk(path+"/"+key, below)
			}
		case []any:
			for i, below := range v {
				walk(fmt.Sprint(path, "/", i), below)
			}
		}
	}
	walk("", root)
	return lists
}

// shownInTerminal are the actions that `purser sign` shows: the cases of its switches over them.
func shownInTerminal(t *testing.T) (found []string) {
	t.Helper()
	values := actionNames(t)
	file, err := parser.ParseFile(token.NewFileSet(), "../terminal/sign.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != "show" && f.Name.Name != "showStaking" && f.Name.Name != "showSwap" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			clause, ok := n.(*ast.CaseClause)
			if !ok {
				return true
			}
			for _, e := range clause.List {
				if name, ok := e.(*ast.SelectorExpr); ok && values[name.Sel.Name] != "" {
					found = append(found, values[name.Sel.Name])
				}
			}
			return true
		})
	}
	slices.Sort(found)
	return found
}

// actionNames are the types of actions by the names of their constants in package wallet.
func actionNames(t *testing.T) map[string]string {
	t.Helper()
	values := map[string]string{}
	names, err := filepath.Glob("../wallet/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || len(spec.Names) != 1 {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if value, err := strconv.Unquote(literal.Value); err == nil {
					values[spec.Names[0].Name] = value
				}
			}
			return true
		})
	}
	return values
}
