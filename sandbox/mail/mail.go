// Package mail is the sandbox's mail server. Server accepts every message over SMTP, without authentication or TLS,
// and keeps the newest ones as Mail values, which the chat page lists. It never relays: nothing leaves the process,
// and nothing is written to disk. It must not know anything about the program that sends.
package mail

import (
	"context"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
)

// Mail is one received message. To and From come from the SMTP envelope, Subject and Text from the message itself.
type Mail struct {
	To      string    `json:"to"`
	From    string    `json:"from"`
	Subject string    `json:"subject"`
	Text    string    `json:"text"`
	At      time.Time `json:"at"`
}

// Bounds of the mailbox: the number of messages that it keeps, and the size of one message.
const (
	kept    = 50
	maxMail = 64 << 10 // bytes
)

// Server receives mail and keeps the newest messages in memory. New makes one, Run serves it.
type Server struct {
	Came func() // called after each message, without the lock; nil: nothing. Set it before Run
	now  func() time.Time
	smtp *smtp.Server

	mu    sync.Mutex
	mails []Mail
}

// New makes a server; it listens in Run.
func New(now func() time.Time) *Server {
	s := &Server{now: now}
	s.smtp = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{server: s}, nil }))
	s.smtp.Domain = "sandbox.invalid"
	s.smtp.MaxMessageBytes, s.smtp.MaxRecipients = maxMail, 1
	s.smtp.ReadTimeout, s.smtp.WriteTimeout = 10*time.Second, 10*time.Second
	return s
}

// Run answers on l until ctx ends, and closes it.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	defer context.AfterFunc(ctx, func() {
		s.smtp.Close() //nolint:errcheck // the same error as Serve's
		l.Close()      //nolint:errcheck // a Serve that had not begun yet is unknown to smtp.Close
	})()
	if err := s.smtp.Serve(l); ctx.Err() == nil {
		return err
	}
	return nil
}

// Mails are those that came last, newest first.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

// session is one connection: go-smtp calls it in order.
type session struct {
	server   *Server
	from, to string
}

func (c *session) Mail(from string, _ *smtp.MailOptions) error { c.from = from; return nil }
func (c *session) Rcpt(to string, _ *smtp.RcptOptions) error   { c.to = to; return nil }
func (c *session) Reset()                                      { c.from, c.to = "", "" }
func (c *session) Logout() error                               { return nil }

// Data takes one mail of plain text.
func (c *session) Data(r io.Reader) error {
	read, err := netmail.ReadMessage(r)
	if err != nil {
		return &smtp.SMTPError{Code: 554, Message: "this is no mail"}
	}
	var body io.Reader = read.Body
	// Mail programs encode text outside ASCII; other encodings than quoted-printable are shown as they came.
	if strings.EqualFold(read.Header.Get("Content-Transfer-Encoding"), "quoted-printable") {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return &smtp.SMTPError{Code: 554, Message: "this mail cannot be read"}
	}
	// A subject that is not valid RFC 2047 is shown as it came.
	subject, err := new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject"))
	if err != nil {
		subject = read.Header.Get("Subject")
	}
	// The newest mail comes first, and the oldest is dropped when the box is full.
	s := c.server
	s.mu.Lock()
	s.mails = slices.Insert(s.mails, 0, Mail{To: c.to, From: c.from, Subject: subject,
		Text: strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")), At: s.now().UTC()})
	s.mails = s.mails[:min(len(s.mails), kept)]
	s.mu.Unlock()
	// The callback runs without the lock, so that it may call Mails.
	if s.Came != nil {
		s.Came()
	}
	return nil
}
