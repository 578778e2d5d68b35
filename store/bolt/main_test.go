//go:build unix

package bolt

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv(childPath) != "" {
		child()
	}
	os.Exit(m.Run())
}
