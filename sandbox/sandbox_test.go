package sandbox

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/smtp"
	"strings"
	"testing"
	"time"

	"purser/sandbox/shop"
	"purser/sandbox/solana"
	"purser/sandbox/telegram"
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

// A shop that was killed after it got its SOL gets its USDC at the next start, and no more SOL.
func TestAShopThatWasCutShortGetsTheRest(t *testing.T) {
	o := Options{Dir: t.TempDir(), TelegramListen: "127.0.0.1:0", RPCListen: "127.0.0.1:0", WSListen: "127.0.0.1:0", SlotTime: time.Hour}
	before, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = before.Solana.Airdrop(t.Context(), shop.Address(), 1_000_000_000)
	if err := errors.Join(err, before.Solana.Advance(1), before.Close()); err != nil {
		t.Fatal(err)
	}
	o.Playground = true
	w, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Solana.Advance(1); err != nil {
		t.Fatal(err)
	}
	if sol, usdc := w.Solana.Balance(shop.Address()), w.Solana.TokenBalance(shop.Address(), solana.USDC); sol != 1_000_000_000 || usdc != 1_000_000 {
		t.Errorf("the shop has %d lamports and %d units of USDC", sol, usdc)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// A playground has a shop whose accounts exist already, once however often it is opened, and a second bot.
func TestPlaygroundHasAShopAndASecondBot(t *testing.T) {
	dir := t.TempDir()
	for life := range 2 {
		w, err := Open(Options{Dir: dir, TelegramListen: "127.0.0.1:0", RPCListen: "127.0.0.1:0", WSListen: "127.0.0.1:0", SlotTime: time.Hour, Playground: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		if err := w.Solana.Advance(1); err != nil {
			t.Fatal(err)
		}
		if got := w.Solana.Balance(shop.Address()); got != 1_000_000_000 {
			t.Errorf("life %d: the shop has %d lamports", life, got)
		}
		if got := w.Solana.TokenBalance(shop.Address(), solana.USDC); got != 1_000_000 {
			t.Errorf("life %d: the shop has %d units of USDC", life, got)
		}
		for path, want := range map[string]string{
			"/app/state":                    `"shop":[{"id":"coffee","name":"Coffee","price":"0.05 SOL"}`,
			OwnBotPath + "app/state":        OwnBotToken,
			"/bot" + OwnBotToken + "/getMe": `"username":"your_own_bot"`,
		} {
			answer, err := http.Get(w.TelegramURL() + path)
			if err != nil {
				t.Fatal(err)
			}
			says, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil || !strings.Contains(string(says), want) {
				t.Errorf("%s: %s %v", path, says, err)
			}
		}
		order, err := http.Post(w.TelegramURL()+"/app/buy", "application/json", strings.NewReader(`{"as":1001,"item":"beans"}`))
		if err != nil {
			t.Fatal(err)
		}
		order.Body.Close()
		said := w.Telegram.Messages(telegram.Alice)
		if len(said) != life+1 || !strings.Contains(said[life].Text, "spl-token="+w.Solana.Mint(solana.USDC)) {
			t.Errorf("Alice wrote %+v", said)
		}
		stop()
		if err := errors.Join(<-ended, w.Close()); err != nil {
			t.Error(err)
		}
	}
}
