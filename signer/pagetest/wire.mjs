// Writes transaction messages byte by byte, so that tests can also write impossible ones. Knows the
// wire format only; it shares no code with the page's decoder.

import { base58 } from '@scure/base';

export const SYSTEM = '11111111111111111111111111111111';
export const MEMO = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
export const MEMO_V4 = 'Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH';
export const OLD_MEMO = 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo';
export const BUDGET = 'ComputeBudget111111111111111111111111111111';
export const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
export const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
export const ASSOCIATED = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';
export const STAKE = 'Stake11111111111111111111111111111111111111';
export const ZERO_HASH = SYSTEM;

/** A 32-byte address whose bytes all have one value: easy to tell apart, easy to repeat. */
export const addr = (byte) => base58.encode(new Uint8Array(32).fill(byte));

/** compact-u16, shortest form. */
export function short(n) {
  const out = [];
  for (; n >= 0x80; n >>= 7) out.push((n & 0x7f) | 0x80);
  return [...out, n];
}

/** Little-endian integer of `bytes` bytes. */
export function le(value, bytes) {
  return Array.from({ length: bytes }, (_, i) => Number((BigInt(value) >> BigInt(8 * i)) & 0xffn));
}

export const transferData = (lamports) => [...le(2, 4), ...le(lamports, 8)];
export const limitData = (units) => [2, ...le(units, 4)];
export const priceData = (micro) => [3, ...le(micro, 8)];
export const text = (s) => [...new TextEncoder().encode(s)];

/**
 * Assembles a message. `keys` are addresses in wire order; instructions are
 * {program, accounts, data} by index. Every field can be given as nonsense.
 */
export function assemble({
  version = 'legacy',
  header = [1, 0, 1],
  keys,
  keyCount = short(keys.length),
  blockhash = ZERO_HASH,
  instructions,
  instructionCount = short(instructions.length),
  lookups = [],
  tail = [],
}) {
  const out = version === 'legacy' ? [] : [version === 'v0' ? 0x80 : version];
  out.push(...header, ...keyCount);
  for (const k of keys) out.push(...base58.decode(k));
  out.push(...base58.decode(blockhash), ...instructionCount);
  for (const { program, accounts, data, accountCount, dataLength } of instructions) {
    out.push(program, ...(accountCount ?? short(accounts.length)), ...accounts);
    out.push(...(dataLength ?? short(data.length)), ...data);
  }
  if (version !== 'legacy') {
    out.push(...short(lookups.length));
    for (const { table, writable, readonly } of lookups) {
      out.push(...base58.decode(table), ...short(writable.length), ...writable, ...short(readonly.length), ...readonly);
    }
  }
  return Uint8Array.from([...out, ...tail]);
}

/**
 * Assembles a message of version 1 (SIMD-0385): header, config mask (u32), blockhash, counts, keys, config
 * values (4 bytes for each bit of the mask), instruction headers, then their accounts and data.
 */
export function assembleV1({ header = [1, 0, 1], keys, mask = 0, values = [], blockhash = ZERO_HASH, instructions }) {
  const out = [0x81, ...header, ...le(mask, 4), ...base58.decode(blockhash), instructions.length, keys.length];
  for (const k of keys) out.push(...base58.decode(k));
  for (const value of values) out.push(...le(value, 4));
  for (const { program, accounts, data } of instructions) out.push(program, accounts.length, ...le(data.length, 2));
  for (const { accounts, data } of instructions) out.push(...accounts, ...data);
  return Uint8Array.from(out);
}
