package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// bannedNames are names that once stood here, by the package (and those below it) where they may not come back, and what
// the field calls the thing. "" is every package. A name is banned as it is declared: of a type, a function, a method,
// a field, a constant, a variable, a parameter, or a function within a function.
func bannedNames() map[string]map[string]string {
	return map[string]map[string]string{
		"": {
			"deed": "operation", "deeds": "operations", "rig": "harness", "newRig": "newHarness", "byhand": "manual", "rooms": "packages",
		},
		"wallet": {
			"Happening": "Trigger", "After": "Apply", "Edge": "Transition", "Sought": "TransactionQuery",
			"NotAccepted": "PreflightError", "Issue": "IssuedBlockhash", "Issues": "IssuedBlockhashes", "Held": "Indeterminate", "Final": "Closed",
			"CalledOff": "LandedAfterCancel", "Asked": "PaymentRequestRef", "Named": "RequestedDestination",
			"Lookalike": "PoisoningSuspect", "UnitLimit": "ComputeUnitLimit", "UnitPrice": "ComputeUnitPrice", "Line": "Lineage", "Told": "NotifiesOwner",
		},
		"store": {
			"Announcement": "OutboxEvent", "Line": "OrderingKey", "DeliveryParked": "DeliveryDeadLettered", "DeliveryWithdrawn": "DeliveryRevoked", "Parked": "DeadLettered",
			"whose": "identity", "worded": "payload", "putWorded": "putPayload", "concerns": "historyKey", "passOver": "skipDamaged",
			"lose": "delete", "mend": "repair", "apart": "separate", "Final": "IsFatal",
		},
		"handlers": {
			"facts": "accountSnapshot", "look": "fetch", "less": "netOfReservations", "bound": "rateLimit",
			"owned": "authorizeOwner", "readable": "authorizeRead", "Which": "SigningAccess", "Meet": "Upsert", "lineOf": "lineageOf",
		},
		"webhooks": {
			"fate": "attemptResult", "standing": "authorization", "stands": "authorizeFromCache", "barred": "authDenied", "asks": "authNeedsLookup",
			"directory": "subscriptionCache", "registered": "subscription", "wanted": "pending", "landing": "attemptDone", "landed": "attemptEnded",
			"flying": "inFlight", "parked": "deadLettered", "withdrawn": "revoked",
		},
		"api": {
			"door": "middleware", "dress": "setDefaultHeaders", "worn": "defaultHeaders", "asked": "requestState", "lend": "cors", "lent": "allowOrigin",
			"ear": "eventStream", "presented": "bearerToken", "admit": "authenticate", "within": "rateLimit", "remember": "save",
		},
		"chat": {
			"scene": "replyTx", "act": "Action", "heard": "inbound", "topic": "conversation", "weighed": "evaluatedDraft", "walk": "transition",
			"taps": "callbacks", "free": "unhandled", "plainly": "plainText", "say": "reply",
			"weigh": "evaluate", "ring": "notifyOnce", "rang": "wasNotified", "keepRang": "markNotified", "drawn": "redrawCard", "ours": "catalogueButton", "renew": "resetData",
		},
		"bot": {
			"wire": "transport", "parcel": "outgoing", "silence": "transportError", "lines": "chatWorkers", "introduce": "getMe",
		},
		"chain": {
			"signs": "signer", "written": "writable", "named": "readonly", "purse": "holdings", "trouble": "nodeError", "whole": "accountSnapshot",
			"mentions": "signaturesForAddress",
		},
		"store/bolt":     {"job": "pendingUpdate"},
		"sandbox/solana": {"issue": "mintAccount", "holding": "tokenAccount", "option": "coption"},
	}
}

// eachGoFile parses every Go file of the project, tests too, with its comments. Its path has forward slashes.
func eachGoFile(t *testing.T, look func(path string, files *token.FileSet, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err == nil {
			look(filepath.ToSlash(path), files, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNamesAreTheFieldsOwn keeps names from coming back that only purser used.
func TestNamesAreTheFieldsOwn(t *testing.T) {
	seen := 0
	eachGoFile(t, func(path string, files *token.FileSet, file *ast.File) {
		banned := inPackage(bannedNames(), filepath.ToSlash(filepath.Dir(path)))
		for _, name := range declared(file) {
			seen++
			if standard, ok := banned[name.Name]; ok {
				t.Errorf("%s: %s is called %s", files.Position(name.Pos()), name.Name, standard)
			}
			if rest, bound := strings.CutPrefix(strings.ToLower(name.Name[:1])+name.Name[1:], "most"); bound && rest != "" && unicode.IsUpper(rune(rest[0])) {
				t.Errorf("%s: %s is called max%s", files.Position(name.Pos()), name.Name, rest)
			}
		}
	})
	if seen < 5000 {
		t.Fatalf("%d names were looked at only", seen)
	}
}

// bannedWords are words that may stand in no name, as a part of it either, and in no comment: by the package (and those
// below it), with the word that the field uses. Words that are somebody's own elsewhere are banned only where they were
// ours: a transaction lands on a chain, and a job never does.
func bannedWords() map[string]map[string]string {
	return map[string]map[string]string{
		"": {"deed": "operation", "deeds": "operations", "rig": "harness", "sought": "query", "lookalike": "poisoning suspect", "fate": "result", "byhand": "manual",
			"keyline": "key lineage", "lookagain": "recheck", "tally": "counts", "tallies": "counts", "bury": "dead-letter", "buries": "dead-letters",
			"unbury": "remove a dead letter", "ripen": "become due", "ripe": "due", "doom": "destroy", "doomed": "to be destroyed"},
		"work":  {"landed": "finished", "landing": "end", "lapse": "expired lease", "lapses": "expired leases", "lapsed": "expired"},
		"store": {"worded": "payload", "lapse": "expired lease", "lapses": "expired leases", "lapsed": "expired"},
	}
}

// productWords are words that may stand in no name and no comment of the product. Tests are stories, and may use them.
func productWords(path string) map[string]string {
	if strings.HasSuffix(path, "_test.go") {
		return nil
	}
	return map[string]string{"told": "notified, shown or reported", "heard": "received", "whoever": "anybody who, or who it is",
		"anew": "again"} // not in tests: a name like TestANewStore has it by accident
}

// wordsAllowed are the files that may say a banned word, and why.
func wordsAllowed() map[string]string {
	return map[string]string{
		"names_test.go":           "lists them",
		"wallet/skeleton_test.go": "names that look alike to the eye, as Unicode says it; no payment is meant",
		"wallet/visible_test.go":  "the same",
	}
}

// TestWordsOfOurOwnStayAway looks at each part of every name (KeyLine has key, line and keyline), and at comments.
func TestWordsOfOurOwnStayAway(t *testing.T) {
	names, comments := 0, 0
	eachGoFile(t, func(path string, files *token.FileSet, file *ast.File) {
		if wordsAllowed()[path] != "" {
			return
		}
		banned := inPackage(bannedWords(), filepath.ToSlash(filepath.Dir(path)))
		maps.Copy(banned, productWords(filepath.ToSlash(path)))
		check := func(at token.Pos, words []string) {
			for _, word := range words {
				if standard, ok := banned[word]; ok {
					t.Errorf("%s: %q is called %s", files.Position(at), word, standard)
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok {
				names++
				check(name.Pos(), partsOf(name.Name))
			}
			return true
		})
		for _, group := range file.Comments {
			comments++
			check(group.Pos(), strings.FieldsFunc(strings.ToLower(group.Text()), func(r rune) bool { return !unicode.IsLetter(r) }))
		}
	})
	if names < 50_000 || comments < 2_000 {
		t.Fatalf("%d names and %d comments were looked at only", names, comments)
	}
}

// partsOf are the words of a name, and each two that stand together, in small letters.
func partsOf(name string) []string {
	var words []string
	begin := 0
	letters := []rune(name)
	for i := 1; i <= len(letters); i++ {
		if i == len(letters) || unicode.IsUpper(letters[i]) && !unicode.IsUpper(letters[i-1]) || letters[i] == '_' {
			words, begin = append(words, strings.Trim(strings.ToLower(string(letters[begin:i])), "_0123456789")), i
		}
	}
	for i := range len(words) - 1 {
		words = append(words, words[i]+words[i+1])
	}
	return words
}

func TestPartsOfNames(t *testing.T) {
	if got := strings.Join(partsOf("newRigWith_keyLine2"), " "); got != "new rig with key line newrig rigwith withkey keyline" {
		t.Errorf("%q", got)
	}
}

// inPackage joins what is banned in a package and above it.
func inPackage(banned map[string]map[string]string, dir string) map[string]string {
	all := map[string]string{}
	for where, names := range banned {
		if where == "" || dir == where || strings.HasPrefix(dir, where+"/") {
			for name, standard := range names {
				all[name] = standard
			}
		}
	}
	return all
}

// declared are the names that a file gives to types, functions, methods, fields, parameters, and to constants and variables
// of the package. A function's own variables may be called anything: they are read where they are written.
func declared(file *ast.File) (names []*ast.Ident) {
	for _, d := range file.Decls {
		if d, ok := d.(*ast.GenDecl); ok {
			for _, spec := range d.Specs {
				if spec, ok := spec.(*ast.ValueSpec); ok {
					names = slices.Concat(names, spec.Names)
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names = append(names, n.Name)
		case *ast.TypeSpec:
			names = append(names, n.Name)
		case *ast.Field: // of a struct, a contract, a function's parameters and results
			names = append(names, n.Names...)
		case *ast.AssignStmt: // a function within a function
			for i, value := range n.Rhs {
				if _, ok := value.(*ast.FuncLit); ok && i < len(n.Lhs) {
					if name, ok := n.Lhs[i].(*ast.Ident); ok {
						names = append(names, name)
					}
				}
			}
		}
		return true
	})
	return names
}

// TestDeclaredNames are those of everything that a reader meets away from its declaration, and of functions within functions.
func TestDeclaredNames(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
type kind struct{ field int }
type contract interface{ method(parameter int) (result int) }
const constant = 1
var variable func(argument int)
func (receiver kind) f() { local := 1; inner := func(of int) {}; _, _ = local, inner }
`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range declared(file) {
		got = append(got, name.Name)
	}
	slices.Sort(got)
	if want := "argument constant contract f field inner kind method of parameter receiver result variable"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
