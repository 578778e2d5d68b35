package wallet

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// RuleName names a fraud rule, in the words of the API (warnings).
type RuleName string

// The rules, in the order in which their findings are shown.
const (
	RuleListedAddress     RuleName = "listed_address"    // the operator has blocked it (fraud.addresses)
	RulePoisoning         RuleName = "address_poisoning" // it resembles an address that the owner knows
	RulePlantedSender     RuleName = "planted_sender"    // known to the owner only from transfers that strangers plant
	RuleNewRecipient      RuleName = "new_recipient"     // not a contact, not an own wallet, and never paid before
	RuleLargeFirstPayment RuleName = "large_first_payment"
	RuleDrain             RuleName = "drain" // nearly all of a token goes to a new recipient

	RuleLimitPayment      RuleName = "limit_payment" // more than the owner's spending limits (Policy) allow in one payment
	RuleLimitDay          RuleName = "limit_day"
	RuleLimitRecipients   RuleName = "limit_recipients"
	RuleLimitNewRecipient RuleName = "limit_new_recipient" // waits, as the owner's spending limits say

	RuleManyTokens     RuleName = "many_tokens" // different tokens within an hour
	RuleManyPayments   RuleName = "many_payments"
	RuleHighSpending   RuleName = "high_spending" // more value within a day than the owner is used to
	RuleNight          RuleName = "night"         // a large payment at night
	RuleNewDevice      RuleName = "new_device"    // a large payment soon after a link was opened on a new device
	RuleAppAmount      RuleName = "app_amount"    // a program asks for a large amount
	RuleImpersonation  RuleName = "impersonation" // a request names a contact or a well-known service, and the address is another
	RuleSimilarContact RuleName = "similar_contact"
	RuleLinkInText     RuleName = "link_in_text"

	RuleHook              RuleName = "transfer_hook"    // a program of the issuer runs with every transfer
	RuleNonTransferable   RuleName = "non_transferable" // the mint allows no transfers
	RuleUnlisted          RuleName = "unlisted_token"   // the mint is not in the list of well-known tokens
	RuleDelegate          RuleName = "permanent_delegate"
	RuleScaled            RuleName = "scaled_amounts"     // other wallets may show different amounts of it
	RuleUnknownExtensions RuleName = "unknown_extensions" // the mint has extensions that purser does not know
	RuleAllSOL            RuleName = "all_sol"            // no SOL is left for the fee of another transfer

	RuleForeignDelegate RuleName = "foreign_delegate" // somebody else may spend from the owner's token account

	RuleNoPrice     RuleName = "no_price"     // a quote that nothing could be compared with
	RuleBelowMarket RuleName = "below_market" // a quote that is worse than the market's prices
	RulePriceImpact RuleName = "price_impact" // a swap so large that it moves the price
)

// Thresholds of the rules. Multiples are of what is large for the owner (RuleInput.Large).
const (
	veryLarge     = 10 // a first payment that waits
	firstWait     = time.Hour
	drainPart     = 90 // percent of a token
	drainLeast    = USD(50_000_000)
	tokensHourly  = 4  // different tokens, with this one
	paymentsFew   = 10 // payments within an hour that are nobody's concern
	pastFactor    = 3  // times the owner's own past
	spendingFewer = 3  // payments within a day, with this one, from which on their sum counts
	nightEnds     = 5  // o'clock; the night begins at midnight
	deviceNew     = 24 * time.Hour

	maxBelowMarket, warnBelowMarket = 1_000, 100 // hundredths of a percent
	maxImpact, warnImpact           = 1_000, 100
)

// FraudRules returns all rules, in the order in which their findings are shown. docs/security.md lists them.
func FraudRules() []Rule {
	return slices.Concat(recipientRules(), LimitRules(), patternRules(), textRules(), TokenRules(), accountRules(), QuoteRules())
}

// one returns the list of one verdict.
func one(v Verdict) []Verdict { return []Verdict{v} }

// recipientRules judge who is paid.
func recipientRules() []Rule {
	return []Rule{
		{Name: RuleListedAddress, Verdicts: one(RefuseVerdict), Judge: judgeListed},
		{Name: RulePoisoning, Verdicts: one(WarnVerdict), Private: true, Recipient: true, AsksOwner: true, Judge: judgePoisoning},
		{Name: RulePlantedSender, Verdicts: one(WarnVerdict), Private: true, Recipient: true, AsksOwner: true, Judge: judgePlanted},
		{Name: RuleNewRecipient, Verdicts: one(NoteVerdict), Private: true, Recipient: true, Judge: judgeNew},
		{Name: RuleLargeFirstPayment, Verdicts: []Verdict{WarnVerdict, DelayVerdict}, Private: true, Recipient: true, Judge: judgeLargeFirst},
		{Name: RuleDrain, Verdicts: one(WarnVerdict), Private: true, Recipient: true, Judge: judgeDrain},
	}
}

// judgeListed looks at every address that the transaction names or pays: the one in the request too, and the validator of a stake.
func judgeListed(f *RuleInput) Finding {
	if f.Blocked == nil {
		return Finding{}
	}
	t := f.Transaction
	for _, a := range []Address{t.To, t.RequestedDestination} {
		if !a.IsZero() && a != t.From && f.Blocked(a) {
			return Finding{Verdict: RefuseVerdict, Reason: Because("rule.listed_address", AddressArg("Address", a))}
		}
	}
	return Finding{}
}

// Suspect returns the known address that the recipient of the facts could be mistaken for. The request may have named a
// token account: its address was shown, and may be made to resemble a wallet too.
func (f *RuleInput) Suspect() (Address, bool) {
	if f.suspect != nil {
		return f.suspect.seems, f.suspect.is
	}
	f.suspect = &suspicion{}
	if !f.toStranger() {
		return Address{}, false
	}
	known := f.knownAddresses()
	for _, shown := range []Address{f.Transaction.To, f.Transaction.RequestedDestination} {
		if f.suspect.seems, f.suspect.is = PoisoningSuspect(shown, known); f.suspect.is {
			break
		}
	}
	return f.suspect.seems, f.suspect.is
}

func judgePoisoning(f *RuleInput) Finding {
	if _, is := f.Suspect(); !is {
		return Finding{}
	}
	return Finding{Verdict: WarnVerdict, Reason: Because("rule.address_poisoning")}
}

func judgePlanted(f *RuleInput) Finding {
	if !f.toStranger() || !f.Planted {
		return Finding{}
	}
	return Finding{Verdict: WarnVerdict, Reason: Because("rule.planted_sender")}
}

// judgeNew is silent if a graver rule says the same.
func judgeNew(f *RuleInput) Finding {
	if _, poisoned := f.Suspect(); !f.toStranger() || poisoned || f.Planted || judgeLargeFirst(f).Verdict != NoVerdict || judgeDrain(f).Verdict != NoVerdict ||
		judgeLimitNewRecipient(f).Verdict != NoVerdict {
		return Finding{}
	}
	return Finding{Verdict: NoteVerdict, Reason: Because("rule.new_recipient")}
}

func judgeLargeFirst(f *RuleInput) Finding {
	switch {
	case !f.toStranger() || !f.large(1):
		return Finding{}
	case f.large(veryLarge):
		return Finding{Verdict: DelayVerdict, Wait: firstWait, Reason: Because("rule.very_large_first_payment")}
	}
	return Finding{Verdict: WarnVerdict, Reason: Because("rule.large_first_payment")}
}

// judgeDrain needs no price, but with one it leaves small sums alone. Unlisted tokens are left alone: they are often worthless.
func judgeDrain(f *RuleInput) Finding {
	t := f.Transaction
	switch {
	case !f.toStranger(), t.Token.Symbol == "", !f.Value.Unknown && f.Value.USD < drainLeast:
		return Finding{}
	case !isPart(t.Amount, f.Left, drainPart):
		return Finding{}
	}
	return Finding{Verdict: WarnVerdict, Reason: Because("rule.drain", TextArg("Token", t.Token.Name()))}
}

// isPart reports whether an amount is at least so many percent of itself and what is left.
func isPart(amount, left, percent uint64) bool {
	high, low := bits.Mul64(amount, 100-percent) // amount × 100 ≥ (amount + left) × percent, without a sum that could overflow
	leftHigh, leftLow := bits.Mul64(left, percent)
	return high > leftHigh || high == leftHigh && low >= leftLow
}

// patternRules judge a payment against the owner's other payments, the hour, and who asks for it.
func patternRules() []Rule {
	return []Rule{
		{Name: RuleManyTokens, Verdicts: one(WarnVerdict), Private: true, Recipient: true, Judge: judgeManyTokens},
		{Name: RuleManyPayments, Verdicts: one(WarnVerdict), Private: true, Judge: judgeManyPayments},
		{Name: RuleHighSpending, Verdicts: one(WarnVerdict), Private: true, Judge: judgeHighSpending},
		{Name: RuleNight, Verdicts: one(WarnVerdict), Private: true, Judge: judgeNight},
		{Name: RuleNewDevice, Verdicts: one(WarnVerdict), Private: true, Judge: judgeNewDevice},
		{Name: RuleAppAmount, Verdicts: []Verdict{NoteVerdict, WarnVerdict}, Private: true, Judge: judgeAppAmount},
	}
}

// judgeManyTokens counts those that went to somebody who is neither a contact nor the owner. Who was paid a minute ago is no
// better known for it, so earlier payments make nobody known here.
func judgeManyTokens(f *RuleInput) Finding {
	if !f.Pays || !f.Person || f.chosen(f.Transaction.To) {
		return Finding{}
	}
	mints := map[Address]bool{f.Transaction.Token.Mint: true}
	for _, p := range f.Recent {
		if f.Now.Sub(p.At) < time.Hour && !f.chosen(p.To) {
			mints[p.Mint] = true
		}
	}
	if len(mints) < tokensHourly {
		return Finding{}
	}
	return Finding{Verdict: WarnVerdict, Reason: Because("rule.many_tokens", NumberArg("Number", len(mints)))}
}

func judgeManyPayments(f *RuleInput) Finding {
	if !f.Pays || !f.Person || slices.Contains(f.Own, f.Transaction.To) {
		return Finding{}
	}
	earlier, most := newestAndMost(f, time.Hour, count)
	if earlier+1 <= max(paymentsFew, pastFactor*most) {
		return Finding{}
	}
	return Finding{Verdict: WarnVerdict, Reason: Because("rule.many_payments", NumberArg("Number", earlier+1))}
}

func judgeHighSpending(f *RuleInput) Finding {
	if !f.Pays || !f.Person || f.Value.Unknown || f.Large == 0 || slices.Contains(f.Own, f.Transaction.To) {
		return Finding{}
	}
	const day = 24 * time.Hour
	earlier, _ := newestAndMost(f, day, count)
	before, most := newestAndMost(f, day, spent)
	sum, ok := before.Plus(f.Value.USD)
	if !ok || earlier+1 < spendingFewer || sum < f.Large || sum/pastFactor < most {
		return Finding{}
	}
	return Finding{Verdict: WarnVerdict, Reason: Because("rule.high_spending", TextArg("Value", sum.Cents()))}
}

// spent returns what payments are worth together. Those without a price count nothing.
func spent(payments []PastPayment) (sum USD) {
	for _, p := range payments {
		if more, ok := sum.Plus(p.Value.USD); ok && !p.Value.Unknown {
			sum = more
		}
	}
	return sum
}

// count returns how many payments there are.
func count(payments []PastPayment) int { return len(payments) }

// newestAndMost measures the owner's payments of the last span, and returns beside it the highest measure of a span that ended before.
func newestAndMost[N cmp.Ordered](f *RuleInput, span time.Duration, measure func([]PastPayment) N) (newest, most N) {
	from := func(at int) []PastPayment { // those within a span up to the payment at this index
		end := at
		for end < len(f.Recent) && f.Recent[at].At.Sub(f.Recent[end].At) < span {
			end++
		}
		return f.Recent[at:end]
	}
	first := slices.IndexFunc(f.Recent, func(p PastPayment) bool { return f.Now.Sub(p.At) >= span })
	if first < 0 {
		first = len(f.Recent)
	}
	for at := first; at < len(f.Recent); at++ {
		most = max(most, measure(from(at)))
	}
	return measure(f.Recent[:first]), most
}

func judgeNight(f *RuleInput) Finding {
	if !f.Pays || !f.Person || f.LocalHour < 0 || f.LocalHour >= nightEnds || f.chosen(f.Transaction.To) || !f.large(1) {
		return Finding{}
	}
	return Finding{Verdict: WarnVerdict, Reason: Because("rule.night")}
}

// judgeNewDevice cannot know where this payment will be signed, so it looks at where links were opened lately.
func judgeNewDevice(f *RuleInput) Finding {
	if !f.Pays || !f.Person || f.NewDevice.IsZero() || f.Now.Sub(f.NewDevice) >= deviceNew || !f.large(1) {
		return Finding{}
	}
	return Finding{Verdict: WarnVerdict, Reason: Because("rule.new_device")}
}

// judgeAppAmount warns of what apps of others ask for. The owner's own keys are noted: a stolen one would ask for much.
func judgeAppAmount(f *RuleInput) Finding {
	switch {
	case !f.Pays || !f.Person || !f.large(1):
		return Finding{}
	case f.Channel == ChannelApp:
		return Finding{Verdict: WarnVerdict, Reason: Because("rule.app_amount")}
	case f.Channel == ChannelKey:
		return Finding{Verdict: NoteVerdict, Reason: Because("rule.key_amount")}
	}
	return Finding{}
}

// textRules judge names and texts.
func textRules() []Rule {
	return []Rule{
		{Name: RuleImpersonation, Verdicts: one(WarnVerdict), Private: true, Recipient: true, Judge: judgeImpersonation},
		{Name: RuleSimilarContact, Verdicts: one(WarnVerdict), Private: true, Recipient: true, Judge: judgeSimilarContact},
		{Name: RuleLinkInText, Verdicts: []Verdict{NoteVerdict, WarnVerdict}, Private: true, Recipient: true, Judge: judgeLinks},
	}
}

// judgeImpersonation compares what a request says of itself with the owner's contacts, and with services that scammers
// pretend to be. A recipient that the owner knows may call itself anything.
func judgeImpersonation(f *RuleInput) Finding {
	t := f.Transaction
	if !f.toStranger() {
		return Finding{}
	}
	for _, text := range []string{t.Label, t.Purpose} {
		if text == "" {
			continue
		}
		look := LooseSkeleton(text)
		for _, c := range f.Contacts {
			if LooseSkeleton(c.Name) == look && look != "" {
				return Finding{Verdict: WarnVerdict, Reason: Because("rule.impersonates_contact", TextArg("Name", c.Name))}
			}
		}
		if service := ServiceIn(text); service != "" {
			return Finding{Verdict: WarnVerdict, Reason: Because("rule.impersonates_service", TextArg("Name", service))}
		}
	}
	return Finding{}
}

// judgeSimilarContact finds two contacts whose names look alike, until the new one was paid once.
func judgeSimilarContact(f *RuleInput) Finding {
	t := f.Transaction
	if !f.Pays || !f.Person || slices.Contains(f.Paid, t.To) || slices.Contains(f.Own, t.To) {
		return Finding{}
	}
	for _, c := range f.Contacts {
		if c.Address != t.To {
			continue
		}
		for _, other := range f.Contacts {
			if other.Address != t.To && LooseSkeleton(other.Name) == LooseSkeleton(c.Name) {
				return Finding{Verdict: WarnVerdict, Reason: Because("rule.similar_contact", TextArg("Name", c.Name), TextArg("Other", other.Name))}
			}
		}
	}
	return Finding{}
}

// judgeLinks warns if somebody unknown asks with a link in their text, and notes links otherwise.
func judgeLinks(f *RuleInput) Finding {
	t := f.Transaction
	asked := HoldsLink(t.Label) || HoldsLink(t.Purpose)
	switch {
	case !f.Pays || !asked && !HoldsLink(t.Memo):
		return Finding{}
	case f.toStranger() && (asked || f.Channel != ChannelChat):
		return Finding{Verdict: WarnVerdict, Reason: Because("rule.link_in_text")}
	}
	return Finding{Verdict: NoteVerdict, Reason: Because("rule.link_in_text")}
}

// services are names that scammers use for themselves, besides ReservedWords.
func services() []string {
	return []string{"binance", "coinbase", "phantom", "kraken", "metamask", "bybit", "jupiter", "raydium", "solflare", "backpack", "ledger", "trezor", "moonpay", "paypal"}
}

// ServiceIn returns the well-known service, or the word of ReservedWords, that a text looks as if it contained; "" for none.
func ServiceIn(text string) string {
	look := withoutMarks(LooseSkeleton(text))
	for _, name := range services() {
		if strings.Contains(undoubled(look), undoubled(Skeleton(name))) {
			return name
		}
	}
	return OfficialWord(text, "")
}

// HoldsLink reports whether a text contains something that people could open: an address with a scheme, or a host name with
// a path or a common ending.
func HoldsLink(text string) bool {
	lower := strings.ToLower(text)
	if strings.Contains(lower, "://") || strings.Contains(lower, "www.") || strings.Contains(lower, "t.me/") {
		return true
	}
	for word := range strings.FieldsSeq(lower) {
		host, path, hasPath := strings.Cut(strings.Trim(word, ".,;:!?()[]<>\"'"), "/")
		labels := strings.Split(host, ".")
		if len(labels) < 2 || slices.Contains(labels, "") {
			continue
		}
		end := labels[len(labels)-1]
		letters := !strings.ContainsFunc(end, func(r rune) bool { return r < 'a' || r > 'z' })
		if letters && (hasPath && path != "" && len(end) >= 2 || slices.Contains(linkEndings(), end)) {
			return true
		}
	}
	return false
}

// linkEndings are the ends of host names that scammers use most.
func linkEndings() []string {
	return []string{"com", "net", "org", "io", "app", "xyz", "fi", "finance", "dev", "site", "online", "top", "info", "me", "link", "claim", "vip", "pro", "club", "live", "ru", "cn"}
}
