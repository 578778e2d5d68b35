package config

import (
	"net/url"

	"purser/wallet"
)

// News is where market news comes from. Its zero value is nowhere: then nobody gets any.
type News struct {
	Feeds []*url.URL // of RSS, Atom or JSON feeds. They may hold a key, so they are not shown.
}

// mostFeeds bounds how many feeds are read.
const mostFeeds = 20

// news reads the addresses of feeds. They may lead where webhooks may: to public addresses over https, and to the networks that the operator has opened.
func (ch *checker) news(allowed wallet.WebhookNetworks) (n News) {
	items := split(ch.values["news.feeds"])
	if len(items) > mostFeeds {
		ch.wrong("news.feeds", "at most %d feeds can be read", mostFeeds)
		return n
	}
	for i, item := range items {
		u, err := url.Parse(item)
		if err == nil {
			err = allowed.Check(item)
		}
		if err != nil { // the address itself may hold a key
			ch.wrong("news.feeds", "the address %d of %d must be https and public, or lie in webhooks.allow_private (http: with webhooks.allow_http)", i+1, len(items))
			continue
		}
		n.Feeds = append(n.Feeds, u)
	}
	return n
}
