package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"purser/e2e/harness"
	"purser/handlers"
	"purser/wallet"
)

// TestTheFileOfBlockedAddressesIsReadAgain when it changes. A bad line is named and takes down no other, and a file that cannot be read
// leaves blocked what was.
func TestTheFileOfBlockedAddressesIsReadAgain(t *testing.T) {
	a, b, inline := wallet.Address{1}, wallet.Address{2}, wallet.Address{3}
	path := filepath.Join(t.TempDir(), "blocked.txt")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log, into := &harness.Log{}, &handlers.BlockedAddresses{}
	f := &blockedFile{path: path, inline: []wallet.Address{inline}, into: into, log: slog.New(slog.NewTextHandler(log, nil))}
	if err := f.start(); err == nil || !strings.Contains(err.Error(), "fraud.addresses_file") {
		t.Fatalf("without the file: %v", err)
	}
	write("\ufeff# known thieves\r\n" + a.String() + " # first\r\n\r\nnobody\r\n  " + b.String())
	if err := f.start(); err != nil {
		t.Fatal(err)
	}
	if !into.Has(a) || !into.Has(b) || !into.Has(inline) || into.Has(wallet.Address{4}) {
		t.Error("it does not bar what the file and the settings say")
	}
	if said := log.String(); !strings.Contains(said, `line 4: \"nobody\"`) || strings.Contains(said, "line 3") {
		t.Errorf("said %s", said)
	}
	ctx, stop := context.WithCancel(t.Context())
	ticks, ended := make(chan time.Time), make(chan error, 1)
	go func() { ended <- f.Run(ctx, ticks) }()
	look := func() { // the second tick is taken after the first was dealt with
		ticks <- time.Time{}
		ticks <- time.Time{}
	}
	write(b.String() + "\n")
	look()
	if into.Has(a) || !into.Has(b) || !into.Has(inline) {
		t.Error("the changed file does not count")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	look()
	look()
	if !into.Has(b) {
		t.Error("without the file, what was blocked is free")
	}
	if n := strings.Count(log.String(), "cannot be read"); n != 1 {
		t.Errorf("said %d times that it cannot be read", n)
	}
	write("")
	look()
	if into.Has(b) || !into.Has(inline) || !strings.Contains(log.String(), "can be read again") {
		t.Error("an empty file blocks what it blocked before")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
