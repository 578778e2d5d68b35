// The questions that bind a wallet to a Telegram account and unfreeze it, and the exact texts that are signed for them
// (Sign-In With Solana). Pure. The page composes the text itself from fields whose characters it
// has checked, so that no field can add a line to what the key signs.

import { addressBytes } from './base58.js';
import { LocalizedError } from './catalogue.js';
import { KEPT_LIMITS, readPolicy } from './policy.js';
import { utcTime } from './text.js';

const FIELDS = {
  telegram_id: (v) => /^[0-9]{1,20}$/.test(v),
  chain: (v) => ['mainnet', 'devnet', 'localnet'].includes(v),
  nonce: (v) => /^[A-Za-z0-9]{8,64}$/.test(v),
  issued_at: (v) => utcTime(v) !== null,
  expires_at: (v) => utcTime(v) !== null,
  telegram_name: (v) => v.length <= 256, // shown only, never signed
  username: (v) => v.length <= 64, // shown only, never signed
};

/** A challenge that this page will not sign. */
export class BadChallenge extends LocalizedError {
  constructor(field) {
    super('error.unexpected', { field });
  }
}

/** Checks the answer of /w/bind/challenge; returns its known fields only. Throws BadChallenge. */
export function checkChallenge(answer) {
  const challenge = {};
  for (const [field, fits] of Object.entries(FIELDS)) {
    const value = answer?.[field];
    if (typeof value !== 'string' || !fits(value)) throw new BadChallenge(field);
    challenge[field] = value;
  }
  if (utcTime(challenge.issued_at) >= utcTime(challenge.expires_at)) throw new BadChallenge('expires_at');
  return challenge;
}

/** Checks the answer of /w/unfreeze/challenge; returns its known fields only. Throws BadChallenge. */
export function checkUnfreeze(answer) {
  const challenge = checkChallenge(answer);
  if (utcTime(answer.frozen_at) === null) throw new BadChallenge('frozen_at');
  const fits = ({ address, wallet_type: type } = {}) => /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(address) && ['page', 'external', 'developer'].includes(type);
  if (!Array.isArray(answer.wallets) || !answer.wallets.every((w) => w && fits(w))) throw new BadChallenge('wallets');
  return { ...challenge, frozen_at: answer.frozen_at, wallets: answer.wallets.slice(0, 20).map(({ address, wallet_type }) => ({ address, wallet_type })) };
}

/** Checks the answer of /w/limits/challenge; returns its known fields only, its policies as policy.js reads them. Throws BadChallenge or BadPolicy. */
export function checkLimits(answer) {
  const challenge = checkChallenge(answer);
  const { address, wallet_type: type } = answer;
  if (addressBytes(address) === null) throw new BadChallenge('address');
  if (!['page', 'external', 'developer'].includes(type)) throw new BadChallenge('wallet_type');
  return { ...challenge, address, wallet_type: type, current: readPolicy(answer.current, 'current', KEPT_LIMITS), proposed: readPolicy(answer.proposed, 'proposed') };
}

/** The text that connects a wallet; host and origin are those of the page itself. */
export const signInText = (place, address, c) => proofText(place, address, c, `Connect this wallet to the Telegram account ${c.telegram_id}.`);

/** The text that unfreezes an account. Its statement differs, so that neither signature stands for the other. */
export const unfreezeText = (place, address, c) => proofText(place, address, c, `Unfreeze the purser account of the Telegram account ${c.telegram_id}.`);

function proofText({ host, origin }, address, c, statement) {
  return `${host} wants you to sign in with your Solana account:
${address}

${statement}

URI: ${origin}
Version: 1
Chain ID: ${c.chain}
Nonce: ${c.nonce}
Issued At: ${c.issued_at}
Expiration Time: ${c.expires_at}`;
}
