// The portal of webhooks in a developer's hands. Settings: {chat, page, api, receiver, hostile, profiles,
// executable, album}.

import assert from 'node:assert/strict';
import { accessibility } from './axe.mjs';
import { Chat } from './chat.mjs';
import { DESKTOP, complaintsOf, openDevice } from './chromium.mjs';
import { play } from './scenario.mjs';

const h2 = (tab, name) => tab.getByRole('heading', { level: 2, name }).waitFor();
const press = (tab, name) => tab.getByRole('button', { name, exact: true }).click();
const go = (tab, name) => tab.getByRole('link', { name }).first().click();
const open = (tab, name) => tab.locator('summary', { hasText: name }).click();
const says = (tab, text) => tab.locator('main').getByText(text).first().waitFor();

await play(async ({ chat, page, api, receiver, hostile, profiles, album, ...settings }, ask) => {
  const context = await openDevice(profiles.alice, { ...settings, permissions: ['clipboard-read', 'clipboard-write'], locale: 'en-GB' });
  const complaints = complaintsOf(context);
  const look = accessibility(album);
  const links = [];
  const sessions = [];
  const hooks = [];
  const asked = [];
  context.on('page', (tab) => tab.on('dialog', (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  }));
  const alice = await Chat.open(context, chat, 'alice');
  await alice.start();
  const hint = await ask('key', 'api');

  /** Opens the portal of a key from the chat. */
  const enter = async (key = hint) => {
    await alice.tab.bringToFront();
    const keys = await alice.ask('/api', 'Your keys');
    await keys.tap(new RegExp(`…${key}$`));
    await (await alice.hear(`…${key}`)).tap('Webhooks');
    const offer = await alice.hear('Webhooks of the');
    links.push(new URL(await offer.node.getByRole('link', { name: 'Open the portal' }).getAttribute('href')).hash.slice(3).split('&')[0]);
    const tab = await offer.follow('Open the portal');
    tab.on('request', (request) => asked.push(request.url()));
    await tab.setViewportSize(DESKTOP);
    await tab.bringToFront();
    await h2(tab, /webhook/i);
    const kept = await tab.evaluate(() => sessionStorage.getItem('purser.portal'));
    sessions.push(JSON.parse(kept).session);
    return tab;
  };
  const tab = await enter();

  // Nothing of the link is left, and whose portal it is stands above all.
  assert.equal(tab.url(), `${page}#/`);
  assert.match(await tab.locator('#who').textContent(), new RegExp(`API key …${hint} \\(Shop <b>\\), pro tier, localnet\\. Signed in until .*\\. Times are in \\S+\\.$`));
  assert.equal(await tab.evaluate(() => localStorage.length + document.cookie.length), 0);
  await look('portal without webhooks', tab);

  // The link opens once, also in the same browser.
  const second = await context.newPage();
  await second.goto(`${page}#t=${links[0]}`);
  await h2(second, 'Open the portal again');
  await says(second, 'This link was used');
  assert.equal(second.url(), `${page}#/`);
  await look('portal, a used link', second);
  await second.reload();
  await h2(second, 'Open the portal from the chat');
  await second.close();

  // A link that comes over a running session is asked about, and opened only where it was meant.
  await tab.evaluate(() => { location.hash = '#t=somebody-elses-token'; });
  await h2(tab, 'Open another portal?');
  await says(tab, `You are signed in with API key …${hint} (Shop <b>).`);
  assert.equal(tab.url(), `${page}#/`);
  await look('portal, another link', tab);
  await press(tab, 'Stay here');
  await h2(tab, 'Webhooks of this key');
  assert.equal(JSON.parse(await tab.evaluate(() => sessionStorage.getItem('purser.portal'))).session, sessions[0]);
  await tab.bringToFront();
  await tab.setViewportSize(DESKTOP);

  // By keyboard alone: past the top, and to the form.
  await tab.reload();
  await h2(tab, 'Webhooks of this key');
  assert.equal(await tab.evaluate(() => document.activeElement.textContent), 'Webhooks of this key'); // what is read out first
  await tab.locator('#skip').focus();
  await tab.keyboard.press('Enter');
  assert.equal(await tab.evaluate(() => document.activeElement.id), 'content');
  await tab.getByRole('link', { name: 'Add a webhook' }).focus();
  await tab.keyboard.press('Enter');
  await h2(tab, 'Add a webhook');
  assert.equal(await tab.evaluate(() => document.activeElement.textContent), 'Add a webhook');

  // What is wrong is said with what to do.
  await press(tab, 'Add webhook');
  await says(tab, 'Enter the address');
  await tab.getByLabel('Address', { exact: true }).fill('ftp://example.com/x');
  await press(tab, 'Add webhook');
  await tab.locator('.outcome.bad').filter({ hasText: /http/i }).waitFor();
  assert.match(await tab.locator('label', { hasText: 'price.alert' }).textContent(), /price\.alert$/);
  assert.match(await tab.locator('label', { hasText: 'transaction.failed' }).textContent(), /transaction\.failed$/);
  for (const [address, refusal] of [['http://8.8.8.8/hook', 'The URL must begin with https://'], ['https://10.0.0.1/', 'The URL must lead to a public address']]) {
    await tab.getByLabel('Address', { exact: true }).fill(address); // as each delivery would refuse it
    await press(tab, 'Add webhook');
    await tab.locator('.outcome.bad').filter({ hasText: refusal }).waitFor();
  }
  await look('portal, add a webhook', tab);
  await tab.getByLabel('Address', { exact: true }).fill(`${receiver}/hook?token=a-secret-of-its-own`);
  await tab.keyboard.press('Enter'); // as forms are sent
  await says(tab, 'is shown only once');
  hooks.push(await tab.locator('code.taken').textContent());
  assert.match(hooks[0], /^whsec_/);
  await press(tab, 'Copy the signing secret');
  await tab.locator('.note').getByText('Copied').waitFor();
  assert.equal(await tab.evaluate(() => navigator.clipboard.readText()), hooks[0]);
  await look('portal, a new secret', tab);
  await go(tab, 'Open webhook');
  const { host } = new URL(receiver);
  await h2(tab, `${host}/hook?…`);
  const there = tab.url();
  const id = decodeURIComponent(there.split('#/w/')[1]);

  // A test that is taken.
  await ask('answers', 'well');
  await press(tab, 'Send a test');
  await says(tab, 'Delivered: answered 200 after');
  assert.deepEqual(await ask('verified', [hooks[0], '']), [true, false]);
  // Its whole result stands where it was asked for, and the view is up to date by itself.
  assert.equal(await tab.locator('.result .answer').textContent(), 'thank you');
  await open(tab, 'What was sent');
  assert.match(await tab.locator('.result pre').last().textContent(), /"webhook\.test"/);
  await says(tab, '1 delivery.');
  await look('portal, a test and its result', tab);
  await tab.setViewportSize(DESKTOP);
  await go(tab, 'Show delivery');
  await h2(tab, 'webhook.test');
  await says(tab, 'The endpoint accepted it.');
  assert.match(await tab.locator('.answer').textContent(), /^thank you$/);
  assert.match(await tab.locator('pre').last().textContent(), /^\{\n {2}"event": "webhook\.test"/);

  // One that is not: its attempts, and again with more of them.
  await ask('answers', 'ill');
  await tab.goto(there);
  await h2(tab, host);
  await press(tab, 'Send a test');
  await says(tab, 'Not delivered: answered 503 after');
  await go(tab, 'Show delivery');
  await says(tab, 'All attempts failed');
  assert.equal(await tab.locator('.attempts > li').count(), 1);
  assert.match(await tab.locator('.attempts > li time').textContent(), /\d\d:\d\d:\d\d$/);
  assert.equal(await tab.locator('.answer').textContent(), 'out of order');
  await look('portal, a failed delivery', tab);
  await press(tab, 'Resend');
  await says(tab, 'Resending.');
  await go(tab, 'Show delivery');
  await says(tab, 'resent manually');
  await tab.locator('.attempts > li').nth(1).waitFor(); // the page looks again by itself
  await says(tab, 'All attempts failed');
  assert.equal(await tab.locator('.attempts > li').count(), 2);
  const failing = tab.url();
  await tab.goto(there);
  await tab.locator('.badge', { hasText: /Failing since \d\d:\d\d/ }).waitFor();
  await ask('answers', 'well');
  await tab.goto(failing);
  await press(tab, 'Resend');
  await go(tab, 'Show delivery');
  await says(tab, 'The endpoint accepted it.');

  // Receivers that mean ill: text, inside its box, and nothing else.
  for (const name of hostile) {
    await ask('answers', name);
    await tab.goto(there);
    await h2(tab, host);
    await press(tab, 'Send a test');
    await says(tab, 'Not delivered: answered 500 after');
    await go(tab, 'Show delivery');
    await says(tab, 'All attempts failed');
    const shown = await tab.locator('.answer').textContent();
    const inside = await tab.locator('.answer').evaluate((box) => ({ markup: box.children.length, wide: document.documentElement.scrollWidth - document.documentElement.clientWidth, high: box.getBoundingClientRect().height }));
    assert.deepEqual([inside.markup, inside.wide, inside.high < 250, await tab.evaluate(() => typeof globalThis.taken)], [0, 0, true, 'undefined'], name);
    assert.ok(shown.length < 12_000, `${name}: ${shown.length} characters`);
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(shown, /[\u0000-\u0008\u000b-\u001f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/, name);
    if (name === 'markup') assert.ok(shown.startsWith('<script>globalThis.taken=1</script><img src=x onerror='), shown);
    if (name === 'bidi') assert.match(shown, /^be⟦U\+202E⟧gro.*⟦U\+0000⟧⟦U\+0007⟧⟦U\+001B⟧\[31mred/);
    if (name === 'bytes') assert.match(shown, /\ufffd.* latin /);
    await look(`portal, hostile ${name}`, tab);
    await tab.setViewportSize(DESKTOP);
  }

  // The list: filtered, and by pages.
  await ask('answers', 'well');
  await tab.goto(there);
  await h2(tab, host);
  await says(tab, /^1\d deliveries\.$/);
  await open(tab, 'Numbers by hour');
  await tab.getByRole('link', { name: 'webhook.test' }).first().focus();
  await ask('answers', 'ill');
  await ask('many', id);
  await ask('answers', 'well');
  await says(tab, 'The newest 20 deliveries.'); // without a touch
  assert.equal(await tab.locator('.chart details').evaluate((one) => one.open), true);
  assert.equal(await tab.evaluate(() => document.activeElement.textContent), 'webhook.test');
  await tab.goto(there);
  await h2(tab, host);
  assert.match(await tab.locator('.deliveries code').first().textContent(), /^….{12}$/);
  await press(tab, 'Show older');
  await says(tab, /^3\d deliveries\.$/);
  await tab.getByLabel('State').selectOption({ label: 'Delivered' });
  await says(tab, '2 deliveries.');
  await tab.getByLabel('Event', { exact: true }).selectOption('transaction.pending');
  await says(tab, 'No deliveries match.');
  await tab.getByLabel('State').selectOption({ label: 'any' });
  await tab.getByLabel('Event', { exact: true }).selectOption('');
  await tab.getByLabel('Since', { exact: true }).first().fill('2036-01-01T00:00');
  await says(tab, 'No deliveries match.');
  await tab.getByLabel('Since', { exact: true }).first().fill('');
  await says(tab, 'The newest 20 deliveries');
  await tab.locator('.chart figcaption').filter({ hasText: /[1-9]\d* succeeded, [1-9]\d* failed/ }).waitFor();
  await open(tab, 'Numbers by hour');
  assert.equal(await tab.locator('.chart rect.failed').count() > 0, true);
  await look('portal, a webhook', tab);
  await tab.setViewportSize(DESKTOP);

  // All that was given up, once more.
  await open(tab, 'Resend dead-lettered deliveries');
  await press(tab, 'Resend all');
  await says(tab, 'Tests are not resent');

  // A new secret, with the one before for a while.
  await open(tab, 'Signing secret');
  await press(tab, 'Rotate secret');
  await says(tab, /The previous secret works until \d/);
  hooks.push(await tab.locator('code.taken').textContent());
  assert.notEqual(hooks[0], hooks[1]);
  await press(tab, 'Send a test');
  await says(tab, 'Delivered: answered 200 after');
  assert.deepEqual(await ask('verified', [hooks[1], hooks[0]]), [true, true]);
  await open(tab, 'Address and events');
  await open(tab, 'Pause or remove');
  await look('portal, settings', tab);
  await tab.setViewportSize(DESKTOP);

  // Other events; paused, and on again.
  await tab.getByLabel('All events').uncheck();
  await tab.getByLabel('All of wallet.*').check();
  assert.ok(await tab.getByLabel('wallet.connected').isDisabled());
  await tab.getByLabel('price.alert').check();
  await press(tab, 'Save');
  await tab.locator('#announcement', { hasText: 'Saved.' }).waitFor();
  await open(tab, 'Pause or remove');
  await press(tab, 'Pause');
  await tab.locator('.badge', { hasText: 'paused' }).waitFor();
  await go(tab, 'All webhooks');
  await h2(tab, 'Webhooks of this key');
  await says(tab, 'price.alert, wallet.*');
  await says(tab, '1 of 20 webhooks.');
  await look('portal, webhooks', tab);
  await tab.setViewportSize(DESKTOP);
  await go(tab, host);
  await open(tab, 'Turn on or remove');
  await press(tab, 'Turn on');
  await tab.locator('.badge', { hasText: 'No delivery since the last change' }).waitFor();

  // The catalogue.
  await go(tab, 'Events');
  await h2(tab, 'Events');
  const one = tab.locator('article').filter({ has: tab.getByRole('heading', { name: 'wallet.connected' }) });
  await one.locator('summary', { hasText: 'JSON Schema' }).click();
  await one.locator('pre', { hasText: '"$schema"' }).waitFor();
  assert.equal(await tab.locator('article').filter({ hasText: 'message.received' }).count(), 0);
  await look('portal, events', tab);
  await tab.setViewportSize(DESKTOP);

  // A restart ends no session. One that ended elsewhere is told kindly, and the chat leads back in.
  await ask('restart');
  await tab.goto(there);
  await h2(tab, host);
  await ask('end', sessions[0]);
  await tab.reload();
  await h2(tab, 'Open the portal again');
  await says(tab, 'It also ends with its key.');
  await says(tab, 'send /api');
  await tab.close();
  await alice.connected();

  // A bot token has one webhook.
  const token = await ask('key', 'bot');
  const other = await enter(token);
  await h2(other, 'Webhook of this bot token');
  await go(other, 'Add a webhook');
  await other.getByLabel('Address', { exact: true }).fill(`${receiver}/bot`);
  assert.equal(await other.getByLabel('message.received').count(), 1);
  await press(other, 'Add webhook');
  await says(other, 'is shown only once');
  await go(other, 'Open webhook');
  await press(other, 'Send a test');
  await says(other, 'Delivered: answered 200 after');

  // What happens is told to it: an event is given up, and sent again with all that were.
  await ask('answers', 'ill');
  await alice.tab.bringToFront();
  await alice.ask('/help', '/wallet');
  await other.bringToFront();
  const state = other.getByLabel('State');
  for (let looks = 0; await other.getByRole('link', { name: 'command.executed' }).count() === 0 || await other.locator('.deliveries .badge', { hasText: 'Dead-lettered' }).count() === 0; looks++) {
    assert.ok(looks < 100, 'no command was told of');
    await press(other, 'Refresh');
    await other.waitForTimeout(200);
  }
  await other.locator('.badge', { hasText: 'failing since' }).first().waitFor();
  await look('portal, a failing webhook', other);
  await other.setViewportSize(DESKTOP);
  await ask('answers', 'well');
  await open(other, 'Resend dead-lettered deliveries');
  await press(other, 'Resend all');
  await says(other, /^Resending 1 delivery\.$/);
  await state.selectOption({ label: 'Delivered' });
  for (let looks = 0; await other.getByRole('link', { name: 'command.executed' }).count() === 0; looks++) {
    assert.ok(looks < 100, 'it was not sent again');
    await other.waitForTimeout(100);
    await state.selectOption({ label: 'Waiting' });
    await state.selectOption({ label: 'Delivered' });
    await other.waitForTimeout(100);
  }
  await go(other, 'command.executed');
  await says(other, 'The endpoint accepted it.');
  assert.match(await other.locator('pre').last().textContent(), /"command": "\/help"/);
  await go(other, '← Webhook');
  await go(other, 'All webhooks');
  await h2(other, 'Webhook of this bot token');
  assert.equal(await other.getByRole('link', { name: 'Add a webhook' }).count(), 0);
  await other.close();

  // It is removed, after a question; and nobody is signed in any more.
  const last = await enter();
  await go(last, host);
  await open(last, 'Pause or remove');
  await press(last, 'Remove');
  await last.getByRole('dialog').waitFor();
  await look('portal, remove', last);
  await last.setViewportSize(DESKTOP);
  await last.keyboard.press('Escape');
  await last.getByRole('dialog').waitFor({ state: 'detached' });
  await press(last, 'Remove');
  await press(last, 'Remove webhook');
  await h2(last, 'Webhooks of this key');
  await says(last, 'You have no webhook yet.');
  await press(last, 'Sign out');
  await h2(last, 'You are signed out');
  assert.equal(await last.evaluate(() => sessionStorage.length), 0);
  const over = await fetch(`${api}/v1/webhooks`, { headers: { Authorization: `Bearer ${sessions.at(-1)}` } });
  assert.equal(over.status, 401);
  await last.reload();
  await h2(last, 'Open the portal from the chat');
  await look('portal, signed out', last);

  const { origin } = new URL(page);
  assert.deepEqual([...new Set(asked.filter((url) => !url.startsWith(`${origin}/portal`) && !url.startsWith(`${origin}/docs/`) && !url.startsWith(`${api}/v1/`)))], [], 'the portal asks somebody else');
  return { findings: [...look.findings, ...complaints], looked: look.looked, links, sessions, hooks };
});
