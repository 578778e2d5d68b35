package chat

import (
	"slices"
	"strings"
	"testing"

	"purser/wallet"
)

func TestCommandLineIsReadWhole(t *testing.T) {
	for text, want := range map[string]line{
		"":                              {},
		"/":                             {args: nil},
		"/help":                         {command: "help"},
		"  /HELP\n":                     {command: "help"},
		"/send@Purser_Bot 1.5":          {command: "send", bot: "Purser_Bot", args: []string{"1.5"}},
		"/send\n1.5\r\nSOL":             {command: "send", args: []string{"1.5", "SOL"}},
		"/send\u00a01.5\u2003SOL":       {command: "send", args: []string{"1.5", "SOL"}},
		"/send \"1.5\" 'SOL' “abc” «d»": {command: "send", args: []string{"1.5", "SOL", "abc", "d"}},
		"/send \"1.5":                   {command: "send", args: []string{"1.5"}},
		"/send it's":                    {command: "send", args: []string{"it's"}},
		"/send \u202e1.5\u200b":         {command: "send", args: []string{"1.5"}},
		"/send 1\x005":                  {command: "send", args: []string{"1", "5"}},
		"send 1":                        {args: []string{"send", "1"}},
		"\fconfirm":                     {args: []string{"confirm"}},
		"/a\xffb":                       {command: "a\uFFFDb"},
	} {
		got := read(text)
		if got.command != want.command || got.bot != want.bot || !slices.Equal(got.args, want.args) {
			t.Errorf("%q was read as %+v, want %+v", text, got, want)
		}
	}
}

func TestPartsOfATransfer(t *testing.T) {
	const to = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"
	for text, want := range map[string]parts{
		"":                      {},
		"1.5":                   {Amount: "1.5"},
		"1.5 SOL":               {Amount: "1.5", Token: "SOL"},
		"1.5sol " + to:          {Amount: "1.5", Token: "sol", To: to},
		"1.5 SOL " + to:         {Amount: "1.5", Token: "SOL", To: to},
		"1.5 SOL to " + to:      {Amount: "1.5", Token: "SOL", To: to},
		"1.5 " + to:             {Amount: "1.5", To: to},
		to + " 1.5":             {Amount: "1.5", To: to},
		to:                      {To: to},
		"max SOL " + to:         {Amount: "max", Token: "SOL", To: to},
		"MAX":                   {Amount: "MAX"},
		"1e3":                   {Amount: "1e3"},
		"-1":                    {Amount: "-1"},
		"١٥":                    {Amount: "١٥"},
		"1,5 SOL":               {Amount: "1,5", Token: "SOL"},
		"1 SOL @bob":            {Amount: "1", Token: "SOL", To: "@bob"},
		"0x71C7656EC7 2":        {Amount: "2", To: "0x71C7656EC7"},
		"1 bob.sol":             {Amount: "1", To: "bob.sol"},
		"1 SOL <b>":             {Amount: "1", Token: "SOL", To: "<b>"},
		strings.Repeat("1", 32): {To: strings.Repeat("1", 32)},
		strings.Repeat("9", 40): {Amount: strings.Repeat("9", 40)},
	} {
		if got, err := readParts(read("/send "+text).args, book{}); err != nil || got != want {
			t.Errorf("%q was read as %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]struct {
		parts
		about wallet.Field
	}{
		"1 SOL x-y z-a":          {},
		"1 x-y " + to:            {},
		"some thing else":        {},
		"1 2 3":                  {about: wallet.FieldAmount},
		"1 SOL 2 " + to:          {parts{Token: "SOL"}, wallet.FieldAmount},
		"2 SOL " + to + " " + to: {parts{Amount: "2", Token: "SOL"}, wallet.FieldTo},
		to + " @bob":             {about: wallet.FieldTo},
	} {
		got, err := readParts(read("/send "+text).args, book{})
		if wallet.CodeOf(err) != wallet.InvalidRequest || got != want.parts || wallet.FieldOf(err) != want.about {
			t.Errorf("%q was read as %+v, %v (about %q)", text, got, err, wallet.FieldOf(err))
		}
	}
}

func TestNearCommands(t *testing.T) {
	known := []string{"start", "wallet", "send", "cancel", "help", "privacy"}
	for word, want := range map[string]string{
		"sned": "send", "walet": "wallet", "hepl": "help", "strat": "start", "cancle": "cancel",
		"send": "", "x": "", "frobnicate": "", "": "", strings.Repeat("send", 1000): "",
	} {
		if got := strings.Join(near(word, known), " "); got != want {
			t.Errorf("near %.20q is %q, want %q", word, got, want)
		}
	}
}

func TestEchoIsShortAndHarmless(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("x", 10_000), strings.Repeat("\U0001F600", 10_000), "a\u202eb\u2066c\x00d\x1b[31m\u2028e",
		"<script>alert(1)</script>&amp;", "\xff\xfe", strings.Repeat("\n", 5000) + "x",
	} {
		got := echo(text)
		if n := len([]rune(got)); n > longestEcho {
			t.Errorf("echo of %.20q has %d characters", text, n)
		}
		if strings.ContainsAny(got, "\x00\x1b\u202e\u2066\u2028\n") {
			t.Errorf("echo %q", got)
		}
		if safe := escape(got); strings.ContainsAny(safe, "<>") {
			t.Errorf("escaped %q", safe)
		}
	}
}

func FuzzCommand(f *testing.F) {
	for _, seed := range []string{"/send 1.5 SOL 9xQe", "/help@bot\n", "\fconfirm", "/send \"", "/\u202e", "/ “x", "\xff/"} {
		f.Add(seed)
	}
	s := NewSecrets()
	f.Fuzz(func(t *testing.T, text string) {
		l := read(text)
		if strings.ToLower(l.command) != l.command {
			t.Errorf("command %q is not in lower case", l.command)
		}
		for _, word := range l.args {
			if word == "" || strings.ContainsAny(word, " \t\n\x00") && !strings.ContainsAny(text, "\"'`“„‘‚«") {
				t.Errorf("word %q", word)
			}
		}
		p, err := readParts(l.args, book{})
		if err != nil && !labelled(err) {
			t.Errorf("an error without a code: %v", err)
		}
		if err := checkAmount(p.Amount, wallet.SOL); p.Amount != "" && err != nil && !labelled(err) {
			t.Errorf("an error without a code: %v", err)
		}
		s.In(text)
		near(l.command, []string{"send", "wallet"})
		if again := echo(echo(text)); again != echo(text) {
			t.Errorf("echo of %q changes when it is echoed: %q", echo(text), again)
		}
		if strings.ContainsAny(escape(text), "<>") {
			t.Errorf("escape leaves markup in %q", text)
		}
	})
}

func TestContactsAreReadAsAddresses(t *testing.T) {
	rent, flat := wallet.Address{1}.String(), wallet.Address{2}.String()
	other := wallet.Address{3}.String()
	b := book{byKey: map[string]wallet.Contact{}, listed: func(s string) bool { return strings.EqualFold(s, "usdc") || strings.EqualFold(s, "bonk") }}
	for name, to := range map[string]byte{"rent": 1, "rent flat": 2, "bonk": 3} { // a token that was listed later
		b.byKey[wallet.ContactKey(name)] = wallet.Contact{Name: name, Address: wallet.Address{to}}
	}
	for text, want := range map[string]parts{
		"5 USDC rent": {Amount: "5", Token: "USDC", To: rent}, "5 usdc to RENT": {Amount: "5", Token: "usdc", To: rent}, "rent": {To: rent}, "5 rent": {Amount: "5", Token: "", To: rent},
		"5 rent flat": {Amount: "5", Token: "", To: flat}, "rent flat 5": {Amount: "5", Token: "", To: flat}, `5 "rent  flat"`: {Amount: "5", Token: "", To: flat}, "to rent 5 usdc": {Amount: "5", Token: "usdc", To: rent},
		"5 bonk": {Amount: "5", Token: "bonk", To: ""}, "5 usdc bonk": {Amount: "5", Token: "usdc", To: other}, "5 bonk bonk": {Amount: "5", Token: "bonk", To: other},
		"5 " + rent + " rent": {Amount: "5", Token: rent, To: rent}, "5 usdc rentier": {Amount: "5", Token: "usdc", To: "rentier"},
	} {
		if got, err := readParts(read("/send "+text).args, b); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"rent rent flat", "5 usdc rent " + flat, "rent " + flat} {
		if got, err := readParts(read("/send "+text).args, b); wallet.FieldOf(err) != wallet.FieldTo {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestANoteIsAllThatFollowsTheWordMemo(t *testing.T) {
	to, first, second := wallet.Address{1}, wallet.Address{2}, wallet.Address{3}
	link := wallet.PayLink{To: to, Amount: "2", References: []wallet.Address{first, second}, Memo: "order 7", Label: "Café"}
	bare := wallet.PayLink{To: to, Amount: "2"}
	refs := " " + first.String() + " " + second.String()
	b := book{byKey: map[string]wallet.Contact{wallet.ContactKey("memo"): {Name: "memo", Address: to}}}
	for text, want := range map[string]parts{
		"5 USDC " + to.String() + " memo rent for May": {Amount: "5", Token: "USDC", To: to.String(), Memo: "rent for May"},
		"5 USDC MEMO lunch":                            {Amount: "5", Token: "USDC", Memo: "lunch"},
		"5 USDC memo":                                  {Amount: "5", Token: "USDC", To: to.String()}, // the contact
		"5 USDC memo memo memo":                        {Amount: "5", Token: "USDC", Memo: "memo memo"},
		link.String():                                  {Amount: "2", To: to.String(), Asked: refs, Memo: "order 7", Label: "Café"},
		bare.String() + " memo thanks":                 {Amount: "2", To: to.String(), Memo: "thanks"},
		link.String() + " memo thanks":                 {Amount: "2", To: to.String(), Asked: refs, Memo: "order 7", Label: "Café"}, // what the link asks for
	} {
		got, err := readParts(read("/send "+text).args, b)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if want.Asked != "" && !slices.Equal(got.references(), []wallet.Address{first, second}) {
			t.Errorf("references: %v", got.references())
		}
	}
	if got, err := readParts(read("/send 5 USDC memo "+strings.Repeat("m", wallet.MaxMemo+1)).args, b); wallet.CodeOf(err) != wallet.InvalidRequest {
		t.Errorf("a long note: %+v, %v", got, err)
	}
	// Another address than the link's takes what came with the link along, and a note that was typed stays.
	p := parts{Amount: "2", To: to.String(), Asked: refs, Memo: "order 7", Label: "Café"}
	p.drop(wallet.FieldTo)
	if p != (parts{Amount: "2"}) {
		t.Errorf("dropped to %+v", p)
	}
	if p := (parts{Amount: "2", Memo: "typed"}).with(parts{To: first.String()}); p != (parts{Amount: "2", To: first.String(), Memo: "typed"}) {
		t.Errorf("with an address %+v", p)
	}
}

// TestAnAmountWithCommasOffersWhatItMayMean, and never decides.
func TestAnAmountWithCommasOffersWhatItMayMean(t *testing.T) {
	token := wallet.Token{Symbol: "USDC", Decimals: 6}
	for text, want := range map[string]string{
		"1,5": "1.5", "0,25": "0.25", "1,500": "1.5 1500", "12,345.67": "12345.67", "1,234,567": "1234567", "1,234,567.8": "1234567.8",
		"0,500": "0.5", "1.5": "", "1,5,0": "", "1,2.5": "", ",5": "0.5", "1,": "", "1,5x": "", "-1,5": "", "1,1234567": "", "1,,5": "",
		"1,23": "1.23", "1234,567": "1234.567", "99999999999999,999": "",
	} {
		if got := strings.Join(meantAmounts(text, token), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
