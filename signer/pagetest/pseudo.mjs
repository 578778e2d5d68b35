// The pseudo-locale: a language made from English, in which every letter has an accent, every text is 40 % longer, and
// every argument stands in ⟦brackets⟧. On a page that speaks it, plain letters outside of brackets did not come from the
// catalogue, and texts that leave their place show how a longer language would.

const PLAIN = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const ACCENTED = 'àƀçðéƒĝĥîĵķļɱñöþɋŕšţûṽŵẋýžÀßÇÐÉƑĜĤÎĴĶĻṀÑÖÞɊŔŠŢÛṼŴẊÝŽ';
const LONGER = ' ļöñĝéŕ';

/** The languages that the pseudo-locale is served as: one from left to right, one from right to left. */
export const LOCALES = ['eo', 'ar'];

/** A text with accents, its placeholders kept. */
export const accented = (text) => text.split(/(\{[a-z_]+\})/).map((piece, i) =>
  (i % 2 ? `⟦${piece}⟧` : [...piece].map((c) => (PLAIN.includes(c) ? [...ACCENTED][PLAIN.indexOf(c)] : c)).join(''))).join('');

/** A text with accents, and 40 % longer. */
export const pseudo = (text) => {
  const more = Math.ceil([...text].length * 0.4);
  return accented(text) + [...LONGER.repeat(Math.ceil(more / LONGER.length))].slice(0, more).join('').trimEnd();
};

/** The pseudo-locale of a catalogue; plural forms keep their names. */
export const pseudoCatalogue = (catalogue) => Object.fromEntries(Object.entries(catalogue).map(([key, value]) =>
  [key, typeof value === 'string' ? pseudo(value) : pseudoCatalogue(value)]));

/** In the page: everything that a person reads or hears, but for foreign text (translate="no"), as one string a block. */
function readable() {
  const seen = [document.title];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.nodeType !== Node.ELEMENT_NODE || node.getAttribute('translate') === 'no' || ['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(node.tagName)) return '';
    for (const name of ['aria-label', 'placeholder', 'title', 'alt']) if (node.getAttribute(name)) seen.push(node.getAttribute(name));
    const text = [...node.childNodes].map(walk).join('');
    if (getComputedStyle(node).display.startsWith('inline')) return text;
    if (text.trim() !== '') seen.push(text);
    return '';
  };
  seen.push(walk(document.body));
  return seen.filter((text) => text.trim() !== '');
}

/** In the page: texts of buttons and labels that do not fit their element, or the window. */
function cut() {
  return [...document.querySelectorAll('button, a, summary, label, legend, h1, h2, h3, .badge, th, dt, dd')].filter((e) => e.checkVisibility() && !e.closest('.visually-hidden, .skip')).filter((e) => {
    const box = e.getBoundingClientRect();
    const spills = getComputedStyle(e).display !== 'inline' && e.scrollWidth > e.clientWidth + 1;
    return spills || box.left < -1 || box.right > document.documentElement.clientWidth + 1;
  }).map((e) => `${e.tagName}: ${e.textContent.slice(0, 60)}`);
}

/** What of a page in the pseudo-locale did not come from the catalogue: a list of texts. `known` are allowed: names, and what a server says. */
export async function bypassing(tab, known = []) {
  const names = new RegExp(`\\b(?:${['SOL', 'UTC', 'GMT', ...known].join('|')})\\b`, 'g');
  return (await tab.evaluate(readable)).filter((text) => {
    if (/\{[a-z_]+\}/.test(text)) return true; // a placeholder that got no argument
    let rest = text;
    const args = [];
    for (let before = ''; before !== rest;) {
      before = rest;
      rest = rest.replace(/⟦([^⟦⟧]*)⟧/g, (_, inner) => { args.push(inner); return ''; });
    }
    return /[A-Za-z]{2,}/.test(rest.replace(names, '')) || args.some((inner) => /[a-z]{3,} [a-z]{3,}/.test(inner.replace(names, '')));
  });
}

/** Checks one screen in the pseudo-locale, on a phone and a desktop, in light and dark: a list of complaints. */
export async function complaintsOf(tab, known) {
  const list = (await bypassing(tab, known)).map((text) => `not from the catalogue: ${text.trim().slice(0, 200)}`);
  for (const [width, height, colorScheme] of [[320, 568, 'light'], [1280, 860, 'dark']]) {
    await tab.setViewportSize({ width, height });
    await tab.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const over = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (over > 0) list.push(`${over} px wider than ${width} px`);
    list.push(...(await tab.evaluate(cut)).map((text) => `cut off at ${width} px: ${text}`));
  }
  return list;
}
