package telegram

import "time"

// Telegram's published limits for bots (https://core.telegram.org/bots/faq#broadcasting-to-users): about 30 messages
// a second in all, one a second in a chat apart from short bursts, 20 a minute in a group. The length of a burst is
// not published; chatBurst is this sandbox's assumption.
const (
	allEvery   = time.Second / 30
	allBurst   = 30
	chatEvery  = time.Second
	chatBurst  = 5
	groupEvery = time.Minute / 20
	groupBurst = 20
)

// limits counts what a bot sends, with the generic cell rate algorithm: each time is when the messages so far are
// used up. Server.mu guards it. It is not kept over a restart.
type limits struct {
	all   time.Time // over all chats
	chats map[int64]time.Time
}

// allow counts n messages to a chat, or refuses them with 429 and the seconds to wait. Refused messages do not count.
// Callers hold s.mu.
func (s *Server) allow(c Chat, n int) error {
	if s.opt.Unlimited {
		return nil
	}
	every, burst := chatEvery, chatBurst
	if c.Type != "private" {
		every, burst = groupEvery, groupBurst
	}
	now := s.opt.Now()
	// Both meters must have room; only then are both charged.
	all, wait := spend(s.limits.all, now, allEvery, allBurst, n)
	chat, waitChat := spend(s.limits.chats[c.ID], now, every, burst, n)
	if wait = max(wait, waitChat); wait > 0 {
		return tooMany(int((wait + time.Second - 1) / time.Second))
	}
	if s.limits.chats == nil {
		s.limits.chats = map[int64]time.Time{}
	}
	s.limits.all, s.limits.chats[c.ID] = all, chat
	return nil
}

// spend adds n messages to a meter whose earlier messages are used up at due. It returns the new time, or how long to
// wait until they fit into the burst. More messages than a burst are accepted when the meter is empty, else they
// never would be.
func spend(due, now time.Time, every time.Duration, burst, n int) (time.Time, time.Duration) {
	if due.Before(now) {
		due = now
	}
	room := time.Duration(burst-min(n, burst)) * every
	if wait := due.Sub(now) - room; wait > 0 {
		return due, wait
	}
	return due.Add(time.Duration(n) * every), 0
}
