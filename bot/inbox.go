package bot

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"purser/chat"
	"purser/store"
	"purser/work"
)

const (
	// maxWaiting bounds the updates that wait to be handled. Beyond it Telegram keeps them for us.
	maxWaiting = 10_000
	// maxOfChat bounds those of one chat, so that nobody takes all the room. Beyond it the oldest are left out, and the
	// person is notified once: what somebody wrote last is what they still want.
	maxOfChat = 100
	// maxAnswers bounds the answers that wait to be sent to one chat. Beyond it the chat's next update waits, and with it
	// all that follow: a person who writes faster than Telegram lets us answer fills their own inbox, not the outbox.
	maxAnswers = 100
	// roomLook is how often a poll that waits for room looks at a full inbox.
	roomLook = 200 * time.Millisecond
	// answered is when an update is looked at again that waits for its chat's answers to be sent.
	answered = time.Second
	// MaxUpdate bounds a webhook body in bytes; real updates are some kilobytes.
	MaxUpdate = 1 << 20
)

const (
	attempts      = 3                       // then an update is a dead letter
	chatsAtOnce   = 1024                    // are handled at the same time; most of them wait for a node of Solana's
	handleTimeout = 45 * time.Second        // of one update
	inboxLease    = time.Minute             // longer than handleTimeout, so that no other node takes an update meanwhile
	typingAfter   = 300 * time.Millisecond  // quick answers show no typing
	typingEvery   = 4500 * time.Millisecond // Telegram shows it for 5 s
	toastLife     = 12 * time.Second        // a tap that waits longer has given up
)

// floods remembers which chats were notified that their oldest updates are left out. A chat is notified again after it was below
// its bound (maxOfChat). It is in memory only: another node, or this one after a restart, may notify a chat once more.
type floods struct {
	mu       sync.Mutex
	notified map[int64]bool
}

// flooded notes that a chat is over its bound. It returns true the first time, when the chat has to be notified.
func (f *floods) flooded(chat int64) (first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.notified[chat] {
		return false
	}
	if f.notified == nil || len(f.notified) > maxWaiting { // of that many chats some are notified twice
		f.notified = map[int64]bool{}
	}
	f.notified[chat] = true
	return true
}

// calm notes that a chat is below its bound.
func (f *floods) calm(chat int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.notified, chat)
}

// Accept takes one webhook call of Telegram. secret is its X-Telegram-Bot-Api-Secret-Token header, body the update. When
// it returns nil, the update is durably in the inbox, or is of no interest, and the caller answers 200. ErrForbidden is to
// be answered with 401 and ErrBadUpdate with 400. All other errors are 503, after which Telegram delivers again. It may be
// called before Run and while Run ends.
func (b *Bot) Accept(ctx context.Context, secret string, body []byte) error {
	if !b.Knows(secret) {
		return ErrForbidden
	}
	if len(body) > MaxUpdate {
		return ErrBadUpdate
	}
	u, err := b.reader.arrived(body)
	switch {
	case errors.Is(err, errForeign):
		// It has an id, but a field of an unknown form. If it were refused, Telegram would deliver it again for hours.
		b.log.Warn("an update of Telegram's cannot be read and is dropped", "update", u.id)
		return nil
	case err != nil:
		return ErrBadUpdate
	}
	return b.take(ctx, []incoming{u}, b.maxWaiting, nil)
}

// Knows reports whether a secret is the one that Telegram was given for the webhook. It compares in constant time.
func (b *Bot) Knows(secret string) bool {
	ours, theirs := sha256.Sum256([]byte(b.opt.WebhookSecret)), sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(ours[:], theirs[:]) == 1 && b.opt.Mode == Webhook
}

// take writes updates to the inbox durably, and passes those that may be handled at once to this node's workers. It leaves
// out updates whose ids were seen before. If most > 0, it takes nothing while that many wait, and returns ErrBusy. early, if not
// nil, is the attempt at the only update: if it is decided, what it came to is written too, and the update is dealt with.
func (b *Bot) take(ctx context.Context, updates []incoming, most int, early *earlyAttempt) error {
	updates = slices.DeleteFunc(updates, func(u incoming) bool { return u.kind == ignored })
	if len(updates) == 0 {
		return nil
	}
	// The closure may run again after a rollback, so everything that it decides starts afresh, except who was notified.
	var into taken
	var notified []int64 // outlives runs of the closure that were rolled back, since floods does too
	freezing, answered := true, false
	write := func(tx store.Tx) (err error) {
		if into, err = b.put(tx, updates, most, freezing); err != nil {
			return err
		}
		if answered, err = early.write(tx, into); err != nil {
			return err
		}
		notified, err = b.notifyOver(tx, into.over, notified)
		return err
	}
	err := b.updateEarly(ctx, write)
	if errors.Is(err, errEarly) && !store.IsFatal(err) { // the inbox handles it, with all that it does about failures
		if !errors.Is(err, store.ErrConflict) {
			b.log.Warn("what was decided of an update could not be written; it is handled again", "error", err)
		}
		early.drop()
		early = nil
		err = b.update(ctx, write)
	}
	switch {
	case errors.Is(err, errFreeze): // the updates are not lost by it: /freeze freezes once more when it is handled
		b.log.Error("an account could not be frozen when /freeze arrived", "error", err)
		freezing = false
		early.drop() // it would freeze in this very commit, and fail it again
		early = nil
		err = b.update(ctx, write)
	case errors.Is(err, ErrBusy): // Telegram delivers the updates again, but a freeze must not wait for that
		if frozen := b.update(ctx, func(tx store.Tx) error { _, err := b.freeze(tx, updates...); return err }); frozen != nil {
			b.log.Error("an account could not be frozen when /freeze arrived", "error", frozen)
		}
	}
	if err != nil {
		early.drop()
		for _, chat := range notified { // nobody was notified after all
			b.floods.calm(chat)
		}
		return err
	}
	b.noteCalm(into.calm, len(notified) > 0)
	if answered {
		early.finish()
		return nil
	}
	b.adopt(early, into)
	b.inbox.Hand(into.handed)
	return nil
}

// noteCalm notes the chats that are not over their bound, after the commit of take, and logs if any is.
func (b *Bot) noteCalm(calm []int64, over bool) {
	if over {
		b.log.Warn("a chat sends faster than it can be answered: its oldest updates are left out")
	}
	for _, chat := range calm {
		b.floods.calm(chat)
	}
}

// notifyOver notifies the chats that are over their bound, unless they were notified before. notified are those that this call of
// take has notified, and the result is these and the new ones.
func (b *Bot) notifyOver(tx store.Tx, over, notified []int64) ([]int64, error) {
	for _, chat := range over {
		if !slices.Contains(notified, chat) && !b.floods.flooded(chat) {
			continue
		}
		notified = append(notified, chat)
		if err := b.notifyFlooded(tx, chat); err != nil {
			return notified, err
		}
	}
	return notified, nil
}

// errFreeze says that a freeze failed, and not the taking of updates.
var errFreeze = errors.New("freeze on arrival")

// freeze freezes the accounts of people whose updates say so, before any update is handled. put calls it for updates that are
// new: one that Telegram delivers again does not freeze again, since the person may have unfrozen their account meanwhile.
// It reports whether any of them did.
func (b *Bot) freeze(tx store.Tx, updates ...incoming) (froze bool, err error) {
	for _, u := range updates {
		if u.kind == membership {
			continue
		}
		yes, err := b.opt.Chat.FreezeOnArrival(tx, u.in)
		if err != nil {
			return false, errors.Join(errFreeze, err)
		}
		froze = froze || yes
	}
	return froze, nil
}

// taken is what put did.
type taken struct {
	handed     []store.Job // that were leased to this node
	froze      bool        // an update took effect already
	over, calm []int64     // the chats that are over their bound, and those that are not
}

// put is the part of take that runs in the transaction. With freezing, an update that is /freeze takes effect here. It changes
// nothing but tx, so it may run twice.
func (b *Bot) put(tx store.Tx, updates []incoming, most int, freezing bool) (into taken, err error) {
	if most > 0 {
		if stats, err := tx.JobStats(store.Inbox); err != nil || stats.Waiting+stats.InFlight >= most {
			return taken{}, errors.Join(err, ErrBusy)
		}
	}
	now := b.now().UTC()
	var jobs []store.Job
	for _, u := range updates {
		// Telegram delivers an update again until it is acknowledged. Its id is noted in the commit that stores it.
		known, err := tx.NoteUpdate(now, u.id)
		if err != nil {
			return taken{}, err
		}
		if known {
			continue
		}
		if freezing {
			froze, err := b.freeze(tx, u)
			if err != nil {
				return taken{}, err
			}
			into.froze = into.froze || froze
		}
		chat := store.ChatKey(u.in.Chat)
		jobs = append(jobs, store.Job{Queue: store.Inbox, Key: chat, Owner: chat, About: store.ChatPerson(tx, u.in.From.TelegramID), At: now, Body: u.body})
	}
	if into.handed, err = tx.PutJobs(jobs, b.inbox.Offer()); err != nil {
		return taken{}, err
	}
	for _, chat := range chatsOf(updates) {
		switch cut, err := b.cut(tx, chat); {
		case err != nil:
			return taken{}, err
		case cut:
			into.over = append(into.over, chat)
		default:
			into.calm = append(into.calm, chat)
		}
	}
	return into, nil
}

// chatsOf lists the chats of updates, each once.
func chatsOf(updates []incoming) (chats []int64) {
	for _, u := range updates {
		if !slices.Contains(chats, u.in.Chat) {
			chats = append(chats, u.in.Chat)
		}
	}
	return chats
}

// cut removes the oldest updates of a chat that has more than maxOfChat, and returns true if there were any. An update
// that a worker has already begun is neither counted nor removed.
func (b *Bot) cut(tx store.Tx, chat int64) (some bool, err error) {
	n, err := tx.CountJobs(store.Inbox, store.ChatKey(chat))
	if err != nil || n <= b.maxOfChat {
		return false, err
	}
	all, err := tx.JobsOfKey(store.Inbox, store.ChatKey(chat), n)
	if err != nil {
		return false, err
	}
	// An update in hand may have had its effect already, which cannot be taken back.
	all = slices.DeleteFunc(all, func(j store.Job) bool { return j.Attempt > 0 })
	excess := len(all) - b.maxOfChat
	if excess <= 0 {
		return false, nil
	}
	var out []store.JobID
	for _, j := range all[:excess] {
		out = append(out, j.ID)
	}
	return true, tx.RemoveJobs(store.Inbox, out...)
}

// room waits until fewer than maxWaiting updates wait or are handled. It returns ctx's error if that ends first.
func (b *Bot) room(ctx context.Context) error {
	for {
		var stats store.JobStats
		err := b.opt.Store.View(ctx, func(tx store.Tx) (err error) {
			stats, err = tx.JobStats(store.Inbox)
			return err
		})
		if err != nil || stats.Waiting+stats.InFlight < b.maxWaiting {
			return err
		}
		if !pause(ctx, roomLook) {
			return ctx.Err()
		}
	}
}

// handle is the inbox's work.Handle: an attempt, unless one has begun before the update was taken in.
func (b *Bot) handle(ctx context.Context, job store.Job) (work.Result, error) {
	if a := b.early.take(job.ID); a != nil {
		return a.wait(ctx)
	}
	return b.attempt(ctx, job)
}

// attempt handles an update. What was decided becomes true in the commit that ends the job, so an update takes effect once, even
// if it is handled again after a crash or a conflict. An error, also that of a panic, is a failed attempt.
func (b *Bot) attempt(ctx context.Context, job store.Job) (_ work.Result, err error) {
	defer b.recovered(job, &err)
	u, err := kept(job.Body)
	if err != nil {
		return work.Result{}, err
	}
	if u.in.At.IsZero() {
		u.in.At = job.At
	}
	// The job waits instead of its answer: the inbox is bounded for each chat, and the person is notified of what is over the bound.
	if full, err := b.answersWait(ctx, u.in.Chat); err != nil || full {
		return work.Result{Again: b.now().Add(answered)}, err
	}
	// die, after a bad token or an unknown outcome, ends the work in hand too. It is done again after the restart.
	ctx, cancel := b.untilFatal(ctx)
	defer cancel()
	decided, err := b.decide(ctx, u)
	switch {
	case err != nil && b.alive.Err() != nil: // it did not fail: it is handled by the next life of this node
		return work.Result{Again: b.now()}, nil
	case err != nil || decided == nil:
		return work.Result{}, err
	}
	return b.handing(decided), nil
}

// answersWait reports whether maxAnswers answers already wait to be sent to a chat.
func (b *Bot) answersWait(ctx context.Context, chat int64) (yes bool, err error) {
	err = b.opt.Store.View(ctx, func(tx store.Tx) error {
		n, err := tx.CountJobs(store.Outbox, store.ChatKey(chat))
		if err != nil || n < maxAnswers {
			return err
		}
		// Of all that waits for the chat the answers are the first.
		first, err := tx.JobsOfKey(store.Outbox, store.ChatKey(chat), maxAnswers)
		yes = err == nil && len(first) == maxAnswers && first[maxAnswers-1].Priority == store.JobUrgent
		return err
	})
	return yes, err
}

// decide returns what an update changes, as a function that writes it; nil if it changes nothing.
func (b *Bot) decide(ctx context.Context, u incoming) (func(store.Tx) error, error) {
	if u.kind == membership {
		return func(tx store.Tx) error { return reachable(tx, u.in.From.TelegramID, !u.blocked) }, nil
	}
	turn, err := b.ask(ctx, u.in)
	return turn.Commit, err
}

// ask passes an input to the endpoint that it is for, and shows "typing…" if that takes long.
func (b *Bot) ask(ctx context.Context, in chat.Input) (chat.Turn, error) {
	ctx, cancel := context.WithTimeout(ctx, handleTimeout)
	defer cancel()
	quiet := b.typing(ctx, in.Chat)
	defer quiet()
	return b.router.handle(ctx, in)
}

// typing shows "typing…" in a chat, from typingAfter on until the returned function is called. That function waits until
// no more calls are made. Failures are ignored.
func (b *Bot) typing(ctx context.Context, where int64) func() {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for wait := typingAfter; pause(ctx, wait); wait = typingEvery {
			err := b.transport.call(ctx, "sendChatAction", map[string]any{"chat_id": where, "action": "typing"}, nil)
			if err != nil && ctx.Err() == nil {
				b.log.Debug("typing could not be shown", "error", err)
			}
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

// apology returns the rows that answer an update which was given up. If the update was a tap, they also end the spinner on
// its button. A panic of the chat is returned as an error, because it may be what made the update fail.
func (b *Bot) apology(in chat.Input) (rows []store.Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(err, panicked(p))
		}
	}()
	said := b.opt.Chat.Apology(in)
	isToast := func(r chat.Reply) bool { return r.Kind == chat.Toast }
	if in.Tap != nil && !slices.ContainsFunc(said, isToast) {
		said = append(said, chat.Reply{Kind: chat.Toast, CallbackID: in.Tap.CallbackID})
	}
	return b.toSay(in.Chat, said)
}

// gaveUp runs in the transaction that makes an update a dead letter. It queues the apology to the update's person.
func (b *Bot) gaveUp(tx store.Tx, job store.Job, _ error) error {
	u, err := kept(job.Body)
	if err != nil || u.kind == ignored || u.kind == membership {
		return nil
	}
	rows, err := b.apology(u.in)
	if err != nil {
		b.log.Error("no apology could be made", "update", u.id, "error", err)
		return nil
	}
	return store.Enqueue(tx, rows...)
}

// notifyFlooded tells a private chat that some of what it sent is left out, in the transaction that leaves it out. A group
// is not notified.
func (b *Bot) notifyFlooded(tx store.Tx, where int64) error {
	if where <= 0 {
		return nil
	}
	said, err := b.opt.Chat.TooMany(tx, where)
	if err != nil {
		return err
	}
	rows, err := b.toSay(where, said)
	if err != nil {
		return err
	}
	return store.Enqueue(tx, rows...)
}

// toSay converts replies that no Turn has queued to rows of the outbox.
func (b *Bot) toSay(where int64, said []chat.Reply) (rows []store.Reply, err error) {
	now := b.now().UTC()
	for _, reply := range said {
		body, err := json.Marshal(reply)
		if err != nil {
			return nil, err
		}
		row := store.Reply{Chat: where, Body: body, At: now}
		if reply.Kind == chat.Toast {
			row.NotAfter = now.Add(toastLife)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// reachable stores whether a person lets the bot write to them. It ignores people without a profile.
func reachable(tx store.Tx, telegramID int64, yes bool) error {
	user, err := tx.UserByTelegram(telegramID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil || user.Unreachable == !yes {
		return err
	}
	user.Unreachable = !yes
	return tx.PutUser(user)
}

// recovered turns a panic of a handler into an error, in err. The error and the log describe the kind of panic and its
// stack, but not its value, which may contain what a person wrote.
func (b *Bot) recovered(job store.Job, err *error) {
	p := recover()
	if p == nil {
		return
	}
	*err = panicked(p)
	b.log.Error("a handler panicked", "queue", job.Queue, "job", job.Seq, "error", *err, "stack", string(debug.Stack()))
}
