import { PurserError } from "./errors.js";
import { Fields, Malformed } from "./records.js";

/** How a client works. */
export interface ClientOptions {
  /** Tries of one call at most; 4 when not given, 1 never repeats one. */
  tries?: number;
  /** The pause before the second try, about, in milliseconds (250); it doubles with each, up to 8 s. */
  firstPauseMs?: number;
  /** One try ends after so many milliseconds (30,000); a signal ends the whole call. purser itself answers within 15 s. */
  timeoutMs?: number;
  /** The longest Retry-After that is waited for, in milliseconds (60,000); a longer one ends the call with its PurserError. */
  maxWaitMs?: number;
  /** In the place of the platform's own. */
  fetch?: typeof globalThis.fetch;
}

/** How one call is made. */
export interface CallOptions {
  /** Ends the call, with its tries and pauses. */
  signal?: AbortSignal;
  /**
   * Of a POST, instead of a random one: 1 to 128 printable ASCII characters. Name your own order by it,
   * and repeat the call whenever you do not know its end, also after a restart of your process: within
   * 24 hours purser answers what it answered first, and does nothing twice. One key belongs to one call;
   * another body is refused with IDEMPOTENCY_CONFLICT.
   */
  idempotencyKey?: string;
}

/** Bounds an answer, in bytes: a page of 100 transactions has about 80 KiB. */
const maxAnswer = 4 << 20;
const longestPause = 8_000;
const longestText = 1_000;

/** Requests of the API, each tried as often as it may be. */
export class Wire {
  readonly #base: string;
  readonly #key: string;
  readonly #options: Required<ClientOptions>;

  constructor(baseUrl: string, key: string, options: ClientOptions) {
    let base: URL;
    try {
      base = new URL(baseUrl);
    } catch {
      throw new TypeError("purser: the base URL must be such as https://wallet.example.org"); // the URL may hold anything: it is not repeated
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

  /** Makes a call and reads its data. */
  async call<T>(method: string, path: string, read: (data: Fields) => T, options: CallOptions = {}, body?: unknown): Promise<T> {
    const done = await this.#tried(method, path, read, options, body);
    if (done === gone) throw new Error("purser: only what is deleted can be gone");
    return done;
  }

  /**
   * Makes a DELETE. undefined where the answer of one try was lost, and the next one says that it is not
   * there: it is gone, and nothing more is known of it.
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
    // A redirect would carry key and body to wherever an answer says.
    const init: RequestInit = { method, headers, redirect: "manual", credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" };
    if (body !== undefined) init.body = JSON.stringify(body);
    let lost = false; // of some try nobody knows whether it took effect
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

  /** How long to wait before the next try, in milliseconds; undefined when that is longer than wanted. */
  #pause(attempt: number, refused: PurserError | undefined): number | undefined {
    const asked = (refused?.retryAfter ?? 0) * 1000;
    if (asked > this.#options.maxWaitMs) return undefined;
    const grown = Math.min(this.#options.firstPauseMs * 2 ** (attempt - 1), longestPause);
    return Math.max(asked, grown * (0.5 + Math.random() / 2)); // so that many clients do not come back together
  }

  /** One try. It throws a PurserError where there was an answer. */
  async #once<T>(path: string, init: RequestInit, read: (data: Fields) => T, signal: AbortSignal | undefined): Promise<T> {
    // By hand, since AbortSignal.any is younger than Node 20.
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
      ends.abort(); // what was not read of an answer is not waited for
    }
  }

  /** Takes an answer's envelope apart. */
  #read<T>(response: Response, text: string | undefined, read: (data: Fields) => T): T {
    const { status } = response;
    const requestId = this.#told(response.headers.get("X-Request-Id") ?? "");
    const seconds = /^\d{1,9}$/.exec(response.headers.get("Retry-After")?.trim() ?? "");
    const retryAfter = seconds ? Math.min(Number(seconds[0]), 86_400) : 0;
    // Nothing of an answer's body is shown that is not purser's.
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

  /** The values of a refusal. What is no text, whole number or list of texts is left out: no purser sends it today. */
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

  /** A text of a refusal as an error may show it: bounded, printable, without the key. */
  #told(text: string): string {
    const short = text.length > longestText ? `${text.slice(0, longestText)}…` : text;
    return short.replace(/[\u0000-\u001f\u007f]/g, " ").replaceAll(this.#key, "[key]");
  }
}

/** What a DELETE finds whose first answer was lost. */
const gone = Symbol("gone");

/**
 * Whether another try may be answered otherwise. A 409 asks for patience by Retry-After: the first try
 * of the same request is still being worked on.
 */
function passing(e: PurserError): boolean {
  return [429, 502, 503, 504].includes(e.status) || (e.status === 409 && e.retryAfter > 0);
}

/** The body of an answer, or undefined for one that is too large. */
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
      void reader.cancel().catch(() => undefined); // whoever sends this does not care either
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
