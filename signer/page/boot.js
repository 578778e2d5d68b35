// What the HTML runs before its script is there: asks for the catalogue at the same time, so that the page takes two round
// trips in every language, and says so when a file of the page does not come or is another one than the HTML names.
// It stands in the HTML itself, and the policy there names its hash.

import { catalogueFor, request, wanted } from './files.js';

const [, language] = /&lang=([A-Za-z0-9-]{2,35})$/.exec(location.hash) ?? [];
const name = catalogueFor(wanted(language));
const response = request(name);
response.catch(() => {}); // files.js sees the error when it takes the response
globalThis.firstCatalogue = { name, response };

const show = () => { document.getElementById('unloaded').hidden = false; };
addEventListener('error', ({ target }) => {
  if (!(target instanceof Element)) return; // an error of the script, not of loading it
  fetch(target.src ?? target.href, { cache: 'reload' }).catch(() => {}); // a wrong file would stay in the cache for a year; the next opening gets the right one
  if (document.readyState === 'loading') addEventListener('DOMContentLoaded', show);
  else show();
}, true);
