package chat

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"purser/handlers"
	"purser/wallet"
)

// receiveTyped takes eight typed characters as the Confirm of a transaction that is suspected of address poisoning: they are the
// middle of the recipient's address. It works in any state of the conversation, since a proposal of an app has no
// conversation. It returns nil for all other text.
func (c *Chat) receiveTyped(ctx context.Context, h Inbound) (Action, error) {
	typed := strings.Join(h.line.args, "")
	if _, middle := (wallet.Address{}).Middle(); len(typed) != len(middle) {
		return nil, nil
	}
	id, asked, err := c.Transfers.FindTypedConfirmation(ctx, h.caller(), typed)
	if err != nil || !asked {
		return nil, err
	}
	confirmation, err := c.Transfers.PrepareConfirm(ctx, h.caller(), id, typed)
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error {
		t, err := s.Transfers.CommitConfirm(s.tx, confirmation)
		if err != nil {
			return s.refuse(err)
		}
		if err := s.tx.UseButtons(s.conv.Chat, s.conv.User, string(t.ID), s.now); err != nil {
			return err
		}
		if err := s.drawn(t); err != nil {
			return err
		}
		return s.reply("lookalike.confirmed", nil)
	}, nil
}

// receiveInReview answers text while a card waits for its buttons, or for the typed characters.
func (c *Chat) receiveInReview(ctx context.Context, h Inbound) (Action, error) {
	t, err := c.Transfers.Of(ctx, h.caller(), copyOf[payment](h.data).Transaction)
	if err == nil && !t.PoisoningSuspect.IsZero() && t.Status == wallet.AwaitingConfirmation {
		before, _ := t.To.Middle()
		return reply("lookalike.wrong", vars{"Before": grouped(before)}), nil
	}
	if err != nil && !labelled(err) {
		return nil, err
	}
	return reply("send.use_buttons", nil), nil
}

// resemblance returns the variables of a card about an address that resembles a known one: where the two differ. All are
// empty if there is no such suspicion. nameBoth adds the names.
func resemblance(t wallet.Transaction) vars {
	v := vars{"Lookalike": html(""), "Before": html(""), "Here": html(""), "There": html(""), "Front": "", "Back": "",
		"ByNamed": t.Resembles() != t.To, "Name": "", "KnownName": "", "KnownOwn": false}
	if t.PoisoningSuspect.IsZero() {
		return v
	}
	to, known := t.Resembles().String(), t.PoisoningSuspect.String()
	front, back := wallet.SharedEnds(to, known)
	before, _ := t.To.Middle()
	v["Lookalike"], v["Before"], v["Front"], v["Back"] = grouped(known), grouped(before), atLeastOne(front), atLeastOne(back)
	between := func(text string) html {
		if text == "" { // the addresses differ in length: nothing stands there
			return html("–")
		}
		return code(text)
	}
	v["Here"], v["There"] = between(to[front:len(to)-back]), between(known[front:len(known)-back])
	return v
}

// atLeastOne returns a count for a text; "" for 0, which the text takes as none.
func atLeastOne(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// nameBoth adds the person's names for the recipient, and for the known address that it resembles.
func (s *replyTx) nameBoth(t wallet.Transaction, v vars) error {
	var err error
	if v["Name"], err = handlers.ContactName(s.tx, t); err != nil || t.PoisoningSuspect.IsZero() {
		return err
	}
	if v["KnownName"], err = s.nameOf(t.PoisoningSuspect); err != nil {
		return err
	}
	own, err := s.tx.WalletsOf(s.user.ID)
	v["KnownOwn"] = slices.ContainsFunc(own, func(w wallet.Wallet) bool { return w.Address == t.PoisoningSuspect })
	return err
}
