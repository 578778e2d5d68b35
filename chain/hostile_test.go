package chain

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"purser/wallet"
)

func newServer(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// scripted is a client of a node that answers each method with the body that say gives.
func scripted(t *testing.T, say func(method string) string) *Client {
	t.Helper()
	return clientOf(t, newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Method string `json:"method"`
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		io.WriteString(w, say(request.Method))
	})))
}

func clientOf(t *testing.T, url string) *Client {
	t.Helper()
	return patientClientOf(t, url, 5*time.Second)
}

// patientClientOf is clientOf with another bound of a call.
func patientClientOf(t *testing.T, url string, patience time.Duration) *Client {
	t.Helper()
	c, err := New(Options{RPCURLs: []string{url + secretPath}, Cluster: wallet.Localnet, Timeout: patience, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func result(value string) string { return `{"jsonrpc":"2.0","id":1,"result":` + value + `}` }

// signedTransfer is a transfer that needs no cluster.
func signedTransfer(t *testing.T, transfer wallet.Transaction) sent {
	t.Helper()
	key := testKey(1)
	transfer.From = key.address()
	message, err := buildTransfer(transfer)
	if err != nil {
		t.Fatal(err)
	}
	sig := key.sign(message)
	wire, err := Assemble(message, sig)
	if err != nil {
		t.Fatal(err)
	}
	return sent{wire: wire, message: message, signature: sig, query: queryFor(sig, transfer)}
}

func TestAnswersThatMakeNoSenseAreNetworkErrors(t *testing.T) {
	s := signedTransfer(t, wallet.Transaction{To: testKey(2).address(), Reference: testKey(3).address(), Amount: 5})
	for name, body := range map[string]string{
		"nothing":          ``,
		"not JSON":         `<html>s3cr3t</html>`,
		"torn":             `{"jsonrpc":"2.0","result":{"context":{"slo`,
		"no envelope":      `{}`,
		"null":             `null`,
		"an array":         `[]`,
		"both":             `{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}`,
		"error as text":    `{"jsonrpc":"2.0","id":1,"error":"s3cr3t"}`,
		"error code text":  `{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}}`,
		"result null":      result(`null`),
		"result false":     result(`false`),
		"result text":      result(`"x"`),
		"fraction":         result(`1.5`),
		"exponent":         result(`1e400`),
		"negative":         result(`-1`),
		"too big":          result(`18446744073709551616`),
		"result empty":     result(`{}`),
		"no value":         result(`{"context":{"slot":5}}`),
		"no context":       result(`{"value":[]}`),
		"null context":     result(`{"context":null,"value":null}`),
		"null slot":        result(`{"context":{"slot":null},"value":null}`),
		"text slot":        result(`{"context":{"slot":"7"},"value":null}`),
		"too many values":  result(`{"context":{"slot":5},"value":[null,null,null]}`),
		"wrong value":      result(`{"context":{"slot":5},"value":[7]}`),
		"hollow value":     result(`{"context":{"slot":5},"value":[{}]}`),
		"hollow object":    result(`{"context":{"slot":5},"value":{}}`),
		"deep":             result(strings.Repeat(`[`, 20_000) + strings.Repeat(`]`, 20_000)),
		"deep error":       `{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"","data":` + strings.Repeat(`[`, 9_000) + strings.Repeat(`]`, 9_000) + `}}`,
		"signature list":   result(`[{"signature":"abc"}]`),
		"signature null":   result(`[null]`),
		"preflight hollow": `{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"s3cr3t"}}`,
		"preflight null":   `{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"","data":{"err":null}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			everyCall(t, scripted(t, func(string) string { return body }), s, nobodyKnows)
		})
	}
}

func TestHugeAnswersAreNotRead(t *testing.T) {
	written := make(chan int64, 64)
	c := clientOf(t, newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(w, io.LimitReader(endless{}, 1<<30)) // fails when the client has had enough
		written <- n
	})))
	_, err := c.Blockhash(t.Context())
	nobodyKnows(t, err)
	if !errors.Is(err, errTooLarge) {
		t.Errorf("got %v", err)
	}
	if n := <-written; n > 64<<20 {
		t.Errorf("the client took %d bytes", n)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestNothingToLookForIsNotNotFound(t *testing.T) {
	c := scripted(t, func(method string) string { t.Errorf("%s was called", method); return "" })
	if found, err := c.Find(t.Context(), wallet.TransactionQuery{From: testKey(1).address()}); err == nil || found != nil {
		t.Errorf("got %+v, %v", found, err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := newServer(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request went elsewhere") }))
	c := clientOf(t, newServer(t, http.RedirectHandler(elsewhere, http.StatusTemporaryRedirect)))
	_, err := c.Blockhash(t.Context())
	nobodyKnows(t, err)
}

func TestErrorsOfTheConnectionKeepTheAddress(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String()
	listener.Close()
	plain := newServer(t, http.NotFoundHandler())
	s := signedTransfer(t, wallet.Transaction{To: testKey(2).address(), Reference: testKey(3).address(), Amount: 5})
	for name, test := range map[string]struct {
		url string
		why error
	}{
		"closed port":   {closed, errNoConnect},
		"no such host":  {"http://s3cr3t.invalid", errUnresolved},
		"no TLS there":  {"https" + strings.TrimPrefix(plain, "http"), errBroke},
		"untrusted TLS": {newTLSServer(t), errTLS},
		"no JSON-RPC":   {plain, httpStatus(http.StatusNotFound)},
	} {
		t.Run(name, func(t *testing.T) {
			everyCall(t, patientClientOf(t, test.url, time.Minute), s, func(t *testing.T, err error) { // some resolvers take their time
				nobodyKnows(t, err)
				if !errors.Is(err, test.why) {
					t.Errorf("got %v, want %v", err, test.why)
				}
			})
		})
	}
}

func newTLSServer(t *testing.T) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

func TestCancelledCallsSaySo(t *testing.T) {
	arrived := make(chan struct{})
	c := clientOf(t, newServer(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // or the server would not notice that the client leaves
		close(arrived)
		<-r.Context().Done()
	})))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := c.Blockhash(ctx)
	nobodyKnows(t, err)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestSettingsAreCheckedWithoutRepeatingThem(t *testing.T) {
	good := "https://rpc.example" + secretPath
	for name, o := range map[string]Options{
		"none":          {},
		"no scheme":     {RPCURLs: []string{"rpc.example" + secretPath}},
		"wrong scheme":  {RPCURLs: []string{"ftp://rpc.example" + secretPath}},
		"no host":       {RPCURLs: []string{"https://" + secretPath}},
		"not a URL":     {RPCURLs: []string{"https://s3cr3t\x7f"}},
		"second wrong":  {RPCURLs: []string{good, "ws://rpc.example" + secretPath}},
		"wrong ws":      {RPCURLs: []string{good}, WSURL: good},
		"wrong cluster": {RPCURLs: []string{good}, Cluster: "mainnet-beta"},
	} {
		o.Now = time.Now
		c, err := New(o)
		if err == nil || c != nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		keepsSecret(t, err)
	}
	if _, err := New(Options{RPCURLs: []string{good}, WSURL: "wss://rpc.example", Cluster: wallet.Mainnet, Now: time.Now}); err != nil {
		t.Error(err)
	}
}

// history is a scripted node that knows one signature list and one transaction.
type history struct {
	status   string // entry of getSignatureStatuses
	list     string // result of getSignaturesForAddress
	wire     []byte // of getTransaction; nil for null
	encoding string
}

func (h history) client(t *testing.T) *Client {
	return scripted(t, func(method string) string {
		switch method {
		case "getSignatureStatuses":
			return result(`{"context":{"slot":90},"value":[` + h.status + `]}`)
		case "getSignaturesForAddress":
			return result(h.list)
		case "getTransaction":
			if h.wire == nil {
				return result(`null`)
			}
			return result(fmt.Sprintf(`{"slot":80,"transaction":[%q,%q],"meta":{"fee":5000,"err":null}}`,
				base64.StdEncoding.EncodeToString(h.wire), h.encoding))
		case "getBlock":
			return result(`{"blockHeight":70}`)
		}
		t.Errorf("unexpected call of %s", method)
		return ""
	})
}

const statusConfirmed = `{"slot":80,"confirmations":3,"err":null,"confirmationStatus":"confirmed"}`

func TestNodeCannotInventOurTransaction(t *testing.T) {
	transfer := wallet.Transaction{To: testKey(2).address(), Reference: testKey(3).address(), Amount: 5}
	genuine := signedTransfer(t, transfer)
	bySearch := genuine.query
	bySearch.Signature = wallet.Signature{}
	listed := func(sig wallet.Signature) string { return fmt.Sprintf(`[{"signature":%q}]`, sig) }

	control := history{status: statusConfirmed, list: listed(genuine.signature), wire: genuine.wire, encoding: "base64"}
	found, err := control.client(t).Find(t.Context(), bySearch)
	want := wallet.Landing{Signature: genuine.signature, Slot: 80, BlockHeight: 70, Fee: 5000, Confirmations: 3}
	if err != nil || found == nil || *found != want {
		t.Fatalf("control: %+v, %v", found, err)
	}

	forged := control // the message that we seek, with a signature that Alice never made
	forgery := testKey(7).sign(genuine.message)
	forged.wire, forged.list = append([]byte{1}, append(forgery[:], genuine.message...)...), listed(forgery)
	if found, err := forged.client(t).Find(t.Context(), bySearch); found != nil {
		t.Errorf("a forged signature counted: %+v", found)
	} else {
		nobodyKnows(t, err) // no chain holds it: this node makes things up
	}

	for name, h := range map[string]history{
		"another transaction": {status: statusConfirmed, list: listed(forgery), wire: genuine.wire, encoding: "base64"},
		"none at all":         {status: statusConfirmed, list: listed(genuine.signature)},
		"torn bytes":          {status: statusConfirmed, list: listed(genuine.signature), wire: genuine.wire[:90], encoding: "base64"},
		"another encoding":    {status: statusConfirmed, list: listed(genuine.signature), wire: genuine.wire, encoding: "base58"},
		"an unknown level":    {status: `{"slot":80,"confirmationStatus":"rooted"}`, list: listed(genuine.signature), wire: genuine.wire, encoding: "base64"},
		"no slot":             {status: `{"confirmationStatus":"confirmed"}`, list: listed(genuine.signature), wire: genuine.wire, encoding: "base64"},
	} {
		found, err := h.client(t).Find(t.Context(), bySearch)
		if found != nil {
			t.Errorf("%s: found %+v", name, found)
		}
		nobodyKnows(t, err)
	}
}

func TestLandingAtALevelThatIsNotEnough(t *testing.T) {
	s := signedTransfer(t, wallet.Transaction{To: testKey(2).address(), Amount: 5})
	for status, want := range map[string]*wallet.Landing{
		`null`: nil,
		`{"slot":80,"confirmations":0,"err":null,"confirmationStatus":"processed"}`: nil,
		`{"slot":80,"confirmations":99,"err":null,"confirmationStatus":"confirmed"}`: {
			Signature: s.signature, Slot: 80, BlockHeight: 70, Fee: 5000, Confirmations: 31},
		`{"slot":80,"confirmations":null,"err":{"InstructionError":[0,{"Custom":1}]},"confirmationStatus":"finalized"}`: {
			Signature: s.signature, Slot: 80, BlockHeight: 70, Fee: 5000, Confirmations: 32, Finalized: true, Failure: "InstructionError 0: Custom 1"},
	} {
		c := history{status: status, wire: s.wire, encoding: "base64"}.client(t)
		for name, look := range map[string]func() (*wallet.Landing, error){
			"Find": func() (*wallet.Landing, error) { return c.Find(t.Context(), s.query) },
			"Statuses and Details": func() (*wallet.Landing, error) {
				all, err := c.Statuses(t.Context(), []wallet.Signature{s.signature})
				if all[0] != nil {
					c.Details(t.Context(), all[0])
				}
				return all[0], err
			},
		} {
			got, err := look()
			if err != nil || (got == nil) != (want == nil) || got != nil && *got != *want {
				t.Errorf("%s of %s: got %+v, %v, want %+v", name, status, got, err, want)
			}
		}
	}
}

func TestLongHistoriesAreReadToTheirEnd(t *testing.T) {
	s := signedTransfer(t, wallet.Transaction{To: testKey(2).address(), Reference: testKey(3).address(), Amount: 5})
	s.query.Signature = wallet.Signature{}
	// Strangers have mentioned the reference so often that ours is on the third page.
	names := make([]string, 2_500)
	for i := range names {
		names[i] = wallet.Signature{0: 1, 1: byte(i >> 8), 2: byte(i), 63: 1}.String()
	}
	names[len(names)-1] = s.signature.String()
	serve := func(names []string) *Client {
		return clientOf(t, newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var request struct {
				Method string            `json:"method"`
				Params []json.RawMessage `json:"params"`
			}
			if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
				t.Error(err)
			}
			switch request.Method {
			case "getSignaturesForAddress":
				var asked struct {
					Limit  int    `json:"limit"`
					Before string `json:"before"`
				}
				if err := json.Unmarshal(request.Params[1], &asked); err != nil {
					t.Error(err)
				}
				rest := names
				for i, name := range names {
					if name == asked.Before {
						rest = names[i+1:]
					}
				}
				page := []map[string]string{}
				for _, name := range rest[:min(asked.Limit, len(rest))] {
					page = append(page, map[string]string{"signature": name})
				}
				raw, _ := json.Marshal(page) // of strings: cannot fail
				io.WriteString(w, result(string(raw)))
			case "getTransaction":
				io.WriteString(w, result(fmt.Sprintf(`{"slot":80,"transaction":[%q,"base64"],"meta":{"fee":5000}}`,
					base64.StdEncoding.EncodeToString(s.wire))))
			case "getSignatureStatuses":
				io.WriteString(w, result(`{"context":{"slot":90},"value":[`+statusConfirmed+`]}`))
			case "getBlock":
				io.WriteString(w, result(`{"blockHeight":70}`))
			}
		})))
	}
	if found, err := serve(names).Find(t.Context(), s.query); err != nil || found == nil || found.Signature != s.signature {
		t.Fatalf("got %+v, %v", found, err)
	}
	// Beyond the bound the answer is "cannot tell", never "not found".
	endless := make([]string, maxMentions)
	for i := range endless {
		endless[i] = wallet.Signature{0: 2, 1: byte(i >> 8), 2: byte(i), 63: 1}.String()
	}
	found, err := serve(endless).Find(t.Context(), s.query)
	if found != nil || !errors.Is(err, errTooMany) {
		t.Fatalf("got %+v, %v", found, err)
	}
	nobodyKnows(t, err)
}
