package purser

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Alert is a price alert of the key's owner. Prices are exact decimal text, in US dollars.
type Alert struct {
	AlertID       string    `json:"alert_id"`
	Token         string    `json:"token"`          // the symbol of a listed token, otherwise its mint
	Condition     string    `json:"condition"`      // "above", "below" or "change"
	Price         string    `json:"price"`          // "" for an alert on a change
	ChangePercent string    `json:"change_percent"` // "" for an alert on a price
	Timeframe     string    `json:"timeframe"`      // "1h" or "24h"; "" for an alert on a price
	Armed         bool      `json:"armed"`          // false: the price has to go back before the alert is sent again
	CreatedAt     time.Time `json:"created_at"`
	TriggeredAt   time.Time `json:"triggered_at"` // zero for never
}

func (a Alert) complete() bool { return a.AlertID != "" && a.Token != "" && a.Condition != "" }

// AlertRequest is a new alert: a condition with a price, or "change" with a percentage.
type AlertRequest struct {
	Token         string `json:"token"` // symbol or mint
	Condition     string `json:"condition"`
	Price         string `json:"price,omitempty"`          // of "above" and "below"
	ChangePercent string `json:"change_percent,omitempty"` // of "change"
	Timeframe     string `json:"timeframe,omitempty"`      // of "change": "1h" or "24h"; "" is "1h"
}

// Alerts are the alerts of the key's owner, oldest first, and how many one person can have.
type Alerts struct {
	Alerts []Alert `json:"alerts"`
	Limit  int     `json:"limit"`
}

func (a Alerts) complete() bool { return a.Alerts != nil && all(a.Alerts) }

// Alerts is GET /v1/alerts.
func (c *Client) Alerts(ctx context.Context) (Alerts, error) {
	return do[Alerts](ctx, c, call{method: http.MethodGet, path: "/v1/alerts"})
}

// SetAlert is POST /v1/alerts. Setting an alert that exists returns the existing one.
func (c *Client) SetAlert(ctx context.Context, req AlertRequest) (Alert, error) {
	return do[Alert](ctx, c, call{method: http.MethodPost, path: "/v1/alerts", body: req})
}

// DeleteAlert is DELETE /v1/alerts/{alert_id}. It returns the alert as it was.
func (c *Client) DeleteAlert(ctx context.Context, alertID string) (Alert, error) {
	return do[Alert](ctx, c, call{method: http.MethodDelete, path: "/v1/alerts/" + url.PathEscape(alertID)})
}
