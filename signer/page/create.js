// Making a wallet and bringing one back: words, quiz, passphrase, vault. Resolves to {address, key}:
// the key just came out of the vault, which proves that it can be opened again.

import { Problem, button, field, form, h, notice } from './dom.js';
import { wipe } from './bytes.js';
import { chooseAccount } from './accounts.js';
import { KeyError, readKey } from './keyfile.js';
import { PhraseError, accountAt, accountOf, newEntropy, readPhrase, toAccount, toEntropy, toIndexes, toSeed, toWords } from './mnemonic.js';
import { address as shown, askNewPassphrase, rows, wordList } from './parts.js';
import { sealWallet, unlockKey } from './seal.js';
import * as vault from './vault.js';

const QUESTIONS = 3;

/** What follows a ready wallet: a sentence, the button that leads there, and more(address) to look at before. */
const HOME = { step: 'Not connected to Telegram yet? Send /wallet new to the bot and open its link in this browser.', label: 'Done' };

/** Creates a wallet; `next` as HOME. Resolves to {address, key}, or null when the person turns back. */
export async function createWallet(ui, { next = HOME } = {}) {
  const begin = await ui.ask('Create a wallet', (done) => [
    h('p', { class: 'lead' }, 'Your wallet is 12 words. Whoever has them has the money.'),
    h('ul', { class: 'plain' },
      h('li', null, 'Write them on paper, in order. No photo, no cloud, no chat.'),
      h('li', null, 'They are made on this device and never leave it. We cannot bring them back.'),
      h('li', null, 'Nobody who is honest will ever ask you for them.')),
    h('div', { class: 'actions' },
      button('Show my 12 words', 'primary', () => done(true)), button('Back', 'secondary', () => done(false))),
  ]);
  if (!begin) return null;

  const entropy = newEntropy();
  const indexes = await toIndexes(entropy);
  try {
    do {
      await ui.ask('Write down these 12 words', (done) => [
        h('p', null, 'On paper, in this order. You will be asked for three of them.'),
        wordList(toWords(indexes)),
        h('div', { class: 'actions' }, button('I wrote them down', 'primary', () => done())),
      ]);
    } while (!(await quiz(ui, indexes)));
    return await keep(ui, indexes, entropy, next);
  } finally {
    wipe(entropy, indexes);
  }
}

/** Asks for three of the words. Resolves to false when the person wants to see them again. */
function quiz(ui, indexes) {
  return ui.ask('Check your paper', (done) => {
    const asked = pick(indexes.length, QUESTIONS).map((at) => ({ at, ...field(`word-${at + 1}`, `Word ${at + 1}`) }));
    return [
      h('p', null, 'Type these words from your paper. Your wallet is created once they match.'),
      form(asked.map((a) => a.node), 'Continue', () => {
        const right = toWords(indexes);
        const typed = (a) => a.input.value.trim().toLowerCase();
        const missing = asked.find((a) => typed(a) === '');
        if (missing) throw new Problem(`Type word ${missing.at + 1}.`, missing.input);
        const wrong = asked.filter((a) => typed(a) !== right[a.at]);
        if (wrong.length === 1) throw new Problem(`Word ${wrong[0].at + 1} is not what was shown. Look at your paper.`, wrong[0].input);
        if (wrong.length > 1) {
          throw new Problem(`Words ${wrong.map((a) => a.at + 1).join(', ')} are not what was shown. Look at your paper.`, wrong[0].input);
        }
        done(true);
      }, button('Show the words again', 'secondary', () => done(false))),
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
 * Restores a wallet from its words, or from its private key. With `needed` (an address) only that wallet will
 * do; `next` as HOME; `inUse` tells of addresses whether they hold SOL (see accounts.js). Resolves to
 * {address, key}, or to null when the person turns back.
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
  return ui.ask(needed ? 'Restore this wallet' : 'Restore a wallet', (done) => {
    const typed = field('words', 'Recovery phrase', {
      tag: 'textarea', rows: '4', hint: '12, 15, 18, 21 or 24 words, in order, with spaces between them.',
    });
    const extra = field('extra', 'BIP-39 passphrase', {
      type: 'password', hint: 'Only if you chose one with these words: another word, or a “25th word”. It is not the passphrase of this page.',
    });
    const choose = h('input', { type: 'checkbox', id: 'choose' });
    const wrong = h('ul', { class: 'wrong', 'aria-live': 'polite' });
    return [
      needed && [h('p', null, 'Its recovery phrase brings the wallet back into this browser, under a new passphrase:'), rows(['Wallet', shown(needed)])],
      h('p', null, 'The words stay on this device. Before you type them, check this site’s address in your browser: is it the one that you trust?'),
      form([typed.node, wrong,
        h('details', { class: 'options' }, h('summary', null, 'Other accounts, BIP-39 passphrase'),
          extra.node, !needed && h('label', { class: 'choice' }, choose, h('span', null, 'Choose another account of these words')))], 'Continue', async () => {
        wrong.replaceChildren();
        try {
          const indexes = readPhrase(typed.input.value);
          const entropy = await toEntropy(indexes);
          const seed = await toSeed(indexes, extra.input.value);
          const account = needed ? await accountWith(seed, needed) : 0;
          if (account < 0) {
            const first = await accountAt(seed, 0);
            wipe(seed, entropy, indexes, first.pkcs8);
            throw new PhraseError(`These words belong to another wallet, ending in ${first.address.slice(-6)}. Needed is the one ending in ${needed.slice(-6)}.${extra.input.value ? '' : ' If you chose a BIP-39 passphrase with them, enter it too.'}`);
          }
          const protectedBy = extra.input.value !== '';
          typed.input.value = '';
          extra.input.value = '';
          done({ indexes, entropy, seed, extra: protectedBy, account, choose: choose.checked });
        } catch (err) {
          if (!(err instanceof PhraseError)) throw err;
          wrong.replaceChildren(...err.problems.slice(0, 6).map(({ position, word, suggestion }) =>
            h('li', null, `Word ${position}, “${word.slice(0, 30)}”`, suggestion ? `: did you mean “${suggestion}”?` : '')));
          throw new Problem(err.message, typed.input);
        }
      }, button('Back', 'secondary', () => done(null)), button('Import a private key', 'quiet', () => done(KEY))),
      !needed && h('p', { class: 'hint' }, 'The words of another Solana wallet bring back its first account (path m/44’/501’/0’/0’), unless you choose another.'),
    ];
  });
}

/** Takes a private key as another wallet shows it. Resolves like restoreWallet. */
async function importKey(ui, needed, next) {
  const seed = await ui.ask('Import a private key', (done) => {
    const typed = field('private-key', 'Private key', {
      tag: 'textarea', rows: '3', hint: 'As Phantom shows it (88 letters and digits), or the content of an id.json file ([12, 34, …]).',
    });
    return [
      needed && rows(['Wallet', shown(needed)]),
      notice('warn', 'Whoever has this key can take everything. Before you paste it, check this site’s address in your browser. Afterwards, copy something else, so that it does not stay in the clipboard.'),
      form([typed.node], 'Continue', async () => {
        try {
          const read = await readKey(typed.input.value);
          const { address, pkcs8 } = await accountOf(read);
          wipe(pkcs8);
          if (needed && address !== needed) {
            wipe(read);
            throw new KeyError(`This key belongs to another wallet, ending in ${address.slice(-6)}. Needed is the one ending in ${needed.slice(-6)}.`);
          }
          typed.input.value = '';
          done(read);
        } catch (err) {
          if (!(err instanceof KeyError)) throw err;
          throw new Problem(err.message, typed.input);
        }
      }, button('Back', 'secondary', () => done(null))),
      h('p', { class: 'hint' }, 'A wallet that is imported by its key has no recovery phrase here. Keep the key, or the words it came from, safe.'),
    ];
  });
  if (seed === null) return null;
  try {
    const of = await accountOf(seed);
    if ((await vault.find(of.address))?.words && !(await withoutWords(ui, of.address))) {
      wipe(of.pkcs8);
      return null;
    }
    return await keep(ui, null, null, next, of);
  } finally {
    wipe(seed);
  }
}

/** The wallet is here with its words, and a key brings none. Resolves to whether to replace it all the same. */
function withoutWords(ui, address) {
  return ui.ask('This wallet is here already', (done) => [
    rows(['Wallet', shown(address)]),
    notice('danger', 'It is kept with its recovery phrase. If you import the private key over it, this browser forgets the words.'),
    h('p', null, 'If you forgot the passphrase and have the words, restore the wallet from them instead.'),
    h('div', { class: 'actions' },
      button('Keep it', 'primary', () => done(false)), button('Replace, without words', 'danger', () => done(true))),
  ]);
}

/** Passphrase, sealing, storing, and opening once. `of` is {address, pkcs8, account, extra}; without words the latter two are missing. */
async function keep(ui, indexes, entropy, next, of = null) {
  const { address, pkcs8, account = 0, extra = false } = of ?? await toAccount(indexes);
  try {
    const made = await askNewPassphrase(ui, async (passphrase) => {
      const wallet = await sealWallet(passphrase, address, pkcs8, entropy);
      const derived = entropy && { account, extra }; // what its words need besides, to be told when they are shown
      const lasting = await vault.save({ ...wallet, derived, created_at: new Date().toISOString() });
      return { lasting, key: await unlockKey(passphrase, await vault.find(address)) };
    }, entropy ? 'the recovery phrase brings' : 'its private key brings');
    const kept = entropy ? 'Keep the words safe: they bring it back.' : 'Keep the private key safe: it brings the wallet back.';
    await ui.ask('The wallet is ready', (done) => [
      h('p', { class: 'lead' }, next.step),
      rows(['Address', shown(address)]),
      made.lasting
        ? notice('note', 'It is encrypted and kept in this browser, on this device only.')
        : notice('warn', `It is encrypted and kept in this browser, but this browser may clear it when space is short. ${kept}`),
      h('div', { class: 'actions' }, button(next.label, 'primary', () => done())),
      next.more?.(address),
    ]);
    return { address, key: made.key };
  } finally {
    wipe(pkcs8);
  }
}
