package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"purser/store"
)

var update = flag.Bool("update", false, "print the diagrams and tables of docs/architecture.md again")

// TestArchitectureIsPrintedFromTheTables: the parts of docs/architecture.md between markers are printed from the table of
// packages and the list of queues. `go test . -run Architecture -update` prints them again.
func TestArchitectureIsPrintedFromTheTables(t *testing.T) {
	const path = "docs/architecture.md"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := string(raw)
	for name, text := range map[string]string{"packages": packagesDiagram(), "queues": queuesTable()} {
		begin, end := "<!-- printed from the table of "+name+" -->\n", "<!-- end of "+name+" -->\n"
		before, rest, ok := strings.Cut(want, begin)
		_, after, whole := strings.Cut(rest, end)
		if !ok || !whole {
			t.Fatalf("%s has no place for %s", path, name)
		}
		want = before + begin + text + end + after
	}
	switch {
	case want == string(raw):
	case *update:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is stale: go test . -run Architecture -update", path)
	}
}

// packagesDiagram draws which package of the product may import which. An arrow that longer ways imply is left out: what
// imports chat reaches wallet through it.
func packagesDiagram() string {
	table := map[string][]string{}
	for name, imports := range packages() {
		if top, _, _ := strings.Cut(name, "/"); !slices.Contains([]string{"purser", "e2e", "sandbox", "clients"}, top) && name != "store/storetest" {
			table[name] = imports
		}
	}
	var out strings.Builder
	out.WriteString("```mermaid\nflowchart TD\n")
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if len(table[name]) == 0 {
			fmt.Fprintf(&out, "    %s\n", name)
		}
		for _, to := range slices.Sorted(slices.Values(table[name])) {
			if !slices.ContainsFunc(table[name], func(by string) bool { return by != to && reaches(table, by, to) }) {
				fmt.Fprintf(&out, "    %s --> %s\n", name, to)
			}
		}
	}
	out.WriteString("```\n")
	return out.String()
}

// reaches tells whether imports lead from one package to another.
func reaches(table map[string][]string, from, to string) bool {
	return slices.ContainsFunc(table[from], func(next string) bool { return next == to || reaches(table, next, to) })
}

// queuesTable lists the queues of jobs.
func queuesTable() string {
	var out strings.Builder
	out.WriteString("| queue | emptied by | holds |\n|---|---|---|\n")
	for _, q := range store.JobQueues() {
		fmt.Fprintf(&out, "| `%s` | `%s` | %s |\n", q.Queue, q.Worker, q.Holds)
	}
	return out.String()
}

// TestTheMapOfPackagesSaysWhatEachMayImport: the last column of CONTRIBUTING.md's map is printed from the table of packages,
// and each package has a row, or its folder has one. `go test . -run MapOfPackages -update` prints it again.
func TestTheMapOfPackagesSaysWhatEachMayImport(t *testing.T) {
	const path = "CONTRIBUTING.md"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(raw), "\n")
	begin := slices.Index(lines, "| folder | what it knows | may import of ours |") + 2
	if begin < 2 {
		t.Fatalf("%s has no map", path)
	}
	rows := map[string]int{} // the line of each folder's row
	for i := begin; strings.HasPrefix(lines[i], "|"); i++ {
		rows[strings.Trim(strings.Split(lines[i], "|")[1], " `")] = i
	}
	imports := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(packages())) {
		folder := name
		for rows[folder] == 0 && strings.Contains(folder, "/") {
			folder = folder[:strings.LastIndex(folder, "/")]
		}
		list := strings.Join(slices.Sorted(slices.Values(packages()[name])), ", ")
		switch {
		case rows[folder] == 0:
			t.Errorf("%s has no row for %s", path, name)
		case name == "purser":
			list = "all"
		case list == "":
			continue
		case folder != name:
			list = "`" + name + "`: " + list
		}
		imports[folder] = append(imports[folder], list)
	}
	for folder, i := range rows {
		list := strings.Join(imports[folder], "; ")
		if list == "" {
			list = "–"
		}
		cells := strings.Split(lines[i], "|")
		cells[len(cells)-2] = " " + list + " "
		lines[i] = strings.Join(cells, "|")
	}
	switch want := strings.Join(lines, "\n"); {
	case want == string(raw):
	case *update:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is stale: go test . -run MapOfPackages -update", path)
	}
}

// TestPackagesHaveNoCircle in the table itself: each imports only what it does not lead back to.
func TestPackagesHaveNoCircle(t *testing.T) {
	table := packages()
	var visit func(path []string, name string)
	visit = func(path []string, name string) {
		if slices.Contains(path, name) {
			t.Fatalf("a circle: %v", append(path, name))
		}
		for _, next := range table[name] {
			if _, listed := table[next]; !listed {
				t.Errorf("%s may import %s, which is not in the table", name, next)
			}
			visit(append(slices.Clone(path), name), next)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		visit(nil, name)
	}
}
