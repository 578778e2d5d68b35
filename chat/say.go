package chat

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"purser/locale"
	"purser/wallet"
)

// locales hold every text that the chat says: one file for each command and language, beside the command's code,
// and chat.en.toml for what belongs to no single one.
//
//go:embed *.toml
var locales embed.FS

// vars fill the gaps of a text. Everything but html is foreign: it is escaped before it goes in.
type vars map[string]any

// catalogue is every text that the chat says, by key, and every reason of a refusal (package locale), in one language.
type catalogue struct {
	all      *locale.Catalogue
	language string // that was asked for: the reader's, which the catalogue may lack
	printer  *locale.Printer
}

// newCatalogue reads the texts in roots of files <name>.<language>.toml, and speaks English.
func newCatalogue(texts ...fs.FS) (catalogue, error) {
	all, err := locale.New(texts...)
	if err != nil {
		return catalogue{}, err
	}
	return catalogue{all: all}.in("en"), nil
}

// in is the same catalogue in another language; one that it does not have is English.
func (c catalogue) in(tag string) catalogue {
	return catalogue{c.all, tag, c.all.Printer(tag, locale.Style{Escape: escape, Time: moment})}
}

// has tells whether the catalogue has a text of this key.
func (c catalogue) has(key string) bool { return c.all.Has(key) }

// text is one text of the catalogue as Telegram HTML.
func (c catalogue) text(key string, v vars) (html, error) {
	safe := make(map[string]any, len(v))
	for name, value := range v {
		switch value := value.(type) {
		case html:
			safe[name] = string(value)
		case bool:
			safe[name] = value
		default:
			safe[name] = escape(fmt.Sprint(value))
		}
	}
	said, err := c.printer.Text(key, safe)
	return html(said), err
}

// reason is why something is refused, as Telegram HTML: foreign text among its arguments is escaped.
func (c catalogue) reason(r wallet.Reason) (html, error) {
	said, err := c.printer.Reason(r)
	return html(said), err
}

// refusals is the one table from what went wrong to what is said of it; the refusal's own sentence
// follows. A code that no chat operation answers with is worded all the same, in case one ever does.
func refusals() map[wallet.Code]string {
	return map[wallet.Code]string{
		wallet.InvalidRequest:      "refusal.invalid_request",
		wallet.InvalidAPIKey:       "refusal.not_allowed",
		wallet.InsufficientScope:   "refusal.not_allowed",
		wallet.TierRequired:        "refusal.not_allowed",
		wallet.ConsentRequired:     "refusal.not_allowed",
		wallet.PolicyViolation:     "refusal.not_allowed",
		wallet.BotBlocked:          "refusal.not_possible",
		wallet.UnknownCommand:      "refusal.unknown_command",
		wallet.UserNotFound:        "refusal.user_not_found",
		wallet.WalletNotFound:      "refusal.wallet_not_found",
		wallet.TransactionNotFound: "refusal.transaction_not_found",
		wallet.TokenNotFound:       "refusal.token_not_found",
		wallet.WebhookNotFound:     "refusal.not_found",
		wallet.InvalidWebhookURL:   "refusal.invalid_request",
		wallet.WebhookLimitReached: "refusal.not_possible",
		wallet.NotFound:            "refusal.not_found",
		wallet.MethodNotAllowed:    "refusal.not_possible",
		wallet.Conflict:            "refusal.conflict",
		wallet.LengthRequired:      "refusal.invalid_request",
		wallet.PayloadTooLarge:     "refusal.too_long",
		wallet.InsufficientFunds:   "refusal.insufficient_funds",
		wallet.InvalidSignature:    "refusal.invalid_signature",
		wallet.IdempotencyConflict: "refusal.conflict",
		wallet.RateLimitExceeded:   "refusal.too_many",
		wallet.Internal:            "refusal.internal",
		wallet.TelegramError:       "refusal.not_possible",
		wallet.NetworkError:        "refusal.network_error",
	}
}

// refusal is what is said of a labelled error: a short headline, and the reason as a sentence.
func (c catalogue) refusal(err error) (headline, reason html, _ error) {
	headline, sayErr := c.text(refusals()[wallet.CodeOf(err)], nil)
	if sayErr != nil {
		return "", "", sayErr
	}
	if r := wallet.ReasonOf(err); !r.IsZero() {
		if reason, sayErr = c.reason(r); sayErr != nil {
			return "", "", sayErr
		}
	}
	switch wallet.CodeOf(err) {
	case wallet.TokenNotFound, wallet.NetworkError: // the reason says it all
		if reason != "" {
			return reason, "", sayErr
		}
	}
	return headline, reason, sayErr
}

// labelled tells whether an error is an answer (a refusal with a code) and not a breakdown.
func labelled(err error) bool {
	var e *wallet.Error
	return errors.As(err, &e) && e.Code != wallet.Internal
}

// scopeKey is the key of a text about a scope, of one of three sections: what it lets a program do (scope), the same in
// a few words on a switch (scope_switch), and as the person is told who is to allow it (scope_yours).
func scopeKey(section string, scope wallet.Scope) string {
	return section + "." + strings.ReplaceAll(string(scope), ":", "_")
}
