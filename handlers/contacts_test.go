package handlers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"purser/e2e/world"
	"purser/store"
	"purser/wallet"
)

func TestContactsAreAddedOnceAndFoundByName(t *testing.T) {
	r := newHarness(t)
	alice, bob, carol := r.rich(1001, sol), r.rich(1002, sol), r.rich(1003, sol)
	r.Must(r.adds(alice, "  Mum's   flat ", bob.Address()))
	r.Must(r.adds(bob, "mum's flat", carol.Address())) // everybody has their own
	book, err := r.Contacts.Of(context.Background(), alice.User.ID)
	r.Must(err)
	if len(book) != 1 || book[0].Name != "Mum's flat" || book[0].Address != bob.Address() || !book[0].AddedAt.Equal(r.Now()) {
		t.Fatalf("the book: %+v", book)
	}
	usdc := r.token("USDC")
	for what, c := range map[string]struct {
		name string
		to   wallet.Address
		code wallet.Code
	}{
		"the name is taken":    {"MUM'S FLAT", carol.Address(), wallet.Conflict},
		"the address has one":  {"bob", bob.Address(), wallet.Conflict},
		"the own wallet":       {"me", alice.Address(), wallet.InvalidRequest},
		"a token":              {"usdc", carol.Address(), wallet.InvalidRequest},
		"SOL itself":           {"Sol", carol.Address(), wallet.InvalidRequest},
		"an amount":            {"5", carol.Address(), wallet.InvalidRequest},
		"a token first":        {"usdc rent", carol.Address(), wallet.InvalidRequest},
		"a word of /send":      {"to bob", carol.Address(), wallet.InvalidRequest},
		"all of it":            {"max", carol.Address(), wallet.InvalidRequest},
		"an address":           {"Ab" + strings.Repeat("c", 30), carol.Address(), wallet.InvalidRequest},
		"no name":              {" ", carol.Address(), wallet.InvalidRequest},
		"the System program":   {"rent", wallet.SystemProgram, wallet.InvalidRequest},
		"a token account":      {"rent", wallet.AssociatedAccount(carol.Address(), usdc.Mint, usdc.Program), wallet.InvalidRequest},
		"what looks like Bob":  {"rent", world.Resembling(r, bob.Address(), 4, 4), wallet.PolicyViolation},
		"what looks like mine": {"rent", world.Resembling(r, alice.Address(), 5, 3), wallet.PolicyViolation},
	} {
		err := r.Update(func(tx store.Tx) error {
			_, err := r.Contacts.Add(tx, alice.User.ID, c.name, c.to)
			return err
		})
		if wallet.CodeOf(err) != c.code || wallet.ReasonOf(err).IsZero() {
			t.Errorf("%s: %v", what, err)
		}
	}
	remove := func(name string) error {
		return r.Update(func(tx store.Tx) error { _, err := r.Contacts.Remove(tx, alice.User.ID, name); return err })
	}
	r.Refused(wallet.NotFound, remove("mum"))
	r.Must(remove("mum's FLAT"))
	r.Refused(wallet.NotFound, remove("mum's flat"))
	r.Must(r.adds(alice, "flat", bob.Address()))
}

func TestAnAddressBookHasAnEnd(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, 0)
	for n := range wallet.MaxContacts {
		r.Must(r.adds(alice, fmt.Sprintf("friend %d", n), r.Stranger()))
	}
	r.Refused(wallet.Conflict, r.adds(alice, "one more", r.Stranger()))
	r.Must(r.Update(func(tx store.Tx) error { _, err := r.Contacts.Remove(tx, alice.User.ID, "friend 7"); return err }))
	r.Must(r.adds(alice, "one more", r.Stranger()))
}

// Who allows it is paid by being picked; of everybody else, nothing is told, not even that they are
// here.
func TestOnlyWhoAllowsItIsFound(t *testing.T) {
	r := newHarness(t)
	ctx := context.Background()
	alice, shy, poor := r.rich(1001, sol), r.rich(1002, sol), r.meet(1003)
	find := func(who wallet.UserID, yes bool) {
		t.Helper()
		r.Must(r.Update(func(tx store.Tx) error { return r.Contacts.LetFind(tx, who, yes) }))
	}
	find(alice.User.ID, true)
	find(poor.ID, true)
	if got, _, err := r.Contacts.Pick(ctx, 1001); err != nil || got != alice.Address() {
		t.Errorf("found at %s, %v", got, err)
	}
	var answers []string
	for what, id := range map[string]int64{"who does not allow it": shy.User.TelegramID, "who has no wallet": 1003, "a stranger": 999, "nobody": 0, "a group": -5} {
		got, _, err := r.Contacts.Pick(ctx, id)
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
	find(alice.User.ID, false)
	if _, _, err := r.Contacts.Pick(ctx, 1001); err == nil || err.Error() != answers[0] {
		t.Errorf("who allows it no more: %v", err)
	}
}

// TestARenamedContactKeepsItsAddress, and takes nobody else's name.
func TestARenamedContactKeepsItsAddress(t *testing.T) {
	r := newHarness(t)
	person, bob, carol := r.rich(1001, sol), r.rich(1002, sol), r.rich(1003, sol)
	alice := person.User.ID
	in := func(do func(tx store.Tx) error) error { return r.Update(do) }
	added := func(name string, to wallet.Address) wallet.Contact {
		var c wallet.Contact
		r.Must(in(func(tx store.Tx) (err error) { c, err = r.Contacts.Add(tx, alice, name, to); return err }))
		return c
	}
	anna := added("Anna", bob.Address())
	added("Bea", carol.Address())
	rename := func(old, name string) (got wallet.Contact, err error) {
		err = in(func(tx store.Tx) error { got, err = r.Contacts.Rename(tx, alice, old, name); return err })
		return got, err
	}
	if got, err := rename("anna", " Anna   Smith "); err != nil || got.Name != "Anna Smith" || got.Address != anna.Address || !got.AddedAt.Equal(anna.AddedAt) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := rename("anna smith", "ANNA SMITH"); err != nil || got.Name != "ANNA SMITH" { // only its case
		t.Errorf("%+v, %v", got, err)
	}
	for name, code := range map[string]wallet.Code{"bea": wallet.Conflict, "sol": wallet.InvalidRequest, "": wallet.InvalidRequest, "1st": wallet.InvalidRequest} {
		if _, err := rename("Anna Smith", name); wallet.CodeOf(err) != code {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := rename("Anna", "Other"); wallet.CodeOf(err) != wallet.NotFound {
		t.Errorf("a name that there is no more: %v", err)
	}
	all, err := r.Contacts.Of(context.Background(), alice)
	r.Must(err)
	if len(all) != 2 {
		t.Errorf("%+v", all)
	}
}
