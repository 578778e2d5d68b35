import { SecretLostError } from "./errors.js";
import { read } from "./records.js";
import type {
  Alert, AlertRequest, Alerts, Balance, BotUser, BotWebhookRequest, Challenge, Command, Connection, Delivery, DeliveryFilter, DeliveryPage, ExecutedCommand, FoundTokens, HistoryEntry, Key, Message,
  NotificationSettings, Notifications, OwnerCommand, OwnerMessage, PaymentRequest, Pools, PriceHistory, Prices, PriceSpan, Progress, Proposal, Recovery, RequestedPayment, RotatedKey, SendRequest, SentMessage, Signature, StakePositions, StakeRequest, StakeRewards, StakeValidator, SwapQuote, SwapRequest, Transaction,
  TransactionFilter, TransactionPage, Wallet, WalletLink, Webhook, WebhookChange, WebhookEvent, WebhookRequest, WebhookSecret, WebhookStatus,
  WebhookTest, WholeDelivery,
} from "./records.js";
import { Wire, type CallOptions, type ClientOptions } from "./wire.js";

export type { CallOptions, ClientOptions } from "./wire.js";

/**
 * Calls one purser with one key. An error response is thrown as a PurserError. Every other error means
 * that there was no response, or that the request was never sent.
 *
 * A call is tried up to 4 times: after 429, 502, 503, 504, a 409 with Retry-After, and when there was no
 * response. This is safe for every call: each POST has an Idempotency-Key, the same on every try, so that
 * purser executes it once.
 */
export class PurserClient {
  readonly #wire: Wire;

  /**
   * @param baseUrl the purser's address: "https://wallet.example.org"; a path before /v1 is kept. Over
   *   http:// others can read the key: use it within one machine only.
   * @param key "pur_live_…", "pur_test_…" or "pur_bot_…". Never put it into a page that others open.
   */
  constructor(baseUrl: string, key: string, options: ClientOptions = {}) {
    this.#wire = new Wire(baseUrl, key, options);
  }

  /** GET /v1/key: the key that this client uses. It needs no scope. */
  async key(options?: CallOptions): Promise<Key> {
    return this.#wire.call("GET", "/v1/key", read.key, options);
  }

  /**
   * POST /v1/key/rotate: creates the key that replaces this client's. The client continues with the old
   * key: create another PurserClient with the new one. endNow ends the old key at once, not in 24 hours.
   *
   * If it fails with SecretLostError, the old key works until record.oldEndsAt and cannot be rotated
   * again: ask the operator for a key before then. With endNow, a lost response can leave you without any
   * key, since the retry is refused with INVALID_API_KEY. Prefer the 24 hours.
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
   * GET /v1/wallets?chat_id: the wallets of a person (by Telegram id, digits) who granted wallet:read to
   * the key's app. Without that grant the error's code is CONSENT_REQUIRED.
   */
  async walletsOf(chatId: string, options?: CallOptions): Promise<Wallet[]> {
    return this.#wire.call("GET", `/v1/wallets?${new URLSearchParams({ chat_id: chatId })}`, read.wallets, options);
  }

  /**
   * DELETE /v1/wallets/{address}. It removes the wallet from its owner's profile. The wallet's key and
   * money are not touched. If the first response was lost, only the address is set.
   */
  async disconnect(address: string, options?: CallOptions): Promise<Wallet> {
    return await this.#wire.remove(`/v1/wallets/${segment("address", address)}`, read.wallet, options)
      ?? { address, walletType: "", connectedAt: undefined };
  }

  /**
   * POST /v1/wallet/create. The person (by Telegram id, digits) gets a link in their chat, to create or
   * connect a wallet on their own device. It fails with RATE_LIMIT_EXCEEDED while such a link is open.
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
   * POST /v1/wallet/send. No call moves money by itself: the owner confirms in chat. If the owner's
   * program holds the wallet's key, the proposal waits for the signature immediately.
   */
  async send(request: SendRequest, options?: CallOptions): Promise<Proposal> {
    // Field by field: purser refuses unknown fields.
    const { from, to, amount, token, memo, label } = request;
    return this.#wire.call("POST", "/v1/wallet/send", read.proposal, options, { from, to, amount, token, memo, label });
  }

  /** POST /v1/stake. Like send, it asks the owner, or waits for the signature of the program that holds the key. */
  async stake(request: StakeRequest, options?: CallOptions): Promise<Proposal> {
    const { address, action, amount, validatorAddress, stakeAccount } = request;
    return this.#wire.call("POST", "/v1/stake", read.proposal, options, { address, action, amount, validator_address: validatorAddress, stake_account: stakeAccount });
  }

  /** GET /v1/stake/positions: the stakes of a wallet. */
  async stakePositions(address: string, options?: CallOptions): Promise<StakePositions> {
    return this.#wire.call("GET", `/v1/stake/positions?${new URLSearchParams({ address })}`, read.stakePositions, options);
  }

  /** GET /v1/stake/rewards: of the last epochs, 1 to 10; without a number 5. */
  async stakeRewards(address: string, epochs?: number, options?: CallOptions): Promise<StakeRewards> {
    return this.#wire.call("GET", `/v1/stake/rewards?${queryOf({ address, epochs })}`, read.stakeRewards, options);
  }

  /** GET /v1/stake/validators: the best first, at most 100. The first is the default of stake. */
  async stakeValidators(options?: CallOptions): Promise<StakeValidator[]> {
    return this.#wire.call("GET", "/v1/stake/validators", read.stakeValidators, options);
  }

  /** POST /v1/swap/quote: gets a quote for a swap. It proposes nothing. */
  async swapQuote(request: SwapRequest, options?: CallOptions): Promise<SwapQuote> {
    const { address, fromToken, toToken, amount, slippageBps } = request;
    return this.#wire.call("POST", "/v1/swap/quote", read.swapQuote, options, { address, from_token: fromToken, to_token: toToken, amount, slippage_bps: slippageBps });
  }

  /** POST /v1/swap. Like send, it asks the owner, or waits for the signature of the program that holds the key (signSwap). */
  async swap(quoteId: string, options?: CallOptions): Promise<Proposal> {
    return this.#wire.call("POST", "/v1/swap", read.proposal, options, { quote_id: quoteId });
  }

  /** GET /v1/tokens: tokens by symbol, name or mint. */
  async tokens(query: string, options?: CallOptions): Promise<FoundTokens> {
    return this.#wire.call("GET", `/v1/tokens?${new URLSearchParams({ query })}`, read.foundTokens, options);
  }

  /** GET /v1/pools: where a token is traded, by symbol or mint. */
  async pools(token: string, options?: CallOptions): Promise<Pools> {
    return this.#wire.call("GET", `/v1/pools?${new URLSearchParams({ token })}`, read.pools, options);
  }

  /** GET /v1/prices: of 1 to 50 tokens, by symbol or mint. */
  async prices(tokens: string[], options?: CallOptions): Promise<Prices> {
    return this.#wire.call("GET", `/v1/prices?${new URLSearchParams({ tokens: tokens.join(",") })}`, read.prices, options);
  }

  /** GET /v1/prices/{token}/history; without a span the last 24 hours. */
  async priceHistory(token: string, span?: PriceSpan, options?: CallOptions): Promise<PriceHistory> {
    return this.#wire.call("GET", `/v1/prices/${encodeURIComponent(token)}/history?${queryOf({ span })}`, read.priceHistory, options);
  }

  /** GET /v1/alerts: the price alerts of the key's owner, also those set in the chat, oldest first. */
  async alerts(options?: CallOptions): Promise<Alerts> {
    return this.#wire.call("GET", "/v1/alerts", read.alerts, options);
  }

  /** POST /v1/alerts. If the owner has the same alert already, returns that one. */
  async setAlert(request: AlertRequest, options?: CallOptions): Promise<Alert> {
    const { token, condition, price, changePercent, timeframe } = request;
    return this.#wire.call("POST", "/v1/alerts", read.alert, options, { token, condition, price, change_percent: changePercent, timeframe });
  }

  /** DELETE /v1/alerts/{alert_id}. Returns the alert as it was. */
  async deleteAlert(alertId: string, options?: CallOptions): Promise<Alert> {
    return this.#wire.call("DELETE", `/v1/alerts/${segment("alert id", alertId)}`, read.alert, options);
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

  /** Iterates over the whole list, newest first, and requests each page when it is needed. */
  transactions(filter: TransactionFilter = {}, options?: CallOptions): AsyncGenerator<HistoryEntry, void, undefined> {
    return walk(filter.cursor, async (cursor) => {
      const page = await this.transactionPage({ ...filter, cursor }, options);
      return [page.transactions, page.nextCursor];
    });
  }

  /**
   * POST /v1/wallet/transactions/{id}/refresh: the transaction with a fresh blockhash. It expires after
   * 150 blocks, so sign at once, and refresh again if that took more than some seconds.
   */
  async refresh(id: string, options?: CallOptions): Promise<Proposal> {
    return this.#wire.call("POST", ofTransaction(id, "/refresh"), read.proposal, options);
  }

  /**
   * POST /v1/wallet/transactions/{id}/signature. From then on purser settles the transaction. Submitting
   * the same signature again changes nothing.
   */
  async submitSignature(id: string, signed: Signature, options?: CallOptions): Promise<Progress> {
    const body = "signature" in signed ? { signature: signed.signature } : { signed_transaction: signed.signedTransaction };
    return this.#wire.call("POST", ofTransaction(id, "/signature"), read.progress, options, body);
  }

  /** POST /v1/wallet/transactions/{id}/reject. Nothing is sent. It fails once the transaction is signed. */
  async reject(id: string, options?: CallOptions): Promise<Progress> {
    return this.#wire.call("POST", ofTransaction(id, "/reject"), read.progress, options);
  }

  /** POST /v1/messages: to the chat of the API key's owner. It returns when Telegram has accepted the message. */
  async messageOwner(message: OwnerMessage, options?: CallOptions): Promise<SentMessage> {
    return this.#wire.call("POST", "/v1/messages", read.sentMessage, options,
      { message: message.message, ...(message.parseMode && { parse_mode: message.parseMode }) });
  }

  /** POST /v1/commands: executeCommand for the API key's owner. */
  async commandOwner(command: OwnerCommand, options?: CallOptions): Promise<ExecutedCommand> {
    return this.#wire.call("POST", "/v1/commands", read.executedCommand, options, { command: command.command, silent: command.silent ?? false });
  }

  /** POST /v1/telegram/send-message (bot token). It returns when Telegram has accepted the message. */
  async sendMessage(message: Message, options?: CallOptions): Promise<SentMessage> {
    return this.#wire.call("POST", "/v1/telegram/send-message", read.sentMessage, options,
      { chat_id: message.chatId, message: message.message, ...(message.parseMode && { parse_mode: message.parseMode }) });
  }

  /** POST /v1/telegram/execute-command (bot token). A command that moves money only proposes a payment: the person confirms in chat. */
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

  /** GET /v1/webhooks: the webhooks of this key and of the keys that it replaced, oldest first. */
  async webhooks(options?: CallOptions): Promise<Webhook[]> {
    return this.#wire.call("GET", "/v1/webhooks", read.webhooks, options);
  }

  /**
   * POST /v1/webhooks. If it fails with SecretLostError, the webhook exists with a secret that nobody
   * knows: rotate the secret.
   */
  async createWebhook(wanted: WebhookRequest, options?: CallOptions): Promise<Webhook> {
    return this.#register("/v1/webhooks", { ...registration(wanted), active: wanted.active ?? true }, options);
  }

  /**
   * POST /v1/telegram/webhook (bot token). It replaces the token's webhook. If it fails with
   * SecretLostError, the webhook is set with a secret that nobody knows: rotate the secret.
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

  /** Returns a reference to the webhook with this id. It makes no request. */
  hook(id: string): Hook {
    return new Hook(this.#wire, `/v1/webhooks/${segment("webhook id", id)}`);
  }

  /** Returns a reference to the one webhook of a bot token. It makes no request. */
  botHook(): Hook {
    return new Hook(this.#wire, "/v1/telegram/webhook");
  }
}

/** A reference to a webhook. Its methods call the API. See PurserClient.hook and botHook. */
export class Hook {
  readonly #wire: Wire;
  readonly #path: string;

  /** @internal */
  constructor(wire: Wire, path: string) {
    this.#wire = wire;
    this.#path = path;
  }

  /** GET: the webhook with the health of its deliveries. */
  async status(options?: CallOptions): Promise<WebhookStatus> {
    return this.#wire.call("GET", this.#path, read.webhookStatus, options);
  }

  /** PUT: changes the given fields. */
  async change(change: WebhookChange, options?: CallOptions): Promise<Webhook> {
    const { url, events, active } = change;
    return this.#wire.call("PUT", this.#path, read.plainWebhook, options, { url, events, active });
  }

  /** DELETE. Deliveries that wait are deleted with the webhook. It returns undefined if the first response was lost. */
  async delete(options?: CallOptions): Promise<Webhook | undefined> {
    return this.#wire.remove(this.#path, read.plainWebhook, options);
  }

  /** POST …/test. It sends one webhook.test event immediately. */
  async test(options?: CallOptions): Promise<WebhookTest> {
    return this.#wire.call("POST", `${this.#path}/test`, read.webhookTest, options);
  }

  /**
   * POST …/secret/rotate. graceSeconds (default: a day, at most a week) is for how long deliveries are also
   * signed with the previous secret. If it fails with SecretLostError, call it again before that time ends.
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

  /** Iterates over the whole list, newest first, and requests each page when it is needed. */
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

  /** POST …/recover. It resends dead-lettered deliveries that were created since a time, oldest first. Calling it twice resends nothing twice. */
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

/** Iterates over a list, page by page. */
async function* walk<T>(first: string | undefined, page: (cursor: string) => Promise<[T[], string]>): AsyncGenerator<T, void, undefined> {
  for (let cursor = first ?? ""; ;) {
    const [list, next] = await page(cursor);
    if (next !== "" && next === cursor) throw new Error("purser: a page of a list leads to itself");
    yield* list;
    cursor = next;
    if (cursor === "") return;
  }
}

/** Returns an id as a part of a path. It throws for an id that could lead to another path. */
function segment(name: string, id: string): string {
  if (!/^[0-9A-Za-z_.-]{1,128}$/.test(id) || /^\.+$/.test(id)) throw new TypeError(`purser: ${name}: must be letters, digits, -, _ and dots`);
  return id;
}

function ofTransaction(id: string, deed = ""): string {
  return `/v1/wallet/transactions/${segment("transaction id", id)}${deed}`;
}
