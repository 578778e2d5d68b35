package api

import (
	"github.com/valyala/fasthttp"

	"purser/signer"
)

// worn is what every answer begins with, put together once: to copy it is cheaper than to set each header.
func worn(all []signer.Header) *fasthttp.ResponseHeader {
	h := &fasthttp.ResponseHeader{}
	for _, one := range all {
		h.Set(one.Name, one.Value)
	}
	return h
}
