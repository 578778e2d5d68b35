// What this device signed, and on which network each wallet is used: so that a server that asks for the
// same payment again, or calls real money test money, is found out. Knows storage (through vault.js) and
// no screens. Nothing here is secret: signatures and amounts are public once a payment is sent.

import { HISTORY, NETWORKS, run } from './vault.js';

const KEPT_DAYS = 90;
const KEPT_RECORDS = 500;
const ALIKE_HOURS = 24;
const HOUR = 3_600_000; // milliseconds

/**
 * What was signed before: {same, alike}, each a record or null. `same` has the intent or the reference of
 * this payment, so a second signature may pay it twice. `alike` pays the same amount of the same token to
 * the same recipient, signed within a day. A record is {intent, reference, address, paid, at, signature, handed}.
 */
export async function signedBefore({ intent, reference, address, paid }, now = Date.now()) {
  const all = (await run(HISTORY, 'readonly', (store) => store.getAll())).sort((a, b) => b.at - a.at);
  const same = all.find(isSame({ intent, reference })) ?? null;
  const alike = all.find((r) => r.address === address && r.paid === paid && now - r.at < ALIKE_HOURS * HOUR) ?? null;
  return { same, alike: same ? null : alike };
}

/** Whether a record is of the same payment as another. */
const isSame = ({ intent, reference }) => (r) => r.intent === intent || (reference !== '' && r.reference === reference);

/**
 * Notes a signature, durably: to be awaited before the signature leaves this page. `same` is what signedBefore
 * said of this payment when the person was asked. When another tab has signed it since, nothing is noted, and this
 * signature must be given to nobody. The look and the note are one transaction, so only one of two tabs gets a yes.
 * `handed` is what was handed over, {sha256, signature} or {transaction}, so that the very same can be sent again.
 * The oldest records go when there are too many. Resolves to whether the signature was noted.
 */
export async function noteSigned(record, same, now = Date.now()) {
  let noted = false;
  await run(HISTORY, 'readwrite', (store) => {
    store.getAll().onsuccess = ({ target }) => {
      const all = target.result.sort((a, b) => b.at - a.at);
      if (all.find(isSame(record))?.signature !== same?.signature) return;
      noted = true;
      const others = all.filter((r) => r.intent !== record.intent);
      for (const r of others.filter((o, i) => i >= KEPT_RECORDS - 1 || now - o.at > KEPT_DAYS * 24 * HOUR)) store.delete(r.intent);
      store.put({ ...record, at: now });
    };
  });
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
