package market

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"time"
)

// NewsPath is where the feed of news is.
const NewsPath = "/news.rss"

// newsShown is how many items the feed holds: those of the last day.
const newsShown = 24

// What the feed is about. The lengths of the two lists have no common divisor, so that no headline comes again within 29 × 31 hours.
var (
	dunes = []string{"Old Dune", "the Whistling Dune", "Dune Seven", "Camel Ridge", "the Copper Dune", "the Long Crest", "Dune of Echoes", "Mirage Hill", "the Twin Dunes", "Salt Dune",
		"the Amber Slope", "Dune Thirteen", "the Sleeping Dune", "Lantern Dune", "the Blue Hollow", "Fox Dune", "the Great Ripple", "Needle Dune", "the Lost Crest", "Halfmoon Dune",
		"the Quiet Slope", "Ember Dune", "the Northern Erg", "Paper Dune", "the Drifting Gate", "Thimble Dune", "the Crooked Crest", "Honey Dune", "the Last Ridge"}
	sandNews = []string{"moves two meters overnight", "is closed for combing", "wins the prize for the finest ripple", "hums in a new key", "gains a grain", "loses a grain", "hosts the annual race of beetles",
		"gets a second shadow", "is measured again", "turns slightly east", "celebrates a birthday", "reports no rain", "reports a cloud", "opens a bench for visitors", "is mistaken for a hill", "hides a teapot",
		"returns a lost sandal", "elects a lizard", "postpones sunset by a minute", "welcomes a caravan", "is painted by nine artists at once", "sells no ice", "borrows sand from a neighbor", "pays its sand back",
		"is taller than expected", "is shorter than expected", "asks for silence", "publishes a map of its footprints", "changes sides", "is swept by hand", "stays where it is"}
)

// newsFeed is RSS 2.0.
type newsFeed struct {
	XMLName xml.Name   `xml:"rss"`
	Version string     `xml:"version,attr"`
	Title   string     `xml:"channel>title"`
	Link    string     `xml:"channel>link"`
	About   string     `xml:"channel>description"`
	Items   []newsItem `xml:"channel>item"`
}

type newsItem struct {
	Title string `xml:"title"`
	Link  string `xml:"link"`
	GUID  string `xml:"guid"`
	At    string `xml:"pubDate"`
}

// serveNews is GET /news.rss: a headline for each full hour, the newest first. It follows from the clock alone, and is none of a provider's,
// so it has no limit and no faults.
func (m *Market) serveNews(w http.ResponseWriter, r *http.Request) {
	newest := m.opt.Now().UTC().Truncate(time.Hour)
	feed := newsFeed{Version: "2.0", Title: "The Sandbox Dune Gazette", Link: "https://dunes.example/", About: "Made-up news of sand, a headline an hour"}
	for i := range newsShown {
		at := newest.Add(-time.Duration(i) * time.Hour)
		hour := uint64(at.Unix() / 3600)
		link := fmt.Sprintf("https://dunes.example/%d", hour)
		feed.Items = append(feed.Items, newsItem{Title: dunes[hour%uint64(len(dunes))] + " " + sandNews[hour%uint64(len(sandNews))], Link: link, GUID: link, At: at.Format(time.RFC1123Z)})
	}
	text, err := xml.MarshalIndent(feed, "", " ")
	if err != nil {
		http.Error(w, "Internal Server Error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/rss+xml; charset=utf-8")
	http.ServeContent(w, r, "", newest, bytes.NewReader(append([]byte(xml.Header), text...)))
}
