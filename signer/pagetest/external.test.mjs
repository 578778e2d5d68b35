// Wallet apps by the Wallet Standard, in a real browser: fake apps are injected before the page runs,
// honest ones and others. What an app signs is judged against the bytes it was given.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ed25519 } from '@noble/curves/ed25519';
import { base58 } from '@scure/base';
import { ComputeBudgetProgram, PublicKey, SystemProgram, TransactionInstruction, TransactionMessage, VersionedMessage } from '@solana/web3.js';
import { BIND, BOB, REFERENCE, SIGN, follow, launch, noBrowser as skip, payment, serve, title } from './harness.mjs';

let browser;
let server;
before(async () => { server = await serve(); browser = skip ? null : await launch(); });
after(async () => { await browser?.close(); await server.close(); });

const key = ed25519.utils.randomPrivateKey();
const OWN = base58.encode(ed25519.getPublicKey(key));
const EVE = base58.encode(ed25519.getPublicKey(ed25519.utils.randomPrivateKey()));
const LIGHTHOUSE = new PublicKey('L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95');

/** What an app makes of a message before it signs: `change` gets web3.js's decompiled one. */
function resigned(bytes, change) {
  const message = TransactionMessage.decompile(VersionedMessage.deserialize(bytes));
  const changed = change(message) ?? message;
  const raw = changed.compileToV0Message().serialize();
  return Uint8Array.from([1, ...ed25519.sign(raw, key), ...raw]);
}

/**
 * A tab with an injected app. `behave` decides what it does with {bytes} (the message without its
 * empty signature): it returns wire bytes, or throws.
 */
async function withApp(t, { features = ['standard:connect', 'solana:signTransaction', 'solana:signMessage'], name = 'Test Wallet',
  accounts = [OWN], behave = (bytes) => resigned(bytes, () => null), text = (bytes) => ed25519.sign(bytes, key), chains = ['solana:mainnet'] } = {}) {
  const context = await browser.newContext({ viewport: { width: 390, height: 780 } });
  t.after(() => context.close());
  const tab = await context.newPage();
  await tab.exposeFunction('appSigns', async (list) => Array.from(await behave(Uint8Array.from(list).slice(65))));
  await tab.exposeFunction('appSaysText', async (list) => Array.from(await text(Uint8Array.from(list))));
  await tab.addInitScript(({ features, name, accounts, chains }) => {
    const wallet = {
      version: '1.0.0', name, icon: 'data:image/svg+xml,<svg onload="alert(1)"/>', chains, accounts: [],
      features: Object.fromEntries(features.map((f) => [f, {
        'standard:connect': { connect: async () => ({ accounts: accounts.map((address) => ({ address, chains, features })) }) },
        'solana:signTransaction': { signTransaction: async ({ transaction }) => [{ signedTransaction: Uint8Array.from(await appSigns(Array.from(transaction))) }] },
        'solana:signMessage': { signMessage: async ({ message }) => [{ signedMessage: message, signature: Uint8Array.from(await appSaysText(Array.from(message))) }] },
        'solana:signAndSendTransaction': { signAndSendTransaction: async () => { throw new Error('never asked'); } },
      }[f]])),
    };
    const register = (api) => api.register(wallet);
    dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: register }));
    addEventListener('wallet-standard:app-ready', ({ detail }) => register(detail));
  }, { features, name, accounts, chains });
  return tab;
}

const text = (tab) => tab.locator('main').innerText();
const press = (tab, name) => tab.getByRole('button', { name, exact: true }).click();

function paying() {
  server.reset();
  server.world.address = OWN;
  server.world.payment = payment({ payer: OWN });
  server.world.walletType = 'external';
}

/** Follows a sign link up to the app, and lets it sign. */
async function pays(tab) {
  await follow(tab, server, SIGN);
  await title(tab, 'Approve this payment?');
  await press(tab, 'Approve');
  await title(tab, 'Use a wallet app');
  await press(tab, 'Test Wallet');
}

const it = (name, work) => test(name, { skip }, work);

it('a wallet app is connected by the text of the design', async (t) => {
  server.reset();
  const tab = await withApp(t);
  await follow(tab, server, BIND);
  await title(tab, 'Create or connect a wallet');
  await press(tab, 'Use a wallet app');
  await title(tab, 'Use a wallet app');
  await press(tab, 'Test Wallet');
  await title(tab, 'Go back to the chat');
  const [{ address, signature, wallet_type: type }] = server.posted('/w/bind');
  assert.deepEqual([address, type], [OWN, 'external']);
  assert.equal(base58.decode(signature).length, 64);
  assert.match(await text(tab), new RegExp(OWN.slice(-6)));
});

it('a payment is signed in the app, which may add budget and assertions', async (t) => {
  paying();
  const tab = await withApp(t, { behave: (bytes) => resigned(bytes, (m) => {
    m.instructions.unshift(ComputeBudgetProgram.setComputeUnitLimit({ units: 2000 }), ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1000 }));
    m.instructions.push(new TransactionInstruction({ programId: LIGHTHOUSE, keys: [{ pubkey: new PublicKey(OWN), isSigner: false, isWritable: false }], data: Buffer.from([5, 1, 2]) }));
  }) });
  await pays(tab);
  await title(tab, 'Transaction signed');
  const [{ signed_transaction: signed, signature }] = server.posted('/w/tx/signature');
  assert.equal(signature, undefined);
  const wire = Buffer.from(signed, 'base64');
  assert.equal(wire[0], 1);
  assert.ok(ed25519.verify(wire.subarray(1, 65), wire.subarray(65), base58.decode(OWN)));
});

for (const [what, change] of [
  ['swaps the recipient', (m) => { m.instructions = m.instructions.map((i) => (i.programId.equals(SystemProgram.programId) ? SystemProgram.transfer({ fromPubkey: new PublicKey(OWN), toPubkey: new PublicKey(EVE), lamports: 1_500_000_000 }) : i)); }],
  ['changes the amount', (m) => { for (const i of m.instructions) if (i.programId.equals(SystemProgram.programId)) i.data = Buffer.from([...i.data.subarray(0, 4), 9, 9, 9, 9, 0, 0, 0, 0]); }],
  ['pays somebody else as well', (m) => { m.instructions.push(SystemProgram.transfer({ fromPubkey: new PublicKey(OWN), toPubkey: new PublicKey(EVE), lamports: 1 })); }],
  ['takes another blockhash', (m) => { m.recentBlockhash = BOB; }],
  ['asks a ruinous fee', (m) => { m.instructions.unshift(ComputeBudgetProgram.setComputeUnitLimit({ units: 1_000_000 }), ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 9_000_000 })); }],
  ['writes into Lighthouse', (m) => { m.instructions.push(new TransactionInstruction({ programId: LIGHTHOUSE, keys: [], data: Buffer.from([0]) })); }],
]) {
  it(`an app that ${what} is caught, and nothing is sent`, async (t) => {
    paying();
    const tab = await withApp(t, { behave: (bytes) => resigned(bytes, change) });
    await pays(tab);
    await title(tab, 'Stop: the wallet app changed the transaction');
    assert.deepEqual(server.posted('/w/tx/signature'), []);
    await press(tab, 'Back to the transaction');
    await title(tab, 'Approve this payment?');
  });
}

it('an app that signs with another key is caught', async (t) => {
  paying();
  const tab = await withApp(t, { behave: (bytes) => Uint8Array.from([1, ...ed25519.sign(bytes, ed25519.utils.randomPrivateKey()), ...bytes]) });
  await pays(tab);
  await title(tab, 'Stop: the wallet app changed the transaction');
  assert.deepEqual(server.posted('/w/tx/signature'), []);
});

it('a no in the app leads back to the payment', async (t) => {
  paying();
  const tab = await withApp(t, { behave: () => { throw new Error('User rejected the request.'); } });
  await pays(tab);
  await title(tab, 'Not signed');
  await press(tab, 'Back to the transaction');
  await title(tab, 'Approve this payment?');
  assert.deepEqual(server.posted('/w/tx/signature'), []);
});

it('an app that does not answer can be left', async (t) => {
  paying();
  const tab = await withApp(t, { behave: () => new Promise(() => {}) });
  await pays(tab);
  await title(tab, 'Continue in Test Wallet');
  await press(tab, 'Back');
  await title(tab, 'Approve this payment?');
});

it('an app that only broadcasts by itself is not asked', async (t) => {
  paying();
  const tab = await withApp(t, { features: ['standard:connect', 'solana:signAndSendTransaction', 'solana:signMessage'] });
  await follow(tab, server, SIGN);
  await press(tab, 'Approve');
  await title(tab, 'Use a wallet app');
  assert.match(await text(tab), /Test Wallet cannot be used: It would send the payment itself/);
  assert.equal(await tab.getByRole('button', { name: 'Test Wallet' }).count(), 0);
});

it('an app that holds another account is told apart, and one of another network', async (t) => {
  paying();
  const tab = await withApp(t, { accounts: [EVE, 'no address', 7] });
  await pays(tab);
  await tab.getByText('does not have the wallet that pays').waitFor();
  const other = await withApp(t, { chains: ['solana:devnet'] });
  await follow(other, server, SIGN);
  await press(other, 'Approve');
  assert.match(await text(other), /does not support Solana mainnet/);
});

it('foreign names are text, and bounded', async (t) => {
  paying();
  const tab = await withApp(t, { name: `<img src=x onerror=alert(1)>\u202e${'W'.repeat(300)}` });
  await follow(tab, server, SIGN);
  await press(tab, 'Approve');
  await title(tab, 'Use a wallet app');
  assert.equal(await tab.locator('main img').count(), 0);
  const label = await tab.locator('main button').first().innerText();
  assert.ok(label.length <= 42 && !label.includes('\u202e'), label);
});

it('an app that hands back a version 1 transaction is refused with that reason', async (t) => {
  paying();
  // Version 1 begins with its message; the signatures stand at the end.
  const tab = await withApp(t, { behave: (bytes) => { const v1 = Uint8Array.from([0x81, ...bytes]); return Uint8Array.from([...v1, ...ed25519.sign(v1, key)]); } });
  await pays(tab);
  await title(tab, 'Stop: the wallet app changed the transaction');
  assert.match(await text(tab), /returned a version 1 transaction[^]*Nothing was sent/);
  assert.deepEqual(server.posted('/w/tx/signature'), []);
});

it('a signature that came too late by the height of the chain is not sent, but made anew', async (t) => {
  paying();
  let asked = 0;
  const tab = await withApp(t, { behave: (bytes) => { asked++; return resigned(bytes, () => null); } });
  server.world.blocksLeft = 19;
  await pays(tab);
  await title(tab, 'That took too long');
  assert.deepEqual(server.posted('/w/tx/signature'), []);
  assert.match(await text(tab), /only for a short time[^]*Nothing was paid/);
  await press(tab, 'Back');
  await title(tab, 'Approve this payment?');
  await pays(tab);
  await title(tab, 'That took too long');
  server.world.blocksLeft = 20;
  await press(tab, 'Sign again');
  await press(tab, 'Test Wallet');
  await title(tab, 'Transaction signed');
  assert.equal(asked, 3);
  assert.equal(server.posted('/w/tx/refresh').length, 3, 'signed again over an old blockhash');
  assert.equal(server.posted('/w/tx/signature').length, 1);
});

it('when nobody knows the height, the signature is handed over: the server judges it', async (t) => {
  paying();
  server.world.fail['/w/tx/blocks'] = { status: 503, code: 'NETWORK_ERROR', message: 'x' };
  const tab = await withApp(t);
  await pays(tab);
  await title(tab, 'Transaction signed');
});

it('a wallet app is not asked for a second signature unawares, nor on another network', async (t) => {
  paying();
  const tab = await withApp(t);
  server.world.drop['/w/tx/signature'] = 1;
  await pays(tab);
  await title(tab, 'No answer from the server');
  server.world.status = 'awaiting_signature';
  await follow(tab, server, '#s=ABCDEFabcdef9876543210');
  await title(tab, 'You already signed this transaction');
  await press(tab, 'Resend signature');
  await title(tab, 'Transaction signed');
  const [first, second] = server.posted('/w/tx/signature').map((s) => s.signed_transaction);
  assert.equal(first, second);
  server.world.status = 'awaiting_signature';
  server.world.chain = 'devnet';
  await follow(tab, server, SIGN);
  await press(tab, 'Sign a second time');
  await title(tab, 'Approve this payment?');
  assert.match(await text(tab), /used on Solana mainnet\. The server now says devnet/);
});

it('a version 1 message behind the signatures of an older version is refused as well', async (t) => {
  paying();
  const tab = await withApp(t, { behave: (bytes) => { const v1 = Uint8Array.from([0x81, ...bytes.subarray(1)]); return Uint8Array.from([1, ...ed25519.sign(v1, key), ...v1]); } });
  await pays(tab);
  await title(tab, 'Stop: the wallet app changed the transaction');
  assert.match(await text(tab), /a version 1 transaction/);
  assert.deepEqual(server.posted('/w/tx/signature'), []);
});

it('two tabs on one payment: an app is not asked by the second once the first has signed', async (t) => {
  paying();
  let asked = 0;
  const tab = await withApp(t, { behave: (bytes) => { asked++; return resigned(bytes, () => null); } });
  await follow(tab, server, SIGN);
  await press(tab, 'Approve');
  await title(tab, 'Use a wallet app');
  await tab.evaluate(async (reference) => { // what the other tab leaves behind
    const wait = (r) => new Promise((resolve, reject) => { r.onsuccess = () => resolve(r.result); r.onerror = () => reject(r.error); });
    const db = await wait(indexedDB.open('purser'));
    await wait(db.transaction('signed', 'readwrite').objectStore('signed').put({ intent: 'of the other tab', reference, address: '', paid: '', at: Date.now(), signature: 'x', handed: { sha256: 'x' } }));
    db.close();
  }, REFERENCE);
  await press(tab, 'Test Wallet');
  await title(tab, 'You already signed this transaction');
  assert.equal(asked, 0);
});

it('a browser that keeps nothing says so, and its wallet app connects, and signs when the person types so', async (t) => {
  paying();
  const tab = await withApp(t);
  await tab.addInitScript(() => {
    SubtleCrypto.prototype.generateKey = async () => { throw new DOMException('Unrecognized name', 'NotSupportedError'); };
    IDBFactory.prototype.open = () => { throw new DOMException('private', 'SecurityError'); };
  });
  await follow(tab, server, BIND);
  await press(tab, 'Use a wallet app');
  await press(tab, 'Test Wallet');
  await title(tab, 'Go back to the chat');
  await follow(tab, server, SIGN);
  await title(tab, 'This page cannot check your limits');
  await tab.getByLabel('Last six characters of the address').fill(OWN.slice(-6));
  await press(tab, 'Sign without checks');
  await title(tab, 'Approve this payment?');
  assert.match(await text(tab), /cannot tell whether you signed/);
  await press(tab, 'Approve anyway');
  await press(tab, 'Test Wallet');
  await title(tab, 'Transaction signed');
});

it('without an app, the way into one is a link that the person copies: its secret goes to no other site', async (t) => {
  paying();
  const context = await browser.newContext({ viewport: { width: 390, height: 780 }, permissions: ['clipboard-read', 'clipboard-write'] });
  t.after(() => context.close());
  const tab = await context.newPage();
  for (const hash of [SIGN, BIND]) {
    await follow(tab, server, hash);
    await (hash === SIGN ? press(tab, 'Approve') : press(tab, 'Use a wallet app'));
    await title(tab, 'Use a wallet app');
    assert.equal(await tab.locator('main a').count(), 0, 'a tap could take the secret elsewhere');
    assert.match(await text(tab), /copy the link[^]*inside your wallet app[^]*secret/);
    await press(tab, 'Copy link');
    await tab.getByText('Copied').waitFor();
    assert.equal(await tab.evaluate(() => navigator.clipboard.readText()), `${server.origin}/w/${hash}`);
  }
});
