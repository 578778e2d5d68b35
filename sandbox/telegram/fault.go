package telegram

import (
	"net/http"
	"strconv"
)

// FaultKind is a way in which Telegram, or the connection to it, can fail. The kinds differ in whether the call took
// effect, which the bot cannot see.
type FaultKind int

// The faults that SetFault can cause.
const (
	NoFault     FaultKind = iota
	BadGateway            // not carried out; 502 with an HTML body, as proxies send it
	TooMany               // not carried out; 429 with retry_after = RetryAfter
	DropAnswer            // carried out, then the connection breaks without an answer
	DropRequest           // not carried out, the connection breaks without an answer
	Hang                  // not carried out; no answer until the caller gives up
	HangAnswer            // carried out; no answer until the caller gives up
	Blocked               // not carried out; 403 "bot was blocked by the user"
	Internal              // not carried out; 500 in JSON
)

// Fault says how one call fails.
type Fault struct {
	Kind       FaultKind
	RetryAfter int // seconds, with TooMany; 0 reads as 1
}

// SetFault lets f decide for each call, by method name, whether it fails. nil ends all faults. f is called from the
// goroutines of the requests, with no lock held.
func (s *Server) SetFault(f func(method string) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// applyFault carries out the fault. It returns false if the call should be answered as usual.
func (s *Server) applyFault(w http.ResponseWriter, q *request, call Call, f Fault, run func() (result, error)) bool {
	switch f.Kind {
	case BadGateway:
		call.Status = http.StatusBadGateway
		s.record(call)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		w.Write([]byte("<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"))
	case TooMany:
		s.answer(w, call, result{}, tooMany(max(1, f.RetryAfter)))
	case Blocked:
		s.answer(w, call, result{}, forbidden("bot was blocked by the user"))
	case Internal:
		s.answer(w, call, result{}, &apiError{code: 500, description: "Internal Server Error"})
	case DropAnswer, DropRequest, Hang, HangAnswer:
		// These two take effect before the connection breaks, so the bot cannot know that they did.
		if f.Kind == DropAnswer || f.Kind == HangAnswer {
			_, body := answerBody(run())
			call.Answer = string(body)
		}
		s.record(call)
		if f.Kind == Hang || f.Kind == HangAnswer {
			select {
			case <-q.r.Context().Done():
			case <-s.done:
			}
		}
		panic(http.ErrAbortHandler) // closes the connection and logs nothing
	default:
		return false
	}
	return true
}

// tooMany is the 429 with which Telegram asks a bot to wait.
func tooMany(seconds int) *apiError {
	return &apiError{code: 429, description: "Too Many Requests: retry after " + strconv.Itoa(seconds), retryAfter: seconds}
}
