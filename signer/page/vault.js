// What this browser keeps, in IndexedDB: the wallets as sealed records by address, what was signed with
// them and their networks (history.js). Knows storage and nothing of keys; what is secret was sealed
// before (seal.js).

import { LocalizedError } from './catalogue.js';

const NAME = 'purser';
const VERSION = 2;
const WALLETS = 'wallets'; // address -> {address, key, words, created_at, account, derived, passkey}; account: see usedFor, derived: create.js, passkey: passkey.js
export const HISTORY = 'signed'; // intent -> record, see history.js
export const NETWORKS = 'networks'; // address -> {address, chain}
const KEYS = { [WALLETS]: 'address', [HISTORY]: 'intent', [NETWORKS]: 'address' };

/** Makes the stores that are not there yet; those of an older version stay as they are. */
function upgrade(db) {
  for (const [name, keyPath] of Object.entries(KEYS)) {
    if (!db.objectStoreNames.contains(name)) db.createObjectStore(name, { keyPath });
  }
}

/** Runs one transaction on one store and resolves once it is durable. `work` returns a request or nothing. */
export async function run(name, mode, work) {
  const db = await new Promise((resolve, reject) => {
    const opening = indexedDB.open(NAME, VERSION);
    opening.onupgradeneeded = () => upgrade(opening.result);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
    opening.onblocked = () => reject(new LocalizedError('error.vault_busy'));
  });
  try {
    return await new Promise((resolve, reject) => {
      const tx = db.transaction(name, mode, { durability: 'strict' });
      const request = work(tx.objectStore(name));
      tx.oncomplete = () => resolve(request?.result);
      tx.onabort = () => reject(tx.error ?? new LocalizedError('error.vault_refused'));
      tx.onerror = () => reject(tx.error);
    });
  } finally {
    db.close();
  }
}

/** All wallets, oldest first. */
export async function list() {
  const all = await run(WALLETS, 'readonly', (store) => store.getAll());
  return all.sort((a, b) => a.created_at.localeCompare(b.created_at));
}

/** The wallet of an address, or null. */
export async function find(address) {
  return (await run(WALLETS, 'readonly', (store) => store.get(address))) ?? null;
}

/**
 * Stores a sealed wallet (one address, one wallet: a restored one replaces the older record and its passkey), and
 * asks the browser not to evict it. Resolves to whether the browser promised to keep it.
 */
export async function save(wallet) {
  await run(WALLETS, 'readwrite', (store) => store.put(wallet));
  try {
    return (await navigator.storage?.persist?.()) ?? false;
  } catch {
    return false; // some browsers reject where others answer false
  }
}

/**
 * Changes a wallet in one transaction, so that two tabs do not overwrite each other: `change` gets what is stored and returns
 * what to store instead, or null to leave it. Resolves to whether it was changed; not when there is no such wallet.
 */
export async function update(address, change) {
  let changed = false;
  await run(WALLETS, 'readwrite', (store) => {
    store.get(address).onsuccess = ({ target }) => {
      const next = target.result ? change(target.result) : null;
      if (next === null) return;
      changed = true;
      store.put(next);
    };
  });
  return changed;
}

/** Notes for which Telegram account (its id) a wallet was last proven. */
export const usedFor = (address, account) => update(address, (wallet) => ({ ...wallet, account }));

/** Forgets a wallet, what was signed with it, and its network. Its words are then the only way back. */
export async function forget(address) {
  await run(WALLETS, 'readwrite', (store) => store.delete(address));
  await run(NETWORKS, 'readwrite', (store) => store.delete(address));
  const signed = await run(HISTORY, 'readonly', (store) => store.getAll());
  await run(HISTORY, 'readwrite', (store) => {
    for (const record of signed) if (record.address === address) store.delete(record.intent);
  });
}
