package chat

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"purser/locale"
	"purser/wallet"
)

// locales hold every text that the chat says: one file for each command and language, beside the command's code,
// and chat.en.toml for what belongs to no single one.
//
//go:embed *.toml
var locales embed.FS

// vars are the variables of a text. Values of type html go in as they are; all others count as foreign text and are escaped.
type vars map[string]any

// textKey is a variable that is itself a text of the catalogue, without variables of its own.
type textKey string

// catalogue holds all texts of the chat and all reasons of refusals (package locale), for one language.
type catalogue struct {
	all      *locale.Catalogue
	language string // the reader's language tag, which the catalogue may lack
	printer  *locale.Printer
	clock    *time.Location // by which times are said
}

// newCatalogue reads the files <name>.<language>.toml of the given file systems. The catalogue that it returns is English.
func newCatalogue(texts ...fs.FS) (catalogue, error) {
	all, err := locale.New(texts...)
	if err != nil {
		return catalogue{}, err
	}
	return catalogue{all: all}.in("en", time.UTC), nil
}

// in returns the same catalogue in another language, with times by a clock. A language that it lacks is English.
func (c catalogue) in(tag string, clock *time.Location) catalogue {
	out := catalogue{all: c.all, language: tag, clock: clock}
	out.printer = c.all.Printer(tag, locale.Style{Escape: escape, Time: func(at time.Time) string { return out.moment(at) }})
	return out
}

// moment formats a time for people: "2 January 2006, 15:04 UTC+1".
func (c catalogue) moment(at time.Time) string {
	return c.date("date.moment", months()[at.In(c.clock).Month()-1], at)
}

// day formats a date for people.
func (c catalogue) day(at time.Time) string {
	return c.date("date.day", months()[at.In(c.clock).Month()-1], at)
}

// duration formats a length of time for people: "24 hours", "3 days".
func (c catalogue) duration(d time.Duration) (html, error) {
	said, err := c.printer.Duration(d)
	return html(said), err
}

// short formats a time for the beginning of a line: "2 Jan 15:04".
func (c catalogue) short(at time.Time) html {
	return html(c.date("date.line", shortMonths()[at.In(c.clock).Month()-1], at))
}

// date renders a text about a time, by the reader's clock. Where a language lacks one, it is written as wallet.Timestamp writes it.
func (c catalogue) date(text, month string, at time.Time) string {
	at = at.In(c.clock)
	name, err := c.printer.Text(month, nil)
	if err != nil {
		return wallet.Timestamp(at)
	}
	said, err := c.printer.Text(text, map[string]any{"Day": at.Day(), "Month": name, "Year": at.Year(), "Clock": at.Format("15:04"), "Zone": zoneName(at)})
	if err != nil {
		return wallet.Timestamp(at)
	}
	return said
}

// months and shortMonths are the catalogue keys of the names of months, in moments and in lines.
func months() [12]string {
	return [12]string{"month.january", "month.february", "month.march", "month.april", "month.may", "month.june",
		"month.july", "month.august", "month.september", "month.october", "month.november", "month.december"}
}

func shortMonths() [12]string {
	return [12]string{"month_short.january", "month_short.february", "month_short.march", "month_short.april", "month_short.may", "month_short.june",
		"month_short.july", "month_short.august", "month_short.september", "month_short.october", "month_short.november", "month_short.december"}
}

// zoneName returns how far a time's clock is from UTC: "UTC", "UTC+1", "UTC-3:30".
func zoneName(at time.Time) string {
	_, seconds := at.Zone()
	minutes := seconds / 60
	if minutes == 0 {
		return "UTC"
	}
	sign := "+"
	if minutes < 0 {
		sign, minutes = "-", -minutes
	}
	name := "UTC" + sign + strconv.Itoa(minutes/60)
	if minutes%60 != 0 {
		name += fmt.Sprintf(":%02d", minutes%60)
	}
	return name
}

// has reports whether the catalogue has a text of this key.
func (c catalogue) has(key string) bool { return c.all.Has(key) }

// text renders one text as Telegram HTML. A variable that the text uses and v lacks is an error.
func (c catalogue) text(key string, v vars) (html, error) {
	safe := make(map[string]any, len(v))
	for name, value := range v {
		switch value := value.(type) {
		case html:
			safe[name] = string(value)
		case bool:
			safe[name] = value
		case time.Time:
			safe[name] = escape(c.moment(value))
		case textKey:
			inner, err := c.text(string(value), nil)
			if err != nil {
				return "", err
			}
			safe[name] = string(inner)
		default:
			safe[name] = escape(fmt.Sprint(value))
		}
	}
	said, err := c.printer.Text(key, safe)
	return html(said), err
}

// reason renders the reason of a refusal as Telegram HTML. Its arguments are escaped.
func (c catalogue) reason(r wallet.Reason) (html, error) {
	said, err := c.printer.Reason(r)
	return html(said), err
}

// refusals is the catalogue key of the headline for each error code, for errors without a reason. All codes have one, even
// those that no operation in chat returns. A test checks that.
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
		wallet.QuoteExpired:        "refusal.quote_expired",
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

// refusal renders a labelled error: a headline, and the reason as a sentence. Of most errors the reason is the headline, and
// the second text is empty.
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
	case wallet.InsufficientFunds, wallet.RateLimitExceeded, wallet.Internal: // the reason alone does not say what is wrong
		return headline, reason, nil
	}
	if reason != "" { // it says it all
		return reason, "", nil
	}
	return headline, "", nil
}

// labelled reports whether an error is a refusal, which is an answer for the person. Other errors are failures of ours.
func labelled(err error) bool {
	var e *wallet.Error
	return errors.As(err, &e) && e.Code != wallet.Internal
}

// scopeKey returns the key of a text about a scope in one of four sections: scope_name is its plain name and scope explains it,
// for developers; scope_switch is the label of its switch, and scope_yours explains it to the person who is to grant it.
func scopeKey(section string, scope wallet.Scope) string {
	return section + "." + strings.ReplaceAll(string(scope), ":", "_")
}
