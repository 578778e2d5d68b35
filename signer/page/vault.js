// The wallets that this browser keeps: sealed records in IndexedDB, by address. Knows storage and
// nothing of keys; what is stored was sealed before (seal.js).

const NAME = 'purser';
const STORE = 'wallets'; // address -> {address, key, words, created_at, account}; account: see usedFor

/** Runs one transaction and resolves once it is durable. `work` returns a request or nothing. */
async function run(mode, work) {
  const db = await new Promise((resolve, reject) => {
    const opening = indexedDB.open(NAME, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE, { keyPath: 'address' });
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
    opening.onblocked = () => reject(new Error('Another tab holds the vault open. Close it and try again.'));
  });
  try {
    return await new Promise((resolve, reject) => {
      const tx = db.transaction(STORE, mode, { durability: 'strict' });
      const request = work(tx.objectStore(STORE));
      tx.oncomplete = () => resolve(request?.result);
      tx.onabort = () => reject(tx.error ?? new Error('The browser refused to store the wallet.'));
      tx.onerror = () => reject(tx.error);
    });
  } finally {
    db.close();
  }
}

/** All wallets, oldest first. */
export async function list() {
  const all = await run('readonly', (store) => store.getAll());
  return all.sort((a, b) => a.created_at.localeCompare(b.created_at));
}

/** The wallet of an address, or null. */
export async function find(address) {
  return (await run('readonly', (store) => store.get(address))) ?? null;
}

/**
 * Stores a sealed wallet (one address, one wallet: a restored one replaces the older record), and
 * asks the browser not to evict it. Resolves to whether the browser promised to keep it.
 */
export async function save(wallet) {
  await run('readwrite', (store) => store.put(wallet));
  try {
    return (await navigator.storage?.persist?.()) ?? false;
  } catch {
    return false; // some browsers reject where others answer false
  }
}

/** Notes for which Telegram account (its id) a wallet was last proven. */
export async function usedFor(address, account) {
  const wallet = await find(address);
  if (wallet) await run('readwrite', (store) => store.put({ ...wallet, account }));
}

/** Forgets a wallet. Its words are then the only way back. */
export async function forget(address) {
  await run('readwrite', (store) => store.delete(address));
}
