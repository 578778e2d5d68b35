// Approving a revocation: which token account and which token come from the bytes. In a real Chromium.

import assert from 'node:assert/strict';
import { PublicKey } from '@solana/web3.js';
import { above, allText, it, offerAgain, onSign, server, what } from './browser.mjs';
import { associated, memo, revoke } from './fixtures.mjs';
import { ADDRESS, PASSPHRASE, REFERENCE, SIGN, USDC, approve, payment, press, revisit, title } from './harness.mjs';
import { TOKENS } from '../page/tokens.js';
import { TOKEN, TOKEN_2022, addr } from './wire.mjs';

const HEADING = 'Revoke this approval?';
const THIEF = addr(0xd1);
const PYUSD = TOKENS.mainnet.find((token) => token.symbol === 'PYUSD').mint;
/** A revocation by the wallet of the tests. */
const back = ({ mint = USDC, program = TOKEN, account = associated(ADDRESS, mint, program), ...more } = {}) => {
  const instruction = revoke({ mint, program, account, reference: REFERENCE, ...more });
  instruction.keys[1].pubkey = new PublicKey(ADDRESS);
  return [instruction];
};
const own = (mint, program) => associated(ADDRESS, mint, program);

const SHOWS = {
  'of a listed token': { steps: back(), parts: ['USDC', own(USDC, TOKEN)], not: [], can: 'up to 2500000.25 USDC of yours now' },
  'of a listed token of Token-2022': { steps: back({ mint: PYUSD, program: TOKEN_2022 }), parts: ['PYUSD', own(PYUSD, TOKEN_2022)], not: ['USDC'], can: 'up to 2500000.25 PYUSD of yours now' },
  // The bytes do not say which token these hold, so no token is named.
  'of another account of the wallet': { steps: back({ account: addr(0xa1) }), parts: [addr(0xa1)], not: ['USDC'] },
  'of an unlisted token': { steps: back({ mint: addr(0xa2) }), parts: [own(addr(0xa2), TOKEN)], not: ['USDC'] },
  'of somebody else’s account': { steps: back({ account: associated(addr(0xee)) }), parts: [associated(addr(0xee))], not: ['USDC'] },
  'of the account that the other program would make': { steps: back({ program: TOKEN_2022, account: own(USDC, TOKEN) }), parts: [own(USDC, TOKEN)], not: ['USDC'] },
  'of a listed token’s account under a program that is not its own': { steps: back({ mint: USDC, program: TOKEN_2022 }), parts: [own(USDC, TOKEN_2022)], not: ['USDC'] },
};

for (const [name, { steps, parts, not, can = 'up to 2500.00025 of these tokens now' }] of Object.entries(SHOWS)) {
  it(`a revocation ${name} is shown by its bytes, and signed`, () => {
    server.world.payment = payment({ steps });
    server.world.chain = 'mainnet';
    server.world.view = { app: 'Shop', terms: { schema: 'revoke/1', token: { symbol: 'GOLD', decimals: 9 }, account: addr(0xee), delegate: THIEF, limit: '2500000250000' } };
    return onSign(async (tab) => {
      await title(tab, HEADING);
      const decides = await above(tab, 'Revoke');
      for (const part of [...parts, 'You revoke the approval to spend', 'From the token account', 'can no longer spend', 'No tokens move', '0.000005 SOL', 'From the server, not part of the transaction', THIEF, `This address can spend ${can}. After this, it cannot.`]) {
        assert.ok(decides.includes(part), `${part} is not shown above the buttons: ${decides}`);
      }
      const whole = await allText(tab);
      for (const part of [...not, 'GOLD', 'You send', 'You pay exactly', 'elegate', addr(0xee)]) assert.ok(!whole.includes(part), `${part} is shown: ${whole}`);
      await approve(tab, PASSPHRASE, 'Revoke');
      await title(tab, 'Transaction signed');
      assert.deepEqual(await what(tab), [['You revoke the approval to spend', ...parts.slice(0, -1), 'From the token account', parts.at(-1)].join('')]);
      assert.equal(server.posted('/w/tx/signature').length, 1);
    });
  });
}

it('a revocation: who can spend is the server’s word, and only if it can be read', () => {
  server.world.payment = payment({ steps: back() });
  return onSign(async (tab) => {
    await title(tab, HEADING);
    const says = async (change) => {
      server.world.view = { terms: { schema: 'revoke/1', token: { decimals: 6 }, delegate: THIEF, limit: '1', ...change } };
      await revisit(tab, server, SIGN);
      await title(tab, HEADING);
      return (await tab.locator('.claimed').allTextContents()).join(' ');
    };
    assert.match(await says({}), /From the server.*up to 0\.000001 USDC of yours/);
    assert.match(await says({ limit: '18446744073709551614' }), /up to 18446744073709\.551614 USDC/);
    assert.match(await says({ limit: '18446744073709551615' }), /can spend any amount of these tokens now/);
    for (const odd of [{ limit: 5 }, { limit: '-1' }, { limit: '01' }, { limit: '1.5' }, { limit: '9'.repeat(30) }, { delegate: 'Thief' }, { delegate: `${THIEF}\n` }, { delegate: null }, { token: null }, { token: { decimals: 1e9 } }, { token: { decimals: '6' } }, { token: { decimals: 1.5 } }, { schema: 'stake/1' }]) {
      assert.equal(await says(odd), '', JSON.stringify(odd));
    }
    await press(tab, 'Revoke');
    await title(tab, 'Sign with your passphrase');
    assert.doesNotMatch(await allText(tab), /can spend/, 'the server’s words stand where only the bytes count');
  });
});

it('a revocation that is not wanted: the approval is kept, and nothing is signed', () => {
  server.world.payment = payment({ steps: back() });
  return onSign(async (tab) => {
    await title(tab, HEADING);
    assert.equal(await tab.getByRole('button', { name: 'Reject' }).count(), 0);
    await press(tab, 'Keep it');
    await title(tab, 'Rejected');
    assert.deepEqual(server.posted('/w/tx/signature'), []);
  });
});

it('a revocation: another account at refresh is a change, and nothing is signed', () => {
  server.world.payment = payment({ steps: back() });
  server.world.refreshed = { steps: back({ account: addr(0xa1) }) };
  return onSign(async (tab) => {
    await title(tab, HEADING);
    await approve(tab, PASSPHRASE, 'Revoke');
    await title(tab, 'Stop: the transaction was changed');
    assert.deepEqual(server.posted('/w/tx/signature'), []);
  });
});

it('a revocation: the same again is warned of as the same, and one of the same account later is no second payment', () => {
  server.world.payment = payment({ steps: back(), reference: '' });
  return onSign(async (tab) => {
    await title(tab, HEADING);
    await approve(tab, PASSPHRASE, 'Revoke');
    await title(tab, 'Transaction signed');
    await offerAgain(tab, { steps: back({ reference: addr(0x61) }) });
    await title(tab, HEADING);
    assert.ok(!(await allText(tab)).includes('the same amount to the same recipient'));
    await offerAgain(tab, { steps: [...back(), memo('again')] });
    await title(tab, 'You already signed this transaction');
  });
});

for (const [name, data, keys, reason] of [
  ['an approval', [4, ...new Array(8).fill(255)], (i) => [i.keys[0], { ...i.keys[0], pubkey: i.keys[2].pubkey, isWritable: false }, i.keys[1]], 'let somebody else spend this wallet’s tokens'],
  ['a revocation for somebody else', [5], (i) => [i.keys[0], { ...i.keys[2] }], 'revokes an approval on an account that isn’t yours'],
  ['a revocation with something behind it', [5, 0], (i) => i.keys, 'Revoke instruction is incomplete'],
]) {
  it(`${name} is blocked, and the page says why`, () => {
    const [instruction] = back();
    server.world.payment = payment({ steps: [{ ...instruction, data: Buffer.from(data), keys: keys(instruction) }] });
    return onSign(async (tab) => {
      await title(tab, 'This page blocked the transaction');
      assert.ok((await allText(tab)).includes(reason), await allText(tab));
      await press(tab, 'Reject');
      assert.deepEqual(server.posted('/w/tx/signature'), []);
    });
  });
}
