package chat

import (
	"context"

	"purser/handlers"
	"purser/wallet"
)

// sayClaimed tells a person who proved an address that already belongs to another account what happens next. The first owner
// has handlers.ClaimWindow to object; after that the button takes the address over.
func (s *replyTx) sayClaimed(bind wallet.Bind, address wallet.Address) error {
	if err := s.toast("toast.claimed", nil); err != nil {
		return err
	}
	label, err := s.words.text("button.take_over", nil)
	if err != nil {
		return err
	}
	b, err := s.button(label, "takeover:"+address.String(), "claim:"+address.String(), s.now.Add(handlers.ClaimWindow+menuLife))
	if err != nil {
		return err
	}
	return s.show(questionCard(bind), "claim.waits", vars{"Address": code(address.String())}, []Button{b})
}

// notifyClaimed notifies the owner of an address that another account has proven it too, with a button to keep it. Doing
// nothing for handlers.ClaimWindow lets the other account take the address over.
func (s *replyTx) notifyClaimed(claim wallet.WalletClaimedData) error {
	b, err := s.stopClaim(claim.WalletAddress, "")
	if err != nil {
		return err
	}
	return s.reply("claim.told", vars{"Address": code(claim.WalletAddress.String())}, []Button{b})
}

// stopClaim returns the button that keeps an address with its first owner. tail, if given, names the address on the button. It
// works longer than the window: the first owner may object as long as nobody has taken the address over.
func (s *replyTx) stopClaim(address wallet.Address, tail string) (Button, error) {
	label, err := s.words.text("button.stop_claim", vars{"Tail": html(tail)})
	if err != nil {
		return Button{}, err
	}
	return s.button(label, "stopclaim:"+address.String(), "claim:"+address.String(), s.now.Add(handlers.ClaimWindow+menuLife))
}

// notifyDisconnected notifies the first owner that their address now belongs to another account. A person who disconnected it
// themselves got their answer at once.
func (s *replyTx) notifyDisconnected(lost wallet.WalletDisconnectedData) error {
	if lost.Reason != wallet.MovedToAnother {
		return nil
	}
	return s.reply("claim.lost", vars{"Address": code(lost.WalletAddress.String())})
}

// tapTakeOver connects an address whose first owner did not object in time. Before ClaimWindow is over it is CONFLICT, and the
// button stays usable; without a claim of this person it is NOT_FOUND.
func (c *Chat) tapTakeOver(_ context.Context, _ Inbound, text string) (Action, error) {
	address, err := wallet.ParseAddress(text)
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error {
		w, err := s.Wallets.TakeOver(s.tx, s.user.ID, address)
		if ok, err := s.answerTap(err, "toast.connected"); !ok {
			return err
		}
		if err := s.strip(); err != nil {
			return err
		}
		return s.reply("claim.moved", vars{"Address": code(w.Address.String())})
	}, nil
}

// tapStopClaim keeps an address with its first owner. It is NOT_FOUND if nobody claims the address any more.
func (c *Chat) tapStopClaim(_ context.Context, _ Inbound, text string) (Action, error) {
	address, err := wallet.ParseAddress(text)
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error {
		if ok, err := s.answerTap(s.Wallets.StopClaim(s.tx, s.user.ID, address), "toast.claim_stopped"); !ok {
			return err
		}
		if err := s.strip(); err != nil {
			return err
		}
		return s.reply("claim.stopped", vars{"Address": code(address.String())})
	}, nil
}
