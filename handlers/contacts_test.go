package handlers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"purser/store"
	"purser/wallet"
)

func TestContactsAreAddedOnceAndFoundByName(t *testing.T) {
	r := newRig(t)
	alice, bob, carol := r.rich(1001, sol), r.rich(1002, sol), r.rich(1003, sol)
	r.must(r.adds(alice, "  Mum's   flat ", bob.address()))
	r.must(r.adds(bob, "mum's flat", carol.address())) // everybody has their own
	book, err := r.contacts.Of(context.Background(), alice.user.ID)
	r.must(err)
	if len(book) != 1 || book[0].Name != "Mum's flat" || book[0].Address != bob.address() || !book[0].AddedAt.Equal(r.now) {
		t.Fatalf("the book: %+v", book)
	}
	usdc := r.token("USDC")
	for what, c := range map[string]struct {
		name string
		to   string
		code wallet.Code
	}{
		"the name is taken":    {"MUM'S FLAT", carol.address().String(), wallet.Conflict},
		"the address has one":  {"bob", bob.address().String(), wallet.Conflict},
		"the own wallet":       {"me", alice.address().String(), wallet.InvalidRequest},
		"a token":              {"usdc", carol.address().String(), wallet.InvalidRequest},
		"SOL itself":           {"Sol", carol.address().String(), wallet.InvalidRequest},
		"an amount":            {"5", carol.address().String(), wallet.InvalidRequest},
		"all of it":            {"max", carol.address().String(), wallet.InvalidRequest},
		"an address":           {"Ab" + strings.Repeat("c", 30), carol.address().String(), wallet.InvalidRequest},
		"no name":              {" ", carol.address().String(), wallet.InvalidRequest},
		"no address":           {"rent", "", wallet.InvalidRequest},
		"half an address":      {"rent", carol.address().String()[:20], wallet.InvalidRequest},
		"the System program":   {"rent", wallet.SystemProgram.String(), wallet.InvalidRequest},
		"a token account":      {"rent", wallet.AssociatedAccount(carol.address(), usdc.Mint, usdc.Program).String(), wallet.InvalidRequest},
		"what looks like Bob":  {"rent", r.resembling(bob.address(), 4, 4).String(), wallet.PolicyViolation},
		"what looks like mine": {"rent", r.resembling(alice.address(), 5, 3).String(), wallet.PolicyViolation},
	} {
		err := r.update(func(tx store.Tx) error {
			_, err := r.contacts.Add(tx, alice.user.ID, c.name, c.to)
			return err
		})
		if wallet.CodeOf(err) != c.code || wallet.DetailOf(err) == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	remove := func(name string) error {
		return r.update(func(tx store.Tx) error { return r.contacts.Remove(tx, alice.user.ID, name) })
	}
	r.refused(wallet.NotFound, remove("mum"))
	r.must(remove("mum's FLAT"))
	r.refused(wallet.NotFound, remove("mum's flat"))
	r.must(r.adds(alice, "flat", bob.address()))
}

func TestAnAddressBookHasAnEnd(t *testing.T) {
	r := newRig(t)
	alice := r.rich(1001, 0)
	for n := range wallet.MaxContacts {
		r.must(r.adds(alice, fmt.Sprintf("friend %d", n), stranger(t)))
	}
	r.refused(wallet.Conflict, r.adds(alice, "one more", stranger(t)))
	r.must(r.update(func(tx store.Tx) error { return r.contacts.Remove(tx, alice.user.ID, "friend 7") }))
	r.must(r.adds(alice, "one more", stranger(t)))
}

// Who allows it is paid by being picked; of everybody else, nothing is told, not even that they are
// here.
func TestOnlyWhoAllowsItIsFound(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	alice, shy, poor := r.rich(1001, sol), r.rich(1002, sol), r.meet(1003)
	find := func(who wallet.UserID, yes bool) {
		t.Helper()
		r.must(r.update(func(tx store.Tx) error { return r.contacts.LetFind(tx, who, yes) }))
	}
	find(alice.user.ID, true)
	find(poor.ID, true)
	if got, err := r.contacts.Pick(ctx, 1001); err != nil || got != alice.address() {
		t.Errorf("found at %s, %v", got, err)
	}
	var answers []string
	for what, id := range map[string]int64{"who does not allow it": shy.user.TelegramID, "who has no wallet": 1003, "a stranger": 999, "nobody": 0, "a group": -5} {
		got, err := r.contacts.Pick(ctx, id)
		if !got.IsZero() || wallet.FieldOf(err) != wallet.FieldTo {
			t.Errorf("%s: %s, %v", what, got, err)
		}
		answers = append(answers, err.Error())
	}
	for _, a := range answers {
		if a != answers[0] {
			t.Errorf("the answers differ: %q, %q", a, answers[0])
		}
	}
	find(alice.user.ID, false)
	if _, err := r.contacts.Pick(ctx, 1001); err == nil || err.Error() != answers[0] {
		t.Errorf("who allows it no more: %v", err)
	}
}
