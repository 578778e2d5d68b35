// Every screen of the page, for people who see it, hear it, or hold a very small phone.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { complaintsOf } from './pseudo.mjs';
import { DESKTOP, PHONE, launch, noBrowser as skip, serve } from './harness.mjs';
import { walk } from './walk.mjs';

const it = (name, work) => test(name, { skip, timeout: 900_000 }, work);

let server;
let browser;
before(async () => {
  server = await serve('localhost');
  if (!skip) browser = await launch();
});
after(async () => {
  await browser?.close();
  await server.close();
});

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds on a screen, in light and in dark: a list. Only colours differ in dark, and a whole look is slow. */
async function inaccessible(screen, tab) {
  const found = [];
  if (!(await tab.evaluate(() => 'axe' in globalThis))) await tab.evaluate(axe); // a page has many screens
  for (const colorScheme of ['light', 'dark']) {
    await tab.emulateMedia({ colorScheme });
    const { violations, passes } = await tab.evaluate((dark) => globalThis.axe.run({
      resultTypes: ['violations'], ...(dark && { runOnly: { type: 'rule', values: ['color-contrast'] } }),
    }), colorScheme === 'dark');
    assert.ok(passes.length > (colorScheme === 'dark' ? 0 : 10), `${screen}, ${colorScheme}: axe did not look`);
    found.push(...violations.map((v) => `${screen}, ${colorScheme}: ${v.id}: ${v.nodes.map((n) => n.html).join(' ')}`));
  }
  return found;
}

/** What is cut off, scrolls sideways or is too small to tap on the narrowest phone: a list. The window has its size again afterwards. */
async function cramped(screen, tab) {
  const size = tab.viewportSize();
  await tab.setViewportSize({ width: 320, height: 568 });
  const over = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  const small = await tab.evaluate(() => [...document.querySelectorAll('button, summary, input:not([type=radio], [type=checkbox]), textarea, .choice')]
    .filter((e) => !e.hidden && e.getBoundingClientRect().height < 44).map((e) => e.textContent || e.id));
  await tab.setViewportSize(size);
  return [...(over > 0 ? [`${screen}: ${over} px too wide`] : []), ...small.map((target) => `${screen}: ${target}: a target under 44 px`)];
}

for (const [name, options] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
  it(`every screen is accessible in light and dark, and a phone cuts nothing off: ${name}`, async () => {
    const findings = [];
    const screens = await walk(browser, server, options, async (screen, tab) => {
      findings.push(...await inaccessible(screen, tab));
      if (options === PHONE) findings.push(...await cramped(screen, tab));
    });
    assert.deepEqual(findings, []);
    assert.ok(screens.length >= 90, `only ${screens.length} screens were seen`);
  });
}

for (const [locale, dir] of [['eo', 'ltr'], ['ar', 'rtl']]) {
  it(`in the pseudo-locale every text comes from the catalogue and fits, ${dir}`, async () => {
    const pseudoServer = await serve('localhost');
    try {
      pseudoServer.servePseudo();
      const findings = [];
      const screens = await walk(browser, pseudoServer, { ...DESKTOP, locale }, async (screen, tab) => {
        findings.push(...(await complaintsOf(tab)).map((complaint) => `${screen}: ${complaint}`));
        const html = await tab.evaluate(() => [document.documentElement.lang, document.documentElement.dir]);
        if (String(html) !== String([locale, dir])) findings.push(`${screen}: lang and dir are ${html}`);
      });
      assert.deepEqual(findings, []);
      assert.ok(screens.length >= 90, `only ${screens.length} screens were seen`);
    } finally {
      await pseudoServer.close();
    }
  });
}
