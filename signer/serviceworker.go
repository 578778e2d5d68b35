package signer

// A server that somebody takes over can leave a service worker in browsers. It stays there when the right server is back, and
// answers with the taken-over pages, whatever headers and hashes the right ones have. No page of ours has a service worker. But a
// browser asks for the script of one that it has, soon after each visit. So every request for such a script, at any path, is
// answered with one that replaces the worker and ends it. The first visit may still be served by the old one
// (decisions/0057).
const (
	// ServiceWorkerHeader is on a request for a service worker's script, with the value "script" (Service Workers, section 5.2).
	ServiceWorkerHeader = "Service-Worker"
	// EndServiceWorker is the JavaScript of the answer.
	EndServiceWorker = "self.addEventListener('install',()=>self.skipWaiting());" +
		"self.addEventListener('activate',(e)=>e.waitUntil(self.registration.unregister()))\n"
)

// AsksForServiceWorker reports whether the value of ServiceWorkerHeader is that of a request for a script.
func AsksForServiceWorker(value string) bool { return value == "script" }
