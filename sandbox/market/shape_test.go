package market

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sample is a recorded answer (testdata/README.md).
func sample(t *testing.T, name string) any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// compareShape reports fields of ours that the sample lacks or has in another type, and those that it alone has. Fields are
// named by their path; all entries of a list are one, and so are mints as keys.
func compareShape(path string, ours, theirs any, wrong, missing *[]string) {
	if ours == nil || theirs == nil {
		return // a field that may be null
	}
	switch theirs := theirs.(type) {
	case map[string]any:
		ours, ok := ours.(map[string]any)
		if !ok {
			*wrong = append(*wrong, path+" is no object")
			return
		}
		for key, value := range ours {
			if their, ok := theirs[keyOf(key, theirs)]; ok {
				compareShape(path+"."+keyName(key), value, their, wrong, missing)
			} else {
				*wrong = append(*wrong, path+"."+key+" is ours alone")
			}
		}
		for key := range theirs {
			if _, ok := ours[key]; !ok && keyName(key) == key {
				*missing = append(*missing, path+"."+key)
			}
		}
	case []any:
		ours, ok := ours.([]any)
		if !ok {
			*wrong = append(*wrong, path+" is no list")
			return
		}
		for _, value := range ours {
			// An entry is compared with the sample's entry of its type, if entries have types.
			their := theirs[0]
			if entry, ok := value.(map[string]any); ok {
				for _, other := range theirs {
					if o, ok := other.(map[string]any); ok && o["type"] == entry["type"] {
						their = other
					}
				}
			}
			compareShape(path+"[]", value, their, wrong, missing)
		}
	default:
		if fmt.Sprintf("%T", ours) != fmt.Sprintf("%T", theirs) {
			*wrong = append(*wrong, fmt.Sprintf("%s is %T, theirs %T", path, ours, theirs))
		}
	}
}

// keyOf is the key of the sample that a key of ours is compared with: a mint with any mint.
func keyOf(key string, theirs map[string]any) string {
	if keyName(key) == key {
		return key
	}
	for their := range theirs {
		if keyName(their) != their {
			return their
		}
	}
	return key
}

// keyName is a key, or one name for all mints.
func keyName(key string) string {
	if len(key) >= 32 {
		return "MINT"
	}
	return key
}

func TestAnswersHaveTheProvidersShapes(t *testing.T) {
	w := open(t, Options{Block: func() uint64 { return 348_004_023 }})
	mints := ""
	for _, tok := range w.tokens {
		mints += "," + tok.mint
	}
	for _, c := range []struct {
		path, sample string
		missing      []string // of the sample's fields, that the market does not send
	}{
		{"/price/v3?ids=" + mints[1:], "jupiter-price.json", nil},
		{"/v2/rates?base=USD&quotes=EUR", "frankfurter-rates.json", nil},
		{"/tokens/v2/search?query=" + w.mint("USDC"), "jupiter-search.json", []string{
			"[].twitter", "[].telegram", "[].website", "[].dev", "[].launchpad", "[].partnerConfig", "[].graduatedPool", "[].graduatedAt", "[].mintAuthority",
			"[].freezeAuthority", "[].cexes", "[].audit.isSus", "[].audit.mintAuthorityDisabled", "[].audit.freezeAuthorityDisabled", "[].audit.devBalancePercentage",
			"[].audit.devMigrations", "STATS.holderChange", "STATS.liquidityChange", "STATS.volumeChange", "STATS.buyOrganicVolume", "STATS.sellOrganicVolume",
			"STATS.numTraders", "STATS.numOrganicBuyers", "STATS.numNetBuyers"}},
		{"/api/v2/networks/solana/tokens/" + wrappedSOL + "/pools?include=base_token,quote_token,dex", "geckoterminal-pools.json", nil},
		{"/api/v2/networks/solana/tokens/" + w.mint("BEAN") + "/pools?include=base_token,quote_token,dex", "geckoterminal-pools.json", nil},
		{"/api/v2/networks/solana/pools/" + w.pools[2].address + "/ohlcv/hour?limit=1000", "geckoterminal-ohlcv.json", nil},
	} {
		var ours any
		status, _, text := w.do("GET", c.path, "")
		if err := json.Unmarshal([]byte(text), &ours); err != nil || status != 200 {
			t.Fatalf("%s: %d %v", c.path, status, err)
		}
		var wrong, missing []string
		compareShape("", ours, sample(t, c.sample), &wrong, &missing)
		for _, what := range wrong {
			t.Errorf("%s: %s", c.sample, what)
		}
		stats := regexp.MustCompile(`^\[\]\.stats(5m|1h|6h|24h)`)
		for _, what := range missing {
			if !slices.Contains(c.missing, stats.ReplaceAllString(what, "STATS")) {
				t.Errorf("%s: %s is missing", c.sample, what)
			}
		}
	}
	status, _, text := w.do("GET", "/api/v2/networks/solana/pools/nothing/ohlcv/hour", "")
	want, err := json.Marshal(sample(t, "geckoterminal-404.json"))
	if err != nil || status != 404 || text != string(want) {
		t.Errorf("%d %s", status, text)
	}
}

func TestPricesAreAsked(t *testing.T) {
	block := uint64(77)
	w := open(t, Options{Block: func() uint64 { return block }})
	got := w.prices(SOL, "GHOST", "USDC")
	if len(got) != 2 {
		t.Errorf("a token that nobody trades has a price: %v", got)
	}
	if sol := got[wrappedSOL]; sol.BlockID != "77" || sol.Decimals != "9" || sol.Liquidity == "" || sol.CreatedAt != "2025-10-19T10:30:07.000Z" {
		t.Errorf("%+v", sol)
	}
	if got[w.mint("USDC")].Decimals != "6" {
		t.Errorf("%+v", got)
	}
	fifty := strings.TrimSuffix(strings.Repeat(wrappedSOL+",", 50), ",")
	for path, want := range map[string]int{
		"/price/v3":                                             400,
		"/price/v3?ids=":                                        400,
		"/price/v3?ids=" + fifty:                                200,
		"/price/v3?ids=" + fifty + ",x":                         400,
		"/price/v3?ids=nonsense":                                200,
		"/price/v3?ids=" + wrappedSOL + "%20":                   200,
		"/price/v3?ids=" + strings.Repeat("x", maxQueryBytes+1): 400,
		"/price/v2?ids=" + wrappedSOL:                           404,
	} {
		status, _, text := w.do("GET", path, "")
		if status != want || want == 400 && !strings.Contains(text, `{"error":"`) {
			t.Errorf("%.60s: %d %.200s, want %d", path, status, text, want)
		}
	}
	if _, _, text := w.do("GET", "/price/v3?ids=nonsense", ""); text != "{}" {
		t.Errorf("no prices are %s", text)
	}
	if status, _, _ := w.do("POST", "/price/v3?ids="+wrappedSOL, ""); status != 405 {
		t.Errorf("POST: %d", status)
	}
}

// found is a token of a search, as a client reads it.
type found struct {
	ID, Name, Symbol, TokenProgram string
	Decimals                       uint8
	HolderCount                    json.Number
	IsVerified                     bool
	OrganicScoreLabel              string
	Tags                           []string
	Liquidity, USDPrice, Mcap      *json.Number
	Audit                          struct{ IsSus, MintAuthorityDisabled, FreezeAuthorityDisabled bool }
	FirstPool                      *struct{ ID, CreatedAt string }
	Stats1h, Stats24h              *foundStats
}

type foundStats struct {
	PriceChange           *json.Number
	BuyVolume, SellVolume json.Number
	NumBuys, NumSells     int
}

func (w *world) search(query string) (out []found) {
	w.t.Helper()
	w.get("/tokens/v2/search?query="+query, &out)
	return out
}

func TestSearchTellsTokensOfOneSymbolApart(t *testing.T) {
	w := open(t, Options{})
	ids := func(query string) string {
		var out []string
		for _, f := range w.search(query) {
			for _, tok := range w.tokens {
				if tok.mint == f.ID {
					out = append(out, tok.id)
				}
			}
		}
		return strings.Join(out, " | ")
	}
	for query, want := range map[string]string{
		"usdc": "USDC | USDC impostor",
		"MOON": "MOON | MOON two | DIP",
		"moon": "MOON | MOON two | DIP",
		// Whole symbols come first, then verified tokens, then deep ones.
		"o":       "SOL | USDC | DIP | FEE | MOON | MOON two | USDC impostor | GHOST",
		"to the":  "DIP",
		"nothing": "",
		w.mint("MOON two") + "," + w.mint("FEE") + ",x": "MOON two | FEE",
		w.mint("FEE") + "," + w.mint("FEE"):             "FEE",
		"usdc,moon":                                     "",
	} {
		if got := ids(strings.ReplaceAll(query, " ", "%20")); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	both := w.search("USDC")
	real, impostor := both[0], both[1]
	if !real.IsVerified || real.Audit.IsSus || !slices.Contains(real.Tags, "verified") || real.TokenProgram != tokenProgram || real.OrganicScoreLabel != "high" {
		t.Errorf("USDC: %+v", real)
	}
	if impostor.IsVerified || !impostor.Audit.IsSus || len(impostor.Tags) != 0 || impostor.Name != real.Name || impostor.OrganicScoreLabel != "low" ||
		impostor.Audit.MintAuthorityDisabled || impostor.Audit.FreezeAuthorityDisabled || impostor.HolderCount != "41" {
		t.Errorf("the impostor: %+v", impostor)
	}
	if fee := w.search("FEE")[0]; fee.TokenProgram != token2022Program || fee.Symbol != "FEE" {
		t.Errorf("FEE: %+v", fee)
	}
	if bean := w.search("BEAN")[0]; bean.Decimals != 5 || !bean.Audit.MintAuthorityDisabled || !bean.Audit.FreezeAuthorityDisabled || bean.FirstPool.ID != w.pools[2].address {
		t.Errorf("BEAN: %+v", bean)
	}
	if ghost := w.search("ghost")[0]; ghost.USDPrice != nil || ghost.Liquidity != nil || ghost.Mcap != nil || ghost.FirstPool != nil || ghost.Stats24h != nil {
		t.Errorf("GHOST: %+v", ghost)
	}
}

func TestSearchAndPriceAgree(t *testing.T) {
	w := open(t, Options{})
	w.clock.pass(3 * day)
	for mint, p := range w.prices(pricedIDs...) {
		f := w.search(mint)[0]
		if *f.USDPrice != p.USDPrice || *f.Liquidity != p.Liquidity || *f.Stats24h.PriceChange != *p.Change24h {
			t.Errorf("%s: %+v and %+v", f.Symbol, f, p)
		}
		supply := w.byMint(mint).supply
		value := w.rat(p.USDPrice.String())
		value.Mul(value, w.rat(fmt.Sprint(supply)))
		if value.Sub(value, w.rat(f.Mcap.String())).Sign() < 0 || value.Cmp(w.rat("0.01")) >= 0 {
			t.Errorf("%s is worth %s at %s", f.Symbol, *f.Mcap, p.USDPrice)
		}
	}
}

func TestSearchRefusesWhatItCannotFind(t *testing.T) {
	w := open(t, Options{})
	hundred := strings.TrimSuffix(strings.Repeat("x,", 100), ",")
	for path, want := range map[string]int{
		"/tokens/v2/search": 400, "/tokens/v2/search?query=": 400, "/tokens/v2/search?query=%20": 400,
		"/tokens/v2/search?query=" + hundred: 200, "/tokens/v2/search?query=x," + hundred: 400,
		"/tokens/v2/search?query=" + strings.Repeat("x", maxQueryBytes+1): 400,
	} {
		if status, _, text := w.do("GET", path, ""); status != want {
			t.Errorf("%.60s: %d %.200s", path, status, text)
		}
	}
	if _, _, text := w.do("GET", "/tokens/v2/search?query=nothing", ""); text != "[]" {
		t.Errorf("nothing found is %s", text)
	}
}

func TestNumbersArePrintedAsTheProvidersDo(t *testing.T) {
	for _, c := range []struct {
		units      uint64
		rust, ruby string
	}{
		{150 * oneDollar, "150.0", "150.0"},
		{147_478_901_234_567, "147.478901234567", "147.478901234567"},
		{oneDollar, "1.0", "1.0"},
		{999_900_000_000, "0.9999", "0.9999"},
		{100_000_000, "0.0001", "0.0001"},
		{10_000_000, "1e-5", "1.0e-05"},
		{12_345_678, "1.2345678e-5", "1.2345678e-05"},
		{99_999_999, "9.9999999e-5", "9.9999999e-05"},
		{1_204_000, "1.204e-6", "1.204e-06"},
		{100, "1e-10", "1.0e-10"},
		{1, "1e-12", "1.0e-12"},
		{0, "0.0", "0.0"},
	} {
		if got := string(rust(c.units, 12)); got != c.rust {
			t.Errorf("%d is %s, want %s", c.units, got, c.rust)
		}
		if got := string(ruby(c.units, 12)); got != c.ruby {
			t.Errorf("%d is %s, want %s", c.units, got, c.ruby)
		}
	}
	for _, c := range []struct {
		change         int64
		short, percent string
	}{
		{12_912_345_678, "+1.29", "1.291"}, {-12_999_999_999, "-1.29", "-1.299"}, {0, "0.00", "0"}, {-1, "0.00", "0"},
		{999_999, "0.00", "0"}, {400_000_000_000, "+40.00", "40"}, {5_000_000_000, "+0.50", "0.5"},
	} {
		if got := signed(c.change); got != c.short {
			t.Errorf("%d is %s, want %s", c.change, got, c.short)
		}
		if got := percent(c.change, 3); got != c.percent {
			t.Errorf("%d is %s, want %s", c.change, got, c.percent)
		}
	}
	for _, c := range []struct {
		from, to dollars
		want     int64
	}{{100, 150, 500_000_000_000}, {150, 100, -333_333_333_333}, {3, 3, 0}, {1, maxPrice, 1<<63 - 1}, {maxPrice, 1, -999_999_999_999}} {
		if got := changePercent(c.from, c.to); got != c.want {
			t.Errorf("from %d to %d: %d, want %d", c.from, c.to, got, c.want)
		}
	}
}

// A cheap token's price has an exponent on the wire: clients have to read it.
func TestTheCheapestTokenHasAnExponent(t *testing.T) {
	w := open(t, Options{})
	if p := w.price("BEAN"); !strings.Contains(p, "e-6") {
		t.Errorf("BEAN is at %s", p)
	}
}

func TestPricesAreParsed(t *testing.T) {
	for text, want := range map[string]dollars{
		"151.5": 151_500_000_000_000, "0.000000000001": 1, "1000000": maxPrice, "1000000.000000000000": maxPrice, "07": 7 * oneDollar, "0.50": oneDollar / 2,
		"": 0, "0": 0, "0.0": 0, "-1": 0, "+1": 0, "1e3": 0, "1.": 0, ".5": 0, "1.2.3": 0, "1000000.000000000001": 0, "1000001": 0, "0.0000000000001": 0, "1,5": 0,
		" 1": 0, "NaN": 0, "99999999999999999999999": 0, "1٣": 0,
	} {
		got, err := parsePrice(text)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %d %v, want %d", text, got, err, want)
		}
		if err == nil {
			if again, err := parsePrice(got.String()); err != nil || again != got {
				t.Errorf("%q: %s %v", text, got, err)
			}
		}
	}
}

func TestNumbersThatOverflowAreTheHighest(t *testing.T) {
	for _, c := range []struct{ a, b, c, want uint64 }{
		{1 << 63, 2, 1, 1<<64 - 1}, {1 << 63, 4, 2, 1<<64 - 1}, {1 << 63, 4, 4, 1 << 63}, {7, 3, 2, 10}, {0, 5, 1, 0}, {1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1},
	} {
		if got := mulDiv(c.a, c.b, c.c); got != c.want {
			t.Errorf("%d * %d / %d is %d, want %d", c.a, c.b, c.c, got, c.want)
		}
	}
}
