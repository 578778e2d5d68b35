// The portal's texts for states and errors, and that strangers' text stays inert.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import './english.mjs';
import {
  Problem, addressOf, errorText, families, healthOf, inert, instant, lastDay, later, meaningOf, moment, pauseOf, pretty, remark, resultOf, sentence, stateOf, subscription,
} from '../portal/texts.js';

const NOW = new Date('2026-11-21T14:30:00Z');

test('text of strangers shows what hides in it', () => {
  assert.equal(inert('plain text\n\twith lines'), 'plain text\n\twith lines');
  assert.equal(inert('<script>alert(1)</script>'), '<script>alert(1)</script>'); // as text it does nothing
  assert.equal(inert('abc\u202edef\u2066x'), 'abc⟦U+202E⟧def⟦U+2066⟧x');
  assert.equal(inert('a\u0000b\u0007c\u001b[31m'), 'a⟦U+0000⟧b⟦U+0007⟧c⟦U+001B⟧[31m');
  assert.equal(inert('a\u200b\u200d\ufeff\u3164\u2028\u{e0041}'), 'a⟦U+200B⟧⟦U+200D⟧⟦U+FEFF⟧⟦U+3164⟧⟦U+2028⟧⟦U+E0041⟧');
  assert.equal(inert('\ud800x\udc00'), '⟦U+D800⟧x⟦U+DC00⟧');
  assert.equal(inert('one\r\ntwo\rthree'), 'one\ntwo\nthree');
  assert.equal(inert(`z${'\u0301'.repeat(500)}!`), 'z\u0301\u0301\u0301⟦…⟧!');
  assert.equal(inert('Grüße, 世界, 😀, مرحبا'), 'Grüße, 世界, 😀, مرحبا');
  assert.equal(inert('\ufffd'), '\ufffd');
});

test('there is never too much of it', () => {
  assert.equal(inert('x'.repeat(5000), 10), `${'x'.repeat(10)}\n⟦… and 4,990 characters more⟧`);
  assert.equal(inert('😀😀', 3), '😀\n⟦… and 2 characters more⟧'); // none is halved
  assert.ok(inert('\u202e'.repeat(3_000_000)).length < 50_000);
});

test('JSON is laid out and not changed', () => {
  for (const value of [{}, [], { a: 1, b: [1, { c: 'x{,}"\\' }], d: {} , e: [] }, 'text', 7, null, [[[]]]]) {
    assert.equal(pretty(JSON.stringify(value)), JSON.stringify(value, null, 2));
  }
  assert.match(pretty('{"lamports":18446744073709551615,"n":1.50}'), /"lamports": 18446744073709551615,\n {2}"n": 1\.50/);
  assert.equal(pretty('{"a":1,"a":2}'), '{\n  "a": 1,\n  "a": 2\n}');
  assert.equal(pretty('no JSON {'), 'no JSON {');
  const long = JSON.stringify('\\"'.repeat(200_000));
  assert.equal(pretty(long), long);
  assert.ok(pretty('['.repeat(5000) + ']'.repeat(5000)).length < 1_000_000);
});

test('times are shown for the person who reads them', () => {
  assert.equal(moment('2026-11-21T14:02:00.000Z', NOW, 'UTC'), '14:02');
  assert.equal(moment('2026-11-20T14:02:00.000Z', NOW, 'UTC'), '20 Nov, 14:02');
  assert.equal(moment('2025-11-21T14:02:00.000Z', NOW, 'UTC'), '21 Nov, 14:02');
  assert.equal(moment('', NOW), '');
  assert.equal(instant('2026-11-21T14:02:03.900Z', NOW, 'UTC'), '14:02:03');
  assert.equal(instant('2026-11-20T14:02:03.900Z', NOW, 'UTC'), '20 Nov, 14:02:03');
});

test('health and results are texts', () => {
  const hook = { active: true, ended: '', failing_since: '', last_triggered: '2026-11-21T14:00:00.000Z', updated_at: '2026-11-21T13:00:00.000Z', health: { last_success: '2026-11-21T14:00:00.000Z' } };
  const of = (change) => healthOf({ ...hook, ...change }, NOW, 'UTC');
  assert.deepEqual(of({}), { kind: 'good', text: 'Healthy' });
  assert.deepEqual(of({ failing_since: '2026-11-21T14:02:00.000Z' }), { kind: 'bad', text: 'Failing since 14:02' });
  assert.deepEqual(of({ active: false, ended: 'gone' }), { kind: 'off', text: 'Turned off: the endpoint returned 410' });
  assert.deepEqual(of({ active: false, ended: 'failing' }), { kind: 'off', text: 'Turned off: no delivery succeeded for days' });
  assert.deepEqual(of({ active: false, ended: 'tier' }), { kind: 'off', text: 'Stopped: the key is on the free tier' });
  assert.deepEqual(of({ active: false }), { kind: 'off', text: 'Paused' });
  assert.deepEqual(of({ last_triggered: '' }), { kind: 'new', text: 'Nothing sent yet' });
  assert.deepEqual(of({ health: { last_success: '' } }), { kind: 'new', text: 'No delivery yet, except tests' });
  assert.deepEqual(of({ updated_at: '2026-11-21T14:00:00.001Z' }), { kind: 'new', text: 'No delivery since the last change, except tests' }); // turned on, too
  assert.equal(stateOf('dead_lettered').text, 'Dead-lettered');
  const given = (...all) => meaningOf({ state: 'dead_lettered', attempted: all.map((status) => ({ status })) });
  for (const status of [302, 400, 404, 410]) assert.ok(given(503, status).startsWith(`The endpoint returned ${status}, and a retry would get the same answer.`));
  for (const all of [[], [0], [500], [400, 503], [408], [425], [429]]) assert.match(given(...all), /^All attempts failed\./);
  assert.equal(meaningOf({ state: 'delivered', attempted: [{ status: 200 }] }), 'The endpoint accepted it.');
  assert.equal(stateOf('<b>').text, '<b>');
  assert.equal(resultOf({ status: 500, error: 'answered 500', latency_ms: 1234 }), 'answered 500 after 1,234 ms');
  assert.equal(resultOf({ status: 0, error: 'connection refused', latency_ms: 3 }), 'connection refused after 3 ms');
  assert.equal(resultOf({ status: 200, error: '', latency_ms: 0 }), 'answered 200 after less than 1 ms');
  assert.deepEqual([remark({ status: 500, error: 'answered 500' }), remark({ status: 302, error: 'redirects are not followed' }), remark({ status: 0, error: 'no answer' })], ['', 'redirects are not followed', '']);
  assert.equal(resultOf({ status: 0, error: '', latency_ms: 3 }), 'no answer after 3 ms');
});

test('an address is shown by its host and path, without what may be a secret in its query', () => {
  assert.equal(addressOf('https://hooks.example.com:8443/x/y?token=secret'), 'hooks.example.com:8443/x/y?…');
  assert.equal(addressOf('https://hooks.example.com/'), 'hooks.example.com');
  assert.equal(addressOf('https://hooks.example.com/?a'), 'hooks.example.com?…');
  assert.equal(addressOf('https://раypal.example/a'), 'xn--ypal-43d9g.example/a');
  assert.equal(addressOf('https://example.com/\u202eevil'), 'example.com/%E2%80%AEevil');
  assert.ok(addressOf(`https://example.com/${'x'.repeat(2000)}`).length < 220);
  assert.equal(addressOf('nothing'), 'nothing');
});

test('a view that looks by itself looks seldom, and leaves most requests of the hour to the person', () => {
  const within = (quick, seconds) => {
    let [at, looks] = [0, 0];
    while ((at += pauseOf(looks, quick) / 1000) <= seconds) looks++;
    return looks;
  };
  assert.equal(pauseOf(0), 10_000);
  assert.equal(pauseOf(0, true), 3_000);
  assert.ok(within(false, 3600) < 100 && within(true, 3600) < 110, `${within(false, 3600)}, ${within(true, 3600)}`);
  assert.ok(within(true, 60) >= 19);
  assert.ok(pauseOf(1e9, true) === 60_000 && pauseOf(1e9) === 60_000);
});

test('what nothing emits yet is known', () => {
  assert.deepEqual([...later([{ event: 'a', emitted: true }, { event: 'b', emitted: false }, { event: 'c' }])], ['b']);
});

test('errors say what to do', () => {
  assert.match(errorText({ code: 'UNREACHABLE' }), /try again/);
  assert.equal(errorText({ code: 'RATE_LIMIT_EXCEEDED', details: 'at most 600 an hour', retryAfter: 1 }), 'At most 600 an hour. Wait 1 second, then try again.');
  assert.equal(errorText({ code: 'INVALID_WEBHOOK_URL', details: 'url: The URL must begin with https://.' }), 'The URL must begin with https://.');
  assert.equal(errorText({ code: 'INVALID_REQUEST', details: 'secret: 16 to 128 characters' }), '16 to 128 characters.');
  assert.match(errorText({ code: 'SOMETHING', details: '', message: 'the words' }), /The words\./);
  assert.equal(errorText(new TypeError('')), 'Something went wrong.');
  for (const code of ['TIER_REQUIRED', 'INSUFFICIENT_SCOPE', 'WEBHOOK_NOT_FOUND', 'NOT_FOUND', 'WEBHOOK_LIMIT_REACHED', 'CONFLICT', 'INTERNAL_ERROR', 'NETWORK_ERROR']) {
    assert.ok(errorText({ code }).length > 20, code);
  }
  assert.equal(errorText(new Problem('hook.no_address')), 'Enter the address to call, starting with https://'); // as it is in the catalogue
  assert.equal(sentence(' '), '');
});

test('events are grouped, and a wildcard stands for what it holds', () => {
  const events = ['wallet.connected', 'price.alert', 'wallet.disconnected', 'webhook.test'].map((event) => ({ event, kind: 'api' })).concat({ event: 'message.received', kind: 'bot' });
  assert.deepEqual(families(events, 'api'), [
    { family: 'wallet', all: 'wallet.*', names: ['wallet.connected', 'wallet.disconnected'] }, { family: 'price', all: 'price.*', names: ['price.alert'] }]);
  assert.deepEqual(subscription(['wallet.*', 'wallet.connected', 'price.alert']), ['price.alert', 'wallet.*']);
  assert.deepEqual(subscription(['*', 'wallet.*', 'price.alert']), ['*']);
  assert.deepEqual(subscription([]), []);
});

test('a day has 24 hours, with those in which nothing was', () => {
  const day = lastDay([{ hour: '2026-11-21T14:00:00.000Z', succeeded: 2, failed: 1, dead_lettered: 0 }, { hour: '2026-11-20T15:00:00.000Z', succeeded: 0, failed: 0, dead_lettered: 4 },
    { hour: '2026-11-20T14:00:00.000Z', succeeded: 9, failed: 9, dead_lettered: 9 }], NOW);
  assert.equal(day.length, 24);
  assert.deepEqual(day[23], { hour: '2026-11-21T14:00:00.000Z', succeeded: 2, failed: 1, dead_lettered: 0 });
  assert.deepEqual(day[0], { hour: '2026-11-20T15:00:00.000Z', succeeded: 0, failed: 0, dead_lettered: 4 });
  assert.equal(day.reduce((sum, hour) => sum + hour.succeeded + hour.failed + hour.dead_lettered, 0), 7);
});
