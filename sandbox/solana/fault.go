package solana

import (
	"encoding/json"
	"time"
)

// Fault is what goes wrong with one JSON-RPC call. The zero value is: nothing.
type Fault struct {
	// Status answers this HTTP status (429, 503, ...) with a JSON-RPC error body, as providers
	// do; RetryAfter goes along when set. Nothing is executed.
	Status     int
	RetryAfter time.Duration
	// Code answers HTTP 200 with this JSON-RPC error. Nothing is executed.
	Code    int
	Message string
	// Hang holds the request, unexecuted, until its client leaves or the cluster closes.
	Hang bool
	// DropAnswer executes the call and then cuts the connection without an answer.
	DropAnswer bool
	// Swallow lets sendTransaction answer its signature for a transaction that never arrives.
	// The same bytes sent again may land.
	Swallow bool
	// Delay lets a transaction of sendTransaction land so many blocks later than the next.
	Delay int
}

// SetFault lets decide choose what goes wrong with each JSON-RPC call; nil ends all faults. decide gets the method
// and the raw params. It is called on the goroutine of the request, with no lock held, so it must be safe for
// concurrent use.
func (c *Cluster) SetFault(decide func(method string, params json.RawMessage) Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = nil
	if decide != nil {
		c.faults = func(method string, params []byte) Fault { return decide(method, params) }
	}
}

// faultFor copies the function under the lock and calls it outside.
func (c *Cluster) faultFor(method string, params []byte) Fault {
	c.mu.Lock()
	decide := c.faults
	c.mu.Unlock()
	if decide == nil {
		return Fault{}
	}
	return decide(method, params)
}
