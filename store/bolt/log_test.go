package bolt

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/records"
	"purser/store/storetest"
	"purser/wallet"
)

func openLog(t testing.TB, folder string) (*whole, *records.Log) {
	t.Helper()
	s := openAt(t, filepath.Join(folder, "purser.db"))
	l, err := openLogOf(filepath.Join(folder, "log"), s)
	if err != nil {
		t.Fatal(err)
	}
	return s, l
}

func TestBoltIsADeliveryLog(t *testing.T) {
	storetest.RunLog(t, func(t testing.TB, folder string) (store.Store, store.DeliveryLog) { return openLog(t, folder) })
}

// someDay is what the tests log on.
func someDay() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func logEntry(id string, day int) store.LogEntry {
	at := someDay().AddDate(0, 0, day)
	return store.LogEntry{Delivery: store.Delivery{ID: id, Webhook: "wh", User: "usr_a", Body: []byte("secret " + id), CreatedAt: at},
		State: store.DeliveryDelivered, EndedAt: at, Attempted: []store.Attempt{{At: at, Status: 200}}}
}

// TestADamagedDayIsSetAside: whatever a day's file is, the log goes on without it, tells of it once and
// keeps it, until its day is dropped.
func TestADamagedDayIsSetAside(t *testing.T) {
	foreign := func(path string) error {
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			return err
		}
		return errors.Join(db.Update(func(root *bbolt.Tx) error {
			_, err := root.CreateBucket([]byte("theirs"))
			return err
		}), db.Close())
	}
	shape := func(change func([]byte) []byte) func(string) error {
		return func(path string) error {
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, change(raw), 0o600)
		}
	}
	page := os.Getpagesize()
	for what, damage := range map[string]func(path string) error{
		"nothing":  shape(func([]byte) []byte { return nil }),
		"text":     shape(func([]byte) []byte { return bytes.Repeat([]byte("dear diary\n"), 5000) }),
		"cut":      shape(func(raw []byte) []byte { return raw[:3*page] }),
		"no pages": shape(func(raw []byte) []byte { return append(raw[:2*page], make([]byte, len(raw)-2*page)...) }),
		"wild":     shape(func(raw []byte) []byte { return append(raw[:2*page], bytes.Repeat([]byte{0xa5}, len(raw)-2*page)...) }),
		"foreign":  func(path string) error { return errors.Join(os.Remove(path), foreign(path)) },
		"our store": func(path string) error {
			s, err := openWhole(wholeOptions{Path: path + "x", MasterKey: masterKey(), Random: rand.Reader})
			if err != nil {
				return err
			}
			return errors.Join(s.Close(), os.Rename(path+"x", path))
		},
	} {
		for _, first := range []string{"read", "write"} {
			t.Run(what+" "+first, func(t *testing.T) {
				folder := t.TempDir()
				s, l := openLog(t, folder)
				var day2 []store.LogEntry
				for i := range 200 { // more than a page
					day2 = append(day2, logEntry(fmt.Sprint("lost ", i), 1))
				}
				if err := errors.Join(l.Log(t.Context(), append(day2, logEntry("one", 0), logEntry("three", 2))), l.Close(), s.Close()); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(folder, "log", "2026-11-22.db")
				if err := damage(path); err != nil {
					t.Fatal(err)
				}
				spoilt := fileBytes(t, path)

				var told strings.Builder
				o := options(filepath.Join(folder, "purser.db"))
				o.Log = slog.New(slog.NewTextHandler(&told, nil))
				s2, err := openWhole(o)
				if err != nil {
					t.Fatal(err)
				}
				l, err = openLogOf(filepath.Join(folder, "log"), s2)
				if err != nil {
					t.Fatal(err)
				}
				want := []string{"three", "one"}
				if first == "write" {
					if err := l.Log(t.Context(), []store.LogEntry{logEntry("two", 1)}); err != nil {
						t.Fatal(err)
					}
					want = []string{"three", "two", "one"}
				}
				for range 3 {
					got, err := l.List(t.Context(), "wh", store.LogPage{Limit: 1000})
					if err != nil || len(got) != len(want) {
						t.Fatalf("listed %d: %v", len(got), err)
					}
					for i, e := range got {
						if e.ID != want[i] {
							t.Errorf("listed %s, not %s", e.ID, want[i])
						}
					}
				}
				if err := l.Log(t.Context(), []store.LogEntry{logEntry("new", 1)}); err != nil {
					t.Fatal(err)
				}
				if e, err := l.Logged(t.Context(), "wh", "new"); err != nil || string(e.Body) != "secret new" {
					t.Errorf("the day goes on: %+v, %v", e, err)
				}
				if _, err := l.AttemptsByHour(t.Context(), "wh", time.Time{}); err != nil {
					t.Error(err)
				}
				if lines := strings.Count(told.String(), "\n"); lines != 1 || !strings.Contains(told.String(), "2026-11-22.db.damaged1") || strings.Contains(told.String(), "secret") {
					t.Errorf("%d lines were logged: %s", lines, told.String())
				}
				if kept := fileBytes(t, path+".damaged1"); !bytes.Equal(kept, spoilt) && what != "our store" { // bbolt writes that one's freelist
					t.Error("what was set aside is not what was there")
				}
				if n, err := l.DropBefore(t.Context(), someDay().AddDate(0, 0, 2)); n != 2 || err != nil {
					t.Errorf("dropped %d, %v", n, err)
				}
				if _, err := os.Stat(path + ".damaged1"); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("what was set aside outlives its day: %v", err)
				}
				if err := errors.Join(l.Close(), s2.Close()); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func TestAnEntryThatIsDamagedIsPassedOver(t *testing.T) {
	for what, how := range storetest.WaysOfDamage() {
		folder := t.TempDir()
		s, l := openLog(t, folder)
		if err := errors.Join(l.Log(t.Context(), []store.LogEntry{logEntry("a", 0), logEntry("b", 0), logEntry("c", 0)}), l.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
		db, err := bbolt.Open(filepath.Join(folder, "log", "2026-11-21.db"), 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		key := []byte("b")
		if err := errors.Join(db.Update(func(root *bbolt.Tx) error {
			entries := root.Bucket([]byte("rows"))
			return errors.Join(entries.Put(key, how(bytes.Clone(entries.Get(key)))), root.Bucket([]byte("hourly_counts")).Put([]byte("wh\x00\xff"), []byte("{")))
		}), db.Close()); err != nil {
			t.Fatal(err)
		}
		s, l = openLog(t, folder)
		got, err := l.List(t.Context(), "wh", store.LogPage{Limit: 10})
		if err != nil || len(got) != 2 || got[0].ID != "c" || got[1].ID != "a" {
			t.Errorf("%s: listed %+v, %v", what, got, err)
		}
		// Nobody learns that there is such an id: not its own webhook, nor another.
		for _, hook := range []wallet.WebhookID{"wh", "wh_of_another"} {
			if e, err := l.Logged(t.Context(), hook, "b"); !errors.Is(err, store.ErrNotFound) || e.ID != "" {
				t.Errorf("%s: to %s: %+v, %v", what, hook, e, err)
			}
			if _, err := l.List(t.Context(), hook, store.LogPage{After: "b", Limit: 10}); !errors.Is(err, store.ErrNotFound) && what != "one bit of what is sealed" {
				t.Errorf("%s: behind it, to %s: %v", what, hook, err)
			}
		}
		if _, err := l.AttemptsByHour(t.Context(), "wh", time.Time{}); err != nil {
			t.Errorf("%s: counts: %v", what, err)
		}
		if err := l.Log(t.Context(), []store.LogEntry{logEntry("b", 0)}); err != nil {
			t.Errorf("%s: logged anew: %v", what, err)
		}
		if e, err := l.Logged(t.Context(), "wh", "b"); err != nil || string(e.Body) != "secret b" {
			t.Errorf("%s: logged anew: %+v, %v", what, e, err)
		}
		if err := errors.Join(l.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestADayWithoutRowsIsForeign: it is set aside, and the log goes on.
func TestADayWithoutRowsIsForeign(t *testing.T) {
	folder := t.TempDir()
	s, l := openLog(t, folder)
	if err := errors.Join(l.Log(t.Context(), []store.LogEntry{logEntry("a", 0)}), l.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	day := filepath.Join(folder, "log", "2026-11-21.db")
	db, err := bbolt.Open(day, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(func(root *bbolt.Tx) error { return root.DeleteBucket([]byte("rows")) }), db.Close()); err != nil {
		t.Fatal(err)
	}
	s, l = openLog(t, folder)
	if err := l.Log(t.Context(), []store.LogEntry{logEntry("b", 0)}); err != nil {
		t.Error(err)
	}
	if got, err := l.List(t.Context(), "wh", store.LogPage{Limit: 10}); err != nil || len(got) != 1 || got[0].ID != "b" {
		t.Errorf("listed %+v, %v", got, err)
	}
	if aside, err := filepath.Glob(day + asideEnd + "*"); err != nil || len(aside) != 1 {
		t.Errorf("set aside %v, %v", aside, err)
	}
	if err := errors.Join(l.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestALogThatCannotBeWrittenSaysSo, and goes on when it can again.
func TestALogThatCannotBeWrittenSaysSo(t *testing.T) {
	folder := t.TempDir()
	s, l := openLog(t, folder)
	aside := filepath.Join(folder, "elsewhere")
	if err := os.Rename(filepath.Join(folder, "log"), aside); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Log(t.Context(), []store.LogEntry{logEntry("a", 0)}); err == nil {
			t.Error("an entry was logged into a folder that is not there")
		}
	}
	if err := errors.Join(os.Rename(aside, filepath.Join(folder, "log")), l.Log(t.Context(), []store.LogEntry{logEntry("a", 0)})); err != nil {
		t.Error(err)
	}
	if _, err := l.Logged(t.Context(), "wh", "a"); err != nil {
		t.Error(err)
	}
	if err := errors.Join(l.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := openLogOf(filepath.Join(folder, "purser.db"), s); err == nil {
		t.Error("a file was taken for a folder")
	}
}

// TestADamagedLengthTakesNoMemory: one that says gigabytes is noticed before they are allocated.
func TestADamagedLengthTakesNoMemory(t *testing.T) {
	folder := t.TempDir()
	s, l := openLog(t, folder)
	var day []store.LogEntry
	for i := range 60 {
		day = append(day, logEntry(fmt.Sprintf("dlv_%02d", i), 0))
	}
	if err := errors.Join(l.Log(t.Context(), day), l.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "log", someDay().Format(dayLayout)+dayEnd)
	raw := fileBytes(t, path)
	row := bytes.Index(raw, []byte{'d', 'l', 'v', '_', '0', '0', 1}) // its key and the beginning of its row
	page := raw[row/os.Getpagesize()*os.Getpagesize():]
	if row < 0 || binary.NativeEndian.Uint16(page[8:]) != leafFlag {
		t.Fatalf("no page of rows around %d", row)
	}
	page[pageHeader+15] = 0x70 // the length of its first value: almost 2 GiB
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := openLogOf(filepath.Join(folder, "log"), s)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if got, err := again.List(t.Context(), "wh", store.LogPage{Limit: 100}); err != nil || len(got) != 0 {
		t.Errorf("%d entries, %v", len(got), err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
		t.Errorf("%d MiB were allocated for it", used>>20)
	}
	if err := errors.Join(again.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// FuzzDamagedDay: whatever is written over a part of a day's file, or stands in its place, nothing panics, and the log
// goes on: what is written to that day afterwards is found.
func FuzzDamagedDay(f *testing.F) {
	folder := f.TempDir()
	s := openAt(f, filepath.Join(folder, "purser.db"))
	f.Cleanup(func() { s.Close() }) //nolint:errcheck // of a test
	if err := s.Update(f.Context(), func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: "usr_a"}) }); err != nil {
		f.Fatal(err)
	}
	l, err := openLogOf(filepath.Join(folder, "log"), s)
	if err != nil {
		f.Fatal(err)
	}
	var day []store.LogEntry
	for i := range 60 { // several pages
		day = append(day, logEntry(fmt.Sprintf("dlv_%02d", i), 0))
	}
	if err := errors.Join(l.Log(f.Context(), day), l.Close()); err != nil {
		f.Fatal(err)
	}
	name := someDay().Format(dayLayout) + dayEnd
	raw := fileBytes(f, filepath.Join(folder, "log", name))
	page := os.Getpagesize()
	for id := range min(10, len(raw)/page) {
		f.Add(uint32(id*page+8), []byte{2, 0, 255, 255}, false)
		f.Add(uint32(id*page+16), bytes.Repeat([]byte{0xff}, 16), false)
		for element := range 3 { // the lengths of keys and values: far beyond the file, and just beyond it
			at := uint32(id*page + pageHeader + element*pageElement)
			f.Add(at+11, []byte{0xff}, false)
			f.Add(at+15, []byte{0x70}, false)
			f.Add(at+14, []byte{0xf0}, false)
		}
	}
	f.Add(uint32(bytes.Index(raw, []byte("delivered"))), []byte("x"), false)
	f.Add(uint32(0), []byte("dear diary"), true)
	f.Add(uint32(0), []byte{}, true)
	f.Fuzz(func(t *testing.T, at uint32, patch []byte, whole bool) {
		broken := bytes.Clone(raw)
		copy(broken[int(at)%len(broken):], patch)
		if whole {
			broken = patch
		}
		logs := t.TempDir()
		if err := os.WriteFile(filepath.Join(logs, name), broken, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := openLogOf(logs, s)
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		var after string
		for range 5 {
			got, err := l.List(ctx, "wh", store.LogPage{Limit: 25, After: after})
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				t.Errorf("list: %v", err)
			}
			if len(got) > 25 {
				t.Errorf("%d entries of a page", len(got))
			}
			if len(got) == 0 {
				break
			}
			after = got[len(got)-1].ID
		}
		if _, err := l.Oldest(ctx, "wh", store.DeliveryDelivered, time.Time{}, "", 25); err != nil {
			t.Errorf("the oldest: %v", err)
		}
		if _, err := l.Logged(ctx, "wh", "dlv_07"); err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("one: %v", err)
		}
		if _, err := l.AttemptsByHour(ctx, "wh", time.Time{}); err != nil {
			t.Errorf("counts: %v", err)
		}
		fresh := logEntry("dlv_fresh", 0)
		if err := l.Log(ctx, []store.LogEntry{fresh}); err != nil {
			t.Errorf("log: %v", err)
		} else if e, err := l.Logged(ctx, "wh", fresh.ID); err != nil || string(e.Body) != "secret dlv_fresh" {
			t.Errorf("what was logged: %+v, %v", e, err)
		}
		if _, err := l.DropBefore(ctx, someDay().AddDate(0, 0, 5)); err != nil {
			t.Errorf("drop: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(logs); err != nil || len(left) > 0 {
			t.Errorf("left after its time: %v, %v", left, err)
		}
	})
}
