// Token payments on the sign screen, in a real browser: what is shown is what the bytes prove.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { associatedAccount } from '../page/associated.js';
import { TOKENS } from '../page/tokens.js';
import { associated, limit, memo, price } from './fixtures.mjs';
import { BOB, SIGN, USDC, compileTokens, follow, install, launch, noBrowser as skip, serve, title } from './harness.mjs';
import { TOKEN, TOKEN_2022, addr } from './wire.mjs';

let browser;
let server;
before(async () => { server = await serve(); browser = skip ? null : await launch(); });
after(async () => { await browser?.close(); await server.close(); });

const PYUSD = TOKENS.mainnet.find((t) => t.symbol === 'PYUSD').mint;
const EVE = addr(0xee);

/** A tab that shows the payment for approval. `view` is what else the server says. */
async function shown(t, pay, view = {}) {
  server.reset();
  const context = await browser.newContext({ viewport: { width: 320, height: 700 } });
  t.after(() => context.close());
  const tab = await context.newPage();
  await tab.goto(`${server.origin}/w/`);
  await install(tab);
  server.world.rawMessage = compileTokens(pay);
  server.world.view = view;
  await follow(tab, server, SIGN);
  return tab;
}

const text = (tab) => tab.locator('main').innerText();
const groups = (address) => new RegExp(address.slice(-6));
const it = (name, work) => test(name, { skip }, work);

it('a listed token is shown by its symbol, with its mint and the owner that the bytes prove', async (t) => {
  const tab = await shown(t, { makes: true, more: [limit(60_000), price(20_000), memo('rent')] });
  await title(tab, 'Approve this payment?');
  const said = await text(tab);
  assert.match(said, /25\.5 USDC/);
  assert.match(said, groups(BOB));
  assert.match(said, /The recipient has no account for this token yet\. Creating it costs up to 0\.00203928 SOL once\. The account belongs to the recipient\./);
  assert.match(said, /You pay at most\s+25\.5 USDC and 0\.00204548 SOL/); // 0.0000062 and 0.00203928
  assert.match(said, /rent/);
  assert.match(said, /0\.0000062 SOL/);
  assert.ok(!said.includes('does not know this token') && !said.includes('who owns this token account'), said);
  await tab.getByText('More details').click();
  assert.match(await text(tab), groups(USDC));
  assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it scrolls sideways');
});

it('a recipient on the server’s word counts only where the account follows from it', async (t) => {
  const tab = await shown(t, {}, { recipient: BOB });
  await title(tab, 'Approve this payment?');
  assert.match(await text(tab), groups(BOB));
  assert.match(await text(tab), /You pay at most\s+25\.5 USDC and 0\.000005 SOL/);
  assert.doesNotMatch(await text(tab), /New token account/);
  const lied = await shown(t, {}, { recipient: EVE });
  await title(lied, 'Approve this payment?');
  const said = await text(lied);
  assert.ok(!groups(EVE).test(said));
  assert.match(said, groups(associated(BOB, USDC)));
  assert.match(said, /does not say who owns this token account/);
});

it('a mint that is on no list has no name, whatever the server says', async (t) => {
  const fake = addr(0x3d);
  const tab = await shown(t, { mint: fake, makes: true }, { symbol: 'USDC', token: 'USDC' });
  await title(tab, 'Approve this payment?');
  const said = await text(tab);
  assert.match(said, /of an unknown token/);
  assert.match(said, groups(fake));
  assert.ok(!said.includes('USDC'));
});

it('Token-2022 is read as well', async (t) => {
  const tab = await shown(t, { mint: PYUSD, program: TOKEN_2022, makes: true, units: 1n });
  await title(tab, 'Approve this payment?');
  assert.match(await text(tab), /0\.000001 PYUSD[^]*costs up to 0\.00272832 SOL once[^]*0\.000001 PYUSD and 0\.00273332 SOL/);
});

it('other decimals than the list has are refused', async (t) => {
  const tab = await shown(t, { decimals: 9, makes: true });
  await title(tab, 'This page blocked the transaction');
  assert.match(await text(tab), /wrong_decimals/);
});

test('accounts are derived as Solana’s own tools do', async () => {
  for (let i = 0; i < 40; i++) {
    const owner = addr(i + 1);
    assert.equal(await associatedAccount(owner, USDC, TOKEN), associated(owner, USDC, TOKEN));
    assert.equal(await associatedAccount(owner, USDC, TOKEN_2022), associated(owner, USDC, TOKEN_2022));
  }
});
