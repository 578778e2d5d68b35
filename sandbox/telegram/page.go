package telegram

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

//go:embed page
var pageFiles embed.FS

// Limits of the page. A heartbeat keeps idle event streams open through proxies.
const (
	pageHistory = 300       // messages of a chat in pageState
	maxPageBody = 256 << 10 // bytes
	heartbeat   = 20 * time.Second
)

// pageHandler serves the chat page and the /app/ calls that it makes, to browsers of this machine only.
func (s *Server) pageHandler() http.Handler {
	static, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // cannot happen: "page" is a valid path
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { s.serveStatic(w, r, static, "index.html") })
	mux.HandleFunc("GET /page/{file}", func(w http.ResponseWriter, r *http.Request) {
		s.serveStatic(w, r, static, r.PathValue("file"))
	})
	mux.HandleFunc("GET /app/state", s.pageState)
	mux.HandleFunc("GET /app/events", s.pageEvents)
	mux.HandleFunc("GET /app/mails", s.pageMails)
	mux.HandleFunc("GET /app/prices", s.pagePrices)
	mux.HandleFunc("GET /app/file/{id}", s.pageFile)
	mux.HandleFunc("POST /app/say", pagePost(s.pageSay))
	mux.HandleFunc("POST /app/tap", pagePost(s.pageTap))
	mux.HandleFunc("POST /app/contact", pagePost(s.pageContact))
	mux.HandleFunc("POST /app/people", pagePost(s.pagePeople))
	mux.HandleFunc("POST /app/block", pagePost(s.pageBlock))
	mux.HandleFunc("POST /app/read", pagePost(s.pageRead))
	mux.HandleFunc("POST /app/faucet", pagePost(s.pageFaucet))
	mux.HandleFunc("POST /app/approval", pagePost(s.pageApproval))
	mux.HandleFunc("POST /app/epoch", pagePost(s.pageEpoch))
	mux.HandleFunc("POST /app/price", pagePost(s.pagePrice))
	mux.HandleFunc("POST /app/quotes", pagePost(s.pageQuotes))
	mux.HandleFunc("POST /app/buy", pagePost(s.pageBuy))
	mux.HandleFunc("POST /app/paid", pagePost(s.pagePaid))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		// A foreign domain that resolves to 127.0.0.1 is refused (DNS rebinding): its pages must not reach the
		// sandbox.
		if !loopbackHost(r.Host) {
			http.Error(w, "Open this page by a loopback address, such as 127.0.0.1.", http.StatusForbidden)
			return
		}
		// Browsers say where a request comes from. Other clients send no such header and are allowed.
		if site := r.Header.Get("Sec-Fetch-Site"); strings.HasPrefix(r.URL.Path, "/app/") && site != "" && site != "same-origin" && site != "none" {
			http.Error(w, "This sandbox answers its own page only.", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// loopbackHost says whether the Host header names this machine by itself.
func loopbackHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

// ownHost tells hosts that no foreign DNS entry can point here from those that it can. Safe are numeric addresses and
// names without a dot (localhost, a container's name).
func ownHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || !strings.Contains(host, ".")
}

// serveStatic serves one embedded file.
func (s *Server) serveStatic(w http.ResponseWriter, _ *http.Request, files fs.FS, name string) {
	data, err := fs.ReadFile(files, name)
	kind := mime.TypeByExtension(path.Ext(name))
	switch path.Ext(name) { // independent of the operating system's own table of types
	case ".js":
		kind = "text/javascript; charset=utf-8"
	case ".css":
		kind = "text/css; charset=utf-8"
	case ".svg":
		kind = "image/svg+xml"
	}
	if err != nil {
		http.Error(w, "There is no such page here.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Write(data)
}

// pageState returns all that the page shows at first, with the number of the last event in it. The page then streams
// the events after that number, so that it misses none and shows none twice.
func (s *Server) pageState(w http.ResponseWriter, _ *http.Request) {
	type chat struct {
		*pagePerson
		Messages []pageMessage `json:"messages"`
	}
	// State and event number are read under one lock, so that they belong together.
	s.mu.Lock()
	state := struct {
		Epoch       string    `json:"epoch"`
		Seq         int64     `json:"seq"`
		Bot         User      `json:"bot"`
		Description string    `json:"description"`
		About       string    `json:"about"`
		Faucet      bool      `json:"faucet"`
		FaucetToken bool      `json:"faucet_token"`
		Approvals   bool      `json:"approvals"` // there is a button that plants an approval
		Epochs      bool      `json:"epochs"`    // there is a button for the next epoch
		Mail        bool      `json:"mail"`
		Market      bool      `json:"market"` // there are prices
		People      []chat    `json:"people"`
		Shop        []Item    `json:"shop,omitempty"`
		Other       *OtherBot `json:"other,omitempty"`
	}{Epoch: s.feed.epoch, Seq: s.feed.seq, Bot: s.bot, Faucet: s.opt.Faucet != nil, FaucetToken: s.opt.FaucetToken != nil,
		Approvals:   s.opt.PlantApproval != nil,
		Epochs:      s.opt.NextEpoch != nil,
		Mail:        s.opt.Mails != nil,
		Market:      s.opt.Market != nil,
		Other:       s.opt.Other,
		Description: orElse(s.st.Profile.Description[""], s.opt.Hint), About: s.st.Profile.Short[""]}
	if s.opt.Shop != nil {
		state.Shop = s.opt.Shop.Items()
	}
	state.Bot.FirstName = orElse(s.st.Profile.Name[""], s.bot.FirstName)
	// The page shows Alice and Bob only, also if tests have added others.
	for _, id := range []int64{Alice, Bob} {
		c := chat{pagePerson: s.pagePerson(s.st.People[id]), Messages: []pageMessage{}}
		ids := s.st.Order[id]
		for _, m := range ids[max(0, len(ids)-pageHistory):] {
			c.Messages = append(c.Messages, pageMessage{s.st.Messages[m].Message, s.st.Messages[m].Edits})
		}
		state.People = append(state.People, c)
	}
	s.mu.Unlock()
	pageAnswer(w, http.StatusOK, state)
}

// pageEvents streams the feed as server-sent events with the ids <epoch>.<seq>. A page that missed too many events,
// or saw another process, gets a reset event and reloads the state.
func (s *Server) pageEvents(w http.ResponseWriter, r *http.Request) {
	flusher, ok := w.(http.Flusher)
	if !ok {
		http.Error(w, "This connection cannot stream.", http.StatusNotImplemented)
		return
	}
	// A reconnecting browser sends the last id as a header; the first request has it in the query.
	epoch, number, _ := strings.Cut(orElse(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")), ".")
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		seq = -1
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	fmt.Fprint(w, "retry: 1000\n\n")
	for {
		// The channel is read together with the events, so that none can come in between.
		s.mu.Lock()
		changed, now := s.changed, s.feed.epoch
		events, whole := s.feed.since(seq)
		newest := s.feed.seq
		s.mu.Unlock()
		// The page reloads the state and connects again.
		if epoch != now || !whole {
			fmt.Fprintf(w, "id: %s.%d\nevent: reset\ndata: {}\n\n", now, newest)
			flusher.Flush()
			return
		}
		for _, e := range events {
			data, err := json.Marshal(e)
			if err != nil {
				return
			}
			seq = e.Seq
			if _, err := fmt.Fprintf(w, "id: %s.%d\ndata: %s\n\n", now, e.Seq, data); err != nil {
				return
			}
		}
		// Then wait for a change, a heartbeat, or an end.
		flusher.Flush()
		select {
		case <-changed:
		case <-beat.C:
			fmt.Fprint(w, ": still here\n\n")
		case <-r.Context().Done():
			return
		case <-s.done:
			return
		}
	}
}

// Mail is a message that the sandbox's mail server received, as the page shows it.
type Mail struct {
	To      string `json:"to"`
	From    string `json:"from"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
	At      int64  `json:"at"` // unix seconds
}

// MailCame makes the page fetch the mails.
func (s *Server) MailCame() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.feed.add(event{Kind: "mail"})
	s.wake()
}

// pageMails lists the mails.
func (s *Server) pageMails(w http.ResponseWriter, _ *http.Request) {
	if s.opt.Mails == nil {
		pageAnswer(w, http.StatusNotFound, map[string]string{"error": "This sandbox has no mail server."})
		return
	}
	pageAnswer(w, http.StatusOK, map[string]any{"mails": s.opt.Mails()})
}

// pageFile serves an uploaded file to the page.
func (s *Server) pageFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.st.Files[r.PathValue("id")]
	s.mu.Unlock()
	if f == nil {
		http.Error(w, "There is no such file.", http.StatusNotFound)
		return
	}
	// A file from the bot is shown as a picture or downloaded. It must never run as a page in this origin.
	kind := "application/octet-stream"
	if f.Photo {
		kind = f.Mime
	} else {
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
	}
	s.sendFile(w, f, kind)
}

// pageRequest is the body of every POST to /app/. Each call reads the fields that it needs. As is the person who
// acts, Alice or Bob. MessageID is the message to reply to, the one with the button at Row and Col, or the last one
// that was read. RequestID is that of the key by which the person chose somebody.
type pageRequest struct {
	As        int64  `json:"as"`
	Text      string `json:"text"`
	MessageID int64  `json:"message_id"`
	Row       int    `json:"row"`
	Col       int    `json:"col"`
	Blocked   bool   `json:"blocked"`
	RequestID int32  `json:"request_id"`
	UserID    int64  `json:"user_id"` // the person who was chosen
	Address   string `json:"address"`
	SOL       uint64 `json:"sol"`
	USDC      uint64 `json:"usdc"`      // whole tokens, instead of SOL
	Item      string `json:"item"`      // id in the shop
	Reference string `json:"reference"` // reference of an order
	Mint      string `json:"mint"`      // token whose price changes
	Price     string `json:"price"`     // its new price in dollars, or else
	Percent   int    `json:"percent"`   // by how much it moves
	Quotes    string `json:"quotes"`    // how quotes of swaps are answered
}

// pageError is a refusal with its HTTP status. The page shows the text to the person.
type pageError struct {
	status int
	text   string
}

func (e *pageError) Error() string { return e.text }

// pagePost wraps a call of the page: it checks and decodes the body, and encodes the result. An error that is no
// pageError is a 409.
func pagePost(do func(*http.Request, pageRequest) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// A form on another site cannot send this content type without a CORS preflight, which fails.
		if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
			pageAnswer(w, http.StatusUnsupportedMediaType, map[string]string{"error": "Send JSON."})
			return
		}
		var in pageRequest
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPageBody))
		if err != nil {
			pageAnswer(w, http.StatusRequestEntityTooLarge, map[string]string{"error": "This is too long to send."})
			return
		}
		// The page acts as one of its two people only.
		if json.Unmarshal(body, &in) != nil || in.As != 0 && in.As != Alice && in.As != Bob {
			pageAnswer(w, http.StatusBadRequest, map[string]string{"error": "The page sent something that the sandbox does not understand. Reload it."})
			return
		}
		out, err := do(r, in)
		if err != nil {
			status := http.StatusConflict
			if e := (*pageError)(nil); errors.As(err, &e) {
				status = e.status
			}
			pageAnswer(w, status, map[string]string{"error": err.Error()})
			return
		}
		pageAnswer(w, http.StatusOK, out)
	}
}

// pageAnswer sends JSON.
func pageAnswer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"Internal error."}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}

// done is the result of a call that returns nothing.
type done struct{}

// pageSay sends a text, as a reply if MessageID is set.
func (s *Server) pageSay(_ *http.Request, in pageRequest) (any, error) {
	if strings.TrimSpace(in.Text) == "" {
		return nil, &pageError{http.StatusBadRequest, "There is nothing to send."}
	}
	var err error
	if in.MessageID != 0 {
		_, err = s.Reply(in.As, in.MessageID, in.Text)
	} else {
		_, err = s.Say(in.As, in.Text)
	}
	if errors.Is(err, ErrBlockedBot) {
		return nil, &pageError{http.StatusConflict, "You blocked this bot. Unblock it to write."}
	}
	return done{}, err
}

// pageTap taps a button by its row and column. The answer comes as a toast event with this query id.
func (s *Server) pageTap(_ *http.Request, in pageRequest) (any, error) {
	id, err := s.TapAt(in.As, in.MessageID, in.Row, in.Col)
	if errors.Is(err, ErrNoButton) {
		return nil, &pageError{http.StatusConflict, "This button is gone."}
	}
	return map[string]string{"query_id": id}, err
}

// pageContact shares the person's own phone number.
func (s *Server) pageContact(_ *http.Request, in pageRequest) (any, error) {
	_, err := s.ShareContact(in.As, in.As)
	return done{}, err
}

// pagePeople shares one chosen person.
func (s *Server) pagePeople(_ *http.Request, in pageRequest) (any, error) {
	_, err := s.ShareUsers(in.As, in.RequestID, in.UserID)
	if errors.Is(err, ErrNoKey) {
		return nil, &pageError{http.StatusConflict, "This key is gone."}
	}
	return done{}, err
}

// pageBlock blocks or unblocks the bot.
func (s *Server) pageBlock(_ *http.Request, in pageRequest) (any, error) {
	return done{}, s.setBlocked(in.As, in.Blocked)
}

// pageRead stores the last message that the person has seen. It never goes back.
func (s *Server) pageRead(_ *http.Request, in pageRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.st.People[in.As]
	// Messages that do not exist yet cannot have been read.
	if p == nil || in.MessageID <= p.Read || in.MessageID >= s.st.NextMessage {
		return done{}, nil
	}
	next := *p
	next.Read = in.MessageID
	if err := s.commit(change{Person: &next}); err != nil {
		return nil, err
	}
	s.tellPerson(in.As)
	return done{}, nil
}

// addressShape only catches typing errors; the cluster checks the address.
var addressShape = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{32,44}$`)

// pageEpoch begins the cluster's next epoch and returns its number.
func (s *Server) pageEpoch(r *http.Request, _ pageRequest) (any, error) {
	if s.opt.NextEpoch == nil {
		return nil, &pageError{http.StatusNotFound, "This sandbox has no epochs."}
	}
	epoch, err := s.opt.NextEpoch(r.Context())
	if err != nil {
		return nil, &pageError{http.StatusBadGateway, "The next epoch could not begin: " + err.Error()}
	}
	return map[string]uint64{"epoch": epoch}, nil
}

// ErrNothingToPlant says that an address has no account for a token, so that nobody can be allowed to spend from it.
var ErrNothingToPlant = errors.New("sandbox telegram: no token account")

// plantedUnits is what a planted approval is for, in base units of USDC.
const plantedUnits = 25_000_000

// pageApproval lets a stranger spend USDC of an address.
func (s *Server) pageApproval(_ *http.Request, in pageRequest) (any, error) {
	if s.opt.PlantApproval == nil {
		return nil, &pageError{http.StatusNotFound, "This sandbox plants no approvals."}
	}
	address, err := pageAddress(in)
	if err != nil {
		return nil, err
	}
	delegate, err := s.opt.PlantApproval(address, "USDC", plantedUnits)
	switch {
	case errors.Is(err, ErrNothingToPlant):
		return nil, &pageError{http.StatusConflict, "This address holds no test USDC yet. Get 100 USDC first."}
	case err != nil:
		return nil, &pageError{http.StatusBadGateway, "The approval could not be planted: " + err.Error()}
	}
	return map[string]string{"delegate": delegate}, nil
}

// pageAddress is the address that a person typed.
func pageAddress(in pageRequest) (string, error) {
	address := strings.TrimSpace(in.Address)
	if !addressShape.MatchString(address) {
		return "", &pageError{http.StatusBadRequest, "That is not an address: it should have 32 to 44 letters and digits. Copy it from /wallet address."}
	}
	return address, nil
}

// pageFaucet sends whole SOL or USDC to an address. The page's limits keep amounts realistic.
func (s *Server) pageFaucet(r *http.Request, in pageRequest) (any, error) {
	if s.opt.Faucet == nil {
		return nil, &pageError{http.StatusNotFound, "This sandbox has no faucet."}
	}
	address, err := pageAddress(in)
	if err != nil {
		return nil, err
	}
	// Either SOL or USDC, within the limits.
	switch {
	case in.USDC != 0 && in.SOL != 0:
		return nil, &pageError{http.StatusBadRequest, "Ask for SOL or for USDC, not for both at once."}
	case in.USDC != 0 && s.opt.FaucetToken == nil:
		return nil, &pageError{http.StatusNotFound, "This sandbox's faucet has no USDC."}
	case in.USDC > 1000:
		return nil, &pageError{http.StatusBadRequest, "The faucet gives 1 to 1000 USDC at a time."}
	case in.USDC != 0:
		err = s.opt.FaucetToken(r.Context(), address, "USDC", in.USDC*1_000_000)
	case in.SOL < 1 || in.SOL > 10:
		return nil, &pageError{http.StatusBadRequest, "The faucet gives 1 to 10 SOL at a time."}
	default:
		err = s.opt.Faucet(r.Context(), address, in.SOL*1_000_000_000)
	}
	if err != nil {
		return nil, &pageError{http.StatusBadGateway, "The faucet could not pay: " + err.Error()}
	}
	return done{}, nil
}
