// A real Chromium and the page's server for one file of tests, and what those tests look at.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { BIND, SIGN, follow, install, launch, noBrowser as skip, restore, serve, title, visit } from './harness.mjs';
import { addr } from './wire.mjs';

export const EVE = addr(0xee);
export const it = (name, work) => test(name, { skip, timeout: 300_000 }, work);

/** The server and the browser of this file; they are there once its tests run. */
export let server;
export let browser;
before(async () => {
  server = await serve();
  if (!skip) browser = await launch();
});
after(async () => {
  await browser?.close();
  await server.close();
});
beforeEach(() => server.reset());

/** What boot.js asks ahead for a link, without using it up. */
const AHEAD = { [SIGN]: '/w/tx/get', [BIND]: '/w/bind/challenge' };

/** Checks that a page which is not complete did nothing with its link: at most it asked what the link is about. */
export const nothingDone = (hash) => assert.deepEqual(server.received.map(({ path }) => path).filter((path) => path !== AHEAD[hash]), []);

/** Opens the page, hands it to `work`, and checks that nothing forbidden happened meanwhile. */
export async function on(hash, work, options) {
  const { tab, context, complaints } = await visit(browser, server, hash, options);
  try {
    // Somebody else on this host may have set a cookie: the page must not carry it along.
    await context.addCookies([{ name: 'stranger', value: '1', url: server.origin }]);
    await work(tab);
    assert.deepEqual(complaints, []);
    assert.equal(await tab.evaluate(() => location.href), `${server.origin}/w/`, 'the link is still in the address bar');
  } finally {
    await context.close();
  }
}

/** A browser whose vault holds the wallet of WORDS, standing on a sign link. */
export const onSign = (work, options) => on('', async (tab) => {
  if (server.world.rounds === 'real') { // what is installed was sealed with few
    await restore(tab);
    await title(tab, 'Wallets on this device');
  } else {
    await install(tab);
  }
  await follow(tab, server, SIGN);
  await work(tab);
}, options);

export const text = (tab) => tab.locator('main').innerText();
/** What is read before a button is reached, folded text left out. */
export const above = (tab, label) => tab.getByRole('button', { name: label, exact: true }).evaluate((button) => {
  const walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  let read = '';
  for (let node; (node = walk.nextNode()) && node.compareDocumentPosition(button) & Node.DOCUMENT_POSITION_FOLLOWING;) {
    if (!node.parentElement.closest('details')) read += node.data;
  }
  return read;
});
/** Whether something is in the window as it stands, all of it, with nothing before it. */
export const inSight = (locator) => locator.evaluate((e) => {
  const { left, right, top, bottom } = e.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight && [top + 2, bottom - 2].every((y) => e.contains(document.elementFromPoint((left + right) / 2, y)));
});
/** What the last screen says was signed. */
export const what = (tab) => tab.locator('main .card.pay').allTextContents();
/** All text of the screen, folded text too. */
export const allText = async (tab) => (await tab.locator('main').textContent()).replace(/\s+/g, ' ');

/** Everything that the vault holds, as one string of bytes and letters. */
export const stored = (tab) => tab.evaluate(async () => {
  const db = await new Promise((resolve, reject) => {
    const r = indexedDB.open('purser'); // the page has opened it before
    r.onsuccess = () => resolve(r.result);
    r.onerror = () => reject(r.error);
  });
  const all = await new Promise((resolve) => {
    const r = db.transaction('wallets').objectStore('wallets').getAll();
    r.onsuccess = () => resolve(r.result);
  });
  db.close();
  return JSON.stringify(all, (_, v) => (v instanceof Uint8Array ? String.fromCharCode(...v) : v));
});

/** What the device remembers: its signatures, and networks of wallets. */
export const kept = (tab) => tab.evaluate(async () => {
  const wait = (r) => new Promise((resolve, reject) => { r.onsuccess = () => resolve(r.result); r.onerror = () => reject(r.error); });
  const db = await wait(indexedDB.open('purser'));
  const all = await Promise.all(['signed', 'networks'].map((name) => wait(db.transaction(name).objectStore(name).getAll())));
  db.close();
  return all;
});

/** A liar: it has the signature, says that it has none, and offers the payment again behind another link. */
export async function offerAgain(tab, change = {}) {
  server.world.status = 'awaiting_signature';
  server.world.payment = { ...server.world.payment, ...change };
  delete server.world.signature;
  await follow(tab, server, '#s=ABCDEFabcdef9876543210');
}
export const BEFORE = 'You already signed this transaction';
