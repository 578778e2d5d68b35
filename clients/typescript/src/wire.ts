import { PurserError } from "./errors.js";
import { Fields, Malformed } from "./records.js";

/** Options of a client. */
export interface ClientOptions {
  /** How often a call is tried at most (default 4). 1 means no retries. */
  tries?: number;
  /** The approximate pause before the second try, in milliseconds (default 250). It doubles with each try, up to 8 s. */
  firstPauseMs?: number;
  /** The timeout of one try, in milliseconds (default 30,000). A signal ends the whole call. purser itself responds within 15 s. */
  timeoutMs?: number;
  /** The longest Retry-After to wait for, in milliseconds (default 60,000). A longer one ends the call with its PurserError. */
  maxWaitMs?: number;
  /** Used instead of the platform's fetch. */
  fetch?: typeof globalThis.fetch;
}

/** Options of one call. */
export interface CallOptions {
  /** Aborts the call, including its retries and pauses. */
  signal?: AbortSignal;
  /**
   * The Idempotency-Key of a POST, instead of a random one: 1 to 128 printable ASCII characters. Use your own
   * order number, and repeat the call whenever you do not know its result, even after a restart of your
   * process. For 24 hours purser returns the first response again and does nothing twice. Use a key for one
   * call only: another body is refused with IDEMPOTENCY_CONFLICT.
   */
  idempotencyKey?: string;
}

/** The longest response body, in bytes. A page of 100 transactions has about 80 KiB. */
const maxAnswer = 4 << 20;
const longestPause = 8_000;
const longestText = 1_000;

/** Sends requests to the API, with retries. */
export class Wire {
  readonly #base: string;
  readonly #key: string;
  readonly #options: Required<ClientOptions>;

  constructor(baseUrl: string, key: string, options: ClientOptions) {
    let base: URL;
    try {
      base = new URL(baseUrl);
    } catch {
      throw new TypeError("purser: the base URL must be such as https://wallet.example.org"); // the URL is not repeated, because it may contain a secret
    }
    if (!/^https?:$/.test(base.protocol) || base.search !== "" || base.hash !== "") throw new TypeError("purser: the base URL must be such as https://wallet.example.org");
    if (base.username !== "" || base.password !== "") throw new TypeError("purser: the base URL must hold no user name or password");
    if (!/^[!-~]+$/.test(key)) throw new TypeError("purser: the key must be one word of printable ASCII, such as pur_live_…");
    this.#base = base.origin + base.pathname.replace(/\/+$/, "");
    this.#key = key;
    this.#options = {
      tries: Math.max(1, options.tries ?? 4), firstPauseMs: options.firstPauseMs ?? 250, timeoutMs: options.timeoutMs ?? 30_000,
      maxWaitMs: options.maxWaitMs ?? 60_000,
      // Called without its global object, a browser's fetch refuses.
      fetch: options.fetch ?? ((...request) => globalThis.fetch(...request)),
    };
  }

  /** Makes a call and returns the data of its response. */
  async call<T>(method: string, path: string, read: (data: Fields) => T, options: CallOptions = {}, body?: unknown): Promise<T> {
    const done = await this.#tried(method, path, read, options, body);
    if (done === gone) throw new Error("purser: only what is deleted can be gone");
    return done;
  }

  /**
   * Makes a DELETE. It returns undefined if the response of one try was lost and the next finds nothing: the
   * first try deleted it.
   */
  async remove<T>(path: string, read: (data: Fields) => T, options: CallOptions = {}): Promise<T | undefined> {
    const done = await this.#tried("DELETE", path, read, options, undefined);
    return done === gone ? undefined : done;
  }

  async #tried<T>(method: string, path: string, read: (data: Fields) => T, options: CallOptions, body: unknown): Promise<T | typeof gone> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.#key}`, Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (method === "POST") {
      const key = options.idempotencyKey ?? crypto.randomUUID();
      if (!/^[ -~]{1,128}$/.test(key)) throw new TypeError("purser: an idempotency key has 1 to 128 printable ASCII characters");
      headers["Idempotency-Key"] = key;
    }
    // A redirect would send the key and the body to another address.
    const init: RequestInit = { method, headers, redirect: "manual", credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" };
    if (body !== undefined) init.body = JSON.stringify(body);
    let lost = false; // it is unknown whether an earlier try took effect
    for (let attempt = 1; ; attempt++) {
      options.signal?.throwIfAborted();
      try {
        return await this.#once(path, init, read, options.signal);
      } catch (error) {
        options.signal?.throwIfAborted();
        const refused = error instanceof PurserError ? error : undefined;
        if (refused && lost && method === "DELETE" && (refused.code === "WALLET_NOT_FOUND" || refused.code === "WEBHOOK_NOT_FOUND")) return gone;
        lost ||= !refused || refused.status >= 500;
        const failure = refused ?? new Error(`purser: ${method} ${path.split("?")[0]}: no answer`, { cause: error });
        if (attempt >= this.#options.tries || (refused && !passing(refused))) throw failure;
        const wait = this.#pause(attempt, refused);
        if (wait === undefined) throw failure;
        await sleep(wait, options.signal);
      }
    }
  }

  /** Returns how long to wait before the next try, in milliseconds, or undefined if that is longer than maxWait. */
  #pause(attempt: number, refused: PurserError | undefined): number | undefined {
    const asked = (refused?.retryAfter ?? 0) * 1000;
    if (asked > this.#options.maxWaitMs) return undefined;
    const grown = Math.min(this.#options.firstPauseMs * 2 ** (attempt - 1), longestPause);
    return Math.max(asked, grown * (0.5 + Math.random() / 2)); // so that many clients do not retry together
  }

  /** Makes one try. It throws a PurserError if there was an error response. */
  async #once<T>(path: string, init: RequestInit, read: (data: Fields) => T, signal: AbortSignal | undefined): Promise<T> {
    // Not AbortSignal.any: early versions of Node 20 do not have it.
    const ends = new AbortController();
    const abort = () => ends.abort(signal?.reason);
    const timer = setTimeout(() => ends.abort(new Error(`nothing within ${this.#options.timeoutMs} ms`)), this.#options.timeoutMs);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const response = await this.#options.fetch(this.#base + path, { ...init, signal: ends.signal });
      const text = await bounded(response);
      return this.#read(response, text, read);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      ends.abort(); // stops an unread response
    }
  }

  /** Reads the envelope of a response. */
  #read<T>(response: Response, text: string | undefined, read: (data: Fields) => T): T {
    const { status } = response;
    const requestId = this.#told(response.headers.get("X-Request-Id") ?? "");
    const seconds = /^\d{1,9}$/.exec(response.headers.get("Retry-After")?.trim() ?? "");
    const retryAfter = seconds ? Math.min(Number(seconds[0]), 86_400) : 0;
    // If the response is not purser's, nothing of its body is shown.
    const unreadable = (why: string) => new PurserError({ status, code: "", summary: why, requestId, retryAfter });
    if (!/^application\/json\s*(;|$)/i.test(response.headers.get("Content-Type") ?? "")) throw unreadable("the answer is not JSON: something else than purser answers there");
    if (text === undefined) throw unreadable("the answer is too large");
    let refusal: PurserError | undefined;
    try {
      const envelope = new Fields(JSON.parse(text), "the envelope");
      const success = envelope.flag("success");
      if (success !== response.ok) throw new Malformed("success");
      if (success) return read(envelope.record("data"));
      const error = envelope.record("error");
      const told = (name: string) => this.#told(error.text(name));
      refusal = new PurserError({
        status, code: this.#told(error.some("code")), summary: told("message"), details: told("details"), field: told("field"), reason: told("reason"),
        arguments: this.#arguments(error.any("arguments")), requestId, retryAfter,
      });
    } catch (error) {
      if (!(error instanceof Malformed || error instanceof SyntaxError)) throw error;
      throw unreadable("the answer is not of the form that this client knows");
    }
    throw refusal;
  }

  /** Returns the values of an error response. It drops all but strings, integers and lists of strings: purser sends nothing else. */
  #arguments(given: unknown): PurserError["arguments"] {
    if (typeof given !== "object" || given === null || Array.isArray(given)) return {};
    const values: [string, string | number | string[]][] = [];
    for (const [name, value] of Object.entries(given) as [string, unknown][]) {
      if (typeof value === "string") values.push([this.#told(name), this.#told(value)]);
      else if (typeof value === "number" && Number.isSafeInteger(value)) values.push([this.#told(name), value]);
      else if (Array.isArray(value) && value.every((one) => typeof one === "string")) values.push([this.#told(name), value.map((one) => this.#told(one))]);
    }
    return Object.fromEntries(values);
  }

  /** Returns a text of an error response as an error may show it: shortened, printable, without the key. */
  #told(text: string): string {
    const short = text.length > longestText ? `${text.slice(0, longestText)}…` : text;
    return short.replace(/[\u0000-\u001f\u007f]/g, " ").replaceAll(this.#key, "[key]");
  }
}

/** The error of a repeated DELETE whose first try succeeded. */
const gone = Symbol("gone");

/**
 * Returns whether another try can succeed. A 409 with Retry-After means that the first try of the same request
 * is still in progress.
 */
function passing(e: PurserError): boolean {
  return [429, 502, 503, 504].includes(e.status) || (e.status === 409 && e.retryAfter > 0);
}

/** Returns the body of a response, or undefined if it is too large. */
async function bounded(response: Response): Promise<string | undefined> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > maxAnswer) {
      void reader.cancel().catch(() => undefined); // its failure changes nothing
      return undefined;
    }
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return new TextDecoder().decode(whole);
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
}
