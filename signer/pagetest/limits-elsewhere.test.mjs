// Spending limits where the page cannot read what it stored, of wallets that a wallet app holds, and of wallets that are not this device's. In a real Chromium,
// against an honest server and against one that lies.

import assert from 'node:assert/strict';
import { base58 } from '@scure/base';
import { allText, it, kept, on, server, text, what } from './browser.mjs';
import { ADDRESS, BIND, BOB, LIMITS, NO_LIMITS, SIGN, WORDS, choosePassphrase, press, revisit, title } from './harness.mjs';
import { keep, keptIn } from './keep.mjs';
import { BLOCKED, DAILY, ONE, TWO, blocked, limit, limited, nothingLeft, offer, policies, policy, rowsOf, signed, withApp } from './limiting.mjs';

// ---- What the page cannot read

/** How a browser's storage becomes unreadable: what runs before each page from now on, or once. */
const UNREADABLE = {
  'a private window': (tab) => tab.addInitScript(() => { IDBFactory.prototype.open = () => { throw new DOMException('private', 'SecurityError'); }; }),
  'a newer page has changed it': (tab) => tab.evaluate(async () => {
    const db = await new Promise((resolve) => { const r = indexedDB.open('purser', 99); r.onsuccess = () => resolve(r.result); });
    db.close();
  }),
  'another tab holds it': (tab) => tab.addInitScript(() => {
    IDBFactory.prototype.open = () => { const r = new EventTarget(); setTimeout(() => r.onblocked()); return r; };
  }),
};
const UNREAD = 'This page cannot check your limits';

for (const [why, spoil] of Object.entries(UNREADABLE)) {
  it(`a wallet app signs without limits only when the person types so, where the storage cannot be read: ${why}`, () => limited({ ...ONE, payment: [limit(5)] }, async (tab) => {
    await spoil(tab);
    const asked = await withApp(tab);
    await offer(tab);
    await title(tab, UNREAD);
    assert.match(await text(tab), /cannot read what it stored[^]*spending limits[^]*1\.5 SOL[^]*more than your limits allow/);
    assert.ok((await allText(tab)).includes(ADDRESS));
    assert.deepEqual(await tab.getByRole('button').allTextContents(), ['Try again', 'Copy link', 'Reject', 'Sign without checks']);
    for (const typed of ['', BOB.slice(-6), ADDRESS.slice(-6).toLowerCase()]) {
      await tab.getByLabel('Last six characters of the address').fill(typed);
      await press(tab, 'Sign without checks');
      await tab.getByRole('alert').filter({ hasText: 'not its last six' }).waitFor();
    }
    await press(tab, 'Try again');
    await title(tab, UNREAD);
    assert.equal(server.posted('/w/tx/get').length, 2);
    nothingLeft();
    await tab.getByLabel('Last six characters of the address').fill(ADDRESS.slice(-6));
    await press(tab, 'Sign without checks');
    await title(tab, 'Approve this payment?');
    assert.match(await tab.locator('.notice.danger').innerText(), /does not enforce spending limits here[^]*whether you signed/);
    assert.deepEqual(asked, []);
    await press(tab, 'Approve anyway');
    await press(tab, 'Test Wallet');
    await title(tab, 'Transaction signed');
    assert.ok((await what(tab)).join().startsWith('1.5 SOL'), 'what was signed is known without the storage');
    assert.deepEqual(asked, ['transaction']);
  }));
}

it('a payment is rejected where the storage cannot be read, and checked again once it can', () => limited({ ...ONE, payment: [limit(5)] }, async (tab) => {
  await withApp(tab);
  await tab.addInitScript(() => {
    const { open } = IDBFactory.prototype;
    IDBFactory.prototype.open = function (...given) {
      if (globalThis.readable) return open.apply(this, given);
      throw new DOMException('private', 'SecurityError');
    };
  });
  await tab.goto('about:blank');
  await offer(tab);
  await title(tab, UNREAD);
  await tab.evaluate(() => { globalThis.readable = true; });
  await press(tab, 'Try again');
  await blocked(tab, /limit per payment is 0\.000000005 SOL/);
  await tab.goto('about:blank');
  await offer(tab);
  await title(tab, UNREAD);
  await press(tab, 'Reject');
  await title(tab, 'Rejected');
  nothingLeft();
}));

it('a wallet of this page signs nothing where the storage cannot be read, and the page says why', () => limited(ONE, async (tab) => {
  await UNREADABLE['a newer page has changed it'](tab);
  for (const hash of [SIGN, LIMITS]) {
    await offer(tab, {}, hash);
    if (hash === SIGN) {
      await title(tab, 'Something went wrong');
      assert.match(await text(tab), /cannot read what it stored in this browser\. Close its other tabs/);
    } else {
      await title(tab, 'Set spending limits?');
      assert.match(await text(tab), /cannot read or store anything in this browser, so it does not enforce spending limits here/);
      assert.equal(await tab.getByRole('button', { name: /^Sign with/ }).count(), 0);
    }
  }
  nothingLeft();
}));

for (const name of ['signed', 'policies', 'networks']) {
  it(`a wallet app is asked for nothing where the wallets can be read and something else cannot: ${name}`, () => limited(ONE, async (tab) => {
    const asked = await withApp(tab);
    await tab.addInitScript((unread) => {
      const { transaction } = IDBDatabase.prototype;
      IDBDatabase.prototype.transaction = function (names, ...more) {
        if ([names].flat().includes(unread)) throw new DOMException('the disk', 'UnknownError');
        return transaction.call(this, names, ...more);
      };
    }, name);
    await tab.goto('about:blank');
    await offer(tab);
    await title(tab, 'Something went wrong');
    assert.deepEqual(await tab.getByRole('button', { name: /^(Approve|Sign)/ }).allTextContents(), []);
    assert.deepEqual(asked, []);
    nothingLeft();
  }));
}

it('a browser without Ed25519 that stores nothing says so, for a change of limits and for a payment', () => on('', async (tab) => {
  await tab.addInitScript(() => {
    if (globalThis.SubtleCrypto) SubtleCrypto.prototype.generateKey = async () => { throw new DOMException('Unrecognized name', 'NotSupportedError'); }; // not on about:blank
    IDBFactory.prototype.open = () => { throw new DOMException('private', 'SecurityError'); };
  });
  await tab.goto('about:blank');
  server.world.walletType = 'external';
  server.world.limits = { current: ONE, signed: null };
  for (const [hash, heading, says] of [[LIMITS, 'Set spending limits?', /does not enforce spending limits here/], [SIGN, UNREAD, /does not know this wallet’s spending limits/]]) {
    await revisit(tab, server, hash);
    await title(tab, heading);
    assert.match(await text(tab), says);
  }
  nothingLeft();
}));

// ---- Wallet apps

it('a wallet app sets limits, and is then asked for nothing that breaks them', () => on('', async (tab) => {
  const asked = await withApp(tab);
  server.world.proposed = DAILY;
  await revisit(tab, server, LIMITS);
  await press(tab, 'Use a wallet app');
  await press(tab, 'Test Wallet');
  await title(tab, 'Spending limits set');
  const [{ signature }] = server.posted('/w/limits/sign');
  assert.equal(base58.decode(signature).length, 64);
  assert.deepEqual([await policies(tab), asked], [[{ current: DAILY, pending: null, here: true }], ['text']]);
  const pays = async (lamports) => {
    await offer(tab, { lamports });
    await title(tab, 'Approve this payment?');
    await press(tab, 'Approve');
    await press(tab, 'Test Wallet');
  };
  await pays(1_500_000_000n);
  await title(tab, 'Transaction signed');
  await offer(tab);
  await blocked(tab, /this device signed 1\.5 SOL/);
  await offer(tab, { lamports: 5n });
  await title(tab, 'Approve this payment?');
  const [before] = (await kept(tab))[0];
  await keep(tab, 'signed', { ...before, intent: 'of another tab', reference: '', spends: { ...before.spends, units: '500000000' } });
  await press(tab, 'Approve');
  await press(tab, 'Test Wallet');
  await title(tab, BLOCKED); // and the app was not asked in vain
  assert.deepEqual(asked, ['text', 'transaction']);
  await keep(tab, 'signed', { ...before, intent: 'of another tab', reference: '', spends: null });
  await offer(tab, { lamports: 5n });
  await title(tab, 'Approve this payment?');
  server.world.refreshView = { limits: { current: policy({ payment: [limit(4)] }), signed: null } };
  await press(tab, 'Approve');
  await press(tab, 'Test Wallet');
  await title(tab, BLOCKED);
  assert.deepEqual(asked, ['text', 'transaction']);
  await tab.goto('about:blank');
  await tab.goto(`${server.origin}/w/`);
  await title(tab, 'No wallet on this device yet');
  await press(tab, 'Spending limits');
  await title(tab, 'Spending limits');
  assert.match(await rowsOf(tab), /Limit per payment 0\.000000004 SOL Limit per 24 hours 2 SOL/);
}));

it('a wallet app that signs another text sets nothing', () => on('', async (tab) => {
  await withApp(tab, (bytes) => [...bytes, 10]);
  server.world.proposed = DAILY;
  await revisit(tab, server, LIMITS);
  await press(tab, 'Use a wallet app');
  await press(tab, 'Test Wallet');
  await tab.getByText('The wallet app returned an invalid signature').waitFor();
  nothingLeft();
  assert.deepEqual(await policies(tab), []);
}));

// ---- Wallets that are not this device's

/** Everything that a server could have put onto the device. */
const everything = async (tab) => (await Promise.all(['policies', 'networks', 'recipients', 'notices', 'signed'].map((name) => keptIn(tab, name)))).flat();

it('a server plants no limits for a wallet that this device does not have, and an imported one gets them in sight', () => on('', async (tab) => {
  for (const type of ['page', 'external', 'developer']) {
    server.world.walletType = type;
    for (const limits of [{ current: ONE, signed: null }, { current: ONE, signed: signed(DAILY) }, { current: NO_LIMITS, signed: signed(policy({ recipients: [] })) }]) {
      server.world.limits = limits;
      await offer(tab);
      await title(tab, type === 'external' ? 'Approve this payment?' : 'A payment is waiting for you');
      assert.doesNotMatch(await text(tab), /had no limits|now enforces|Within the limits/);
    }
    server.world.proposed = TWO;
    await revisit(tab, server, LIMITS);
    await title(tab, 'Set spending limits?');
  }
  assert.deepEqual(await everything(tab), []);
  nothingLeft();

  server.world.walletType = 'page';
  server.world.limits = { current: DAILY, signed: null };
  await offer(tab);
  await press(tab, 'Restore this wallet');
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  await press(tab, 'Show payment');
  await title(tab, 'Approve this payment?');
  assert.match(await text(tab), /This device had no limits for this wallet\. It now enforces the server’s\.[^]*Within the limits on this device/);
  assert.deepEqual(await policies(tab), [{ current: DAILY, pending: null, here: false }]);
  await offer(tab, { lamports: 2_000_000_001n });
  await blocked(tab, /limit per 24 hours is 2 SOL/);
}));

it('a wallet that is restored from a payment’s link is asked nothing that breaks the server’s limits', () => on('', async (tab) => {
  server.world.limits = { current: ONE, signed: null };
  await offer(tab);
  await press(tab, 'Restore this wallet');
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  await press(tab, 'Show payment');
  await blocked(tab, /had no limits for this wallet\. It now enforces the server’s[^]*Your limit per payment is 1 SOL/);
  nothingLeft();
}));

it('a wallet app that is new here gets the server’s limits when it shows that it has the wallet, before it is asked to sign', () => on('', async (tab) => {
  const asked = await withApp(tab);
  server.world.limits = { current: DAILY, signed: null };
  await offer(tab);
  await title(tab, 'Approve this payment?');
  assert.deepEqual(await everything(tab), []);
  await press(tab, 'Approve');
  await press(tab, 'Test Wallet');
  await tab.getByText('It now enforces the server’s').waitFor();
  await title(tab, 'Approve this payment?');
  assert.deepEqual([asked, await policies(tab)], [[], [{ current: DAILY, pending: null, here: false }]]);
  await press(tab, 'Approve');
  await press(tab, 'Test Wallet');
  await title(tab, 'Transaction signed');
  server.world.limits = null;
  await offer(tab);
  await blocked(tab, /this device signed 1\.5 SOL/);
  assert.deepEqual(asked, ['transaction']);
}));

it('a wallet app that is new here signs nothing that the server’s limits forbid, and one that was connected here has them at once', () => on('', async (tab) => {
  const asked = await withApp(tab);
  server.world.limits = { current: ONE, signed: null };
  await offer(tab);
  await press(tab, 'Approve');
  await press(tab, 'Test Wallet');
  await blocked(tab, /Your limit per payment is 1 SOL/);
  await tab.evaluate(() => new Promise((resolve) => { indexedDB.deleteDatabase('purser').onsuccess = resolve; }));
  server.world.limits = null;
  await revisit(tab, server, BIND);
  await press(tab, 'Use a wallet app');
  await press(tab, 'Test Wallet');
  await title(tab, 'Go back to the chat');
  assert.deepEqual(await policies(tab), []);
  server.world.limits = { current: ONE, signed: null };
  await offer(tab);
  await blocked(tab, /had no limits for this wallet\. It now enforces the server’s/);
  assert.deepEqual(asked, ['text']);
}));
