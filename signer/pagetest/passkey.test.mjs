// Passkeys: a second way to unlock a wallet, beside its passphrase.
// In a real Chromium with its virtual authenticator, as a person uses it, against an honest and a hostile server.
// Long: all of its tests share the helpers below.

import './localhost.mjs';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HDKey } from 'micro-key-producer/slip10.js';
import * as oracle39 from '@scure/bip39';
import { ed25519 } from '@noble/curves/ed25519';
import { base58 } from '@scure/base';
import { above, allText, it, on, server, stored, text } from './browser.mjs';
import { ADDRESS, BIND, LIMITS, OTHER_WORDS, PASSPHRASE, PHONE, SIGN, UNFREEZE, WORDS, approve, choosePassphrase, follow, paste, payment, press, restore, serve, title } from './harness.mjs';
import { authenticator, cancelsOnce, tellsOnlyWhenUsed } from './passkeys.mjs';
import { addr } from './wire.mjs';
import { offered, possible } from '../page/webauthn.js';

const key = HDKey.fromMasterSeed(oracle39.mnemonicToSeedSync(WORDS.trim())).derive("m/44'/501'/0'/0'").privateKey;
const OTHER = base58.encode(ed25519.getPublicKey(HDKey.fromMasterSeed(oracle39.mnemonicToSeedSync(OTHER_WORDS.trim())).derive("m/44'/501'/0'/0'").privateKey));

const HOME = 'Wallets on this device';
const ADD = 'Add a passkey';
const button = (tab, name) => tab.getByRole('button', { name, exact: true });
const says = (tab, what) => tab.getByRole('alert').filter({ hasText: what }).waitFor();
const type = (tab, passphrase = PASSPHRASE) => tab.getByLabel('Passphrase', { exact: true }).fill(passphrase);
const ofWallet = (tab, address, name) => tab.getByRole('region', { name: address.slice(-6) }).getByRole('button', { name, exact: true });

/** From the list of wallets to the screen that creates a passkey. */
async function toCreate(tab, address = ADDRESS) {
  await ofWallet(tab, address, ADD).click();
  await title(tab, 'Unlock with a passkey');
  await type(tab);
  await press(tab, 'Continue');
  await title(tab, 'Create a passkey');
}

async function addPasskey(tab, address = ADDRESS) {
  await toCreate(tab, address);
  await press(tab, 'Create passkey');
  await title(tab, 'Passkey added');
  await press(tab, 'Done');
  await title(tab, HOME);
}

/** A browser with the wallet of WORDS and an authenticator, on the list of wallets. */
const onHome = (work, options) => on('', async (tab) => {
  await restore(tab);
  await title(tab, HOME);
  await work(tab, await authenticator(tab));
}, options);

/** The same with a passkey. */
const withPasskey = (work, options) => onHome(async (tab, device) => {
  await addPasskey(tab);
  await work(tab, device);
}, options);

/** The wallets of the vault, as they lie there; `change(wallets, ...args)` runs in the page and may return others to put in their place. */
const vault = (tab, change = null, ...args) => tab.evaluate(async ([change, args]) => {
  const wait = (r) => new Promise((resolve, reject) => { r.onsuccess = () => resolve(r.result); r.onerror = () => reject(r.error); });
  const db = await wait(indexedDB.open('purser'));
  const store = db.transaction('wallets', 'readwrite').objectStore('wallets');
  const all = await wait(store.getAll());
  const next = change === null ? null : globalThis.changes[change](all, ...args);
  for (const wallet of next ?? []) await wait(store.put(wallet));
  db.close();
  return JSON.parse(JSON.stringify(all, (_, v) => (v instanceof Uint8Array ? { bytes: [...v] } : v)));
}, [change, args]);

const passkeyIn = async (tab, address = ADDRESS) => (await vault(tab)).find((w) => w.address === address).passkey;

/** Notes what the page asks of the browser from now on, buffers as lists, and the secrets that it gets. */
const watch = (tab) => tab.evaluate(() => {
  globalThis.asked = [];
  const plain = (v) => JSON.parse(JSON.stringify(v, (_, x) => (x instanceof Uint8Array ? [...x] : x)));
  for (const how of ['create', 'get']) {
    const real = CredentialsContainer.prototype[how];
    CredentialsContainer.prototype[how] = function (options) {
      globalThis.asked.push({ how, ...plain(options.publicKey) });
      return real.call(this, options);
    };
  }
  globalThis.secrets = [];
  const { getClientExtensionResults } = PublicKeyCredential.prototype;
  PublicKeyCredential.prototype.getClientExtensionResults = function () {
    const all = getClientExtensionResults.call(this);
    if (all.prf?.results) globalThis.secrets.push(all.prf.results.first);
    return all;
  };
});
const asked = (tab) => tab.evaluate(() => globalThis.asked);

it('a passkey is added with the passphrase, signs, connects, and is removed', () => onHome(async (tab, device) => {
  await watch(tab);
  await press(tab, ADD);
  await title(tab, 'Unlock with a passkey');
  await type(tab, 'not this one, no');
  await press(tab, 'Continue');
  await says(tab, 'does not unlock the wallet');
  assert.deepEqual(await asked(tab), [], 'a passkey was asked for without the passphrase');
  await press(tab, 'Back');
  await toCreate(tab);
  assert.match(await text(tab), /If you lose the passkey, you lose nothing[^]*you still need the passphrase[^]*as safe as the account they sync to[^]*in this browser only/);
  await press(tab, 'Create passkey');
  await title(tab, 'Passkey added');
  await press(tab, 'Done');
  await title(tab, HOME);
  assert.equal(await button(tab, ADD).count(), 0, 'offered twice');

  const [credential, ...more] = await device.holds();
  assert.deepEqual(more, []);
  assert.equal(credential.rpId, 'localhost');
  assert.equal(credential.userName, `${ADDRESS.slice(0, 4)}…${ADDRESS.slice(-6)}`);
  const [create, ...others] = await asked(tab);
  assert.deepEqual(others, [], 'asked again although the secret was there');
  assert.equal(create.rp.id, 'localhost');
  assert.deepEqual(create.authenticatorSelection, { residentKey: 'preferred', userVerification: 'required' });
  assert.deepEqual([create.challenge, create.user.id, create.extensions.prf.eval.first].map((b) => b.length), [32, 32, 32]);
  assert.deepEqual([create.excludeCredentials, create.attestation], [[], 'none']);
  const record = await passkeyIn(tab);
  assert.deepEqual(Object.keys(record).sort(), ['created_at', 'data', 'id', 'iv', 'salt', 'transports']);
  assert.equal(Buffer.from(record.id.bytes).toString('base64'), credential.credentialId);
  assert.deepEqual(record.salt.bytes, create.extensions.prf.eval.first);
  assert.deepEqual(record.transports, ['internal']);
  assert.ok(!(await stored(tab)).includes(String.fromCharCode(...key)), 'the key lies open in the vault');

  await paste(tab, server, SIGN);
  await press(tab, 'Approve');
  await title(tab, 'Unlock the wallet to sign');
  assert.match(await above(tab, 'Use passkey'), /1\.5 SOL/);
  assert.doesNotMatch(await above(tab, 'Use passkey'), /Passphrase/, 'the passkey does not come first');
  assert.deepEqual(server.posted('/w/tx/refresh'), []);
  await press(tab, 'Use passkey');
  await title(tab, 'Transaction signed');
  assert.equal(server.posted('/w/tx/signature').length, 1);
  assert.ok(server.world.signature);
  const [, get] = await asked(tab);
  assert.deepEqual([get.how, get.rpId, get.userVerification], ['get', 'localhost', 'required']);
  assert.deepEqual(get.allowCredentials, [{ type: 'public-key', id: record.id.bytes, transports: ['internal'] }]);
  assert.deepEqual(get.extensions.prf.eval.first, record.salt.bytes);
  assert.equal(get.challenge.length, 32);
  for (const random of [create.challenge, create.user.id, record.salt.bytes, get.challenge]) assert.ok(new Set(random).size > 16, `not random: ${random}`);
  assert.equal(new Set([create.challenge, create.user.id, record.salt.bytes, get.challenge].map(String)).size, 4);
  const wiped = await tab.evaluate(() => globalThis.secrets.map((secret) => new Uint8Array(secret).every((byte) => byte === 0)));
  assert.deepEqual(wiped, [true, true], 'secrets of the passkey are left in memory');

  await paste(tab, server, BIND);
  await press(tab, 'Continue');
  await title(tab, 'Connect this wallet');
  await press(tab, 'Use passkey');
  await title(tab, 'Go back to the chat');
  assert.equal(server.posted('/w/bind')[0].address, ADDRESS);
  assert.deepEqual(server.posted('/w/bind/accounts'), []);
  const sent = server.received.map((h) => h.text).join();
  assert.ok(!sent.includes(credential.credentialId) && !/passkey|credential/i.test(sent), 'the server learns of the passkey');

  await tab.goto('about:blank');
  await tab.goto(`${server.origin}/w/`);
  await press(tab, 'Show recovery phrase');
  await title(tab, 'Show recovery phrase');
  assert.equal(await button(tab, 'Use passkey').count(), 0, 'the phrase without the passphrase');
  await press(tab, 'Back');
  await press(tab, 'Show private key');
  await title(tab, 'Show private key');
  assert.equal(await button(tab, 'Use passkey').count(), 0, 'the private key without the passphrase');
  await press(tab, 'Back');
  await press(tab, 'Passkey');
  await title(tab, 'Unlock with a passkey');
  assert.match(await text(tab), /only the passphrase unlocks this wallet/);
  await press(tab, 'Back');
  await press(tab, 'Passkey');
  await press(tab, 'Remove passkey');
  await title(tab, HOME);
  await button(tab, ADD).waitFor();
  assert.equal(await passkeyIn(tab), undefined);
  assert.deepEqual(await device.holds(), [], 'the password manager still lists it');

  server.reset();
  server.world.payment = payment({ reference: addr(0x41) });
  await follow(tab, server, SIGN);
  await press(tab, 'Approve');
  await title(tab, 'Sign with your passphrase');
  assert.equal(await button(tab, 'Use passkey').count(), 0);
  await type(tab);
  await press(tab, 'Sign and send');
  await title(tab, 'Transaction signed');
}));

for (const [hash, asks, path, done] of [
  [UNFREEZE, 'Unfreeze this account?', '/w/unfreeze', 'Your account is unfrozen'],
  [LIMITS, 'Set spending limits?', '/w/limits/sign', 'Spending limits set'],
]) {
  it(`${path} is signed with a passkey, over the text that is shown; when it is cancelled, the passphrase is still there`, () => withPasskey(async (tab) => {
    await follow(tab, server, hash);
    await title(tab, asks);
    await press(tab, `Sign with …${ADDRESS.slice(-6)}`);
    await button(tab, 'Use passkey').waitFor();
    const shown = await tab.locator('pre.signed').textContent();
    assert.doesNotMatch(await above(tab, 'Use passkey'), /Passphrase/, 'the passkey does not come first');
    await cancelsOnce(tab);
    await press(tab, 'Use passkey');
    await says(tab, 'The passkey was not used');
    assert.equal(await tab.getByLabel('Passphrase', { exact: true }).isEnabled(), true);
    assert.deepEqual(server.posted(path), []);
    await press(tab, 'Use passkey');
    await title(tab, done);
    const [{ signature }, ...more] = server.posted(path);
    assert.deepEqual(more, []);
    assert.ok(ed25519.verify(base58.decode(signature), Buffer.from(shown), base58.decode(ADDRESS)), 'another text was signed than was shown');
  }));
}

it('with a passkey the passphrase still signs, also by the Enter key', () => withPasskey(async (tab) => {
  await watch(tab);
  await paste(tab, server, SIGN);
  await press(tab, 'Approve');
  await type(tab, 'not this one, no');
  await tab.keyboard.press('Enter');
  await says(tab, 'does not unlock the wallet');
  await button(tab, 'Forgot your passphrase?').waitFor();
  await type(tab);
  await tab.keyboard.press('Enter');
  await title(tab, 'Transaction signed');
  assert.deepEqual(await asked(tab), []);
}));

it('a new wallet is offered a passkey once it is stored, and goes on to what it was made for', () => on(SIGN, async (tab) => {
  const device = await authenticator(tab);
  await press(tab, 'Restore this wallet');
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  await press(tab, ADD);
  await press(tab, 'Not now');
  await title(tab, 'Your wallet is ready');
  assert.deepEqual(await device.holds(), []);
  await press(tab, ADD);
  await press(tab, 'Create passkey');
  await title(tab, 'Passkey added');
  await press(tab, 'Done');
  await title(tab, 'Your wallet is ready');
  assert.equal(await button(tab, ADD).count(), 0);
  await press(tab, 'Show payment');
  await press(tab, 'Approve');
  await press(tab, 'Use passkey');
  await title(tab, 'Transaction signed');
}));

it('a passkey without PRF is refused: nothing is kept, and the password manager drops it', () => onHome(async (tab, device) => {
  await device.replace({ hasPrf: false });
  await toCreate(tab);
  await press(tab, 'Create passkey');
  await title(tab, 'This passkey cannot be used');
  assert.match(await text(tab), /no PRF extension[^]*Nothing was stored[^]*you can delete it there/);
  assert.equal(await passkeyIn(tab), undefined);
  assert.deepEqual(await device.holds(), []);
  await press(tab, 'Back');
  await title(tab, HOME);
}));

it('a passkey that did not verify its person is refused, whatever else it says', () => onHome(async (tab, device) => {
  const unverified = (proto, name) => tab.evaluate(([proto, name]) => {
    const { get, value } = Object.getOwnPropertyDescriptor(globalThis[proto].prototype, name);
    const clear = (data) => { const copy = new Uint8Array(data).slice(); copy[32] &= ~4; return copy.buffer; };
    const property = get ? { get() { return clear(get.call(this)); } } : { value() { return clear(value.call(this)); } };
    globalThis.undo = () => Object.defineProperty(globalThis[proto].prototype, name, get ? { get } : { value });
    Object.defineProperty(globalThis[proto].prototype, name, { ...property, configurable: true });
  }, [proto, name]);
  await unverified('AuthenticatorAttestationResponse', 'getAuthenticatorData');
  await toCreate(tab);
  await press(tab, 'Create passkey');
  await title(tab, 'This passkey cannot be used');
  assert.equal(await passkeyIn(tab), undefined);
  await press(tab, 'Back');
  await tab.evaluate(() => globalThis.undo());
  await addPasskey(tab);
  await unverified('AuthenticatorAssertionResponse', 'authenticatorData');
  await paste(tab, server, SIGN);
  await press(tab, 'Approve');
  await press(tab, 'Use passkey');
  await says(tab, 'does not unlock the wallet');
  assert.deepEqual(server.posted('/w/tx/refresh'), []);
}));

it('a prompt that is refused leads back to the passphrase', () => onHome(async (tab, device) => {
  await device.refuses();
  await toCreate(tab);
  await press(tab, 'Create passkey');
  await says(tab, 'No passkey was created');
  assert.equal(await passkeyIn(tab), undefined);
  await device.replace();
  await cancelsOnce(tab);
  await press(tab, 'Create passkey');
  await says(tab, 'No passkey was created');
  await press(tab, 'Create passkey');
  await title(tab, 'Passkey added');

  await cancelsOnce(tab);
  await paste(tab, server, SIGN);
  await press(tab, 'Approve');
  await press(tab, 'Use passkey');
  await says(tab, 'The passkey was not used. Try again, or enter the passphrase.');
  assert.equal(await tab.evaluate(() => document.activeElement.id), 'passphrase');
  assert.deepEqual(server.posted('/w/tx/refresh'), [], 'refreshed without a key');
  await press(tab, 'Use passkey'); // a second try is a new prompt
  await title(tab, 'Transaction signed');

  server.reset();
  server.world.payment = payment({ reference: addr(0x42) });
  await device.refuses();
  await follow(tab, server, SIGN);
  await press(tab, 'Approve');
  await press(tab, 'Use passkey');
  await says(tab, 'The passkey was not used');
  await type(tab);
  await press(tab, 'Sign and send');
  await title(tab, 'Transaction signed');
}));

it('a passkey that is gone from its device leads back to the passphrase, which signs', () => withPasskey(async (tab, device) => {
  await device.loses();
  await follow(tab, server, SIGN);
  await press(tab, 'Approve');
  await press(tab, 'Use passkey');
  await says(tab, 'The passkey was not used');
  await type(tab);
  await press(tab, 'Sign and send');
  await title(tab, 'Transaction signed');
}));

it('while a prompt is open nothing else is submitted; another link closes it, and signs nothing', () => withPasskey(async (tab, device) => {
  await follow(tab, server, SIGN);
  await press(tab, 'Approve');
  await device.answers(false);
  await type(tab);
  await press(tab, 'Use passkey');
  await tab.locator('button[aria-disabled=true]').getByText('Working…').waitFor();
  assert.ok(await button(tab, 'Sign and send').isDisabled() && await button(tab, 'Back').isDisabled());
  await tab.getByLabel('Passphrase', { exact: true }).press('Enter');
  assert.deepEqual(server.posted('/w/tx/refresh'), [], 'two ways at once');
  await paste(tab, server, BIND);
  await title(tab, 'Create or connect a wallet');
  await device.answers(true);
  await press(tab, 'Continue');
  await press(tab, 'Use passkey'); // a browser shows one prompt at a time: the first is closed
  await title(tab, 'Go back to the chat');
  assert.deepEqual(server.posted('/w/tx/signature'), []);
}));

it('a passkey that tells its secret only when it is used is used once', () => onHome(async (tab, device) => {
  await tellsOnlyWhenUsed(tab);
  await toCreate(tab);
  await press(tab, 'Create passkey');
  await title(tab, 'Use the passkey once');
  await cancelsOnce(tab);
  await press(tab, 'Use passkey');
  await says(tab, 'The passkey was not used');
  await press(tab, 'Not now');
  await title(tab, HOME);
  assert.equal(await passkeyIn(tab), undefined);
  assert.deepEqual(await device.holds(), [], 'a passkey of no use is left behind');
  await toCreate(tab);
  await press(tab, 'Create passkey');
  await press(tab, 'Use passkey');
  await title(tab, 'Passkey added');
  await follow(tab, server, SIGN);
  await press(tab, 'Approve');
  await press(tab, 'Use passkey');
  await title(tab, 'Transaction signed');
}));

it('two wallets have a passkey each; exchanged or damaged records open nothing', () => withPasskey(async (tab, device) => {
  await restore(tab, OTHER_WORDS);
  await title(tab, HOME);
  await addPasskey(tab, OTHER);
  const held = await device.holds();
  assert.equal(held.length, 2);
  assert.equal(new Set(held.map((c) => c.userHandle)).size, 2);
  await tab.evaluate(() => {
    const swapped = ([a, b], fields) => {
      const pick = (w) => Object.fromEntries(fields.map((f) => [f, w.passkey[f]]));
      return [{ ...a, passkey: { ...a.passkey, ...pick(b) } }, { ...b, passkey: { ...b.passkey, ...pick(a) } }];
    };
    const flipped = (all, field) => all.map((w) => {
      const copy = w.passkey[field].slice();
      copy[0] ^= 1;
      return { ...w, passkey: { ...w.passkey, [field]: copy } };
    });
    globalThis.changes = { swapped, flipped };
  });
  const signs = async (address, n) => {
    server.reset();
    server.world.address = address;
    server.world.payment = payment({ payer: address, reference: addr(n) });
    await paste(tab, server, SIGN);
    await press(tab, 'Approve');
    await title(tab, 'Unlock the wallet to sign');
    await press(tab, 'Use passkey');
  };
  await signs(OTHER, 0x91);
  await title(tab, 'Transaction signed');
  await signs(ADDRESS, 0x92);
  await title(tab, 'Transaction signed');
  const refused = async (n, what) => {
    for (const address of [ADDRESS, OTHER]) {
      await signs(address, n++);
      await says(tab, what);
      assert.deepEqual(server.posted('/w/tx/refresh'), [], 'it opened');
    }
  };
  const wrong = 'This passkey does not unlock the wallet. Enter the passphrase.';
  for (const fields of [['id', 'transports', 'salt', 'iv', 'data'], ['id', 'salt'], ['data', 'iv'], ['data']]) {
    await vault(tab, 'swapped', fields);
    await refused(0x93, wrong);
    await vault(tab, 'swapped', fields); // and back
  }
  for (const [field, what] of [['salt', wrong], ['iv', wrong], ['data', wrong], ['id', 'The passkey was not used']]) {
    await vault(tab, 'flipped', field);
    await refused(0x95, what);
    await vault(tab, 'flipped', field);
  }
  await signs(ADDRESS, 0x97);
  await title(tab, 'Transaction signed');
}));

it('a wallet without a passkey is offered none of another wallet, and signs with its passphrase', () => withPasskey(async (tab) => {
  await restore(tab, OTHER_WORDS);
  await title(tab, HOME);
  server.world.address = OTHER;
  server.world.payment = payment({ payer: OTHER, reference: addr(0x98) });
  await follow(tab, server, SIGN);
  await press(tab, 'Approve');
  await title(tab, 'Sign with your passphrase');
  assert.equal(await tab.getByRole('button', { name: 'Use passkey' }).count(), 0);
  await type(tab, PASSPHRASE);
  await press(tab, 'Sign and send');
  await title(tab, 'Transaction signed');
}));

it('a wallet restored under another passphrase loses its passkey, says so, and is offered a new one', () => withPasskey(async (tab, device) => {
  await follow(tab, server, SIGN);
  await press(tab, 'Approve');
  await type(tab, 'not this one, no');
  await press(tab, 'Sign and send');
  await press(tab, 'Forgot your passphrase?');
  await tab.getByLabel('Recovery phrase').fill(WORDS);
  await press(tab, 'Continue');
  await choosePassphrase(tab, 'another quiet river bends');
  assert.match(await text(tab), /passkey was removed together with the old passphrase/);
  assert.equal(await passkeyIn(tab), undefined);
  assert.deepEqual(await device.holds(), []);
  await press(tab, ADD);
  await press(tab, 'Create passkey');
  await press(tab, 'Done');
  await title(tab, 'Your wallet is ready');
  assert.doesNotMatch(await text(tab), /passkey was removed/);
  await press(tab, 'Show payment');
  await press(tab, 'Approve');
  await press(tab, 'Use passkey');
  await title(tab, 'Transaction signed');
}));

it('removing a wallet removes its passkey', () => withPasskey(async (tab, device) => {
  await press(tab, 'Remove');
  await tab.getByLabel('Last six characters of the address').fill(ADDRESS.slice(-6));
  await press(tab, 'Remove wallet');
  await title(tab, 'No wallet on this device yet');
  assert.equal(await stored(tab), '[]');
  assert.deepEqual(await device.holds(), []);
}));

it('two tabs that add a passkey at once: the first one stays, and the other is dropped', () => onHome(async (tab, device) => {
  const second = await tab.context().newPage();
  await second.goto(`${server.origin}/w/`);
  const other = await authenticator(second);
  await toCreate(tab);
  await toCreate(second);
  await tab.bringToFront(); // browsers prompt for the tab in front only
  await press(tab, 'Create passkey');
  await title(tab, 'Passkey added');
  const first = await passkeyIn(tab);
  await second.bringToFront();
  await press(second, 'Create passkey');
  await title(second, 'The passkey was not added');
  assert.match(await text(second), /already has a passkey/);
  assert.deepEqual(await passkeyIn(tab), first);
  assert.deepEqual([(await device.holds()).length, (await other.holds()).length], [1, 0]);
}));

it('a wallet that another tab restored or removed meanwhile gets no passkey', () => onHome(async (tab, device) => {
  const second = await tab.context().newPage();
  await second.goto(`${server.origin}/w/`);
  await title(second, HOME);
  await toCreate(tab);
  await restore(second);
  await tab.bringToFront();
  await press(tab, 'Create passkey');
  await title(tab, 'The passkey was not added');
  assert.match(await text(tab), /changed in another tab/);
  assert.equal(await passkeyIn(tab), undefined);
  await press(tab, 'Back');
  await toCreate(tab);
  await press(second, 'Remove');
  await second.getByLabel('Last six characters of the address').fill(ADDRESS.slice(-6));
  await press(second, 'Remove wallet');
  await title(second, 'No wallet on this device yet');
  await tab.bringToFront();
  await press(tab, 'Create passkey');
  await title(tab, 'The passkey was not added');
  assert.equal(await stored(tab), '[]');
  assert.deepEqual(await device.holds(), []);
}));

it('the same device makes no second passkey for a wallet', () => withPasskey(async (tab, device) => {
  await tab.evaluate(() => { globalThis.changes = { take: (all) => all.map(({ passkey, ...w }) => { globalThis.taken = passkey; return w; }), give: (all) => all.map((w) => ({ ...w, passkey: globalThis.taken })) }; });
  await vault(tab, 'take'); // as the list of another tab shows it
  await press(tab, 'Show private key');
  await press(tab, 'Back');
  await press(tab, ADD);
  await type(tab);
  await vault(tab, 'give');
  await press(tab, 'Continue');
  await press(tab, 'Create passkey');
  await says(tab, 'This wallet already has a passkey.');
  assert.equal((await device.holds()).length, 1);
}));

it('the account that a wallet was connected to, and its passkey, are kept beside each other', () => withPasskey(async (tab) => {
  await follow(tab, server, BIND);
  await press(tab, 'Continue');
  await press(tab, 'Use passkey');
  await title(tab, 'Go back to the chat');
  const [wallet] = await vault(tab);
  assert.equal(wallet.account, '700100');
  assert.ok(wallet.passkey);
}));

it('where passkeys cannot work they are not offered', async () => {
  const plain = async (tab) => {
    await restore(tab);
    await title(tab, HOME);
    assert.doesNotMatch(await allText(tab), /passkey/i);
  };
  const ipServer = await serve('127.0.0.1'); // as in the sandbox
  try {
    const { browser } = await import('./browser.mjs');
    const context = await browser.newContext();
    const tab = await context.newPage();
    await authenticator(tab);
    await tab.goto(`${ipServer.origin}/w/`);
    await plain(tab);
    await context.close();
  } finally {
    await ipServer.close();
  }
  await on('', async (tab) => {
    await press(tab, 'Continue here');
    await plain(tab);
  }, { userAgent: 'Mozilla/5.0 (Linux; Android 15) Telegram-Android/12.0' });
  await on('', async (tab) => {
    await tab.addInitScript(() => { delete globalThis.PublicKeyCredential; });
    await tab.reload();
    await plain(tab);
  });
});

it('a wallet with a passkey opens with its passphrase in a browser that lost the way to passkeys', () => withPasskey(async (tab) => {
  await tab.evaluate(() => { delete globalThis.PublicKeyCredential; });
  await paste(tab, server, SIGN);
  await approve(tab); // "Sign with your passphrase"
  await title(tab, 'Transaction signed');
  await tab.goto('about:blank');
  await tab.goto(`${server.origin}/w/`);
  await press(tab, 'Passkey'); // and it can be removed
  await press(tab, 'Remove passkey');
  await button(tab, ADD).waitFor();
}));

it('on a narrow phone the passkey comes first, and the passphrase is below it', () => withPasskey(async (tab) => {
  await follow(tab, server, SIGN);
  await press(tab, 'Approve');
  const top = async (locator) => (await locator.boundingBox()).y;
  const order = [await top(button(tab, 'Use passkey')), await top(tab.getByLabel('Passphrase', { exact: true })), await top(button(tab, 'Sign and send'))];
  assert.deepEqual(order, [...order].sort((a, b) => a - b));
  assert.equal(await tab.locator('button.primary').count(), 1, 'one primary button on a screen');
}, { ...PHONE, viewport: { width: 320, height: 568 } }));

test('passkeys belong to a domain, outside of Telegram, in a browser that knows them and PRF', async () => {
  const scope = (hostname, more = {}) => ({ PublicKeyCredential: class {}, location: { hostname }, navigator: { userAgent: 'Mozilla/5.0' }, ...more });
  for (const name of ['localhost', 'wallet.example.org', '1.example.org', 'xn--bcher-kva.example']) assert.equal(possible(scope(name)), true, name);
  for (const name of ['127.0.0.1', '10.0.0.7', '[::1]', '[2001:db8::1]']) assert.equal(possible(scope(name)), false, name);
  assert.equal(possible(scope('a.example', { PublicKeyCredential: undefined })), false);
  assert.equal(possible(scope('a.example', { TelegramWebviewProxy: {} })), false);
  const capable = (answer) => scope('a.example', { PublicKeyCredential: Object.assign(class {}, { getClientCapabilities: answer }) });
  assert.equal(await offered(capable(async () => ({ 'extension:prf': true }))), true);
  assert.equal(await offered(capable(async () => ({}))), true, 'a browser that does not say');
  assert.equal(await offered(capable(async () => { throw new Error('no'); })), true);
  assert.equal(await offered(scope('a.example')), true, 'an older browser');
  assert.equal(await offered(capable(async () => ({ 'extension:prf': false }))), false);
  assert.equal(await offered(scope('127.0.0.1')), false);
});
