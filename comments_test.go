package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCommentsBeginWithTheNameOfWhatTheyDescribe, as go doc expects it of functions, methods, types and methods of
// interfaces that are exported. "A Name" is a beginning too.
func TestCommentsBeginWithTheNameOfWhatTheyDescribe(t *testing.T) {
	read := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, at := range otherBeginnings(file, &read) {
			t.Errorf("%s: the comment of %s begins otherwise", files.Position(at.Pos()), at.Name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 1000 {
		t.Errorf("only %d comments were read", read)
	}
}

// otherBeginnings are the exported names of a file whose comment begins with another word. It counts the comments in read.
func otherBeginnings(file *ast.File, read *int) (found []*ast.Ident) {
	check := func(name *ast.Ident, doc *ast.CommentGroup) {
		words := strings.Fields(doc.Text())
		if !name.IsExported() || len(words) == 0 {
			return
		}
		*read++
		if len(words) > 1 && (words[0] == "A" || words[0] == "An" || words[0] == "The") {
			words = words[1:]
		}
		if strings.TrimRight(words[0], ",.:;") != name.Name {
			found = append(found, name)
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			check(d.Name, d.Doc)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					doc := spec.Doc
					if doc == nil && !d.Lparen.IsValid() {
						doc = d.Doc
					}
					check(spec.Name, doc)
					if contract, ok := spec.Type.(*ast.InterfaceType); ok {
						for _, method := range contract.Methods.List {
							if len(method.Names) == 1 {
								check(method.Names[0], method.Doc)
							}
						}
					}
				}
			}
		}
	}
	return found
}

func TestACommentThatBeginsOtherwiseIsFound(t *testing.T) {
	for source, found := range map[string]int{
		"// F does it.\nfunc F() {}":    0,
		"// F: does it.\nfunc F() {}":   0,
		"func F() {}":                   0,
		"// does it\nfunc f() {}":       0,
		"// It does it.\nfunc F() {}":   1,
		"// A T is one.\ntype T int":    0,
		"// Ts are many.\ntype T int":   1,
		"// M does.\nfunc (t t) N() {}": 1,
		"// T is a contract.\ntype T interface {\n\t// It does it.\n\tM()\n}":           1,
		"type (\n\t// T is one.\n\tT int\n\t// Another one.\n\tU int\n)":                1,
		"// These are numbers.\ntype (\n\tT int\n)":                                     0,
		"// V is a variable, whose comment may begin as it likes.\nvar W = 1 // anyhow": 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n\n"+source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		if got := otherBeginnings(file, &read); len(got) != found {
			t.Errorf("%q: found %v", source, got)
		}
	}
}

// namedFile is a Go file that a comment names, with its folder or without.
var namedFile = regexp.MustCompile(`(?:^|[\s("])((?:\w+/)*\w+\.go)\b`)

// TestCommentsNameFilesThatExist: in the comment's own package, or below the repository's root if they name a folder. A file
// that is renamed or moved is named otherwise.
func TestCommentsNameFilesThatExist(t *testing.T) {
	read := 0
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
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			for _, match := range namedFile.FindAllStringSubmatch(group.Text(), -1) {
				read++
				at := match[1]
				if !strings.Contains(at, "/") {
					at = filepath.Join(filepath.Dir(path), at)
				}
				if _, err := os.Stat(at); err != nil {
					t.Errorf("%s: the comment names %s, which is not there", files.Position(group.Pos()), match[1])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 20 {
		t.Errorf("only %d files are named: the search is broken", read)
	}
}
