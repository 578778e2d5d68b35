// The documentation as a developer reads it. Settings: {page, profiles, executable}.

import assert from 'node:assert/strict';
import { accessibility } from './axe.mjs';
import { complaintsOf, openDevice } from './chromium.mjs';
import { play } from './scenario.mjs';

await play(async ({ page, profiles, ...settings }) => {
  const context = await openDevice(profiles.alice, { ...settings, permissions: ['clipboard-read', 'clipboard-write'] });
  const complaints = complaintsOf(context);
  const look = accessibility();
  const tab = await context.newPage();
  const asked = [];
  tab.on('request', (request) => asked.push(request.url()));

  // By keyboard alone: to the content, and an example is opened.
  await tab.goto(page);
  await tab.keyboard.press('Tab');
  assert.equal(await tab.evaluate(() => document.activeElement.textContent), 'Skip to the content');
  await tab.keyboard.press('Enter');
  assert.equal(await tab.evaluate(() => document.activeElement.id), 'content');
  const send = tab.locator('article#send');
  await send.getByText('The balance is too low for this transaction.').waitFor(); // responses and errors are not folded
  await send.locator('dt').getByText('unsigned_transaction').waitFor();
  await send.locator('summary').filter({ hasText: 'Example' }).focus();
  await tab.keyboard.press('Enter');
  await send.getByText('"awaiting_confirmation"').first().waitFor();
  await tab.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
  await look('documentation with every answer open', tab);

  // The example is copied as it stands.
  await tab.bringToFront();
  await send.getByRole('button', { name: /^Copy/ }).click();
  await send.getByText('Copied').waitFor();
  const copied = await tab.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, /^curl -X POST [\s\S]*\/v1\/wallet\/send'$/);

  // What is searched for stays, in the page and in its index, and a link shows where it leads all the same.
  const words = tab.getByRole('searchbox', { name: 'Search' });
  await words.fill('usd_value balance');
  await tab.locator('#event-api-balance\\.updated').waitFor();
  assert.equal(await send.isVisible(), false);
  assert.match(await tab.locator('#found').textContent(), /^[1-9]\d* of \d+ sections$/);
  await look('documentation, searched', tab);
  await words.fill('no such words anywhere');
  await tab.getByText('No results.').waitFor();
  assert.equal(await tab.locator('main article:visible').count(), 0);
  await tab.evaluate(() => { location.hash = '#send'; });
  await send.waitFor();
  assert.equal(await words.inputValue(), '');

  // From the index to the endpoint.
  await tab.getByRole('navigation').getByRole('link', { name: '/v1/telegram/send-message' }).click();
  assert.equal(new URL(tab.url()).hash, '#sendMessage');

  const { origin } = new URL(page);
  assert.deepEqual(asked.filter((url) => !url.startsWith(`${origin}/docs`)), [], 'the page asks somebody else');
  return { findings: [...look.findings, ...complaints], looked: look.looked };
});
