package api

import (
	"github.com/gofiber/fiber/v2"

	"purser/signer"
)

// serviceWorker answers a request for a service worker's script with one that ends the worker (signer.EndServiceWorker), whatever
// the path.
func (s *Server) serviceWorker(c *fiber.Ctx) error {
	if !signer.AsksForServiceWorker(c.Get(signer.ServiceWorkerHeader)) {
		return c.Next()
	}
	kind, _ := signer.ContentType(".js")
	c.Set(fiber.HeaderContentType, kind)
	return c.SendString(signer.EndServiceWorker)
}
