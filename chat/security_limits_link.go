package chat

import (
	"crypto/sha256"
	"errors"

	"purser/store"
	"purser/wallet"
)

// limitsLinkName is the name of the conversation that follows the message with a link to sign spending limits, and of its slot beside the main
// conversation: the message says when the link was signed, has expired, or no longer works.
const limitsLinkName = "limitslink"

// limitsLinkOpen is its only state.
const limitsLinkOpen State = "limits link open"

// limitsLinkCard is the card of that message. A person has one such link: a newer one ends it, and its message then points to the newer one.
const limitsLinkCard = "limits_link"

// limitsLink is its data.
type limitsLink struct {
	TokenHash [32]byte       `json:"token_hash"`
	Wallet    wallet.Address `json:"wallet"`
}

// limitsLinks is that conversation. It has no steps: what becomes of a link is decided elsewhere (closeLimitsLink).
func limitsLinks() conversation {
	return conversation{
		name: limitsLinkName,
		flow: Flow{idle: {}, limitsLinkOpen: {}}, version: 1, data: func() any { return new(limitsLink) },
		slots: map[string]func(*replyTx, store.Conversation) error{limitsLinkName: (*replyTx).timedOutLimitsLink},
	}
}

// followLimitsLink remembers that the link of a token was sent, in place of an older one.
func (s *replyTx) followLimitsLink(token string, address wallet.Address) error {
	row, _, err := s.limitsLinkRow()
	if err != nil {
		return err
	}
	return s.keepLimitsLink(row, &limitsLink{TokenHash: sha256.Sum256([]byte(token)), Wallet: address})
}

// closeLimitsLink says in the message of the link what has become of it. It does nothing as long as the link is open, and if there is none.
func (s *replyTx) closeLimitsLink() error {
	row, link, err := s.limitsLinkRow()
	if err != nil || link == nil {
		return err
	}
	stored, err := s.tx.PolicyLink(link.TokenHash)
	gone := errors.Is(err, store.ErrNotFound)
	if err != nil && !gone {
		return err
	}
	text := "limits_text.link_ended"
	switch {
	case !gone && !stored.SignedAt.IsZero():
		text = "limits_text.link_signed"
	case !s.now.Before(row.ExpiresAt):
		text = "limits_text.link_expired"
	case !gone:
		return nil
	}
	return errors.Join(s.show(limitsLinkCard, text, vars{"Tail": link.Wallet.Tail()}), s.keepLimitsLink(row, nil))
}

// timedOutLimitsLink is the end of the slot (conversation.slots).
func (s *replyTx) timedOutLimitsLink(store.Conversation) error {
	if err := s.closeLimitsLink(); err != nil {
		return err
	}
	if s.user.Unreachable { // messages to a person who blocked the bot would only fail
		s.out = nil
	}
	return s.end()
}

// limitsLinkRow reads the row of the slot and what it holds; nil for nothing.
func (s *replyTx) limitsLinkRow() (store.Conversation, *limitsLink, error) {
	row, err := s.tx.Conversation(s.conv.Chat, s.conv.User, limitsLinkName)
	if err != nil {
		return row, nil, err
	}
	row.Chat, row.User, row.Slot = s.conv.Chat, s.conv.User, limitsLinkName // a row that does not exist has none of them yet
	_, data := s.open(&row)
	held, _ := data.(*limitsLink)
	return row, held, nil
}

// keepLimitsLink writes the row of the slot; nil ends it. A replyTx of its own does, so that the main conversation and its replies stay untouched.
func (s *replyTx) keepLimitsLink(row store.Conversation, link *limitsLink) error {
	there := &replyTx{Chat: s.Chat, tx: s.tx, now: s.now, conv: row, moved: true}
	if there.conv.State = ""; link != nil {
		stored, err := s.tx.PolicyLink(link.TokenHash)
		if err != nil {
			return err
		}
		there.data = link
		there.conv.Flow, there.conv.State, there.conv.ExpiresAt = limitsLinkName, string(limitsLinkOpen), stored.ExpiresAt
	}
	return there.end()
}

// deviceLine says what signatures prove about the limits that the wallet's device keeps; "" for a wallet that never had any.
func (s *replyTx) deviceLine(stored wallet.WalletPolicy) (html, error) {
	signed := stored.SignedAt()
	key := "limits_text.device_unsigned"
	switch {
	case !stored.Dropped.IsZero():
		key = "limits_text.device_dropped"
	case !signed.IsZero():
		key = "limits_text.device_signed"
	case stored.State.Current.Equal(wallet.Policy{}):
		return "", nil
	}
	return s.words.text(key, vars{"At": signed, "Frozen": s.user.Freeze != nil})
}
