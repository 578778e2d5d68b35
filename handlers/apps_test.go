package handlers_test

import (
	"testing"

	"purser/handlers"
	"purser/wallet"
)

// TestNoAppBorrowsAName: neither a badge, nor an accent, nor a digit for a letter makes another app's name, or an
// official one, a developer's own. Operators answer for their own apps' names.
func TestNoAppBorrowsAName(t *testing.T) {
	r := newHarness(t)
	r.meet(1001)
	r.meet(1002)
	named := func(telegram int64, name string) error {
		_, _, err := r.Keys.Create(t.Context(), handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier, OwnerTelegramID: telegram, App: name})
		return err
	}
	for _, name := range []string{"Acme", "Acme Pay"} {
		r.Must(named(1001, name))
	}
	for _, name := range []string{"Acmé", "A¢me", "ACME", "Acme-Pay", "Açmé Pay"} {
		r.Refused(wallet.Conflict, named(1002, name))
	}
	for _, name := range []string{
		"Acme Pay ✓", "Acme Pay ✅", "Acme Pay ☑", "Acme Pay ☑️", "Acme Pay √", "Acme Pay ®", "Acme 🏦", "Acme 1\u20e3",
		"VVallet", "Pur5er", "Pur$er", "Purs€r", "PURSΣR", "ꟼurser", "℗urser", "ᑭᑌᖇᔕᗴᖇ", "Purrser", "5upport", "Telegram", "Admin", "Acme 🏦 Official", "Acme Official",
	} {
		if err := named(1002, name); err == nil {
			t.Errorf("%q is taken", name)
		} else {
			r.Refused(wallet.InvalidRequest, err)
		}
	}
	for _, name := range []string{"Acme Shop", "Café €5", "C++ & more", "रोम", "राम"} {
		r.Must(named(1002, name))
	}
}
