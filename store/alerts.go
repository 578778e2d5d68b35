package store

import "purser/wallet"

// AlertCrossing is an alert and the crossing that it waits for.
type AlertCrossing struct {
	Alert    wallet.Alert
	Crossing wallet.Crossing
}

// Alerts are people's alerts on prices, with an index by the levels that they wait for: a price that moves leads to the alerts between its old and its new
// level, and to no others.
type Alerts interface {
	// Alert finds an alert of an owner. ErrNotFound.
	Alert(owner wallet.UserID, id wallet.AlertID) (wallet.Alert, error)
	// AlertsOf lists a person's alerts by their ids, at most wallet.MaxAlerts. A damaged row is left out, and can be deleted.
	AlertsOf(owner wallet.UserID) ([]wallet.Alert, error)
	// PutAlert creates or replaces an alert, and what it waits for. The first one of a series removes the series' mark: it may be old. ErrNotFound: its owner was erased. ErrConflict: the owner has as many as are allowed.
	PutAlert(wallet.Alert) error
	// DeleteAlert removes an alert. ErrNotFound without one.
	DeleteAlert(owner wallet.UserID, id wallet.AlertID) error
	// CrossedAlerts lists the alerts that a series concerns on its way from one level to another, at most limit, the first level first. An alert
	// at the level where the series comes from is not among them, one at the level to which it comes is. A damaged row is left out, and its place in the index
	// removed.
	CrossedAlerts(series wallet.Series, from, to wallet.Level, limit int) ([]AlertCrossing, error)
	// WatchedSeries lists what somebody watches of a token: its price, and its change over some spans.
	WatchedSeries(mint wallet.Address) []wallet.Series
	// AlertMints lists the tokens that somebody has an alert on, each once in the order of bytes, behind the last one of the page before. The zero
	// address begins. SOL is not listed.
	AlertMints(after wallet.Address, limit int) ([]wallet.Address, error)
	// AlertMark is up to where a series has been compared with alerts; false before the first time, and for a damaged one.
	AlertMark(series wallet.Series) (wallet.AlertMark, bool)
	// PutAlertMark moves it.
	PutAlertMark(series wallet.Series, mark wallet.AlertMark) error
}
