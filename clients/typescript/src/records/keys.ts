// API keys and bot tokens. Each type with the reader that checks it in a response.

import type { Fields } from "./fields.js";

/** A key: its owner, scopes and remaining rate limit. */
export interface Key {
  keyId: string;
  /** "api" or "bot". */
  kind: string;
  /** "free" or "pro". */
  tier: string;
  /** Such as "wallet:read". */
  scopes: string[];
  /** "" for an operator's. */
  owner: string;
  /** "" for none. */
  appId: string;
  cluster: string;
  createdAt: Date | undefined;
  /** undefined: never. */
  expiresAt: Date | undefined;
  /** undefined: never. It can be up to a minute late. */
  lastUsedAt: Date | undefined;
  rateLimit: RateLimit;
}

/** A limit of requests per rolling hour. */
export interface RateLimit {
  limit: number;
  remaining: number;
  /** Seconds until one more is free. */
  resetSeconds: number;
}

/** The key that replaces a rotated one. */
export interface RotatedKey {
  keyId: string;
  /** Shown only once. */
  key: string;
  oldEndsAt: Date | undefined;
}

/** Readers of these types from `data` of a response. They throw Malformed. */
export const keyReaders = {
  key: (f: Fields): Key => {
    const left = f.record("rate_limit");
    return {
      keyId: f.some("key_id"), kind: f.some("kind"), tier: f.text("tier"), scopes: f.texts("scopes"), owner: f.text("owner"),
      appId: f.text("app_id"), cluster: f.text("cluster"), createdAt: f.time("created_at"), expiresAt: f.time("expires_at"),
      lastUsedAt: f.time("last_used_at"),
      rateLimit: { limit: left.count("limit"), remaining: left.count("remaining"), resetSeconds: left.count("reset_seconds") },
    };
  },
  rotatedKey: (f: Fields): RotatedKey & { shown: boolean } => {
    const shown = f.flag("secret_shown");
    return { keyId: f.some("key_id"), key: shown ? "" : f.some("key"), oldEndsAt: f.time("old_ends_at"), shown };
  },
};
