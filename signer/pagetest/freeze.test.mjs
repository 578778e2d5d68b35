// Freezing with the recovery link, and unfreezing with a wallet that was connected before.
// In a real Chromium, as a person uses it, against an honest and a hostile server.

import assert from 'node:assert/strict';
import { ed25519 } from '@noble/curves/ed25519';
import { base58 } from '@scure/base';
import { it, on, server, text } from './browser.mjs';
import { ADDRESS, BOB, FREEZE, PASSPHRASE, UNFREEZE, WORDS, choosePassphrase, follow, install, press, title } from './harness.mjs';

it('the recovery link freezes with one button, without a wallet, and again', () => on(FREEZE, async (tab) => {
  await title(tab, 'Freeze your account?');
  assert.match(await text(tab), /cannot stop a stolen key/);
  assert.deepEqual(server.received, [], 'opening the link did something');
  assert.equal(await tab.locator('#main button').count(), 1);
  await press(tab, 'Freeze');
  await title(tab, 'Your account is frozen');
  assert.match(await text(tab), /31 Jan 2026[^]*cannot be stopped[^]*\/unfreeze[^]*stolen key/);
  assert.deepEqual(server.received.map(({ path, body }) => [path, body]), [['/w/freeze', { token: FREEZE.slice(3) }]]);
  assert.equal(await tab.evaluate(async () => (await indexedDB.databases()).length), 0, 'it touched the vault');
  await follow(tab, server, FREEZE);
  await press(tab, 'Freeze');
  await title(tab, 'Your account is frozen');
}));

it('a freeze whose answer is lost can be sent again', () => on(FREEZE, async (tab) => {
  server.world.drop['/w/freeze'] = 1;
  await press(tab, 'Freeze');
  await title(tab, 'No answer from the server');
  await press(tab, 'Send again');
  await title(tab, 'Your account is frozen');
  assert.equal(server.posted('/w/freeze').length, 2);
}));

it('a recovery link that was replaced says so', () => on(FREEZE, async (tab) => {
  server.world.fail['/w/freeze'] = { status: 404, code: 'NOT_FOUND', message: 'This link was replaced, or it has expired.' };
  await press(tab, 'Freeze');
  await title(tab, 'This link no longer works');
  assert.match(await text(tab), /was replaced/);
}));

const unfreezeText = (origin, id = '700100') => new RegExp(`^${origin.replace('http://', '')} wants you to sign in with your Solana account:\n${ADDRESS}\n\nUnfreeze the purser account of the Telegram account ${id}\\.\n\nURI: ${origin}\n`);

it('a wallet of this device unfreezes: it signs the text that is shown, and never the one that connects', () => on('', async (tab) => {
  await install(tab);
  await follow(tab, server, UNFREEZE);
  await title(tab, 'Unfreeze this account?');
  assert.match(await text(tab), /Alice Liddell[^]*700100[^]*Frozen[^]*Close this page/);
  await press(tab, `Sign with …${ADDRESS.slice(-6)}`);
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  const shown = await tab.locator('pre.signed').textContent();
  assert.match(shown, unfreezeText(server.origin));
  assert.doesNotMatch(shown, /Connect this wallet/);
  assert.deepEqual(server.posted('/w/unfreeze'), []);
  await press(tab, 'Unfreeze');
  await title(tab, 'Your account is unfrozen');
  const [{ token, address, signature }] = server.posted('/w/unfreeze');
  assert.deepEqual([token, address], [UNFREEZE.slice(3), ADDRESS]);
  assert.ok(ed25519.verify(base58.decode(signature), Buffer.from(shown), base58.decode(ADDRESS)), 'another text was signed than was shown');
}));

it('a wallet that is not on this device is restored and unfreezes', () => on(UNFREEZE, async (tab) => {
  await title(tab, 'Unfreeze this account?');
  assert.match(await text(tab), /None of these wallets is on this device/);
  assert.equal(await tab.getByRole('button', { name: /^Sign with/ }).count(), 0);
  await press(tab, `Restore …${ADDRESS.slice(-6)}`);
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  await press(tab, 'Unfreeze');
  await title(tab, 'Your account is unfrozen');
  assert.equal(server.posted('/w/unfreeze')[0].address, ADDRESS);
}));

it('a wallet that was not connected before the freeze is not offered, and one that the server refuses leaves the link open', () => on('', async (tab) => {
  await install(tab);
  server.world.wallets = [{ address: BOB, wallet_type: 'developer' }];
  await follow(tab, server, UNFREEZE);
  await title(tab, 'Unfreeze this account?');
  assert.equal(await tab.getByRole('button', { name: /^(Sign with|Restore)/ }).count(), 0);
  assert.match(await text(tab), /purser sign/);
  delete server.world.wallets;
  server.world.fail['/w/unfreeze'] = { status: 403, code: 'POLICY_VIOLATION', message: 'This wallet can’t unfreeze the account.' };
  await follow(tab, server, UNFREEZE);
  await press(tab, `Sign with …${ADDRESS.slice(-6)}`);
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Unfreeze');
  await tab.getByText('can’t unfreeze the account').waitFor();
  await title(tab, 'Unfreeze this account?');
}));

for (const [field, value] of [['nonce', 'x\n\nConnect this wallet'], ['telegram_id', '7\nConnect'], ['frozen_at', 'yesterday'], ['wallets', [{ address: 'nonsense', wallet_type: 'page' }]], ['wallets', {}]]) {
  it(`a server that lies about ${field} (${JSON.stringify(value)}) gets no signature`, () => on('', async (tab) => {
    await install(tab);
    server.world.challenge = { [field]: value };
    await follow(tab, server, UNFREEZE);
    await title(tab, 'Something went wrong');
    assert.deepEqual(server.posted('/w/unfreeze'), []);
  }));
}
