// Package webhooks brings events to the receivers that programs registered: signed, at least once, in
// order where order matters, and no faster than a receiver takes them. It knows whose events a receiver
// may have, how an attempt looks on the wire, when to try again and when to give up, and how to keep a
// hostile receiver from costing anybody else anything.
//
// A Service runs on every node. What it does are jobs (package work): one job of store.Relay turns events into deliveries,
// and each webhook that deliveries wait for has a job of store.Deliveries. The handler of that is a session, which holds a
// window of what waits for the webhook and sends it; all sessions of a node share slots for what is on its way, and a
// recorder, which writes what became of deliveries and leaves out what another node has claimed meanwhile. A Poster makes
// one attempt.
//
// It does not know who may register a receiver (handlers), how an event comes to be (the operation that emits it),
// and what a receiver says beyond its status and the first KiB of its answer. It never follows where a
// receiver points, and leads nobody into the operator's own network.
//
// Who may have an event is decided in authorize.go, by a cache of subscriptions. A Poster connects to public addresses only
// (dial.go). A webhook that fails for days is turned off (health.go). Saved is a delivery that a receiver got, checked as a
// receiver would.
package webhooks
