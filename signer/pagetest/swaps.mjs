// The instructions of a swap, written byte by byte, for fixtures and for the browser. It imports nothing from the page.

import { AddressLookupTableAccount, PublicKey, TransactionInstruction, TransactionMessage } from '@solana/web3.js';
import { ASSOCIATED, SYSTEM, TOKEN, ZERO_HASH, addr, le, transferData } from './wire.mjs';

export const JUPITER = 'JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4';
const EVENTS = 'D8cy77BBepLMngZx6ZukaTff5hCt1HrWyKk3Hnd9oitf';
export const WSOL = 'So11111111111111111111111111111111111111112';
export const POOLS = [addr(0x91), addr(0x92), addr(0x93)];
const TABLE = addr(0x7a);
const REF = addr(0x5e);

const key = (s) => new PublicKey(s);
const meta = (pubkey, flags = '') => ({ pubkey: key(pubkey), isSigner: flags.includes('s'), isWritable: flags.includes('w') });
const other = (programId, data, keys = []) => new TransactionInstruction({ programId: key(programId), keys, data: Buffer.from(data) });

/** The data of shared_accounts_route_v2. */
export const routeData = ({ selector = [0xd1, 0x98, 0x53, 0x93, 0x7c, 0xfe, 0xd8, 0xe9], units = 1_000n, quoted = 2_001n, slippage = 50, fee = 0, positive = 0, steps = 1 } = {}) =>
  [...selector, 3, ...le(units, 8), ...le(quoted, 8), ...le(slippage, 2), ...le(fee, 2), ...le(positive, 2), ...le(steps, 4), 7, 0x10, 0x27, 0, 1];

/** A version 0 message whose accounts come from a lookup table where they can. */
export function looked(payer, instructions, addresses = POOLS) {
  const table = new AddressLookupTableAccount({ key: key(TABLE), state: { deactivationSlot: 2n ** 64n - 1n, lastExtendedSlot: 0, lastExtendedSlotStartIndex: 0, addresses: addresses.map(key) } });
  return new TransactionMessage({ payerKey: key(payer), recentBlockhash: ZERO_HASH, instructions }).compileToV0Message([table]).serialize();
}

/** The steps of a swap by a wallet. */
export function swapsOf(me) {
  const own = (mint, owner = me) => PublicKey.findProgramAddressSync([key(owner).toBytes(), key(TOKEN).toBytes(), key(mint).toBytes()], key(ASSOCIATED))[0].toBase58();
  return {
    own,
    /** The instruction of the swap program; `at` replaces accounts by their place. */
    route({ mint = WSOL, out, at = {}, data, pools = POOLS, ...numbers } = {}) {
      const accounts = [meta(addr(0x81)), meta(me, 's'), meta(own(mint), 'w'), meta(addr(0x82), 'w'), meta(addr(0x83), 'w'), meta(own(out), 'w'),
        meta(mint), meta(out), meta(TOKEN), meta(TOKEN), meta(EVENTS), meta(JUPITER), ...pools.map((p, i) => meta(p, i > 0 ? 'w' : ''))];
      for (const [place, that] of Object.entries(at)) {
        accounts[place] = typeof that === 'string' ? { ...accounts[place], pubkey: key(that), isSigner: that === me } : { ...accounts[place], ...that };
      }
      return other(JUPITER, data ?? routeData(numbers), accounts);
    },
    createOwn: (mint, { idempotent = 1 } = {}) => other(ASSOCIATED, [idempotent], [meta(me, 'sw'), meta(own(mint), 'w'), meta(me), meta(mint), meta(SYSTEM), meta(TOKEN)]),
    wrap: (lamports, { to = own(WSOL), extra = [] } = {}) => other(SYSTEM, transferData(lamports), [meta(me, 'sw'), meta(to, 'w'), ...extra]),
    syncNative: ({ account = own(WSOL), data = [17] } = {}) => other(TOKEN, data, [meta(account, 'w')]),
    unwrap: ({ account = own(WSOL), to = me, data = [9] } = {}) => other(TOKEN, data, [meta(account, 'w'), meta(to, 'w'), meta(me, 's')]),
    named: ({ reference = REF, lamports = 0, kind = '' } = {}) => other(SYSTEM, transferData(lamports), [meta(me, 'sw'), meta(me, 'sw'), meta(reference, kind)]),
  };
}
