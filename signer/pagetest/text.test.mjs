// Challenge checks, the signed text, and how foreign text, amounts and addresses are written.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import './english.mjs';
import { insideTelegram } from '../page/browser.js';
import { BadChallenge, checkChallenge, signInText } from '../page/challenge.js';
import { clock, day, groups, plain, sol, utcTime } from '../page/text.js';

const challenge = {
  telegram_id: '1001', telegram_name: 'Alice', username: 'alice', chain: 'devnet', nonce: 'aB3dE5gH7j',
  issued_at: '2026-11-21T10:00:00Z', expires_at: '2026-11-21T10:10:00Z',
};

test('the signed text is the one of the design, letter by letter', () => {
  assert.equal(signInText({ host: 'wallet.example:8443', origin: 'https://wallet.example:8443' }, 'ADDRESS', checkChallenge(challenge)), [
    'wallet.example:8443 wants you to sign in with your Solana account:',
    'ADDRESS',
    '',
    'Connect this wallet to the Telegram account 1001.',
    '',
    'URI: https://wallet.example:8443',
    'Version: 1',
    'Chain ID: devnet',
    'Nonce: aB3dE5gH7j',
    'Issued At: 2026-11-21T10:00:00Z',
    'Expiration Time: 2026-11-21T10:10:00Z',
  ].join('\n'));
});

test('a field that could add a line to the signed text is refused', () => {
  for (const [field, values] of Object.entries({
    telegram_id: ['', '10a', '1\n2', '-1', '1'.repeat(21), 1001, null, '１００１'],
    chain: ['', 'testnet', 'mainnet\n', 'Mainnet', null],
    nonce: ['', 'short', 'a'.repeat(65), 'abcdefgh\n', 'abcd efgh', 'abcdéfgh', null, ['abcdefgh']],
    issued_at: ['', 'yesterday', '2026-11-21T10:00:00+01:00', '2026-11-21 10:00:00Z', '2026-13-41T10:00:00Z', '2026-11-21T10:00:00Z\nURI: x', null],
    expires_at: ['', '2026-11-21T10:00:00', '2026-11-21T09:59:59Z', '2026-11-21T10:00:00Z', 0],
    telegram_name: [null, 5, 'x'.repeat(257)],
    username: [null, {}, 'x'.repeat(65)],
  })) {
    for (const value of values) {
      assert.throws(() => checkChallenge({ ...challenge, [field]: value }), BadChallenge, `${field} ${JSON.stringify(value)}`);
    }
  }
  for (const nothing of [null, undefined, 5, 'x', []]) assert.throws(() => checkChallenge(nothing), BadChallenge);
  assert.deepEqual(checkChallenge({ ...challenge, extra: 'x' }), challenge, 'unknown fields are dropped');
});

test('foreign text cannot hide or reorder what stands around it', () => {
  assert.equal(plain('Alice \u202eecilA\u0000\n\u200b'), 'Alice \ufffdecilA\ufffd\ufffd\ufffd');
  assert.equal(plain('چای ☕ \u{1f468}\u200d\u{1f469}'), 'چای ☕ \u{1f468}\u200d\u{1f469}');
  assert.equal(plain('a\ud800b'), 'a\ufffdb');
  assert.equal(plain('x'.repeat(300)), `${'x'.repeat(200)}…`);
  assert.equal(plain(undefined), '');
});

test('amounts are exact', () => {
  for (const [lamports, text] of [
    ['0', '0'], ['1', '0.000000001'], ['5000', '0.000005'], ['1000000000', '1'], ['1500000000', '1.5'],
    ['1000000001', '1.000000001'], ['9007199254740993', '9007199.254740993'], ['18446744073709551615', '18446744073.709551615'],
  ]) assert.equal(sol(lamports), text);
});

test('addresses are grouped without losing a character', () => {
  for (let length = 32; length <= 44; length++) {
    const address = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'.slice(0, length);
    const parts = groups(address);
    assert.equal(parts.join(''), address);
    assert.ok(parts.slice(0, -1).every((p) => p.length === 4) && parts.at(-1).length >= 1, 'not the groups of four of the chat');
  }
});

test('times are UTC in RFC 3339, nothing else', () => {
  assert.equal(utcTime('2026-11-21T10:00:00.123Z').toISOString(), '2026-11-21T10:00:00.123Z');
  for (const bad of ['', '2026-11-21', 'now', '2026-11-21T25:00:00Z', null]) assert.equal(utcTime(bad), null);
});

test('Telegram\'s in-app browsers are known by name or by what they inject, others are not', () => {
  const named = (userAgent, more = {}) => insideTelegram({ navigator: { userAgent }, ...more });
  assert.ok(named('Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36 Telegram-Android/12.1.1 (Google Pixel 9; Android 15)'));
  assert.ok(named('Mozilla/5.0 (Linux; Android 15)', { TelegramWebview: {} }));
  assert.ok(named('Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X)', { TelegramWebviewProxy: {} }));
  assert.ok(!named('Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1'));
  assert.ok(!insideTelegram({}));
});

/** Has a test leave the time zone of the process as it found it. */
function restoreZone(context) {
  const zone = process.env.TZ;
  context.after(() => { if (zone === undefined) delete process.env.TZ; else process.env.TZ = zone; });
}

test('a time of day is the device\'s, with its distance from UTC', (context) => {
  restoreZone(context);
  const said = (name, at) => { process.env.TZ = name; return clock(at); };
  assert.equal(said('UTC', '2026-11-21T09:05:59Z'), '09:05 UTC');
  assert.equal(said('Europe/Berlin', '2026-11-21T09:05:00Z'), '10:05 UTC+1');
  assert.equal(said('Europe/Berlin', '2026-07-21T09:05:00Z'), '11:05 UTC+2');
  assert.equal(said('America/New_York', '2026-11-21T09:05:00Z'), '04:05 UTC\u22125');
  assert.equal(said('America/St_Johns', '2026-11-21T03:05:00Z'), '23:35 UTC\u22123:30');
  assert.equal(said('Asia/Kathmandu', '2026-11-21T20:10:00Z'), '01:55 UTC+5:45');
  assert.equal(said('Asia/Kolkata', '2026-11-20T18:30:00Z'), '00:00 UTC+5:30'); // midnight is no 24:00
});

test('a day is today in the zone of the device', (context) => {
  restoreZone(context);
  process.env.TZ = 'Asia/Kathmandu';
  const now = Date.parse('2026-11-21T12:00:00Z'); // 17:45 there
  assert.match(day('2026-11-20T18:20:00Z', now), /today at 00:05 UTC\+5:45/);
  assert.match(day('2026-11-20T18:10:00Z', now), /on 20 Nov 2026 at 23:55 UTC\+5:45/);
  assert.match(day('2025-11-21T12:00:00Z', now), /on 21 Nov 2025/);
});
