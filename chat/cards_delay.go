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
		wait, err := s.words.reason(wallet.Because("delay.waits", wallet.DurationArg("Wait", t.DelayFor)))
		if err != nil {
			return err
		}
		v["Delay"], err = s.words.text("card.delay", vars{"Wait": wait, "Why": v["WaitWhy"]})
		return err
	case t.Status == wallet.Delayed:
		v["Until"] = s.words.moment(t.DelayEndsAt)
		if waitsOnDevice(t) {
			device, err := s.words.text("card.wait_on_device", nil)
			v["WaitWhy"] = v["WaitWhy"].(html) + " " + device
			return err
		}
	case t.Status == wallet.Failed && t.WasDelayed() && t.NothingSigned():
		// What everybody may read of a refusal is general. Its owner reads the rule's own words.
		reason := t.ErrorReason
		for _, f := range t.Findings {
			if t.ErrorCode == wallet.PolicyViolated && f.Verdict == wallet.RefuseVerdict {
				reason = f.Reason
				break
			}
		}
		why, err := s.words.reason(reason)
		if err != nil {
			return err
		}
		v["Why"], err = s.words.text("failure.after_delay", vars{"Reason": why})
		return err
	}
	return nil
}

// waitsOnDevice reports whether the signing page waits for the recipient of a delayed transaction too, so that its owner has the link already.
func waitsOnDevice(t wallet.Transaction) bool {
	return t.SignID != "" && t.Signer != wallet.DeveloperWallet
}

// delayButtons is Cancel, which works until the transaction has left its delay, also if that takes longer than it should. Above it is the
// signing page, if it waits as well.
func (s *replyTx) delayButtons(t wallet.Transaction) ([][]Button, error) {
	no, err := s.buttonUntil(t, "button.cancel", "reject", t.DelayEndsAt.Add(wallet.DelayedSignWindow))
	if err != nil || !waitsOnDevice(t) {
		return [][]Button{{no}}, err
	}
	label, err := s.words.text("button.wait_on_device", nil)
	return [][]Button{{{Text: plain(label), URL: s.signingPage("s", t.SignID)}}, {no}}, err
}
