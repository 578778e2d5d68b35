// Restoring a wallet: recovery phrases, further accounts, private keys, a forgotten passphrase.
// In a real Chromium, as a person uses it, against an honest and a hostile server.

import assert from 'node:assert/strict';
import * as oracle39 from '@scure/bip39';
import { ed25519 } from '@noble/curves/ed25519';
import { base58 } from '@scure/base';
import { wordlist } from '@scure/bip39/wordlists/english';
import { HDKey } from 'micro-key-producer/slip10.js';
import { EVE, above, allText, it, on, onSign, server, stored, text } from './browser.mjs';
import { transfer } from './fixtures.mjs';
import { ADDRESS, BIND, BOB, OTHER_WORDS, PASSPHRASE, SIGN, WORDS, approve, choosePassphrase, follow, payment, press, restore, title } from './harness.mjs';
import { addr } from './wire.mjs';

it('restoring speaks plainly', () => on('', async (tab) => {
  await press(tab, 'Restore a wallet');
  await title(tab, 'Restore a wallet');
  assert.match(await text(tab), /check the site’s address[^]*12, 15, 18, 21 or 24 words, in order, separated by spaces/);
  assert.doesNotMatch(await text(tab), /blank|origin|address bar|vault/i);
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  assert.match(await text(tab), /^Your wallet is ready\s+To connect it to Telegram, send \/wallet new/);
}));

const LOST = 'Restore this wallet';

it('a key in another browser: the payment is shown, and words are asked for only on request', () => on(SIGN, async (tab) => {
  await title(tab, 'A payment is waiting for you');
  const shown = await above(tab, 'Copy link');
  for (const part of ['1.5 SOL', BOB, 'This wallet is not in this browser. Open the link in the browser where you created the wallet.', ADDRESS]) {
    assert.ok(shown.includes(part), `${part} is not shown: ${shown}`);
  }
  assert.ok((await allText(tab)).includes('1.500005 SOL'), 'what it costs is not shown');
  assert.match(await text(tab), /Do not trust a page that asks for your recovery phrase on its own/);
  assert.equal(await tab.locator('input, textarea').count(), 0, 'words are asked for at once');
  assert.equal(await tab.getByRole('button', { name: 'Approve' }).count(), 0);
  await press(tab, 'Copy link');
  await tab.getByText('Copied').waitFor();
  assert.equal(await tab.evaluate(() => navigator.clipboard.readText()), `${server.origin}/w/${SIGN}`);
  await press(tab, LOST);
  await title(tab, 'Restore this wallet');
  assert.ok((await allText(tab)).includes(ADDRESS));
  await press(tab, 'Back');
  await title(tab, 'A payment is waiting for you');
}, { permissions: ['clipboard-read', 'clipboard-write'] }));

it('without its key a payment with another recipient is shown as that, and a refused one is refused', async () => {
  server.world.payment = payment({ to: EVE });
  await on(SIGN, async (tab) => {
    await title(tab, 'A payment is waiting for you');
    assert.ok((await allText(tab)).includes(EVE) && !(await allText(tab)).includes(BOB));
    server.world.payment = payment({ extra: [transfer(5, { from: ADDRESS, to: EVE })] });
    await follow(tab, server, SIGN);
    await title(tab, 'This page blocked the transaction');
  });
});

it('a lost browser leads to Restore: other words are told apart, the right ones sign', () => on(SIGN, async (tab) => {
  await title(tab, 'A payment is waiting for you');
  await press(tab, LOST);
  const words = tab.getByLabel('Recovery phrase');
  const says = (t) => tab.getByText(t).waitFor();
  await words.fill(OTHER_WORDS);
  await press(tab, 'Continue');
  await says(/belongs to another wallet, ending in/);
  await words.fill(WORDS.replace('about', 'abuot'));
  await press(tab, 'Continue');
  await says('Word 12, “abuot”: did you mean “about”?');
  await words.fill(WORDS.replace('about', 'zoo'));
  await press(tab, 'Continue');
  await says(/together they are not a recovery phrase/);
  await words.fill('abandon abandon');
  await press(tab, 'Continue');
  await says(/You entered 2 words/);
  await words.fill(WORDS.toUpperCase().replaceAll(' ', '\n'));
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  assert.match(await text(tab), /One step left: approve the payment\./);
  await press(tab, 'Show payment');
  await approve(tab);
  await title(tab, 'Transaction signed');
}));

it('a missing vault can also turn the payment down', () => on(SIGN, async (tab) => {
  await press(tab, 'Reject');
  await title(tab, 'Rejected');
}));

it('a forgotten passphrase: the words bring the wallet back under another, and the same payment is signed', () => onSign(async (tab) => {
  const way = tab.getByRole('button', { name: 'Forgot your passphrase?' });
  await press(tab, 'Approve');
  await title(tab, 'Sign with your passphrase');
  assert.equal(await way.count(), 0, 'offered before it is needed');
  await tab.getByLabel('Passphrase', { exact: true }).fill('not this one, no');
  await press(tab, 'Sign and send');
  await tab.getByRole('alert').getByText('This passphrase does not unlock the wallet.', { exact: true }).waitFor();
  await way.click();
  await title(tab, 'Restore this wallet');
  await press(tab, 'Back');
  await title(tab, 'Approve this payment?'); // in the whole page, which restores within the flow
  await approve(tab, 'not this one, no');
  await way.click();
  await title(tab, 'Restore this wallet');
  await press(tab, 'Back');
  await title(tab, 'Sign with your passphrase');
  await press(tab, 'Back');
  await title(tab, 'Approve this payment?');
  await approve(tab, 'not this one, no');
  await way.click();
  await tab.getByLabel('Recovery phrase').fill(OTHER_WORDS);
  await press(tab, 'Continue');
  await tab.getByText(/belongs to another wallet, ending in/).waitFor();
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await choosePassphrase(tab, 'another quiet river bends');
  await press(tab, 'Show payment');
  await title(tab, 'Approve this payment?');
  assert.deepEqual(server.posted('/w/tx/refresh'), [], 'something was signed on the way');
  await approve(tab);
  await tab.getByRole('alert').filter({ hasText: 'does not unlock the wallet' }).waitFor(); // the old one is of no use now
  await tab.getByLabel('Passphrase', { exact: true }).fill('another quiet river bends');
  await press(tab, 'Sign and send');
  await title(tab, 'Transaction signed');
}));

it('a forgotten passphrase does not stop connecting either, nor does it show words', () => on('', async (tab) => {
  const wrong = async (label) => {
    await tab.getByLabel('Passphrase', { exact: true }).fill('not this one, no');
    await press(tab, label);
    await press(tab, 'Forgot your passphrase?');
    await title(tab, 'Restore this wallet');
    await tab.getByLabel('Recovery phrase').fill(WORDS);
    await press(tab, 'Continue');
    await choosePassphrase(tab);
  };
  await restore(tab);
  await press(tab, 'Show recovery phrase');
  await wrong('Show recovery phrase');
  await press(tab, 'Done');
  await title(tab, 'Wallets on this device');
  await follow(tab, server, BIND);
  await press(tab, 'Continue');
  await wrong('Connect');
  await press(tab, 'Connect to Telegram');
  await title(tab, 'Go back to the chat');
  assert.equal(server.posted('/w/bind')[0].address, ADDRESS);
}));

it('24 words restore too, and the vault outlives a reload', () => on('', async (tab) => {
  await restore(tab, `${'abandon '.repeat(23)}art`);
  await title(tab, 'Wallets on this device');
  await tab.reload();
  await title(tab, 'Wallets on this device');
  await press(tab, 'Show recovery phrase');
  await tab.getByLabel('Passphrase', { exact: true }).fill('a wrong passphrase');
  await press(tab, 'Show recovery phrase');
  await tab.getByRole('alert').filter({ hasText: 'does not unlock' }).waitFor();
  assert.equal(await tab.locator('.words').count(), 0);
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Show recovery phrase');
  await title(tab, 'Your recovery phrase');
  assert.equal((await tab.locator('.words li').allTextContents()).join(' '), `${'abandon '.repeat(23)}art`);
  await press(tab, 'Hide phrase');
  await title(tab, 'Wallets on this device');
  assert.ok(!(await tab.content()).includes('>art<'));
}));

/** What web wallets derive: account n of words, with a BIP-39 passphrase. */
const oracle = (words, n = 0, extra = '') => {
  const { privateKey } = HDKey.fromMasterSeed(oracle39.mnemonicToSeedSync(words.trim(), extra)).derive(`m/44'/501'/${n}'/0'`);
  const publicKey = ed25519.getPublicKey(privateKey);
  return { address: base58.encode(publicKey), secret: base58.encode(Uint8Array.from([...privateKey, ...publicKey])) };
};
const options = async (tab, { extra = '', choose = false }) => {
  await tab.getByText('Advanced options').click();
  await tab.getByLabel('BIP-39 passphrase').fill(extra);
  if (choose) await tab.getByLabel('Choose a different account').check();
};

it('a further account is chosen, by what is on it if the person asks the server', () => on(BIND, async (tab) => {
  const third = oracle(WORDS, 2).address;
  await press(tab, 'Restore a wallet');
  await options(tab, { choose: true });
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await title(tab, 'Choose an account');
  const listed = await tab.locator('.choice .address').allTextContents();
  assert.deepEqual(listed, Array.from({ length: 10 }, (_, n) => oracle(WORDS, n).address));
  await press(tab, 'Continue');
  await tab.getByRole('alert').filter({ hasText: 'Choose one' }).waitFor();
  assert.deepEqual(server.posted('/w/bind/accounts'), [], 'asked before the button was pressed');
  assert.match(await text(tab), /know that the addresses belong together/);
  server.world.fail['/w/bind/accounts'] = { status: 429, code: 'RATE_LIMIT_EXCEEDED', message: 'Too many requests.' };
  await press(tab, 'Find used accounts');
  await tab.getByText('Too many requests.').waitFor();
  server.world.fail = {};
  server.world.inUse = [third];
  await press(tab, 'Find used accounts');
  await tab.getByText('m/44’/501’/2’/0’ · holds SOL').waitFor();
  assert.equal(await tab.getByText('· no SOL').count(), 9);
  assert.deepEqual(server.posted('/w/bind/accounts').at(-1), { token: BIND.slice(3), addresses: listed });
  await press(tab, 'Continue'); // the only one in use was chosen beforehand
  await choosePassphrase(tab);
  await press(tab, 'Connect to Telegram');
  await title(tab, 'Go back to the chat');
  assert.equal(server.posted('/w/bind')[0].address, third);

  await tab.goto('about:blank');
  await tab.goto(`${server.origin}/w/`);
  await press(tab, 'Show recovery phrase');
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Show recovery phrase');
  await title(tab, 'Your recovery phrase');
  assert.match(await text(tab), /m\/44’\/501’\/2’\/0’ \(account 3\)/);
  assert.equal((await tab.locator('.words li').allTextContents()).join(' '), WORDS.trim());
  await press(tab, 'Hide phrase');
  await press(tab, 'Restore a wallet'); // without a link nobody is asked
  await options(tab, { choose: true });
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await title(tab, 'Choose an account');
  assert.equal(await tab.getByRole('button', { name: 'Find used accounts' }).count(), 0);
  await press(tab, 'Show 10 more');
  await tab.getByText('Account 11 · m/44’/501’/10’/0’').waitFor();
  assert.equal(await tab.locator('.choice .address').last().textContent(), oracle(WORDS, 19).address);
  await press(tab, 'Back');
  await title(tab, 'Restore a wallet');
  await options(tab, { choose: true });
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await press(tab, 'Show 10 more');
  await tab.getByText('Account 11 ·').click();
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  assert.ok((await allText(tab)).includes(oracle(WORDS, 10).address), 'another account than was chosen');
}));

it('a BIP-39 passphrase and 15 words give the wallet that others derive; the passphrase is kept and sent nowhere', () => on('', async (tab) => {
  const words = oracle39.entropyToMnemonic(new Uint8Array(20).fill(7), wordlist);
  await press(tab, 'Restore a wallet');
  await options(tab, { extra: 'a Secret twentyfifth' });
  await tab.getByLabel('Recovery phrase').fill(words);
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  assert.ok((await allText(tab)).includes(oracle(words, 0, 'a Secret twentyfifth').address));
  await press(tab, 'Done');
  await press(tab, 'Show recovery phrase');
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Show recovery phrase');
  await title(tab, 'Your recovery phrase');
  assert.match(await text(tab), /also needs the BIP-39 passphrase[^]*not stored here/);
  assert.ok(!(await stored(tab)).includes('twentyfifth'));
  assert.deepEqual(server.received, []);
}));

it('a payment from a further account, or with a BIP-39 passphrase, finds its account in the words by itself', () => on(SIGN, async (tab) => {
  for (const [n, extra, at] of [[3, '', '#s=fedcbafedcba00000001'], [1, 'TREZOR', '#s=fedcbafedcba00000002']]) {
    server.reset();
    const { address } = oracle(WORDS, n, extra);
    server.world.address = address;
    server.world.payment = payment({ payer: address, reference: addr(0x80 + n) });
    await follow(tab, server, at);
    await title(tab, 'A payment is waiting for you');
    await press(tab, LOST);
    await tab.getByLabel('Recovery phrase').fill(WORDS);
    if (extra) {
      await press(tab, 'Continue');
      await tab.getByText(/belongs to another wallet[^]*If you added a BIP-39 passphrase/).waitFor();
      await options(tab, { extra });
      assert.equal(await tab.getByLabel('Choose a different account').count(), 0);
    }
    await press(tab, 'Continue');
    await choosePassphrase(tab);
    await press(tab, 'Show payment');
    await approve(tab);
    await title(tab, 'Transaction signed');
    assert.deepEqual(server.posted('/w/bind/accounts'), []);
  }
}));

it('a private key is imported as Phantom shows it or from id.json, signs, and is shown again', () => on(SIGN, async (tab) => {
  const { secret } = oracle(WORDS);
  const { secret: foreign } = oracle(OTHER_WORDS);
  await press(tab, LOST);
  await press(tab, 'Import a private key');
  const typed = tab.getByLabel('Private key');
  await typed.fill(foreign);
  await press(tab, 'Continue');
  await tab.getByText(/belongs to another wallet, ending in/).waitFor();
  await typed.fill(secret.slice(0, -1));
  await press(tab, 'Continue');
  await tab.getByRole('alert').filter({ hasText: /64 bytes|do not match/ }).waitFor();
  await typed.fill(JSON.stringify([...base58.decode(secret)]));
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  await press(tab, 'Show payment');
  await approve(tab);
  await title(tab, 'Transaction signed');

  await tab.goto('about:blank');
  await tab.goto(`${server.origin}/w/`);
  await title(tab, 'Wallets on this device');
  assert.equal(await tab.getByRole('button', { name: 'Show recovery phrase' }).count(), 0, 'words of a wallet that has none');
  const shows = async () => {
    await press(tab, 'Show private key');
    await tab.getByLabel('Passphrase', { exact: true }).fill('not this one, no');
    await press(tab, 'Show private key');
    await tab.getByRole('alert').filter({ hasText: 'does not unlock' }).waitFor();
    await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
    await press(tab, 'Show private key');
    await title(tab, 'Your private key');
    const forms = await tab.locator('main .signed').allTextContents();
    await press(tab, 'Hide key');
    await title(tab, 'Wallets on this device');
    assert.ok(!(await tab.content()).includes(forms[0]));
    return forms;
  };
  assert.deepEqual(await shows(), [secret, JSON.stringify([...base58.decode(secret)])]);
  assert.ok(!(await stored(tab)).includes(String.fromCharCode(...base58.decode(secret).slice(0, 32))), 'the key lies open in the vault');
  assert.ok(!server.received.some((h) => h.text.includes(secret)));
  await restore(tab); // the same wallet by its words
  assert.deepEqual(await shows(), [secret, JSON.stringify([...base58.decode(secret)])]);
}));

it('a private key takes the place of a wallet with words only when the person says so', () => on('', async (tab) => {
  await restore(tab);
  await title(tab, 'Wallets on this device');
  const words = () => tab.evaluate(() => new Promise((resolve) => {
    indexedDB.open('purser').onsuccess = ({ target: { result: db } }) => {
      db.transaction('wallets').objectStore('wallets').getAll().onsuccess = (e) => { db.close(); resolve(e.target.result.map((w) => w.words !== null)); };
    };
  }));
  const key = HDKey.fromMasterSeed(oracle39.mnemonicToSeedSync(WORDS)).derive("m/44'/501'/0'/0'").privateKey;
  const typed = base58.encode(Uint8Array.from([...key, ...ed25519.getPublicKey(key)]));
  const bring = async () => {
    await tab.getByLabel('Private key', { exact: true }).fill(typed);
    await press(tab, 'Continue');
    await title(tab, 'You already have this wallet');
  };
  await press(tab, 'Restore a wallet');
  await press(tab, 'Import a private key');
  await bring();
  await press(tab, 'Keep phrase');
  await title(tab, 'Restore a wallet');
  assert.deepEqual(await words(), [true]);
  await press(tab, 'Import a private key');
  await bring();
  await press(tab, 'Delete the phrase');
  await choosePassphrase(tab);
  assert.deepEqual(await words(), [false]);
}));
