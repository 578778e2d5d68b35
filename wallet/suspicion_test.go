package wallet

import "testing"

// TestScreen: one judgement, by which the watcher folds and the history marks.
func TestScreen(t *testing.T) {
	anna, stranger := Address{1}, Address{7}
	like := anna
	like[15] ^= 1 // the same ends in base58
	usdc := Token{Symbol: "USDC", Mint: Address{8}, Decimals: 6, Program: TokenProgram}
	scam := Token{Mint: Address{9}, Decimals: 6, Program: TokenProgram}
	listed := func(mint Address) (Token, bool) { return usdc, mint == usdc.Mint }
	type in struct {
		token  Token
		units  uint64
		from   Address
		signed bool
	}
	brings := func(all ...in) (a Activity) {
		a.Kind = ActivityReceived
		for _, i := range all {
			a.Movements = append(a.Movements, Movement{How: MovedByTransfer, In: true, With: i.from, Signed: i.signed, Token: i.token, Units: i.units})
			if i.units > 0 {
				a.Net = append(a.Net, NetChange{Token: i.token, Units: i.units, Explained: true})
			}
		}
		return a
	}
	with := func(a Activity, change func(*Activity)) Activity { change(&a); return a }
	for name, c := range map[string]struct {
		a     Activity
		first Suspicion // of the first gain
		whole Suspicion
	}{
		"SOL from a stranger":          {brings(in{SOL, DustLamports, stranger, true}), NotSuspicious, NotSuspicious},
		"dust of SOL":                  {brings(in{SOL, DustLamports - 1, stranger, true}), Dust, Dust},
		"dust of a listed token":       {brings(in{usdc, 999, stranger, true}), Dust, Dust},
		"a listed token":               {brings(in{usdc, 1000, stranger, true}), NotSuspicious, NotSuspicious},
		"an unlisted token":            {brings(in{scam, 1 << 60, stranger, true}), UnlistedToken, UnlistedToken},
		"of somebody known, unsigned":  {brings(in{scam, 1 << 60, anna, false}), UnlistedToken, UnlistedToken},
		"of somebody known who signed": {brings(in{scam, 1, anna, true}), NotSuspicious, NotSuspicious},
		"dust of somebody known":       {brings(in{SOL, 1, anna, true}), NotSuspicious, NotSuspicious},
		"much from a look-alike":       {brings(in{SOL, 1 << 40, like, true}), NotSuspicious, NotSuspicious},
		"dust from a look-alike":       {brings(in{SOL, DustLamports - 1, like, true}), SimilarAddress, SimilarAddress},
		"dust beside an unlisted":      {brings(in{SOL, 1, stranger, true}, in{scam, 7, stranger, true}), Dust, UnlistedToken},
		"an unlisted beside money":     {brings(in{scam, 7, stranger, true}, in{SOL, DustLamports, stranger, true}), NotSuspicious, NotSuspicious},
		"what a look-alike adds":       {brings(in{scam, 7, like, true}, in{SOL, 1, stranger, true}), SimilarAddress, SimilarAddress},
		"signed by the owner":          {with(brings(in{scam, 7, stranger, true}), func(a *Activity) { a.Signed = true }), NotSuspicious, NotSuspicious},
		"failed":                       {with(brings(in{scam, 7, stranger, true}), func(a *Activity) { a.Failure = "x" }), UnlistedToken, NotSuspicious},
		"something was lost": {with(brings(in{scam, 7, stranger, true}), func(a *Activity) { a.Net = append(a.Net, NetChange{Token: SOL, Units: 5, Lost: true}) }),
			UnlistedToken, NotSuspicious},
		"a loss": {with(brings(in{SOL, 7, stranger, true}), func(a *Activity) { a.Net[0].Lost = true }), NotSuspicious, NotSuspicious},
		"from several, one known": {with(brings(in{SOL, 7, anna, true}), func(a *Activity) {
			a.Movements = append(a.Movements, Movement{How: MovedByTransfer, In: true, With: stranger, Signed: true})
		}), Dust, Dust},
		"nothing, from a stranger":        {brings(in{usdc, 0, stranger, true}), NotSuspicious, ZeroValue},
		"nothing, of somebody, unsigned":  {brings(in{usdc, 0, anna, false}), NotSuspicious, ZeroValue},
		"nothing, from somebody known":    {brings(in{usdc, 0, anna, true}), NotSuspicious, NotSuspicious},
		"nothing, from a look-alike":      {brings(in{usdc, 0, like, true}), NotSuspicious, SimilarAddress},
		"nothing, which went out":         {with(brings(in{usdc, 0, stranger, true}), func(a *Activity) { a.Movements[0].In = false }), NotSuspicious, NotSuspicious},
		"something that came and went on": {with(brings(in{usdc, 5, stranger, true}), func(a *Activity) { a.Net = nil }), NotSuspicious, NotSuspicious},
	} {
		if len(c.a.Net) > 0 {
			if got := c.a.Screen(c.a.Net[0], []Address{anna}, listed); got != c.first {
				t.Errorf("%s: the gain is %q, want %q", name, got, c.first)
			}
		}
		if got := c.a.Suspicion([]Address{anna}, listed); got != c.whole {
			t.Errorf("%s: the transaction is %q, want %q", name, got, c.whole)
		}
	}
	if got := brings(in{SOL, 1, like, true}).Suspicion(nil, listed); got != Dust {
		t.Errorf("nobody is known, and it is %q", got)
	}
}

// TestAPaymentsMemoIsThatOfItsFirstReference, however many transfers follow, and the transaction's if no transfer has one.
func TestAPaymentsMemoIsThatOfItsFirstReference(t *testing.T) {
	gain := NetChange{Units: 3}
	a := Activity{Memo: "whole", Net: []NetChange{gain}, Movements: []Movement{{In: true, Units: 1},
		{In: true, Units: 1, References: []Address{{1}}, Memo: "first"}, {In: true, Units: 1, References: []Address{{2}}, Memo: "second"}}}
	if got := a.Incoming(gain); got.Memo != "first" || len(got.References) != 2 {
		t.Errorf("%+v", got)
	}
	a.Movements, a.Unexplained = nil, a.Movements
	if got := a.Incoming(gain); got.Memo != "first" || !a.PaysBy(Address{2}, Address{}) || a.PaysBy(Address{3}, Address{}) || a.PaysBy(Address{2}, Address{9}) {
		t.Errorf("what does not explain the gain: %+v", got)
	}
	a.Unexplained = nil
	if got := a.Incoming(gain); got.Memo != "whole" {
		t.Errorf("%+v", got)
	}
}
