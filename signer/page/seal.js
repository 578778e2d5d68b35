// How a wallet lies in the vault: two sealed records, one for signing and one for the words, and a third for
// signing where the wallet has a passkey. Knows the cryptography and no storage. Each record has its own salt and iv, and is bound to what it is
// and to whose it is, so that records cannot be exchanged.
//
//   passphrase (NFKC) --PBKDF2-SHA256, 600,000 rounds, 16-byte salt--> AES-256-GCM key
//   record = {salt, iv (12 bytes), data}, AAD "purser/v1/<what>/<address>"
//   what = "key": PKCS #8 of the Ed25519 key; unlocked straight into a key that cannot be exported
//   what = "words": the BIP-39 entropy, 16 to 32 bytes, for showing the words again; a wallet that was
//   imported as a private key has none (null)
//
//
//   secret of a passkey (32 bytes, webauthn.js) --HKDF-SHA256, info "purser/v1/passkey/<address>"--> AES-256-GCM key
//   record = {iv, data} within the wallet's passkey, AAD "purser/v1/passkey/<address>": PKCS #8 of the Ed25519 key again.
//   HKDF has no salt of its own: the secret is already one of a random salt, another for each record
//
// The number of rounds is no field of the record: nobody can lower it.

import { addressBytes } from './base58.js';
import { utf8, wipe } from './bytes.js';
import { LocalizedError } from './catalogue.js';
import { normalise } from './passphrase.js';

const ROUNDS = 600_000;

/** The passphrase does not open the record (or the record was damaged: the two look the same). */
export class WrongPassphrase extends LocalizedError {
  constructor() {
    super('error.wrong_passphrase');
  }
}

/** The passkey does not open the record (or the record was damaged: the two look the same). */
export class WrongPasskey extends LocalizedError {
  constructor() {
    super('passkey.wrong');
  }
}

async function recordKey(passphrase, salt, usages) {
  const secret = utf8(normalise(passphrase));
  try {
    const base = await crypto.subtle.importKey('raw', secret, 'PBKDF2', false, ['deriveKey']);
    const how = { name: 'PBKDF2', hash: 'SHA-256', salt, iterations: ROUNDS };
    return await crypto.subtle.deriveKey(how, base, { name: 'AES-GCM', length: 256 }, false, usages);
  } finally {
    wipe(secret);
  }
}

const gcm = (what, address, iv) => ({ name: 'AES-GCM', iv, additionalData: utf8(`purser/v1/${what}/${address}`) });

async function seal(passphrase, what, address, plain) {
  const salt = crypto.getRandomValues(new Uint8Array(16));
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const key = await recordKey(passphrase, salt, ['encrypt']);
  return { salt, iv, data: new Uint8Array(await crypto.subtle.encrypt(gcm(what, address, iv), key, plain)) };
}

/** Seals a wallet: {address, key, words}. `entropy` is null for a wallet without words. Neither is wiped here. */
export async function sealWallet(passphrase, address, pkcs8, entropy) {
  return {
    address,
    key: await seal(passphrase, 'key', address, pkcs8),
    words: entropy && await seal(passphrase, 'words', address, entropy),
  };
}

/** A sealed PKCS #8 as a non-extractable CryptoKey that signs. */
const unwrap = (what, address, { iv, data }, key) =>
  crypto.subtle.unwrapKey('pkcs8', data, key, gcm(what, address, iv), 'Ed25519', false, ['sign']);

/** Unlocks the signing key as a non-extractable CryptoKey. Throws WrongPassphrase. */
export async function unlockKey(passphrase, { address, key: record }) {
  const key = await recordKey(passphrase, record.salt, ['unwrapKey']);
  try {
    return await unwrap('key', address, record, key);
  } catch {
    throw new WrongPassphrase();
  }
}

async function passkeyKey(secret, address, usages) {
  const base = await crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveKey']);
  const how = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(0), info: utf8(`purser/v1/passkey/${address}`) };
  return crypto.subtle.deriveKey(how, base, { name: 'AES-GCM', length: 256 }, false, usages);
}

/** Seals the signing key with a passkey's secret: {iv, data}. Neither is wiped here. */
export async function sealForPasskey(secret, address, pkcs8) {
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const key = await passkeyKey(secret, address, ['encrypt']);
  return { iv, data: new Uint8Array(await crypto.subtle.encrypt(gcm('passkey', address, iv), key, pkcs8)) };
}

/** Unlocks the signing key as unlockKey does, with the secret of the wallet's passkey. Throws WrongPasskey. */
export async function unlockKeyByPasskey(secret, { address, passkey }) {
  try {
    return await unwrap('passkey', address, passkey, await passkeyKey(secret, address, ['unwrapKey']));
  } catch {
    throw new WrongPasskey();
  }
}

/** Unlocks the entropy of the words; the caller wipes it. Throws WrongPassphrase. */
export const unlockEntropy = (passphrase, { address, words }) => open(passphrase, 'words', address, words);

/** Unlocks the PKCS #8 of the signing key, for sealing it once more; the caller wipes it. Throws WrongPassphrase. */
export const unlockPkcs8 = (passphrase, { address, key }) => open(passphrase, 'key', address, key);

/** Unlocks the private key (32 bytes), for showing it; the caller wipes it. Throws WrongPassphrase. */
export async function unlockPrivateKey(passphrase, wallet) {
  const pkcs8 = await unlockPkcs8(passphrase, wallet);
  const seed = pkcs8.slice(-32); // PKCS #8 of Ed25519 ends with it
  wipe(pkcs8);
  return seed;
}

async function open(passphrase, what, address, record) {
  const key = await recordKey(passphrase, record.salt, ['decrypt']);
  try {
    return new Uint8Array(await crypto.subtle.decrypt(gcm(what, address, record.iv), key, record.data));
  } catch {
    throw new WrongPassphrase();
  }
}

/**
 * Signs bytes and checks the signature against the address, so that a vault whose record does not
 * belong to its address never signs for another. Resolves to 64 bytes.
 */
export async function sign(key, address, bytes) {
  const signature = new Uint8Array(await crypto.subtle.sign('Ed25519', key, bytes));
  const publicKey = await crypto.subtle.importKey('raw', addressBytes(address), 'Ed25519', true, ['verify']);
  if (!(await crypto.subtle.verify('Ed25519', publicKey, signature, bytes))) {
    throw new LocalizedError('error.wrong_key');
  }
  return signature;
}

/** Whether a signature of 64 bytes is an address's own over bytes; null where this browser cannot tell. */
export async function verify(address, signature, bytes) {
  let publicKey;
  try {
    publicKey = await crypto.subtle.importKey('raw', addressBytes(address), 'Ed25519', true, ['verify']);
  } catch {
    return null;
  }
  return crypto.subtle.verify('Ed25519', publicKey, signature, bytes);
}

/** True when this browser's WebCrypto can do all of the above. */
export async function supported() {
  try {
    if (!globalThis.crypto?.subtle) return false;
    await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']);
    return true;
  } catch {
    return false;
  }
}
