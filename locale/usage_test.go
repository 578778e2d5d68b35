package locale_test

import (
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
	"text/template"
	"text/template/parse"

	"github.com/pelletier/go-toml/v2"
)

// english is every text of en.toml by key: its forms (one, where it has no plural forms).
func english(t *testing.T) map[string][]string {
	t.Helper()
	raw, err := os.ReadFile("en.toml")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]map[string]any
	if err := toml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	texts := map[string][]string{}
	for section, entries := range file {
		for name, entry := range entries {
			key := section + "." + name
			switch entry := entry.(type) {
			case string:
				texts[key] = []string{entry}
			case map[string]any:
				for _, form := range entry {
					texts[key] = append(texts[key], form.(string))
				}
			default:
				t.Fatalf("%s is a %T", key, entry)
			}
		}
	}
	return texts
}

// variables are the names of the variables of a text.
func variables(t *testing.T, key, text string) map[string]bool {
	t.Helper()
	parsed, err := template.New(key).Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	names := map[string]bool{}
	for _, node := range parsed.Root.Nodes {
		switch node := node.(type) {
		case *parse.TextNode:
		case *parse.ActionNode:
			field, ok := node.Pipe.Cmds[0].Args[0].(*parse.FieldNode)
			if !ok || len(node.Pipe.Cmds) != 1 || len(node.Pipe.Cmds[0].Args) != 1 || len(field.Ident) != 1 {
				t.Errorf("%s: %s is more than a variable", key, node)
				continue
			}
			names[field.Ident[0]] = true
		default:
			t.Errorf("%s: %s is more than a variable: a sentence is not put together from pieces", key, node)
		}
	}
	return names
}

// converted are the packages that refuse by reasons alone.
var converted = []string{"wallet", "handlers", "settle", "webhooks", "chat", "api", "market"}

// sources are the parsed files of packages of ours, without tests.
func sources(t *testing.T, packages ...string) (files []*ast.File, set *token.FileSet) {
	t.Helper()
	set = token.NewFileSet()
	for _, name := range packages {
		paths, err := filepath.Glob(filepath.Join("..", name, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
				continue
			}
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
	}
	return files, set
}

// literal is the value of a string literal.
func literal(e ast.Expr) (string, bool) {
	basic, ok := e.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(basic.Value)
	return text, err == nil
}

// called is the name of what a call calls, without its package or receiver.
func called(call *ast.CallExpr) string {
	fun := call.Fun
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

var (
	keyLike = regexp.MustCompile(`^([a-z_]+)\.[a-z_0-9]+$`)
	argLike = regexp.MustCompile(`^(Text|Number|Amount|Duration|Time|Address|List)Arg$`)
)

// TestEachReasonIsInTheCatalogueWithItsVariables: each key in the sources has a text, each text is used, and each call
// that makes a reason gives the variables of its text, no more and no less.
func TestEachReasonIsInTheCatalogueWithItsVariables(t *testing.T) {
	texts := english(t)
	sections, used := map[string]bool{}, map[string]bool{"field.about": true}
	for key := range texts {
		section, _, _ := strings.Cut(key, ".")
		sections[section] = true
	}
	for _, unit := range []string{"seconds", "minutes", "hours", "days"} {
		used["duration."+unit] = true
	}
	calls := 0
	files, set := sources(t, append(converted, "chain")...)
	for _, file := range files {
		names := arguments(file)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, ok := literal(n); ok && filepath.Base(set.Position(n.Pos()).Filename) != "securitylog.go" { // its kinds of entries are no keys
					if match := keyLike.FindStringSubmatch(text); match != nil && sections[match[1]] {
						used[text] = true
						if texts[text] == nil {
							t.Errorf("%s: the catalogue has no %s", set.Position(n.Pos()), text)
						}
					}
				}
			case *ast.CallExpr:
				for i, argument := range n.Args {
					key, ok := literal(argument)
					if !ok || texts[key] == nil || strings.HasPrefix(key, "field.") || strings.HasPrefix(key, "duration.") {
						continue
					}
					calls++
					given := map[string]bool{}
					if name := called(n); name == "bad" || name == "badName" {
						given["Field"] = true // of api: they name the field themselves
					}
					if called(n) == "rateLimited" {
						given["Limit"], given["Wait"] = true, true // of api, too
					}
					for _, rest := range n.Args[i+1:] {
						if name := names(rest); name != "" {
							given[name] = true
						}
					}
					compare(t, set.Position(n.Pos()).String(), key, texts[key], given)
				}
			}
			return true
		})
	}
	for key := range texts {
		if !used[key] {
			t.Errorf("nobody says %s", key)
		}
	}
	if calls < 100 {
		t.Errorf("only %d calls with a key were found: the search is broken", calls)
	}
}

// arguments finds the name of an argument of a reason: in a call of TextArg or the like, or in one that a variable
// of the file was made by.
func arguments(file *ast.File) func(ast.Expr) string {
	direct := func(e ast.Expr) string {
		call, ok := e.(*ast.CallExpr)
		if !ok || !argLike.MatchString(called(call)) || len(call.Args) != 2 {
			return ""
		}
		name, _ := literal(call.Args[0])
		return name
	}
	variable := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != len(assign.Rhs) {
			return true
		}
		for i, left := range assign.Lhs {
			if id, ok := left.(*ast.Ident); ok {
				if name := direct(assign.Rhs[i]); name != "" {
					variable[id.Name] = name
				}
			}
		}
		return true
	})
	return func(e ast.Expr) string {
		if id, ok := e.(*ast.Ident); ok {
			return variable[id.Name]
		}
		return direct(e)
	}
}

func compare(t *testing.T, where, key string, forms []string, given map[string]bool) {
	t.Helper()
	wanted := map[string]bool{}
	for _, form := range forms {
		for name := range variables(t, key, form) {
			wanted[name] = true
		}
	}
	if len(forms) > 1 {
		wanted["Count"] = true
	}
	for name := range wanted {
		if !given[name] {
			t.Errorf("%s: %s is refused without %s", where, key, name)
		}
	}
	for name := range given {
		if !wanted[name] {
			t.Errorf("%s: %s does not say %s", where, key, name)
		}
	}
}

// TestNobodyIsRefusedInALiteral: a reason is a key of the catalogue, wherever it is made.
func TestNobodyIsRefusedInALiteral(t *testing.T) {
	refusing := []string{"Refuse", "Because", "found", "refuse", "no", "badName", "rateLimited", "badMessage"}
	found := 0
	files, set := sources(t, converted...)
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !slices.Contains(refusing, called(call)) {
				return true
			}
			found++
			for _, argument := range call.Args {
				ast.Inspect(argument, func(n ast.Node) bool {
					if inner, ok := n.(*ast.CallExpr); ok && argLike.MatchString(called(inner)) {
						for _, value := range inner.Args {
							if text, ok := literal(value); ok && strings.Contains(text, " ") {
								t.Errorf("%s: %q is a part of a sentence, and no value", set.Position(value.Pos()), text)
							}
						}
						return false
					}
					if e, ok := n.(ast.Expr); ok {
						if text, ok := literal(e); ok && !keyLike.MatchString(text) {
							t.Errorf("%s: %q is no key of the catalogue", set.Position(e.Pos()), text)
						}
					}
					return true
				})
			}
			return true
		})
	}
	if found < 50 {
		t.Errorf("only %d refusals were found: the search is broken", found)
	}
}

// sentenceLike is what reads as a text for people: two words with a space between them, or one that ends as a sentence.
// A command ("/wallet new", "run:/wallet use ") is none.
var sentenceLike = regexp.MustCompile(`^[^/]*(\pL{2,}[,:;.]? \pL{2,}|^\p{Lu}\pL+\.$)`)

// notForPeople are the calls and types whose literals reach programs, operators and diagrams alone: errors and log
// lines, patterns, headers, and the names in tables of conversations.
var notForPeople = map[string]bool{
	"Errorf": true, "New": true, "panic": true, "Debug": true, "Info": true, "Warn": true, "Error": true, "WarnContext": true, "ErrorContext": true,
	"warn": true, "makeRoom": true, // of api: both log
	"MustCompile": true, "Set": true, "claim": true,
	"Log": true, "says": true, "saysAny": true, // of bot: the log, and parts of Telegram's descriptions of errors
	"damaged": true, "Sum256": true, // of webhooks and handlers: a log line, and what is hashed
	"State": true, "Trigger": true, // of chat's flow tables
}

// notForPeopleIn are the files whose literals reach nobody as they are, or are documentation. Each has its reason.
var notForPeopleIn = map[string]string{
	"bot/transport.go":      "parts of Telegram's own descriptions of errors",
	"pages/document.go":     "the documentation, which is English like the API that it describes",
	"pages/schema.go":       "the documentation",
	"webhooks/catalogue.go": "the documentation",
	"webhooks/verify.go":    "the output of a command of the operator",
	"wallet/bind.go":        "the text that a wallet signs: its form is a standard, in English",
	"wallet/policy.go":      "the text that a wallet signs for its spending limits, which the page composes too",
	"wallet/securitylog.go": "names of browsers and systems, which are the same in every language",
}

// TestNoTextForPeopleIsALiteral: what people are answered, also when nothing is refused, is in a catalogue.
func TestNoTextForPeopleIsALiteral(t *testing.T) {
	seen := 0
	files, set := sources(t, append([]string{"bot", "pages", "signer", "notify", "mail"}, converted...)...)
	excepted := map[string]bool{}
	for _, file := range files {
		name := filepath.ToSlash(strings.TrimPrefix(set.Position(file.Pos()).Filename, ".."+string(filepath.Separator)))
		var path []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				path = path[:len(path)-1]
				return true
			}
			path = append(path, n)
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, ok := literal(e)
			if !ok {
				return true
			}
			seen++
			switch {
			case !sentenceLike.MatchString(text) || strings.HasPrefix(text, "HTTP/1.1 ") || notForPeople[context(path)]:
			case notForPeopleIn[name] != "":
				excepted[name] = true
			default:
				t.Errorf("%s: %q is a text for people: put it into a catalogue", set.Position(n.Pos()), text)
			}
			return true
		})
	}
	if seen < 3000 {
		t.Errorf("only %d literals were found: the search is broken", seen)
	}
	for name := range notForPeopleIn {
		if !excepted[name] {
			t.Errorf("%s has no sentence: it needs no exception", name)
		}
	}
}

// context is what the last node of a path belongs to: the name of the innermost call that is no conversion or Sprintf, or
// the type of a constant.
func context(path []ast.Node) string {
	for i := len(path) - 1; i >= 0; i-- {
		switch n := path[i].(type) {
		case *ast.CallExpr:
			if name := called(n); name != "" && name != "Sprintf" {
				return name
			}
		case *ast.FuncDecl:
			if n.Name.Name == "Error" { // the text of an error, for logs
				return "Errorf"
			}
		case *ast.Field:
			return "Set" // the tag of a field
		case *ast.ValueSpec:
			if id, ok := n.Type.(*ast.Ident); ok {
				return id.Name
			}
		}
	}
	return ""
}

// TestTextsAreWholePlainSentences: they go into HTML and JSON as they stand, and begin and end as sentences do.
func TestTextsAreWholePlainSentences(t *testing.T) {
	begins := regexp.MustCompile(`^“?(\p{Lu}|\{\{|/|purser )`)
	ends := regexp.MustCompile(`([.!?]|\}\}|[0-9]|[A-Z]{3,}|\S+@\S+|https://\S*|/[a-z]+( [a-z]+)*|- _ ')$`)
	for key, forms := range english(t) {
		section, _, _ := strings.Cut(key, ".")
		for _, text := range forms {
			variables(t, key, text)
			if strings.ContainsAny(text, "<>&\"\n;") || strings.TrimSpace(text) != text {
				t.Errorf("%s: %q is not plain", key, text)
			}
			if section == "duration" || section == "field" {
				continue
			}
			if !begins.MatchString(text) || !ends.MatchString(text) {
				t.Errorf("%s: %q is no whole sentence", key, text)
			}
		}
	}
}
