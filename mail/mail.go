// Package mail sends plain-text mail over SMTP. It does not know what a mail is about, who its recipient is, or why it is
// sent, and it stores and retries nothing.
//
// New checks the Options and returns a Sender. Each Sender.Send is one mail over a connection of its own.
package mail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	netmail "net/mail"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"purser/wallet"
)

// Options name the SMTP server and the sender. Now and Random are required.
type Options struct {
	URL     string           // smtp://user:password@host:port (STARTTLS) or smtps:// (implicit TLS)
	From    string           // an address as in RFC 5322, with or without a display name
	Timeout time.Duration    // for one mail, from dialing to the server's last reply; 0 is DefaultTimeout
	Now     func() time.Time // for the Date header
	Random  io.Reader        // for message IDs
}

// DefaultTimeout bounds how long Send may take. A person waits in the chat meanwhile.
const DefaultTimeout = 20 * time.Second

// Sender sends plain-text mail, each over its own connection. It is immutable and safe for concurrent use.
type Sender struct {
	opt    Options
	domain string          // part of the sender's address after @: for HELO and message IDs
	host   string          // of the SMTP server
	how    []gomail.Option // how to connect: port, TLS, authentication
}

// New checks the options and returns a Sender. It opens no connection. Its errors never quote the URL, which contains the
// password.
func New(o Options) (*Sender, error) {
	if o.Now == nil || o.Random == nil {
		return nil, errors.New("mail: Now and Random are needed")
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	from, err := netmail.ParseAddress(o.From)
	if err != nil {
		return nil, errors.New("mail: the sender is no mail address")
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" { // url.Parse quotes the password in its error
		return nil, errors.New("mail: the server is not named by smtp:// or smtps://")
	}
	s := &Sender{opt: o, domain: from.Address[strings.LastIndexByte(from.Address, '@')+1:], host: u.Hostname()}
	s.how = []gomail.Option{gomail.WithTimeout(o.Timeout), gomail.WithHELO(s.domain)}
	port := 587 // submission, RFC 6409
	switch {
	case u.Scheme == "smtps":
		port = 465 // implicit TLS, RFC 8314
		s.how = append(s.how, gomail.WithSSL())
	// Traffic to loopback never leaves the machine, and local servers often have no certificate.
	case loopback(s.host): // nobody listens in between, and local servers often have no certificate
		s.how = append(s.how, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	// Refuse to send without TLS: a mail contains a verification code.
	default:
		s.how = append(s.how, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil {
			return nil, errors.New("mail: the server's port is no number")
		}
	}
	s.how = append(s.how, gomail.WithPort(port))
	// Log in only if the URL has a password. The mechanism is the strongest that the server offers.
	if password, ok := u.User.Password(); ok {
		s.how = append(s.how, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover),
			gomail.WithUsername(u.User.Username()), gomail.WithPassword(password))
	}
	return s, nil
}

// Send sends one mail and returns once the server has accepted it, which does not mean that it was delivered. It gives up
// after Options.Timeout. Its errors contain neither the recipient nor the server's text, which may repeat the recipient,
// so they can be logged.
func (s *Sender) Send(ctx context.Context, to, subject, text string) error {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	message := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	id, err := wallet.RandomText(s.opt.Random, 24)
	if err != nil {
		return err
	}
	if message.From(s.opt.From) != nil || message.To(to) != nil {
		return errors.New("mail: an address cannot be written in a mail")
	}
	message.Subject(subject)
	message.SetDateWithValue(s.opt.Now())
	message.SetMessageIDWithValue(id + "@" + s.domain)
	message.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no out-of-office replies
	message.SetBodyString(gomail.TypeTextPlain, text)
	client, err := gomail.NewClient(s.host, s.how...)
	if err != nil {
		return errors.New("mail: the mail client cannot be set up as configured")
	}
	return quiet(client.DialAndSendWithContext(ctx, message))
}

// quiet reduces an error to what identifies nobody: the SMTP reply code or the failed network operation.
func quiet(err error) error {
	var refused *textproto.Error
	var network *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return errors.New("mail: the server did not answer in time")
	case errors.As(err, &refused):
		return fmt.Errorf("mail: the server refused it with %d", refused.Code)
	case errors.As(err, &network):
		return fmt.Errorf("mail: the server cannot be reached: %s %s", network.Op, network.Net)
	}
	var sent *gomail.SendError
	if errors.As(err, &sent) {
		return fmt.Errorf("mail: not sent: %v", sent.Reason)
	}
	return errors.New("mail: not sent")
}

// loopback reports whether host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
