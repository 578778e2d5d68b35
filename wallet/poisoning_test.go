package wallet

import (
	"strings"
	"testing"
)

// resembling is an address that begins and ends as another does. That it has no key matters to
// nobody here.
func resembling(t *testing.T, of Address, front, back int) Address {
	t.Helper()
	text := []byte(of.String())
	for i := front; i < len(text)-back; i++ {
		text[i] = other(text[i])
	}
	for try := 0; try < 58; try++ { // most texts of that length are 32 bytes; some are a little too large
		if a, err := ParseAddress(string(text)); err == nil {
			return a
		}
		text[front] = next(text[front], text[front])
	}
	t.Fatal("no such address")
	return Address{}
}

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// other is a digit that is not the same in any case.
func other(c byte) byte { return next(c, c) }

func next(c, not byte) byte {
	for {
		c = alphabet[(strings.IndexByte(alphabet, c)+1)%len(alphabet)]
		if !strings.EqualFold(string(c), string(not)) {
			return c
		}
	}
}

func TestLookAlikes(t *testing.T) {
	known := MustAddress("9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin")
	far := MustAddress("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	for _, c := range []struct {
		front, back int
		alike       bool
	}{
		{4, 4, true}, {3, 5, true}, {5, 3, true}, {6, 6, true}, {10, 4, true},
		{3, 4, false}, {4, 3, false}, {2, 6, false}, {6, 2, false}, {0, 12, false}, {12, 0, false}, {12, 1, false}, {0, 0, false}, {19, 0, false}, {20, 0, true}, {0, 20, true}, {18, 2, true},
	} {
		to := resembling(t, known, c.front, c.back)
		front, back := SharedEnds(to.String(), known.String())
		if front != c.front || back != c.back {
			t.Fatalf("the example shares %d and %d, not %d and %d", front, back, c.front, c.back)
		}
		got, alike := PoisoningSuspect(to, []Address{far, known})
		if alike != c.alike || alike && got != known {
			t.Errorf("%d and %d: %v, %s", c.front, c.back, alike, got)
		}
	}
	near, nearer := resembling(t, known, 4, 4), resembling(t, known, 6, 6)
	to := resembling(t, known, 7, 7)
	if got, ok := PoisoningSuspect(to, []Address{near, known, nearer}); !ok || got != known {
		t.Errorf("of several, %s", got)
	}
	if got, ok := PoisoningSuspect(known, []Address{near, known}); ok {
		t.Errorf("one that is known itself looks like %s", got)
	}
	if _, ok := PoisoningSuspect(known, nil); ok {
		t.Error("it looks like nobody's")
	}
	// An eye passes over case.
	if front, back := SharedEnds("abcDxefGH", "ABCdyEFgh"); front != 4 || back != 4 {
		t.Errorf("in another case: %d and %d", front, back)
	}
	if front, back := SharedEnds("aaaa", "aaaaaa"); front+back > 4 {
		t.Errorf("a character was counted twice: %d and %d", front, back)
	}
}

func TestALookAlikeIsConfirmedByTypingItsMiddle(t *testing.T) {
	t1 := Transaction{To: MustAddress("9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin")}
	if err := t1.TypedFor(""); err != nil {
		t.Errorf("an ordinary one asks for %v", err)
	}
	t1.PoisoningSuspect = Address{1}
	before, middle := t1.To.Middle()
	if before != "9xQeWvG816bUx9EP" || middle != "jHmaT23y" {
		t.Fatalf("the middle is %q after %q", middle, before)
	}
	for typed, fine := range map[string]bool{"jHmaT23y": true, "JHMAt23Y": true, "": false, "jHmaT23": false, "jHmaT23yv": false, "9xQeWvG8": false, " jHmaT23y": false} {
		if err := t1.TypedFor(typed); (err == nil) != fine || err != nil && CodeOf(err) != PolicyViolation {
			t.Errorf("%q: %v", typed, err)
		}
	}
}

// The characters that are asked for begin and end where groups do, as the card and the page show the address.
func TestTheMiddleIsWholeGroupsOfTheAddress(t *testing.T) {
	for _, text := range []string{"11111111111111111111111111111112", "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin", "4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM"} {
		a := MustAddress(text)
		groups := strings.Fields(a.Grouped())
		before, middle := a.Middle()
		if len(middle) != 8 || middle != groups[4]+groups[5] || Grouped(before) != strings.Join(groups[:4], " ") {
			t.Errorf("%s: %q after %q", a.Grouped(), middle, Grouped(before))
		}
	}
}

// An address with a character missing or mistyped is held for a slip, and not for somebody new.
func TestASlipInAnAddressIsSeen(t *testing.T) {
	known := MustAddress("9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin")
	tried := 0
	text := known.String()
	for i := range text {
		for _, wrong := range []string{text[:i] + text[i+1:], text[:i] + string(other(text[i])) + text[i+1:]} {
			slipped, err := ParseAddress(wrong)
			if err != nil || slipped == known {
				continue // it is no address at all
			}
			tried++
			if got, ok := PoisoningSuspect(slipped, []Address{known}); !ok || got != known || !Mistyped(slipped, known) {
				t.Errorf("%s is not taken for a slip", wrong)
			}
		}
	}
	if tried < 20 {
		t.Fatalf("%d of the slips are addresses", tried)
	}
	if far := MustAddress("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"); Mistyped(far, known) || Mistyped(known, known) {
		t.Error("another address, or the same one, is taken for a slip")
	}
}
