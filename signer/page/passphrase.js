// What a passphrase must be, and a good one proposed. Knows no storage and no page.

import { ENOUGH, strength } from './strength.js';
import { WORDS } from './words.js';

const SHORTEST = 12; // characters
const PROPOSED_WORDS = 6; // of 2048: 66 bits

/**
 * The form that is put to work: NFKC, without blanks at the ends, so that another keyboard or a
 * trailing space of autocorrection unlocks the same vault.
 */
export function normalise(passphrase) {
  return passphrase.normalize('NFKC').trim();
}

/** Why a passphrase will not do, as {key, args} of the catalogue; null when it will. */
export function weakness(passphrase) {
  const text = normalise(passphrase);
  const characters = [...text];
  const meat = characters.filter((c) => /[\p{L}\p{N}]/u.test(c));
  if (characters.length < SHORTEST) return { key: 'passphrase.short', args: { least: SHORTEST, count: characters.length } };
  if (meat.every((c) => /\p{N}/u.test(c))) return { key: 'passphrase.digits' };
  if (new Set(characters).size < 6) return { key: 'passphrase.repeats' };
  if (strength(text) < ENOUGH) return { key: 'passphrase.weak' };
  return null;
}

/** A passphrase of six random words of the BIP-39 list, joined by hyphens. */
export function propose() {
  const picks = crypto.getRandomValues(new Uint16Array(PROPOSED_WORDS));
  // 65536 is a multiple of 2048, so the low 11 bits are even.
  return Array.from(picks, (n) => WORDS[n & 0x7ff]).join('-');
}
