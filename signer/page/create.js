// Making a wallet and bringing one back: words, quiz, passphrase, vault. Resolves to {address, key}:
// the key just came out of the vault, which proves that it can be opened again.

import { Problem, button, field, form, h, notice } from './dom.js';
import { wipe } from './bytes.js';
import { PhraseError, newEntropy, readPhrase, toAccount, toEntropy, toIndexes, toWords } from './mnemonic.js';
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

/**
 * Restores a wallet from its words. With `needed` (an address) only that wallet will do; `next` as HOME.
 * Resolves to {address, key}, or to null when the person turns back.
 */
export async function restoreWallet(ui, { needed = null, next = HOME } = {}) {
  const found = await askWords(ui, needed);
  if (found === null) return null;
  try {
    return await keep(ui, found.indexes, found.entropy, next);
  } finally {
    wipe(found.entropy, found.indexes);
  }
}

function askWords(ui, needed) {
  return ui.ask(needed ? 'Restore this wallet' : 'Restore a wallet', (done) => {
    const typed = field('words', 'Recovery words', {
      tag: 'textarea', rows: '4', hint: '12 or 24 words, in order, with spaces between them.',
    });
    const wrong = h('ul', { class: 'wrong', 'aria-live': 'polite' });
    return [
      needed && [h('p', null, 'Its recovery words bring the wallet back into this browser, under a new passphrase:'), rows(['Wallet', shown(needed)])],
      h('p', null, 'The words stay on this device. Before you type them, check this site’s address in your browser: is it the one that you trust?'),
      form([typed.node, wrong], 'Continue', async () => {
        wrong.replaceChildren();
        let indexes;
        try {
          indexes = readPhrase(typed.input.value);
          const entropy = await toEntropy(indexes);
          const account = await toAccount(indexes);
          wipe(account.pkcs8);
          if (needed && account.address !== needed) {
            throw new PhraseError(`These words belong to another wallet, ending in ${account.address.slice(-6)}. Needed is the one ending in ${needed.slice(-6)}.`);
          }
          typed.input.value = '';
          done({ indexes, entropy });
        } catch (err) {
          if (!(err instanceof PhraseError)) throw err;
          wrong.replaceChildren(...err.problems.slice(0, 6).map(({ position, word, suggestion }) =>
            h('li', null, `Word ${position}, “${word.slice(0, 30)}”`, suggestion ? `: did you mean “${suggestion}”?` : '')));
          throw new Problem(err.message, typed.input);
        }
      }, button('Back', 'secondary', () => done(null))),
      !needed && h('p', { class: 'hint' }, 'The words of another Solana wallet bring back its first account (path m/44’/501’/0’/0’).'),
    ];
  });
}

/** Passphrase, sealing, storing, and opening once. */
async function keep(ui, indexes, entropy, next) {
  const { address, pkcs8 } = await toAccount(indexes);
  try {
    const made = await askNewPassphrase(ui, async (passphrase) => {
      const wallet = await sealWallet(passphrase, address, pkcs8, entropy);
      const lasting = await vault.save({ ...wallet, created_at: new Date().toISOString() });
      return { lasting, key: await unlockKey(passphrase, await vault.find(address)) };
    });
    await ui.ask('The wallet is ready', (done) => [
      h('p', { class: 'lead' }, next.step),
      rows(['Address', shown(address)]),
      made.lasting
        ? notice('note', 'It is encrypted and kept in this browser, on this device only.')
        : notice('warn', 'It is encrypted and kept in this browser, but this browser may clear it when space is short. Keep the words safe: they bring it back.'),
      h('div', { class: 'actions' }, button(next.label, 'primary', () => done())),
      next.more?.(address),
    ]);
    return { address, key: made.key };
  } finally {
    wipe(pkcs8);
  }
}
