package chat

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// conversationNames are the names of all conversations: each one's sources are <name>.go and <name>_*.go, its sentences
// <name>.en.toml. Every other file is the kernel.
func conversationNames() []string {
	return []string{"start", "wallet", "send", "cards", "contacts", "api", "apps", "security", "cancel", "help", "privacy", "delete_me", "stake", "swap", "revoke", "price", "pools", "settings", "alert", "freeze", "summary", "news"}
}

// groupOf is the conversation that a file belongs to; "" for the kernel.
func groupOf(file string) string {
	for _, name := range conversationNames() {
		if file == name+".go" || strings.HasPrefix(file, name+"_") {
			return name
		}
	}
	return ""
}

// sources are the package's files, by name.
func sources(t *testing.T) (*token.FileSet, map[string]*ast.File) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset, all := token.NewFileSet(), map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if all[name], err = parser.ParseFile(fset, name, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range conversationNames() {
		if all[name+".go"] == nil {
			t.Errorf("%s has no %s.go", name, name)
		}
	}
	return fset, all
}

// nothing is an importer of empty packages: what the test looks for is declared here.
type nothing struct{}

func (nothing) Import(name string) (*types.Package, error) {
	pkg := types.NewPackage(name, path.Base(name))
	pkg.MarkComplete()
	return pkg, nil
}

// TestTheKernelKnowsNoConversation: nothing outside a conversation's own files names what is declared in them, but for
// the list of all of them. Conversations may use each other, but cards, which serve every kind of transaction, use none.
func TestTheKernelKnowsNoConversation(t *testing.T) {
	fset, all := sources(t)
	var files []*ast.File
	for _, file := range all {
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: nothing{}, Error: func(error) {}} // other packages are empty: their names are errors
	pkg, _ := config.Check("purser/chat", fset, files, info)
	wiring := []string{"all.go", "options.go"} // what joins the parts
	seen := 0
	for use, object := range info.Uses {
		if object.Pkg() != pkg {
			continue
		}
		seen++
		from, to := filepath.Base(fset.Position(use.Pos()).Filename), groupOf(filepath.Base(fset.Position(object.Pos()).Filename))
		if to != "" && groupOf(from) == "" && !slices.Contains(wiring, from) {
			t.Errorf("%s: the kernel knows %s of %s", fset.Position(use.Pos()), object.Name(), to)
		}
		if groupOf(from) == "cards" && to != "" && to != "cards" {
			t.Errorf("%s: the cards of all kinds know %s of %s", fset.Position(use.Pos()), object.Name(), to)
		}
	}
	if seen < 5000 {
		t.Errorf("only %d names resolved: the search is broken", seen)
	}
}

// TestSentencesStandBesideWhatSaysThem: a conversation's texts are in its own file of the catalogue, so that it goes
// with them, and the kernel says none of them.
func TestSentencesStandBesideWhatSaysThem(t *testing.T) {
	stands := map[string]string{} // key: file of the catalogue
	catalogues, err := filepath.Glob("*.en.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range catalogues {
		raw, err := locales.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var file map[string]map[string]any
		if err := toml.Unmarshal(raw, &file); err != nil {
			t.Fatal(err)
		}
		group := strings.TrimSuffix(name, ".en.toml")
		if group != "chat" && !slices.Contains(conversationNames(), group) {
			t.Errorf("%s belongs to no conversation", name)
		}
		for section, texts := range file {
			for key := range texts {
				stands[section+"."+key] = group
			}
		}
	}
	fset, all := sources(t)
	saidBy := map[string]map[string]bool{} // key: groups that say it
	for name, file := range all {
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			key, err := strconv.Unquote(literal.Value)
			if stands[key] == "" || err != nil {
				return true
			}
			if group := groupOf(name); stands[key] != "chat" && stands[key] != group {
				t.Errorf("%s: %s says %s, which stands beside %s", fset.Position(literal.Pos()), nameOr(group, "the kernel"), key, stands[key])
			} else if saidBy[key] == nil {
				saidBy[key] = map[string]bool{group: true}
			} else {
				saidBy[key][group] = true
			}
			return true
		})
	}
	for key, group := range stands {
		groups := saidBy[key]
		if group == "chat" && len(groups) == 1 && !groups[""] {
			t.Errorf("%s is said by %v alone, and stands in chat.en.toml", key, groups)
		}
	}
}

func nameOr(name, other string) string {
	if name == "" {
		return other
	}
	return fmt.Sprintf("the conversation %s", name)
}
