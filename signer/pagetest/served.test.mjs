// How the page is loaded: what a browser asks for, what it keeps, and that it runs nothing but what the HTML names. The Go
// tests of signer and api check the files and their headers; here is what Chromium makes of them.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { BIND, SIGN, files, title } from './harness.mjs';
import { browser, it, on, server, text } from './browser.mjs';

const LANGUAGES = ['ar', 'en', 'es', 'pt', 'ru', 'tr', 'zh'];
const plain = (name) => brotliDecompressSync(readFileSync(new URL(`../served/${name}.br`, import.meta.url))).toString();

it('a first visit asks for four files, in every language, and for nothing twice', async () => {
  for (const language of LANGUAGES) {
    server.reset();
    await on(`${SIGN}&lang=${language}`, async (tab) => {
      await tab.locator('.amount').waitFor();
      assert.deepEqual([...server.got].sort(), [`${language}.json`, 'index.html', 'main.js', 'style.css'].sort());
      assert.equal(await tab.evaluate(() => document.documentElement.lang), language);
      const asked = await tab.evaluate(() => performance.getEntriesByType('resource').filter((r) => r.name.endsWith('.json')).length);
      assert.equal(asked, 1, 'asked again, and the cache answered: not every browser does that while a file is on its way');
    });
  }
});

it('the catalogue is asked for with the script, not after it', async () => {
  let go;
  const held = new Promise((resolve) => { go = resolve; });
  const context = await browser.newContext();
  const tab = await context.newPage();
  await tab.route(/main\.[^/]*\.js$/, async (route) => { await held; await route.continue(); });
  const asked = tab.waitForRequest(/ru\.[^/]*\.json$/);
  await tab.goto(`${server.origin}/w/${BIND}&lang=ru`, { waitUntil: 'commit' });
  await asked; // the script is not there yet
  go();
  await tab.locator('main h1').waitFor();
  await context.close();
});

it('a later visit asks for the HTML alone', () => on(`${SIGN}&lang=ru`, async (tab) => {
  await tab.locator('.amount').waitFor();
  server.got.length = 0;
  await tab.goto('about:blank');
  await tab.goto(`${server.origin}/w/${SIGN}&lang=ru`);
  await tab.locator('.amount').waitFor();
  assert.deepEqual(server.got, ['index.html']);
}));

it('another script than the HTML names does not run, the page says that it is not complete, and gets the right one for the next opening', async () => {
  server.world.altered = { 'main.js': 'document.title = "planted"; fetch("/w/planted", { method: "POST", body: location.hash });' };
  const context = await browser.newContext();
  const tab = await context.newPage();
  const askedAgain = () => tab.waitForResponse((r) => r.request().resourceType() === 'fetch' && /main\.[^/]*\.js$/.test(r.url())).then((r) => r.finished());
  for (const liar of [true, false]) { // a liar's file was kept for a year; then the server is honest
    if (!liar) server.world.altered = {};
    const again = askedAgain();
    await (liar ? tab.goto(`${server.origin}/w/${SIGN}`) : tab.reload());
    await tab.getByText('This page did not load completely.').waitFor();
    assert.equal(await tab.title(), 'purser');
    assert.equal((await text(tab)).trim(), '');
    assert.deepEqual(server.received, []);
    await again;
  }
  await tab.reload(); // the link is still there, and was not used up
  await tab.locator('.amount').waitFor();
  await context.close();
});

it('another style sheet than the HTML names is not applied', async () => {
  server.world.altered = { 'style.css': 'body { display: none }' };
  await on(SIGN, async (tab) => {
    await tab.getByText('This page did not load completely.').waitFor();
    assert.notEqual(await tab.evaluate(() => getComputedStyle(document.body).display), 'none');
  });
});

it('another catalogue than the HTML names is not spoken', async () => {
  const words = (name) => plain(name).replaceAll('1', 'one');
  server.world.altered = { 'ru.json': plain('en.json').replaceAll('Approve', 'Planted') };
  await on(`${SIGN}&lang=ru`, async (tab) => { // English then, which is the page's own
    await tab.locator('.amount').waitFor();
    assert.doesNotMatch(await tab.content(), /Planted/);
    assert.equal(await tab.evaluate(() => document.documentElement.lang), 'en');
  });
  server.reset();
  server.world.altered = { 'en.json': words('en.json') };
  await on(SIGN, async (tab) => {
    await tab.getByText('This page did not load completely.').waitFor();
    assert.equal((await text(tab)).trim(), '');
    assert.deepEqual(server.received, []);
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
  assert.ok(brotliCompressSync(html).length < 2_500);
});
