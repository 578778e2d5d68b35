// What the tests of spending limits share: wallets with limits, what a server says of them, and what is looked at.

import assert from 'node:assert/strict';
import { ed25519 } from '@noble/curves/ed25519';
import { base58 } from '@scure/base';
import { accountAt, readPhrase, toSeed } from '../page/mnemonic.js';
import { policyText, readPolicy } from '../page/policy.js';
import { allText, on, server, text } from './browser.mjs';
import { ADDRESS, NO_LIMITS, OTHER_WORDS, PASSPHRASE, SIGN, WORDS, approve, install, payment, press, revisit, title } from './harness.mjs';
import { keep, keptIn } from './keep.mjs';
import { addr } from './wire.mjs';

export const DAY = 86_400_000;
export const BLOCKED = 'This breaks your spending limits';
export const limit = (units, mint = 'SOL') => ({ mint, units: String(units) });
export const policy = (more) => ({ ...NO_LIMITS, ...more });
export const ONE = policy({ payment: [limit(1_000_000_000)] }); // 1 SOL a payment
export const TWO = policy({ payment: [limit(2_000_000_000)] });
export const DAILY = policy({ day: [limit(2_000_000_000)] });

async function keyOf(words) {
  const { address, pkcs8 } = await accountAt(await toSeed(readPhrase(words), ''), 0);
  return { address, seed: pkcs8.slice(-32) };
}
export const [own, other] = await Promise.all([keyOf(WORDS), keyOf(OTHER_WORDS)]);
assert.equal(own.address, ADDRESS);

/** A policy with its wallet's signature, as the server sends it; `by` signs. */
export function signed(wire, { by = own, chain = 'mainnet', change = {} } = {}) {
  const c = { telegram_id: '700100', nonce: 'aB3dE5gH7jK9mN1p', issued_at: '2026-11-01T20:00:00Z', expires_at: '2026-11-01T20:10:00Z' };
  const place = { host: server.origin.replace('http://', ''), origin: server.origin };
  const bytes = Buffer.from(policyText(place, ADDRESS, readPolicy(wire), { ...c, chain }));
  return { policy: wire, ...c, signature: base58.encode(ed25519.sign(bytes, by.seed)), ...change };
}

/** A record of the device's policies, as limits.js would have kept it. */
export const record = (current, more = {}) => ({ address: ADDRESS, current, pending: null, from: 0, set_at: Date.now(), here: true, ...more });

/** A browser with the wallet, and with limits that were set on it. */
export const limited = (current, work, more) => on('', async (tab) => {
  await install(tab);
  if (current) await keep(tab, 'policies', record(current, more));
  await work(tab);
});

export const policies = async (tab) => (await keptIn(tab, 'policies')).map(({ current, pending, here }) => ({ current, pending, here }));
export const nothingLeft = () => assert.deepEqual([server.posted('/w/tx/refresh'), server.posted('/w/tx/signature'), server.posted('/w/limits/sign')], [[], [], []], 'something was signed');
let next = 0x10;
/** Offers a payment of its own behind the sign link. */
export async function offer(tab, change = {}, hash = SIGN) {
  next = next === 0xf0 ? 0x10 : next + 1;
  Object.assign(server.world, { status: 'awaiting_signature', payment: payment({ reference: addr(next), ...change }) });
  delete server.world.signature;
  await revisit(tab, server, hash);
}
export async function signs(tab, change) {
  await offer(tab, change);
  await title(tab, 'Approve this payment?');
  await approve(tab);
  await title(tab, 'Transaction signed');
}
export async function blocked(tab, says) {
  await title(tab, BLOCKED);
  assert.match(await allText(tab), says);
  assert.deepEqual(await tab.getByRole('button').allTextContents(), ['Reject']);
}
export const passphrase = (tab) => tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
export async function sets(tab) {
  await press(tab, `Sign with …${ADDRESS.slice(-6)}`);
  await passphrase(tab);
  await press(tab, 'Set limits');
}
export const rowsOf = async (tab) => (await text(tab)).replace(/\s+/g, ' ');

/** A tab with a wallet app that has the key of WORDS and signs what it is given, or what `instead` makes of it. Resolves to what it was asked, a list. */
export async function withApp(tab, instead = (bytes) => bytes) {
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
