package market

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"io"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"purser/wallet"
)

// Limits of what a feed may hold. They are far above those of real feeds. The parser recurses into elements, and keeps the namespaces
// of each of them, so without a limit one megabyte could take all memory, or all of the stack. It joins the pieces of a text one by one, which
// takes seconds for many.
const (
	maxFeedDepth      = 64     // of elements in one another
	maxFeedElements   = 50_000 // elements, or objects and lists of JSON
	maxFeedAttributes = 64     // of an element
	maxFeedNamespaces = 64     // declared around an element
	maxFeedPieces     = 2_000  // of text in an element, between other elements, comments and the like
)

// What is used of a feed.
const (
	maxFeedItems   = 50
	oldestNews     = 48 * time.Hour
	maxMarkedTitle = 8 << 10 // bytes of a title, with its HTML
)

// parseFeed returns the usable items of a feed, the oldest first, at most maxFeedItems of the newest. Items without a title or an https link
// are left out, as are those that are older than oldestNews. A feed without usable items is no error. The error is one of those in
// feed.go.
func parseFeed(answer feedAnswer, now time.Time) (items []wallet.NewsItem, err error) {
	defer func() {
		if recover() != nil {
			items, err = nil, errFeedPanic
		}
	}()
	body := readable(answer.body, answer.contentType)
	if err := checkBounds(body); err != nil {
		return nil, err
	}
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil || !isFeed(feed) {
		return nil, errFeedNoFeed
	}
	source := wallet.CleanNewsText(withoutHTML(feed.Title), wallet.MaxNewsSource)
	if source == "" {
		source = wallet.CleanNewsText(hostOf(answer.feed), wallet.MaxNewsSource)
	}
	for _, entry := range feed.Items {
		if item, ok := newsItem(entry, answer, source, now); ok {
			items = append(items, item)
		}
	}
	// Most feeds begin with the newest item. Of two of the same time the one that the feed shows first comes last.
	slices.Reverse(items)
	slices.SortStableFunc(items, func(a, b wallet.NewsItem) int { return a.At.Compare(b.At) })
	return items[max(0, len(items)-maxFeedItems):], nil
}

// isFeed reports whether what was parsed is a feed: the parser accepts any JSON object, and an empty root of XML. A page that says that a site is
// being repaired must not pass for an empty feed, since everything in the next answer would then be news.
func isFeed(feed *gofeed.Feed) bool {
	if feed == nil || feed.FeedType == "json" && !strings.Contains(feed.FeedVersion, "jsonfeed.org/version/") {
		return false
	}
	return feed.Title != "" || len(feed.Items) > 0
}

// newsItem makes an item of an entry; ok is false if it cannot be used.
func newsItem(entry *gofeed.Item, answer feedAnswer, source string, now time.Time) (item wallet.NewsItem, ok bool) {
	if entry == nil {
		return item, false
	}
	at := now
	if published := entry.PublishedParsed; published != nil && !published.After(now) {
		at = *published
	}
	link := strings.TrimSpace(entry.Link)
	if link == "" && strings.Contains(entry.GUID, "://") {
		link = entry.GUID // RSS: a link, unless the feed says otherwise
	}
	item = wallet.NewsItem{Title: wallet.CleanNewsText(withoutHTML(entry.Title), wallet.MaxNewsTitle), URL: newsLink(link, answer.from),
		Source: source, At: at.UTC()}
	if item.Title == "" || item.URL == "" || now.Sub(at) > oldestNews {
		return item, false
	}
	item.ID = newsID(strings.TrimSpace(entry.GUID), item.URL, answer.feed)
	return item, true
}

// newsID hashes what identifies an item. A GUID with a colon, such as an address or a URN, is the same item in every feed. Any other, such as a number,
// says nothing outside its site.
func newsID(guid, link, feed string) string {
	identity := guid
	switch {
	case guid == "":
		identity = link
	case !strings.Contains(guid, ":"):
		identity = hostOf(feed) + "\n" + guid
	}
	hash := sha256.Sum256([]byte(identity))
	return hex.EncodeToString(hash[:])
}

// newsLink returns the absolute https link that a feed names; "" for any other. Links are relative to where the feed came from.
func newsLink(text string, from *url.URL) string {
	link, err := url.Parse(strings.TrimSpace(text))
	if err != nil || strings.TrimSpace(text) == "" { // which leads to the feed itself
		return ""
	}
	if from != nil {
		link = from.ResolveReference(link)
	}
	if link.Scheme != "https" || link.User != nil || !plainHost(link) {
		return ""
	}
	out := link.String()
	// Written again, an address has nothing but printable ASCII, except in what the parser took as it was.
	if len(out) > wallet.MaxNewsURL || strings.ContainsFunc(out, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return out
}

// plainHost reports whether the host of a link is a name of labels in ASCII, so that nobody is shown a name that looks like another one, and Telegram
// takes it for a button.
func plainHost(link *url.URL) bool {
	labels := strings.Split(strings.TrimSuffix(link.Hostname(), "."), ".")
	if len(labels) < 2 || len(link.Hostname()) > 253 {
		return false
	}
	if port, err := strconv.ParseUint(link.Port(), 10, 16); link.Port() != "" && (err != nil || port == 0) {
		return false
	}
	for _, label := range labels {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			return false
		}
	}
	return strings.Trim(labels[len(labels)-1], "0123456789") != "" // no address
}

// withoutHTML returns the text of HTML: without tags, comments and scripts, and with its entities decoded. Text without HTML comes back as it is.
func withoutHTML(text string) string {
	var out strings.Builder
	tokens := html.NewTokenizer(strings.NewReader(text[:min(len(text), maxMarkedTitle)]))
	skipping := "" // the element whose text is not shown
	for {
		switch kind := tokens.Next(); kind {
		case html.ErrorToken: // the end: it reads from memory
			return out.String()
		case html.TextToken:
			if skipping == "" {
				out.Write(tokens.Text())
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			raw, _ := tokens.TagName()
			name := string(raw)
			switch {
			case kind == html.StartTagToken && slices.Contains([]string{"script", "style", "noscript", "iframe", "noframes", "noembed", "template"}, name):
				skipping = name
			case name == skipping:
				skipping = ""
			case slices.Contains([]string{"br", "p", "div", "li", "td", "h1", "h2", "h3", "h4", "h5", "h6"}, name):
				out.WriteByte(' ')
			}
		}
	}
}

// readable returns a body as the parser takes it: in UTF-8 without invalid bytes, or in the encoding that its XML declares.
func readable(body []byte, contentType string) []byte {
	// Control characters are not allowed in XML, and the parser drops them: what is checked must be what is parsed.
	body = slices.DeleteFunc(slices.Clone(body), func(b byte) bool { return b < ' ' && b != '\t' && b != '\n' && b != '\r' })
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if prolog, _, ok := bytes.Cut(body, []byte("?>")); ok && bytes.HasPrefix(prolog, []byte("<?xml")) && bytes.Contains(prolog, []byte("encoding")) {
		return body
	}
	if _, params, err := mime.ParseMediaType(contentType); err == nil && params["charset"] != "" {
		if converted, err := charset.NewReaderLabel(params["charset"], bytes.NewReader(body)); err == nil {
			if text, err := io.ReadAll(converted); err == nil {
				body = text
			}
		}
	}
	return bytes.ToValidUTF8(body, []byte("\ufffd"))
}

// checkBounds reads a body without keeping anything, and refuses what would cost the parser too much. What it cannot read is no feed.
func checkBounds(body []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return checkJSON(body)
	}
	return checkXML(body)
}

// checkJSON counts objects and lists.
func checkJSON(body []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	depth, count := 0, 0
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return errFeedNoFeed
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth, count = depth+1, count+1
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth > maxFeedDepth || count > maxFeedElements {
			return errFeedBounds
		}
	}
}

// checkXML counts elements, attributes, namespaces and pieces of text, up to the end of the first element, with a decoder that is set up as the parser's.
func checkXML(body []byte) error {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	decoder.Strict, decoder.CharsetReader = false, charset.NewReaderLabel
	type open struct{ namespaces, pieces int } // an open element: namespaces that it or those around it declare
	var around []open
	for count := 0; ; {
		token, err := decoder.Token()
		if err != nil { // there is no end of the first element
			return errFeedNoFeed
		}
		switch element := token.(type) {
		case xml.StartElement:
			declared := 0
			if len(around) > 0 {
				declared = around[len(around)-1].namespaces
			}
			for _, attribute := range element.Attr {
				if attribute.Name.Space == "xmlns" || attribute.Name.Local == "xmlns" {
					declared++
				}
			}
			around, count = append(around, open{namespaces: declared}), count+1
			if len(around) > maxFeedDepth || count > maxFeedElements || len(element.Attr) > maxFeedAttributes || declared > maxFeedNamespaces {
				return errFeedBounds
			}
		case xml.CharData:
			if len(around) == 0 {
				continue
			}
			if around[len(around)-1].pieces++; around[len(around)-1].pieces > maxFeedPieces {
				return errFeedBounds
			}
		case xml.EndElement:
			if around = around[:len(around)-1]; len(around) == 0 {
				return nil
			}
		}
	}
}
