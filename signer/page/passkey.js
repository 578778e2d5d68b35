// The screens of a wallet's passkey: adding, using and removing it. A passkey is a second way to the signing key, and the
// passphrase stays the first. Knows screens, and what is stored.

import { button, form, h, notice } from './dom.js';
import { equal, wipe } from './bytes.js';
import { t } from './catalogue.js';
import { address as shown, askPassphrase, rows } from './parts.js';
import { sealForPasskey, unlockKeyByPasskey, unlockPkcs8 } from './seal.js';
import { dayOf } from './text.js';
import * as vault from './vault.js';
import * as webauthn from './webauthn.js';

/** How a wallet's passkey unlocks its signing key, for askPassphrase; null where it has none, or none can be used here. */
export const passkeyOf = (ui, wallet) => (wallet.passkey && webauthn.possible() ? async () => {
  const secret = await webauthn.use(wallet.passkey, ui.ended);
  try {
    return await unlockKeyByPasskey(secret, wallet);
  } finally {
    wipe(secret);
  }
} : null);

/** The passkey of a wallet on this device: added with the passphrase, or removed. `forgotten` as in askPassphrase. */
export async function managePasskey(ui, wallet, forgotten) {
  if (wallet.passkey) return removePasskey(ui, wallet);
  const pkcs8 = await askPassphrase(ui, {
    title: t('passkey.title'),
    about: [h('p', { class: 'lead' }, t('passkey.lead')), rows([t('common.wallet'), shown(wallet.address)]), h('p', null, t('passkey.enter'))],
    label: t('common.continue'),
    forgotten,
  }, (passphrase) => unlockPkcs8(passphrase, wallet));
  if (pkcs8 === null) return null;
  try {
    return await addPasskey(ui, wallet.address, pkcs8);
  } finally {
    wipe(pkcs8);
  }
}

/**
 * Adds a passkey to a wallet that was just opened; `pkcs8` is its key, which is not wiped here. Resolves to whether there is
 * one now.
 */
export async function addPasskey(ui, address, pkcs8) {
  const wallet = await vault.find(address); // as it is now: another tab may have added one
  if (wallet === null) return false;
  const made = await create(ui, wallet);
  if (made === null) return false;
  if (made instanceof webauthn.Unfit) {
    await webauthn.giveUp(made.id);
    return unfit(ui, made);
  }
  let stored = false;
  let problem = null;
  try {
    made.secret ??= await useOnce(ui, made);
    if (made.secret === null) return false;
    problem = await keep(wallet, made, pkcs8);
    stored = problem === null;
  } finally {
    wipe(made.secret);
    if (!stored) await webauthn.giveUp(made.id);
  }
  return stored ? added(ui, address) : notStored(ui, problem);
}

/** Resolves to what webauthn.make resolves to, to its Unfit, or to null when the person leaves it. */
function create(ui, wallet) {
  return ui.ask(t('passkey.create_title'), (done) => [
    h('p', { class: 'lead' }, t('passkey.lead')),
    h('ul', { class: 'plain' },
      h('li', null, t('passkey.keeps')),
      h('li', null, t('passkey.still')),
      h('li', null, t('passkey.synced')),
      h('li', null, t('passkey.this_browser'))),
    form([], t('passkey.create'), async () => {
      ui.announce(t('passkey.waiting'));
      try {
        done(await webauthn.make(wallet.address, wallet.passkey, ui.ended));
      } catch (err) {
        if (!(err instanceof webauthn.Unfit)) throw err;
        done(err);
      }
    }, button(t('passkey.not_now'), 'secondary', () => done(null))),
  ]);
}

/** Many passkeys tell their secret only when they are used. Resolves to it, or to null when the person leaves it. */
function useOnce(ui, made) {
  return ui.ask(t('passkey.once_title'), (done) => [
    h('p', { class: 'lead' }, t('passkey.once')),
    form([], t('passkey.use'), async () => {
      ui.announce(t('passkey.waiting'));
      done(await webauthn.use(made, ui.ended));
    }, button(t('passkey.not_now'), 'secondary', () => done(null))),
  ]);
}

/** Seals, opens once, and stores. Resolves to why it was not stored, a key of the catalogue, or to null. */
async function keep(wallet, { id, transports, salt, secret }, pkcs8) {
  const passkey = { id, transports, salt, ...(await sealForPasskey(secret, wallet.address, pkcs8)), created_at: new Date().toISOString() };
  await unlockKeyByPasskey(secret, { address: wallet.address, passkey });
  // Not over another passkey, nor into a wallet that was restored since: its owner chose then what opens it.
  const stored = await vault.update(wallet.address, (now) => (now.passkey || !equal(now.key.data, wallet.key.data) ? null : { ...now, passkey }));
  if (stored) return null;
  return (await vault.find(wallet.address))?.passkey ? 'passkey.exists' : 'passkey.changed';
}

async function added(ui, address) {
  await ui.ask(t('passkey.added_title'), (done) => [
    notice('note', t('passkey.added')),
    rows([t('common.wallet'), shown(address)]),
    h('div', { class: 'actions' }, button(t('common.done'), 'primary', () => done())),
  ]);
  return true;
}

async function unfit(ui, problem) {
  await ui.ask(t('passkey.unfit_title'), (done) => [
    notice('warn', problem.message),
    h('p', { class: 'hint' }, t('passkey.delete_there')),
    h('div', { class: 'actions' }, button(t('common.back'), 'primary', () => done())),
  ]);
  return false;
}

async function notStored(ui, problem) {
  await ui.ask(t('passkey.not_stored_title'), (done) => [
    notice('warn', t(problem)),
    h('p', { class: 'hint' }, t('passkey.delete_there')),
    h('div', { class: 'actions' }, button(t('common.back'), 'primary', () => done())),
  ]);
  return false;
}

function removePasskey(ui, wallet) {
  return ui.ask(t('passkey.title'), (done) => [
    rows([t('common.wallet'), shown(wallet.address)], [t('passkey.since'), dayOf(wallet.passkey.created_at)]),
    h('p', null, t('passkey.remove_what')),
    h('p', { class: 'hint' }, t('passkey.delete_there')),
    form([], [t('passkey.remove'), 'destructive'], async () => {
      await vault.update(wallet.address, ({ passkey, ...rest }) => rest);
      await webauthn.giveUp(wallet.passkey.id);
      done(true);
    }, button(t('common.back'), 'secondary', () => done(false))),
  ]);
}
