package chat

import "purser/wallet"

// delay adds to v what a text says of the delay of a transaction: before Confirm that and why it will wait (Delay), then until
// when (Until, WaitWhy), and afterwards that it did (Waited) and why it was not possible any more (Why).
func (s *replyTx) delay(t wallet.Transaction, v vars) (err error) {
	v["Delay"], v["Until"], v["WaitWhy"], v["Waited"] = html(""), "", html(""), t.WasDelayed()
	if t.DelayFor > 0 {
		if v["WaitWhy"], err = s.words.reason(t.DelayReason); err != nil {
			return err
		}
	}
	switch {
	case t.Status == wallet.AwaitingConfirmation && t.DelayFor > 0:
		wait, err := s.words.reason(wallet.Because("delay.after_confirm", wallet.DurationArg("Wait", t.DelayFor)))
		if err != nil {
			return err
		}
		v["Delay"], err = s.words.text("card.delay", vars{"Wait": wait, "Why": v["WaitWhy"]})
		return err
	case t.Status == wallet.Delayed:
		v["Until"] = s.words.moment(t.DelayEndsAt)
	case t.Status == wallet.Failed && t.WasDelayed() && t.NothingSigned():
		why, err := s.words.reason(t.ErrorReason)
		if err != nil {
			return err
		}
		v["Why"], err = s.words.text("failure.after_delay", vars{"Reason": why})
		return err
	}
	return nil
}

// delayButtons is Cancel, which works until the transaction has left its delay, also if that takes longer than it should.
func (s *replyTx) delayButtons(t wallet.Transaction) ([][]Button, error) {
	no, err := s.buttonUntil(t, "button.cancel", "reject", t.DelayEndsAt.Add(wallet.DelayedSignWindow))
	return [][]Button{{no}}, err
}
