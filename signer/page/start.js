// What every part of the page begins with: reads what the link asks for, clears it from the address bar, loads the texts, and starts that flow.

import { Closed, Ui, button, copyButton, errorText, h, notice } from './dom.js';
import { insideTelegram } from './browser.js';
import { t, translate } from './catalogue.js';
import { loadTexts, wanted } from './files.js';
import { linkTo, wish } from './link.js';
import { NotHere } from './whole.js';
import { supported } from './seal.js';
import { Refused } from './server.js';

/** The flows that start with a link. */
const LINKED = ['bind', 'sign', 'freeze', 'unfreeze', 'limits'];

/** The link of a request. */
const link = ({ kind, secret }) => linkTo(kind, secret);

/** What signs a text names this page: its host and origin, and its own link. */
const placeOf = (request) => ({ host: location.host, origin: location.origin, link: link(request) });

/** Starts the flow of a request; `flows` as in begin, `checked` resolves to whether this browser can hold a key. */
async function run(ui, request, flows, checked) {
  const { kind, secret } = request;
  if (!globalThis.isSecureContext) {
    return ui.end(t('link.insecure_title'), h('p', null, t('link.insecure')));
  }
  const able = await checked;
  if (!able && !LINKED.includes(kind)) {
    return ui.end(t('link.unsupported_title'),
      h('p', null, t('link.unsupported')),
      secret && copyButton(t('common.copy_link'), link(request), 'primary'));
  }
  if (kind === 'gone') await linkGone(ui);
  else if (insideTelegram() && kind !== 'freeze' && !request.restore) await suggestBrowser(ui, request);
  if (kind === 'broken') return ui.end(t('link.broken_title'), h('p', null, t('link.broken')));
  return (flows[kind] ?? flows.home)(ui, request, placeOf(request), able);
}

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
function suggestBrowser(ui, request) {
  return ui.ask(t('link.telegram_title'), (done) => [
    h('p', { class: 'lead' }, t('link.telegram_lead')),
    h('p', null, t('link.telegram')),
    h('div', { class: 'actions' },
      copyButton(t('common.copy_link'), link(request), 'primary'),
      button(t('link.continue_here'), 'secondary', () => done())),
    request.secret && notice('note', t('link.telegram_private')),
  ]);
}

async function start(ui, request, flows, checked) {
  try {
    await run(ui, request, flows, checked);
  } catch (err) {
    if (err instanceof Closed) return;
    if (err instanceof NotHere) return openWhole(request);
    const dead = err instanceof Refused && [401, 403, 404, 409, 410].includes(err.status);
    await ui.end(t(dead ? 'link.dead_title' : 'link.failed_title'),
      notice('warn', h('p', null, errorText(err))),
      h('p', null, t(!dead ? 'link.failed' : request.kind === 'sign' ? 'link.dead_sign' : 'link.dead')),
    ).catch(() => {});
  }
}

/** Opens the same link in the whole page, to restore the wallet there first. The history entry says so, since everybody can make a link. */
function openWhole({ fragment }) {
  history.replaceState({ restore: true }, '', location.pathname + fragment);
  location.reload();
}

/**
 * Begins what the page was opened for. `flows` are those that this part of the page has, by kind: functions of (ui, request, place, able), which get
 * what wish returns, {host, origin, link} of this page, and whether this browser can hold a key. `home` takes what is no link.
 */
export function begin(flows) {
  if (document.readyState === 'loading') { // a script that boot.js adds does not wait for the end of the HTML
    addEventListener('DOMContentLoaded', () => begin(flows), { once: true });
    return;
  }
  document.getElementById('host').textContent = location.host;
  const checked = supported(); // while the texts come
  let loaded = null; // the texts: a page keeps the language of its first link
  const open = () => {
    const request = wish();
    if (!flows.home && !flows[request.kind]) return location.reload(); // boot.js then loads the part that has it
    if (request.fragment.length > 1) history.replaceState({ link: true }, '', location.pathname); // kept nowhere: a reload has lost it
    const ui = new Ui(document.getElementById('main'), document.getElementById('status'));
    loaded ??= loadTexts(wanted(request.language)).then(() => translate());
    loaded.then(() => start(ui, request, flows, checked), () => {
      loaded = null; // the next link, or a reload, asks again
      if (request.fragment) history.replaceState(null, '', location.pathname + request.fragment); // nothing was done with it
      document.getElementById('unloaded').hidden = false; // written in the HTML
    });
    // A second link opened in the same tab only changes the fragment: end this flow, begin that one.
    addEventListener('hashchange', () => {
      ui.close();
      open();
    }, { once: true });
  };
  open();
}
