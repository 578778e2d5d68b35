package api

import (
	"net/textproto"

	"purser/signer"
)

// header is one header of every answer, spelled as fasthttp keeps it: it need not be looked at each time.
type header struct{ name, value []byte }

func canonical(all []signer.Header) []header {
	out := make([]header, len(all))
	for i, h := range all {
		out[i] = header{[]byte(textproto.CanonicalMIMEHeaderKey(h.Name)), []byte(h.Value)}
	}
	return out
}
