// The texts that people read, by key, from one JSON file for each language. Knows files and languages, and nothing of
// what the texts are about. A text is put on the page as text, never as markup.
//
//   {"sign": {"title": "Approve this payment?", "days": {"one": "{count} day", "other": "{count} days"}}}
//
// t('sign.title') is the first text. A placeholder such as {count} is replaced by the argument of that name. A text with
// plural forms is chosen by the argument `count`, by the rules of the language (Intl.PluralRules).
//
// signer/page and pages/portal each have this file: they are served from different origins, and neither loads code from
// the other. A test holds the two copies equal.

const ENGLISH = 'en';
const FORMS = new Set(['zero', 'one', 'two', 'few', 'many', 'other']); // of plurals, as Unicode names them
const RIGHT_TO_LEFT = new Set(['ar', 'dv', 'fa', 'he', 'ku', 'ps', 'sd', 'ug', 'ur', 'yi']);
const PATIENCE = 20_000; // milliseconds, for one file

let language = ENGLISH;
let texts = new Map(); // of the language; what it lacks is taken from English
let english = new Map();
let plurals = null; // the rules of the language, once its texts are there

/** A catalogue's texts by their whole key, such as "sign.title": each a string, or its plural forms. */
export function flatten(catalogue, prefix = '') {
  return new Map(Object.entries(catalogue).flatMap(([name, value]) => {
    const key = prefix + name;
    if (typeof value === 'string' || Object.keys(value).every((form) => FORMS.has(form))) return [[key, value]];
    return [...flatten(value, `${key}.`)];
  }));
}

/** Speaks English, or the language whose catalogue is given besides. */
export function use(englishCatalogue, other = ENGLISH, catalogue = {}) {
  english = flatten(englishCatalogue);
  texts = flatten(catalogue);
  language = other;
  plurals = new Intl.PluralRules(other);
}

/**
 * Loads English and the language of `available` that fits `wanted` best, from the folder of the page, and speaks it.
 * Speaks English when the other file does not come. Rejects when English does not come.
 */
export async function load(available, wanted) {
  const best = choose(wanted, available);
  const file = async (name) => {
    const response = await fetch(new URL(`${name}.json`, import.meta.url), { signal: AbortSignal.timeout(PATIENCE), redirect: 'error' });
    if (!response.ok) throw new Error(`${name}.json: ${response.status}`);
    return response.json();
  };
  const [first, second] = await Promise.all([file(ENGLISH), best === ENGLISH ? null : file(best).catch(() => null)]);
  if (second === null) use(first);
  else use(first, best, second);
}

/** The first language of `wanted` that is available, as it is or without its region; else English. */
export function choose(wanted, available) {
  for (const tag of wanted) {
    const lower = String(tag).toLowerCase();
    const found = available.find((one) => one.toLowerCase() === lower) ?? available.find((one) => one.toLowerCase() === lower.split('-')[0]);
    if (found) return found;
  }
  return ENGLISH;
}

/** "rtl" for languages that are written from right to left, else "ltr". */
export const direction = (tag = language) => (RIGHT_TO_LEFT.has(tag.toLowerCase().split('-')[0]) ? 'rtl' : 'ltr');

/** The text of a key. Says the key itself where even English has none: a test finds that before a person does. */
export const t = (key, args = {}) => pieces(key, args).map(String).join('');

/** Like t, with elements among the arguments: a list of strings and elements, to be appended in this order. */
export const rich = (key, args) => pieces(key, args);

/** Whether the catalogue has a text of this key. */
export const has = (key) => english.has(key);

function pieces(key, args) {
  const found = texts.get(key) ?? english.get(key) ?? key;
  const text = typeof found === 'string' ? found : found[plurals.select(args.count)] ?? found.other;
  return text.split(/(\{[a-z_]+\})/).filter((piece) => piece !== '').map((piece) => {
    const name = piece.startsWith('{') ? piece.slice(1, -1) : '';
    if (name === '' || !Object.hasOwn(args, name)) return piece;
    return isolated(typeof args[name] === 'number' ? number(args[name]) : args[name]);
  });
}

// In a language that is written from right to left, an address or an amount keeps its order between these two characters
// (FIRST STRONG ISOLATE, POP DIRECTIONAL ISOLATE). Elements bring their own direction.
const isolated = (value) => (typeof value === 'string' && value !== '' && direction() === 'rtl' ? `\u2068${value}\u2069` : value);

// Making a format takes a slow phone long, so each is made once: by its kind, language and options.
const formats = new Map();

function format(kind, tag, options) {
  const name = JSON.stringify([kind.name, tag, options]);
  if (!formats.has(name)) formats.set(name, new kind(tag, options));
  return formats.get(name);
}

/** A count as people write it: "1,234", in other languages with a no-break space. Not for amounts of money, which are exact texts. */
export const number = (n) => format(Intl.NumberFormat, 'en-GB').formatToParts(n)
  .map((part) => (part.type === 'group' && language !== ENGLISH ? '\u00a0' : part.value)).join('');

/**
 * A moment as people write it; `options` are those of Intl.DateTimeFormat. Numbers keep the digits 0 to 9 in every language (nu-latn), so that they
 * can be compared with the chat's and copied.
 */
export const date = (at, options) => format(Intl.DateTimeFormat, `${language === ENGLISH ? 'en-GB' : language}-u-ca-gregory-nu-latn`, options).format(at);

/** Translates what the page's HTML holds in English: elements with data-text="key", and labels with data-label="key". */
export function translate(doc = document) {
  doc.documentElement.lang = language;
  doc.documentElement.dir = direction();
  for (const element of doc.querySelectorAll('[data-text]')) element.textContent = t(element.dataset.text);
  for (const element of doc.querySelectorAll('[data-label]')) element.setAttribute('aria-label', t(element.dataset.label));
}

/** An error that a person reads: its message is the text of a key. */
export class LocalizedError extends Error {
  constructor(key, args = {}) {
    super();
    this.key = key;
    this.args = args;
  }

  get message() {
    return t(this.key, this.args);
  }
}
