/** What purser names what went wrong by. More may come: treat one that you do not know by its status. */
export type Code =
  | "INVALID_REQUEST" | "UNKNOWN_COMMAND" | "INVALID_WEBHOOK_URL" | "INVALID_API_KEY" | "INSUFFICIENT_SCOPE" | "TIER_REQUIRED"
  | "CONSENT_REQUIRED" | "POLICY_VIOLATION" | "BOT_BLOCKED" | "NOT_FOUND" | "USER_NOT_FOUND" | "WALLET_NOT_FOUND"
  | "TRANSACTION_NOT_FOUND" | "WEBHOOK_NOT_FOUND" | "WEBHOOK_LIMIT_REACHED" | "TOKEN_NOT_FOUND" | "METHOD_NOT_ALLOWED" | "CONFLICT" | "LENGTH_REQUIRED" | "PAYLOAD_TOO_LARGE"
  | "INSUFFICIENT_FUNDS" | "INVALID_SIGNATURE" | "IDEMPOTENCY_CONFLICT" | "RATE_LIMIT_EXCEEDED" | "INTERNAL_ERROR"
  | "TELEGRAM_ERROR" | "NETWORK_ERROR"
  | (string & {});

/** An HTTP answer that is no success. Its texts never hold the client's key. */
export class PurserError extends Error {
  override readonly name = "PurserError";

  /** Of HTTP. */
  readonly status: number;
  /** "" for an answer that is not purser's (a proxy's page): the end of a POST is not known then. */
  readonly code: Code;
  /** A sentence for people: what kind of thing went wrong. */
  readonly summary: string;
  /** What exactly; may be "". */
  readonly details: string;
  /** Of the request, that is to blame; may be "". */
  readonly field: string;
  /** Names details, for programs that have their own words; may be "". Reasons may be renamed: decide by code. */
  readonly reason: string;
  /** The values in details by name: texts (amounts too), whole numbers (durations are in seconds), or lists of texts. */
  readonly arguments: Readonly<Record<string, string | number | readonly string[]>>;
  /** By which the operator finds the request in purser's log; may be "". */
  readonly requestId: string;
  /** Seconds to wait before the same is worth trying; 0 when purser did not say. */
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

/** What a PurserError is made of. */
export type Refusal = Pick<PurserError, "status" | "code" | "summary" | "requestId" | "retryAfter">
  & Partial<Pick<PurserError, "details" | "field" | "reason" | "arguments">>;

/**
 * A call took effect, but the only response with its new secret was lost: purser shows a secret
 * once. What to do stands at the method.
 */
export class SecretLostError extends Error {
  override readonly name = "SecretLostError";

  constructor(
    /** What was made, without its secret. */
    readonly record: unknown,
  ) {
    super("purser: it is done, but the answer that held the new secret was lost, and it is not told again");
  }
}

/** A webhook delivery that is not to be believed: answer it with 401. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";

  constructor(
    /** "signature": missing, or not of this secret. "time": missing, or more than 5 minutes from now. */
    readonly reason: "signature" | "time",
  ) {
    super(reason === "time" ? "purser: the webhook's time is missing or more than 5 minutes from now"
      : "purser: the webhook's signature is missing or not of this secret");
  }
}
