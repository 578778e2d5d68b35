// The wallets on this device: list, create, restore, show words, forget.

import { Problem, button, copyButton, field, form, h, notice } from './dom.js';
import { wipe } from './bytes.js';
import { createWallet, restoreWallet } from './create.js';
import { writeKey } from './keyfile.js';
import { toIndexes, toWords } from './mnemonic.js';
import { address, askPassphrase, rows, wordList } from './parts.js';
import { unlockEntropy, unlockPrivateKey } from './seal.js';
import { lastSix } from './text.js';
import * as vault from './vault.js';

/** Runs until the page is left. */
export async function home(ui) {
  for (;;) {
    const deed = await overview(ui, await vault.list());
    await deed();
  }
}

function overview(ui, wallets) {
  return ui.ask(wallets.length ? 'Wallets on this device' : 'No wallet on this device yet', (done) => [
    wallets.length === 0 && h('p', { class: 'lead' }, 'Create one here, or send /wallet new to the bot: its link makes a wallet and connects it to your chat at once.'),
    wallets.map((w) => card(ui, w, done)),
    h('div', { class: 'actions' },
      button('Create a wallet', wallets.length ? 'secondary' : 'primary', () => done(() => createWallet(ui))),
      button('Restore from words', 'secondary', () => done(() => restoreWallet(ui)))),
    h('details', null, h('summary', null, 'How safe is this?'),
      h('ul', { class: 'plain' },
        h('li', null, 'The key is made, kept encrypted and used in this browser. The server gets the address and signatures, nothing else.'),
        h('li', null, 'Each payment is read from its own bytes here, and anything this page does not know is refused.'),
        h('li', null, 'Whoever controls this server’s address could serve another page that steals what you type. A wallet app or a hardware wallet keeps its key from that; for large sums use one.'),
        h('li', null, 'Malware or a browser extension on this device can read what you type.'))),
  ]);
}

function card(ui, wallet, done) {
  return h('section', { class: 'card wallet', 'aria-label': `Wallet ending in ${lastSix(wallet.address)}` },
    address(wallet.address),
    h('div', { class: 'deeds' },
      copyButton('Copy address', wallet.address, 'secondary'),
      wallet.words
        ? button('Show words', 'secondary', () => done(() => exportWords(ui, wallet)))
        : button('Show private key', 'secondary', () => done(() => exportKey(ui, wallet)))),
    wallet.words && h('div', { class: 'inline more' }, button('Show private key', 'quiet', () => done(() => exportKey(ui, wallet)))),
    h('div', { class: 'foot' },
      h('p', { class: 'hint' }, `Kept here since ${new Date(wallet.created_at).toLocaleDateString('en-GB', { dateStyle: 'medium' })}`),
      button('Forget', 'quiet', () => done(() => forget(ui, wallet)))));
}

async function exportWords(ui, wallet) {
  const entropy = await askPassphrase(ui, {
    title: 'Show the recovery phrase',
    about: [notice('danger', 'Whoever sees these words can take everything. Be alone, and let nobody see or record this screen.'),
      rows(['Wallet', address(wallet.address)])],
    label: 'Show the words',
    forgotten: async () => (await restoreWallet(ui, { needed: wallet.address, next: { step: 'It opens with its new passphrase from now on.', label: 'Done' } })) && { instead: null },
  }, (passphrase) => unlockEntropy(passphrase, wallet));
  if (entropy === null) return;
  const indexes = await toIndexes(entropy);
  const { account = 0, extra = false } = wallet.derived ?? {};
  try {
    await ui.ask('Your recovery phrase', (done) => [
      wordList(toWords(indexes)),
      h('p', { class: 'hint' }, `They fit every wallet that knows BIP-39 and Solana’s path m/44’/501’/${account}’/0’${account > 0 ? ` (account ${account + 1})` : ''}.`),
      extra && notice('warn', 'The wallet also needs the BIP-39 passphrase that you chose with these words. It is kept nowhere here.'),
      h('div', { class: 'actions' }, button('Hide the words', 'primary', () => done())),
    ]);
  } finally {
    wipe(entropy, indexes);
  }
}

/** Shows the private key in the forms that other wallets import. */
async function exportKey(ui, wallet) {
  const seed = await askPassphrase(ui, {
    title: 'Show the private key',
    about: [notice('danger', 'Whoever has this key can take everything, and the passphrase does not protect it any more. Be alone, and let nobody see or record this screen.'),
      rows(['Wallet', address(wallet.address)])],
    label: 'Show the key',
    forgotten: async () => (await restoreWallet(ui, { needed: wallet.address, next: { step: 'It opens with its new passphrase from now on.', label: 'Done' } })) && { instead: null },
  }, (passphrase) => unlockPrivateKey(passphrase, wallet));
  if (seed === null) return;
  try {
    const { base58, json } = await writeKey(seed);
    await ui.ask('Your private key', (done) => [
      h('p', { class: 'label' }, 'For Phantom and most wallets'),
      h('p', { class: 'signed', translate: 'no' }, base58),
      h('p', { class: 'label' }, 'As id.json, for Solana’s command line tools'),
      h('p', { class: 'signed', translate: 'no' }, json),
      h('div', { class: 'actions' },
        button('Hide the key', 'primary', () => done()),
        copyButton('Copy key', base58, 'secondary'), copyButton('Copy id.json', json, 'secondary')),
      h('p', { class: 'hint' }, 'What you copy stays in the clipboard, where other programs can read it. Copy something else when you are done.'),
    ]);
  } finally {
    wipe(seed);
  }
}

function forget(ui, wallet) {
  return ui.ask('Forget this wallet?', (done) => {
    const six = field('six', 'Last six characters of the address', { hint: `To be sure, type ${lastSix(wallet.address)}.` });
    return [
      notice('danger', `This device forgets the key. Without ${wallet.words ? 'the recovery phrase' : 'the private key'} the money in it is lost for good.`),
      rows(['Wallet', address(wallet.address)]),
      form([six.node], ['Forget it', 'destructive'], async () => {
        if (six.input.value.trim() !== lastSix(wallet.address)) {
          throw new Problem('These are not its last six characters. Capital and small letters differ.', six.input);
        }
        await vault.forget(wallet.address);
        done();
      }, button('Keep it', 'secondary', () => done())),
      h('p', { class: 'hint' }, 'The chat goes on showing this address; without its key nothing can be sent from it.'),
    ];
  });
}
