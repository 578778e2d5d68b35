// Wallet apps of the person's own, by the Wallet Standard: browser extensions, and the browsers inside
// wallet apps. Knows how they are found and asked. They are foreign: what they say of themselves is
// text, what they hand back is checked, and those that would broadcast by themselves are not asked.

import { decode as bytesOf } from './base58.js';
import { concat, equal } from './bytes.js';
import { LocalizedError, t } from './catalogue.js';
import { Refusal, checkAdded } from './decode.js';
import { plain } from './text.js';

const SIGN = 'solana:signTransaction';
const MESSAGE = 'solana:signMessage';

/** What a wallet app did is not what it was asked to do. Nothing was sent. */
export class Misbehaved extends LocalizedError {}

/**
 * The wallet apps that have registered themselves: {name, usable, why, app}. `why` is a text: why an app cannot be
 * used here, or "".
 */
export function discover(chain, scope = globalThis) {
  const found = [];
  const api = Object.freeze({
    register: (...apps) => {
      found.push(...apps);
      return () => {};
    },
  });
  const listen = ({ detail }) => {
    try {
      detail(api);
    } catch {
      // one that cannot introduce itself is not there
    }
  };
  scope.addEventListener('wallet-standard:register-wallet', listen);
  scope.dispatchEvent(new CustomEvent('wallet-standard:app-ready', { detail: api }));
  scope.removeEventListener('wallet-standard:register-wallet', listen);
  return found.slice(0, 20).map((app) => assess(app, chain)).filter(Boolean);
}

function assess(app, chain) {
  try {
    const name = plain(app.name, 40) || t('apps.unnamed');
    const has = (feature) => Object.hasOwn(app.features, feature);
    if (!has('standard:connect') || !app.chains.some((c) => String(c).startsWith('solana:'))) return null;
    let why = '';
    if (!has(SIGN)) why = t('apps.sends_itself');
    else if (!has(MESSAGE)) why = t('apps.no_messages');
    else if (!app.chains.includes(`solana:${chain}`)) why = t('apps.other_network', { network: t(`chain.${chain}`) });
    return { name, why, usable: why === '', app };
  } catch {
    return null; // its own getters threw
  }
}

/** Asks an app for its accounts; resolves to those with a plausible address, at most ten. */
export async function connect({ app }) {
  const { accounts } = await app.features['standard:connect'].connect();
  return [...accounts].slice(0, 10).filter(({ address }) => {
    try {
      return typeof address === 'string' && bytesOf(address).length === 32;
    } catch {
      return false;
    }
  });
}

/** Has a text signed; resolves to the signature. Throws Misbehaved when something else was signed. */
export async function signText({ app }, account, text) {
  const message = new TextEncoder().encode(text);
  const [output] = await app.features[MESSAGE].signMessage({ account, message });
  const signature = Uint8Array.from(output?.signature ?? []);
  if (!equal(Uint8Array.from(output?.signedMessage ?? message), message)) throw new Misbehaved('apps.other_text');
  if (signature.length !== 64 || !(await fits(account.address, signature, message))) throw new Misbehaved('apps.bad_signature');
  return signature;
}

/**
 * Has a message signed as a transaction; resolves to the wire bytes that the app handed back, after
 * they were held against what was asked. Throws Misbehaved.
 */
export async function signTransaction({ app }, account, message, chain) {
  const transaction = concat(Uint8Array.of(1), new Uint8Array(64), message);
  const [output] = await app.features[SIGN].signTransaction({ account, transaction, chain: `solana:${chain}` });
  const signed = Uint8Array.from(output?.signedTransaction ?? []);
  // A version 1 transaction begins with its message, and its signatures stand at the end.
  if (signed[0] === 0x81) throw new Misbehaved('apps.version_1');
  if (signed[0] !== 1 || signed.length < 66) throw new Misbehaved('apps.not_one_signature');
  const signature = signed.slice(1, 65);
  const returned = signed.slice(65);
  try {
    checkAdded(message, returned, account.address);
  } catch (err) {
    if (err instanceof Refusal) throw new Misbehaved('apps.signed_other', { reason: err.message });
    throw err;
  }
  if (!(await fits(account.address, signature, returned))) throw new Misbehaved('apps.bad_signature');
  return signed;
}

/** Whether a signature is the address's over the bytes; true where this browser cannot tell, as the server asks too. */
async function fits(address, signature, bytes) {
  let key;
  try {
    key = await crypto.subtle.importKey('raw', bytesOf(address), 'Ed25519', false, ['verify']);
  } catch {
    return true;
  }
  return crypto.subtle.verify('Ed25519', key, signature, bytes);
}
