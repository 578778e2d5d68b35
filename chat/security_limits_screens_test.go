package chat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/locale"
	"purser/store"
	"purser/wallet"
)

// sends is what the chat sends for something, without what it sent before.
func (r *harness) sends(does func()) string {
	r.Helper()
	r.seen = nil
	does()
	return strings.Join(r.seen, "")
}

// contains fails the test for each part that a text lacks, and for each that stands behind "not" and does not.
func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	wanted := true
	for _, part := range parts {
		if part == "not" {
			wanted = false
			continue
		}
		if strings.Contains(text, part) != wanted {
			t.Errorf("%s: %q, wanted %v, in %s", what, part, wanted, text)
		}
	}
}

// What the card says of the device.
const (
	saysUnsigned = "Not signed with this wallet yet"
	saysSigned   = "Signed with this wallet on "
	saysDropped  = "The device that signed the cancelled change may still keep it"
)

// TestTheLimitsSayWhatTheDeviceIsKnownToHave: only what signatures prove, whatever happens between.
func TestTheLimitsSayWhatTheDeviceIsKnownToHave(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 20_000_000_000)
	says := func(text string) string { return r.sends(func() { r.says("alice", text) }) }
	signs := func() { r.setsLimits("alice", r.people["alice"].Key) }
	shows := func(what string, parts ...string) {
		t.Helper()
		contains(t, what, says("/security limits"), parts...)
	}
	shows("without limits", "not", "📱", "[Set on device]")
	contains(t, "set in the chat", says("/security limits payment 1 SOL"), saysUnsigned, "[Set on device]", "not", saysSigned, saysDropped)
	r.presses("alice", "Set on device", "alice")
	r.Pass(3 * time.Minute)
	signs()
	r.Pass(2*time.Hour - 3*time.Minute)
	shows("signed", saysSigned+"21 November 2026, 12:03 UTC", "[Set on device]", "not", saysUnsigned, saysDropped)
	contains(t, "made stricter", says("/security limits day 5 SOL"), saysUnsigned, "not", saysSigned)
	says("/security limits payment 2 SOL")
	signs()
	shows("a change that waits", saysSigned+"21 November 2026, 14:00 UTC", "[Cancel change]", "not", saysUnsigned, saysDropped)
	contains(t, "cancelled", r.sends(func() { r.presses("alice", "Cancel change", "alice") }),
		"The change that was waiting is cancelled here.", saysDropped, "tap “Set on device” and sign", "[Set on device]", "not", saysSigned, saysUnsigned, "[Cancel change]")
	r.clock(25 * time.Hour)
	shows("a day later", saysDropped, "not", saysSigned)
	r.presses("alice", "Set on device", "alice")
	signs()
	shows("signed again", saysSigned+"22 November 2026, 15:00 UTC", "not", saysDropped)
	// A freeze ends a change as well.
	says("/security limits payment off")
	signs()
	says("/freeze")
	shows("frozen", saysDropped, "not", "tap “Set on device”", "[Set on device]")
	says("/unfreeze")
	r.unfreezes("alice", r.people["alice"].Key)
	shows("unfrozen", saysDropped, "[Set on device]")
	// What was signed comes into force by itself.
	says("/security limits payment off")
	signs()
	r.clock(25 * time.Hour)
	shows("in force", saysSigned, "not", saysDropped, saysUnsigned, "Limit per payment")
}

// TestFrozenLimitsShowOnlyWhatWorks and why.
func TestFrozenLimitsShowOnlyWhatWorks(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 20_000_000_000)
	second := r.people["carol"].Address()
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: second, Owner: r.userOf("alice"), Type: wallet.PageWallet, ConnectedAt: r.Now()})
	}))
	r.says("alice", "/security limits payment 1 SOL")
	r.says("alice", "/freeze")
	said := r.sends(func() { r.says("alice", "/security limits") })
	contains(t, "frozen", said, "Limit per payment: 1 SOL", "Your account is frozen, so you can't change limits now.", "/unfreeze", "not", "Stricter limits take effect at once")
	var buttons []string
	for _, b := range r.delivered[len(r.delivered)-1].Buttons {
		buttons = append(buttons, b[0].Text)
	}
	if !slices.Equal(buttons, []string{"Unfreeze", "Limits of …" + second.Tail()}) {
		t.Errorf("the buttons are %q", buttons)
	}
	contains(t, "another wallet", r.sends(func() { r.presses("alice", "Limits of …"+second.Tail(), "alice") }), "Spending limits of wallet …carol", "Your account is frozen")
	contains(t, "Unfreeze", r.sends(func() { r.presses("alice", "Unfreeze", "alice") }), "Unfreeze your account")
}

// TestTextAnswersNoOlderQuestionThanTheNewestScreen: a choice below the limits, and the limits themselves, end the question that was open.
func TestTextAnswersNoOlderQuestionThanTheNewestScreen(t *testing.T) {
	const plain = "Tap a button in the message above"
	for name, step := range map[string]struct {
		asks, shows func(r *harness)
		types       string
		answer      string
	}{
		"a limit, then the wait":       {press("One payment"), press("New recipients"), "2 SOL", plain + ", or send a wait like"},
		"a limit, then the recipients": {press("24 hours"), press("Recipients"), "SOL off", plain},
		"a limit, then the limits":     {press("One payment"), press("Back"), "2 SOL", "/send 2 SOL"},
		"a limit, then /security":      {press("One payment"), typing("/security limits"), "2 SOL", "/send 2 SOL"},
		"a payment, then the wait":     {typing("/send SOL"), press("New recipients"), "1", plain},
		"the wait, then Back":          {press("New recipients"), press("Back"), "24h", "I only understand commands"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			r.rich("alice", 20_000_000_000)
			for _, first := range []string{"payment 1 SOL", "day 3 SOL"} {
				r.says("alice", "/security limits "+first)
			}
			before := r.limitsOf("alice")
			press("Recipients")(r) // so that there is a Back
			step.asks(r)
			step.shows(r)
			contains(t, "the answer", r.sends(func() { r.says("alice", step.types) }), step.answer, "not", "Sign to allow more", "Changed, and in effect now")
			if now := r.limitsOf("alice"); !now.Current.Equal(before.Current) || r.people["alice"].link != "" {
				t.Errorf("the limits are %+v, the link %q", now, r.people["alice"].link)
			}
		})
	}
	// Within the choice, /cancel says so, a tap answers, and silence ends it without a word.
	r := newHarness(t)
	r.rich("alice", 20_000_000_000)
	r.says("alice", "/security limits")
	press("New recipients")(r)
	contains(t, "/cancel", r.sends(func() { r.says("alice", "/cancel") }), "The limits stay as they are")
	press("New recipients")(r)
	if said := r.sends(func() { r.clock(chat.AnswerTimeout) }); said != "" {
		t.Errorf("silence: %s", said)
	}
	press("New recipients")(r)
	press("3 days")(r)
	if got := r.limitsOf("alice").Current.NewRecipientWait; got != 72*time.Hour {
		t.Errorf("the wait is %s", got)
	}
	contains(t, "after it", r.sends(func() { r.says("alice", "24h") }), "I only understand commands")
}

// press and typing are steps of Alice's.
func press(label string) func(*harness) {
	return func(r *harness) { r.presses("alice", label, "alice") }
}
func typing(text string) func(*harness) { return func(r *harness) { r.says("alice", text) } }

// TestTheMessageWithALimitsLinkFollowsIt: an event that is late does not close a newer link, and each end is told once.
func TestTheMessageWithALimitsLinkFollowsIt(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 20_000_000_000)
	r.says("alice", "/security limits payment 1 SOL")
	// Signed, but the message about it waits: meanwhile there is a newer link.
	r.says("alice", "/security limits payment 2 SOL")
	r.Must(r.signsLimits(r.people["alice"].link[len("l="):], r.people["alice"].Key))
	in := r.input("alice")
	in.Text = "/security limits payment 3 SOL"
	r.Must(r.try(in))
	r.seen = nil
	r.settle()
	shown := ""
	for _, m := range r.messages[r.people["alice"].TelegramID] {
		if m.card == "limits_link" {
			shown = m.reply.Text
		}
	}
	contains(t, "a newer link", shown, "Sign to allow more", "3 SOL", "not", "Signed:", "Expired")
	contains(t, "its time is over", r.sends(func() { r.clock(wallet.PolicyWindow) }), "⌛ <b>Expired: spending limits of wallet …alice</b>")
	contains(t, "once", r.sends(func() { r.clock(time.Hour); r.says("alice", "/security limits") }), "not", "Expired", "Not signed")
	// Signed in time: its end of time says nothing more.
	r.says("alice", "/security limits payment 3 SOL")
	contains(t, "signed", r.sends(func() { r.setsLimits("alice", r.people["alice"].Key) }), "edit ✅ <b>Signed: spending limits of wallet …alice</b>", "New spending limits of wallet …alice are waiting")
	if said := r.sends(func() { r.clock(time.Hour) }); said != "" {
		t.Errorf("an hour later: %s", said)
	}
	// Cancelled while a link is open.
	r.says("alice", "/security limits payment 4 SOL")
	contains(t, "cancelled", r.sends(func() { r.acts("alice", "limitcancel:"+r.people["alice"].Address().String()) }), "🚫 <b>Not signed: spending limits of wallet …alice</b>")
	// Nothing is lost with somebody who blocked the bot.
	r.says("alice", "/security limits payment 4 SOL")
	r.Must(r.Update(func(tx store.Tx) error {
		u, err := tx.User(r.userOf("alice"))
		u.Unreachable = true
		r.Must(err)
		return tx.PutUser(u)
	}))
	if said := r.sends(func() { r.clock(time.Hour) }); said != "" {
		t.Errorf("to somebody who blocked the bot: %s", said)
	}
}

// TestNamedRecipientsAreSuggested, with the button that does it: in place of everybody, or as one more.
func TestNamedRecipientsAreSuggested(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 20_000_000_000)
	bob := r.people["bob"].Address().String()
	r.says("alice", "/contacts add anna "+r.people["carol"].Address().String())
	said := r.sends(func() { r.says("alice", "/security limits recipients "+bob+" anna") })
	contains(t, "anybody", said, "Did you mean <code>/security limits recipients only $bob anna</code>?", "nobody else can be paid from wallet …alice", "[Allow only these]")
	if r.limitsOf("alice").Current.Recipients != nil {
		t.Error("it was done without the button")
	}
	press("Allow only these")(r)
	if to := r.limitsOf("alice").Current.Recipients; to == nil || len(*to) != 2 {
		t.Errorf("the recipients are %v", to)
	}
	said = r.sends(func() {
		r.says("alice", "/limits "+r.people["alice"].Address().Tail()+" recipients "+r.people["dave"].Address().String())
	})
	contains(t, "a list", said, "recipients add $dave</code>?", "24 hours later", "[Add to the list]", "not", "nobody else")
	contains(t, "its button", r.sends(func() { press("Add to the list")(r) }), "Sign to allow more", "May pay: <code>$dave</code>")
	for _, words := range []string{"recipients perhaps", "recipients " + bob + " perhaps", "recipients", "payment " + bob} {
		contains(t, words, r.sends(func() { r.says("alice", "/security limits "+words) }), "not", "Did you mean")
	}
}

// TestARefusalByALimitLeadsToTheLimits: with a button, and with how long more takes. Other refusals have no such button.
func TestARefusalByALimitLeadsToTheLimits(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 20_000_000_000)
	for limit, pays := range map[string]string{"payment 1 SOL": "1.5 SOL", "day 1.2 SOL": "1.3 SOL"} {
		r.says("alice", "/security limits "+limit)
		contains(t, limit, r.sends(func() { r.says("alice", "/send "+pays+" "+r.people["bob"].Address().String()) }), "takes effect 24 hours later", "[Limits]")
	}
	contains(t, "[Limits]", r.sends(func() { press("Limits")(r) }), "Spending limits of wallet …alice")
	r.says("alice", "/security limits recipients only "+r.people["carol"].Address().String())
	contains(t, "recipients", r.sends(func() { r.says("alice", "/send 1 SOL "+r.people["bob"].Address().String()) }), "takes effect 24 hours later", "[Limits]")
	contains(t, "another refusal", r.sends(func() { r.says("alice", "/security limits new 999h") }), "not", "[Limits]")
	contains(t, "another payment", r.sends(func() { r.says("alice", "/send 1 SOL "+r.people["alice"].Address().String()) }), "not", "[Limits]")
}

// TestThePaymentToANewRecipientSaysItsWaitOnce, and asks for characters that are whole groups of the address above.
func TestThePaymentToANewRecipientSaysItsWaitOnce(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 50_000_000_000)
	r.rich("bob", 1_000_000_000)
	r.says("alice", "/security limits new 3d")
	r.seen = nil
	r.says("alice", "/send 1 SOL "+r.people["bob"].Address().String())
	said := r.newestCard("alice")
	to := r.people["bob"].Address()
	groups := strings.Fields(to.Grouped())
	contains(t, "the card", said, "<b>This payment waits 3 days before you can sign it.</b>", "The wait begins when you confirm",
		"To confirm, send me the eight characters after <code>"+strings.Join(groups[:4], " ")+"</code>", to.Grouped(), "not", "After you confirm", "anyway", "72")
	if n := strings.Count(said, "your spending limits make such payments wait"); n != 1 {
		t.Errorf("it says why %d times: %s", n, said)
	}
	contains(t, "the groups as they stand there", r.sends(func() { r.says("alice", groups[4]+" "+groups[5]) }), "Those are the right characters")
}

// newestCard is the text of the newest card of a transaction in somebody's chat, as it is sent.
func (r *harness) newestCard(who string) (text string) {
	r.Helper()
	for _, m := range r.messages[r.people[who].TelegramID] {
		if strings.HasPrefix(m.card, "tx:") {
			text = m.reply.Text
		}
	}
	return text
}

// TestTheLogSaysWhichLimitChangedFromWhatToWhat, and no more of them than fit, in every language.
func TestTheLogSaysWhichLimitChangedFromWhatToWhat(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 20_000_000_000)
	usdc, _ := r.Tokens.BySymbol("USDC")
	odd := r.Stranger()
	var many []wallet.Address
	for range 5 {
		many = append(many, r.Stranger())
	}
	one := many[:1]
	for _, step := range []struct {
		kind    wallet.SecurityKind
		was, is wallet.Policy
		want    string
	}{
		{wallet.LogLimitsTightened, wallet.Policy{}, wallet.Policy{Payment: []wallet.TokenLimit{{Units: 1_500_000_000}}}, "made stricter: in one payment no SOL limit → 1.5 SOL."},
		{wallet.LogLimitsTightened, wallet.Policy{Day: []wallet.TokenLimit{{Mint: usdc.Mint, Units: 250_000}}}, wallet.Policy{Day: []wallet.TokenLimit{{Mint: usdc.Mint, Units: 0}}}, "made stricter: within 24 hours 0.25 USDC → 0 USDC."},
		{wallet.LogLimitsTightened, wallet.Policy{Day: []wallet.TokenLimit{{Mint: odd, Units: 77}, {Units: 5}}}, wallet.Policy{Day: []wallet.TokenLimit{{Units: 5}}},
			"within 24 hours 77 base units of <code>…" + odd.Tail() + "</code> → no <code>…" + odd.Tail() + "</code> limit."},
		{wallet.LogLimitsTightened, wallet.Policy{}, wallet.Policy{Recipients: &[]wallet.Address{}}, "recipients anybody → nobody."},
		{wallet.LogLimitsSigned, wallet.Policy{Recipients: &one}, wallet.Policy{Recipients: &many}, "signed on a device: recipients <code>…" + one[0].Tail() + "</code> → 5 addresses."},
		{wallet.LogLimitsSigned, wallet.Policy{NewRecipientWait: 24 * time.Hour}, wallet.Policy{NewRecipientWait: 72 * time.Hour}, "wait for new recipients 24 hours → 3 days."},
		{wallet.LogLimitsTightened, wallet.Policy{NewRecipientWait: 0}, wallet.Policy{NewRecipientWait: time.Hour}, "wait for new recipients none → 1 hour."},
		{wallet.LogLimitsSigned, wallet.Policy{NewRecipientWait: time.Hour}, wallet.Policy{NewRecipientWait: time.Hour}, "signed on a device."},
		// What was cancelled would have led from what holds to what waited.
		{wallet.LogLimitsCancelled, wallet.Policy{Payment: []wallet.TokenLimit{{Units: 2_000_000_000}}}, wallet.Policy{Payment: []wallet.TokenLimit{{Units: 1_000_000_000}}}, "cancelled: in one payment 1 SOL → 2 SOL."},
		{wallet.LogLimitsSigned, wallet.Policy{}, wallet.Policy{Payment: []wallet.TokenLimit{{Units: 1}}, Day: []wallet.TokenLimit{{Units: 2}}, Recipients: &one, NewRecipientWait: time.Hour},
			"in one payment no SOL limit → 0.000000001 SOL; within 24 hours no SOL limit → 0.000000002 SOL; recipients anybody → <code>…" + one[0].Tail() + "</code>; 1 more change."},
	} {
		was, is := step.was, step.is
		r.Must(r.Update(func(tx store.Tx) error {
			return store.LogSecurity(tx, r.userOf("alice"), r.Now(), step.kind, wallet.SecurityDetails{Wallet: r.people["alice"].Address(), Was: &was, Policy: &is})
		}))
		said := r.sends(func() { r.says("alice", "/security log") })
		line := ""
		for _, l := range strings.Split(r.delivered[len(r.delivered)-1].Text, "\n") {
			if line == "" && strings.Contains(l, "<b>#") {
				line = l
			}
		}
		if !strings.Contains(line, step.want) {
			t.Errorf("%q is not in %s", step.want, cmpText(line, said))
		}
	}
	// An entry of an older version has no such detail.
	r.Must(r.Update(func(tx store.Tx) error {
		return store.LogSecurity(tx, r.userOf("alice"), r.Now(), wallet.LogLimitsTightened, wallet.SecurityDetails{Wallet: r.people["alice"].Address(), Policy: &wallet.Policy{}})
	}))
	contains(t, "an older entry", r.sends(func() { r.says("alice", "/security log") }), "Spending limits of wallet …alice made stricter.")
	all, err := locale.New()
	r.Must(err)
	for _, tag := range all.Languages() {
		r.customize(nil, func(to *wallet.Settings) { to.Language = tag })
		said := r.sends(func() { r.says("alice", "/security log") })
		contains(t, tag, said, "77", "0.25 USDC", "0.000000001 SOL", "not", "<no value>", "limits_change", "{{", "%!")
		if n := strings.Count(said, "→") + strings.Count(said, "←"); n < 9 {
			t.Errorf("%s: %d changes in %s", tag, n, said)
		}
	}
}

// cmpText is a line, or if there is none, everything.
func cmpText(line, all string) string {
	if line == "" {
		return fmt.Sprintf("(no line in) %s", all)
	}
	return line
}

// TestChangesAreLoggedWithWhatTheyReplace: through the operations themselves.
func TestChangesAreLoggedWithWhatTheyReplace(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 20_000_000_000)
	r.says("alice", "/security limits payment 2 SOL")
	r.says("alice", "/security limits payment 1 SOL")
	for range 2 {
		r.says("alice", "/security limits payment 3 SOL")
		r.setsLimits("alice", r.people["alice"].Key)
		r.presses("alice", "Limits", "alice")
		r.presses("alice", "Cancel change", "alice")
	}
	r.says("alice", "/security limits payment 3 SOL")
	r.setsLimits("alice", r.people["alice"].Key)
	r.says("alice", "/freeze")
	said := r.sends(func() { r.says("alice", "/security log") })
	contains(t, "the log", said, "made stricter: in one payment no SOL limit → 2 SOL.", "made stricter: in one payment 2 SOL → 1 SOL.",
		"signed on a device: in one payment 1 SOL → 3 SOL. They take effect on 22 November 2026, 12:00 UTC.")
	if n := strings.Count(said, "cancelled: in one payment 1 SOL → 3 SOL."); n != 3 {
		t.Errorf("%d changes were cancelled: %s", n, said)
	}
}

// TestAButtonOfAnotherVersionForATokenIsAnswered: its object names no token.
func TestAButtonOfAnotherVersionForATokenIsAnswered(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 20_000_000_000)
	for _, object := range []string{"", "no token at all", strings.Repeat("1", 100)} {
		nonce, err := wallet.RandomToken(r, 16)
		r.Must(err)
		id := r.people["alice"].TelegramID
		r.Must(r.Update(func(tx store.Tx) error {
			return tx.PutButtons([]store.Button{{Nonce: nonce, Chat: id, User: id, Action: "token:" + object, Subject: "walk", ExpiresAt: r.Now().Add(time.Hour)}})
		}))
		in := r.input("alice")
		in.Tap = &chat.Tap{CallbackID: "cb", Data: nonce}
		r.does(in)
	}
}
