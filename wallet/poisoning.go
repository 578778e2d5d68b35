package wallet

import "strings"

// PoisoningSuspect finds, among the addresses that somebody knows, the one that to could be taken for: apps
// show addresses by their ends, so thieves grind for keys whose addresses end the same (address
// poisoning). false when to is known itself, or resembles none. Of several, the one that shares most.
func PoisoningSuspect(to Address, known []Address) (Address, bool) {
	text := to.String()
	var nearest Address
	most := 0
	for _, k := range known {
		if k == to {
			return Address{}, false
		}
		front, back := SharedEnds(text, k.String())
		if alike(front, back) && front+back > most {
			nearest, most = k, front+back
		}
	}
	return nearest, most > 0
}

// alike tells whether two addresses share so much of their ends that an eye passes over the rest:
// eight characters, of them three at least on each side. Or so much in all that one is the other with a
// character missing or mistyped.
func alike(front, back int) bool {
	return front >= 3 && back >= 3 && min(front, 5)+min(back, 5) >= 8 || slip(front, back)
}

// slip is what nobody makes on purpose: no key is ground for twenty characters.
func slip(front, back int) bool { return front+back >= 20 }

// Mistyped tells whether to can only be the other address with characters missing or mistyped.
func Mistyped(to, other Address) bool {
	return to != other && slip(SharedEnds(to.String(), other.String()))
}

// SharedEnds counts the characters that two texts share at their beginning and at their end. Case is
// passed over, as an eye does.
func SharedEnds(a, b string) (front, back int) {
	a, b = strings.ToLower(a), strings.ToLower(b)
	shorter := min(len(a), len(b))
	for front < shorter && a[front] == b[front] {
		front++
	}
	for back < shorter-front && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	return front, back
}

// Resembles is the address of t that its PoisoningSuspect resembles: To, or what was named instead of it.
func (t Transaction) Resembles() Address {
	if front, back := SharedEnds(t.To.String(), t.PoisoningSuspect.String()); !alike(front, back) && !t.RequestedDestination.IsZero() {
		return t.RequestedDestination
	}
	return t.To
}

// middleFrom is how many characters stand before the middle: everybody compares the ends.
const middleFrom, middleSize = 18, 8

// Middle splits an address at the eight characters (the 19th to the 26th) that an owner must type to
// pay a look-alike. An address has 32 characters at least.
func (a Address) Middle() (before, middle string) {
	text := a.String()
	return text[:middleFrom], text[middleFrom : middleFrom+middleSize]
}

// TypedFor tells, by nil, that typed is what t asks its owner to type before it is confirmed: nothing,
// save for a look-alike. Else POLICY_VIOLATION.
func (t Transaction) TypedFor(typed string) error {
	if t.PoisoningSuspect.IsZero() {
		return nil
	}
	if _, middle := t.To.Middle(); !strings.EqualFold(typed, middle) { // phones begin a message with a capital
		return Refuse(PolicyViolation, "recipient.poisoned")
	}
	return nil
}
