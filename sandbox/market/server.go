package market

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// object is a JSON object of a response.
type object = map[string]any

// refusal is an answer other than 200.
type refusal struct {
	status int
	body   any
}

// answer makes the body of a response, or a refusal.
type answer func(r *http.Request, now time.Time) (any, *refusal)

// Handler serves the providers' paths and the knobs.
func (m *Market) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /price/v3", m.serve(Jupiter, m.servePrices))
	mux.HandleFunc("GET /swap/v2/build", m.serve(Jupiter, m.serveBuild))
	mux.HandleFunc("GET /tokens/v2/search", m.serve(Jupiter, m.serveSearch))
	mux.HandleFunc("GET /api/v2/networks/{network}/tokens/{mint}/pools", m.serve(GeckoTerminal, m.servePools))
	mux.HandleFunc("GET /api/v2/networks/{network}/pools/{pool}/ohlcv/{timeframe}", m.serve(GeckoTerminal, m.serveCandles))
	mux.HandleFunc("GET /api/v2/", m.serve(GeckoTerminal, func(*http.Request, time.Time) (any, *refusal) { return nil, notFound() }))
	mux.HandleFunc("GET /v2/rates", m.serve(Frankfurter, m.serveRates))
	mux.HandleFunc("GET "+NewsPath, m.serveNews)
	mux.HandleFunc("GET /sandbox/state", m.serveState)
	mux.HandleFunc("POST /sandbox/set", m.serveSet)
	return mux
}

// serve answers one call of a provider: limit and fault come first, as they do at a gateway.
func (m *Market) serve(provider string, do answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		now := m.opt.Now()
		a, fault := m.admit(provider, now, provider == Jupiter && r.Header.Get("X-Api-Key") != "")
		if provider == Jupiter { // GeckoTerminal does not say how many calls are left
			w.Header().Set("X-Ratelimit-Remaining", strconv.Itoa(a.remaining))
			w.Header().Set("X-Ratelimit-Current", strconv.Itoa(a.used))
			// The moment is rounded up, so that who waits for it is not early.
			w.Header().Set("X-Ratelimit-Reset", strconv.FormatInt(a.reset.Add(time.Second-1).Unix(), 10))
		}
		switch {
		case !a.ok:
			writeJSON(w, http.StatusTooManyRequests, tooMany(provider))
			return
		case fault.Kind == Broken:
			writeJSON(w, http.StatusInternalServerError, failure(provider, http.StatusInternalServerError, "Internal Server Error"))
			return
		case fault.Kind == HTML:
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			io.WriteString(w, "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n")
			return
		case fault.Kind == Slow && !wait(r, fault.Delay):
			panic(http.ErrAbortHandler) // the client left
		}
		body, refused := do(r, now)
		if refused != nil {
			writeJSON(w, refused.status, refused.body)
			return
		}
		if fault.Kind == Garbage {
			writeHalf(w, body)
			return
		}
		writeJSON(w, http.StatusOK, body)
	}
}

// wait returns false if the client left before the time was over.
func wait(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// failure is the body of an error in the form of a provider.
func failure(provider string, status int, text string) any {
	switch provider {
	case Frankfurter:
		return object{"status": status, "message": text}
	case GeckoTerminal:
		return object{"errors": []object{{"status": strconv.Itoa(status), "title": text}}}
	}
	return object{"error": text}
}

// tooMany is the body of a 429.
func tooMany(provider string) any {
	if provider == GeckoTerminal {
		return object{"status": object{"error_code": http.StatusTooManyRequests, "error_message": "You've exceeded the Rate Limit."}}
	}
	return object{"code": http.StatusTooManyRequests, "message": "Rate limit exceeded"}
}

// badRequest refuses a parameter.
func badRequest(provider, text string) *refusal {
	return &refusal{http.StatusBadRequest, failure(provider, http.StatusBadRequest, text)}
}

// notFound is GeckoTerminal's answer for what it does not know.
func notFound() *refusal {
	return &refusal{http.StatusNotFound, failure(GeckoTerminal, http.StatusNotFound, "Not Found")}
}

// writeJSON sends a response.
func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"Internal Server Error"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	w.Write(text) // an error means that the client left
}

// writeHalf sends the first half of a response, as if that were all of it.
func writeHalf(w http.ResponseWriter, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		text = []byte("{")
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Write(text[:(len(text)+1)/2])
}
