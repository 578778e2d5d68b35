package main

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"purser/e2e/harness"
)

// BenchmarkStart measures the built binary against a sandbox world: from the start of the process
// until /healthz answers, on an existing store, and what it then holds in memory, idle. The bound
// beside it is the same binary printing its version: what any Go process of this size costs.
func BenchmarkStart(b *testing.B) {
	binary, remove, err := harness.Build()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(remove)
	w := harness.World(b, 400*time.Millisecond)
	p := harness.NewProduct(b, binary, w)
	p.Start() // makes the store
	p.Stop()

	var starts, bounds []time.Duration
	var resident int
	for b.Loop() {
		began := time.Now()
		if _, err := p.CLI("version"); err != nil {
			b.Fatal(err)
		}
		bounds = append(bounds, time.Since(began))

		began = time.Now()
		if err := p.Launch(); err != nil {
			b.Fatal(err)
		}
		for !healthy(p.URL) {
			if time.Since(began) > harness.Wait {
				b.Fatal("purser does not serve")
			}
		}
		starts = append(starts, time.Since(began))
		resident = max(resident, residentKiB(b, p.PID()))
		p.Stop()
	}
	b.ReportMetric(float64(median(starts).Microseconds())/1000, "ms-to-serve")
	b.ReportMetric(float64(median(bounds).Microseconds())/1000, "ms-bare-process")
	b.ReportMetric(float64(resident)/1024, "MiB-resident")
}

func healthy(url string) bool {
	resp, err := http.Get(url + "/healthz")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// residentKiB reads VmRSS of a process.
func residentKiB(b *testing.B, pid int) int {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				b.Fatal(err)
			}
			return kib
		}
	}
	b.Fatal("no VmRSS")
	return 0
}
