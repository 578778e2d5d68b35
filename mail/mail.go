// Package mail sends a mail by SMTP. It refuses to know what the mail says, to whom it goes, and why.
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

// Options say by which server mail goes.
type Options struct {
	URL     string        // smtp://user:password@host:port (STARTTLS) or smtps:// (TLS at once)
	From    string        // an address, with a name or without
	Timeout time.Duration // of one mail, from dialing to the server's last word; 0: DefaultTimeout
	Now     func() time.Time
	Random  io.Reader // for message ids
}

// DefaultTimeout is how long a mail server may take. Somebody waits for it in a chat.
const DefaultTimeout = 20 * time.Second

// Sender sends mails of plain text, a connection each. It is safe for use by several goroutines.
type Sender struct {
	opt    Options
	domain string // of the sender's address
	host   string
	how    []gomail.Option
}

// New checks the options; it talks to nobody.
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
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" { // the parser's error quotes the password
		return nil, errors.New("mail: the server is not named by smtp:// or smtps://")
	}
	s := &Sender{opt: o, domain: from.Address[strings.LastIndexByte(from.Address, '@')+1:], host: u.Hostname()}
	s.how = []gomail.Option{gomail.WithTimeout(o.Timeout), gomail.WithHELO(s.domain)}
	port := 587 // RFC 6409
	switch {
	case u.Scheme == "smtps":
		port = 465 // RFC 8314
		s.how = append(s.how, gomail.WithSSL())
	case loopback(s.host): // nobody listens in between, and local servers often have no certificate
		s.how = append(s.how, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	default:
		s.how = append(s.how, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil {
			return nil, errors.New("mail: the server's port is no number")
		}
	}
	s.how = append(s.how, gomail.WithPort(port))
	if password, ok := u.User.Password(); ok {
		s.how = append(s.how, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover),
			gomail.WithUsername(u.User.Username()), gomail.WithPassword(password))
	}
	return s, nil
}

// Send sends one mail. Its error tells neither the receiver nor what the server said in words, which may
// repeat the receiver: it can be logged.
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
	message.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no holiday replies
	message.SetBodyString(gomail.TypeTextPlain, text)
	client, err := gomail.NewClient(s.host, s.how...)
	if err != nil {
		return errors.New("mail: the mail client cannot be set up as configured")
	}
	return quiet(client.DialAndSendWithContext(ctx, message))
}

// quiet keeps of an error what names nobody.
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

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
