// Package locale holds the sentences of all refusals, one file for each language (en.toml, es.toml), and the rules for rendering
// texts: languages, variables and plural forms. It does not know who shows a text, or where.
//
// A Catalogue is read once, at start. A front adds its own files to it (New) and gets a Printer for the reader's language.
// The Printer renders a text by its key, or a wallet.Reason, which is a refusal as data. A Style says how values are written
// into sentences: the chat escapes them for Telegram's HTML, the API writes them as they are.
//
//	catalogue, err := locale.Refusals()
//	english := catalogue.Printer("en", locale.Style{})
//	sentence, err := english.Reason(wallet.ReasonOf(refused))
package locale

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"github.com/nicksnyder/go-i18n/v2/i18n/template"
	"github.com/pelletier/go-toml/v2"
	"golang.org/x/text/language"

	"purser/wallet"
)

//go:embed *.toml
var files embed.FS

// countVar is the variable that selects the plural form of a text. Texts with plural forms require it.
const countVar = "Count"

// Catalogue holds every text by key and language. It does not change after New, so goroutines share it without a lock.
type Catalogue struct {
	parser template.Parser
	keys   map[string]bool                    // keys of English, which has all texts
	plural map[string]bool                    // keys that have plural forms in at least one language
	fixed  map[language.Tag]map[string]string // texts without variables and plural forms: they need no rendering

	// One entry for each language, made once: a Printer is made for every answer, so that must be cheap.
	languages  []language.Tag // English first
	matcher    language.Matcher
	localizers []*i18n.Localizer
}

// New reads the texts of this package and those of a front: files named <language>.toml or <subject>.<language>.toml in the
// given file systems. It returns an error if two files of one language share a key. Texts that a language lacks are shown in
// English.
func New(more ...fs.FS) (*Catalogue, error) {
	go refusals() //nolint:errcheck // it is asked for again below
	fronts, err := parse(more...)
	if err != nil {
		return nil, err
	}
	own, err := refusals()
	if err != nil {
		return nil, err
	}
	bundle := i18n.NewBundle(language.English)
	c := &Catalogue{
		parser: &template.TextParser{Option: "missingkey=error"},
		keys:   map[string]bool{}, plural: map[string]bool{}, fixed: map[language.Tag]map[string]string{},
	}
	// The bundle would silently replace a text that exists twice, so keys are tracked here.
	seen := map[language.Tag]map[string]bool{}
	for _, file := range slices.Concat(own, fronts) {
		if err := bundle.AddMessages(file.Tag, file.Messages...); err != nil {
			return nil, fmt.Errorf("read the catalogue %s: %w", file.Path, err)
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
	// All files are read: prepare the lookup of languages.
	c.languages = bundle.LanguageTags()
	c.matcher = language.NewMatcher(c.languages)
	for _, tag := range c.languages {
		c.localizers = append(c.localizers, i18n.NewLocalizer(bundle, tag.String()))
	}
	return c, nil
}

// Refusals returns the catalogue that has only the texts of this package. It is the same one at each call.
var Refusals = sync.OnceValues(func() (*Catalogue, error) { return New() })

// refusals parses the files of this package, which are embedded and never change, once for all catalogues.
var refusals = sync.OnceValues(func() ([]*i18n.MessageFile, error) { return parse(files) })

// parse parses all files of some file systems side by side: it is a good part of the time that purser takes to start.
func parse(roots ...fs.FS) ([]*i18n.MessageFile, error) {
	var tasks []func() (*i18n.MessageFile, error)
	for _, root := range roots {
		names, err := fs.Glob(root, "*.toml")
		if err != nil {
			return nil, fmt.Errorf("list the catalogue: %w", err)
		}
		for _, name := range names {
			tasks = append(tasks, func() (*i18n.MessageFile, error) { return parseFile(root, name) })
		}
	}
	parsed, errs := make([]*i18n.MessageFile, len(tasks)), make([]error, len(tasks))
	var running sync.WaitGroup
	for i, task := range tasks {
		running.Go(func() { parsed[i], errs[i] = task() })
	}
	running.Wait()
	return parsed, errors.Join(errs...)
}

// parseFile parses the file of a language.
func parseFile(root fs.FS, name string) (*i18n.MessageFile, error) {
	raw, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, fmt.Errorf("read the catalogue: %w", err)
	}
	file, err := i18n.ParseMessageFileBytes(raw, name, map[string]i18n.UnmarshalFunc{"toml": toml.Unmarshal})
	if err != nil {
		return nil, fmt.Errorf("read the catalogue %s: %w", name, err)
	}
	if RightToLeft(file.Tag.String()) {
		for _, m := range file.Messages {
			for _, form := range []*string{&m.Zero, &m.One, &m.Two, &m.Few, &m.Many, &m.Other} {
				*form = isolate(*form)
			}
		}
	}
	return file, nil
}

// Has reports whether English has a text of this key.
func (c *Catalogue) Has(key string) bool { return c.keys[key] }

// add indexes one text. i18n has two more forms, Zero and Two, which some languages use.
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

// Style says how values are written into texts. The zero Style writes them unchanged, and times as the API does.
type Style struct {
	Escape func(string) string    // escapes every value that is not a number; nil: no escaping
	Time   func(time.Time) string // nil: wallet.Timestamp
}

// Printer renders texts in one language. It is safe for concurrent use.
type Printer struct {
	catalogue *Catalogue
	localizer *i18n.Localizer
	fixed     map[string]string
	style     Style
}

// Printer returns a Printer for a language tag (BCP 47, as Telegram and browsers send it). An invalid tag, and a language
// that the catalogue lacks, is English.
func (c *Catalogue) Printer(tag string, style Style) *Printer {
	wanted, err := language.Parse(tag)
	if err != nil {
		wanted = language.English
	}
	_, at, _ := c.matcher.Match(wanted)
	return &Printer{catalogue: c, localizer: c.localizers[at], fixed: c.fixed[c.languages[at]], style: style}
}

// Text renders the text of a key. It returns an error for an unknown key and for a variable without a value. Strings go in
// unchanged: a caller that shows HTML must escape them first.
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
		return text, nil // the language lacks this text: show the English one
	}
	if err != nil {
		return "", fmt.Errorf("render %s: %w", key, err)
	}
	return text, nil
}

// Reason renders a reason as one or more whole sentences. The zero Reason is "".
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

// value converts an argument to what stands in the sentence. Addresses and amounts need no escaping: they are base58 or
// digits.
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

// escape applies the style's escaping, if it has one.
func (p *Printer) escape(text string) string {
	if p.style.Escape == nil {
		return text
	}
	return p.style.Escape(text)
}

// duration renders a duration in its largest whole unit, rounded up: "45 seconds", "2 minutes", "24 hours".
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

// Arguments returns the values of a reason for programs, as JSON fields in snake_case. Amounts are decimal strings, durations
// are seconds (rounded up), times are as wallet.Timestamp writes them. Without arguments the result is {}, never null.
func Arguments(r wallet.Reason) map[string]any {
	values := make(map[string]any, len(r.Args))
	for _, a := range r.Args {
		values[snakeCase(a.Name)] = published(a.Value())
	}
	return values
}

// published converts one argument to its value in JSON.
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

// snakeCase converts the name of a variable ("NetworkFee") to that of a JSON field ("network_fee").
func snakeCase(name string) string {
	var b bytes.Buffer
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 && name[i-1] >= 'a' { // capitals in a row, as in ID, stay together
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Languages returns the language tags of the catalogue, English first.
func (c *Catalogue) Languages() []string {
	var tags []string
	for _, tag := range c.languages {
		tags = append(tags, tag.String())
	}
	return tags
}
