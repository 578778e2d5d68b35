package handlers

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"purser/store"
	"purser/wallet"
)

// BlockedAddresses are the addresses that the operator has blocked (fraud.addresses). They may be replaced while purser runs. The
// zero value blocks none. It is safe for concurrent use.
type BlockedAddresses struct {
	set atomic.Pointer[map[wallet.Address]struct{}]
}

// Replace blocks these addresses, and no others.
func (b *BlockedAddresses) Replace(all []wallet.Address) {
	set := make(map[wallet.Address]struct{}, len(all))
	for _, a := range all {
		set[a] = struct{}{}
	}
	b.set.Store(&set)
}

// Has reports whether an address is blocked.
func (b *BlockedAddresses) Has(a wallet.Address) bool {
	set := b.set.Load()
	if set == nil {
		return false
	}
	_, blocked := (*set)[a]
	return blocked
}

// Known lists the addresses that a person has chosen to deal with, as store.KnownTo does, for a front that explains a mistyped one.
func (s *Transactions) Known(ctx context.Context, who wallet.UserID) ([]wallet.Address, error) {
	return read(ctx, s.Store, func(tx store.Tx) ([]wallet.Address, error) { return store.KnownTo(tx, who) })
}

// assess judges a complete proposal by the fraud rules, and bounds the delay that they set. signedByProgram says that a program would sign it
// without a confirmation in chat: then warnings become notes. If the recipient is suspicious, it returns false: the owner has to confirm.
func (s *Transactions) assess(ctx context.Context, t wallet.Transaction, rules wallet.Rules, signedByProgram bool, snapshot Snapshot, judge assessment) (wallet.Transaction, bool, error) {
	judged, err := read(ctx, s.Store, func(tx store.Tx) (wallet.Transaction, error) { return judge(tx, t, snapshot) })
	if err != nil {
		return t, false, err
	}
	if signedByProgram = signedByProgram && !wallet.AsksOwner(judged.Findings); signedByProgram {
		judged = t.Found(wallet.AsNotes(judged.Findings))
	}
	judged, err = delayable(judged, rules)
	return judged, signedByProgram, err
}

// assessment judges a complete transaction by the fraud rules: assessIn, or assessQuote. It is POLICY_VIOLATION if one of them refuses it, with a
// reason for who proposed it.
type assessment func(store.Tx, wallet.Transaction, Snapshot) (wallet.Transaction, error)

// assessIn is the assessment of a proposal.
func (s *Transactions) assessIn(tx store.Tx, t wallet.Transaction, snapshot Snapshot) (wallet.Transaction, error) {
	return s.assessBy(tx, t, snapshot, s.Rules)
}

// assessQuote is the assessment of a quote. The owner is not notified of quotes, so an app of somebody else could learn the spending limits from
// many of them. It gets a quote whatever the private rules say. They judge the proposal that it makes of it.
func (s *Transactions) assessQuote(tx store.Tx, t wallet.Transaction, snapshot Snapshot) (wallet.Transaction, error) {
	channel, err := channelOf(tx, t)
	if err != nil {
		return t, err
	}
	rules := s.Rules
	if t.Owner != "" && channel == wallet.ChannelApp {
		rules = slices.DeleteFunc(slices.Clone(rules), func(r wallet.Rule) bool { return r.Private })
	}
	return s.assessBy(tx, t, snapshot, rules)
}

// assessBy judges a complete transaction by some of the fraud rules.
func (s *Transactions) assessBy(tx store.Tx, t wallet.Transaction, snapshot Snapshot, rules []wallet.Rule) (wallet.Transaction, error) {
	input, err := s.ruleInput(tx, t, snapshot)
	if err != nil {
		return t, err
	}
	return foundIn(input, rules, input.Channel)
}

// foundIn judges the transaction of an input by rules. Who reads a refusal decides which reason it has.
func foundIn(input wallet.RuleInput, rules []wallet.Rule, reader wallet.Channel) (wallet.Transaction, error) {
	found := wallet.Judge(input, rules)
	if err := wallet.RefusalTo(reader, found); err != nil {
		return input.Transaction, err
	}
	input.Transaction.PoisoningSuspect, _ = input.Suspect()
	return input.Transaction.Found(found), nil
}

// reassessLimits judges a payment that a program signs by itself by the owner's spending limits once more, in the store transaction that stores
// it: two payments at once must not pass a limit together.
func (s *Transactions) reassessLimits(tx store.Tx, t wallet.Transaction) (wallet.Transaction, error) {
	rules, err := tx.Kinds().Of(t.Kind)
	if err != nil {
		return t, err
	}
	f := wallet.RuleInput{Transaction: t, Pays: rules.Pays, Person: t.Owner != "", Now: s.Now()}
	if err := addPolicy(tx, &f, rules); err != nil {
		return t, err
	}
	if f.Channel, err = channelOf(tx, t); err != nil {
		return t, err
	}
	found := wallet.Judge(f, wallet.LimitRules())
	if err := wallet.RefusalTo(f.Channel, found); err != nil {
		return t, err
	}
	others := slices.DeleteFunc(slices.Clone(t.Findings), func(f wallet.Finding) bool { return f.Rule == wallet.RuleLimitNewRecipient })
	return delayable(t.Found(append(others, found...)), rules)
}

// reassess judges a transaction once more when its owner confirms it. If something is worse than what the owner was shown, it
// stores that, and the error is POLICY_VIOLATION with the reason of judgedAgain: the owner is to look and confirm again. The caller commits
// all the same, so that the owner is shown what is stored.
func (s *Transactions) reassess(tx store.Tx, t wallet.Transaction, snapshot Snapshot) (wallet.Transaction, error) {
	input, err := s.ruleInput(tx, t, snapshot)
	if err != nil {
		return t, err
	}
	again, err := foundIn(input, s.Rules, wallet.ChannelChat) // the owner reads the refusal, also of what an app proposed
	if err != nil {
		return t, err
	}
	rules, err := tx.Kinds().Of(t.Kind)
	if err != nil {
		return t, err
	}
	if again, err = delayable(again, rules); err != nil {
		return t, err
	}
	if !t.Worse(again.Findings) && again.DelayFor <= t.DelayFor && (again.PoisoningSuspect.IsZero() || again.PoisoningSuspect == t.PoisoningSuspect) {
		return t, nil
	}
	if err := tx.PutTransaction(again); err != nil {
		return t, err
	}
	if t, err = tx.Transaction(t.ID); err != nil {
		return t, err
	}
	return t, wallet.Refuse(wallet.PolicyViolation, judgedAgain)
}

// judgedAgain is the reason of a Confirm that found something worse than what was shown.
const judgedAgain = "proposal.judged_again"

// IsJudgedAgain reports whether an error of CommitConfirm means that the transaction still waits for its owner's Confirm, with more
// findings than before. The caller commits what was written, and shows the transaction again.
func IsJudgedAgain(err error) bool { return wallet.ReasonOf(err).Key == judgedAgain }

// recentPayments is how many of a person's newest transactions are searched for their own payments, and for what the recipient sent.
const recentPayments = 200

// ruleInput returns what a proposal is judged by. It reads the store only: prices are the newest that are stored, and value nothing
// when they are old (wallet.StalePrice).
func (s *Transactions) ruleInput(tx store.Tx, t wallet.Transaction, snapshot Snapshot) (f wallet.RuleInput, err error) {
	rules, err := tx.Kinds().Of(t.Kind)
	if err != nil {
		return f, err
	}
	f = wallet.RuleInput{Transaction: t, Pays: rules.Pays, Person: t.Owner != "", Left: snapshot.Remaining(t), Now: s.Now(), LocalHour: -1,
		Value: wallet.Worth{Unknown: true}}
	if s.Blocked != nil {
		f.Blocked = s.Blocked.Has
	}
	snapshot.FillRuleInput(&f)
	if !f.Person {
		return f, nil
	}
	if f.Channel, err = channelOf(tx, t); err != nil {
		return f, err
	}
	if err := errors.Join(addPolicy(tx, &f, rules), s.addPerson(tx, &f)); err != nil || !f.Pays {
		return f, err
	}
	return f, s.addPast(tx, &f)
}

// channelOf returns where a proposal came in. A key that is gone counts as that of an app.
func channelOf(tx store.Tx, t wallet.Transaction) (wallet.Channel, error) {
	if t.KeyID == "" {
		return wallet.ChannelChat, nil
	}
	key, err := tx.Key(t.KeyID)
	switch {
	case err == nil && key.Owner == t.Owner:
		return wallet.ChannelKey, nil
	case err == nil || errors.Is(err, store.ErrNotFound):
		return wallet.ChannelApp, nil
	}
	return "", err
}

// addPolicy adds the owner's spending limits for the wallet, and of what it paid only what they need.
func addPolicy(tx store.Tx, f *wallet.RuleInput, rules wallet.Rules) error {
	t := f.Transaction
	if !f.Person || !rules.Limited() {
		return nil
	}
	stored, err := policyOf(tx, t.Owner, t.From, f.Now)
	if err != nil {
		return err
	}
	f.Policy = stored.State.Current
	if len(f.Policy.Day) > 0 {
		sent, err := tx.OutgoingFrom(t.From, f.Now.Add(-wallet.PolicyReach))
		if err != nil {
			return err
		}
		var counted []wallet.Transaction
		for _, other := range sent {
			switch rules, err := tx.Kinds().Of(other.Kind); {
			case err != nil:
				return err
			case rules.Limited():
				counted = append(counted, other)
			}
		}
		f.SpentInDay = t.SpentInDay(counted, f.Now)
	}
	if f.Policy.NewRecipientWait > 0 && rules.Pays {
		f.PaidBefore, err = tx.HasPaid(t.Owner, t.From, t.To, paymentsSearched)
	}
	return err
}

// paymentsSearched is how many of a person's newest payments are searched for one to a recipient. A recipient of an older one counts as new.
const paymentsSearched = 10_000

// addPerson adds whom the owner knows, their clock, and what is large for them.
func (s *Transactions) addPerson(tx store.Tx, f *wallet.RuleInput) error {
	user, err := tx.User(f.Transaction.Owner)
	if err != nil {
		return err
	}
	if zone := user.Settings.TimeZone; zone != "" {
		f.LocalHour = f.Now.In(zone.Location()).Hour()
	}
	if f.Large, err = LargeFor(tx, user.Settings, f.Now); err != nil {
		return err
	}
	if f.Paid, err = tx.Recipients(user.ID, store.PaymentsKnown); err != nil {
		return err
	}
	own, err := tx.WalletsOf(user.ID)
	if err != nil {
		return err
	}
	for _, w := range own {
		f.Own = append(f.Own, w.Address)
	}
	f.Contacts, err = tx.ContactsOf(user.ID)
	return err
}

// LargeFor returns from which value on a payment is large for somebody with these settings, in dollars; 0 if it is too much for USD.
func LargeFor(tx store.Tx, settings wallet.Settings, now time.Time) (wallet.USD, error) {
	whole, in := settings.Large()
	rate, err := tx.Rate(in, now) // an old one will do: the bound is rough
	if errors.Is(err, store.ErrNotFound) {
		rate, err = wallet.OneToOne(now), nil
	}
	large, _ := rate.Dollars(whole)
	return large, err
}

// addPast adds the newest device on which the owner's links were opened, their recent payments and this one with their values, and
// whether the recipient planted transfers.
func (s *Transactions) addPast(tx store.Tx, f *wallet.RuleInput) error {
	t := f.Transaction
	devices, err := tx.Seen(t.Owner, seenDevices)
	if err != nil {
		return err
	}
	f.NewDevice = devices.NewestAt()
	newest, err := tx.TransactionsOf(t.Owner, store.Page{Limit: recentPayments})
	if err != nil {
		return err
	}
	var past []wallet.Transaction
	mints, sentMuch := map[wallet.Address]struct{}{t.Token.Mint: {}}, false
	for _, p := range newest {
		sentMuch = sentMuch || p.Status == wallet.Received && p.From == t.To
		rules, err := tx.Kinds().Of(p.Kind)
		if err != nil {
			return err
		}
		if !rules.Pays || f.Now.Sub(p.CreatedAt) >= wallet.PastSpan || slices.Contains(f.Own, p.To) || !approved(p) {
			continue
		}
		past = append(past, p)
		mints[p.Token.Mint] = struct{}{}
	}
	prices, err := tx.Prices(slices.Collect(maps.Keys(mints)))
	if err != nil {
		return err
	}
	worth := func(token wallet.Token, units uint64) wallet.Worth {
		if token.Symbol == "" { // anybody can give an unlisted token any price
			return wallet.Worth{Unknown: true}
		}
		return wallet.WorthOf(prices[token.Mint], token.Amount(units), f.Now)
	}
	f.Value = worth(t.Token, t.Amount)
	for _, p := range past {
		f.Recent = append(f.Recent, wallet.PastPayment{At: p.CreatedAt, To: p.To, Mint: p.Token.Mint, Value: worth(p.Token, p.Amount)})
	}
	if sentMuch {
		return nil
	}
	f.Planted, err = tx.IsPlantedSender(t.Owner, t.To, f.Now)
	return err
}

// approved reports whether the owner confirmed a payment and it may land or has landed.
func approved(t wallet.Transaction) bool {
	switch t.Status {
	case wallet.AwaitingConfirmation, wallet.Rejected, wallet.Expired, wallet.Failed:
		return false
	}
	return true
}

// FindTypedConfirmation finds the caller's open transaction that these typed characters would confirm. anyAmount says that amounts
// count too, and not only parts of addresses: in answer to another question an amount means something else. It returns false if
// there is none, and POLICY_VIOLATION if they fit several: nobody can tell which one is meant.
func (s *Transactions) FindTypedConfirmation(ctx context.Context, who Caller, typed string, anyAmount bool) (id wallet.TransactionID, ok bool, err error) {
	if who.User == "" {
		return "", false, nil
	}
	fit := 0
	err = s.Store.View(ctx, func(tx store.Tx) error {
		open, err := OpenTransactions(tx, who.User)
		for _, t := range open {
			typing := t.Typing()
			if typing == wallet.TypesNothing || typing == wallet.TypesAmount && !anyAmount || t.Owner != who.User || t.ConfirmableAt(s.Now()) != nil {
				continue
			}
			if t.TypedFor(typed) == nil {
				id, fit = t.ID, fit+1
			}
		}
		return err
	})
	if err == nil && fit > 1 {
		return "", false, wallet.Refuse(wallet.PolicyViolation, "proposal.typed_fits_several")
	}
	return id, fit == 1, err
}
