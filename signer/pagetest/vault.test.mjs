// How the page uses its database: one connection for what is read together, which nobody has to wait for, and which may be lost at any time.

import assert from 'node:assert/strict';
import { it, on, server } from './browser.mjs';
import { SIGN, approve, follow, install, title } from './harness.mjs';

/** Counts the connections that the page opens and closes, as `globalThis.database`. Call `slept()` to stop its timers of a second, as a phone that sleeps does. */
const counting = (tab) => tab.addInitScript(() => {
  const database = globalThis.database = { opened: 0, closed: 0, connections: [], sleeping: false };
  const { open } = IDBFactory.prototype;
  IDBFactory.prototype.open = function (...args) {
    const request = open.apply(this, args);
    database.opened++;
    request.addEventListener('success', () => database.connections.push(request.result));
    return request;
  };
  const { close } = IDBDatabase.prototype;
  IDBDatabase.prototype.close = function () {
    database.closed++;
    return close.call(this);
  };
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (work, after, ...args) => setTimeout(() => { if (!(database.sleeping && after === 1000)) work(...args); }, after);
});

/** The page with a wallet, on a link that signs, its connections counted from the start of the visit. */
const onCounted = (work) => on('', async (tab) => {
  await install(tab);
  await counting(tab);
  await tab.goto('about:blank');
  await tab.goto(`${server.origin}/w/${SIGN}`);
  await title(tab, 'Approve this payment?');
  await work(tab);
});

const counted = (tab) => tab.evaluate(() => ({ opened: globalThis.database.opened, open: globalThis.database.opened - globalThis.database.closed }));

it('what a link needs is read over one connection, which is closed once nothing is read any more', () => onCounted(async (tab) => {
  assert.equal((await counted(tab)).opened, 1);
  await tab.waitForFunction(() => globalThis.database.opened === globalThis.database.closed);
  await approve(tab);
  await title(tab, 'Transaction signed');
  await tab.waitForFunction(() => globalThis.database.opened === globalThis.database.closed);
}));

it('a newer page can change the database at once while the connection is open', () => onCounted(async (tab) => {
  await tab.evaluate(() => { globalThis.database.sleeping = true; }); // nothing closes it by itself
  await follow(tab, server, '#s=ABCDEFabcdef9876543210');
  await title(tab, 'Approve this payment?');
  assert.equal((await counted(tab)).open, 1);
  const blocked = await tab.evaluate(() => new Promise((resolve, reject) => {
    const request = indexedDB.open('purser', 99);
    request.onblocked = () => resolve(true);
    request.onsuccess = () => { request.result.close(); resolve(false); };
    request.onerror = () => reject(request.error);
  }));
  assert.equal(blocked, false);
}));

it('a connection that was lost is replaced', () => onCounted(async (tab) => {
  await tab.evaluate(() => { globalThis.database.sleeping = true; });
  await follow(tab, server, '#s=ABCDEFabcdef9876543210');
  await title(tab, 'Approve this payment?');
  await tab.evaluate(() => globalThis.database.connections.at(-1).close()); // behind the page's back
  const { opened } = await counted(tab);
  await approve(tab);
  await title(tab, 'Transaction signed');
  assert.equal((await counted(tab)).opened, opened + 1);
}));

it('a connection that was not used for a while is not used again, even if no timer has closed it', () => onCounted(async (tab) => {
  await tab.evaluate(() => { globalThis.database.sleeping = true; });
  await follow(tab, server, '#s=ABCDEFabcdef9876543210');
  await title(tab, 'Approve this payment?');
  const { opened, open } = await counted(tab);
  assert.equal(open, 1);
  await tab.evaluate(() => {
    const { now } = Date;
    Date.now = () => now() + 5_000;
    globalThis.database.connections.at(-1).transaction = () => { throw new Error('a lost connection was used'); };
  });
  await approve(tab);
  await title(tab, 'Transaction signed');
  const later = await counted(tab);
  assert.equal(later.opened, opened + 1);
  assert.equal(later.open, 1, 'the old connection was left open');
}));
