package store

import (
	"errors"
	"time"

	"purser/wallet"
)

// plantedFor is how long the sender of a planted transfer is remembered. Histories in wallets show about as much.
const plantedFor = 90 * 24 * time.Hour

// plantedCard returns the name of the row that remembers the sender of a planted transfer. It uses the table of cards, which
// is erased with the person, but no message has this card.
func plantedCard(from wallet.Address) string { return "planted:" + from.String() }

// MarkPlanted remembers that an address sent something suspicious (wallet.Suspicion) to the person of a private chat.
func MarkPlanted(tx Tx, chat int64, from wallet.Address, now time.Time) error {
	const noMessage = 0
	return tx.PutCard(chat, plantedCard(from), noMessage, now.Add(plantedFor))
}

// IsPlanted reports whether MarkPlanted was called for the address within the last 90 days.
func IsPlanted(tx Tx, chat int64, from wallet.Address) (bool, error) {
	_, err := tx.Card(chat, plantedCard(from))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
