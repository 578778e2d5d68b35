package signer

import (
	"strconv"
	"strings"
)

// qualities returns how much a client wants each form, by its header Accept-Encoding (RFC 9110, 12.5.3): from 0, not at all, to 1.
// The plain form always remains possible: it gets 0 when the header does not name it, so any other acceptable form is preferred. A part that
// cannot be read counts as not acceptable.
func qualities(accept string) (br, gzip, plain float64) {
	got := map[string]float64{}
	for part := range strings.SplitSeq(accept, ",") {
		coding, parameters, _ := strings.Cut(part, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		got[coding] = quality(parameters)
	}
	of := func(coding string) float64 {
		if q, named := got[coding]; named {
			return q
		}
		return got["*"]
	}
	gz := of("gzip")
	if _, named := got["gzip"]; !named {
		if q, old := got["x-gzip"]; old {
			gz = q
		}
	}
	return of("br"), gz, got["identity"]
}

// quality reads the parameter q of a coding: 1 without one.
func quality(parameters string) float64 {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(q >= 0 && q <= 1) { // NaN too
			return 0
		}
		return q
	}
	return 1
}
