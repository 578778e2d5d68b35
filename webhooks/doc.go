// Package webhooks delivers events to the receivers that programs registered: signed, at least once, in order where
// order matters, and no faster than a receiver takes them. It decides which events a receiver may have, what an
// attempt looks like on the wire, when to try again and when to give up, and it keeps a slow or hostile receiver from
// delaying others.
//
// Its main types, in the order in which an event passes them:
//
//   - Service runs on every node. Its work is jobs of two queues (package work)
//   - sender has what all sessions of a node share. Its relay, one job of store.Relay for all nodes, turns events into
//     deliveries, one for each webhook that may have the event
//   - subscriptionSnapshot and authorize decide which webhooks may, at the relay and again before each attempt
//   - session is the handler of a webhook's job (store.Deliveries). It holds a window of what waits for the webhook, in a
//     queue, and sends it
//   - slots bound the attempts of a node that run at once, places the sessions
//   - Poster makes one attempt over HTTP, signed by Message, to public addresses only (package egress)
//   - recorder writes the outcomes, many in one commit. It leaves out what another node has claimed meanwhile
//   - healths remember how webhooks do. The recorder turns off one that fails for days
//   - Saved is a delivery that a receiver saved, which Verify checks as a receiver would
//
// An outcome is written to the delivery log first and to the store after it. A crash before the store's commit
// repeats the attempt: receivers recognise a repeated event by its id.
//
// The package does not know who may register a receiver (handlers) or how an event comes to be (the operation that
// emits it), and keeps no more of a receiver's answer than its status and the first KiB. It never follows a redirect,
// and never connects to the operator's own network unless the operator allowed the address.
package webhooks
