package market

import (
	"context"
	"errors"
	"fmt"
	"time"

	"purser/wallet"
)

// Source is one provider of prices. Any number of goroutines may use it. What a provider says is information, and may be
// wrong, late or hostile: a Source returns well-formed prices of the tokens that it was asked about, or an error.
type Source interface {
	// Name is how the settings and the replies name it, such as "jupiter".
	Name() string
	// MaxTokens is how many tokens one call may ask about.
	MaxTokens() int
	// Prices returns the prices of tokens, each at most once, in any order. The zero address stands for SOL. Tokens without
	// a price are absent. The error is an *UnavailableError, or of ctx.
	Prices(ctx context.Context, priority Priority, mints []wallet.Address) ([]wallet.TokenPrice, error)
}

// Priority says for what a provider is asked, when its budget does not allow everything at once. Lower is more urgent.
type Priority int

// The priorities.
const (
	ForTrade    Priority = iota // a swap that a person decides about now
	ForPerson                   // a command or request that waits for the answer
	ForSampling                 // the regular refresh of prices
)

// UnavailableError says that a provider gave no usable answer. Retrying before Until is pointless.
type UnavailableError struct {
	Source string
	Until  time.Time // zero: not known
	Err    error     // for the log
}

// Error names the provider and the cause.
func (e *UnavailableError) Error() string { return fmt.Sprintf("market: %s: %v", e.Source, e.Err) }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Causes of an UnavailableError.
var (
	ErrOverBudget = errors.New("the budget of calls is used up")                // nothing was sent
	ErrOpen       = errors.New("not asked, because its last calls failed")      // nothing was sent
	ErrMalformed  = errors.New("the answer is not what the documentation says") // it can't be used
)
