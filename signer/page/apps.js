// Choosing and asking a wallet app: the screens around external.js.

import { rich, t } from './catalogue.js';
import { Problem, button, copyButton, foreign, form, h, notice } from './dom.js';
import { connect, discover } from './external.js';
import { address as shown } from './parts.js';
import { lastSix } from './text.js';

const NEITHER = Symbol('neither');

/** Waits for an app, with a way back: resolves to what `work` does, or to null. Errors are shown there. */
export async function inApp(ui, name, what, work) {
  const left = ui.ask(t('apps.continue_in', { app: name }), (done) => [
    h('p', { class: 'lead' }, what),
    h('p', { class: 'hint' }, t('apps.window')),
    h('div', { class: 'actions' }, button(t('common.back'), 'secondary', () => done(NEITHER))),
  ]);
  const result = await Promise.race([work, left]);
  return result === NEITHER ? null : result;
}

/**
 * Lets the person choose an app and one of its accounts; `only` is an address that it must be. Resolves
 * to {app, account}, or to null to go back.
 */
export async function chooseAccount(ui, { chain, link, only = null }) {
  for (let failure = null; ;) {
    const app = await chooseApp(ui, discover(chain), link, failure);
    if (app === null) return null;
    let accounts;
    try {
      accounts = await inApp(ui, app.name, t('apps.allow'), connect(app));
    } catch {
      failure = ['apps.not_connected', app.name];
      continue;
    }
    if (accounts === null) continue;
    const fitting = accounts.filter((a) => only === null || a.address === only);
    if (fitting.length === 1) return { app, account: fitting[0] };
    if (fitting.length > 1) return { app, account: await chooseOne(ui, fitting) };
    failure = [only === null ? 'apps.no_account' : 'apps.other_wallet', app.name];
  }
}

/** Resolves to the chosen app, or to null to go back. `failure` is the key of a text and the name of the app it is about. */
function chooseApp(ui, apps, link, failure) {
  return ui.ask(t('apps.title'), (done) => [
    failure && notice('warn', h('p', null, rich(failure[0], { app: foreign(failure[1], 40) }))),
    apps.some((a) => a.usable)
      ? h('div', { class: 'actions' }, apps.filter((a) => a.usable).map((a) => button(a.name, 'primary', () => done(a))))
      : [
        h('p', { class: 'lead' }, t('apps.none')),
        h('p', null, t('apps.none_hint')),
        link && h('div', { class: 'actions' }, copyButton(t('common.copy_link'), link, 'primary')),
        h('p', { class: 'hint' }, t('apps.none_secret')),
      ],
    apps.filter((a) => !a.usable).map((a) => h('p', { class: 'hint' }, rich('apps.unusable', { app: foreign(a.name, 40), why: a.why }))),
    notice('note', t('apps.checked')),
    h('div', { class: 'actions' }, button(t('common.back'), 'secondary', () => done(null))),
  ]);
}

function chooseOne(ui, accounts) {
  return ui.ask(t('apps.account_title'), (done) => {
    const choices = accounts.map((a) => h('label', { class: 'choice' },
      h('input', { type: 'radio', name: 'account', value: a.address, 'aria-label': t('apps.account_name', { six: lastSix(a.address) }) }), h('span', null, shown(a.address))));
    const inputs = choices.map((label) => label.querySelector('input'));
    return form(h('fieldset', null, h('legend', null, t('apps.account')), choices), t('common.continue'), () => {
      const at = inputs.findIndex((input) => input.checked);
      if (at < 0) throw new Problem(t('accounts.choose_one'), inputs[0]);
      done(accounts[at]);
    });
  });
}
