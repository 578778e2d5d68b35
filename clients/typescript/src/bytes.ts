/** Bytes that WebCrypto accepts: not in shared memory. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** The bytes of text in UTF-8. */
export function utf8(text: string): Bytes {
  return new Uint8Array(new TextEncoder().encode(text));
}

/** Reads base64 (the standard alphabet, padded); undefined if the text is not base64. */
export function fromBase64(text: string): Bytes | undefined {
  if (text.length % 4 !== 0 || !/^[0-9A-Za-z+/]*={0,2}$/.test(text)) return undefined;
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return toBase64(bytes) === text ? bytes : undefined; // each value has one encoding
}

/** Writes base64. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Writes Bitcoin's base58, as Solana does. */
export function base58(bytes: Uint8Array): string {
  const digits: number[] = []; // least first
  for (const byte of bytes) {
    let carry = byte;
    for (let i = 0; i < digits.length; i++) {
      carry += digits[i]! * 256;
      digits[i] = carry % 58;
      carry = Math.floor(carry / 58);
    }
    for (; carry > 0; carry = Math.floor(carry / 58)) digits.push(carry % 58);
  }
  const zeros = bytes.findIndex((b) => b !== 0);
  return "1".repeat(zeros < 0 ? bytes.length : zeros) + digits.reverse().map((d) => alphabet[d]).join("");
}

/** Reads 32 bytes in base58; undefined if the text is not valid, or not in its only encoding. */
export function fromBase58(text: string): Bytes | undefined {
  if (typeof text !== "string" || text.length < 32 || text.length > 44) return undefined;
  let n = 0n;
  for (const c of text) {
    const digit = alphabet.indexOf(c);
    if (digit < 0) return undefined;
    n = n * 58n + BigInt(digit);
  }
  if (n >> 256n !== 0n) return undefined;
  const bytes = new Uint8Array(32);
  for (let i = 31; i >= 0; i--, n >>= 8n) bytes[i] = Number(n & 0xffn);
  return base58(bytes) === text ? bytes : undefined;
}
