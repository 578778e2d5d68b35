package bot

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"
)

// pollWait is how long Telegram holds a getUpdates call open while there are no updates.
const pollWait = 30 * time.Second

// patience is the longest wait between two attempts to reach Telegram.
const patience = 30 * time.Second

// kinds lists the types of updates that purser asks for. Telegram sends no others.
func kinds() []string {
	return []string{"message", "edited_message", "callback_query", "my_chat_member"}
}

// getMe asks Telegram for the bot's id and username, until it answers. It returns ErrBadToken if Telegram does not know
// the token.
func (b *Bot) getMe(ctx context.Context) error {
	var me account
	err := b.insist(ctx, "getMe", struct{}{}, &me)
	if badToken(err) {
		b.log.Error("Telegram refused the bot token. Check telegram.token; @BotFather shows the valid one.")
		return ErrBadToken
	}
	if err != nil {
		return err
	}
	b.me.Store(&me)
	return nil
}

// showProfiles tells Telegram the commands and what the bot is for, in each language, where it shows anything else.
// Nothing waits for it: everything works without it. A language that left the catalogue stays as it was last set,
// since Telegram doesn't list the languages that it has.
func (b *Bot) showProfiles(ctx context.Context) {
	for _, p := range b.opt.Chat.Profiles() {
		menu := []map[string]string{}
		for _, c := range p.Commands {
			menu = append(menu, map[string]string{"command": c.Name, "description": c.Description})
		}
		b.show(ctx, p.Language, "MyCommands", func(shown json.RawMessage) bool {
			var theirs []map[string]string
			return json.Unmarshal(shown, &theirs) == nil && slices.EqualFunc(menu, theirs, maps.Equal[map[string]string])
		}, "commands", menu)
		for _, about := range []struct{ what, field, text string }{
			{"MyDescription", "description", p.Description}, {"MyShortDescription", "short_description", p.Short},
		} {
			b.show(ctx, p.Language, about.what, func(shown json.RawMessage) bool {
				var theirs map[string]string
				return json.Unmarshal(shown, &theirs) == nil && theirs[about.field] == about.text
			}, about.field, about.text)
		}
	}
}

// show sets a part of the bot's profile by Telegram's method set…, unless get… shows it already.
func (b *Bot) show(ctx context.Context, language, what string, same func(json.RawMessage) bool, field string, value any) {
	params := map[string]any{}
	if language != "" {
		params["language_code"] = language
	}
	var shown json.RawMessage
	if err := b.insist(ctx, "get"+what, params, &shown); err == nil && same(shown) {
		return
	}
	params[field] = value
	if err := b.insist(ctx, "set"+what, params, nil); err != nil && ctx.Err() == nil {
		b.log.Warn("Telegram refused a text of the bot's profile; everything else works", "method", "set"+what, "language", language, "error", err)
	}
}

// insist repeats a call until Telegram carries it out or refuses it for good. It is for calls that do no harm if they are
// carried out twice. It returns the refusal, or ctx's error.
func (b *Bot) insist(ctx context.Context, method string, params, result any) error {
	for attempt := 1; ; attempt++ {
		err := b.transport.call(ctx, method, params, result)
		if err == nil || ctx.Err() != nil {
			return err
		}
		wait := backoff(attempt)
		if no := refused(err); no != nil {
			if no.retryAfter == 0 {
				return err
			}
			wait = no.retryAfter
		}
		b.log.Warn("Telegram cannot be reached; trying again", "error", err, "in", wait)
		if !pause(ctx, wait) {
			return ctx.Err()
		}
	}
}

// receive takes in updates until ctx ends: it sets the webhook and waits, or polls.
func (b *Bot) receive(ctx context.Context) error {
	if b.opt.Mode == Webhook {
		// drop_pending_updates is not set: people may have written while purser was down.
		err := b.insist(ctx, "setWebhook", map[string]any{
			"url": b.opt.WebhookURL, "secret_token": b.opt.WebhookSecret, "allowed_updates": kinds(),
		}, nil)
		if err != nil {
			return err
		}
		b.log.Info("receiving Telegram updates by webhook", "bot", b.Me())
		<-ctx.Done()
		return ctx.Err()
	}
	if err := b.insist(ctx, "deleteWebhook", struct{}{}, nil); err != nil {
		return err
	}
	b.log.Info("receiving Telegram updates by long polling", "bot", b.Me())
	return b.poll(ctx)
}

// poll asks for updates and writes them to the inbox. Only then does it acknowledge them, by the offset of the next call:
// after a crash in between, Telegram sends them again, and the inbox recognises their ids.
//
// After a week without updates, Telegram chooses the next id at random (Bot API, Update). So the offset is only used for
// this acknowledgement and never stored. If there is nothing to acknowledge, 0 asks for every update that there is.
func (b *Bot) poll(ctx context.Context) error {
	offset, failures := int64(0), 0
	b.steady = false
	for ctx.Err() == nil {
		if err := b.room(ctx); err != nil {
			return err
		}
		bodies, err := b.fetch(ctx, offset)
		if err == nil {
			var next int64
			if next, err = b.keep(ctx, bodies); err == nil {
				offset, failures, b.steady = next, 0, b.steady || len(bodies) > 0
				continue
			}
		}
		b.steady = false
		if ctx.Err() != nil {
			break
		}
		if badToken(err) {
			b.log.Error("Telegram refuses the bot token now. Was it revoked? Check telegram.token.")
			return ErrBadToken
		}
		failures++
		if !b.afterFailedPoll(ctx, err, failures) {
			break
		}
	}
	return ctx.Err()
}

// fetch makes one getUpdates call, which Telegram holds open for up to pollWait.
func (b *Bot) fetch(ctx context.Context, offset int64) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, pollWait+callTimeout)
	defer cancel()
	var bodies []json.RawMessage
	err := b.transport.call(ctx, "getUpdates", map[string]any{
		"offset": offset, "timeout": int(pollWait / time.Second), "limit": 100, "allowed_updates": kinds(),
	}, &bodies)
	return bodies, err
}

// keep writes polled updates to the inbox and returns the offset that acknowledges them; 0 if there were none. An update
// that cannot be parsed is logged and acknowledged too, or Telegram would send it again for ever.
func (b *Bot) keep(ctx context.Context, bodies []json.RawMessage) (int64, error) {
	var next int64
	updates := make([]incoming, 0, len(bodies))
	for _, body := range bodies {
		u, err := b.reader.arrived(body)
		next = max(next, u.id+1)
		if err != nil {
			b.log.Warn("an update of Telegram's cannot be read and is dropped", "update", u.id)
			continue
		}
		updates = append(updates, u)
	}
	if len(bodies) > 0 && next <= 1 {
		return 0, errors.New("telegram getUpdates: updates without ids, which cannot be acknowledged")
	}
	return next, b.take(ctx, updates, 0, b.attemptEarly(ctx, updates))
}

// afterFailedPoll logs what is wrong and waits until the next attempt. It returns false if ctx ended meanwhile. If a
// webhook is set, which excludes polling, it removes the webhook.
func (b *Bot) afterFailedPoll(ctx context.Context, err error, failures int) bool {
	wait := backoff(failures)
	no := refused(err)
	switch {
	case no != nil && no.says("while webhook is active"):
		b.log.Warn("a webhook is set for this bot; removing it, since telegram.mode is poll")
		if err := b.insist(ctx, "deleteWebhook", struct{}{}, nil); err != nil {
			b.log.Warn("the webhook could not be removed", "error", err)
		}
	case no != nil && no.code == 409:
		b.log.Warn("another program receives this bot's updates; stop it, or give it a token of its own", "retry_in", wait)
	case no != nil && no.retryAfter > 0:
		wait = no.retryAfter
		b.log.Warn("Telegram asks for a pause", "for", wait)
	default:
		b.log.Warn("no updates from Telegram; trying again", "error", err, "in", wait)
	}
	return pause(ctx, wait)
}
