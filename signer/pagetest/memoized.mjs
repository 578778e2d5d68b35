// Stands in for what the decoder imports from associated.js, base58.js and bytes.js: encode and associatedAccount are the page's own, memoized, sha256 is
// Node's synchronous one, and toHex is the page's own.

import { createHash } from 'node:crypto';
import { associatedAccount as derive } from '../page/associated.js';
import { encode as write } from '../page/base58.js';

export { toHex } from '../page/bytes.js';

const written = new Map();
export function encode(bytes) {
  const name = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  let text = written.get(name);
  if (text === undefined) written.set(name, text = write(bytes));
  return text;
}

const derived = new Map();
export function associatedAccount(owner, mint, program) {
  const name = `${owner} ${mint} ${program}`;
  let account = derived.get(name);
  if (account === undefined) derived.set(name, account = derive(owner, mint, program));
  return account;
}

/** The browser's hash is made in another thread: the way there and back takes longer than the hash, and far longer on a busy machine. */
export const sha256 = async (bytes) => new Uint8Array(createHash('sha256').update(bytes).digest());
