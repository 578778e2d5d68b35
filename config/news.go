package config

import (
	"slices"

	"purser/wallet"
)

// maxFeeds is the most feeds that can be read.
const maxFeeds = 20

// news reads which feeds are read. They may be where webhooks may be: on the public internet by https, and in the networks that the
// operator named. An address can hold a key, so no problem repeats one.
func (ch *checker) news(w Webhooks) (n News) {
	networks := wallet.WebhookNetworks{Private: w.AllowPrivate, Plain: w.AllowHTTP}
	for i, item := range split(ch.values["news.feeds"]) {
		if networks.Check(item) != nil {
			ch.wrong("news.feeds", "address %d must begin with https:// and lead to the internet, without a user and a fragment. Other networks, and http in them, need webhooks.allow_private and webhooks.allow_http", i+1)
			continue
		}
		if feed := Secret(item); !slices.Contains(n.Feeds, feed) {
			n.Feeds = append(n.Feeds, feed)
		}
	}
	if len(n.Feeds) > maxFeeds {
		ch.wrong("news.feeds", "must name at most %d feeds", maxFeeds)
	}
	return n
}
