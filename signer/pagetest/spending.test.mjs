// What a payment may do under the spending limits of this device. In a real Chromium, against a server that lies about policies,
// signatures, amounts and time. Where it lies, no signature leaves the page.

import assert from 'node:assert/strict';
import { base58 } from '@scure/base';
import { BEFORE, EVE, above, allText, it, kept, offerAgain, on, server, text } from './browser.mjs';
import { ADDRESS, BOB, NO_LIMITS, SIGN, STAKING, USDC, approve, compileTokens, follow, payment, press, restore, revisit, title } from './harness.mjs';
import { keep, keptIn } from './keep.mjs';
import { BLOCKED, DAILY, DAY, ONE, TWO, blocked, limit, limited, nothingLeft, offer, other, passphrase, policies, policy, record, signed, signs } from './limiting.mjs';
import { WSOL, swapsOf } from './swaps.mjs';
import { addr } from './wire.mjs';

// ---- What a payment may do, whatever the server says

/** What a taken over server may say of the limits of a wallet that this device limits to 1 SOL a payment. */
const LIES = {
  'no limits': () => null,
  'limits that allow everything': () => ({ current: NO_LIMITS, signed: null }),
  'a looser policy with a forged signature': () => ({ current: TWO, signed: signed(TWO, { change: { signature: '2'.repeat(88) } }) }),
  'a looser policy that another wallet signed': () => ({ current: TWO, signed: signed(TWO, { by: other }) }),
  'an older policy that this wallet did sign': () => ({ current: TWO, signed: signed(TWO) }),
  'that no change waits': () => ({ current: TWO, signed: null, waits: false }),
};

for (const [what, lie] of Object.entries(LIES)) {
  it(`the limits of this device hold when the server names ${what}`, () => limited(ONE, async (tab) => {
    server.world.limits = lie();
    await offer(tab);
    await blocked(tab, /This payment is 1\.5 SOL\. Your limit per payment is 1 SOL\.[^]*whatever the server says[^]*\/security[^]*limit_payment/);
    assert.doesNotMatch(await text(tab), /took|knew|stricter/, 'something was taken over');
    nothingLeft();
    assert.deepEqual(await policies(tab), [{ current: ONE, pending: null, here: true }]);
    await press(tab, 'Reject');
    await title(tab, 'Rejected');
    await offer(tab, { lamports: 1_000_000_000n });
    await title(tab, 'Approve this payment?');
    assert.match(await above(tab, 'Approve'), /Within the limits on this device/);
  }));
}

const HOSTILE = [{ ...NO_LIMITS, payment: Array.from({ length: 10_000 }, () => limit(5)) }, { ...NO_LIMITS, day: [limit(-1)] }, { ...NO_LIMITS, day: [limit('1.5')] }, { ...NO_LIMITS, day: [{ mint: 'SOL', units: 5e300 }] },
  { ...NO_LIMITS, day: [limit('9'.repeat(400))] }, { ...NO_LIMITS, day: [limit(1), limit(2)] }, { ...NO_LIMITS, day: [limit(5, '1'.repeat(32))] }, { ...NO_LIMITS, recipients: [`${BOB}\u200b`] }, { ...NO_LIMITS, recipients: [BOB, BOB] }, { ...NO_LIMITS, new_wait_hours: 0.5 }, 'none', []];

it('limits of hostile shapes: nothing is shown for approval, signed or kept', () => limited(ONE, async (tab) => {
  for (const wrong of HOSTILE) {
    for (const limits of [{ current: wrong, signed: null }, { current: NO_LIMITS, signed: signed(NO_LIMITS, { change: { policy: wrong } }) }]) {
      server.world.limits = limits;
      await offer(tab, { lamports: 5n });
      await title(tab, 'Something went wrong');
      assert.match(await text(tab), /something unexpected \(limits_[^]*Nothing was signed/);
    }
  }
  nothingLeft();
  assert.deepEqual(await policies(tab), [{ current: ONE, pending: null, here: true }]);
}));

it('a server that names ever more limits bricks no wallet: what this page kept it can read, and more than it can keep is left alone', () => limited(ONE, async (tab) => {
  const mintOf = (n) => base58.encode(Uint8Array.from({ length: 32 }, (_, i) => (i < 2 ? (n >> (8 * i)) & 0xff : 7)));
  const many = (from, count) => Array.from({ length: count }, (_, i) => ({ mint: mintOf(from + i), units: '1' })).sort((a, b) => (a.mint < b.mint ? -1 : 1));
  for (const [from, count] of [[0, 20], [20, 1], [21, 1500], [2000, 1500]]) {
    server.world.limits = { current: { ...NO_LIMITS, payment: many(from, count) }, signed: null };
    await offer(tab, { lamports: 5n });
    await title(tab, 'Approve this payment?');
  }
  assert.equal((await policies(tab))[0].current.payment.length, 1 + 20 + 1 + 1500);
  server.world.limits = null;
  await offer(tab);
  await blocked(tab, /limit_payment/);
  nothingLeft();
}));

it('another status, another type of wallet or another network opens no way around the limits', () => limited(ONE, async (tab) => {
  for (const world of [{ walletType: 'external' }, { walletType: 'developer' }, { walletType: 'page' }, { chain: 'devnet' }]) {
    server.reset();
    Object.assign(server.world, world);
    await offer(tab);
    await blocked(tab, /limit_payment/);
  }
  for (const status of ['signed ', 'Awaiting_signature', 'confirmed', 'pending', '']) {
    server.reset();
    await offer(tab);
    server.world.view = { status };
    await revisit(tab, server, SIGN);
    await title(tab, 'Something went wrong');
    assert.equal(await tab.getByRole('button').count(), 0);
  }
  nothingLeft();
}));

it('decimals and symbols of the server change no amount: a token counts in base units', () => limited(policy({ payment: [limit(25_000_000, USDC), limit(1_000, addr(0xa1))].sort((a, b) => (a.mint < b.mint ? -1 : 1)) }), async (tab) => {
  const lies = { recipient: BOB, terms: { schema: 'send/1', token: { symbol: 'USDC', decimals: 9 } }, token: { symbol: 'BONK', decimals: 12 } };
  const offers = async (pay) => {
    server.world.view = lies;
    server.world.rawMessage = compileTokens(pay);
    await revisit(tab, server, SIGN);
  };
  await offers({});
  await blocked(tab, /This payment is 25\.5 USDC\. Your limit per payment is 25 USDC\./);
  await offers({ decimals: 9 });
  await title(tab, 'This page blocked the transaction');
  assert.match(await allText(tab), /counts USDC with 9 decimals/);
  await offers({ mint: addr(0xa1), units: 1_001n, decimals: 6 });
  await blocked(tab, /This payment is 1001 base units\. Your limit per payment is 1000 base units\./);
  await offers({ mint: addr(0xa1), units: 1_000n, decimals: 6 });
  await title(tab, 'Approve this payment?');
  nothingLeft();
}));

it('what the server forbids more is taken over, said, and stays when it says otherwise', () => limited(TWO, async (tab) => {
  server.world.limits = { current: ONE, signed: signed(TWO) };
  await offer(tab, { lamports: 900_000_000n });
  await title(tab, 'Approve this payment?');
  assert.match(await above(tab, 'Approve'), /The server’s limits are stricter\. This device now uses them/);
  assert.deepEqual(await policies(tab), [{ current: ONE, pending: null, here: true }]);
  server.world.limits = { current: NO_LIMITS, signed: null };
  await offer(tab);
  await blocked(tab, /Your limit per payment is 1 SOL/);
  assert.doesNotMatch(await text(tab), /stricter/);
  nothingLeft();
}));

it('what the server forbids more at refresh holds too: it is said, and asked again', () => limited(TWO, async (tab) => {
  for (const [lamports, heading] of [[900_000_000n, 'Approve this payment?'], [1_500_000_000n, BLOCKED]]) {
    await keep(tab, 'policies', record(TWO));
    await offer(tab, { lamports });
    await title(tab, 'Approve this payment?');
    server.world.refreshView = { limits: { current: ONE, signed: null } };
    await approve(tab);
    await tab.getByText('The server’s limits are stricter').waitFor();
    await title(tab, heading);
    assert.deepEqual(server.posted('/w/tx/signature'), []);
  }
}));

it('a change that waits is dropped when the server forbids more, or says that none waits', () => limited(ONE, async (tab) => {
  const waits = record(ONE, { pending: TWO, from: Date.now() + DAY });
  const after = async (limits) => {
    await keep(tab, 'policies', waits);
    server.world.limits = limits;
    await offer(tab, { lamports: 5n });
    await title(tab, 'Approve this payment?');
    return [(await policies(tab))[0].pending, (await text(tab)).includes('The change that was waiting on this device is cancelled')];
  };
  assert.deepEqual(await after({ current: ONE, signed: null }), [TWO, false]);
  assert.deepEqual(await after({ current: ONE, signed: null, waits: true }), [TWO, false]);
  assert.deepEqual(await after({ current: TWO, signed: null, waits: false }), [TWO, false], 'the server was a little earlier');
  assert.deepEqual(await after({ current: ONE, signed: null, waits: false }), [null, true]);
  assert.deepEqual(await after({ current: policy({ payment: [limit(500)] }), signed: null }), [null, true]);
}));

it('a device without limits takes those that the wallet signed, and says where they are from', () => limited(null, async (tab) => {
  server.world.limits = { current: TWO, signed: signed(ONE) }; // a lie: what it calls current is looser
  await offer(tab);
  await blocked(tab, /Your limit per payment is 1 SOL/);
  assert.match(await text(tab), /now uses the ones that this wallet signed on 1 Nov 2026/);
  assert.deepEqual(await policies(tab), [{ current: ONE, pending: null, here: false }]);
  nothingLeft();
}));

it('a device without limits takes nothing that the wallet did not sign but what forbids more, and says so in red', () => limited(null, async (tab) => {
  const loose = policy({ payment: [limit(9_000_000_000)] });
  for (const wrong of [signed(loose, { by: other }), signed(loose, { chain: 'devnet' }), signed(loose, { change: { telegram_id: '700101' } }), signed(loose, { change: { policy: NO_LIMITS } }), signed(loose, { change: { signature: '2'.repeat(64) } })]) {
    server.world.limits = { current: NO_LIMITS, signed: wrong };
    await offer(tab);
    await title(tab, 'Approve this payment?');
    assert.match(await above(tab, 'Approve anyway'), /a signature that is not from this wallet/);
    assert.equal(await tab.locator('.notice.danger').count(), 1);
    assert.deepEqual(await policies(tab), []);
  }
  await press(tab, 'Approve anyway');
  await passphrase(tab);
  await press(tab, 'Sign and send');
  await title(tab, 'Transaction signed'); // what is in red was shown, and is no reason to ask for ever
  server.received.length = 0;
  server.world.limits = { current: ONE, signed: signed(policy({ day: [limit(5)] }), { by: other }) }; // strict, and not this wallet’s word either
  await offer(tab);
  await blocked(tab, /a signature that is not from this wallet[^]*Your limit per payment is 1 SOL/);
  assert.deepEqual(await policies(tab), [{ current: ONE, pending: null, here: false }]);
  nothingLeft();
}));

it('a signature of limits that is forged at refresh is said in red before anything is signed, and once', () => limited(null, async (tab) => {
  await offer(tab);
  await title(tab, 'Approve this payment?');
  assert.doesNotMatch(await text(tab), /not from this wallet/);
  server.world.limits = { current: NO_LIMITS, signed: signed(ONE, { by: other }) };
  await approve(tab);
  await tab.getByText('a signature that is not from this wallet').waitFor();
  await title(tab, 'Approve this payment?');
  assert.deepEqual([server.posted('/w/tx/signature'), await policies(tab)], [[], []]);
  await press(tab, 'Approve anyway');
  await passphrase(tab);
  await press(tab, 'Sign and send');
  await title(tab, 'Transaction signed');
}));

it('a device without limits enforces what the server enforces without a signature', () => limited(null, async (tab) => {
  server.world.limits = { current: ONE, signed: null };
  await offer(tab, { lamports: 5n });
  await title(tab, 'Approve this payment?');
  assert.match(await above(tab, 'Approve'), /had no limits for this wallet\. It now enforces the server’s/);
  server.world.limits = null;
  await offer(tab);
  await blocked(tab, /Your limit per payment is 1 SOL/);
  nothingLeft();
}));

// ---- The sum of a day

it('a day: what this device signed counts, not what the server says became of it, and a clock that is set back frees nothing', () => limited(DAILY, async (tab) => {
  await signs(tab, { lamports: 1_500_000_000n });
  server.world.status = 'failed'; // so it says
  const at = (await kept(tab))[0][0].at;
  await offer(tab, { lamports: 500_000_001n });
  await blocked(tab, /This payment is 0\.500000001 SOL, and this device signed 1\.5 SOL in the last 24 hours\. Your limit per 24 hours is 2 SOL\.[^]*limit_day/);
  for (const ago of [400 * DAY, 2 * DAY, 1]) {
    await tab.clock.setSystemTime(at - ago);
    await offer(tab, { lamports: 500_000_001n });
    await title(tab, BLOCKED);
  }
  await tab.clock.setSystemTime(at + DAY - 1_000_000);
  await offer(tab, { lamports: 500_000_001n });
  await title(tab, BLOCKED);
  await signs(tab, { lamports: 500_000_000n });
  await tab.clock.setSystemTime(at + DAY);
  await offer(tab, { lamports: 1_500_000_001n });
  await title(tab, BLOCKED);
  await signs(tab, { lamports: 1_500_000_000n });
}));

it('a day: the same signature handed over again counts once, a second signature of the payment twice', () => limited(policy({ day: [limit(3_000_000_000)] }), async (tab) => {
  await signs(tab);
  await offerAgain(tab);
  await title(tab, BEFORE);
  await press(tab, 'Resend signature');
  await title(tab, 'Transaction signed');
  await offerAgain(tab);
  await press(tab, 'Sign a second time');
  await press(tab, 'Approve anyway'); // 3 SOL with the first: just enough, so resending did not count
  await passphrase(tab);
  await press(tab, 'Sign and send');
  await title(tab, 'Transaction signed');
  assert.equal((await kept(tab))[0].length, 1);
  await offer(tab, { lamports: 1n });
  await blocked(tab, /this device signed 3 SOL in the last 24 hours/);
  await offerAgain(tab, { reference: server.world.payment.reference });
  await title(tab, BLOCKED);
  const signatures = server.posted('/w/tx/signature').map((s) => s.signature);
  assert.deepEqual([signatures.length, new Set(signatures).size], [3, 2]);
}));

it('a day: two tabs that sign at once do not pass the limit together', () => limited(DAILY, async (tab) => {
  const tabs = [tab, await tab.context().newPage()];
  server.world.fail['/w/tx/signature'] = { status: 409, code: 'CONFLICT', message: 'Not now.' };
  for (const t of tabs) { // each has a payment of its own, and waits within its signing until it is let go
    await offer(t);
    await title(t, 'Approve this payment?');
    await t.evaluate(() => {
      const { sign } = SubtleCrypto.prototype;
      SubtleCrypto.prototype.sign = async function (...given) {
        window.signing = true;
        await new Promise((resolve) => { window.goOn = resolve; });
        return sign.apply(this, given);
      };
    });
    await approve(t);
    await t.waitForFunction(() => window.signing);
  }
  // The first goes first, since the stand-in server shows a tab that asks again the payment of the second.
  for (const [t, end] of [[tabs[0], 'The server rejected the signature'], [tabs[1], BLOCKED]]) {
    await t.evaluate(() => window.goOn());
    await title(t, end);
  }
  assert.equal(server.posted('/w/tx/signature').length, 1);
  assert.equal((await kept(tab))[0].length, 1);
}));

it('a day: a payment within the limits when it was shown is not signed when another tab used them up', () => limited(DAILY, async (tab) => {
  const second = await tab.context().newPage();
  await offer(second);
  await title(second, 'Approve this payment?');
  const waiting = server.world.payment;
  await signs(tab);
  Object.assign(server.world, { status: 'awaiting_signature', payment: waiting });
  await approve(second);
  await title(second, BLOCKED);
  assert.equal(server.posted('/w/tx/signature').length, 1);
}));

it('a day: two hundred payments just under the limit of one are one sum, and none of a day is forgotten for room', () => limited(policy({ payment: [limit(10_000_000)], day: [limit(6_000_000_000)] }), async (tab) => {
  await tab.evaluate(async (address) => {
    const wait = (r) => new Promise((resolve, reject) => { r.onsuccess = () => resolve(r.result); r.onerror = () => reject(r.error); });
    const db = await wait(indexedDB.open('purser'));
    const tx = db.transaction('signed', 'readwrite');
    const put = (n, ago) => tx.objectStore('signed').put({ intent: `${n}`, reference: `r${n}`, address, paid: '', spends: { mint: 'SOL', units: '9999999', to: 'x', account: 'x' }, at: Date.now() - ago, before: [], signature: `${n}`, handed: {} });
    for (let n = 0; n < 599; n++) put(n, n * 1000);
    for (let n = 1000; n < 1010; n++) put(n, 86_400_000 + n);
    await new Promise((resolve) => { tx.oncomplete = resolve; });
    db.close();
  }, ADDRESS);
  await signs(tab, { lamports: 9_999_999n });
  const left = (await kept(tab))[0].map((r) => r.intent);
  assert.deepEqual([left.length, left.some((n) => n.length === 4)], [600, false], 'what counts was forgotten, or what does not was kept');
  await offer(tab, { lamports: 9_999_999n });
  await blocked(tab, /this device signed 5\.9999994 SOL in the last 24 hours/);
}));

it('removing and restoring a wallet frees nothing, and keeps its limits', () => limited({ ...DAILY, new_wait_hours: 0 }, async (tab) => {
  await signs(tab);
  await keep(tab, 'signed', { intent: 'old', reference: '', address: ADDRESS, paid: '', spends: null, at: Date.now() - 2 * DAY, before: [], signature: 'old', handed: {} });
  await tab.goto('about:blank');
  await tab.goto(`${server.origin}/w/`);
  await press(tab, 'Remove');
  assert.match(await text(tab), /spending limits of this wallet stay on this device/);
  await tab.getByLabel('Last six characters of the address').fill(ADDRESS.slice(-6));
  await press(tab, 'Remove wallet');
  await title(tab, 'No wallet on this device yet');
  assert.match(await text(tab), /The key is not on this device\. Its spending limits still apply here/);
  assert.deepEqual([await policies(tab), (await kept(tab))[0].length, await keptIn(tab, 'recipients')], [[{ current: DAILY, pending: null, here: true }], 1, []]);
  await restore(tab);
  await title(tab, 'Wallets on this device');
  await offer(tab, { lamports: 600_000_000n });
  await blocked(tab, /this device signed 1\.5 SOL/);
}));

// ---- Swaps, tokens and recipients

const { route, createOwn, wrap, syncNative, unwrap, named } = swapsOf(ADDRESS);
const swaps = (out, units) => [createOwn(WSOL), wrap(units), syncNative(), createOwn(out), named(), route({ out, units: BigInt(units), quoted: 250_000_000n }), unwrap()];

it('a swap of SOL counts as SOL, for one payment and for the day', () => limited(policy({ payment: [limit(1_000_000_000)], day: [limit(1_200_000_000)] }), async (tab) => {
  await offer(tab, { steps: swaps(USDC, 1_000_000_001) });
  await blocked(tab, /This payment is 1\.000000001 SOL\. Your limit per payment is 1 SOL/);
  await offer(tab, { steps: swaps(USDC, 1_000_000_000) });
  await title(tab, 'Make this swap?');
  await approve(tab);
  await title(tab, 'Transaction signed');
  await offer(tab, { lamports: 200_000_001n });
  await blocked(tab, /this device signed 1 SOL/);
  server.world.rawMessage = compileTokens({ mint: WSOL, units: 200_000_001n, decimals: 9 });
  await revisit(tab, server, SIGN);
  await blocked(tab, /limit_day/);
  delete server.world.rawMessage;
  await offer(tab, { steps: STAKING.stake }); // stays the wallet's own
  await title(tab, 'Stake this SOL?');
  assert.doesNotMatch(await allText(tab), /Within the limits/);
}));

it('listed recipients: others are not paid, nor a token account of nobody in particular, nor is an unknown token bought', () => limited(policy({ recipients: [BOB] }), async (tab) => {
  const offers = async (pay, view = {}) => {
    server.world.view = view;
    server.world.rawMessage = compileTokens(pay);
    await revisit(tab, server, SIGN);
  };
  await offer(tab, { to: EVE });
  await blocked(tab, /recipient is not one of the listed[^]*limit_recipients/);
  await offers({ to: EVE, makes: true });
  await blocked(tab, /recipient is not one of the listed/);
  await offers({}); // Bob's, which nothing proves
  await blocked(tab, /does not say who owns it\. Only listed recipients may be paid/);
  await offers({ to: EVE }, { recipient: BOB }); // it proves nothing
  await blocked(tab, /does not say who owns it/);
  await offers({}, { recipient: BOB });
  await title(tab, 'Approve this payment?');
  delete server.world.rawMessage;
  server.world.view = {};
  for (const mint of [addr(0xa1), USDC]) {
    await offer(tab, { steps: swaps(mint, 5) });
    await blocked(tab, /this wallet can’t swap/);
  }
  await offer(tab);
  await title(tab, 'Approve this payment?');
  nothingLeft();
}));

// ---- New recipients

it('a new recipient waits from when the person says so, by this device, and is then paid', () => limited(policy({ new_wait_hours: 24 }), async (tab) => {
  await offer(tab);
  await title(tab, 'New recipient');
  assert.match(await text(tab), /only after a wait: 24 hours[^]*1\.5 SOL/);
  assert.ok((await allText(tab)).includes(BOB));
  assert.deepEqual([await keptIn(tab, 'recipients'), await tab.getByRole('button').allTextContents()], [[], ['Start the wait', 'Reject']]);
  await tab.reload();
  await offer(tab);
  await title(tab, 'New recipient'); // looking at it begins nothing
  const late = await tab.context().newPage();
  await follow(late, server, SIGN);
  await title(late, 'New recipient');
  await press(tab, 'Start the wait');
  await title(tab, 'This payment has to wait');
  assert.match(await text(tab), /the wait for this recipient ends on .* at \d\d:\d\d [A-Z][^]*send it again: this device remembers/);
  assert.deepEqual(await tab.getByRole('button').allTextContents(), ['Reject']);
  const [{ at }] = await keptIn(tab, 'recipients');
  await late.clock.setSystemTime(at + 3_600_000);
  await press(late, 'Start the wait'); // the one that has begun goes on
  await title(late, 'This payment has to wait');
  for (const now of [at + DAY - 60_000, at - 5 * DAY]) { // too early, and a clock that was set back
    await tab.clock.setSystemTime(now);
    await offer(tab);
    await title(tab, 'This payment has to wait');
  }
  assert.equal((await keptIn(tab, 'recipients'))[0].at, at);
  nothingLeft();
  await tab.clock.setSystemTime(at + DAY);
  await signs(tab);
  await tab.clock.setSystemTime(at - 5 * DAY);
  await signs(tab, { lamports: 7n }); // who was paid is new no more
  await offer(tab, { to: EVE });
  await title(tab, 'New recipient');
  await press(tab, 'Reject');
  await title(tab, 'Rejected');
}));

it('recipients that were paid without a limit are known when there is one', () => limited(null, async (tab) => {
  await signs(tab);
  await keep(tab, 'policies', record(policy({ new_wait_hours: 168 })));
  await signs(tab, { lamports: 8n });
}));

it('a delayed payment: the page is told of the recipient, and signs nothing before the server and its own wait', () => limited(policy({ new_wait_hours: 24 }), async (tab) => {
  const delayed = async (change) => {
    await offer(tab, change);
    server.world.status = 'delayed';
    server.world.readyAt = '2026-12-24T20:00:00Z';
    await revisit(tab, server, SIGN);
  };
  await delayed();
  await title(tab, 'New recipient');
  await press(tab, 'Start the wait');
  await title(tab, 'This payment has to wait');
  assert.match(await text(tab), /On this device, the wait[^]*On the server, this payment’s wait ends on 24 Dec 2026/);
  const [{ at }] = await keptIn(tab, 'recipients');
  await tab.clock.setSystemTime(at + 2 * DAY); // the device is done, the server is not
  await delayed();
  await title(tab, 'This payment has to wait');
  assert.doesNotMatch(await text(tab), /On this device/);
  assert.deepEqual(await tab.getByRole('button').allTextContents(), ['Reject']);
  nothingLeft();
  await press(tab, 'Reject');
  await title(tab, 'Rejected');
  await signs(tab);
}));

it('a delayed payment that breaks another limit is blocked, and one without a wait here waits for the server', () => limited(policy({ payment: [limit(5)], new_wait_hours: 24 }), async (tab) => {
  server.world.status = 'delayed';
  await follow(tab, server, SIGN);
  await blocked(tab, /Your limit per payment is 0\.000000005 SOL[^]*new to this device/);
  assert.deepEqual(await keptIn(tab, 'recipients'), []);
  await keep(tab, 'policies', record(NO_LIMITS));
  await revisit(tab, server, SIGN);
  await title(tab, 'This payment has to wait');
  server.world.view = { ready_at: 'soon' };
  await revisit(tab, server, SIGN);
  await title(tab, 'Something went wrong');
  server.world.view = { message: null };
  await revisit(tab, server, SIGN);
  await title(tab, 'Waiting');
  nothingLeft();
}));

it('a payment that the server delays only when it is refreshed is not signed', () => limited(null, async (tab) => {
  await offer(tab);
  await title(tab, 'Approve this payment?');
  server.world.refreshView = { status: 'delayed', ready_at: '2026-12-24T20:00:00Z' };
  await press(tab, 'Approve');
  await passphrase(tab);
  await press(tab, 'Sign and send');
  await tab.getByRole('alert').filter({ hasText: 'unexpected' }).waitFor();
  assert.deepEqual(server.posted('/w/tx/signature'), []);
}));
