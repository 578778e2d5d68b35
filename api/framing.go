package api

import (
	"bytes"

	"github.com/gofiber/fiber/v2"

	"purser/wallet"
)

// framed refuses a request whose end two readers could see in different places (RFC 9112 §6.3):
// fasthttp takes the last of several lengths, any coding that ends in "chunked", and a length beside
// a coding. A proxy that reads the same bytes otherwise would let one request hide in another, so the
// connection is closed as well.
func framed(c *fiber.Ctx) error {
	lengths, codings := 0, 0
	for line := range bytes.Lines(c.Request().Header.RawHeaders()) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		name = bytes.TrimSpace(name)
		switch {
		case bytes.EqualFold(name, []byte(fiber.HeaderContentLength)):
			lengths++
		case bytes.EqualFold(name, []byte(fiber.HeaderTransferEncoding)):
			codings++
			if !bytes.EqualFold(bytes.TrimSpace(value), []byte("chunked")) {
				codings++ // another coding, or several in one line
			}
		}
	}
	if lengths+codings <= 1 {
		return nil
	}
	c.Context().SetConnectionClose()
	return wallet.Refuse(wallet.InvalidRequest, "send one Content-Length, or Transfer-Encoding: chunked, and no other framing")
}
