package bench

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"purser/e2e/harness"
)

// collector is how purser's main sets Go's garbage collector.
var collector = []string{"GOGC=400", "GOMEMLIMIT=512MiB"}

// bareKey is a fiber handler that writes what GET /v1/key does, and decides nothing. sameAnswer compares the two.
func bareKey(address string) error {
	type limit struct {
		Limit        int64 `json:"limit"`
		Remaining    int64 `json:"remaining"`
		ResetSeconds int64 `json:"reset_seconds"`
	}
	type key struct {
		ID         string   `json:"key_id"`
		Kind       string   `json:"kind"`
		Tier       string   `json:"tier"`
		Scopes     []string `json:"scopes"`
		Owner      string   `json:"owner"`
		AppID      string   `json:"app_id"`
		Cluster    string   `json:"cluster"`
		CreatedAt  string   `json:"created_at"`
		ExpiresAt  string   `json:"expires_at"`
		LastUsedAt string   `json:"last_used_at"`
		RateLimit  limit    `json:"rate_limit"`
	}
	type answer struct {
		Success   bool   `json:"success"`
		Data      key    `json:"data"`
		Message   string `json:"message"`
		Timestamp string `json:"timestamp"`
	}
	const stamp = "2006-01-02T15:04:05.000Z"
	created := time.Now().UTC().Format(stamp)
	app := fiber.New(fiber.Config{DisableStartupMessage: true, Immutable: true})
	app.Get("/v1/key", func(c *fiber.Ctx) error {
		return c.JSON(answer{Success: true, Message: "Key read.", Timestamp: time.Now().UTC().Format(stamp), Data: key{ID: "key_1k888lks2b3fkpvck7945gg5rn", Kind: "api", Tier: "pro",
			Scopes: []string{"wallet:read", "wallet:send", "bot:send", "bot:execute", "webhooks"}, Cluster: "localnet", CreatedAt: created, LastUsedAt: created,
			RateLimit: limit{Limit: 4_000_000_000, Remaining: 3_999_999_999, ResetSeconds: 3_599}}})
	})
	return app.Listen(address)
}

// sameAnswer fails unless two servers answer GET /v1/key with the same fields in bodies of the same length, but for a few
// digits. That of the first needs the secret, and is asked for twice: the first use of a key is not yet in it.
func sameAnswer(b *testing.B, ours, bare, secret string) {
	b.Helper()
	read := func(address string) (body []byte, fields map[string]any) {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		req.SetRequestURI("http://" + address + "/v1/key")
		req.Header.Set("Authorization", "Bearer "+secret)
		if err := fasthttp.Do(req, resp); err != nil || resp.StatusCode() != 200 {
			b.Fatal(resp.StatusCode(), err)
		}
		if err := json.Unmarshal(resp.Body(), &fields); err != nil {
			b.Fatal(err)
		}
		data := fields["data"].(map[string]any)
		for name, value := range data {
			fields["data."+name] = value
		}
		for name, value := range data["rate_limit"].(map[string]any) {
			fields["data.rate_limit."+name] = value
		}
		return resp.Body(), fields
	}
	read(ours)
	wanted, fields := read(ours)
	got, others := read(bare)
	const digits = 4
	names := slices.Sorted(maps.Keys(fields))
	if len(wanted)-len(got) > digits || len(got)-len(wanted) > digits || !slices.Equal(names, slices.Sorted(maps.Keys(others))) {
		b.Fatalf("the bare handler writes %s, purser %s", got, wanted)
	}
}

// newKey makes an API key of an operator's by the command line.
func newKey(b *testing.B, p *harness.Product) string {
	b.Helper()
	out, err := p.CLI("key", "create", "--tier", "pro", "--json")
	if err != nil {
		b.Fatal(err)
	}
	return keyIn(b, out)
}

// keyIn is the key that `purser key create --json` printed.
func keyIn(b *testing.B, out string) string {
	b.Helper()
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		b.Fatal(err)
	}
	return made.Key
}

// unlimited are settings under which no quota is met.
var unlimited = []string{"PURSER_LIMITS_API_PRO=4000000000", "PURSER_LIMITS_BOT_PRO=4000000000", "PURSER_LIMITS_WEBHOOK_EVENTS=4000000000", "PURSER_LOG_LEVEL=warn"}

// BenchmarkKeyRead is an authenticated, limited, enveloped read beside a bare fiber handler that writes the same JSON: with the
// collector as fiber's users have it, and with purser's.
func BenchmarkKeyRead(b *testing.B) {
	p := harness.NewProduct(b, purserBinary, harness.World(b, 400*time.Millisecond), unlimited...)
	p.Start()
	secret := newKey(b, p)
	type server struct {
		process
		address string
		runs    []load
	}
	start := func(extra ...string) *server {
		address := harness.FreeAddress(b)
		return &server{process: child(b, "key", address, extra...), address: address}
	}
	ours := &server{process: process{p.PID()}, address: strings.TrimPrefix(p.URL, "http://")}
	bare, tuned := start("GOGC=", "GOMEMLIMIT="), start(collector...)
	sameAnswer(b, ours.address, bare.address, secret)
	for b.Loop() {
		for _, s := range []*server{ours, bare, tuned} {
			s.runs = append(s.runs, drive(b, s.process, s.address, 64, 2*time.Second, 200, func(_ int64, req *fasthttp.Request) {
				req.SetRequestURI("http://" + s.address + "/v1/key")
				req.Header.Set("Authorization", "Bearer "+secret)
			}))
		}
	}
	b.ReportMetric(medianOf(ours.runs, load.rate), "requests/s")
	b.ReportMetric(medianOf(ours.runs, load.cpuEach), "cpu-µs")
	b.ReportMetric(medianOf(ours.runs, load.rate)/medianOf(bare.runs, load.rate), "of-bare-rate")
	b.ReportMetric(medianOf(ours.runs, load.cpuEach)/medianOf(bare.runs, load.cpuEach), "×-bare-cpu")
	b.ReportMetric(medianOf(ours.runs, load.cpuEach)/medianOf(tuned.runs, load.cpuEach), "×-tuned-cpu")
	b.ReportMetric(medianOf(ours.runs, p99), "ms-p99")
}
