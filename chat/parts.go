package chat

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"purser/wallet"
)

// parts is what a person has said of a transfer so far, read once.
type parts struct {
	Amount     saidAmount       `json:"amount,omitzero"`
	Token      wallet.TokenRef  `json:"token,omitzero"`
	To         saidRecipient    `json:"to,omitzero"`
	References []wallet.Address `json:"references,omitempty"` // of the payment link that To came with
	Memo       string           `json:"memo,omitempty"`       // public note, typed or of the link
	Label      string           `json:"label,omitempty"`      // what the link says that it is for
}

// saidAmount is what was said in the place of an amount: a quantity, or words that are none. Those are kept while
// another part is asked for, as what they may mean depends on the token.
type saidAmount struct {
	Quantity wallet.Quantity  `json:"quantity,omitzero"`
	Wrong    wallet.Reason    `json:"wrong,omitzero"`  // why the words are no quantity
	Meant    []wallet.Decimal `json:"meant,omitempty"` // what they may mean all the same
}

// given tells whether anything was said in the place of an amount.
func (a saidAmount) given() bool { return !a.Quantity.IsZero() || !a.Wrong.IsZero() }

// refusal is why no amount can be made of what was said; nil where one may.
func (a saidAmount) refusal() error {
	if a.Wrong.IsZero() {
		return nil
	}
	return wallet.About(wallet.FieldAmount, wallet.RefuseFor(wallet.InvalidRequest, a.Wrong))
}

// exactly is an amount that was said in figures.
func exactly(d wallet.Decimal) saidAmount { return saidAmount{Quantity: wallet.Quantity{Exact: d}} }

// saidRecipient is what was said in the place of a recipient: the address that it is, or is a contact's or a picked
// person's, or words that are none.
type saidRecipient struct {
	Address wallet.Address `json:"address,omitzero"`
	Wrong   wallet.Reason  `json:"wrong,omitzero"` // why the words name nobody
}

// given tells whether anything was said in the place of a recipient.
func (r saidRecipient) given() bool { return !r.Address.IsZero() || !r.Wrong.IsZero() }

// refusal is why nobody can be paid by what was said; nil where somebody may.
func (r saidRecipient) refusal() error {
	if r.Wrong.IsZero() {
		return nil
	}
	return wallet.About(wallet.FieldTo, wallet.RefuseFor(wallet.InvalidRequest, r.Wrong))
}

// address is a recipient by their address. That of the System program is nobody's.
func address(a wallet.Address) saidRecipient {
	if a.IsZero() {
		return saidRecipient{Wrong: wallet.Because("address.system_program")}
	}
	return saidRecipient{Address: a}
}

// memoWord begins a public note: all words after it are the note.
const memoWord = "memo"

// cutMemo takes the note off a line of words.
func cutMemo(args []string) (rest []string, memo string) {
	for i, word := range args {
		if i > 0 && i < len(args)-1 && strings.EqualFold(word, memoWord) {
			return args[:i], strings.Join(args[i+1:], " ")
		}
	}
	return args, ""
}

// readParts understands "[amount] [token] [address]", any of them missing; a token is a symbol, or a
// mint before the address, and an address may be a contact's name. What it does not understand is
// INVALID_REQUEST; where that leaves one part to be asked for again (wallet.FieldOf), the other parts
// come along. An amount and a recipient that are ill-written are parts as well, which say what is wrong with them.
func readParts(args []string, b book) (parts, error) {
	args, memo := cutMemo(args)
	if err := wallet.CheckMemo(memo); err != nil {
		return parts{}, err
	}
	if len(args) == 1 && wallet.IsPayLink(args[0]) {
		return payParts(args[0], memo)
	}
	r := reading{book: b, parts: parts{Memo: memo}}
	for len(args) > 0 {
		n, err := r.take(args)
		if err != nil {
			return r.parts, err
		}
		args = args[n:]
	}
	switch {
	case r.odd != "" && r.To.given():
		return r.strange(r.odd)
	case r.odd != "":
		r.To = b.recipient(r.odd) // judged as an address, it is told what is wrong
	}
	return r.parts, nil
}

// reading is how far the words of a transfer have been understood.
type reading struct {
	book
	parts
	to  string // the word that To was read of
	odd string // a word that stands where an address could be
}

// take reads the next words, and says how many they were. Where it refuses them, the parts are those that still count.
func (r *reading) take(args []string) (int, error) {
	word := args[0]
	// A token, and "to", are what their words mean first, whatever a contact's name begins with.
	first := r.Token.IsZero() && r.means(word) || strings.EqualFold(word, "to")
	if contact, n := r.at(args); n > 0 && !first {
		return n, r.takeRecipient(contact.Address.String(), address(contact.Address))
	}
	if addressLike(word) {
		return 1, r.takeRecipient(word, r.recipient(word))
	}
	switch {
	case strings.EqualFold(word, "to") && !r.To.given():
	case !r.Amount.given() && r.Token.IsZero() && amountLike(word):
		return 1, r.takeAmount(word)
	case r.Token.IsZero() && symbolLike(word):
		return 1, r.takeToken(word)
	case r.Amount.given() && figures(word):
		r.parts = parts{Token: r.Token, To: r.To}
		return 1, wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InvalidRequest, "input.two_amounts"))
	case r.Amount.given() && r.odd == "":
		r.odd = word
	case !r.Token.IsZero() && !r.means(r.Token.String()) && r.means(word):
		_, err := r.strange(r.Token.String())
		return 1, err
	default:
		_, err := r.strange(word)
		return 1, err
	}
	return 1, nil
}

// takeRecipient takes a word that stands for a recipient. Of two addresses after an amount the first is a token's mint:
// "25 <mint> <address>".
func (r *reading) takeRecipient(word string, to saidRecipient) error {
	switch first := r.to; {
	case !r.To.given():
		r.to, r.To = word, to
		return nil
	case r.Amount.given() && r.Token.IsZero():
		r.to, r.To = word, to
		return r.takeToken(first)
	}
	r.parts = parts{Amount: r.Amount, Token: r.Token}
	return wallet.About(wallet.FieldTo, wallet.Refuse(wallet.InvalidRequest, "input.two_addresses"))
}

// takeAmount takes a word that begins like an amount: figures, and a symbol may follow them at once.
func (r *reading) takeAmount(word string) error {
	figures, symbol := cutSymbol(word)
	r.Amount = r.amount(figures)
	if symbol == "" {
		return nil
	}
	return r.takeToken(symbol)
}

// takeToken takes a symbol or a mint. What could be neither is asked for again, beside the parts there are.
func (r *reading) takeToken(word string) (err error) {
	r.Token, err = wallet.ParseTokenRef(word)
	return err
}

// strange refuses a word that means nothing here; no part counts then.
func (r *reading) strange(word string) (parts, error) {
	r.parts = parts{}
	return r.parts, wallet.Refuse(wallet.InvalidRequest, "input.unclear", wallet.TextArg("Word", echo(word)))
}

// payParts are those of a payment link, which may have a note of its own.
func payParts(link, memo string) (parts, error) {
	l, err := wallet.ParsePayLink(link)
	if err != nil {
		return parts{}, err
	}
	p := parts{Amount: exactly(l.Amount), To: address(l.To), Token: wallet.TokenRef{Mint: l.Mint}, References: l.References, Memo: l.Memo, Label: l.Label}
	if p.Memo == "" {
		p.Memo = memo
	}
	return p, nil
}

// addressLike tells what is meant as an address, well written or not, so that the answer can say
// what is wrong with it.
func addressLike(word string) bool {
	if len(word) >= shortestAddress && (!figures(word) || word == wallet.SystemProgram.String()) {
		return true
	}
	return strings.HasPrefix(word, "@") || hexLike(word) || domainLike(word)
}

func hexLike(word string) bool {
	return len(word) > 2 && strings.EqualFold(word[:2], "0x")
}

func domainLike(word string) bool {
	return len(word) > 4 && strings.EqualFold(word[len(word)-4:], ".sol")
}

// checkAddress says more plainly than wallet.ParseAddress what people write in the place of an address.
func checkAddress(text string) error {
	switch {
	case strings.HasPrefix(text, "@"):
		return wallet.Refuse(wallet.InvalidRequest, "input.username")
	case domainLike(text):
		return wallet.Refuse(wallet.InvalidRequest, "input.domain")
	case hexLike(text):
		return wallet.Refuse(wallet.InvalidRequest, "input.other_network")
	}
	return nil
}

// amountLike tells what is meant as an amount, well written or not, so that the answer can say
// what is wrong with it.
func amountLike(word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	return strings.EqualFold(word, wallet.Max) || unicode.IsNumber(first) || strings.ContainsRune("+-.,−", first) ||
		strings.EqualFold(word, "nan") || strings.EqualFold(word, "inf") || strings.EqualFold(word, "infinity")
}

// cutSymbol reads "1.5SOL" and "25USDC" as their two parts: figures, and letters that no number has.
func cutSymbol(word string) (amount, symbol string) {
	cut := strings.IndexFunc(word, unicode.IsLetter)
	if cut <= 0 || !figures(word[:cut]) || scientific(word) || len(word)-cut < 2 || !symbolLike(word[cut:]) {
		return word, ""
	}
	return word[:cut], word[cut:]
}

func figures(word string) bool {
	for _, r := range word {
		if !unicode.IsNumber(r) && !strings.ContainsRune(".,+-−_'’", r) {
			return false
		}
	}
	return true
}

// symbolLike tells what may be a token's symbol: up to ten letters and digits, one letter at least.
func symbolLike(word string) bool {
	for _, r := range word {
		if !unicode.IsLetter(r) && (r < '0' || r > '9') {
			return false
		}
	}
	return len(word) <= 10 && !figures(word)
}

// readAmount reads what a person wrote as an amount, and says more plainly than wallet.ParseQuantity what people from
// elsewhere get wrong.
func readAmount(text string) saidAmount {
	wrong := func(key string) saidAmount { return saidAmount{Wrong: wallet.Because(key), Meant: meantNumbers(text)} }
	if scientific(text) {
		return wrong("amount.exponent")
	}
	for _, r := range text {
		switch {
		case r == ',' || r == '\'' || r == '’' || r == '_':
			return wrong("amount.separators")
		case r > unicode.MaxASCII && unicode.IsNumber(r):
			return wrong("amount.digits")
		case r == '-' || r == '+' || r == '−':
			return wrong("amount.sign")
		}
	}
	return plainAmount(text)
}

// plainAmount is wallet.ParseQuantity.
func plainAmount(text string) saidAmount {
	q, err := wallet.ParseQuantity(text)
	return saidAmount{Quantity: q, Wrong: wallet.ReasonOf(err)}
}

// meantNumbers are what an amount with commas may mean, as it is to be written: "1,5" is 1.5, and "1,500" is 1.5 to
// some and 1500 to others.
func meantNumbers(text string) []wallet.Decimal {
	if !strings.Contains(text, ",") {
		return nil
	}
	var meant []string
	whole, rest, _ := strings.Cut(text, ",")
	if !strings.ContainsAny(rest, ",.") {
		meant = append(meant, whole+"."+rest)
	}
	// Thousands stand in threes, and a point may follow the last three.
	groups, fraction, pointed := strings.Cut(text, ".")
	parts := strings.Split(groups, ",")
	threes := !slices.ContainsFunc(parts[1:], func(part string) bool { return len(part) != 3 })
	if threes && len(parts[0]) > 0 && len(parts[0]) <= 3 && parts[0] != "0" {
		plain := strings.Join(parts, "")
		if pointed {
			plain += "." + fraction
		}
		meant = append(meant, plain)
	}
	var out []wallet.Decimal
	for _, text := range meant {
		if d, err := wallet.ParseDecimal(text); err == nil {
			out = append(out, d)
		}
	}
	return out
}

// meantAmounts are those of what an amount may mean that are amounts of a token, each once.
func (a saidAmount) meantAmounts(token wallet.Token) []wallet.Quantity {
	var out []wallet.Quantity
	for _, d := range a.Meant {
		if amount, err := d.In(token.Decimals); err == nil {
			if q := (wallet.Quantity{Exact: amount.Decimal()}); !slices.Contains(out, q) {
				out = append(out, q)
			}
		}
	}
	return out
}

// didYouMean refuses an amount that could be one of two, or is one written in another way. amounts are those of
// saidAmount.meantAmounts: one or two.
func didYouMean(amounts []wallet.Quantity) error {
	if len(amounts) == 1 {
		return wallet.Refuse(wallet.InvalidRequest, "amount.meant", wallet.TextArg("Amount", amounts[0].String()))
	}
	return wallet.Refuse(wallet.InvalidRequest, "amount.meant_either", wallet.TextArg("First", amounts[0].String()), wallet.TextArg("Second", amounts[1].String()))
}

// scientific tells how programs and calculators write small and large numbers: 1e-3, 1E5.
func scientific(text string) bool {
	return strings.ContainsAny(text, "0123456789") && strings.ContainsAny(text, "eE") && strings.Trim(text, "0123456789.+-−eE") == ""
}
