// The portal in a real Chromium, against an API that answers as the real one does: in the pseudo-locale every text comes
// from the catalogue and fits. It uses the browser and the pseudo-locale of the signing page's tests (signer/pagetest).

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { after, before, test } from 'node:test';
import { english } from './english.mjs';

const pagetest = new URL('../../signer/pagetest/', import.meta.url);
const installed = existsSync(new URL('node_modules', pagetest));
const missing = installed || process.env.CI === 'true' ? false : 'signer/pagetest has no node_modules: run `npm ci` there';
const { DESKTOP, launch, noBrowser, part, speaksPseudo, whole } = missing ? {} : await import(new URL('chromium.mjs', pagetest));
const { LOCALES, complaintsOf, pseudoCatalogue } = await import(new URL('pseudo.mjs', pagetest));
const skip = missing || noBrowser;

const pages = new URL('../', import.meta.url);
const types = { '.css': 'text/css', '.js': 'text/javascript', '.json': 'application/json', '.svg': 'image/svg+xml' };
const FOLDERS = { '/portal/': 'portal/', '/docs/': 'static/' };
const NOW = () => new Date().toISOString();

const event = (name, more = {}) => ({ event: name, kind: 'api', when: 'Something happened.', scope: 'wallet:read', public: false, emitted: true, schema: { type: 'object' }, example: { event: name }, ...more });
const EVENTS = [event('wallet.connected'), event('wallet.disconnected'), event('price.alert', { emitted: false, public: true }), event('webhook.test', { scope: '' })];

function hook(id, more = {}) {
  const { health, ...rest } = more;
  return {
    webhook_id: id, url: `https://hooks.example.com/${id}?token=x`, events: ['wallet.*', 'price.alert'], active: true, ended: '', failing_since: '', last_triggered: NOW(), updated_at: '2026-01-01T00:00:00.000Z', ...rest,
    health: { last_success: NOW(), last_error: '', waiting: 1, failures: 0, events: { used: 4321, limit: 10000 }, hours: [{ hour: NOW(), succeeded: 12, failed: 3, dead_lettered: 1 }], ...health },
  };
}
const HOOKS = [
  hook('wh_good'), hook('wh_new', { last_triggered: '', health: { last_success: '', waiting: 0, hours: [] } }), hook('wh_tested', { health: { last_success: '' } }), hook('wh_changed', { updated_at: '2100-01-01T00:00:00.000Z' }),
  hook('wh_failing', { failing_since: NOW(), health: { last_error: 'answered 503', failures: 7, waiting: 10000 } }), hook('wh_paused', { active: false }),
  hook('wh_gone', { active: false, ended: 'gone' }), hook('wh_off', { active: false, ended: 'failing' }), hook('wh_tier', { active: false, ended: 'tier' }),
  hook('wh_behind', { active: false, ended: 'backlog' }),
];

const attempt = (status, error = '', more = {}) => ({ at: NOW(), status, error, latency_ms: 12, answer: status ? '<b>thank you</b>' : '', ...more });
function delivery(state, attempted, more = {}) {
  return {
    delivery_id: `dl_${state}`, event_id: `evt_${state}_0123456789abcdef`, event: 'wallet.connected', state, resend: state === 'delivered', created_at: NOW(), next_at: state === 'waiting' ? NOW() : '', ended_at: state === 'waiting' ? '' : NOW(),
    attempts: attempted.length, last_error: attempted.at(-1)?.error ?? '', attempted, body_shown: true, body: '{"event":"wallet.connected"}', ...more,
  };
}
const DELIVERIES = [
  delivery('waiting', [attempt(0, 'connection refused')]), delivery('delivered', [attempt(200)]), delivery('dead_lettered', [attempt(503, 'answered 503'), attempt(302, 'redirects are not followed', { answer: '', latency_ms: 0 })]),
  delivery('revoked', [], { body_shown: false, body: '' }), delivery('superseded', [attempt(0)]), delivery('of tomorrow', []),
];

/** The pages and the API on one origin. Tests set `api.refuse[path]` to {status, code, details}. */
async function serve() {
  const api = { opened: [], refuse: {}, kind: 'api', hooks: HOOKS, created: { secret: 'whsec_0123456789' }, rotated: { secret: 'whsec_new', previous_until: NOW() }, recovered: { recovered: 3, next_since: '' }, cursor: 'next' };
  const answer = (method, path) => {
    if (path === '/v1/portal/session') return { session: 'pur_session_x', kind: api.kind, key_hint: 'ab12', app: 'Shop', tier: 'pro', cluster: 'devnet', bot: 'purser_bot', expires_at: new Date(Date.now() + 3_600_000).toISOString() };
    if (path === '/v1/webhooks/events') return { events: EVENTS };
    if (path === '/v1/webhooks') return method === 'POST' ? { ...HOOKS[0], ...api.created } : { webhooks: api.hooks };
    const [id, what, one] = path.replace(/^\/v1\/(webhooks|telegram)\//, '').split('/').map(decodeURIComponent);
    switch (what) {
      case 'deliveries': return one ? DELIVERIES.find((d) => d.delivery_id === one) : { deliveries: DELIVERIES, next_cursor: api.cursor };
      case 'test': return { delivered: api.delivered, delivery_id: 'dl_delivered', status: 200, error: '', latency_ms: 5 };
      case 'secret': return api.rotated;
      case 'recover': return api.recovered;
      default: return HOOKS.find((known) => known.webhook_id === id) ?? HOOKS[0];
    }
  };
  const http = createServer((req, res) => {
    const { pathname } = new URL(req.url, 'http://x');
    const send = (status, type, body) => { res.writeHead(status, { 'Content-Type': `${type}; charset=utf-8` }); res.end(body); };
    if (pathname.startsWith('/v1/')) {
      if (pathname === '/v1/portal/session') req.on('data', (body) => api.opened.push(String(body)));
      const refusal = api.refuse[pathname];
      return refusal ? send(refusal.status, 'application/json', JSON.stringify({ success: false, error: { message: 'M.', ...refusal } }))
        : send(200, 'application/json', JSON.stringify({ success: true, data: answer(req.method, pathname) }));
    }
    if (pathname === '/portal') return send(200, 'text/html', readFileSync(new URL('portal.html', pages), 'utf8').replace('{{.}}', `http://${req.headers.host}`));
    const [folder] = Object.keys(FOLDERS).filter((f) => pathname.startsWith(f));
    const name = pathname.slice(folder?.length ?? 0);
    if (name === 'languages.js') return send(200, types['.js'], `export const LANGUAGES = ${JSON.stringify(['en', ...LOCALES])};`);
    if (LOCALES.includes(name.replace('.json', ''))) return send(200, types['.json'], JSON.stringify(pseudoCatalogue(english)));
    if (!folder || !existsSync(new URL(FOLDERS[folder] + name, pages))) return send(404, 'text/plain', '');
    return send(200, types[extname(name)], readFileSync(new URL(FOLDERS[folder] + name, pages)));
  });
  await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve));
  return { api, page: `http://127.0.0.1:${http.address().port}/portal`, close: () => new Promise((resolve) => { http.closeAllConnections(); http.close(resolve); }) };
}

/** Visits every screen of the portal and calls look(name, tab) on each. */
async function walk(context, { api, page }, look) {
  const tab = await context.newPage();
  const h2 = (text) => tab.getByRole('heading', { level: 2, name: part(tab, text) }).waitFor();
  const press = (text) => tab.getByRole('button', { name: whole(tab, text), exact: true }).click();
  const says = (text) => tab.locator('main').getByText(part(tab, text)).first().waitFor();
  const place = async (hash) => { await tab.evaluate((to) => { location.hash = to; }, hash); };
  const unfold = () => tab.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
  if (LOCALES.includes(context.pseudo)) speaksPseudo(tab);

  await tab.goto(page);
  await h2('Open the portal from the chat');
  await look('signed out', tab);
  api.refuse['/v1/portal/session'] = { status: 503, code: 'NETWORK_ERROR' };
  await place('#t=token');
  await says('purser has a problem');
  await look('not signed in', tab);
  delete api.refuse['/v1/portal/session'];
  await press('Try again');
  await h2('Webhooks of this key');
  await unfold();
  await look('list', tab);
  await place('#t=another');
  await h2('Open another portal?');
  await look('another portal', tab);
  await press('Stay here');
  api.hooks = [];
  await place('#/events');
  await h2('Events');
  await unfold();
  await look('events', tab);
  await place('#/');
  await says('You have no webhook yet');
  await look('list, empty', tab);
  api.hooks = Array.from({ length: 20 }, (_, i) => HOOKS[i % HOOKS.length]);
  await place('#/events');
  await h2('Events');
  await place('#/');
  await says('Remove one to add another');
  await look('list, full', tab);

  await place('#/new');
  await h2('Add a webhook');
  await unfold();
  await press('Add webhook');
  await says('Enter the address to call');
  await look('new, wrong', tab);
  await tab.locator('input[type=url]').fill('https://hooks.example.com/');
  await press('Add webhook');
  await says('is shown only once');
  await look('new, secret', tab);

  for (const { webhook_id: id } of HOOKS) {
    await place(`#/w/${id}`);
    await tab.locator('h2', { hasText: id }).waitFor();
    await unfold();
    await look(id, tab);
  }
  for (const delivered of [true, false]) {
    api.delivered = delivered;
    await press('Send a test');
    await tab.locator('.result .attempts').waitFor();
    await says(delivered ? 'Delivered: ' : 'Not delivered: ');
    await look(`test, ${delivered}`, tab);
  }
  await press('Show older');
  await press('Rotate secret');
  await says('The previous secret works until');
  await press('Resend all');
  await says('Resending');
  await look('rotated, resent', tab);
  api.rotated = { secret: '', previous_until: '' };
  api.recovered = { recovered: 0, next_since: '' };
  await press('Rotate secret');
  await says('The new secret was in a response that got lost');
  await press('Resend all');
  await says('Nothing to resend since then');
  await look('rotated, lost', tab);
  await press('Remove');
  await tab.getByRole('dialog').waitFor();
  await look('remove', tab);
  await tab.keyboard.press('Escape');

  for (const { delivery_id: id, event_id: name } of DELIVERIES) {
    await place(`#/w/wh_good/d/${encodeURIComponent(id)}`);
    await tab.getByText(name).waitFor();
    await look(id, tab);
  }
  await place('#/w/wh_good/d/dl_delivered');
  await press('Resend');
  await says('Resending.');
  await look('resent', tab);

  for (const [code, text] of Object.entries({
    TIER_REQUIRED: 'Webhooks need the pro tier', INSUFFICIENT_SCOPE: 'Send /api in the chat', WEBHOOK_NOT_FOUND: 'no longer exists', NOT_FOUND: 'kept for a limited time', WEBHOOK_LIMIT_REACHED: 'maximum number',
    CONFLICT: 'Refresh and check it again', RATE_LIMIT_EXCEEDED: 'then try again', INTERNAL_ERROR: 'purser has a problem', UNREACHABLE: 'cannot be reached',
  })) {
    api.refuse['/v1/webhooks'] = { status: 400, code };
    await place('#/events');
    await h2('Events');
    await place('#/');
    await says(text);
    await look(code, tab);
  }
  api.refuse = {};
  await place('#/events');
  await press('Sign out');
  await h2('You are signed out');
  await look('signed out in the portal', tab);
  await place('#t=again');
  await h2('Webhooks of this key');
  api.refuse['/v1/webhooks/wh_good'] = { status: 401, code: 'INVALID_API_KEY', details: '' };
  await place('#/w/wh_good');
  await h2('Open the portal again');
  await look('session over', tab);
  api.refuse = {};
  Object.assign(api, { kind: 'bot' });
  await place('#t=bot');
  await h2('Webhook of this bot token');
  await look('bot token', tab);
}

let browser;
before(async () => { browser = skip ? null : await launch(); });
after(() => browser?.close());

for (const [locale, dir] of [['eo', 'ltr'], ['ar', 'rtl']]) {
  test(`in the pseudo-locale every text comes from the catalogue and fits, ${dir}`, { skip, timeout: 300_000 }, async () => {
    const server = await serve();
    const context = Object.assign(await browser.newContext({ ...DESKTOP, locale }), { pseudo: locale });
    context.setDefaultTimeout(60_000);
    try {
      const findings = [];
      const looked = [];
      await walk(context, server, async (screen, tab) => {
        looked.push(screen);
        findings.push(...(await complaintsOf(tab, ['pro', 'devnet', 'connection refused'])).map((complaint) => `${screen}: ${complaint}`));
        const html = await tab.evaluate(() => [document.documentElement.lang, document.documentElement.dir]);
        if (String(html) !== String([locale, dir])) findings.push(`${screen}: lang and dir are ${html}`);
      });
      assert.deepEqual(findings, []);
      assert.ok(looked.length > 40, `${looked.length} screens`);
    } finally {
      await context.close();
      await server.close();
    }
  });
}

test('a link may name the language; it is no part of the token, and the tab keeps it', { skip, timeout: 120_000 }, async () => {
  for (const [browsers, link, is] of [['en-GB', '&lang=eo', 'eo'], ['eo', '&lang=en', 'en'], ['eo', '', 'eo'], ['en-GB', '&lang=xx', 'en'], ['en-GB', '&lang=ar-EG', 'ar']]) {
    const server = await serve();
    const context = await browser.newContext({ ...DESKTOP, locale: browsers });
    context.setDefaultTimeout(60_000);
    try {
      const tab = await context.newPage();
      const lang = async () => {
        await tab.locator('main h2').first().waitFor();
        return tab.evaluate(() => document.documentElement.lang);
      };
      await tab.goto(`${server.page}#t=a-token${link}`);
      assert.equal(await lang(), is, `${browsers} ${link}`);
      assert.deepEqual(server.api.opened.map((body) => JSON.parse(body).token), ['a-token']);
      assert.equal(await tab.evaluate(() => location.hash), '#/');
      await tab.reload();
      assert.equal(await lang(), is, `${browsers} ${link}, after a reload`);
    } finally {
      await context.close();
      await server.close();
    }
  }
});
