package api

import (
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// alertData is a price alert. Prices are in US dollars, as decimals.
type alertData struct {
	AlertID       wallet.AlertID        `json:"alert_id"`
	Token         string                `json:"token"` // symbol of a listed token, or the mint
	Condition     wallet.AlertCondition `json:"condition"`
	Price         string                `json:"price"`          // "" for an alert on a change
	ChangePercent string                `json:"change_percent"` // "" for an alert on a price
	Timeframe     string                `json:"timeframe"`      // "" for an alert on a price
	Armed         bool                  `json:"armed"`          // false: the price has to go back before the alert is sent again
	CreatedAt     string                `json:"created_at"`
	TriggeredAt   string                `json:"triggered_at"` // "" for never
}

// alertOf renders an alert.
func alertOf(a wallet.Alert) alertData {
	d := alertData{AlertID: a.ID, Token: a.Token.Name(), Condition: a.Condition, Price: a.Price.String(), Armed: a.Fired == wallet.AlertArmed,
		CreatedAt: stamp(a.CreatedAt), TriggeredAt: stamp(a.FiredAt)}
	if a.Condition == wallet.AlertMoves {
		d.ChangePercent, d.Timeframe = a.Change.Percent(), wallet.SpanName(a.Span)
	}
	return d
}

// alertsData is `data` of GET /v1/alerts, oldest first.
type alertsData struct {
	Alerts []alertData `json:"alerts"`
	Limit  int         `json:"limit"` // how many one person can have
}

// alerts is GET /v1/alerts: the price alerts of the key's owner, those set in the chat too.
func (s *Server) alerts(c *fiber.Ctx, key wallet.Key) error {
	if err := ofPerson(key); err != nil {
		return err
	}
	all, err := s.Alerts.Of(c.UserContext(), handlers.CallerOf(key))
	if err != nil {
		return err
	}
	data := alertsData{Alerts: []alertData{}, Limit: wallet.MaxAlerts}
	for _, a := range all {
		data.Alerts = append(data.Alerts, alertOf(a))
	}
	return s.succeed(c, fiber.StatusOK, "done.alerts", data)
}

// setAlert is POST /v1/alerts {token, condition, price | change_percent, timeframe}. An alert that exists is
// returned unchanged, and the message says so.
func (s *Server) setAlert(c *fiber.Ctx, key wallet.Key) error {
	if err := ofPerson(key); err != nil {
		return err
	}
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	ref, req, err := alertRequest(fields)
	if err != nil {
		return err
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		view, err := s.Prices.Price(c.UserContext(), ref)
		if err != nil {
			return err
		}
		if !view.Known() {
			return wallet.About(wallet.FieldToken, wallet.Refuse(wallet.InvalidRequest, "alert_refused.no_price"))
		}
		req.Token = view.Token
		return s.answer(c, fiber.StatusCreated, saveAnswer, func(tx store.Tx) ([]byte, error) {
			a, existed, err := s.Alerts.Set(tx, handlers.CallerOf(key), req)
			if err != nil {
				return nil, err
			}
			if existed {
				return s.envelope("done.alert_exists", alertOf(a))
			}
			return s.envelope("done.alert_set", alertOf(a))
		})
	})
}

// alertRequest parses the fields of an alert. What does not belong to its condition is refused.
func alertRequest(fields object) (ref wallet.TokenRef, req handlers.AlertRequest, err error) {
	const condition, price, change, timeframe = "condition", "price", "change_percent", "timeframe"
	if err := fields.only(string(wallet.FieldToken), condition, price, change, timeframe); err != nil {
		return ref, req, err
	}
	if ref, err = fields.token(); err != nil {
		return ref, req, err
	}
	text, err := fields.text(condition)
	if err != nil {
		return ref, req, err
	}
	req.Condition = wallet.AlertCondition(text)
	switch req.Condition {
	case wallet.AlertAbove, wallet.AlertBelow:
		if err := fields.only(string(wallet.FieldToken), condition, price); err != nil {
			return ref, req, err
		}
		if text, err = fields.text(price); err != nil {
			return ref, req, err
		}
		if req.Price, err = wallet.ParsePrice(text); err != nil {
			return ref, req, bad(price, "alert_refused.price")
		}
		return ref, req, nil
	case wallet.AlertMoves:
		if err := fields.only(string(wallet.FieldToken), condition, change, timeframe); err != nil {
			return ref, req, err
		}
		if text, err = fields.text(change); err != nil {
			return ref, req, err
		}
		if req.Change, err = wallet.ParseChange(text); err != nil {
			return ref, req, bad(change, "alert_refused.change")
		}
		if text, err = fields.optional(timeframe, wallet.SpanName(time.Hour)); err != nil {
			return ref, req, err
		}
		at := slices.IndexFunc(wallet.AlertSpans(), func(span time.Duration) bool { return wallet.SpanName(span) == text })
		if at < 0 {
			return ref, req, bad(timeframe, "body.one_of", wallet.ListArg("Choices", []string{"1h", "24h"}))
		}
		req.Span = wallet.AlertSpans()[at]
		return ref, req, nil
	}
	return ref, req, bad(condition, "body.one_of", wallet.ListArg("Choices", []string{string(wallet.AlertAbove), string(wallet.AlertBelow), string(wallet.AlertMoves)}))
}

// deleteAlert is DELETE /v1/alerts/{alert_id}. It answers with the alert as it was.
func (s *Server) deleteAlert(c *fiber.Ctx, key wallet.Key) error {
	if err := ofPerson(key); err != nil {
		return err
	}
	id := c.Params("alert_id")
	if !saneID(id) {
		return wallet.Refuse(wallet.NotFound, "alert_refused.gone")
	}
	var gone wallet.Alert
	err := s.Store.Update(c.UserContext(), func(tx store.Tx) (err error) {
		gone, err = s.Alerts.Delete(tx, handlers.CallerOf(key), wallet.AlertID(id))
		return err
	})
	if err != nil {
		return err
	}
	return s.succeed(c, fiber.StatusOK, "done.alert_deleted", alertOf(gone))
}
