package chat_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"purser/chat"
	"purser/e2e/world"
	"purser/sandbox/solana"
	"purser/wallet"
)

// pseudoLanguage is a language made by machine from English: every letter has an accent, and every text is 40 % longer.
// Placeholders, tags and commands stay. What is shown without accents has bypassed the catalogue.
const pseudoLanguage = "en-XA"

const (
	asciiLetters    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	accentedLetters = "ȧƀƈḓḗƒɠħīĵķŀḿƞǿƥɋřşŧŭṽẇẋẏẑȦƁƇḒḖƑƓĦĪĴĶĿḾȠǾƤɊŘŞŦŬṼẆẊẎẐ"
)

// kept is what stays as it is: placeholders, what a code tag marks (commands to type or copy), tags, entities, commands.
var kept = regexp.MustCompile(`(?s)\{\{.*?\}\}|<code>.*?</code>|<[^<>]+>|&[a-z]+;|/[a-z_]+\b|POST …\S*`)

var padding = regexp.MustCompile(` ?⟨[^⟩]*⟩`)

// pseudo is an English text in the pseudo-language.
func pseudo(text string) string {
	from, to := []rune(asciiLetters), []rune(accentedLetters)
	letters := 0
	accent := func(part string) string {
		return strings.Map(func(r rune) rune {
			if i := slices.Index(from, r); i >= 0 {
				letters++
				return to[i]
			}
			return r
		}, part)
	}
	var out strings.Builder
	rest := text
	for _, at := range kept.FindAllStringIndex(text, -1) {
		start := at[0] - (len(text) - len(rest))
		out.WriteString(accent(rest[:start]))
		out.WriteString(text[at[0]:at[1]])
		rest = text[at[1]:]
	}
	out.WriteString(accent(rest))
	if letters == 0 {
		return out.String()
	}
	return out.String() + " ⟨" + strings.Repeat("ẋ", (letters*2+4)/5) + "⟩"
}

// inEnglish is a text of the pseudo-language as it was.
func inEnglish(text string) string {
	from, to := []rune(accentedLetters), []rune(asciiLetters)
	return strings.Map(func(r rune) rune {
		if i := slices.Index(from, r); i >= 0 {
			return to[i]
		}
		return r
	}, padding.ReplaceAllString(text, ""))
}

// pseudoTexts are all texts of the chat, and the reasons of refusals, in the pseudo-language.
func pseudoTexts(t *testing.T) fstest.MapFS {
	t.Helper()
	files, err := filepath.Glob("*.en.toml")
	if err != nil || len(files) < 5 {
		t.Fatal("no catalogue", err)
	}
	out := fstest.MapFS{}
	for _, name := range append(files, "../locale/en.toml") {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var texts map[string]any
		if err := toml.Unmarshal(raw, &texts); err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		if err := toml.NewEncoder(&body).Encode(pseudoOf(texts)); err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(strings.TrimSuffix(filepath.Base(name), "en.toml"), ".")+"."+pseudoLanguage+".toml"] = &fstest.MapFile{Data: body.Bytes()}
	}
	return out
}

func pseudoOf(value any) any {
	switch value := value.(type) {
	case string:
		return pseudo(value)
	case map[string]any:
		for key, inner := range value {
			value[key] = pseudoOf(inner)
		}
	}
	return value
}

// worldOf is what a transcript needs: a market, if its first lines say that there is one.
func worldOf(transcript string) world.Options {
	return world.Options{Market: strings.Contains(transcript, "There is a market.")}
}

// inPseudo is a harness whose people all speak the pseudo-language.
func inPseudo(t *testing.T, o world.Options) *harness {
	t.Helper()
	r := newHarnessIn(t, o)
	for _, p := range r.people {
		p.Language = pseudoLanguage
	}
	var err error
	r.chat, err = chat.NewIn(r.options(), pseudoTexts(t))
	r.Must(err)
	return r
}

// TestTranscriptsInThePseudoLanguage plays every transcript once more. It finds sentences that are no text of a
// catalogue, labels that are cut, and (by checkReply) messages and buttons over Telegram's limits.
func TestTranscriptsInThePseudoLanguage(t *testing.T) {
	files, err := filepath.Glob("testdata/*.chat")
	if err != nil || len(files) < 10 {
		t.Fatal("no transcripts", err)
	}
	for i, file := range files {
		if testing.Short() && i%4 != 0 { // what they would find does not depend on the race detector
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".chat"), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := inPseudo(t, worldOf(string(raw)))
			data := knownData()
			seen := 0
			for line := range strings.Lines(string(raw)) {
				if !strings.HasPrefix(line, "> ") {
					continue
				}
				for _, word := range letters.FindAllString(line, -1) { // what people and apps say comes back in replies
					data[strings.ToLower(word)] = true
				}
				r.happen(strings.TrimSpace(line[2:]))
				r.seen = nil
			}
			for _, said := range r.delivered {
				seen++
				checkPseudo(t, said, data)
			}
			if seen == 0 {
				t.Error("nothing was said")
			}
		})
	}
}

var (
	letters   = regexp.MustCompile(`[A-Za-z]{2,}`)
	notSpoken = regexp.MustCompile(`(?s)<code>.*?</code>|<tg-spoiler>.*?</tg-spoiler>|<[^<>]+>|&[a-z]+;|/[a-z_]+\b|POST …\S*|\b[0-9A-Za-z]{4}…[0-9A-Za-z]{6}\b|…[0-9A-Za-z]{4,6}\b|https://\S+|\b[1-9A-HJ-NP-Za-km-z]{30,}\b`)
)

// knownData are the words that come from nobody's catalogue: names of people, tokens, hosts, identifiers of the API and
// dates.
func knownData() map[string]bool {
	data := map[string]bool{}
	add := func(texts ...string) {
		for _, text := range texts {
			for _, word := range letters.FindAllString(text, -1) {
				data[strings.ToLower(word)] = true
			}
		}
	}
	add("alice bob carol dave erin frank", "CSV JSON SOL max HTTP security telegram solana admin official verified purser operator support wallet", "localnet", "wallet.example pages.example docs.example purser purser_bot", "UTC USD Tokyo Seoul Kolkata English Espa ol Portugu rk", "Jupiter sandswap dune amm The Daily Dune example",
		string(wallet.FreeTier), string(wallet.ProTier))
	for _, scope := range wallet.Scopes() {
		add(string(scope))
	}
	for _, code := range wallet.Currencies() {
		add(string(code))
	}
	for _, validator := range solana.Validators("purser") {
		add(validator.Name)
	}
	return data
}

// checkPseudo finds words without accents that are no data, and what was cut.
func checkPseudo(t *testing.T, said chat.Reply, data map[string]bool) {
	t.Helper()
	texts := []string{said.Text}
	for _, b := range slices.Concat(said.Buttons...) {
		texts = append(texts, b.Text)
		if strings.Count(b.Text, "⟨") != strings.Count(b.Text, "⟩") {
			t.Errorf("the label %q is cut", b.Text)
		}
	}
	if said.Keyboard != nil {
		texts = append(texts, said.Keyboard.People, said.Keyboard.Contact)
	}
	if said.Author != "" { // an app's own words stand in it
		texts = nil
	}
	if said.Kind == chat.Toast && utf8.RuneCountInString(said.Text) == 200 && strings.HasSuffix(said.Text, "…") {
		t.Errorf("the toast %q is cut", said.Text)
	}
	for _, text := range texts {
		var found []string
		for _, word := range letters.FindAllString(notSpoken.ReplaceAllString(text, " "), -1) {
			if !data[strings.ToLower(word)] {
				found = append(found, word)
			}
		}
		if len(found) > 0 {
			t.Errorf("%q are in no text of a catalogue, in %q", found, text)
		}
	}
}

// TestEachPersonIsToldInTheirLanguage: what one person does is told to another in that one's words.
func TestEachPersonIsToldInTheirLanguage(t *testing.T) {
	r := newHarness(t)
	r.people["carol"].Language = pseudoLanguage
	var err error
	r.chat, err = chat.NewIn(r.options(), pseudoTexts(t))
	r.Must(err)
	r.happen("operators carol alice")
	r.says("carol", "/start")
	r.says("alice", "/start")
	r.says("bob", "/start")
	r.happen("steps approval")
	for _, line := range []string{"bob: /api", "bob: Bookshop", "bob: Sells books", "bob taps I accept"} {
		r.happen(line)
	}
	r.delivered = nil
	r.happen("bob taps Ask the operator")
	told := map[bool]int{}
	for _, said := range r.delivered {
		if !strings.Contains(said.Text, "Bookshop") || len(said.Buttons) != 3 {
			continue
		}
		if pseudo := strings.Contains(said.Text, pseudo("Somebody requests API access")[:20]); pseudo {
			told[true]++
			checkPseudo(t, said, map[string]bool{"bob": true, "bookshop": true, "sells": true, "books": true, "wallet": true, "read": true})
		} else if strings.Contains(said.Text, "Somebody requests API access") {
			told[false]++
		}
	}
	if told[true] != 1 || told[false] != 1 {
		t.Errorf("told %v in the pseudo-language, of %+v", told, r.delivered)
	}
}

// TestAnAppsMessageIsMarkedInItsReadersLanguage: purser's own line above it, whoever's app it is.
func TestAnAppsMessageIsMarkedInItsReadersLanguage(t *testing.T) {
	r := newHarness(t)
	r.people["carol"].Language = pseudoLanguage
	var err error
	r.chat, err = chat.NewIn(r.options(), pseudoTexts(t))
	r.Must(err)
	r.says("carol", "/start")
	r.says("alice", "/start")
	r.happen("alice has a pro token for Shop")
	r.delivered = nil
	r.happen("alice's app writes to carol: hello")
	if len(r.delivered) != 1 || !strings.Contains(r.delivered[0].Text, "Ƞǿŧ ƒřǿḿ ƥŭřşḗř") {
		t.Errorf("delivered %+v", r.delivered)
	}
}
