// The files that the HTML names. A file's name holds its SHA-256, so a browser may keep it for good, and
// the page reads from the name what fetch() must find in it: neither a server nor a cache can hand over another file.
//
// Each part of the page is a script element with the names of its catalogues. They stand in a template, which runs nothing; boot.js puts a copy of
// the one that is needed into the document.

import { choose, use } from './catalogue.js';

const ENGLISH = 'en';
const PATIENCE = 20_000; // milliseconds, for one file

/** The catalogues that a part of the page has, by language: Map {en: 'en.<hash>.json'}. Without an argument, of the part that runs. */
export const catalogues = (part = document.querySelector('[data-texts]')) => new Map(part.dataset.texts.split(' ').map((name) => [name.split('.')[0], name]));

/** What a browser checks a file by: the hash in its name, which is base64url, in the form of the attribute `integrity`. */
export const integrityOf = (name) => `sha256-${name.split('.').at(-2).replaceAll('-', '+').replaceAll('_', '/')}=`;

/** The languages that a link and the browser ask for, best first. A link may end with "&lang=<tag>". */
export const wanted = (link, own = navigator.languages) => [link, ...(own ?? [])].filter(Boolean);

/** The file of the catalogue that fits best. */
export const catalogueFor = (languages, files = catalogues()) => files.get(choose(languages, [...files.keys()]));

/**
 * Asks for a file that the HTML names. The browser compares what comes with the hash in the name, and rejects another file. `cache` is that of fetch():
 * 'reload' asks the server and replaces what the browser kept.
 */
export const request = (name, cache = 'default') => fetch(name, { integrity: integrityOf(name), cache, signal: AbortSignal.timeout(PATIENCE), redirect: 'error' });

/** Loads the files of another part of the page into the browser's cache, so that the next link finds them there. Nothing depends on it. */
export function fetchAhead(kind, languages = [document.documentElement.lang]) {
  const part = document.getElementById('parts').content.querySelector(`[data-kind=${kind}]`);
  for (const name of [part.getAttribute('src'), catalogueFor(languages, catalogues(part))]) request(name).then((response) => response.arrayBuffer()).catch(() => {});
}

/** The response that boot.js asked for, once: another attempt asks anew. */
function takeFirst(name) {
  const first = globalThis.firstCatalogue;
  delete globalThis.firstCatalogue;
  return first?.name === name ? first.response : request(name);
}

/** Loads the catalogue that fits best and speaks it; English when its file does not come. Rejects when that does not come either. */
export async function loadTexts(languages) {
  const files = catalogues();
  const speak = async (language) => {
    const name = files.get(language);
    const response = await takeFirst(name).catch(() => request(name, 'reload')); // a wrong file would stay in the cache for a year
    if (!response.ok) throw new Error(`${name}: ${response.status}`);
    const texts = await response.json();
    use(texts, language, texts);
  };
  const best = choose(languages, [...files.keys()]);
  await speak(best).catch((err) => {
    if (best === ENGLISH) throw err;
    return speak(ENGLISH);
  });
}
