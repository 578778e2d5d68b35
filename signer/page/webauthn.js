// Passkeys, as WebAuthn and its PRF extension give them: made, used, given up. Knows the browser's interface, and neither
// storage nor screens.
//
// For a salt of ours, a passkey with PRF returns 32 bytes that nobody can compute without it. They open a sealed record
// (seal.js), and that is the whole proof: no server verifies anything. So the challenge is random and forgotten, no
// attestation is asked for, and the public key is never looked at.

import { insideTelegram } from './browser.js';
import { toBase64Url, wipe } from './bytes.js';
import { LocalizedError } from './catalogue.js';

const ALGORITHMS = [-7, -8, -257]; // ES256, EdDSA, RS256: every authenticator has one, and none of them is used
const VERIFIED = 0x04; // the flag UV of authenticator data
const FLAGS_AT = 32; // bytes into authenticator data

/** The passkey gave nothing: it was cancelled, is gone, or cannot do it. The text says which, as far as browsers tell. */
export class PasskeyError extends LocalizedError {}

/** The passkey was made, but cannot encrypt. `id` names it. */
export class Unfit extends PasskeyError {
  constructor(id) {
    super('passkey.unfit');
    this.id = id;
  }
}

/**
 * Whether this page can use passkeys at all. They belong to a domain, so not to a page at an IP address (the sandbox).
 * What Telegram's in-app browser stores goes with the app.
 */
export const possible = (scope = globalThis) => typeof scope.PublicKeyCredential === 'function' && !insideTelegram(scope) &&
  !/^[\d.]+$|:/.test(scope.location.hostname);

/** Whether adding a passkey is worth offering: false where the browser says that it has no PRF. */
export async function offered(scope = globalThis) {
  if (!possible(scope)) return false;
  try {
    return (await scope.PublicKeyCredential.getClientCapabilities())['extension:prf'] !== false;
  } catch {
    return true; // older browsers do not say; the new passkey will
  }
}

const random = (length) => crypto.getRandomValues(new Uint8Array(length));
const verified = (data) => (new Uint8Array(data)[FLAGS_AT] & VERIFIED) !== 0;
const descriptor = ({ id, transports }) => ({ type: 'public-key', id, transports });

/** What PRF says of a credential: {enabled, secret}. Asked once only: each answer of a browser may be another copy of the secret. */
const prfOf = (credential) => {
  const { enabled, results } = credential.getClientExtensionResults().prf ?? {};
  return { enabled: enabled === true, secret: results?.first?.byteLength === 32 ? new Uint8Array(results.first) : null };
};

/**
 * Makes a passkey for a wallet, to be called within a press of a button. `excluded` is a passkey that the wallet has already,
 * or null. Resolves to {id, transports, salt, secret}; `secret` (32 bytes) is null where the passkey tells it only when it is
 * used (see use). The caller wipes it. Throws Unfit when the new passkey has no PRF or did not verify its person, and
 * PasskeyError when none was made.
 */
export async function make(address, excluded, signal) {
  const salt = random(32);
  const ends = `${address.slice(0, 4)}…${address.slice(-6)}`;
  let credential;
  try {
    credential = await navigator.credentials.create({
      signal,
      publicKey: {
        rp: { id: location.hostname, name: 'purser' },
        user: { id: random(32), name: ends, displayName: ends },
        challenge: random(32),
        pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
        // Preferred: phones have PRF only in passkeys that their password manager lists (docs/decisions/0052).
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
        excludeCredentials: excluded ? [descriptor(excluded)] : [],
        attestation: 'none',
        extensions: { prf: { eval: { first: salt } } },
      },
    });
  } catch (err) {
    throw new PasskeyError({ NotAllowedError: 'passkey.not_created', AbortError: 'passkey.not_created', InvalidStateError: 'passkey.exists' }[err.name] ?? 'passkey.failed');
  }
  const id = new Uint8Array(credential.rawId);
  const { enabled, secret } = prfOf(credential);
  if (!enabled || !verified(credential.response.getAuthenticatorData())) {
    wipe(secret);
    throw new Unfit(id);
  }
  return { id, transports: credential.response.getTransports(), salt, secret };
}

/**
 * Asks for a passkey, {id, transports, salt}, and resolves to its secret for that salt (32 bytes), which the caller wipes.
 * To be called within a press of a button. Throws PasskeyError.
 */
export async function use(passkey, signal) {
  let credential;
  try {
    credential = await navigator.credentials.get({
      signal,
      publicKey: {
        rpId: location.hostname,
        challenge: random(32),
        allowCredentials: [descriptor(passkey)],
        userVerification: 'required',
        extensions: { prf: { eval: { first: passkey.salt } } },
      },
    });
  } catch (err) {
    // Browsers hide whether it was cancelled, is gone or did not recognise its person: all are NotAllowedError.
    throw new PasskeyError(err.name === 'NotAllowedError' || err.name === 'AbortError' ? 'passkey.cancelled' : 'passkey.failed');
  }
  const { secret } = prfOf(credential);
  if (secret !== null && verified(credential.response.authenticatorData)) return secret;
  wipe(secret);
  throw new PasskeyError('passkey.wrong');
}

/** Tells the browser that a passkey is of no use any more, so that its password manager drops it. Many browsers cannot. */
export async function giveUp(id) {
  try {
    await PublicKeyCredential.signalUnknownCredential({ rpId: location.hostname, credentialId: toBase64Url(id) });
  } catch {
    // the person can delete it in the password manager
  }
}
