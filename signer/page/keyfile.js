// Private keys as other wallets show them: 64 bytes, the 32-byte seed and then the public key, in base58
// (Phantom, Solflare, Backpack) or as a JSON array of numbers (id.json of Solana's command line tools).
// Knows no storage and no page. Errors never repeat what was typed.

import { decode, encode } from './base58.js';
import { concat, equal, wipe } from './bytes.js';
import { publicKeyOf } from './mnemonic.js';

const SEED = 32; // bytes; the public key has as many
const LONGEST = 2000; // characters: 64 numbers with generous spacing

/** What is wrong with a typed key. */
export class KeyError extends Error {
  constructor(message) {
    super(message);
    this.name = 'KeyError';
  }
}

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
      throw new KeyError('The two halves of this key do not belong together. One character may be wrong or missing.');
    }
    return seed;
  } finally {
    wipe(bytes);
  }
}

/** The 64 bytes of either form. */
function readBytes(text) {
  if (text === '') throw new KeyError('Paste the private key.');
  if (text.length > LONGEST) throw new KeyError('This is longer than a private key.');
  const bytes = text.startsWith('[') ? fromNumbers(text) : fromBase58(text);
  if (bytes.length === 2 * SEED) return bytes;
  const short = bytes.length === SEED;
  wipe(bytes);
  throw new KeyError(short ? 'This has 32 bytes: it may be an address. A private key has 64 bytes.' : 'A private key has 64 bytes, and this has not.');
}

function fromNumbers(text) {
  let list;
  try {
    list = JSON.parse(text);
  } catch {
    throw new KeyError('This begins like a key file, but it is not whole. Copy all of it, with both brackets.');
  }
  if (!list.every((n) => Number.isInteger(n) && n >= 0 && n <= 255)) throw new KeyError('A key file holds numbers from 0 to 255 only.');
  const bytes = Uint8Array.from(list);
  list.fill(0);
  return bytes;
}

function fromBase58(text) {
  if (/\s/.test(text)) throw new KeyError('A private key has no spaces. If these are words, go back and restore from words.');
  try {
    return decode(text);
  } catch {
    throw new KeyError('This is not a private key: it has characters that base58 does not know.');
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
