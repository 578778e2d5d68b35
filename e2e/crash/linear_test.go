package crash

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"purser/e2e/harness"
	"purser/sandbox"
	"purser/wallet"
)

// What a client says and hears of one Idempotency-Key.
type (
	asked struct{ key, body int }
	heard struct {
		status int    // 0: nothing, or an answer that leaves open what happened
		id     string // of the transaction, with 202
	}
	// record is what the key stands for: nothing yet, or one transaction of one body.
	record struct {
		taken bool
		body  int
		id    string // "" while nobody has heard it
	}
)

// idempotent is how the API says that an Idempotency-Key behaves (docs/specification.md), for porcupine.
func idempotent() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byKey := map[int][]porcupine.Operation{}
			for _, op := range history {
				key := op.Input.(asked).key
				byKey[key] = append(byKey[key], op)
			}
			var parts [][]porcupine.Operation
			for _, part := range byKey {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() []any { return []any{record{}} },
		Step: func(state, input, output any) []any {
			is, in, out := state.(record), input.(asked), output.(heard)
			same := is.taken && is.body == in.body
			switch {
			case out.status == 0 && !is.taken: // it may have happened
				return []any{is, record{true, in.body, ""}}
			case out.status == 0, out.status == http.StatusConflict: // another try of it is under way
				return []any{is}
			case out.status == http.StatusUnprocessableEntity && is.taken && !same:
				return []any{is}
			case out.status == http.StatusAccepted && (!is.taken || same && (is.id == "" || is.id == out.id)):
				return []any{record{true, in.body, out.id}}
			}
			return nil
		},
		Equal: func(a, b any) bool { return a == b },
	}
	return model.ToModel()
}

// TestIdempotentPostsAreLinearizable has 64 clients post the same few requests again and again while
// the process is killed: each key makes one transaction, whatever was heard.
func TestIdempotentPostsAreLinearizable(t *testing.T) {
	t.Parallel()
	clients, kills, keys := 64, 10, 40
	if testing.Short() {
		clients, kills, keys = 16, 3, 10
	}
	random := seeded(t)
	w := harness.World(t, 100*time.Millisecond)
	p := harness.NewProduct(t, binary, w)
	p.Start()
	program := newProgram(t, w, p)

	var history []porcupine.Operation
	var mu sync.Mutex
	began := time.Now()
	var done atomic.Bool
	var group sync.WaitGroup
	for client := range clients {
		chance := rand.New(rand.NewPCG(random.Uint64(), uint64(client)))
		group.Go(func() {
			for !done.Load() {
				in := asked{chance.IntN(keys), chance.IntN(10) / 9} // now and then another body
				call := time.Since(began)
				out := program.posts(in)
				end := int64(math.MaxInt64) // what was not heard may still happen
				if out.status != 0 {
					end = int64(time.Since(began))
				}
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: client, Input: in, Call: int64(call), Output: out, Return: end})
				mu.Unlock()
			}
		})
	}
	for range kills {
		<-time.After(time.Duration(200+random.IntN(600)) * time.Millisecond)
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		p.Start()
	}
	<-time.After(time.Second)
	done.Store(true)
	group.Wait()

	// What each key stands for in the end; asked until the answer is certain.
	made := map[string]bool{}
	for key := range keys {
		for {
			call := int64(time.Since(began))
			in := asked{key, 0}
			out := program.posts(in)
			history = append(history, porcupine.Operation{ClientId: clients, Input: in, Call: call, Output: out, Return: int64(time.Since(began))})
			if out.status == http.StatusUnprocessableEntity {
				in.body = 1
				call = int64(time.Since(began))
				out = program.posts(in)
				history = append(history, porcupine.Operation{ClientId: clients, Input: in, Call: call, Output: out, Return: int64(time.Since(began))})
			}
			if out.status == http.StatusAccepted {
				made[out.id] = true
				break
			}
		}
	}
	counts := map[int]int{}
	for _, op := range history {
		counts[op.Output.(heard).status]++
	}
	t.Logf("%d requests by %d clients over %d lives: %v", len(history), clients, kills+1, counts)
	if counts[http.StatusAccepted] < keys || counts[http.StatusUnprocessableEntity] == 0 || counts[0] == 0 {
		t.Errorf("this tests nothing: %v", counts)
	}
	if result := porcupine.CheckOperationsTimeout(idempotent(), history, time.Minute); result != porcupine.Ok {
		t.Errorf("the history is %s", result)
	}
	if stored := program.stored(); len(stored) != keys || len(made) != keys {
		t.Errorf("%d keys, %d transactions told, %d stored", keys, len(made), len(stored))
	} else {
		for id := range stored {
			if !made[id] {
				t.Errorf("%s was told to nobody", id)
			}
		}
	}
}

// program is an operator's, with a key and a wallet of its own: what it sends asks nobody.
type program struct {
	*testing.T
	purser  *harness.Product
	secret  string
	address wallet.Address
	to      wallet.Address
	client  *http.Client
}

func newProgram(t *testing.T, w *sandbox.World, p *harness.Product) *program {
	t.Helper()
	out, err := p.CLI("key", "create", "--tier", "pro", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		t.Fatal(err)
	}
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	g := &program{T: t, purser: p, secret: made.Key, address: wallet.Address(public), to: wallet.Address(other),
		client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	t.Cleanup(g.client.CloseIdleConnections)
	var challenge struct {
		Data struct{ Message string }
	}
	if status, raw := g.do("POST", "/v1/wallet/connect/challenge", fmt.Sprintf(`{"address":%q}`, g.address), ""); status != 200 || json.Unmarshal(raw, &challenge) != nil {
		t.Fatalf("challenge: %d %s", status, raw)
	}
	signature := wallet.Signature(ed25519.Sign(key, []byte(challenge.Data.Message)))
	if status, raw := g.do("POST", "/v1/wallet/connect", fmt.Sprintf(`{"address":%q,"signature":%q}`, g.address, signature), ""); status != 200 {
		t.Fatalf("connect: %d %s", status, raw)
	}
	for _, address := range []wallet.Address{g.address, g.to} {
		if _, err := w.Solana.Airdrop(context.Background(), address.String(), 10*1_000_000_000); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(harness.Wait); ; <-time.After(20 * time.Millisecond) { // blocks come by the clock
		_, raw := g.do("GET", "/v1/wallet/balance?address="+g.address.String(), "", "")
		if bytes.Contains(raw, []byte(`"amount":"10"`)) {
			return g
		}
		if time.Now().After(deadline) {
			t.Fatalf("the airdrop does not arrive: %s", raw)
		}
	}
}

// do makes one request; status 0 when nothing was heard.
func (g *program) do(method, path, body, idempotencyKey string) (int, []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, g.purser.URL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		g.Error(err)
		return 0, nil
	}
	req.Header.Set("Authorization", "Bearer "+g.secret)
	req.Header.Set("Content-Type", "application/json")
	if idempotencyKey != "" {
		req.Header.Set("Idempotency-Key", idempotencyKey)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil
	}
	return resp.StatusCode, raw
}

// posts asks for one payment under a key.
func (g *program) posts(in asked) heard {
	body := fmt.Sprintf(`{"from":%q,"to":%q,"amount":"0.00%d","token":"SOL"}`, g.address, g.to, 1+in.body)
	status, raw := g.do("POST", "/v1/wallet/send", body, fmt.Sprintf("order-%d", in.key))
	var answer struct {
		Data struct {
			ID string `json:"transaction_id"`
		}
		Error struct{ Code, Details string }
	}
	if status == 0 || json.Unmarshal(raw, &answer) != nil || status >= 500 { // a server error leaves it open
		return heard{}
	}
	if status != http.StatusAccepted && answer.Error.Code != string(wallet.Conflict) && answer.Error.Code != string(wallet.IdempotencyConflict) {
		g.Errorf("%d %s", status, raw)
	}
	return heard{status, answer.Data.ID}
}

// stored are the transactions that purser knows of the program's wallet.
func (g *program) stored() map[string]bool {
	g.Helper()
	all, cursor := map[string]bool{}, ""
	for {
		var page struct {
			Data struct {
				Transactions []struct {
					ID   string `json:"transaction_id"`
					Type string `json:"type"`
				}
				Next string `json:"next_cursor"`
			}
		}
		status, raw := g.do("GET", "/v1/wallet/transactions?address="+g.address.String()+"&source=purser&limit=100&cursor="+cursor, "", "")
		if status != 200 || json.Unmarshal(raw, &page) != nil {
			g.Fatalf("list: %d %s", status, raw)
		}
		for _, one := range page.Data.Transactions {
			if one.Type == "send" { // the watcher may have announced what the faucet gave
				all[one.ID] = true
			}
		}
		if cursor = page.Data.Next; cursor == "" {
			return all
		}
	}
}
