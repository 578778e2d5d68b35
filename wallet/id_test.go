package wallet

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTimedIDsAreInTheOrderOfTheirTime(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return at }
	zeros := TimedIDs(clock, bytes.NewReader(make([]byte, 100)))
	if got, want := zeros("tx"), "tx_1k7uvkhg0"+strings.Repeat("0", 17); got != want {
		t.Errorf("%s, not %s", got, want)
	}
	var some [17]byte
	for i := range some {
		some[i] = byte(i * 15)
	}
	if got, want := TimedIDs(clock, bytes.NewReader(some[:]))("usr"), "usr_1k7uvkhg0"+"0fudsbq9o7m5k3i1g"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	ids := TimedIDs(clock, rand.Reader)
	seen, before := map[string]bool{}, ""
	for _, step := range []time.Duration{0, time.Millisecond, time.Second, time.Hour, 24 * time.Hour, 1000 * 24 * time.Hour, 100_000 * 24 * time.Hour} {
		at = at.Add(step)
		var last string
		for range 100 {
			id := ids("tx")
			if seen[id] || len(id) != 29 || strings.Trim(id[3:], "0123456789abcdefghijklmnopqrstuv") != "" {
				t.Fatalf("%q", id)
			}
			if step > 0 && id < before {
				t.Errorf("%s of a later time comes before %s", id, before)
			}
			seen[id] = true
			last = max(last, id)
		}
		before = last
	}
}

// TestBatchesGiveEachByteOnce: in their order to one reader, and to many at once none twice.
func TestBatchesGiveEachByteOnce(t *testing.T) {
	some := make([]byte, 64*17*2)
	_, _ = rand.Read(some)
	one := Batched(bytes.NewReader(some))
	got := make([]byte, len(some))
	for at, n := 0, 1; at < len(got); n++ {
		to := got[at:min(at+n, len(got))]
		if _, err := io.ReadFull(one, to); err != nil {
			t.Fatal(err)
		}
		at += len(to)
	}
	if !bytes.Equal(got, some) {
		t.Error("other bytes came")
	}
	if n, err := one.Read(got[:1]); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %d, %v", n, err)
	}
	ids := TimedIDs(time.Now, Batched(rand.Reader))
	var all sync.WaitGroup
	var made sync.Map
	for range 8 {
		all.Go(func() {
			for range 2000 {
				if _, twice := made.LoadOrStore(ids("tx")[12:], true); twice {
					t.Error("the same random digits twice")
				}
			}
		})
	}
	all.Wait()
}

// TestOnlyTimedIDsHaveATime: neither those of receipts, which are digits of a hash, nor those of before.
func TestOnlyTimedIDsHaveATime(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	id := TimedIDs(func() time.Time { return at }, rand.Reader)("tx")
	if digits, ok := IDTime(id); !ok || digits != "1k7uvkhg0" {
		t.Errorf("%s: %q, %v", id, digits, ok)
	}
	others := []string{"", "tx_", "tx_0001", "1k7uvkhg0aaaaaaaaaaaaaaaaa", id + "0", id[:28], "tx_2" + id[4:], "tx_1K" + id[5:], "tx_abcdefghijklmnopqrstuvwxyz"}
	for i := range 200 {
		others = append(others, string(ReceivedID(Signature{byte(i)}, Address{1}, Address{})))
	}
	for _, id := range others {
		if digits, ok := IDTime(id); ok {
			t.Errorf("%s: %q", id, digits)
		}
	}
}
