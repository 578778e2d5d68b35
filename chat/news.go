package chat

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"purser/wallet"
)

// Bounds of a message with news.
const (
	newsAtOnce = 5
	maxUnread  = 50 // of the newest items that are read; damaged ones are passed over
)

// newsNotices is how people get what the operator's feeds have published.
func newsNotices() conversation {
	return conversation{name: "news", events: map[wallet.EventName]notice{
		wallet.NewsPublished: {priority: broadcasts, category: wallet.CategoryNews, waits: true, notify: func(s *replyTx, _ wallet.Event) error { return s.notifyNews() }},
	}}
}

// notifyNews sends one message with the newest items that the person has not seen, with a button for each link; older ones are skipped for good. The host of a
// link stands beside it, because a headline can claim anything. Two events that were held make one message: the second finds nothing new.
func (s *replyTx) notifyNews() error {
	newest, err := s.tx.LastNews()
	if err != nil || newest <= s.user.NewsSeen {
		return err
	}
	items, err := s.tx.NewsAfter(max(s.user.NewsSeen, newest-min(newest, maxUnread)), maxUnread)
	if err != nil || len(items) == 0 {
		return err
	}
	s.user.NewsSeen = newest
	if err := s.tx.PutUser(s.user); err != nil {
		return err
	}
	var lines []string
	var links []Button
	for i, item := range chosenNews(items) {
		link, err := url.Parse(item.URL)
		if err != nil {
			return fmt.Errorf("read the link of news: %w", err)
		}
		links = append(links, Button{Text: strconv.Itoa(i + 1), URL: item.URL})
		line, err := s.words.text("news.item", vars{"N": i + 1, "Title": unlinked(item.Title), "Source": unlinked(item.Source), "Host": link.Hostname(), "At": s.words.short(item.At)})
		if err != nil {
			return err
		}
		lines = append(lines, string(line))
	}
	rows, err := s.menu("news_button.settings", "/notifications")
	if err != nil {
		return err
	}
	rows = append([][]Button{links}, rows...)
	return s.reply("news.text", vars{"Lines": html(strings.Join(lines, "\n\n"))}, rows...)
}

// chosenNews returns the newest items, newest first. Sources take turns, so that none hides the others.
func chosenNews(items []wallet.NewsItem) (out []wallet.NewsItem) {
	rest := slices.Clone(items)
	slices.Reverse(rest)
	for len(rest) > 0 && len(out) < newsAtOnce {
		seen := map[string]bool{}
		rest = slices.DeleteFunc(rest, func(item wallet.NewsItem) bool {
			if seen[item.Source] || len(out) == newsAtOnce {
				return false
			}
			seen[item.Source] = true
			out = append(out, item)
			return true
		})
	}
	slices.SortStableFunc(out, func(a, b wallet.NewsItem) int { return cmp.Compare(b.Seq, a.Seq) })
	return out
}

// unlinked returns a text of a stranger in which Telegram finds no link, name or command: with look-alikes of the signs by which it knows them.
func unlinked(text string) string {
	out := []rune(text)
	for i, r := range out {
		switch {
		case r == '@':
			out[i] = '\uff20' // fullwidth
		case r == '/' && (i == 0 || !unicode.IsLetter(out[i-1]) && !unicode.IsDigit(out[i-1])):
			out[i] = '\u2215' // division
		case r == '.' && i > 0 && i+1 < len(out) && unicode.IsLetter(out[i+1]):
			out[i] = '\u2024' // one dot leader
		}
	}
	return string(out)
}
