package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// scene is one proposal of a scenario, in three ways: Alice's chat, her own key, and an app that she allowed to propose.
type scene struct {
	*harness
	to     wallet.Address // who is paid; a stranger unless the scenario says otherwise
	amount string         // "5" unless the scenario says otherwise
	token  string         // "USDC" unless the scenario says otherwise
	label  string
	memo   string
}

// scenario is a situation, and what the rules find in it, as "rule:verdict" in their order.
type scenario struct {
	name  string
	setUp func(*scene)
	chat  string
	key   string // what an own key's proposal has in addition
	app   string // what an app's proposal has in addition, instead of key
}

func amount(text string) func(*scene) { return func(s *scene) { s.amount = text } }

func (s *scene) put(write func(store.Tx) error) { s.Helper(); s.Must(s.Update(write)) }

func (s *scene) contact(name string, a wallet.Address) {
	s.put(func(tx store.Tx) error {
		return tx.PutContact(wallet.Contact{Owner: s.alice.User.ID, Name: name, Address: a, AddedAt: s.Now()})
	})
}

// paid records a payment of Alice's that landed.
func (s *scene) paid(to wallet.Address, amount, symbol string, ago time.Duration) {
	token := wallet.Token{Mint: s.Stranger(), Decimals: 6, Program: wallet.TokenProgram} // unlisted
	if listed, ok := s.Tokens.BySymbol(symbol); ok {
		token = listed
	}
	d, err := wallet.ParseDecimal(amount)
	s.Must(err)
	units, err := d.In(token.Decimals)
	s.Must(err)
	at := s.Now().Add(-ago)
	s.put(func(tx store.Tx) error {
		return tx.CreateTransaction(wallet.Transaction{ID: wallet.TransactionID(s.NewID("tx")), Kind: wallet.Send, Status: wallet.Confirmed, Owner: s.alice.User.ID,
			Chat: s.alice.TelegramID, From: s.alice.Address(), To: to, Token: token, Amount: units.Units, CreatedAt: at, ConfirmedAt: at, EndedAt: at, Closed: true,
			Reference: s.Stranger(), Landing: &wallet.Landing{Finalized: true}})
	})
}

func (s *scene) settings(change func(*wallet.Settings)) {
	s.put(func(tx store.Tx) error {
		user, err := tx.User(s.alice.User.ID)
		if err != nil {
			return err
		}
		change(&user.Settings)
		return tx.PutUser(user)
	})
}

func (s *scene) planted(a wallet.Address) {
	s.put(func(tx store.Tx) error {
		return tx.PutPlantedSender(s.alice.User.ID, a, s.Now().Add(wallet.PlantedFor))
	})
}

// usual makes the recipient somebody whom Alice paid long ago.
func usual(then func(*scene)) func(*scene) {
	return func(s *scene) {
		s.paid(s.to, "1", "SOL", 200*24*time.Hour)
		then(s)
	}
}

// friend makes the recipient a contact.
func friend(then func(*scene)) func(*scene) {
	return func(s *scene) {
		s.contact("Friend", s.to)
		then(s)
	}
}

func same(*scene) {}

func recipientScenarios() []scenario {
	like := func(known func(*scene) wallet.Address, front, back int) func(*scene) {
		return func(s *scene) { s.to = world.Resembling(s, known(s), front, back) }
	}
	contact := func(s *scene) wallet.Address { s.contact("Bob", s.bob.Address()); return s.bob.Address() }
	return []scenario{
		{name: "a payment to somebody paid before", setUp: usual(same)},
		{name: "a first payment to a contact", setUp: friend(same)},
		{name: "to an own wallet", setUp: func(s *scene) {
			s.put(func(tx store.Tx) error {
				return tx.PutWallet(wallet.Wallet{Address: s.to, Owner: s.alice.User.ID, Type: wallet.PageWallet, ConnectedAt: s.Now()})
			})
		}},
		{name: "a small first payment", setUp: same, chat: "new_recipient:note"},
		{name: "just below large", setUp: amount("999.99"), chat: "new_recipient:note"},
		{name: "large", setUp: amount("1000"), chat: "large_first_payment:warn", key: "app_amount:note", app: "app_amount:warn"},
		{name: "just below very large", setUp: amount("9999.99"), chat: "large_first_payment:warn", key: "app_amount:note", app: "app_amount:warn"},
		{name: "very large", setUp: amount("10000"), chat: "large_first_payment:delay", key: "app_amount:note", app: "app_amount:warn"},
		{name: "very large to a contact", setUp: friend(amount("10000")), key: "app_amount:note", app: "app_amount:warn"},
		{name: "large to somebody paid before", setUp: usual(amount("5000")), key: "app_amount:note", app: "app_amount:warn"},
		{name: "large for somebody careful", setUp: func(s *scene) {
			s.settings(func(set *wallet.Settings) { set.LargeFrom = 100 })
			s.amount = "100"
		}, chat: "large_first_payment:warn", key: "app_amount:note", app: "app_amount:warn"},
		{name: "not large for somebody rich", setUp: func(s *scene) {
			s.settings(func(set *wallet.Settings) { set.LargeFrom = 50_000 })
			s.amount = "20000"
		}, chat: "new_recipient:note"},
		{name: "large in dollars, and not in the currency that the person chose it in", setUp: func(s *scene) {
			s.settings(func(set *wallet.Settings) { set.LargeFrom, set.LargeIn, set.Currency = 1000, "EUR", "JPY" })
			s.put(func(tx store.Tx) error {
				return tx.SaveRates([]wallet.Rate{{Currency: "EUR", PerDollar: wallet.MustPrice("0.5"), At: s.Now(), Source: "test"}})
			})
			s.amount = "1500"
		}, chat: "new_recipient:note"},
		{name: "a price that is too old", setUp: func(s *scene) { s.Pass(20 * time.Minute); s.amount = "5000" }, chat: "new_recipient:note"},
		{name: "a lookalike of a contact", setUp: like(contact, 4, 4), chat: "address_poisoning:warn"},
		{name: "a lookalike of somebody paid", setUp: like(func(s *scene) wallet.Address { s.paid(s.bob.Address(), "1", "SOL", time.Hour); return s.bob.Address() }, 5, 3), chat: "address_poisoning:warn"},
		{name: "a lookalike of an own wallet", setUp: like(func(s *scene) wallet.Address { return s.alice.Address() }, 4, 5), chat: "address_poisoning:warn"},
		{name: "a lookalike gets much", setUp: func(s *scene) { like(contact, 4, 4)(s); s.amount = "2000" },
			chat: "address_poisoning:warn large_first_payment:warn", key: "app_amount:note", app: "app_amount:warn"},
		{name: "a faint likeness", setUp: like(contact, 3, 3), chat: "new_recipient:note"},
		{name: "a blocked address", setUp: func(s *scene) { s.Blocked.Replace([]wallet.Address{s.to}) }, chat: "listed_address:refuse"},
		{name: "a blocked contact", setUp: friend(func(s *scene) { s.Blocked.Replace([]wallet.Address{s.Stranger(), s.to}) }), chat: "listed_address:refuse"},
		{name: "an address that is blocked no longer", setUp: func(s *scene) { s.Blocked.Replace([]wallet.Address{s.to}); s.Blocked.Replace(nil) }, chat: "new_recipient:note"},
		{name: "the sender of planted dust", setUp: func(s *scene) { s.planted(s.to) }, chat: "planted_sender:warn"},
		{name: "a contact who sent dust", setUp: friend(func(s *scene) { s.planted(s.to) })},
		{name: "somebody who sent dust and money", setUp: func(s *scene) {
			s.planted(s.to)
			s.put(func(tx store.Tx) error {
				return tx.CreateTransaction(wallet.Transaction{ID: "tx_in", Kind: wallet.Receive, Status: wallet.Received, Owner: s.alice.User.ID, From: s.to,
					To: s.alice.Address(), Token: wallet.SOL, Amount: sol, CreatedAt: s.Now(), Closed: true})
			})
		}, chat: "new_recipient:note"},
		{name: "dust of long ago", setUp: func(s *scene) {
			s.put(func(tx store.Tx) error {
				return tx.PutPlantedSender(s.alice.User.ID, s.Stranger(), s.Now().Add(wallet.PlantedFor))
			})
		}, chat: "new_recipient:note"},
	}
}

func patternScenarios() []scenario {
	hour := 10 * time.Minute
	spent := func(days ...string) func(*scene) { // two payments today to the same, and those of other days
		return func(s *scene) {
			s.paid(s.to, "600", "USDC", 2*time.Hour)
			s.paid(s.to, "600", "USDC", 3*time.Hour)
			for i, a := range days {
				s.paid(s.to, a, "USDC", time.Duration(i+3)*24*time.Hour)
			}
			s.amount = "600"
		}
	}
	times := func(n int, ago time.Duration) func(*scene) {
		return func(s *scene) {
			for range n {
				s.paid(s.to, "1", "USDC", ago)
			}
		}
	}
	tokens := func(ago time.Duration, symbols ...string) func(*scene) {
		return func(s *scene) {
			for _, symbol := range symbols {
				s.paid(s.to, "0.1", symbol, ago)
			}
		}
	}
	devices := func(amount string, ago ...time.Duration) func(*scene) { // when links were opened on devices that were new then
		return func(s *scene) {
			s.amount = amount
			for i, d := range ago {
				s.put(func(tx store.Tx) error {
					_, _, err := store.NoteSeen(tx, s.alice.User.ID, "devices", fmt.Sprint("device ", i), s.Now().Add(-d), wallet.SeenDevices)
					return err
				})
			}
		}
	}
	at := func(zone wallet.TimeZone, amount string) func(*scene) {
		return func(s *scene) {
			s.settings(func(set *wallet.Settings) { set.TimeZone = zone })
			s.amount = amount
		}
	}
	return []scenario{
		{name: "nearly all SOL", setUp: func(s *scene) { s.amount, s.token = "9.2", "SOL" }, chat: "drain:warn"},
		{name: "most SOL", setUp: func(s *scene) { s.amount, s.token = "8.9", "SOL" }, chat: "new_recipient:note"},
		{name: "nearly all SOL to a contact", setUp: friend(func(s *scene) { s.amount, s.token = "9.2", "SOL" })},
		{name: "nearly all SOL to somebody paid before", setUp: usual(func(s *scene) { s.amount, s.token = "9.2", "SOL" })},
		{name: "nearly all SOL without a price", setUp: func(s *scene) { s.Pass(time.Hour); s.amount, s.token = "9.2", "SOL" }, chat: "drain:warn"},
		{name: "all of a large token", setUp: amount("100000"), chat: "large_first_payment:delay drain:warn", key: "app_amount:note", app: "app_amount:warn"},
		{name: "all of next to nothing", setUp: func(s *scene) {
			s.Pass(time.Second)
			s.savePrices(wallet.TokenPrice{Mint: s.usdc().Mint, Price: wallet.MustPrice("0.00049"), At: s.Now(), Source: "test"})
			s.amount = "100000"
		}, chat: "new_recipient:note"},
		{name: "a fourth token within an hour", setUp: tokens(hour, "SOL", "FEE", "other"), chat: "many_tokens:warn"},
		{name: "a third token within an hour", setUp: tokens(hour, "SOL", "other")},
		{name: "four tokens in a day", setUp: tokens(2*time.Hour, "SOL", "FEE", "other")},
		{name: "four tokens, three of them to a contact", setUp: func(s *scene) {
			to := s.to
			s.to = s.bob.Address()
			friend(tokens(hour, "SOL", "FEE", "other"))(s)
			s.to = to
		}, chat: "new_recipient:note"},
		{name: "four tokens to a contact", setUp: friend(tokens(hour, "SOL", "FEE", "other"))},
		{name: "the eleventh payment within an hour", setUp: times(10, hour), chat: "many_payments:warn"},
		{name: "the tenth payment within an hour", setUp: times(9, hour)},
		{name: "eleven payments, as often before", setUp: func(s *scene) { times(10, hour)(s); times(4, 50*time.Hour)(s) }},
		{name: "eleven payments, fewer before", setUp: func(s *scene) { times(10, hour)(s); times(3, 50*time.Hour)(s) }, chat: "many_payments:warn"},
		{name: "eleven payments long ago", setUp: times(11, 31*24*time.Hour)},
		{name: "more within a day than ever", setUp: spent(), chat: "high_spending:warn"},
		{name: "as much within a day as before", setUp: spent("700")},
		{name: "three times as much as before", setUp: spent("600"), chat: "high_spending:warn"},
		{name: "much in two payments", setUp: func(s *scene) { s.paid(s.to, "900", "USDC", time.Hour); s.amount = "900" }},
		{name: "large at night", setUp: usual(at("Etc/GMT+10", "1000")), chat: "night:warn", key: "app_amount:note", app: "app_amount:warn"},
		{name: "large at night to a contact", setUp: friend(at("Etc/GMT+10", "1000")), key: "app_amount:note", app: "app_amount:warn"},
		{name: "small at night", setUp: usual(at("Etc/GMT+10", "999"))},
		{name: "large at five in the morning", setUp: usual(at("Etc/GMT+7", "1000")), key: "app_amount:note", app: "app_amount:warn"},
		{name: "large without a time zone", setUp: usual(at("", "1000")), key: "app_amount:note", app: "app_amount:warn"},
		{name: "large after a link was opened on a new device", setUp: usual(devices("1000", 48*time.Hour, 23*time.Hour)), chat: "new_device:warn", key: "app_amount:note", app: "app_amount:warn"},
		{name: "large to a contact after a link was opened on a new device", setUp: friend(devices("1000", 48*time.Hour, time.Hour)), chat: "new_device:warn", key: "app_amount:note", app: "app_amount:warn"},
		{name: "less after a link was opened on a new device", setUp: usual(devices("999", 48*time.Hour, time.Hour))},
		{name: "large on the first device", setUp: usual(devices("1000", time.Hour)), key: "app_amount:note", app: "app_amount:warn"},
		{name: "large a day after the newest device", setUp: usual(devices("1000", 48*time.Hour, 24*time.Hour)), key: "app_amount:note", app: "app_amount:warn"},
		{name: "a request that names a contact", setUp: func(s *scene) { s.contact("Bob", s.bob.Address()); s.label = "B0b" }, chat: "new_recipient:note impersonation:warn"},
		{name: "a request of the contact", setUp: friend(func(s *scene) { s.label = "Friend" })},
		{name: "a request in the name of an exchange", setUp: func(s *scene) { s.label = "Bіnance refunds" }, chat: "new_recipient:note impersonation:warn"},
		{name: "an exchange that was paid before", setUp: usual(func(s *scene) { s.label = "Binance" })},
		{name: "a request with an ordinary name", setUp: func(s *scene) { s.label = "Table 4" }, chat: "new_recipient:note"},
		{name: "one of two contacts that look alike", setUp: func(s *scene) {
			s.contact("Bob", s.bob.Address())
			s.contact("Boß", s.Stranger())
			s.contact("B0b", s.to)
		}, chat: "similar_contact:warn"},
		{name: "the contact that was paid before", setUp: usual(func(s *scene) { s.contact("Bob", s.bob.Address()); s.contact("B0b", s.to) })},
		{name: "a request with a link", setUp: func(s *scene) { s.label = "claim at prize.xyz/now" }, chat: "new_recipient:note link_in_text:warn"},
		{name: "a note with a link to a contact", setUp: friend(func(s *scene) { s.memo = "see https://example.org" }), chat: "link_in_text:note"},
		{name: "a note without a link", setUp: usual(func(s *scene) { s.memo = "No. 12.50, thanks. Bye" })},
	}
}

// delegateScenarios are about who else may spend from the token account that is paid from, or into.
func delegateScenarios() []scenario {
	by := func(s *scene) wallet.Address { s.Helper(); return s.Stranger() }
	// second is another wallet of Alice's, with USDC that somebody else may spend.
	second := func(s *scene, by wallet.Address) *world.Person {
		p := &world.Person{User: s.alice.User, TelegramID: s.alice.TelegramID, Key: s.NewKey()}
		s.Fund(p.Address(), sol)
		s.FundToken(p.Address(), "USDC", 1)
		s.Approve(p, s.usdc(), by, wallet.Unlimited)
		return p
	}
	connected := func(s *scene, a wallet.Address) {
		s.put(func(tx store.Tx) error {
			return tx.PutWallet(wallet.Wallet{Address: a, Owner: s.alice.User.ID, Type: wallet.PageWallet, ConnectedAt: s.Now()})
		})
	}
	return []scenario{
		{name: "a delegate of the account that pays", setUp: usual(func(s *scene) { s.Approve(s.alice.Person, s.usdc(), by(s), 1) }), chat: "foreign_delegate:note"},
		{name: "a delegate, and somebody new", setUp: func(s *scene) { s.Approve(s.alice.Person, s.usdc(), by(s), wallet.Unlimited) }, chat: "new_recipient:note foreign_delegate:note"},
		{name: "a delegate, and much to somebody new", setUp: func(s *scene) { s.Approve(s.alice.Person, s.usdc(), by(s), 1); s.amount = "2000" },
			chat: "large_first_payment:warn foreign_delegate:note", key: "app_amount:note", app: "app_amount:warn"},
		{name: "the delegate is who is paid", setUp: usual(func(s *scene) { s.Approve(s.alice.Person, s.usdc(), s.to, 1) }), chat: "foreign_delegate:note"},
		{name: "the delegate is an own wallet", setUp: usual(func(s *scene) {
			own := by(s)
			connected(s, own)
			s.Approve(s.alice.Person, s.usdc(), own, 1)
		})},
		{name: "the owner approved herself", setUp: usual(func(s *scene) { s.Approve(s.alice.Person, s.usdc(), s.alice.Address(), wallet.Unlimited) })},
		{name: "a delegate of the account for another token", setUp: usual(func(s *scene) { s.Approve(s.alice.Person, s.usdc(), by(s), 1); s.amount, s.token = "1", "SOL" })},
		{name: "to an own wallet with a delegate", setUp: func(s *scene) { s.to = second(s, by(s)).Address(); connected(s, s.to) }, chat: "foreign_delegate:note"},
		{name: "to somebody with a delegate", setUp: usual(func(s *scene) { to := second(s, by(s)).Address(); s.paid(to, "1", "SOL", time.Hour); s.to = to })},
	}
}

// TestFraudScenarios tries every scenario through the chat, with an own key, and by an app.
func TestFraudScenarios(t *testing.T) {
	all := slices.Concat(recipientScenarios(), patternScenarios(), delegateScenarios(), limitScenarios())
	if len(all) < 40 {
		t.Fatalf("%d scenarios", len(all))
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			c.setUp(s)
			app := s.app()
			s.allows(s.alice, app)
			s.inChat(c.chat)
			s.byKey(s.alice.secret, true, strings.TrimSpace(c.chat+" "+c.key))
			s.byKey(app.secret, false, strings.TrimSpace(c.chat+" "+c.app))
		})
	}
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{harness: newHarness(t), amount: "5", token: "USDC"}
	s.to = s.Stranger()
	s.Fund(s.to, sol)
	s.FundToken(s.alice.Address(), "USDC", 100_000_000_000)
	prices := []wallet.TokenPrice{{Price: wallet.MustPrice("100"), At: s.Now(), Source: "test"}}
	prices = append(prices, wallet.TokenPrice{Mint: s.usdc().Mint, Price: wallet.MustPrice("1"), At: s.Now(), Source: "test"})
	s.savePrices(prices...)
	return s
}

// found are the findings of a transaction as a scenario writes them, without their order.
func found(t wallet.Transaction) string {
	var out []string
	for _, f := range t.Findings {
		out = append(out, string(f.Rule)+":"+f.Verdict.String())
	}
	return strings.Join(out, " ")
}

// fits compares findings without their order.
func (s *scene) fits(where string, got, want string) {
	s.Helper()
	a, b := strings.Fields(got), strings.Fields(want)
	for _, w := range b {
		if !strings.Contains(" "+got+" ", " "+w+" ") {
			s.Errorf("%s: %s is missing in %q", where, w, got)
		}
	}
	if len(a) != len(b) {
		s.Errorf("%s: found %q, want %q", where, got, want)
	}
}

// sentence is what people read of a reason.
func (s *scene) sentence(r wallet.Reason) string {
	s.Helper()
	return s.server.explainReason(r)
}

// inChat proposes it in chat. What refuses says why, what warns has no button for a thoughtless tap and is confirmed by typing.
func (s *scene) inChat(want string) {
	s.Helper()
	text := fmt.Sprintf("/send %s %s %s", s.amount, s.token, s.to)
	if s.label != "" || s.memo != "" {
		q := url.Values{"amount": {s.amount}, "spl-token": {s.usdc().Mint.String()}}
		for name, value := range map[string]string{"label": s.label, "memo": s.memo} {
			if value != "" {
				q.Set(name, value)
			}
		}
		text = "solana:" + s.to.String() + "?" + strings.ReplaceAll(q.Encode(), "+", "%20")
	}
	s.says(s.alice, text)
	t, ok := s.proposed()
	said := ""
	for _, r := range s.replies(s.alice.TelegramID) {
		said += r.Text + "\n"
	}
	if rule, refuses := strings.CutSuffix(want, ":refuse"); refuses {
		says := map[string]string{"listed_address": "has blocked the address", "limit_payment": "in one payment", "limit_day": "within 24 hours", "limit_recipients": "to pay the address"}[rule]
		if ok || says == "" || !strings.Contains(said, says) {
			s.Errorf("in chat it is proposed (%v), and said is %q", ok, said)
		}
		return
	}
	if !ok {
		s.Fatalf("nothing is proposed: %q", said)
	}
	s.fits("in chat", found(t), want)
	for _, f := range t.Findings {
		if f.Rule != wallet.RulePoisoning && !(f.Rule == wallet.RuleNewRecipient && t.Unfunded) && !strings.Contains(plainOf(said), plainOf(s.sentence(f.Reason))) {
			s.Errorf("the card does not say %q: %q", s.sentence(f.Reason), said)
		}
	}
	warns := wallet.Worst(t.Findings) >= wallet.WarnVerdict
	if offered := s.offers("Confirm"); offered == warns {
		s.Errorf("Confirm is offered: %v, with %q", offered, found(t))
	}
	if warns {
		for _, wrong := range []string{"12345678", "0"} {
			s.says(s.alice, wrong)
		}
		if now := s.Transaction(t.ID); now.Status != wallet.AwaitingConfirmation {
			s.Errorf("after something else was typed it is %s", now.Status)
		}
		s.says(s.alice, world.Typed(t))
	} else {
		s.tap(s.alice, "Confirm")
	}
	if now := s.Transaction(t.ID); now.Status == wallet.AwaitingConfirmation {
		s.Errorf("confirmed, it is %s", now.Status)
	}
	s.put(func(tx store.Tx) error { // the other doors find what this one found
		_, err := s.Transactions.Reject(tx, handlers.Caller{User: s.alice.User.ID}, t.ID)
		return err
	})
}

// plainOf leaves out markup, which a card has around addresses and names.
func plainOf(text string) string {
	return strings.NewReplacer("<code>", "", "</code>", "", "<b>", "", "</b>", "", "&#39;", "'", "&#34;", `"`).Replace(text)
}

// offers reports whether a message in Alice's chat has a button.
func (s *scene) offers(label string) bool {
	for _, r := range s.replies(s.alice.TelegramID) {
		for _, row := range r.Buttons {
			for _, b := range row {
				if b.Text == label {
					return true
				}
			}
		}
	}
	return false
}

func (s *scene) usdc() wallet.Token {
	token, _ := s.Tokens.BySymbol("USDC")
	return token
}

// proposed is what waits for Alice in chat.
func (s *scene) proposed() (t wallet.Transaction, ok bool) {
	s.View(func(tx store.Tx) error {
		open, err := handlers.OpenTransactions(tx, s.alice.User.ID)
		for _, o := range open {
			if o.Status == wallet.AwaitingConfirmation && o.KeyID == "" {
				t, ok = o, true
			}
		}
		return err
	})
	return t, ok
}

// byKey proposes it with a key. own: the key is Alice's, who sees everything; an app sees nothing of whom she knows.
func (s *scene) byKey(secret string, own bool, want string) {
	s.Helper()
	by := map[bool]string{true: "with her key", false: "by an app"}[own]
	body := fmt.Sprintf(`{"from":%q,"to":%q,"amount":%q,"token":%q`, s.alice.Address(), s.to, s.amount, s.token)
	for name, value := range map[string]string{"label": s.label, "memo": s.memo} {
		if value != "" {
			body += fmt.Sprintf(",%q:%q", name, value)
		}
	}
	body += "}"
	a := s.send(secret, body)
	if strings.HasSuffix(strings.Fields(want + " -")[0], ":refuse") {
		s.want(a, 403, wallet.PolicyViolation, "")
		reason := "rule." + strings.TrimSuffix(strings.Fields(want)[0], ":refuse")
		if !own && strings.HasPrefix(reason, "rule.limit_") {
			reason = wallet.RefusedByPrivateRule
		}
		if a.text("error", "reason") != reason || a.text("error", "arguments", "address") == "" && a.field("error", "arguments") == nil {
			s.Errorf("%s: refused with %s", by, a.body)
		}
		return
	}
	s.want(a, 202, "", "")
	t := s.Transaction(wallet.TransactionID(a.text("data", "transaction_id")))
	s.fits(by, found(t), want)
	shown := t.Findings
	if !own {
		shown = t.PublicFindings()
	}
	for where, answer := range map[string]answer{"202": a, "GET": s.get("/v1/wallet/transactions/"+string(t.ID), secret)} {
		got, _ := answer.field("data", "warnings").([]any)
		if !own && strings.Contains(string(answer.body), "delegate") {
			s.Errorf("%s: an app learns who else may spend: %s", where, answer.body)
		}
		if len(got) != len(shown) {
			s.Errorf("%s, %s: warnings %v of %q", by, where, got, found(t))
		}
		for i := range min(len(got), len(shown)) {
			if got[i] != string(shown[i].Rule) {
				s.Errorf("%s, %s: warning %v, want %s", by, where, got[i], shown[i].Rule)
			}
		}
	}
}
