// Recovery phrase (BIP-39, English) and the keys that they stand for (SLIP-0010, path m/44'/501'/n'/0',
// where Solana wallets look; n is 0 for the first account). Knows no storage and no page. Words travel as
// indexes into the list, since numbers in an array can be overwritten and strings cannot.

import { encode } from './base58.js';
import { concat, fromBase64Url, sha256, utf8, wipe } from './bytes.js';
import { LocalizedError } from './catalogue.js';
import { WORDS } from './words.js';

const PATH = (account) => [44, 501, account, 0]; // every step hardened: ed25519 has no other
const LENGTHS = [12, 15, 18, 21, 24]; // words, of 16, 20, 24, 28 and 32 bytes of entropy
const SPACE = utf8(' ');

/** PKCS #8 header of an Ed25519 private key (RFC 8410 §7); the 32-byte seed follows. */
const PKCS8 = Uint8Array.of(0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20);

/** What is wrong with typed words. `problems` are {position (from 1), word, suggestion (or "")}. */
export class PhraseError extends LocalizedError {
  constructor(key, args = {}, problems = []) {
    super(key, args);
    this.problems = problems;
  }
}

/** Fresh entropy for 12 words: 16 bytes of the browser's cryptographic randomness. */
export function newEntropy() {
  return crypto.getRandomValues(new Uint8Array(16));
}

/** Word indexes of 16 to 32 bytes of entropy (12 to 24 words), the checksum in the last one. */
export async function toIndexes(entropy) {
  if (!LENGTHS.includes((entropy.length * 3) / 4)) throw new RangeError('entropy is 16, 20, 24, 28 or 32 bytes');
  const sum = await sha256(entropy);
  const bits = concat(entropy, sum.subarray(0, 1));
  const indexes = new Uint16Array((entropy.length * 3) / 4);
  for (let i = 0; i < indexes.length; i++) indexes[i] = bitsAt(bits, i * 11);
  wipe(sum, bits);
  return indexes;
}

/** The 11 bits that begin at a bit offset; past the end they read as zero. */
function bitsAt(bytes, offset) {
  const at = offset >> 3;
  const three = (bytes[at] << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
  return (three >> (13 - (offset & 7))) & 0x7ff;
}

/** Entropy of 12 to 24 word indexes. Throws a PhraseError when the checksum does not fit. */
export async function toEntropy(indexes) {
  const entropy = new Uint8Array((indexes.length * 4) / 3);
  for (let bit = 0; bit < entropy.length * 8; bit++) {
    const on = (indexes[Math.floor(bit / 11)] >> (10 - (bit % 11))) & 1;
    entropy[bit >> 3] |= on << (7 - (bit & 7));
  }
  const again = await toIndexes(entropy);
  const last = indexes.length - 1;
  const fits = again[last] === indexes[last];
  wipe(again);
  if (fits) return entropy;
  wipe(entropy);
  throw new PhraseError('restore.checksum');
}

/**
 * Reads typed or pasted words: any case, any blanks, numbering such as "3." ignored. Returns word
 * indexes. Throws a PhraseError that says which words are unknown, or how many are missing.
 */
export function readPhrase(text) {
  const words = text.normalize('NFKD').toLowerCase().split(/[\s,;]+/)
    .map((w) => w.replace(/^\d+[.):]?/, '')).filter(Boolean);
  const problems = words.flatMap((word, i) =>
    WORDS.includes(word) ? [] : [{ position: i + 1, word, suggestion: nearest(word) }]);
  if (problems.length > 0) throw new PhraseError('restore.unknown_words', {}, problems);
  if (!LENGTHS.includes(words.length)) {
    throw new PhraseError('restore.count', { count: words.length });
  }
  return Uint16Array.from(words, (w) => WORDS.indexOf(w));
}

/** The word that was probably meant, or "". The first four letters tell any two words apart. */
function nearest(word) {
  const start = word.length >= 4 && WORDS.find((w) => w.slice(0, 4) === word.slice(0, 4));
  if (start) return start;
  let best = { word: '', steps: 3 };
  for (const w of WORDS) {
    const steps = distance(w, word.slice(0, 12));
    if (steps < best.steps) best = { word: w, steps };
  }
  return best.word;
}

/** Levenshtein distance: letters put in, taken out or changed. */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length];
}

/** The words themselves, for showing. */
export function toWords(indexes) {
  return Array.from(indexes, (i) => WORDS[i]);
}

/**
 * BIP-39 seed: PBKDF2-HMAC-SHA512, 2048 rounds. 64 bytes. `extra` is the BIP-39 passphrase of the phrase: any
 * text gives a wallet, so a slip in it gives another one. It is taken as typed, blanks included, in NFKD.
 */
export async function toSeed(indexes, extra = '') {
  const phrase = concat(...Array.from(indexes).flatMap((index, i) => (i ? [SPACE, utf8(WORDS[index])] : [utf8(WORDS[index])])));
  const salt = utf8(`mnemonic${extra.normalize('NFKD')}`);
  try {
    const key = await crypto.subtle.importKey('raw', phrase, 'PBKDF2', false, ['deriveBits']);
    const how = { name: 'PBKDF2', hash: 'SHA-512', salt, iterations: 2048 };
    return new Uint8Array(await crypto.subtle.deriveBits(how, key, 512));
  } finally {
    wipe(phrase, salt);
  }
}

/** SLIP-0010 for ed25519: the 32-byte private key of a seed at a path of hardened steps. */
export async function derive(seed, path = PATH(0)) {
  let node = await hmacSha512(utf8('ed25519 seed'), seed);
  for (const step of path) {
    const index = new Uint8Array(4);
    new DataView(index.buffer).setUint32(0, (step | 0x80000000) >>> 0);
    const data = concat(Uint8Array.of(0), node.subarray(0, 32), index);
    const next = await hmacSha512(node.subarray(32), data);
    wipe(node, data);
    node = next;
  }
  const key = node.slice(0, 32);
  wipe(node);
  return key;
}

async function hmacSha512(key, data) {
  const k = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-512' }, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', k, data));
}

/** Account `account` (from 0) of a seed, as accountOf returns it. */
export async function accountAt(seed, account) {
  const key = await derive(seed, PATH(account));
  try {
    return await accountOf(key);
  } finally {
    wipe(key);
  }
}

/**
 * The account of some words: {address (base58), pkcs8}. The caller wipes pkcs8, which holds the
 * private key in the form that WebCrypto imports.
 */
export async function toAccount(indexes, { account = 0, extra = '' } = {}) {
  const seed = await toSeed(indexes, extra);
  try {
    return await accountAt(seed, account);
  } finally {
    wipe(seed);
  }
}

/** The account of a private key of 32 bytes: {address, pkcs8}. */
export async function accountOf(key) {
  return { address: encode(await publicKeyOf(key)), pkcs8: concat(PKCS8, key) };
}

/** The public key (32 bytes) of a private one. */
export async function publicKeyOf(key) {
  const pkcs8 = concat(PKCS8, key);
  try {
    // WebCrypto tells the public key of a private one only through an export: hence extractable, once.
    const once = await crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', true, ['sign']);
    const { x } = await crypto.subtle.exportKey('jwk', once);
    return fromBase64Url(x);
  } finally {
    wipe(pkcs8);
  }
}
