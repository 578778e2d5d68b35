// Talks to the server that this page came from: JSON in, JSON out. Knows the paths and nothing of
// keys. What it returns is the server's word; the callers check it.

import { ask, takeFirst } from './ask.js';
import { LocalizedError, t } from './catalogue.js';

/** The server answered with a refusal; its message is the server's own. */
export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.name = 'Refused';
    this.status = status;
    this.code = code;
  }
}

/** No usable answer came: whether the server received the request is unknown. */
export class NoAnswer extends LocalizedError {
  constructor() {
    super('error.no_answer');
  }
}

/** Waits for a response and reads its JSON. */
async function read(asked) {
  const response = await asked;
  return { response, answer: await response.json() };
}

/** Reads what boot.js asked for ahead. If it asked for something else, or its question failed or has waited too long, it asks now. */
async function firstOrNow(path, body) {
  const first = takeFirst(path, body);
  if (first) {
    try {
      return await read(first);
    } catch { /* the page's files may have taken longer than a question's patience */ }
  }
  return read(ask(path, body));
}

async function post(path, body) {
  const { response, answer } = await firstOrNow(path, body).catch(() => { throw new NoAnswer(); });
  if (response.ok) return answer ?? {};
  const { code, message } = answer?.error ?? {};
  // A 5xx may come from something between us and the server: it says nothing about the request.
  if (response.status >= 500) throw new NoAnswer();
  throw new Refused(response.status, String(code ?? ''), String(message ?? t('error.no_reason')));
}

/** {telegram_id, telegram_name, username, chain, nonce, issued_at, expires_at} of a bind link. */
export const bindChallenge = (token) => post('/w/bind/challenge', { token });

/** Proves an address; type is "page" or "external". Resolves to {address, status}. */
export const bind = (token, address, signature, type) => post('/w/bind', { token, address, signature, wallet_type: type });

/** {holds: a boolean for each address, whether there is SOL on it}. Needs an open bind link. */
export const accountsInUse = (token, addresses) => post('/w/bind/accounts', { token, addresses });

/** Freezes the account of a recovery link; resolves to {status, frozen_at}. */
export const freeze = (token) => post('/w/freeze', { token });

/** The fields of bindChallenge, and {frozen_at, wallets: [{address, wallet_type}]} of an unfreeze link. */
export const unfreezeChallenge = (token) => post('/w/unfreeze/challenge', { token });

/** Unfreezes with a signature (base58) over unfreezeText; resolves to {status}. */
export const unfreeze = (token, address, signature) => post('/w/unfreeze', { token, address, signature });

/** The fields of bindChallenge, and {address, wallet_type, current, proposed} of a link that changes spending limits. */
export const limitsChallenge = (token) => post('/w/limits/challenge', { token });

/** Sets spending limits with a signature (base58) over policyText; resolves to {status, effective_at}. */
export const signLimits = (token, signature) => post('/w/limits/sign', { token, signature });

/** {status, address, recipient, wallet_type, chain, message (base64 or null), expires_at, limits, ready_at} of a sign link. */
export const getTransaction = (id) => post('/w/tx/get', { id });

/** The same with a fresh blockhash. */
export const refreshTransaction = (id) => post('/w/tx/refresh', { id });

/** {blocks_left}: for how many more blocks the newest blockhash lives; zero and less: no longer. */
export const blocksLeft = (id) => post('/w/tx/blocks', { id });

/** Hands over the signature (base58) of the message with that sha256 (hex); resolves to {status}. */
export const sendSignature = (id, messageSha256, signature) =>
  post('/w/tx/signature', { id, message_sha256: messageSha256, signature });

/** Hands over a whole transaction (base64) as a wallet app signed it; resolves to {status}. */
export const sendSigned = (id, transaction) => post('/w/tx/signature', { id, signed_transaction: transaction });

/** Turns the transaction down; resolves to {status}. */
export const rejectTransaction = (id) => post('/w/tx/reject', { id });
