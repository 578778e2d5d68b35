package chat

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"github.com/nicksnyder/go-i18n/v2/i18n/template"
	"github.com/pelletier/go-toml/v2"
	"golang.org/x/text/language"

	"purser/wallet"
)

// locales hold every text that the chat says: one file for each command and language, beside the command's code,
// and chat.en.toml for what belongs to no single one.
//
//go:embed *.toml
var locales embed.FS

// vars fill the gaps of a text. Everything but html is foreign: it is escaped before it goes in.
type vars map[string]any

// catalogue is every text that the chat says, by key.
type catalogue struct {
	localizer *i18n.Localizer
	parser    template.Parser
}

func newCatalogue() (catalogue, error) {
	bundle := i18n.NewBundle(language.English)
	bundle.RegisterUnmarshalFunc("toml", toml.Unmarshal)
	files, err := fs.Glob(locales, "*.toml")
	if err != nil {
		return catalogue{}, fmt.Errorf("read the catalogue: %w", err)
	}
	for _, file := range files {
		if _, err := bundle.LoadMessageFileFS(locales, file); err != nil {
			return catalogue{}, fmt.Errorf("read the catalogue: %w", err)
		}
	}
	return catalogue{i18n.NewLocalizer(bundle, "en"), &template.TextParser{Option: "missingkey=error"}}, nil
}

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
	said, err := c.localizer.Localize(&i18n.LocalizeConfig{MessageID: key, TemplateData: safe, TemplateParser: c.parser})
	if err != nil {
		return "", fmt.Errorf("say %s: %w", key, err)
	}
	return html(said), nil
}

// refusals is the one table from what went wrong to what is said of it; the refusal's own sentence
// follows. A code that no chat deed answers with is worded all the same, in case one ever does.
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
	reason = html(escape(sentence(wallet.DetailOf(err))))
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
