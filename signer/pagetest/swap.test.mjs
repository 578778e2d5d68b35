// Approving a swap: what is paid and what is received at least come from the bytes. In a real Chromium.

import assert from 'node:assert/strict';
import { above, allText, it, offerAgain, onSign, server, what } from './browser.mjs';
import { limit } from './fixtures.mjs';
import { ADDRESS, USDC, approve, payment, press, title } from './harness.mjs';
import { WSOL, swapsOf } from './swaps.mjs';
import { addr } from './wire.mjs';

const { route, createOwn, wrap, syncNative, unwrap, named } = swapsOf(ADDRESS);
const UNKNOWN = addr(0xa1);
const numbers = { units: 1_500_000_000n, quoted: 250_000_000n };
const sells = (more = {}) => [createOwn(WSOL), wrap(1_500_000_000), syncNative(), createOwn(USDC), named(), route({ out: USDC, ...numbers, ...more }), unwrap()];
const buys = [createOwn(WSOL), named(), route({ mint: UNKNOWN, out: WSOL, units: 12_345n, quoted: 2_000_000_000n, slippage: 100 }), unwrap()];

const SHOWS = {
  'SOL for a listed token': { signed: 'You pay exactly1.5 SOLYou get at least248.75 USDC', steps: sells(), parts: ['You pay exactly', '1.5 SOL', 'You get at least', '248.75 USDC', 'Expected', '250 USDC', 'At most 0.5% less', 'account for wrapped SOL', 'get no signature of this wallet', '0.00203928 SOL', '1.50204428 SOL'], not: ['does not know this token'] },
  'an unlisted token for SOL': { signed: `You pay exactly12345 base unitsToken mint${UNKNOWN}You get at least1.98 SOL`, steps: buys, parts: ['You pay exactly', '12345 base units', UNKNOWN, 'does not know this token', 'You get at least', '1.98 SOL', '2 SOL', 'At most 1% less'], not: ['USDC', '0.00203928'] },
};

for (const [name, { signed, steps, parts, not }] of Object.entries(SHOWS)) {
  it(`a swap: ${name} is shown by its bytes, and signed`, () => {
    server.world.payment = payment({ steps });
    server.world.view = { app: 'Shop', terms: { schema: 'swap/1', to_token: { symbol: 'GOLD', decimals: 2 }, minimum: '1' } };
    return onSign(async (tab) => {
      await title(tab, 'Make this swap?');
      const decides = await above(tab, 'Approve');
      for (const part of parts) assert.ok(decides.includes(part), `${part} is not shown above the buttons: ${decides}`);
      const whole = await allText(tab);
      for (const part of [...not, 'GOLD']) assert.ok(!whole.includes(part), `${part} is shown: ${whole}`);
      await approve(tab);
      await title(tab, 'Transaction signed');
      assert.deepEqual(await what(tab), [signed]);
      assert.equal(server.posted('/w/tx/signature').length, 1);
    });
  });
}

it('a swap: a lower minimum at refresh is a change, and nothing is signed', () => {
  server.world.payment = payment({ steps: sells() });
  server.world.refreshed = { steps: sells({ quoted: 249_000_000n }) };
  return onSign(async (tab) => {
    await title(tab, 'Make this swap?');
    await approve(tab);
    await title(tab, 'Stop: the transaction was changed');
    assert.deepEqual(server.posted('/w/tx/signature'), []);
  });
});

it('a swap: a route that passes the signature on is refused, and the page says why', () => {
  server.world.payment = payment({ steps: sells({ selector: [0xbb, 0x64, 0xfa, 0xcc, 0x31, 0xc4, 0xaf, 0x14] }) });
  return onSign(async (tab) => {
    await title(tab, 'This page blocked the transaction');
    assert.ok((await allText(tab)).includes('passes this wallet’s signature on to other programs'));
    await press(tab, 'Reject');
    assert.deepEqual(server.posted('/w/tx/signature'), []);
  });
});

it('a swap: the same one within a day is warned of, and another one is not', () => {
  server.world.payment = payment({ steps: sells(), reference: '' });
  return onSign(async (tab) => {
    await title(tab, 'Make this swap?');
    await approve(tab);
    await title(tab, 'Transaction signed');
    await offerAgain(tab, { steps: [limit(200_000), ...sells({ quoted: 249_000_000n }).map((step, i) => (i === 4 ? named({ reference: addr(0x5f) }) : step))] });
    await title(tab, 'Make this swap?');
    assert.ok((await above(tab, 'Approve')).includes('the same amount to the same recipient'));
    await offerAgain(tab, { steps: buys.map((step, i) => (i === 1 ? named({ reference: addr(0x60) }) : step)) });
    await title(tab, 'Make this swap?');
    assert.ok(!(await allText(tab)).includes('the same amount to the same recipient'));
  });
});
