// The entry point: reads what the link asks for, clears it from the address bar, loads the texts, and starts that flow.

import { Closed, Ui, button, copyButton, errorText, h, notice } from './dom.js';
import { bindFlow } from './bind.js';
import { insideTelegram } from './browser.js';
import { t, translate } from './catalogue.js';
import { loadTexts, wanted } from './files.js';
import { freezeFlow, unfreezeFlow } from './freeze.js';
import { home } from './home.js';
import { limitsFlow } from './limits.js';
import { supported } from './seal.js';
import { Refused } from './server.js';
import { signFlow } from './sign.js';

/** What a link asks for, by the letter in its fragment. */
const KINDS = { b: 'bind', s: 'sign', f: 'freeze', u: 'unfreeze', l: 'limits' };

/**
 * Reads and clears the fragment; returns {kind: home|bind|sign|freeze|unfreeze|limits|broken|gone, fragment, secret, language}. The secret is kept
 * nowhere, so a reload has lost it: the history entry remembers only that there was one. A link may end with
 * "&lang=<tag>", the person's language as the chat knows it; it only chooses among the page's own catalogues.
 */
function takeRequest() {
  const fragment = location.hash;
  if (fragment === '' || fragment === '#') return { kind: history.state?.link ? 'gone' : 'home', fragment, secret: '', language: '' };
  history.replaceState({ link: true }, '', location.pathname);
  const [, letter, secret, language = ''] = /^#([bsful])=([A-Za-z0-9_-]{16,128})(?:&lang=([A-Za-z0-9-]{2,35}))?$/.exec(fragment) ?? [];
  if (!letter) return { kind: 'broken', fragment, secret: '', language };
  return { kind: KINDS[letter], fragment, secret, language };
}

async function run(ui, { kind, secret }) {
  if (!globalThis.isSecureContext) {
    return ui.end(t('link.insecure_title'), h('p', null, t('link.insecure')));
  }
  const able = await supported();
  if (!able && !Object.values(KINDS).includes(kind)) {
    return ui.end(t('link.unsupported_title'),
      h('p', null, t('link.unsupported')),
      secret && copyButton(t('common.copy_link'), link(kind, secret), 'primary'));
  }
  if (kind === 'gone') await linkGone(ui);
  else if (insideTelegram() && kind !== 'freeze') await suggestBrowser(ui, kind, secret);
  switch (kind) {
    case 'bind': return bindFlow(ui, secret, { host: location.host, origin: location.origin, link: link(kind, secret) }, able);
    case 'sign': return signFlow(ui, secret, link(kind, secret), able);
    case 'freeze': return freezeFlow(ui, secret);
    case 'unfreeze': return unfreezeFlow(ui, secret, { host: location.host, origin: location.origin, link: link(kind, secret) }, able);
    case 'limits': return limitsFlow(ui, secret, { host: location.host, origin: location.origin, link: link(kind, secret) }, able);
    case 'broken': return ui.end(t('link.broken_title'), h('p', null, t('link.broken')));
    default: return home(ui);
  }
}

const link = (kind, secret) => `${location.origin}/w/${secret && `#${Object.keys(KINDS).find((letter) => KINDS[letter] === kind)}=${secret}`}`;

/** The page was reloaded, or its tab brought back. Resolves when the person goes on without the link. */
async function linkGone(ui) {
  await ui.ask(t('link.gone_title'), (done) => [
    h('p', { class: 'lead' }, t('link.gone_lead')),
    h('p', null, t('link.gone')),
    h('div', { class: 'actions' }, button(t('link.show_wallets'), 'secondary', () => done())),
  ]);
  history.replaceState(null, '', location.pathname);
}

/** Telegram's in-app browser deletes what it stores: asks the person to open a real one. */
function suggestBrowser(ui, kind, secret) {
  return ui.ask(t('link.telegram_title'), (done) => [
    h('p', { class: 'lead' }, t('link.telegram_lead')),
    h('p', null, t('link.telegram')),
    h('div', { class: 'actions' },
      copyButton(t('common.copy_link'), link(kind, secret), 'primary'),
      button(t('link.continue_here'), 'secondary', () => done())),
    secret && notice('note', t('link.telegram_private')),
  ]);
}

async function start(ui, request) {
  try {
    await run(ui, request);
  } catch (err) {
    if (err instanceof Closed) return;
    const dead = err instanceof Refused && [401, 403, 404, 409, 410].includes(err.status);
    await ui.end(t(dead ? 'link.dead_title' : 'link.failed_title'),
      notice('warn', h('p', null, errorText(err))),
      h('p', null, t(!dead ? 'link.failed' : request.kind === 'sign' ? 'link.dead_sign' : 'link.dead')),
    ).catch(() => {});
  }
}

let loaded = null; // the texts: a page keeps the language of its first link

function open() {
  const request = takeRequest();
  const ui = new Ui(document.getElementById('main'), document.getElementById('status'));
  loaded ??= loadTexts(wanted(request.language)).then(() => translate());
  loaded.then(() => start(ui, request), () => {
    loaded = null; // the next link, or a reload, asks again
    if (request.fragment) history.replaceState(null, '', location.pathname + request.fragment); // nothing was done with it
    document.getElementById('unloaded').hidden = false; // written in the HTML
  });
  // A second link opened in the same tab only changes the fragment: end this flow, begin that one.
  addEventListener('hashchange', () => {
    ui.close();
    open();
  }, { once: true });
}

document.getElementById('host').textContent = location.host;
open();
