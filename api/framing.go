package api

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"purser/wallet"
)

// framing is how a request says where its body ends (RFC 9112, section 6), read from the raw header section. fasthttp
// accepts more: it uses the last of several lengths, and takes any transfer coding for "chunked", a chunk line that ends
// in a bare line feed, and folded lines. If a proxy read the same bytes differently, one request could hide in another
// (request smuggling). So only one form is accepted: a single Content-Length in digits.
type framing struct {
	length int  // of the body in bytes, from Content-Length; 0 without one
	coded  bool // a Transfer-Encoding header is present
	broken bool // two parsers could disagree about where the body ends
}

// announced tells whether a body follows.
func (f framing) announced() bool { return f.length > 0 || f.coded }

// readFraming reads a header section, without the request line. It never fails: what it does not understand sets
// broken.
func readFraming(header []byte) framing {
	var f framing
	lengths := 0
	for len(header) > 0 {
		var line []byte
		line, header = cutLine(header)
		// Each line must end in CRLF. A bare CR or LF, or a zero byte, may end a line for another parser.
		text, whole := bytes.CutSuffix(line, []byte("\r\n"))
		if !whole || bytes.IndexByte(text, '\r') >= 0 || bytes.IndexByte(text, 0) >= 0 {
			f.broken = true
		}
		if len(text) == 0 {
			continue // the empty line that ends the section
		}
		name, value, ok := bytes.Cut(text, []byte(":"))
		if !ok || !isToken(name) { // a folded line begins with a blank, which is in no token
			f.broken = true
			name = bytes.TrimSpace(name)
		}
		switch {
		case bytes.EqualFold(name, []byte(fiber.HeaderContentLength)):
			lengths++
			digits := string(bytes.Trim(value, " \t"))
			n, err := strconv.ParseUint(digits, 10, 31)
			if err != nil || !only(digits, func(b byte) bool { return b >= '0' && b <= '9' }) {
				f.broken = true
			}
			f.length = int(n)
		case bytes.EqualFold(name, []byte(fiber.HeaderTransferEncoding)):
			f.coded = true
		}
	}
	// Two lengths, or a length beside a transfer coding, are the classic ways to smuggle a request.
	if lengths > 1 || lengths == 1 && f.coded {
		f.broken = true
	}
	return f
}

// cutLine returns the first line, with the line feed that ends it, and what follows.
func cutLine(text []byte) (line, rest []byte) {
	end := bytes.IndexByte(text, '\n') + 1
	if end == 0 { // the last line has none
		end = len(text)
	}
	return text[:end], text[end:]
}

// isToken reports whether name is a token, as a header's name must be (RFC 9110, section 5.6.2).
func isToken(name []byte) bool {
	for _, b := range name {
		if !isAlphanumeric(b) && strings.IndexByte("!#$%&'*+-.^_`|~", b) < 0 {
			return false
		}
	}
	return len(name) > 0
}

// refusal returns the error for a request with this framing: INVALID_REQUEST if it is ambiguous, LENGTH_REQUIRED if it has
// a transfer coding; nil if its body may be read.
func (f framing) refusal() error {
	switch {
	case f.broken:
		return wallet.Refuse(wallet.InvalidRequest, "http_request.framing")
	case f.coded:
		return wallet.Refuse(wallet.LengthRequired, "http_request.no_length")
	}
	return nil
}
