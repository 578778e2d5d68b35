package chat

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"purser/wallet"
)

// parts are the parts of a transfer that a person has given so far. They are stored as JSON in the conversation between two
// answers (payment). The zero value of a field means that the part is still missing. A part that is written wrongly is kept
// with the reason, so that the question for it can explain the mistake.
type parts struct {
	Amount     saidAmount       `json:"amount,omitzero"`
	Token      wallet.TokenRef  `json:"token,omitzero"`
	To         saidRecipient    `json:"to,omitzero"`
	References []wallet.Address `json:"references,omitempty"` // references of the payment link that To came from (Solana Pay)
	Memo       string           `json:"memo,omitempty"`       // public note, typed or from the link
	Label      string           `json:"label,omitempty"`      // the link's label: who asks for the payment
	Purpose    string           `json:"purpose,omitempty"`    // the link's message: what it is for
	Currency   bool             `json:"currency,omitempty"`   // the amount was in a currency and no token is named: a number alone might be dollars again
}

// saidAmount is what was given as an amount: a valid quantity, or the reason why the words are none. Wrong words are kept
// while other parts are asked for, since their likely meaning depends on the token's decimals.
type saidAmount struct {
	Quantity wallet.Quantity  `json:"quantity,omitzero"`
	Wrong    wallet.Reason    `json:"wrong,omitzero"`  // why the words are not a quantity
	Meant    []wallet.Decimal `json:"meant,omitempty"` // what the words may mean, for example 1.5 for "1,5"
}

// given reports whether anything was given as an amount, valid or not.
func (a saidAmount) given() bool { return !a.Quantity.IsZero() || !a.Wrong.IsZero() }

// refusal returns the INVALID_REQUEST for a wrong amount, or nil.
func (a saidAmount) refusal() error {
	if a.Wrong.IsZero() {
		return nil
	}
	return wallet.About(wallet.FieldAmount, wallet.RefuseFor(wallet.InvalidRequest, a.Wrong))
}

// exactly is the amount for a number that was parsed before.
func exactly(d wallet.Decimal) saidAmount { return saidAmount{Quantity: wallet.Quantity{Exact: d}} }

// saidRecipient is what was given as a recipient: an address, directly or through a contact or a picked person, or the reason
// why the words name nobody.
type saidRecipient struct {
	Address wallet.Address `json:"address,omitzero"`
	Wrong   wallet.Reason  `json:"wrong,omitzero"` // why the words name nobody
}

// given reports whether anything was given as a recipient, valid or not.
func (r saidRecipient) given() bool { return !r.Address.IsZero() || !r.Wrong.IsZero() }

// refusal returns the INVALID_REQUEST for a wrong recipient, or nil.
func (r saidRecipient) refusal() error {
	if r.Wrong.IsZero() {
		return nil
	}
	return wallet.About(wallet.FieldTo, wallet.RefuseFor(wallet.InvalidRequest, r.Wrong))
}

// address is the recipient for an address. The System program's address (all zero bytes) belongs to nobody and is refused.
func address(a wallet.Address) saidRecipient {
	if a.IsZero() {
		return saidRecipient{Wrong: wallet.Because("address.system_program")}
	}
	return saidRecipient{Address: a}
}

// memoWord starts a public note: all words after it belong to the note.
const memoWord = "memo"

// cutMemo splits the note off the end of the words. The word memo starts a note only if words stand before and after it.
func cutMemo(args []string) (rest []string, memo string) {
	for i, word := range args {
		if i > 0 && i < len(args)-1 && strings.EqualFold(word, memoWord) {
			return args[:i], strings.Join(args[i+1:], " ")
		}
	}
	return args, ""
}

// noMeaning is the reason of a recipient that was the only word and is neither an amount, a token nor a known name. It may have
// been meant as any part, so the question for the recipient does not insist on it.
const noMeaning = "input.no_meaning"

// readParts parses "[amount] [token] [address] [memo ...]", where each part may be missing. A token is a symbol, or a mint
// address before the recipient's. A recipient is an address or the name of a contact in b.
//
// Words that cannot be understood are INVALID_REQUEST. If the error is about one part (wallet.FieldOf), the other parts are
// returned with it, so that only that one is asked for again. An amount or recipient that is written wrongly is no error
// here: it is a part with its reason.
func readParts(args []string, b book) (parts, error) {
	args, memo := cutMemo(args)
	if err := wallet.CheckMemo(memo); err != nil {
		return parts{}, err
	}
	if len(args) == 1 && wallet.IsPayLink(args[0]) {
		return payParts(args[0], memo)
	}
	// Take word by word. Several words may be one part, such as a contact's name.
	r := reading{book: b, parts: parts{Memo: memo}}
	for len(args) > 0 {
		n, err := r.take(args)
		if err != nil {
			return r.parts, err
		}
		args = args[n:]
	}
	// An unknown word can only be the recipient, since amounts and tokens are recognised by their form. It is never ignored.
	switch {
	case r.odd != "" && r.To.given():
		return r.strange(r.odd)
	case r.odd != "" && !r.Amount.given() && r.Token.IsZero():
		if r.To = b.recipient(r.odd); r.To.Wrong.Key == "input.no_recipient" {
			r.To.Wrong = wallet.Because(noMeaning, wallet.TextArg("Word", echo(r.odd)))
		}
	case r.odd != "":
		r.To = b.recipient(r.odd) // read it as an address, so that the answer can explain what is wrong with it
	}
	return r.parts, nil
}

// reading is the state of readParts between two words.
type reading struct {
	book
	parts
	to  string // the word that To was parsed from
	odd string // an unknown word where an address could be

	afterTo   bool // the word before was "to": only a recipient can follow
	afterSign bool // the word before was a lone sign of a currency, as in "$ 5"
}

// take parses the next word or words and returns how many it used. On an error, r.parts holds the parts that stay valid.
//
// The order of the cases decides what an ambiguous word means: a listed token before a contact, a contact before an address,
// an amount before a token. r.byKey is nil for apps. They get no contacts, currencies or cashtags, so that the API reads
// exactly one way.
func (r *reading) take(args []string) (int, error) {
	word := args[0]
	symbol, tagged := cashtag(word)
	afterTo, afterSign := r.afterTo, r.afterSign
	r.afterTo, r.afterSign = false, false
	// A listed symbol and the word "to" keep their meaning even if a contact's name begins with them. After "to" a symbol has none.
	first := !afterTo && r.Token.IsZero() && (r.means(word) || tagged && r.means(symbol)) || strings.EqualFold(word, "to")
	if !first { // a search for each of many "to" would take long
		if contact, n := r.at(args); n > 0 {
			return n, r.takeRecipient(contact.Address.String(), address(contact.Address))
		}
	}
	if addressLike(word) {
		return 1, r.takeRecipient(word, r.recipient(word))
	}
	switch {
	case strings.EqualFold(word, "to") && !r.To.given():
		r.afterTo = true
	case afterTo && r.byKey != nil && r.odd == "" && (tagged || !amountLike(word) && !money(word)):
		r.odd = word
	case r.byKey != nil && tagged && r.Token.IsZero():
		return 1, r.takeToken(symbol)
	case r.byKey != nil && tagged: // a second token
		_, err := r.strange(word)
		return 1, err
	case r.byKey != nil && !tagged && money(word):
		return 1, r.takeMoney(word)
	case afterSign && figures(word): // the figures of "$ 5"
	case !r.Amount.given() && amountLike(word):
		return 1, r.takeAmount(word)
	case !r.Amount.given() && r.byKey != nil && everything(word):
		r.Amount = saidAmount{Quantity: wallet.Quantity{Max: true}}
		return 1, nil
	case r.Token.IsZero() && r.name(args):
		r.odd = word
	case r.Token.IsZero() && symbolLike(word):
		return 1, r.takeToken(word)
	case r.Amount.given() && figures(word):
		return 1, r.twoAmounts()
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

// name reports whether a word is rather the name of somebody than a token: it is no listed symbol, nothing else names the
// recipient, and it either is the only word or is near a contact's name.
func (r *reading) name(args []string) bool {
	word := args[0]
	if r.byKey == nil || r.means(word) || r.To.given() || r.odd != "" || len(args) > 1 || currency(word) {
		return false
	}
	return !r.Amount.given() && symbolLike(word) || len(r.near(word)) > 0
}

// takeRecipient takes a recipient. Of two addresses after an amount the first is the token's mint: "25 <mint> <address>".
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

// takeAmount takes an amount that a symbol may follow without a space ("1.5SOL").
func (r *reading) takeAmount(word string) error {
	figures, symbol := cutSymbol(word)
	r.Amount = r.amount(figures)
	if symbol == "" {
		return nil
	}
	return r.takeToken(symbol)
}

// takeMoney takes a sum of a country's money ("US$5"), or its sign alone beside an amount ("5 $"): the amount is one that is
// not taken.
func (r *reading) takeMoney(word string) error {
	alone := !strings.ContainsFunc(word, unicode.IsNumber)
	if !alone && r.Amount.given() {
		return r.twoAmounts()
	}
	r.afterSign = alone && !r.Amount.given()
	r.Amount = saidAmount{Wrong: wallet.Because(inCurrency)}
	return nil
}

// twoAmounts refuses a second amount. The other parts count.
func (r *reading) twoAmounts() error {
	r.parts = parts{Token: r.Token, To: r.To}
	return wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InvalidRequest, "input.two_amounts"))
}

// takeToken takes a symbol or a mint address. The name of a currency makes the amount one that is not taken ("5 usd").
func (r *reading) takeToken(word string) (err error) {
	if r.byKey != nil && r.Amount.given() && currency(word) && !r.means(word) {
		r.Amount = saidAmount{Wrong: wallet.Because(inCurrency)}
		return nil
	}
	r.Token, err = wallet.ParseTokenRef(word)
	return err
}

// strange refuses a word that has no meaning here, and drops all parts: a guess could send money to the wrong place. It always
// returns an error.
func (r *reading) strange(word string) (parts, error) {
	r.parts = parts{}
	return r.parts, wallet.Refuse(wallet.InvalidRequest, "input.unclear", wallet.TextArg("Word", echo(word)))
}

// payParts returns the parts of a Solana Pay link. The link's own note takes precedence over a typed one.
func payParts(link, memo string) (parts, error) {
	l, err := wallet.ParsePayLink(link)
	if err != nil {
		return parts{}, err
	}
	p := parts{Amount: exactly(l.Amount), To: address(l.To), Token: wallet.TokenRef{Mint: l.Mint}, References: l.References, Memo: l.Memo, Label: l.Label, Purpose: l.Purpose}
	if p.Memo == "" {
		p.Memo = memo
	}
	return p, nil
}

// addressLike reports whether a word is meant as an address, even a wrong one, so that the answer can explain the mistake.
func addressLike(word string) bool {
	if len(word) >= shortestAddress && (!figures(word) || word == wallet.SystemProgram.String()) {
		return true
	}
	_, _, shortened := shortenedAddress(word)
	return strings.HasPrefix(word, "@") || hexLike(word) || domainLike(word) || shortened
}

// hexLike reports whether a word looks like an address of Ethereum.
func hexLike(word string) bool {
	return len(word) > 2 && strings.EqualFold(word[:2], "0x")
}

// domainLike reports whether a word looks like a .sol domain, which purser does not resolve.
func domainLike(word string) bool {
	return len(word) > 4 && strings.EqualFold(word[len(word)-4:], ".sol")
}

// checkAddress explains common mistakes in place of an address better than wallet.ParseAddress: usernames, domains, addresses
// of other chains.
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

// amountLike reports whether a word is meant as an amount, even a wrong one, so that the answer can explain the mistake.
func amountLike(word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	return strings.EqualFold(word, wallet.Max) || unicode.IsNumber(first) || strings.ContainsRune("+-.,−", first) || currencySign(first) ||
		strings.EqualFold(word, "nan") || strings.EqualFold(word, "inf") || strings.EqualFold(word, "infinity")
}

// everything reports whether a word of a person means the whole balance of the token, as max does.
func everything(word string) bool {
	return strings.EqualFold(word, "all") || strings.EqualFold(word, "everything")
}

// inCurrency is the reason of an amount in the money of a country.
const inCurrency = "amount.currency"

// currency reports whether a word names the money of a country. purser has no rates for it.
func currency(word string) bool {
	switch strings.ToLower(word) {
	case "usd", "eur", "gbp", "dollar", "dollars", "euro", "euros", "pound", "pounds", "buck", "bucks":
		return true
	}
	return false
}

// cashtag returns the symbol of a token that is written with a dollar sign before it, as in "$BONK".
func cashtag(word string) (symbol string, ok bool) {
	symbol, ok = strings.CutPrefix(word, "$")
	first, _ := utf8.DecodeRuneInString(symbol)
	return symbol, ok && unicode.IsLetter(first) && symbolLike(symbol)
}

// money reports whether a word is the sign of a currency, with or without the letters of a country before it and figures
// after it: "$", "US$", "€5", "US$5".
func money(word string) bool {
	country, sum := word, ""
	if at := strings.IndexFunc(word, currencySign); at >= 0 {
		country, sum = word[:at], strings.TrimLeftFunc(word[at:], currencySign)
	}
	letters := strings.TrimFunc(country, unicode.IsLetter) == "" && len(country) <= 3
	return len(country) < len(word) && letters && figures(sum)
}

// currencySign reports whether a character is the sign of a currency.
func currencySign(r rune) bool { return unicode.Is(unicode.Sc, r) }

// cutSymbol splits "1.5SOL" into figures and symbol. Scientific notation ("1e5") stays whole and is refused later.
func cutSymbol(word string) (amount, symbol string) {
	cut := strings.IndexFunc(word, unicode.IsLetter)
	if cut <= 0 || !figures(word[:cut]) || scientific(word) || len(word)-cut < 2 || !symbolLike(word[cut:]) {
		return word, ""
	}
	return word[:cut], word[cut:]
}

// figures reports whether a word consists of digits, separators and signs.
func figures(word string) bool {
	for _, r := range word {
		if !unicode.IsNumber(r) && !strings.ContainsRune(".,+-−_'’", r) {
			return false
		}
	}
	return true
}

// symbolLike reports whether a word may be a token's symbol: up to ten bytes of letters and digits, with at least one letter.
func symbolLike(word string) bool {
	for _, r := range word {
		if !unicode.IsLetter(r) && (r < '0' || r > '9') {
			return false
		}
	}
	return len(word) <= 10 && !figures(word)
}

// readAmount parses an amount that a person typed. It explains notations of other countries better than wallet.ParseQuantity:
// separators, digits of other scripts, exponents.
func readAmount(text string) saidAmount {
	wrong := func(key string) saidAmount { return saidAmount{Wrong: wallet.Because(key), Meant: meantNumbers(text)} }
	if strings.ContainsFunc(text, currencySign) {
		return wrong(inCurrency)
	}
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

// plainAmount parses an amount as the API does: ASCII digits with at most one point, or max. The number of decimals is checked
// later, once the token is known (checkAmount).
func plainAmount(text string) saidAmount {
	q, err := wallet.ParseQuantity(text)
	return saidAmount{Quantity: q, Wrong: wallet.ReasonOf(err)}
}

// meantNumbers returns what an amount with commas may mean: "1,5" is 1.5, and "1,500" is 1.5 or 1500, depending on the
// country. purser never guesses: it offers these as buttons.
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

// meantAmounts returns the possible meanings that are valid amounts of the token, each once.
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

// didYouMean returns the refusal that names the one or two possible amounts.
func didYouMean(amounts []wallet.Quantity) error {
	if len(amounts) == 1 {
		return wallet.Refuse(wallet.InvalidRequest, "amount.meant", wallet.TextArg("Amount", amounts[0].String()))
	}
	return wallet.Refuse(wallet.InvalidRequest, "amount.meant_either", wallet.TextArg("First", amounts[0].String()), wallet.TextArg("Second", amounts[1].String()))
}

// scientific reports whether a text is a number in scientific notation, such as 1e-3.
func scientific(text string) bool {
	return strings.ContainsAny(text, "0123456789") && strings.ContainsAny(text, "eE") && strings.Trim(text, "0123456789.+-−eE") == ""
}
