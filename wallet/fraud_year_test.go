package wallet_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"purser/wallet"
)

// maxWarned is the share of ordinary payments, in hundredths of a percent, that may need more than a tap.
const maxWarned = 200

// payer is somebody with an ordinary life: a salary, rent, friends, shops, an exchange, and now and then somebody new.
type payer struct {
	*rand.Rand
	facts  wallet.RuleInput // what their wallet knows of them
	cash   uint64           // micro-dollars
	salary uint64           // a month
	names  uint64           // of addresses so far
	id     uint64
	past   []wallet.PastPayment
	signed bool // has opened a signing link before

	landlord, exchange wallet.Address
	friends, shops     []wallet.Address
}

const dollar = uint64(1_000_000)

// usdc is the money of the year: a listed token with a known price.
var usdc = wallet.Token{Symbol: "USDC", Mint: wallet.Address{7}, Decimals: 6, Program: wallet.TokenProgram}

func newPayer(id uint64) *payer {
	p := &payer{Rand: rand.New(rand.NewPCG(2026, id)), id: id}
	p.salary = (800 + p.Uint64N(7_200)) * dollar
	p.cash = p.salary / 2
	p.landlord, p.exchange = p.somebody(), p.somebody()
	own := p.somebody()
	p.facts = wallet.RuleInput{Pays: true, Person: true, Channel: wallet.ChannelChat, Large: wallet.USD(wallet.DefaultLarge * dollar), Own: []wallet.Address{own}, LocalHour: -1}
	// Every fifth person moved their threshold; few save everybody as a contact.
	if p.IntN(5) == 0 {
		p.facts.Large = wallet.USD((100 + p.Uint64N(9_900)) * dollar)
	}
	for range 3 + p.IntN(8) {
		p.friends = append(p.friends, p.somebody())
	}
	for range 4 + p.IntN(12) {
		p.shops = append(p.shops, p.somebody())
	}
	return p
}

// somebody is an address that nobody else has. The ends are spread, as those of keys are.
func (p *payer) somebody() (a wallet.Address) {
	p.names++
	for i := range a {
		a[i] = byte(p.Uint32())
	}
	return a
}

// pay judges a payment, and makes it unless it cannot be afforded. waits reports whether it needs more than a tap.
func (p *payer) pay(at time.Time, to wallet.Address, amount uint64, label, memo string) (found []wallet.Finding, paid bool) {
	if amount = max(amount, dollar/10); amount > p.cash {
		return nil, false
	}
	f := p.facts
	f.Now, f.Left, f.Value = at, p.cash-amount, wallet.Worth{USD: wallet.USD(amount)}
	f.Transaction = wallet.Transaction{Kind: wallet.Send, Owner: "u", From: p.facts.Own[0], To: to, Token: usdc, Amount: amount, Label: label, Memo: memo}
	first := slices.IndexFunc(p.past, func(past wallet.PastPayment) bool { return at.Sub(past.At) >= wallet.PastSpan })
	if first >= 0 {
		p.past = p.past[:first]
	}
	f.Recent = p.past
	if f.LocalHour >= 0 {
		f.LocalHour = at.Hour()
	}
	found = wallet.Judge(f, wallet.FraudRules())
	p.cash -= amount
	// Its link is opened at home, or seldom elsewhere: a phone's own network gives other addresses, and each is a new device to purser. The first one ever is nobody's concern.
	if elsewhere := p.IntN(5) == 0; elsewhere && p.signed {
		p.facts.NewDevice = at
	}
	p.signed = true
	p.past = append([]wallet.PastPayment{{At: at, To: to, Mint: usdc.Mint, Value: f.Value}}, p.past...)
	if !slices.Contains(p.facts.Paid, to) {
		p.facts.Paid = append(p.facts.Paid, to)
	}
	return found, true
}

// day lives one day, and hands every payment to tell.
func (p *payer) day(day time.Time, tell func([]wallet.Finding)) {
	at := func(from, hours int) time.Time { return day.Add(time.Duration(from*60+p.IntN(hours*60)) * time.Minute) }
	try := func(at time.Time, to wallet.Address, amount uint64, label, memo string) {
		if found, ok := p.pay(at, to, amount, label, memo); ok {
			tell(found)
		}
	}
	upTo := func(least, most uint64) uint64 { return least*dollar + p.Uint64N((most-least)*dollar) }
	todo := map[time.Time]func(time.Time){}
	add := func(when time.Time, do func(time.Time)) {
		for ; todo[when] != nil; when = when.Add(time.Second) {
		}
		todo[when] = do
	}
	switch day.Day() {
	case 1:
		p.cash += p.salary
		add(at(8, 2), func(t time.Time) { try(t, p.landlord, p.salary*3/10, "", "Rent "+day.Month().String()) })
	case 2 + int(p.id%20): // what is left over goes to an exchange, or comes back from it
		add(at(18, 3), func(t time.Time) { try(t, p.exchange, p.salary/10, "", "") })
	}
	for range p.IntN(3) {
		add(at(8, 13), func(t time.Time) { try(t, p.shops[p.IntN(len(p.shops))], upTo(3, 90), "", "") })
	}
	if p.IntN(6) == 0 {
		add(at(12, 11), func(t time.Time) { try(t, p.friends[p.IntN(len(p.friends))], upTo(5, 150), "", "thanks!") })
	}
	if p.IntN(14) == 0 { // somebody new: a craftsman, a seller, a friend's friend; now and then with a large bill
		amount := upTo(5, 250)
		if p.IntN(12) == 0 {
			amount = min(upTo(300, 3_000), p.salary/2)
		}
		add(at(9, 12), func(t time.Time) { try(t, p.somebody(), amount, "", "") })
	}
	if p.IntN(20) == 0 { // a shop's link, with a label
		add(at(9, 12), func(t time.Time) {
			try(t, p.somebody(), upTo(5, 120), "Café Rio", fmt.Sprintf("Order %d", p.IntN(10_000)))
		})
	}
	if p.IntN(60) == 0 { // an evening out ends late
		add(at(23, 1).Add(time.Duration(p.IntN(4))*time.Hour), func(t time.Time) { try(t, p.shops[p.IntN(len(p.shops))], upTo(10, 80), "", "") })
	}
	for _, when := range slices.SortedFunc(maps.Keys(todo), time.Time.Compare) {
		todo[when](when)
	}
}

// TestOrdinaryPeopleAreSeldomWarned lives a year of 1,000 people, and counts how many of their payments need more than a tap.
//
//	go test ./wallet -run TestOrdinaryPeopleAreSeldomWarned -v
func TestOrdinaryPeopleAreSeldomWarned(t *testing.T) {
	people, days := uint64(1_000), 365
	if testing.Short() {
		people, days = 100, 365
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var payments, warned, never int
	by := map[wallet.RuleName]int{}
	for id := range people {
		p, own := newPayer(id), 0
		if id%2 == 0 {
			p.facts.LocalHour = 0 // half of them chose a time zone
		}
		for d := range days {
			p.day(start.AddDate(0, 0, d), func(found []wallet.Finding) {
				payments++
				if wallet.Worst(found) < wallet.WarnVerdict {
					return
				}
				warned, own = warned+1, own+1
				for _, f := range found {
					if f.Verdict >= wallet.WarnVerdict {
						by[f.Rule]++
					}
				}
			})
		}
		if own == 0 {
			never++
		}
	}
	share := warned * 10_000 / payments
	t.Logf("%d of %d payments of %d people need more than a tap: %d.%02d %%; by rule %v; %d people never met one", warned, payments, people, share/100, share%100, by, never)
	if share > maxWarned {
		t.Errorf("%d.%02d %% of ordinary payments are warned of", share/100, share%100)
	}
	if payments < int(people)*300 || warned == 0 {
		t.Errorf("%d payments, %d warned of: that is no year of %d people", payments, warned, people)
	}
}
