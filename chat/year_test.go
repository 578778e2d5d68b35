// Long: one world, its model, and what compares them.

package chat_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// TestAYearOfMessages: a year of prices, payments, stakes, validators, summaries and changed settings, for three people on three continents, beside a model
// that knows nothing of the product but what the documentation says. Each message that should be sent is sent once, at its time, and no other. In
// quiet hours only what must be known is sent.
func TestAYearOfMessages(t *testing.T) {
	steps := 365 * 12
	if testing.Short() {
		steps = 40 * 12
	}
	y := newYear(t)
	for n := range steps {
		y.step(n)
	}
	for _, category := range wallet.Categories() {
		if category != wallet.CategoryNews && (y.sent[category] == 0 || y.dropped[category] == 0) && !testing.Short() {
			t.Errorf("of %s %d were sent and %d dropped: the year shows nothing of it", category, y.sent[category], y.dropped[category])
		}
	}
	if y.firsts == 0 || y.firstsAtNight == 0 {
		t.Errorf("%d firsts, %d at night: the year shows nothing of them", y.firsts, y.firstsAtNight)
	}
	t.Logf("sent %v, dropped %v, held %d, read at night %d", y.sent, y.dropped, y.heldEver, y.urgentAtNight)
}

// tick is the length of a step. Quiet hours begin and end between steps.
const tick = 2 * time.Hour

// year is the world with its model.
type year struct {
	*harness
	*rand.Rand
	begin  time.Time
	people []*reader
	price  float64 // of SOL, in dollars, to the cent
	past   []float64
	number int
	seenTo int // of harness.seen

	sent, dropped           map[wallet.Category]int
	heldEver, urgentAtNight int
	firsts, firstsAtNight   int
}

// reader is somebody as the model sees them.
type reader struct {
	name   string
	zone   *time.Location
	wants  map[wallet.Category]bool
	on     bool
	quiet  [2]int // minutes of the day; equal: none
	alerts []*watch
	held   []expected
	// The summary.
	daily       bool
	at          int       // minutes of the day
	look        time.Time // zero: none
	planned     [2]int    // at and daily when look was set
	begun, last time.Time
}

// watch is an alert.
type watch struct {
	condition wallet.AlertCondition
	level     float64
	fired     wallet.AlertSide
}

// expected is a message that is due.
type expected struct {
	category wallet.Category
	parts    map[wallet.Category]string // what it says by category, for one that several turn off in part
	text     string                     // what it says
	units    uint64                     // of a receipt
	at       time.Time                  // when it is released, of one that is held
}

func newYear(t *testing.T) *year {
	r := newHarnessIn(t, world.Options{Market: true})
	y := &year{harness: r, Rand: rand.New(rand.NewPCG(2026, 11)), begin: r.Now().Truncate(tick).Add(tick), price: 150,
		sent: map[wallet.Category]int{}, dropped: map[wallet.Category]int{}}
	for name, zone := range map[string]wallet.TimeZone{"alice": "Europe/Berlin", "bob": "America/New_York", "carol": "Asia/Tokyo"} {
		r.rich(name, 10*sol)
		p := &reader{name: name, zone: zone.Location(), wants: map[wallet.Category]bool{}, on: true, at: 9 * 60}
		for _, category := range wallet.DefaultCategories() {
			p.wants[category] = true
		}
		y.people = append(y.people, p)
		y.changes(p, func(s *wallet.Settings) { s.TimeZone = zone })
	}
	slices.SortFunc(y.people, func(a, b *reader) int { return strings.Compare(a.name, b.name) })
	return y
}

// caller is a person as operations see them.
func (y *year) caller(p *reader) handlers.Caller { return y.harness.people[p.name].Caller() }

// changes customizes somebody.
func (y *year) changes(p *reader, change func(*wallet.Settings)) {
	y.Helper()
	y.Must(y.Update(func(tx store.Tx) error {
		_, err := y.Notifications.Customize(tx, y.caller(p), change)
		return err
	}))
	y.plan(p)
}

// plan is what a change of settings does to the model's summary.
func (y *year) plan(p *reader) {
	if !p.on || !p.wants[wallet.CategorySummary] {
		p.look, p.last = time.Time{}, time.Time{} // what was known of their portfolio is deleted
		return
	}
	switch {
	case p.look.IsZero():
		p.begun = y.Now()
	case !p.look.After(y.Now()), p.planned == [2]int{p.at, map[bool]int{true: 1}[p.daily]}: // it is due, or nothing of it has changed
		return
	}
	p.planned = [2]int{p.at, map[bool]int{true: 1}[p.daily]}
	p.look = y.slotAfter(p, y.Now())
}

// slotAfter is the next time at which somebody's clock shows the time of their summary.
func (y *year) slotAfter(p *reader, now time.Time) time.Time {
	here := now.In(p.zone)
	for day := 0; ; day++ {
		if slot := time.Date(here.Year(), here.Month(), here.Day()+day, 0, p.at, 0, 0, p.zone); slot.After(now) {
			return slot
		}
	}
}

// isQuiet tells whether it is quiet for somebody, and until when.
func (p *reader) isQuiet(now time.Time) (until time.Time, quiet bool) {
	if p.quiet[0] == p.quiet[1] {
		return until, false
	}
	inside := func(at time.Time) bool {
		m := at.In(p.zone).Hour()*60 + at.In(p.zone).Minute()
		if p.quiet[0] < p.quiet[1] {
			return m >= p.quiet[0] && m < p.quiet[1]
		}
		return m >= p.quiet[0] || m < p.quiet[1]
	}
	if !inside(now) {
		return until, false
	}
	for until = now.Truncate(time.Minute); inside(until); until = until.Add(time.Minute) { // as somebody would who looks at their clock
	}
	return until, true
}

// step lets two hours pass and things happen, and compares what was sent.
func (y *year) step(n int) {
	y.Helper()
	y.Pass(y.begin.Add(time.Duration(n) * tick).Sub(y.Now()))
	now := y.Now()
	due := map[*reader][]expected{}
	y.moves()
	for _, p := range y.people {
		due[p] = append(y.released(p, now), y.alerted(p)...)
		due[p] = append(due[p], y.summed(p, now)...)
	}
	y.Must(y.Market.Sample(y.Context()))
	y.held()
	y.summaries()
	y.settle()
	y.compare(now, due)
	for _, p := range y.people {
		y.pays(p)
	}
	for _, p := range y.people {
		due[p] = y.happens(p)
	}
	y.settle()
	y.compare(now, due)
	for _, p := range y.people {
		y.chooses(p)
	}
}

// moves changes the price of SOL, to the cent.
func (y *year) moves() {
	y.price = float64(int(100*min(max(y.price*(1+(y.Float64()-0.5)*0.06), 60), 280))) / 100
	y.past = append(y.past, y.price)
	y.Must(y.Exchange.Set("SOL", fmt.Sprintf("%.2f", y.price)))
}

// alerted are the alerts of somebody that fire at the present price.
func (y *year) alerted(p *reader) (due []expected) {
	for _, w := range p.alerts {
		switch {
		case w.condition == wallet.AlertAbove && w.fired == wallet.AlertArmed && y.price >= w.level:
			w.fired = wallet.FiredUp
			due = append(due, expected{category: wallet.CategoryAlert, text: fmt.Sprintf("%v", w.level)})
		case w.condition == wallet.AlertAbove && w.fired != wallet.AlertArmed && y.price <= w.level*0.99+1e-9:
			w.fired = wallet.AlertArmed
		case w.condition == wallet.AlertBelow && w.fired == wallet.AlertArmed && y.price <= w.level:
			w.fired = wallet.FiredDown
			due = append(due, expected{category: wallet.CategoryAlert, text: fmt.Sprintf("%v", w.level)})
		case w.condition == wallet.AlertBelow && w.fired != wallet.AlertArmed && y.price >= w.level*1.01-1e-9:
			w.fired = wallet.AlertArmed
		case w.condition == wallet.AlertMoves && len(y.past) > 12:
			now, before := int(math.Round(y.price*100)), int(math.Round(y.past[len(y.past)-13]*100))
			change := float64((now-before)*10_000/before) / 100 // alerts compare whole hundredths of a percent
			if w.fired == wallet.FiredUp && change <= w.level/2 || w.fired == wallet.FiredDown && change >= -w.level/2 {
				w.fired = wallet.AlertArmed
			}
			if w.fired == wallet.AlertArmed && (change >= w.level || change <= -w.level) {
				w.fired = map[bool]wallet.AlertSide{true: wallet.FiredUp, false: wallet.FiredDown}[change > 0]
				due = append(due, expected{category: wallet.CategoryMove, text: "within 24 hours"})
			}
		}
	}
	return y.sentNow(p, due, true)
}

// sentNow keeps what is to be sent now, of what has happened to somebody, and holds what waits. What they want counts when it is sent.
func (y *year) sentNow(p *reader, all []expected, waits bool) (now []expected) {
	for _, e := range all {
		if until, quiet := p.isQuiet(y.Now()); quiet && waits {
			e.at = until
			p.held = append(p.held, e)
			y.heldEver++
			continue
		}
		if !y.wanted(p, &e) {
			continue
		}
		y.sent[e.category]++
		now = append(now, e)
	}
	return now
}

// wanted tells whether somebody wants a message, and leaves out of it what they do not.
func (y *year) wanted(p *reader, e *expected) bool {
	if e.parts != nil {
		text, first := "", wallet.Category("")
		for _, category := range []wallet.Category{wallet.CategoryStatus, wallet.CategoryCooldown, wallet.CategoryReward} {
			switch {
			case e.parts[category] == "":
			case p.on && p.wants[category]:
				text += e.parts[category] + "\n"
				first = category
				y.sent[category]++
			default:
				y.dropped[category]++
			}
		}
		e.text, e.category = strings.TrimSuffix(text, "\n"), first
		return text != ""
	}
	if e.category != "" && (!p.on || !p.wants[e.category]) {
		y.dropped[e.category]++
		return false
	}
	return true
}

// released is what was held for somebody and comes now. What they have turned off since is dropped.
func (y *year) released(p *reader, now time.Time) (out []expected) {
	if len(p.held) == 0 || p.held[0].at.After(now) {
		return nil
	}
	if until, quiet := p.isQuiet(now); quiet { // their hours were changed
		p.held[0].at = until
		return nil
	}
	for _, e := range p.held {
		if y.wanted(p, &e) {
			y.sent[e.category]++
			out = append(out, e)
		}
	}
	p.held = nil
	return out
}

// summed is somebody's summary, if it is due.
func (y *year) summed(p *reader, now time.Time) []expected {
	if p.look.IsZero() || p.look.After(now) {
		return nil
	}
	if until, quiet := p.isQuiet(now); quiet {
		p.look = until
		return nil
	}
	p.look = y.slotAfter(p, now)
	last := p.last
	if last.IsZero() {
		last = p.begun
	}
	for day := 0; day < 8; day++ {
		slot := y.slotAfter(p, now.AddDate(0, 0, -day-1))
		if slot.After(now) || !p.daily && slot.In(p.zone).Weekday() != time.Monday {
			continue
		}
		if !slot.After(last) || !p.last.IsZero() && now.Sub(last) < 18*time.Hour {
			y.dropped[wallet.CategorySummary]++
			return nil
		}
		p.last = now
		y.sent[wallet.CategorySummary]++
		return []expected{{category: wallet.CategorySummary, text: "Your portfolio"}}
	}
	return nil
}

// happens lets payments, stakes and validators come to somebody. It returns what they are to be told.
func (y *year) happens(p *reader) (due []expected) {
	y.number++
	switch y.IntN(24) {
	case 0, 1: // one to three payments at once
		for range 1 + y.IntN(3) {
			y.number++
			units := uint64(y.number)*1000 + sol/100
			y.received(p.name, y.number, wallet.SOL, units, false)
			due = append(due, expected{category: wallet.CategoryReceived, units: units, text: wallet.Lamports(units).String() + " SOL"})
		}
		return y.sentNow(p, due, true)
	case 2: // a large one
		units := uint64(y.number)*1000 + 1000*sol
		y.received(p.name, y.number, wallet.SOL, units, false)
		e := expected{category: wallet.CategoryReceived, units: units, text: wallet.Lamports(units).String() + " SOL"}
		if !p.on || !p.wants[wallet.CategoryLarge] {
			y.dropped[wallet.CategoryLarge]++
			return y.sentNow(p, []expected{e}, true)
		}
		if _, quiet := p.isQuiet(y.Now()); quiet {
			y.urgentAtNight++
		}
		y.sent[wallet.CategoryLarge]++
		e.category, e.units = wallet.CategoryLarge, 0
		return []expected{e}
	case 3:
		return y.sentNow(p, []expected{{parts: y.staked(p)}}, true)
	case 4:
		raised := wallet.ValidatorsChangedData{WalletAddress: y.harness.people[p.name].Address(),
			Changes: []wallet.ValidatorChange{{Kind: wallet.CommissionRaised, Vote: wallet.Address{1}, Name: "Dune", From: 500, To: uint64(600 + y.number%9000)}}}
		y.told(p, wallet.ValidatorsChanged, raised)
		return y.sentNow(p, []expected{{category: wallet.CategoryValidator, text: "raised its commission"}}, true)
	case 5:
		if y.IntN(3) == 0 {
			return y.first(p)
		}
	}
	return nil
}

// first lets a key of somebody be used from an address that was not seen before, and once more from the same. They are told once, whatever they have turned off, and also in quiet hours.
func (y *year) first(p *reader) []expected {
	y.Helper()
	key := wallet.Key{ID: fmt.Sprint("key_", p.name, y.number), Owner: y.userOf(p.name), Kind: wallet.APIKey, Hint: "abcd"} // of its own: no bound of a day is met
	address := fmt.Sprintf("203.0.%d.%d", y.number/256%256, y.number%256)
	for range 2 {
		y.Must(y.Security.UsedKey(y.Context(), key, address))
	}
	if _, quiet := p.isQuiet(y.Now()); quiet {
		y.urgentAtNight++
		y.firstsAtNight++
	}
	y.firsts++
	return []expected{{text: "Address: " + address}}
}

// told notifies somebody of an internal event, as the watcher does.
func (y *year) told(p *reader, name wallet.EventName, data any) {
	y.Helper()
	event, err := wallet.NewEvent(y.NewID("evt"), name, y.Now(), y.userOf(p.name), data)
	y.Must(err)
	y.Must(y.Update(func(tx store.Tx) error { return store.NotifyOwner(tx, event) }))
}

// staked tells somebody of stakes that changed, and returns what each category has of it.
func (y *year) staked(p *reader) map[wallet.Category]string {
	parts := map[wallet.Category]string{}
	data := wallet.StakesChangedData{WalletAddress: y.harness.people[p.name].Address()}
	units := uint64(y.number)*1000 + sol
	if y.IntN(2) == 0 {
		data.Active = []wallet.StakeNews{{Lamports: units, Voter: wallet.Address{1}}}
		parts[wallet.CategoryStatus] = wallet.Lamports(units).String() + " SOL</b> with"
	}
	if y.IntN(2) == 0 {
		data.Inactive = []wallet.StakeNews{{Lamports: units + 1, Voter: wallet.Address{1}}}
		parts[wallet.CategoryCooldown] = wallet.Lamports(units+1).String() + " SOL</b> has cooled down"
	}
	if len(parts) == 0 || y.IntN(2) == 0 {
		data.Rewards = []wallet.EpochRewards{{Epoch: uint64(y.number), Lamports: 5}}
		parts[wallet.CategoryReward] = fmt.Sprintf("Rewards of epoch %d:", y.number)
	}
	y.told(p, wallet.StakesChanged, data)
	return parts
}

// pays lets somebody pay now and then. A question to confirm always comes; whether the end is a message is their choice.
func (y *year) pays(p *reader) {
	y.Helper()
	if y.IntN(80) > 0 {
		return
	}
	person := y.harness.people[p.name]
	y.proposes(p.name, "0.001", y.Stranger().String())
	y.compare(y.Now(), map[*reader][]expected{p: {{text: "Send 0.001 SOL?"}}})
	row := y.newest(p.name)
	row, err := y.Confirm(person.Caller(), row.ID)
	y.Must(err)
	_, err = y.HandIn(person.Person, row.SignID, y.Issue(row.SignID))
	y.Must(err)
	ends, category, text := wallet.Landed, wallet.CategoryConfirmed, "Sent 0.001 SOL"
	if y.IntN(2) == 0 {
		ends, category, text = wallet.FailedOnChain, wallet.CategoryFailed, "Not sent: 0.001 SOL"
	}
	y.network(p.name, ends)
	var due []expected
	_, quiet := p.isQuiet(y.Now())
	switch {
	case !p.on || !p.wants[category], category == wallet.CategoryConfirmed && quiet: // the card says it
		y.dropped[category]++
	default:
		y.sent[category]++
		due = append(due, expected{text: text})
		if quiet {
			y.urgentAtNight++
		}
	}
	y.compare(y.Now(), map[*reader][]expected{p: due})
}

// chooses lets somebody change a setting now and then.
func (y *year) chooses(p *reader) {
	y.Helper()
	categories := slices.DeleteFunc(wallet.Categories(), func(c wallet.Category) bool { return c == wallet.CategoryNews })
	switch y.IntN(100) {
	case 0, 1, 2:
		category := categories[y.IntN(len(categories))]
		on := !p.wants[category]
		y.Must(y.Update(func(tx store.Tx) error { return y.Notifications.Switch(tx, y.caller(p), category, on) }))
		p.wants[category], p.on = on, p.on || on
	case 3:
		on := y.IntN(3) > 0
		y.Must(y.Update(func(tx store.Tx) error { return y.Notifications.Turn(tx, y.caller(p), on) }))
		p.on = on
	case 4: // by name, as the API does
		p.on, p.wants = true, map[wallet.Category]bool{}
		var names []string
		for _, category := range categories {
			if y.IntN(2) == 0 {
				names = append(names, string(category))
				p.wants[category] = true
			}
		}
		y.Must(y.Update(func(tx store.Tx) error {
			_, err := y.Notifications.Set(tx, y.caller(p), true, names)
			return err
		}))
	case 5:
		was, _ := p.isQuiet(y.Now())
		p.quiet = [][2]int{{0, 0}, {22*60 + 30, 7*60 + 30}, {23*60 + 30, 5*60 + 30}, {12*60 + 30, 15*60 + 30}}[y.IntN(4)]
		if until, _ := p.isQuiet(y.Now()); !until.Equal(was) { // what is held comes when it is quiet no more
			for i := range p.held {
				p.held[i].at = until
			}
		}
		y.changes(p, func(s *wallet.Settings) {
			if s.Quiet = nil; p.quiet[0] != p.quiet[1] {
				s.Quiet = &wallet.QuietHours{From: wallet.TimeOfDay(p.quiet[0]), To: wallet.TimeOfDay(p.quiet[1])}
			}
		})
	case 6:
		p.daily, p.at = y.IntN(2) == 0, []int{7*60 + 15, 9 * 60, 21*60 + 45}[y.IntN(3)]
		y.changes(p, func(s *wallet.Settings) {
			at := wallet.TimeOfDay(p.at)
			s.Summary = wallet.SummaryPlan{Daily: p.daily, At: &at}
		})
	case 7, 8:
		y.sets(p)
	default:
		return
	}
	y.plan(p)
}

// sets lets somebody set an alert, near the present price and of a level that no other has.
func (y *year) sets(p *reader) {
	y.Helper()
	if len(p.alerts) == 8 {
		return
	}
	y.number++
	w := &watch{condition: []wallet.AlertCondition{wallet.AlertAbove, wallet.AlertBelow, wallet.AlertMoves}[y.IntN(3)]}
	req := handlers.AlertRequest{Token: wallet.SOL, Condition: w.condition}
	if w.condition == wallet.AlertMoves {
		for _, other := range p.alerts {
			if other.condition == wallet.AlertMoves {
				return
			}
		}
		w.level = 5
		req.Change, req.Span = 500, 24*time.Hour
	} else {
		w.level = float64(int(y.price)) + float64(1+y.number%9)*float64(1-2*y.IntN(2)) + 0.5 + float64(y.number%400)/1000
		req.Price = wallet.MustPrice(fmt.Sprintf("%v", w.level))
	}
	switch {
	case w.condition == wallet.AlertAbove && y.price >= w.level:
		w.fired = wallet.FiredUp
	case w.condition == wallet.AlertBelow && y.price <= w.level:
		w.fired = wallet.FiredDown
	}
	var alert wallet.Alert
	y.Must(y.Update(func(tx store.Tx) (err error) {
		alert, _, err = y.Alerts.Set(tx, y.caller(p), req)
		return err
	}))
	if w.condition == wallet.AlertMoves { // it may begin on a side, if the change is known already
		w.fired = alert.Fired
	} else if alert.Fired != w.fired {
		y.Errorf("the alert %s %v at %v begins as %q", w.condition, w.level, y.price, alert.Fired)
	}
	p.alerts = append(p.alerts, w)
}

// compare finds each message that is due among those that were sent since the last time, and no other. Receipts that are due together are one.
func (y *year) compare(now time.Time, due map[*reader][]expected) {
	y.Helper()
	got := map[string][]string{}
	for _, text := range y.seen[y.seenTo:] {
		who, said, _ := strings.Cut(strings.TrimSpace(text), " < ")
		if strings.HasPrefix(said, "edit ") || strings.HasPrefix(said, "toast") {
			continue
		}
		got[who] = append(got[who], said)
	}
	y.seenTo = len(y.seen)
	for _, p := range y.people {
		for _, e := range together(due[p]) {
			at := slices.IndexFunc(got[p.name], func(said string) bool {
				return !slices.ContainsFunc(strings.Split(e.text, "\n"), func(part string) bool { return !strings.Contains(said, part) })
			})
			if at < 0 {
				y.Fatalf("%s: %s was not told %q (%s); told %q; %+v", now, p.name, e.text, e.category, got[p.name], p)
			}
			got[p.name] = slices.Delete(got[p.name], at, at+1)
		}
		if len(got[p.name]) > 0 {
			y.Fatalf("%s: %s was told %q beside what was due: %+v; %+v", now, p.name, got[p.name], due[p], p)
		}
	}
}

// together is a list in which receipts are one message.
func together(all []expected) (out []expected) {
	sum, count := uint64(0), 0
	for _, e := range all {
		if e.units == 0 {
			out = append(out, e)
			continue
		}
		sum += e.units
		count++
	}
	if count > 0 {
		out = append(out, expected{category: wallet.CategoryReceived, text: wallet.Lamports(sum).String() + " SOL"})
	}
	return out
}
