package api

import (
	"net/url"

	"github.com/valyala/fasthttp"

	"purser/signer"
)

// strictTransport is sent where purser is reached by https: for a year browsers reach that name by nothing else. It
// says nothing of other names below it.
const strictTransport = "max-age=31536000"

// defaultHeaders is what every answer begins with, put together once: to copy it is cheaper than to set each header.
func defaultHeaders(all []signer.Header, public *url.URL) *fasthttp.ResponseHeader {
	h := &fasthttp.ResponseHeader{}
	for _, one := range all {
		h.Set(one.Name, one.Value)
	}
	if public.Scheme == "https" {
		h.Set("Strict-Transport-Security", strictTransport)
	}
	return h
}
