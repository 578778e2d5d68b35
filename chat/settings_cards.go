package chat

import (
	"errors"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"purser/store"
	"purser/wallet"
)

// mark says whether something is on or chosen, before the label of its button.
func mark(on bool) html {
	if on {
		return "☑ "
	}
	return "☐ "
}

// drawSettings shows all settings in their message: a switch for each category, and a button for each other setting.
func (s *replyTx) drawSettings() error {
	on := s.user.Notifications == nil || s.user.Notifications.Enabled
	v, err := s.settingsVars()
	if err != nil {
		return err
	}
	v["On"] = on
	var buttons []Button
	if on {
		for _, category := range wallet.Categories() {
			label, err := s.words.text(categoryKey("category_button", category), nil)
			if err != nil {
				return err
			}
			wanted := s.user.Wants(category)
			b, err := s.settingsButton(mark(wanted)+label, "category:"+string(category)+":"+onOff(!wanted))
			if err != nil {
				return err
			}
			buttons = append(buttons, b)
		}
	}
	rows := slices.Collect(slices.Chunk(buttons, 2))
	all := "settings_button.all_off"
	if !on {
		all = "settings_button.all_on"
	}
	for _, row := range [][][2]string{
		{{"settings_button.large", "settings:" + settingLarge}, {"settings_button.quiet", "settings:" + settingQuiet}},
		{{"settings_button.currency", "settings:" + settingCurrency}, {"settings_button.zone", "settings:" + settingZone}},
		{{"settings_button.summary", "settings:" + settingSummary}, {"settings_button.language", "settings:" + settingLanguage}},
		{{all, "messages:" + onOff(!on)}},
	} {
		var line []Button
		for _, one := range row {
			b, err := s.settingsChoice(one[0], one[1])
			if err != nil {
				return err
			}
			line = append(line, b)
		}
		rows = append(rows, line)
	}
	return s.drawCard("settings.text", v, rows)
}

// onOff is the word of a switch's state in the objects of buttons.
func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// settingsVars are the variables of the texts about settings.
func (s *replyTx) settingsVars() (vars, error) {
	set := s.user.Settings
	spoken, err := s.languageName(set.Language)
	if err != nil {
		return nil, err
	}
	large, in := set.Large()
	v := vars{"Large": strconv.FormatUint(large, 10), "LargeIn": string(in), "Currency": string(set.Money()), "Zone": set.TimeZone.City(), "ZoneChosen": set.TimeZone != "",
		"Now": s.now.In(set.TimeZone.Location()).Format("15:04"), "Quiet": "", "Language": spoken, "NoRate": false,
		"Summary": s.user.Wants(wallet.CategorySummary), "Daily": set.Summary.Daily, "At": set.Summary.Time().String()}
	if set.Quiet != nil {
		v["Quiet"] = set.Quiet.String()
	}
	rate, err := s.rate()
	v["NoRate"] = rate.Currency != set.Money()
	return v, err
}

// languageName returns what a language is called by those who speak it. "" is the language of the person's Telegram.
func (s *replyTx) languageName(tag string) (html, error) {
	if tag == "" {
		return s.words.text("settings.telegram_language", nil)
	}
	name := display.Self.Name(language.Make(tag))
	if name == "" {
		name = tag
	}
	first, size := utf8.DecodeRuneInString(name) // most languages write their own name in lower case
	return html(escape(string(unicode.ToUpper(first)) + name[size:])), nil
}

// drawCard shows a text in the message of the settings.
func (s *replyTx) drawCard(key string, v vars, rows [][]Button) error {
	text, err := s.words.text(key, v)
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: rows, NewMessage: s.asNew}, settingsCard)
}

// settingsChoice returns a button of the settings with a label of the catalogue.
func (s *replyTx) settingsChoice(key, action string) (Button, error) {
	label, err := s.words.text(key, nil)
	if err != nil {
		return Button{}, err
	}
	return s.settingsButton(label, action)
}

// settingChoice is a value that a setting can be given by a button.
type settingChoice struct {
	label  html
	value  string // as a word, which the setter of the setting takes
	chosen bool
}

// drawSetting shows in the message of the settings what one of them can be set to.
func (s *replyTx) drawSetting(name string) error {
	v, err := s.settingsVars()
	if err != nil {
		return err
	}
	all, err := s.settingChoices(name)
	if err != nil {
		return err
	}
	shown := map[string]struct {
		text   string
		typing string // label of the button to type another value; "" without one
		perRow int
	}{
		settingZone:     {"settings.zone", "settings_button.type_zone", 1},
		settingQuiet:    {"settings.quiet", "settings_button.type_quiet", 2},
		settingLarge:    {"settings.large", "settings_button.type_large", 3},
		settingCurrency: {"settings.currency", "", 5},
		settingLanguage: {"settings.language", "", 2},
		settingSummary:  {"settings.summary", "", 3},
	}[name]
	if shown.text == "" { // a button of another version of purser
		return s.drawSettings()
	}
	var rows [][]Button
	for row := range slices.Chunk(all, shown.perRow) {
		var line []Button
		for _, one := range row {
			label := one.label
			if one.chosen {
				label = "• " + label
			}
			b, err := s.settingsButton(label, "setting:"+name+":"+one.value)
			if err != nil {
				return err
			}
			line = append(line, b)
		}
		rows = append(rows, line)
	}
	if shown.typing != "" {
		b, err := s.settingsChoice(shown.typing, "type:"+name)
		if err != nil {
			return err
		}
		rows = append(rows, []Button{b})
	}
	back, err := s.settingsChoice("settings_button.back", "settings:")
	if err != nil {
		return err
	}
	return s.drawCard(shown.text, v, append(rows, []Button{back}))
}

// settingChoices lists what a setting can be set to by a button.
func (s *replyTx) settingChoices(name string) (all []settingChoice, _ error) {
	set := s.user.Settings
	switch name {
	case settingCurrency:
		for _, code := range wallet.Currencies() {
			all = append(all, settingChoice{html(code), string(code), code == set.Money()})
		}
	case settingQuiet:
		for _, hours := range []string{"22:00-07:00", "23:00-07:00", "22:00-08:00", "00:00-08:00"} {
			q, err := wallet.ParseQuietHours(hours)
			if err != nil {
				return nil, err
			}
			all = append(all, settingChoice{html(q.String()), hours, set.Quiet != nil && *set.Quiet == q})
		}
		off, err := s.words.text("settings_button.quiet_off", nil)
		return append(all, settingChoice{off, "off", set.Quiet == nil}), err
	case settingSummary:
		return s.summaryChoices()
	case settingLarge:
		rate, err := s.tx.Rate(set.Money(), s.now)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		chosen, in := set.Large()
		for _, dollars := range []uint64{100, 500, 1000, 5000, 10_000, 50_000} {
			n := dollars * rate.Magnitude()
			all = append(all, settingChoice{html(strconv.FormatUint(n, 10)), strconv.FormatUint(n, 10), n == chosen && in == set.Money()})
		}
	case settingLanguage:
		for _, tag := range append([]string{""}, s.words.all.Languages()...) {
			label, err := s.languageName(tag)
			if err != nil {
				return nil, err
			}
			value := tag
			if tag == "" {
				value = languageOfTelegram
			}
			all = append(all, settingChoice{label, value, tag == set.Language})
		}
	}
	return all, nil
}

// summaryChoices lists how often and when summaries can come.
func (s *replyTx) summaryChoices() (all []settingChoice, _ error) {
	plan, on := s.user.Settings.Summary, s.user.Wants(wallet.CategorySummary)
	for _, one := range []struct {
		text, value string
		chosen      bool
	}{{"settings_button.daily", "daily", on && plan.Daily}, {"settings_button.weekly", "weekly", on && !plan.Daily}, {"settings_button.no_summary", "off", !on}} {
		label, err := s.words.text(one.text, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, settingChoice{label, one.value, one.chosen})
	}
	for _, at := range []string{"07:00", "08:00", "09:00", "12:00", "18:00", "21:00"} {
		all = append(all, settingChoice{html(at), at, on && plan.Time().String() == at})
	}
	return all, nil
}

// offerCities asks which city the person's clock is of, by what it shows.
func (s *replyTx) offerCities(shown wallet.TimeOfDay, cities []wallet.TimeZone) error {
	var buttons []Button
	for _, zone := range cities {
		b, err := s.settingsButton(html(escape(zone.City())), "setting:"+settingZone+":"+string(zone))
		if err != nil {
			return err
		}
		buttons = append(buttons, b)
	}
	if s.state() != idle && s.conv.Flow == settingsFlow {
		if err := s.transition(settingsFlow, settingSet); err != nil {
			return err
		}
	}
	if s.inbound.Tap == nil {
		if err := s.moveCard(settingsCard); err != nil {
			return err
		}
	}
	return s.drawCard("settings.cities", vars{"Time": shown.String()}, slices.Collect(slices.Chunk(buttons, 2)))
}
