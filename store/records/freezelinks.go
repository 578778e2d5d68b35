package records

import (
	"bytes"
	"errors"

	"purser/store"
	"purser/wallet"
)

// freezeLinkPayload is the sealed part of a link: the nonce of the text that a wallet signs.
type freezeLinkPayload struct {
	Nonce string `json:"nonce"`
}

// freezeLinkIndex is the entry of a person's link of one use.
func freezeLinkIndex(user wallet.UserID, use wallet.FreezeLinkUse) []byte {
	return join(userPrefix(user), []byte(use))
}

// FreezeLink reads the row by the hash of its token, and gives it its nonce.
func (t *tx) FreezeLink(tokenHash [32]byte) (wallet.FreezeLink, error) {
	l, sealed, err := readWithPayload[wallet.FreezeLink, freezeLinkPayload](t, freezeLinks, tokenHash[:])
	l.Nonce = sealed.Nonce
	return l, err
}

// PutFreezeLink checks whose the token is before it writes, then removes the person's older link of the use.
func (t *tx) PutFreezeLink(l wallet.FreezeLink) error {
	if err := errors.Join(checkID(string(l.User)), checkID(string(l.Use))); err != nil {
		return err
	}
	if t.isErased(l.User) {
		return store.ErrNotFound
	}
	key, index := l.TokenHash[:], freezeLinkIndex(l.User, l.Use)
	if t.get(freezeLinks, key) != nil && !bytes.Equal(t.get(freezeLinksOf, index), key) {
		return store.ErrConflict
	}
	if err := t.DeleteFreezeLink(l.User, l.Use); err != nil {
		return err
	}
	plain := l
	plain.Nonce = ""
	if err := t.putWithPayload(freezeLinks, key, l.User, plain, freezeLinkPayload{l.Nonce}); err != nil {
		return err
	}
	return t.put(freezeLinksOf, index, key)
}

// DeleteFreezeLink follows the index, so a damaged row goes too.
func (t *tx) DeleteFreezeLink(user wallet.UserID, use wallet.FreezeLinkUse) error {
	index := freezeLinkIndex(user, use)
	key := bytes.Clone(t.get(freezeLinksOf, index))
	if key == nil {
		return nil
	}
	return errors.Join(t.delete(freezeLinks, key), t.delete(freezeLinksOf, index))
}

// eraseFreezeLinks removes a person's links of both uses.
func (t *tx) eraseFreezeLinks(user wallet.UserID) error {
	return errors.Join(t.DeleteFreezeLink(user, wallet.LinkFreezes), t.DeleteFreezeLink(user, wallet.LinkUnfreezes))
}
