// The question that binds a wallet to a Telegram account, and the exact text that is signed for it
// (Sign-In With Solana). Pure. The page composes the text itself from fields whose characters it
// has checked, so that no field can add a line to what the key signs.

import { LocalizedError } from './catalogue.js';
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

/** The text that the key signs; host and origin are those of the page itself. */
export function signInText({ host, origin }, address, c) {
  return `${host} wants you to sign in with your Solana account:
${address}

Connect this wallet to the Telegram account ${c.telegram_id}.

URI: ${origin}
Version: 1
Chain ID: ${c.chain}
Nonce: ${c.nonce}
Issued At: ${c.issued_at}
Expiration Time: ${c.expires_at}`;
}
