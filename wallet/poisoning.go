package wallet

import "strings"

// PoisoningSuspect returns the known address that to could be mistaken for. Apps shorten addresses to their ends, so
// attackers generate keys whose addresses have the same ends (address poisoning). It returns false if to itself is known,
// or resembles none. Of several it returns the most similar one.
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

// alike reports whether two addresses are similar enough to be confused: they share eight characters at their ends, at
// least three on each side, or so many in total that one is a mistyped form of the other.
func alike(front, back int) bool {
	return front >= 3 && back >= 3 && min(front, 5)+min(back, 5) >= 8 || slip(front, back)
}

// slip reports whether the similarity must be a typing error. Nobody can generate a key that shares twenty characters.
func slip(front, back int) bool { return front+back >= 20 }

// Mistyped reports whether to can only be the other address with missing or mistyped characters.
func Mistyped(to, other Address) bool {
	return to != other && slip(SharedEnds(to.String(), other.String()))
}

// SharedEnds counts the characters that two texts share at the beginning and at the end. It ignores case, as a reader
// would. The two counts never overlap.
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

// Resembles returns the address of t that its PoisoningSuspect resembles: To, or else RequestedDestination.
func (t Transaction) Resembles() Address {
	if front, back := SharedEnds(t.To.String(), t.PoisoningSuspect.String()); !alike(front, back) && !t.RequestedDestination.IsZero() {
		return t.RequestedDestination
	}
	return t.To
}

// middleFrom is how many characters precede the middle, and middleSize how many it has: whole groups, as people see them
// (Grouped). People usually compare only the ends.
const middleFrom, middleSize = 4 * AddressGroup, 2 * AddressGroup

// Middle returns the eight characters (the 17th to the 24th) that an owner must type to pay a suspicious address, and
// what precedes them. Every address has at least 32 characters.
func (a Address) Middle() (before, middle string) {
	text := a.String()
	return text[:middleFrom], text[middleFrom : middleFrom+middleSize]
}
