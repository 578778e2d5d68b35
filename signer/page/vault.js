// What this browser keeps, in IndexedDB: the wallets as sealed records by address, what was signed with
// them and their networks (history.js), their spending limits and whom they paid (policies.js). Knows storage and nothing of keys; what is
// secret was sealed before (seal.js).

import { LocalizedError } from './catalogue.js';

const NAME = 'purser';
const VERSION = 3;
const WALLETS = 'wallets'; // address -> {address, key, words, created_at, account, derived, passkey}; account: see usedFor, derived: create.js, passkey: passkey.js
export const HISTORY = 'signed'; // intent -> record, see history.js
export const NETWORKS = 'networks'; // address -> {address, chain}
export const POLICIES = 'policies'; // address -> spending limits, see policies.js
export const RECIPIENTS = 'recipients'; // id -> {id, address, at, paid}, see policies.js
export const NOTICES = 'notices'; // address -> {address, default_changed}, see history.js
const KEYS = { [WALLETS]: 'address', [HISTORY]: 'intent', [NETWORKS]: 'address', [POLICIES]: 'address', [RECIPIENTS]: 'id', [NOTICES]: 'address' };

/** Makes the stores that are not there yet; those of an older version stay as they are. */
function upgrade(db) {
  for (const [name, keyPath] of Object.entries(KEYS)) {
    if (!db.objectStoreNames.contains(name)) db.createObjectStore(name, { keyPath });
  }
}

/** Opens the database. It cannot be opened in some private windows, while a tab of an older page holds it, or once a newer page has changed it. */
function open() {
  return new Promise((resolve, reject) => {
    const unread = () => reject(new LocalizedError('error.vault_unread'));
    let opening;
    try {
      opening = indexedDB.open(NAME, VERSION);
    } catch {
      return unread();
    }
    opening.onupgradeneeded = () => upgrade(opening.result);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = unread;
    opening.onblocked = () => {
      reject(new LocalizedError('error.vault_busy'));
      opening.onsuccess = () => opening.result.close(); // it may still open, when nobody waits for it any more
    };
  });
}

const IDLE = 1_000; // milliseconds
let shared = null; // the connection of this page, {db: Promise of an IDBDatabase, used: time}, or null
let running = 0;
let idle; // the timer that closes it

/** Forgets a connection, so that the next transaction opens another one. Its transactions end as usual. */
function close(connection) {
  if (shared === connection) shared = null;
  connection.db.then((db) => db.close(), () => {});
}

/**
 * The connection that transactions share, since opening one takes longer than reading from it. It is closed after a second without work: a tab in the background must not keep a
 * newer page from the database, and a phone that slept may have lost its connections without a word.
 */
function connect() {
  if (shared && running === 0 && Math.abs(Date.now() - shared.used) > IDLE) close(shared);
  if (shared) return shared;
  const connection = { db: open(), used: 0 };
  shared = connection;
  connection.db.then((db) => { db.onversionchange = db.onclose = () => close(connection); }, () => close(connection));
  return connection;
}

/** Begins a transaction, on a new connection if the shared one was closed from outside. */
async function begin(names, mode) {
  const options = { durability: 'strict' };
  const connection = connect();
  const db = await connection.db;
  try {
    return db.transaction(names, mode, options);
  } catch {
    close(connection);
    return (await connect().db).transaction(names, mode, options);
  }
}

/**
 * Runs one transaction and resolves once it is durable. `names` is a store or a list of them; `work` gets them in this order, and returns a
 * request or nothing.
 */
export async function run(names, mode, work) {
  clearTimeout(idle);
  const pending = begin(names, mode);
  running++;
  try {
    const tx = await pending;
    return await new Promise((resolve, reject) => {
      const request = work(...[names].flat().map((name) => tx.objectStore(name)));
      tx.oncomplete = () => resolve(request?.result);
      tx.onabort = () => reject(tx.error ?? new LocalizedError('error.vault_refused'));
      tx.onerror = () => reject(tx.error);
    });
  } finally {
    running--;
    if (shared) shared.used = Date.now();
    if (running === 0) idle = setTimeout(() => shared && close(shared), IDLE);
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

/**
 * Forgets a wallet, what was signed with it, whom it paid, and its network. Its words are then the only way back. Its spending limits
 * stay, and with them what `counts` says of what was signed: removing and restoring a wallet frees nothing.
 */
export async function forget(address, counts) {
  await run(Object.keys(KEYS), 'readwrite', (wallets, history, networks, policies, recipients, notices) => {
    for (const store of [wallets, notices]) store.delete(address);
    const each = (store, work) => { store.getAll().onsuccess = ({ target }) => target.result.filter((r) => r.address === address).forEach(work); };
    policies.get(address).onsuccess = ({ target }) => {
      if (!target.result) networks.delete(address); // which tokens limits are of depends on the network
      each(history, (record) => { if (!target.result || !counts(record)) history.delete(record.intent); });
    };
    each(recipients, ({ id }) => recipients.delete(id));
  });
}
