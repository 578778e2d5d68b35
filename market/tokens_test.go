package market

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"purser/sandbox/solana"
	"purser/wallet"
)

// TestTheChatAndThePageKnowTheSameTokens reads the page's own list: the two believe nobody, so they
// must have been written alike.
func TestTheChatAndThePageKnowTheSameTokens(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "signer", "page", "tokens.js"))
	if err != nil {
		t.Fatal(err)
	}
	literal := regexp.MustCompile(`(?s)TOKENS = (\{.*?\n\});`).FindSubmatch(raw)
	if literal == nil {
		t.Fatal("tokens.js holds no list")
	}
	type token struct {
		Symbol   string `json:"symbol"`
		Mint     string `json:"mint"`
		Decimals uint8  `json:"decimals"`
		Program  string `json:"program"`
	}
	var page map[string][]token
	if err := json.Unmarshal(literal[1], &page); err != nil {
		t.Fatal(err)
	}
	ours := map[string][]token{}
	for cluster, rows := range lists() {
		for _, row := range rows {
			program := "token"
			if row.extended {
				program = "token-2022"
			}
			ours[cluster] = append(ours[cluster], token{row.symbol, row.mint, row.decimals, program})
		}
	}
	if !reflect.DeepEqual(page, ours) {
		t.Errorf("the page says\n%v\nthe chat\n%v", page, ours)
	}
}

func TestListsAreSound(t *testing.T) {
	for cluster, rows := range lists() {
		tokens, err := Listed(cluster)
		if err != nil {
			t.Fatal(err)
		}
		if len(tokens.bySymbol) != len(rows) || len(tokens.byMint) != len(rows) {
			t.Errorf("%s: a symbol or a mint is there twice", cluster)
		}
		for _, row := range rows {
			token, ok := tokens.BySymbol(row.symbol)
			same, also := tokens.ByMint(token.Mint)
			if !ok || !also || token != same || token.Symbol == wallet.SOL.Symbol {
				t.Errorf("%s: %s: %+v, %+v", cluster, row.symbol, token, same)
			}
		}
	}
	tokens, err := Listed("no such cluster")
	if err != nil || len(tokens.byMint) != 0 {
		t.Errorf("an unknown cluster has tokens: %v, %v", tokens, err)
	}
}

func TestTheSandboxsTokensAreListed(t *testing.T) {
	tokens, err := Listed(wallet.Localnet)
	if err != nil {
		t.Fatal(err)
	}
	for _, symbol := range []string{solana.USDC, solana.FEE} {
		token, ok := tokens.BySymbol(symbol)
		if want := solana.MintAddress("purser", symbol); !ok || token.Mint.String() != want {
			t.Errorf("%s is listed as %s, the sandbox has it at %s", symbol, token.Mint, want)
		}
	}
}
