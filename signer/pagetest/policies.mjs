// Writes signer/testdata/policies.json: policies and what comes of them, for the page (policy.test.mjs) and for the server
// (wallet/policy_vectors_test.go), which answer the same. The expected answers are written by the page's code and held against
// Go's, which shares nothing with it.

import { realpathSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal, intersect, loosens, policyText, readPolicy, setPolicy, writePolicy } from '../page/policy.js';
import { TOKENS } from '../page/tokens.js';
import { addr } from './wire.mjs';

const MINTS = ['SOL', 'So11111111111111111111111111111111111111112', ...TOKENS.mainnet.slice(0, 4).map((t) => t.mint), ...[0x0a, 0xfe].map(addr)];
const PEOPLE = [0x01, 0x22, 0x7f, 0x80, 0xff].map(addr);
const order = (a, b) => (a === b ? 0 : a < b ? -1 : 1);
const byMint = (a, b) => order(a === 'SOL' ? '' : a, b === 'SOL' ? '' : b);

/** A generator of numbers below n, the same each time. */
function dice(seed) {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % n;
  };
}

const UNITS = ['0', '1', '2', '999999999', '1000000000', '18446744073709551614', '18446744073709551615'];

function random(below) {
  const some = (all, compare, most) => [...new Set(Array.from({ length: below(most + 1) }, () => all[below(all.length)]))].sort(compare);
  const limits = () => some(MINTS, byMint, 3).map((mint) => ({ mint, units: UNITS[below(UNITS.length)] }));
  return { payment: limits(), day: limits(), recipients: below(3) === 0 ? null : some(PEOPLE, order, 3), new_wait_hours: [0, 0, 1, 24, 168][below(5)] };
}

const FREE = { payment: [], day: [], recipients: null, new_wait_hours: 0 };
const STRICT = { payment: [{ mint: 'SOL', units: '1000000000' }, { mint: MINTS[2], units: '100000000' }], day: [{ mint: 'SOL', units: '3000000000' }], recipients: PEOPLE.slice(1, 3), new_wait_hours: 24 };

const TEXT = {
  host: 'wallet.example:8443', origin: 'https://wallet.example:8443', address: addr(0x33), chain: 'mainnet', telegram_id: '9007199254740993', nonce: 'aB3dE5gH7jK9mN1p',
  issued_at: '2026-11-24T20:00:00Z', expires_at: '2026-11-24T20:10:00Z',
};

function vector(name, a, b) {
  const [p, q] = [a, b].map((wire) => readPolicy(wire));
  const set = setPolicy({ current: p, pending: null, from: 0 }, q, 0);
  return {
    name, a, b, intersection: writePolicy(intersect(p, q)), equal: equal(p, q), loosens: loosens(q, p),
    set: { current: writePolicy(set.current), pending: set.pending && writePolicy(set.pending) }, text: policyText(TEXT, TEXT.address, p, TEXT),
  };
}

const below = dice(17);
export const vectors = {
  text: TEXT,
  policies: [
    vector('nothing is limited', FREE, FREE),
    vector('limits where there were none', FREE, STRICT),
    vector('no limits any more', STRICT, FREE),
    vector('the same', STRICT, STRICT),
    vector('a higher limit', STRICT, { ...STRICT, payment: [{ mint: 'SOL', units: '1000000001' }, STRICT.payment[1]] }),
    vector('a lower limit', STRICT, { ...STRICT, payment: [{ mint: 'SOL', units: '999999999' }, STRICT.payment[1]] }),
    vector('a limit for another token', STRICT, { ...STRICT, day: [...STRICT.day, { mint: MINTS[2], units: '0' }] }),
    vector('one limit lower, another gone', STRICT, { ...STRICT, payment: [{ mint: 'SOL', units: '5' }] }),
    vector('nobody may be paid', STRICT, { ...STRICT, recipients: [] }),
    vector('from nobody to anybody', { ...FREE, recipients: [] }, FREE),
    vector('other recipients', STRICT, { ...STRICT, recipients: PEOPLE.slice(2, 4) }),
    vector('a shorter wait', STRICT, { ...STRICT, new_wait_hours: 23 }),
    vector('a longer wait', STRICT, { ...STRICT, new_wait_hours: 168 }),
    ...Array.from({ length: 40 }, (_, n) => vector(`random ${n + 1}`, random(below), random(below))),
  ],
};

export const json = `${JSON.stringify(vectors, null, 1)}\n`;
export const path = fileURLToPath(new URL('../testdata/policies.json', import.meta.url));

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  writeFileSync(path, json);
  console.log(`${vectors.policies.length} vectors written`);
}
