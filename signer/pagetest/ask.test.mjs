// What boot.js asks for ahead: the right question, taken once, and by nobody else.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { askAhead, takeFirst } from '../page/ask.js';
import { NoAnswer, getTransaction } from '../page/server.js';

const ID = 'A'.repeat(22);
const real = globalThis.fetch;
let asked;
beforeEach(() => {
  asked = [];
  globalThis.fetch = async (path, init) => {
    asked.push([path, init.method, init.body, init.credentials, init.redirect, init.referrerPolicy]);
    return `the answer of ${path}`;
  };
});
afterEach(() => {
  globalThis.fetch = real;
  delete globalThis.firstAnswer;
});

test('a link asks what its flow asks first, and the answer is taken once', async () => {
  for (const [kind, path, body] of [['sign', '/w/tx/get', { id: ID }], ['bind', '/w/bind/challenge', { token: ID }]]) {
    askAhead(kind, ID);
    assert.deepEqual(asked.pop(), [path, 'POST', JSON.stringify(body), 'omit', 'error', 'no-referrer']);
    assert.equal(await takeFirst(path, body), `the answer of ${path}`);
    assert.equal(takeFirst(path, body), undefined, 'taken twice');
  }
});

test('another question gets no answer that was meant for the first', () => {
  for (const [path, body] of [['/w/tx/get', { id: 'B'.repeat(22) }], ['/w/tx/refresh', { id: ID }], ['/w/bind/challenge', { token: ID }]]) {
    askAhead('sign', ID);
    assert.equal(takeFirst(path, body), undefined);
    assert.equal(takeFirst('/w/tx/get', { id: ID }), undefined, 'what was asked for first is no longer new');
  }
});

test('nothing else is asked ahead', () => {
  for (const kind of ['home', 'gone', 'broken', 'freeze', 'unfreeze', 'limits', 'constructor']) askAhead(kind, ID);
  assert.deepEqual(asked, []);
  assert.equal(takeFirst('/w/tx/get', { id: ID }), undefined);
});

test('an answer whose body can no longer be read is asked for once more', async () => {
  const dead = { ok: true, json: async () => { throw new DOMException('the signal timed out', 'TimeoutError'); } };
  const good = { ok: true, json: async () => ({ status: 'confirmed' }) };
  for (const [answers, wanted] of [[[dead, good], { status: 'confirmed' }], [[good], { status: 'confirmed' }], [[dead, dead], NoAnswer]]) {
    const left = [...answers];
    globalThis.fetch = async () => left.shift();
    askAhead('sign', ID);
    if (wanted === NoAnswer) await assert.rejects(getTransaction(ID), NoAnswer);
    else assert.deepEqual(await getTransaction(ID), wanted);
    assert.deepEqual(left, []);
  }
});
