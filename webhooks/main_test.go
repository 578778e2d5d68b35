package webhooks_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain makes the test binary the other programs that some tests need.
func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv(receiverAddress) != "":
		err = serveReceivers(os.Getenv(receiverAddress))
	case os.Getenv(victimDir) != "":
		err = runVictim(os.Getenv(victimDir), os.Getenv(victimURL), os.Getenv(victimRound))
	default:
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
