// The wallets on this device: list, create, restore, show recovery phrase or private key, remove.

import { Problem, button, copyButton, field, form, h, notice } from './dom.js';
import { wipe } from './bytes.js';
import { t } from './catalogue.js';
import { createWallet, restoreWallet } from './create.js';
import { counts } from './history.js';
import { writeKey } from './keyfile.js';
import { showLimits } from './limits.js';
import { toIndexes, toWords } from './mnemonic.js';
import { address, askPassphrase, rows, wordList } from './parts.js';
import { managePasskey } from './passkey.js';
import { limitedAddresses } from './policies.js';
import { unlockEntropy, unlockPrivateKey } from './seal.js';
import { dayOf, lastSix } from './text.js';
import * as vault from './vault.js';
import { giveUp, offered } from './webauthn.js';

/** What follows a wallet that was restored under a new passphrase, see HOME in create.js. */
const RESTORED = { step: 'home.restored', label: 'common.done' };

/** Runs until the page is left. */
export async function home(ui) {
  for (;;) {
    const next = await overview(ui, ...await Promise.all([vault.list(), offered(), limitedAddresses()]));
    await next();
  }
}

function overview(ui, wallets, passkeys, limited) {
  const others = limited.filter((a) => !wallets.some((w) => w.address === a)); // of wallet apps, and of wallets that were removed
  return ui.ask(t(wallets.length ? 'home.title' : 'home.title_empty'), (done) => [
    wallets.length === 0 && h('p', { class: 'lead' }, t('home.lead_empty')),
    wallets.map((w) => card(ui, w, passkeys, limited.includes(w.address), done)),
    others.map((a) => h('section', { class: 'card wallet', 'aria-label': t('common.wallet_name', { six: lastSix(a) }) },
      address(a), h('p', { class: 'hint' }, t('home.limits_only')), h('div', { class: 'inline more' }, limitsButton(ui, a, done)))),
    h('div', { class: 'actions' },
      button(t('create.title'), wallets.length ? 'secondary' : 'primary', () => done(() => createWallet(ui))),
      button(t('restore.title'), 'secondary', () => done(() => restoreWallet(ui)))),
    h('details', null, h('summary', null, t('home.safe')),
      h('ul', { class: 'plain' },
        h('li', null, t('home.safe_key')),
        h('li', null, t('home.safe_decode')),
        h('li', null, t('home.safe_operator')),
        h('li', null, t('home.safe_malware')))),
  ]);
}

const limitsButton = (ui, address, done) => button(t('limits.title'), 'quiet', () => done(() => showLimits(ui, address)));

/** A wallet and what can be done with it; `passkeys` says whether one may be added here, `limited` whether limits are kept. */
function card(ui, wallet, passkeys, limited, done) {
  const quiet = [
    wallet.words && button(t('home.show_key'), 'quiet', () => done(() => exportKey(ui, wallet))),
    (wallet.passkey || passkeys) && button(t(wallet.passkey ? 'home.passkey' : 'home.passkey_add'), 'quiet', () => done(() => managePasskey(ui, wallet, forgotten(ui, wallet)))),
    limited && limitsButton(ui, wallet.address, done),
  ].filter(Boolean);
  return h('section', { class: 'card wallet', 'aria-label': t('common.wallet_name', { six: lastSix(wallet.address) }) },
    address(wallet.address),
    h('div', { class: 'pair' },
      copyButton(t('home.copy_address'), wallet.address, 'secondary'),
      wallet.words
        ? button(t('home.show_phrase'), 'secondary', () => done(() => exportPhrase(ui, wallet)))
        : button(t('home.show_key'), 'secondary', () => done(() => exportKey(ui, wallet)))),
    quiet.length > 0 && h('div', { class: 'inline more' }, quiet),
    h('div', { class: 'foot' },
      h('p', { class: 'hint' }, t('home.since', { date: dayOf(wallet.created_at) })),
      button(t('home.remove'), 'quiet', () => done(() => remove(ui, wallet, limited)))));
}

/** The way out of a forgotten passphrase, for askPassphrase. */
const forgotten = (ui, wallet) => async () => (await restoreWallet(ui, { needed: wallet.address, next: RESTORED })) && { instead: null };

async function exportPhrase(ui, wallet) {
  const entropy = await askPassphrase(ui, {
    title: t('home.phrase_title'),
    about: [notice('danger', t('home.phrase_warning')), rows([t('common.wallet'), address(wallet.address)])],
    label: t('home.show_phrase'),
    forgotten: forgotten(ui, wallet),
  }, (passphrase) => unlockEntropy(passphrase, wallet));
  if (entropy === null) return;
  const indexes = await toIndexes(entropy);
  const { account = 0, extra = false } = wallet.derived ?? {};
  try {
    await ui.ask(t('home.phrase_shown_title'), (done) => [
      wordList(toWords(indexes)),
      h('p', { class: 'hint' }, t(account > 0 ? 'home.phrase_path_account' : 'home.phrase_path', { account, place: account + 1 })),
      extra && notice('warn', t('home.phrase_extra')),
      h('div', { class: 'actions' }, button(t('home.hide_phrase'), 'primary', () => done())),
    ]);
  } finally {
    wipe(entropy, indexes);
  }
}

/** Shows the private key in the forms that other wallets import. */
async function exportKey(ui, wallet) {
  const seed = await askPassphrase(ui, {
    title: t('home.key_title'),
    about: [notice('danger', t('home.key_warning')), rows([t('common.wallet'), address(wallet.address)])],
    label: t('home.show_key'),
    forgotten: forgotten(ui, wallet),
  }, (passphrase) => unlockPrivateKey(passphrase, wallet));
  if (seed === null) return;
  try {
    const { base58, json } = await writeKey(seed);
    await ui.ask(t('home.key_shown_title'), (done) => [
      h('p', { class: 'label' }, t('home.key_base58')),
      h('p', { class: 'signed', translate: 'no' }, base58),
      h('p', { class: 'label' }, t('home.key_json')),
      h('p', { class: 'signed', translate: 'no' }, json),
      h('div', { class: 'actions' },
        button(t('home.hide_key'), 'primary', () => done()),
        copyButton(t('home.copy_key'), base58, 'secondary'), copyButton(t('home.copy_json'), json, 'secondary')),
      h('p', { class: 'hint' }, t('home.clipboard')),
    ]);
  } finally {
    wipe(seed);
  }
}

function remove(ui, wallet, limited) {
  return ui.ask(t('home.remove_title'), (done) => {
    const six = field('six', t('common.six'), { hint: t('common.six_hint', { six: lastSix(wallet.address) }) });
    return [
      notice('danger', t(wallet.words ? 'home.remove_phrase' : 'home.remove_key')),
      rows([t('common.wallet'), address(wallet.address)]),
      form([six.node], [t('home.remove_submit'), 'destructive'], async () => {
        if (six.input.value.trim() !== lastSix(wallet.address)) {
          throw new Problem(t('common.six_wrong'), six.input);
        }
        await vault.forget(wallet.address, counts);
        if (wallet.passkey) await giveUp(wallet.passkey.id);
        done();
      }, button(t('home.keep'), 'secondary', () => done())),
      h('p', { class: 'hint' }, t('home.remove_chat')),
      limited && h('p', { class: 'hint' }, t('home.remove_limits')),
    ];
  });
}
