/**
 * A client of purser's /v1 API for Node 20 and browsers: paths, envelope, errors, retries and signatures. It
 * never holds a wallet's key: sign and signChallenge take a function that signs.
 *
 * Amounts are decimal strings in the token's own unit ("1.5" SOL), never numbers. Addresses and
 * signatures are base58, transactions base64. A time that is not known yet is undefined.
 */
export { Hook, PurserClient, type CallOptions, type ClientOptions } from "./client.js";
export { PurserError, SecretLostError, WebhookError, type Code } from "./errors.js";
export type { Expected } from "./decode.js";
export { sign, signBlindly, signChallenge, signSwap, type Signer } from "./sign.js";
export type { ExpectedSwap } from "./swap.js";
export { verifyWebhook } from "./webhook.js";
export type {
  Balance, BotUser, BotWebhookRequest, Challenge, Change, Command, Connection, Delivery, DeliveryFilter, DeliveryPage, ExecutedCommand, FoundToken, FoundTokens, HistoryEntry, Holding, Key,
  Message, NotificationSettings, Notifications, OwnerCommand, OwnerMessage, PaymentRequest, Pool, Pools, PriceHistory, Prices, PriceSpan, Progress, Proposal, RateLimit, Recovery, RequestedPayment, RotatedKey, SendRequest, SentMessage, Signature,
  StakePosition, StakePositions, StakeRequest, StakeReward, StakeRewards, StakeValidator, Status, SwapQuote, SwapRequest, SwapToken, TokenPrice, Transaction, TransactionFilter, TransactionPage, Wallet, WalletLink, Webhook, WebhookChange, WebhookEvent, WebhookHealth,
  WebhookRequest, WebhookSecret, WebhookStatus, WebhookTest, WholeDelivery,
} from "./records.js";
