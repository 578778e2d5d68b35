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

// Catalogue holds every text by key and language. English is read at once, another language when it is first spoken: reading all of them would be most
// of the time that purser takes to start. Goroutines share it.
type Catalogue struct {
	parser    template.Parser
	english   *speech
	languages []language.Tag // English first
	matcher   language.Matcher
	speeches  []*speech // of languages
}

// speech holds the texts of one language.
type speech struct {
	tag   language.Tag
	files []source
	once  sync.Once
	err   error // why it could not be read

	localizer *i18n.Localizer
	keys      map[string]bool
	plural    map[string]bool   // keys that have plural forms
	fixed     map[string]string // texts without variables and plural forms: they need no rendering
}

// source is a file of texts.
type source struct {
	root fs.FS
	name string
}

// New finds the texts of this package and those of a front: files named <language>.toml or <subject>.<language>.toml in the
// given file systems, and reads the English ones. It returns an error if two of them share a key. Texts that a language lacks are shown in
// English.
func New(more ...fs.FS) (*Catalogue, error) {
	c := &Catalogue{parser: &template.TextParser{Option: "missingkey=error"}}
	byTag := map[language.Tag]*speech{}
	for _, root := range append([]fs.FS{files}, more...) {
		names, err := fs.Glob(root, "*.toml")
		if err != nil {
			return nil, fmt.Errorf("list the catalogue: %w", err)
		}
		for _, name := range names {
			tag, err := tagOf(name)
			if err != nil {
				return nil, err
			}
			if byTag[tag] == nil {
				byTag[tag] = &speech{tag: tag}
				c.speeches = append(c.speeches, byTag[tag])
			}
			byTag[tag].files = append(byTag[tag].files, source{root, name})
		}
	}
	if c.english = byTag[language.English]; c.english == nil {
		return nil, errors.New("the catalogue has no English")
	}
	slices.SortStableFunc(c.speeches, func(a, b *speech) int { // English first: it is what fits when nothing else does
		switch {
		case (a == c.english) == (b == c.english):
			return strings.Compare(a.tag.String(), b.tag.String())
		case a == c.english:
			return -1
		}
		return 1
	})
	for _, one := range c.speeches {
		c.languages = append(c.languages, one.tag)
	}
	c.matcher = language.NewMatcher(c.languages)
	return c, c.english.read()
}

// tagOf returns the language of a file by its name: "en.toml", "send.en.toml", "send.pt-BR.toml".
func tagOf(name string) (language.Tag, error) {
	text := strings.TrimSuffix(name, ".toml")
	tag, err := language.Parse(text[strings.LastIndexByte(text, '.')+1:])
	if err != nil {
		return tag, fmt.Errorf("the catalogue %s names no language: %w", name, err)
	}
	return tag, nil
}

// read reads the texts of a language, once. Its files are parsed side by side.
func (s *speech) read() error {
	s.once.Do(func() {
		parsed, errs := make([]*i18n.MessageFile, len(s.files)), make([]error, len(s.files))
		var running sync.WaitGroup
		for i, file := range s.files {
			running.Go(func() { parsed[i], errs[i] = parseFile(file.root, file.name) })
		}
		running.Wait()
		if s.err = errors.Join(errs...); s.err == nil {
			s.err = s.index(parsed)
		}
	})
	return s.err
}

// index takes the texts of files. i18n has two more forms, Zero and Two, which some languages use.
func (s *speech) index(files []*i18n.MessageFile) error {
	bundle := i18n.NewBundle(s.tag)
	s.keys, s.plural, s.fixed = map[string]bool{}, map[string]bool{}, map[string]string{}
	for _, file := range files {
		if err := bundle.AddMessages(s.tag, file.Messages...); err != nil {
			return fmt.Errorf("read the catalogue %s: %w", file.Path, err)
		}
		for _, m := range file.Messages {
			if s.keys[m.ID] { // the bundle would silently replace it
				return fmt.Errorf("the catalogue has %s twice in %s", m.ID, s.tag)
			}
			s.keys[m.ID] = true
			switch {
			case m.Zero != "" || m.One != "" || m.Two != "" || m.Few != "" || m.Many != "":
				s.plural[m.ID] = true
			case !strings.Contains(m.Other, "{{"):
				s.fixed[m.ID] = m.Other
			}
		}
	}
	s.localizer = i18n.NewLocalizer(bundle, s.tag.String())
	return nil
}

// Refusals returns the catalogue that has only the texts of this package. It is the same one at each call.
var Refusals = sync.OnceValues(func() (*Catalogue, error) { return New() })

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
func (c *Catalogue) Has(key string) bool { return c.english.keys[key] }

// Style says how values are written into texts. The zero Style writes them unchanged, and times as the API does.
type Style struct {
	Escape func(string) string    // escapes every value that is not a number; nil: no escaping
	Time   func(time.Time) string // nil: wallet.Timestamp
}

// Printer renders texts in one language. It is safe for concurrent use.
type Printer struct {
	catalogue *Catalogue
	speech    *speech
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
	return &Printer{catalogue: c, speech: c.speeches[at], style: style}
}

// Text renders the text of a key, in English if the language lacks it. It returns an error for an unknown key and for a variable without a value.
// Strings go in unchanged: a caller that shows HTML must escape them first.
func (p *Printer) Text(key string, values map[string]any) (string, error) {
	if err := p.speech.read(); err != nil {
		return "", err
	}
	of := p.speech
	if !of.keys[key] {
		of = p.catalogue.english
	}
	if text, ok := of.fixed[key]; ok {
		return text, nil
	}
	config := &i18n.LocalizeConfig{MessageID: key, TemplateData: values, TemplateParser: p.catalogue.parser}
	if of.plural[key] {
		count, ok := values[countVar]
		if !ok {
			return "", fmt.Errorf("render %s: %s is missing", key, countVar)
		}
		config.PluralCount = count
	}
	text, err := of.localizer.Localize(config)
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
		return p.Duration(v)
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

// Duration renders a duration in its largest whole unit, rounded up: "45 seconds", "2 minutes", "24 hours", "3 days". From 48 hours on, whole days
// are days. They have 24 hours each.
func (p *Printer) Duration(d time.Duration) (string, error) {
	const day = 24 * time.Hour
	key, unit := "duration.seconds", time.Second
	switch {
	case d >= 2*day && d%day == 0:
		key, unit = "duration.days", day
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
