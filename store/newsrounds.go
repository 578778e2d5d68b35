package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"purser/wallet"
)

// NewsReaders are the people who want news.
type NewsReaders interface {
	// NewsReaders lists them in the order of their ids, behind the last one of the page before; "" begins. PutUser keeps the list.
	NewsReaders(after wallet.UserID, limit int) ([]wallet.UserID, error)
}

const (
	// NewsEvery is the least time between the starts of two rounds. A message that was held for quiet hours can come closer to the next one.
	NewsEvery = 3 * time.Hour
	// newsRound is the only job of the queue NewsRounds.
	newsRound JobID = "round"
)

// NewsRound is the body of the job of NewsRounds: a walk through all who want news.
type NewsRound struct {
	Through uint64        `json:"through"` // the newest item when the round began; 0: it has not begun
	After   wallet.UserID `json:"after"`   // the last person who was reached
}

// OrderNews puts the job that brings new items to people, unless it waits or is under way: between two rounds it waits for NewsEvery.
func OrderNews(tx Tx, now time.Time) error {
	switch _, err := tx.Job(NewsRounds, newsRound); {
	case err == nil:
		return nil
	case !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrDamaged):
		return err
	}
	return PutNewsRound(tx, NewsRound{}, now, now)
}

// PutNewsRound replaces the job of the round.
func PutNewsRound(tx Tx, round NewsRound, now, due time.Time) error {
	body, err := json.Marshal(round)
	if err != nil {
		return fmt.Errorf("write a round of news: %w", err)
	}
	_, err = tx.PutJobs([]Job{{ID: newsRound, Queue: NewsRounds, Priority: JobBackground, At: now, NotBefore: due, Body: body}}, nil)
	return err
}

// NewsRoundOf reads the body of a job of NewsRounds.
func NewsRoundOf(j Job) (round NewsRound, err error) {
	if err = json.Unmarshal(j.Body, &round); err != nil {
		err = fmt.Errorf("%w: a round of news: %v", ErrDamaged, err)
	}
	return round, err
}
