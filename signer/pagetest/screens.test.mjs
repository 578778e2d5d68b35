// Every screen of the page, for people who see it, hear it, or hold a very small phone.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { complaintsOf } from './pseudo.mjs';
import { DESKTOP, PHONE, launch, noBrowser as skip, serve } from './harness.mjs';
import { walk } from './walk.mjs';

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

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

for (const [name, options] of Object.entries({
  'phone, light': { ...PHONE, colorScheme: 'light' }, 'phone, dark': { ...PHONE, colorScheme: 'dark' },
  'desktop, light': { ...DESKTOP, colorScheme: 'light' }, 'desktop, dark': { ...DESKTOP, colorScheme: 'dark' },
})) {
  it(`every screen is accessible: ${name}`, async () => {
    const screens = await walk(browser, server, options, async (screen, tab) => {
      await tab.evaluate(axe);
      const { violations, passes } = await tab.evaluate(() => globalThis.axe.run({ resultTypes: ['violations'] }));
      assert.ok(passes.length > 10, `${screen}: axe did not look`);
      assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' ')}`), [], screen);
    });
    assert.ok(screens.length >= 52, `only ${screens.length} screens were seen`);
  });
}

it('nothing is cut off or scrolls sideways on the narrowest phone', () => walk(browser, server, { ...PHONE, viewport: { width: 320, height: 568 } }, async (screen, tab) => {
  const over = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(over <= 0, `${screen}: ${over} px too wide`);
  const small = await tab.evaluate(() => [...document.querySelectorAll('button, summary, input:not([type=radio], [type=checkbox]), textarea, .choice')]
    .filter((e) => !e.hidden && e.getBoundingClientRect().height < 44).map((e) => e.textContent || e.id));
  assert.deepEqual(small, [], `${screen}: targets under 44 px`);
}));

for (const [locale, dir] of [['eo', 'ltr'], ['ar', 'rtl']]) {
  it(`in the pseudo-locale every text comes from the catalogue and fits, ${dir}`, async () => {
    const pseudoServer = await serve();
    try {
      pseudoServer.servePseudo();
      const findings = [];
      const screens = await walk(browser, pseudoServer, { ...DESKTOP, locale }, async (screen, tab) => {
        findings.push(...(await complaintsOf(tab)).map((complaint) => `${screen}: ${complaint}`));
        const html = await tab.evaluate(() => [document.documentElement.lang, document.documentElement.dir]);
        if (String(html) !== String([locale, dir])) findings.push(`${screen}: lang and dir are ${html}`);
      });
      assert.deepEqual(findings, []);
      assert.ok(screens.length >= 52, `only ${screens.length} screens were seen`);
    } finally {
      await pseudoServer.close();
    }
  });
}
