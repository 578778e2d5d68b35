package chat

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// alertCommand is /alert: alerts on prices, one message each time that a price gets to a level, or moves by so much.
func alertCommand() conversation {
	return conversation{
		name: "alert",
		commands: []command{{name: "alert", menu: "menu.alert", usage: "usage.alert", looks: true, run: (*Chat).alert,
			aliases: map[string]string{"alerts": "", "pricealert": ""}}},
		callbacks: map[string]Callback{"alertgone": (*Chat).tapDeleteAlert},
		events:    map[wallet.EventName]notice{wallet.PriceAlert: {priority: alerts, waits: true, notify: withData((*replyTx).notifyPriceAlert)}},
	}
}

// alertButtonsARow is how many buttons of the list stand beside each other.
const alertButtonsARow = 5

// alertsCard is the card of the newest list of alerts.
const alertsCard = "alerts"

// alert answers /alert: without words with the list, and with a token and a condition with a new alert.
func (c *Chat) alert(ctx context.Context, h Inbound) (Action, error) {
	args := h.line.args
	switch {
	case len(args) == 0:
		return func(s *replyTx) error {
			if err := s.moveCard(alertsCard); err != nil {
				return err
			}
			return s.listAlerts()
		}, nil
	case len(args) == 1:
		return func(s *replyTx) error { return s.replyUsage("alert") }, nil
	}
	req, ok := readAlert(args[1:])
	if !ok {
		return func(s *replyTx) error { return s.replyUsage("alert") }, nil
	}
	ref, question, err := c.whichToken(ctx, h, args[0], func(mint string) string { return "/alert " + mint + " " + strings.Join(args[1:], " ") })
	switch {
	case err != nil:
		return refuse(err)
	case question != nil:
		return question, nil
	}
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	view, err := c.Prices.Price(ctx, ref) // so that the token is known, and sampled from now on
	if err != nil {
		return refuse(err)
	}
	if !view.Known() {
		return func(s *replyTx) error { return s.reply("alert.no_price", vars{"Token": tokenText(view.Token)}) }, nil
	}
	req.Token = view.Token
	return func(s *replyTx) error { return s.setAlert(req, view) }, nil
}

// readAlert reads the words of a condition: "above 200", "below $0.5", "±5% 1h", "5%". ok is false for anything else.
func readAlert(words []string) (req handlers.AlertRequest, ok bool) {
	sides := map[string]wallet.AlertCondition{"above": wallet.AlertAbove, "over": wallet.AlertAbove, ">": wallet.AlertAbove, "below": wallet.AlertBelow, "under": wallet.AlertBelow, "<": wallet.AlertBelow}
	if req.Condition, ok = sides[strings.ToLower(words[0])]; ok {
		if len(words) == 3 && strings.EqualFold(words[2], string(wallet.Dollars)) {
			words = words[:2]
		}
		if len(words) != 2 {
			return req, false
		}
		var err error
		req.Price, err = wallet.ParsePrice(strings.TrimPrefix(words[1], "$"))
		return req, err == nil
	}
	percent, isChange := strings.CutSuffix(words[0], "%")
	if !isChange || len(words) > 2 {
		return req, false
	}
	for _, sign := range []string{"±", "+/-", "+-"} {
		percent = strings.TrimPrefix(percent, sign)
	}
	req.Condition, req.Span = wallet.AlertMoves, wallet.AlertSpans()[0]
	if len(words) == 2 {
		at := slices.IndexFunc(wallet.AlertSpans(), func(span time.Duration) bool { return strings.EqualFold(words[1], wallet.SpanName(span)) })
		if at < 0 {
			return req, false
		}
		req.Span = wallet.AlertSpans()[at]
	}
	var err error
	req.Change, err = wallet.ParseChange(percent)
	return req, err == nil && req.Change > 0
}

// setAlert stores an alert and confirms it.
func (s *replyTx) setAlert(req handlers.AlertRequest, view handlers.PriceView) error {
	set, already, err := s.Alerts.Set(s.tx, s.caller(), req)
	if err != nil {
		return s.refuse(err)
	}
	v, err := s.alertVars(set)
	if err != nil {
		return err
	}
	v["Price"], v["Reached"] = view.Price.Price.Rounded(priceDigits).String(), set.Fired != wallet.AlertArmed
	v["Already"] = already
	rows, err := s.alertButtons(set)
	if err != nil {
		return err
	}
	// An alert that was set before is confirmed again, at the bottom of the chat.
	if err := s.moveCard(alertCard(set.ID)); err != nil {
		return err
	}
	text, err := s.words.text("alert.set", v)
	if err != nil {
		return err
	}
	silent, err := s.silentAlerts([]wallet.Alert{set})
	if err != nil {
		return err
	}
	text += silent
	return s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: rows, NewMessage: s.asNew}, alertCard(set.ID))
}

// alertCard is the card of the message that confirms an alert.
func alertCard(id wallet.AlertID) string { return "alert:" + string(id) }

// alertVars are the variables of texts about an alert.
func (s *replyTx) alertVars(a wallet.Alert) (vars, error) {
	v := vars{"Token": shortTokenName(a.Token), "Above": a.Condition == wallet.AlertAbove, "Moves": a.Condition == wallet.AlertMoves, "Target": a.Price.String(),
		"Percent": shortPercent(a.Change.Percent()), "Span": html("")}
	if a.Condition != wallet.AlertMoves {
		return v, nil
	}
	var err error
	v["Span"], err = s.spanName(wallet.SpanName(a.Span))
	return v, err
}

// shortPercent shortens a number of percent: "5" for "5.00".
func shortPercent(text string) string { return strings.TrimRight(strings.TrimRight(text, "0"), ".") }

// spanName words a span of an alert.
func (s *replyTx) spanName(span string) (html, error) {
	key := "alert_span.hour"
	if span != wallet.SpanName(time.Hour) {
		key = "alert_span.day"
	}
	return s.words.text(key, nil)
}

// alertButtons are the buttons below a message about one alert.
func (s *replyTx) alertButtons(a wallet.Alert) ([][]Button, error) {
	rows, err := s.menu("alert_button.chart", "/price "+a.Token.Ref().String(), "alert_button.all", "/alert")
	if err != nil {
		return nil, err
	}
	gone, err := s.catalogueButton("alert_button.delete", "alertgone:"+string(a.ID), alertCard(a.ID), s.now.Add(menuLife))
	if err != nil {
		return nil, err
	}
	return append(rows, []Button{gone}), nil
}

// listAlerts shows the person's alerts, each with a button to delete it.
func (s *replyTx) listAlerts() error {
	all, err := s.tx.AlertsOf(s.user.ID)
	if err != nil {
		return err
	}
	var lines []string
	var buttons []Button
	for i, a := range all {
		v, err := s.alertVars(a)
		if err != nil {
			return err
		}
		v["N"] = strconv.Itoa(i + 1)
		line, err := s.words.text("alert.line", v)
		if err != nil {
			return err
		}
		label, err := s.words.text("alert_button.delete_number", vars{"N": v["N"]})
		if err != nil {
			return err
		}
		b, err := s.button(label, "alertgone:"+string(a.ID), alertCard(a.ID), s.now.Add(menuLife))
		if err != nil {
			return err
		}
		lines, buttons = append(lines, string(line)), append(buttons, b)
	}
	key := "alert.list"
	if len(all) == 0 {
		key = "alert.none"
	}
	text, err := s.words.text(key, vars{"Lines": html(strings.Join(lines, "\n"))})
	if err != nil {
		return err
	}
	silent, err := s.silentAlerts(all)
	if err != nil {
		return err
	}
	text += silent
	return s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: slices.Collect(slices.Chunk(buttons, alertButtonsARow)), NewMessage: s.asNew}, alertsCard)
}

// tapDeleteAlert deletes an alert, and draws the list again if the button stood below it.
func (c *Chat) tapDeleteAlert(_ context.Context, _ Inbound, id string) (Action, error) {
	return func(s *replyTx) error {
		gone, err := s.Alerts.Delete(s.tx, s.caller(), wallet.AlertID(id))
		if ok, err := s.answerTap(err, "toast.alert_deleted"); !ok {
			return err
		}
		v, err := s.alertVars(gone)
		if err != nil {
			return err
		}
		switch listed, err := s.tx.Card(s.conv.Chat, alertsCard); {
		case err == nil && listed == s.inbound.MessageID:
			return s.listAlerts()
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return err
		}
		return s.show(alertCard(gone.ID), "alert.deleted", v)
	}, nil
}

// wantsAlert reports whether the person wants messages about an alert of this condition. Levels and changes have separate switches.
func (s *replyTx) wantsAlert(condition wallet.AlertCondition) bool {
	if condition == wallet.AlertMoves {
		return s.user.Wants(wallet.CategoryMove)
	}
	return s.user.Wants(wallet.CategoryAlert)
}

// silentAlerts says that the messages of one of these alerts are turned off; "" if all of them come.
func (s *replyTx) silentAlerts(all []wallet.Alert) (html, error) {
	if !slices.ContainsFunc(all, func(a wallet.Alert) bool { return !s.wantsAlert(a.Condition) }) {
		return "", nil
	}
	return s.words.text("alert.silent", nil)
}

// notifyPriceAlert notifies a person that the price of a token reached their alert. A
// held message shows the price and the time of the crossing.
func (s *replyTx) notifyPriceAlert(data wallet.PriceAlertData) error {
	if !s.wantsAlert(wallet.AlertCondition(data.Condition)) {
		return nil
	}
	a, err := s.tx.Alert(s.user.ID, wallet.AlertID(data.AlertID))
	if errors.Is(err, store.ErrNotFound) { // deleted since
		return nil
	}
	if err != nil {
		return err
	}
	v, err := s.alertVars(a)
	if err != nil {
		return err
	}
	price, err := wallet.ParsePrice(data.CurrentPrice)
	if err != nil {
		return err
	}
	v["Price"], v["Percent"], v["Fell"] = price.Rounded(priceDigits).String(), shortPercent(strings.TrimPrefix(data.ChangePercent.String(), "-")), strings.HasPrefix(data.ChangePercent.String(), "-")
	if v["Local"], err = s.localPrice(price); err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, data.TriggeredAt)
	if err != nil {
		return err
	}
	if v["Age"], err = s.age(at); err != nil {
		return err
	}
	rows, err := s.alertButtons(a)
	if err != nil {
		return err
	}
	return s.reply("alert.reached", v, rows...)
}
