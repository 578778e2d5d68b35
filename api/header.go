package api

import (
	"net/url"

	"github.com/valyala/fasthttp"

	"purser/signer"
)

// defaultHeaders returns the headers that every response begins with. They are made once, since copying them costs less
// than setting each. If the public URL is https, they include Strict-Transport-Security (RFC 6797).
func defaultHeaders(public *url.URL) *fasthttp.ResponseHeader {
	h := &fasthttp.ResponseHeader{}
	for _, one := range signer.Headers(public) {
		h.Set(one.Name, one.Value)
	}
	return h
}
