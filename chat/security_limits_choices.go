package chat

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"purser/wallet"
)

// The choices below spending limits: screens in their message whose buttons change something.

// textAtChoice answers text while a choice below the limits waits for its buttons. Without it the text would answer an older question, or begin something.
func (c *Chat) textAtChoice(_ context.Context, h Inbound) (Action, error) {
	of := copyOf[limitsAsked](h.data)
	return reply("limits_text.use_buttons", vars{"Wait": of.Wait, "Command": code("/security " + limitsWord + " " + of.Wallet.Tail() + " " + limitNew + " 48h")}), nil
}

// beginChoice ends the question that is open, so that no text answers it any more: what is shown now waits for its buttons.
func (s *replyTx) beginChoice(of limitsAsked) error {
	if err := s.leave(); err != nil {
		return err
	}
	s.resetData(&of)
	return s.transition(securityFlow, choiceShown)
}

// newWaits are the waits for new recipients that buttons offer, in hours.
func newWaits() []int { return []int{0, 1, 24, 72, int(wallet.MaxNewRecipientWait / time.Hour)} }

// tapWait offers waits for new recipients.
func (c *Chat) tapWait(_ context.Context, _ Inbound, object string) (Action, error) {
	return onLimits(object, func(s *replyTx, address wallet.Address, _ string) error {
		state, err := s.Policies.Of(s.tx, s.user.ID, address)
		if err != nil {
			return s.refuse(err)
		}
		if err := s.beginChoice(limitsAsked{Wallet: address, Wait: true}); err != nil {
			return err
		}
		var rows [][]Button
		for _, hours := range newWaits() {
			label, err := s.words.text("limits_button.no_wait", nil)
			if hours > 0 {
				label, err = s.words.duration(time.Duration(hours) * time.Hour)
			}
			if err != nil {
				return err
			}
			b, err := s.button(label, "limitedit:"+address.String()+":"+limitNew+" "+strconv.Itoa(hours), limitsCard(address), s.now.Add(menuLife))
			if err != nil {
				return err
			}
			rows = append(rows, []Button{b})
		}
		back, err := s.limitButtons(address, [][][2]string{{{"limits_button.back", "limits:" + address.String()}}})
		if err != nil {
			return err
		}
		now, err := s.changedWait(state.Current.NewRecipientWait)
		if err != nil {
			return err
		}
		return s.showLimits(address, "limits_text.wait", vars{"Tail": address.Tail(), "Now": now}, append(rows, back...))
	})
}

// tapRecipients shows who may be paid, with buttons that change it.
func (c *Chat) tapRecipients(_ context.Context, _ Inbound, object string) (Action, error) {
	return onLimits(object, func(s *replyTx, address wallet.Address, _ string) error {
		state, err := s.Policies.Of(s.tx, s.user.ID, address)
		if err != nil {
			return s.refuse(err)
		}
		if err := s.beginChoice(limitsAsked{Wallet: address}); err != nil {
			return err
		}
		var lines []string
		if err := s.recipientLines(state.Current, func(key string, v vars) error {
			line, err := s.words.text(key, v)
			lines = append(lines, string(line))
			return err
		}); err != nil {
			return err
		}
		to := address.String()
		anybody := state.Current.Recipients == nil
		list := [][][2]string{{{"limits_button.add", "limitask:" + to + ":" + limitRecipients}, {"limits_button.anybody", "limitedit:" + to + ":" + limitRecipients + " any"}}}
		if anybody {
			list = [][][2]string{{{"limits_button.only", "limitask:" + to + ":" + limitRecipients}}}
		}
		rows, err := s.limitButtons(address, list)
		if err != nil {
			return err
		}
		removes, err := s.removeButtons(address, state.Current)
		if err != nil {
			return err
		}
		back, err := s.limitButtons(address, [][][2]string{{{"limits_button.back", "limits:" + to}}})
		if err != nil {
			return err
		}
		return s.showLimits(address, "limits_text.recipients", vars{"Tail": address.Tail(), "Lines": html(strings.Join(lines, "\n")), "Anybody": anybody}, slices.Concat(rows, removes, back))
	})
}

// removeButtons are buttons that remove the recipients that are shown from the list.
func (s *replyTx) removeButtons(address wallet.Address, p wallet.Policy) (rows [][]Button, _ error) {
	if p.Recipients == nil {
		return nil, nil
	}
	for _, a := range (*p.Recipients)[:min(len(*p.Recipients), recipientsShown)] {
		label, err := s.words.text("limits_button.remove", vars{"Tail": a.Tail()})
		if err != nil {
			return nil, err
		}
		b, err := s.button(label, "limitedit:"+address.String()+":"+limitRecipients+" remove "+a.String(), limitsCard(address), s.now.Add(menuLife))
		if err != nil {
			return nil, err
		}
		rows = append(rows, []Button{b})
	}
	return rows, nil
}
