package market

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"time"
)

// headlines are the news of this world. Each hour has one of them, in turn.
var headlines = []string{
	"Dune prices rise after a windy night", "Bean harvest is larger than expected", "Moon denies that it belongs to anybody", "Ghost token seen, not traded",
	"Sandcastle bank passes its tide test", "Shovel makers agree on a common handle", "Dip recovers a little, then dips", "Two lighthouses merge their beams",
	"Coffee in the shop is still 0.01 SOL", "Weather report: sand, with some sand later", "Turtles vote for shorter epochs", "Bucket exchange lists a second bucket", "Gulls lose interest in fish futures",
}

// rssItem is an item of RSS 2.0.
type rssItem struct {
	Title string `xml:"title"`
	Link  string `xml:"link"`
	GUID  string `xml:"guid"`
	Date  string `xml:"pubDate"`
}

// rss is a feed of RSS 2.0.
type rss struct {
	XMLName xml.Name  `xml:"rss"`
	Version string    `xml:"version,attr"`
	Title   string    `xml:"channel>title"`
	Link    string    `xml:"channel>link"`
	About   string    `xml:"channel>description"`
	Items   []rssItem `xml:"channel>item"`
}

// serveNews is a feed with the headlines of the last day, the newest first. The hour is part of the headline, so that no two are the same. Who has the newest gets 304.
func (m *Market) serveNews(w http.ResponseWriter, r *http.Request) {
	hour := m.opt.Now().UTC().Truncate(time.Hour)
	tag := fmt.Sprintf(`"%d"`, hour.Unix())
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	feed := rss{Version: "2.0", Title: "The Daily Dune", Link: "https://dune.example", About: "News of the sandbox. All of it is made up."}
	for n := range 24 {
		at := hour.Add(-time.Duration(n) * time.Hour)
		hours := at.Unix() / 3600
		feed.Items = append(feed.Items, rssItem{Title: fmt.Sprintf("%s (issue %d)", headlines[hours%int64(len(headlines))], hours), Link: fmt.Sprintf("https://dune.example/%d", hours),
			GUID: fmt.Sprintf("dune-%d", hours), Date: at.Format(time.RFC1123Z)})
	}
	w.Header().Set("Content-Type", "application/rss+xml")
	fmt.Fprint(w, xml.Header)
	_ = xml.NewEncoder(w).Encode(feed) // the client may have left
}
