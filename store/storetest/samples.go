package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"time"

	"purser/store"
	"purser/wallet"
)

// Samples are one row of every kind, as the newest schema knows them.
type Samples struct {
	User              wallet.User
	Wallet            wallet.Wallet
	Watch             wallet.Watch
	Stakes            wallet.WatchedStakes
	Folded            uint64
	Bind              wallet.Bind
	FreezeLink        wallet.FreezeLink
	Policy            wallet.WalletPolicy
	PolicyLink        wallet.PolicyLink
	Transaction       wallet.Transaction
	Key               wallet.Key
	PortalToken       store.PortalToken
	Conversation      store.Conversation
	Button            store.Button
	Reply             store.Reply
	SendResult        store.SendResult
	IdempotencyRecord store.IdempotencyRecord `json:"Answer"` // as the files in store/records/testdata name it
	Event             wallet.Event
	Card              int
	Contact           wallet.Contact
	App               wallet.App
	Grant             wallet.Grant
	Developer         wallet.Developer
	Counter           store.Counter
	Price             wallet.TokenPrice
	Rate              wallet.Rate
	Alert             wallet.Alert
	Security          wallet.SecurityEntry
	Seen              wallet.Seen
	Planted           time.Time
	Portfolio         wallet.Portfolio
	News              wallet.NewsItem
	NewsFeed          store.NewsFeed
	Quote             store.SwapQuote
	Webhook           wallet.Webhook
	Health            wallet.WebhookHealth
	Delivery          store.Delivery
	Job               store.Job
	DeadJob           store.Job
	Open              wallet.Transaction // that is not final; Transaction is. Without an ID in the samples of schema 1
}

// NewSamples fills every field of them, and lets them belong together.
func NewSamples() Samples {
	var x Samples
	Fill(&x, 1000)
	x.Job.Priority, x.Job.Attempt, x.Job.Failures, x.Job.ExpiredLeases, x.Job.Seq, x.Job.About = store.JobSoon, 1, 0, 0, 1, x.User.ID
	x.DeadJob.NotBefore = x.Job.NotBefore
	x.DeadJob.Queue, x.DeadJob.Priority, x.DeadJob.Attempt, x.DeadJob.Failures, x.DeadJob.ExpiredLeases, x.DeadJob.Seq, x.DeadJob.About = x.Job.Queue, store.JobUrgent, 1, 0, 0, 2, ""
	x.Reply.Priority, x.Reply.ID = 2, ""
	x.Conversation.Version, x.Transaction.Version = 1, 1
	x.Wallet.Owner, x.Bind.User, x.Transaction.Owner, x.Event.User = x.User.ID, x.User.ID, x.User.ID, x.User.ID
	x.Transaction.Kind = wallet.Send
	x.Open.Kind, x.Open.Owner, x.Open.Version, x.Open.Closed = wallet.Send, x.User.ID, 1, false
	x.FreezeLink.User, x.Policy.Owner, x.PolicyLink.User = x.User.ID, x.User.ID, x.User.ID
	x.Watch.Address, x.Watch.Version = x.Wallet.Address, 1
	x.Stakes.Address, x.Stakes.Version = x.Wallet.Address, 1
	x.Contact.Owner = x.User.ID
	x.Alert.Owner, x.Alert.Condition, x.Alert.Price, x.Alert.Change, x.Alert.Span, x.Alert.Fired = x.User.ID, wallet.AlertAbove, wallet.MustPrice("217.35"), 0, 0, wallet.FiredUp
	x.Security.Owner, x.Security.Number, x.Security.Before = x.User.ID, 1, wallet.SecurityHash{}
	x.Portfolio.Owner = x.User.ID
	x.Rate.Currency, x.Rate.PerDollar = "EUR", wallet.MustPrice("0.8648")
	x.News.Seq = 1
	x.Price.Price, x.Price.Disagrees.Price = wallet.MustPrice("12.5"), wallet.MustPrice("13")
	x.App.Owner, x.Grant.User, x.Developer.User, x.Key.Owner = x.User.ID, x.User.ID, x.User.ID, x.User.ID
	x.PortalToken.Owner, x.PortalToken.Lineage = x.User.ID, x.Key.Lineage()
	x.Quote.Owner, x.Quote.Lineage, x.Quote.Draft = x.User.ID, x.Key.Lineage(), wallet.Transaction{Kind: wallet.Swap, From: x.Wallet.Address, Amount: 5}
	x.Webhook.Lineage, x.Webhook.Owner = x.Key.Lineage(), x.User.ID
	x.Delivery.Webhook, x.Delivery.User, x.Delivery.Seq = x.Webhook.ID, x.User.ID, 1
	x.Conversation.User, x.Button.User = x.User.TelegramID, x.User.TelegramID
	x.Reply.Chat = x.User.TelegramID
	return x
}

// Write puts them all.
func (x Samples) Write(tx store.Tx) error {
	first, watch, stakes := x.Conversation, x.Watch, x.Stakes
	first.Version, watch.Version, stakes.Version = 0, 0, 0
	if err := tx.PutUser(x.User); err != nil { // first: what follows is sealed for them
		return err
	}
	_, err := tx.NoteUpdate(x.Reply.At, 1)
	if err := errors.Join(err, tx.PutWebhook(x.Webhook), tx.PutWebhookHealth(x.Webhook.ID, x.Health)); err != nil {
		return err
	}
	_, err = tx.PutDeliveries([]store.Delivery{x.Delivery})
	if err != nil {
		return err
	}
	now := x.Job.NotBefore.Add(time.Hour)
	if _, err := tx.Lead("sample", "a", now, time.Minute); err != nil {
		return err
	}
	_, err = tx.PutJobs([]store.Job{x.Job, x.DeadJob}, &store.Claim{Queue: x.Job.Queue, Node: "a", Now: now, Max: 2, Lease: time.Minute})
	if err == nil {
		err = tx.DeadLetterJobs(now, "sample reason", x.DeadJob.Ref())
	}
	if err == nil {
		_, err = tx.AppendSecurityEntry(x.Security)
	}
	if err == nil {
		_, err = tx.NoteNews([]wallet.NewsItem{x.News}, now, false)
	}
	return errors.Join(err, tx.PutNewsFeed(x.NewsFeed), tx.PutWallet(x.Wallet), tx.PutWatch(watch), tx.PutWatchedStakes(stakes), tx.PutFolded(x.Wallet.Address, x.Folded), tx.PutBind(x.Bind), tx.PutFreezeLink(x.FreezeLink), tx.PutPolicy(x.Policy), tx.PutPolicyLink(x.PolicyLink), tx.CreateTransaction(x.Transaction), tx.CreateTransaction(x.Open),
		tx.CreateKey(x.Key, "sample secret"), tx.PutPortalToken(x.PortalToken, "sample portal token", 1), tx.PutConversation(first), tx.PutButtons([]store.Button{x.Button}),
		tx.PutCard(x.Reply.Chat, x.Reply.Card, x.Card, time.Time{}), store.Enqueue(tx, x.Reply), tx.PutSendResult(x.Reply.Chat, x.Reply.Card, x.SendResult),
		tx.PutIdempotencyRecord("sample key", x.IdempotencyRecord), tx.Emit(x.Event),
		tx.PutContact(x.Contact), tx.PutApp(x.App), tx.PutGrant(x.Grant), tx.PutDeveloper(x.Developer),
		tx.PutCounters([]store.Counter{x.Counter}), tx.SavePrices([]wallet.TokenPrice{x.Price}), tx.SaveRates([]wallet.Rate{x.Rate}), tx.PutAlert(x.Alert), tx.PutSeen(x.User.ID, "sample", x.Seen), tx.PutPlantedSender(x.User.ID, x.Transaction.To, x.Planted), tx.PutPortfolio(x.Portfolio), tx.PutSwapQuote(x.Quote))
}

// Read reads them in every way there is.
func (x Samples) Read(tx store.Tx) error {
	var errs []error
	check := func(what string, want, got any, err error) {
		if err != nil || !reflect.DeepEqual(got, want) {
			errs = append(errs, fmt.Errorf("%s: got %+v, %v\nwant %+v", what, got, err, want))
		}
	}
	u, err := tx.User(x.User.ID)
	check("user", x.User, u, err)
	u, err = tx.UserByTelegram(x.User.TelegramID)
	check("user by telegram", x.User, u, err)
	w, err := tx.Wallet(x.Wallet.Address)
	check("wallet", x.Wallet, w, err)
	ws, err := tx.WalletsOf(x.User.ID)
	check("wallets", []wallet.Wallet{x.Wallet}, ws, err)
	watch, err := tx.Watch(x.Wallet.Address)
	check("watch", x.Watch, watch, err)
	stakes, err := tx.WatchedStakes(x.Wallet.Address)
	check("watched stakes", x.Stakes, stakes, err)
	folded, err := tx.Folded(x.Wallet.Address)
	check("folded", x.Folded, folded, err)
	b, err := tx.Bind(x.Bind.TokenHash)
	check("bind", x.Bind, b, err)
	b, err = tx.BindOf(x.User.ID)
	check("newest bind", x.Bind, b, err)
	freezeLink, err := tx.FreezeLink(x.FreezeLink.TokenHash)
	check("freeze link", x.FreezeLink, freezeLink, err)
	policy, err := tx.Policy(x.User.ID, x.Policy.Address)
	check("policy", x.Policy, policy, err)
	policies, err := tx.PoliciesOf(x.User.ID)
	check("policies", []wallet.WalletPolicy{x.Policy}, policies, err)
	policyLink, err := tx.PolicyLink(x.PolicyLink.TokenHash)
	check("policy link", x.PolicyLink, policyLink, err)
	errs = append(errs, x.readTransactions(tx))
	k, err := tx.KeyBySecret("sample secret")
	check("key", x.Key, k, err)
	ks, err := tx.KeysOf(x.Key.Owner)
	check("keys", []wallet.Key{x.Key}, ks, err)
	portalToken, err := tx.PortalToken(x.PortalToken.Kind, "sample portal token")
	check("portal_token", x.PortalToken, portalToken, err)
	c, err := tx.Conversation(x.Conversation.Chat, x.Conversation.User, x.Conversation.Slot)
	check("conversation", x.Conversation, c, err)
	n, err := tx.Button(x.Button.Nonce)
	check("button", x.Button, n, err)
	card, err := tx.Card(x.Reply.Chat, x.Reply.Card)
	check("card", x.Card, card, err)
	out, err := tx.JobsOfKey(store.Outbox, store.ChatKey(x.Reply.Chat)+" beside", 10) // it has a NotAfter
	if len(out) == 1 && err == nil {
		var reply store.Reply
		reply, err = store.ReplyOf(out[0])
		reply.ID = ""
		check("outbox", x.Reply, reply, err)
	} else {
		check("outbox", 1, len(out), err)
	}
	o, err := tx.SendResult(x.Reply.Chat, x.Reply.Card)
	check("send_result", x.SendResult, o, err)
	a, err := tx.IdempotencyRecord("sample key", x.IdempotencyRecord.ExpiresAt.Add(-time.Second))
	check("answer", x.IdempotencyRecord, a, err)
	e, err := tx.PendingEvents(10)
	check("events", []wallet.Event{x.Event}, e, err)
	book, err := tx.ContactsOf(x.User.ID)
	check("contacts", []wallet.Contact{x.Contact}, book, err)
	app, err := tx.App(x.App.ID)
	check("app", x.App, app, err)
	apps, err := tx.AppsOf(x.App.Owner)
	check("apps", []wallet.App{x.App}, apps, err)
	grant, err := tx.Grant(x.Grant.User, x.Grant.App)
	check("grant", x.Grant, grant, err)
	grants, err := tx.GrantsOf(x.Grant.User)
	check("grants", []wallet.Grant{x.Grant}, grants, err)
	dev, err := tx.Developer(x.Developer.User)
	check("developer", x.Developer, dev, err)
	counter, err := tx.Counter(x.Counter.Name)
	check("counter", x.Counter, counter, err)
	prices, err := tx.Prices([]wallet.Address{x.Price.Mint})
	check("price", map[wallet.Address]wallet.TokenPrice{x.Price.Mint: x.Price}, prices, err)
	alert, err := tx.Alert(x.User.ID, x.Alert.ID)
	check("alert", x.Alert, alert, err)
	security, err := tx.SecurityEntry(x.User.ID, 1)
	check("entry of the security log", x.Security, security, err)
	head, err := tx.SecurityHead(x.User.ID)
	check("head of the security log", wallet.SecurityHead{Count: 1, Hash: x.Security.Hash(), From: 1}, head, err)
	seen, err := tx.Seen(x.User.ID, "sample")
	check("seen", x.Seen, seen, err)
	planted, err := tx.IsPlantedSender(x.User.ID, x.Transaction.To, x.Planted.Add(-1))
	check("planted sender", true, planted, err)
	portfolio, err := tx.Portfolio(x.User.ID)
	check("portfolio", x.Portfolio, portfolio, err)
	rate, err := tx.Rate(x.Rate.Currency, x.Rate.At)
	check("rate", x.Rate, rate, err)
	news, err := tx.NewsAfter(0, 10)
	check("news", []wallet.NewsItem{x.News}, news, err)
	last, err := tx.LastNews()
	check("last news", x.News.Seq, last, err)
	feed, err := tx.NewsFeed(x.NewsFeed.URL)
	check("feed of news", x.NewsFeed, feed, err)
	quote, err := tx.SwapQuote(x.User.ID, x.Quote.ID)
	check("quote", x.Quote, quote, err)
	hook, err := tx.Webhook(x.Webhook.ID)
	check("webhook", x.Webhook, hook, err)
	hooks, err := tx.WebhooksOf(x.Webhook.Lineage)
	check("webhooks of a line", []wallet.Webhook{x.Webhook}, hooks, err)
	hooks, err = tx.WebhooksOfOwner(x.User.ID)
	check("webhooks of an owner", []wallet.Webhook{x.Webhook}, hooks, err)
	health, err := tx.WebhookHealth(x.Webhook.ID)
	check("health", x.Health, health, err)
	delivery, err := tx.Delivery(x.Delivery.ID)
	check("delivery", x.Delivery, delivery, err)
	line, err := tx.DeliveriesOf(x.Webhook.ID, store.Position{Urgency: x.Delivery.Urgency}, 10)
	check("deliveries", []store.Delivery{x.Delivery}, line, err)
	job, err := tx.Job(x.Job.Queue, x.Job.ID)
	check("job", x.Job, job, err)
	jobs, err := tx.JobsOfKey(x.Job.Queue, x.Job.Key, 10)
	check("jobs of a key", []store.Job{x.Job}, jobs, err)
	owned, err := tx.CountJobs(x.Job.Queue, x.Job.Owner)
	check("jobs of an owner", 1, owned, err)
	dead, err := tx.DeadLetters(x.Job.Queue, 10)
	check("dead letters", []store.DeadLetter{{Job: x.DeadJob, Reason: "sample reason", DiedAt: x.Job.NotBefore.Add(time.Hour)}}, dead, err)
	announced, err := tx.OutboxEvents(10)
	check("outbox_events", []store.OutboxEvent{{Number: 1, Event: x.Event}}, announced, err)
	return errors.Join(errs...)
}

// readTransactions reads the samples of transactions in every way there is.
func (x Samples) readTransactions(tx store.Tx) error {
	var errs []error
	check := func(what string, want, got any, err error) {
		if err != nil || !reflect.DeepEqual(got, want) {
			errs = append(errs, fmt.Errorf("%s: got %+v, %v\nwant %+v", what, got, err, want))
		}
	}
	all := []wallet.Transaction{x.Transaction}
	if x.Open.ID != "" {
		all = []wallet.Transaction{x.Open, x.Transaction} // the newest first
	}
	for _, want := range all {
		row, err := tx.Transaction(want.ID)
		check("transaction", want, row, err)
		row, err = tx.TransactionBySignID(want.SignID)
		check("transaction by sign id", want, row, err)
		row, err = tx.TransactionBySignature(want.Signature)
		check("transaction by signature", want, row, err)
		rows, err := tx.TransactionsAt(want.From, store.Page{Limit: 10})
		check("transactions of a wallet", []wallet.Transaction{want}, rows, err)
	}
	rows, err := tx.TransactionsOf(x.User.ID, store.Page{Limit: 10})
	check("transactions", all, rows, err)
	return errors.Join(errs...)
}

// WaysOfDamage are what can become of a row's bytes.
func WaysOfDamage() map[string]func(raw []byte) []byte {
	return map[string]func(raw []byte) []byte{
		"one bit of what is sealed": func(raw []byte) []byte { raw[len(raw)-1] ^= 1; return raw },
		"one figure of what is plain": func(raw []byte) []byte {
			at := bytes.IndexAny(raw[8:], "123456789") + 8
			raw[at] = '9' - raw[at] + '0'
			return raw
		},
		"cut short":      func(raw []byte) []byte { return raw[:len(raw)/2] },
		"another format": func(raw []byte) []byte { raw[0] = 77; return raw },
		"garbage":        func([]byte) []byte { return []byte("secret garbage") },
		"nothing":        func([]byte) []byte { return nil },
	}
}
