// The door: reads what the link asks for, clears it from the address bar, and starts that flow.

import { Closed, Ui, button, copyButton, h, notice } from './dom.js';
import { bindFlow } from './bind.js';
import { insideTelegram } from './browser.js';
import { home } from './home.js';
import { supported } from './seal.js';
import { Refused } from './server.js';
import { signFlow } from './sign.js';
import { plain } from './text.js';

/**
 * Reads and clears the fragment; returns {kind: home|bind|sign|broken|gone, secret}. The secret is kept
 * nowhere, so a reload has lost it: the history entry remembers only that there was one.
 */
function takeRequest() {
  const fragment = location.hash;
  if (fragment === '' || fragment === '#') return { kind: history.state?.link ? 'gone' : 'home', secret: '' };
  history.replaceState({ link: true }, '', location.pathname);
  const [, letter, secret] = /^#([bs])=([A-Za-z0-9_-]{16,128})$/.exec(fragment) ?? [];
  if (!letter) return { kind: 'broken', secret: '' };
  return { kind: letter === 'b' ? 'bind' : 'sign', secret };
}

async function run(ui, { kind, secret }) {
  if (!globalThis.isSecureContext) {
    return ui.end('This connection is not safe', h('p', null, 'Browsers allow keys only on https. Open the link with https, or tell the operator of the bot.'));
  }
  const able = await supported();
  if (!able && kind !== 'bind' && kind !== 'sign') {
    return ui.end('This browser cannot hold a Solana key',
      h('p', null, 'It lacks Ed25519 in WebCrypto. Open the same link in a current Chrome or Edge (137 or newer), Firefox (130 or newer) or Safari (17 or newer).'),
      secret && copyButton('Copy link', link(kind, secret), 'primary'));
  }
  if (kind === 'gone') await linkGone(ui);
  else if (insideTelegram()) await suggestBrowser(ui, kind, secret);
  switch (kind) {
    case 'bind': return bindFlow(ui, secret, { host: location.host, origin: location.origin, link: link(kind, secret) }, able);
    case 'sign': return signFlow(ui, secret, link(kind, secret), able);
    case 'broken': return ui.end('This link is not whole', h('p', null, 'Open it again from the chat, or ask the bot for a new one.'));
    default: return home(ui);
  }
}

const link = (kind, secret) => `${location.origin}/w/${secret && `#${kind === 'bind' ? 'b' : 's'}=${secret}`}`;

/** The page was reloaded, or its tab brought back. Resolves when the person goes on without the link. */
async function linkGone(ui) {
  await ui.ask('The link is gone from this page', (done) => [
    h('p', { class: 'lead' }, 'Open it again from the chat.'),
    h('p', null, 'Reloading loses it, because this page keeps no links. What you had finished stands; the chat shows it.'),
    h('div', { class: 'actions' }, button('Show the wallets on this device', 'secondary', () => done())),
  ]);
  history.replaceState(null, '', location.pathname);
}

/** Telegram's in-app browser forgets; urge the real one. */
function suggestBrowser(ui, kind, secret) {
  return ui.ask('Open this in your browser', (done) => [
    h('p', { class: 'lead' }, 'You are inside Telegram’s own browser. A wallet kept here is lost when Telegram clears its data.'),
    h('p', null, 'Choose “Open in browser” in the menu at the top, or copy the link and paste it into Chrome, Safari or Firefox.'),
    h('div', { class: 'actions' },
      copyButton('Copy link', link(kind, secret), 'primary'),
      button('Continue here anyway', 'secondary', () => done())),
    secret && notice('note', 'The link is for you alone. Send it to nobody.'),
  ]);
}

async function start(ui, request) {
  try {
    await run(ui, request);
  } catch (err) {
    if (err instanceof Closed) return;
    const dead = err instanceof Refused && [401, 403, 404, 409, 410].includes(err.status);
    await ui.end(dead ? 'This link does not work any more' : 'That did not work',
      notice('warn', plain(err.message, 300)),
      h('p', null, !dead ? 'Open the link again from the chat. If it happens again, tell the operator of the bot.'
        : request.kind === 'sign' ? 'The chat shows what became of the payment, and the link to sign it if it still waits for you.' : 'Ask the bot for a new one.'),
    ).catch(() => {});
  }
}

function open() {
  const ui = new Ui(document.getElementById('main'), document.getElementById('status'));
  start(ui, takeRequest());
  // A second link opened in the same tab only changes the fragment: end this flow, begin that one.
  addEventListener('hashchange', () => {
    ui.close();
    open();
  }, { once: true });
}

document.getElementById('host').textContent = location.host;
open();
