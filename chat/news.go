package chat

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"purser/wallet"
)

// Bounds of a message with news.
const (
	newsAtOnce = 5
	mostUnread = 50 // of the newest items that are read; damaged ones are passed over
)

// newsNotices is how people get what the operator's feeds have published.
func newsNotices() conversation {
	return conversation{name: "news", events: map[wallet.EventName]notice{
		wallet.NewsPublished: {priority: broadcasts, category: wallet.CategoryNews, waits: true, notify: func(s *replyTx, _ wallet.Event) error { return s.notifyNews() }},
	}}
}

// notifyNews sends one message with the newest items that the person has not got, with a button for each link. The host of a link stands beside it, because
// a headline can claim anything. Two events that were held make one message: the second finds nothing new.
func (s *replyTx) notifyNews() error {
	newest, err := s.tx.LastNews()
	if err != nil || newest <= s.user.NewsSeen {
		return err
	}
	items, err := s.tx.NewsAfter(max(s.user.NewsSeen, newest-min(newest, mostUnread)), mostUnread)
	if err != nil || len(items) == 0 {
		return err
	}
	s.user.NewsSeen = newest
	if err := s.tx.PutUser(s.user); err != nil {
		return err
	}
	slices.Reverse(items)
	var lines []string
	var links []Button
	for i, item := range items[:min(len(items), newsAtOnce)] {
		host := ""
		if link, err := url.Parse(item.URL); err == nil && item.URL != "" {
			host = link.Hostname()
			links = append(links, Button{Text: strconv.Itoa(i + 1), URL: item.URL})
		}
		line, err := s.words.text("news.item", vars{"N": i + 1, "Title": item.Title, "Source": item.Source, "Host": host, "At": s.words.short(item.At)})
		if err != nil {
			return err
		}
		lines = append(lines, string(line))
	}
	rows, err := s.menu("news_button.settings", "/notifications")
	if err != nil {
		return err
	}
	if len(links) > 0 {
		rows = append([][]Button{links}, rows...)
	}
	return s.reply("news.text", vars{"Lines": html(strings.Join(lines, "\n\n"))}, rows...)
}
