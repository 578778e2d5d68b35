package store

import (
	"time"

	"purser/wallet"
)

// PlantedSenders remember who sent people suspicious transfers (wallet.Suspicion), so that they are warned before they pay such an
// address. They are erased with the person.
type PlantedSenders interface {
	// PutPlantedSender remembers until a time that an address sent something suspicious to a person. ErrNotFound: the person was erased.
	// Sweep removes it after that time.
	PutPlantedSender(owner wallet.UserID, from wallet.Address, until time.Time) error
	// IsPlantedSender reports whether PutPlantedSender was called for the address, and its time is not over at now.
	IsPlantedSender(owner wallet.UserID, from wallet.Address, now time.Time) (bool, error)
}
