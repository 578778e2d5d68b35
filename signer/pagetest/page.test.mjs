// The page itself: its links, its policy, its keyboard, passphrases, and wallets on the device.
// In a real Chromium, as a person uses it, against an honest and a hostile server.

import assert from 'node:assert/strict';
import { browser, it, nothingDone, on, onSign, server, stored, text } from './browser.mjs';
import { ADDRESS, BIND, PASSPHRASE, PHONE, SIGN, WORDS, approve, follow, install, paste, payment, press, readWords, restore, title, visit } from './harness.mjs';

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
    assert.match(await text(tab), /The chat shows what happened[^]*the chat has a new link/);
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
  await press(tab, 'Show another');
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

it('a second link in the same tab ends the first flow', () => on('', async (tab) => {
  await install(tab);
  await paste(tab, server, SIGN);
  await title(tab, 'Approve this payment?');
  await paste(tab, server, BIND);
  await title(tab, 'Create or connect a wallet');
  await paste(tab, server, SIGN);
  await title(tab, 'Approve this payment?');
  await paste(tab, server, '#s=short');
  await title(tab, 'This link is incomplete');
}));

it('a slow answer of an ended flow does not take the page back, nor sign', () => on('', async (tab) => {
  await install(tab);
  await paste(tab, server, SIGN); // in the whole page, which goes on to the second link without a reload
  let release;
  server.world.hold['/w/tx/refresh'] = new Promise((resolve) => { release = resolve; });
  const asked = tab.waitForRequest('**/w/tx/refresh');
  await approve(tab);
  await asked;
  await paste(tab, server, BIND);
  await title(tab, 'Create or connect a wallet');
  const answered = tab.waitForResponse('**/w/tx/refresh');
  release();
  await (await answered).finished();
  // Give the old flow the time that it would need to sign: the same work, thrice.
  for (let i = 0; i < 3; i++) await tab.evaluate(() => crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']).then(() => undefined));
  await title(tab, 'Create or connect a wallet');
  assert.deepEqual(server.posted('/w/tx/signature'), []);
}));

it('a reload loses the link and says so; without a link before it, nothing is missed', () => on('', async (tab) => {
  await tab.reload();
  await title(tab, 'No wallet on this device yet');
  for (const [hash, heading] of [[BIND, 'Create or connect a wallet'], [SIGN, 'A payment is waiting for you'], ['#s=short', 'This link is incomplete']]) {
    await follow(tab, server, hash);
    await title(tab, heading);
    const asked = server.received.length;
    for (let i = 0; i < 2; i++) {
      await tab.reload();
      await title(tab, 'Open the link again');
      assert.match(await text(tab), /tap the link there/);
    }
    assert.equal(server.received.length, asked, 'asked the server without a link');
    assert.ok(!(await tab.evaluate(() => JSON.stringify(history.state))).includes(hash.slice(3)), 'the history keeps the link');
  }
  await follow(tab, server, BIND);
  await title(tab, 'Create or connect a wallet');
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
  assert.deepEqual(server.received, [], 'the link was used before the choice');
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
  assert.deepEqual(server.received, []);
  await follow(tab, server, BIND);
  await title(tab, 'Create or connect a wallet');
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

  await title(tab, 'Create or connect a wallet');
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
  await title(tab, 'Transaction signed');
}));

it('English comes with the page and is fetched once', () => on('', async (tab) => {
  await title(tab, 'No wallet on this device yet');
  assert.deepEqual(server.got.filter((name) => name.endsWith('.json')), ['en.json']);
  assert.deepEqual(await tab.evaluate(() => [document.documentElement.lang, document.documentElement.dir]), ['en', 'ltr']);
}, { locale: 'de-AT' }));

it('a link may name the language; it chooses among the page\'s own catalogues and is no part of the secret', async () => {
  for (const [browsers, link, is] of [['en-GB', '&lang=eo', 'eo'], ['eo', '', 'eo'], ['eo', '&lang=en', 'en'], ['en-GB', '&lang=xx', 'en'], ['en-GB', '&lang=ar-EG', 'ar']]) {
    server.reset();
    server.world.languages = ['eo', 'ar'];
    await on(`${SIGN}${link}`, async (tab) => {
      await tab.locator('.amount').waitFor();
      assert.equal(await tab.evaluate(() => document.documentElement.lang), is, `${browsers} ${link}`);
      assert.deepEqual(server.posted('/w/tx/get'), [{ id: SIGN.slice(3) }]);
      assert.deepEqual(server.got.filter((name) => name.endsWith('.json')), [`${is}.signing.json`]);
    }, { locale: browsers });
  }
  for (const bad of ['&lang=', '&lang=../en', '&lang=e n', '&other=1']) {
    server.reset();
    await on(`${SIGN}${bad}`, async (tab) => {
      await title(tab, 'This link is incomplete');
      assert.deepEqual(server.received, []);
    });
  }
});

it('without its texts the page says so in its own English, and does nothing with its link', async () => {
  for (const file of ['en.signing.json', 'eo.signing.json']) {
    server.reset();
    server.world.languages = ['eo'];
    server.world.lost = [file];
    await on(SIGN, async (tab) => {
      if (file === 'eo.signing.json') return tab.getByRole('heading', { name: 'A payment is waiting for you' }).waitFor(); // in English then
      await tab.getByText('This page did not load completely.').waitFor();
      assert.equal((await text(tab)).trim(), '');
      nothingDone(SIGN);
      server.world.lost = [];
      await tab.reload(); // the link was not used up
      await tab.getByRole('heading', { name: 'A payment is waiting for you' }).waitFor();
    }, { locale: file === 'eo.signing.json' ? 'eo' : 'en-GB' });
  }
});
