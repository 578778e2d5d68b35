package market

import (
	"net/url"
	"time"

	"purser/wallet"
)

// ParseFeed is parseFeed for tests outside of the package.
func ParseFeed(host string, body []byte, now time.Time) ([]wallet.NewsItem, error) {
	return parseFeed(&url.URL{Scheme: "https", Host: host}, body, now)
}
