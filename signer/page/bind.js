// Connecting a wallet to a Telegram account: show whose account it is, choose or make a wallet,
// prove the address with a signature, send the person back to the chat.

import { chooseAccount, inApp } from './apps.js';
import { Problem, button, copyButton, foreign, form, h, mark, notice } from './dom.js';
import { encode } from './base58.js';
import { utf8 } from './bytes.js';
import { LocalizedError, t } from './catalogue.js';
import { checkChallenge, signInText } from './challenge.js';
import { createWallet, restoreWallet } from './create.js';
import { signText } from './external.js';
import { networkOf, pinNetwork } from './history.js';
import { address as shown, rows } from './parts.js';
import { accountCard, accountRow, signedText, unlockForText } from './proof.js';
import { untilAnswered } from './retry.js';
import { sign } from './seal.js';
import * as server from './server.js';
import { clock, lastSix, utcTime } from './text.js';
import * as vault from './vault.js';

/** What follows a wallet that was just created here: its text is signed at once. */
const connecting = (place, c) => ({
  step: 'bind.step', label: 'bind.step_button', more: (address) => signedText(signInText(place, address, c)),
});

/**
 * The flow behind #b=<token>. `place` is {host, origin, link} of this page, and connected, a function that is called once the wallet is
 * connected, or nothing; `able` says whether this browser can hold a key itself.
 */
export async function bindFlow(ui, token, place, able = true) {
  ui.wait(t('proof.reading'));
  const challenge = checkChallenge(await server.bindChallenge(token));
  let address = null;
  const taken = new Set(); // addresses that the server refused: connected already, to whomever
  for (let refusal = ''; address === null;) {
    let wallet = null;
    let signature = null;
    while (signature === null) {
      wallet = await (await choose(ui, { token, challenge, wallets: able ? await vault.list() : [], taken, refusal, able, place }))();
      if (wallet === null) continue;
      const network = await networkOf(wallet.address).catch(() => null); // a browser that keeps nothing knows nothing
      if (network && network !== challenge.chain && !(await otherNetwork(ui, wallet.address, network, challenge.chain))) continue;
      const text = signInText(place, wallet.address, challenge);
      if (wallet.key) {
        ui.wait(t('bind.proving'));
        signature = encode(await sign(wallet.key, wallet.address, utf8(text)));
        continue;
      }
      try {
        const proof = await inApp(ui, wallet.app.name, t('bind.app_signs'),
          signText(wallet.app, wallet.account, text));
        signature = proof && encode(proof);
      } catch (err) {
        refusal = err instanceof Error ? err.message : t('proof.app_did_not_sign');
      }
    }
    try {
      await prove(ui, token, wallet.address, signature, wallet.key ? 'page' : 'external');
      address = wallet.address;
    } catch (err) {
      // 409: this wallet is connected already. The link is as good as before, for another wallet.
      if (!(err instanceof server.Refused) || err.status !== 409) throw err;
      refusal = err.message;
      taken.add(wallet.address);
    }
  }
  await pinNetwork(address, challenge.chain).catch(() => {}); // proven it is all the same
  await vault.usedFor(address, challenge.telegram_id).catch(() => {}); // a help for the next choice, no more
  place.connected?.();
  await ui.end(t('bind.done_title'),
    h('p', { class: 'lead' }, t('bind.done_lead')),
    h('p', { class: 'six', translate: 'no' }, lastSix(address)),
    rows([t('bind.your_address'), shown(address)], accountRow(challenge)),
    notice('note', t('bind.done_note')));
}

/** Resolves to a function that resolves to {address, key} or {address, app, account}, or to null to choose again. */
function choose(ui, { token, challenge: c, wallets, taken, refusal, able, place }) {
  const text = textOf(place, c);
  const inUse = async (addresses) => (await server.accountsInUse(token, addresses)).holds;
  const made = (create) => () => done(() => create(ui, { next: connecting(place, c), inUse }));
  const other = button(t('proof.external'), able ? 'secondary' : 'primary', () => done(() => external(ui, c, place.link)));
  let done;
  return ui.ask(t('bind.title'), (answer) => (done = answer, [
    refusal && notice('warn', h('p', null, foreign(refusal, 300)), h('p', null, t('bind.choose_other'))),
    accountCard(c, t('bind.not_you_close')),
    !able && notice('note', t('link.unsupported_here')),
    !able ? h('div', { class: 'actions' }, other, copyButton(t('common.copy_link'), place.link, 'secondary'))
      : wallets.length === 0
        ? h('div', { class: 'actions' },
          button(t('bind.create'), 'primary', made(createWallet)),
          button(t('bind.restore'), 'secondary', made(restoreWallet)), other)
        : withWallets(wallets, c, taken, text, (wallet) => done(() => unlock(ui, wallet, c, place)), (kind) => [
          button(t('bind.create'), kind, made(createWallet)),
          button(t('bind.restore'), 'secondary', made(restoreWallet)), other]),
    h('p', { class: 'hint' }, t('bind.expires', { time: clock(utcTime(c.expires_at)) })),
    text.node,
  ]));
}

/** The wallet is known for another network: resolves to whether to connect it all the same. */
function otherNetwork(ui, address, known, now) {
  return ui.ask(t('proof.network_title'), (done) => [
    mark('stop'),
    notice('danger', h('p', null, h('strong', null, t('proof.network_changed', { known: t(`chain.${known}`), now: t(`chain.${now}`) }))),
      t('bind.network_warning')),
    rows([t('common.wallet'), shown(address)]),
    h('div', { class: 'actions' },
      button(t('common.back'), 'primary', () => done(false)), button(t('bind.connect_anyway'), 'danger', () => done(true))),
  ]);
}

/** A wallet app instead of a key on this page. */
async function external(ui, c, link) {
  const chosen = await chooseAccount(ui, { chain: c.chain, link });
  return chosen && { address: chosen.account.address, ...chosen };
}

/** Which account a wallet belongs to as far as this device knows: a text, or "", and whether it fits this account. */
function knownUse(w, c, taken) {
  if (taken.has(w.address)) return { fits: false, text: t('bind.refused_here') };
  if (w.account === c.telegram_id) return { fits: true, text: t('bind.used_here') };
  if (w.account) return { fits: false, text: t('bind.used_elsewhere', { id: w.account }) };
  return { fits: true, text: '' };
}

/**
 * The wallets to choose from. When all of them are somebody else's, creating one is proposed instead. What continues with the choice
 * stands under it all the same.
 */
function withWallets(wallets, c, taken, text, chosen, others) {
  const known = wallets.map((w) => ({ ...w, ...knownUse(w, c, taken) }));
  const fitting = known.filter((w) => w.fits).length;
  const sure = fitting === 1; // else the choice is the person's
  const choices = known.map((w) => h('label', { class: 'choice' },
    h('input', { type: 'radio', name: 'wallet', value: w.address, 'aria-label': [t('common.wallet_name', { six: lastSix(w.address) }), w.text].filter(Boolean).join('. '), checked: sure && w.fits }),
    h('span', null, shown(w.address), w.text && h('span', { class: 'hint' }, w.text))));
  const inputs = choices.map((label) => label.querySelector('input'));
  const pick = () => text.show(wallets[inputs.findIndex((input) => input.checked)]?.address);
  for (const input of inputs) input.addEventListener('change', pick);
  pick();
  return form(
    h('fieldset', null, h('legend', null, t('bind.which')), choices), fitting ? t('common.continue') : [t('common.continue'), 'plain'],
    () => {
      const at = inputs.findIndex((input) => input.checked);
      if (at < 0) throw new Problem(t('bind.choose_one'), inputs[0]);
      chosen(wallets[at]);
    },
    ...others(fitting ? 'secondary' : 'primary'));
}

/** The text that proves an address, folded: {node, show(address)}. Until there is an address its place is marked. */
function textOf(place, c) {
  const text = (address = t('proof.text_place')) => signInText(place, address, c);
  const node = signedText(text());
  return { node, show: (address) => { node.lastChild.textContent = text(address); } };
}

const unlock = (ui, wallet, c, place) => unlockForText(ui, wallet, c, {
  title: t('bind.unlock_title'), label: t('bind.connect'), text: signInText(place, wallet.address, c), next: connecting(place, c),
});

/** Hands the proof over; when no answer comes, the same proof can be sent again. */
async function prove(ui, token, address, signature, type) {
  let tries = 0; // an earlier one may have arrived
  await untilAnswered(ui, { working: t('bind.proving'), unknown: t('bind.no_answer') }, async () => {
    try {
      tries++;
      const answer = await server.bind(token, address, signature, type);
      if (answer.address !== address) throw new LocalizedError('error.other_address');
    } catch (err) {
      if (err instanceof server.Refused && tries > 1) err.message = t('bind.maybe_taken', { refusal: err.message, six: lastSix(address) });
      throw err;
    }
  });
}
