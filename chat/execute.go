package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// AppCommand is a command that an app runs for a person over the API.
type AppCommand struct {
	By     handlers.Caller // the app's key; User is empty for an operator's key
	Name   string          // the app's name for the person; "" for an operator's key
	Person wallet.User
	Text   string // the slash command with its arguments, as a person would type it
	Silent bool   // post nothing to the chat, except what the person must confirm
}

// Execute prepares a command that an app runs for a person. It runs the same operation as the typed command, but outside the
// person's conversation: an open question stays open. commit writes the result and posts to the person's chat, in the
// caller's transaction, and returns the reply as Markdown.
//
// The same words work as in the chat, also the commands of other wallets (registry.asMeant): /balance is /wallet balance.
// Execute returns UNKNOWN_COMMAND for text that is no command of purser, POLICY_VIOLATION for a command that apps may not run
// or for text with a secret, CONSENT_REQUIRED without the scope that the command needs, and otherwise the refusals of the
// operation.
func (c *Chat) Execute(ctx context.Context, cmd AppCommand) (commit func(store.Tx) (string, error), _ error) {
	line := c.registry.asMeant(read(cmd.Text))
	if line.command == "" {
		return nil, wallet.About("command", wallet.Refuse(wallet.UnknownCommand, "app_command.slash"))
	}
	row, known := c.registry.command(line.command)
	me := c.BotName()
	switch {
	case !known, line.bot != "" && me != "" && !strings.EqualFold(line.bot, me):
		return nil, wallet.About("command", wallet.Refuse(wallet.UnknownCommand, "app_command.unknown", wallet.TextArg("Commands", c.registry.forApps())))
	case row.app == nil:
		return nil, wallet.Refuse(wallet.PolicyViolation, "app_command.not_for_apps", wallet.TextArg("Command", line.command),
			wallet.TextArg("Commands", c.registry.forApps()))
	}
	// Secrets are refused before the text reaches a handler, an event or a log.
	if c.secrets.In(cmd.Text) != NoSecret {
		return nil, wallet.Refuse(wallet.PolicyViolation, "app_command.secret")
	}
	p := cmd.Person
	var needs wallet.Scope
	if row.appNeeds != nil {
		needs = row.appNeeds(line.args)
	}
	allowed := func(tx store.Tx) error {
		if needs == "" {
			return nil
		}
		return c.People.May(tx, cmd.By, p.ID, needs)
	}
	if err := c.Store.View(ctx, allowed); err != nil {
		return nil, err
	}
	h := Inbound{Input: Input{Chat: p.TelegramID, Private: true, At: c.Now(), Text: cmd.Text,
		From: Person{TelegramID: p.TelegramID, Username: p.Username, FirstName: p.FirstName, LastName: p.LastName, Language: p.Language}},
		line: line, user: p, app: &cmd}
	action, err := row.app(c, ctx, h)
	if err != nil {
		return nil, err
	}
	return func(tx store.Tx) (string, error) {
		if err := allowed(tx); err != nil { // the person may have revoked it meanwhile
			return "", err
		}
		return c.playForApp(tx, h, action)
	}, nil
}

// playForApp runs an action for an app and returns the reply as Markdown. It is play without a conversation: an action that
// moves one is a bug, and an error.
func (c *Chat) playForApp(tx store.Tx, h Inbound, action Action) (string, error) {
	s := &replyTx{Chat: c, words: c.wordsFor(h.reader()), tx: tx, inbound: h, user: h.user, now: c.Now().UTC(), priority: alerts}
	s.conv.Chat, s.conv.User = h.Chat, h.From.TelegramID
	if err := action(s); err != nil {
		return "", err
	}
	if s.moved {
		return "", fmt.Errorf("%s moved a conversation for an app", h.line.command)
	}
	// The app gets the reply without the headline that names it: head comes after said.
	said, err := s.said(0)
	if err != nil {
		return "", err
	}
	if err := s.announceRun(said); err != nil {
		return "", fmt.Errorf("announce what an app ran: %w", err)
	}
	if err := s.head(); err != nil {
		return "", err
	}
	// The replies count against the app's share of the outbox, which refuses when it is full.
	if !h.app.Silent {
		app := shareOf(h.app.By)
		if err := roomForApp(tx, h.Chat, app); err != nil {
			return "", err
		}
		for i := range s.out {
			s.out[i].App = app
		}
		if err := store.Enqueue(tx, s.out...); err != nil {
			return "", err
		}
	}
	return said, nil
}

// head puts a line above the first reply that names the app and the command. Commands run with an operator's key have no such
// line.
func (s *replyTx) head() error {
	by := s.inbound.app.By
	if len(s.out) == 0 || by.User == "" {
		return nil
	}
	from, err := handlers.RequesterOf(s.tx, by.KeyID)
	if err != nil {
		return err
	}
	head, err := s.words.text("app.ran", vars{"App": from.App, "Command": echo(s.inbound.Text), "Own": by.User == s.user.ID, "HasApp": by.App != "", "Hint": from.KeyHint})
	if err != nil {
		return err
	}
	var r Reply
	if err := json.Unmarshal(s.out[0].Body, &r); err != nil {
		return err
	}
	r.Text = string(head) + "\n\n" + r.Text
	s.out[0].Body, err = json.Marshal(r)
	return err
}

// withheld replaces content that apps may not see.
const withheld = "[withheld]"
