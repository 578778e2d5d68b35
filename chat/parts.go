package chat

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"purser/wallet"
)

// parts is what a person has said of a transfer so far, in their own words.
type parts struct {
	Amount string `json:"amount,omitempty"`
	Token  string `json:"token,omitempty"`
	To     string `json:"to,omitempty"`
	Asked  string `json:"asked,omitempty"` // references of the payment link that To came with, a space between them
	Memo   string `json:"memo,omitempty"`  // public note, typed or of the link
	Label  string `json:"label,omitempty"` // what the link says that it is for
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
// come along.
func readParts(args []string, b book) (parts, error) {
	var p parts
	args, p.Memo = cutMemo(args)
	if err := wallet.CheckMemo(p.Memo); err != nil {
		return parts{}, err
	}
	strange := func(word string) (parts, error) {
		return parts{}, wallet.Refuse(wallet.InvalidRequest, "input.unclear", wallet.TextArg("Word", echo(word)))
	}
	if len(args) == 1 && wallet.IsPayLink(args[0]) {
		return payParts(args[0], p.Memo)
	}
	odd := "" // stands where an address could be
	for i := 0; i < len(args); i++ {
		word := args[i]
		address := ""
		// A token, and "to", are what their words mean first, whatever a contact's name begins with.
		first := p.Token == "" && b.means(word) || strings.EqualFold(word, "to")
		if contact, n := b.at(args[i:]); n > 0 && !first {
			address = contact.Address.String()
			i += n - 1
		} else if addressLike(word) {
			address = word
		}
		switch {
		case address != "":
			if p.To != "" && p.Amount != "" && p.Token == "" { // "25 <mint> <address>"
				p.Token, p.To = p.To, address
				continue
			}
			if p.To != "" {
				return parts{Amount: p.Amount, Token: p.Token}, wallet.About(wallet.FieldTo,
					wallet.Refuse(wallet.InvalidRequest, "input.two_addresses"))
			}
			p.To = address
		case strings.EqualFold(word, "to") && p.To == "":
		case p.Amount == "" && p.Token == "" && amountLike(word):
			p.Amount, p.Token = cutSymbol(word)
		case p.Token == "" && symbolLike(word):
			p.Token = word
		case p.Amount != "" && figures(word):
			return parts{Token: p.Token, To: p.To}, wallet.About(wallet.FieldAmount,
				wallet.Refuse(wallet.InvalidRequest, "input.two_amounts"))
		case p.Amount != "" && odd == "":
			odd = word
		case p.Token != "" && !b.means(p.Token) && b.means(word):
			return strange(p.Token)
		default:
			return strange(word)
		}
	}
	switch {
	case odd != "" && p.To != "":
		return strange(odd)
	case odd != "":
		p.To = odd // judged as an address, it is told what is wrong
	}
	return p, nil
}

// payParts are those of a payment link, which may have a note of its own.
func payParts(link, memo string) (parts, error) {
	l, err := wallet.ParsePayLink(link)
	if err != nil {
		return parts{}, err
	}
	p := parts{Amount: l.Amount, To: l.To.String(), Memo: l.Memo, Label: l.Label}
	if p.Memo == "" {
		p.Memo = memo
	}
	if !l.Mint.IsZero() {
		p.Token = l.Mint.String()
	}
	for _, reference := range l.References {
		p.Asked += " " + reference.String()
	}
	return p, nil
}

// references are those of the link.
func (p parts) references() (out []wallet.Address) {
	for _, text := range strings.Fields(p.Asked) {
		if reference, err := wallet.ParseAddress(text); err == nil { // our own words
			out = append(out, reference)
		}
	}
	return out
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

// checkAddress says more plainly than the operation what people write in the place of an address.
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

// checkAmount reads an amount as wallet.ParseAmount does, and says more plainly what people from
// elsewhere get wrong. "max" passes: only the balance can tell what it is.
func checkAmount(text string, token wallet.Token) error {
	if strings.EqualFold(text, wallet.Max) {
		return nil
	}
	if scientific(text) {
		return wallet.Refuse(wallet.InvalidRequest, "amount.exponent")
	}
	for _, r := range text {
		switch {
		case r == ',' || r == '\'' || r == '’' || r == '_':
			return wallet.Refuse(wallet.InvalidRequest, "amount.separators")
		case r > unicode.MaxASCII && unicode.IsNumber(r):
			return wallet.Refuse(wallet.InvalidRequest, "amount.digits")
		case r == '-' || r == '+' || r == '−':
			return wallet.Refuse(wallet.InvalidRequest, "amount.sign")
		}
	}
	_, err := wallet.ParseAmount(text, token.Decimals)
	return err
}

// meantAmounts are what an amount with commas may mean, as it is to be written: "1,5" is 1.5, and "1,500" is 1.5 to
// some and 1500 to others. None where it makes no amount of the token.
func meantAmounts(text string, token wallet.Token) []string {
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
	var out []string
	for _, text := range meant {
		if amount, err := wallet.ParseAmount(text, token.Decimals); err == nil && !slices.Contains(out, amount.String()) {
			out = append(out, amount.String())
		}
	}
	return out
}

// didYouMean refuses an amount that could be one of two, or is one written in another way. amounts are those of
// meantAmounts: one or two.
func didYouMean(amounts []string) error {
	if len(amounts) == 1 {
		return wallet.Refuse(wallet.InvalidRequest, "amount.meant", wallet.TextArg("Amount", amounts[0]))
	}
	return wallet.Refuse(wallet.InvalidRequest, "amount.meant_either", wallet.TextArg("First", amounts[0]), wallet.TextArg("Second", amounts[1]))
}

// scientific tells how programs and calculators write small and large numbers: 1e-3, 1E5.
func scientific(text string) bool {
	return strings.ContainsAny(text, "0123456789") && strings.ContainsAny(text, "eE") && strings.Trim(text, "0123456789.+-−eE") == ""
}
