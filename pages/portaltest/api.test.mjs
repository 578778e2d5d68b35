// How the portal asks the API: against a server that answers, refuses, and falls silent.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Api, Refusal } from '../portal/api.js';

/** An Api whose server answers in turn with these: [status, body, headers], or an error. */
function against(...answers) {
  const asked = [];
  const over = [];
  const api = new Api('https://api.example', {
    over: (refusal) => over.push(refusal),
    fetch: async (url, sent) => {
      asked.push({ url, ...sent });
      const next = answers.length > 1 ? answers.shift() : answers[0];
      if (next instanceof Error) throw next;
      const [status, body, headers = {}] = next;
      return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers });
    },
  });
  api.session = 'pur_session_x';
  return { api, asked, over };
}

const done = (data) => [200, { success: true, data }];
const refused = (status, code, headers) => [status, { success: false, error: { code, message: 'M', details: 'd' } }, headers];

test('the session goes along, and no cookie does', async () => {
  const { api, asked } = against(done({ a: 1 }));
  assert.deepEqual(await api.get('/v1/key'), { a: 1 });
  const [{ url, method, headers, credentials, redirect, cache, body }] = asked;
  assert.deepEqual({ url, method, headers, credentials, redirect, cache, body }, {
    url: 'https://api.example/v1/key', method: 'GET', headers: { Authorization: 'Bearer pur_session_x' }, credentials: 'omit', redirect: 'error', cache: 'no-store', body: undefined });
});

test('of several requests that a session no longer opens, one ends it', async () => {
  const { api, over } = against(refused(401, 'INVALID_API_KEY'));
  api.over = (refusal) => {
    over.push(refusal);
    api.session = ''; // as the page forgets it
  };
  const ended = await Promise.allSettled([api.get('/a'), api.get('/b')]);
  assert.deepEqual(ended.map(({ reason }) => reason.code), ['INVALID_API_KEY', 'INVALID_API_KEY']);
  assert.equal(over.length, 1);
});

test('a refusal is told with its code, and the end of the session to whoever waits for it', async () => {
  const { api, over } = against(refused(429, 'RATE_LIMIT_EXCEEDED', { 'Retry-After': '7' }), refused(401, 'INVALID_API_KEY'));
  await assert.rejects(api.get('/x'), (err) => err instanceof Refusal && err.code === 'RATE_LIMIT_EXCEEDED' && err.retryAfter === 7 && err.details === 'd');
  assert.equal(over.length, 0);
  await assert.rejects(api.get('/x'), { code: 'INVALID_API_KEY' });
  assert.equal(over.length, 1);
});

test('what is no answer of the API is none', async () => {
  for (const answer of [new TypeError('network'), [502, '<html>'], [200, '']]) {
    await assert.rejects(against(answer).api.get('/x'), { code: 'UNREACHABLE' });
  }
  await assert.rejects(against([500, {}]).api.get('/x'), { code: 'INTERNAL_ERROR' });
  await assert.rejects(against([200, 'null']).api.get('/x'), { code: 'INTERNAL_ERROR' });
});

test('what was not heard of is asked for under the same key, and what was answered under a new one', async () => {
  const { api, asked } = against(new TypeError('network'), done({}), done({}), refused(409, 'CONFLICT'), done({}));
  const key = (i) => asked[i].headers['Idempotency-Key'];
  await assert.rejects(api.post('/x', { a: 1 }), { code: 'UNREACHABLE' });
  await api.post('/x', { a: 1 });
  await api.post('/x', { a: 1 });
  await assert.rejects(api.post('/x', { a: 2 }), { code: 'CONFLICT' });
  await api.post('/x', { a: 2 });
  assert.match(key(0), /^[0-9a-f]{32}$/);
  assert.equal(key(0), key(1));
  assert.equal(new Set(asked.map((_, i) => key(i))).size, 4);
});

test('a bot token has one webhook, or none', async () => {
  const none = against(refused(404, 'WEBHOOK_NOT_FOUND')).api;
  none.kind = 'bot';
  assert.deepEqual(await none.hooks(), []);
  assert.equal(none.hook('bwh_x'), '/v1/telegram/webhook');
  const one = against(done({ webhook_id: 'bwh_x' })).api;
  one.kind = 'bot';
  assert.deepEqual(await one.hooks(), [{ webhook_id: 'bwh_x' }]);
});

test('webhooks come with their health, but for one that was removed meanwhile', async () => {
  const { api, asked } = against(done({ webhooks: [{ webhook_id: 'wh_a' }, { webhook_id: 'wh/b' }] }), done({ webhook_id: 'wh_a' }), refused(404, 'WEBHOOK_NOT_FOUND'));
  assert.deepEqual(await api.hooks(), [{ webhook_id: 'wh_a' }]);
  assert.deepEqual(asked.map(({ url }) => url.slice(19)), ['/v1/webhooks', '/v1/webhooks/wh_a', '/v1/webhooks/wh%2Fb']);
});

test('what is left of the session is known, and one request tells whether the list has changed', async () => {
  const { api, asked } = against([200, { success: true, data: { webhooks: [{ webhook_id: 'wh_1' }] } }, { 'RateLimit-Remaining': '417' }], done({ webhooks: [] }));
  assert.equal(api.left, Infinity);
  const before = await api.glance();
  assert.equal(api.left, 417);
  assert.notEqual(await api.glance(), before);
  assert.equal(api.left, 417); // an answer that does not say changes nothing
  assert.deepEqual(asked.map(({ url }) => url), Array(2).fill('https://api.example/v1/webhooks'));
  api.kind = 'bot';
  await api.glance();
  assert.equal(asked[2].url, 'https://api.example/v1/telegram/webhook');
});
