// Creating and restoring a wallet: recovery phrase, quiz, passphrase, vault. Resolves to {address, key}:
// the key just came out of the vault, which proves that it can be unlocked again.

import { Problem, button, field, foreign, form, h, notice } from './dom.js';
import { wipe } from './bytes.js';
import { rich, t } from './catalogue.js';
import { chooseAccount } from './accounts.js';
import { KeyError, readKey } from './keyfile.js';
import { PhraseError, accountAt, accountOf, newEntropy, readPhrase, toAccount, toEntropy, toIndexes, toSeed, toWords } from './mnemonic.js';
import { address as shown, askNewPassphrase, rows, wordList } from './parts.js';
import { addPasskey } from './passkey.js';
import { sealWallet, unlockKey } from './seal.js';
import { lastSix } from './text.js';
import * as vault from './vault.js';
import { giveUp, offered } from './webauthn.js';

const QUESTIONS = 3;

/** What follows a ready wallet: keys of a text and of the button that leads there, and more(address) to look at before. */
const HOME = { step: 'create.step', label: 'common.done' };

/** Creates a wallet; `next` as HOME. Resolves to {address, key}, or null when the person goes back. */
export async function createWallet(ui, { next = HOME } = {}) {
  const begin = await ui.ask(t('create.title'), (done) => [
    h('p', { class: 'lead' }, t('create.lead')),
    h('ul', { class: 'plain' },
      h('li', null, t('create.paper')),
      h('li', null, t('create.device')),
      h('li', null, t('create.never_ask'))),
    h('div', { class: 'actions' },
      button(t('create.show'), 'primary', () => done(true)), button(t('common.back'), 'secondary', () => done(false))),
  ]);
  if (!begin) return null;

  const entropy = newEntropy();
  const indexes = await toIndexes(entropy);
  try {
    do {
      const written = await ui.ask(t('create.words_title'), (done) => [
        h('p', null, t('create.words')),
        wordList(toWords(indexes)),
        h('div', { class: 'actions' },
          button(t('create.written'), 'primary', () => done(true)), button(t('common.back'), 'secondary', () => done(false))),
      ]);
      if (!written) return null; // nothing was stored: these words are of no wallet
    } while (!(await quiz(ui, indexes)));
    return await keep(ui, indexes, entropy, next);
  } finally {
    wipe(entropy, indexes);
  }
}

/** Asks for three of the words. Resolves to false when the person wants to see them again. */
function quiz(ui, indexes) {
  return ui.ask(t('create.quiz_title'), (done) => {
    const asked = pick(indexes.length, QUESTIONS).map((at) => ({ at, ...field(`word-${at + 1}`, t('create.word', { place: at + 1 })) }));
    return [
      h('p', null, t('create.quiz')),
      form(asked.map((a) => a.node), t('common.continue'), () => {
        const right = toWords(indexes);
        const typed = (a) => a.input.value.trim().toLowerCase();
        const missing = asked.find((a) => typed(a) === '');
        if (missing) throw new Problem(t('create.word_missing', { place: missing.at + 1 }), missing.input);
        const wrong = asked.filter((a) => typed(a) !== right[a.at]);
        if (wrong.length === 1) throw new Problem(t('create.word_wrong', { place: wrong[0].at + 1 }), wrong[0].input);
        if (wrong.length > 1) {
          throw new Problem(t('create.words_wrong', { places: wrong.map((a) => a.at + 1).join(', ') }), wrong[0].input);
        }
        done(true);
      }, button(t('create.show_again'), 'secondary', () => done(false))),
    ];
  });
}

/** `n` different places below `of`, ascending, by cryptographic randomness. */
function pick(of, n) {
  const places = Array.from({ length: of }, (_, i) => i);
  const draws = crypto.getRandomValues(new Uint32Array(n)); // 2^32 against 12: the bias is nothing
  return Array.from(draws, (draw) => places.splice(draw % places.length, 1)[0]).sort((a, b) => a - b);
}

const MOST_ACCOUNTS = 20; // of a phrase, that are tried for a wallet that is looked for
const KEY = Symbol('by private key');

/**
 * Restores a wallet from its recovery phrase, or from its private key. With `needed` (an address) only that wallet will
 * do; `next` as HOME; `inUse` resolves to which addresses hold SOL (see accounts.js). Resolves to
 * {address, key}, or to null when the person goes back.
 */
export async function restoreWallet(ui, { needed = null, next = HOME, inUse = null } = {}) {
  for (;;) {
    const found = await askWords(ui, needed);
    if (found === null) return null;
    if (found === KEY) {
      const wallet = await importKey(ui, needed, next);
      if (wallet !== null) return wallet;
      continue;
    }
    try {
      const account = found.choose ? await chooseAccount(ui, found.seed, inUse) : found.account;
      if (account === null) continue;
      return await keep(ui, found.indexes, found.entropy, next, { ...(await accountAt(found.seed, account)), account, extra: found.extra });
    } finally {
      wipe(found.entropy, found.indexes, found.seed);
    }
  }
}

/** The account of a seed that has the address, or -1. */
async function accountWith(seed, address) {
  for (let n = 0; n < MOST_ACCOUNTS; n++) {
    const account = await accountAt(seed, n);
    wipe(account.pkcs8);
    if (account.address === address) return n;
  }
  return -1;
}

/** Resolves to {indexes, entropy, seed, extra (whether there is a BIP-39 passphrase), account, choose}, to KEY, or to null. */
function askWords(ui, needed) {
  return ui.ask(t(needed ? 'restore.title_needed' : 'restore.title'), (done) => {
    const typed = field('words', t('restore.phrase'), {
      tag: 'textarea', rows: '4', hint: t('restore.phrase_hint'),
    });
    const extra = field('extra', t('restore.extra'), {
      type: 'password', hint: t('restore.extra_hint'),
    });
    const choose = h('input', { type: 'checkbox', id: 'choose' });
    const wrong = h('ul', { class: 'wrong', 'aria-live': 'polite' });
    return [
      needed && [h('p', null, t('restore.needed')), rows([t('common.wallet'), shown(needed)])],
      h('p', null, t('restore.check_site')),
      form([typed.node, wrong,
        h('details', { class: 'options' }, h('summary', null, t('restore.options')),
          extra.node, !needed && h('label', { class: 'choice' }, choose, h('span', null, t('restore.choose_account'))))], t('common.continue'), async () => {
        wrong.replaceChildren();
        try {
          const indexes = readPhrase(typed.input.value);
          const entropy = await toEntropy(indexes);
          const seed = await toSeed(indexes, extra.input.value);
          const account = needed ? await accountWith(seed, needed) : 0;
          if (account < 0) {
            const first = await accountAt(seed, 0);
            wipe(seed, entropy, indexes, first.pkcs8);
            throw new PhraseError(extra.input.value ? 'restore.other_wallet' : 'restore.other_wallet_extra', { found: lastSix(first.address), needed: lastSix(needed) });
          }
          const protectedBy = extra.input.value !== '';
          typed.input.value = '';
          extra.input.value = '';
          done({ indexes, entropy, seed, extra: protectedBy, account, choose: choose.checked });
        } catch (err) {
          if (!(err instanceof PhraseError)) throw err;
          wrong.replaceChildren(...err.problems.slice(0, 6).map(({ position, word, suggestion }) =>
            h('li', null, rich(suggestion ? 'restore.unknown_word_meant' : 'restore.unknown_word', { place: position, word: foreign(word, 30), meant: foreign(suggestion, 30) }))));
          throw new Problem(err.message, typed.input);
        }
      }, button(t('common.back'), 'secondary', () => done(null)), button(t('restore.import'), 'quiet', () => done(KEY))),
      !needed && h('p', { class: 'hint' }, t('restore.first_account')),
    ];
  });
}

/** Takes a private key as another wallet shows it. Resolves like restoreWallet. */
async function importKey(ui, needed, next) {
  const seed = await ui.ask(t('key.title'), (done) => {
    const typed = field('private-key', t('key.label'), {
      tag: 'textarea', rows: '3', hint: t('key.hint'),
    });
    return [
      needed && rows([t('common.wallet'), shown(needed)]),
      notice('warn', t('key.warning')),
      form([typed.node], t('common.continue'), async () => {
        try {
          const read = await readKey(typed.input.value);
          const { address, pkcs8 } = await accountOf(read);
          wipe(pkcs8);
          if (needed && address !== needed) {
            wipe(read);
            throw new KeyError('key.other_wallet', { found: lastSix(address), needed: lastSix(needed) });
          }
          typed.input.value = '';
          done(read);
        } catch (err) {
          if (!(err instanceof KeyError)) throw err;
          throw new Problem(err.message, typed.input);
        }
      }, button(t('common.back'), 'secondary', () => done(null))),
      h('p', { class: 'hint' }, t('key.no_phrase')),
    ];
  });
  if (seed === null) return null;
  try {
    const of = await accountOf(seed);
    if ((await vault.find(of.address))?.words && !(await replacePhrase(ui, of.address))) {
      wipe(of.pkcs8);
      return null;
    }
    return await keep(ui, null, null, next, of);
  } finally {
    wipe(seed);
  }
}

/** The wallet is here with its recovery phrase, and a key has none. Resolves to whether to replace it all the same. */
function replacePhrase(ui, address) {
  return ui.ask(t('key.replace_title'), (done) => [
    rows([t('common.wallet'), shown(address)]),
    notice('danger', t('key.replace_warning')),
    h('p', null, t('key.replace_instead')),
    h('div', { class: 'actions' },
      button(t('key.replace_keep'), 'primary', () => done(false)), button(t('key.replace'), 'danger', () => done(true))),
  ]);
}

/** Passphrase, sealing, storing, and opening once. `of` is {address, pkcs8, account, extra}; without a phrase the latter two are missing. */
async function keep(ui, indexes, entropy, next, of = null) {
  const { address, pkcs8, account = 0, extra = false } = of ?? await toAccount(indexes);
  try {
    const made = await askNewPassphrase(ui, async (passphrase) => {
      const wallet = await sealWallet(passphrase, address, pkcs8, entropy);
      const derived = entropy && { account, extra }; // what its recovery phrase needs besides, shown with it
      const former = (await vault.find(address))?.passkey; // it goes with the passphrase that it stood beside
      const lasting = await vault.save({ ...wallet, derived, created_at: new Date().toISOString() });
      return { lasting, former, key: await unlockKey(passphrase, await vault.find(address)) };
    }, entropy !== null);
    if (made.former) await giveUp(made.former.id);
    let passkeys = await offered();
    while (await ready(ui, { address, lasting: made.lasting, hasPhrase: entropy !== null, lost: made.former && passkeys, passkeys }, next)) {
      passkeys = !(await addPasskey(ui, address, pkcs8));
    }
    return { address, key: made.key };
  } finally {
    wipe(pkcs8);
  }
}

/** The wallet is there. Resolves to whether to add a passkey, which is offered where `passkeys`; `lost` says that it had one before. */
function ready(ui, { address, lasting, hasPhrase, lost, passkeys }, next) {
  return ui.ask(t('create.ready_title'), (done) => [
    h('p', { class: 'lead' }, t(next.step)),
    rows([t('create.address'), shown(address)]),
    lasting
      ? notice('note', t('create.stored'))
      : notice('warn', t(hasPhrase ? 'create.stored_phrase' : 'create.stored_key')),
    lost && notice('note', t('create.passkey_gone')),
    h('div', { class: 'actions' },
      button(t(next.label), 'primary', () => done(false)), passkeys && button(t('home.passkey_add'), 'secondary', () => done(true))),
    next.more?.(address),
  ]);
}
