//go:build unix

package bolt

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv(childPath) != "" {
		child()
	}
	flag.Bool("update", false, "rewrite testdata of the newest schema")
	flag.Parse()
	os.Exit(m.Run())
}
