package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What comments cite exists: "docs/architecture.md, Store" names a page and words that stand on it.
func TestCommentsCiteWhatIsThere(t *testing.T) {
	citation := regexp.MustCompile(`docs/([a-z-]+\.md)(?:, ([A-Za-z][A-Za-z. ]+[a-zA-Z]))?`)
	comment := regexp.MustCompile(`\n\t*// `)
	cited := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git") {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") || path == "docs_test.go" {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range citation.FindAllStringSubmatch(comment.ReplaceAllString(string(source), " "), -1) {
			page, err := os.ReadFile(filepath.Join("docs", found[1]))
			if err != nil {
				t.Errorf("%s cites %s: %v", path, found[0], err)
				continue
			}
			if words := strings.SplitN(found[2], ". ", 2)[0]; !strings.Contains(string(page), words) {
				t.Errorf("%s cites %q, which is not there", path, found[0])
			}
			cited++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if cited < 60 {
		t.Errorf("%d citations were found", cited)
	}
}

// TestTextsNameWhatIsThere looks up each name of a package of ours (store.Reply.SendResultUntil) in docs and comments.
func TestTextsNameWhatIsThere(t *testing.T) {
	known := map[string]map[string]bool{} // by package
	comments := map[string]string{}
	eachGoFile(t, func(path string, _ *token.FileSet, file *ast.File) {
		name := file.Name.Name
		if known[name] == nil {
			known[name] = map[string]bool{}
		}
		for _, declared := range declared(file) {
			known[name][declared.Name] = true
		}
		for _, group := range file.Comments {
			comments[path] += group.Text()
		}
	})
	delete(known, "solana") // solana-go's has the same name
	texts := comments
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			if page == "CHANGELOG.md" { // it tells what names were
				continue
			}
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			texts[page] = string(text)
		}
	}
	name := regexp.MustCompile(`(?:^|[^\w./*-])([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	looked := 0
	for path, text := range texts {
		for _, found := range name.FindAllStringSubmatch(text, -1) {
			names, ours := known[found[1]]
			if !ours {
				continue
			}
			looked++
			for _, part := range found[2:] {
				if part != "" && !names[part] {
					t.Errorf("%s names %s.%s: package %s has no %s", path, found[1], strings.Join(found[2:], "."), found[1], part)
				}
			}
		}
	}
	if looked < 300 {
		t.Errorf("%d names were found", looked)
	}
}

// TestDecisionsAreListed, each with its title, in the order of their numbers.
func TestDecisionsAreListed(t *testing.T) {
	pages, err := filepath.Glob("docs/decisions/0*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d decisions: %v", len(pages), err)
	}
	var want strings.Builder
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		number, title, ok := strings.Cut(strings.TrimPrefix(first, "# "), ": ")
		if name := filepath.Base(page); !ok || !strings.HasPrefix(name, number+"-") {
			t.Errorf("%s begins with %q", page, first)
		} else {
			fmt.Fprintf(&want, "| %s | [%s](%s) |\n", number, title, name)
		}
	}
	list, err := os.ReadFile("docs/decisions/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, rows, _ := strings.Cut(string(list), "|---|---|\n"); rows != want.String() {
		t.Errorf("docs/decisions/README.md lists\n%s\nwant\n%s", rows, want.String())
	}
}
