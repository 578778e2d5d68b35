// Long: the way of a developer from the first question to their keys, by one harness.

package handlers_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// post is a mail server that tests look into. It writes to the store before it takes a mail: whoever
// called it with a transaction open would wait for ever.
type post struct {
	*harness
	down bool
	last string // text of the newest mail
	sent int
}

func (p *post) Send(ctx context.Context, _, _, text string) error {
	if err := p.Store.Update(ctx, func(store.Tx) error { return nil }); err != nil {
		return err
	}
	if p.down {
		return errors.New("down")
	}
	p.last, p.sent = text, p.sent+1
	return nil
}

func (r *harness) withMail() *post {
	p := &post{harness: r}
	r.Developers.Mail = p
	return p
}

// mail has a code mailed to somebody.
func (p *post) mail(user wallet.UserID, address string) (wallet.MailCode, error) {
	err := p.mailFor(user, address, p.NewID("input"))
	if sent := p.developer(user).MailCode; err == nil {
		return *sent, nil
	}
	return wallet.MailCode{}, err
}

// mailFor is mail for an input of that name.
func (p *post) mailFor(user wallet.UserID, address, input string) error {
	return p.Developers.MailCode(p.Context(), user, address, input, func(code string) (string, string, error) { return "s", "code " + code, nil })
}

// TestAnInputThatIsHandledAgainMailsNoSecondCode: the chat handles an input again when its transaction conflicts.
func TestAnInputThatIsHandledAgainMailsNoSecondCode(t *testing.T) {
	r := newHarness(t)
	p, alice := r.withMail(), r.meet(1001)
	p.Must(p.mailFor(alice.ID, "alice@example.org", "message 1"))
	first := p.code()
	p.Must(p.mailFor(alice.ID, "alice@example.org", "message 1"))
	if p.sent != 1 || p.code() != first {
		t.Fatalf("%d mails for one message", p.sent)
	}
	p.Must(p.mailFor(alice.ID, "alice@example.org", "message 2"))
	if p.sent != 2 {
		t.Fatalf("%d mails for two messages", p.sent)
	}
	if err := r.try(alice.ID, p.code()); err != nil {
		t.Errorf("the newest code: %v", err)
	}
}

func (p *post) code() string { return regexp.MustCompile(`[0-9]{6}`).FindString(p.last) }

// try tries a code; what a refusal counts is stored, as the chat stores it.
func (r *harness) try(user wallet.UserID, typed string) (refusal error) {
	r.Must(r.Update(func(tx store.Tx) error {
		refusal = r.Developers.TryCode(tx, user, typed)
		if wallet.CodeOf(refusal) == wallet.Internal {
			return refusal
		}
		return nil
	}))
	return refusal
}

func (r *harness) developer(user wallet.UserID) wallet.Developer {
	r.Helper()
	var dev wallet.Developer
	r.View(func(tx store.Tx) error {
		var err error
		dev, err = tx.Developer(user)
		return err
	})
	return dev
}

func (r *harness) standing(user wallet.UserID) handlers.Standing {
	r.Helper()
	var st handlers.Standing
	r.View(func(tx store.Tx) error {
		var err error
		st, err = r.Developers.Standing(tx, user)
		return err
	})
	return st
}

// verified is somebody who has accepted the terms and shared their contact.
func (r *harness) verified(telegramID int64) wallet.User {
	r.Helper()
	user := r.meet(telegramID)
	r.Must(r.Update(func(tx store.Tx) error {
		return errors.Join(r.Developers.Accept(tx, user.ID), r.Developers.Share(tx, user, telegramID))
	}))
	return user
}

func accessRequest(scopes ...wallet.Scope) wallet.AccessRequest {
	return wallet.AccessRequest{App: "Shop", Purpose: "Takes orders", Kinds: []wallet.KeyKind{wallet.APIKey}, Scopes: scopes}
}

func (r *harness) makes(user wallet.UserID, w wallet.AccessRequest) (made handlers.Made, err error) {
	err = r.Update(func(tx store.Tx) error {
		var err error
		made, err = r.Developers.Make(tx, user, w)
		return err
	})
	return made, err
}

func (r *harness) asks(user wallet.UserID, w wallet.AccessRequest) (question string, err error) {
	err = r.Update(func(tx store.Tx) error {
		dev, err := r.Developers.RequestApproval(tx, user, w)
		if err == nil {
			question = dev.Request.ID
		}
		return err
	})
	return question, err
}

func (r *harness) decides(admin int64, user wallet.UserID, question string, v handlers.Verdict) error {
	return r.Update(func(tx store.Tx) error { _, err := r.Developers.Decide(tx, admin, user, question, v); return err })
}

func TestOnlyOnesOwnContactCounts(t *testing.T) {
	r := newHarness(t)
	user := r.meet(1001)
	for _, other := range []int64{0, 1002, -1001} {
		r.Refused(wallet.InvalidRequest, r.Update(func(tx store.Tx) error { return r.Developers.Share(tx, user, other) }))
	}
	if r.developer(user.ID).Has(wallet.ByContact) {
		t.Error("somebody else's contact counts")
	}
}

func TestCodeProvesItsAddressOnce(t *testing.T) {
	r := newHarness(t)
	p, user := r.withMail(), r.meet(1001)
	sent, err := p.mail(user.ID, " alice@example.org ")
	r.Must(err)
	if sent.Address != "alice@example.org" || strings.Contains(string(sent.Hash)+string(sent.Salt), p.code()) {
		t.Fatalf("remembered: %+v", sent)
	}
	wrong := strings.Map(func(d rune) rune { return '0' + (d-'0'+1)%10 }, p.code())
	for left := handlers.CodeTries - 1; left > 0; left-- {
		r.Refused(wallet.InvalidRequest, r.try(user.ID, wrong))
		for _, nonsense := range []string{"hello", "", "12345", "1234567", "١٢٣٤٥٦"} { // costs no try
			r.Refused(wallet.InvalidRequest, r.try(user.ID, nonsense))
		}
	}
	r.Refused(wallet.Conflict, r.try(user.ID, wrong))
	r.Refused(wallet.Conflict, r.try(user.ID, p.code())) // the right one after the last try
	if dev := r.developer(user.ID); dev.Has(wallet.ByEmail) || dev.Email != "" {
		t.Errorf("proven by wrong codes: %+v", dev)
	}
	_, err = p.mail(user.ID, "alice@example.org")
	r.Must(err)
	for range handlers.CodeTries - 1 {
		r.Refused(wallet.InvalidRequest, r.try(user.ID, strings.Map(func(d rune) rune { return '0' + (d-'0'+1)%10 }, p.code())))
	}
	if err := r.try(user.ID, p.code()[:3]+" "+p.code()[3:]); err != nil {
		t.Errorf("the right code as the last try: %v", err)
	}
	r.Refused(wallet.Conflict, r.try(user.ID, p.code())) // once
	if dev := r.developer(user.ID); !dev.Has(wallet.ByEmail) || dev.Email != "alice@example.org" {
		t.Errorf("not proven: %+v", dev)
	}
}

func TestCodeEndsAfterTenMinutes(t *testing.T) {
	r := newHarness(t)
	p, user := r.withMail(), r.meet(1001)
	_, err := p.mail(user.ID, "alice@example.org")
	r.Must(err)
	r.Pass(handlers.CodeLife)
	r.Refused(wallet.Conflict, r.try(user.ID, p.code()))
}

// TestCodesAreCountedBeforeTheyAreMailed: a server that does not answer gives nobody more of them.
func TestCodesAreCountedBeforeTheyAreMailed(t *testing.T) {
	r := newHarness(t)
	p, user := r.withMail(), r.meet(1001)
	p.down = true
	_, err := p.mail(user.ID, "alice@example.org")
	r.Refused(wallet.NetworkError, err)
	p.down = false
	for range handlers.CodesAnHour - 1 {
		r.Pass(time.Minute)
		_, err := p.mail(user.ID, "alice@example.org")
		r.Must(err)
	}
	_, err = p.mail(user.ID, "bob@example.org")
	r.Refused(wallet.RateLimitExceeded, err)
	r.Pass(58 * time.Minute)
	_, err = p.mail(user.ID, "bob@example.org")
	r.Must(err)
	_, err = p.mail(user.ID, "bob@example.org")
	r.Refused(wallet.RateLimitExceeded, err)
	if p.sent != handlers.CodesAnHour {
		t.Errorf("%d mails", p.sent)
	}
	r.Developers.Mail = nil
	_, err = p.mail(r.meet(1002).ID, "bob@example.org")
	r.Refused(wallet.NetworkError, err)
}

func TestWalletOfAProgramProvesNoDevice(t *testing.T) {
	r := newHarness(t)
	r.Developers.Steps = []wallet.Verification{wallet.ByWallet, wallet.ByContact}
	p := r.Somebody(1001, "Alice")
	r.Meet(p)
	put := func(kind wallet.WalletType) {
		r.Must(r.Update(func(tx store.Tx) error {
			return tx.PutWallet(wallet.Wallet{Address: p.Address(), Owner: p.User.ID, Type: kind, ConnectedAt: r.Now()})
		}))
	}
	if got := r.standing(p.User.ID).Missing; !slices.Equal(got, []wallet.Verification{wallet.ByContact, wallet.ByWallet}) {
		t.Errorf("missing: %v", got)
	}
	put(wallet.DeveloperWallet)
	if got := r.standing(p.User.ID).Missing; len(got) != 2 {
		t.Errorf("missing with a program's wallet: %v", got)
	}
	put(wallet.PageWallet)
	if got := r.standing(p.User.ID).Missing; !slices.Equal(got, []wallet.Verification{wallet.ByContact}) {
		t.Errorf("missing with a wallet: %v", got)
	}
}

func TestKeysAreMadeForWhoeverIsVerifiedOnly(t *testing.T) {
	r := newHarness(t)
	user := r.meet(1001)
	_, err := r.makes(user.ID, accessRequest(wallet.WalletRead))
	r.Refused(wallet.Conflict, err)
	r.Must(r.Update(func(tx store.Tx) error { return r.Developers.Share(tx, user, 1001) }))
	_, err = r.makes(user.ID, accessRequest(wallet.WalletRead))
	r.Refused(wallet.Conflict, err) // the terms
	user = r.verified(1002)
	for _, nothing := range []wallet.AccessRequest{accessRequest(), accessRequest(wallet.BotUsers), {App: "Shop", Scopes: wallet.Scopes()}} {
		_, err = r.makes(user.ID, nothing)
		r.Refused(wallet.InvalidRequest, err)
	}
	both := accessRequest(wallet.BotUsers, wallet.WalletSend, wallet.WalletRead)
	both.Kinds = []wallet.KeyKind{wallet.BotKey, wallet.APIKey}
	made, err := r.makes(user.ID, both)
	r.Must(err)
	if len(made.Keys) != 2 || !slices.Equal(made.Keys[0].Key.Scopes, []wallet.Scope{wallet.WalletRead, wallet.WalletSend}) ||
		!slices.Equal(made.Keys[1].Key.Scopes, []wallet.Scope{wallet.BotUsers}) || len(made.App.Scopes) != 3 || made.App.Purpose != "Takes orders" {
		t.Fatalf("made %+v", made)
	}
	for i, kind := range []wallet.KeyKind{wallet.APIKey, wallet.BotKey} {
		key, err := r.Keys.Check(r.Context(), r.Now(), made.Keys[i].Secret, kind)
		if err != nil || key.Owner != user.ID || key.App != made.App.ID || key.Tier != wallet.FreeTier {
			t.Errorf("%+v, %v", key, err)
		}
	}
}

func TestNobodyHasMoreThanTenKeys(t *testing.T) {
	r := newHarness(t)
	user := r.verified(1001)
	var last handlers.Made
	for range handlers.MaxKeys {
		var err error
		last, err = r.makes(user.ID, accessRequest(wallet.WalletRead))
		r.Must(err)
	}
	_, err := r.makes(user.ID, accessRequest(wallet.WalletRead))
	r.Refused(wallet.Conflict, err)
	_, _, err = r.Keys.Rotate(r.Context(), last.Keys[0].Key.ID, false) // its successor is none more
	r.Must(err)
	_, err = r.makes(user.ID, accessRequest(wallet.WalletRead))
	r.Refused(wallet.Conflict, err)
	_, err = r.Keys.Revoke(r.Context(), r.standing(user.ID).Keys[0].ID)
	r.Must(err)
	_, err = r.makes(user.ID, accessRequest(wallet.WalletRead))
	r.Must(err)
	var apps []wallet.App
	r.View(func(tx store.Tx) error { var err error; apps, err = tx.AppsOf(user.ID); return err })
	if len(apps) != 1 {
		t.Errorf("%d apps of one name", len(apps))
	}
}

func TestFirstOperatorsWordCounts(t *testing.T) {
	r := newHarness(t)
	r.Developers.Admins = []int64{3001, 3002}
	user := r.verified(1001)
	w := accessRequest(wallet.WalletRead, wallet.WalletSend)
	made, err := r.makes(user.ID, w)
	r.Must(err)
	if made.Keys[0].Key.May(wallet.WalletSend) || slices.Contains(made.App.Scopes, wallet.WalletSend) {
		t.Fatalf("made without an operator: %+v", made)
	}
	question, err := r.asks(user.ID, w)
	r.Must(err)
	_, err = r.asks(user.ID, w)
	r.Refused(wallet.Conflict, err)
	r.Refused(wallet.PolicyViolation, r.decides(1001, user.ID, question, handlers.ApprovePro))
	r.Refused(wallet.Conflict, r.decides(3001, user.ID, "ask_of_before", handlers.ApprovePro))
	r.Refused(wallet.NotFound, r.decides(3001, "usr_gone", question, handlers.ApprovePro))
	r.Must(r.decides(3002, user.ID, question, handlers.ApprovePro))
	r.Refused(wallet.Conflict, r.decides(3001, user.ID, question, handlers.Deny))
	if dev := r.developer(user.ID); dev.Approval("Shop", "Takes orders").Tier != wallet.ProTier || !dev.Has(wallet.ByApproval) || !slices.Equal(dev.Approvals[0].Scopes, w.Scopes) {
		t.Errorf("approved: %+v", dev)
	}
	made, err = r.makes(user.ID, w)
	r.Must(err)
	if key := made.Keys[0].Key; !key.May(wallet.WalletSend) || key.Tier != wallet.ProTier {
		t.Errorf("made %+v", key)
	}
	if r.developer(user.ID).Request != nil {
		t.Error("what was made is still asked for")
	}
}

// TestApprovalIsForOneAppAndItsRights: another app of the same developer, another purpose and a further
// right ask again; another key for the same does not.
func TestApprovalIsForOneAppAndItsRights(t *testing.T) {
	for _, steps := range [][]wallet.Verification{{wallet.ByContact}, {wallet.ByContact, wallet.ByApproval}} {
		r := newHarness(t)
		r.Developers.Steps, r.Developers.Admins = steps, []int64{3001}
		user := r.verified(1001)
		w := accessRequest(wallet.WalletRead, wallet.WalletSend, wallet.Webhooks)
		w.Kinds = []wallet.KeyKind{wallet.APIKey}
		question, err := r.asks(user.ID, w)
		r.Must(err)
		r.Must(r.decides(3001, user.ID, question, handlers.ApproveFree))
		for range 2 {
			made, err := r.makes(user.ID, w)
			r.Must(err)
			if !made.Keys[0].Key.May(wallet.WalletSend) {
				t.Fatalf("what was approved is withheld: %+v", made)
			}
		}
		dev := r.developer(user.ID)
		other, purpose := w, w
		other.App, purpose.Purpose = "Till Four", "Takes everything"
		for what, wanted := range map[string]wallet.AccessRequest{"another app": other, "another purpose": purpose} {
			if got := r.Developers.Withheld(dev, wanted); !slices.Contains(got, wallet.WalletSend) {
				t.Errorf("%s, %v: withheld %v", what, steps, got)
			}
			if got := r.Developers.Unapproved(dev, wanted); got != (len(steps) == 2 || what == "another purpose") {
				t.Errorf("%s, %v: unapproved %v", what, steps, got)
			}
			if made, err := r.makes(user.ID, wanted); err == nil && made.Keys[0].Key.May(wallet.WalletSend) {
				t.Errorf("%s, %v: made %+v", what, steps, made)
			}
		}
		further := w
		further.Kinds, further.Scopes = []wallet.KeyKind{wallet.BotKey}, []wallet.Scope{wallet.BotSend, wallet.BotUsers, wallet.Webhooks}
		if got := r.Developers.Withheld(dev, further); !slices.Equal(got, []wallet.Scope{wallet.BotSend, wallet.Webhooks}) {
			t.Errorf("further rights: withheld %v", got)
		}
		question, err = r.asks(user.ID, further)
		r.Must(err)
		r.Must(r.decides(3001, user.ID, question, handlers.ApprovePro))
		made, err := r.makes(user.ID, further)
		r.Must(err)
		if key := made.Keys[0].Key; !key.May(wallet.Webhooks) || key.Tier != wallet.ProTier {
			t.Errorf("made as pro: %+v", key)
		}
		made, err = r.makes(user.ID, w) // what was approved before still is
		r.Must(err)
		if !made.Keys[0].Key.May(wallet.WalletSend) {
			t.Errorf("the first approval is forgotten: %+v", made)
		}
	}
}

// TestWithdrawnQuestionIsOver: no answer counts any more, and the operators have their rest all the same.
func TestWithdrawnQuestionIsOver(t *testing.T) {
	r := newHarness(t)
	r.Developers.Admins = []int64{3001}
	user := r.verified(1001)
	question, err := r.asks(user.ID, accessRequest(wallet.WalletSend))
	r.Must(err)
	withdraw := func(id string) error {
		return r.Update(func(tx store.Tx) error { _, err := r.Developers.Withdraw(tx, user.ID, id); return err })
	}
	r.Refused(wallet.Conflict, withdraw("ask_of_before"))
	r.Must(withdraw(question))
	r.Refused(wallet.Conflict, withdraw(question))
	r.Refused(wallet.Conflict, r.decides(3001, user.ID, question, handlers.ApprovePro))
	_, err = r.asks(user.ID, accessRequest(wallet.WalletSend))
	r.Refused(wallet.Conflict, err)
	r.Pass(handlers.AskPause)
	_, err = r.asks(user.ID, accessRequest(wallet.WalletSend))
	r.Must(err)
}

// TestWhatReachesOtherChatsNeedsAnOperatorsWord: writing there, and commands, which write there as well.
func TestWhatReachesOtherChatsNeedsAnOperatorsWord(t *testing.T) {
	r := newHarness(t)
	r.Developers.Admins = []int64{3001}
	user := r.verified(1001)
	w := wallet.AccessRequest{App: "Shop", Purpose: "Takes orders", Kinds: []wallet.KeyKind{wallet.APIKey, wallet.BotKey}, Scopes: wallet.Scopes()}
	may := func() (may []wallet.Scope) {
		made, err := r.makes(user.ID, w)
		r.Must(err)
		for _, key := range made.Keys {
			may = append(may, key.Key.Scopes...)
		}
		slices.Sort(may)
		return slices.Compact(may) // both keys may have webhooks
	}
	without := may()
	for _, scope := range []wallet.Scope{wallet.WalletSend, wallet.BotSend, wallet.BotExecute, wallet.BotMessages} {
		if slices.Contains(without, scope) {
			t.Errorf("%s is given without an operator's word", scope)
		}
	}
	question, err := r.asks(user.ID, w)
	r.Must(err)
	r.Must(r.decides(3001, user.ID, question, handlers.ApprovePro))
	if with := may(); len(with) != len(wallet.Scopes()) {
		t.Errorf("with an operator's word: %v", with)
	}
}

func TestApprovalIsAStepOfItsOwn(t *testing.T) {
	r := newHarness(t)
	r.Developers.Steps, r.Developers.Admins = []wallet.Verification{wallet.ByContact, wallet.ByApproval}, []int64{3001}
	user := r.verified(1001)
	_, err := r.makes(user.ID, accessRequest(wallet.WalletRead))
	r.Refused(wallet.Conflict, err)
	question, err := r.asks(user.ID, accessRequest(wallet.WalletRead))
	r.Must(err)
	r.Must(r.decides(3001, user.ID, question, handlers.Deny))
	_, err = r.makes(user.ID, accessRequest(wallet.WalletRead))
	r.Refused(wallet.Conflict, err)
	_, err = r.asks(user.ID, accessRequest(wallet.WalletRead))
	r.Refused(wallet.Conflict, err)
	r.Pass(handlers.AskPause)
	old, err := r.asks(user.ID, accessRequest(wallet.WalletRead))
	r.Must(err)
	r.Pass(handlers.AskPause) // nobody answers
	question, err = r.asks(user.ID, accessRequest(wallet.WalletRead))
	r.Must(err)
	r.Refused(wallet.Conflict, r.decides(3001, user.ID, old, handlers.ApproveFree))
	r.Must(r.decides(3001, user.ID, question, handlers.ApproveFree))
	_, err = r.makes(user.ID, accessRequest(wallet.WalletRead))
	r.Must(err)
	r.Developers.Admins = nil
	_, err = r.asks(user.ID, accessRequest(wallet.WalletRead))
	r.Refused(wallet.Conflict, err)
}

func TestKeysAreTheirOwnersAlone(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.verified(1001), r.verified(1002)
	made, err := r.makes(alice.ID, accessRequest(wallet.WalletRead))
	r.Must(err)
	own := func(user wallet.UserID) error {
		return r.Store.View(r.Context(), func(tx store.Tx) error { _, err := r.Developers.Key(tx, user, made.Keys[0].Key.ID); return err })
	}
	r.Must(own(alice.ID))
	r.Refused(wallet.NotFound, own(bob.ID))
	r.Refused(wallet.NotFound, own(""))
	_, err = r.Keys.Revoke(r.Context(), made.Keys[0].Key.ID)
	r.Must(err)
	r.Refused(wallet.NotFound, own(alice.ID))
}

// TestAYesToAnAPIKeyIsNoneToABotToken: an API key's bot:send reaches its owner alone and needs no operator. A yes
// to a request with it opens other people's chats to no bot token.
func TestAYesToAnAPIKeyIsNoneToABotToken(t *testing.T) {
	r := newHarness(t)
	r.Developers.Admins = []int64{9}
	r.meet(9)
	user := r.verified(1001)
	own := accessRequest(wallet.BotSend, wallet.BotExecute)
	made, err := r.makes(user.ID, own)
	r.Must(err)
	if key := made.Keys[0].Key; !key.May(wallet.BotSend) || !key.May(wallet.BotExecute) || len(made.App.Scopes) != 0 {
		t.Errorf("made %v, of an app that asks for %v", key.Scopes, made.App.Scopes)
	}
	asked := accessRequest(wallet.WalletSend, wallet.BotSend)
	r.Must(r.Update(func(tx store.Tx) error {
		dev, err := r.Developers.RequestApproval(tx, user.ID, asked)
		if err != nil {
			return err
		}
		dev, err = r.Developers.Decide(tx, 9, user.ID, dev.Request.ID, handlers.ApprovePro)
		if err != nil {
			return err
		}
		if !slices.Contains(dev.Request.Scopes, wallet.BotSend) {
			t.Errorf("what was asked for is now %v", dev.Request.Scopes)
		}
		if got := r.Developers.Withheld(dev, asked); len(got) != 0 {
			t.Errorf("after the yes %v is withheld", got)
		}
		bot := asked
		bot.Kinds = []wallet.KeyKind{wallet.BotKey}
		if got := r.Developers.Withheld(dev, bot); !slices.Equal(got, []wallet.Scope{wallet.BotSend}) {
			t.Errorf("of a bot token %v is withheld", got)
		}
		return nil
	}))
}

// TestAnAppIsAllowedWhatWasChosenOfWhatWasShown, and nothing else.
func TestAnAppIsAllowedWhatWasChosenOfWhatWasShown(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.meet(1001), r.meet(1002)
	app := wallet.App{ID: "app_1", Owner: alice.ID, Name: "Shop", Scopes: []wallet.Scope{wallet.WalletRead, wallet.WalletSend}, CreatedAt: r.Now()}
	r.Must(r.Update(func(tx store.Tx) error { return tx.PutApp(app) }))
	allow := func(shown, chosen []wallet.Scope) error {
		return r.Update(func(tx store.Tx) error { return r.Apps.Allow(tx, bob.ID, app.ID, shown, chosen) })
	}
	r.Refused(wallet.InvalidRequest, allow(app.Scopes, nil))
	r.Refused(wallet.InvalidRequest, allow(app.Scopes, []wallet.Scope{wallet.WalletRead, wallet.BotMessages})) // which was not shown
	r.Refused(wallet.Conflict, allow([]wallet.Scope{wallet.WalletRead}, []wallet.Scope{wallet.WalletRead}))
	r.Must(allow(app.Scopes, []wallet.Scope{wallet.WalletSend}))
	r.View(func(tx store.Tx) error {
		asked, err := r.Apps.ConsentFor(tx, bob.ID, app.ID)
		if err == nil && (asked.AlreadyGranted() || len(asked.Granted) != 1 || asked.Granted[0] != wallet.WalletSend) {
			t.Errorf("granted %v", asked.Granted)
		}
		return err
	})
}
