// The spending limits of wallets as this device keeps them, and whom it knows as recipients. Knows storage (through vault.js) and
// no screens. A server can make a policy stricter here, and never looser: what allows more was signed on this device, and has waited.
//
// A kept policy is {address, current, pending, from, set_at, here}: the policies as the server sends them, from in milliseconds, set_at
// when it was last signed or made stricter, and here whether it was signed on this device. It stays when the wallet is removed.

import { LocalizedError } from './catalogue.js';
import { ANYTHING, KEPT_LIMITS, equal, loosens, meet, readPolicy, setPolicy, stateAt, writePolicy } from './policy.js';
import { POLICIES, RECIPIENTS, run } from './vault.js';

/** A kept record as a state, or null. Throws for a record that was damaged: nothing is signed then. */
export function readKept(record) {
  if (!record) return null;
  try {
    return { current: readPolicy(record.current, 'current', Infinity), pending: record.pending && readPolicy(record.pending, 'pending', Infinity), from: record.from, setAt: record.set_at, here: record.here };
  } catch {
    throw new LocalizedError('error.limits_damaged');
  }
}

const write = (address, { current, pending, from }, setAt, here) => ({
  address, current: writePolicy(current), pending: pending && writePolicy(pending), from, set_at: setAt, here,
});

const now = (kept, at) => kept && { ...kept, ...stateAt(kept, at) };

/** What this device keeps of a wallet's limits: {current, pending, from, setAt, here}, or null. */
export const keptPolicy = async (address, at = Date.now()) => now(readKept(await run(POLICIES, 'readonly', (store) => store.get(address))), at);

/** The addresses of all wallets whose limits are kept. */
export const limitedAddresses = () => run(POLICIES, 'readonly', (store) => store.getAllKeys());

/** Replaces what is kept of a wallet in one transaction: `change` gets it, or null, and returns a record to keep, or null to leave it. */
async function replace(address, at, change) {
  await run(POLICIES, 'readwrite', (store) => {
    store.get(address).onsuccess = ({ target }) => {
      const next = change(now(readKept(target.result), at));
      if (next !== null) store.put(next);
    };
  });
}

/**
 * Takes over from the server's limits (readLimitsOf) what forbids more. `proven` says whether the wallet's signature on limits.signed is right. Resolves to
 * {kept, news}: what is kept now, or null, and what to say of it, as {stricter, dropped (a change that waited), taken (from limits.signed)}.
 *
 * What makes a policy stricter is newer than a change that waits here, since that one was met with it when it was signed. So it replaces it.
 */
export async function adopt(address, limits, proven, at = Date.now()) {
  let kept = await keptPolicy(address, at); // a damaged one fails here, with its reason
  const news = { stricter: false, dropped: false, taken: false };
  await replace(address, at, (known) => {
    kept = known;
    if (limits === null) return null;
    const takes = known === null && proven;
    const base = known?.current ?? (takes ? limits.signed.policy : ANYTHING);
    const current = meet(base, limits.current);
    if ([current.payment, current.day].some((list) => list.length > KEPT_LIMITS)) return null; // a server that makes it grow without end
    news.taken = takes;
    news.stricter = !equal(current, base);
    const cancelled = limits.waits === false && Boolean(known?.pending) && loosens(known.pending, limits.current);
    news.dropped = Boolean(known?.pending) && (news.stricter || cancelled);
    if (!news.stricter && !news.dropped && !news.taken) return null;
    const pending = news.dropped ? null : known?.pending ?? null;
    kept = { current, pending, from: pending ? known.from : 0, setAt: at, here: known?.here ?? false };
    return write(address, kept, at, kept.here);
  });
  return { kept, news };
}

/**
 * Keeps what a policy that was just signed here forbids, before the signature leaves the page: of the rest the device knows only once the server has
 * said yes (keepSigned). `base` is what the person was shown as the policy so far, and counts where nothing is kept.
 */
export const keepStricter = (address, policy, base, at = Date.now()) => replace(address, at, (known) => {
  const current = meet(known?.current ?? base, policy);
  return write(address, { current, pending: null, from: 0 }, at, true);
});

/** Keeps a policy that was signed here and that the server has taken. What it allows more is current from `from`. Resolves to what is kept. */
export async function keepSigned(address, policy, base, from, at = Date.now()) {
  let kept = null;
  await replace(address, at, (known) => {
    kept = { ...setPolicy({ current: known?.current ?? base, pending: null, from: 0 }, policy, at, from), setAt: at, here: true };
    return write(address, kept, at, true);
  });
  return kept;
}

/** Drops the change that waits. */
export const cancelPending = (address, at = Date.now()) => replace(address, at, (known) => known?.pending && write(address, { ...known, pending: null, from: 0 }, known.setAt, known.here));

/** The key of what is known of a recipient of a wallet. */
export const acquaintance = (address, payee) => `${address} ${payee}`;

/** What this device knows of a recipient: {at (when it was told of them first), paid (whether it signed a payment to them)}, or null. */
export const metRecipient = async (address, payee) => (await run(RECIPIENTS, 'readonly', (store) => store.get(acquaintance(address, payee)))) ?? null;

/** Begins the wait for a new recipient. One that has begun goes on. */
export const meetRecipient = (address, payee, at = Date.now()) => run(RECIPIENTS, 'readwrite', (store) => {
  store.get(acquaintance(address, payee)).onsuccess = ({ target }) => {
    if (!target.result) store.put({ id: acquaintance(address, payee), address, at, paid: false });
  };
});
