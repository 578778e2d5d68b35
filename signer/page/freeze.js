// Freezing an account with the recovery link, and unfreezing it with the signature of a wallet that was connected before.
// The first needs no key and no chat. The second signs a text that this page composes itself, and nothing else.

import { chooseAccount, inApp } from './apps.js';
import { button, copyButton, foreign, h, mark, notice } from './dom.js';
import { encode } from './base58.js';
import { utf8 } from './bytes.js';
import { t } from './catalogue.js';
import { checkUnfreeze, unfreezeText } from './challenge.js';
import { restoreWallet } from './create.js';
import { signText } from './external.js';
import { accountCard, signedText, unlockForText } from './proof.js';
import { untilAnswered } from './retry.js';
import { sign } from './seal.js';
import * as server from './server.js';
import { clock, day, lastSix, utcTime } from './text.js';
import * as vault from './vault.js';

/** The flow behind #f=<token>. It works on any device, with no wallet on it. */
export async function freezeFlow(ui, token) {
  await ui.ask(t('freeze.title'), (done) => [
    h('p', { class: 'lead' }, t('freeze.lead')),
    h('p', null, t('freeze.what')),
    h('p', null, t('freeze.later')),
    notice('warn', t('freeze.cannot')),
    h('div', { class: 'actions' }, button(t('freeze.button'), 'danger', () => done())),
  ]);
  const answer = await untilAnswered(ui, { working: t('freeze.working'), unknown: t('freeze.no_answer') }, () => server.freeze(token));
  const at = utcTime(answer.frozen_at);
  await ui.end(t('freeze.done_title'),
    mark('ok'),
    at && h('p', { class: 'lead' }, t('freeze.since', { time: day(at) })),
    h('p', null, t('freeze.done')),
    notice('warn', t('freeze.cannot')));
}

/** The flow behind #u=<token>. `place` and `able` as in bind.js. */
export async function unfreezeFlow(ui, token, place, able = true) {
  ui.wait(t('proof.reading'));
  const c = checkUnfreeze(await server.unfreezeChallenge(token));
  for (let refusal = ''; ;) {
    const here = able ? await vault.list() : [];
    const wallet = await (await choose(ui, { c, place, able, refusal, here }))();
    refusal = '';
    if (wallet === null) continue;
    let signature;
    const text = unfreezeText(place, wallet.address, c);
    try {
      const proof = wallet.key ? await sign(wallet.key, wallet.address, utf8(text))
        : await inApp(ui, wallet.app.name, t('unfreeze.app_signs'), signText(wallet.app, wallet.account, text));
      if (proof === null) continue;
      signature = encode(proof);
    } catch (err) {
      refusal = err instanceof Error ? err.message : t('proof.app_did_not_sign');
      continue;
    }
    try {
      await untilAnswered(ui, { working: t('unfreeze.working'), unknown: t('unfreeze.no_answer') }, () => server.unfreeze(token, wallet.address, signature));
    } catch (err) {
      // Of the wallet or its signature: the link is as good as before, for another wallet.
      if (!(err instanceof server.Refused) || ![403, 422].includes(err.status)) throw err;
      refusal = err.message;
      continue;
    }
    return ui.end(t('unfreeze.done_title'), mark('ok'), h('p', { class: 'lead' }, t('unfreeze.done')));
  }
}

/** Resolves to a function that resolves to {address, key} or {address, app, account}, or to null to choose again. */
function choose(ui, { c, place, able, refusal, here }) {
  const signers = here.filter((w) => c.wallets.some((known) => known.address === w.address));
  const missing = c.wallets.filter((w) => w.wallet_type === 'page' && !signers.some((s) => s.address === w.address));
  const developers = c.wallets.some((w) => w.wallet_type === 'developer');
  return ui.ask(t('unfreeze.title'), (done) => [
    refusal && notice('warn', h('p', null, foreign(refusal, 300))),
    accountCard(c, t('unfreeze.not_you_close'), h('p', { class: 'hint' }, t('freeze.since', { time: day(utcTime(c.frozen_at)) }))),
    h('p', null, t('unfreeze.lead')),
    !able && notice('note', t('link.unsupported_here')),
    able && signers.length === 0 && notice('note', t('unfreeze.none_here')),
    h('div', { class: 'actions' },
      signers.map((w, n) => button(t('proof.with', { six: lastSix(w.address) }), n === 0 ? 'primary' : 'secondary', () => done(() => unlock(ui, w, c, place)))),
      button(t('proof.external'), signers.length > 0 ? 'secondary' : 'primary', () => done(() => external(ui, c, place))),
      able && missing.map((w) => button(t('proof.restore', { six: lastSix(w.address) }), 'secondary',
        () => done(() => restoreWallet(ui, { needed: w.address, next: unfreezing(place, c) })))),
      copyButton(t('common.copy_link'), place.link, 'secondary')),
    developers && h('p', { class: 'hint' }, t('proof.developer')),
    h('p', { class: 'hint' }, t('unfreeze.expires', { time: clock(utcTime(c.expires_at)) })),
    signedText(textFor(place, c)),
  ]);
}

/** What follows a wallet that was just restored here: its text is signed at once. */
const unfreezing = (place, c) => ({ step: 'unfreeze.step', label: 'unfreeze.button', more: (address) => signedText(textFor(place, c, address)) });

/** The text that ends the freeze, to be shown. Without an address its place is marked. */
const textFor = (place, c, address = t('proof.text_place')) => unfreezeText(place, address, c);

/** A wallet app: any account may be chosen, and the server says whether it was connected before. */
async function external(ui, c, place) {
  const chosen = await chooseAccount(ui, { chain: c.chain, link: place.link });
  return chosen && { address: chosen.account.address, ...chosen };
}

const unlock = (ui, wallet, c, place) => unlockForText(ui, wallet, c, {
  title: t('unfreeze.title'), label: t('unfreeze.button'), text: textFor(place, c, wallet.address), next: unfreezing(place, c),
});
