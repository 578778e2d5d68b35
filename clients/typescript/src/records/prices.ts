import type { Fields } from "./fields.js";

/** What one token costs in US dollars, as exact decimal text. It is information: a price may be old or wrong. */
export interface TokenPrice {
  /** The symbol of a listed token, otherwise its mint. */
  token: string;
  /** "" for SOL. */
  mint: string;
  listed: boolean;
  priceUsd: string;
  /** Such as "-1.25"; "" if nobody says it. */
  change24hPercent: string;
  source: string;
  updatedAt: Date | undefined;
  ageSeconds: number;
  /** Older than 15 minutes. */
  stale: boolean;
  /** Another source that differs by more than 5 %. */
  disagrees: { source: string; priceUsd: string } | undefined;
}

/** The prices of a request, and the tokens of it whose price nobody knows, as they were written. */
export interface Prices {
  prices: TokenPrice[];
  missing: string[];
}

/** How far back a price history reaches. */
export type PriceSpan = "1h" | "24h" | "7d" | "30d" | "365d";

/** What a token cost, oldest first, at most 300 points. */
export interface PriceHistory {
  token: string;
  /** "" for SOL. */
  mint: string;
  span: string;
  points: { at: Date | undefined; priceUsd: string }[];
}

/** Readers of these types from `data` of a response. They throw Malformed. */
export const priceReaders = {
  prices: (f: Fields): Prices => ({
    prices: f.records("prices").map((p) => ({
      token: p.some("token"), mint: p.text("mint"), listed: p.flag("listed"), priceUsd: p.some("price_usd"), change24hPercent: p.text("change_24h_percent"),
      source: p.some("source"), updatedAt: p.time("updated_at"), ageSeconds: p.count("age_seconds"), stale: p.flag("stale"),
      disagrees: p.object("disagrees") && { source: p.record("disagrees").some("source"), priceUsd: p.record("disagrees").some("price_usd") },
    })),
    missing: f.texts("missing"),
  }),
  priceHistory: (f: Fields): PriceHistory => ({
    token: f.some("token"), mint: f.text("mint"), span: f.some("span"),
    points: f.records("points").map((p) => ({ at: p.time("at"), priceUsd: p.some("price_usd") })),
  }),
};
