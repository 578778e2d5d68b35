// The page in a real Chromium, as a person uses it, against an honest and a hostile server.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { ed25519 } from '@noble/curves/ed25519';
import { base58 } from '@scure/base';
import * as oracle39 from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english';
import { HDKey } from 'micro-key-producer/slip10.js';
import { SystemProgram, PublicKey } from '@solana/web3.js';
import {
  ADDRESS, BIND, BOB, OTHER_WORDS, PASSPHRASE, PHONE, REFERENCE, SIGN, WORDS, answerQuiz, approve,
  choosePassphrase, compile, follow, launch, noBrowser as skip, payment, press, readWords, restore, serve, title, visit,
} from './rig.mjs';
import { transfer } from './fixtures.mjs';
import { ZERO_HASH, addr } from './wire.mjs';

const EVE = addr(0xee);
const it = (name, work) => test(name, { skip, timeout: 300_000 }, work);

let server;
let browser;
before(async () => {
  server = await serve();
  if (!skip) browser = await launch();
});
after(async () => {
  await browser?.close();
  await server.close();
});
beforeEach(() => server.reset());

/** Opens the page, hands it to `work`, and checks that nothing forbidden happened meanwhile. */
async function on(hash, work, options) {
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
const onSign = (work, options) => on('', async (tab) => {
  await restore(tab);
  await title(tab, 'Wallets on this device');
  await follow(tab, server, SIGN);
  await work(tab);
}, options);

const text = (tab) => tab.locator('main').innerText();
/** What is read before a button is reached, folded text left out. */
const above = (tab, label) => tab.getByRole('button', { name: label, exact: true }).evaluate((button) => {
  const walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  let said = '';
  for (let node; (node = walk.nextNode()) && node.compareDocumentPosition(button) & Node.DOCUMENT_POSITION_FOLLOWING;) {
    if (!node.parentElement.closest('details')) said += node.data;
  }
  return said;
});
/** Whether something is in the window as it stands, all of it, with nothing before it. */
const inSight = (locator) => locator.evaluate((e) => {
  const { left, right, top, bottom } = e.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight && [top + 2, bottom - 2].every((y) => e.contains(document.elementFromPoint((left + right) / 2, y)));
});
const whole = async (tab) => (await tab.locator('main').textContent()).replace(/\s+/g, ' ');

/** Everything that the vault holds, as one string of bytes and letters. */
const stored = (tab) => tab.evaluate(async () => {
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
const kept = (tab) => tab.evaluate(async () => {
  const wait = (r) => new Promise((resolve, reject) => { r.onsuccess = () => resolve(r.result); r.onerror = () => reject(r.error); });
  const db = await wait(indexedDB.open('purser'));
  const all = await Promise.all(['signed', 'networks'].map((name) => wait(db.transaction(name).objectStore(name).getAll())));
  db.close();
  return all;
});

it('a wallet that is somebody else\'s is refused, and the same link goes on with another', () => on(BIND, async (tab) => {
  server.world.fail['/w/bind'] = { status: 409, code: 'CONFLICT', message: 'This address is connected to another Telegram account.' };
  const make = async (open) => {
    await press(tab, open);
    await press(tab, 'Show recovery phrase');
    const words = await readWords(tab);
    await press(tab, 'I wrote it down');
    await answerQuiz(tab, words);
    await press(tab, 'Continue');
    await choosePassphrase(tab);
    await press(tab, 'Connect to Telegram');
  };
  await make('Create a wallet');
  await title(tab, 'Connect a wallet to Telegram');
  assert.match(await text(tab), /connected to another Telegram account[^]*The link still works/);
  delete server.world.fail['/w/bind'];
  await make('Create a wallet');
  await title(tab, 'Go back to the chat');
  const [taken, mine] = server.said('/w/bind');
  assert.notEqual(mine.address, taken.address);
  assert.equal(mine.token, taken.token);
}));

it('create, quiz, passphrase, bind: the server gets a proof of the address and nothing else', () => on(BIND, async (tab) => {
  await title(tab, 'Connect a wallet to Telegram');
  assert.match(await tab.locator('pre.signed').textContent(), /\(your wallet’s address\)[^]*Telegram account 700100\./);
  assert.match(await text(tab), /Alice Liddell[^]*@alice[^]*700100[^]*Close this page/);
  await press(tab, 'Create a wallet');
  await press(tab, 'Show recovery phrase');
  const words = await readWords(tab);
  assert.equal(words.length, 12);
  await press(tab, 'I wrote it down');

  await answerQuiz(tab, words.map(() => 'zoo'));
  await press(tab, 'Continue');
  await tab.getByRole('alert').filter({ hasText: /(is|are) wrong/ }).waitFor();
  await press(tab, 'Show it again');
  assert.deepEqual(await readWords(tab), words, 'other words the second time');
  await press(tab, 'I wrote it down');
  await answerQuiz(tab, words);
  await press(tab, 'Continue');
  assert.equal(await stored(tab), '[]', 'stored before there was a passphrase');
  assert.ok(!(await tab.content()).includes('wants you to sign in'));
  await choosePassphrase(tab);
  assert.match(await text(tab), /^Your wallet is ready\s+One step left: connect it to Telegram\./);
  await tab.getByText('Text your wallet signs').click();
  const proof = await tab.locator('pre.signed').innerText();
  assert.deepEqual(server.said('/w/bind'), []);
  await press(tab, 'Connect to Telegram');
  await title(tab, 'Go back to the chat');

  const [{ token, address, signature }] = server.said('/w/bind');
  assert.equal(token, BIND.slice(3));
  assert.match(await whole(tab), new RegExp(`last six characters: ?${address.slice(-6)}`));
  assert.ok(ed25519.verify(base58.decode(signature), Buffer.from(proof), base58.decode(address)), 'another text was signed than was shown');

  const traffic = server.heard.map((h) => h.text + JSON.stringify(h.headers)).join('\n');
  for (const secret of [words.join(' '), words.slice(0, 3).join(' '), PASSPHRASE]) {
    assert.ok(!traffic.includes(secret), 'a secret was sent');
    assert.ok(!(await stored(tab)).includes(secret), 'a secret lies open in the vault');
  }
  assert.deepEqual(await tab.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie]), [0, 0, 'stranger=1']);
  for (const h of server.heard.filter((x) => x.headers.origin)) {
    assert.equal(h.headers.cookie, undefined);
    assert.equal(h.headers.referer, undefined);
    assert.equal(h.headers.origin, server.origin);
  }
}));

it('the proof is a signature of exactly the text of the design', () => on('', async (tab) => {
  await restore(tab);
  Object.assign(server.world.challenge, { issued_at: '2026-11-21T10:00:00Z', expires_at: '2099-11-21T10:10:00.5Z' });
  await follow(tab, server, BIND);
  const shown = [];
  const unfold = async () => { await tab.getByText('Text your wallet signs').click(); shown.push(await tab.locator('pre.signed').innerText()); };
  await title(tab, 'Connect a wallet to Telegram');
  await unfold();
  await press(tab, 'Continue');
  await title(tab, 'Connect this wallet');
  await unfold();
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Connect');
  await title(tab, 'Go back to the chat');
  const [{ address, signature }] = server.said('/w/bind');
  const signed = `${server.origin.slice(7)} wants you to sign in with your Solana account:\n${ADDRESS}\n\nConnect this wallet to the Telegram account 700100.\n\nURI: ${server.origin}\nVersion: 1\nChain ID: mainnet\nNonce: aB3dE5gH7jK9mN1p\nIssued At: 2026-11-21T10:00:00Z\nExpiration Time: 2099-11-21T10:10:00.5Z`;
  assert.equal(address, ADDRESS);
  assert.ok(ed25519.verify(base58.decode(signature), Buffer.from(signed), base58.decode(ADDRESS)));
  assert.deepEqual(shown, [signed, signed], 'another text is shown than is signed');
}));

it('a challenge with a bad field is not signed', async () => {
  for (const bad of [{ telegram_id: '7\nURI: evil' }, { nonce: 'abc' }, { chain: 'testnet' }, { issued_at: 'now' }, { expires_at: null }, { telegram_id: 700100 }]) {
    server.reset();
    server.world.challenge = bad;
    await on(BIND, async (tab) => {
      await title(tab, 'Something went wrong');
      assert.match(await text(tab), /unexpected \(\w+\)\. Nothing was signed/);
      assert.deepEqual(server.said('/w/bind'), []);
    });
  }
});

it('a name that would reorder the page is shown for what it is', () => {
  server.world.challenge = { telegram_name: '\u202eecilA <img src=x onerror=alert(1)>', username: 'a\u2066b' };
  return on(BIND, async (tab) => {
    await title(tab, 'Connect a wallet to Telegram');
    const shown = await text(tab);
    assert.ok(shown.includes('\ufffdecilA <img src=x onerror=alert(1)>') && shown.includes('@a\ufffdb'), shown);
    assert.equal(await tab.locator('main img').count(), 0);
  });
});

it('a bind answer for another address is not believed', () => on('', async (tab) => {
  await restore(tab);
  server.world.answerAddress = EVE;
  await follow(tab, server, BIND);
  await press(tab, 'Continue');
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Connect');
  await title(tab, 'Something went wrong');
  assert.match(await text(tab), /different address than yours/);
}));

it('a lost answer to the proof: the same proof again', () => on('', async (tab) => {
  await restore(tab);
  server.world.drop['/w/bind'] = 1;
  await follow(tab, server, BIND);
  await press(tab, 'Continue');
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Connect');
  await title(tab, 'No answer from the server');
  await press(tab, 'Send again');
  await title(tab, 'Go back to the chat');
  const [first, second] = server.said('/w/bind');
  assert.deepEqual(first, second);
}));

it('sign: what is shown comes from the bytes, and the signature fits them', () => {
  server.world.payment = payment({ units: 450, micro: 20_000n });
  return onSign(async (tab) => {
    await title(tab, 'Approve this payment?');
    const shown = await whole(tab);
    for (const part of ['1.5 SOL', BOB, ADDRESS, 'Lunch, thank you', '0.000005009 SOL', '1.500005009 SOL', REFERENCE, 'Solana mainnet']) {
      assert.ok(shown.includes(part), `${part} is not shown: ${shown}`);
    }
    const decides = await above(tab, 'Approve');
    for (const part of ['1.5 SOL', BOB, 'Compare the whole address', '0.000005009 SOL', '1.500005009 SOL', 'Lunch, thank you', 'Solana mainnet']) {
      assert.ok(decides.includes(part), `${part} stands below the buttons: ${decides}`);
    }
    await tab.getByText('More about this payment').click();
    assert.deepEqual(await tab.locator('main .address').evaluateAll((all) => all.map((a) => a.textContent)), [BOB, ADDRESS], 'the reference looks like an address');
    assert.ok((await text(tab)).includes(REFERENCE));
    assert.deepEqual(server.said('/w/tx/refresh'), [], 'refreshed before approval');
    await approve(tab, 'not this one, no');
    await tab.getByRole('alert').filter({ hasText: 'does not unlock the wallet' }).waitFor();
    assert.equal(await tab.getByLabel('Passphrase', { exact: true }).inputValue(), '', 'a wrong passphrase stays');
    assert.deepEqual(server.said('/w/tx/refresh'), [], 'refreshed without the passphrase');
    await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
    await press(tab, 'Sign and send');
    await title(tab, 'Payment signed');
    assert.ok((await whole(tab)).includes(server.world.signature), 'the signature that the server verified');
    assert.equal(server.said('/w/tx/signature').length, 1);
    assert.equal(server.world.status, 'signed');
    assert.ok(!server.heard.some((h) => h.text.includes(PASSPHRASE)));
  });
});

it('the answer to a payment is in reach without scrolling, whatever it says', async () => {
  const button = (tab, name) => tab.getByRole('button', { name, exact: true });
  for (const options of [{ ...PHONE }, { viewport: { width: 1280, height: 900 } }, { ...PHONE, viewport: { width: 320, height: 568 } }]) {
    server.reset();
    await onSign(async (tab) => {
      for (const pay of [payment(), payment({ note: 'm'.repeat(500), lamports: 18446744073709551615n })]) {
        server.reset();
        server.world.payment = pay;
        await follow(tab, server, SIGN);
        await title(tab, 'Approve this payment?');
        await tab.locator('.amount').getByText(pay.note.length > 99 ? '18446744073.709551615' : '1.5').waitFor();
        assert.ok(await inSight(button(tab, 'Approve')) && await inSight(button(tab, 'Reject')), JSON.stringify(options.viewport));
        assert.ok(await inSight(tab.locator('.amount')) && await inSight(tab.locator('.to')), 'the buttons hide sum or recipient');
        await tab.locator('details').scrollIntoViewIfNeeded();
        const [bar, fold] = await Promise.all(['.sticky', 'summary'].map((s) => tab.locator(s).boundingBox()));
        assert.ok(fold.y >= bar.y + bar.height || fold.y + fold.height <= bar.y, 'the buttons stand on what is scrolled to');
      }
    }, options);
  }
});

it('test money is called that, and no paragraph about real money stands in the way', () => {
  server.world.chain = 'devnet';
  return onSign(async (tab) => {
    await title(tab, 'Approve this payment?');
    const decides = await above(tab, 'Approve');
    assert.match(decides, /devnet \(test money\)/);
    assert.doesNotMatch(decides, /real money|which network/);
    assert.match(await whole(tab), /A signature does not say which network it is for/);
  });
});

it('a legacy message without note, reference and budget is signed as well', () => {
  server.world.payment = payment({ note: '', reference: '', v0: false, lamports: 1n });
  return onSign(async (tab) => {
    await title(tab, 'Approve this payment?');
    const shown = await whole(tab);
    assert.ok(shown.includes('0.000000001 SOL') && !shown.includes('Note') && !shown.includes('reference'), shown);
    await approve(tab);
    await title(tab, 'Payment signed');
    await offerAgain(tab, { lamports: 2n }); // two payments without a reference are not one
    await title(tab, 'Approve this payment?');
    await offerAgain(tab, { lamports: 1n });
    await title(tab, BEFORE);
  });
});

it('a swapped recipient is shown as the recipient', () => {
  server.world.payment = payment({ to: EVE });
  return onSign(async (tab) => {
    await title(tab, 'Approve this payment?');
    const shown = await whole(tab);
    assert.ok(shown.includes(EVE) && !shown.includes(BOB), shown);
  });
});

it('what is no plain payment is refused, and can be turned down', async () => {
  const bytes = (p) => Buffer.from(compile(payment(p), ZERO_HASH)).toString('base64');
  const assign = SystemProgram.assign({ accountPubkey: new PublicKey(ADDRESS), programId: new PublicKey(EVE) });
  const hostile = {
    too_many_actions: bytes({ extra: [transfer(5, { from: ADDRESS, to: EVE })] }),
    unknown_instruction: bytes({ extra: [assign] }),
    memo: bytes({ note: 'pay \u202eecila' }),
    budget: bytes({ units: 1_000_000, micro: 2_000_000n }),
    signers: bytes({ payer: EVE }),
    malformed: `${Buffer.from([...compile(payment(), ZERO_HASH), 0]).toString('base64')}`,
    version: Buffer.from([0x81, ...compile(payment(), ZERO_HASH).subarray(1)]).toString('base64'),
  };
  await onSign(async (tab) => {
    for (const [code, message] of Object.entries(hostile)) {
      server.reset();
      server.world.rawMessage = message;
      await follow(tab, server, SIGN);
      await title(tab, 'This page blocked the transaction');
      await tab.locator('main').getByText(code, { exact: true }).waitFor();
      if (code === 'version') assert.match(await text(tab), /a version 1 transaction\. This page only signs legacy and version 0 transactions/);
      assert.equal(await tab.getByRole('button', { name: 'Approve' }).count(), 0);
      await press(tab, 'Reject');
      await title(tab, 'Rejected');
      assert.deepEqual([server.said('/w/tx/refresh'), server.said('/w/tx/signature')], [[], []], code);
      assert.equal(server.world.status, 'rejected');
    }
  });
});

it('a change at refresh is refused with a warning, and nothing is signed', async () => {
  const changes = {
    'another amount': (w) => { w.refreshed = { lamports: 1_500_000_001n }; },
    'another recipient': (w) => { w.refreshed = { to: EVE }; },
    'another reference': (w) => { w.refreshed = { reference: addr(0x5f) }; },
    'another note': (w) => { w.refreshed = { note: 'Lunch, thank you!' }; },
    'a priority fee': (w) => { w.refreshed = { units: 450, micro: 1n }; },
    'another transfer': (w) => { w.refreshed = { extra: [transfer(5, { from: ADDRESS, to: EVE })] }; },
    'another format': (w) => { w.refreshed = { v0: false }; },
    'another wallet': (w) => { w.refreshView = { address: BOB }; },
    'another network': (w) => { w.refreshView = { chain: 'devnet' }; },
    'no blockhash': (w) => { w.blockhash = ZERO_HASH; },
  };
  await onSign(async (tab) => {
    for (const [name, change] of Object.entries(changes)) {
      server.reset();
      change(server.world);
      await follow(tab, server, SIGN);
      await approve(tab);
      await title(tab, 'Stop: the payment was changed');
      assert.match(await text(tab), /Nothing was signed/, name);
      assert.equal(server.said('/w/tx/refresh').length, 1, name);
      assert.deepEqual(server.said('/w/tx/signature'), [], name);
    }
  });
});

it('an answer of another shape is refused', async () => {
  for (const view of [{ message: 'AAAA' }, { message: '@@' }, { status: 5 }, { chain: 'moon' }, { address: 'x' }, { expires_at: 'soon' }, { status: 'signed' }]) {
    server.reset();
    server.world.refreshView = view;
    await onSign(async (tab) => {
      await approve(tab);
      await tab.getByText(/unexpected|Stop: the payment was changed/).first().waitFor();
      assert.deepEqual(server.said('/w/tx/signature'), [], JSON.stringify(view));
    });
  }
});

it('a lost answer to the signature: the same signature again, and no second one', () => onSign(async (tab) => {
  server.world.drop['/w/tx/signature'] = 2;
  await approve(tab);
  for (let i = 0; i < 2; i++) {
    await title(tab, 'No answer from the server');
    await press(tab, 'Send again');
  }
  await title(tab, 'Payment signed');
  const sent = server.said('/w/tx/signature');
  assert.equal(sent.length, 3);
  assert.equal(new Set(sent.map((s) => JSON.stringify(s))).size, 1);
  assert.equal(server.said('/w/tx/refresh').length, 1);
}));

/** A liar: it has the signature, says that it has none, and offers the payment again behind another link. */
async function offerAgain(tab, change = {}) {
  server.world.status = 'awaiting_signature';
  server.world.payment = { ...server.world.payment, ...change };
  delete server.world.signature;
  await follow(tab, server, '#s=ABCDEFabcdef9876543210');
}
const BEFORE = 'You already signed this payment';

it('a payment that was signed here is not signed again unawares: the same signature, or a red warning', () => onSign(async (tab) => {
  server.world.drop['/w/tx/signature'] = 1;
  await approve(tab);
  await title(tab, 'No answer from the server');
  await offerAgain(tab);
  await title(tab, BEFORE);
  assert.match(await text(tab), /signed this payment on this device today at \d\d:\d\d\. The server asks for it again[^]*you may pay twice/);
  assert.equal(await tab.locator('.notice.danger').count(), 1);
  assert.deepEqual(server.said('/w/tx/refresh').length, 1, 'a second blockhash was asked for');
  await press(tab, 'Resend signature');
  await title(tab, 'Payment signed');
  const [first, second] = server.said('/w/tx/signature');
  assert.deepEqual({ ...second, id: first.id }, first, 'another signature was given');
  assert.notEqual(second.id, first.id);

  await offerAgain(tab, { lamports: 7n }); // the reference tells that it is the same payment
  await title(tab, BEFORE);
  await press(tab, 'Reject');
  await title(tab, 'Rejected');
  await offerAgain(tab, { lamports: 1_500_000_000n });
  await press(tab, 'Sign a second time');
  await title(tab, 'Approve this payment?');
  assert.match(await above(tab, 'Approve anyway'), /You already signed this payment today at[^]*may pay it twice/);
  assert.equal(await tab.getByRole('button', { name: 'Approve', exact: true }).count(), 0);
  await press(tab, 'Approve anyway');
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Sign and send');
  await title(tab, 'Payment signed');
  assert.equal(new Set(server.said('/w/tx/signature').map((s) => s.signature)).size, 2);

  await offerAgain(tab, { reference: addr(0x5f) }); // another payment that looks alike: said, not red
  await title(tab, 'Approve this payment?');
  assert.match(await above(tab, 'Approve'), /signed a payment of the same amount to the same recipient today at/);
  assert.equal(await tab.locator('.notice.danger').count(), 0);
  for (const other of [{ reference: addr(0x60), lamports: 1n }, { reference: addr(0x61), lamports: 1_500_000_000n, to: EVE }]) {
    await offerAgain(tab, other);
    await title(tab, 'Approve this payment?');
    assert.doesNotMatch(await whole(tab), /You (already )?signed/);
  }
}));

it('two tabs on one payment: the second learns that the first has signed', () => onSign(async (tab) => {
  const second = await tab.context().newPage();
  await second.goto(`${server.origin}/w/${SIGN}`);
  await title(second, 'Approve this payment?');
  await approve(tab);
  await title(tab, 'Payment signed');
  server.world.status = 'awaiting_signature';
  await approve(second);
  await title(second, BEFORE);
  assert.equal(server.said('/w/tx/signature').length, 1);
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
  assert.equal(server.said('/w/tx/refresh').length, 2);
  const [[noted, ...others]] = await kept(tab);
  assert.deepEqual(others, []);
  await title(tabs.find((t) => t !== second), 'The server rejected the signature');
  assert.deepEqual(server.said('/w/tx/signature').map((s) => s.signature), [noted.signature]);
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
  await tab.goto('about:blank');
  await follow(tab, server, SIGN);
  await title(tab, 'Something went wrong');
  assert.equal(await tab.getByRole('button', { name: 'Approve' }).count(), 0);
  assert.deepEqual(server.said('/w/tx/refresh'), []);
}));

it('a private key takes the place of a wallet with words only when the person says so', () => on('', async (tab) => {
  await restore(tab);
  await title(tab, 'Wallets on this device');
  const words = () => tab.evaluate(() => new Promise((resolve) => {
    indexedDB.open('purser').onsuccess = ({ target: { result: db } }) => {
      db.transaction('wallets').objectStore('wallets').getAll().onsuccess = (e) => { db.close(); resolve(e.target.result.map((w) => w.words !== null)); };
    };
  }));
  const key = HDKey.fromMasterSeed(oracle39.mnemonicToSeedSync(WORDS)).derive("m/44'/501'/0'/0'").privateKey;
  const typed = base58.encode(Uint8Array.from([...key, ...ed25519.getPublicKey(key)]));
  const bring = async () => {
    await tab.getByLabel('Private key', { exact: true }).fill(typed);
    await press(tab, 'Continue');
    await title(tab, 'You already have this wallet');
  };
  await press(tab, 'Restore a wallet');
  await press(tab, 'Import a private key');
  await bring();
  await press(tab, 'Keep phrase');
  await title(tab, 'Restore a wallet');
  assert.deepEqual(await words(), [true]);
  await press(tab, 'Import a private key');
  await bring();
  await press(tab, 'Delete the phrase');
  await choosePassphrase(tab);
  assert.deepEqual(await words(), [false]);
}));

it('forgetting a wallet forgets what was signed with it, and where', () => onSign(async (tab) => {
  await approve(tab);
  await title(tab, 'Payment signed');
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
  await title(tab, 'Payment signed');
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
  await title(tab, 'Payment signed');
  assert.deepEqual((await kept(tab))[1], [{ address: ADDRESS, chain: 'mainnet' }]);
  server.world.status = 'awaiting_signature';
  server.world.payment = payment({ reference: addr(0x73) });

  await follow(tab, server, BIND);
  await press(tab, 'Continue');
  await connect();
  await title(tab, CHANGED);
  await press(tab, 'Back');
  await title(tab, 'Connect a wallet to Telegram');
  assert.equal(server.said('/w/bind').length, 1, 'proven for another network unasked');
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
    await title(tab, 'Payment signed');
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
  await title(tab, 'Payment signed');
  server.reset();
  server.world.chain = 'localnet';
  server.world.payment = payment({ reference: addr(0x62) });
  await follow(tab, server, SIGN);
  await title(tab, 'Approve this payment?');
  assert.match(await above(tab, 'Approve anyway'), /used on Solana mainnet\. The server now says localnet/);
}));

it('a server error is no verdict: it can be tried again', () => onSign(async (tab) => {
  server.world.fail['/w/tx/refresh'] = { status: 503, code: 'NETWORK_ERROR', message: 'x' };
  await approve(tab);
  await tab.getByRole('alert').filter({ hasText: 'did not answer' }).waitFor();
  server.world.fail = {};
  const field = tab.getByLabel('Passphrase', { exact: true });
  assert.equal(await field.inputValue(), '', 'the passphrase stays in its field');
  await field.fill(PASSPHRASE);
  await press(tab, 'Sign and send');
  await title(tab, 'Payment signed');
}));

const CONFLICT = { status: 409, code: 'CONFLICT', message: 'This payment waits for no signature any more.' };

it('a refusal by a payment that has moved on ends with what became of it', () => onSign(async (tab) => {
  let payments = 0x70;
  await title(tab, 'Approve this payment?'); // what the first visit asks is not counted below
  for (const [path, status, heading] of [
    ['/w/tx/refresh', 'rejected', 'Rejected'], ['/w/tx/refresh', 'expired', 'Expired'], ['/w/tx/refresh', 'signed', 'Already signed'],
    ['/w/tx/signature', 'rejected', 'Rejected'], ['/w/tx/signature', 'confirmed', 'Confirmed'],
  ]) {
    server.reset();
    server.world.payment = payment({ reference: addr(++payments) }); // another one each time
    await follow(tab, server, SIGN);
    await title(tab, 'Approve this payment?');
    server.world.fail[path] = { ...CONFLICT, then: status };
    await approve(tab);
    await title(tab, heading);
    assert.equal(await tab.getByRole('button').count(), 0, `${path}: something can still be pressed`);
    assert.equal(await tab.locator('input').count(), 0, `${path}: the passphrase is still asked for`);
    assert.ok(server.said('/w/tx/get').length >= 2, path); // one that is on its way is asked after again
  }
  server.reset();
  await follow(tab, server, SIGN);
  await title(tab, 'Approve this payment?');
  server.world.fail['/w/tx/reject'] = { ...CONFLICT, then: 'expired' };
  await press(tab, 'Reject');
  await title(tab, 'Expired');
}));

it('a refused blockhash of a payment that still waits: the whole way again, or a rejection', () => onSign(async (tab) => {
  const busy = { status: 429, code: 'RATE_LIMIT_EXCEEDED', message: 'Too often: try again in a minute.' };
  server.world.fail['/w/tx/refresh'] = busy;
  await approve(tab);
  await title(tab, 'The payment was not signed');
  assert.match(await text(tab), /Too often: try again in a minute/);
  server.world.fail = {};
  await press(tab, 'Try again');
  await title(tab, 'Approve this payment?');
  server.world.fail['/w/tx/refresh'] = busy;
  await approve(tab);
  await title(tab, 'The payment was not signed');
  await press(tab, 'Reject');
  await title(tab, 'Rejected');
  assert.deepEqual(server.said('/w/tx/signature'), []);
}));

it('a refusal with nothing more to learn stands for itself', () => onSign(async (tab) => {
  await title(tab, 'Approve this payment?');
  Object.assign(server.world.fail, { '/w/tx/refresh': CONFLICT, '/w/tx/get': { status: 503, code: 'INTERNAL', message: 'x' } });
  await approve(tab);
  await title(tab, 'This link no longer works');
  assert.match(await text(tab), /waits for no signature any more/);
  assert.deepEqual(server.said('/w/tx/signature'), []);
}));

it('a refused signature says to look in the chat', () => onSign(async (tab) => {
  server.world.fail['/w/tx/signature'] = { status: 409, code: 'CONFLICT', message: 'The time to sign is over.' };
  await approve(tab);
  await title(tab, 'The server rejected the signature');
  assert.match(await text(tab), /time to sign is over[^]*before you start it again/);
  assert.equal(await tab.getByRole('button').count(), 0, 'a second signature could be given');
}));

it('reject asks for no passphrase and signs nothing', () => onSign(async (tab) => {
  await press(tab, 'Reject');
  await title(tab, 'Rejected');
  assert.deepEqual(server.said('/w/tx/reject'), [{ id: SIGN.slice(3) }]);
  assert.deepEqual(server.said('/w/tx/signature'), []);
}));

it('a transaction that waits for no signature says what became of it', () => on('', async (tab) => {
  for (const [status, heading] of Object.entries({
    awaiting_confirmation: 'Not confirmed yet', delayed: 'Payment delayed', signed: 'Already signed', pending: 'On its way',
    confirmed: 'Confirmed', failed: 'Payment failed', rejected: 'Rejected', expired: 'Expired', toString: 'Nothing to sign', '<b>': 'Nothing to sign',
  })) {
    server.world.status = status;
    await follow(tab, server, SIGN);
    await title(tab, heading);
    assert.equal(await tab.getByRole('button').count(), 0);
  }
}));

it('expiry between showing and signing is told, not signed', () => onSign(async (tab) => {
  await title(tab, 'Approve this payment?');
  server.world.status = 'expired';
  await approve(tab);
  await title(tab, 'Expired');
  assert.deepEqual(server.said('/w/tx/signature'), []);
}));

it('a key in another browser: the payment is shown, and words are asked for only on request', () => on(SIGN, async (tab) => {
  await title(tab, 'A payment is waiting for you');
  const shown = await above(tab, 'Copy link');
  for (const part of ['1.5 SOL', BOB, 'This wallet is not in this browser. Open the link in the browser where you created the wallet.', ADDRESS]) {
    assert.ok(shown.includes(part), `${part} is not shown: ${shown}`);
  }
  assert.ok((await whole(tab)).includes('1.500005 SOL'), 'what it costs is not shown');
  assert.match(await text(tab), /Do not trust a page that asks for your recovery phrase on its own/);
  assert.equal(await tab.locator('input, textarea').count(), 0, 'words are asked for at once');
  assert.equal(await tab.getByRole('button', { name: 'Approve' }).count(), 0);
  await press(tab, 'Copy link');
  await tab.getByText('Copied').waitFor();
  assert.equal(await tab.evaluate(() => navigator.clipboard.readText()), `${server.origin}/w/${SIGN}`);
  await press(tab, LOST);
  await title(tab, 'Restore this wallet');
  assert.ok((await whole(tab)).includes(ADDRESS));
  await press(tab, 'Back');
  await title(tab, 'A payment is waiting for you');
}, { permissions: ['clipboard-read', 'clipboard-write'] }));

it('without its key a payment with another recipient is shown as that, and a refused one is refused', async () => {
  server.world.payment = payment({ to: EVE });
  await on(SIGN, async (tab) => {
    await title(tab, 'A payment is waiting for you');
    assert.ok((await whole(tab)).includes(EVE) && !(await whole(tab)).includes(BOB));
    server.world.payment = payment({ extra: [transfer(5, { from: ADDRESS, to: EVE })] });
    await follow(tab, server, SIGN);
    await title(tab, 'This page blocked the transaction');
  });
});

const LOST = 'Restore this wallet';

it('a lost browser leads to Restore: other words are told apart, the right ones sign', () => on(SIGN, async (tab) => {
  await title(tab, 'A payment is waiting for you');
  await press(tab, LOST);
  const words = tab.getByLabel('Recovery phrase');
  const says = (t) => tab.getByText(t).waitFor();
  await words.fill(OTHER_WORDS);
  await press(tab, 'Continue');
  await says(/belongs to another wallet, ending in/);
  await words.fill(WORDS.replace('about', 'abuot'));
  await press(tab, 'Continue');
  await says('Word 12, “abuot”: did you mean “about”?');
  await words.fill(WORDS.replace('about', 'zoo'));
  await press(tab, 'Continue');
  await says(/together they are not a recovery phrase/);
  await words.fill('abandon abandon');
  await press(tab, 'Continue');
  await says(/You entered 2 words/);
  await words.fill(WORDS.toUpperCase().replaceAll(' ', '\n'));
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  assert.match(await text(tab), /One step left: approve the payment\./);
  await press(tab, 'Show payment');
  await approve(tab);
  await title(tab, 'Payment signed');
}));

it('a missing vault can also turn the payment down', () => on(SIGN, async (tab) => {
  await press(tab, 'Reject');
  await title(tab, 'Rejected');
}));

it('a forgotten passphrase: the words bring the wallet back under another, and the same payment is signed', () => onSign(async (tab) => {
  const way = tab.getByRole('button', { name: 'Forgot your passphrase?' });
  await press(tab, 'Approve');
  await title(tab, 'Sign with your passphrase');
  assert.equal(await way.count(), 0, 'offered before it is needed');
  await tab.getByLabel('Passphrase', { exact: true }).fill('not this one, no');
  await press(tab, 'Sign and send');
  await tab.getByRole('alert').getByText('This passphrase does not unlock the wallet.', { exact: true }).waitFor();
  await way.click();
  await title(tab, 'Restore this wallet');
  await press(tab, 'Back');
  await title(tab, 'Sign with your passphrase');
  await press(tab, 'Back');
  await title(tab, 'Approve this payment?');
  await approve(tab, 'not this one, no');
  await way.click();
  await tab.getByLabel('Recovery phrase').fill(OTHER_WORDS);
  await press(tab, 'Continue');
  await tab.getByText(/belongs to another wallet, ending in/).waitFor();
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await choosePassphrase(tab, 'another quiet river bends');
  await press(tab, 'Show payment');
  await title(tab, 'Approve this payment?');
  assert.deepEqual(server.said('/w/tx/refresh'), [], 'something was signed on the way');
  await approve(tab);
  await tab.getByRole('alert').filter({ hasText: 'does not unlock the wallet' }).waitFor(); // the old one is of no use now
  await tab.getByLabel('Passphrase', { exact: true }).fill('another quiet river bends');
  await press(tab, 'Sign and send');
  await title(tab, 'Payment signed');
}));

it('a forgotten passphrase does not stop connecting either, nor does it show words', () => on('', async (tab) => {
  const wrong = async (label) => {
    await tab.getByLabel('Passphrase', { exact: true }).fill('not this one, no');
    await press(tab, label);
    await press(tab, 'Forgot your passphrase?');
    await title(tab, 'Restore this wallet');
    await tab.getByLabel('Recovery phrase').fill(WORDS);
    await press(tab, 'Continue');
    await choosePassphrase(tab);
  };
  await restore(tab);
  await press(tab, 'Show recovery phrase');
  await wrong('Show recovery phrase');
  await press(tab, 'Done');
  await title(tab, 'Wallets on this device');
  await follow(tab, server, BIND);
  await press(tab, 'Continue');
  await wrong('Connect');
  await press(tab, 'Connect to Telegram');
  await title(tab, 'Go back to the chat');
  assert.equal(server.said('/w/bind')[0].address, ADDRESS);
}));

it('24 words restore too, and the vault outlives a reload', () => on('', async (tab) => {
  await restore(tab, `${'abandon '.repeat(23)}art`);
  await title(tab, 'Wallets on this device');
  await tab.reload();
  await title(tab, 'Wallets on this device');
  await press(tab, 'Show recovery phrase');
  await tab.getByLabel('Passphrase', { exact: true }).fill('a wrong passphrase');
  await press(tab, 'Show recovery phrase');
  await tab.getByRole('alert').filter({ hasText: 'does not unlock' }).waitFor();
  assert.equal(await tab.locator('.words').count(), 0);
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Show recovery phrase');
  await title(tab, 'Your recovery phrase');
  assert.equal((await tab.locator('.words li').allTextContents()).join(' '), `${'abandon '.repeat(23)}art`);
  await press(tab, 'Hide phrase');
  await title(tab, 'Wallets on this device');
  assert.ok(!(await tab.content()).includes('>art<'));
}));

/** What web wallets derive: account n of words, with a BIP-39 passphrase. */
const oracle = (words, n = 0, extra = '') => {
  const { privateKey } = HDKey.fromMasterSeed(oracle39.mnemonicToSeedSync(words.trim(), extra)).derive(`m/44'/501'/${n}'/0'`);
  const publicKey = ed25519.getPublicKey(privateKey);
  return { address: base58.encode(publicKey), secret: base58.encode(Uint8Array.from([...privateKey, ...publicKey])) };
};
const options = async (tab, { extra = '', choose = false }) => {
  await tab.getByText('Advanced options').click();
  await tab.getByLabel('BIP-39 passphrase').fill(extra);
  if (choose) await tab.getByLabel('Choose a different account').check();
};

it('a further account is chosen, by what is on it if the person asks the server', () => on(BIND, async (tab) => {
  const third = oracle(WORDS, 2).address;
  await press(tab, 'Restore a wallet');
  await options(tab, { choose: true });
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await title(tab, 'Choose an account');
  const listed = await tab.locator('.choice .address').allTextContents();
  assert.deepEqual(listed, Array.from({ length: 10 }, (_, n) => oracle(WORDS, n).address));
  await press(tab, 'Continue');
  await tab.getByRole('alert').filter({ hasText: 'Choose one' }).waitFor();
  assert.deepEqual(server.said('/w/bind/accounts'), [], 'asked before the button was pressed');
  assert.match(await text(tab), /know that the addresses belong together/);
  server.world.fail['/w/bind/accounts'] = { status: 429, code: 'RATE_LIMIT_EXCEEDED', message: 'Too many requests.' };
  await press(tab, 'Find used accounts');
  await tab.getByText('Too many requests.').waitFor();
  server.world.fail = {};
  server.world.inUse = [third];
  await press(tab, 'Find used accounts');
  await tab.getByText('m/44’/501’/2’/0’ · holds SOL').waitFor();
  assert.equal(await tab.getByText('· no SOL').count(), 9);
  assert.deepEqual(server.said('/w/bind/accounts').at(-1), { token: BIND.slice(3), addresses: listed });
  await press(tab, 'Continue'); // the only one in use was chosen beforehand
  await choosePassphrase(tab);
  await press(tab, 'Connect to Telegram');
  await title(tab, 'Go back to the chat');
  assert.equal(server.said('/w/bind')[0].address, third);

  await tab.goto('about:blank');
  await tab.goto(`${server.origin}/w/`);
  await press(tab, 'Show recovery phrase');
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Show recovery phrase');
  await title(tab, 'Your recovery phrase');
  assert.match(await text(tab), /m\/44’\/501’\/2’\/0’ \(account 3\)/);
  assert.equal((await tab.locator('.words li').allTextContents()).join(' '), WORDS.trim());
  await press(tab, 'Hide phrase');
  await press(tab, 'Restore a wallet'); // without a link nobody is asked
  await options(tab, { choose: true });
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await title(tab, 'Choose an account');
  assert.equal(await tab.getByRole('button', { name: 'Find used accounts' }).count(), 0);
  await press(tab, 'Show 10 more');
  await tab.getByText('Account 11 · m/44’/501’/10’/0’').waitFor();
  assert.equal(await tab.locator('.choice .address').last().textContent(), oracle(WORDS, 19).address);
  await press(tab, 'Back');
  await title(tab, 'Restore a wallet');
  await options(tab, { choose: true });
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await press(tab, 'Show 10 more');
  await tab.getByText('Account 11 ·').click();
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  assert.ok((await whole(tab)).includes(oracle(WORDS, 10).address), 'another account than was chosen');
}));

it('a BIP-39 passphrase and 15 words give the wallet that others derive; the passphrase is kept and sent nowhere', () => on('', async (tab) => {
  const words = oracle39.entropyToMnemonic(new Uint8Array(20).fill(7), wordlist);
  await press(tab, 'Restore a wallet');
  await options(tab, { extra: 'a Secret twentyfifth' });
  await tab.getByLabel('Recovery phrase').fill(words);
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  assert.ok((await whole(tab)).includes(oracle(words, 0, 'a Secret twentyfifth').address));
  await press(tab, 'Done');
  await press(tab, 'Show recovery phrase');
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  await press(tab, 'Show recovery phrase');
  await title(tab, 'Your recovery phrase');
  assert.match(await text(tab), /also needs the BIP-39 passphrase[^]*not stored here/);
  assert.ok(!(await stored(tab)).includes('twentyfifth'));
  assert.deepEqual(server.heard, []);
}));

it('a payment from a further account, or with a BIP-39 passphrase, finds its account in the words by itself', () => on(SIGN, async (tab) => {
  for (const [n, extra, at] of [[3, '', '#s=fedcbafedcba00000001'], [1, 'TREZOR', '#s=fedcbafedcba00000002']]) {
    server.reset();
    const { address } = oracle(WORDS, n, extra);
    server.world.address = address;
    server.world.payment = payment({ payer: address, reference: addr(0x80 + n) });
    await follow(tab, server, at);
    await title(tab, 'A payment is waiting for you');
    await press(tab, LOST);
    await tab.getByLabel('Recovery phrase').fill(WORDS);
    if (extra) {
      await press(tab, 'Continue');
      await tab.getByText(/belongs to another wallet[^]*If you added a BIP-39 passphrase/).waitFor();
      await options(tab, { extra });
      assert.equal(await tab.getByLabel('Choose a different account').count(), 0);
    }
    await press(tab, 'Continue');
    await choosePassphrase(tab);
    await press(tab, 'Show payment');
    await approve(tab);
    await title(tab, 'Payment signed');
    assert.deepEqual(server.said('/w/bind/accounts'), []);
  }
}));

it('a private key is imported as Phantom shows it or from id.json, signs, and is shown again', () => on(SIGN, async (tab) => {
  const { secret } = oracle(WORDS);
  const { secret: foreign } = oracle(OTHER_WORDS);
  await press(tab, LOST);
  await press(tab, 'Import a private key');
  const typed = tab.getByLabel('Private key');
  await typed.fill(foreign);
  await press(tab, 'Continue');
  await tab.getByText(/belongs to another wallet, ending in/).waitFor();
  await typed.fill(secret.slice(0, -1));
  await press(tab, 'Continue');
  await tab.getByRole('alert').filter({ hasText: /64 bytes|do not match/ }).waitFor();
  await typed.fill(JSON.stringify([...base58.decode(secret)]));
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  await press(tab, 'Show payment');
  await approve(tab);
  await title(tab, 'Payment signed');

  await tab.goto('about:blank');
  await tab.goto(`${server.origin}/w/`);
  await title(tab, 'Wallets on this device');
  assert.equal(await tab.getByRole('button', { name: 'Show recovery phrase' }).count(), 0, 'words of a wallet that has none');
  const shows = async () => {
    await press(tab, 'Show private key');
    await tab.getByLabel('Passphrase', { exact: true }).fill('not this one, no');
    await press(tab, 'Show private key');
    await tab.getByRole('alert').filter({ hasText: 'does not unlock' }).waitFor();
    await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
    await press(tab, 'Show private key');
    await title(tab, 'Your private key');
    const forms = await tab.locator('main .signed').allTextContents();
    await press(tab, 'Hide key');
    await title(tab, 'Wallets on this device');
    assert.ok(!(await tab.content()).includes(forms[0]));
    return forms;
  };
  assert.deepEqual(await shows(), [secret, JSON.stringify([...base58.decode(secret)])]);
  assert.ok(!(await stored(tab)).includes(String.fromCharCode(...base58.decode(secret).slice(0, 32))), 'the key lies open in the vault');
  assert.ok(!server.heard.some((h) => h.text.includes(secret)));
  await restore(tab); // the same wallet by its words
  assert.deepEqual(await shows(), [secret, JSON.stringify([...base58.decode(secret)])]);
}));

it('contact and app stand apart, marked as the server\'s word', () => {
  server.world.view = { contact: 'Bob\u202e <img src=x>', app: 'Shop', bot: 'purser_bot' };
  return onSign(async (tab) => {
    await title(tab, 'Approve this payment?');
    const said = (await tab.locator('.claimed').innerText()).replace(/\s+/g, ' ');
    assert.equal(said, 'From the server, not part of the transaction Your contact: Bob\ufffd <img src=x> Requested by the app: Shop');
    assert.ok((await above(tab, 'Approve')).includes(BOB));
    server.world.view = { contact: 7, app: null };
    await follow(tab, server, SIGN);
    await title(tab, 'Approve this payment?');
    await tab.locator('.claimed').waitFor({ state: 'detached' });
  });
});

it('a signed payment is followed to its end, with a way back to the chat', () => {
  server.world.view = { bot: 'purser_bot' };
  return onSign(async (tab) => {
    const done = () => tab.locator('.steps .done').allTextContents();
    await approve(tab);
    await title(tab, 'Payment signed');
    assert.deepEqual(await done(), ['Signed']);
    const link = tab.getByRole('link', { name: 'Back to chat' });
    assert.deepEqual([await link.getAttribute('href'), await link.getAttribute('rel')], ['https://t.me/purser_bot', 'noreferrer']);
    server.world.fail['/w/tx/get'] = { status: 503, code: 'X', message: 'x' }; // one look without an answer is no end
    await tab.waitForResponse('**/w/tx/get');
    server.world.fail = {};
    server.world.status = 'pending';
    await tab.locator('.steps .done').filter({ hasText: 'Sent to Solana' }).waitFor();
    assert.match(await tab.locator('#status').textContent(), /Solana has received it/);
    server.world.view.held = true;
    await tab.locator('main').getByText('Nobody can tell yet').waitFor();
    server.world.status = 'confirmed';
    await title(tab, 'Confirmed');
    assert.ok((await whole(tab)).includes(server.world.signature) && await link.count() === 1);
    for (const [code, says] of [['BLOCKHASH_EXPIRED', /did not reach Solana in time\. Nothing was paid/], ['CHAIN_ERROR', /Solana rejected it/], ['toString', /This payment failed/]]) {
      Object.assign(server.world, { status: 'signed', view: { bot: 'evil/../x', error_code: code } });
      await follow(tab, server, SIGN);
      await title(tab, 'Already signed');
      server.world.status = 'failed';
      await title(tab, 'Payment failed');
      assert.match(await text(tab), says);
      assert.equal(await link.count(), 0, 'a link that the page did not check');
      assert.match(await text(tab), /Go back to the chat/);
    }
  });
});

it('restoring speaks plainly', () => on('', async (tab) => {
  await press(tab, 'Restore a wallet');
  await title(tab, 'Restore a wallet');
  assert.match(await text(tab), /check the site’s address[^]*12, 15, 18, 21 or 24 words, in order, separated by spaces/);
  assert.doesNotMatch(await text(tab), /blank|origin|address bar|vault/i);
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  assert.match(await text(tab), /^Your wallet is ready\s+To connect it to Telegram, send \/wallet new/);
}));

/** Which wallets are offered: their last six characters, a + for the chosen one, what is said of them. */
const offered = async (tab) => {
  await title(tab, 'Connect a wallet to Telegram');
  return tab.locator('.choice').evaluateAll((all) => all.map((c) =>
    [[...c.querySelectorAll('.last')].map((l) => l.textContent).join('') + (c.querySelector('input').checked ? '+' : ''), c.querySelector('.hint')?.textContent ?? '']));
};

it('of the wallets on a device, one is chosen beforehand only if it alone fits', () => on('', async (tab) => {
  const as = (id) => { server.reset(); server.world.challenge = { telegram_id: id }; };
  const connect = async () => {
    await press(tab, 'Continue');
    await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
    await press(tab, 'Connect');
  };
  const first = ADDRESS.slice(-6);
  await restore(tab);

  await follow(tab, server, BIND); // nobody's yet, and the only one
  assert.deepEqual(await offered(tab), [[`${first}+`, '']]);
  await connect();
  await title(tab, 'Go back to the chat');
  await follow(tab, server, BIND);
  assert.deepEqual(await offered(tab), [[`${first}+`, 'Used for this Telegram account before']]);

  as('700200'); // somebody else at the same device
  await follow(tab, server, BIND);
  assert.deepEqual(await offered(tab), [[first, 'Used for another Telegram account (ID 700100)']]);
  await press(tab, 'Continue');
  await tab.getByRole('alert').filter({ hasText: 'Choose one of these wallets' }).waitFor();
  assert.equal(await tab.evaluate(() => document.activeElement.type), 'radio', 'the choice has not the focus');
  await press(tab, 'Restore a wallet');
  await tab.getByLabel('Recovery phrase').fill(OTHER_WORDS);
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  server.world.fail['/w/bind'] = { status: 409, code: 'CONFLICT', message: 'This address is connected to another Telegram account.' };
  await press(tab, 'Connect to Telegram');
  await tab.getByText('The link still works').waitFor();
  const both = await offered(tab);
  const second = both[1][0];
  assert.deepEqual(both, [[first, 'Used for another Telegram account (ID 700100)'], [second, 'Already connected']]);

  as('700100'); // two that fit
  await follow(tab, server, BIND);
  assert.deepEqual(await offered(tab), [[first, 'Used for this Telegram account before'], [second, '']]);

  as('700300'); // the only one that fits is not the first
  await follow(tab, server, BIND);
  assert.deepEqual(await offered(tab), [[first, 'Used for another Telegram account (ID 700100)'], [`${second}+`, '']]);
  await connect();
  await title(tab, 'Go back to the chat');
  assert.ok(server.said('/w/bind')[0].address.endsWith(second));
}));

it('forgetting a wallet wants its last six characters', () => on('', async (tab) => {
  await restore(tab);
  await press(tab, 'Remove');
  await tab.getByLabel('Last six characters of the address').fill(ADDRESS.slice(-6).toLowerCase());
  await press(tab, 'Remove wallet');
  await tab.getByRole('alert').filter({ hasText: 'not its last six' }).waitFor();
  await tab.getByLabel('Last six characters of the address').fill(ADDRESS.slice(-6));
  await press(tab, 'Remove wallet');
  await title(tab, 'No wallet on this device yet');
  assert.equal(await stored(tab), '[]');
}));

it('a wallet\'s buttons stand in two lines on a phone: what one does often, and Forget apart', async () => {
  for (const width of [390, 320]) {
    await on('', async (tab) => {
      await restore(tab);
      await title(tab, 'Wallets on this device');
      const middle = async (locator) => { const { y, height } = await locator.boundingBox(); return Math.round(y + height / 2); };
      const of = (name) => middle(tab.getByRole('button', { name, exact: true }));
      assert.equal(await of('Copy address'), await of('Show recovery phrase'), `${width}`);
      assert.ok(Math.abs(await of('Remove') - await middle(tab.getByText(/^Stored here since/))) <= 1, `${width}`);
      assert.ok(await of('Remove') > await of('Copy address'));
    }, { ...PHONE, viewport: { width, height: 844 } });
  }
});

it('a dead link to sign sends back to the chat, one to connect to a new link', async () => {
  const gone = { status: 404, code: 'NOT_FOUND', message: 'There is nothing behind this link.' };
  server.world.fail = { '/w/tx/get': gone, '/w/bind/challenge': gone };
  await on(SIGN, async (tab) => {
    await title(tab, 'This link no longer works');
    assert.match(await text(tab), /The chat shows what happened to the payment[^]*the chat has a new link/);
  });
  await on(BIND, async (tab) => {
    await title(tab, 'This link no longer works');
    assert.match(await text(tab), /Ask the bot for a new link/);
  });
});

it('weak or differing passphrases store nothing', () => on('', async (tab) => {
  await press(tab, 'Restore a wallet');
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  const first = tab.getByLabel('Passphrase', { exact: true });
  const again = tab.getByLabel('Repeat passphrase', { exact: true });
  for (const [one, two, answer] of [['short', 'short', 'at least 12'], ['123456789012', '123456789012', 'Digits alone'], ['password1234', 'password1234', 'Common words'], [PASSPHRASE, `${PASSPHRASE}s`, 'passphrases differ']]) {
    await first.fill(one);
    await again.fill(two);
    await press(tab, 'Encrypt and save');
    await tab.getByRole('alert').filter({ hasText: answer }).waitFor();
  }
  const proposal = await tab.locator('.proposal').textContent();
  await press(tab, 'Suggest another');
  assert.notEqual(await tab.locator('.proposal').textContent(), proposal);
  await tab.getByRole('alert').filter({ hasText: 'passphrases differ' }).waitFor();
  await press(tab, 'Use this one');
  assert.equal(await tab.locator('.error').textContent(), '', 'the old error stands');
  assert.equal(await again.inputValue(), '', 'the second field is for typing');
  const why = () => again.evaluate((e) => document.getElementById(e.getAttribute('aria-describedby')).textContent);
  assert.match(await why(), /type it here from your paper/);
  assert.match(await tab.locator('#status').textContent(), /type it here from your paper/);
  await press(tab, 'Encrypt and save');
  await tab.getByRole('alert').filter({ hasText: 'passphrases differ' }).waitFor();
  await again.fill(await tab.locator('.proposal').textContent());
  assert.equal(await tab.locator('.error').textContent(), '', 'the error outlives what it was about');
  await press(tab, 'Encrypt and save');
  await title(tab, 'Your wallet is ready');
}));

it('a second link in the same tab ends the first flow', () => onSign(async (tab) => {
  await title(tab, 'Approve this payment?');
  await follow(tab, server, BIND);
  await title(tab, 'Connect a wallet to Telegram');
  await follow(tab, server, SIGN);
  await title(tab, 'Approve this payment?');
  await follow(tab, server, '#s=short');
  await title(tab, 'This link is incomplete');
}));

it('a slow answer of an ended flow does not take the page back, nor sign', () => onSign(async (tab) => {
  let release;
  server.world.hold['/w/tx/refresh'] = new Promise((resolve) => { release = resolve; });
  const asked = tab.waitForRequest('**/w/tx/refresh');
  await approve(tab);
  await asked;
  await follow(tab, server, BIND);
  await title(tab, 'Connect a wallet to Telegram');
  const answered = tab.waitForResponse('**/w/tx/refresh');
  release();
  await (await answered).finished();
  // Give the old flow the time that it would need to sign: the same work, thrice.
  for (let i = 0; i < 3; i++) await tab.evaluate(() => crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']).then(() => undefined));
  await title(tab, 'Connect a wallet to Telegram');
  assert.deepEqual(server.said('/w/tx/signature'), []);
}));

it('a reload loses the link and says so; without a link before it, nothing is missed', () => on('', async (tab) => {
  await tab.reload();
  await title(tab, 'No wallet on this device yet');
  for (const [hash, heading] of [[BIND, 'Connect a wallet to Telegram'], [SIGN, 'A payment is waiting for you'], ['#s=short', 'This link is incomplete']]) {
    await follow(tab, server, hash);
    await title(tab, heading);
    const asked = server.heard.length;
    for (let i = 0; i < 2; i++) {
      await tab.reload();
      await title(tab, 'Open the link again');
      assert.match(await text(tab), /tap the link there/);
    }
    assert.equal(server.heard.length, asked, 'asked the server without a link');
    assert.ok(!(await tab.evaluate(() => JSON.stringify(history.state))).includes(hash.slice(3)), 'the history keeps the link');
  }
  await follow(tab, server, BIND);
  await title(tab, 'Connect a wallet to Telegram');
  await tab.goto('about:blank');
  await tab.goBack();
  await title(tab, 'Open the link again');
  await press(tab, 'Show my wallets');
  await title(tab, 'No wallet on this device yet');
  await tab.reload();
  await title(tab, 'No wallet on this device yet');
}));

it('inside Telegram the real browser is urged first, with the whole link to copy', () => on(BIND, async (tab) => {
  await title(tab, 'Open this in your browser');
  assert.deepEqual(server.heard, [], 'the link was used before the choice');
  await press(tab, 'Copy link');
  await tab.getByText('Copied').waitFor();
  assert.equal(await tab.evaluate(() => navigator.clipboard.readText()), `${server.origin}/w/${BIND}`);
}, { userAgent: 'Mozilla/5.0 (Linux; Android 15) Telegram-Android/12.0', permissions: ['clipboard-read', 'clipboard-write'] }));

it('a browser without Ed25519 gets an explanation, not a broken page', async () => {
  const context = await browser.newContext(PHONE);
  const tab = await context.newPage();
  await tab.addInitScript(() => {
    SubtleCrypto.prototype.generateKey = async () => { throw new DOMException('Unrecognized name', 'NotSupportedError'); };
  });
  await tab.goto(`${server.origin}/w/`);
  await title(tab, 'This browser is not supported');
  assert.match(await text(tab), /Chrome[^]*Firefox[^]*Safari/);
  assert.deepEqual(server.heard, []);
  await follow(tab, server, BIND);
  await title(tab, 'Connect a wallet to Telegram');
  assert.match(await text(tab), /Chrome[^]*Firefox[^]*Safari/);
  assert.equal(await tab.getByRole('button', { name: 'Create a wallet' }).count(), 0);
  await press(tab, 'Use a wallet app');
  await title(tab, 'Use a wallet app');
  await context.close();
});

it('the policy is in force: no markup from text, no inline code, no other server, no frame', async () => {
  const { tab, context } = await visit(browser, server);
  await title(tab, 'No wallet on this device yet');
  await assert.rejects(tab.evaluate(() => { document.body.innerHTML = '<b>x</b>'; }), /TrustedHTML/);
  await assert.rejects(tab.evaluate(() => trustedTypes.createPolicy('x', {})), /disallowed/);
  await assert.rejects(tab.evaluate((elsewhere) => fetch(elsewhere), `${server.origin.replace('127.0.0.1', 'localhost')}/w/`), /Failed to fetch/);
  await assert.rejects(tab.evaluate(() => document.body.setAttribute('onclick', 'alert(1)')), /TrustedScript/);
  const position = await tab.evaluate(() => {
    document.body.setAttribute('style', 'position: fixed');
    return getComputedStyle(document.body).position;
  });
  assert.equal(position, 'static', 'an inline style was applied');
  const outside = await context.newPage();
  await outside.setContent(`<iframe src="${server.origin}/w/"></iframe><iframe src="${server.origin}/w/icon.svg"></iframe>`);
  await outside.waitForLoadState();
  assert.deepEqual(outside.frames().slice(1).map((f) => f.url()), Array(2).fill('chrome-error://chromewebdata/'), 'framed by another page');
  await context.close();
});

it('the keyboard alone creates a wallet, binds it and signs', () => on(BIND, async (tab) => {
  const focused = () => tab.evaluate(() => (document.activeElement.tagName === 'BUTTON' ? document.activeElement.textContent : document.activeElement.id));
  const reach = async (what) => {
    for (let i = 0; i < 30; i++) {
      if ((await focused()) === what) return;
      await tab.keyboard.press('Tab');
    }
    assert.fail(`Tab does not reach ${what}`);
  };
  const enter = async (what) => { await reach(what); await tab.keyboard.press('Enter'); };
  const type = async (id, words) => { await reach(id); await tab.keyboard.type(words); };

  await title(tab, 'Connect a wallet to Telegram');
  assert.equal(await tab.evaluate(() => document.activeElement.tagName), 'H1', 'a new screen takes the focus');
  await enter('Create a wallet');
  await title(tab, 'Create a wallet');
  await enter('Show recovery phrase');
  const words = await readWords(tab);
  await enter('I wrote it down');
  await title(tab, 'Confirm your recovery phrase');
  for (const id of await tab.locator('form input').evaluateAll((list) => list.map((i) => i.id))) {
    await type(id, words[Number(id.replace('word-', '')) - 1]);
  }
  await tab.keyboard.press('Enter');
  await title(tab, 'Choose a passphrase');
  await type('passphrase', PASSPHRASE);
  await type('again', PASSPHRASE);
  await tab.keyboard.press('Enter');
  await title(tab, 'Your wallet is ready');
  await enter('Connect to Telegram');
  await title(tab, 'Go back to the chat');

  const { address } = server.world.bound;
  server.world.address = address;
  server.world.payment = payment({ payer: address });
  await follow(tab, server, SIGN);
  await title(tab, 'Approve this payment?');
  await enter('Approve');
  await title(tab, 'Sign with your passphrase');
  await type('passphrase', PASSPHRASE);
  await tab.keyboard.press('Enter');
  await title(tab, 'Payment signed');
}));
