// Package crash proves what survives: the built binary, killed and starved, against a world that
// goes on.
package crash

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"purser/e2e/harness"
	"purser/sandbox/telegram"
)

var binary string

func TestMain(m *testing.M) {
	if err := manyAtOnce(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	path, remove, err := harness.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = path
	code := m.Run()
	remove()
	os.Exit(code)
}

// manyAtOnce lets more tests run at once than there are CPUs, unless -parallel says how many: they
// wait for blocks and for Telegram's pace far more than they compute.
func manyAtOnce() error {
	flag.Parse()
	parallel := flag.Lookup("test.parallel")
	if parallel.Value.String() != parallel.DefValue {
		return nil
	}
	return parallel.Value.Set("4")
}

func TestMoneyPathOverTheRealBinary(t *testing.T) {
	w := harness.World(t, 50*time.Millisecond)
	p := harness.NewProduct(t, binary, w)
	p.Start()
	alice, bob := harness.NewPerson(t, w, telegram.Alice), harness.NewPerson(t, w, telegram.Bob)
	for _, person := range []*harness.Person{alice, bob} {
		person.Say("/start")
		person.Connect()
	}
	alice.Fund(5_000_000_000)
	alice.Say("/wallet balance")
	alice.Hear("the balance", func(m telegram.Message) bool { return strings.Contains(m.Text, "5 SOL") })
	alice.Say("/send 1.5 SOL " + bob.Device.Address())
	alice.Tap(alice.HearButton("Confirm"))
	card := alice.Hear("a sign link", func(m telegram.Message) bool { return harness.SignLink(m) != "" })
	signing, err := alice.Device.Approve(context.Background(), harness.SignLink(card))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signing.Send(context.Background()); err != nil {
		t.Fatal(err)
	}
	done := alice.Hear("confirmed", func(m telegram.Message) bool { return m.ID == card.ID && strings.Contains(m.Text, "Signature") })
	t.Logf("%s", done.Text)
	told := bob.Hear("the payment", func(m telegram.Message) bool { return strings.Contains(m.Text, "1.5 SOL") })
	t.Logf("%s", told.Text)
	p.Stop()
	if got := w.Solana.Balance(bob.Device.Address()); got != 1_500_000_000 {
		t.Fatalf("Bob holds %d lamports", got)
	}
}
