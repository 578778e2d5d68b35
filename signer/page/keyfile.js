// Private keys as other wallets show them: 64 bytes, the 32-byte seed and then the public key, in base58
// (Phantom, Solflare, Backpack) or as a JSON array of numbers (id.json of Solana's command line tools).
// Knows no storage and no page. Errors never repeat what was typed.

import { decode, encode } from './base58.js';
import { concat, equal, wipe } from './bytes.js';
import { LocalizedError } from './catalogue.js';
import { publicKeyOf } from './mnemonic.js';

const SEED = 32; // bytes; the public key has as many
const LONGEST = 2000; // characters: 64 numbers with generous spacing

/** What is wrong with a typed key. */
export class KeyError extends LocalizedError {}

/**
 * Reads a private key; resolves to its seed (32 bytes), which the caller wipes. Rejects with a KeyError, also
 * when the public key in it is not the seed's.
 */
export async function readKey(text) {
  const bytes = readBytes(String(text).slice(0, LONGEST + 1).trim());
  try {
    const seed = bytes.slice(0, SEED);
    if (!equal(await publicKeyOf(seed), bytes.subarray(SEED))) {
      wipe(seed);
      throw new KeyError('key.halves');
    }
    return seed;
  } finally {
    wipe(bytes);
  }
}

/** The 64 bytes of either form. */
function readBytes(text) {
  if (text === '') throw new KeyError('key.empty');
  if (text.length > LONGEST) throw new KeyError('key.too_long');
  const bytes = text.startsWith('[') ? fromNumbers(text) : fromBase58(text);
  if (bytes.length === 2 * SEED) return bytes;
  const short = bytes.length === SEED;
  wipe(bytes);
  throw new KeyError(short ? 'key.address' : 'key.length');
}

function fromNumbers(text) {
  let list;
  try {
    list = JSON.parse(text);
  } catch {
    throw new KeyError('key.incomplete');
  }
  if (!list.every((n) => Number.isInteger(n) && n >= 0 && n <= 255)) throw new KeyError('key.numbers');
  const bytes = Uint8Array.from(list);
  list.fill(0);
  return bytes;
}

function fromBase58(text) {
  if (/\s/.test(text)) throw new KeyError('key.spaces');
  try {
    return decode(text);
  } catch {
    throw new KeyError('key.base58');
  }
}

/** A seed with its public key in both forms: {base58, json}. */
export async function writeKey(seed) {
  const bytes = concat(seed, await publicKeyOf(seed));
  try {
    return { base58: encode(bytes), json: JSON.stringify(Array.from(bytes)) };
  } finally {
    wipe(bytes);
  }
}
