package chat

import (
	"context"
	stdhtml "html"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// askEmail asks for an address; when no code can be mailed for a while, it says from when.
func (s *replyTx) askEmail() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	v := vars{"Again": "", "Known": ""}
	again, err := s.Developers.MailableFrom(s.tx, s.user.ID)
	if err != nil {
		return err
	}
	if !again.IsZero() {
		if v["Again"] = moment(again); wallet.CodeOf(s.draft.refusal) == wallet.RateLimitExceeded {
			s.draft.refusal = nil // the same
		}
	}
	sent, err := s.Developers.Mailed(s.tx, s.user.ID)
	if err != nil {
		return err
	}
	if sent != nil {
		v["Known"] = sent.Address
	}
	return s.ask("access.ask_email", v, nil)
}

func (s *replyTx) askCode() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	sent, err := s.Developers.Mailed(s.tx, s.user.ID)
	if err != nil {
		return err
	}
	if sent == nil { // its time ended while it was mailed
		return s.askEmail()
	}
	limit, err := s.Developers.MailableFrom(s.tx, s.user.ID)
	if err != nil {
		return err
	}
	s.conv.ExpiresAt = sent.Until
	v, rows := vars{"Address": sent.Address, "Until": moment(sent.Until), "Again": ""}, [][]Button{}
	if !limit.IsZero() { // neither button could keep what it says
		if v["Again"] = moment(limit); wallet.CodeOf(s.draft.refusal) == wallet.RateLimitExceeded {
			s.draft.refusal = nil // the same
		}
	} else {
		again, err := s.ours("button.new_code", "newcode", s.topic.Ask, sent.Until)
		if err != nil {
			return err
		}
		other, err := s.ours("button.new_mail", "newmail", s.topic.Ask, sent.Until)
		if err != nil {
			return err
		}
		rows = append(rows, []Button{again, other})
	}
	return s.ask("access.ask_code", v, rows)
}

// stillMailed takes a code that is on its way where an address is asked for: written itself, or its
// address once more, to which no second one goes. Nil without either.
func (c *Chat) stillMailed(ctx context.Context, h inbound) (Action, error) {
	var sent *wallet.MailCode
	err := c.Store.View(ctx, func(tx store.Tx) (err error) { sent, err = c.Developers.Mailed(tx, h.user.ID); return err })
	switch {
	case err != nil || sent == nil:
		return nil, err
	case handlers.IsCode(h.Text):
		return func(s *replyTx) error { return s.tryCode(h.Text) }, nil
	case strings.EqualFold(strings.TrimSpace(h.Text), sent.Address):
		return func(s *replyTx) error { return s.waitForCode(emailMissing) }, nil
	}
	return nil, nil
}

// waitForCode asks for the code that is on its way, or else by another trigger.
func (s *replyTx) waitForCode(without Trigger) error {
	sent, err := s.Developers.Mailed(s.tx, s.user.ID)
	if err != nil {
		return err
	}
	if sent == nil {
		return s.transition(apiFlow, without)
	}
	return s.transition(apiFlow, codeMailed)
}

// mailCode mails a code, before anything is written of it.
func (c *Chat) mailCode(ctx context.Context, h inbound, address string) (Action, error) {
	sent, err := c.Developers.MailCode(ctx, h.user.ID, address, func(code string) (subject, text string, err error) {
		words, err := c.words.text("mail.subject", nil)
		if err != nil {
			return "", "", err
		}
		body, err := c.words.text("mail.text", vars{"Code": code, "Bot": c.BotName()})
		return plain(words), stdhtml.UnescapeString(string(body)), err
	})
	if err != nil && !labelled(err) {
		return nil, err
	}
	return func(s *replyTx) error {
		if s.draft.refusal = err; err != nil {
			if h.at(apiFlow) == coding || wallet.CodeOf(err) == wallet.RateLimitExceeded { // the code before may still be right
				return s.waitForCode(emailMissing)
			}
			return s.notThat(err)
		}
		if err := s.Developers.CommitCode(s.tx, s.user.ID, sent); err != nil {
			return err
		}
		return s.transition(apiFlow, codeMailed)
	}, nil
}

// tryCode takes what was typed as the code.
func (s *replyTx) tryCode(typed string) error {
	err := s.Developers.TryCode(s.tx, s.user.ID, typed)
	if wallet.CodeOf(err) == wallet.InvalidRequest && s.state() == coding {
		return s.notThat(err)
	}
	if labelled(err) {
		s.draft.refusal = err
		return s.waitForCode(emailMissing)
	}
	if err != nil {
		return err
	}
	return s.goOn()
}

func (c *Chat) tapNewCode(ctx context.Context, h inbound, _ string) (Action, error) {
	if !h.newest(apiFlow, coding) {
		return toast("toast.old"), nil
	}
	var sent *wallet.MailCode
	err := c.Store.View(ctx, func(tx store.Tx) (err error) { sent, err = c.Developers.Mailed(tx, h.user.ID); return err })
	if err != nil {
		return nil, err
	}
	if sent == nil {
		return h.tapAccess(coding, func(s *replyTx) error { return s.transition(apiFlow, emailMissing) }), nil
	}
	next, err := c.mailCode(ctx, h, sent.Address)
	if err != nil {
		return nil, err
	}
	return h.tapAccess(coding, next), nil
}

func (c *Chat) tapNewMail(_ context.Context, h inbound, _ string) (Action, error) {
	return h.tapAccess(coding, func(s *replyTx) error { return s.transition(apiFlow, emailMissing) }), nil
}
