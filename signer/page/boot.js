// What the HTML runs before its script is there: asks for the catalogue at the same time, so that the page takes two round
// trips in every language, and says so when a file of the page does not come or is another one than the HTML names.
// It stands in the HTML itself, and the policy there names its hash.

import { catalogueFor, integrityOf, wanted } from './files.js';

const [, language] = /&lang=([A-Za-z0-9-]{2,35})$/.exec(location.hash) ?? [];
const name = catalogueFor(wanted(language));
const preload = document.createElement('link');
Object.assign(preload, { rel: 'preload', as: 'fetch', crossOrigin: 'anonymous', integrity: integrityOf(name), href: name });
document.head.append(preload);

const show = () => { document.getElementById('unloaded').hidden = false; };
addEventListener('error', ({ target }) => {
  if (!(target instanceof Element) || target === preload) return; // main.js asks for the catalogue again, and sees an error itself
  if (document.readyState === 'loading') addEventListener('DOMContentLoaded', show);
  else show();
}, true);
