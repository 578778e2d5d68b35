package chat_test

import (
	"strings"
	"testing"

	"purser/chat"
	"purser/handlers"
	"purser/locale"
	"purser/store"
	"purser/wallet"
)

// byApp runs a command for somebody as an app does, silently, and returns the reply.
func (r *harness) byApp(name, text string) (said string, _ error) {
	r.Helper()
	var person wallet.User
	r.View(func(tx store.Tx) (err error) {
		person, err = tx.UserByTelegram(r.people[name].TelegramID)
		return err
	})
	commit, err := r.chat.Execute(r.Context(), chat.AppCommand{By: handlers.Caller{KeyID: "key_1", KeyLineage: "key_1", Bot: true}, Person: person, Text: text, Silent: true})
	if err != nil {
		return "", err
	}
	err = r.Update(func(tx store.Tx) (err error) { said, err = commit(tx); return err })
	return said, err
}

// TestAppsRunEveryCommandThatReads: also by the names of other wallets, and with the words that narrow an answer.
func TestAppsRunEveryCommandThatReads(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.rich("bob", sol)
	bob := r.people["bob"].Address()
	r.says("alice", "/contacts add Landlord "+bob.String())
	r.says("alice", "/send 1 SOL Landlord")
	r.presses("alice", "Confirm", "alice")
	r.signs("alice")
	r.says("alice", "/send 0.25 SOL Landlord")
	r.presses("alice", "Reject", "alice")
	all := []string{"`10` SOL", "Balance"}
	past, every := []string{"1 SOL to `…" + bob.Tail() + "`", "Your last payments"}, []string{"1 SOL to", "0.25 SOL to", "Your last payments"}
	address := []string{"Your address", r.people["alice"].Address().String()}
	overview := []string{"Your wallet", r.people["alice"].Address().String(), "`10` SOL"}
	for command, want := range map[string][]string{
		"/balance": all, "/wallet balance": all, "/funds": all, "/PORTFOLIO": all, "/balance@" + r.chat.BotName(): all,
		"/balance SOL": {"`10` SOL"}, "/wallet balance USDC": {"You have none"}, "/wallet usdc": {"You have none"},
		"/history": past, "/wallet history": past, "/transactions": past,
		"/history all": every, "/wallet history ALL": every,
		"/address": address, "/request": address, "/receive": address, "/wallet address": address,
		"/wallet": overview, "/wallets": overview, "/wallet list": overview, "/account": overview,
		"/help": {"/send"}, "/commands": {"/send"}, "/help security": {"recovery phrase"}, "/privacy": {"/delete\\_me"},
	} {
		said, err := r.byApp("alice", command)
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		for _, part := range want {
			if !strings.Contains(said, part) {
				t.Errorf("%s replies without %q: %s", command, part, said)
			}
		}
		if strings.Contains(said, "Landlord") {
			t.Errorf("%s names a contact: %s", command, said)
		}
	}
	// The rejected payment is counted, and not listed, where the person did not ask for all.
	if said, _ := r.byApp("alice", "/history"); strings.Contains(said, "0.25") {
		t.Errorf("/history lists a rejected payment: %s", said)
	}
	r.seen = nil
	if r.says("alice", "/wallet history"); !strings.Contains(strings.Join(r.seen, ""), "Landlord") {
		t.Errorf("the person's own history names nobody: %s", r.seen)
	}
}

// TestAppsAreToldWhyACommandIsRefused: each refusal says what is wrong with this command, and which ones work instead.
func TestAppsAreToldWhyACommandIsRefused(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.says("bob", "/start")
	r.settle()
	texts, err := locale.New()
	r.Must(err)
	const can = "Apps can run /wallet, /send, /stake, /swap, /price, /pools, /help, /privacy."
	cant := func(command string) string { return "Apps can't run " + command + ". The person can, in the chat." }
	for command, want := range map[string]struct {
		code wallet.Code
		text string
	}{
		"balance":               {wallet.UnknownCommand, "A command begins with a slash"},
		"/balances":             {wallet.UnknownCommand, "The bot has no such command. " + can},
		"/balance@somebody_bot": {wallet.UnknownCommand, "The bot has no such command. " + can},
		"/swap":                 {wallet.InvalidRequest, "Include the amount and both tokens: /swap 1 SOL USDC"},
		"/contacts":             {wallet.PolicyViolation, cant("/contacts") + " " + can},
		"/friends":              {wallet.PolicyViolation, cant("/contacts") + " " + can},
		"/api":                  {wallet.PolicyViolation, cant("/api") + " " + can},
		"/cancel":               {wallet.PolicyViolation, cant("/cancel") + " " + can},
		"/delete_me":            {wallet.PolicyViolation, cant("/delete_me") + " " + can},
		"/new":                  {wallet.PolicyViolation, cant("/wallet new")},
		"/wallet NEW now":       {wallet.PolicyViolation, cant("/wallet new")},
		"/use 9xQe":             {wallet.PolicyViolation, cant("/wallet use")},
		"/disconnect":           {wallet.PolicyViolation, cant("/wallet disconnect")},
		"/request 5 USDC":       {wallet.PolicyViolation, "POST /v1/wallet/request"},
		"/wallet address 5":     {wallet.PolicyViolation, "POST /v1/wallet/request"},
		"/wallet frobnicate":    {wallet.InvalidRequest, "Apps can run /wallet, /wallet list,"},
		"/history 5":            {wallet.InvalidRequest, "Apps can run /wallet, /wallet list,"},
		"/history all again":    {wallet.InvalidRequest, "Apps can run /wallet, /wallet list,"},
		"/balance SOL USDC":     {wallet.InvalidRequest, "Apps can run /wallet, /wallet list,"},
		"/wallet list x":        {wallet.InvalidRequest, "Apps can run /wallet, /wallet list,"},
		"/balance NOSUCH":       {wallet.TokenNotFound, "NOSUCH"},
		"/send 99 SOL " + r.people["bob"].Address().String(): {wallet.InsufficientFunds, "10 SOL"},
	} {
		before := len(r.outbox())
		said, err := r.byApp("alice", command)
		if err == nil {
			t.Errorf("%s ran: %s", command, said)
		} else if got, noText := texts.Printer("en", locale.Style{}).Reason(wallet.ReasonOf(err)); noText != nil || wallet.CodeOf(err) != want.code || !strings.Contains(got, want.text) {
			t.Errorf("%s: %s %s, want %s %q", command, wallet.CodeOf(err), got, want.code, want.text)
		}
		if n := len(r.outbox()); n != before {
			t.Errorf("%s posted %d messages", command, n-before)
		}
	}
	// What the person would be told in the chat is an error for a program.
	for _, command := range []string{"/balance", "/wallet", "/address", "/balance SOL"} {
		if said, err := r.byApp("bob", command); wallet.CodeOf(err) != wallet.WalletNotFound || said != "" {
			t.Errorf("%s without a wallet: %q, %v", command, said, err)
		}
	}
}
