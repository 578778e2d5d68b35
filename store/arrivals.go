package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"purser/wallet"
)

// The IDs of jobs in the queue Watching about payments that are not final yet begin like this. No address does.
const (
	searchJob  = "search:"
	arrivalJob = "arriving:"
)

// Search is the order to look for payments that are confirmed and not final: the body of a job of the queue Watching.
type Search struct {
	Wallet   wallet.Address   `json:"wallet"`
	Accounts []wallet.Address `json:"accounts"` // that hold more than is known to be final
}

// Arrival is a payment that the chat shows as arriving, until its receipt exists or it is known that there will be none. It
// is the body of the job that follows it, and is erased with its person.
type Arrival struct {
	wallet.PaymentArrivingData
	At           time.Time `json:"at"`                     // when it was seen first
	MissingSince time.Time `json:"missing_since,omitzero"` // since when no node has shown it; zero: one does
}

// OrderSearch puts the job that looks for arriving payments of a wallet, unless one waits or is in flight.
func OrderSearch(tx Tx, w wallet.Wallet, accounts []wallet.Address, now time.Time) error {
	id := JobID(searchJob + w.Address.String())
	if waits, err := isWatching(tx, id); err != nil || waits {
		return err
	}
	body, err := json.Marshal(Search{w.Address, accounts})
	if err != nil {
		return fmt.Errorf("order a search in %s: %w", w.Address, err)
	}
	_, err = tx.PutJobs([]Job{{ID: id, Queue: Watching, Owner: string(w.Owner), Priority: JobUrgent, At: now, About: w.Owner, Body: body}}, nil)
	return err
}

// SearchOf reads the order of a job of OrderSearch; ok is false for other jobs of the queue Watching.
func SearchOf(j Job) (s Search, ok bool, err error) {
	if !strings.HasPrefix(string(j.ID), searchJob) {
		return s, false, nil
	}
	if err = json.Unmarshal(j.Body, &s); err != nil {
		err = fmt.Errorf("read the order of a search: %w", err)
	}
	return s, true, err
}

// PutArrival puts the job that follows an arriving payment from next on, or replaces it.
func PutArrival(tx Tx, who wallet.UserID, a Arrival, now, next time.Time) error {
	body, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("follow %s: %w", a.TransactionID, err)
	}
	_, err = tx.PutJobs([]Job{{ID: JobID(arrivalJob + string(a.TransactionID)), Queue: Watching, Owner: string(who), Priority: JobNormal, At: now, NotBefore: next, About: who, Body: body}}, nil)
	return err
}

// IsArriving tells whether a payment is followed.
func IsArriving(tx Tx, id wallet.TransactionID) (bool, error) {
	return isWatching(tx, JobID(arrivalJob+string(id)))
}

// IsArrival tells whether a job is one of PutArrival. Its body is the JSON of an Arrival.
func IsArrival(j Job) bool { return strings.HasPrefix(string(j.ID), arrivalJob) }

// isWatching tells whether the queue Watching has a job that can be read.
func isWatching(tx Tx, id JobID) (bool, error) {
	_, err := tx.Job(Watching, id)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrDamaged) {
		return false, nil
	}
	return err == nil, err
}
