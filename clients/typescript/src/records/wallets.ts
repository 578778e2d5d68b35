// Wallets: how they are connected, and what they hold. Each type with the reader that checks it in a response.

import type { Fields } from "./fields.js";

/** A wallet that is connected to the key's owner, or to an operator's key itself. */
export interface Wallet {
  address: string;
  /** "page", "external" or "developer". "" after a disconnect whose first response was lost. */
  walletType: string;
  connectedAt: Date | undefined;
}

/** A connection link that was sent to a person's chat. */
export interface WalletLink {
  /** "sent_to_chat". */
  status: string;
  expiresAt: Date | undefined;
}

/** The text that a program signs to prove that it holds an address's key. */
export interface Challenge {
  address: string;
  /** To be signed byte for byte: see signChallenge. */
  message: string;
  expiresAt: Date | undefined;
}

/** The state of connecting a program's wallet. */
export interface Connection {
  address: string;
  /** "proven": the owner is being asked in chat. "done": it is connected. */
  status: string;
}

/** The balances of an address. */
export interface Balance {
  address: string;
  /** Listed tokens by symbol ("SOL"), others by mint. */
  balances: Map<string, Holding>;
  /** "" if a price is unknown. */
  totalUsdValue: string;
  updatedAt: Date | undefined;
}

/** The balance of one token. */
export interface Holding {
  amount: string;
  /** The part of amount that is reserved for confirmed transactions. */
  reserved: string;
  /** "" if its price is unknown. */
  usdValue: string;
  /** "" for SOL. */
  mint: string;
  decimals: number;
}

/** Readers of these types from `data` of a response. They throw Malformed. */
export const walletReaders = {
  wallet: (f: Fields): Wallet => ({ address: f.some("address"), walletType: f.text("wallet_type"), connectedAt: f.time("connected_at") }),
  wallets: (f: Fields): Wallet[] => f.records("wallets").map(walletReaders.wallet),
  walletLink: (f: Fields): WalletLink => ({ status: f.some("status"), expiresAt: f.time("expires_at") }),
  challenge: (f: Fields): Challenge => ({ address: f.some("address"), message: f.some("message"), expiresAt: f.time("expires_at") }),
  connection: (f: Fields): Connection => ({ address: f.some("address"), status: f.some("status") }),
  balance: (f: Fields): Balance => ({
    address: f.some("address"), totalUsdValue: f.text("total_usd_value"), updatedAt: f.time("updated_at"),
    balances: new Map(f.record("balances").entries().map(([name, h]) => [name, {
      amount: h.some("amount"), reserved: h.text("reserved"), usdValue: h.text("usd_value"), mint: h.text("mint"), decimals: h.count("decimals"),
    }])),
  }),
};
