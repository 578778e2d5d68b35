package wallet

import (
	"errors"
	"fmt"
	"testing"
)

func TestRefusalKeepsEverythingWhenItsFieldIsNamed(t *testing.T) {
	cause := errors.New("cause")
	first := &Error{Code: InsufficientFunds, Reason: Because("funds.short", NumberArg("Most", 3)), Err: cause}
	for _, err := range []error{first, fmt.Errorf("prepare: %w", first)} {
		got := About(FieldAmount, err)
		if FieldOf(got) != FieldAmount || CodeOf(got) != InsufficientFunds || !ReasonOf(got).Equal(first.Reason) || !errors.Is(got, cause) {
			t.Errorf("%v became %+v", err, got)
		}
		if again := About(FieldTo, got); FieldOf(again) != FieldAmount {
			t.Errorf("the field became %q", FieldOf(again))
		}
	}
	if first.Field != "" {
		t.Error("the refusal itself was changed")
	}
	if got := About(FieldTo, cause); got != cause || FieldOf(got) != "" {
		t.Errorf("an error that nobody labelled became %v", got)
	}
	if About(FieldTo, nil) != nil || FieldOf(nil) != "" {
		t.Error("no error became one")
	}
}
