// How the page is loaded: what a browser asks for, what it keeps, and that it runs nothing but what the HTML names. The Go
// tests of signer and api check the files and their headers; here is what Chromium makes of them.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { BIND, FREEZE, LIMITS, PASSPHRASE, SIGN, UNFREEZE, WORDS, approve, choosePassphrase, files, follow, install, paste, press, title } from './harness.mjs';
import { browser, it, nothingDone, on, server, text } from './browser.mjs';
import { english } from './english.mjs';
import { literals } from './literals.mjs';

const LANGUAGES = ['ar', 'en', 'es', 'pt', 'ru', 'tr', 'zh'];
const plain = (name) => brotliDecompressSync(readFileSync(new URL(`../served/${name}.br`, import.meta.url))).toString();

/** The part of the page that each link loads, as its files end. */
const PARTS = { '': '', [BIND]: 'connecting', [SIGN]: 'signing', [FREEZE]: '', [UNFREEZE]: '', [LIMITS]: '', '#s=short': '' };
const scriptOf = (part) => (part ? `${part}.js` : 'main.js');
const textsOf = (language, part) => (part ? `${language}.${part}.json` : `${language}.json`);
const filesOf = (language, part) => [textsOf(language, part), 'index.html', scriptOf(part), 'style.css'].sort();

it('a first visit asks for four files, in every language, and for nothing twice', async () => {
  for (const language of LANGUAGES) {
    server.reset();
    await on(`${SIGN}&lang=${language}`, async (tab) => {
      await tab.locator('.amount').waitFor();
      assert.deepEqual([...server.got].sort(), filesOf(language, 'signing'));
      assert.equal(await tab.evaluate(() => document.documentElement.lang), language);
      const asked = await tab.evaluate(() => performance.getEntriesByType('resource').filter((r) => r.name.endsWith('.json')).length);
      assert.equal(asked, 1, 'asked again, and the cache answered: not every browser does that while a file is on its way');
    });
  }
});

it('each link loads its part of the page, and what is no link the whole', async () => {
  for (const [hash, part] of Object.entries(PARTS)) {
    server.reset();
    await on(hash, async (tab) => {
      await tab.locator('main h1').waitFor();
      assert.deepEqual([...server.got].sort(), filesOf('en', part), hash);
    });
  }
});

it('a link of another kind in the same tab loads the part that it needs', () => on(SIGN, async (tab) => {
  for (const [hash, heading] of [[BIND, 'Create or connect a wallet'], [SIGN, 'A payment is waiting for you'], [FREEZE, 'Freeze your account?'], [SIGN, 'A payment is waiting for you'], ['#s=short', 'This link is incomplete']]) {
    await paste(tab, server, hash);
    await title(tab, heading);
  }
  const [first] = server.posted('/w/tx/get');
  assert.deepEqual(server.posted('/w/tx/get'), Array(3).fill(first), 'a link was lost, or opened twice');
  assert.equal(server.posted('/w/bind/challenge').length, 1);
}));

it('once a wallet is connected, its first payment finds its files in the browser', () => on('', async (tab) => {
  await install(tab);
  await follow(tab, server, BIND);
  const ahead = Promise.all([/signing\.[^/]*\.js$/, /en\.signing\.[^/]*\.json$/].map((name) => tab.waitForResponse(name).then((r) => r.finished())));
  await press(tab, 'Continue');
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
  assert.ok(!server.got.includes('signing.js'), 'asked for before it is of use');
  await press(tab, 'Connect');
  await ahead;
  server.got.length = 0;
  await follow(tab, server, SIGN);
  await title(tab, 'Approve this payment?');
  assert.deepEqual(server.got, ['index.html']);
}));

it('the part that signs leaves a lost wallet to the whole page, which goes on with the payment; no link can ask for that', () => on(`${SIGN}&lang=en`, async (tab) => {
  await press(tab, 'Restore this wallet');
  await title(tab, 'Restore this wallet');
  assert.equal(await tab.evaluate(() => document.querySelector('script[data-texts]').hasAttribute('data-kind')), false, 'not the whole page');
  assert.equal(await tab.evaluate(() => location.href), `${server.origin}/w/`);
  await press(tab, 'Back');
  await title(tab, 'A payment is waiting for you');
  await press(tab, 'Restore this wallet'); // in the whole page now
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  await press(tab, 'Show payment');
  await approve(tab);
  await title(tab, 'Transaction signed');
  server.world.status = 'awaiting_signature';
  await tab.reload();
  await title(tab, 'Open the link again'); // the state that asks to restore went with the link
  for (const more of ['&restore', '&restore=true', '&lang=en&restore']) {
    await follow(tab, server, SIGN + more);
    await title(tab, 'This link is incomplete');
  }
}));

it('a forgotten passphrase in the part that signs: a new one from the recovery phrase, then the payment again', () => on('', async (tab) => {
  await install(tab);
  await follow(tab, server, SIGN);
  await approve(tab, 'no such passphrase');
  await press(tab, 'Forgot your passphrase?');
  await title(tab, 'Restore this wallet');
  assert.deepEqual(server.posted('/w/tx/signature'), []);
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await choosePassphrase(tab, 'another calm river bends');
  await press(tab, 'Show payment');
  await approve(tab, 'another calm river bends');
  await title(tab, 'Transaction signed');
}));

it('what stops a payment stops it in the whole page too, before it asks for a recovery phrase; the language of the link stays', async () => {
  const stops = {
    'This page blocked the transaction': { rawMessage: Buffer.from('nonsense').toString('base64') },
    'This payment has to wait': { status: 'delayed' },
    'Expired': { status: 'expired' },
  };
  for (const [heading, since] of Object.entries(stops)) {
    server.reset();
    await on(`${SIGN}&lang=en`, async (tab) => {
      await title(tab, 'A payment is waiting for you');
      Object.assign(server.world, since); // after it was shown
      await press(tab, 'Restore this wallet');
      await title(tab, heading);
      assert.equal(await tab.locator('input, textarea').count(), 0);
      assert.equal(await tab.evaluate(() => document.documentElement.lang), 'en');
    }, { locale: 'ru' });
  }
});

it('inside Telegram the whole page does not urge the browser a second time', () => on(SIGN, async (tab) => {
  await title(tab, 'Open this in your browser');
  await press(tab, 'Continue here');
  await press(tab, 'Restore this wallet');
  await title(tab, 'Restore this wallet');
}, { userAgent: 'Mozilla/5.0 (Linux; Android 15) Telegram-Android/12.0' }));

it('a script that is there before the end of the HTML waits for it', () => on(SIGN, async (tab) => {
  await tab.locator('.amount').waitFor(); // its files are kept now
  await tab.goto('about:blank');
  let go;
  server.world.rest = new Promise((resolve) => { go = resolve; });
  let hasRun;
  const ran = new Promise((resolve) => { hasRun = resolve; });
  await tab.exposeFunction('scriptRan', () => hasRun());
  await tab.addInitScript(() => document.addEventListener('load', ({ target }) => { if (target.dataset?.texts) globalThis.scriptRan(); }, true));
  await tab.goto(`${server.origin}/w/${SIGN}`, { waitUntil: 'commit' });
  await ran;
  assert.equal(await tab.evaluate(() => document.readyState), 'loading');
  go();
  await tab.locator('.amount').waitFor();
}));

it('each part has exactly the texts that its script and the HTML name', () => {
  const html = readFileSync(new URL('../page/index.html', import.meta.url), 'utf8');
  const keys = Object.entries(english).flatMap(([section, texts]) => Object.keys(texts).map((name) => `${section}.${name}`));
  for (const part of ['connecting', 'signing']) {
    const code = plain(scriptOf(part));
    const strings = new Set(literals(code).map(({ text }) => text));
    const begun = keys.length && [...code.matchAll(/`([a-z]+\.[a-z_]*)\$\{/g)].map(([, start]) => start);
    const wanted = keys.filter((key) => strings.has(key) || html.includes(`data-text="${key}"`) || begun.some((start) => key.startsWith(start)));
    assert.ok(begun.length > 0 && wanted.length > 100, `${part}: ${wanted.length}`);
    for (const language of LANGUAGES) {
      const of = (texts) => Object.entries(texts).flatMap(([section, named]) => Object.keys(named).map((name) => `${section}.${name}`)).sort();
      const whole = JSON.parse(plain(textsOf(language, '')));
      const texts = JSON.parse(plain(textsOf(language, part)));
      assert.deepEqual(of(texts), [...wanted].sort(), `${language} ${part}`);
      for (const [section, named] of Object.entries(texts)) for (const [name, text] of Object.entries(named)) assert.deepEqual(text, whole[section][name]);
    }
  }
});

it('the catalogue is asked for with the script, not after it', async () => {
  let go;
  const held = new Promise((resolve) => { go = resolve; });
  const context = await browser.newContext();
  const tab = await context.newPage();
  await tab.route(/connecting\.[^/]*\.js$/, async (route) => { await held; await route.continue(); });
  const asked = tab.waitForRequest(/ru\.connecting\.[^/]*\.json$/);
  await tab.goto(`${server.origin}/w/${BIND}&lang=ru`, { waitUntil: 'commit' });
  await asked; // the script is not there yet
  go();
  await tab.locator('main h1').waitFor();
  await context.close();
});

for (const [hash, script, path, heading] of [[SIGN, /signing\.[^/]*\.js$/, '/w/tx/get', 'A payment is waiting for you'], [BIND, /connecting\.[^/]*\.js$/, '/w/bind/challenge', 'Create or connect a wallet']]) {
  it(`what a link is about is asked for with the script, not after it, and once: ${path}`, async () => {
    server.reset();
    let go;
    const held = new Promise((resolve) => { go = resolve; });
    const context = await browser.newContext();
    const tab = await context.newPage();
    await tab.route(script, async (route) => { await held; await route.continue(); });
    const answered = tab.waitForResponse((r) => r.url().endsWith(path));
    await tab.goto(`${server.origin}/w/${hash}`, { waitUntil: 'commit' });
    await answered; // the script is not there yet
    go();
    await title(tab, heading);
    assert.equal(server.posted(path).length, 1);
    await context.close();
  });
}

it('inside Telegram a link asks the server for nothing before the person goes on there', () => {
  server.reset();
  return on(SIGN, async (tab) => {
    await title(tab, 'Open this in your browser');
    assert.equal(server.posted('/w/tx/get').length, 0);
    await press(tab, 'Continue here');
    await title(tab, 'A payment is waiting for you');
    assert.equal(server.posted('/w/tx/get').length, 1);
  }, { userAgent: 'Mozilla/5.0 (Linux; Android 15) Telegram-Android/12.0' });
});

it('links that act, or are none, ask the server for nothing ahead', async () => {
  for (const [hash, heading] of [[FREEZE, 'Freeze your account?'], ['#s=short', 'This link is incomplete']]) {
    server.reset();
    await on(hash, async (tab) => {
      await title(tab, heading);
      await tab.waitForLoadState('networkidle');
      assert.deepEqual(server.received, []);
    });
  }
});

it('what was asked for ahead and did not come is asked for once more, and then the page says that something went wrong', () => {
  server.reset();
  return on('', async (tab) => {
    for (const [fails, heading] of [[1, 'A payment is waiting for you'], [2, 'Something went wrong']]) {
      let asked = 0;
      await tab.route('**/w/tx/get', (route) => (asked++ < fails ? route.abort() : route.continue()));
      await tab.goto('about:blank');
      await tab.goto(`${server.origin}/w/${SIGN}`);
      await title(tab, heading);
      assert.equal(asked, 2);
      await tab.unroute('**/w/tx/get');
    }
  });
});

it('a later visit asks for the HTML alone', () => on(`${SIGN}&lang=ru`, async (tab) => {
  await tab.locator('.amount').waitFor();
  server.got.length = 0;
  await tab.goto('about:blank');
  await tab.goto(`${server.origin}/w/${SIGN}&lang=ru`);
  await tab.locator('.amount').waitFor();
  assert.deepEqual(server.got, ['index.html']);
}));

for (const [part, hash, heading] of [['signing', SIGN, 'A payment is waiting for you'], ['connecting', BIND, 'Create or connect a wallet'], ['', LIMITS, 'Set spending limits?']]) {
  it(`another ${scriptOf(part)} than the HTML names does not run, the page says that it is not complete, and gets the right one for the next opening`, async () => {
    server.world.altered = { [scriptOf(part)]: 'document.title = "planted"; fetch("/w/planted", { method: "POST", body: location.hash });' };
    const context = await browser.newContext();
    const tab = await context.newPage();
    const named = new RegExp(`${scriptOf(part).replace('.js', '')}\\.[^/]*\\.js$`);
    const askedAgain = () => tab.waitForResponse((r) => r.request().resourceType() === 'fetch' && named.test(r.url())).then((r) => r.finished());
    for (const liar of [true, false]) { // a liar's file was kept for a year; then the server is honest
      if (!liar) server.world.altered = {};
      const again = askedAgain();
      await (liar ? tab.goto(`${server.origin}/w/${hash}`) : tab.reload());
      await tab.getByText('This page did not load completely.').waitFor();
      assert.equal(await tab.title(), 'purser');
      assert.equal((await text(tab)).trim(), '');
      nothingDone(hash);
      await again;
    }
    await tab.reload(); // the link is still there, and was not used up
    await title(tab, heading);
    await context.close();
  });
}

it('another style sheet than the HTML names is not applied', async () => {
  server.world.altered = { 'style.css': 'body { display: none }' };
  await on(SIGN, async (tab) => {
    await tab.getByText('This page did not load completely.').waitFor();
    assert.notEqual(await tab.evaluate(() => getComputedStyle(document.body).display), 'none');
  });
});

it('another catalogue than the HTML names is not spoken', async () => {
  const words = (name) => plain(name).replaceAll('1', 'one');
  server.world.altered = { 'ru.signing.json': plain('en.signing.json').replaceAll('Approve', 'Planted') };
  await on(`${SIGN}&lang=ru`, async (tab) => { // English then, which is the page's own
    await tab.locator('.amount').waitFor();
    assert.doesNotMatch(await tab.content(), /Planted/);
    assert.equal(await tab.evaluate(() => document.documentElement.lang), 'en');
  });
  server.reset();
  server.world.altered = { 'en.signing.json': words('en.signing.json') };
  await on(SIGN, async (tab) => {
    await tab.getByText('This page did not load completely.').waitFor();
    assert.equal((await text(tab)).trim(), '');
    nothingDone(SIGN);
    server.world.altered = {};
    await tab.reload(); // asks the server, not the cache
    await tab.locator('.amount').waitFor();
  });
});

it('a script that somebody wrote into the HTML does not run', async () => {
  server.world.rounds = 'real'; // the files of files()
  const { html } = files();
  server.world.altered = { 'index.html': html.replace('</head>', '<script>globalThis.planted = true;</script></head>') };
  const context = await browser.newContext();
  const tab = await context.newPage();
  await tab.goto(`${server.origin}/w/`);
  await title(tab, 'No wallet on this device yet');
  assert.equal(await tab.evaluate(() => globalThis.planted), undefined);
  await context.close();
});

it('the boot script in the HTML is the one that its policy names', () => {
  const { html, policy } = files();
  const [, inline] = /<script>([^<]*)<\/script>/.exec(html);
  assert.equal(policy, `script-src 'self' 'sha256-${createHash('sha256').update(inline).digest('base64')}'`);
  assert.ok(brotliCompressSync(html).length < 3_000);
});
