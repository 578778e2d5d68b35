package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"purser/handlers"
	"purser/wallet"
)

// blockedFile keeps BlockedAddresses as the settings and a file say (fraud.addresses, fraud.addresses_file). Only Run uses it after
// read.
type blockedFile struct {
	path   string
	inline []wallet.Address // of the settings
	into   *handlers.BlockedAddresses
	log    *slog.Logger

	content []byte // as last read
	failed  bool   // it could not be read at the last look
}

// readBlockedEvery is how often the file is read, to find out whether it has changed.
const readBlockedEvery = 5 * time.Second

// maxBlockedFile bounds the file: some hundred thousand addresses.
const maxBlockedFile = 32 << 20

// parseBlocked reads a list of addresses, one a line, with # before comments. wrong names the lines that are none; the others count.
func parseBlocked(content []byte) (all []wallet.Address, wrong []string) {
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		text, _, _ := strings.Cut(line, "#")
		if text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")); text == "" {
			continue
		}
		a, err := wallet.ParseAddress(text)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("line %d: %.60q", number, text))
			continue
		}
		all = append(all, a)
	}
	return all, wrong
}

// read reads the file, and blocks what it says if it has changed. Without a file it does nothing.
func (b *blockedFile) read() error {
	if b.path == "" {
		return nil
	}
	info, err := os.Stat(b.path)
	if err != nil {
		return err
	}
	if info.Size() > maxBlockedFile {
		return fmt.Errorf("%s has more than %d bytes", b.path, maxBlockedFile)
	}
	content, err := os.ReadFile(b.path)
	if err != nil {
		return err
	}
	if b.content != nil && bytes.Equal(content, b.content) {
		return nil
	}
	all, wrong := parseBlocked(content)
	b.content = append([]byte{}, content...) // not nil, also if the file is empty
	b.into.Replace(append(all, b.inline...))
	const named = 20 // lines in the log
	for _, line := range wrong[:min(len(wrong), named)] {
		b.log.Error("fraud.addresses_file: no address; the other lines count", "file", b.path, "at", line)
	}
	if more := len(wrong) - named; more > 0 {
		b.log.Error("fraud.addresses_file: further lines are no addresses", "file", b.path, "lines", more)
	}
	b.log.Info("addresses are blocked", "file", b.path, "addresses", len(all), "in settings", len(b.inline))
	return nil
}

// start reads the file for the first time. An error is one that the operator must solve: nobody is to believe that addresses are blocked
// that are not.
func (b *blockedFile) start() error {
	if err := b.read(); err != nil {
		return fmt.Errorf("fraud.addresses_file: %w", err)
	}
	return nil
}

// Run reads the file at every tick until ctx ends. If it cannot be read, what it said last still holds, and the log says so once.
func (b *blockedFile) Run(ctx context.Context, ticks <-chan time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
		err := b.read()
		if err != nil && !b.failed {
			b.log.Error("fraud.addresses_file cannot be read: the addresses that were read last stay blocked", "error", err)
		}
		if err == nil && b.failed {
			b.log.Info("fraud.addresses_file can be read again", "file", b.path)
		}
		b.failed = err != nil
	}
}

// runOnClock is Run with the process's own clock.
func (b *blockedFile) runOnClock(ctx context.Context) error {
	ticks := time.NewTicker(readBlockedEvery)
	defer ticks.Stop()
	return b.Run(ctx, ticks.C)
}
