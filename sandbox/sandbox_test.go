package sandbox

import (
	"context"
	"io"
	"net/http"
	"net/smtp"
	"strings"
	"testing"
	"time"

	"purser/sandbox/solana"
)

// TestFaucetOfThePageGivesSOLAndUSDC asks as the page does, and finds both on the cluster.
func TestFaucetOfThePageGivesSOLAndUSDC(t *testing.T) {
	w, err := Open(Options{
		TelegramListen: "127.0.0.1:0", RPCListen: "127.0.0.1:0", WSListen: "127.0.0.1:0", SlotTime: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()

	const owner = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"
	for _, body := range []string{`{"address":"` + owner + `","sol":5}`, `{"address":"` + owner + `","usdc":100}`} {
		answer, err := http.Post(w.TelegramURL()+"/app/faucet", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		says, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s %v", body, answer.StatusCode, says, err)
		}
	}
	if err := w.Solana.Advance(1); err != nil {
		t.Fatal(err)
	}
	if got := w.Solana.Balance(owner); got != 5_000_000_000 {
		t.Errorf("%d lamports", got)
	}
	if got := w.Solana.TokenBalance(owner, solana.USDC); got != 100_000_000 {
		t.Errorf("%d units of USDC", got)
	}
}

// TestMailComesToThePage sends as a mail client does, and finds it in the page's mail box.
func TestMailComesToThePage(t *testing.T) {
	w, err := Open(Options{TelegramListen: "127.0.0.1:0", RPCListen: "127.0.0.1:0", WSListen: "127.0.0.1:0", MailListen: "127.0.0.1:0",
		SlotTime: time.Hour, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	err = smtp.SendMail(w.mailOn.Addr().String(), nil, "purser@sandbox.example", []string{"alice@example.org"},
		[]byte("Subject: Your code\r\nTo: alice@example.org\r\n\r\n012345\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(w.TelegramURL() + "/app/mails")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	says, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(says), `"to":"alice@example.org"`) || !strings.Contains(string(says), `"text":"012345"`) {
		t.Errorf("%s %v", says, err)
	}
}
