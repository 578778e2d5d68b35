package wallet_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"purser/wallet"
)

// TestTheRulesAreThoseOfTheDocs: docs/security.md lists every rule with its verdicts, in the order of the code.
func TestTheRulesAreThoseOfTheDocs(t *testing.T) {
	raw, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(raw), "## Fraud rules")
	section, _, _ = strings.Cut(section, "\n## ")
	_, table, _ := strings.Cut(section, "| rule | verdicts | when | without a price |")
	var documented, ruled []string
	for _, line := range strings.Split(table, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) == 6 && strings.HasPrefix(cells[1], " `") {
			documented = append(documented, strings.Trim(cells[1], " `")+": "+strings.TrimSpace(cells[2]))
		}
	}
	for _, r := range wallet.FraudRules() {
		var verdicts []string
		for _, v := range r.Verdicts {
			verdicts = append(verdicts, v.String())
		}
		ruled = append(ruled, string(r.Name)+": "+strings.Join(verdicts, ", "))
	}
	if !slices.Equal(documented, ruled) {
		t.Errorf("docs/security.md has\n%s\nand the code\n%s", strings.Join(documented, "\n"), strings.Join(ruled, "\n"))
	}
}

// warned is a transaction with one finding.
func warned(rule wallet.RuleName, v wallet.Verdict) wallet.Transaction {
	return wallet.Transaction{To: wallet.Address{1, 2, 3}, Token: wallet.SOL, Amount: 1_500_000_000,
		Findings: []wallet.Finding{{Rule: rule, Verdict: v}}}
}

func TestWhatIsTypedFitsWhatWasFound(t *testing.T) {
	_, middle := wallet.Address{1, 2, 3}.Middle()
	for name, c := range map[string]struct {
		of     wallet.Transaction
		right  []string
		wrong  []string
		typing wallet.Typing
	}{
		"a note":          {warned(wallet.RuleNewRecipient, wallet.NoteVerdict), []string{"", "anything"}, nil, wallet.TypesNothing},
		"the recipient":   {warned(wallet.RuleDrain, wallet.WarnVerdict), []string{middle, strings.ToUpper(middle)}, []string{"", "1.5", middle[1:]}, wallet.TypesAddress},
		"a delay":         {warned(wallet.RuleLargeFirstPayment, wallet.DelayVerdict), []string{middle}, []string{"", "1.5"}, wallet.TypesAddress},
		"not the address": {warned(wallet.RuleNight, wallet.WarnVerdict), []string{"1.5", "1,5", "1.5SOL", "1.5 sol"}, []string{"", middle, "1.50001", "15", "1.5 USDC", "0.5"}, wallet.TypesAmount},
		"an unknown rule": {warned("of a newer version", wallet.WarnVerdict), []string{"1.5"}, []string{"", middle}, wallet.TypesAmount},
	} {
		if c.of.Typing() != c.typing {
			t.Errorf("%s: %q is typed", name, c.of.Typing())
		}
		for _, text := range c.right {
			if err := c.of.TypedFor(text); err != nil {
				t.Errorf("%s: %q: %v", name, text, err)
			}
		}
		for _, text := range c.wrong {
			if err := c.of.TypedFor(text); wallet.CodeOf(err) != wallet.PolicyViolation {
				t.Errorf("%s: %q: %v", name, text, err)
			}
		}
	}
	both := warned(wallet.RuleNight, wallet.WarnVerdict)
	both.Findings = append(both.Findings, wallet.Finding{Rule: wallet.RuleDrain, Verdict: wallet.WarnVerdict})
	if both.Typing() != wallet.TypesAddress {
		t.Errorf("of two findings, one about the recipient: %q is typed", both.Typing())
	}
}

func TestOnlyWhatIsGraverAsksAgain(t *testing.T) {
	f := func(rule wallet.RuleName, v wallet.Verdict) wallet.Finding {
		return wallet.Finding{Rule: rule, Verdict: v}
	}
	shown := warned(wallet.RuleLargeFirstPayment, wallet.WarnVerdict)
	for name, c := range map[string]struct {
		now   []wallet.Finding
		worse bool
	}{
		"nothing":         {nil, false},
		"the same":        {[]wallet.Finding{f(wallet.RuleLargeFirstPayment, wallet.WarnVerdict)}, false},
		"less":            {[]wallet.Finding{f(wallet.RuleLargeFirstPayment, wallet.NoteVerdict)}, false},
		"graver":          {[]wallet.Finding{f(wallet.RuleLargeFirstPayment, wallet.DelayVerdict)}, true},
		"a new note":      {[]wallet.Finding{f(wallet.RuleAllSOL, wallet.NoteVerdict)}, false},
		"another warning": {[]wallet.Finding{f(wallet.RuleLargeFirstPayment, wallet.WarnVerdict), f(wallet.RuleNight, wallet.WarnVerdict)}, true},
	} {
		if got := shown.Worse(c.now); got != c.worse {
			t.Errorf("%s: worse %v", name, got)
		}
	}
}

func TestLinksAreFound(t *testing.T) {
	for text, is := range map[string]bool{
		"": false, "rent": false, "order 12.50": false, "No.5": false, "Mr.Smith": false, "v1.2/3": false, "thanks. Bye": false, "e.g. this": false, "1/2": false, "3.com": true,
		"https://a.example": true, "see prize.xyz": true, "claim at sol.gift/now": true, "WWW.x": true, "t.me/x": true, "(example.com)": true, "a.b": false, "coffee.": false,
	} {
		if got := wallet.HoldsLink(text); got != is {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestServicesAreRecognised(t *testing.T) {
	for text, is := range map[string]bool{
		"Binance": true, "bіnаnce refund": true, "B1nance": true, "Co1nbase": true, "PHANTOM wallet": true, "Café Rio": false, "Table 4": false, "Anna": false, "": false, "Kiosk": false, "purser": true,
	} {
		if got := wallet.ServiceIn(text) != ""; got != is {
			t.Errorf("%q: %q", text, wallet.ServiceIn(text))
		}
	}
}

func TestDollarsOfACurrency(t *testing.T) {
	for _, c := range []struct {
		perDollar string
		whole     uint64
		want      wallet.USD
		ok        bool
	}{{"1", 1000, 1_000_000_000, true}, {"0.5", 1000, 2_000_000_000, true}, {"150", 1, 6_666, true}, {"", 1, 0, false}, {"0.00001", 1 << 60, 0, false}} {
		r := wallet.Rate{}
		if c.perDollar != "" {
			r.PerDollar = wallet.MustPrice(c.perDollar)
		}
		if got, ok := r.Dollars(c.whole); ok != c.ok || ok && got != c.want {
			t.Errorf("%d at %s: %d, %v", c.whole, c.perDollar, got, ok)
		}
	}
}

// TestAmountsDoNotOverflow: shares and multiples of the highest amounts are what they are.
func TestAmountsDoNotOverflow(t *testing.T) {
	const most = ^uint64(0)
	for name, c := range map[string]struct {
		amount, left uint64
		drains       bool
	}{"all of the highest": {most, 0, true}, "a tenth left": {most / 10 * 9, most / 10, true}, "half": {most / 2, most / 2, false}, "one unit": {1, 0, true}, "89 of 100": {89, 11, false}, "90 of 100": {90, 10, true}} {
		f := wallet.RuleInput{Pays: true, Person: true, Left: c.left, Value: wallet.Worth{Unknown: true}, LocalHour: -1,
			Transaction: wallet.Transaction{Kind: wallet.Send, To: wallet.Address{1}, Token: usdc, Amount: c.amount}}
		drains := slices.ContainsFunc(wallet.Judge(f, wallet.FraudRules()), func(f wallet.Finding) bool { return f.Rule == wallet.RuleDrain })
		if drains != c.drains {
			t.Errorf("%s: drains %v", name, drains)
		}
	}
}

// TestWhatIsNotKnownFindsNothing: a value that is unknown is not large, whatever number stands beside.
func TestWhatIsNotKnownFindsNothing(t *testing.T) {
	f := wallet.RuleInput{Pays: true, Person: true, Channel: wallet.ChannelApp, Large: 1, Left: 1_000, LocalHour: 2, Value: wallet.Worth{USD: 1 << 40, Unknown: true},
		Transaction: wallet.Transaction{Kind: wallet.Send, To: wallet.Address{1}, Token: usdc, Amount: 1}}
	if found := wallet.Judge(f, wallet.FraudRules()); len(found) != 1 || found[0].Rule != wallet.RuleNewRecipient {
		t.Errorf("without a value: %v", found)
	}
	f.Value.Unknown, f.Large = false, 0
	if found := wallet.Judge(f, wallet.FraudRules()); len(found) != 1 || found[0].Rule != wallet.RuleNewRecipient {
		t.Errorf("without a threshold: %v", found)
	}
}

// TestADelegateIsNotedWhereItMatters: in the owner's own accounts, for the token that it is about, once.
func TestADelegateIsNotedWhereItMatters(t *testing.T) {
	own, second, other, thief := wallet.Address{1}, wallet.Address{2}, wallet.Address{3}, wallet.Address{9}
	bonk := wallet.Token{Symbol: "BONK", Mint: wallet.Address{20}, Program: wallet.TokenProgram}
	account := func(of, mint, delegate wallet.Address) wallet.TokenAccount {
		return wallet.TokenAccount{Exists: true, Owner: of, Mint: mint, Delegate: delegate, Delegated: 1}
	}
	swap := wallet.Transaction{Kind: wallet.Swap, From: own, To: own, Token: usdc, Terms: wallet.SwapTerms{ToToken: bonk}.Terms()}
	send := wallet.Transaction{Kind: wallet.Send, From: own, To: second, Token: usdc}
	for name, c := range map[string]struct {
		of       wallet.Transaction
		accounts []wallet.TokenAccount
		want     string // key, token and delegate; "" for nothing
	}{
		"nobody":                    {send, []wallet.TokenAccount{account(own, usdc.Mint, wallet.Address{}), account(second, usdc.Mint, wallet.Address{})}, ""},
		"no account":                {send, nil, ""},
		"an account that is absent": {send, []wallet.TokenAccount{{Owner: own, Mint: usdc.Mint, Delegate: thief}}, ""},
		"the payer's":               {send, []wallet.TokenAccount{account(own, usdc.Mint, thief), account(second, usdc.Mint, thief)}, "rule.foreign_delegate USDC " + thief.String()},
		"an own recipient's":        {send, []wallet.TokenAccount{account(own, usdc.Mint, wallet.Address{}), account(second, usdc.Mint, thief)}, wallet.ForeignDelegateThere + " USDC " + thief.String()},
		"another recipient's":       {send, []wallet.TokenAccount{account(other, usdc.Mint, thief)}, ""},
		"an own wallet":             {send, []wallet.TokenAccount{account(own, usdc.Mint, second)}, ""},
		"the owner":                 {send, []wallet.TokenAccount{account(own, usdc.Mint, own)}, ""},
		"a swap pays":               {swap, []wallet.TokenAccount{account(own, usdc.Mint, thief), account(own, bonk.Mint, wallet.Address{})}, "rule.foreign_delegate USDC " + thief.String()},
		"a swap brings":             {swap, []wallet.TokenAccount{account(own, usdc.Mint, wallet.Address{}), account(own, bonk.Mint, thief)}, "rule.foreign_delegate BONK " + thief.String()},
	} {
		got := ""
		for _, f := range wallet.Judge(wallet.RuleInput{Transaction: c.of, Own: []wallet.Address{own, second}, Accounts: c.accounts, LocalHour: -1}, wallet.FraudRules()) {
			if f.Rule == wallet.RuleForeignDelegate {
				args := map[string]any{}
				for _, a := range f.Reason.Args {
					args[a.Name] = a.Value()
				}
				got += fmt.Sprint(f.Reason.Key, " ", args["Token"], " ", args["Delegate"])
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	// A wallet that nobody owns is its program's: it learns the same.
	if found := wallet.Judge(wallet.RuleInput{Transaction: send, Accounts: []wallet.TokenAccount{account(own, usdc.Mint, thief)}, LocalHour: -1}, wallet.FraudRules()); len(found) != 1 {
		t.Errorf("of a wallet without an owner: %v", found)
	}
}

// TestEveryNamedAddressIsCompared with the operator's: the recipient, the token account in the request, and a validator.
func TestEveryNamedAddressIsCompared(t *testing.T) {
	blocked, own := wallet.Address{9}, wallet.Address{8}
	for name, c := range map[string]struct {
		of      wallet.Transaction
		refused bool
	}{
		"the recipient":     {wallet.Transaction{Kind: wallet.Send, From: own, To: blocked}, true},
		"the token account": {wallet.Transaction{Kind: wallet.Send, From: own, To: wallet.Address{1}, RequestedDestination: blocked}, true},
		"a validator":       {wallet.Transaction{Kind: wallet.Stake, From: own, To: blocked}, true},
		"another":           {wallet.Transaction{Kind: wallet.Send, From: own, To: wallet.Address{1}}, false},
		"a swap to oneself": {wallet.Transaction{Kind: wallet.Stake, From: blocked, To: blocked}, false},
	} {
		err := wallet.Refusal(wallet.Judge(wallet.RuleInput{Transaction: c.of, LocalHour: -1, Blocked: func(a wallet.Address) bool { return a == blocked }}, wallet.FraudRules()))
		if (err != nil) != c.refused || err != nil && wallet.CodeOf(err) != wallet.PolicyViolation {
			t.Errorf("%s: %v", name, err)
		}
	}
}
