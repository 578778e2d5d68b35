import { SecretLostError } from "./errors.js";
import { read } from "./records.js";
import type {
  Balance, BotUser, BotWebhookRequest, Challenge, Command, Connection, Delivery, DeliveryFilter, DeliveryPage, ExecutedCommand, HistoryEntry, Key, Message,
  NotificationSettings, Notifications, OwnerCommand, OwnerMessage, PaymentRequest, Progress, Proposal, Recovery, RequestedPayment, RotatedKey, SendRequest, SentMessage, Signature, Transaction,
  TransactionFilter, TransactionPage, Wallet, WalletLink, Webhook, WebhookChange, WebhookEvent, WebhookRequest, WebhookSecret, WebhookStatus,
  WebhookTest, WholeDelivery,
} from "./records.js";
import { Wire, type CallOptions, type ClientOptions } from "./wire.js";

export type { CallOptions, ClientOptions } from "./wire.js";

/**
 * Speaks for one key at one purser. What purser refuses is thrown as a PurserError; every other error
 * means that nobody answered, or that the arguments were never sent.
 *
 * A call is tried up to 4 times: after 429, 502, 503, 504, a 409 that asks for patience by Retry-After,
 * and where no answer came. That is safe for every call: each POST carries an Idempotency-Key, the same
 * one on every try, by which purser carries it out once.
 */
export class PurserClient {
  readonly #wire: Wire;

  /**
   * @param baseUrl of the purser: "https://wallet.example.org"; a path before /v1 is kept. Over http://
   *   a key travels readable: only within one machine.
   * @param key "pur_live_…", "pur_test_…" or "pur_bot_…". A page that others open is no place for one.
   */
  constructor(baseUrl: string, key: string, options: ClientOptions = {}) {
    this.#wire = new Wire(baseUrl, key, options);
  }

  /** GET /v1/key: the key that this client speaks for. Any key may ask. */
  async key(options?: CallOptions): Promise<Key> {
    return this.#wire.call("GET", "/v1/key", read.key, options);
  }

  /**
   * POST /v1/key/rotate: makes the successor of this client's key; the client goes on with the old one.
   * endNow ends the old key at once and not in 24 hours.
   *
   * Where it fails with SecretLostError the old key works until record.oldEndsAt and cannot be rotated
   * again: ask the operator for a key before that. With endNow a lost answer can leave no key at all (its
   * repetition is refused with INVALID_API_KEY): prefer the 24 hours.
   */
  async rotateKey(how: { endNow?: boolean } = {}, options?: CallOptions): Promise<RotatedKey> {
    const { shown, ...made } = await this.#wire.call("POST", "/v1/key/rotate", read.rotatedKey, options, { end_now: how.endNow ?? false });
    if (shown) throw new SecretLostError(made);
    return made;
  }

  /** GET /v1/wallets, oldest first. */
  async wallets(options?: CallOptions): Promise<Wallet[]> {
    return this.#wire.call("GET", "/v1/wallets", read.wallets, options);
  }

  /**
   * GET /v1/wallets?chat_id: those of a person (by Telegram id, digits) who has allowed the key's app
   * wallet:read; else it is CONSENT_REQUIRED.
   */
  async walletsOf(chatId: string, options?: CallOptions): Promise<Wallet[]> {
    return this.#wire.call("GET", `/v1/wallets?${new URLSearchParams({ chat_id: chatId })}`, read.wallets, options);
  }

  /**
   * DELETE /v1/wallets/{address}: the wallet is the owner's no more; its key and its money are not
   * touched. Where a first answer was lost, only the address is set.
   */
  async disconnect(address: string, options?: CallOptions): Promise<Wallet> {
    return await this.#wire.remove(`/v1/wallets/${segment("address", address)}`, read.wallet, options)
      ?? { address, walletType: "", connectedAt: undefined };
  }

  /**
   * POST /v1/wallet/create: the person (by Telegram id, digits) gets a link in their chat by which they
   * create or connect a wallet on their own device. While one is open it is RATE_LIMIT_EXCEEDED.
   */
  async createWallet(chatId: string, options?: CallOptions): Promise<WalletLink> {
    return this.#wire.call("POST", "/v1/wallet/create", read.walletLink, options, { chat_id: chatId });
  }

  /** POST /v1/wallet/connect/challenge: the text to sign for an address. */
  async connectChallenge(address: string, options?: CallOptions): Promise<Challenge> {
    return this.#wire.call("POST", "/v1/wallet/connect/challenge", read.challenge, options, { address });
  }

  /** POST /v1/wallet/connect, with the signature over the newest challenge. Calling it again returns the current status. */
  async connect(address: string, signature: string, options?: CallOptions): Promise<Connection> {
    return this.#wire.call("POST", "/v1/wallet/connect", read.connection, options, { address, signature });
  }

  /** GET /v1/wallet/balance, of any address. */
  async balance(address: string, options?: CallOptions): Promise<Balance> {
    return this.#wire.call("GET", `/v1/wallet/balance?${new URLSearchParams({ address })}`, read.balance, options);
  }

  /** GET /v1/notifications, of the key's owner. */
  async notifications(options?: CallOptions): Promise<Notifications> {
    return this.#wire.call("GET", "/v1/notifications", read.notifications, options);
  }

  /** PUT /v1/notifications, of the key's owner. */
  async setNotifications(settings: NotificationSettings, options?: CallOptions): Promise<Notifications> {
    return this.#wire.call("PUT", "/v1/notifications", read.notifications, options, { enabled: settings.enabled, events: settings.events });
  }

  /**
   * POST /v1/wallet/send. No call moves money by itself: the owner is asked in chat, or, where a program
   * of theirs holds the wallet's key, the signature is awaited at once.
   */
  async send(request: SendRequest, options?: CallOptions): Promise<Proposal> {
    // Field by field: what else an object holds would be refused.
    const { from, to, amount, token, memo, label } = request;
    return this.#wire.call("POST", "/v1/wallet/send", read.proposal, options, { from, to, amount, token, memo, label });
  }

  /** POST /v1/wallet/request. Each payment emits transaction.received once it is final. */
  async requestPayment(request: PaymentRequest, options?: CallOptions): Promise<RequestedPayment> {
    const { address, amount, token, memo, label } = request;
    return this.#wire.call("POST", "/v1/wallet/request", read.requestedPayment, options, { address, amount, token, memo, label });
  }

  /** GET /v1/wallet/transactions/{id}. */
  async transaction(id: string, options?: CallOptions): Promise<Transaction> {
    return this.#wire.call("GET", ofTransaction(id), read.transaction, options);
  }

  /** GET /v1/wallet/transactions: one page. */
  async transactionPage(filter: TransactionFilter = {}, options?: CallOptions): Promise<TransactionPage> {
    return this.#wire.call("GET", `/v1/wallet/transactions?${queryOf(filter)}`, read.transactionPage, options);
  }

  /** Walks the whole list, newest first, asking for a page when it is needed. */
  transactions(filter: TransactionFilter = {}, options?: CallOptions): AsyncGenerator<HistoryEntry, void, undefined> {
    return walk(filter.cursor, async (cursor) => {
      const page = await this.transactionPage({ ...filter, cursor }, options);
      return [page.transactions, page.nextCursor];
    });
  }

  /** POST /v1/wallet/transactions/{id}/refresh: with a fresh blockhash, to be signed and handed in within 150 blocks: about 45 seconds, and 30 soon. */
  async refresh(id: string, options?: CallOptions): Promise<Proposal> {
    return this.#wire.call("POST", ofTransaction(id, "/refresh"), read.proposal, options);
  }

  /**
   * POST /v1/wallet/transactions/{id}/signature. From then on purser carries the transaction to its end;
   * the same again changes nothing.
   */
  async submitSignature(id: string, signed: Signature, options?: CallOptions): Promise<Progress> {
    const body = "signature" in signed ? { signature: signed.signature } : { signed_transaction: signed.signedTransaction };
    return this.#wire.call("POST", ofTransaction(id, "/signature"), read.progress, options, body);
  }

  /** POST /v1/wallet/transactions/{id}/reject: nothing is sent. Not after its signature. */
  async reject(id: string, options?: CallOptions): Promise<Progress> {
    return this.#wire.call("POST", ofTransaction(id, "/reject"), read.progress, options);
  }

  /** POST /v1/messages: to the chat of the API key's owner. It returns when Telegram has taken the message. */
  async messageOwner(message: OwnerMessage, options?: CallOptions): Promise<SentMessage> {
    return this.#wire.call("POST", "/v1/messages", read.sentMessage, options,
      { message: message.message, ...(message.parseMode && { parse_mode: message.parseMode }) });
  }

  /** POST /v1/commands: executeCommand for the API key's owner. */
  async commandOwner(command: OwnerCommand, options?: CallOptions): Promise<ExecutedCommand> {
    return this.#wire.call("POST", "/v1/commands", read.executedCommand, options, { command: command.command, silent: command.silent ?? false });
  }

  /** POST /v1/telegram/send-message (bot token). It returns when Telegram has taken the message. */
  async sendMessage(message: Message, options?: CallOptions): Promise<SentMessage> {
    return this.#wire.call("POST", "/v1/telegram/send-message", read.sentMessage, options,
      { chat_id: message.chatId, message: message.message, ...(message.parseMode && { parse_mode: message.parseMode }) });
  }

  /** POST /v1/telegram/execute-command (bot token). A command that moves money only proposes: the person is asked in chat. */
  async executeCommand(command: Command, options?: CallOptions): Promise<ExecutedCommand> {
    return this.#wire.call("POST", "/v1/telegram/execute-command", read.executedCommand, options,
      { chat_id: command.chatId, command: command.command, silent: command.silent ?? false });
  }

  /** GET /v1/telegram/user/{telegram_id} (bot token). */
  async user(telegramId: string, options?: CallOptions): Promise<BotUser> {
    return this.#wire.call("GET", `/v1/telegram/user/${segment("telegram id", telegramId)}`, read.botUser, options);
  }

  /**
   * PUT /v1/telegram/user/{chat_id}/notifications (bot token): which events about a person your app receives.
   * It does not change the notifications that the person gets in their chat.
   */
  async setUserNotifications(chatId: string, settings: NotificationSettings, options?: CallOptions): Promise<Notifications> {
    return this.#wire.call("PUT", `/v1/telegram/user/${segment("chat id", chatId)}/notifications`, read.notifications, options,
      { enabled: settings.enabled, events: settings.events });
  }

  /** GET /v1/webhooks: those of this key and of the keys whose place it took, oldest first. */
  async webhooks(options?: CallOptions): Promise<Webhook[]> {
    return this.#wire.call("GET", "/v1/webhooks", read.webhooks, options);
  }

  /**
   * POST /v1/webhooks. Where it fails with SecretLostError the webhook is there, with a secret that nobody
   * knows: rotate it.
   */
  async createWebhook(wanted: WebhookRequest, options?: CallOptions): Promise<Webhook> {
    return this.#register("/v1/webhooks", { ...registration(wanted), active: wanted.active ?? true }, options);
  }

  /**
   * POST /v1/telegram/webhook (bot token): takes the place of the one before. Where it fails with
   * SecretLostError the webhook is set, with a secret that nobody knows: rotate it.
   */
  async setBotWebhook(wanted: BotWebhookRequest, options?: CallOptions): Promise<Webhook> {
    return this.#register("/v1/telegram/webhook", registration(wanted), options);
  }

  async #register(path: string, body: unknown, options?: CallOptions): Promise<Webhook> {
    const { shown, ...made } = await this.#wire.call("POST", path, read.webhook, options, body);
    if (shown) throw new SecretLostError(made);
    return made;
  }

  /** GET /v1/webhooks/events: every type of event that webhooks can receive. It needs no scope. */
  async webhookEvents(options?: CallOptions): Promise<WebhookEvent[]> {
    return this.#wire.call("GET", "/v1/webhooks/events", read.webhookEvents, options);
  }

  /** The webhook of an id, to do something with. */
  hook(id: string): Hook {
    return new Hook(this.#wire, `/v1/webhooks/${segment("webhook id", id)}`);
  }

  /** The one webhook of a bot token. */
  botHook(): Hook {
    return new Hook(this.#wire, "/v1/telegram/webhook");
  }
}

/** A webhook to do something with: see PurserClient.hook and botHook. */
export class Hook {
  readonly #wire: Wire;
  readonly #path: string;

  /** @internal */
  constructor(wire: Wire, path: string) {
    this.#wire = wire;
    this.#path = path;
  }

  /** GET: the webhook, and how its deliveries fare. */
  async status(options?: CallOptions): Promise<WebhookStatus> {
    return this.#wire.call("GET", this.#path, read.webhookStatus, options);
  }

  /** PUT: what is given is changed. */
  async change(change: WebhookChange, options?: CallOptions): Promise<Webhook> {
    const { url, events, active } = change;
    return this.#wire.call("PUT", this.#path, read.plainWebhook, options, { url, events, active });
  }

  /** DELETE: what waits for it goes with it. undefined where a first answer was lost: it is gone. */
  async delete(options?: CallOptions): Promise<Webhook | undefined> {
    return this.#wire.remove(this.#path, read.plainWebhook, options);
  }

  /** POST …/test: webhook.test is sent now, once. */
  async test(options?: CallOptions): Promise<WebhookTest> {
    return this.#wire.call("POST", `${this.#path}/test`, read.webhookTest, options);
  }

  /**
   * POST …/secret/rotate. graceSeconds (a day when left out, at most a week) is for how long deliveries are
   * signed by the secret before too. Where it fails with SecretLostError call again, before that ends.
   */
  async rotateSecret(how: { graceSeconds?: number } = {}, options?: CallOptions): Promise<WebhookSecret> {
    const { shown, ...made } = await this.#wire.call("POST", `${this.#path}/secret/rotate`, read.webhookSecret, options, { grace_seconds: how.graceSeconds });
    if (shown) throw new SecretLostError(made);
    return made;
  }

  /** GET …/deliveries: one page. */
  async deliveryPage(filter: DeliveryFilter = {}, options?: CallOptions): Promise<DeliveryPage> {
    return this.#wire.call("GET", `${this.#path}/deliveries?${queryOf(filter)}`, read.deliveryPage, options);
  }

  /** Walks the whole list, newest first, asking for a page when it is needed. */
  deliveries(filter: DeliveryFilter = {}, options?: CallOptions): AsyncGenerator<Delivery, void, undefined> {
    return walk(filter.cursor, async (cursor) => {
      const page = await this.deliveryPage({ ...filter, cursor }, options);
      return [page.deliveries, page.nextCursor];
    });
  }

  /** GET …/deliveries/{delivery_id}. */
  async delivery(id: string, options?: CallOptions): Promise<WholeDelivery> {
    return this.#wire.call("GET", `${this.#path}/deliveries/${segment("delivery id", id)}`, read.wholeDelivery, options);
  }

  /** POST …/deliveries/{delivery_id}/resend: a new delivery of the same event. */
  async resend(id: string, options?: CallOptions): Promise<Delivery> {
    return this.#wire.call("POST", `${this.#path}/deliveries/${segment("delivery id", id)}/resend`, read.delivery, options);
  }

  /** POST …/recover: what was given up since a time is sent again, oldest first. Doing it twice sends nothing twice. */
  async recover(since: Date, options?: CallOptions): Promise<Recovery> {
    return this.#wire.call("POST", `${this.#path}/recover`, read.recovery, options, { since: since.toISOString() });
  }
}

function registration(wanted: BotWebhookRequest): { url: string; events: readonly string[]; secret?: string } {
  return { url: wanted.url, events: wanted.events, ...(wanted.secret !== undefined && { secret: wanted.secret }) };
}

function queryOf(filter: object): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) {
    if (value !== undefined && value !== "") query.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return query;
}

/** Goes through a list, page by page. */
async function* walk<T>(first: string | undefined, page: (cursor: string) => Promise<[T[], string]>): AsyncGenerator<T, void, undefined> {
  for (let cursor = first ?? ""; ;) {
    const [list, next] = await page(cursor);
    if (next !== "" && next === cursor) throw new Error("purser: a page of a list leads to itself");
    yield* list;
    cursor = next;
    if (cursor === "") return;
  }
}

/** An id as a part of a path. One that could lead elsewhere is never sent. */
function segment(name: string, id: string): string {
  if (!/^[0-9A-Za-z_.-]{1,128}$/.test(id) || /^\.+$/.test(id)) throw new TypeError(`purser: ${name}: must be letters, digits, -, _ and dots`);
  return id;
}

function ofTransaction(id: string, deed = ""): string {
  return `/v1/wallet/transactions/${segment("transaction id", id)}${deed}`;
}
