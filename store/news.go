package store

import (
	"time"

	"purser/wallet"
)

// News are the items of the feeds that the operator chose, and what was read of each feed. All of it is public, and none of it is
// about a person.
type News interface {
	// NoteNews saves each item whose ID and title (wallet.NewsItem.TitleKey) are both unknown, the oldest first, and those of the
	// same time in the order of the list. Each gets the next Seq, whatever it has. It returns how many were saved.
	//
	// If silent is true, it saves none and remembers their IDs and titles all the same: what a feed holds when it is read
	// for the first time is not news. An ID is forgotten NewsKept after it was last noted, a title NewsKept after it was first
	// noted, and an item is removed NewsKept after it was saved: all of them by Sweep, up to a day later.
	NoteNews(items []wallet.NewsItem, now time.Time, silent bool) (added int, err error)
	// NewsAfter lists the items with a higher Seq, in the order of Seq, at most limit. Damaged rows are passed over.
	NewsAfter(seq uint64, limit int) ([]wallet.NewsItem, error)
	// LastNews returns the highest Seq that was ever given, also after its item was removed; 0 before the first one.
	LastNews() (uint64, error)
	// NewsFeed returns what was read of a feed. ErrNotFound: it was never read successfully, or not within NewsKept, or its row
	// is damaged.
	NewsFeed(url string) (NewsFeed, error)
	// PutNewsFeed creates or replaces it. Sweep removes it NewsKept after ReadAt, up to a day later.
	PutNewsFeed(NewsFeed) error
}

// NewsKept is how long items of news, and what is remembered about them and their feeds, are kept at least.
const NewsKept = 30 * 24 * time.Hour

// NewsFeed is what was read of a feed. Only successful reads count, including those that found nothing new.
type NewsFeed struct {
	URL          string // as the operator wrote it. It can hold a key, so only its keyed hash is stored
	ETag         string // of the last answer that had content (RFC 9110, 8.8.3); "": none
	LastModified string // the same, as the server wrote it
	FirstReadAt  time.Time
	ReadAt       time.Time // the last time
}
