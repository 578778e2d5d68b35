package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/sandbox/solana"
	"purser/wallet"
)

// quotes asks for a quote of a swap of Alice's wallet; fields come behind the address.
func (r *harness) quotes(secret, fields string, headers ...string) answer {
	r.Helper()
	body := fmt.Sprintf(`{"address":%q%s}`, r.alice.Address(), fields)
	return r.do("POST", "/v1/swap/quote", body, append([]string{"Authorization", "Bearer " + secret, "Content-Type", "application/json"}, headers...)...)
}

// swaps takes a quote.
func (r *harness) swaps(secret, quote string, headers ...string) answer {
	r.Helper()
	return r.do("POST", "/v1/swap", fmt.Sprintf(`{"quote_id":%q}`, quote), append([]string{"Authorization", "Bearer " + secret, "Content-Type", "application/json"}, headers...)...)
}

const solForUSDC = `,"from_token":"SOL","to_token":"USDC","amount":"1"`

// TestASwapByAPI: a quote proposes nothing, and is good for one swap, of the key that asked, within its minute; what it says is what the
// owner confirms and what arrives.
func TestASwapByAPI(t *testing.T) {
	r := newHarnessIn(t, world.Options{Market: true})
	usdc, _ := r.Tokens.BySymbol("USDC")
	a := r.quotes(r.alice.secret, solForUSDC)
	wantEnvelope(t, a)
	if a.status != 200 || a.text("data", "in_amount") != "1" || a.text("data", "from_token", "symbol") != "SOL" || a.text("data", "to_token", "mint") != usdc.Mint.String() ||
		a.field("data", "to_token", "decimals") != 6.0 || a.field("data", "slippage_bps") != 50.0 || a.text("data", "source") != "Jupiter" || a.text("data", "address") != r.alice.Address().String() ||
		a.text("data", "fee") != "0.000005" || a.text("data", "expires_at") != wallet.Timestamp(r.Now().Add(wallet.QuoteLife)) || a.text("data", "rent") != "0.00203928" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if id, _ := r.newest(); id != "" {
		t.Errorf("a quote proposed %s", id)
	}
	quote := a.text("data", "quote_id")
	r.want(r.swaps(r.bob.secret, quote), 409, wallet.QuoteExpired, "")
	other, secret, err := r.Keys.Create(context.Background(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: r.alice.TelegramID})
	r.Must(err)
	r.want(r.swaps(secret, quote), 409, wallet.QuoteExpired, "")
	rotated, err := r.Keys.Check(context.Background(), r.Now(), secret, "")
	if r.Must(err); rotated.ID != other.ID {
		t.Fatal("that was another key")
	}

	swapped := r.swaps(r.alice.secret, quote, "Idempotency-Key", "once")
	r.want(swapped, 202, "", "")
	if again := r.swaps(r.alice.secret, quote, "Idempotency-Key", "once"); again.status != 202 || again.text("data", "transaction_id") != swapped.text("data", "transaction_id") {
		t.Errorf("the lost answer: %d %s", again.status, again.body)
	}
	r.want(r.swaps(r.alice.secret, quote), 409, wallet.QuoteExpired, "")
	before := r.Cluster.TokenBalance(r.alice.Address().String(), usdc.Mint.String())
	done := r.carriesOut(swapped)
	got := r.Cluster.TokenBalance(r.alice.Address().String(), usdc.Mint.String()) - before
	if terms := done.SwapTerms(); usdc.Amount(terms.Minimum).String() != a.text("data", "min_out_amount") || usdc.Amount(terms.Quoted).String() != a.text("data", "out_amount") || got < terms.Minimum || got != terms.Received {
		t.Errorf("%d arrived of %+v; quoted %s", got, terms, a.body)
	}
	record := r.get("/v1/wallet/transactions/"+string(done.ID), r.alice.secret)
	if record.text("data", "type") != "swap" || record.text("data", "status") != "confirmed" {
		t.Errorf("its record: %s", record.body)
	}

	late := r.quotes(r.alice.secret, solForUSDC).text("data", "quote_id")
	r.Pass(wallet.QuoteLife)
	r.want(r.swaps(r.alice.secret, late), 409, wallet.QuoteExpired, "")
	last := r.quotes(r.alice.secret, solForUSDC).text("data", "quote_id")
	r.Pass(wallet.QuoteLife - time.Millisecond)
	r.want(r.swaps(r.alice.secret, last), 202, "", "")
}

// TestAQuoteTellsAnAppNothingOfDelegates: Alice's own key learns who else may spend what is swapped, an app that may propose does not.
// Neither does it from the proposal.
func TestAQuoteTellsAnAppNothingOfDelegates(t *testing.T) {
	r := newHarnessIn(t, world.Options{Market: true})
	r.FundToken(r.alice.Address(), "USDC", 100_000_000)
	r.Approve(r.alice.Person, r.TokenOf("USDC"), r.Stranger(), 1)
	app := r.app()
	r.allows(r.alice, app)
	for name, c := range map[string]struct {
		secret string
		own    bool
	}{"her key": {r.alice.secret, true}, "an app": {app.secret, false}} {
		quote := r.quotes(c.secret, solForUSDC)
		r.want(quote, 200, "", "")
		swapped := r.swaps(c.secret, quote.text("data", "quote_id"))
		r.want(swapped, 202, "", "")
		for what, a := range map[string]answer{"quote": quote, "proposal": swapped} {
			if told := strings.Contains(string(a.body), "foreign_delegate"); told != c.own {
				t.Errorf("%s, %s: told %v: %s", name, what, told, a.body)
			}
		}
	}
}

// newest is Alice's newest transaction; "" if she has none.
func (r *harness) newest() (id, kind string) {
	r.Helper()
	list, _ := r.get("/v1/wallet/transactions", r.alice.secret).field("data", "transactions").([]any)
	if len(list) == 0 {
		return "", ""
	}
	first := list[0].(map[string]any)
	id, _ = first["transaction_id"].(string)
	kind, _ = first["type"].(string)
	return id, kind
}

// TestAProgramSwaps with a wallet whose key it holds: nobody else signs, and no Confirm is asked for.
func TestAProgramSwaps(t *testing.T) {
	r := newHarnessIn(t, world.Options{Market: true})
	_, secret, err := r.Keys.Create(context.Background(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	r.Must(err)
	p := r.program(secret)
	r.want(p.connects(), 200, "", "")
	r.Fund(p.address(), 2*sol)
	quote := p.post("/v1/swap/quote", fmt.Sprintf(`{"address":%q%s}`, p.address(), solForUSDC))
	r.want(quote, 200, "", "")
	swapped := p.post("/v1/swap", fmt.Sprintf(`{"quote_id":%q}`, quote.text("data", "quote_id")))
	r.want(swapped, 202, "", "")
	id := swapped.text("data", "transaction_id")
	signed := p.post("/v1/wallet/transactions/"+id+"/signature", fmt.Sprintf(`{"signature":%q}`, p.sign(p.unsignedMessage(swapped))))
	if signed.status != 200 && signed.status != 202 {
		t.Fatalf("signed: %d %s", signed.status, signed.body)
	}
	if done := r.Settled(wallet.TransactionID(id)); done.Status != wallet.Confirmed || done.SwapTerms().Received < done.SwapTerms().Minimum {
		t.Errorf("it ended as %s %s: %+v", done.Status, done.ErrorCode, done.SwapTerms())
	}
}

// TestSwapRequestsAreReadStrictly: what could mean something else is refused, and nothing is asked for.
func TestSwapRequestsAreReadStrictly(t *testing.T) {
	r := newHarnessIn(t, world.Options{Market: true})
	asked := len(r.Exchange.Quotes())
	for fields, says := range map[string]string{
		``:                                      "from_token is missing",
		`,"from_token":"SOL"`:                   "to_token is missing",
		`,"from_token":"SOL","to_token":"USDC"`: "amount is missing",
		`,"from_token":"SOL","to_token":"SOL","amount":"1"`:                                "different",
		`,"from_token":"SOL","to_token":"` + wallet.WrappedSOL.String() + `","amount":"1"`: "different",
		`,"from_token":7,"to_token":"USDC","amount":"1"`:                                   "from_token",
		`,"from_token":"SOL","to_token":null,"amount":"1"`:                                 "to_token",
		`,"from_token":"SOL","to_token":"USDC","amount":"max"`:                             "amount",
		`,"from_token":"SOL","to_token":"USDC","amount":"0"`:                               "amount",
		`,"from_token":"SOL","to_token":"USDC","amount":"-1"`:                              "amount",
		`,"from_token":"SOL","to_token":"USDC","amount":"0.0000000001"`:                    "amount",
		`,"from_token":"SOL","to_token":"USDC","amount":"1","slippage_bps":1001`:           "slippage_bps",
		`,"from_token":"SOL","to_token":"USDC","amount":"1","slippage_bps":0`:              "slippage_bps",
		`,"from_token":"SOL","to_token":"USDC","amount":"1","slippage_bps":"50"`:           "slippage_bps",
		`,"from_token":"SOL","to_token":"USDC","amount":"1","slippage_bps":0.5`:            "slippage_bps",
		solForUSDC + `,"to":"x"`: "to",
	} {
		r.want(r.quotes(r.alice.secret, fields), 400, wallet.InvalidRequest, says)
	}
	r.want(r.quotes(r.alice.secret, `,"from_token":"SOL","to_token":"FEE","amount":"1"`), 403, wallet.PolicyViolation, "FEE")
	r.want(r.quotes(r.alice.secret, `,"from_token":"SOL","to_token":"BEAN","amount":"1"`), 404, wallet.TokenNotFound, "BEAN") // a program says which mint it means
	r.want(r.quotes(r.alice.secret, `,"from_token":"SOL","to_token":"USDC","amount":"300"`), 422, wallet.InsufficientFunds, "")
	r.want(r.quotes(r.bob.secret, solForUSDC), 404, wallet.WalletNotFound, "")
	for _, id := range []string{"", "x", "swq_", "tx_1", strings.Repeat("q", 300), "swq_\u202e"} {
		a := r.swaps(r.alice.secret, id)
		if a.status != 409 && a.status != 400 {
			t.Errorf("%q: %d %s", id, a.status, a.body)
		}
	}
	if got := len(r.Exchange.Quotes()); got != asked {
		t.Logf("the market was asked %d times", got-asked)
	}
}

// TestTokensAreFound by symbol, name and mint: what the list knows first, and an impostor marked.
func TestTokensAreFound(t *testing.T) {
	r := newHarnessIn(t, world.Options{Market: true})
	usdc, _ := r.Tokens.BySymbol("USDC")
	a := r.get("/v1/tokens?query=usdc", r.alice.secret)
	wantEnvelope(t, a)
	list, _ := a.field("data", "tokens").([]any)
	if a.status != 200 || len(list) != 2 || a.field("data", "complete") != true {
		t.Fatalf("%d %s", a.status, a.body)
	}
	first, second := list[0].(map[string]any), list[1].(map[string]any)
	if first["mint"] != usdc.Mint.String() || first["listed"] != true || first["verified"] != true || first["suspect"] != false || first["holders"] == 0.0 || first["liquidity_usd"] == "" || first["updated_at"] == "" || first["source"] != "jupiter" {
		t.Errorf("first %v", first)
	}
	if second["mint"] != solana.MintAddress("purser", "USDC impostor") || second["listed"] != false || second["verified"] != false || second["suspect"] != true {
		t.Errorf("second %v", second)
	}
	if a := r.get("/v1/tokens?query=SOL", r.alice.secret); a.status != 200 || !strings.HasPrefix(string(a.body), `{"success":true,"data":{"tokens":[{"mint":"","symbol":"SOL","name":"Wrapped SOL","decimals":9,"listed":true`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	r.want(r.get("/v1/tokens", r.alice.secret), 400, wallet.InvalidRequest, "query")
	r.want(r.get("/v1/tokens?query=%00", r.alice.secret), 400, wallet.InvalidRequest, "query")
	r.want(r.get("/v1/tokens?query="+strings.Repeat("x", 45), r.alice.secret), 400, wallet.InvalidRequest, "44")
	r.want(r.get("/v1/tokens?query=x&page=2", r.alice.secret), 400, wallet.InvalidRequest, "page")
	// Without an answer of the source, the list alone is searched, and the answer says so.
	offline := newHarness(t)
	offline.TokenSearch.Source = silent{}
	if a := offline.get("/v1/tokens?query=usdc", offline.alice.secret); a.status != 200 || a.field("data", "complete") != false || len(a.field("data", "tokens").([]any)) != 1 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// silent is a source of tokens that does not answer.
type silent struct{}

func (silent) Search(context.Context, string) ([]wallet.TokenMatch, error) {
	return nil, context.DeadlineExceeded
}

// TestAQuoteTellsAnAppNoLimits: an app of somebody else gets a quote whatever the owner's limits say, since the owner is not notified of quotes. The swap is
// refused. The owner's own key is refused the quote.
func TestAQuoteTellsAnAppNoLimits(t *testing.T) {
	r := newHarnessIn(t, world.Options{Market: true})
	shop := r.app()
	r.allows(r.alice, shop)
	r.limits(r.alice, wallet.Policy{Payment: []wallet.TokenLimit{{Units: sol / 2}}})
	own := r.quotes(r.alice.secret, solForUSDC)
	r.want(own, 403, wallet.PolicyViolation, "0.5 SOL")
	for range 2 * handlers.MaxPrivateRefusals {
		r.want(r.quotes(shop.secret, solForUSDC), 200, "", "")
	}
	quote := r.quotes(shop.secret, solForUSDC).text("data", "quote_id")
	refused := r.swaps(shop.secret, quote)
	r.want(refused, 403, wallet.PolicyViolation, "The spending limits of this wallet don't allow it.")
	if strings.Contains(string(refused.body), "0.5") {
		t.Errorf("the app learns of it: %s", refused.body)
	}
}
