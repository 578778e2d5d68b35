// Runs before everything else: chooses the part of the page that the link needs, and asks for its catalogue and for what the link is about at the same time
// as for its script, so that a first visit takes two round trips. It says so when a file of the page does not come or is another one than the HTML names.
// It stands in the HTML itself, and the policy there names its hash.

import { askAhead } from './ask.js';
import { insideTelegram } from './browser.js';
import { catalogueFor, request, wanted } from './files.js';
import { wish } from './link.js';

const show = () => { document.getElementById('unloaded').hidden = false; };
addEventListener('error', ({ target }) => {
  if (!(target instanceof Element)) return; // an error of the script, not of loading it
  fetch(target.src ?? target.href, { cache: 'reload' }).catch(() => {}); // a wrong file would stay in the cache for a year; the next opening gets the right one
  if (document.readyState === 'loading') addEventListener('DOMContentLoaded', show);
  else show();
}, true);

const { kind, language, secret, restore } = wish();
const { content } = document.getElementById('parts');
const part = (!restore && content.querySelector(`[data-kind=${kind}]`)) || content.firstElementChild;
const script = part.cloneNode();
script.async = false; // in the order of the document, as one that the HTML names: browsers may put off others until after the first picture
document.head.append(script); // runs, with the integrity that the HTML gives it: no script's address is made from text
const name = catalogueFor(wanted(language));
const response = request(name);
response.catch(() => {}); // files.js sees the error when it takes the response
globalThis.firstCatalogue = { name, response };
// start.js asks nothing of the server where this is no secure page, nor inside Telegram before the person goes on there.
if (globalThis.isSecureContext && !insideTelegram()) askAhead(kind, secret);
