package chat

import (
	"context"

	"purser/store"
	"purser/wallet"
)

// While a person's account is frozen (wallet.User.Freeze), everything that they say or tap is refused, unless its command says
// whileFrozen, its conversation lists it in callbacksWhileFrozen, or it can do nothing, such as an old button. Endpoints refuses
// before the handler runs, and play again in the store transaction.

// always lets a command work while the account is frozen, whatever its arguments.
func always([]string) bool { return true }

// withoutWords lets a command without arguments work while the account is frozen.
func withoutWords(args []string) bool { return len(args) == 0 }

// allowed reports whether a command works while the person's account is frozen.
func (row command) allowed(l parsedLine) bool {
	return row.whileFrozen != nil && row.whileFrozen(l.args)
}

// frozenOut wraps a handler of a person's input: while their account is frozen, it answers that, unless works allows this
// input. play checks again in the store transaction.
func frozenOut(works func(c *Chat, h Inbound) bool, next Handler) Handler {
	return func(c *Chat, ctx context.Context, h Inbound) (Action, error) {
		if h.user.Freeze != nil && !works(c, h) {
			return (*replyTx).sayFrozen, nil
		}
		return next(c, ctx, h)
	}
}

// sayFrozen answers what a frozen account cannot do.
func (s *replyTx) sayFrozen() error {
	why := s.user.Frozen(wallet.ByPerson)
	if why == nil { // unfrozen since the handler ran
		return store.ErrConflict
	}
	rows, err := s.menu("button.unfreeze", "/unfreeze")
	if err != nil {
		return err
	}
	return s.refused(why, rows...)
}
