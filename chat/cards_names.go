package chat

import (
	"slices"
	"strconv"

	"purser/handlers"
	"purser/wallet"
)

// nameOf returns the person's own name for an address, or "".
func (s *replyTx) nameOf(address wallet.Address) (string, error) {
	return handlers.NameOf(s.tx, s.user.ID, address)
}

// who returns the person's name for an address, or else its last characters.
func (s *replyTx) who(address wallet.Address) (html, error) {
	name, err := s.nameOf(address)
	if err != nil {
		return "", err
	}
	return s.nameOrEnd(name, address)
}

// nameOrEnd shows a name, or else the last characters of the address. The zero address is shown as unknown.
func (s *replyTx) nameOrEnd(name string, address wallet.Address) (html, error) {
	switch {
	case name != "":
		return html("<b>" + escape(name) + "</b>"), nil
	case address.IsZero():
		return s.words.text("history.nobody", nil)
	}
	return code("…" + address.Tail()), nil
}

// resemblance returns the variables of a card about an address that resembles a known one: where the two differ. All are
// empty if there is no such suspicion. nameBoth adds the names.
func resemblance(t wallet.Transaction) vars {
	v := vars{"Lookalike": html(""), "Here": html(""), "There": html(""), "Front": "", "Back": "",
		"ByNamed": t.Resembles() != t.To, "Name": "", "KnownName": "", "KnownOwn": false}
	if t.PoisoningSuspect.IsZero() {
		return v
	}
	to, known := t.Resembles().String(), t.PoisoningSuspect.String()
	front, back := wallet.SharedEnds(to, known)
	v["Lookalike"], v["Front"], v["Back"] = grouped(known), atLeastOne(front), atLeastOne(back)
	between := func(text string) html {
		if text == "" { // the addresses differ in length: nothing stands there
			return html("–")
		}
		return code(text)
	}
	v["Here"], v["There"] = between(to[front:len(to)-back]), between(known[front:len(known)-back])
	return v
}

// atLeastOne returns a count for a text; "" for 0, which the text takes as none.
func atLeastOne(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// nameBoth adds the person's names for the recipient, and for the known address that it resembles.
func (s *replyTx) nameBoth(t wallet.Transaction, v vars) error {
	var err error
	if v["Name"], err = handlers.ContactName(s.tx, t); err != nil || t.PoisoningSuspect.IsZero() {
		return err
	}
	if v["KnownName"], err = s.nameOf(t.PoisoningSuspect); err != nil {
		return err
	}
	own, err := s.tx.WalletsOf(s.user.ID)
	v["KnownOwn"] = slices.ContainsFunc(own, func(w wallet.Wallet) bool { return w.Address == t.PoisoningSuspect })
	return err
}
