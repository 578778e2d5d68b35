package mail_test

import (
	"context"
	"crypto/rand"
	"net"
	"strings"
	"testing"
	"time"

	"purser/mail"
	box "purser/sandbox/mail"
)

// listen takes a free port of this machine until the test ends.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func sender(t *testing.T, url string, timeout time.Duration) *mail.Sender {
	t.Helper()
	s, err := mail.New(mail.Options{URL: url, From: "Purser <purser@example.org>", Timeout: timeout, Now: time.Now, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMailArrivesAsItWasWritten(t *testing.T) {
	l, server := listen(t), box.New(time.Now)
	came := make(chan struct{}, 1)
	server.Came = func() { came <- struct{}{} }
	ended := make(chan error, 1)
	ctx, end := context.WithCancel(t.Context())
	go func() { ended <- server.Run(ctx, l) }()
	text := "Your code is 012345\n\nä line with ünïcode = and a long tail that a mail server would not want to carry in one line of its own, never ever.\n.\nend"
	if err := sender(t, "smtp://"+l.Addr().String(), 0).Send(t.Context(), "alice@example.org", "Your cöde", text); err != nil {
		t.Fatal(err)
	}
	<-came
	got := server.Mails()
	if len(got) != 1 || got[0].To != "alice@example.org" || got[0].From != "purser@example.org" || got[0].Subject != "Your cöde" || got[0].Text != text {
		t.Errorf("got %+v", got)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := box.New(time.Now).Run(ctx, listen(t)); err != nil { // stopped before it began
		t.Error(err)
	}
}

// TestAFailureNamesNobody plays servers that refuse, hang or are not there. What is logged of it must not
// tell who was written to, or with which password.
func TestAFailureNamesNobody(t *testing.T) {
	refuses, hangs, gone := listen(t), listen(t), listen(t)
	gone.Close()
	go func() {
		for {
			c, err := refuses.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("554 no alice@example.org here\r\n"))
			c.Close()
		}
	}()
	for name, at := range map[string]net.Listener{"refuses": refuses, "hangs": hangs, "gone": gone} {
		err := sender(t, "smtp://user:hunter2@"+at.Addr().String(), 300*time.Millisecond).Send(context.Background(), "alice@example.org", "s", "the code")
		if err == nil {
			t.Errorf("%s: sent", name)
			continue
		}
		for _, secret := range []string{"alice", "hunter2", "the code", "user"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %q tells %q", name, err, secret)
			}
		}
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for _, o := range []mail.Options{
		{URL: "smtp://h", From: "nobody"}, {URL: "http://h", From: "a@b.example"}, {URL: "smtp://", From: "a@b.example"}, {URL: "smtp://h:x", From: "a@b.example"},
	} {
		o.Now, o.Random = time.Now, rand.Reader
		if _, err := mail.New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	if _, err := mail.New(mail.Options{URL: "smtp://h", From: "a@b.example"}); err == nil {
		t.Error("no clock")
	}
}
