// What this device signed, and on which network each wallet is used: so that a server that asks for the
// same payment again, or calls real money test money, is found out, and so that the spending limits of a wallet
// hold for what was signed here. Knows storage (through vault.js) and no screens. Nothing here is secret:
// signatures and amounts are public once a payment is sent.

import { recipientKey, readKept } from './policies.js';
import { payee, spentOf, stateAt, violations, withinDay } from './policy.js';
import { HISTORY, NETWORKS, NOTICES, POLICIES, RECIPIENTS, run } from './vault.js';

const KEPT_DAYS = 90;
const KEPT_RECORDS = 500;
const ALIKE_HOURS = 24;
const HOUR = 3_600_000; // milliseconds

/**
 * What was signed before: {same, alike}, each a record or null. `same` has the intent or the reference of
 * this payment, so a second signature may pay it twice. `alike` pays the same amount of the same token to
 * the same recipient, signed within a day. A record is {intent, reference, address, paid, spends, shown, at, before, signature,
 * handed}: spends as in violations (policy.js), shown as shownOf returns it (payment.js; older records have none), before the times of
 * earlier signatures of the same intent that still count.
 */
export async function signedBefore({ intent, reference, address, paid }, now = Date.now()) {
  const all = (await run(HISTORY, 'readonly', (store) => store.getAll())).sort((a, b) => b.at - a.at);
  const same = all.find(isSame({ intent, reference })) ?? null;
  const alike = all.find((r) => r.address === address && r.paid === paid && now - r.at < ALIKE_HOURS * HOUR) ?? null;
  return { same, alike: same ? null : alike };
}

/** What this device signed with a signature, as it was shown then, with the time `at`; null where it does not remember. */
export async function signedWith(signature) {
  const all = await run(HISTORY, 'readonly', (store) => store.getAll());
  const { shown, at } = all.find((r) => r.signature === signature) ?? {};
  return shown ? { ...shown, at } : null;
}

/** Whether a record is of the same payment as another. */
const isSame = ({ intent, reference }) => (r) => r.intent === intent || (reference !== '' && r.reference === reference);

/** Whether a record counts for the sums of a day. */
export const counts = ({ at, before = [] }, now = Date.now()) => withinDay([at, ...before], now).length > 0;

/** What the limits of a wallet on this device say of a payment: the rules that it breaks. The stores are read within one transaction. */
function violationsIn({ address, spends }, all, kept, recipient, now) {
  if (kept === null || spends === null) return [];
  return violations(stateAt(kept, now).current, spends, { spent: spentOf(all.filter((r) => r.address === address), spends.mint, now), recipient, now });
}

/** Reads what violationsIn needs, in a transaction on HISTORY, POLICIES and RECIPIENTS, and hands it to `then(all, rules)`; what that throws aborts. */
function withViolations(record, now, then) {
  return (history, policies, recipients) => {
    const { address, spends } = record;
    history.getAll().onsuccess = ({ target: { result: all } }) => {
      policies.get(address).onsuccess = ({ target: { result: kept } }) => {
        recipients.get(recipientKey(address, spends ? payee(spends) : '')).onsuccess = ({ target: { result: recipient } }) => {
          then(all.sort((a, b) => b.at - a.at), violationsIn(record, all, readKept(kept), recipient ?? null, now), { history, recipients, recipient });
        };
      };
    };
  };
}

const STORES = [HISTORY, POLICIES, RECIPIENTS];

/** Which rules of the limits that this device keeps a payment breaks now: a list as violations (policy.js) returns it. */
export async function limitViolations(record, now = Date.now()) {
  let rules = null;
  await run(STORES, 'readonly', withViolations(record, now, (all, found) => { rules = found; }));
  return rules;
}

/**
 * Notes a signature, durably: to be awaited before the signature leaves this page. `same` is what signedBefore
 * said of this payment when the person was asked. When another tab has signed it since, nothing is noted, and this
 * signature must be given to nobody. The look and the note are one transaction, so only one of two tabs gets a yes.
 * So is the look at the spending limits: two tabs cannot pass them together.
 * `handed` is what was handed over, {sha256, signature} or {transaction}, so that the very same can be sent again.
 * The oldest records go when there are too many, but none of the last day. Resolves to whether the signature was noted.
 */
export async function noteSigned(record, same, now = Date.now()) {
  let noted = false;
  await run(STORES, 'readwrite', withViolations(record, now, (all, rules, { history, recipients, recipient }) => {
    if (all.find(isSame(record))?.signature !== same?.signature || rules.length > 0) return;
    noted = true;
    const others = all.filter((r) => r.intent !== record.intent);
    const old = (o, i) => (i >= KEPT_RECORDS - 1 && !counts(o, now)) || now - o.at > KEPT_DAYS * 24 * HOUR;
    for (const r of others.filter(old)) history.delete(r.intent);
    const earlier = all.find((r) => r.intent === record.intent);
    history.put({ ...record, at: now, before: earlier ? withinDay([earlier.at, ...(earlier.before ?? [])], now) : [] });
    if (record.spends && record.spends.to !== null) {
      recipients.put({ id: recipientKey(record.address, payee(record.spends)), address: record.address, at: recipient?.at ?? now, paid: true });
    }
  }));
  return noted;
}

/** The network that a wallet is used on as far as this device knows, or null. */
export async function networkOf(address) {
  return (await run(NETWORKS, 'readonly', (store) => store.get(address)))?.chain ?? null;
}

/** Pins a wallet to a network. */
export async function pinNetwork(address, chain) {
  await run(NETWORKS, 'readwrite', (store) => store.put({ address, chain }));
}

/** Which change of the account's default wallet (milliseconds) a person has seen in a payment of this wallet, or null. */
export const seenDefaultChange = async (address) => (await run(NOTICES, 'readonly', (store) => store.get(address)))?.default_changed ?? null;

/** Notes that it was seen: it is not shown again. */
export async function sawDefaultChange(address, at) {
  await run(NOTICES, 'readwrite', (store) => store.put({ address, default_changed: at }));
}
