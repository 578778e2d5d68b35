package wallet_test

import (
	"testing"

	"purser/wallet"
)

func TestNamesThatLookOfficial(t *testing.T) {
	for _, name := range []string{
		"Рursеr Sеcurity", "purser", "PURSER", "P u r s e r", "p.u.r.s.e.r", "pur-ser", "Pürser", "p̲u̲r̲s̲e̲r̲", "ｐｕｒｓｅｒ", "𝐩𝐮𝐫𝐬𝐞𝐫", "Ⓟⓤⓡⓢⓔⓡ", "🅿🆄🆁🆂🅴🆁",
		"🇵🇺🇷🇸🇪🇷", "ᴘᴜʀꜱᴇʀ", "ρurser", "Օреrаtоr", "0perator", "OPERATOR", "SUPP0RT", "Suppоrt desk", "waIIet", "wa11et", "WALLET", "wаllеt", "wa||et",
		"SECURlTY", "security", "Sесuritу", "Securıty", "moon shop", "МООN ЅНОР", "Moonshop help", "Solana\u200b Wal\u2060let",
		"VVallet", "Pur5er", "Pur$er", "Purs€r", "PURSΣR", "PURΣER", "ꟼurser", "℗urser", "ᑭᑌᖇᔕᗴᖇ", "Purrser", "Supporrt", "5upport", "Purs3r", "W4llet", "W@llet", "wa77et wallet", "Wa11e7", "vverified",
		"Telegram", "Admin", "ADMINS", "Acme 🏦 Official", "Acme verified", "Solana Pay", "Badminton admin", "Moon$hop",
	} {
		if !wallet.Official(name, "MoonShop_bot") {
			t.Errorf("%q passes, and looks like one of ours: %q", name, wallet.Skeleton(name))
		}
	}
	for _, name := range []string{"Till", "Shop Helper", "Касса кафе", "売店のレジ", "Purse", "Opera", "Sport", "Safe", "Une caisse", "हिन्दी", "Moon", "Badminton Club", "Savvy", "$5 a day", "€ cash", "Route 66", "Monshop"} {
		if wallet.Official(name, "MoonShop_bot") {
			t.Errorf("%q is refused: %q", name, wallet.Skeleton(name))
		}
	}
	if wallet.Official("Cat and dog", "at_bot") {
		t.Error("a bot's very short name forbids others")
	}
	if wallet.Official("Till", "") {
		t.Error("an unknown bot's name forbids others")
	}
}

func TestNamesThatLookAlike(t *testing.T) {
	for _, alike := range [][2]string{
		{"Shop", "ЅНОР"}, {"Shop", "shop"}, {"Shop", "S h o p!"}, {"modern", "modem"}, {"Bill", "BiII"}, {"Tіll", "Till"}, {"café", "cafe\u0301"},
		{"Ⓣill", "Till"}, {"Till 1", "Till l"},
	} {
		if a, b := wallet.Skeleton(alike[0]), wallet.Skeleton(alike[1]); a != b {
			t.Errorf("%q and %q are told apart: %q, %q", alike[0], alike[1], a, b)
		}
	}
	for _, apart := range [][2]string{{"Shop", "Shops"}, {"cafe", "café"}, {"Till 1", "Till 2"}, {"की", "का"}, {"売店", "商店"}, {"Shop ☀", "Shop ☂"}} {
		if a, b := wallet.Skeleton(apart[0]), wallet.Skeleton(apart[1]); a == b {
			t.Errorf("%q and %q are one: %q", apart[0], apart[1], a)
		}
	}
}

func FuzzSkeleton(f *testing.F) {
	f.Add("Рursеr", "bot")
	f.Fuzz(func(t *testing.T, name, bot string) {
		wallet.Official(name, bot)
		if once := wallet.Skeleton(name); len(once) > 64*(len(name)+1) {
			t.Errorf("%q grows to %d bytes", name, len(once))
		}
	})
}

func TestLikenessOfApps(t *testing.T) {
	for _, alike := range [][2]string{{"Acme", "Acmé"}, {"Acme", "A¢me"}, {"Acme", "ÄCMÊ"}, {"Acme", "A\u0336cme"}, {"Acme Pay", "acmepay"}} {
		if a, b := wallet.LooseSkeleton(alike[0]), wallet.LooseSkeleton(alike[1]); a != b {
			t.Errorf("%q and %q are told apart: %q, %q", alike[0], alike[1], a, b)
		}
	}
	for _, apart := range [][2]string{{"Acme", "Acmes"}, {"राम", "रोम"}, {"売店", "商店"}} {
		if a, b := wallet.LooseSkeleton(apart[0]), wallet.LooseSkeleton(apart[1]); a == b {
			t.Errorf("%q and %q are one: %q", apart[0], apart[1], a)
		}
	}
}
