// Plain byte work: joining, comparing, wiping, hex, base64 and UTF-8. Knows nothing of keys or
// transactions, and holds nothing.

/** Joins byte arrays into a new one. */
export function concat(...parts) {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}

/** True when both arrays hold the same bytes. Not for secrets: it stops at the first difference. */
export function equal(a, b) {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/**
 * Overwrites buffers that held a secret. Copies that the engine made for itself, and strings, are
 * out of reach of JavaScript; what we hold in arrays is not.
 */
export function wipe(...buffers) {
  for (const b of buffers) if (b) b.fill(0);
}

/** Lowercase hexadecimal. */
export function toHex(bytes) {
  return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
}

/** Standard base64 with padding (RFC 4648 §4). */
export function toBase64(bytes) {
  let binary = '';
  for (const b of bytes) binary += String.fromCharCode(b);
  return btoa(binary);
}

/**
 * Reads standard base64 strictly: padding present, no blanks, no unused bits set.
 * Throws a SyntaxError otherwise.
 */
export function fromBase64(text) {
  const refuse = () => new SyntaxError('not base64');
  if (typeof text !== 'string' || text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw refuse();
  let binary;
  try {
    binary = atob(text);
  } catch {
    throw refuse();
  }
  const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
  if (toBase64(bytes) !== text) throw refuse();
  return bytes;
}

/** Reads base64url without padding (RFC 4648 §5), as JSON Web Keys hold it. */
export function fromBase64Url(text) {
  const standard = text.replaceAll('-', '+').replaceAll('_', '/');
  return fromBase64(standard.padEnd(Math.ceil(standard.length / 4) * 4, '='));
}

/** base64url without padding. */
export const toBase64Url = (bytes) => toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');

/** UTF-8 bytes of a string. */
export function utf8(text) {
  return new TextEncoder().encode(text);
}

/** sha256 of bytes, as bytes. */
export async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
}
