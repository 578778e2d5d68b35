package main

import (
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
