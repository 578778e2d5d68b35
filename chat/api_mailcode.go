package chat

import (
	"context"
	stdhtml "html"
	"strconv"
	"strings"
	"unicode"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// askEmail asks for a mail address. If the limit of mails is used up, it says when the next one is possible.
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
		if v["Again"] = s.words.moment(again); wallet.CodeOf(s.refusal) == wallet.RateLimitExceeded {
			s.refusal = nil // the question already says so
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

// askCode asks for the code that was mailed, with buttons for another code and another address.
func (s *replyTx) askCode() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	sent, err := s.Developers.Mailed(s.tx, s.user.ID)
	if err != nil {
		return err
	}
	if sent == nil { // the code expired while it was being sent
		return s.askEmail()
	}
	limit, err := s.Developers.MailableFrom(s.tx, s.user.ID)
	if err != nil {
		return err
	}
	// The question stays open as long as the code is valid, which is longer than AnswerTimeout.
	s.conv.ExpiresAt = sent.Until
	v, rows := vars{"Address": sent.Address, "Until": s.words.moment(sent.Until), "Again": ""}, [][]Button{}
	if !limit.IsZero() { // no mail is possible now, so neither button would work
		if v["Again"] = s.words.moment(limit); wallet.CodeOf(s.refusal) == wallet.RateLimitExceeded {
			s.refusal = nil // the question already says so
		}
	} else {
		again, err := s.catalogueButton("button.new_code", "newcode", s.question.Ask, sent.Until)
		if err != nil {
			return err
		}
		other, err := s.catalogueButton("button.new_mail", "newmail", s.question.Ask, sent.Until)
		if err != nil {
			return err
		}
		rows = append(rows, []Button{again, other})
	}
	return s.ask("access.ask_code", v, rows)
}

// receiveMailAddress takes the answer to the question for a mail address.
func (c *Chat) receiveMailAddress(ctx context.Context, h Inbound) (Action, error) {
	if sent, err := c.stillMailed(ctx, h); err != nil || sent != nil {
		return sent, err
	}
	return c.mailCode(ctx, h, h.Text)
}

// receiveCode takes the answer to the question for a code.
func (c *Chat) receiveCode(_ context.Context, h Inbound) (Action, error) {
	return func(s *replyTx) error { return s.tryCode(h.Text) }, nil
}

// lateMailAnswer reports whether a text may be a mail address or a code while the person proves an address.
func (s *replyTx) lateMailAnswer(text string) (bool, error) {
	if !strings.Contains(text, "@") && !codeIn(text) {
		return false, nil
	}
	return s.Developers.ProvingMail(s.tx, s.user.ID)
}

// stillMailed handles an answer to the question for an address while a code is already on its way: the code itself, or the
// same address again, which gets no second mail. It returns nil for other answers.
func (c *Chat) stillMailed(ctx context.Context, h Inbound) (Action, error) {
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

// waitForCode asks for the code that is on its way, or takes the given trigger if there is none.
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

// mailCode sends a code by mail and stores it, before the transaction of the answer. If that transaction conflicts, the input
// is handled again, and the code is recognised as mailed for it.
func (c *Chat) mailCode(ctx context.Context, h Inbound, address string) (Action, error) {
	err := c.Developers.MailCode(ctx, h.user.ID, address, inputName(h), func(code string) (subject, text string, err error) {
		words := c.wordsFor(h.reader())
		title, err := words.text("mail.subject", nil)
		if err != nil {
			return "", "", err
		}
		body, err := words.text("mail.text", vars{"Code": code, "Bot": c.BotName()})
		return plain(title), stdhtml.UnescapeString(string(body)), err
	})
	if err != nil && !labelled(err) {
		return nil, err
	}
	return func(s *replyTx) error {
		if s.refusal = err; err != nil {
			if h.at(apiFlow) == coding || wallet.CodeOf(err) == wallet.RateLimitExceeded { // an earlier code may still be valid
				return s.waitForCode(emailMissing)
			}
			return s.notThat(err)
		}
		return s.transition(apiFlow, codeMailed)
	}, nil
}

// inputName names an input, so that it is recognised when it is handled again and no second mail is sent for it. Message ids are
// unique within a chat, and callback ids within the bot.
func inputName(h Inbound) string {
	if h.Tap != nil {
		return "tap " + h.Tap.CallbackID
	}
	return "message " + strconv.Itoa(h.MessageID)
}

// tryCode checks what was typed as the code. A wrong code keeps the question open. Too many wrong attempts end the code, and the
// question for an address comes again. TryCode counts the attempt in this transaction, even if it was wrong.
func (s *replyTx) tryCode(typed string) error {
	err := s.Developers.TryCode(s.tx, s.user.ID, typed)
	if wallet.CodeOf(err) == wallet.InvalidRequest && s.state() == coding {
		return s.notThat(err)
	}
	if labelled(err) {
		s.refusal = err
		return s.waitForCode(emailMissing)
	}
	if err != nil {
		return err
	}
	return s.goOn()
}

// tapNewCode mails another code to the same address. The limit of mails applies.
func (c *Chat) tapNewCode(ctx context.Context, h Inbound, _ string) (Action, error) {
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

// tapNewMail asks for another mail address.
func (c *Chat) tapNewMail(_ context.Context, h Inbound, _ string) (Action, error) {
	return h.tapAccess(coding, func(s *replyTx) error { return s.transition(apiFlow, emailMissing) }), nil
}

// codeIn reports whether a text has enough digits to contain a mailed code. They may be spread over the text, as in "12 34 56".
func codeIn(text string) bool {
	digits := 0
	for _, r := range text {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	return digits >= handlers.CodeDigits
}
