package telegram

import (
	"encoding/json"
	"slices"
	"time"
)

const keepUpdates = 24 * 3600 // seconds that an update is kept if the bot does not fetch it

// batch collects changes that are committed together, and numbers their updates. Callers hold s.mu from batch to
// commit.
type batch struct {
	s       *Server
	changes []change
	next    int64
}

// batch begins a batch.
func (s *Server) batch() *batch { return &batch{s: s, next: s.st.NextUpdate} }

func (b *batch) add(c change) { b.changes = append(b.changes, c) }

// update queues one update for the bot and returns its id, or 0 if the bot does not want this kind.
func (b *batch) update(kind string, payload any) (int64, error) {
	if !b.s.wants(kind) {
		return 0, nil
	}
	body, err := json.Marshal(map[string]any{"update_id": b.next, kind: payload})
	if err != nil {
		return 0, err
	}
	id := b.next
	b.next++
	b.add(change{Update: &pendingUpdate{ID: id, Kind: kind, At: b.s.unix(), Body: body}})
	return id, nil
}

// commit makes all changes of the batch true, or none.
func (b *batch) commit() error { return b.s.commit(b.changes...) }

// wants says whether the bot receives a kind of update (allowed_updates). Callers hold s.mu.
func (s *Server) wants(kind string) bool {
	if len(s.st.Profile.Allowed) == 0 {
		return kind != "chat_member" && kind != "message_reaction" && kind != "message_reaction_count"
	}
	return slices.Contains(s.st.Profile.Allowed, kind)
}

// setAllowed applies allowed_updates if the call has it. An empty list restores the default.
func (s *Server) setAllowed(q *request, p *profile) error {
	raw := q.text("allowed_updates")
	if raw == "" || raw == "null" {
		return nil
	}
	var list []string
	if err := json.Unmarshal([]byte(raw), &list); err != nil {
		return badRequest("can't parse allowed updates: an Array of String is expected")
	}
	p.Allowed = list
	return nil
}

// poller is a waiting getUpdates call. Another getUpdates call or a webhook ends it with a 409.
type poller struct {
	ended chan struct{}
	why   *apiError
}

// endPoll ends the waiting call, if there is one. why names the request that replaced it. Callers hold s.mu.
func (s *Server) endPoll(why string) {
	if s.poll != nil {
		s.poll.why = &apiError{code: 409, description: "Conflict: terminated by " + why}
		close(s.poll.ended)
		s.poll = nil
	}
}

// getUpdates returns the updates from offset on and forgets those before. Without any it waits up to timeout seconds,
// with s.mu released.
func (s *Server) getUpdates(q *request) (result, error) {
	offset := q.number("offset", 0)
	limit := int(q.number("limit", 100))
	if limit < 1 || limit > 100 {
		limit = 100
	}
	timeout := min(max(q.number("timeout", 0), 0), 50)

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.st.Profile.Webhook != nil {
		return result{}, &apiError{code: 409, description: "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"}
	}
	// Only one getUpdates call waits at a time. A newer one ends the older with a conflict, as Telegram does.
	s.endPoll("other getUpdates request; make sure that only one bot instance is running")
	me := &poller{ended: make(chan struct{})}
	s.poll = me
	defer func() {
		if s.poll == me {
			s.poll = nil
		}
	}()
	next := s.st.Profile
	if err := s.setAllowed(q, &next); err != nil {
		return result{}, err
	}
	if !slices.Equal(next.Allowed, s.st.Profile.Allowed) {
		if err := s.commit(change{Profile: &next}); err != nil {
			return result{}, err
		}
	}
	if err := s.acknowledge(offset); err != nil {
		return result{}, err
	}
	timer := time.NewTimer(time.Duration(timeout) * time.Second)
	defer timer.Stop()
	// With nothing to return, wait for a change and look again. Closing or the end of the request returns an empty
	// list.
	for {
		if found := s.ready(offset, limit); len(found) > 0 || timeout == 0 {
			return result{value: found}, nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-timer.C:
			timeout = 0
		case <-me.ended:
		case <-s.done:
			timeout = 0
		case <-q.r.Context().Done():
			timeout = 0
		}
		s.mu.Lock()
		if me.why != nil {
			return result{}, me.why
		}
	}
}

// acknowledge removes updates below offset, or, for a negative offset, all but the last -offset. It also removes
// updates that are too old. Callers hold s.mu.
func (s *Server) acknowledge(offset int64) error {
	upTo := int64(0)
	// Updates are in the order of their ids, so the last id to remove says it all.
	for i, u := range s.st.Updates {
		left := int64(len(s.st.Updates) - i)
		if u.At < s.unix()-keepUpdates || offset > 0 && u.ID < offset || offset < 0 && left > -offset {
			upTo = u.ID
		}
	}
	if upTo == 0 {
		return nil
	}
	return s.commit(change{Ack: upTo})
}

// ready lists at most limit updates from offset on. Callers hold s.mu.
func (s *Server) ready(offset int64, limit int) []json.RawMessage {
	found := []json.RawMessage{}
	for _, u := range s.st.Updates {
		if len(found) < limit && (offset <= 0 || u.ID >= offset) {
			found = append(found, u.Body)
		}
	}
	return found
}
