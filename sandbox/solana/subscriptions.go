package solana

import (
	"bytes"
	"slices"
)

// subscription is one subscription of a WebSocket client. The Cluster's mu guards it. It ends with unsubscribe, with
// the connection, or, for a signature, with its notification.
type subscription struct {
	id       uint64
	kind     string        // account, logs, program, root, signature, slot
	level    string        // commitment level
	shape    config        // encoding of accounts in notifications
	key      address       // the account, the program, or the address that a transaction must mention
	accepted accountFilter // for program: which of its accounts count
	any      bool          // for logs: every transaction
	sig      signature
	received bool   // for signature: also notify when it is received
	seen     uint64 // height up to which the client has been notified
}

// subscribe parses a *Subscribe call. The caller gives the subscription its id. Callers hold mu.
func (c *Cluster) subscribe(method string, p params) (*subscription, *rpcError) {
	s := &subscription{}
	var bad *rpcError
	at := 1 // index of the config among the parameters
	switch method {
	case "accountSubscribe":
		s.kind = "account"
		s.key, bad = p.address(0)
	case "programSubscribe":
		s.kind = "program"
		s.key, bad = p.address(0)
	case "signatureSubscribe":
		s.kind = "signature"
		s.sig, bad = p.signature(0)
	case "logsSubscribe":
		s.kind = "logs"
		bad = s.readFilter(p)
	case "slotSubscribe":
		s.kind, at = "slot", 0
	case "rootSubscribe":
		s.kind, at = "root", 0
	default:
		bad = &rpcError{Code: codeMethodNotFound, Message: "Method not found"}
	}
	if bad != nil {
		return nil, bad
	}
	cfg, bad := p.config(at)
	if bad != nil {
		return nil, bad
	}
	// The commitment level and the encoding are checked for all kinds, also where the kind does not use them.
	if s.level, bad = level(cfg.Commitment); bad != nil {
		return nil, bad
	}
	if bad = c.mayShow(cfg); bad != nil {
		return nil, bad
	}
	if s.accepted, bad = cfg.accounts(s.key); bad != nil {
		return nil, bad
	}
	s.shape, s.received = config{Encoding: cfg.Encoding, DataSlice: cfg.DataSlice}, cfg.ReceivedNotification
	switch s.kind {
	// These two have a fixed commitment level.
	case "slot":
		s.level = processed
	case "root":
		s.level = finalized
	}
	if s.kind != "signature" { // a signature that landed before is reported; the other kinds start from now
		s.seen = c.heightOf(s.level)
	}
	return s, nil
}

// readFilter reads which logs the client wants: "all", "allWithVotes" or {"mentions": [one address]}.
func (s *subscription) readFilter(p params) *rpcError {
	if p.has(0) && bytes.HasPrefix(p.list[0], []byte(`"`)) {
		name, bad := p.text(0)
		if bad == nil && name != "all" && name != "allWithVotes" {
			bad = invalidParams("Invalid params: unknown variant `%.20s`, expected one of `all`, `allWithVotes`, `mentions`.", name)
		}
		s.any = true
		return bad
	}
	// Agave supports one address, although the parameter is a list.
	var filter struct {
		Mentions []string `json:"mentions"`
	}
	bad := p.read(0, &filter)
	if bad != nil {
		return bad
	}
	if len(filter.Mentions) != 1 {
		return invalidParams("Invalid Request: Only 1 address supported")
	}
	s.key, bad = readAddress(filter.Mentions[0])
	return bad
}

// unsubscribe ends one of the client's subscriptions. The method must match its kind.
func (w *wsClient) unsubscribe(method string, p params) *rpcError {
	var id uint64
	if bad := p.read(0, &id); bad != nil {
		return bad
	}
	s := w.subs[id]
	if s == nil || s.kind+"Unsubscribe" != method {
		return invalidParams("Invalid subscription id.")
	}
	delete(w.subs, id)
	return nil
}

// notify sends a subscriber everything since its last notification. Callers hold mu.
func (c *Cluster) notify(w *wsClient, s *subscription) {
	height := c.heightOf(s.level)
	if s.kind == "signature" {
		c.notifySignature(w, s, height)
		return
	}
	if height <= s.seen {
		return
	}
	switch s.kind {
	// One notification for the newest block is enough, because the older ones have passed.
	case "slot":
		w.tell(s, object{"slot": slotOf(height), "parent": slotOf(height - 1), "root": slotOf(c.heightOf(finalized))})
	case "root":
		w.tell(s, slotOf(height))
	case "account":
		if changed, ok := c.state.changed(s.key, height); ok && changed > s.seen {
			if shown, bad := c.showParsedOr(s.key, c.accountAt(s.key, height), s.shape, height); bad == nil {
				w.tell(s, withContext(height, shown))
			}
		}
	case "program":
		// An account that left the program, or is gone, no longer matches and is not reported.
		for _, key := range c.written(s.seen, height) {
			a := c.state.at(key, height)
			if !s.accepted(a) {
				continue
			}
			if shown, bad := c.show(key, a, s.shape, height); bad == nil {
				w.tell(s, withContext(height, object{"pubkey": key.String(), "account": shown}))
			}
		}
	case "logs":
		for _, l := range c.history.between(s.seen, height) {
			if s.any || l.tx.has(s.key) {
				w.tell(s, withContext(l.Height, object{
					"signature": l.tx.Signature().String(),
					"err":       l.Err.wire(),
					"logs":      l.Logs,
				}))
			}
		}
	}
	s.seen = height
}

// written lists the accounts that transactions wrote above one height and up to another, sorted by address.
func (c *Cluster) written(above, upTo uint64) []address {
	seen := map[address]bool{}
	var keys []address
	for _, l := range c.history.between(above, upTo) {
		for key := range l.Writes {
			if !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		}
	}
	slices.SortFunc(keys, func(a, b address) int { return bytes.Compare(a[:], b[:]) })
	return keys
}

// notifySignature sends one notification and ends the subscription. A transaction that landed earlier is reported at
// once.
func (c *Cluster) notifySignature(w *wsClient, s *subscription, height uint64) {
	l := c.history.bySignature[s.sig]
	if l == nil {
		return
	}
	// The first notification may be asked for in addition, and comes once.
	if s.received {
		s.received = false
		w.tell(s, withContext(l.Height, "receivedSignature"))
	}
	if l.Height <= height {
		w.tell(s, withContext(height, object{"err": l.Err.wire()}))
		delete(w.subs, s.id)
	}
}

// tell queues one notification; wsClient.send does not block.
func (w *wsClient) tell(s *subscription, result any) {
	w.send(object{
		"jsonrpc": "2.0",
		"method":  s.kind + "Notification",
		"params":  object{"result": result, "subscription": s.id},
	})
}
