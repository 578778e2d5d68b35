// What a transaction message does, read from its bytes alone: an allow-list. Knows Solana's legacy
// and v0 message formats, System transfer, the token programs' checked transfer, associated token
// accounts and their Revoke, staking, swaps (swap.js), Memo and Compute Budget; whatever it does not know it refuses. It trusts nobody's
// description of the bytes, and touches neither network nor page.
//
// Long: the contract below and the code that holds to it are read together, check by check.
//
// The server decodes the same bytes in Go (package chain); signer/testdata/transactions.json holds
// both to the same answers. A message can be wrong in several ways at once, so the order of the
// checks is part of the contract:
//
//  1. Version and size.  A first byte above 128 (version 1 or later): version. More than 1167 bytes
//     (1232 of a packet, less one signature and its count): too_large.
//  2. Parse, front to back; any failure: malformed.
//     a. First byte: below 128 it is a legacy header; 128 is v0.
//     b. Header: at least one signer, a writable fee payer (read-only signed < signers), and
//        signers + read-only unsigned <= static keys.
//     c. Every count is a compact-u16 in its shortest form, at most 65535.
//     d. Static keys (no two alike), blockhash, instructions, then (v0) lookup tables: each table
//        names at least one index; static and looked-up keys together are at most 256.
//     e. No byte may follow.
//     f. Each program index is a static key other than the fee payer; each account index lies
//        within static plus looked-up keys.
//     g. Each static key but the fee payer is used by some instruction, as program or account.
//  3. Signers.  Exactly one, and it is the given signer (also the fee payer): signers.
//  4. Any lookup table, in a message that does not call the swap program: lookup_tables.
//  5. Instructions, in order. One of another program than the swap program that names an account of a
//     lookup table: lookup_tables. Then each by its program. What is said of swaps holds only in a
//     message that calls the swap program; elsewhere such an instruction is judged like any other:
//     System   a. data shorter than 4 bytes, or a discriminator (u32 LE) other than 2 and 3:
//                 unknown_instruction; 3 is the creation of a stake account, below
//              b. data not exactly 12 bytes, or fewer than 2 accounts: malformed
//              c. account 0 is not the signer: not_the_owner
//              d. account 1 is the signer: self_transfer. In a swap, 0 lamports and exactly one more
//                 account make it the reference; that account is writable: reference
//              e. account 1 is not writable: malformed. In a swap, the signer's associated account for
//                 wrapped SOL makes it the wrapping of SOL; accounts beyond the two: extra_accounts;
//                 0 lamports: zero_amount
//              f. more than 8 accounts beyond these two, one of them named twice, a signer or
//                 writable: reference
//              g. 0 lamports: zero_amount
//     Token    in a swap: 17 (SyncNative), 9 (CloseAccount)
//              a. data not exactly 1 byte, not exactly 1 or 3 accounts: malformed
//              b. 9: account 1 or 2 is not the signer: not_the_owner
//              c. account 0 is not the signer's associated account for wrapped SOL: wrong_account
//              d. account 0 is not writable: malformed
//     Token,   5 (Revoke)
//     Token-   a. data not exactly 1 byte, or fewer than 2 accounts: malformed
//     2022     b. account 1 is not the signer: not_the_owner
//              c. account 0 is the signer, or not writable: malformed
//              d. accounts beyond these two as for a transfer: reference
//     Token,   a. no data, or a first byte other than 12 (TransferChecked): unknown_instruction
//     Token-   b. data not exactly 10 bytes, or fewer than 4 accounts: malformed
//     2022     c. account 3 is not the signer, or account 0 not the signer's associated account for
//                 the mint, account 1, under this program: not_the_owner
//              d. account 2 is account 0: self_transfer
//              e. account 0 or 2 is not writable: malformed
//              f. more than 8 accounts beyond these four, one of them named twice, a signer or
//                 writable: reference
//              g. 0 units: zero_amount
//     Associ-  a. data longer than 1 byte, or a byte above 1: unknown_instruction
//     ated     b. not exactly 6 accounts: malformed
//     Token    c. account 0, who pays, is not the signer: not_the_owner
//     Account  d. account 4 is not the System program, or account 5 no token program: unknown_program
//              e. account 2, the owner, is the System program, or account 1 is not the owner's
//                 associated account for account 3 under account 5: wrong_account
//              f. account 1 is not writable: malformed
//              g. a second one, in a swap a third one: too_many_actions
//     Swap     a. another discriminator than shared_accounts_route_v2's: unknown_instruction
//     program  b. data shorter than 35 bytes, or fewer than 12 accounts: malformed
//              c. one of the first 12 accounts is of a lookup table: lookup_tables
//              d. account 1 is not the signer: not_the_owner
//              e. account 8 or 9 is not the Token program: unknown_program
//              f. account 10 is not the program's event authority, or 11 not the program: malformed
//              g. the mints, 6 and 7, are one: self_transfer
//              h. account 2 is not the signer's associated account for mint 6: not_the_owner;
//                 account 5 not the one for mint 7: wrong_account
//              i. account 3 or 4 is account 2 or 5: wrong_account
//              j. the signer at another place than 1: extra_accounts
//              k. account 2 or 5 is not writable: malformed
//              l. an amount in (u64 at 9) of 0: zero_amount
//              m. a platform fee (u16 at 27) or a share of positive slippage (u16 at 29): swap_fee
//              n. a slippage (u16 at 25) above 1000: slippage
//              o. a quoted amount (u64 at 17) that leaves 0 after the slippage: zero_amount
//              p. no steps (u32 at 31): malformed
//     System,  createAccountWithSeed
//     3        a. data not exactly 124 bytes with a seed of 32, or not exactly 2 accounts: malformed
//              b. account 0, or the base in the data, is not the signer: not_the_owner
//              c. the owner in the data is not the Stake program, or the size not 200: unknown_program
//              d. the seed is not lower-case hexadecimal, or account 1 does not derive from signer and
//                 seed: wrong_account
//              e. account 1 is not writable: malformed
//              f. a second one: too_many_actions
//     Stake    data shorter than 4 bytes, or a discriminator (u32 LE) not listed: unknown_instruction
//     0        Initialize: a. data not exactly 116 bytes, not exactly 2 accounts, or account 1 not the
//              Rent sysvar: malformed; b. an authority other than the signer: not_the_owner;
//              c. a lockup: lockup; d. account 0 was not created before: wrong_account;
//              e. a second one: too_many_actions
//     2, 3, 4, DelegateStake, Split, Withdraw, Deactivate, Merge:
//     5, 7     a. data not exactly the discriminator and the amount (of 3 and 4), or too few accounts: malformed
//              b. in order, an account that is not the one due there: not_the_owner where the signer is due,
//                 else malformed
//              c. a stake account that is not writable: malformed
//              d. accounts beyond these as for a transfer: reference; of 3 and 7 any at all: extra_accounts
//              e. 2: the account was not initialized before; 3: account 1 was not created before: wrong_account
//              f. 3: a second one: too_many_actions
//              g. 3 and 4: 0 lamports: zero_amount
//     Memo     (v3 and v4 alike)
//              a. a second memo: memo
//              b. any account: memo
//              c. empty, longer than 512 bytes, not UTF-8, or holding a character of the list
//                 HIDDEN below: memo
//     Compute  a. no data, or a first byte other than 2 (limit) and 3 (price): unknown_instruction
//     Budget   b. data not exactly 5 (limit) or 9 (price) bytes: malformed
//              c. any account: extra_accounts
//              d. the same kind a second time: budget
//              e. limit above 1,400,000: budget
//     other    unknown_program (the first memo program too)
//  6. Totals: more than one transfer, delegation, deactivation, withdrawal, revocation or swap, of any kind: too_many_actions;
//     none: no_action. Then for each action, in order: a swap whose message is not exactly (if SOL is paid) an account
//     created for wrapped SOL, wrapped SOL of exactly the amount, SyncNative, then an account created for what is
//     received, at most one reference, the swap, and (if SOL is paid or received) CloseAccount: wrong_account;
//     an account created, without a swap, that the transfer does not go to; a stake
//     account created that is neither initialized nor split into after it: wrong_account; more than 2,282,880
//     lamports paid into one that is split into (whose authorities nobody sees): deposit; one initialized but not
//     delegated after it, a split whose new account is not deactivated after it, a merge whose account is not
//     split, deactivated or withdrawn from after it: wrong_account. Then a price without a limit, or a
//     priority fee above 1,000,000 lamports: budget.

import { associatedAccount } from './associated.js';
import { encode } from './base58.js';
import { sha256, toHex } from './bytes.js';
import { LocalizedError } from './catalogue.js';
import { SWAP_PROGRAM, checkSwap, mostCreated, route, swaps, systemStep, tokenStep } from './swap.js';

const SYSTEM = '11111111111111111111111111111111';
const MEMO = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const MEMO_V4 = 'Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH'; // the default of today's official client
const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
export const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
const ASSOCIATED_TOKEN = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';
const STAKE = 'Stake11111111111111111111111111111111111111';
const RENT_SYSVAR = 'SysvarRent111111111111111111111111111111111';
const CLOCK_SYSVAR = 'SysvarC1ock11111111111111111111111111111111';
const HISTORY_SYSVAR = 'SysvarStakeHistory1111111111111111111111111';
const STAKE_CONFIG = 'StakeConfig11111111111111111111111111111111';
const COMPUTE_BUDGET = 'ComputeBudget111111111111111111111111111111';

/** A packet of 1232 bytes, less the count (1) and the one signature (64). */
const MESSAGE_LIMIT = 1232 - 65;
const MEMO_LIMIT = 512; // bytes
const REFERENCES_LIMIT = 8; // those of a payment link, and purser's own
const UNIT_LIMIT = 1_400_000;
const STAKE_SIZE = 200n; // bytes of a stake account
const STAKE_DEPOSIT_CEILING = 6_960n * (STAKE_SIZE + 128n); // lamports; the network only ever lowers it
const SEED_LENGTH = 32; // characters
const SIGNATURE_FEE = 5_000n; // lamports
const PRIORITY_FEE_CEILING = 1_000_000n; // lamports

/**
 * Characters that a memo may not hold since they do not show, or change how the text around them
 * shows: controls, soft hyphen, bidi marks and overrides, zero-width space, line and paragraph
 * separators, invisible operators, byte order mark, interlinear marks, tags. The joiners U+200C and
 * U+200D stay: Persian and emoji need them.
 */
const HIDDEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;

/** A transaction that may not be signed here. `code` is one of the codes listed above, `reason` names the text in "refusal". */
export class Refusal extends LocalizedError {
  constructor(code, reason = code, args = {}) {
    super(`refusal.${reason}`, args);
    this.code = code;
  }
}

const malformed = (reason) => new Refusal('malformed', reason);

/**
 * Decodes the message of a transaction that `signer` (base58) is asked to sign.
 *
 * Resolves to {version: "legacy"|"v0", fee_payer, blockhash, intent, actions, compute_unit_limit,
 * compute_unit_price, fee}: intent is the hex sha256 of the message with a zeroed blockhash;
 * actions are {type: "transfer", from, to, lamports, reference, references}, {type: "token_transfer",
 * from, to, account, mint, program, units, decimals, reference, references} (to is the owner of account,
 * or "" where the bytes do not prove one; references are all that the transfer names, in their order, and
 * reference the last of them, which is purser's own, or ""), {type: "create_account", from, to, account,
 * mint, program}, {type: "memo", text}, {type: "create_stake", from, account, lamports, seed}, {type: "initialize_stake",
 * from, account}, {type: "delegate", from, to, account, reference, references} (to is the validator's vote account),
 * {type: "split_stake", from, source, account, lamports}, {type: "merge_stake", from, source, account}, {type: "deactivate",
 * from, account, reference, references}, {type: "withdraw_stake", from, to, account, lamports, reference, references},
 * {type: "wrap", from, account, lamports}, {type: "sync_native", account}, {type: "reference", from, reference},
 * {type: "swap", from, source, account, mint, out_mint, units, quoted, slippage_bps, minimum} (source and account are the
 * token accounts that pay and receive), {type: "unwrap", from, account} and {type: "revoke", from, account, program, reference,
 * references} (account is the token account whose delegate is taken away) in the order of the instructions; compute_unit_limit is a number or null, compute_unit_price a decimal
 * string of micro-lamports, fee a decimal string of lamports (signature and priority).
 * Rejects with a Refusal.
 */
export async function decode(message, signer) {
  checkVersion(message);
  if (message.length > MESSAGE_LIMIT) throw new Refusal('too_large');
  const parsed = parse(message);
  if (parsed.signers !== 1 || parsed.keys[0] !== signer) {
    throw new Refusal('signers');
  }
  if (parsed.lookups > 0 && !swaps(parsed)) throw new Refusal('lookup_tables');

  const tally = { actions: [], transfers: 0, memos: 0, created: [], limit: null, price: null };
  for (const instruction of parsed.instructions) await read(parsed, instruction, tally);
  const fee = totals(tally);

  const zeroed = Uint8Array.from(message);
  zeroed.fill(0, parsed.blockhashAt, parsed.blockhashAt + 32);
  return {
    version: parsed.version,
    fee_payer: parsed.keys[0],
    blockhash: parsed.blockhash,
    intent: toHex(await sha256(zeroed)),
    actions: tally.actions,
    compute_unit_limit: tally.limit,
    compute_unit_price: (tally.price ?? 0n).toString(),
    fee: fee.toString(),
  };
}

/**
 * Refuses a message of version 1 or later (the mark is 128 + version) before anything else is read of it:
 * its layout is another one, and the signature on it would mean something that was never shown here.
 */
function checkVersion(message) {
  if (message[0] > 0x80) {
    throw new Refusal('version', 'version', { version: message[0] - 0x80 });
  }
}

const LIGHTHOUSE = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95';

/**
 * Checks a message that a wallet app signed against the one it was asked to sign: the same signer
 * and blockhash, every instruction unchanged and in order; more may only be compute budget under the
 * ceiling and Lighthouse assertions (first byte 2 to 17). Throws a Refusal. The server asks the same
 * of it (chain.CheckSigned).
 */
export function checkAdded(asked, signed, signer) {
  checkVersion(signed);
  if (signed.length > MESSAGE_LIMIT) throw new Refusal('too_large');
  const want = parse(asked);
  const got = parse(signed);
  if (got.signers !== 1 || got.keys[0] !== signer) throw new Refusal('signers');
  if (got.lookups > 0 && !swaps(want)) throw new Refusal('lookup_tables');
  if (got.blockhash !== want.blockhash) throw new Refusal('changed', 'other_blockhash');
  const added = { limit: null, price: null };
  const kept = got.instructions.filter((instruction) => {
    const program = got.keys[instruction.program];
    if (program === COMPUTE_BUDGET) {
      budget(instruction, added);
      return false;
    }
    if (program !== LIGHTHOUSE) return true;
    if (!(instruction.data[0] >= 2 && instruction.data[0] <= 17)) {
      throw new Refusal('changed', 'not_an_assertion');
    }
    return false;
  });
  networkFee(added);
  const original = want.instructions.filter(({ program }) => want.keys[program] !== COMPUTE_BUDGET);
  const say = ({ keys, writable, lookedUp }, { program, accounts, data }) =>
    JSON.stringify([keys[program], Array.from(accounts, (i) => (i < keys.length ? [keys[i], writable(i)] : lookedUp(i - keys.length))), Array.from(data)]);
  if (kept.length !== original.length || kept.some((x, i) => say(got, x) !== say(want, original[i]))) {
    throw new Refusal('changed');
  }
}

/** Reads the structure (step 2); addresses become base58, instruction data stays bytes. */
function parse(message) {
  const r = new Reader(message);
  let version = 'legacy';
  let signers = r.byte();
  if (signers >= 0x80) {
    version = 'v0';
    signers = r.byte();
  }
  const readonlySigned = r.byte();
  const readonlyUnsigned = r.byte();

  const keys = Array.from({ length: r.count() }, () => encode(r.take(32)));
  if (signers < 1 || readonlySigned >= signers || signers + readonlyUnsigned > keys.length) {
    throw malformed('header');
  }
  if (new Set(keys).size !== keys.length) throw malformed('account_twice');
  const blockhashAt = r.at;
  const blockhash = encode(r.take(32));

  const instructions = Array.from({ length: r.count() }, () => ({
    program: r.byte(),
    accounts: r.take(r.count()),
    data: r.take(r.count()),
  }));
  let lookups = 0;
  const written = []; // accounts of lookup tables, as [table, index, writable]: those that are written come first
  const onlyRead = [];
  let total = keys.length;
  if (version === 'v0') {
    lookups = r.count();
    for (let i = 0; i < lookups; i++) {
      const table = encode(r.take(32));
      const [writables, readonlies] = [r.take(r.count()), r.take(r.count())];
      if (writables.length + readonlies.length === 0) throw malformed('empty_lookup');
      total += writables.length + readonlies.length;
      writables.forEach((index) => written.push([table, index, true]));
      readonlies.forEach((index) => onlyRead.push([table, index, false]));
    }
  }
  if (total > 256) throw malformed('too_many_accounts');
  if (r.at !== message.length) throw malformed('bytes_after_end');

  const used = new Set([0]);
  for (const { program, accounts } of instructions) {
    if (program === 0 || program >= keys.length) throw malformed('no_program');
    used.add(program);
    for (const index of accounts) {
      if (index >= total) throw malformed('no_account');
      used.add(index);
    }
  }
  if (keys.some((_, index) => !used.has(index))) throw malformed('unused_account');

  return {
    version, signers, keys, blockhash, blockhashAt, instructions, lookups,
    lookedUp: (at) => [...written, ...onlyRead][at],
    writable: (index) =>
      index < signers ? index < signers - readonlySigned : index < keys.length - readonlyUnsigned,
  };
}

/** Checks one instruction (step 5) and adds it to the tally. */
async function read(parsed, instruction, tally) {
  const program = parsed.keys[instruction.program];
  const looksUp = instruction.accounts.some((index) => index >= parsed.keys.length);
  if (looksUp && program !== SWAP_PROGRAM) throw new Refusal('lookup_tables');
  switch (program) {
    case SYSTEM: {
      if (numberOf(instruction) === 3) return tally.actions.push(await stakeAccount(parsed, instruction, tally));
      const step = isTransfer(instruction) && swaps(parsed) ? await systemStep(parsed, instruction, Refusal) : null;
      if (step) return tally.actions.push(step);
      tally.transfers++;
      return tally.actions.push(transfer(parsed, instruction));
    }
    case SWAP_PROGRAM:
      tally.transfers++;
      return tally.actions.push(await route(parsed, instruction, Refusal));
    case STAKE: {
      const action = staking(parsed, instruction, tally);
      if (PRINCIPAL.includes(action.type)) tally.transfers++;
      return tally.actions.push(action);
    }
    case TOKEN:
    case TOKEN_2022: {
      const step = program === TOKEN && swaps(parsed) ? await tokenStep(parsed, instruction, Refusal) : null;
      if (step) return tally.actions.push(step);
      tally.transfers++;
      if (instruction.data[0] === 5) return tally.actions.push(revocation(parsed, instruction, program));
      return tally.actions.push(await tokenTransfer(parsed, instruction, program));
    }
    case ASSOCIATED_TOKEN: {
      const action = await creation(parsed, instruction);
      if (tally.created.length >= mostCreated(parsed)) throw new Refusal('too_many_actions', 'two_accounts');
      tally.created.push(action);
      return tally.actions.push(action);
    }
    case MEMO:
    case MEMO_V4:
      if (++tally.memos > 1) throw new Refusal('memo', 'two_memos');
      return tally.actions.push(memo(instruction));
    case COMPUTE_BUDGET:
      return budget(instruction, tally);
    default:
      throw new Refusal('unknown_program', 'unknown_program', { program });
  }
}

/** Whether an instruction of the System program is a whole transfer. */
const isTransfer = (instruction) => numberOf(instruction) === 2 && instruction.data.length === 12 && instruction.accounts.length >= 2;

function transfer({ keys, writable }, { accounts, data }) {
  if (data.length < 4 || view(data).getUint32(0, true) !== 2) {
    throw new Refusal('unknown_instruction', 'not_a_transfer');
  }
  if (data.length !== 12 || accounts.length < 2) throw malformed('partial_transfer');
  const [from, to, ...extra] = accounts; // indexes; 0 is the only signer, and writable
  if (from !== 0) throw new Refusal('not_the_owner', 'other_funds');
  if (to === 0) throw new Refusal('self_transfer');
  if (!writable(to)) throw malformed('recipient_readonly');
  const references = referencesOf({ keys, writable }, extra);
  const lamports = view(data).getBigUint64(4, true);
  if (lamports === 0n) throw new Refusal('zero_amount');
  return {
    type: 'transfer',
    from: keys[from],
    to: keys[to],
    lamports: lamports.toString(),
    reference: references.at(-1) ?? '',
    references,
  };
}

/** The accounts that a transfer names beyond those that it needs (Solana Pay's references). */
function referencesOf({ keys, writable }, extra) {
  if (extra.length > REFERENCES_LIMIT || new Set(extra).size !== extra.length || extra.some((index) => writable(index))) {
    throw new Refusal('reference', 'references');
  }
  return Array.from(extra, (index) => keys[index]);
}

const APPROVALS = [4, 13]; // Approve and ApproveChecked

async function tokenTransfer({ keys, writable }, { accounts, data }, program) {
  if (data[0] !== 12) {
    throw new Refusal('unknown_instruction', APPROVALS.includes(data[0]) ? 'approves_other' : 'not_a_token_transfer');
  }
  if (data.length !== 10 || accounts.length < 4) throw malformed('partial_token_transfer');
  const [source, mint, destination, authority, ...extra] = accounts;
  if (authority !== 0 || keys[source] !== (await associatedAccount(keys[0], keys[mint], program))) {
    throw new Refusal('not_the_owner', 'other_tokens');
  }
  if (destination === source) throw new Refusal('self_transfer');
  if (!writable(source) || !writable(destination)) throw malformed('account_readonly');
  const references = referencesOf({ keys, writable }, extra);
  const units = view(data).getBigUint64(1, true);
  if (units === 0n) throw new Refusal('zero_amount');
  return {
    type: 'token_transfer',
    from: keys[0],
    to: '',
    account: keys[destination],
    mint: keys[mint],
    program,
    units: units.toString(),
    decimals: data[9],
    reference: references.at(-1) ?? '',
    references,
  };
}

/** Revoke: takes the delegate of a token account away. Whose the account is, the network checks. */
function revocation({ keys, writable }, { accounts, data }, program) {
  if (data.length !== 1 || accounts.length < 2) throw malformed('partial_revocation');
  const [account, owner, ...extra] = accounts;
  if (owner !== 0) throw new Refusal('not_the_owner', 'revokes_for_other');
  if (account === 0 || !writable(account)) throw malformed('account_readonly');
  const references = referencesOf({ keys, writable }, extra);
  return { type: 'revoke', from: keys[0], account: keys[account], program, reference: references.at(-1) ?? '', references };
}

async function creation({ keys, writable }, { accounts, data }) {
  if (data.length > 1 || data[0] > 1) {
    throw new Refusal('unknown_instruction', 'unknown_creation');
  }
  if (accounts.length !== 6) throw malformed('partial_creation');
  const [payer, account, owner, mint, system, program] = accounts;
  if (payer !== 0) throw new Refusal('not_the_owner', 'other_payer');
  if (keys[system] !== SYSTEM || ![TOKEN, TOKEN_2022].includes(keys[program])) {
    throw new Refusal('unknown_program', 'creation_program');
  }
  if (keys[owner] === SYSTEM || keys[account] !== (await associatedAccount(keys[owner], keys[mint], keys[program]))) {
    throw new Refusal('wrong_account');
  }
  if (!writable(account)) throw malformed('account_readonly');
  return {
    type: 'create_account',
    from: keys[0],
    to: keys[owner],
    account: keys[account],
    mint: keys[mint],
    program: keys[program],
  };
}

/** The discriminator of a System or Stake instruction; -1 for data that is too short to have one. */
const numberOf = ({ data }) => (data.length < 4 ? -1 : view(data).getUint32(0, true));

/** The actions of staking that a transaction can be about. */
const PRINCIPAL = ['delegate', 'deactivate', 'withdraw_stake'];

/** Whether `tally` holds an action of a type, on an account if one is given. */
const holds = ({ actions }, type, account) => actions.some((a) => a.type === type && (account === undefined || a.account === account));

async function stakeAccount({ keys, writable }, { accounts, data }, tally) {
  const at = 4 + 32 + 8; // of the seed: after discriminator, base and length
  if (data.length !== at + SEED_LENGTH + 8 + 8 + 32 || view(data).getBigUint64(36, true) !== BigInt(SEED_LENGTH) || accounts.length !== 2) {
    throw malformed('partial_stake_account');
  }
  const [payer, account] = accounts;
  const seed = data.subarray(at, at + SEED_LENGTH);
  const rest = data.subarray(at + SEED_LENGTH);
  if (payer !== 0 || encode(data.subarray(4, 36)) !== keys[0]) throw new Refusal('not_the_owner', 'other_payer');
  if (encode(rest.subarray(16)) !== STAKE || view(rest).getBigUint64(8, true) !== STAKE_SIZE) {
    throw new Refusal('unknown_program', 'no_stake_account');
  }
  const text = String.fromCharCode(...seed);
  const derived = Uint8Array.from([...data.subarray(4, 36), ...seed, ...rest.subarray(16)]);
  if (!/^[0-9a-f]+$/.test(text) || keys[account] !== encode(await sha256(derived))) {
    throw new Refusal('wrong_account', 'stake_not_derived');
  }
  if (!writable(account)) throw malformed('account_readonly');
  if (holds(tally, 'create_stake')) throw new Refusal('too_many_actions', 'two_stake_accounts');
  return { type: 'create_stake', from: keys[0], account: keys[account], lamports: view(rest).getBigUint64(0, true).toString(), seed: text };
}

/** One instruction of the Stake program. */
function staking(parsed, instruction, tally) {
  const { keys } = parsed;
  const { accounts, data } = instruction;
  const from = keys[0];
  const key = (i) => keys[accounts[i]];
  const lamports = () => view(data).getBigUint64(4, true);
  const some = () => {
    if (lamports() === 0n) throw new Refusal('zero_amount', 'zero_stake');
    return lamports().toString();
  };
  switch (numberOf(instruction)) {
    case 0:
      return initialization(parsed, instruction, tally);
    case 2: {
      const references = stakeCall(parsed, instruction, 0, 1, [null, CLOCK_SYSVAR, HISTORY_SYSVAR, STAKE_CONFIG, from]);
      if (!holds(tally, 'initialize_stake', key(0))) throw new Refusal('wrong_account', 'delegates_other');
      return { type: 'delegate', from, to: key(1), account: key(0), reference: references.at(-1) ?? '', references };
    }
    case 3: {
      noneBeyond(stakeCall(parsed, instruction, 1, 2, [from]));
      if (!holds(tally, 'create_stake', key(1))) throw new Refusal('wrong_account', 'splits_into_other');
      if (holds(tally, 'split_stake')) throw new Refusal('too_many_actions', 'two_splits');
      return { type: 'split_stake', from, source: key(0), account: key(1), lamports: some() };
    }
    case 4: {
      // The account after the authority is the custodian of a lockup: the signer again, so that a reference can follow.
      const references = stakeCall(parsed, instruction, 1, 1, [from, CLOCK_SYSVAR, HISTORY_SYSVAR, from, from]);
      return { type: 'withdraw_stake', from, to: from, account: key(0), lamports: some(), reference: references.at(-1) ?? '', references };
    }
    case 5: {
      const references = stakeCall(parsed, instruction, 0, 1, [CLOCK_SYSVAR, from]);
      return { type: 'deactivate', from, account: key(0), reference: references.at(-1) ?? '', references };
    }
    case 7: {
      noneBeyond(stakeCall(parsed, instruction, 0, 2, [CLOCK_SYSVAR, HISTORY_SYSVAR, from]));
      return { type: 'merge_stake', from, source: key(1), account: key(0) };
    }
    default:
      throw new Refusal('unknown_instruction', 'not_staking');
  }
}

function initialization({ keys }, { accounts, data }, tally) {
  if (data.length !== 4 + 32 + 32 + 48 || accounts.length !== 2 || keys[accounts[1]] !== RENT_SYSVAR) {
    throw malformed('partial_staking');
  }
  if (encode(data.subarray(4, 36)) !== keys[0] || encode(data.subarray(36, 68)) !== keys[0]) throw new Refusal('not_the_owner', 'stake_given_away');
  if (data.subarray(68).some((byte) => byte !== 0)) throw new Refusal('lockup');
  const account = keys[accounts[0]];
  if (!holds(tally, 'create_stake', account)) throw new Refusal('wrong_account', 'initializes_other');
  if (holds(tally, 'initialize_stake')) throw new Refusal('too_many_actions', 'two_stake_accounts');
  return { type: 'initialize_stake', from: keys[0], account };
}

/**
 * Checks what the other instructions of the Stake program share: `amounts` u64 values in the data, `written` stake
 * accounts, then the accounts that are due (null: any). Returns the references behind them.
 */
function stakeCall({ keys, writable }, { accounts, data }, amounts, written, due) {
  const whole = written + due.length;
  if (data.length !== 4 + 8 * amounts || accounts.length < whole) throw malformed('partial_staking');
  due.forEach((want, i) => {
    if (want === null || keys[accounts[written + i]] === want) return;
    throw want === keys[0] ? new Refusal('not_the_owner', 'other_stake') : malformed('partial_staking');
  });
  if (accounts.subarray(0, written).some((index) => !writable(index))) throw malformed('account_readonly');
  return referencesOf({ keys, writable }, accounts.subarray(whole));
}

function noneBeyond(references) {
  if (references.length > 0) throw new Refusal('extra_accounts', 'staking_accounts');
}

/** Whether what an action of staking prepares is used after it (step 6). */
function checkStaking(action, after, all) {
  const used = (type) => after.some((a) => a.type === type && a.account === action.account);
  const made = () => all.some((a) => (a.type === 'create_stake' || a.type === 'split_stake') && a.account === action.account);
  switch (action.type) {
    case 'create_stake':
      if (used('initialize_stake')) return;
      if (!used('split_stake')) throw new Refusal('wrong_account', 'stake_account_unused');
      if (BigInt(action.lamports) > STAKE_DEPOSIT_CEILING) throw new Refusal('deposit');
      return;
    case 'initialize_stake':
      if (!used('delegate')) throw new Refusal('wrong_account', 'stake_account_unused');
      return;
    case 'split_stake':
      if (!used('deactivate')) throw new Refusal('wrong_account', 'split_unused');
      return;
    case 'merge_stake': // never into an account that the message makes: no more is undelegated than what is shown as split off
      if (made() || (!used('deactivate') && !used('withdraw_stake') && !after.some((a) => a.type === 'split_stake' && a.source === action.account))) {
        throw new Refusal('wrong_account', 'merge_unused');
      }
      return;
    default:
  }
}

function memo({ accounts, data }) {
  const refuse = (reason) => new Refusal('memo', reason);
  if (accounts.length > 0) throw refuse('memo_accounts');
  if (data.length === 0 || data.length > MEMO_LIMIT) throw refuse('memo_length');
  let text;
  try {
    // ignoreBOM keeps a byte order mark in the text, so that it is refused, not swallowed.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw refuse('memo_not_text');
  }
  if (HIDDEN.test(text)) throw refuse('memo_hidden');
  return { type: 'memo', text };
}

function budget({ accounts, data }, tally) {
  const kind = { 2: 'limit', 3: 'price' }[data[0]];
  if (kind === undefined) throw new Refusal('unknown_instruction', 'unknown_budget');
  if (data.length !== (kind === 'limit' ? 5 : 9)) throw malformed('partial_budget');
  if (accounts.length > 0) throw new Refusal('extra_accounts', 'budget_accounts');
  if (tally[kind] !== null) throw new Refusal('budget', `${kind}_twice`);
  if (kind === 'limit') {
    tally.limit = view(data).getUint32(1, true);
    if (tally.limit > UNIT_LIMIT) throw new Refusal('budget', 'limit_too_high');
  } else {
    tally.price = view(data).getBigUint64(1, true);
  }
}

/** Step 6. Returns the network fee in lamports. */
function totals({ actions, transfers, created, limit, price }) {
  if (transfers > 1) throw new Refusal('too_many_actions', 'two_transfers');
  if (transfers === 0) throw new Refusal('no_action', 'no_transfer');
  const swapped = actions.some(({ type }) => type === 'swap');
  actions.forEach((action, i) => {
    if (action.type === 'swap') return checkSwap(action, actions, Refusal);
    if (!created.includes(action)) return checkStaking(action, actions.slice(i + 1), actions);
    if (swapped) return; // checkSwap judges it
    const paid = actions.find((a) => a.type === 'token_transfer' && a.account === action.account);
    if (!paid) throw new Refusal('wrong_account', 'creates_unpaid');
    paid.to = action.to; // the account follows from owner, mint and program: so all are alike
  });
  return networkFee({ limit, price });
}

/** What a budget makes a transaction of one signature cost, in lamports. */
function networkFee({ limit, price }) {
  if (price === null) return SIGNATURE_FEE;
  if (limit === null) throw new Refusal('budget', 'price_without_limit');
  const priority = (BigInt(limit) * price + 999_999n) / 1_000_000n;
  if (priority > PRIORITY_FEE_CEILING) throw new Refusal('budget', 'fee_too_high');
  return SIGNATURE_FEE + priority;
}

const view = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Reads a message front to back and refuses to read past its end. */
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  take(n) {
    if (this.at + n > this.bytes.length) throw malformed('ends_early');
    this.at += n;
    return this.bytes.subarray(this.at - n, this.at);
  }

  byte() {
    return this.take(1)[0];
  }

  /** compact-u16 in its shortest form: 7 bits a byte, lowest first, at most 3 bytes. */
  count() {
    let value = 0;
    for (let shift = 0; shift <= 14; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (value > 0xffff || (byte === 0 && shift > 0)) break;
        return value;
      }
    }
    throw malformed('not_a_count');
  }
}
