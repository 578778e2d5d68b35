package chat

import (
	"context"
	"strconv"
	"strings"

	"purser/wallet"
)

// settingsFlow is the name of the conversation that asks for a setting to be typed.
const settingsFlow = "settings"

// Its states, one for each setting that can be typed, and its triggers.
const (
	typingZone  State = "time zone"
	typingQuiet State = "quiet hours"
	typingLarge State = "large amount"

	zoneWanted  Trigger = "time zone missing or unknown"
	quietWanted Trigger = "quiet hours missing or wrong"
	largeWanted Trigger = "amount missing or wrong"
	settingSet  Trigger = "setting given"
)

// settingsCard is the card of the message that shows the settings. Each change edits it in place.
const settingsCard = "settings"

// settingsConversation is /notifications: which messages a person gets, when, in which money and in which language.
func settingsConversation() conversation {
	asked := func(state State, wanted Trigger, ask Effect) map[Trigger]Step {
		return map[Trigger]Step{
			wanted: {state, ask}, settingSet: {idle, nil}, cancelled: {idle, (*replyTx).sayUnchanged}, movedOn: {idle, nil}, timedOut: {idle, nil},
		}
	}
	return conversation{
		name: settingsFlow,
		commands: []command{{name: "notifications", menu: "menu.notifications", usage: "usage.notifications", looks: true, run: (*Chat).settings,
			aliases: map[string]string{"notification": "", "settings": "", "language": "language", "currency": "currency", "timezone": "zone", "quiet": "quiet", "summary": "summary", "mute": "off", "unmute": "on"}}},
		flow: Flow{
			idle:        {zoneWanted: {typingZone, (*replyTx).askZone}, quietWanted: {typingQuiet, (*replyTx).askQuiet}, largeWanted: {typingLarge, (*replyTx).askLarge}},
			typingZone:  asked(typingZone, zoneWanted, (*replyTx).askZone),
			typingQuiet: asked(typingQuiet, quietWanted, (*replyTx).askQuiet),
			typingLarge: asked(typingLarge, largeWanted, (*replyTx).askLarge),
		},
		version: 1, data: func() any { return new(struct{}) },
		texts: map[State]Handler{
			typingZone:  typed((*Chat).setZone),
			typingQuiet: typed((*Chat).setQuiet),
			typingLarge: typed((*Chat).setLarge),
		},
		callbacks: map[string]Callback{
			"category": (*Chat).tapCategory,
			"messages": (*Chat).tapMessages,
			"settings": (*Chat).tapSettings,
			"setting":  (*Chat).tapSetting,
			"type":     (*Chat).tapType,
		},
		events: map[wallet.EventName]notice{wallet.NotificationsSet: {priority: alerts, notify: withData((*replyTx).notifyNotificationsSet)}},
	}
}

// Names of settings, as words of the command and as objects of buttons.
const (
	settingZone     = "zone"
	settingQuiet    = "quiet"
	settingCurrency = "currency"
	settingLanguage = "language"
	settingLarge    = "large"
	settingSummary  = "summary"
)

// setters change a setting to what a word says. A word that they do not take asks again, or shows what can be chosen.
func setters() map[string]func(*Chat, string) Action {
	return map[string]func(*Chat, string) Action{
		settingZone: (*Chat).setZone, settingQuiet: (*Chat).setQuiet, settingCurrency: (*Chat).setCurrency,
		settingLanguage: (*Chat).setLanguage, settingLarge: (*Chat).setLarge, settingSummary: (*Chat).setSummary,
	}
}

// settings answers /notifications. Without words it shows the settings; "on" and "off" turn all messages on or off that can be; a setting and a word
// change it.
func (c *Chat) settings(_ context.Context, h Inbound) (Action, error) {
	args := h.line.args
	action := ""
	if len(args) > 0 {
		action = strings.ToLower(args[0])
	}
	set, isSetting := setters()[action]
	switch {
	case len(args) == 0 || action == "settings" && len(args) == 1:
		return showSettings, nil
	case (action == "on" || action == "off") && len(args) == 1:
		return func(s *replyTx) error {
			if err := s.moveCard(settingsCard); err != nil {
				return err
			}
			return s.changed(s.Notifications.Turn(s.tx, s.caller(), action == "on"))
		}, nil
	case isSetting && len(args) == 1:
		return func(s *replyTx) error {
			if err := s.moveCard(settingsCard); err != nil {
				return err
			}
			return s.drawSetting(action)
		}, nil
	case isSetting:
		return set(c, strings.Join(args[1:], " ")), nil
	}
	return func(s *replyTx) error { return s.replyUsage("notifications") }, nil
}

// showSettings shows the settings in a new message.
func showSettings(s *replyTx) error {
	if err := s.moveCard(settingsCard); err != nil {
		return err
	}
	return s.drawSettings()
}

// customize changes the settings, and shows them in their message.
func customize(change func(*wallet.Settings)) Action {
	return func(s *replyTx) error {
		user, err := s.Notifications.Customize(s.tx, s.caller(), change)
		if err != nil {
			return s.refuse(err)
		}
		s.user, s.words = user, s.wordsFor(user)
		if s.state() != idle && s.conv.Flow == settingsFlow { // an answer, below which the settings are shown
			if err := s.transition(settingsFlow, settingSet); err != nil {
				return err
			}
		}
		if s.inbound.Tap == nil {
			return showSettings(s)
		}
		return s.drawSettings()
	}
}

// askFor asks for a setting to be typed, with the reason why the last answer was refused, if one was.
func askFor(wanted Trigger, refused error) Action {
	return func(s *replyTx) error {
		if _, again := s.registry.flow(settingsFlow).Next(s.state(), wanted); s.conv.Flow != settingsFlow || !again { // another question is open
			if err := s.leave(); err != nil {
				return err
			}
		}
		s.refusal = refused
		return s.transition(settingsFlow, wanted)
	}
}

// typed returns the handler of an answer that sets a setting.
func typed(set func(*Chat, string) Action) Handler {
	return func(c *Chat, _ context.Context, h Inbound) (Action, error) { return set(c, h.Text), nil }
}

// setZone takes the name of a city or zone, or what the person's clock shows now: then it offers cities where it is that time.
func (c *Chat) setZone(text string) Action {
	if zone, err := wallet.ParseTimeZone(text); err == nil {
		return customize(func(to *wallet.Settings) { to.TimeZone = zone })
	}
	if shown, err := wallet.ParseTimeOfDay(strings.TrimSpace(text)); err == nil {
		if cities := wallet.TimeZonesAt(c.Now(), shown); len(cities) > 0 {
			return func(s *replyTx) error { return s.offerCities(shown, cities) }
		}
	}
	return askFor(zoneWanted, wallet.Refuse(wallet.InvalidRequest, "setting_value.zone", wallet.TextArg("Text", echo(text))))
}

// setQuiet takes hours such as "22:00-07:00", or "off".
func (c *Chat) setQuiet(text string) Action {
	if strings.EqualFold(strings.TrimSpace(text), "off") {
		return customize(func(to *wallet.Settings) { to.Quiet = nil })
	}
	hours, err := wallet.ParseQuietHours(text)
	if err != nil {
		return askFor(quietWanted, wallet.Refuse(wallet.InvalidRequest, "setting_value.quiet", wallet.TextArg("Text", echo(text))))
	}
	return customize(func(to *wallet.Settings) { to.Quiet = &hours })
}

// setLarge takes a whole number of the person's currency.
func (c *Chat) setLarge(text string) Action {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if err != nil || n == 0 || n > wallet.MaxLarge {
		return askFor(largeWanted, wallet.Refuse(wallet.InvalidRequest, "setting_value.large", wallet.TextArg("Text", echo(text)), wallet.NumberArg("Most", wallet.MaxLarge)))
	}
	return customize(func(to *wallet.Settings) { to.LargeFrom, to.LargeIn = n, to.Money() })
}

// setSummary takes "daily", "weekly", a time of day, or several of them. Choosing a time turns summaries on, and "off" turns them off.
func (c *Chat) setSummary(text string) Action {
	if strings.EqualFold(strings.TrimSpace(text), "off") {
		return switchSummary(false, nil)
	}
	return switchSummary(true, strings.Fields(text))
}

// switchSummary turns summaries on or off, and changes when they come by words (wallet.SummaryPlan.With).
func switchSummary(on bool, words []string) Action {
	return func(s *replyTx) error {
		plan := s.user.Settings.Summary
		for _, word := range words {
			var err error
			if plan, err = plan.With(word); err != nil {
				return s.refused(wallet.Refuse(wallet.InvalidRequest, "setting_value.summary", wallet.TextArg("Text", echo(strings.Join(words, " ")))))
			}
		}
		if s.user.Wants(wallet.CategorySummary) != on {
			if err := s.Notifications.Switch(s.tx, s.caller(), wallet.CategorySummary, on); err != nil {
				return s.refuse(err)
			}
		}
		return customize(func(to *wallet.Settings) { to.Summary = plan })(s)
	}
}

// setCurrency takes the code of a currency. It shows those that there are for anything else.
func (c *Chat) setCurrency(text string) Action {
	code, err := wallet.ParseCurrency(strings.TrimSpace(text))
	if err != nil {
		return func(s *replyTx) error {
			return s.refused(wallet.Refuse(wallet.InvalidRequest, "setting_value.currency", wallet.TextArg("Text", echo(text))))
		}
	}
	return customize(func(to *wallet.Settings) { to.Currency = code })
}

// setLanguage takes the tag of a language that purser speaks, or "telegram" for the one of the person's Telegram.
func (c *Chat) setLanguage(text string) Action {
	text = strings.TrimSpace(text)
	for _, tag := range append(c.words.all.Languages(), languageOfTelegram) {
		if strings.EqualFold(text, tag) {
			if tag == languageOfTelegram {
				tag = ""
			}
			return customize(func(to *wallet.Settings) { to.Language = tag })
		}
	}
	return func(s *replyTx) error {
		return s.refused(wallet.Refuse(wallet.InvalidRequest, "setting_value.language", wallet.TextArg("Text", echo(text))))
	}
}

// languageOfTelegram is the choice of the language of the person's Telegram.
const languageOfTelegram = "telegram"

// tapCategory turns the messages about a category on or off: the object is the category, and on or off.
func (c *Chat) tapCategory(_ context.Context, _ Inbound, object string) (Action, error) {
	category, to, _ := strings.Cut(object, ":")
	return func(s *replyTx) error {
		return s.changed(s.Notifications.Switch(s.tx, s.caller(), wallet.Category(category), to == "on"))
	}, nil
}

// tapMessages turns all messages on or off.
func (c *Chat) tapMessages(_ context.Context, _ Inbound, to string) (Action, error) {
	return func(s *replyTx) error { return s.changed(s.Notifications.Turn(s.tx, s.caller(), to == "on")) }, nil
}

// changed shows the settings after a change of the categories.
func (s *replyTx) changed(err error) error {
	if err != nil {
		return s.refuse(err)
	}
	if s.user, err = s.tx.User(s.user.ID); err != nil {
		return err
	}
	return s.drawSettings()
}

// tapSettings shows all settings, or what one can be set to.
func (c *Chat) tapSettings(_ context.Context, _ Inbound, name string) (Action, error) {
	return func(s *replyTx) error {
		if name == "" {
			return s.drawSettings()
		}
		return s.drawSetting(name)
	}, nil
}

// tapSetting sets a setting: the object is its name and the value as a word.
func (c *Chat) tapSetting(_ context.Context, _ Inbound, object string) (Action, error) {
	name, value, _ := strings.Cut(object, ":")
	set, ok := setters()[name]
	if !ok {
		return toast("toast.old"), nil
	}
	return set(c, value), nil
}

// tapType asks for a setting to be typed.
func (c *Chat) tapType(_ context.Context, _ Inbound, name string) (Action, error) {
	wanted, ok := map[string]Trigger{settingZone: zoneWanted, settingQuiet: quietWanted, settingLarge: largeWanted}[name]
	if !ok {
		return toast("toast.old"), nil
	}
	return askFor(wanted, nil), nil
}

func (s *replyTx) askZone() error  { return s.askSetting("settings.ask_zone", nil) }
func (s *replyTx) askQuiet() error { return s.askSetting("settings.ask_quiet", nil) }
func (s *replyTx) askLarge() error {
	return s.askSetting("settings.ask_large", vars{"Currency": string(s.user.Settings.Money())})
}

// askSetting asks for a setting to be typed.
func (s *replyTx) askSetting(key string, v vars) error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	if v == nil {
		v = vars{}
	}
	return s.ask(key, v, nil)
}

// sayUnchanged confirms /cancel.
func (s *replyTx) sayUnchanged() error { return s.reply("settings.unchanged", nil) }

// notifyNotificationsSet notifies a person that one of their keys changed which messages they get.
func (s *replyTx) notifyNotificationsSet(set wallet.AppEventsChosenData) error {
	v := vars{"KeyHint": html(""), "Foreign": false, "App": "", "Categories": html(""), "Off": !set.Enabled || len(set.Events) == 0}
	if err := s.askedBy(set.KeyID, s.user.ID, v); err != nil {
		return err
	}
	names, err := s.categoryNames(wallet.User{Notifications: &wallet.Notifications{Enabled: set.Enabled, Events: set.Events}})
	if err != nil {
		return err
	}
	v["Categories"] = html(strings.Join(names, ", "))
	rows, err := s.menu("settings_button.open", "/notifications")
	if err != nil {
		return err
	}
	return s.reply("settings.set_by_key", v, rows...)
}

// categoryNames names the categories that a person wants messages about.
func (s *replyTx) categoryNames(who wallet.User) (names []string, _ error) {
	for _, category := range wallet.Categories() {
		if !who.Wants(category) {
			continue
		}
		name, err := s.words.text(categoryKey("category", category), nil)
		if err != nil {
			return nil, err
		}
		names = append(names, string(name))
	}
	return names, nil
}

// categoryKey returns the key of a text about a category: category is its name, and category_button the label of its switch.
func categoryKey(section string, category wallet.Category) string {
	return section + "." + strings.ReplaceAll(string(category), ".", "_")
}

// settingsButton returns a button of the settings. Its nonce follows from what it does, so that tapping to and fro stores no more rows.
func (s *replyTx) settingsButton(label html, action string) (Button, error) {
	nonce := nonceOf(settingsCard, strconv.FormatInt(s.conv.Chat, 10), strconv.FormatInt(s.conv.User, 10), action)
	return s.buttonOf(nonce, label, action, settingsCard, s.now.Add(menuLife))
}
