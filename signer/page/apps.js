// Choosing and asking a wallet app: the screens around external.js.

import { Problem, button, copyButton, foreign, form, h, notice } from './dom.js';
import { connect, discover } from './external.js';
import { address as shown } from './parts.js';
import { lastSix } from './text.js';

const NEITHER = Symbol('neither');

/** Waits for an app, with a way back: resolves to what `work` does, or to null. Errors are shown there. */
export async function inApp(ui, name, what, work) {
  const left = ui.ask(`Go on in ${name}`, (done) => [
    h('p', { class: 'lead' }, what),
    h('p', { class: 'hint' }, 'Its window may stand behind this one.'),
    h('div', { class: 'actions' }, button('Back', 'secondary', () => done(NEITHER))),
  ]);
  const result = await Promise.race([work, left]);
  return result === NEITHER ? null : result;
}

/**
 * Lets the person choose an app and one of its accounts; `only` is an address that it must be. Resolves
 * to {app, account}, or to null to go back.
 */
export async function chooseAccount(ui, { chain, link, only = null }) {
  for (let trouble = ''; ;) {
    const app = await chooseApp(ui, discover(chain), link, trouble);
    if (app === null) return null;
    let accounts;
    try {
      accounts = await inApp(ui, app.name, 'Allow it to show this page your address.', connect(app));
    } catch {
      trouble = `${app.name} did not connect.`;
      continue;
    }
    if (accounts === null) continue;
    const fitting = accounts.filter((a) => only === null || a.address === only);
    if (fitting.length === 1) return { app, account: fitting[0] };
    if (fitting.length > 1) return { app, account: await chooseOne(ui, fitting) };
    trouble = only === null ? `${app.name} showed no account.` : `${app.name} does not hold the wallet that pays. Choose it there, or another app here.`;
  }
}

function chooseApp(ui, apps, link, trouble) {
  return ui.ask('Use a wallet app', (done) => [
    trouble && notice('warn', h('p', null, foreign(trouble, 200))),
    apps.some((a) => a.usable)
      ? h('div', { class: 'actions' }, apps.filter((a) => a.usable).map((a) => button(a.name, 'primary', () => done(a))))
      : [
        h('p', { class: 'lead' }, 'This browser has no wallet app that can be used here.'),
        h('p', null, 'Open the same link in a browser where your wallet is installed. On a phone: Copy the link, open the browser inside your wallet app (Phantom, Solflare, Backpack) and paste it there.'),
        link && h('div', { class: 'actions' }, copyButton('Copy link', link, 'primary')),
        h('p', { class: 'hint' }, 'The link holds a secret. A wallet’s own “open in app” link would send that secret through the wallet’s website, so this page offers none.'),
      ],
    apps.filter((a) => !a.usable).map((a) => h('p', { class: 'hint' }, foreign(a.name, 40), ` cannot be used: ${a.why}.`)),
    notice('note', 'A wallet app shows in its own way what it signs. This page checks what it hands back before anything is sent.'),
    h('div', { class: 'actions' }, button('Back', 'secondary', () => done(null))),
  ]);
}

function chooseOne(ui, accounts) {
  return ui.ask('Which account?', (done) => {
    const choices = accounts.map((a) => h('label', { class: 'choice' },
      h('input', { type: 'radio', name: 'account', value: a.address, 'aria-label': `Account ending in ${lastSix(a.address)}` }), h('span', null, shown(a.address))));
    const inputs = choices.map((label) => label.querySelector('input'));
    return form(h('fieldset', null, h('legend', null, 'Account'), choices), 'Continue', () => {
      const at = inputs.findIndex((input) => input.checked);
      if (at < 0) throw new Problem('Choose one of these accounts.', inputs[0]);
      done(accounts[at]);
    });
  });
}
