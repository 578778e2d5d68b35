// Spending limits on the device: signing a change of them on this page, and what is kept. In a real Chromium, against an honest server and against
// one that lies. limits-elsewhere.test.mjs tests wallet apps and unreadable storage, spending.test.mjs what a payment may do.

import assert from 'node:assert/strict';
import { ed25519 } from '@noble/curves/ed25519';
import { base58 } from '@scure/base';
import { EVE, allText, it, kept, on, onSign, server, text } from './browser.mjs';
import { ADDRESS, BOB, LIMITS, NO_LIMITS, USDC, WORDS, approve, choosePassphrase, follow, payment, press, revisit, title } from './harness.mjs';
import { keep, keptIn } from './keep.mjs';
import { BLOCKED, DAILY, DAY, ONE, TWO, blocked, limit, limited, nothingLeft, offer, policies, policy, record, rowsOf, sets, signed, signs } from './limiting.mjs';
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
  assert.ok((await allText(tab)).includes(`To see the limits that this device keeps, open ${server.origin}/w/ in this browser and tap “Spending limits” under the wallet.`));
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
  assert.match(await rowsOf(tab), /To cancel the change before that, send \/security limits in the chat\. Then cancel it on this device too: open http\S+\/w\/ in this browser, tap “Spending limits” under the wallet, then “Cancel this change”\./);
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
  assert.match(await text(tab), /This link has expired[^]*stricter parts are already in effect on this device[^]*looser parts are not in effect[^]*change that was waiting on this device is cancelled[^]*\/security limits/);
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
