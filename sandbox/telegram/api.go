package telegram

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const maxRequest = 50 << 20 // bytes; the Bot API's own limit for uploads

// apiError is a refusal, with the code and description that Telegram returns. Any other error of a method becomes a
// 500.
type apiError struct {
	code        int
	description string
	retryAfter  int // seconds; only with 429
}

func (e *apiError) Error() string { return e.description }

// badRequest is a 400. Clients match on the description, so it has to be Telegram's.
func badRequest(format string, args ...any) *apiError {
	return &apiError{code: 400, description: "Bad Request: " + fmt.Sprintf(format, args...)}
}

// forbidden is a 403: the bot may not write to this chat.
func forbidden(what string) *apiError { return &apiError{code: 403, description: "Forbidden: " + what} }

// result is what a successful method returns: a value, and for setWebhook also a description.
type result struct {
	value  any
	remark string
}

// request is one decoded Bot API call. Parameters that are not strings are kept as their JSON text, because a form
// and a JSON body then look the same to the methods.
type request struct {
	r      *http.Request
	params map[string]string
	files  map[string]upload
}

// upload is a file that came in a multipart body.
type upload struct {
	name string
	mime string
	data []byte
}

// text is a parameter, or "" if it is missing.
func (q *request) text(name string) string { return q.params[name] }

// flag is a parameter that is true, yes or 1.
func (q *request) flag(name string) bool {
	switch strings.ToLower(strings.TrimSpace(q.params[name])) {
	case "true", "yes", "1":
		return true
	}
	return false
}

// number reads an integer parameter. It returns otherwise if the parameter is missing or not an integer.
func (q *request) number(name string, otherwise int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(q.params[name]), 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

// Call is the record of one Bot API call and its answer, for tests to inspect.
type Call struct {
	Method string // in canonical spelling, if the method is known
	Params map[string]string
	Files  []string // names of the multipart fields that had files
	At     time.Time
	Status int    // HTTP status; 0 if no response was sent
	Answer string // body of the response
}

// Calls lists the last calls, at most 10,000, oldest first. It leaves out getUpdates.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// OnCall adds a function that is called for every call, including getUpdates, after it was carried out and before its
// answer is sent. The function must not call the Server.
func (s *Server) OnCall(f func(Call)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onCall = append(s.onCall, f)
}

// record keeps a call and runs the OnCall functions, outside the lock.
func (s *Server) record(c Call) {
	s.mu.Lock()
	if c.Method != "getUpdates" {
		if len(s.calls) >= 10_000 {
			s.calls = append(s.calls[:0], s.calls[1000:]...)
		}
		s.calls = append(s.calls, c)
		s.wake()
	}
	observers := s.onCall
	s.mu.Unlock()
	for _, f := range observers {
		f(c)
	}
}

// method is a Bot API method. do checks the parameters, takes s.mu itself, and writes the journal before it returns.
type method struct {
	name string
	do   func(*Server, *request) (result, error)
}

// methods lists the methods that the sandbox implements, by lower-case name, because Telegram ignores case.
func methods() map[string]method {
	table := map[string]method{}
	for name, do := range map[string]func(*Server, *request) (result, error){
		"getMe":                  (*Server).getMe,
		"logOut":                 (*Server).yes,
		"close":                  (*Server).yes,
		"getUpdates":             (*Server).getUpdates,
		"setWebhook":             (*Server).setWebhook,
		"deleteWebhook":          (*Server).deleteWebhook,
		"getWebhookInfo":         (*Server).getWebhookInfo,
		"sendMessage":            (*Server).sendMessage,
		"sendPhoto":              (*Server).sendPhoto,
		"sendDocument":           (*Server).sendDocument,
		"sendVideo":              (*Server).sendVideo,
		"sendMediaGroup":         (*Server).sendMediaGroup,
		"sendLocation":           (*Server).sendLocation,
		"sendDice":               (*Server).sendDice,
		"sendPoll":               (*Server).sendPoll,
		"stopPoll":               (*Server).stopPoll,
		"forwardMessage":         (*Server).forwardMessage,
		"copyMessage":            (*Server).copyMessage,
		"pinChatMessage":         (*Server).pinChatMessage,
		"unpinChatMessage":       (*Server).unpinChatMessage,
		"unpinAllChatMessages":   (*Server).unpinAllChatMessages,
		"editMessageMedia":       (*Server).editMessageMedia,
		"getUserProfilePhotos":   (*Server).getUserProfilePhotos,
		"editMessageText":        (*Server).editMessageText,
		"editMessageCaption":     (*Server).editMessageCaption,
		"editMessageReplyMarkup": (*Server).editMessageReplyMarkup,
		"deleteMessage":          (*Server).deleteMessage,
		"answerCallbackQuery":    (*Server).answerCallbackQuery,
		"sendChatAction":         (*Server).sendChatAction,
		"setMessageReaction":     (*Server).setMessageReaction,
		"getFile":                (*Server).getFile,
		"getChat":                (*Server).getChat,
		"getChatMember":          (*Server).getChatMember,
		"setMyCommands":          (*Server).setMyCommands,
		"getMyCommands":          (*Server).getMyCommands,
		"deleteMyCommands":       (*Server).deleteMyCommands,
		"setMyName":              (*Server).setMyName,
		"getMyName":              (*Server).getMyName,
		"setMyDescription":       (*Server).setMyDescription,
		"getMyDescription":       (*Server).getMyDescription,
		"setMyShortDescription":  (*Server).setMyShortDescription,
		"getMyShortDescription":  (*Server).getMyShortDescription,
		"setChatMenuButton":      (*Server).setChatMenuButton,
		"getChatMenuButton":      (*Server).getChatMenuButton,
	} {
		table[strings.ToLower(name)] = method{name, do}
	}
	return table
}

// serveBot answers /bot<token>/<method>. The order is that of the checks below: path, token, body, fault, method.
func (s *Server) serveBot(w http.ResponseWriter, r *http.Request) {
	token, name, found := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	if !found || token == "" {
		s.answer(w, Call{}, result{}, &apiError{code: 404, description: "Not Found"})
		return
	}
	// The comparison takes the same time for every wrong token.
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.opt.Token)) != 1 {
		s.answer(w, Call{}, result{}, &apiError{code: 401, description: "Unauthorized"})
		return
	}
	// Method names are matched without regard to case.
	m, known := s.methods[strings.ToLower(name)]
	call := Call{Method: name, At: s.opt.Now()}
	if known {
		call.Method = m.name
	}
	q, err := readRequest(w, r)
	if err != nil {
		s.answer(w, call, result{}, err)
		return
	}
	call.Params = q.params
	for field := range q.files {
		call.Files = append(call.Files, field)
	}
	// The fault function is called without the lock, so that it may call the Server.
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault != nil {
		if f := fault(call.Method); f.Kind != NoFault {
			if s.applyFault(w, q, call, f, func() (result, error) { return s.run(m, q) }) {
				return
			}
		}
	}
	res, err := s.run(m, q)
	s.answer(w, call, res, err)
}

// run carries out one method. A nil do is a method that the sandbox does not implement.
func (s *Server) run(m method, q *request) (result, error) {
	if m.do == nil {
		return result{}, &apiError{code: 404, description: "Not Found: method not found"}
	}
	if err := refuseWebApps(q.params); err != nil {
		return result{}, err
	}
	return m.do(s, q)
}

// answer records the call, if a method was named, and sends the response.
func (s *Server) answer(w http.ResponseWriter, call Call, res result, err error) {
	status, body := answerBody(res, err)
	if call.Method != "" {
		call.Status, call.Answer = status, string(body)
		s.record(call)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}

// answerBody is the JSON envelope of every Bot API response, with its HTTP status.
func answerBody(res result, err error) (int, []byte) {
	type parameters struct {
		RetryAfter int `json:"retry_after,omitempty"`
	}
	var body struct {
		OK          bool        `json:"ok"`
		Result      any         `json:"result,omitempty"`
		ErrorCode   int         `json:"error_code,omitempty"`
		Description string      `json:"description,omitempty"`
		Parameters  *parameters `json:"parameters,omitempty"`
	}
	// A refusal has Telegram's code and description. Any other error is a defect of the sandbox and shows no details.
	status := http.StatusOK
	var refused *apiError
	switch {
	case err == nil:
		body.OK, body.Result, body.Description = true, res.value, res.remark
	case errors.As(err, &refused):
		status = refused.code
		body.ErrorCode, body.Description = refused.code, refused.description
		if refused.retryAfter > 0 {
			body.Parameters = &parameters{refused.retryAfter}
		}
	default:
		status = http.StatusInternalServerError
		body.ErrorCode, body.Description = status, "Internal Server Error"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	// Telegram does not escape <, > and & in its JSON.
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return 500, []byte(`{"ok":false,"error_code":500,"description":"Internal Server Error"}`)
	}
	return status, bytes.TrimSpace(b.Bytes())
}

// readRequest reads parameters from the query, and from a form, JSON or multipart body. The body wins over the query.
func readRequest(w http.ResponseWriter, r *http.Request) (*request, error) {
	q := &request{r: r, params: map[string]string{}, files: map[string]upload{}}
	// If a parameter is repeated, the last value counts.
	for k, v := range r.URL.Query() {
		q.params[k] = v[len(v)-1]
	}
	if r.Method != http.MethodPost {
		if r.Method != http.MethodGet {
			return nil, &apiError{code: 405, description: "Method Not Allowed"}
		}
		return q, nil
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var err error
	switch kind {
	case "application/json":
		err = q.readJSON(r.Body)
	case "multipart/form-data":
		err = q.readMultipart(r)
	case "application/x-www-form-urlencoded":
		if err = r.ParseForm(); err == nil {
			for k, v := range r.PostForm {
				q.params[k] = v[len(v)-1]
			}
		}
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, &apiError{code: 413, description: "Request Entity Too Large"}
	}
	if err != nil {
		return nil, badRequest("can't parse request body: %v", err)
	}
	return q, nil
}

// readJSON reads the members of a JSON object. Members that are null count as absent.
func (q *request) readJSON(body io.Reader) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return errors.New("a JSON object is expected")
	}
	for k, raw := range object {
		var text string
		switch {
		case string(raw) == "null":
		case json.Unmarshal(raw, &text) == nil:
			q.params[k] = text
		default:
			q.params[k] = string(raw)
		}
	}
	return nil
}

// readMultipart reads the parts of a form, uploads included, into memory. maxRequest bounds them all together.
func (q *request) readMultipart(r *http.Request) error {
	parts, err := r.MultipartReader()
	if err != nil {
		return err
	}
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		// An empty file name still means a file: telebot sends one for readers.
		_, disposition, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		if _, isFile := disposition["filename"]; !isFile {
			q.params[part.FormName()] = string(data)
			continue
		}
		q.files[part.FormName()] = upload{part.FileName(), part.Header.Get("Content-Type"), data}
	}
}

// refuseWebApps refuses every call that contains a Mini App. Telegram would accept it, but Telegram's terms bind Mini
// Apps with cryptocurrency to another chain, so purser must never send one (docs/architecture.md, Telegram).
func refuseWebApps(params map[string]string) error {
	for name, value := range params {
		// Only values that are JSON can contain a Mini App; a text may mention web_app.
		if !strings.Contains(value, "web_app") || !strings.ContainsAny(value, "{[") {
			continue
		}
		var v any
		if json.Unmarshal([]byte(value), &v) == nil && hasWebApp(v) {
			return badRequest("web_app in %s: this sandbox accepts no Mini Apps", name)
		}
	}
	return nil
}

// hasWebApp searches a decoded JSON value at any depth.
func hasWebApp(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if k == "web_app" || k == "type" && inner == "web_app" || hasWebApp(inner) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if hasWebApp(inner) {
				return true
			}
		}
	}
	return false
}

// yes is the method that always succeeds.
func (s *Server) yes(*request) (result, error) { return result{value: true}, nil }

// getMe describes the bot. It reads groups in privacy mode only.
func (s *Server) getMe(*request) (result, error) {
	return result{value: struct {
		User
		CanJoinGroups bool `json:"can_join_groups"`
		CanReadAll    bool `json:"can_read_all_group_messages"`
		Inline        bool `json:"supports_inline_queries"`
	}{User: s.bot, CanJoinGroups: true}}, nil
}
