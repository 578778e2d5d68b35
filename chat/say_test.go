package chat

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"github.com/pelletier/go-toml/v2"

	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// keysInSource lists every text key that the package's own sources name.
func keysInSource(t *testing.T, sections []string) map[string]bool {
	t.Helper()
	key := regexp.MustCompile(`^(` + strings.Join(sections, "|") + `)\.[a-z_]+$`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil && key.MatchString(text) {
					used[text] = true
				}
			}
			return true
		})
	}
	return used
}

func TestCatalogueHoldsWhatIsSaidAndNothingElse(t *testing.T) {
	files, err := filepath.Glob("*.en.toml")
	if err != nil || len(files) == 0 {
		t.Fatal("no catalogue", err)
	}
	var sections, keys []string
	for _, name := range files {
		raw, err := locales.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := i18n.ParseMessageFileBytes(raw, name, map[string]i18n.UnmarshalFunc{"toml": toml.Unmarshal})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, text := range file.Messages {
			section, _, _ := strings.Cut(text.ID, ".")
			sections = append(sections, section)
			if slices.Contains(keys, text.ID) {
				t.Errorf("%s says %s, and so does another file", name, text.ID)
			}
			keys = append(keys, text.ID)
			if strings.TrimSpace(text.Other) == "" {
				t.Errorf("%s says nothing", text.ID)
			}
		}
	}
	used := keysInSource(t, sections)
	for _, section := range []string{"scope", "scope_name", "scope_switch", "scope_yours"} { // keys that are built from values
		for _, scope := range wallet.Scopes() {
			used[scopeKey(section, scope)] = true
		}
	}
	for _, section := range []string{"category", "category_button"} {
		for _, category := range wallet.Categories() {
			used[categoryKey(section, category)] = true
		}
	}
	for _, kind := range wallet.SecurityKinds() {
		used[securityKey("security_entry", kind)] = true
	}
	for _, kind := range []wallet.SecurityKind{wallet.LogKeyUsed, wallet.LogLinkOpened, wallet.LogPortalOpened, wallet.LogLimitsSigned, wallet.LogAccessPaused} { // what people are notified of
		used[securityKey("security_notice", kind)] = true
	}
	for _, card := range []Card{StakeCard(), UnstakeCard(), WithdrawCard(), SwapCard(), RevokeCard()} { // so are these
		if card.Kind != wallet.Swap && card.Kind != wallet.Revoke {
			used[stakingTexts(card.Kind)+"proposed"] = true
		}
		for _, key := range slices.Concat(slices.Collect(maps.Values(card.Texts)), slices.Collect(maps.Values(card.Lines))) {
			used[key] = true
		}
	}
	for _, key := range keys {
		if !used[key] {
			t.Errorf("nobody says %s", key)
		}
	}
	for key := range used {
		if !slices.Contains(keys, key) {
			t.Errorf("the catalogue has no %s", key)
		}
	}
	if len(used) < 50 {
		t.Errorf("only %d keys found in the sources: the search is broken", len(used))
	}
}

func TestEveryCodeHasItsWording(t *testing.T) {
	words, err := newCatalogue(locales)
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range wallet.Codes() {
		headline, reason, err := words.refusal(wallet.Refuse(code, "input.unclear", wallet.TextArg("Word", "<b>no</b>")))
		if !slices.Contains([]wallet.Code{wallet.InsufficientFunds, wallet.RateLimitExceeded, wallet.Internal}, code) { // the reason says it all
			headline, reason = "-", headline
		}
		if err != nil || headline == "" || reason != "What does “&lt;b&gt;no&lt;/b&gt;” mean here?" {
			t.Errorf("%s: %q, %q, %v", code, headline, reason, err)
		}
	}
	if len(refusals()) != len(wallet.Codes()) {
		t.Errorf("%d wordings for %d codes", len(refusals()), len(wallet.Codes()))
	}
}

// TestATestNetworkIsNamedInThePersonsLanguage: by a text of its own, which other texts include. Mainnet is not named.
func TestATestNetworkIsNamedInThePersonsLanguage(t *testing.T) {
	words, err := newCatalogue(locales, fstest.MapFS{"test.en.toml": {Data: []byte(`test.on = "Here{{if .Network}} on {{.Network}}{{end}}."`)}})
	if err != nil {
		t.Fatal(err)
	}
	for cluster, want := range map[string]html{wallet.Mainnet: "Here.", wallet.Devnet: "Here on devnet (test money).", wallet.Localnet: "Here on a local network (test money)."} {
		c := &Chat{Options: Options{Cluster: cluster}}
		if got, err := words.text("test.on", vars{"Network": c.network()}); err != nil || got != want {
			t.Errorf("%s: %q, %v", cluster, got, err)
		}
	}
	if said, err := words.text("test.on", vars{"Network": textKey("cluster.none")}); err == nil {
		t.Errorf("a text that does not exist was included: %q", said)
	}
}

// TestEveryStageOfATransactionHasItsCard: each state of each kind's life is some stage of it, and each stage says
// something, with the facts alone that every text may use.
func TestEveryStageOfATransactionHasItsCard(t *testing.T) {
	words, err := newCatalogue(locales)
	if err != nil {
		t.Fatal(err)
	}
	all, err := newCards(standardCards(), storetest.Kinds(), words)
	if err != nil {
		t.Fatal(err)
	}
	s := &replyTx{words: words, tx: knowing{}, Chat: &Chat{Options: Options{Cluster: "mainnet"}, cards: all}}
	for _, kind := range []wallet.Kind{wallet.Send, wallet.Receive, wallet.Request, wallet.Stake, wallet.Unstake, wallet.Withdraw, wallet.Revoke} {
		rules, err := storetest.Kinds().Of(kind)
		if err != nil {
			t.Fatal(err)
		}
		reached := map[Stage]bool{StageLandedLate: true} // which is a message of its own
		states := map[wallet.Status]bool{wallet.Received: true}
		for _, step := range wallet.Lifecycle() {
			states[step.From], states[step.To] = true, true
		}
		for status := range states {
			for _, shape := range []wallet.Transaction{{}, {Indeterminate: true}, {SignID: "s"}, {Signer: wallet.DeveloperWallet}} {
				row := shape
				row.Kind, row.Status, row.Token, row.To, row.From = kind, status, wallet.SOL, wallet.Address{1}, wallet.Address{2}
				stage := stageOf(row, rules.Life)
				if !slices.Contains(stagesOf(rules), stage) {
					continue // another kind's state
				}
				reached[stage] = true
				v, err := s.facts(row)
				if err != nil {
					t.Fatal(err)
				}
				if text, err := words.text(all[kind].Texts[stage], v); err != nil || text == "" {
					t.Errorf("%s at %s: %q, %v", kind, stage, text, err)
				}
			}
		}
		for _, stage := range stagesOf(rules) {
			if !reached[stage] {
				t.Errorf("no %s is ever at %s", kind, stage)
			}
		}
	}
	for _, failure := range failures() {
		if _, err := words.text(failure, nil); err != nil {
			t.Error(err)
		}
	}
}

// knowing is a store.Tx that knows the standard kinds, and nothing else.
type knowing struct{ store.Tx }

func (knowing) Kinds() wallet.Kinds { return storetest.Kinds() }

// Prices: nobody knows one.
func (knowing) Prices([]wallet.Address) (map[wallet.Address]wallet.TokenPrice, error) {
	return nil, nil
}

func standardCards() []Card {
	return []Card{SendCard(), ReceiptCard(), RequestCard(), SwapCard(), StakeCard(), UnstakeCard(), WithdrawCard(), RevokeCard()}
}

// TestAKindWithoutAWholeCardIsRefusedAtStart: nobody meets a transaction that cannot be shown.
func TestAKindWithoutAWholeCardIsRefusedAtStart(t *testing.T) {
	words, err := newCatalogue(locales)
	if err != nil {
		t.Fatal(err)
	}
	change := func(edit func(*Card)) []Card {
		card := SendCard()
		edit(&card)
		return []Card{card, ReceiptCard(), RequestCard()}
	}
	for what, all := range map[string][]Card{
		"a kind without a card":       {ReceiptCard(), RequestCard()},
		"two cards of a kind":         append(standardCards(), SendCard()),
		"an unknown kind":             change(func(c *Card) { c.Kind = "tomorrow" }),
		"nobody that it is with":      change(func(c *Card) { c.With = nil }),
		"a stage without a text":      change(func(c *Card) { delete(c.Texts, StageHeld) }),
		"a text that is not here":     change(func(c *Card) { c.Texts[StageHeld] = "card.nowhere" }),
		"an event without a sentence": change(func(c *Card) { c.Events = map[wallet.EventName]string{"stake.reward": "card.nowhere"} }),
		"a line that is not here":     change(func(c *Card) { c.Lines[StageHeld] = "history.nowhere" }),
	} {
		if _, err := newCards(all, storetest.Kinds(), words); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

func TestMissingGapIsAnErrorAndForeignTextIsEscaped(t *testing.T) {
	words, err := newCatalogue(locales)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := words.text("talk.unknown", nil); err == nil {
		t.Errorf("said %q without its gap", text)
	}
	if text, err := words.text("no.such", nil); err == nil {
		t.Errorf("said %q without a text", text)
	}
	text, err := words.text("talk.unknown", vars{"Command": "<b>&\u202e"})
	if err != nil || !strings.Contains(string(text), "&lt;b&gt;&amp;.") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestExplorerLinks(t *testing.T) {
	sig := wallet.Signature{1}
	for _, c := range []struct{ url, cluster, want string }{
		{"https://x.example/tx/{signature}?cluster={cluster}", "mainnet", "https://x.example/tx/" + sig.String() + "?cluster=mainnet-beta"},
		{"https://x.example/tx/{signature}?cluster={cluster}", "devnet", "https://x.example/tx/" + sig.String() + "?cluster=devnet"},
		{"https://x.example/", "localnet", "https://x.example/tx/" + sig.String()},
	} {
		chat := &Chat{Options: Options{ExplorerURL: c.url, Cluster: c.cluster}}
		if got := chat.explorerLink(sig); got != c.want {
			t.Errorf("%s on %s is %s, want %s", c.url, c.cluster, got, c.want)
		}
	}
}

// TestEveryScopeAndStepIsInWords: none of them may be asked for, or shown, by an empty line.
func TestEveryScopeAndStepIsInWords(t *testing.T) {
	words, err := newCatalogue(locales)
	if err != nil {
		t.Fatal(err)
	}
	s := &replyTx{words: words, Chat: &Chat{}}
	for _, scope := range wallet.Scopes() {
		if _, err := s.scopeLines([]wallet.Scope{scope}); err != nil {
			t.Errorf("%s: %v", scope, err)
		}
	}
	for _, step := range wallet.Verifications() {
		if _, err := words.text(stepNames()[step], nil); err != nil {
			t.Errorf("%s: %v", step, err)
		}
	}
}
