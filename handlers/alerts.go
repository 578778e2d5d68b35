package handlers

import (
	"context"
	"errors"
	"time"

	"purser/store"
	"purser/wallet"
)

// Alerts manages people's alerts on prices.
type Alerts struct {
	Store store.Store
	Now   Clock
	NewID IDs
}

// AlertRequest is a new alert. The token must be one that exists, with a price. Price is set for AlertAbove and AlertBelow, and Change and Span for AlertMoves.
type AlertRequest struct {
	Token     wallet.Token
	Condition wallet.AlertCondition
	Price     wallet.Price
	Change    wallet.Change
	Span      time.Duration
}

// Of lists the caller's alerts, oldest first.
func (a *Alerts) Of(ctx context.Context, who Caller) ([]wallet.Alert, error) {
	return read(ctx, a.Store, func(tx store.Tx) ([]wallet.Alert, error) { return tx.AlertsOf(who.User) })
}

// Set creates an alert. If the caller already has the same alert, Set changes nothing and returns it, and existed is true. An alert whose
// level is reached already waits until the price has gone back, so that it tells of a crossing and not of what is so now. Errors:
// INVALID_REQUEST for what is no alert; CONFLICT if the caller has wallet.MaxAlerts; USER_NOT_FOUND.
func (a *Alerts) Set(tx store.Tx, who Caller, req AlertRequest) (alert wallet.Alert, existed bool, err error) {
	alert = wallet.Alert{ID: wallet.AlertID(a.NewID("alr")), Owner: who.User, Token: req.Token, Condition: req.Condition, Price: req.Price, Change: req.Change, Span: req.Span,
		KeyID: who.KeyID, CreatedAt: a.Now().UTC()}
	if err := alert.Check(); err != nil {
		return alert, false, wallet.Refuse(wallet.InvalidRequest, "alert_refused.wrong", wallet.TextArg("Least", wallet.Change(wallet.LeastAlertMove).Percent()), wallet.TextArg("Most", wallet.Change(wallet.MaxAlertMove).Percent()))
	}
	all, err := tx.AlertsOf(who.User)
	if err != nil {
		return alert, false, err
	}
	for _, other := range all {
		if other.Token.Mint == alert.Token.Mint && other.Condition == alert.Condition && other.Price == alert.Price && other.Change == alert.Change && other.Span == alert.Span {
			return other, true, nil
		}
	}
	alert, mark, err := begin(tx, alert)
	if err != nil {
		return alert, false, err
	}
	switch err := tx.PutAlert(alert); {
	case errors.Is(err, store.ErrConflict):
		return alert, false, wallet.Refuse(wallet.Conflict, "alert_refused.too_many", wallet.NumberArg("Most", wallet.MaxAlerts))
	case err != nil:
		return alert, false, found(err, wallet.UserNotFound, "person.gone")
	}
	if mark != nil {
		err = tx.PutAlertMark(alert.Series(), *mark)
	}
	return alert, false, err
}

// begin sets a new alert's initial state. If nobody watches its series, mark is the newest known price. If mark is nil, the next reading starts the
// series.
func begin(tx store.Tx, alert wallet.Alert) (_ wallet.Alert, mark *wallet.AlertMark, _ error) {
	series := alert.Series()
	for _, watched := range tx.WatchedSeries(series.Mint) {
		if mark, ok := tx.AlertMark(series); ok && watched == series {
			return alert.Begun(mark.Level), nil, nil
		}
	}
	if series.Span > 0 { // the first reading is where it begins
		return alert, nil, nil
	}
	prices, err := tx.Prices([]wallet.Address{series.Mint})
	if err != nil {
		return alert, nil, err
	}
	price := prices[series.Mint].Price
	if !price.Known() {
		return alert, nil, nil
	}
	level := wallet.PriceLevel(price)
	return alert.Begun(level), &wallet.AlertMark{Level: level}, nil
}

// Delete removes an alert of the caller and returns it. NOT_FOUND without one.
func (a *Alerts) Delete(tx store.Tx, who Caller, id wallet.AlertID) (wallet.Alert, error) {
	alert, err := tx.Alert(who.User, id)
	if err != nil {
		return alert, found(err, wallet.NotFound, "alert_refused.gone")
	}
	return alert, found(tx.DeleteAlert(who.User, id), wallet.NotFound, "alert_refused.gone")
}
