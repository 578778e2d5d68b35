// Payments: how they are proposed, requested, signed and listed. Each type with the reader that checks it in a response.

import type { Fields } from "./fields.js";

/** The state of a transaction; docs/lifecycle.md explains each. */
export type Status =
  | "awaiting_confirmation" | "delayed" | "awaiting_signature" | "signed" | "pending" | "confirmed" | "failed" | "rejected" | "expired"
  | "received" | "requested" | (string & {});

/** A transfer to propose. */
export interface SendRequest {
  from: string;
  to: string;
  /** "1.5", in the token's own unit. */
  amount: string;
  /** A well-known symbol, or a mint. */
  token: string;
  /** A public note on chain, at most 256 bytes. */
  memo?: string | undefined;
  /** What the payment is for. The owner sees it before they confirm. It is not on chain. */
  label?: string | undefined;
}

/** A payment request to create. Anybody can pay it. */
export interface PaymentRequest {
  /** The wallet that is paid. */
  address: string;
  /** "1.5", in the token's own unit. */
  amount: string;
  /** A well-known symbol, or a mint. */
  token: string;
  /** A public note for the payment, at most 256 bytes. A wallet may omit it. */
  memo?: string | undefined;
  /** Who requests the payment, or for what. Wallets show it. */
  label?: string | undefined;
}

/** A payment request. purser watches for its payment until `expiresAt`. */
export interface RequestedPayment {
  transactionId: string;
  status: Status;
  recipient: string;
  amount: string;
  token: string;
  /** A Solana Pay link: show it as a QR code. */
  url: string;
  /** The public key by which the payment is found on chain. */
  reference: string;
  expiresAt: Date | undefined;
}

/** A proposed transfer, which waits for its owner's Confirm, for the end of a delay, or for a signature. */
export interface Proposal {
  transactionId: string;
  status: Status;
  /** The recipient. If `to` was a token account, this is its owner. */
  recipient: string;
  /** The fraud rules that found something. The owner sees them before they confirm. */
  warnings: string[];
  expiresAt: Date | undefined;
  /** When it can be signed, if it is "delayed". Otherwise undefined. */
  delayEndsAt: Date | undefined;
  /** base64; undefined until the owner's Confirm: see sign. */
  unsignedTransaction: string | undefined;
}

/** One transfer. What is not known yet is "" or undefined. */
export interface Transaction {
  transactionId: string;
  /** "send", "receive", "stake", "unstake", "withdraw", "swap" or "revoke". */
  type: string;
  status: Status;
  walletAddress: string;
  recipient: string;
  amount: string;
  token: string;
  /** "" for SOL. */
  mint: string;
  /** In SOL. An estimate until it lands. */
  fee: string;
  /** In SOL, for the recipient's new token account. */
  rent: string;
  /** In the token: the part of the amount that its issuer keeps. */
  transferFee: string;
  /** The failed transaction that it replaces. */
  retryOf: string;
  /** A public note on chain. */
  memo: string;
  /** The sender's description. It is not on chain. */
  label: string;
  /** What only this type has. Its `schema` names the other fields; undefined for types without. */
  terms: Readonly<Record<string, unknown>> | undefined;
  signature: string;
  reference: string;
  createdAt: Date | undefined;
  submittedAt: Date | undefined;
  confirmedAt: Date | undefined;
  blockHeight: number | undefined;
  confirmations: number | undefined;
  errorCode: string;
  errorMessage: string;
  /** The fraud rules that found something. */
  warnings: string[];
  /** True while it is unclear whether it landed. */
  held: boolean;
  /** The deadline for Confirm, then for the signature. Later undefined. */
  expiresAt: Date | undefined;
  /** When it can be signed, if it is "delayed". Otherwise undefined. */
  delayEndsAt: Date | undefined;
}

/** A gain or a loss of one token. */
export interface Change {
  token: string;
  /** "" for SOL. */
  mint: string;
  amount: string;
  /** "in" or "out". */
  direction: string;
}

/** One transaction of the list: purser's own, or one that purser read on chain, which has no transactionId. */
export interface HistoryEntry extends Transaction {
  /** "purser" or "chain". */
  source: string;
  /** Who was paid, or who paid; "" if there are several, or it is not known. */
  counterparty: string;
  /** The owner's contact with that address; "" for none. */
  counterpartyName: string;
  /** Why it may be there only to put an address into the history: "zero_value", "dust", "unlisted_token", "similar_address" or "". */
  suspect: string;
  /** undefined if source is "purser". */
  slot: number | undefined;
  /** What the wallet gained and lost, if source is "chain". */
  changes: Change[];
}

/** Filters transactions. An empty filter selects all. */
export interface TransactionFilter {
  address?: string;
  token?: string;
  type?: "send" | "receive" | "stake" | "unstake" | "withdraw" | "swap" | "revoke";
  status?: Status;
  since?: Date;
  until?: Date;
  /** "purser": only what purser recorded itself, without asking a Solana node. */
  source?: "purser";
  /** The nextCursor of the previous page. */
  cursor?: string;
  /** Entries per page: 1 to 100. */
  limit?: number;
}

/** One page of a list, newest first. It can have fewer items than requested, even none, and still have a next page. */
export interface TransactionPage {
  transactions: HistoryEntry[];
  /** "" on the last page. */
  nextCursor: string;
  /** False if transactions that purser did not record itself are missing because no Solana node answered. */
  complete: boolean;
}

/** The state of a transaction after a signature was submitted. */
export interface Progress {
  transactionId: string;
  status: Status;
}

/** Exactly one of the two: a signature over the newest blockhash (see sign), or the whole transaction as a wallet returned it, in base64. */
export type Signature = { signature: string } | { signedTransaction: string };

/** Readers of these types from `data` of a response. They throw Malformed. */
export const transactionReaders = {
  requestedPayment: (f: Fields): RequestedPayment => ({
    transactionId: f.some("transaction_id"), status: f.some("status"), recipient: f.text("recipient"), amount: f.text("amount"),
    token: f.text("token"), url: f.some("url"), reference: f.text("reference"), expiresAt: f.time("expires_at"),
  }),
  proposal: (f: Fields): Proposal => ({
    transactionId: f.some("transaction_id"), status: f.some("status"), recipient: f.text("recipient"), warnings: f.texts("warnings"), expiresAt: f.time("expires_at"), delayEndsAt: f.time("delay_ends_at"),
    unsignedTransaction: f.text("unsigned_transaction") || undefined,
  }),
  transaction: (f: Fields): Transaction => ({ ...transactionReaders.transactionFields(f), transactionId: f.some("transaction_id") }),
  transactionFields: (f: Fields): Transaction => ({
    transactionId: f.text("transaction_id"), type: f.text("type"), status: f.some("status"), walletAddress: f.text("wallet_address"),
    recipient: f.text("recipient"), amount: f.text("amount"), token: f.text("token"), mint: f.text("mint"), fee: f.text("fee"),
    rent: f.text("rent"), transferFee: f.text("transfer_fee"), retryOf: f.text("retry_of"), memo: f.text("memo"), label: f.text("label"), terms: f.object("terms"), signature: f.text("signature"),
    reference: f.text("reference"), createdAt: f.time("created_at"), submittedAt: f.time("submitted_at"),
    confirmedAt: f.time("confirmed_at"), blockHeight: f.number("block_height"), confirmations: f.number("confirmations"),
    errorCode: f.text("error_code"), errorMessage: f.text("error_message"), warnings: f.texts("warnings"), held: f.flag("held"), expiresAt: f.time("expires_at"), delayEndsAt: f.time("delay_ends_at"),
  }),
  entry: (f: Fields): HistoryEntry => ({
    ...transactionReaders.transactionFields(f), transactionId: f.text("source") === "chain" ? f.text("transaction_id") : f.some("transaction_id"),
    source: f.text("source"), counterparty: f.text("counterparty"), counterpartyName: f.text("counterparty_name"), suspect: f.text("suspect"),
    slot: f.number("slot"), changes: f.text("source") === "chain" ? f.records("changes").map((c) => ({
      token: c.some("token"), mint: c.text("mint"), amount: c.some("amount"), direction: c.some("direction"),
    })) : [],
  }),
  transactionPage: (f: Fields): TransactionPage => ({
    transactions: f.records("transactions").map(transactionReaders.entry), nextCursor: f.text("next_cursor"), complete: f.flag("complete"),
  }),
  progress: (f: Fields): Progress => ({ transactionId: f.some("transaction_id"), status: f.some("status") }),
};
