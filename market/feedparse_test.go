package market

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"purser/wallet"
)

// feedDay is the clock of these tests.
func feedDay() time.Time { return time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC) }

// parsed parses a body as a feed of https://feeds.example, and prints its items as "title <link> age", the oldest first.
func parsed(body, contentType string) (string, error) {
	from := &url.URL{Scheme: "https", Host: "feeds.example", Path: "/dunes/rss"}
	items, err := parseFeed(feedAnswer{body: []byte(body), contentType: contentType, from: from, feed: "https://feeds.example/rss"}, feedDay())
	var out []string
	for _, item := range items {
		out = append(out, fmt.Sprintf("%s <%s> %v", item.Title, strings.TrimPrefix(item.URL, "https://"), feedDay().Sub(item.At)))
	}
	return strings.Join(out, "; "), err
}

// channel is RSS around items.
func channel(items string) string {
	return `<?xml version="1.0"?><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>Dunes</title>` + items + `</channel></rss>`
}

// titled is an item with a title as XML.
func titled(title string) string {
	return channel("<item><title>" + title + "</title><link>https://d.example/1</link></item>")
}

// linked is an item with a link as XML.
func linked(link string) string {
	return channel("<item><title>t</title><link>" + link + "</link></item>")
}

// TestFormatsOfFeeds: each format, with what is missing, null or of another type.
func TestFormatsOfFeeds(t *testing.T) {
	const json = `{"version":"https://jsonfeed.org/version/1.1","title":"Dunes","items":[`
	for name, c := range map[string]struct{ body, want string }{
		"RSS":                   {channel(`<item><title>One</title><link>https://d.example/1</link><pubDate>Tue, 24 Nov 2026 11:00:00 GMT</pubDate></item>`), "One <d.example/1> 1h0m0s"},
		"RSS in another zone":   {channel(`<item><title>One</title><link>https://d.example/1</link><pubDate>Tue, 24 Nov 2026 13:00:00 +0200</pubDate></item>`), "One <d.example/1> 1h0m0s"},
		"RSS with dc:date":      {channel(`<item><title>One</title><link>https://d.example/1</link><dc:date>2026-11-24T10:00:00Z</dc:date></item>`), "One <d.example/1> 2h0m0s"},
		"RSS 1.0":               {`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>Dunes</title></channel><item><title>One</title><link>https://d.example/1</link></item></rdf:RDF>`, "One <d.example/1> 0s"},
		"Atom":                  {`<feed xmlns="http://www.w3.org/2005/Atom"><title>Dunes</title><entry><id>urn:1</id><title>One</title><link href="https://d.example/1"/><updated>2026-11-24T11:30:00Z</updated></entry></feed>`, "One <d.example/1> 30m0s"},
		"Atom with HTML":        {`<feed xmlns="http://www.w3.org/2005/Atom"><title>Dunes</title><entry><title type="html">&lt;b&gt;One&lt;/b&gt; &amp;amp; two</title><link rel="self" href="https://d.example/self"/><link rel="alternate" href="https://d.example/1"/></entry></feed>`, "One & two <d.example/1> 0s"},
		"JSON":                  {json + `{"id":"1","url":"https://d.example/1","title":"One","date_published":"2026-11-24T11:00:00Z"}]}`, "One <d.example/1> 1h0m0s"},
		"JSON of other types":   {json + `{"id":7,"url":"https://d.example/1","title":"One","date_published":"soon"},{}]}`, "One <d.example/1> 0s"},
		"JSON of nulls":         {json + `{"id":null,"url":null,"title":null,"date_published":null}]}`, ""},
		"JSON without items":    {`{"version":"https://jsonfeed.org/version/1","title":"Dunes","items":null}`, ""},
		"no date":               {titled("One"), "One <d.example/1> 0s"},
		"no title":              {channel(`<item><link>https://d.example/1</link></item>`), ""},
		"an empty title":        {titled(" <!-- --> "), ""},
		"an invisible title":    {titled("&#x200b;&#x2800;"), ""},
		"no link":               {channel(`<item><title>One</title></item>`), ""},
		"a GUID for a link":     {channel(`<item><title>One</title><guid>https://d.example/guid</guid></item>`), "One <d.example/guid> 0s"},
		"a GUID that is none":   {channel(`<item><title>One</title><guid isPermaLink="false">17</guid></item>`), ""},
		"a date that is none":   {channel(`<item><title>One</title><link>https://d.example/1</link><pubDate>yesterday</pubDate></item>`), "One <d.example/1> 0s"},
		"a time to come":        {channel(`<item><title>One</title><link>https://d.example/1</link><pubDate>Wed, 25 Nov 2026 11:00:00 GMT</pubDate></item>`), "One <d.example/1> 0s"},
		"48 hours old":          {channel(`<item><title>One</title><link>https://d.example/1</link><pubDate>Sun, 22 Nov 2026 12:00:00 GMT</pubDate></item>`), "One <d.example/1> 48h0m0s"},
		"older":                 {channel(`<item><title>One</title><link>https://d.example/1</link><pubDate>Sun, 22 Nov 2026 11:59:59 GMT</pubDate></item>`), ""},
		"of the year 1":         {channel(`<item><title>One</title><link>https://d.example/1</link><pubDate>Mon, 01 Jan 0001 00:00:00 GMT</pubDate></item>`), ""},
		"no items":              {channel(""), ""},
		"without a declaration": {`  <rss><channel><title>Dunes</title><item><title>One</title><link>https://d.example/1</link></item></channel></rss>`, "One <d.example/1> 0s"},
		"with a mark":           {"\ufeff" + titled("One"), "One <d.example/1> 0s"},
		"JSON with a mark":      {"\ufeff" + json + `{"id":"1","url":"https://d.example/1","title":"One"}]}`, "One <d.example/1> 0s"},
		"control characters":    {titled("O\x00n\x0be"), "One <d.example/1> 0s"},
		"garbage behind it":     {titled("One") + "<html><", "One <d.example/1> 0s"},
		"unknown entities":      {titled("One &nbsp;&hellip; &unknown; A & B"), "One … &unknown; A & B <d.example/1> 0s"},
		"newest first":          {channel(strings.Repeat(`<item><title>new</title><link>https://d.example/2</link></item><item><title>old</title><link>https://d.example/1</link></item>`, 1)), "old <d.example/1> 0s; new <d.example/2> 0s"},
	} {
		if got, err := parsed(c.body, ""); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// TestWhatIsNoFeedIsAFailure, so that the next answer is not taken for news altogether.
func TestWhatIsNoFeedIsAFailure(t *testing.T) {
	for name, body := range map[string]string{
		"nothing": "", "blanks": " \n", "text": "Not found", "HTML": "<!DOCTYPE html><html><head><title>Dunes</title></head><body><p>x</body></html>", "XHTML": `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>`,
		"JSON": `{"error":"down"}`, "JSON with a title": `{"title":"Down","items":[]}`, "a list": `[]`, "null": `null`, "cut JSON": `{"version":"https://jsonfeed.org/version/1","title":"x","items":[{`,
		"cut RSS": channel("")[:80], "empty RSS": "<rss/>", "empty Atom": `<feed xmlns="http://www.w3.org/2005/Atom"></feed>`, "an SVG": `<svg xmlns="http://www.w3.org/2000/svg"/>`, "zeros": strings.Repeat("\x00", 100),
		"UTF-16": "\xff\xfe<\x00r\x00s\x00s\x00", "an unknown encoding": `<?xml version="1.0" encoding="klingon"?><rss><channel><title>x</title></channel></rss>`,
	} {
		if got, err := parsed(body, "application/rss+xml"); err != errFeedNoFeed || got != "" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestAPanicOfTheParserIsAFailure of the feed: it does not expect an item that is null.
func TestAPanicOfTheParserIsAFailure(t *testing.T) {
	if got, err := parsed(`{"version":"https://jsonfeed.org/version/1","title":"x","items":[{"url":"https://d.example/1","title":"One"},null]}`, ""); err != errFeedPanic || got != "" {
		t.Errorf("%q, %v", got, err)
	}
	server := newFeedServer(t)
	r := newNewsroom(t, server.URL+"/null", server.URL+"/good")
	server.says("/null", `{"version":"https://jsonfeed.org/version/1","title":"x","items":[null]}`)
	server.says("/good", rss())
	r.after(0)
	if text := r.logged(); strings.Count(text, "\n") != 1 || !strings.Contains(text, errFeedPanic.Error()) || server.called("/good") != 1 {
		t.Errorf("logged %q", text)
	}
}

// TestTitlesAreText: no tags, scripts, control characters or characters that turn the text around them.
func TestTitlesAreText(t *testing.T) {
	for title, want := range map[string]string{
		"&lt;b&gt;Bold&lt;/b&gt; dune":                              "Bold dune",
		"<![CDATA[<a href=\"javascript:x()\">Dune</a> moves]]>":     "Dune moves",
		"<![CDATA[<script>alert(1)</script>Dune]]>":                 "Dune",
		"<![CDATA[Dune<br>moves<br/>on]]>":                          "Dune moves on",
		"<![CDATA[<style>b{}</style>Dune<!-- hidden -->]]>":         "Dune",
		"<![CDATA[<script>never closed]]>":                          "",
		"<![CDATA[<iframe src=x>inside</iframe>Dune]]>":             "Dune",
		"<![CDATA[<img src=x onerror=alert(1)>Dune]]>":              "Dune",
		"<![CDATA[Dune <3 sand, 5 < 6 & 7 > 4]]>":                   "Dune <3 sand, 5 < 6 & 7 > 4",
		"Dune &amp;amp; sand &amp;quot;x&amp;quot; &amp;#8217;":     "Dune & sand \"x\" ’",
		"Dune&#x202e;moves&#x2066;!&#x200f;":                        "Dunemoves!",
		"two\n   lines\tof&#xa0;it":                                 "two lines of it",
		"<b>nested</b> markup":                                      "nested markup",
		strings.Repeat("x", 500_000):                                strings.Repeat("x", 199) + "…",
		strings.Repeat("沙", 201):                                    strings.Repeat("沙", 199) + "…",
		strings.Repeat("沙", 200):                                    strings.Repeat("沙", 200),
		"<![CDATA[" + strings.Repeat("<b>", 100_000) + "deep]]>":    "",
		"<![CDATA[<xmp>raw</xmp><plaintext>rest]]>":                 "rawrest",
		"<![CDATA[<title>a</title><textarea>b</textarea>]]>":        "ab",
		"<![CDATA[<template><b>x</b>hidden</template>z]]>":          "z",
		"<![CDATA[<template>x</template><noscript>y</noscript>z]]>": "z",
	} {
		got, err := parsed(titled(title), "")
		got, _, _ = strings.Cut(got, " <d.example")
		if err != nil || got != want {
			t.Errorf("%.60q: %q, %v, want %q", title, got, err, want)
		}
	}
}

// TestLinksAreHTTPS without a user, short, and with a host in ASCII.
func TestLinksAreHTTPS(t *testing.T) {
	for link, want := range map[string]string{
		"https://d.example/1?a=b&amp;c=d#e":             "d.example/1?a=b&c=d#e",
		" https://d.example/1\n":                        "d.example/1",
		"HTTPS://d.example/1":                           "d.example/1",
		"/story":                                        "feeds.example/story",
		"story":                                         "feeds.example/dunes/story",
		"//other.example/x":                             "other.example/x",
		"https://d.example/沙丘":                          "d.example/%E6%B2%99%E4%B8%98",
		"https://d.example:8443/x":                      "d.example:8443/x",
		"http://d.example/1":                            "",
		"javascript:alert(1)":                           "",
		"data:text/html,x":                              "",
		"tg://resolve?domain=x":                         "",
		"https://user@d.example/":                       "",
		"https://user:pw@d.example/":                    "",
		"https:d.example/1":                             "",
		"https://":                                      "",
		"https:///x":                                    "",
		"https://./x":                                   "",
		"https://a..b/":                                 "",
		"https://.com/":                                 "",
		"https://d.example:99999/":                      "",
		"https://d.example:0/":                          "",
		"https://127.0.0.1/x":                           "",
		"https://[2606:4700::1]/x":                      "",
		"https://localhost/x":                           "",
		"https://sоlana.example/":                       "", // a Cyrillic о
		"https://d.example/&#x202e;x":                   "d.example/%E2%80%AEx",
		"https://d.exa mple/":                           "",
		"https://d.example/" + strings.Repeat("x", 482): "d.example/" + strings.Repeat("x", 482),
		"https://d.example/" + strings.Repeat("x", 483): "",
		"https://d.example/?q=" + strings.Repeat("沙", 400): "",
		"https://d.example/?q=沙":                           "",
		"https://d.example/%zz":                            "",
	} {
		got, err := parsed(linked(link), "")
		got = strings.TrimSuffix(strings.TrimPrefix(got, "t <"), "> 0s")
		if err != nil || got != want {
			t.Errorf("%.60q: %q, %v, want %q", link, got, err, want)
		}
	}
}

// TestEncodingsOfFeeds: what the XML declares, what HTTP says, or UTF-8.
func TestEncodingsOfFeeds(t *testing.T) {
	item := func(declaration, title string) string {
		return declaration + `<rss><channel><title>D</title><item><title>` + title + `</title><link>https://d.example/1</link></item></channel></rss>`
	}
	for name, c := range map[string]struct{ body, contentType, want string }{
		"declared":                  {item(`<?xml version="1.0" encoding="windows-1251"?>`, "\xc4\xfe\xed\xe0"), "", "Дюна"},
		"declared, and HTTP":        {item(`<?xml version="1.0" encoding="windows-1251"?>`, "\xc4\xfe\xed\xe0"), "text/xml; charset=utf-8", "Дюна"},
		"by HTTP":                   {item(`<?xml version="1.0"?>`, "\xc4\xfe\xed\xe0"), "text/xml; charset=windows-1251", "Дюна"},
		"by HTTP, undeclared":       {item("", "D\xfcne"), "application/rss+xml; charset=ISO-8859-1", "Düne"},
		"HTTP names none":           {item("", "Düne"), "application/rss+xml; charset=klingon", "Düne"},
		"no UTF-8 after all":        {item("", "D\xfcne"), "application/rss+xml; charset=utf-8", "D\ufffdne"},
		"a media type that is none": {item("", "Düne"), ";;;", "Düne"},
		"encoding behind the start": {item("", `encoding="windows-1251" ?> D\xfcne`), "", `encoding="windows-1251" ?> D\xfcne`},
	} {
		got, err := parsed(c.body, c.contentType)
		got, _, _ = strings.Cut(got, " <d.example")
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// TestSourcesAreNamed by the title of the feed, or by its host.
func TestSourcesAreNamed(t *testing.T) {
	for title, want := range map[string]string{
		"Dune Daily": "Dune Daily", "": "feeds.example", "&#x202e;": "feeds.example", "&lt;b&gt;Dune&lt;/b&gt;&#x202e; Daily": "Dune Daily",
		strings.Repeat("d", 61): strings.Repeat("d", 59) + "…",
	} {
		body := strings.Replace(titled("One"), "<title>Dunes</title>", "<title>"+title+"</title>", 1)
		items, err := parseFeed(feedAnswer{body: []byte(body), feed: "https://feeds.example:8443/rss?key=secret"}, feedDay())
		if err != nil || len(items) != 1 || items[0].Source != want {
			t.Errorf("%q: %+v, %v, want %q", title, items, err, want)
		}
	}
}

// TestIdentitiesOfItems: by a GUID that is one everywhere, by a GUID within the site, or by the link.
func TestIdentitiesOfItems(t *testing.T) {
	id := func(feed, guid, link string) string {
		body := channel("<item><title>t</title><guid isPermaLink='false'>" + guid + "</guid><link>" + link + "</link></item>")
		items, err := parseFeed(feedAnswer{body: []byte(body), feed: feed}, feedDay())
		if err != nil || len(items) != 1 || len(items[0].ID) != 64 {
			t.Fatalf("%+v, %v", items, err)
		}
		return items[0].ID
	}
	const a, b, one, two = "https://a.example/rss", "https://b.example/rss", "https://d.example/1", "https://d.example/2"
	same := map[bool]string{true: "same", false: "different"}
	for name, c := range map[string]struct {
		first, second string
		want          bool
	}{
		"a URN in two feeds":       {id(a, "urn:7", one), id(b, " urn:7 ", two), true},
		"a number in two feeds":    {id(a, "7", one), id(b, "7", one), false},
		"a number in one site":     {id(a, "7", one), id(a+"?tag=x", "7", two), true},
		"no GUID, the same link":   {id(a, "", one), id(b, "", one), true},
		"no GUID, another link":    {id(a, "", one), id(a, "", two), false},
		"another GUID, same link":  {id(a, "urn:7", one), id(a, "urn:8", one), false},
		"a link as GUID elsewhere": {id(a, one, two), id(b, "", one), true},
	} {
		if (c.first == c.second) != c.want {
			t.Errorf("%s: not %s", name, same[c.want])
		}
	}
}

// TestTheNewestItemsAreUsed, however many there are and however they are sorted.
func TestTheNewestItemsAreUsed(t *testing.T) {
	for name, order := range map[string]func(i int) int{"newest first": func(i int) int { return i }, "oldest first": func(i int) int { return 199 - i }, "mixed": func(i int) int { return i * 77 % 200 }} {
		var b strings.Builder
		for i := range 200 {
			minutes := order(i)
			fmt.Fprintf(&b, "<item><title>%d</title><link>https://d.example/%d</link><pubDate>%s</pubDate></item>", minutes, minutes, date(feedDay().Add(-time.Duration(minutes)*time.Minute)))
		}
		items, err := parseFeed(feedAnswer{body: []byte(channel(b.String())), feed: "https://a.example"}, feedDay())
		if err != nil || len(items) != maxFeedItems || items[0].Title != "49" || items[49].Title != "0" {
			t.Errorf("%s: %d items, %v", name, len(items), err)
		}
	}
}

// TestHostileFeedsCostLittle: what would take all memory, the stack or minutes is refused, or read quickly.
func TestHostileFeedsCostLittle(t *testing.T) {
	deep := func(open, shut string, n int) string { return strings.Repeat(open, n) + strings.Repeat(shut, n) }
	var laughs strings.Builder
	laughs.WriteString(`<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY l0 "lol">`)
	for i := range 20 {
		fmt.Fprintf(&laughs, `<!ENTITY l%d "%s">`, i+1, strings.Repeat(fmt.Sprintf("&l%d;", i), 10))
	}
	laughs.WriteString(`<!ENTITY file SYSTEM "file:///etc/passwd">]>` + strings.TrimPrefix(titled("&l20; &file;"), `<?xml version="1.0"?>`))
	var names strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&names, ` xmlns:n%d="u%d"`, i, i)
	}
	nested := ""
	for i := range 60 {
		nested += fmt.Sprintf(`<a%d xmlns:n%d="u" xmlns:m%d="u">`, i, i, i)
	}
	for name, c := range map[string]struct {
		body string
		want error
	}{
		"nested extensions":      {channel(deep("<x:a>", "</x:a>", 90_000)), errFeedBounds},
		"never closed":           {channel(strings.Repeat("<x:a>", 200_000)), errFeedBounds},
		"nested text":            {titled(deep("<b>", "</b>", 100_000)), errFeedBounds},
		"namespaces at the root": {"<rss" + names.String() + "><channel/></rss>", errFeedBounds},
		"nested namespaces":      {"<rss>" + nested + strings.Repeat(`<z xmlns:q="u"/>`, 40_000), errFeedBounds},
		"attributes":             {titled("<b " + strings.Repeat(`a="" `, 100_000) + "/>"), errFeedBounds},
		"elements":               {channel(strings.Repeat("<item/>", 140_000)), errFeedBounds},
		"JSON objects":           {`{"version":"https://jsonfeed.org/version/1","title":"x","items":[` + strings.Repeat("{},", 300_000) + `{}]}`, errFeedBounds},
		"nested JSON":            {`{"items":` + deep("[", "]", 400_000) + `}`, errFeedBounds},
		"nested JSON objects":    {`{"items":` + strings.Repeat(`{"a":`, 200_000), errFeedBounds},
		"entities":               {laughs.String(), nil},
		"ampersands":             {titled("x" + strings.Repeat("&amp;", 200_000)), nil},
		"pieces of data":         {titled(strings.Repeat("<![CDATA[x]]>", 75_000)), errFeedBounds},
		"pieces of an extension": {channel("<x:a>" + strings.Repeat("xxxxxxxxxxx<!---->", 55_000) + "</x:a>"), errFeedBounds},
		"as many as are allowed": {titled(strings.Repeat("<![CDATA["+strings.Repeat("x", 500)+"]]>", maxFeedPieces)), nil},
		"markup in a base":       {strings.Replace(channel(`<item><title>t</title><link>https://d.example/</link><description><![CDATA[`+strings.Repeat("<b><i><a href=x><table>", 40_000)+`]]></description></item>`), "<channel>", `<channel xml:base="https://d.example/">`, 1), nil},
		"comments":               {titled("x" + strings.Repeat("<!-- -->", 120_000)), nil},
		"comments in a text":     {titled(strings.Repeat("x<!---->", 120_000)), errFeedBounds},
		"instructions":           {strings.Repeat("<?a b?>", 140_000) + "<rss/>", errFeedNoFeed},
	} {
		if len(c.body) > maxFeed+1000 {
			t.Fatalf("%s has %d bytes", name, len(c.body))
		}
		began := time.Now()
		got, err := parsed(c.body, "")
		if err != c.want {
			t.Errorf("%s: %.100q, %v, want %v", name, got, err, c.want)
		}
		if strings.Contains(got, "root:") || strings.Contains(got, "lollol") {
			t.Errorf("%s: %.100q", name, got)
		}
		// They take less than a third of a second. The bound is far above, for machines that have much else to do.
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

// FuzzFeed: whatever a feed holds, its items keep what wallet.NewsItem promises.
func FuzzFeed(f *testing.F) {
	for _, seed := range []string{titled("One"), linked("javascript:x"), channel(""), `{"version":"https://jsonfeed.org/version/1","title":"x","items":[{"id":1,"url":"https://d.example","title":"t"}]}`,
		`<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://d.example/"><title>x</title><entry><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">a<b>c</b></div></title><link href="/1"/><updated>2026-11-24T11:30:00Z</updated></entry></feed>`,
		`<?xml version="1.0" encoding="windows-1251"?><rss><channel><item><title>` + "\xc4\xfe" + `</title><link>//d.example</link></item></channel></rss>`,
		`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><item><title>x</title><link>x</link></item></rdf:RDF>`, titled("<![CDATA[<b>&amp;\u202e"), "<rss><channel><itunes:image/><media:group><media:x/></media:group><item>"} {
		f.Add([]byte(seed), "text/xml; charset=utf-8")
		f.Add([]byte(seed), "text/xml; charset=koi8-r")
	}
	from := &url.URL{Scheme: "https", Host: "feeds.example", Path: "/rss"}
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		before := bytes.Clone(body)
		items, err := parseFeed(feedAnswer{body: body, contentType: contentType, from: from, feed: "https://feeds.example/rss"}, feedDay())
		if !bytes.Equal(before, body) {
			t.Error("the body was changed")
		}
		if err != nil && len(items) > 0 || len(items) > maxFeedItems {
			t.Errorf("%d items, %v", len(items), err)
		}
		for i, item := range items {
			for _, text := range []string{item.Title, item.Source} {
				if text == "" || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || wallet.Unseen(r) }) {
					t.Errorf("%q", text)
				}
			}
			link, err := url.Parse(item.URL)
			if err != nil || link.Scheme != "https" || link.User != nil || link.Hostname() == "" || len(item.URL) > wallet.MaxNewsURL || len(item.ID) != 64 || item.Seq != 0 {
				t.Errorf("%+v (%v)", item, err)
			}
			if utf8.RuneCountInString(item.Title) > wallet.MaxNewsTitle || utf8.RuneCountInString(item.Source) > wallet.MaxNewsSource {
				t.Errorf("%+v is too long", item)
			}
			if item.At.After(feedDay()) || feedDay().Sub(item.At) > oldestNews || i > 0 && item.At.Before(items[i-1].At) {
				t.Errorf("%+v", item)
			}
		}
	})
}
