// What the server offers to sign, and says of it: the answers of /w/tx/get and /w/tx/refresh, checked for their
// shape. Pure. Everything in it but the message is the server's word.

import { addressBytes } from './base58.js';
import { fromBase64 } from './bytes.js';
import { LocalizedError } from './catalogue.js';
import { readLimitsOf } from './policy.js';
import { plain, utcTime } from './text.js';

const CHAINS = ['mainnet', 'devnet', 'localnet'];
const UNLIMITED = '18446744073709551615'; // 2^64 - 1: a delegate may spend everything, also what arrives later

/**
 * Who may spend from the token account of a revocation, by the server's word: {address, limit (base units, null for any amount), decimals (of the
 * token)}, or null where it says nothing that can be shown. The bytes name nobody.
 */
function delegateOf(terms) {
  const { schema, delegate, limit, token } = terms ?? {};
  const decimals = token?.decimals;
  if (schema !== 'revoke/1' || addressBytes(delegate) === null || typeof limit !== 'string' || !/^(0|[1-9][0-9]{0,19})$/.test(limit)) return null;
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 255) return null;
  return { address: delegate, limit: limit === UNLIMITED ? null : limit, decimals };
}

/**
 * Checks the shape of /w/tx/get and /w/tx/refresh; message becomes bytes, limits what readLimitsOf returns. With `delayed` it may be a payment that
 * waits for its recipient to be known, which nothing signs yet: ready is then when the server's own wait is over.
 */
export function check(answer, { delayed = false } = {}) {
  const { status, address, chain, message, expires_at: expires, recipient, wallet_type: type } = answer ?? {};
  const odd = (field) => new LocalizedError('error.unexpected', { field });
  if (typeof status !== 'string') throw odd('status');
  const known = {
    status, bot: typeof answer.bot === 'string' && /^[A-Za-z0-9_]{4,32}$/.test(answer.bot) ? answer.bot : '', signature: plain(answer.signature, 100),
    code: plain(answer.error_code, 40), held: answer.held === true,
  };
  if (message === null || message === undefined) return { ...known, message: null };
  const waits = delayed && status === 'delayed';
  if (status !== 'awaiting_signature' && !waits) throw odd('status');
  if (addressBytes(address) === null) throw odd('address');
  if (!CHAINS.includes(chain)) throw odd('chain');
  if (!waits && utcTime(expires) === null) throw odd('expires_at'); // what waits has no time to sign yet
  if (waits && utcTime(answer.ready_at) === null) throw odd('ready_at');
  if (recipient !== undefined && addressBytes(recipient) === null) throw odd('recipient');
  const limits = readLimitsOf(answer);
  try {
    return {
      ...known, address, chain, message: fromBase64(message), expires: waits ? null : utcTime(expires), recipient, external: type === 'external', limits, ready: waits ? utcTime(answer.ready_at) : null,
      contact: plain(answer.contact, 64), app: plain(answer.app, 64), keyHint: plain(answer.key_hint, 8), label: plain(answer.label, 80),
      validator: plain(answer.terms?.validator_name, 64), delegate: delegateOf(answer.terms), defaultChanged: utcTime(answer.default_wallet_changed_at)?.getTime() ?? null,
    };
  } catch {
    throw odd('message');
  }
}
