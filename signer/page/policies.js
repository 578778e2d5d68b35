// The spending limits of wallets as this device keeps them, and which recipients it knows. Knows storage (through vault.js) and
// no screens. A server can make a policy stricter here, and never looser: what allows more was signed on this device, and has waited.
//
// A kept policy is {address, current, pending, from, set_at, here}: the policies as the server sends them, from in milliseconds, set_at
// when it was last signed or made stricter, and here whether it was signed on this device. It stays when the wallet is removed.

import { LocalizedError } from './catalogue.js';
import { UNRESTRICTED, KEPT_LIMITS, equal, intersect, loosens, readPolicy, setPolicy, stateAt, writePolicy } from './policy.js';
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
 * {kept, changed}: what is kept now, or null, and what changed, as {stricter, dropped (a change that waited), taken (from limits.signed)}. Who calls has
 * read what is kept (keptPolicy): a damaged record fails there, with its reason.
 *
 * What makes a policy stricter is newer than a change that waits here, since that one already included everything older when it was signed. So it replaces it.
 */
export async function adopt(address, limits, proven, at = Date.now()) {
  let kept = null;
  const changed = { stricter: false, dropped: false, taken: false };
  await replace(address, at, (known) => {
    kept = known;
    if (limits === null) return null;
    const takes = known === null && proven;
    const base = known?.current ?? (takes ? limits.signed.policy : UNRESTRICTED);
    const current = intersect(base, limits.current);
    if ([current.payment, current.day].some((list) => list.length > KEPT_LIMITS)) return null; // a server that makes it grow without end
    changed.taken = takes;
    changed.stricter = !equal(current, base);
    const cancelled = limits.waits === false && Boolean(known?.pending) && loosens(known.pending, limits.current);
    changed.dropped = Boolean(known?.pending) && (changed.stricter || cancelled);
    if (!changed.stricter && !changed.dropped && !changed.taken) return null;
    const pending = changed.dropped ? null : known?.pending ?? null;
    kept = { current, pending, from: pending ? known.from : 0, setAt: at, here: known?.here ?? false };
    return write(address, kept, at, kept.here);
  });
  return { kept, changed };
}

/**
 * Keeps what a policy that was just signed here forbids, before the signature leaves the page: of the rest the device knows only once the server has
 * said yes (keepSigned). `base` is what the person was shown as the policy so far, and counts where nothing is kept.
 */
export const keepStricter = (address, policy, base, at = Date.now()) => replace(address, at, (known) => {
  const current = intersect(known?.current ?? base, policy);
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

/** The key of a recipient of a wallet in RECIPIENTS, whose rows are {id, address, at (when the device first saw them), paid (whether it signed a payment to them)}. */
export const recipientKey = (address, payee) => `${address} ${payee}`;

/** Begins the wait for a new recipient. One that has begun goes on. */
export const startRecipientWait = (address, payee, at = Date.now()) => run(RECIPIENTS, 'readwrite', (store) => {
  store.get(recipientKey(address, payee)).onsuccess = ({ target }) => {
    if (!target.result) store.put({ id: recipientKey(address, payee), address, at, paid: false });
  };
});
