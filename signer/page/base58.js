// Base58 with the Bitcoin alphabet, as Solana writes addresses and signatures. Knows bytes and
// letters only; whether 32 bytes are an address is for the caller to say.

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Longest text that decode reads: work grows with the square of the length. */
const LONGEST = 256;

/** Writes bytes in base58; each leading zero byte becomes a "1". */
export function encode(bytes) {
  const digits = []; // little-endian base-58 digits
  for (const byte of bytes) {
    let carry = byte;
    for (let i = 0; i < digits.length; i++) {
      carry += digits[i] << 8;
      digits[i] = carry % 58;
      carry = Math.floor(carry / 58);
    }
    for (; carry > 0; carry = Math.floor(carry / 58)) digits.push(carry % 58);
  }
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros++;
  return '1'.repeat(zeros) + digits.reverse().map((d) => ALPHABET[d]).join('');
}

/** Reads base58. Throws a SyntaxError on any other character or when longer than 256 letters. */
export function decode(text) {
  if (typeof text !== 'string' || text.length > LONGEST) throw new SyntaxError('not base58');
  const bytes = []; // little-endian
  for (const letter of text) {
    let carry = ALPHABET.indexOf(letter);
    if (carry < 0) throw new SyntaxError('not base58');
    for (let i = 0; i < bytes.length; i++) {
      carry += bytes[i] * 58;
      bytes[i] = carry & 0xff;
      carry >>= 8;
    }
    for (; carry > 0; carry >>= 8) bytes.push(carry & 0xff);
  }
  let zeros = 0;
  while (zeros < text.length && text[zeros] === '1') zeros++;
  return Uint8Array.from([...new Array(zeros).fill(0), ...bytes.reverse()]);
}

/** Reads a 32-byte address; null when the text is not exactly one. */
export function addressBytes(text) {
  if (typeof text !== 'string' || text.length < 32 || text.length > 44) return null;
  try {
    const bytes = decode(text);
    return bytes.length === 32 ? bytes : null;
  } catch {
    return null;
  }
}
