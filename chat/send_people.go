package chat

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
)

// tapPeople opens Telegram's list of people for the question for a recipient.
func (c *Chat) tapPeople(_ context.Context, h Inbound, _ string) (Action, error) {
	if !h.newest(sendFlow, asksAddress) {
		return toast("toast.old"), nil
	}
	return func(s *replyTx) error { return s.transition(sendFlow, peopleWanted) }, nil
}

// offerPeople shows a keyboard that opens the list. Its random request id belongs to this question, so that a choice from an
// older list is recognised as such.
func (s *replyTx) offerPeople() error {
	var raw [4]byte
	if _, err := io.ReadFull(s.Random, raw[:]); err != nil {
		return fmt.Errorf("draw a request id: %w", err)
	}
	list := &dataOf[payment](s).People
	*list = int32(binary.BigEndian.Uint32(raw[:])>>1 | 1) // always positive: 0 means that no list is open
	label, err := s.words.text("people.key", nil)
	if err != nil {
		return err
	}
	return s.openKeyboard("people.ask", nil, "people.closed", Keyboard{People: plain(label), Request: *list})
}

// receivePicked pays a picked person at the address that they let others find (Contacts.Pick). The id comes from the client and
// proves nothing. That is safe: it only selects a destination, which the card shows in full before Confirm.
func (c *Chat) receivePicked(ctx context.Context, h Inbound) (Action, error) {
	open := copyOf[payment](h.data)
	if open.People == 0 || open.People != h.Picked.Request {
		return c.otherPerson(ctx, h)
	}
	p := open.parts
	to, name, refusal := c.Contacts.Pick(ctx, h.Picked.TelegramID)
	if refusal == nil {
		p.To = address(to)
	} else if !labelled(refusal) {
		return nil, refusal
	}
	next, err := c.transfer(ctx, h, asksAddress, p, refusal)
	if err != nil || refusal != nil || !p.To.given() {
		return next, err
	}
	return func(s *replyTx) error {
		if err := s.closeKeyboard("people.picked", vars{"Name": cut(echo(name), 64)}); err != nil {
			return err
		}
		return next(s)
	}, nil
}
