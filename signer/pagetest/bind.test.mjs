// Connecting a wallet: creating it, proving it, and which one is offered.
// In a real Chromium, as a person uses it, against an honest and a hostile server.

import assert from 'node:assert/strict';
import { ed25519 } from '@noble/curves/ed25519';
import { base58 } from '@scure/base';
import { EVE, allText, it, on, server, stored, text } from './browser.mjs';
import { ADDRESS, BIND, OTHER_WORDS, PASSPHRASE, SIGN, answerQuiz, choosePassphrase, follow, press, readWords, restore, title } from './harness.mjs';

it('a wallet that is somebody else\'s is refused, and the same link goes on with another', () => on(BIND, async (tab) => {
  server.world.fail['/w/bind'] = { status: 409, code: 'CONFLICT', message: 'This address is connected to another Telegram account.' };
  const make = async (open) => {
    await press(tab, open);
    await press(tab, 'Show recovery phrase');
    const words = await readWords(tab);
    await press(tab, 'I wrote it down');
    await answerQuiz(tab, words);
    await press(tab, 'Continue');
    await choosePassphrase(tab);
    await press(tab, 'Connect to Telegram');
  };
  await make('Create a wallet');
  await title(tab, 'Create or connect a wallet');
  assert.match(await text(tab), /connected to another Telegram account[^]*The link still works/);
  delete server.world.fail['/w/bind'];
  await make('Create a wallet');
  await title(tab, 'Go back to the chat');
  const [taken, mine] = server.posted('/w/bind');
  assert.notEqual(mine.address, taken.address);
  assert.equal(mine.token, taken.token);
}));

/** Serves the page with its own rounds of PBKDF2 (harness.mjs). */
const withRealRounds = (work) => { server.world.rounds = 'real'; return work(); };

it('create, quiz, passphrase, bind: the server gets a proof of the address and nothing else', () => withRealRounds(() => on(BIND, async (tab) => {
  await title(tab, 'Create or connect a wallet');
  assert.match(await tab.locator('pre.signed').textContent(), /\(your wallet’s address\)[^]*Telegram account 700100\./);
  assert.match(await text(tab), /Alice Liddell[^]*@alice[^]*700100[^]*Close this page/);
  await press(tab, 'Create a wallet');
  await press(tab, 'Show recovery phrase');
  const words = await readWords(tab);
  assert.equal(words.length, 12);
  await press(tab, 'I wrote it down');

  await answerQuiz(tab, words.map(() => 'zoo'));
  await press(tab, 'Continue');
  await tab.getByRole('alert').filter({ hasText: /(is|are) wrong/ }).waitFor();
  await press(tab, 'Show it again');
  assert.deepEqual(await readWords(tab), words, 'other words the second time');
  await press(tab, 'I wrote it down');
  await answerQuiz(tab, words);
  await press(tab, 'Continue');
  assert.equal(await stored(tab), '[]', 'stored before there was a passphrase');
  assert.ok(!(await tab.content()).includes('wants you to sign in'));
  await choosePassphrase(tab);
  assert.match(await text(tab), /^Your wallet is ready\s+One step left: connect it to Telegram\./);
  await tab.getByText('Text your wallet signs').click();
  const proof = await tab.locator('pre.signed').innerText();
  assert.deepEqual(server.posted('/w/bind'), []);
  await press(tab, 'Connect to Telegram');
  await title(tab, 'Go back to the chat');

  const [{ token, address, signature }] = server.posted('/w/bind');
  assert.equal(token, BIND.slice(3));
  assert.match(await allText(tab), new RegExp(`last six characters: ?${address.slice(-6)}`));
  assert.ok(ed25519.verify(base58.decode(signature), Buffer.from(proof), base58.decode(address)), 'another text was signed than was shown');

  const traffic = server.received.map((h) => h.text + JSON.stringify(h.headers)).join('\n');
  for (const secret of [words.join(' '), words.slice(0, 3).join(' '), PASSPHRASE]) {
    assert.ok(!traffic.includes(secret), 'a secret was sent');
    assert.ok(!(await stored(tab)).includes(secret), 'a secret lies open in the vault');
  }
  assert.deepEqual(await tab.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie]), [0, 0, 'stranger=1']);
  for (const h of server.received.filter((x) => x.headers.origin)) {
    assert.equal(h.headers.cookie, undefined);
    assert.equal(h.headers.referer, undefined);
    assert.equal(h.headers.origin, server.origin);
  }
})));

it('the proof is a signature of exactly the text of the design', () => on('', async (tab) => {
  await restore(tab);
  Object.assign(server.world.challenge, { issued_at: '2026-11-21T10:00:00Z', expires_at: '2099-11-21T10:10:00.5Z' });
  await follow(tab, server, BIND);
  const shown = [];
  const unfold = async () => { await tab.getByText('Text your wallet signs').click(); shown.push(await tab.locator('pre.signed').innerText()); };
  await title(tab, 'Create or connect a wallet');
  await unfold();
  await press(tab, 'Continue');
  await title(tab, 'Connect this wallet');
  await unfold();
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Connect');
  await title(tab, 'Go back to the chat');
  const [{ address, signature }] = server.posted('/w/bind');
  const signed = `${server.origin.slice(7)} wants you to sign in with your Solana account:\n${ADDRESS}\n\nConnect this wallet to the Telegram account 700100.\n\nURI: ${server.origin}\nVersion: 1\nChain ID: mainnet\nNonce: aB3dE5gH7jK9mN1p\nIssued At: 2026-11-21T10:00:00Z\nExpiration Time: 2099-11-21T10:10:00.5Z`;
  assert.equal(address, ADDRESS);
  assert.ok(ed25519.verify(base58.decode(signature), Buffer.from(signed), base58.decode(ADDRESS)));
  assert.deepEqual(shown, [signed, signed], 'another text is shown than is signed');
}));

it('a challenge with a bad field is not signed', async () => {
  for (const bad of [{ telegram_id: '7\nURI: evil' }, { nonce: 'abc' }, { chain: 'testnet' }, { issued_at: 'now' }, { expires_at: null }, { telegram_id: 700100 }]) {
    server.reset();
    server.world.challenge = bad;
    await on(BIND, async (tab) => {
      await title(tab, 'Something went wrong');
      assert.match(await text(tab), /unexpected \(\w+\)\. Nothing was signed/);
      assert.deepEqual(server.posted('/w/bind'), []);
    });
  }
});

it('a name that would reorder the page is shown for what it is', () => {
  server.world.challenge = { telegram_name: '\u202eecilA <img src=x onerror=alert(1)>', username: 'a\u2066b' };
  return on(BIND, async (tab) => {
    await title(tab, 'Create or connect a wallet');
    const shown = await text(tab);
    assert.ok(shown.includes('\ufffdecilA <img src=x onerror=alert(1)>') && shown.includes('@a\ufffdb'), shown);
    assert.equal(await tab.locator('main img').count(), 0);
  });
});

it('a bind answer for another address is not believed', () => on('', async (tab) => {
  await restore(tab);
  server.world.answerAddress = EVE;
  await follow(tab, server, BIND);
  await press(tab, 'Continue');
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Connect');
  await title(tab, 'Something went wrong');
  assert.match(await text(tab), /different address than yours/);
}));

it('a lost answer to the proof: the same proof again', () => on('', async (tab) => {
  await restore(tab);
  server.world.drop['/w/bind'] = 1;
  await follow(tab, server, BIND);
  await press(tab, 'Continue');
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Connect');
  await title(tab, 'No answer from the server');
  await press(tab, 'Send again');
  await title(tab, 'Go back to the chat');
  const [first, second] = server.posted('/w/bind');
  assert.deepEqual(first, second);
}));

it('times are in the zone of the device, and name it', () => on('', async (tab) => {
  server.world.challenge = { issued_at: '2026-11-21T20:00:00Z', expires_at: '2099-11-21T20:10:00Z' };
  await follow(tab, server, BIND);
  await title(tab, 'Create or connect a wallet');
  assert.match(await text(tab), /This link works until 01:55 UTC\+5:45\./);
  server.world.view = { default_wallet_changed_at: '2026-11-20T20:00:00Z' };
  await follow(tab, server, '');
  await restore(tab);
  await follow(tab, server, SIGN);
  await title(tab, 'Approve this payment?');
  assert.match(await text(tab), /on 21 Nov 2026 at 01:45 UTC\+5:45\./);
}, { timezoneId: 'Asia/Kathmandu' }));

it('a recovery phrase that was shown can be left: nothing is stored, and the next one is another', () => on(BIND, async (tab) => {
  const show = async () => {
    await press(tab, 'Create a wallet');
    await press(tab, 'Show recovery phrase');
    return (await readWords(tab)).join(' ');
  };
  const first = await show();
  await press(tab, 'I wrote it down');
  await title(tab, 'Confirm your recovery phrase');
  await press(tab, 'Show it again');
  await press(tab, 'Back');
  await title(tab, 'Create or connect a wallet');
  assert.equal(await stored(tab), '[]');
  assert.notEqual(await show(), first);
}));

/** Which wallets are offered: their last six characters, a + for the chosen one, what is said of them. */
const offered = async (tab) => {
  await title(tab, 'Create or connect a wallet');
  return tab.locator('.choice').evaluateAll((all) => all.map((c) =>
    [[...c.querySelectorAll('.last')].map((l) => l.textContent).join('') + (c.querySelector('input').checked ? '+' : ''), c.querySelector('.hint')?.textContent ?? '']));
};

it('of the wallets on a device, one is chosen beforehand only if it alone fits', () => on('', async (tab) => {
  const as = (id) => { server.reset(); server.world.challenge = { telegram_id: id }; };
  const connect = async () => {
    await press(tab, 'Continue');
    await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
    await press(tab, 'Connect');
  };
  const buttons = () => tab.locator('.actions button').evaluateAll((all) => all.map((b) => b.textContent + (b.className === 'primary' ? '!' : '')));
  const MORE = ['Restore a wallet', 'Use a wallet app'];
  const first = ADDRESS.slice(-6);
  await restore(tab);

  await follow(tab, server, BIND); // nobody's yet, and the only one
  assert.deepEqual(await offered(tab), [[`${first}+`, '']]);
  assert.deepEqual(await buttons(), ['Continue!', 'Create a wallet', ...MORE]);
  await connect();
  await title(tab, 'Go back to the chat');
  await follow(tab, server, BIND);
  assert.deepEqual(await offered(tab), [[`${first}+`, 'Signed for this Telegram account before']]);

  as('700200'); // somebody else at the same device
  await follow(tab, server, BIND);
  assert.deepEqual(await offered(tab), [[first, 'Signed for another Telegram account (ID 700100)']]);
  assert.deepEqual(await buttons(), ['Continue', 'Create a wallet!', ...MORE], 'what continues with the choice does not follow it');
  await press(tab, 'Continue');
  await tab.getByRole('alert').filter({ hasText: 'Choose one of these wallets' }).waitFor();
  assert.equal(await tab.evaluate(() => document.activeElement.type), 'radio', 'the choice has not the focus');
  await press(tab, 'Restore a wallet');
  await tab.getByLabel('Recovery phrase').fill(OTHER_WORDS);
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  server.world.fail['/w/bind'] = { status: 409, code: 'CONFLICT', message: 'This address is connected to another Telegram account.' };
  await press(tab, 'Connect to Telegram');
  await tab.getByText('The link still works').waitFor();
  const both = await offered(tab);
  const second = both[1][0];
  assert.deepEqual(both, [[first, 'Signed for another Telegram account (ID 700100)'], [second, 'Already connected']]);

  as('700100'); // two that fit
  await follow(tab, server, BIND);
  assert.deepEqual(await offered(tab), [[first, 'Signed for this Telegram account before'], [second, '']]);

  as('700300'); // the only one that fits is not the first
  await follow(tab, server, BIND);
  assert.deepEqual(await offered(tab), [[first, 'Signed for another Telegram account (ID 700100)'], [`${second}+`, '']]);
  await connect();
  await title(tab, 'Go back to the chat');
  assert.ok(server.posted('/w/bind')[0].address.endsWith(second));
}));
