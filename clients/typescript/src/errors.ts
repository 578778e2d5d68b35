/** An error code of purser. Codes can be added: handle an unknown one by its status. */
export type Code =
  | "INVALID_REQUEST" | "UNKNOWN_COMMAND" | "INVALID_WEBHOOK_URL" | "INVALID_API_KEY" | "INSUFFICIENT_SCOPE" | "TIER_REQUIRED"
  | "CONSENT_REQUIRED" | "POLICY_VIOLATION" | "BOT_BLOCKED" | "NOT_FOUND" | "USER_NOT_FOUND" | "WALLET_NOT_FOUND"
  | "TRANSACTION_NOT_FOUND" | "WEBHOOK_NOT_FOUND" | "WEBHOOK_LIMIT_REACHED" | "TOKEN_NOT_FOUND" | "METHOD_NOT_ALLOWED" | "CONFLICT" | "QUOTE_EXPIRED" | "LENGTH_REQUIRED" | "PAYLOAD_TOO_LARGE"
  | "INSUFFICIENT_FUNDS" | "INVALID_SIGNATURE" | "IDEMPOTENCY_CONFLICT" | "RATE_LIMIT_EXCEEDED" | "INTERNAL_ERROR"
  | "TELEGRAM_ERROR" | "NETWORK_ERROR"
  | (string & {});

/** An HTTP response other than success. Its texts never contain the client's key. */
export class PurserError extends Error {
  override readonly name = "PurserError";

  /** The HTTP status. */
  readonly status: number;
  /** "" for a response that is not purser's (such as a proxy's page): the result of a POST is then unknown. */
  readonly code: Code;
  /** The kind of error, as a sentence for people. */
  readonly summary: string;
  /** What exactly is wrong, as a sentence; may be "". */
  readonly details: string;
  /** The field of the request that is wrong; may be "". */
  readonly field: string;
  /** The key of the sentence in details, for programs with their own texts; may be "". Reasons may be renamed: decide by code. */
  readonly reason: string;
  /** The values in details, by name: strings (amounts too), integers (durations are in seconds) or lists of strings. */
  readonly arguments: Readonly<Record<string, string | number | readonly string[]>>;
  /** The id by which the operator finds the request in purser's log; may be "". */
  readonly requestId: string;
  /** Seconds to wait before a retry; 0 if purser did not say. */
  readonly retryAfter: number;

  constructor(refusal: Refusal) {
    const { status, code, summary, details = "", reason = "", requestId } = refusal;
    super(`purser: ${status}${code && ` ${code}`}${reason && ` ${reason}`}: ${summary}${details && ` (${details})`}${requestId && ` [${requestId}]`}`);
    this.status = status;
    this.code = code;
    this.summary = summary;
    this.details = details;
    this.field = refusal.field ?? "";
    this.reason = reason;
    this.arguments = refusal.arguments ?? {};
    this.requestId = requestId;
    this.retryAfter = refusal.retryAfter;
  }
}

/** The fields of a PurserError. */
export type Refusal = Pick<PurserError, "status" | "code" | "summary" | "requestId" | "retryAfter">
  & Partial<Pick<PurserError, "details" | "field" | "reason" | "arguments">>;

/**
 * A call took effect, but the only response with its new secret was lost: purser shows a secret
 * once. The method that throws it says what to do.
 */
export class SecretLostError extends Error {
  override readonly name = "SecretLostError";

  constructor(
    /** The result of the call, without its secret. */
    readonly record: unknown,
  ) {
    super("purser: it is done, but the answer that held the new secret was lost, and it is not told again");
  }
}

/** A webhook delivery that cannot be trusted: return 401. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";

  constructor(
    /** "signature": missing, or not made with this secret. "time": missing, or more than 5 minutes from now. */
    readonly reason: "signature" | "time",
  ) {
    super(reason === "time" ? "purser: the webhook's time is missing or more than 5 minutes from now"
      : "purser: the webhook's signature is missing or not of this secret");
  }
}
