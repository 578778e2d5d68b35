package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"purser/store"
)

// TestEveryQueueIsListed: whoever looks after all queues (the operator's commands, work.Overview, the documentation) sees
// a new one too. Announced is the only queue that holds no jobs.
func TestEveryQueueIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "store.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[store.Queue]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Queue" {
			return true
		}
		name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		declared[store.Queue(name)] = true
		return true
	})
	if len(declared) < 6 {
		t.Fatalf("%d queues were found: the search is broken", len(declared))
	}
	listed := map[store.Queue]bool{store.RelaySignal: true}
	for _, q := range store.JobQueues() {
		if listed[q.Queue] || !declared[q.Queue] || q.Worker == "" || q.Holds == "" || !store.KnownJobQueue(q.Queue) {
			t.Errorf("%+v is listed twice, has no name in store.go, or is not described", q)
		}
		listed[q.Queue] = true
	}
	for queue := range declared {
		if !listed[queue] {
			t.Errorf("%s is not among JobQueues", queue)
		}
	}
	if store.KnownJobQueue(store.RelaySignal) || store.KnownJobQueue("none") {
		t.Error("what holds no jobs is a queue of jobs")
	}
}
