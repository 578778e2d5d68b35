// What goes over the wire, and how it is read. An answer is believed field by field: JSON.parse tells
// nothing of types, and a payment without its id must not pass for one. Long: each object of the API has its
// type and its reader here, side by side.

/** Where a transaction is in its life. */
export type Status =
  | "awaiting_confirmation" | "awaiting_signature" | "signed" | "pending" | "confirmed" | "failed" | "rejected" | "expired"
  | "received" | "requested" | (string & {});

/** Who a key speaks for, and what is left of its limit. */
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
  /** undefined: never; late by up to a minute. */
  lastUsedAt: Date | undefined;
  rateLimit: RateLimit;
}

/** Requests in a rolling hour. */
export interface RateLimit {
  limit: number;
  remaining: number;
  /** Until one more is free. */
  resetSeconds: number;
}

/** The successor of a key. */
export interface RotatedKey {
  keyId: string;
  /** Told this once: keep it secret. */
  key: string;
  oldEndsAt: Date | undefined;
}

/** A wallet that is connected to the key's owner, or to an operator's key itself. */
export interface Wallet {
  address: string;
  /** "page", "external" or "developer"; "" of one that was disconnected by a call whose answer was lost. */
  walletType: string;
  connectedAt: Date | undefined;
}

/** A link that went to a person's chat. */
export interface WalletLink {
  /** "sent_to_chat". */
  status: string;
  expiresAt: Date | undefined;
}

/** The text by which a program proves that it holds an address's key. */
export interface Challenge {
  address: string;
  /** To be signed byte for byte: see signChallenge. */
  message: string;
  expiresAt: Date | undefined;
}

/** How far a wallet of a program's has come. */
export interface Connection {
  address: string;
  /** "proven": the owner is asked in chat; "done": it is connected. */
  status: string;
}

/** What an address holds. */
export interface Balance {
  address: string;
  /** Listed tokens by symbol ("SOL"), others by mint. */
  balances: Map<string, Holding>;
  /** "" while a price is not known. */
  totalUsdValue: string;
  updatedAt: Date | undefined;
}

/** What is held of one token. */
export interface Holding {
  amount: string;
  /** Held back for confirmed transactions, part of amount. */
  reserved: string;
  /** "" while its price is not known. */
  usdValue: string;
  /** "" for SOL. */
  mint: string;
  decimals: number;
}

/** What the key's owner is told of in their chat, or which events about a person an app receives. */
export interface Notifications {
  enabled: boolean;
  /** Names such as "transaction.received", wildcards such as "price.*". */
  events: string[];
  updatedAt: Date | undefined;
}

/** Notifications as they are set. No events are none at all. */
export interface NotificationSettings {
  enabled: boolean;
  events: readonly string[];
}

/** A transfer to be proposed. */
export interface SendRequest {
  from: string;
  to: string;
  /** "1.5", in the token's own unit. */
  amount: string;
  /** A well-known symbol, or a mint. */
  token: string;
  /** A public note on chain, at most 256 bytes. */
  memo?: string | undefined;
  /** What it is for: the owner sees it before they confirm; not on chain. */
  label?: string | undefined;
}

/** Asks anybody for a payment. */
export interface PaymentRequest {
  /** The wallet that is paid. */
  address: string;
  /** "1.5", in the token's own unit. */
  amount: string;
  /** A well-known symbol, or a mint. */
  token: string;
  /** A public note that the payment is asked to carry, at most 256 bytes. */
  memo?: string | undefined;
  /** Who asks, or for what: wallets show it. */
  label?: string | undefined;
}

/** A payment that is looked for until `expiresAt`. */
export interface RequestedPayment {
  transactionId: string;
  status: Status;
  recipient: string;
  amount: string;
  token: string;
  /** A Solana Pay link: show it as a QR code. */
  url: string;
  /** What the payment is found by. */
  reference: string;
  expiresAt: Date | undefined;
}

/** A transfer that awaits its owner's Confirm or a signature. */
export interface Proposal {
  transactionId: string;
  status: Status;
  /** Who is paid: the owner, where `to` was a token account. */
  recipient: string;
  expiresAt: Date | undefined;
  /** base64; undefined until the owner's Confirm: see sign. */
  unsignedTransaction: string | undefined;
}

/** One transfer. What is not known yet is "" or undefined. */
export interface Transaction {
  transactionId: string;
  /** "send" or "receive". */
  type: string;
  status: Status;
  walletAddress: string;
  recipient: string;
  amount: string;
  token: string;
  /** "" for SOL. */
  mint: string;
  /** SOL: estimated until it lands. */
  fee: string;
  /** SOL: for the recipient's new token account. */
  rent: string;
  /** Of the token: what its issuer keeps of the amount. */
  transferFee: string;
  /** Which failed one it takes the place of. */
  retryOf: string;
  /** A public note on chain. */
  memo: string;
  /** What it is said to be for; not on chain. */
  label: string;
  signature: string;
  reference: string;
  createdAt: Date | undefined;
  submittedAt: Date | undefined;
  confirmedAt: Date | undefined;
  blockHeight: number | undefined;
  confirmations: number | undefined;
  errorCode: string;
  errorMessage: string;
  /** Nobody can tell yet whether it landed. */
  held: boolean;
  /** Of Confirm, then of the signature; then undefined. */
  expiresAt: Date | undefined;
}

/** Chooses transactions; an empty one chooses all. */
export interface TransactionFilter {
  address?: string;
  token?: string;
  type?: "send" | "receive";
  status?: Status;
  since?: Date;
  until?: Date;
  /** Where a page begins: nextCursor of the one before. */
  cursor?: string;
  /** Of a page: 1 to 100. */
  limit?: number;
}

/** A part of a list, newest first. It may hold fewer than asked for, even none, and still have a next one. */
export interface TransactionPage {
  transactions: Transaction[];
  /** "" on the last page. */
  nextCursor: string;
}

/** What became of a transaction. */
export interface Progress {
  transactionId: string;
  status: Status;
}

/** One of both: over the newest blockhash (see sign), or the whole transaction as a wallet handed it back, in base64. */
export type Signature = { signature: string } | { signedTransaction: string };

/** A message to a person's chat. */
export interface Message {
  /** Their Telegram id, digits. */
  chatId: string;
  /** 1 to 4000 characters. */
  message: string;
  parseMode?: "" | "Markdown" | "MarkdownV2" | "HTML";
}

/** A message to the chat of the API key's owner. */
export type OwnerMessage = Omit<Message, "chatId">;

/** A message that Telegram took. */
export interface SentMessage {
  messageId: number;
  sentAt: Date | undefined;
}

/** A slash command that runs for a person. */
export interface Command {
  chatId: string;
  /** "/wallet balance". */
  command: string;
  /** Its reply is not posted; what must be confirmed always is. */
  silent?: boolean;
}

/** A slash command that runs for the API key's owner. */
export type OwnerCommand = Omit<Command, "chatId">;

/** What a command replied. */
export interface ExecutedCommand {
  command: string;
  /** Markdown. */
  response: string;
  executedAt: Date | undefined;
}

/** Somebody who uses the bot. */
export interface BotUser {
  telegramId: string;
  /** With its @; "" when unset. */
  username: string;
  registeredAt: Date | undefined;
  walletConnected: boolean;
  /** As setUserNotifications set it; true until then. */
  notificationsEnabled: boolean;
}

/** A receiver of a bot token's events, to be registered. */
export interface BotWebhookRequest {
  /** https. */
  url: string;
  /** "message.received", "wallet.*", "*", … */
  events: readonly string[];
  /** 16 to 128 bytes; left out, purser draws one. */
  secret?: string;
}

/** A receiver of platform events, to be registered. */
export interface WebhookRequest {
  /** https. */
  url: string;
  /** "transaction.confirmed", "price.*", "*", … */
  events: readonly string[];
  /** 16 to 128 printable ASCII characters; left out, purser draws one. */
  secret?: string;
  /** true when left out. */
  active?: boolean;
}

/** What is to be another way; what is left out stays. */
export interface WebhookChange {
  url?: string;
  events?: readonly string[];
  active?: boolean;
}

/** A receiver of events. */
export interface Webhook {
  webhookId: string;
  url: string;
  events: string[];
  active: boolean;
  createdAt: Date | undefined;
  updatedAt: Date | undefined;
  /** undefined: never. */
  lastTriggered: Date | undefined;
  /** undefined: it does not fail. */
  failingSince: Date | undefined;
  /** Why purser turned it off: "gone" (410), "failing", "backlog" (events waited for days), or "tier" (until the key has pro again); "" when it did not. */
  ended: string;
  /** One that purser drew, shown only once; else "". */
  secret: string;
}

/** A webhook, and how its deliveries fare. */
export interface WebhookStatus extends Webhook {
  health: WebhookHealth;
}

/** How a webhook's deliveries fare. */
export interface WebhookHealth {
  /** undefined: never. */
  lastSuccess: Date | undefined;
  /** Attempts in a row. */
  failures: number;
  /** 0: no answer, or never tried. */
  lastStatus: number;
  lastError: string;
  /** Deliveries, counted up to 10,000. */
  waiting: number;
  /** Of the last day, oldest first. failed counts attempts, deadLettered deliveries that were given up. */
  hours: { hour: Date | undefined; succeeded: number; failed: number; deadLettered: number }[];
  /** Of the last hour. */
  events: { used: number; limit: number };
}

/** What came of a test. */
export interface WebhookTest {
  deliveryId: string;
  delivered: boolean;
  /** 0: no answer. */
  status: number;
  latencyMs: number;
  error: string;
}

/** The new secret of a webhook. */
export interface WebhookSecret {
  webhookId: string;
  /** Told this once: keep it secret. */
  secret: string;
  /** Until when deliveries are signed by the one before too; undefined where that ended at once. */
  previousUntil: Date | undefined;
}

/** What can be said of all events of one name. */
export interface WebhookEvent {
  event: string;
  /** "api" or "bot": of the key whose webhooks take it. */
  kind: string;
  /** It is sent. */
  when: string;
  /** Of the grant by which others than its own person are told. */
  scope: string;
  public: boolean;
  /** False: nothing emits it yet. */
  emitted: boolean;
  /** JSON Schema of a body. */
  schema: unknown;
  /** A body. */
  example: unknown;
}

/** An event on its way to a webhook. */
export interface Delivery {
  deliveryId: string;
  /** The same in all attempts and resends. */
  eventId: string;
  event: string;
  state: "waiting" | "delivered" | "dead_lettered" | "revoked" | "superseded" | (string & {});
  createdAt: Date | undefined;
  /** Of a waiting one. */
  nextAt: Date | undefined;
  /** undefined while it waits. */
  endedAt: Date | undefined;
  resend: boolean;
  attempts: number;
  lastStatus: number;
  lastError: string;
}

/** A delivery with its body and all attempts. */
export interface WholeDelivery extends Delivery {
  /** Exactly what is signed and sent; "" where bodyShown is false. */
  body: string;
  /** It may be shown, and is kept. */
  bodyShown: boolean;
  /** Oldest first. answer is the first KiB of the receiver's. */
  attempted: { at: Date | undefined; latencyMs: number; status: number; error: string; answer: string }[];
}

/** Which deliveries are listed; nothing set is all. */
export interface DeliveryFilter {
  state?: string;
  event?: string;
  since?: Date;
  /** nextCursor of the page before. */
  cursor?: string;
  /** Of a page, at most 100; 20 when left out. */
  limit?: number;
}

/** A part of a list, newest first. It may hold fewer than asked for, even none, and still have a next one. */
export interface DeliveryPage {
  deliveries: Delivery[];
  /** "" on the last page. */
  nextCursor: string;
}

/** How far a recovery came. */
export interface Recovery {
  /** Deliveries that will be attempted again. */
  recovered: number;
  /** Recover again from here on; undefined when all was looked at. */
  nextSince: Date | undefined;
}

/** An answer that is not of the form that this client knows. Its message names the field, never its value. */
export class Malformed extends Error {}

/** One JSON object of an answer. */
export class Fields {
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(value: unknown, what: string) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Malformed(what);
    this.#fields = value as Record<string, unknown>;
  }

  #get(name: string): unknown {
    return Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined;
  }

  /** A text that may be "" or missing. */
  text(name: string): string {
    const value = this.#get(name) ?? "";
    if (typeof value !== "string") throw new Malformed(name);
    return value;
  }

  /** A text that a caller relies on. */
  some(name: string): string {
    const value = this.text(name);
    if (value === "") throw new Malformed(name);
    return value;
  }

  /** undefined for null or a missing one. */
  number(name: string): number | undefined {
    const value = this.#get(name) ?? undefined;
    if (value !== undefined && !Number.isSafeInteger(value)) throw new Malformed(name);
    return value as number | undefined;
  }

  count(name: string): number {
    const value = this.number(name);
    if (value === undefined) throw new Malformed(name);
    return value;
  }

  flag(name: string): boolean {
    const value = this.#get(name) ?? false;
    if (typeof value !== "boolean") throw new Malformed(name);
    return value;
  }

  /** undefined for "": the time has not come. */
  time(name: string): Date | undefined {
    const text = this.text(name);
    if (text === "") return undefined;
    const time = new Date(text);
    if (!/^\d{4}-\d\d-\d\dT/.test(text) || Number.isNaN(time.getTime())) throw new Malformed(name);
    return time;
  }

  texts(name: string): string[] {
    const value = this.#get(name);
    if (!Array.isArray(value) || !value.every((one) => typeof one === "string")) throw new Malformed(name);
    return value;
  }

  /** Whatever it is. */
  any(name: string): unknown {
    return this.#get(name);
  }

  record(name: string): Fields {
    return new Fields(this.#get(name), name);
  }

  records(name: string): Fields[] {
    const value = this.#get(name);
    if (!Array.isArray(value)) throw new Malformed(name);
    return value.map((one) => new Fields(one, name));
  }

  entries(): [string, Fields][] {
    return Object.entries(this.#fields).map(([name, value]) => [name, new Fields(value, "an entry")]);
  }
}

/** Readers of `data`, one for each record. */
export const read = {
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
  wallet: (f: Fields): Wallet => ({ address: f.some("address"), walletType: f.text("wallet_type"), connectedAt: f.time("connected_at") }),
  wallets: (f: Fields): Wallet[] => f.records("wallets").map(read.wallet),
  walletLink: (f: Fields): WalletLink => ({ status: f.some("status"), expiresAt: f.time("expires_at") }),
  challenge: (f: Fields): Challenge => ({ address: f.some("address"), message: f.some("message"), expiresAt: f.time("expires_at") }),
  connection: (f: Fields): Connection => ({ address: f.some("address"), status: f.some("status") }),
  balance: (f: Fields): Balance => ({
    address: f.some("address"), totalUsdValue: f.text("total_usd_value"), updatedAt: f.time("updated_at"),
    balances: new Map(f.record("balances").entries().map(([name, h]) => [name, {
      amount: h.some("amount"), reserved: h.text("reserved"), usdValue: h.text("usd_value"), mint: h.text("mint"), decimals: h.count("decimals"),
    }])),
  }),
  notifications: (f: Fields): Notifications => ({ enabled: f.flag("enabled"), events: f.texts("events"), updatedAt: f.time("updated_at") }),
  requestedPayment: (f: Fields): RequestedPayment => ({
    transactionId: f.some("transaction_id"), status: f.some("status"), recipient: f.text("recipient"), amount: f.text("amount"),
    token: f.text("token"), url: f.some("url"), reference: f.text("reference"), expiresAt: f.time("expires_at"),
  }),
  proposal: (f: Fields): Proposal => ({
    transactionId: f.some("transaction_id"), status: f.some("status"), recipient: f.text("recipient"), expiresAt: f.time("expires_at"),
    unsignedTransaction: f.text("unsigned_transaction") || undefined,
  }),
  transaction: (f: Fields): Transaction => ({
    transactionId: f.some("transaction_id"), type: f.text("type"), status: f.some("status"), walletAddress: f.text("wallet_address"),
    recipient: f.text("recipient"), amount: f.text("amount"), token: f.text("token"), mint: f.text("mint"), fee: f.text("fee"),
    rent: f.text("rent"), transferFee: f.text("transfer_fee"), retryOf: f.text("retry_of"), memo: f.text("memo"), label: f.text("label"), signature: f.text("signature"),
    reference: f.text("reference"), createdAt: f.time("created_at"), submittedAt: f.time("submitted_at"),
    confirmedAt: f.time("confirmed_at"), blockHeight: f.number("block_height"), confirmations: f.number("confirmations"),
    errorCode: f.text("error_code"), errorMessage: f.text("error_message"), held: f.flag("held"), expiresAt: f.time("expires_at"),
  }),
  transactionPage: (f: Fields): TransactionPage => ({
    transactions: f.records("transactions").map(read.transaction), nextCursor: f.text("next_cursor"),
  }),
  progress: (f: Fields): Progress => ({ transactionId: f.some("transaction_id"), status: f.some("status") }),
  sentMessage: (f: Fields): SentMessage => ({ messageId: f.count("message_id"), sentAt: f.time("sent_at") }),
  executedCommand: (f: Fields): ExecutedCommand => ({ command: f.some("command"), response: f.text("response"), executedAt: f.time("executed_at") }),
  botUser: (f: Fields): BotUser => ({
    telegramId: f.some("telegram_id"), username: f.text("username"), registeredAt: f.time("registered_at"),
    walletConnected: f.flag("wallet_connected"), notificationsEnabled: f.flag("notifications_enabled"),
  }),
  webhook: (f: Fields): Webhook & { shown: boolean } => ({ ...webhook(f), shown: f.flag("secret_shown") }),
  plainWebhook: (f: Fields): Webhook => webhook(f),
  webhooks: (f: Fields): Webhook[] => f.records("webhooks").map(webhook),
  webhookStatus: (f: Fields): WebhookStatus => {
    const h = f.record("health");
    const events = h.record("events");
    return {
      ...webhook(f),
      health: {
        lastSuccess: h.time("last_success"), failures: h.count("failures"), lastStatus: h.count("last_status"), lastError: h.text("last_error"), waiting: h.count("waiting"),
        hours: h.records("hours").map((o) => ({ hour: o.time("hour"), succeeded: o.count("succeeded"), failed: o.count("failed"), deadLettered: o.count("dead_lettered") })),
        events: { used: events.count("used"), limit: events.count("limit") },
      },
    };
  },
  webhookTest: (f: Fields): WebhookTest => ({
    deliveryId: f.some("delivery_id"), delivered: f.flag("delivered"), status: f.count("status"), latencyMs: f.count("latency_ms"), error: f.text("error"),
  }),
  webhookSecret: (f: Fields): WebhookSecret & { shown: boolean } => {
    const shown = f.flag("secret_shown");
    return { webhookId: f.some("webhook_id"), secret: shown ? "" : f.some("secret"), previousUntil: f.time("previous_until"), shown };
  },
  webhookEvents: (f: Fields): WebhookEvent[] => f.records("events").map((e) => ({
    event: e.some("event"), kind: e.some("kind"), when: e.text("when"), scope: e.text("scope"), public: e.flag("public"), emitted: e.flag("emitted"), schema: e.any("schema"), example: e.any("example"),
  })),
  delivery: (f: Fields): Delivery => delivery(f),
  wholeDelivery: (f: Fields): WholeDelivery => ({
    ...delivery(f), body: f.text("body"), bodyShown: f.flag("body_shown"),
    attempted: f.records("attempted").map((a) => ({
      at: a.time("at"), latencyMs: a.count("latency_ms"), status: a.count("status"), error: a.text("error"), answer: a.text("answer"),
    })),
  }),
  deliveryPage: (f: Fields): DeliveryPage => ({ deliveries: f.records("deliveries").map(delivery), nextCursor: f.text("next_cursor") }),
  recovery: (f: Fields): Recovery => ({ recovered: f.count("recovered"), nextSince: f.time("next_since") }),
};

function webhook(f: Fields): Webhook {
  return {
    webhookId: f.some("webhook_id"), url: f.some("url"), events: f.texts("events"), active: f.flag("active"), createdAt: f.time("created_at"),
    updatedAt: f.time("updated_at"), lastTriggered: f.time("last_triggered"), failingSince: f.time("failing_since"), ended: f.text("ended"), secret: f.text("secret"),
  };
}

function delivery(f: Fields): Delivery {
  return {
    deliveryId: f.some("delivery_id"), eventId: f.text("event_id"), event: f.text("event"), state: f.some("state"), createdAt: f.time("created_at"),
    nextAt: f.time("next_at"), endedAt: f.time("ended_at"), resend: f.flag("resend"), attempts: f.count("attempts"), lastStatus: f.count("last_status"),
    lastError: f.text("last_error"),
  };
}
