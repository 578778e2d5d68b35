import { fromBase64, utf8, type Bytes } from "./bytes.js";
import { WebhookError } from "./errors.js";

/** How far a delivery's time may be from now, in milliseconds. An older delivery may be a replay. */
const webhookAge = 5 * 60_000;

/** Request headers: those of fetch, or of Node (names in lower case). */
type HeadersLike = { get(name: string): string | null } | Readonly<Record<string, string | string[] | undefined>>;

/**
 * Throws a WebhookError unless a delivery was signed with the webhook's secret, and within the last 5 minutes.
 * body is the raw body as it arrived, before any JSON is parsed. One valid signature of purser's two schemes
 * is enough:
 *
 * - Standard Webhooks: webhook-id, webhook-timestamp, webhook-signature, which cover the time too;
 * - x-service-signature with x-service-timestamp, and x-service-signature-previous while the secret is
 *   being rotated.
 *
 * The second does not cover its time, so anyone who saw a delivery could send it again. Handle each
 * transaction_id, alert_id or message once, even if this check passes.
 */
export async function verifyWebhook(secret: string, headers: HeadersLike, body: Uint8Array | string, now: Date = new Date()): Promise<void> {
  if (secret === "") throw new WebhookError("signature");
  const raw = typeof body === "string" ? utf8(body) : new Uint8Array(body);
  const header = (name: string): string => {
    const value = typeof headers["get"] === "function"
      ? (headers as { get(name: string): string | null }).get(name)
      : (headers as Readonly<Record<string, string | string[] | undefined>>)[name];
    return (Array.isArray(value) ? value[0] : value) ?? "";
  };
  const standard = await verifyStandard(secret, header, raw, now);
  if (standard === undefined) return;
  const service = await verifyService(secret, header, raw, now);
  if (service === undefined) return;
  throw new WebhookError(service === "time" ? service : standard);
}

type Reason = "signature" | "time" | undefined;

async function verifyStandard(secret: string, header: (name: string) => string, body: Bytes, now: Date): Promise<Reason> {
  const id = header("webhook-id");
  const at = header("webhook-timestamp");
  let key = utf8(secret);
  if (secret.startsWith("whsec_")) {
    const decoded = fromBase64(secret.slice("whsec_".length));
    if (decoded !== undefined && decoded.length > 0) key = decoded;
  }
  const signatures = header("webhook-signature").split(" ").filter((one) => one.startsWith("v1,")).map((one) => fromBase64(one.slice(3)));
  const start = utf8(`${id}.${at}.`);
  const text = new Uint8Array(start.length + body.length);
  text.set(start);
  text.set(body, start.length);
  if (id === "" || !await matches(key, text, signatures)) return "signature";
  return /^\d{1,12}$/.test(at) && fresh(Number(at) * 1000, now) ? undefined : "time";
}

async function verifyService(secret: string, header: (name: string) => string, body: Bytes, now: Date): Promise<Reason> {
  const signatures = ["x-service-signature", "x-service-signature-previous"].map((name) => fromHex(header(name)));
  if (!await matches(utf8(secret), body, signatures)) return "signature";
  const at = header("x-service-timestamp");
  return /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(at) && fresh(Date.parse(at), now) ? undefined : "time";
}

function fromHex(value: string): Bytes | undefined {
  const hex = /^sha256=([0-9a-fA-F]{64})$/.exec(value)?.[1];
  return hex === undefined ? undefined : Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function fresh(at: number, now: Date): boolean {
  return Math.abs(now.getTime() - at) <= webhookAge; // false for NaN
}

/** Returns whether one of the signatures is HMAC-SHA256 of text. crypto.subtle.verify compares in constant time. */
async function matches(key: Bytes, text: Bytes, signatures: (Bytes | undefined)[]): Promise<boolean> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  let good = false;
  for (const one of signatures) {
    if (one !== undefined && await crypto.subtle.verify("HMAC", imported, one, text)) good = true;
  }
  return good;
}
