package product

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNoCodeAsksWhichKindATransactionIs: outside the kinds' own values nothing compares with a kind's name, nor with a
// state that one life alone has, which is the same question (wallet.Rules.Awaits answers it). What differs from kind to
// kind is a part of its value.
func TestNoCodeAsksWhichKindATransactionIs(t *testing.T) {
	names := []string{"Send", "Receive", "Request", "Stake", "Unstake", "Withdraw"} // of wallet.Kind
	lives := []string{"Requested"}                                                  // of wallet.Status: only what is awaited is ever in it
	looked, uses := 0, 0
	for _, folder := range []string{"wallet", "store", "store/records", "chain", "handlers", "settle", "chat", "notify", "bot", "api", "webhooks", "terminal"} {
		files, err := filepath.Glob("../" + folder + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			looked++
			fset := token.NewFileSet()
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(fset, name, source, 0)
			if err != nil {
				t.Fatal(err)
			}
			isKind := func(e ast.Expr) bool {
				switch e := e.(type) {
				case *ast.Ident:
					return folder == "wallet" && slices.Contains(names, e.Name)
				case *ast.SelectorExpr:
					pkg, ok := e.X.(*ast.Ident)
					return ok && pkg.Name == "wallet" && (slices.Contains(names, e.Sel.Name) || slices.Contains(lives, e.Sel.Name))
				}
				return false
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BinaryExpr:
					if (n.Op == token.EQL || n.Op == token.NEQ) && (isKind(n.X) || isKind(n.Y)) {
						t.Errorf("%s compares with a kind: make it a part of the kind's value", fset.Position(n.Pos()))
					}
				case *ast.CaseClause:
					if slices.ContainsFunc(n.List, isKind) {
						t.Errorf("%s branches on a kind: make it a part of the kind's value", fset.Position(n.Pos()))
					}
				case *ast.KeyValueExpr:
					if isKind(n.Value) {
						uses++
					}
				}
				return true
			})
		}
	}
	if looked < 100 || uses < 6 { // the control: the values themselves name them
		t.Fatalf("%d files and %d values with a kind: the search is broken", looked, uses)
	}
}
