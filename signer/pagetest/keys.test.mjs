// Base58, recovery phrase, key derivation, passphrases and sealing, each against an independent
// implementation or the published vectors.

import assert from 'node:assert/strict';
import { createCipheriv, createHash, hkdfSync, pbkdf2Sync, randomBytes, webcrypto } from 'node:crypto';
import { test } from 'node:test';
import { base58 as oracle58 } from '@scure/base';
import * as oracle39 from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english';
import { ed25519 } from '@noble/curves/ed25519';
import { HDKey } from 'micro-key-producer/slip10.js';
import './english.mjs';
import * as base58 from '../page/base58.js';
import * as bytes from '../page/bytes.js';
import { t } from '../page/catalogue.js';
import * as keyfile from '../page/keyfile.js';
import * as mnemonic from '../page/mnemonic.js';
import * as passphrase from '../page/passphrase.js';
import { strength } from '../page/strength.js';
import * as seal from '../page/seal.js';
import { WORDS } from '../page/words.js';

const hex = (b) => Buffer.from(b).toString('hex');
const unhex = (s) => new Uint8Array(Buffer.from(s, 'hex'));
const GOOD = 'a calm green river bends';

test('base58 agrees with the oracle in both directions', () => {
  for (let length = 0; length <= 70; length++) {
    for (let round = 0; round < 12; round++) {
      const raw = new Uint8Array(randomBytes(length));
      raw.fill(0, 0, round % 4);
      const text = oracle58.encode(raw);
      assert.equal(base58.encode(raw), text);
      assert.deepEqual(base58.decode(text), raw);
    }
  }
});

test('base58 refuses other characters and endless text', () => {
  for (const bad of ['0', 'O', 'I', 'l', 'abc ', 'é', '1'.repeat(257), null, 5]) {
    assert.throws(() => base58.decode(bad), SyntaxError);
  }
  assert.equal(base58.addressBytes('1'.repeat(31)), null);
  assert.equal(base58.addressBytes('1'.repeat(33)), null);
  assert.deepEqual(base58.addressBytes('1'.repeat(32)), new Uint8Array(32));
  assert.equal(base58.addressBytes({}), null);
});

test('base64 is read strictly', () => {
  for (const raw of [[], [1], [1, 2], [1, 2, 3], [...randomBytes(100)]]) {
    const text = Buffer.from(raw).toString('base64');
    assert.equal(bytes.toBase64(Uint8Array.from(raw)), text);
    assert.deepEqual([...bytes.fromBase64(text)], raw);
  }
  for (const bad of ['A', 'AA', 'AA=', 'AB==', 'AA==\n', ' AA==', 'A===', '-_==', null]) {
    assert.throws(() => bytes.fromBase64(bad), SyntaxError, String(bad));
  }
});

test('the word list is the standard one', () => {
  assert.deepEqual([...WORDS], wordlist);
  const text = `${WORDS.join('\n')}\n`; // the form whose sha256 the standard's file has
  assert.equal(createHash('sha256').update(text).digest('hex'), '2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda');
});

test('published BIP-39 vectors, whose seeds use the passphrase TREZOR, give the same words', async () => {
  for (const [entropy, words] of [
    ['00000000000000000000000000000000', `${'abandon '.repeat(11)}about`],
    ['7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f', 'legal winner thank year wave sausage worth useful legal winner thank yellow'],
    ['80808080808080808080808080808080', 'letter advice cage absurd amount doctor acoustic avoid letter advice cage above'],
    ['ffffffffffffffffffffffffffffffff', `${'zoo '.repeat(11)}wrong`],
    ['0000000000000000000000000000000000000000000000000000000000000000', `${'abandon '.repeat(23)}art`],
    ['f585c11aec520db57dd353c69554b21a89b20fb0650966fa0a9d6f74fd989d8f', 'void come effort suffer camp survey warrior heavy shoot primary clutch crush open amazing screen patrol group space point ten exist slush involve unfold'],
  ]) {
    const indexes = await mnemonic.toIndexes(unhex(entropy));
    assert.equal(mnemonic.toWords(indexes).join(' '), words);
    assert.equal(hex(await mnemonic.toEntropy(mnemonic.readPhrase(words))), entropy);
  }
});

test('random entropy gives the oracle\'s words, seed, key and address', async () => {
  for (let round = 0; round < 40; round++) {
    const entropy = new Uint8Array(randomBytes([16, 20, 24, 28, 32][round % 5]));
    const words = oracle39.entropyToMnemonic(entropy, wordlist);
    const indexes = mnemonic.readPhrase(words);
    assert.equal(mnemonic.toWords(await mnemonic.toIndexes(entropy)).join(' '), words);
    assert.deepEqual(await mnemonic.toEntropy(indexes), entropy);
    const seed = await mnemonic.toSeed(indexes);
    assert.deepEqual(seed, new Uint8Array(oracle39.mnemonicToSeedSync(words)));
    const node = HDKey.fromMasterSeed(seed).derive("m/44'/501'/0'/0'");
    assert.deepEqual(await mnemonic.derive(seed), new Uint8Array(node.privateKey));
    const { address, pkcs8 } = await mnemonic.toAccount(indexes);
    assert.equal(address, oracle58.encode(ed25519.getPublicKey(node.privateKey)));
    assert.deepEqual(pkcs8.slice(16), new Uint8Array(node.privateKey));
  }
});

test('published SLIP-0010 ed25519 vectors', async () => {
  const one = unhex('000102030405060708090a0b0c0d0e0f');
  const two = unhex('fffcf9f6f3f0edeae7e4e1dedbd8d5d2cfccc9c6c3c0bdbab7b4b1aeaba8a5a29f9c999693908d8a8784817e7b7875726f6c696663605d5a5754514e4b484542');
  for (const [seed, path, key] of [
    [one, [], '2b4be7f19ee27bbf30c667b642d5f4aa69fd169872f8fc3059c08ebae2eb19e7'],
    [one, [0], '68e0fe46dfb67e368c75379acec591dad19df3cde26e63b93a8e704f1dade7a3'],
    [one, [0, 1, 2, 2, 1000000000], '8f94d394a8e8fd6b1bc2f3f49f5c47e385281d5c17e65324b0f62483e37e8793'],
    [two, [0, 2147483647], 'ea4f5bfe8694d8bb74b7b59404632fd5968b774ed545e810de9c32a4fb4192f4'],
  ]) {
    assert.equal(hex(await mnemonic.derive(seed, path)), key, path.join('/'));
  }
});

test('the address of well-known words is the one that other wallets show', async () => {
  const { address } = await mnemonic.toAccount(mnemonic.readPhrase(`${'abandon '.repeat(11)}about`));
  assert.equal(address, 'HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk');
});

test('further accounts, and a BIP-39 passphrase, give the oracle\'s keys', async () => {
  for (let round = 0; round < 12; round++) {
    const words = oracle39.entropyToMnemonic(randomBytes([16, 20, 24, 28, 32][round % 5]), wordlist);
    const extra = ['', 'TREZOR', ' two  blanks ', 'Crème brûlée ﬁn', '🔑 パスワード', 'x'.repeat(300)][round % 6];
    const account = [0, 1, 9, 99, 2 ** 31 - 1][round % 5];
    const node = HDKey.fromMasterSeed(oracle39.mnemonicToSeedSync(words, extra)).derive(`m/44'/501'/${account}'/0'`);
    const ours = await mnemonic.toAccount(mnemonic.readPhrase(words), { account, extra });
    assert.equal(ours.address, oracle58.encode(ed25519.getPublicKey(node.privateKey)), `${extra} ${account}`);
    assert.deepEqual(ours.pkcs8.slice(16), new Uint8Array(node.privateKey));
  }
  const zeros = mnemonic.readPhrase(`${'abandon '.repeat(11)}about`);
  assert.equal(hex(await mnemonic.toSeed(zeros, 'TREZOR')), 'c55257c360c07c72029aebc1b53c05ed0362ada38ead3e3e9efa3708e53495531f09a6987599d18264c1e1c92f2cf141630c7a3c4ab7c81b2f001698e7463b04'); // published vector
  const a = (await mnemonic.toAccount(zeros)).address;
  const others = await Promise.all([{ account: 1 }, { extra: ' ' }, { extra: 'a' }].map(async (o) => (await mnemonic.toAccount(zeros, o)).address));
  assert.equal(new Set([a, ...others]).size, 4);
});

test('private keys are read in the forms of Phantom and solana-keygen, and written so', async () => {
  for (let round = 0; round < 30; round++) {
    const seed = new Uint8Array(randomBytes(32));
    if (round === 0) seed.fill(0); // leading zeros become ones
    const whole = Uint8Array.from([...seed, ...ed25519.getPublicKey(seed)]);
    const phantom = oracle58.encode(whole);
    const file = JSON.stringify([...whole]);
    for (const text of [phantom, ` ${phantom}\n`, file, `${file}\n`, JSON.stringify([...whole], null, 2)]) assert.deepEqual(await keyfile.readKey(text), seed);
    assert.deepEqual(await keyfile.writeKey(seed), { base58: phantom, json: file });
    const { address, pkcs8 } = await mnemonic.accountOf(seed);
    assert.equal(address, oracle58.encode(ed25519.getPublicKey(seed)));
    assert.deepEqual(pkcs8.slice(16), seed);
  }
});

test('what is no private key is refused with a reason that does not repeat it', async () => {
  const seed = new Uint8Array(32).fill(7);
  const whole = [...seed, ...ed25519.getPublicKey(seed)];
  const changed = (at) => { const copy = [...whole]; copy[at] ^= 1; return copy; };
  for (const [text, reason] of [
    ['', /Paste/], ['   ', /Paste/], [oracle58.encode(Uint8Array.from(whole.slice(32))), /32 bytes, so it may be an address/], [oracle58.encode(seed), /32 bytes/],
    [oracle58.encode(Uint8Array.from(changed(0))), /do not match/], [JSON.stringify(changed(63)), /do not match/],
    [JSON.stringify(whole.slice(0, 63)), /has 64 bytes/], [JSON.stringify([...whole, 1]), /has 64 bytes/], ['[]', /has 64 bytes/], ['[1,2', /incomplete/], ['[1] x', /incomplete/],
    [JSON.stringify(whole.with(3, 256)), /0 to 255/], [JSON.stringify(whole.with(3, -1)), /0 to 255/], [JSON.stringify(whole.with(3, 1.5)), /0 to 255/], [JSON.stringify(whole.with(3, '7')), /0 to 255/], ['[null]', /0 to 255/], ['[[1]]', /0 to 255/],
    ['abandon ability able', /no spaces/], ['0OIl', /base58 does not use/], [`${oracle58.encode(Uint8Array.from(whole))}é`, /base58/], ['1'.repeat(64), /do not match/], ['z'.repeat(3000), /too long/], [`[${'1,'.repeat(2000)}1]`, /too long/], ['{}', /base58/],
  ]) {
    await assert.rejects(keyfile.readKey(text), (err) => {
      assert.ok(err instanceof keyfile.KeyError, `${text}: ${err}`);
      assert.match(err.message, reason, text);
      assert.ok(text.trim().length < 6 || !err.message.includes(text.trim().slice(0, 20)), 'the key is in the error');
      return true;
    });
  }
});

/** A small generator of repeatable numbers (mulberry32), so that a failure can be run again. */
function numbers(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

test('random text never breaks the parsers of keys and phrases, and nothing but a good one passes', async () => {
  const random = numbers(20261122);
  const below = (n) => Math.floor(random() * n);
  const seed = Uint8Array.from({ length: 32 }, () => below(256));
  const whole = [...seed, ...ed25519.getPublicKey(seed)];
  const words = oracle39.entropyToMnemonic(Uint8Array.from({ length: 20 }, () => below(256)), wordlist);
  const starts = [oracle58.encode(Uint8Array.from(whole)), JSON.stringify(whole), words, '', '[', WORDS[5], 'é\u0301\ud800'];
  const letters = [...'[]{},.:0123456789 abcdefghijklmnopqrstuvwxyzABCDEFGH\n\t"-+eé', '\u0000', '\ud800', '\u{1f468}', '\u3000', 'ﬁ', WORDS[below(2048)]];
  let keys = 0;
  let phrases = 0;
  for (let round = 0; round < 1500; round++) {
    const text = [...starts[below(starts.length)]];
    for (let n = below(4); n > 0; n--) {
      const at = below(text.length + 1);
      text.splice(at, below(3), ...Array.from({ length: below(3) }, () => letters[below(letters.length)]));
    }
    const typed = text.join('');
    try {
      assert.deepEqual(await keyfile.readKey(typed), seed, 'another key was read');
      keys++;
    } catch (err) {
      if (!(err instanceof keyfile.KeyError)) throw err;
    }
    try {
      const indexes = mnemonic.readPhrase(typed);
      assert.ok([12, 15, 18, 21, 24].includes(indexes.length));
      const good = await mnemonic.toEntropy(indexes).then(() => true, (err) => { assert.ok(err instanceof mnemonic.PhraseError); return false; });
      assert.equal(good, oracle39.validateMnemonic(mnemonic.toWords(indexes).join(' '), wordlist));
      phrases++;
    } catch (err) {
      if (!(err instanceof mnemonic.PhraseError)) throw err;
    }
    assert.ok(strength(typed) >= 0);
  }
  assert.ok(keys > 100 && phrases > 50, `${keys} keys, ${phrases} phrases`);
});

test('each last word but the right ones fails the checksum', async () => {
  const start = 'legal winner thank year wave sausage worth useful legal winner thank';
  let fit = 0;
  for (const word of WORDS) {
    const phrase = `${start} ${word}`;
    const ours = await mnemonic.toEntropy(mnemonic.readPhrase(phrase)).then(() => true, (err) => {
      assert.ok(err instanceof mnemonic.PhraseError);
      return false;
    });
    assert.equal(ours, oracle39.validateMnemonic(phrase, wordlist), word);
    fit += ours;
  }
  assert.equal(fit, 128);
});

test('typed words are read as people type them', () => {
  const words = `${'abandon '.repeat(11)}about`.trim();
  for (const text of [words, words.toUpperCase(), ` ${words.replaceAll(' ', '\n')} `, words.replaceAll(' ', ', '),
    words.split(' ').map((w, i) => `${i + 1}. ${w}`).join('\n'), words.split(' ').map((w, i) => `${i + 1} ${w}`).join('\n')]) {
    assert.equal(mnemonic.toWords(mnemonic.readPhrase(text)).join(' '), words);
  }
});

test('wrong words are named with their place and a suggestion', () => {
  assert.throws(() => mnemonic.readPhrase('abandon abondon zebrra xqxqxqxq'), (err) => {
    assert.deepEqual(err.problems, [
      { position: 2, word: 'abondon', suggestion: 'abandon' },
      { position: 3, word: 'zebrra', suggestion: 'zebra' },
      { position: 4, word: 'xqxqxqxq', suggestion: '' },
    ]);
    return true;
  });
  assert.throws(() => mnemonic.readPhrase('abandon '.repeat(11)), /You entered 11 words/);
  assert.throws(() => mnemonic.readPhrase(''), /You entered 0 words/);
  assert.throws(() => mnemonic.readPhrase('x'.repeat(5000)), mnemonic.PhraseError);
});

test('fresh entropy is fresh, and never from Math.random', (t) => {
  t.mock.method(Math, 'random', () => { throw new Error('not for keys'); });
  const seen = new Set(Array.from({ length: 100 }, () => hex(mnemonic.newEntropy())));
  assert.equal(seen.size, 100);
  assert.ok([...seen].every((s) => s.length === 32));
  assert.notEqual(passphrase.propose(), passphrase.propose());
});

test('passphrases: short, digits-only and monotonous ones are refused', () => {
  for (const weak of ['', 'short', '123456', '123456789012', '1234 5678 9012', '12-34-56-78-90-12', '٠١٢٣٤٥٦٧٨٩٠١', 'aaaaaaaaaaaaaaa', 'abcabcabcabc', `elevenchars${' '.repeat(9)}`]) {
    assert.notEqual(passphrase.weakness(weak), null, weak);
  }
  for (const good of [GOOD, 'quiet amber lantern ferry', 'мой старый дом стоит у реки', 'Crème brûlée ﬁn du mois', 'kX9#vQ2!mZ7$', 'xkqvzjwpmtrb', 'jf8H2kd0s9Aq']) {
    assert.equal(passphrase.weakness(good), null, good);
  }
  for (let i = 0; i < 200; i++) assert.equal(passphrase.weakness(passphrase.propose()), null);
  const words = passphrase.propose().split('-');
  assert.equal(words.length, 6);
  assert.ok(words.every((w) => WORDS.includes(w)));
});

test('passphrases: what is guessed first is refused, however it is dressed', () => {
  for (const weak of [
    'password1234', 'Password1234!', 'PASSWORD1234', 'P@ssw0rd2024!', 'password password', 'passw0rdpassw0rd', 'letmein letmein', // common, swapped signs, repeated
    'qwertyuiop12', 'poiuytrewq!!', 'qwertyqwerty12', '1qaz2wsx3edc', 'asdfghjkl;123', 'abcdefghijkl', 'zyxwvutsrqpo', 'йцукенгшщзхъ', // along rows
    'iloveyou2026!!', 'Michael19840512', 'December 25, 1990', 'London2026London', 'summer winter 2026', 'football football', // names, dates
    'mysolanawallet', 'solana to the moon', 'my wallet password', 'bitcoin ethereum', 'phantom wallet 1', // what this page brings to mind
    'correct horse battery staple', 'Correct-Horse-Battery-Staple', 'the quick brown fox', 'thequickbrownfox1!', 'to be or not to be', // known phrases
    'abcabcabcabc12', 'xyzzyxyzzyxyzzy', 'zoo zoo zoo zoo zoo', 'пароль пароль', 'пароль для меня', 'motdepasse123', // repeats, other languages
  ]) {
    assert.match(t(passphrase.weakness(weak).key), /easy to guess/, `${weak}: ${strength(weak).toFixed(1)} bits`);
  }
});

test('the strength of a passphrase: more is never much less, and nothing takes long', () => {
  assert.ok(strength('abandon-ability-able-about-above-absent') >= 6 * 11);
  assert.ok(strength('kX9#vQ2!mZ7$') > strength('kX9#vQ2!mZ') && strength('quiet amber lantern ferry') > strength('quiet amber lantern'));
  assert.ok(strength('a calm green river bends') > strength('a calm green river') + 5);
  const base = strength('quiet amber lantern');
  assert.ok(strength('quiet amber lanternquiet amber lanternquiet amber lantern') < base + 4, 'a repeat costs nothing to guess');
  assert.ok(strength('quiet amber lantern1987') < base + 8, 'a year is one of a hundred');
  assert.ok(strength('poiuytrewq') < 12 && strength('qwertyuiop') < 12, 'a row is a row either way');
  assert.equal(strength(''), 0);
  for (const long of ['x'.repeat(100_000), 'qwertzuiop asdfg hjkl '.repeat(2000), '1'.repeat(5000), '\u{1f468}'.repeat(3000)]) {
    const began = performance.now();
    assert.ok(strength(long) >= 0);
    assert.ok(performance.now() - began < 5000, 'a page that hangs');
  }
});

async function sealed(words = `${'abandon '.repeat(11)}about`) {
  const indexes = mnemonic.readPhrase(words);
  const entropy = await mnemonic.toEntropy(indexes);
  const { address, pkcs8 } = await mnemonic.toAccount(indexes);
  return { wallet: await seal.sealWallet(GOOD, address, pkcs8, entropy), entropy, pkcs8, address };
}

test('a sealed wallet opens into a key that signs but cannot be exported', async () => {
  const { wallet, entropy, address } = await sealed();
  const key = await seal.unlockKey(GOOD, wallet);
  assert.equal(key.extractable, false);
  for (const format of ['pkcs8', 'jwk', 'raw']) await assert.rejects(webcrypto.subtle.exportKey(format, key));
  const message = new Uint8Array(randomBytes(200));
  const signature = await seal.sign(key, address, message);
  assert.ok(ed25519.verify(signature, message, oracle58.decode(address)));
  assert.deepEqual(await seal.unlockEntropy(GOOD, wallet), entropy);
});

test('the same passphrase in another normal form opens it', async () => {
  const indexes = mnemonic.readPhrase(`${'zoo '.repeat(11)}wrong`);
  const { address, pkcs8 } = await mnemonic.toAccount(indexes);
  const wallet = await seal.sealWallet('Crème brûlée ﬁn', address, pkcs8, new Uint8Array(16));
  assert.ok(await seal.unlockKey(' Cre\u0300me bru\u0302le\u0301e fin ', wallet));
});

test('wrong passphrase, damaged, exchanged or renamed records do not open', async () => {
  const { wallet, pkcs8 } = await sealed();
  const { wallet: second } = await sealed(`${'zoo '.repeat(11)}wrong`);
  const wrong = (w, p = GOOD) => assert.rejects(seal.unlockKey(p, w), seal.WrongPassphrase);
  await wrong(wallet, 'A calm green river bends');
  await wrong({ ...wallet, address: second.address });
  await wrong({ ...wallet, key: second.key });
  await wrong({ ...wallet, key: wallet.words });
  for (const field of ['salt', 'iv', 'data']) {
    const damaged = wallet.key[field].slice();
    damaged[0] ^= 1;
    await wrong({ ...wallet, key: { ...wallet.key, [field]: damaged } });
  }
  await assert.rejects(seal.unlockEntropy(GOOD, { ...wallet, words: wallet.key }), seal.WrongPassphrase);
  await assert.rejects(seal.unlockPrivateKey(GOOD, { ...wallet, key: wallet.words }), seal.WrongPassphrase);
  await assert.rejects(seal.unlockPrivateKey('A calm green river bends', wallet), seal.WrongPassphrase);
  assert.deepEqual(await seal.unlockPrivateKey(GOOD, wallet), pkcs8.slice(16));
  const wordless = await seal.sealWallet(GOOD, wallet.address, pkcs8, null);
  assert.equal(wordless.words, null);
  assert.ok(await seal.unlockKey(GOOD, wordless));
  const stored = Buffer.concat([wallet.key.data, wallet.words.data]);
  assert.ok(!stored.includes(Buffer.from(pkcs8.slice(16))), 'the key lies open in the record');
});

test('records are exactly what the design says: PBKDF2-SHA256 600,000 and AES-256-GCM with its AAD', async () => {
  const { wallet, pkcs8, entropy, address } = await sealed();
  for (const [what, record, plain] of [['key', wallet.key, pkcs8], ['words', wallet.words, entropy]]) {
    assert.deepEqual([record.salt.length, record.iv.length], [16, 12]);
    const cipher = createCipheriv('aes-256-gcm', pbkdf2Sync(GOOD, record.salt, 600_000, 32, 'sha256'), record.iv);
    cipher.setAAD(Buffer.from(`purser/v1/${what}/${address}`));
    assert.equal(hex(record.data), hex(Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])));
  }
  assert.notDeepEqual(wallet.key.salt, wallet.words.salt);
  assert.notDeepEqual(wallet.key.iv, wallet.words.iv);
});

test('a key that does not belong to the address never signs', async () => {
  const { wallet } = await sealed();
  const key = await seal.unlockKey(GOOD, wallet);
  const stranger = oracle58.encode(ed25519.getPublicKey(new Uint8Array(32).fill(9)));
  await assert.rejects(seal.sign(key, stranger, new Uint8Array(10)), /does not belong/);
});

async function withPasskey(words) {
  const { wallet, ...of } = await sealed(words);
  const secret = new Uint8Array(randomBytes(32));
  return { ...of, secret, wallet: { ...wallet, passkey: await seal.sealForPasskey(secret, of.address, of.pkcs8) } };
}

test('a passkey opens the key that the passphrase opens: it signs and cannot be exported', async () => {
  const { wallet, secret, address, pkcs8 } = await withPasskey();
  const key = await seal.unlockKeyByPasskey(secret, wallet);
  assert.equal(key.extractable, false);
  assert.deepEqual(key.usages, ['sign']);
  const message = new Uint8Array(randomBytes(200));
  assert.deepEqual(await seal.sign(key, address, message), await seal.sign(await seal.unlockKey(GOOD, wallet), address, message));
  assert.deepEqual(await seal.unlockPkcs8(GOOD, wallet), pkcs8);
  await assert.rejects(seal.unlockPkcs8('A calm green river bends', wallet), seal.WrongPassphrase);
});

test('passkey records are exactly what the decision says: HKDF-SHA256 and AES-256-GCM, bound to purpose and address', async () => {
  const { wallet, secret, address, pkcs8 } = await withPasskey();
  const { iv, data } = wallet.passkey;
  const bound = `purser/v1/passkey/${address}`;
  const cipher = createCipheriv('aes-256-gcm', new Uint8Array(hkdfSync('sha256', secret, '', bound, 32)), iv);
  cipher.setAAD(Buffer.from(bound));
  assert.equal(iv.length, 12);
  assert.equal(hex(data), hex(Buffer.concat([cipher.update(pkcs8), cipher.final(), cipher.getAuthTag()])));
  assert.ok(!Buffer.from(data).includes(Buffer.from(pkcs8.slice(16))), 'the key lies open in the record');
  assert.notDeepEqual((await seal.sealForPasskey(secret, address, pkcs8)).iv, iv);
});

test('another passkey, and damaged, exchanged or renamed passkey records do not open', async () => {
  const { wallet, secret } = await withPasskey();
  const { wallet: second, secret: other } = await withPasskey(`${'zoo '.repeat(11)}wrong`);
  const wrong = (w, s = secret) => assert.rejects(seal.unlockKeyByPasskey(s, w), seal.WrongPasskey);
  await wrong(wallet, other);
  await wrong({ ...wallet, address: second.address });
  await wrong({ ...wallet, passkey: second.passkey });
  await wrong({ ...wallet, passkey: second.passkey }, other); // its own secret, under another's address
  await wrong({ ...wallet, passkey: wallet.key });
  await wrong({ ...wallet, passkey: undefined });
  await wrong({ ...wallet, passkey: {} });
  await wrong(wallet, new Uint8Array(0));
  for (const field of ['iv', 'data']) {
    const damaged = wallet.passkey[field].slice();
    damaged[0] ^= 1;
    await wrong({ ...wallet, passkey: { ...wallet.passkey, [field]: damaged } });
  }
  await assert.rejects(seal.unlockKey(GOOD, { ...wallet, key: { ...wallet.key, ...wallet.passkey } }), seal.WrongPassphrase);
  assert.ok(await seal.unlockKeyByPasskey(other, second));
});
