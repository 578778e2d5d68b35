// Policies: what is read and refused, what of two is stricter, the text that is signed, and which rules a payment breaks.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import './english.mjs';
import { BadChallenge, checkLimits, signInText, unfreezeText } from '../page/challenge.js';
import { check } from '../page/offer.js';
import { BadPolicy, DAY, HOUR, UNRESTRICTED, changes, equal, intersect, loosens, onlyWaits, policyText, readLimitsOf, readPolicy, setPolicy, spentOf, stateAt, violations, writePolicy } from '../page/policy.js';
import { USDC } from './harness.mjs';
import { json, path, vectors } from './policies.mjs';
import { WSOL } from './swaps.mjs';
import { addr } from './wire.mjs';

const ZERO = '1'.repeat(32);
const FREE = { payment: [], day: [], recipients: null, new_wait_hours: 0 };
const sol = (units) => [{ mint: 'SOL', units }];
const ANN = addr(0x11);
const BEN = addr(0x22);

test('the vectors are those of the file, which Go checks too', () => {
  assert.equal(readFileSync(path, 'utf8'), json, 'run: node policies.mjs');
  for (const { a, b } of vectors.policies) assert.deepEqual([a, b].map((p) => writePolicy(readPolicy(p))), [a, b], 'not what was read');
});

test('what two policies allow together is what each allows: in either order, in groups, and never more', () => {
  const all = vectors.policies.flatMap(({ a, b }) => [readPolicy(a), readPolicy(b)]);
  for (let i = 0; i < all.length; i++) {
    const [p, q, r] = [all[i], all[(i + 7) % all.length], all[(i + 23) % all.length]];
    assert.ok(equal(intersect(p, q), intersect(q, p)) && equal(intersect(intersect(p, q), r), intersect(p, intersect(q, r))) && equal(intersect(p, p), p) && equal(intersect(p, UNRESTRICTED), p));
    assert.ok(!loosens(intersect(p, q), p) && !loosens(intersect(p, q), q));
    assert.equal(changes(q, p).some((c) => c.looser), loosens(p, q), 'what is shown as looser is what loosens');
    assert.equal(changes(p, q).length === 0, equal(p, q));
    for (const c of changes(p, q)) assert.ok(c.looser || c.stricter);
    const set = setPolicy({ current: q, pending: null, from: 0 }, p, 1000);
    assert.ok(!loosens(set.current, q) && (set.pending !== null) === loosens(p, q));
    assert.ok(equal(stateAt(set, 1000 + DAY - 1).current, set.current) && equal(stateAt(set, 1000 + DAY).current, p), 'not after a day');
  }
});

test('a policy of the wire is taken exactly as the contract says, and nothing else', () => {
  const many = (n, of) => Array.from({ length: n }, (_, i) => of(i));
  const sorted = (list, key = (x) => x) => list.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  const limits = (n) => sorted(many(n, (i) => ({ mint: addr(i + 1), units: '5' })), (l) => l.mint);
  const good = { ...FREE, payment: [...sol('18446744073709551615'), ...limits(19)], day: sol('0'), recipients: sorted(many(50, (i) => addr(i + 1))), new_wait_hours: 168 };
  assert.deepEqual(writePolicy(readPolicy(good)), good);
  assert.deepEqual(readPolicy({ ...FREE, recipients: [] }).recipients, []);
  const bad = {
    'no object': [null, undefined, 'all', 7, [], [FREE]],
    'a field less': Object.keys(FREE).map((name) => { const { [name]: _, ...rest } = FREE; return rest; }),
    'a field more': [{ ...FREE, extra: 1 }, JSON.parse('{"payment":[],"day":[],"recipients":null,"new_wait_hours":0,"__proto__":{"day":[]}}')],
    'another kind': [{ ...FREE, payment: null }, { ...FREE, payment: {} }, { ...FREE, day: 'none' }, { ...FREE, payment: { length: 0 } }, { ...FREE, recipients: {} }, { ...FREE, recipients: '' }, { ...FREE, recipients: false }],
    amounts: [5, 1.5, -1, '-1', '1.5', '1e9', '+1', ' 1', '01', '', '0x10', '18446744073709551616', '99999999999999999999', '1'.repeat(1000), '１', null, true, [], ['5'], { toString: () => '5' }, Infinity, NaN]
      .map((units) => ({ ...FREE, payment: sol(units) })),
    mints: ['sol', 'Sol', 'SOL ', '', ZERO, `${USDC}1`, USDC.slice(0, 31), `${USDC.slice(0, -1)}0`, ` ${USDC}`, `${USDC}\u200b`, null, 7, { mint: 'SOL' }, [USDC]].map((mint) => ({ ...FREE, day: [{ mint, units: '5' }] })),
    'limits without a mint or amount': [{ ...FREE, day: [{ mint: 'SOL' }] }, { ...FREE, day: [{ units: '5' }] }, { ...FREE, day: [null] }, { ...FREE, day: ['SOL'] }, { ...FREE, day: [[]] }],
    duplicates: [{ ...FREE, payment: [...sol('5'), ...sol('5')] }, { ...FREE, payment: [...sol('5'), ...sol('6')] }, { ...FREE, recipients: [ANN, ANN] }],
    'another order': [{ ...FREE, payment: [{ mint: USDC, units: '5' }, ...sol('5')] }, { ...FREE, recipients: sorted([ANN, BEN]).reverse() }],
    'too many': [{ ...FREE, payment: limits(21) }, { ...FREE, payment: [...sol('5'), ...limits(20)] }, { ...FREE, day: many(10_000, () => ({ mint: 'SOL', units: '5' })) }, { ...FREE, recipients: sorted(many(51, (i) => addr(i + 1))) }],
    recipients: [ZERO, 'SOL', `${ANN} `, `${ANN}\u202e`, ANN.slice(0, 31), `0${ANN.slice(1)}`, null, 5, [ANN], '@ann', ''].map((a) => ({ ...FREE, recipients: [a] })),
    hours: [-1, 169, 1.5, '24', null, NaN, Infinity, 1e300, [24], true, undefined].map((h) => ({ ...FREE, new_wait_hours: h })),
  };
  for (const [what, list] of Object.entries(bad)) {
    assert.ok(list.length > 0);
    for (const wire of list) assert.throws(() => readPolicy(wire), BadPolicy, `${what}: ${JSON.stringify(wire)?.slice(0, 100)}`);
  }
});

const PROOF = { telegram_id: '700100', nonce: 'aB3dE5gH7jK9mN1p', issued_at: '2026-11-24T20:00:00Z', expires_at: '2026-11-24T20:10:00Z', signature: '2'.repeat(88), policy: FREE };

test('the limits of an answer are read strictly, and none are none', () => {
  for (const none of [{}, { limits: null }, null, undefined]) assert.equal(readLimitsOf(none), null);
  const good = { current: FREE, signed: PROOF, waits: false };
  assert.deepEqual(readLimitsOf({ limits: good }), { current: UNRESTRICTED, waits: false, signed: { ...PROOF, policy: UNRESTRICTED } });
  assert.deepEqual(readLimitsOf({ limits: { current: FREE } }), { current: UNRESTRICTED, waits: null, signed: null });
  for (const limits of [[], 'x', 5, {}, { signed: null }, { current: null }, { current: FREE, signed: [] }, { current: FREE, signed: 'x' }, { current: FREE, signed: {} }, { ...good, current: { ...FREE, day: [{}] } },
    ...['telegram_id', 'nonce', 'issued_at', 'expires_at', 'signature', 'policy'].flatMap((name) => [undefined, null, 7, {}, 'a\nb', `${PROOF[name]}\n`].map((value) => ({ ...good, signed: { ...PROOF, [name]: value } })))]) {
    assert.throws(() => readLimitsOf({ limits }), BadPolicy, JSON.stringify(limits));
  }
});

test('the challenge of a change is checked as every other, and its policies too', () => {
  const c = { telegram_id: '1001', telegram_name: 'Alice', username: '', chain: 'devnet', nonce: 'aB3dE5gH7j', issued_at: '2026-11-21T10:00:00Z', expires_at: '2026-11-21T10:10:00Z', address: ANN, wallet_type: 'page', current: FREE, proposed: FREE };
  assert.deepEqual(checkLimits(c), { ...c, current: UNRESTRICTED, proposed: UNRESTRICTED });
  for (const [name, value] of [['chain', 'testnet'], ['nonce', 'a\nb3456789'], ['telegram_id', 1001], ['address', `${ANN}\n`], ['address', undefined], ['wallet_type', 'paper']]) {
    assert.throws(() => checkLimits({ ...c, [name]: value }), BadChallenge, name);
  }
  for (const name of ['current', 'proposed']) assert.throws(() => checkLimits({ ...c, [name]: { ...FREE, day: sol('-1') } }), BadPolicy);
});

test('the text that sets limits is that of no other signature', () => {
  const { text: c } = vectors;
  const texts = [signInText, unfreezeText].map((of) => of(c, c.address, c));
  for (const { text } of vectors.policies) {
    assert.ok(text.startsWith(`${c.host} wants you to set the spending limits of your Solana wallet:\n${c.address}\n\n`));
    assert.ok(texts.every((other) => other.split('\n')[0] !== text.split('\n')[0]));
  }
  const distinct = new Map(vectors.policies.map(({ a }) => [JSON.stringify(a), policyText(c, c.address, readPolicy(a), c)]));
  assert.equal(new Set(distinct.values()).size, distinct.size, 'two policies have one text');
});

const NOW = 1_800_000_000_000;
const pays = (units, more = {}) => ({ mint: 'SOL', units: String(units), to: ANN, account: ANN, ...more });
const rules = (wire, spends, { spent = 0n, recipient = null } = {}) => violations(readPolicy({ ...FREE, ...wire }), spends, { spent, recipient, now: NOW });
const names = (list) => list.map((r) => r.rule);

test('a limit is what may be paid, to the unit, in one payment and in a day', () => {
  for (const [units, spent, want] of [[100n, 0n, []], [101n, 0n, ['limit_payment']], [100n, 150n, []], [100n, 151n, ['limit_day']], [0n, 251n, ['limit_day']], [300n, 0n, ['limit_payment', 'limit_day']]]) {
    assert.deepEqual(names(rules({ payment: sol('100'), day: sol('250') }, pays(units), { spent })), want, `${units} after ${spent}`);
  }
  const [{ limit, units, spent }] = rules({ day: sol('250') }, pays(100n), { spent: 200n });
  assert.deepEqual([limit, units, spent], [250n, 100n, 200n]);
  assert.deepEqual(names(rules({ payment: sol('0') }, pays(1n))), ['limit_payment']);
  assert.deepEqual(rules({ payment: sol('100'), day: sol('100'), recipients: [], new_wait_hours: 168 }, null), [], 'stakes are not counted');
  assert.deepEqual(rules({ payment: sol('5') }, pays(9n, { mint: USDC })), [], 'a limit of SOL is none of tokens');
  assert.deepEqual(names(rules({ payment: [{ mint: USDC, units: '5' }] }, pays(18446744073709551615n, { mint: USDC }))), ['limit_payment']);
});

test('SOL and wrapped SOL are one money', () => {
  for (const [limited, paid] of [['SOL', WSOL], [WSOL, 'SOL']]) {
    assert.deepEqual(names(rules({ payment: [{ mint: limited, units: '5' }] }, pays(6n, { mint: paid }))), ['limit_payment']);
    assert.deepEqual(names(rules({ payment: [{ mint: 'SOL', units: '5' }, { mint: WSOL, units: '7' }] }, pays(6n, { mint: paid }))), ['limit_payment'], 'the lower of both');
  }
  const records = [{ spends: pays(5n), at: NOW - 1 }, { spends: pays(7n, { mint: WSOL }), at: NOW - 1 }, { spends: pays(100n, { mint: USDC }), at: NOW - 1 }, { spends: null, at: NOW }, { at: NOW }];
  assert.deepEqual([spentOf(records, 'SOL', NOW), spentOf(records, WSOL, NOW), spentOf(records, USDC, NOW)], [12n, 12n, 100n]);
});

test('a day is the last 24 hours; what a clock that was set back calls the future counts, and so does each signature of one payment', () => {
  const of = (at, before) => [{ spends: pays(5n), at, before }];
  for (const [at, want] of [[NOW, 5n], [NOW - DAY + 1, 5n], [NOW - DAY, 0n], [NOW + 400 * DAY, 5n]]) assert.equal(spentOf(of(at), 'SOL', NOW), want);
  assert.equal(spentOf(of(NOW, [NOW - 1, NOW - HOUR, NOW - 2 * DAY]), 'SOL', NOW), 15n);
  assert.equal(spentOf(of(NOW - 2 * DAY, [NOW - 1]), 'SOL', NOW), 5n);
});

test('only listed recipients are paid: a token account of nobody in particular is not, and nobody swaps', () => {
  const list = { recipients: [ANN] };
  assert.deepEqual(rules(list, pays(1n)), []);
  for (const [spends, why] of [[pays(1n, { to: BEN, account: BEN }), 'unlisted'], [pays(1n, { to: '', account: ANN }), 'unknown'], [pays(1n, { to: null }), 'swap']]) {
    assert.deepEqual(rules(list, spends), [{ rule: 'limit_recipients', why }]);
  }
  assert.deepEqual(rules({ recipients: [] }, pays(1n)), [{ rule: 'limit_recipients', why: 'unlisted' }]);
});

test('a new recipient waits from when the device first saw them, and one that was paid does not', () => {
  const wait = { new_wait_hours: 24 };
  const at = (ago) => names(rules(wait, pays(1n), { recipient: { at: NOW - ago, paid: false } }));
  assert.deepEqual(rules(wait, pays(1n)), [{ rule: 'limit_new_recipient', hours: 24, from: null }]);
  assert.deepEqual([at(DAY - 1), at(DAY), at(-DAY), at(-1)], [['limit_new_recipient'], [], ['limit_new_recipient'], ['limit_new_recipient']]);
  assert.deepEqual(rules(wait, pays(1n), { recipient: { at: NOW, paid: true } }), []);
  assert.equal(rules(wait, pays(1n), { recipient: { at: NOW - HOUR, paid: false } })[0].from, NOW + 23 * HOUR);
  assert.deepEqual(rules(wait, pays(1n, { to: null })), [], 'a swap pays nobody');
  assert.ok(onlyWaits(rules(wait, pays(1n))) && !onlyWaits([]) && !onlyWaits(rules({ ...wait, recipients: [] }, pays(1n))));
});

test('a payment that is delayed is taken only where nothing is signed', () => {
  const answer = { status: 'delayed', address: ANN, chain: 'mainnet', message: 'AAAA', expires_at: '2026-11-24T20:00:00Z', ready_at: '2026-11-25T20:00:00Z', limits: null };
  for (const expires of ['', undefined, answer.expires_at]) {
    const { ready, expires: none } = check({ ...answer, expires_at: expires }, { delayed: true });
    assert.deepEqual([ready.toISOString(), none], ['2026-11-25T20:00:00.000Z', null]);
  }
  assert.throws(() => check({ ...answer, status: 'awaiting_signature', expires_at: '' }, { delayed: true }));
  assert.throws(() => check(answer));
  for (const ready of [undefined, null, '', 'soon', 5]) assert.throws(() => check({ ...answer, ready_at: ready }, { delayed: true }));
  for (const status of ['confirmed', 'Delayed', 'pending', '']) assert.throws(() => check({ ...answer, status }, { delayed: true }));
  assert.equal(check({ ...answer, status: 'awaiting_signature', ready_at: undefined }, { delayed: true }).ready, null);
});
