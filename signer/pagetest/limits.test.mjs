// Spending limits on the device: signing a change of them on this page or in a wallet app, and what is kept. In a real Chromium, against an
// honest server and against one that lies. spending.test.mjs tests what a payment may do.

import assert from 'node:assert/strict';
import { ed25519 } from '@noble/curves/ed25519';
import { base58 } from '@scure/base';
import { EVE, allText, it, kept, on, onSign, server, text } from './browser.mjs';
import { ADDRESS, BIND, BOB, LIMITS, NO_LIMITS, SIGN, USDC, WORDS, approve, choosePassphrase, follow, payment, press, revisit, title } from './harness.mjs';
import { keep, keptIn } from './keep.mjs';
import { BLOCKED, DAILY, DAY, ONE, TWO, blocked, limit, limited, nothingLeft, offer, own, policies, policy, record, rowsOf, sets, signed, signs } from './limiting.mjs';
import { addr } from './wire.mjs';

// ---- Setting them

it('limits are set with a signature over the text that is shown, and kept as they were signed', () => limited(null, async (tab) => {
  const proposed = policy({ payment: [limit(1_500_000_000), limit(25_500_000, USDC), limit(77, addr(0xa1))], day: [limit(0, USDC)], recipients: [BOB, EVE].sort(), new_wait_hours: 168 });
  proposed.payment.sort((a, b) => (a.mint === 'SOL' ? -1 : b.mint === 'SOL' ? 1 : a.mint < b.mint ? -1 : 1));
  server.world.proposed = proposed;
  server.world.limitsStatus = 'set';
  await follow(tab, server, LIMITS);
  await title(tab, 'Set spending limits?');
  const shown = await allText(tab);
  for (const part of ['Alice Liddell', '700100', ADDRESS, 'Solana mainnet', 'Takes effect when you sign', 'Limit per payment: 1.5 SOL instead of no limit', '25.5 USDC', '77 base units', addr(0xa1), '0 USDC', 'Only listed recipients instead of any', BOB, EVE,
    'Wait for new recipients: 7 days instead of no wait', 'according to the server', 'has no limits for this wallet yet']) {
    assert.ok(shown.includes(part), `${part} is not shown: ${shown}`);
  }
  assert.doesNotMatch(shown, /Allows more/);
  const signs = await tab.locator('pre.signed').textContent();
  nothingLeft();
  assert.deepEqual(await policies(tab), []);
  await sets(tab);
  await title(tab, 'Spending limits set');
  const [{ token, signature }] = server.posted('/w/limits/sign');
  assert.equal(token, LIMITS.slice(3));
  assert.ok(ed25519.verify(base58.decode(signature), Buffer.from(signs), base58.decode(ADDRESS)), 'another text was signed than was shown');
  assert.match(signs, new RegExp(`^${server.origin.replace('http://', '')} wants you to set the spending limits of your Solana wallet:\n${ADDRESS}\n\nLimit per payment: 1500000000 lamports\n`));
  assert.deepEqual(await policies(tab), [{ current: proposed, pending: null, here: true }]);
  assert.match(await text(tab), /They are in effect on this device now/);
  assert.doesNotMatch(await text(tab), /take effect|change waits|cancel/i);
  assert.ok((await allText(tab)).includes(`To see the limits that this device keeps, open ${server.origin}/w/ in this browser and tap “Spending limits” at the wallet.`));
}));

it('limits that change nothing are shown once, and kept when they are new to this device', () => limited(null, async (tab) => {
  server.world.limits = { current: DAILY, signed: null };
  server.world.proposed = DAILY;
  await follow(tab, server, LIMITS);
  await title(tab, 'Set spending limits?');
  const once = async () => (await rowsOf(tab)).match(/Limit per 24 hours 2 SOL/g).length;
  assert.equal(await once(), 1);
  assert.match(await text(tab), /These are the limits on the server now\. Once you sign, this device enforces them too\./);
  assert.doesNotMatch(await text(tab), /New limits|Takes effect|Nothing changes|according to/);
  server.world.drop['/w/limits/sign'] = 1;
  server.world.limitsStatus = 'set';
  await sets(tab);
  await title(tab, 'No answer from the server');
  assert.match(await text(tab), /These limits are already in effect on this device/);
  await press(tab, 'Send again');
  await title(tab, 'Spending limits set');
  assert.match(await text(tab), /in effect on this device now/);
  assert.doesNotMatch(await text(tab), /tricter|take effect|change waits|cancel/i);
  assert.deepEqual(await policies(tab), [{ current: DAILY, pending: null, here: true }]);

  await revisit(tab, server, LIMITS);
  await title(tab, 'Set spending limits?');
  assert.equal(await once(), 1);
  assert.match(await text(tab), /Nothing changes: this device already enforces these limits/);
  server.world.fail['/w/limits/sign'] = { status: 410, code: 'NOT_FOUND', message: 'This link has expired.' };
  await sets(tab);
  await title(tab, 'The server did not accept the limits');
  assert.doesNotMatch(await text(tab), /tricter|in effect|allows more|cancelled/);
  assert.deepEqual(await policies(tab), [{ current: DAILY, pending: null, here: true }]);
}));

it('where the server enforces limits later than this device, the page says when', () => limited(DAILY, async (tab) => {
  server.world.proposed = DAILY;
  server.world.effectiveAt = '2031-02-03T04:05:06Z';
  await follow(tab, server, LIMITS);
  await title(tab, 'Set spending limits?');
  assert.match(await text(tab), /This replaces a change that would take effect on /);
  assert.doesNotMatch(await text(tab), /Nothing changes/);
  await sets(tab);
  await title(tab, 'Spending limits set');
  assert.match(await text(tab), /in effect on this device now\.[^]*On the server, they take effect on 3 Feb 2031/);
  assert.deepEqual(await policies(tab), [{ current: DAILY, pending: null, here: true }]);
}, { pending: NO_LIMITS, from: Date.now() + DAY }));

it('a looser policy waits for a day by this device’s clock, whatever the server says was current', () => limited(ONE, async (tab) => {
  server.world.limits = { current: policy({ payment: [limit(9_000_000_000)] }), signed: null }; // a lie: it would make 2 SOL look stricter
  server.world.proposed = TWO;
  server.world.limitsStatus = 'set';
  server.world.effectiveAt = '2026-01-01T00:00:00Z';
  await follow(tab, server, LIMITS);
  await title(tab, 'Set spending limits?');
  assert.match(await rowsOf(tab), /Takes effect 24 hours after you sign Limit per payment: 2 SOL instead of 1 SOL/);
  assert.match(await rowsOf(tab), /Limits on this device now Limit per payment 1 SOL/);
  assert.doesNotMatch(await text(tab), /Stricter|according to the server|9 SOL/);
  const before = Date.now();
  await sets(tab);
  await title(tab, 'Spending limits set');
  assert.match(await text(tab), /The new limits take effect on .* at \d\d:\d\d.* Until then, the limits below stay in effect/);
  assert.doesNotMatch(await text(tab), /tricter/);
  assert.match(await rowsOf(tab), /To cancel the change before that, send \/security limits in the chat\. Then cancel it on this device too: open http\S+\/w\/ in this browser, tap “Spending limits” at the wallet, then “Cancel this change”\./);
  const [{ from, ...is }] = await keptIn(tab, 'policies');
  assert.deepEqual([is.current, is.pending], [ONE, TWO]);
  assert.ok(from >= before + DAY && from <= Date.now() + DAY, `from ${from}`);
  await offer(tab);
  await blocked(tab, /This payment is 1\.5 SOL\. Your limit per payment is 1 SOL\.[^]*These limits take effect on .*:.*2 SOL/);
  await tab.clock.setSystemTime(from - 60_000);
  await offer(tab);
  await title(tab, BLOCKED);
  await tab.clock.setSystemTime(from);
  await signs(tab);
}));

it('a change in both directions: what is stricter at once, all of it after a day; and never before the server, nor much later', () => limited(policy({ payment: [limit(1_000_000_000)], recipients: [BOB, EVE].sort(), new_wait_hours: 24 }), async (tab) => {
  const mixed = policy({ payment: [limit(500_000_000)], recipients: [BOB, addr(0x77)].sort(), new_wait_hours: 1 });
  server.world.proposed = mixed;
  server.world.effectiveAt = new Date(Date.now() + 400 * DAY).toISOString();
  await follow(tab, server, LIMITS);
  await title(tab, 'Set spending limits?');
  assert.match(await rowsOf(tab), /when you sign Limit per payment: 0\.5 SOL instead of 1 SOL Recipients removed .*Takes effect 24 hours after you sign Recipients added .*Wait for new recipients: 1 hour instead of 24 hours/);
  await sets(tab);
  await title(tab, 'Spending limits set');
  assert.match(await text(tab), /The stricter parts are in effect now\. The rest takes effect on /);
  const [{ from, current, pending }] = await keptIn(tab, 'policies');
  assert.deepEqual([current, pending], [policy({ payment: [limit(500_000_000)], recipients: [BOB], new_wait_hours: 24 }), mixed]);
  assert.ok(from > Date.now() + DAY && from <= Date.now() + 2 * DAY, 'a server that names next year');
}));

it('a lost answer: what is stricter holds, what allows more only after the server said yes; the same signature can be sent again', () => limited(ONE, async (tab) => {
  const mixed = policy({ day: [limit(3_000_000_000)], payment: [limit(2_000_000_000)] });
  const both = policy({ day: [limit(3_000_000_000)], payment: [limit(1_000_000_000)] });
  server.world.proposed = mixed;
  server.world.drop['/w/limits/sign'] = 1;
  await follow(tab, server, LIMITS);
  await sets(tab);
  await title(tab, 'No answer from the server');
  assert.match(await text(tab), /The stricter parts are already in effect on this device/);
  assert.deepEqual(await policies(tab), [{ current: both, pending: null, here: true }]);
  await press(tab, 'Send again');
  await title(tab, 'Spending limits set');
  const sent = server.posted('/w/limits/sign');
  assert.deepEqual([sent.length, sent[1]], [2, sent[0]]);
  assert.deepEqual(await policies(tab), [{ current: both, pending: mixed, here: true }]);
}));

it('a change that the server refuses allows nothing more here, and replaces one that waited', () => limited(ONE, async (tab) => {
  server.world.proposed = policy({ day: [limit(5)] });
  server.world.fail['/w/limits/sign'] = { status: 410, code: 'NOT_FOUND', message: 'This link has expired.' };
  await follow(tab, server, LIMITS);
  await title(tab, 'Set spending limits?');
  assert.match(await text(tab), /This replaces a change that would take effect on /);
  await sets(tab);
  await title(tab, 'The server did not accept the limits');
  assert.match(await text(tab), /This link has expired[^]*stricter parts are already in effect on this device[^]*What allows more is not in effect[^]*change that was waiting on this device is cancelled[^]*\/security limits/);
  assert.deepEqual(await policies(tab), [{ current: { ...ONE, day: [limit(5)] }, pending: null, here: true }]);
}, { pending: TWO, from: Date.now() + DAY }));

it('two reads of a link: what is signed and kept is what was shown', () => limited(ONE, async (tab) => {
  server.world.proposed = policy({ payment: [limit(300_000_000)] });
  await follow(tab, server, LIMITS);
  await title(tab, 'Set spending limits?');
  assert.match(await text(tab), /0\.3 SOL/);
  const signs = await tab.locator('pre.signed').textContent();
  server.world.proposed = TWO; // from now on
  await sets(tab);
  await title(tab, 'Spending limits set');
  assert.ok(ed25519.verify(base58.decode(server.posted('/w/limits/sign')[0].signature), Buffer.from(signs), base58.decode(ADDRESS)));
  assert.deepEqual(await policies(tab), [{ current: policy({ payment: [limit(300_000_000)] }), pending: null, here: true }]);
}));

it('limits for another network than the wallet’s, or for a wallet of other fields, are not signed', () => limited(null, async (tab) => {
  await keep(tab, 'networks', { address: ADDRESS, chain: 'mainnet' });
  server.world.chain = 'localnet'; // where another mint is called USDC
  server.world.proposed = policy({ payment: [limit(5, 'CLpKfvqp1swFzmEVcet1uKo9qv9CggxRdfXfCKpp2Acj')] });
  await follow(tab, server, LIMITS);
  await title(tab, 'The network changed');
  assert.deepEqual(await tab.getByRole('button').allTextContents(), []);
  server.world.chain = 'mainnet';
  for (const change of [{ proposed: { ...NO_LIMITS, day: [limit(-5)] } }, { current: null }, { proposed: { ...NO_LIMITS, day: Array.from({ length: 10_000 }, () => limit(5)) } }, { address: `${ADDRESS}1` }, { wallet_type: 'cold' }, { nonce: 'a\nLimit per 24 hours: no limit' }]) {
    server.world.challenge = change;
    await revisit(tab, server, LIMITS);
    await title(tab, 'Something went wrong');
    assert.match(await text(tab), /unexpected/);
  }
  nothingLeft();
}));

it('a wallet with a key file is told what signs', () => on('', async (tab) => {
  server.world.walletType = 'developer';
  await revisit(tab, server, LIMITS);
  await title(tab, 'Set spending limits?');
  assert.match(await text(tab), /run purser sign with this link/);
  assert.deepEqual(await tab.getByRole('button').allTextContents(), ['Use a wallet app', 'Copy link']);
}));

it('a wallet that is not here is restored, and sets its limits', () => on(LIMITS, async (tab) => {
  server.world.proposed = ONE;
  await revisit(tab, server, LIMITS);
  await title(tab, 'Set spending limits?');
  assert.match(await text(tab), /This wallet is not in this browser/);
  await press(tab, `Restore …${ADDRESS.slice(-6)}`);
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  await press(tab, 'Set limits');
  await title(tab, 'Spending limits set');
  assert.deepEqual(await policies(tab), [{ current: ONE, pending: null, here: true }]);
}));

// ---- What is kept

it('the wallets on this device show their limits, and drop a change that waits', () => limited(ONE, async (tab) => {
  await tab.reload();
  await press(tab, 'Spending limits');
  await title(tab, 'Spending limits');
  assert.match(await rowsOf(tab), /Limit per payment 1 SOL Limit per 24 hours no limit Recipients any Wait for new recipients no wait Last changed Signed on this device today at .* A change waits\. These limits take effect on .*: Limit per payment 2 SOL .*recovery phrase/);
  await press(tab, 'Cancel this change');
  await tab.getByRole('button', { name: 'Cancel this change' }).waitFor({ state: 'detached' });
  assert.deepEqual(await policies(tab), [{ current: ONE, pending: null, here: true }]);
  await press(tab, 'Back');
  await title(tab, 'Wallets on this device');
  nothingLeft();
}, { pending: TWO, from: Date.now() + DAY }));

it('limits that cannot be read sign nothing', () => limited(ONE, async (tab) => {
  for (const damaged of [{ current: null }, { current: { ...ONE, payment: [] , extra: 1 } }, { pending: {}, from: 5 }]) {
    await keep(tab, 'policies', { ...record(ONE), ...damaged });
    await offer(tab, { lamports: 5n });
    await title(tab, 'Something went wrong');
    assert.match(await text(tab), /spending limits stored on this device cannot be read/);
    await revisit(tab, server, LIMITS);
    await title(tab, 'Something went wrong');
  }
  nothingLeft();
}));

it('a vault of an older page gets limits, and keeps what it had', () => onSign(async (tab) => {
  await approve(tab);
  await title(tab, 'Transaction signed');
  await tab.goto('about:blank');
  await tab.goto(`${server.origin}/w/`);
  await title(tab, 'Wallets on this device');
  const before = await tab.evaluate(async () => { // puts the vault back to how version 2 of it lay
    const wait = (r) => new Promise((resolve, reject) => { r.onsuccess = () => resolve(r.result); r.onerror = () => reject(r.error); });
    let db = await wait(indexedDB.open('purser'));
    const version = db.version;
    const stores = { wallets: 'address', signed: 'intent', networks: 'address' };
    const all = {};
    for (const name of Object.keys(stores)) all[name] = await wait(db.transaction(name).objectStore(name).getAll());
    db.close();
    await wait(indexedDB.deleteDatabase('purser'));
    const old = indexedDB.open('purser', 2);
    old.onupgradeneeded = () => { for (const [name, keyPath] of Object.entries(stores)) old.result.createObjectStore(name, { keyPath }); };
    db = await wait(old);
    for (const name of Object.keys(stores)) {
      for (const one of all[name]) {
        delete one.spends;
        delete one.before;
        await wait(db.transaction(name, 'readwrite').objectStore(name).put(one));
      }
    }
    db.close();
    return version;
  });
  assert.equal(before, 3);
  server.world.limits = { current: DAILY, signed: signed(DAILY) };
  await signs(tab);
  assert.deepEqual([(await kept(tab))[0].length, (await policies(tab))[0].current], [2, DAILY]);
  await offer(tab, { lamports: 500_000_001n });
  await title(tab, BLOCKED);
}));

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

/** A tab with a wallet app that has the key of WORDS and signs what it is given, or what `instead` makes of it. Resolves to what it was asked, a list. */
async function withApp(tab, instead = (bytes) => bytes) {
  const asked = [];
  await tab.exposeFunction('appSigns', (what, bytes) => {
    asked.push(what);
    return Array.from(ed25519.sign(Uint8Array.from(instead(bytes)), own.seed));
  });
  await tab.addInitScript((address) => {
    const features = {
      'standard:connect': { connect: async () => ({ accounts: [{ address, chains: ['solana:mainnet'], features: [] }] }) },
      'solana:signMessage': { signMessage: async ({ message }) => [{ signedMessage: message, signature: Uint8Array.from(await appSigns('text', Array.from(message))) }] },
      'solana:signTransaction': {
        signTransaction: async ({ transaction }) => {
          const message = transaction.slice(65);
          return [{ signedTransaction: Uint8Array.from([1, ...await appSigns('transaction', Array.from(message)), ...message]) }];
        },
      },
    };
    addEventListener('wallet-standard:app-ready', ({ detail }) => detail.register({ version: '1.0.0', name: 'Test Wallet', icon: 'data:image/svg+xml,<svg/>', chains: ['solana:mainnet'], accounts: [], features }));
  }, ADDRESS);
  server.world.walletType = 'external';
  await tab.goto('about:blank'); // it registers with the next page
  return asked;
}

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
