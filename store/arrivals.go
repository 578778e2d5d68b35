package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"purser/wallet"
)

// Search is the order to look for payments that are confirmed and not final: the body of a job of the queue ArrivalSearches.
type Search struct {
	Wallet   wallet.Address   `json:"wallet"`
	Accounts []wallet.Address `json:"accounts"` // that hold more than is known to be final
}

// Arrival is a payment that the chat shows as arriving, until its receipt exists or it is known that there will be none. It
// is the body of a job of the queue ArrivingPayments, and is erased with its person.
type Arrival struct {
	wallet.PaymentArrivingData
	At           time.Time `json:"at"`                     // when it was seen first
	MissingSince time.Time `json:"missing_since,omitzero"` // since when no node has shown it; zero: one does
}

// OrderSearch puts the job that looks for arriving payments of a wallet, unless one waits or is in flight.
func OrderSearch(tx Tx, w wallet.Wallet, accounts []wallet.Address, now time.Time) error {
	id := JobID(w.Address.String())
	if waits, err := hasJob(tx, ArrivalSearches, id); err != nil || waits {
		return err
	}
	body, err := json.Marshal(Search{w.Address, accounts})
	if err != nil {
		return fmt.Errorf("order a search in %s: %w", w.Address, err)
	}
	_, err = tx.PutJobs([]Job{{ID: id, Queue: ArrivalSearches, Owner: string(w.Owner), Priority: JobUrgent, At: now, About: w.Owner, Body: body}}, nil)
	return err
}

// SearchOf reads the order of a job of the queue ArrivalSearches.
func SearchOf(j Job) (s Search, err error) {
	if err = json.Unmarshal(j.Body, &s); err != nil {
		err = fmt.Errorf("read the order of a search: %w", err)
	}
	return s, err
}

// PutArrival puts the job that follows an arriving payment from next on, or replaces it.
func PutArrival(tx Tx, who wallet.UserID, a Arrival, now, next time.Time) error {
	body, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("follow %s: %w", a.TransactionID, err)
	}
	_, err = tx.PutJobs([]Job{{ID: JobID(a.TransactionID), Queue: ArrivingPayments, Owner: string(who), Priority: JobNormal, At: now, NotBefore: next, About: who, Body: body}}, nil)
	return err
}

// IsArriving reports whether a payment is followed.
func IsArriving(tx Tx, id wallet.TransactionID) (bool, error) {
	return hasJob(tx, ArrivingPayments, JobID(id))
}

// ArrivalOf reads the payment of a job of the queue ArrivingPayments.
func ArrivalOf(j Job) (a Arrival, err error) {
	if err = json.Unmarshal(j.Body, &a); err != nil {
		err = fmt.Errorf("read an arriving payment: %w", err)
	}
	return a, err
}

// hasJob reports whether a queue has a job that can be read.
func hasJob(tx Tx, queue Queue, id JobID) (bool, error) {
	_, err := tx.Job(queue, id)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrDamaged) {
		return false, nil
	}
	return err == nil, err
}
