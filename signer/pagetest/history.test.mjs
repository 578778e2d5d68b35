// What the device remembers: signatures that were given, and the network of a wallet.
// In a real Chromium, as a person uses it, against an honest and a hostile server.

import assert from 'node:assert/strict';
import { BEFORE, EVE, above, allText, it, kept, offerAgain, on, onSign, server, text } from './browser.mjs';
import { ADDRESS, BIND, PASSPHRASE, SIGN, approve, follow, payment, press, restore, revisit, title } from './harness.mjs';
import { addr } from './wire.mjs';

it('a payment that was signed here is not signed again unawares: the same signature, or a red warning', () => onSign(async (tab) => {
  server.world.drop['/w/tx/signature'] = 1;
  await approve(tab);
  await title(tab, 'No answer from the server');
  await offerAgain(tab);
  await title(tab, BEFORE);
  assert.match(await text(tab), /signed this transaction on this device today at \d\d:\d\d [A-Z][A-Z\d+:−-]*\. The server asks for it again[^]*it may be carried out twice/);
  assert.equal(await tab.locator('.notice.danger').count(), 1);
  assert.deepEqual(server.posted('/w/tx/refresh').length, 1, 'a second blockhash was asked for');
  await press(tab, 'Resend signature');
  await title(tab, 'Transaction signed');
  const [first, second] = server.posted('/w/tx/signature');
  assert.deepEqual({ ...second, id: first.id }, first, 'another signature was given');
  assert.notEqual(second.id, first.id);

  await offerAgain(tab, { lamports: 7n }); // the reference tells that it is the same payment
  await title(tab, BEFORE);
  await press(tab, 'Reject');
  await title(tab, 'Rejected');
  await offerAgain(tab, { lamports: 1_500_000_000n });
  await press(tab, 'Sign a second time');
  await title(tab, 'Approve this payment?');
  assert.match(await above(tab, 'Approve anyway'), /You already signed this transaction today at[^]*may carry it out twice/);
  assert.equal(await tab.getByRole('button', { name: 'Approve', exact: true }).count(), 0);
  await press(tab, 'Approve anyway');
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Sign and send');
  await title(tab, 'Transaction signed');
  assert.equal(new Set(server.posted('/w/tx/signature').map((s) => s.signature)).size, 2);

  await offerAgain(tab, { reference: addr(0x5f) }); // another payment that looks alike: said, not red
  await title(tab, 'Approve this payment?');
  assert.match(await above(tab, 'Approve'), /signed a payment of the same amount to the same recipient today at/);
  assert.equal(await tab.locator('.notice.danger').count(), 0);
  for (const other of [{ reference: addr(0x60), lamports: 1n }, { reference: addr(0x61), lamports: 1_500_000_000n, to: EVE }]) {
    await offerAgain(tab, other);
    await title(tab, 'Approve this payment?');
    assert.doesNotMatch(await allText(tab), /You (already )?signed/);
  }
}));

it('two tabs on one payment: the second learns that the first has signed', () => onSign(async (tab) => {
  const second = await tab.context().newPage();
  await second.goto(`${server.origin}/w/${SIGN}`);
  await title(second, 'Approve this payment?');
  await approve(tab);
  await title(tab, 'Transaction signed');
  server.world.status = 'awaiting_signature';
  await approve(second);
  await title(second, BEFORE);
  assert.equal(server.posted('/w/tx/signature').length, 1);
}));

it('two tabs approved at once: one signature leaves the browser', () => onSign(async (tab) => {
  const tabs = [tab, await tab.context().newPage()];
  await tabs[1].goto(`${server.origin}/w/${SIGN}`);
  // Both have looked, and neither has noted anything, when they sign: each waits within its signing until it is let go.
  for (const t of tabs) {
    await title(t, 'Approve this payment?');
    await t.evaluate(() => {
      const { sign } = SubtleCrypto.prototype;
      SubtleCrypto.prototype.sign = async function (...given) {
        window.signing = true;
        await new Promise((resolve) => { window.goOn = resolve; });
        return sign.apply(this, given);
      };
    });
  }
  server.world.fail['/w/tx/signature'] = { status: 409, code: 'CONFLICT', message: 'Not now.' }; // it goes on waiting for one, as a liar would
  for (const t of tabs) {
    await approve(t);
    await t.waitForFunction(() => window.signing);
  }
  await Promise.all(tabs.map((t) => t.evaluate(() => window.goOn())));
  const second = await Promise.any(tabs.map((t) => title(t, BEFORE).then(() => t)));
  assert.match(await text(second), /Resend signature/);
  assert.equal(server.posted('/w/tx/refresh').length, 2);
  const [[noted, ...others]] = await kept(tab);
  assert.deepEqual(others, []);
  await title(tabs.find((t) => t !== second), 'The server rejected the signature');
  assert.deepEqual(server.posted('/w/tx/signature').map((s) => s.signature), [noted.signature]);
}));

it('a history that cannot be read signs nothing where the wallet can', () => onSign(async (tab) => {
  await title(tab, 'Approve this payment?');
  await tab.addInitScript(() => {
    const { transaction } = IDBDatabase.prototype;
    IDBDatabase.prototype.transaction = function (name, ...more) {
      if (name === 'signed') throw new DOMException('the disk', 'UnknownError');
      return transaction.call(this, name, ...more);
    };
  });
  await tab.reload();
  await revisit(tab, server, SIGN);
  await title(tab, 'Something went wrong');
  assert.equal(await tab.getByRole('button', { name: 'Approve' }).count(), 0);
  assert.deepEqual(server.posted('/w/tx/refresh'), []);
}));

it('forgetting a wallet forgets what was signed with it, and where', () => onSign(async (tab) => {
  await approve(tab);
  await title(tab, 'Transaction signed');
  assert.deepEqual((await kept(tab)).map((rows) => rows.length), [1, 1]);
  await tab.goto('about:blank');
  await tab.goto(`${server.origin}/w/`);
  await press(tab, 'Remove');
  await tab.getByLabel('Last six characters of the address').fill(ADDRESS.slice(-6));
  await press(tab, 'Remove wallet');
  await title(tab, 'No wallet on this device yet');
  assert.deepEqual(await kept(tab), [[], []]);
}));

it('a wallet of the vault of an older page is still there, and signs', () => on('', async (tab) => {
  await restore(tab);
  await title(tab, 'Wallets on this device');
  await tab.evaluate(async () => { // puts the vault back to how version 1 of it lay
    const wait = (r) => new Promise((resolve, reject) => { r.onsuccess = () => resolve(r.result); r.onerror = () => reject(r.error); });
    let db = await wait(indexedDB.open('purser'));
    const [wallet] = await wait(db.transaction('wallets').objectStore('wallets').getAll());
    db.close();
    await wait(indexedDB.deleteDatabase('purser'));
    const old = indexedDB.open('purser', 1);
    old.onupgradeneeded = () => old.result.createObjectStore('wallets', { keyPath: 'address' });
    db = await wait(old);
    await wait(db.transaction('wallets', 'readwrite').objectStore('wallets').put(wallet));
    db.close();
  });
  await follow(tab, server, SIGN);
  await approve(tab);
  await title(tab, 'Transaction signed');
}));

const CHANGED = 'The network changed';

it('a wallet stays on its network: a change is shown in red, and nothing is called test money', () => on('', async (tab) => {
  const connect = async () => {
    await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
    await press(tab, 'Connect');
  };
  await restore(tab);
  await follow(tab, server, BIND);
  await press(tab, 'Continue');
  await connect();
  await title(tab, 'Go back to the chat'); // on mainnet

  server.world.chain = 'devnet';
  await follow(tab, server, SIGN);
  await title(tab, 'Approve this payment?');
  const decides = await above(tab, 'Approve anyway');
  assert.match(decides, /The network changed\. This wallet is used on Solana mainnet\. The server now says devnet\.[^]*real money[^]*1\.5 SOL[^]*devnet, according to the server/);
  assert.doesNotMatch(decides, /test money/);
  assert.equal(await tab.locator('.notice.danger').count(), 1);

  await press(tab, 'Approve anyway'); // a signature all the same changes nothing of what is remembered
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Sign and send');
  await title(tab, 'Transaction signed');
  assert.deepEqual((await kept(tab))[1], [{ address: ADDRESS, chain: 'mainnet' }]);
  server.world.status = 'awaiting_signature';
  server.world.payment = payment({ reference: addr(0x73) });

  await follow(tab, server, BIND);
  await press(tab, 'Continue');
  await connect();
  await title(tab, CHANGED);
  await press(tab, 'Back');
  await title(tab, 'Create or connect a wallet');
  assert.equal(server.posted('/w/bind').length, 1, 'proven for another network unasked');
  await press(tab, 'Continue');
  await connect();
  await title(tab, CHANGED);
  await press(tab, 'Connect anyway');
  await title(tab, 'Go back to the chat'); // by its owner's word it is on devnet now
  await follow(tab, server, SIGN);
  await title(tab, 'Approve this payment?');
  assert.match(await above(tab, 'Approve'), /devnet \(test money\)/);
  server.world.chain = 'mainnet';
  await follow(tab, server, SIGN);
  await title(tab, 'Approve this payment?');
  assert.match(await above(tab, 'Approve anyway'), /used on devnet\. The server now says Solana mainnet/);
}));

it('what was signed is kept within bounds: the oldest go', () => on('', async (tab) => {
  await restore(tab);
  await title(tab, 'Wallets on this device');
  const fill = (many) => tab.evaluate(async (many) => {
    const wait = (r) => new Promise((resolve, reject) => { r.onsuccess = () => resolve(r.result); r.onerror = () => reject(r.error); });
    const db = await wait(indexedDB.open('purser'));
    const tx = db.transaction('signed', 'readwrite');
    const put = (n, daysAgo) => tx.objectStore('signed').put({ intent: `${n}`, reference: '', address: 'a', paid: '', at: Date.now() - daysAgo * 86_400_000 + n, signature: '', handed: {} });
    for (let n = 0; n < many; n++) put(n, 1);
    put(1000, 91);
    put(1001, 89);
    await new Promise((resolve) => { tx.oncomplete = resolve; });
    db.close();
  }, many);
  const signs = async (reference) => {
    server.reset();
    server.world.payment = payment({ reference });
    await follow(tab, server, SIGN);
    await approve(tab);
    await title(tab, 'Transaction signed');
    return (await kept(tab))[0].map((r) => r.intent);
  };
  await fill(10);
  const few = await signs(addr(0x64));
  assert.ok(few.length === 12 && !few.includes('1000') && few.includes('1001') && few.includes('0'), 'by age');
  await fill(505);
  const names = await signs(addr(0x65));
  assert.equal(names.length, 500);
  assert.ok(!names.includes('1001') && !names.includes('6') && names.includes('7') && names.filter((n) => n.length === 64).length === 2, `others than the oldest went: ${names.slice(0, 9)}`);
}));

it('the first signature pins the network of a wallet that was never connected here', () => onSign(async (tab) => {
  await approve(tab);
  await title(tab, 'Transaction signed');
  server.reset();
  server.world.chain = 'localnet';
  server.world.payment = payment({ reference: addr(0x62) });
  await follow(tab, server, SIGN);
  await title(tab, 'Approve this payment?');
  assert.match(await above(tab, 'Approve anyway'), /used on Solana mainnet\. The server now says a local network/);
}));

it('another default wallet, by the server’s word, is told on the device of this one until it was seen, and decides nothing', () => onSign(async (tab) => {
  const TOLD = /Another wallet became the default of this Telegram account on 20 Nov 2026 at [^]*\/freeze/;
  let reference = 0x20;
  const offers = async (at) => {
    server.reset();
    server.world.view = { default_wallet_changed_at: at };
    server.world.payment = payment({ reference: addr(++reference) });
    await revisit(tab, server, SIGN);
    await title(tab, 'Approve this payment?');
  };
  for (const none of [null, undefined, '', 'yesterday', 5, {}, '2026-11-20T20:00:00+01:00', '<b>']) {
    await offers(none);
    assert.doesNotMatch(await allText(tab), /Another wallet/);
  }
  for (let i = 0; i < 2; i++) { // looking is not enough
    await offers('2026-11-20T20:00:00Z');
    assert.match(await above(tab, 'Approve'), TOLD);
    assert.equal(await tab.locator('.notice.danger').count(), 0);
  }
  await press(tab, 'OK');
  await tab.getByText('Another wallet').waitFor({ state: 'detached' });
  await offers('2026-11-20T20:00:00Z');
  assert.doesNotMatch(await allText(tab), /Another wallet/);
  await offers('2026-11-20T20:00:01Z'); // the next change
  assert.match(await above(tab, 'Approve'), TOLD);
  await approve(tab);
  await title(tab, 'Transaction signed');
  await offers('2026-11-20T20:00:01Z');
  assert.doesNotMatch(await allText(tab), /Another wallet/);
}));
