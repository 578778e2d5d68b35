package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// How long a function and a file may be, in lines, before they have to say why.
const (
	longestFunction = 60
	longestFile     = 500
)

// reasonForLength is the sentence that says why something is long: above a function, or above the package clause of its
// file.
var reasonForLength = regexp.MustCompile(`\bLong: \S+ \S+ \S+`)

// TestWhatIsLongSaysWhy: a function of more than 60 lines and a file of more than 500 are split, or their comment has the
// reason: "Long: ...". A test may be a story or a table of any length, which is read from its top; its file may not. The
// same holds for what the pages and the TypeScript client are written in.
func TestWhatIsLongSaysWhy(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go", "*.ts", "*.js", "*.mjs").Output()
	if err != nil {
		t.Skip("no git here: ", err)
	}
	read, scripts := 0, 0
	for _, name := range strings.Fields(string(out)) {
		source, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		if strings.HasSuffix(name, ".go") {
			found, err = unexplained(name, source)
		} else {
			found = unexplainedScript(name, string(source))
			scripts++
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range found {
			t.Error(what)
		}
		read++
	}
	if read < 300 || scripts < 50 {
		t.Errorf("only %d files were read, %d of them scripts", read, scripts)
	}
}

// unexplained lists what is long in a file and says nothing about it. Generated files are nobody's to split.
func unexplained(name string, source []byte) (found []string, _ error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
	}
	if bytes.Count(source, []byte("\n")) > longestFile {
		reason := false
		for _, comment := range file.Comments {
			reason = reason || comment.Pos() < file.Name.End() && reasonForLength.MatchString(comment.Text())
		}
		if !reason {
			found = append(found, name+" has more than 500 lines: split it, or say why above its package clause (\"Long: ...\")")
		}
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		lines := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1
		if lines > longestFunction && !ofTests(name) && !reasonForLength.MatchString(f.Doc.Text()) {
			found = append(found, files.Position(f.Pos()).String()+": "+f.Name.Name+" has more than 60 lines: split it, or say why above it (\"Long: ...\")")
		}
	}
	return found, nil
}

// beginOfScriptFunction is a line with which a function of a script begins: its indentation, and its name in what follows.
// The function ends at the next line that is a closing brace at the same indentation.
var beginOfScriptFunction = regexp.MustCompile(`^(\s*)(?:export |default |static |async |function\b\*?|const \w+ =|\w+\()[^;]*\{$`)

// unexplainedScript is unexplained for JavaScript and TypeScript, which our formatting makes readable by lines.
func unexplainedScript(name, source string) (found []string) {
	lines := strings.Split(source, "\n")
	code := slices.IndexFunc(lines, func(line string) bool { return line != "" && !isComment(line) })
	if len(lines)-1 > longestFile && !reasonForLength.MatchString(strings.Join(lines[:max(code, 0)], " ")) {
		found = append(found, name+" has more than 500 lines: split it, or say why at its top (\"Long: ...\")")
	}
	for i, line := range lines {
		begin := beginOfScriptFunction.FindStringSubmatch(line)
		if begin == nil || ofTests(name) || strings.Contains(line, "class ") || strings.Contains(line, "interface ") || strings.Contains(line, "= {") {
			continue
		}
		length := 1 + slices.IndexFunc(lines[i:], func(line string) bool { return strings.HasPrefix(line, begin[1]+"}") })
		if length > longestFunction && !reasonForLength.MatchString(commentAbove(lines, i)) {
			found = append(found, fmt.Sprintf("%s:%d has more than 60 lines: split it, or say why above it (\"Long: ...\")", name, i+1))
		}
	}
	return found
}

// commentAbove joins the lines of comment that stand right above a line, counted from 0.
func commentAbove(lines []string, at int) (text string) {
	for at > 0 && isComment(lines[at-1]) {
		at--
		text = strings.TrimLeft(strings.TrimSpace(lines[at]), "/* ") + " " + text
	}
	return text
}

// isComment tells whether a line of a script is a comment, also one of a block.
func isComment(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "//") || strings.HasPrefix(line, "/*") || strings.HasPrefix(line, "*")
}

// ofTests tells whether a file is read by tests alone.
func ofTests(name string) bool {
	return strings.HasSuffix(name, "_test.go") || strings.HasSuffix(path.Dir(name), "test") ||
		strings.Contains(name, ".test.") || strings.HasPrefix(name, "e2e/")
}

// TestALongFunctionWithoutAReasonIsFound, also a long file, and one line less is fine.
func TestALongFunctionWithoutAReasonIsFound(t *testing.T) {
	function := func(comment string, lines int) string {
		return comment + "func f() {\n" + strings.Repeat("\n", lines-2) + "}\n"
	}
	for what, c := range map[string]struct {
		source string
		found  int
	}{
		"short":                               {"package x\n\n" + function("", 60), 0},
		"long":                                {"package x\n\n" + function("", 61), 1},
		"long, with a comment":                {"package x\n\n" + function("// f does much.\n", 61), 1},
		"long, with a reason":                 {"package x\n\n" + function("// f does much. Long: each case is one line of a table.\n", 61), 0},
		"long, with no more of it":            {"package x\n\n" + function("// f does much. Long: yes.\n", 61), 1},
		"a file":                              {"package x\n" + strings.Repeat("\n", 499), 0},
		"a long file":                         {"package x\n" + strings.Repeat("\n", 500), 1},
		"a long file that says why elsewhere": {"package x\n\n// Long: it has many lines here.\n" + strings.Repeat("\n", 500), 1},
		"a long file that says why":           {"// Long: it has many lines here.\n\npackage x\n" + strings.Repeat("\n", 500), 0},
		"a generated one":                     {"// Code generated by x. DO NOT EDIT.\n\npackage x\n" + strings.Repeat("\n", 500), 0},
	} {
		found, err := unexplained("x.go", []byte(c.source))
		if err != nil || len(found) != c.found {
			t.Errorf("%s: %v, %v", what, found, err)
		}
	}
}

// TestALongScriptWithoutAReasonIsFound, and a long function in it.
func TestALongScriptWithoutAReasonIsFound(t *testing.T) {
	function := func(begin string, lines int) string {
		return begin + "\n" + strings.Repeat("\n", lines-2) + strings.Repeat(" ", len(begin)-len(strings.TrimLeft(begin, " "))) + "}\n"
	}
	for what, c := range map[string]struct {
		source string
		found  int
	}{
		"short":                     {function("export function f(a) {", 60), 0},
		"long":                      {function("export function f(a) {", 61), 1},
		"async":                     {function("async function f() {", 61), 1},
		"a generator":               {function("function* f() {", 61), 1},
		"a constant":                {function("const f = async (a) => {", 61), 1},
		"a method":                  {"class A {\n" + function("  private() {", 61) + "}\n", 1},
		"an async method":           {"class A {\n" + function("  async get(a) {", 61) + "}\n", 1},
		"with a comment":            {"// f does much.\n" + function("function f() {", 61), 1},
		"with a reason":             {"// f does much.\n// Long: a table of all cases.\n" + function("function f() {", 61), 0},
		"with a reason in a block":  {"/** f does much. Long: a\n * table of cases. */\n" + function("function f() {", 61), 0},
		"with another's reason":     {"// Long: a table of all cases.\n\n" + function("function f() {", 61), 1},
		"a class":                   {function("export class A {", 61), 0},
		"an interface":              {function("export interface A {", 61), 0},
		"a table":                   {function("const table = {", 61), 0},
		"a file":                    {strings.Repeat("a;\n", 500), 0},
		"a long file":               {strings.Repeat("a;\n", 501), 1},
		"a long file that says why": {"// Long: a list of all words.\n" + strings.Repeat("a;\n", 501), 0},
		"one that says so below":    {"a;\n// Long: a list of all words.\n" + strings.Repeat("a;\n", 501), 1},
	} {
		if found := unexplainedScript("x.ts", c.source); len(found) != c.found {
			t.Errorf("%s: %v", what, found)
		}
	}
	if found := unexplainedScript("x.test.mjs", function("function f() {", 61)); len(found) != 0 {
		t.Errorf("a test: %v", found)
	}
}
