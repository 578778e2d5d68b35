// Package locale holds every sentence that a person or a developer is refused or answered with, one file a
// language (en.toml), and the rules for rendering texts: languages, variables and plural forms. It refuses to know
// who shows a text, and where.
//
// A Catalogue is read once, at start. A front adds the files with its own texts to it (New) and asks it for a
// Printer in the reader's language. The Printer renders a text by its key, or a wallet.Reason: a refusal as data.
// The fronts differ in how they write a value into a sentence (Style): the chat escapes for Telegram's HTML.
//
//	catalogue, err := locale.New()
//	english := catalogue.Printer("en", locale.Style{})
//	sentence, err := english.Reason(wallet.ReasonOf(refused))
package locale

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"github.com/nicksnyder/go-i18n/v2/i18n/template"
	"github.com/pelletier/go-toml/v2"
	"golang.org/x/text/language"

	"purser/wallet"
)

//go:embed en.toml
var files embed.FS

// countVar is the variable that chooses the plural form of a text that has some.
const countVar = "Count"

// Catalogue is every text by key and language. It does not change after New.
type Catalogue struct {
	parser template.Parser
	keys   map[string]bool                    // of English, which has all
	plural map[string]bool                    // keys with plural forms, in some language
	fixed  map[language.Tag]map[string]string // texts without variables and plural forms, as they are shown

	// One of each for every language, since a Printer is made for each answer: a language is matched, not set up.
	languages  []language.Tag // English first
	matcher    language.Matcher
	localizers []*i18n.Localizer
}

// New reads the texts of this package and those of a front: the files <language>.toml and <subject>.<language>.toml in
// the roots given. Two files of one language may not share a key. A language may lack texts: English stands in.
func New(more ...fs.FS) (*Catalogue, error) {
	bundle := i18n.NewBundle(language.English)
	bundle.RegisterUnmarshalFunc("toml", toml.Unmarshal)
	c := &Catalogue{
		parser: &template.TextParser{Option: "missingkey=error"},
		keys:   map[string]bool{}, plural: map[string]bool{}, fixed: map[language.Tag]map[string]string{},
	}
	seen := map[language.Tag]map[string]bool{}
	for _, root := range append([]fs.FS{files}, more...) {
		names, err := fs.Glob(root, "*.toml")
		if err != nil {
			return nil, fmt.Errorf("list the catalogue: %w", err)
		}
		for _, name := range names {
			file, err := bundle.LoadMessageFileFS(root, name)
			if err != nil {
				return nil, fmt.Errorf("read the catalogue %s: %w", path.Base(name), err)
			}
			if seen[file.Tag] == nil {
				seen[file.Tag], c.fixed[file.Tag] = map[string]bool{}, map[string]string{}
			}
			for _, m := range file.Messages {
				if seen[file.Tag][m.ID] {
					return nil, fmt.Errorf("the catalogue has %s twice in %s", m.ID, file.Tag)
				}
				seen[file.Tag][m.ID] = true
				c.add(file.Tag, m)
			}
		}
	}
	c.languages = bundle.LanguageTags()
	c.matcher = language.NewMatcher(c.languages)
	for _, tag := range c.languages {
		c.localizers = append(c.localizers, i18n.NewLocalizer(bundle, tag.String()))
	}
	return c, nil
}

// Has tells whether there is a text of this key.
func (c *Catalogue) Has(key string) bool { return c.keys[key] }

func (c *Catalogue) add(tag language.Tag, m *i18n.Message) {
	if tag == language.English {
		c.keys[m.ID] = true
	}
	switch {
	case m.Zero != "" || m.One != "" || m.Two != "" || m.Few != "" || m.Many != "":
		c.plural[m.ID] = true
	case !strings.Contains(m.Other, "{{"):
		c.fixed[tag][m.ID] = m.Other
	}
}

// Style is how a front writes values into texts. The zero Style writes them as they are, and times as the API does.
type Style struct {
	Escape func(string) string    // of every value that is not a number; nil: none
	Time   func(time.Time) string // nil: wallet.Timestamp
}

// Printer renders texts in one language. It is safe for use by several goroutines.
type Printer struct {
	catalogue *Catalogue
	localizer *i18n.Localizer
	fixed     map[string]string
	style     Style
}

// Printer makes a Printer for a language tag (BCP 47, as Telegram and browsers send it). A language that the
// catalogue does not have, and what is no tag at all, is English.
func (c *Catalogue) Printer(tag string, style Style) *Printer {
	wanted, err := language.Parse(tag)
	if err != nil {
		wanted = language.English
	}
	_, at, _ := c.matcher.Match(wanted)
	return &Printer{catalogue: c, localizer: c.localizers[at], fixed: c.fixed[c.languages[at]], style: style}
}

// Text renders a text. Strings among the values go in as they are: a caller that shows HTML escapes them first. A value
// that is missing is an error.
func (p *Printer) Text(key string, values map[string]any) (string, error) {
	if text, ok := p.fixed[key]; ok {
		return text, nil
	}
	config := &i18n.LocalizeConfig{MessageID: key, TemplateData: values, TemplateParser: p.catalogue.parser}
	if p.catalogue.plural[key] {
		count, ok := values[countVar]
		if !ok {
			return "", fmt.Errorf("render %s: %s is missing", key, countVar)
		}
		config.PluralCount = count
	}
	text, err := p.localizer.Localize(config)
	var untranslated *i18n.MessageNotFoundErr
	if errors.As(err, &untranslated) && text != "" {
		return text, nil // English stands in
	}
	if err != nil {
		return "", fmt.Errorf("render %s: %w", key, err)
	}
	return text, nil
}

// Reason renders a reason as one or more whole sentences; "" for the zero Reason.
func (p *Printer) Reason(r wallet.Reason) (string, error) {
	if r.IsZero() {
		return "", nil
	}
	values := make(map[string]any, len(r.Args))
	for _, a := range r.Args {
		value, err := p.value(a.Value())
		if err != nil {
			return "", fmt.Errorf("render %s: %s: %w", r.Key, a.Name, err)
		}
		values[a.Name] = value
	}
	return p.Text(r.Key, values)
}

// value is an argument as it stands in a sentence.
func (p *Printer) value(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return p.escape(v), nil
	case int64:
		return v, nil
	case wallet.Amount:
		return v.String(), nil
	case time.Duration:
		return p.duration(v)
	case time.Time:
		if p.style.Time != nil {
			return p.escape(p.style.Time(v)), nil
		}
		return wallet.Timestamp(v), nil
	case wallet.Address:
		return v.String(), nil
	case []string:
		return p.escape(strings.Join(v, ", ")), nil
	}
	return nil, fmt.Errorf("a value of type %T cannot be shown", v)
}

func (p *Printer) escape(text string) string {
	if p.style.Escape == nil {
		return text
	}
	return p.style.Escape(text)
}

// duration is a length of time in its largest whole unit, rounded up: "45 seconds", "2 minutes", "24 hours".
func (p *Printer) duration(d time.Duration) (string, error) {
	key, unit := "duration.seconds", time.Second
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		key, unit = "duration.hours", time.Hour
	case d >= 2*time.Minute || d == time.Minute:
		key, unit = "duration.minutes", time.Minute
	}
	return p.Text(key, map[string]any{countVar: int64((d + unit - 1) / unit)})
}

// Arguments are the values of a reason as JSON for programs, by name in snake_case: amounts are decimal strings,
// durations seconds (rounded up), times as wallet.Timestamp writes them. The result is {} where there are none.
func Arguments(r wallet.Reason) map[string]any {
	values := make(map[string]any, len(r.Args))
	for _, a := range r.Args {
		values[snakeCase(a.Name)] = published(a.Value())
	}
	return values
}

func published(v any) any {
	switch v := v.(type) {
	case wallet.Amount:
		return v.String()
	case time.Duration:
		return int64((v + time.Second - 1) / time.Second)
	case time.Time:
		return wallet.Timestamp(v)
	case wallet.Address:
		return v.String()
	}
	return v // string, int64, []string
}

// snakeCase turns the name of a variable ("NetworkFee") into the name of a JSON field ("network_fee").
func snakeCase(name string) string {
	var b bytes.Buffer
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 && name[i-1] >= 'a' { // the capitals of ID stay together
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Languages lists the languages of the catalogue, English first.
func (c *Catalogue) Languages() []string {
	var tags []string
	for _, tag := range c.languages {
		tags = append(tags, tag.String())
	}
	return tags
}
