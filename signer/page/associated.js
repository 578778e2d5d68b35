// The token account that belongs to an owner. Knows Solana's program-derived addresses and the
// Associated Token Account program's seeds. It asks nobody: whoever claims that an account is
// somebody's can be checked with it.

import { decode, encode } from './base58.js';
import { concat, sha256, utf8 } from './bytes.js';

const ASSOCIATED_TOKEN = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';
const MARKER = utf8('ProgramDerivedAddress');

/** The address of `owner`'s account for `mint` under a token program; all in base58. */
export async function associatedAccount(owner, mint, program) {
  const seeds = concat(decode(owner), decode(program), decode(mint));
  for (let bump = 255; bump >= 0; bump--) {
    const candidate = await sha256(concat(seeds, Uint8Array.of(bump), decode(ASSOCIATED_TOKEN), MARKER));
    if (!onCurve(candidate)) return encode(candidate);
  }
  throw new Error('no address off the curve'); // happens once in 2^256 owners
}

const P = 2n ** 255n - 19n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/**
 * Tells whether 32 bytes are a point of Ed25519 (RFC 8032, 5.1.3), as Solana asks: x² = u/v must have
 * a root. The sign bit and an encoding beyond the prime do not matter there.
 */
export function onCurve(bytes) {
  let y = 0n;
  for (let i = 31; i >= 0; i--) y = (y << 8n) | BigInt(i === 31 ? bytes[i] & 0x7f : bytes[i]);
  const yy = (y * y) % P;
  const u = (yy + P - 1n) % P;
  const v = (D * yy + 1n) % P;
  const euler = power((u * v) % P, (P - 1n) / 2n);
  return euler === 0n || euler === 1n;
}

function power(base, exponent) {
  let result = 1n;
  for (let e = exponent, b = base; e > 0n; e >>= 1n, b = (b * b) % P) {
    if (e & 1n) result = (result * b) % P;
  }
  return result;
}
