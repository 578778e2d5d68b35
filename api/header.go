package api

import (
	"net/url"

	"github.com/valyala/fasthttp"

	"purser/signer"
)

// defaultHeaders returns the headers that every answer begins with. They are put together once: copying them costs less
// than setting each.
func defaultHeaders(public *url.URL) *fasthttp.ResponseHeader {
	h := &fasthttp.ResponseHeader{}
	for _, one := range signer.Headers(public) {
		h.Set(one.Name, one.Value)
	}
	return h
}
