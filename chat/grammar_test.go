package chat

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"purser/wallet"
)

func TestCommandLineIsReadWhole(t *testing.T) {
	for text, want := range map[string]parsedLine{
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

// said is parts in words: what is wrong with one stands behind a "!".
type said struct{ Amount, Token, To, References, Memo, Label, Purpose string }

func (p parts) said() said {
	words := said{Amount: p.Amount.Quantity.String(), Token: p.Token.String(), Memo: p.Memo, Label: p.Label, Purpose: p.Purpose}
	if !p.To.Address.IsZero() {
		words.To = p.To.Address.String()
	}
	if !p.Amount.Wrong.IsZero() {
		words.Amount += "!" + p.Amount.Wrong.Key
	}
	if !p.To.Wrong.IsZero() {
		words.To += "!" + p.To.Wrong.Key
	}
	for _, reference := range p.References {
		words.References += " " + reference.String()
	}
	return words
}

func TestPartsOfATransfer(t *testing.T) {
	const to, other = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	person := book{byKey: map[string]wallet.Contact{}}
	for text, want := range map[string]said{
		"":                         {},
		"1.5":                      {Amount: "1.5"},
		"1.5 SOL":                  {Amount: "1.5", Token: "SOL"},
		"1.5sol " + to:             {Amount: "1.5", Token: "sol", To: to},
		"1.5 SOL " + to:            {Amount: "1.5", Token: "SOL", To: to},
		"1.5 SOL to " + to:         {Amount: "1.5", Token: "SOL", To: to},
		"1.5 " + to:                {Amount: "1.5", To: to},
		to + " 1.5":                {Amount: "1.5", To: to},
		to:                         {To: to},
		"25 " + other + " " + to:   {Amount: "25", Token: other, To: to},
		"25 @bob " + to:            {Amount: "25", Token: "@bob", To: to},
		"max SOL " + to:            {Amount: "max", Token: "SOL", To: to},
		"MAX":                      {Amount: "max"},
		"1e3":                      {Amount: "!amount.exponent"},
		"-1":                       {Amount: "!amount.sign"},
		"١٥":                       {Amount: "!amount.digits"},
		"1.2.3":                    {Amount: "!amount.malformed"},
		"1,5 SOL":                  {Amount: "!amount.separators", Token: "SOL"},
		"1 SOL @bob":               {Amount: "1", Token: "SOL", To: "!input.username"},
		"0x71C7656EC7 2":           {Amount: "2", To: "!input.other_network"},
		"1 bob.sol":                {Amount: "1", To: "!input.domain"},
		"1 SOL <b>":                {Amount: "1", Token: "SOL", To: "!address.length"},
		"1 SOL rentier":            {Amount: "1", Token: "SOL", To: "!input.no_recipient"},
		"1 SOL " + to + "x":        {Amount: "1", Token: "SOL", To: "!address.length"},
		strings.Repeat("1", 32):    {To: "!address.system_program"},
		strings.Repeat("9", 40):    {Amount: strings.Repeat("9", 40)},
		"25 " + to[:40] + " " + to: {Amount: "25", To: to, Token: "!token.unknown"},
		"5 $USDC":                  {Amount: "5", Token: "USDC"},
		"$USDC 5 " + to:            {Amount: "5", Token: "USDC", To: to},
		"$BONK":                    {Token: "BONK"},
		"5 $usd":                   {Amount: "!amount.currency"},
		"5 $ USDC":                 {Amount: "!amount.currency", Token: "USDC"},
		"$ 5 USDC":                 {Amount: "!amount.currency", Token: "USDC"},
		"5 US$ " + to:              {Amount: "!amount.currency", To: to},
		"US$5":                     {Amount: "!amount.currency"},
		"€5 SOL":                   {Amount: "!amount.currency", Token: "SOL"},
		"5 SOL $x-y":               {Amount: "5", Token: "SOL", To: "!address.length"},
		"$5USDC":                   {Amount: "!amount.currency"},
		"to 5 SOL " + to:           {Amount: "5", Token: "SOL", To: to},
		"5 to sol":                 {Amount: "5", To: "!input.no_recipient"},
		"5 SOL to $BONK":           {Amount: "5", Token: "SOL", To: "!address.length"},
	} {
		got, err := readParts(read("/send "+text).args, person)
		words := got.said()
		if wallet.FieldOf(err) == wallet.FieldToken {
			words.Token, err = "!"+wallet.ReasonOf(err).Key, nil
		}
		if err != nil || words != want {
			t.Errorf("%q was read as %+v, %v, want %+v", text, words, err, want)
		}
	}
	// "all" is what people write; a program writes max.
	if got, err := readParts([]string{"all", "SOL"}, book{}); err == nil && got.Amount.given() {
		t.Errorf("of a program all was read as %+v", got.said())
	}
	// A known address is taken as it is, even if it is almost another known one.
	almost := wallet.Address{1, 2, 3, 4}
	almost[31] = 1
	for _, a := range []wallet.Address{{1, 2, 3, 4}, almost} {
		b := book{byKey: map[string]wallet.Contact{}, known: []wallet.Address{{1, 2, 3, 4}, almost}}
		if wrong := b.incomplete(a.String()); !wrong.IsZero() || !wallet.Mistyped(almost, wallet.Address{1, 2, 3, 4}) {
			t.Errorf("a known address: %v", wrong)
		}
	}
	// Both ends of a shortened address count.
	known := book{byKey: map[string]wallet.Contact{}, known: []wallet.Address{almost}}
	whole := almost.String()
	for text, want := range map[string]string{
		whole[:4] + "…" + whole[len(whole)-4:]: "input.cut_known", whole[:4] + "…zzzz": "input.cut_off", "zzzz…" + whole[len(whole)-4:]: "input.cut_off",
		"…" + almost.Tail(): "input.cut_known", whole[:12]: "input.cut_known", whole[10:]: "input.cut_known",
	} {
		if got := known.incomplete(text).Key; got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	// A program is told what the API tells it.
	for text, want := range map[string]said{
		"1,5 SOL @bob": {Amount: "!amount.malformed", Token: "SOL", To: "!address.length"},
		"MAX rent":     {Amount: "max", Token: "rent"},
		"5 to sol":     {Amount: "5", Token: "sol"},
		"5 SOL US$5":   {Amount: "5", Token: "SOL", To: "!address.length"},
		"1e3 SOL rent": {Amount: "!amount.malformed", Token: "SOL", To: "!address.length"},
	} {
		if got, err := readParts(read("/send "+text).args, book{}); err != nil || got.said() != want {
			t.Errorf("of a program %q was read as %+v, %v, want %+v", text, got.said(), err, want)
		}
	}
	for text, want := range map[string]struct {
		said
		about wallet.Field
	}{
		"1 SOL x-y z-a":          {},
		"1 x-y " + to:            {},
		"some thing else":        {},
		"1 2 3":                  {about: wallet.FieldAmount},
		"1 SOL $2 " + to:         {said{Token: "SOL"}, wallet.FieldAmount},
		"5 $ 6":                  {about: wallet.FieldAmount},
		"$ 1 2 SOL":              {about: wallet.FieldAmount},
		"5 to sol " + to:         {},
		"5 $SOL $BONK":           {},
		"1 SOL 2 " + to:          {said{Token: "SOL"}, wallet.FieldAmount},
		to + " 1 SOL 2":          {said{Token: "SOL", To: to}, wallet.FieldAmount},
		"2 SOL " + to + " " + to: {said{Amount: "2", Token: "SOL"}, wallet.FieldTo},
		to + " @bob":             {about: wallet.FieldTo},
	} {
		got, err := readParts(read("/send "+text).args, person)
		if wallet.CodeOf(err) != wallet.InvalidRequest || got.said() != want.said || wallet.FieldOf(err) != want.about {
			t.Errorf("%q was read as %+v, %v (about %q)", text, got, err, wallet.FieldOf(err))
		}
	}
}

// TestPartsAreStoredAsTheyWereRead: what a conversation remembers is what it had read, also of words that were wrong.
func TestPartsAreStoredAsTheyWereRead(t *testing.T) {
	contacts := book{byKey: map[string]wallet.Contact{wallet.ContactKey("rent"): {Name: "rent", Address: wallet.Address{1}}}}
	link := wallet.PayLink{To: wallet.Address{1}, Amount: wallet.MustDecimal("2.50"), References: []wallet.Address{{2}, {3}}, Memo: "order 7", Label: "Café", Purpose: "Two bags"}
	for _, text := range []string{"", "1.50 SOL rent memo for May", "max usdc", "1,500 BONK rnt", "1,5 SOL @bob", link.String()} {
		p, err := readParts(read("/send "+text).args, contacts)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(payment{parts: p})
		var again payment
		if err != nil || json.Unmarshal(raw, &again) != nil || !reflect.DeepEqual(again.parts, p) {
			t.Errorf("%q: %+v is stored as %s, read as %+v", text, p, raw, again.parts)
		}
	}
}

// TestAWordThatMeansNothingCostsLittle however often it stands there, with a full address book.
func TestAWordThatMeansNothingCostsLittle(t *testing.T) {
	b := book{byKey: map[string]wallet.Contact{}}
	for i := range wallet.MaxContacts {
		b.byKey[fmt.Sprint("friend ", i)] = wallet.Contact{Address: wallet.Address{1}}
	}
	args := strings.Fields(strings.Repeat("to ", longestLine/3) + "friend 7")
	if n := int(testing.AllocsPerRun(3, func() {
		if p, err := readParts(args, b); err != nil || !p.To.given() {
			t.Errorf("read as %+v, %v", p, err)
		}
	})); n > len(args) {
		t.Errorf("%d allocations for %d words", n, len(args))
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
		_, err := readParts(l.args, book{})
		if err != nil && !labelled(err) {
			t.Errorf("an error without a code: %v", err)
		}
		if p, err := readParts(l.args, book{byKey: map[string]wallet.Contact{}}); err != nil && !labelled(err) ||
			p.Amount.refusal() != nil && !labelled(p.Amount.refusal()) || p.To.refusal() != nil && !labelled(p.To.refusal()) {
			t.Errorf("an error without a code: %+v, %v", p, err)
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
	for name, to := range map[string]byte{"rent": 1, "rent flat": 2, "bonk": 3, "usdc bob": 4, "$bonk x": 5} { // a token that was listed later
		b.byKey[wallet.ContactKey(name)] = wallet.Contact{Name: name, Address: wallet.Address{to}}
	}
	for text, want := range map[string]said{
		"5 USDC rent": {Amount: "5", Token: "USDC", To: rent}, "5 usdc to RENT": {Amount: "5", Token: "usdc", To: rent}, "rent": {To: rent}, "5 rent": {Amount: "5", Token: "", To: rent},
		"5 rent flat": {Amount: "5", Token: "", To: flat}, "rent flat 5": {Amount: "5", Token: "", To: flat}, `5 "rent  flat"`: {Amount: "5", Token: "", To: flat}, "to rent 5 usdc": {Amount: "5", Token: "usdc", To: rent},
		"5 bonk": {Amount: "5", Token: "bonk", To: ""}, "5 usdc bonk": {Amount: "5", Token: "usdc", To: other}, "5 bonk bonk": {Amount: "5", Token: "bonk", To: other},
		"all to bonk": {Amount: "max", To: other}, "everything bonk": {Amount: "max", Token: "bonk"}, "5 to bonk": {Amount: "5", To: other}, "all bonk to bonk": {Amount: "max", Token: "bonk", To: other},
		"5 to usdc bob": {Amount: "5", To: wallet.Address{4}.String()}, "5 $bonk x": {Amount: "5", Token: "bonk", To: "!input.no_recipient"}, "5 usdc bob": {Amount: "5", Token: "usdc", To: "!input.no_recipient"}, "to to bonk 5 usdc": {Amount: "5", Token: "usdc", To: other},
		"5 $bonk rent": {Amount: "5", Token: "bonk", To: rent}, "$BONK 5 rent": {Amount: "5", Token: "BONK", To: rent}, "5 $bonk to $bonk x": {Amount: "5", Token: "bonk", To: wallet.Address{5}.String()},
		"5 " + rent + " rent": {Amount: "5", Token: rent, To: rent}, "5 usdc rentier": {Amount: "5", Token: "usdc", To: "!input.no_recipient"}, "5 usdc rnt": {Amount: "5", Token: "usdc", To: "!input.contact_meant"},
	} {
		if got, err := readParts(read("/send "+text).args, b); err != nil || got.said() != want {
			t.Errorf("%q: %+v, %v", text, got.said(), err)
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
	link := wallet.PayLink{To: to, Amount: wallet.MustDecimal("2"), References: []wallet.Address{first, second}, Memo: "order 7", Label: "Café", Purpose: "Two bags"}
	bare := wallet.PayLink{To: to, Amount: wallet.MustDecimal("2")}
	refs := " " + first.String() + " " + second.String()
	b := book{byKey: map[string]wallet.Contact{wallet.ContactKey("memo"): {Name: "memo", Address: to}}}
	for text, want := range map[string]said{
		"5 USDC " + to.String() + " memo rent for May": {Amount: "5", Token: "USDC", To: to.String(), Memo: "rent for May"},
		"5 USDC MEMO lunch":                            {Amount: "5", Token: "USDC", Memo: "lunch"},
		"5 USDC memo":                                  {Amount: "5", Token: "USDC", To: to.String()}, // the contact
		"5 USDC memo memo memo":                        {Amount: "5", Token: "USDC", Memo: "memo memo"},
		link.String():                                  {Amount: "2", To: to.String(), References: refs, Memo: "order 7", Label: "Café", Purpose: "Two bags"},
		bare.String() + " memo thanks":                 {Amount: "2", To: to.String(), Memo: "thanks"},
		link.String() + " memo thanks":                 {Amount: "2", To: to.String(), References: refs, Memo: "order 7", Label: "Café", Purpose: "Two bags"}, // what the link asks for
	} {
		got, err := readParts(read("/send "+text).args, b)
		if err != nil || got.said() != want {
			t.Errorf("%q: %+v, %v", text, got.said(), err)
		}
	}
	if got, err := readParts(read("/send 5 USDC memo "+strings.Repeat("m", wallet.MaxMemo+1)).args, b); wallet.CodeOf(err) != wallet.InvalidRequest {
		t.Errorf("a long note: %+v, %v", got, err)
	}
	// Another address than the link's takes what came with the link along, and a note that was typed stays.
	two := exactly(wallet.MustDecimal("2"))
	p := parts{Amount: two, To: address(to), References: []wallet.Address{first, second}, Memo: "order 7", Label: "Café", Purpose: "Two bags"}
	p.drop(wallet.FieldTo)
	if p.said() != (said{Amount: "2"}) {
		t.Errorf("dropped to %+v", p)
	}
	linked := parts{To: address(to), References: []wallet.Address{first}, Label: "Café", Purpose: "Two bags"}
	if p := (parts{Amount: two}).with(linked).said(); p != (said{Amount: "2", To: to.String(), References: " " + first.String(), Label: "Café", Purpose: "Two bags"}) {
		t.Errorf("with a link %+v", p)
	}
	if p := linked.with(parts{To: address(second)}).said(); p != (said{To: second.String()}) {
		t.Errorf("another address has what came with the link: %+v", p)
	}
	if p := (parts{Amount: two, Memo: "typed"}).with(parts{To: address(first)}); p.said() != (said{Amount: "2", To: first.String(), Memo: "typed"}) {
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
		var got []string
		for _, q := range readAmount(text).meantAmounts(token) {
			got = append(got, q.String())
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
