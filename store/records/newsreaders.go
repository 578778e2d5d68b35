package records

import (
	"purser/store/engine"
	"purser/wallet"
)

// NewsReaders walks the index.
func (t *tx) NewsReaders(after wallet.UserID, limit int) (out []wallet.UserID, _ error) {
	from := []byte(nil)
	if after != "" {
		from = append([]byte(after), 0)
	}
	for key := range t.scan(newsReaders, engine.Range{From: from}) {
		if len(out) >= limit {
			break
		}
		out = append(out, wallet.UserID(key))
	}
	return out, nil
}

// noteReader keeps the index of people who want news.
func (t *tx) noteReader(u wallet.User) error {
	if u.Wants(wallet.CategoryNews) {
		return t.put(newsReaders, []byte(u.ID), nil)
	}
	return t.delete(newsReaders, []byte(u.ID))
}
