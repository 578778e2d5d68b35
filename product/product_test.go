package product_test

import (
	"testing"
	"time"

	"purser/e2e/world"
	"purser/product"
	"purser/quota"
)

// TestNodesOfOneStoreCountTogether: the meter of each node has the node's own name, so that what one has leased counts
// as spent for the other. Without a name there are no parts.
func TestNodesOfOneStoreCountTogether(t *testing.T) {
	w := world.New(t, world.Options{})
	o := w.Parts.Options
	o.Node = ""
	if _, err := product.New(o); err == nil {
		t.Error("a node without a name was made")
	}
	limit := quota.Limit{Count: 100, Span: time.Hour}
	for i, c := range []struct {
		node string
		left uint64
	}{
		{"first", 99},
		{"second", 94}, // the first leased 5, whatever it has spent of them
		{"third", 89},
	} {
		o.Node = c.node
		parts, err := product.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if q, err := parts.Meter.Take(t.Context(), "api/usr_1", limit); err != nil || !q.OK || q.Remaining != c.left {
			t.Errorf("node %d: %+v, %v, want %d left", i, q, err, c.left)
		}
	}
}
