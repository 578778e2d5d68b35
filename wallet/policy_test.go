package wallet_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/wallet"
)

// somePolicy draws a policy over few tokens, amounts and recipients, so that two of them often meet.
func somePolicy(r *rand.Rand) (p wallet.Policy) {
	limits := func() (out []wallet.TokenLimit) {
		for range r.IntN(4) {
			out = append(out, wallet.TokenLimit{Mint: wallet.Address{byte(r.IntN(3))}, Units: uint64(r.IntN(4))})
		}
		return out
	}
	p.Payment, p.Day, p.NewRecipientWait = limits(), limits(), time.Duration(r.IntN(4))*time.Hour
	if r.IntN(2) == 0 {
		var to []wallet.Address
		for range r.IntN(4) {
			to = append(to, wallet.Address{byte(r.IntN(4)), 7})
		}
		p.Recipients = &to
	}
	return p
}

// payment is what a policy is asked about: so much of a token, to somebody who was paid before or not, after what was paid that day, having waited.
type payment struct {
	mint, to      wallet.Address
	amount, spent uint64
	waited        time.Duration
}

// allows is the meaning of a policy, written down a second time.
func allows(p wallet.Policy, x payment) bool {
	for _, l := range p.Payment {
		if l.Mint == x.mint && x.amount > l.Units {
			return false
		}
	}
	for _, l := range p.Day {
		if l.Mint == x.mint && x.amount+x.spent > l.Units {
			return false
		}
	}
	return (p.Recipients == nil || slices.Contains(*p.Recipients, x.to)) && x.waited >= p.NewRecipientWait
}

// everyPayment lists all that policies of somePolicy can tell apart.
func everyPayment() (out []payment) {
	for mint := range byte(3) {
		for to := range byte(4) {
			for amount := range uint64(5) {
				for _, spent := range []uint64{0, 2} {
					for hours := range 4 {
						out = append(out, payment{wallet.Address{mint}, wallet.Address{to, 7}, amount, spent, time.Duration(hours) * time.Hour})
					}
				}
			}
		}
	}
	return out
}

// TestAMeetAllowsWhatBothAllow, exactly. It does not matter in which order.
func TestAMeetAllowsWhatBothAllow(t *testing.T) {
	r := rand.New(rand.NewPCG(54, 1))
	all := everyPayment()
	loosens := 0
	for range 2_000 {
		p, q, s := somePolicy(r), somePolicy(r), somePolicy(r)
		met := p.Intersect(q)
		more := false // p allows something that q does not
		for _, x := range all {
			if allows(met, x) != (allows(p, x) && allows(q, x)) {
				t.Fatalf("%+v and %+v meet as %+v: wrong for %+v", p, q, met, x)
			}
			more = more || allows(p, x) && !allows(q, x)
		}
		if !met.Equal(q.Intersect(p)) || !p.Intersect(p).Equal(p) || !p.Intersect(q.Intersect(s)).Equal(met.Intersect(s)) || !met.Intersect(p).Equal(met) || !p.Intersect(wallet.Policy{}).Equal(p) {
			t.Fatalf("%+v, %+v, %+v", p, q, s)
		}
		if more && !p.Loosens(q) {
			t.Fatalf("%+v loosens %+v, and it is not said", p, q)
		}
		if p.Loosens(q) {
			loosens++
		}
		if met.Loosens(p) || met.Loosens(q) || p.Loosens(p) {
			t.Fatalf("%+v, %+v: what is stricter is said to loosen", p, q)
		}
	}
	if loosens < 100 {
		t.Errorf("%d of them loosen: the draw is broken", loosens)
	}
}

// TestAStateNeverAllowsMoreBeforeItsTime: over random wishes of the chat, signatures and cancellations. A model counts from when something was signed.
func TestAStateNeverAllowsMoreBeforeItsTime(t *testing.T) {
	r := rand.New(rand.NewPCG(54, 2))
	all := everyPayment()
	type signed struct {
		policy wallet.Policy
		from   time.Time
	}
	for range 300 {
		now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		w := wallet.WalletPolicy{}
		given := []signed{{wallet.Policy{}, now}} // in force from a time on
		for range 12 {
			now = now.Add(time.Duration(r.IntN(30)) * time.Hour)
			p := somePolicy(r)
			before := w.At(now).State.Current
			switch r.IntN(4) {
			case 0:
				w = w.Narrowed(p, now)
				if w.State.Pending != nil || !w.State.Current.Equal(p.Intersect(before)) {
					t.Fatalf("narrowed by %+v it is %+v", p, w.State)
				}
			case 1:
				w = w.WithoutPending(now)
				if w.State.Pending != nil || !w.State.Current.Equal(before) {
					t.Fatalf("without what waits it is %+v", w.State)
				}
			default:
				w = w.SetSigned(wallet.PolicyProof{Policy: p, Nonce: fmt.Sprint(now.Unix())}, now)
				given = append(given, signed{p, now.Add(wallet.PolicyDelay)})
				if w.State.Pending != nil && (w.SignedPending == nil || !w.SignedPending.Policy.Equal(*w.State.Pending)) {
					t.Fatalf("what waits has the proof %+v", w.SignedPending)
				}
			}
			for _, at := range []time.Time{now, now.Add(wallet.PolicyDelay - time.Nanosecond), now.Add(wallet.PolicyDelay)} {
				state := w.At(at)
				for _, x := range all {
					ok := slices.ContainsFunc(given, func(g signed) bool { return !g.from.After(at) && allows(g.policy, x) })
					if allows(state.State.Current, x) && !ok {
						t.Fatalf("at %s %+v is allowed, and no signature that is old enough allows it: %+v", at, x, state)
					}
				}
				if proof := state.Signed; proof != nil && state.State.Current.Loosens(proof.Policy) {
					t.Fatalf("what holds, %+v, is looser than what was signed, %+v", state.State.Current, proof.Policy)
				}
			}
		}
	}
}

// TestTheTextOfAPolicyIsItsOwn: two policies with the same text allow the same, and no text of another kind looks like it.
func TestTheTextOfAPolicyIsItsOwn(t *testing.T) {
	r := rand.New(rand.NewPCG(54, 3))
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	text := func(p wallet.Policy) string {
		return wallet.PolicyText("purser.example", "https://purser.example", wallet.Address{1}, p, "Telegram account 7", "mainnet", "aB3dE5gH", at, at.Add(time.Minute))
	}
	all, seen := everyPayment(), map[string]wallet.Policy{}
	for range 3_000 {
		p := somePolicy(r)
		made := text(p)
		if other, met := seen[made]; met {
			for _, x := range all {
				if allows(p, x) != allows(other, x) {
					t.Fatalf("%+v and %+v have the same text", p, other)
				}
			}
		}
		seen[made] = p
		shuffled := p // the order of lists and what is there twice are not part of it
		shuffled.Payment = append(slices.Clone(p.Payment), p.Payment...)
		slices.Reverse(shuffled.Payment)
		if text(shuffled) != made || !shuffled.Equal(p) || !reflect.DeepEqual(shuffled.Canonical(), p.Canonical()) {
			t.Fatalf("%+v in another order has another text", p)
		}
		for _, line := range strings.Split(made, "\n") {
			if strings.Contains(line, "wants you to sign in") || strings.Contains(line, "Unfreeze") {
				t.Fatalf("it can be read as something else: %q", line)
			}
		}
	}
	if len(seen) < 500 {
		t.Errorf("%d texts: the draw is broken", len(seen))
	}
	one := wallet.MustAddress("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	full := wallet.Policy{Payment: []wallet.TokenLimit{{Mint: one, Units: math.MaxUint64}, {Units: 0}}, Recipients: &[]wallet.Address{one}, NewRecipientWait: wallet.MaxNewRecipientWait}
	want := `purser.example wants you to set the spending limits of your Solana wallet:
` + (wallet.Address{1}).String() + `

Limit per payment: 0 lamports
Limit per payment: 18446744073709551615 base units of EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v
Limit per 24 hours: no limit
Recipient: EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v
New recipients wait: 168 hours

URI: https://purser.example
Version: 1
Chain ID: mainnet
Account: Telegram account 7
Nonce: aB3dE5gH
Issued At: 2026-11-21T12:00:00Z
Expiration Time: 2026-11-21T12:01:00Z`
	if got := text(full); got != want {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
	if signIn := wallet.SignInText("purser.example", "https://purser.example", wallet.Address{1}, "Telegram account 7", "mainnet", "aB3dE5gH", at, at.Add(time.Minute)); strings.SplitN(signIn, "\n", 2)[0] == strings.SplitN(want, "\n", 2)[0] {
		t.Error("a sign-in begins like it")
	}
	// Everybody may be paid, nobody may be paid, and one may.
	texts := map[string]bool{}
	for _, to := range []*[]wallet.Address{nil, {}, {{1}}} {
		texts[text(wallet.Policy{Recipients: to})] = true
	}
	if len(texts) != 3 {
		t.Errorf("%d texts of three policies", len(texts))
	}
}

// TestWrappedSOLIsLimitedAsSOL: the lower of two limits stays.
func TestWrappedSOLIsLimitedAsSOL(t *testing.T) {
	p := wallet.Policy{Payment: []wallet.TokenLimit{{Mint: wallet.WrappedSOL, Units: 3}, {Units: 5}}, Day: []wallet.TokenLimit{{Mint: wallet.WrappedSOL, Units: 9}}}
	want := wallet.Policy{Payment: []wallet.TokenLimit{{Units: 3}}, Day: []wallet.TokenLimit{{Units: 9}}}
	if got := p.WithWrappedAsSOL(); !reflect.DeepEqual(got, want) {
		t.Errorf("it is %+v", got)
	}
	if p.Payment[0].Mint != wallet.WrappedSOL {
		t.Error("the policy that was given is changed")
	}
}

// TestWhatSignaturesProveOfADevice: limits that the wallet signed are on the device that did; stricter ones and a change that was ended may not be.
func TestWhatSignaturesProveOfADevice(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 11, 21, hour, 0, 0, 0, time.UTC) }
	limit := func(units uint64) wallet.Policy { return wallet.Policy{Payment: []wallet.TokenLimit{{Units: units}}} }
	sign := func(w wallet.WalletPolicy, p wallet.Policy, hour int) wallet.WalletPolicy {
		return w.SetSigned(wallet.PolicyProof{Policy: p, IssuedAt: at(hour).Add(-time.Minute), SignedAt: at(hour)}, at(hour))
	}
	is := func(what string, w wallet.WalletPolicy, signed, dropped time.Time) {
		t.Helper()
		if !w.SignedAt().Equal(signed) || !w.Dropped.Equal(dropped) {
			t.Errorf("%s: signed %s, dropped %s", what, w.SignedAt(), w.Dropped)
		}
	}
	never := time.Time{}
	w := wallet.WalletPolicy{}.Narrowed(limit(5), at(0))
	is("set in the chat", w, never, never)
	w = sign(w, limit(5), 1)
	is("signed", w, at(1), never)
	old := w
	old.Signed = &wallet.PolicyProof{Policy: limit(5), IssuedAt: at(1).Add(-time.Minute)}
	is("signed with an older version", old, at(1).Add(-time.Minute), never)
	is("made stricter", w.Narrowed(limit(4), at(2)), never, never)
	waits := sign(w, limit(9), 2)
	is("a change that waits", waits, at(2), never)
	is("a change that waits, after a day", waits.At(at(2).Add(wallet.PolicyDelay)), at(2), never)
	is("a cancelled change", waits.WithoutPending(at(3)), at(1), at(3))
	is("a change that was made stricter", waits.Narrowed(limit(4), at(3)), never, at(3))
	is("a cancelled change, signed again", sign(waits.WithoutPending(at(3)), limit(5), 4), at(4), never)
	is("cancelled after a day", waits.WithoutPending(at(2).Add(wallet.PolicyDelay)), at(2), never)
	is("nothing waits", w.WithoutPending(at(3)), at(1), never)
}
