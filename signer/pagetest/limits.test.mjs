// Spending limits on the device: signing a change of them, and what a payment may do. In a real Chromium, against an honest server and
// against one that lies about policies, signatures, amounts and time. Where it lies, no signature leaves the page.

import assert from 'node:assert/strict';
import { ed25519 } from '@noble/curves/ed25519';
import { base58 } from '@scure/base';
import { accountAt, readPhrase, toSeed } from '../page/mnemonic.js';
import { policyText, readPolicy } from '../page/policy.js';
import { BEFORE, EVE, above, allText, it, kept, offerAgain, on, onSign, server, text } from './browser.mjs';
import { ADDRESS, BOB, LIMITS, NO_LIMITS, OTHER_WORDS, PASSPHRASE, SIGN, STAKING, USDC, WORDS, approve, choosePassphrase, compileTokens, follow, payment, press, restore, title } from './harness.mjs';
import { keep, keptIn } from './keep.mjs';
import { WSOL, swapsOf } from './swaps.mjs';
import { addr } from './wire.mjs';

const DAY = 86_400_000;
const BLOCKED = 'This breaks your spending limits';
const limit = (units, mint = 'SOL') => ({ mint, units: String(units) });
const policy = (more) => ({ ...NO_LIMITS, ...more });
const ONE = policy({ payment: [limit(1_000_000_000)] }); // 1 SOL a payment
const TWO = policy({ payment: [limit(2_000_000_000)] });
const DAILY = policy({ day: [limit(2_000_000_000)] });

async function keyOf(words) {
  const { address, pkcs8 } = await accountAt(await toSeed(readPhrase(words), ''), 0);
  return { address, seed: pkcs8.slice(-32) };
}
const [own, other] = await Promise.all([keyOf(WORDS), keyOf(OTHER_WORDS)]);
assert.equal(own.address, ADDRESS);

/** A policy with its wallet's signature, as the server sends it; `by` signs. */
function signed(wire, { by = own, chain = 'mainnet', change = {} } = {}) {
  const c = { telegram_id: '700100', nonce: 'aB3dE5gH7jK9mN1p', issued_at: '2026-11-01T20:00:00Z', expires_at: '2026-11-01T20:10:00Z' };
  const place = { host: server.origin.replace('http://', ''), origin: server.origin };
  const bytes = Buffer.from(policyText(place, ADDRESS, readPolicy(wire), { ...c, chain }));
  return { policy: wire, ...c, signature: base58.encode(ed25519.sign(bytes, by.seed)), ...change };
}

/** A record of the device's policies, as limits.js would have kept it. */
const record = (current, more = {}) => ({ address: ADDRESS, current, pending: null, from: 0, set_at: Date.now(), here: true, ...more });

/** A browser with the wallet, and with limits that were set on it. */
const limited = (current, work, more) => on('', async (tab) => {
  await restore(tab);
  await title(tab, 'Wallets on this device');
  if (current) await keep(tab, 'policies', record(current, more));
  await work(tab);
});

const policies = async (tab) => (await keptIn(tab, 'policies')).map(({ current, pending, here }) => ({ current, pending, here }));
const nothingLeft = () => assert.deepEqual([server.posted('/w/tx/refresh'), server.posted('/w/tx/signature'), server.posted('/w/limits/sign')], [[], [], []], 'something was signed');
let next = 0x10;
/** Offers a payment of its own behind the sign link. */
async function offer(tab, change = {}, hash = SIGN) {
  next = next === 0xf0 ? 0x10 : next + 1;
  Object.assign(server.world, { status: 'awaiting_signature', payment: payment({ reference: addr(next), ...change }) });
  delete server.world.signature;
  await tab.goto('about:blank');
  await follow(tab, server, hash);
}
async function signs(tab, change) {
  await offer(tab, change);
  await title(tab, 'Approve this payment?');
  await approve(tab);
  await title(tab, 'Transaction signed');
}
async function blocked(tab, says) {
  await title(tab, BLOCKED);
  assert.match(await allText(tab), says);
  assert.deepEqual(await tab.getByRole('button').allTextContents(), ['Reject']);
}
const passphrase = (tab) => tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
async function sets(tab) {
  await press(tab, `Sign with …${ADDRESS.slice(-6)}`);
  await passphrase(tab);
  await press(tab, 'Set limits');
}
const rowsOf = async (tab) => (await text(tab)).replace(/\s+/g, ' ');

// ---- Setting them

it('limits are set with a signature over the text that is shown, and kept as they were signed', () => limited(null, async (tab) => {
  const proposed = policy({ payment: [limit(1_500_000_000), limit(25_500_000, USDC), limit(77, addr(0xa1))], day: [limit(0, USDC)], recipients: [BOB, EVE].sort(), new_wait_hours: 24 });
  proposed.payment.sort((a, b) => (a.mint === 'SOL' ? -1 : b.mint === 'SOL' ? 1 : a.mint < b.mint ? -1 : 1));
  server.world.proposed = proposed;
  await follow(tab, server, LIMITS);
  await title(tab, 'Set spending limits?');
  const shown = await allText(tab);
  for (const part of ['Alice Liddell', '700100', ADDRESS, 'Solana mainnet', 'Stricter, as soon as you sign', 'Most in one payment: 1.5 SOL instead of no limit', '25.5 USDC', '77 base units', addr(0xa1), '0 USDC', 'Only listed recipients instead of any', BOB, EVE,
    'Wait for new recipients: 24 hours instead of no wait', 'according to the server', 'does not know any limits of this wallet']) {
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
  assert.match(signs, new RegExp(`^${server.origin.replace('http://', '')} wants you to set the spending limits of your Solana wallet:\n${ADDRESS}\n\nMost in one payment: 1500000000 lamports\n`));
  assert.deepEqual(await policies(tab), [{ current: proposed, pending: null, here: true }]);
  assert.match(await text(tab), /They apply on this device now/);
}));

it('a looser policy waits for a day by this device’s clock, whatever the server says was current', () => limited(ONE, async (tab) => {
  server.world.limits = { current: policy({ payment: [limit(9_000_000_000)] }), signed: null }; // a lie: it would make 2 SOL look stricter
  server.world.proposed = TWO;
  server.world.limitsStatus = 'set';
  server.world.effectiveAt = '2026-01-01T00:00:00Z';
  await follow(tab, server, LIMITS);
  await title(tab, 'Set spending limits?');
  assert.match(await rowsOf(tab), /Allows more, 24 hours after you sign Most in one payment: 2 SOL instead of 1 SOL/);
  assert.match(await rowsOf(tab), /Limits on this device now Most in one payment 1 SOL/);
  assert.doesNotMatch(await text(tab), /Stricter|according to the server|9 SOL/);
  const before = Date.now();
  await sets(tab);
  await title(tab, 'Spending limits set');
  assert.match(await text(tab), /What allows more takes effect on .* at \d\d:\d\d/);
  const [{ from, ...is }] = await keptIn(tab, 'policies');
  assert.deepEqual([is.current, is.pending], [ONE, TWO]);
  assert.ok(from >= before + DAY && from <= Date.now() + DAY, `from ${from}`);
  await offer(tab);
  await blocked(tab, /It pays 1\.5 SOL\. The most in one payment is 1 SOL\.[^]*These limits take effect on .*:.*2 SOL/);
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
  assert.match(await rowsOf(tab), /as soon as you sign Most in one payment: 0\.5 SOL instead of 1 SOL Recipients removed .*Allows more, 24 hours after you sign Recipients added .*Wait for new recipients: 1 hour instead of 24 hours/);
  await sets(tab);
  await title(tab, 'Spending limits set');
  const [{ from, current, pending }] = await keptIn(tab, 'policies');
  assert.deepEqual([current, pending], [policy({ payment: [limit(500_000_000)], recipients: [BOB], new_wait_hours: 24 }), mixed]);
  assert.ok(from > Date.now() + DAY && from <= Date.now() + 2 * DAY, 'a server that names next year');
}));

it('a lost answer: what is stricter holds, what allows more only after the server said yes; the same signature can be sent again', () => limited(ONE, async (tab) => {
  const mixed = policy({ day: [limit(3_000_000_000)], payment: [limit(2_000_000_000)] });
  const met = policy({ day: [limit(3_000_000_000)], payment: [limit(1_000_000_000)] });
  server.world.proposed = mixed;
  server.world.drop['/w/limits/sign'] = 1;
  await follow(tab, server, LIMITS);
  await sets(tab);
  await title(tab, 'No answer from the server');
  assert.match(await text(tab), /already applies on this device/);
  assert.deepEqual(await policies(tab), [{ current: met, pending: null, here: true }]);
  await press(tab, 'Send again');
  await title(tab, 'Spending limits set');
  const sent = server.posted('/w/limits/sign');
  assert.deepEqual([sent.length, sent[1]], [2, sent[0]]);
  assert.deepEqual(await policies(tab), [{ current: met, pending: mixed, here: true }]);
}));

it('a change that the server refuses allows nothing more here, and replaces one that waited', () => limited(ONE, async (tab) => {
  server.world.proposed = policy({ day: [limit(5)] });
  server.world.fail['/w/limits/sign'] = { status: 410, code: 'NOT_FOUND', message: 'This link has expired.' };
  await follow(tab, server, LIMITS);
  await title(tab, 'Set spending limits?');
  assert.match(await text(tab), /This replaces a change that would take effect on /);
  await sets(tab);
  await title(tab, 'The server did not accept the limits');
  assert.match(await text(tab), /This link has expired[^]*stricter already applies/);
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
  for (const change of [{ proposed: { ...NO_LIMITS, day: [limit(-5)] } }, { current: null }, { proposed: { ...NO_LIMITS, day: Array.from({ length: 10_000 }, () => limit(5)) } }, { address: `${ADDRESS}1` }, { wallet_type: 'cold' }, { nonce: 'a\nMost in 24 hours: no limit' }]) {
    server.world.challenge = change;
    await tab.goto('about:blank');
    await follow(tab, server, LIMITS);
    await title(tab, 'Something went wrong');
    assert.match(await text(tab), /unexpected/);
  }
  nothingLeft();
}));

it('a wallet that is not here is restored, and sets its limits', () => on(LIMITS, async (tab) => {
  server.world.proposed = ONE;
  await tab.goto('about:blank');
  await follow(tab, server, LIMITS);
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
    await blocked(tab, /It pays 1\.5 SOL\. The most in one payment is 1 SOL\.[^]*whatever the server says[^]*\/security[^]*limit_payment/);
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
    await tab.goto('about:blank');
    await follow(tab, server, SIGN);
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
    await tab.goto('about:blank');
    await follow(tab, server, SIGN);
  };
  await offers({});
  await blocked(tab, /It pays 25\.5 USDC\. The most in one payment is 25 USDC\./);
  await offers({ decimals: 9 });
  await title(tab, 'This page blocked the transaction');
  assert.match(await allText(tab), /counts USDC with 9 decimals/);
  await offers({ mint: addr(0xa1), units: 1_001n, decimals: 6 });
  await blocked(tab, /It pays 1001 base units\. The most in one payment is 1000 base units\./);
  await offers({ mint: addr(0xa1), units: 1_000n, decimals: 6 });
  await title(tab, 'Approve this payment?');
  nothingLeft();
}));

it('what the server forbids more is taken over, said, and stays when it says otherwise', () => limited(TWO, async (tab) => {
  server.world.limits = { current: ONE, signed: signed(TWO) };
  await offer(tab, { lamports: 900_000_000n });
  await title(tab, 'Approve this payment?');
  assert.match(await above(tab, 'Approve'), /The server’s limits are stricter than those on this device/);
  assert.deepEqual(await policies(tab), [{ current: ONE, pending: null, here: true }]);
  server.world.limits = { current: NO_LIMITS, signed: null };
  await offer(tab);
  await blocked(tab, /The most in one payment is 1 SOL/);
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
    return [(await policies(tab))[0].pending, (await text(tab)).includes('The change that waited on this device was dropped')];
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
  await blocked(tab, /The most in one payment is 1 SOL/);
  assert.match(await text(tab), /took over those that this wallet signed on 1 Nov 2026/);
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
  server.world.limits = { current: ONE, signed: signed(policy({ day: [limit(5)] }), { by: other }) }; // strict, and not this wallet’s word either
  await offer(tab);
  await blocked(tab, /a signature that is not from this wallet[^]*The most in one payment is 1 SOL/);
  assert.deepEqual(await policies(tab), [{ current: ONE, pending: null, here: false }]);
  nothingLeft();
}));

it('a device without limits enforces what the server enforces without a signature', () => limited(null, async (tab) => {
  server.world.limits = { current: ONE, signed: null };
  await offer(tab, { lamports: 5n });
  await title(tab, 'Approve this payment?');
  assert.match(await above(tab, 'Approve'), /knew no limits of this wallet\. From now on it enforces those that the server named/);
  server.world.limits = null;
  await offer(tab);
  await blocked(tab, /The most in one payment is 1 SOL/);
  nothingLeft();
}));

// ---- The sum of a day

it('a day: what this device signed counts, not what the server says became of it, and a clock that is set back frees nothing', () => limited(DAILY, async (tab) => {
  await signs(tab, { lamports: 1_500_000_000n });
  server.world.status = 'failed'; // so it says
  const at = (await kept(tab))[0][0].at;
  await offer(tab, { lamports: 500_000_001n });
  await blocked(tab, /It pays 0\.500000001 SOL, and this device signed 1\.5 SOL in the last 24 hours\. The most in 24 hours is 2 SOL\.[^]*limit_day/);
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
  await Promise.all(tabs.map((t) => t.evaluate(() => window.goOn())));
  const late = await Promise.any(tabs.map((t) => title(t, BLOCKED).then(() => t)));
  await title(tabs.find((t) => t !== late), 'The server rejected the signature');
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
  await blocked(tab, /It pays 1\.000000001 SOL\. The most in one payment is 1 SOL/);
  await offer(tab, { steps: swaps(USDC, 1_000_000_000) });
  await title(tab, 'Make this swap?');
  await approve(tab);
  await title(tab, 'Transaction signed');
  await offer(tab, { lamports: 200_000_001n });
  await blocked(tab, /this device signed 1 SOL/);
  server.world.rawMessage = compileTokens({ mint: WSOL, units: 200_000_001n, decimals: 9 });
  await tab.goto('about:blank');
  await follow(tab, server, SIGN);
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
    await tab.goto('about:blank');
    await follow(tab, server, SIGN);
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
  await offer(tab, { steps: swaps(addr(0xa1), 5) });
  await blocked(tab, /buys a token that this page does not know/);
  await offer(tab, { steps: swaps(USDC, 5) });
  await title(tab, 'Make this swap?');
  await offer(tab);
  await title(tab, 'Approve this payment?');
  nothingLeft();
}));

it('listed recipients: a swap is judged by the tokens of the wallet’s own network', () => limited(policy({ recipients: [] }), async (tab) => {
  await keep(tab, 'networks', { address: ADDRESS, chain: 'mainnet' });
  server.world.chain = 'localnet';
  await offer(tab, { steps: swaps('CLpKfvqp1swFzmEVcet1uKo9qv9CggxRdfXfCKpp2Acj', 5) }); // the sandbox's USDC: on mainnet, whoever's
  await blocked(tab, /buys a token that this page does not know/);
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
  await press(tab, 'Start the wait');
  await title(tab, 'This payment has to wait');
  assert.match(await text(tab), /the wait for this recipient ends on .* at \d\d:\d\d [A-Z][^]*send it again: this device remembers/);
  assert.deepEqual(await tab.getByRole('button').allTextContents(), ['Reject']);
  const [{ at }] = await keptIn(tab, 'recipients');
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
    await tab.goto('about:blank');
    await follow(tab, server, SIGN);
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
  await blocked(tab, /The most in one payment is 0\.000000005 SOL[^]*new to this device/);
  assert.deepEqual(await keptIn(tab, 'recipients'), []);
  await keep(tab, 'policies', record(NO_LIMITS));
  await tab.goto('about:blank');
  await follow(tab, server, SIGN);
  await title(tab, 'This payment has to wait');
  server.world.view = { ready_at: 'soon' };
  await tab.goto('about:blank');
  await follow(tab, server, SIGN);
  await title(tab, 'Something went wrong');
  server.world.view = { message: null };
  await tab.goto('about:blank');
  await follow(tab, server, SIGN);
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

// ---- What is kept

it('the wallets on this device show their limits, and drop a change that waits', () => limited(ONE, async (tab) => {
  await tab.reload();
  await press(tab, 'Spending limits');
  await title(tab, 'Spending limits');
  assert.match(await rowsOf(tab), /Most in one payment 1 SOL Most in 24 hours no limit Recipients any Wait for new recipients no wait Set Signed on this device today at .* A change waits\. These limits take effect on .*: Most in one payment 2 SOL .*recovery phrase/);
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
    await tab.goto('about:blank');
    await follow(tab, server, LIMITS);
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

it('a browser that keeps nothing says that it enforces no limits, for a change of them and for a payment', () => on('', async (tab) => {
  await tab.addInitScript(() => {
    if (globalThis.SubtleCrypto) SubtleCrypto.prototype.generateKey = async () => { throw new DOMException('Unrecognized name', 'NotSupportedError'); }; // not on about:blank
    IDBFactory.prototype.open = () => { throw new DOMException('private', 'SecurityError'); };
  });
  server.world.walletType = 'external';
  server.world.limits = { current: ONE, signed: null };
  for (const [hash, heading] of [[LIMITS, 'Set spending limits?'], [SIGN, 'Approve this payment?']]) {
    await tab.goto('about:blank');
    await follow(tab, server, hash);
    await title(tab, heading);
    assert.match(await text(tab), /stores nothing, so this page does not enforce spending limits here/);
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
  return asked;
}

it('a wallet app sets limits, and is then asked for nothing that breaks them', () => on('', async (tab) => {
  const asked = await withApp(tab);
  server.world.proposed = DAILY;
  await tab.goto('about:blank');
  await follow(tab, server, LIMITS);
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
  assert.match(await rowsOf(tab), /Most in one payment 0\.000000004 SOL Most in 24 hours 2 SOL/);
}));

it('a wallet app that signs another text sets nothing', () => on('', async (tab) => {
  await withApp(tab, (bytes) => [...bytes, 10]);
  server.world.proposed = DAILY;
  await tab.goto('about:blank');
  await follow(tab, server, LIMITS);
  await press(tab, 'Use a wallet app');
  await press(tab, 'Test Wallet');
  await tab.getByText('The wallet app returned an invalid signature').waitFor();
  nothingLeft();
  assert.deepEqual(await policies(tab), []);
}));
