// What a person allows one of their wallets to pay, as the page reads, compares, signs and enforces it. Pure. The server does
// the same in Go (wallet/policy.go); signer/testdata/policies.json holds both to the same answers.
//
// A policy is {payment, day, recipients, wait}. payment and day are lists of {mint, units}: the most of a token in one payment,
// and in any 24 hours, in base units (BigInt); mint is base58, or "SOL". recipients is null (any), or the addresses that may be
// paid. wait is how many hours a payment to a new recipient waits. Lists are canonical: limits by the text of their mint, SOL
// first, and recipients by theirs, none twice.

import { addressBytes } from './base58.js';
import { LocalizedError } from './catalogue.js';
import { WRAPPED_SOL } from './swap.js';
import { utcTime } from './text.js';

const MOST_LIMITS = 20; // of each kind, in a policy that is signed

/**
 * How many limits the policies have that are kept or in force. They grow as stricter ones are added: what a page has kept it must be able to
 * read, or the wallet would never sign again.
 */
export const KEPT_LIMITS = 2000;
const MOST_RECIPIENTS = 50;
const MOST_HOURS = 168;
const MOST_UNITS = 2n ** 64n - 1n;
export const HOUR = 3_600_000; // milliseconds
export const DAY = 24 * HOUR;

/** The mint of SOL, as policies write it. */
export const SOL = 'SOL';

/** The policy that allows everything. */
export const UNRESTRICTED = /* @__PURE__ */ Object.freeze({ payment: [], day: [], recipients: null, wait: 0 });

/** A policy of the server's that is not one. */
export class BadPolicy extends LocalizedError {
  constructor(field) {
    super('error.unexpected', { field });
  }
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const order = (a, b) => (a === b ? 0 : a < b ? -1 : 1); // by the bytes of ASCII, as Go compares
const byMint = (a, b) => (a === b ? 0 : a === SOL ? -1 : b === SOL ? 1 : order(a, b));
const strictlySorted = (list, compare) => list.every((value, i) => i === 0 || compare(list[i - 1], value) < 0);

/** An address that somebody may own: of the zero address, which is 32 ones in base58, the server would read SOL. */
const isAddress = (text) => addressBytes(text)?.some((byte) => byte !== 0) === true;

/** Reads a policy as the server sends it: {payment, day, recipients, new_wait_hours}, with units as decimal text. Throws BadPolicy. */
export function readPolicy(wire, field = 'policy', most = MOST_LIMITS) {
  const known = ['payment', 'day', 'recipients', 'new_wait_hours'];
  if (!isObject(wire) || Object.keys(wire).some((name) => !known.includes(name))) throw new BadPolicy(field);
  const { recipients, new_wait_hours: wait } = wire;
  const free = recipients === null;
  if (!free && !(Array.isArray(recipients) && recipients.length <= MOST_RECIPIENTS && recipients.every(isAddress) && strictlySorted(recipients, order))) {
    throw new BadPolicy(`${field}.recipients`);
  }
  if (!Number.isInteger(wait) || wait < 0 || wait > MOST_HOURS) throw new BadPolicy(`${field}.new_wait_hours`);
  return {
    payment: readLimits(wire.payment, `${field}.payment`, most), day: readLimits(wire.day, `${field}.day`, most),
    recipients: free ? null : [...recipients], wait: wait === 0 ? 0 : wait,
  };
}

function readLimits(list, field, most) {
  const fits = (limit) => isObject(limit) && (limit.mint === SOL || isAddress(limit.mint))
    && typeof limit.units === 'string' && /^(0|[1-9][0-9]{0,19})$/.test(limit.units) && BigInt(limit.units) <= MOST_UNITS;
  if (!Array.isArray(list) || list.length > most || !list.every(fits) || !strictlySorted(list.map((l) => l.mint), byMint)) throw new BadPolicy(field);
  return list.map(({ mint, units }) => ({ mint, units: BigInt(units) }));
}

/** A policy as the server sends it, and as it is stored. */
export const writePolicy = ({ payment, day, recipients, wait }) => ({
  payment: payment.map(({ mint, units }) => ({ mint, units: units.toString() })),
  day: day.map(({ mint, units }) => ({ mint, units: units.toString() })),
  recipients, new_wait_hours: wait,
});

/**
 * Reads the limits in an answer of /w/tx/get and /w/tx/refresh: null, or {current, waits, signed}. waits is false when the server
 * says that no change waits, else null. signed is null or {policy, telegram_id, nonce, issued_at, expires_at, signature}. Throws BadPolicy.
 */
export function readLimitsOf(answer) {
  const limits = answer?.limits ?? null;
  if (limits === null) return null;
  if (!isObject(limits)) throw new BadPolicy('limits');
  const signed = limits.signed ?? null;
  if (signed !== null && !isObject(signed)) throw new BadPolicy('limits_signed');
  return {
    current: readPolicy(limits.current, 'limits_current', KEPT_LIMITS), waits: limits.waits === false ? false : null,
    signed: signed && {
      ...readProof(signed, 'limits_signed'),
      policy: readPolicy(signed.policy, 'limits_signed_policy'), signature: text(signed.signature, /^[1-9A-HJ-NP-Za-km-z]{64,88}$/, 'limits_signed_signature'),
    },
  };
}

const text = (value, pattern, field) => {
  if (typeof value !== 'string' || !pattern.test(value)) throw new BadPolicy(field);
  return value;
};

function readProof({ telegram_id: id, nonce, issued_at: issued, expires_at: expires }, field) {
  if (utcTime(issued) === null) throw new BadPolicy(`${field}.issued_at`);
  if (utcTime(expires) === null) throw new BadPolicy(`${field}.expires_at`);
  return {
    telegram_id: text(id, /^[0-9]{1,20}$/, `${field}.telegram_id`), nonce: text(nonce, /^[A-Za-z0-9]{8,64}$/, `${field}.nonce`),
    issued_at: issued, expires_at: expires,
  };
}

/** Both lists in order; of two limits of one token the lower one stays. */
function lower(a, b) {
  const least = new Map();
  for (const { mint, units } of [...a, ...b]) if (!least.has(mint) || units < least.get(mint)) least.set(mint, units);
  return [...least].map(([mint, units]) => ({ mint, units })).sort((x, y) => byMint(x.mint, y.mint));
}

/** The policy that allows exactly what both allow. */
export const intersect = (p, q) => ({
  payment: lower(p.payment, q.payment), day: lower(p.day, q.day),
  recipients: p.recipients === null ? q.recipients : q.recipients === null ? p.recipients : p.recipients.filter((a) => q.recipients.includes(a)),
  wait: Math.max(p.wait, q.wait),
});

/** Whether two policies allow the same. */
export const equal = (p, q) => canonicalText(p) === canonicalText(q);

/** Whether p allows anything that `current` does not. */
export const loosens = (p, current) => !equal(intersect(p, current), p);

/** A state is {current, pending, from}: pending is the change that waits, or null, and from (milliseconds) when it becomes current. */
export const stateAt = (state, now) => (state.pending === null || now < state.from ? state : { current: state.pending, pending: null, from: 0 });

/**
 * The state after a policy was set at `now`. What it forbids is forbidden at once; if it allows anything more, all of it waits
 * until `from`. It replaces a change that waits.
 */
export function setPolicy(state, policy, now, from = now + DAY) {
  const { current } = stateAt(state, now);
  return loosens(policy, current) ? { current: intersect(policy, current), pending: policy, from } : { current: policy, pending: null, from: 0 };
}

function canonicalText({ payment, day, recipients, wait }) {
  const limits = (name, list) => (list.length === 0 ? [`${name}: no limit`]
    : list.map(({ mint, units }) => `${name}: ${units} ${mint === SOL ? 'lamports' : `base units of ${mint}`}`));
  return [
    ...limits('Limit per payment', payment), ...limits('Limit per 24 hours', day),
    ...(recipients === null ? ['Recipients: any'] : recipients.length === 0 ? ['Recipients: none'] : recipients.map((a) => `Recipient: ${a}`)),
    `New recipients wait: ${wait} hours`,
  ].join('\n');
}

/**
 * The text that a wallet signs to set its policy; host and origin are those of the page itself, and c holds telegram_id, chain,
 * nonce, issued_at and expires_at, all checked for their characters. Its first line is that of no other text.
 */
export const policyText = ({ host, origin }, address, policy, c) => `${host} wants you to set the spending limits of your Solana wallet:
${address}

${canonicalText(policy)}

URI: ${origin}
Version: 1
Chain ID: ${c.chain}
Account: Telegram account ${c.telegram_id}
Nonce: ${c.nonce}
Issued At: ${c.issued_at}
Expiration Time: ${c.expires_at}`;

/** Mints that are one money: SOL and wrapped SOL are. */
const sameMoney = (mint) => (mint === SOL || mint === WRAPPED_SOL ? [SOL, WRAPPED_SOL] : [mint]);

/** The lowest limit for a token, or null. */
function limitFor(list, mint) {
  const own = list.filter((l) => sameMoney(mint).includes(l.mint)).map((l) => l.units);
  return own.length === 0 ? null : own.reduce((a, b) => (a < b ? a : b));
}

/**
 * What was paid of a token within the last 24 hours, by records of what was signed: each has spends (as in violations, or null), at, and
 * before, the times of earlier signatures of the same payment, which may land too. A record from the future counts: the clock was set back.
 */
export function spentOf(records, mint, now) {
  const own = records.filter((r) => r.spends && sameMoney(mint).includes(r.spends.mint));
  const times = (r) => [r.at, ...(r.before ?? [])].filter((at) => at > now - DAY).length;
  return own.reduce((sum, r) => sum + BigInt(r.spends.units) * BigInt(times(r)), 0n);
}

/** Of the times of signatures, those of the last 24 hours: they still count. */
export const withinDay = (times, now) => times.filter((at) => at > now - DAY);

/**
 * Which rules of a policy a payment breaks: a list, empty when it may be signed. `spends` is what it pays: {mint, units (decimal text), to (the
 * recipient, "" for the owner of a token account who is not known, null for a swap), account, listed (of a swap: whether the token that
 * it buys is listed here)}, or null for what is not counted. `spent` is what was paid within 24 hours, `recipient` what the device knows of the recipient: {at, paid}, or null.
 * Rules are {rule: "limit_payment" | "limit_day", mint, limit, units, spent}, {rule: "limit_recipients", why: "unlisted" | "unknown" |
 * "swap"} and {rule: "limit_new_recipient", hours, from (milliseconds, or null when the wait has not begun)}.
 */
export function violations(policy, spends, { spent, recipient, now }) {
  if (spends === null) return [];
  const list = [];
  const units = BigInt(spends.units);
  const [most, day] = [limitFor(policy.payment, spends.mint), limitFor(policy.day, spends.mint)];
  if (most !== null && units > most) list.push({ rule: 'limit_payment', mint: spends.mint, limit: most, units, spent });
  if (day !== null && spent + units > day) list.push({ rule: 'limit_day', mint: spends.mint, limit: day, units, spent });
  const swap = spends.to === null;
  if (policy.recipients !== null) {
    const why = swap ? 'swap' : spends.to === '' ? 'unknown' : policy.recipients.includes(spends.to) ? '' : 'unlisted';
    if (why) list.push({ rule: 'limit_recipients', why });
  }
  if (policy.wait > 0 && !swap && !recipient?.paid && !(recipient && now - recipient.at >= policy.wait * HOUR)) {
    list.push({ rule: 'limit_new_recipient', hours: policy.wait, from: recipient ? recipient.at + policy.wait * HOUR : null });
  }
  return list;
}

/** Whether a rule only asks to wait. */
export const onlyWaits = (rules) => rules.length > 0 && rules.every((r) => r.rule === 'limit_new_recipient');

/** Who is paid, as the device remembers them: the owner, or the token account whose owner is not known. */
export const payee = (spends) => spends.to || spends.account;

/**
 * How a policy differs from `before`: a list of {kind: "payment" | "day", mint, was, is} (units, or null for no limit), {kind: "recipients", was,
 * is, added, removed} and {kind: "wait", was, is}, each with `looser` and `stricter`, of which a list of recipients can be both.
 */
export function changes(before, policy) {
  const list = [];
  for (const kind of ['payment', 'day']) {
    const [old, now] = [before, policy].map((p) => new Map(p[kind].map((l) => [l.mint, l.units])));
    for (const mint of [...new Set([...old.keys(), ...now.keys()])].sort(byMint)) {
      const [was, is] = [old.get(mint) ?? null, now.get(mint) ?? null];
      const looser = was !== null && (is === null || is > was);
      if (was !== is) list.push({ kind, mint, was, is, looser, stricter: !looser });
    }
  }
  const [was, is] = [before.recipients, policy.recipients];
  if (String(was) !== String(is) || (was === null) !== (is === null)) {
    const added = was === null || is === null ? [] : is.filter((a) => !was.includes(a));
    const removed = was === null || is === null ? [] : was.filter((a) => !is.includes(a));
    list.push({ kind: 'recipients', was, is, added, removed, looser: is === null || added.length > 0, stricter: was === null || removed.length > 0 });
  }
  if (before.wait !== policy.wait) list.push({ kind: 'wait', was: before.wait, is: policy.wait, looser: policy.wait < before.wait, stricter: policy.wait > before.wait });
  return list;
}
