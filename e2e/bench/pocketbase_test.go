package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"purser/e2e/harness"
)

// buildPocketBase builds PocketBase from its module beside this package. The benchmark is skipped where it cannot be built: it is not among
// purser's own dependencies.
func buildPocketBase(b *testing.B) (path string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "pocketbase")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = "pocketbase"
	if out, err := build.CombinedOutput(); err != nil {
		b.Skipf("PocketBase is left out, since it cannot be built here: %v\n%s", err, out)
	}
	return path
}

// pocketBase starts PocketBase with an empty database. synchronous is SQLite's setting, "" for PocketBase's own.
func pocketBase(b *testing.B, path, synchronous string) (process, string) {
	b.Helper()
	address := harness.FreeAddress(b)
	cmd := exec.Command(path, "serve", "--http", address, "--dir", b.TempDir())
	cmd.Env, cmd.Stderr = append(os.Environ(), "SYNCHRONOUS="+synchronous), os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it ends by being killed
	url := "http://" + address + "/api/collections/transactions/records"
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		// 400: the collection is there, and an empty record is refused.
		if status, _, err := fasthttp.Post(nil, url, nil); err == nil && status == fasthttp.StatusBadRequest {
			return process{cmd.Process.Pid}, address
		}
		if time.Since(began) > harness.Wait {
			b.Fatal("PocketBase does not serve its collection")
		}
	}
}

// BenchmarkBesidePocketBase is a send beside what PocketBase takes to create a record with such fields, by as many clients, in turns.
// PocketBase checks its fields, and answers once the row is in its write-ahead log, which it does not sync with each commit (SQLite,
// synchronous=NORMAL). A send is checked against the chain, simulated, and answered once it is on the disk. The third in the turns is
// PocketBase with synchronous=FULL, which answers once the row is on the disk too.
func BenchmarkBesidePocketBase(b *testing.B) {
	path := buildPocketBase(b)
	type server struct {
		process
		address string
		creates []load
	}
	start := func(synchronous string) *server {
		p, address := pocketBase(b, path, synchronous)
		return &server{process: p, address: address}
	}
	bound, synced := start(""), start("FULL")
	s := newSending(b)
	var sends []load
	for b.Loop() {
		round := len(sends)
		sends = append(sends, s.round(b, 3*time.Second))
		for _, pb := range []*server{bound, synced} {
			pb.creates = append(pb.creates, drive(b, pb.process, pb.address, 64, 3*time.Second, 200, func(n int64, req *fasthttp.Request) {
				req.SetRequestURI("http://" + pb.address + "/api/collections/transactions/records")
				req.Header.SetMethod("POST")
				req.Header.SetContentType("application/json")
				req.SetBodyString(fmt.Sprintf(`{"sender":%q,"recipient":%q,"amount":"0.001","token":"SOL","status":"awaiting_signature","idempotency_key":"%d-%d"}`,
					s.from[n%int64(len(s.from))], s.to, round, n))
			}))
		}
	}
	rate := medianOf(sends, load.rate)
	b.ReportMetric(rate, "sends/s")
	b.ReportMetric(medianOf(sends, load.cpuEach), "cpu-µs")
	b.ReportMetric(medianOf(bound.creates, load.rate), "creates/s")
	b.ReportMetric(medianOf(bound.creates, load.cpuEach), "create-cpu-µs")
	b.ReportMetric(medianOf(synced.creates, load.rate), "synced-creates/s")
	b.ReportMetric(medianOf(synced.creates, load.cpuEach), "synced-create-cpu-µs")
	b.ReportMetric(rate/medianOf(bound.creates, load.rate), "of-pocketbase-rate")
	b.ReportMetric(rate/medianOf(synced.creates, load.rate), "of-synced-pocketbase-rate")
}
