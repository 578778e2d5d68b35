import type { Fields } from "./fields.js";

/** When an alert is sent: the price rises to a level, falls to it, or changes by a percentage within a time. */
export type AlertCondition = "above" | "below" | "change";

/** A price alert of the key's owner. Prices are exact decimal text, in US dollars. */
export interface Alert {
  alertId: string;
  /** The symbol of a listed token, otherwise its mint. */
  token: string;
  condition: string;
  /** "" for an alert on a change. */
  price: string;
  /** "" for an alert on a price. */
  changePercent: string;
  /** "1h" or "24h"; "" for an alert on a price. */
  timeframe: string;
  /** false: the price has to go back before the alert is sent again. */
  armed: boolean;
  createdAt: Date | undefined;
  /** undefined: never. */
  triggeredAt: Date | undefined;
}

/** A new alert: "above" or "below" with a price, or "change" with a percentage and a timeframe ("1h" if none is given). */
export interface AlertRequest {
  token: string;
  condition: AlertCondition;
  price?: string;
  changePercent?: string;
  timeframe?: "1h" | "24h";
}

/** The alerts of a person, and how many one person can have. */
export interface Alerts {
  alerts: Alert[];
  limit: number;
}

const alert = (f: Fields): Alert => ({
  alertId: f.some("alert_id"), token: f.some("token"), condition: f.some("condition"), price: f.text("price"), changePercent: f.text("change_percent"),
  timeframe: f.text("timeframe"), armed: f.flag("armed"), createdAt: f.time("created_at"), triggeredAt: f.time("triggered_at"),
});

/** Readers of these types from `data` of a response. They throw Malformed. */
export const alertReaders = {
  alert,
  alerts: (f: Fields): Alerts => ({ alerts: f.records("alerts").map(alert), limit: f.count("limit") }),
};
