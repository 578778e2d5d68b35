// How soon a passphrase is guessed, as a power of two. Pure; knows no storage and no page.
//
// Whoever steals the sealed vault guesses offline. One graphics card makes about 15,000 guesses a second
// against PBKDF2 with 600,000 rounds, and guesses what people choose first: common passwords, words, names,
// dates, rows of keys, repeats, each with a capital, a digit or a sign behind it. So a passphrase is cut into
// such pieces in the way that is cheapest to guess, and the pieces' costs are added up.

import { COMMON, PHRASES, ROWS } from './common.js';
import { WORDS } from './words.js';

/** What is asked for: 2^40 guesses take one graphics card over two years. */
export const ENOUGH = 40; // bits

// What is made of the lists is marked as pure: parts of the page that judge no passphrase leave it out.
const ranked = (words) => new Map([...words].reverse().map((word, i) => [word, words.length - i]));
const longest = (...lists) => Math.max(...lists.flat().map((text) => text.length));
const bothWays = (rows) => [...rows, ...rows.map((row) => [...row].reverse().join(''))].join('\n');

const COMMON_AT = /* @__PURE__ */ ranked(COMMON);
const LISTED = /* @__PURE__ */ new Set(WORDS);
const KNOWN = /* @__PURE__ */ new Set(PHRASES);
const LONGEST_WORD = /* @__PURE__ */ longest(COMMON, PHRASES);
const LONGEST_ROW = /* @__PURE__ */ longest(ROWS);
const BOTH_WAYS = /* @__PURE__ */ bothWays(ROWS);
const LONGEST_PIECE = /* @__PURE__ */ Math.max(LONGEST_WORD, LONGEST_ROW); // characters; what is longer is known only if it is all letters
const LONGEST = 128; // characters that are looked at: work grows with their square
const SWAPS = { 0: 'o', 1: 'l', 3: 'e', 4: 'a', 5: 's', 7: 't', 8: 'b', '@': 'a', $: 's', '!': 'i', '€': 'e' };

/** Bits of guessing that a passphrase costs; more than 128 characters count as 128. */
export function strength(passphrase) {
  const characters = [...passphrase].slice(0, LONGEST);
  const lower = characters.map((c) => c.toLowerCase());
  const plain = lower.map((c) => SWAPS[c] ?? c);
  const letter = lower.map((c) => /^\p{L}+$/u.test(c));
  const capitals = capitalCost(characters);

  // Known phrases are known however they are spaced.
  if (KNOWN.has(plain.filter((c) => /\p{L}/u.test(c)).join(''))) return 8 + capitals;

  // best[i] is the least that the first i characters cost.
  const best = [0];
  for (let end = 1; end <= lower.length; end++) {
    best[end] = best[end - 1] + single(characters[end - 1]);
    let text = '';
    let swapped = '';
    let word = true;
    for (let start = end - 1; start >= 0; start--) {
      text = lower[start] + text;
      swapped = plain[start] + swapped;
      word &&= letter[start];
      const piece = word || end - start <= LONGEST_PIECE ? cost(text, swapped) : Infinity;
      best[end] = Math.min(best[end], best[start] + piece, repeated(lower, start, end, best));
    }
  }
  return best[lower.length] + capitals;
}

/** A capital at the very beginning of a word costs little; those within, and all capitals, a bit more. */
function capitalCost(characters) {
  const big = characters.filter((c, i) => c !== c.toLowerCase());
  const leading = big.length > 0 && characters.every((c, i) => c === c.toLowerCase() || i === 0 || !/\p{L}/u.test(characters[i - 1]));
  if (big.length === 0) return 0;
  return leading || !characters.some((c) => c !== c.toUpperCase()) ? 1 : Math.min(big.length * 1.5, 12);
}

/** One character by itself. */
function single(c) {
  if (/\p{N}/u.test(c)) return 3.3;
  if (/[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(c)) return 8;
  if (/\p{L}/u.test(c)) return 4.7;
  return /[\s\-_.,]/u.test(c) ? 1 : 4; // between words stand few signs
}

/** A piece as something that people type; Infinity when it is nothing known. */
function cost(text, plain) {
  const n = [...text].length;
  let least = Infinity;
  const consider = (bits) => { least = Math.min(least, bits); };
  if (n <= LONGEST_WORD) {
    for (const [form, extra] of text === plain ? [[text, 0]] : [[text, 0], [plain, 1]]) {
      if (KNOWN.has(form)) consider(8 + extra);
      if (COMMON_AT.has(form)) consider(Math.max(1, Math.log2(COMMON_AT.get(form))) + extra);
      if (LISTED.has(form)) consider(11 + extra);
    }
  }
  if (n >= 3 && alongRow(text)) consider(5 + Math.log2(n));
  if (/^(19|20)\d\d$/.test(text)) consider(6.5);
  if (/^\d{1,2}[-./ ]?\d{1,2}[-./ ]?(\d\d|(19|20)\d\d)$/.test(text)) consider(15); // a date
  if (n >= 4 && /^\p{L}+$/u.test(text) && pronounceable(text)) consider(13 + 2.2 * Math.max(0, n - 5)); // a word or name of some language
  return least;
}

/** Whether a text runs along a row, either way. */
function alongRow(text) {
  return text.length <= LONGEST_ROW && !text.includes('\n') && BOTH_WAYS.includes(text);
}

/** Whether letters could be a word: random ones have few vowels, or many consonants in a row. */
function pronounceable(text) {
  const vowels = text.match(/[aeiouyäöüåæøéèêëíîïóôúûáâàãõаеёиоуыэюя]/gu)?.length ?? 0;
  if (!/[a-zа-я]/u.test(text)) return true; // of a script whose vowels are not known here
  return vowels / [...text].length >= 0.2 && !/[bcdfghjklmnpqrstvwxzбвгджзйклмнпрстфхцчшщ]{5}/u.test(text);
}

/** The characters from start to end as the repeat of a block that ends somewhere before; Infinity when they are none. */
function repeated(lower, start, end, best) {
  const n = end - start;
  for (let size = 1; size <= start && size <= n; size++) {
    if (n % size !== 0) continue;
    let same = true;
    for (let i = start; i < end && same; i++) same = lower[i] === lower[i - size];
    if (same) return best[start] + Math.log2(1 + n / size);
  }
  return Infinity;
}
