package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// AppCommand is a command that an app runs for a person.
type AppCommand struct {
	By     handlers.Caller // the app's key
	Name   string          // who the person is told it was; "" says nothing of it (an operator's)
	Person wallet.User
	Text   string // a slash command with its arguments
	Silent bool   // nothing is posted, except what the person must confirm
}

// Execute finds out what a command of an app leads to. It runs what the same command typed runs, in a
// conversation of its own: whatever the person is just asked goes on. UNKNOWN_COMMAND for what is no
// command, POLICY_VIOLATION for one that no app may run; else the refusals of its deed. commit writes what
// the command does, and posts to the person's chat; it returns the reply as Markdown.
func (c *Chat) Execute(ctx context.Context, cmd AppCommand) (commit func(store.Tx) (string, error), _ error) {
	line := read(cmd.Text)
	if line.command == "" {
		return nil, wallet.Refuse(wallet.UnknownCommand, "command: begin with a slash, for example /wallet balance")
	}
	at := slices.IndexFunc(c.table, func(row command) bool { return row.name == line.command })
	me := c.BotName()
	switch {
	case at < 0, line.bot != "" && me != "" && !strings.EqualFold(line.bot, me):
		return nil, wallet.Refuse(wallet.UnknownCommand, "command: the bot has no such command")
	case c.table[at].app == nil:
		return nil, wallet.Refuse(wallet.PolicyViolation, "no app may run /%s: its person does, in the chat", line.command)
	}
	if c.secrets.In(cmd.Text) != NoSecret {
		return nil, wallet.Refuse(wallet.PolicyViolation, "that holds recovery words, a private key or a key of the API: never send these anywhere")
	}
	p := cmd.Person
	h := inbound{Input: Input{Chat: p.TelegramID, Private: true, At: c.Now(), Text: cmd.Text,
		From: Person{TelegramID: p.TelegramID, Username: p.Username, FirstName: p.FirstName, LastName: p.LastName, Language: p.Language}},
		line: line, user: p, app: &cmd}
	action, err := c.table[at].app(c, ctx, h)
	if err != nil {
		return nil, err
	}
	return func(tx store.Tx) (string, error) { return c.playForApp(tx, h, action) }, nil
}

// playForApp runs an action for an app, and tells what it said.
func (c *Chat) playForApp(tx store.Tx, h inbound, action Action) (string, error) {
	s := &replyTx{Chat: c, tx: tx, inbound: h, user: h.user, now: c.Now().UTC(), priority: alerts}
	s.conv.Chat, s.conv.User = h.Chat, h.From.TelegramID
	if err := action(s); err != nil {
		return "", err
	}
	if s.moved {
		return "", fmt.Errorf("%s moved a conversation for an app", h.line.command)
	}
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
	if !h.app.Silent {
		if err := tx.Enqueue(s.out); err != nil {
			return "", err
		}
	}
	return said, nil
}

// head says above the first reply which app ran the command; an operator's says nothing of itself.
func (s *replyTx) head() error {
	by := s.inbound.app.By
	if len(s.out) == 0 || by.User == "" {
		return nil
	}
	app, err := s.appName(by.App)
	if err != nil {
		return err
	}
	hint, err := s.keyHint(by.KeyID)
	if err != nil {
		return err
	}
	head, err := s.words.text("app.ran", vars{"App": app, "Command": echo(s.inbound.Text), "Own": by.User == s.user.ID, "HasApp": by.App != "", "Hint": hint})
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

// withheld stands where a reply holds what no program may see.
const withheld = "[withheld]"

// walletForApp is /wallet for apps: what only looks.
func (c *Chat) walletForApp(ctx context.Context, h inbound) (Action, error) {
	switch {
	case len(h.line.args) == 0:
		return c.walletOverview(ctx, h)
	case len(h.line.args) > 1:
	case strings.EqualFold(h.line.args[0], "balance"):
		return c.walletBalance(ctx, h)
	case strings.EqualFold(h.line.args[0], "address"):
		return c.walletAddress(ctx, h)
	}
	return nil, wallet.Refuse(wallet.PolicyViolation, "of /wallet, apps may run balance and address: its person does the rest, in the chat")
}

// sendForApp is /send for apps: a proposal that the person is asked to confirm. Nothing is asked for,
// so all of it must be there; and names of the person's contacts are no app's business.
func (c *Chat) sendForApp(ctx context.Context, h inbound) (Action, error) {
	p, err := readParts(h.line.args, book{})
	if err == nil && (p.Amount == "" || p.To == "") {
		err = wallet.Refuse(wallet.InvalidRequest, "name all of it: /send 1.5 SOL ADDRESS")
	}
	if err != nil {
		return nil, err
	}
	from, err := c.Wallets.Default(ctx, h.user.ID)
	if err != nil {
		return nil, err
	}
	proposal, err := c.Transfers.Prepare(ctx, handlers.Caller{User: h.user.ID, KeyID: h.app.By.KeyID, KeyLine: h.app.By.KeyLine},
		handlers.SendRequest{From: from.Address, To: p.To, Amount: p.Amount, Token: p.Token, Ask: true})
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error {
		t, err := s.Transfers.CommitByProgram(s.tx, proposal)
		if err != nil {
			return err
		}
		// The question itself comes by its event, silent or not.
		return s.reply("app.proposed", vars{"Sum": t.Money().String(), "Token": sumName(t.Token), "To": code(t.To.String()), "ID": code(string(t.ID))})
	}, nil
}
