// Writes ../testdata/transactions.json, which the page's decoder (JavaScript) and the server's (Go,
// package chain) must both reproduce. Well-formed messages come from web3.js, broken ones are
// written byte by byte, and what each must decode to is stated here by hand: this file imports
// nothing from the page. `node fixtures.mjs` rewrites the file; a test checks that it is current.
//
// Long: it is one list, in the order of the decoder's checks.

import { createHash } from 'node:crypto';
import { realpathSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  Authorized, ComputeBudgetProgram, Lockup, PublicKey, StakeProgram, SystemProgram, TransactionInstruction, TransactionMessage,
} from '@solana/web3.js';
import {
  ASSOCIATED, BUDGET, MEMO, MEMO_V4, OLD_MEMO, STAKE, SYSTEM, TOKEN, TOKEN_2022, ZERO_HASH, addr, assemble, assembleV1, le, limitData, priceData, short, text, transferData,
} from './wire.mjs';
import { POOLS, WSOL, looked as lookedUp, routeData, swapsOf } from './swaps.mjs';

// Real Ed25519 points where the network cares (payer, recipient), plain patterns elsewhere.
const ME = 'AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9'; // of the seed 01 01 ...
const BOB = '9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu'; // of the seed 02 02 ...
const EVE = addr(0xee);
const REF = addr(0x5e);
const HASH = addr(0xb1);

const key = (s) => new PublicKey(s);

// --- well-formed messages, by web3.js ---

function build(instructions, { version = 'legacy', blockhash = ZERO_HASH, payer = ME } = {}) {
  const m = new TransactionMessage({ payerKey: key(payer), recentBlockhash: blockhash, instructions });
  return (version === 'v0' ? m.compileToV0Message() : m.compileToLegacyMessage()).serialize();
}

export function transfer(lamports, { from = ME, to = BOB, reference = '' } = {}) {
  const i = SystemProgram.transfer({ fromPubkey: key(from), toPubkey: key(to), lamports: BigInt(lamports) });
  if (reference) i.keys.push({ pubkey: key(reference), isSigner: false, isWritable: false });
  return i;
}
export const memo = (data, keys = []) =>
  new TransactionInstruction({ programId: key(MEMO), keys, data: Buffer.from(data) });
export const limit = (units) => ComputeBudgetProgram.setComputeUnitLimit({ units });
export const price = (microLamports) => ComputeBudgetProgram.setComputeUnitPrice({ microLamports });
const other = (programId, data, keys = []) =>
  new TransactionInstruction({ programId: key(programId), keys, data: Buffer.from(data) });

// --- statements ---

const fixtures = [];

/** Where the blockhash begins, counted here by hand: header, one-byte key count, keys. */
function intentOf(message) {
  const at = (message[0] === 0x80 ? 1 : 0) + 3;
  const start = at + 1 + 32 * message[at];
  const copy = Uint8Array.from(message);
  copy.fill(0, start, start + 32);
  return createHash('sha256').update(copy).digest('hex');
}

function put(name, message, rest) {
  if (fixtures.some((f) => f.name === name)) throw new Error(`two fixtures named ${name}`);
  fixtures.push({ name, message: Buffer.from(message).toString('base64'), signer: ME, ...rest });
}

const paid = (lamports, reference = '', to = BOB) => ({ type: 'transfer', from: ME, to, lamports: `${lamports}`, reference, references: reference ? [reference] : [] });
const said = (words) => ({ type: 'memo', text: words });

function accept(name, message, { version = 'legacy', blockhash = ZERO_HASH, actions, unitLimit = null, unitPrice = '0', fee = '5000' }) {
  put(name, message, {
    want: {
      version, fee_payer: ME, blockhash, intent: intentOf(message), actions,
      compute_unit_limit: unitLimit, compute_unit_price: unitPrice, fee,
    },
  });
}

const refuse = (code, name, message) => put(name, message, { refused: code });

// --- accepted ---

accept('legacy transfer', build([transfer(1_500_000_000)]), { actions: [paid(1_500_000_000)] });
accept('v0 transfer', build([transfer(1_500_000_000)], { version: 'v0' }), { version: 'v0', actions: [paid(1_500_000_000)] });
accept('legacy transfer with reference', build([transfer(1, { reference: REF })]), { actions: [paid(1, REF)] });
accept('v0 transfer with reference', build([transfer(1, { reference: REF })], { version: 'v0' }), { version: 'v0', actions: [paid(1, REF)] });
accept('transfer with a blockhash', build([transfer(1, { reference: REF })], { blockhash: HASH }), { blockhash: HASH, actions: [paid(1, REF)] });
accept('v0 transfer with a blockhash', build([transfer(1, { reference: REF })], { version: 'v0', blockhash: HASH }), { version: 'v0', blockhash: HASH, actions: [paid(1, REF)] });
accept('transfer of the largest amount', build([transfer(18446744073709551615n)]), { actions: [paid(18446744073709551615n)] });
accept('transfer beyond what a double holds exactly', build([transfer(9007199254740993n)]), { actions: [paid(9007199254740993n)] });
accept('transfer with memo', build([transfer(5, { reference: REF }), memo('Lunch, thank you')]), { actions: [paid(5, REF), said('Lunch, thank you')] });
accept('memo before the transfer', build([memo('first'), transfer(5)]), { actions: [said('first'), paid(5)] });
accept('memo of version 4', build([transfer(5, { reference: REF }), other(MEMO_V4, text('Lunch, thank you'))]), { actions: [paid(5, REF), said('Lunch, thank you')] });
accept('memo of version 4 before the transfer, v0', build([other(MEMO_V4, text('چای ☕')), transfer(5)], { version: 'v0' }), { version: 'v0', actions: [said('چای ☕'), paid(5)] });
accept('memo in many scripts', build([transfer(5), memo('چای ☕ 茶 \u{1f468}\u200d\u{1f469}\u200d\u{1f467}')]), { actions: [paid(5), said('چای ☕ 茶 \u{1f468}\u200d\u{1f469}\u200d\u{1f467}')] });
accept('memo of 512 bytes', build([transfer(5), memo('m'.repeat(512))]), { actions: [paid(5), said('m'.repeat(512))] });
accept('memo that looks like markup', build([transfer(5), memo('<b onclick="x">1 < 2 & 3</b>')]), { actions: [paid(5), said('<b onclick="x">1 < 2 & 3</b>')] });
accept('compute unit limit alone', build([limit(450), transfer(5)]), { actions: [paid(5)], unitLimit: 450 });
accept('limit and price', build([limit(450), price(20_000), transfer(5, { reference: REF })]), { actions: [paid(5, REF)], unitLimit: 450, unitPrice: '20000', fee: '5009' });
accept('price before limit', build([price(20_000), limit(450), transfer(5)]), { actions: [paid(5)], unitLimit: 450, unitPrice: '20000', fee: '5009' });
accept('priority fee is rounded up', build([limit(450), price(1), transfer(5)]), { actions: [paid(5)], unitLimit: 450, unitPrice: '1', fee: '5001' });
accept('limit and price after the transfer', build([transfer(5), limit(450), price(0)]), { actions: [paid(5)], unitLimit: 450, unitPrice: '0' });
accept('priority fee at the ceiling', build([limit(1_000_000), price(1_000_000), transfer(5)]), { actions: [paid(5)], unitLimit: 1_000_000, unitPrice: '1000000', fee: '1005000' });
accept('largest unit limit', build([limit(1_400_000), price(1), transfer(5)]), { actions: [paid(5)], unitLimit: 1_400_000, unitPrice: '1', fee: '5002' });
accept('everything at once', build([limit(1_400), price(5_000), transfer(7, { reference: REF }), memo('all')], { version: 'v0', blockhash: HASH }), { version: 'v0', blockhash: HASH, actions: [paid(7, REF), said('all')], unitLimit: 1_400, unitPrice: '5000', fee: '5007' });
{
  const m = assemble({ header: [1, 0, 2], keys: [ME, EVE, REF, SYSTEM], instructions: [{ program: 3, accounts: [0, 1, 2], data: transferData(9) }] });
  accept('another recipient decodes as another recipient', m, { actions: [paid(9, REF, EVE)] });
}
{
  const m = assemble({ header: [1, 0, 1], keys: [ME, BOB, SYSTEM], instructions: [{ program: 2, accounts: [0, 1, 2], data: transferData(9) }] });
  accept('the System program as reference', m, { actions: [paid(9, SYSTEM)] });
}

// --- too_large ---

const plain = { header: [1, 0, 1], keys: [ME, BOB, SYSTEM] };
const pay = { program: 2, accounts: [0, 1], data: transferData(9) };
const sized = (n) => {
  const m = assemble({ ...plain, instructions: [pay] });
  return Uint8Array.from([...m, ...new Array(n - m.length).fill(0)]);
};
refuse('too_large', 'one byte over a packet', sized(1168));
refuse('too_large', 'far over a packet', sized(5000));
refuse('malformed', 'as long as a packet, but padded', sized(1167));

// --- version: before anything else is read, whatever follows ---

refuse('version', 'a version 1 payment', assembleV1({ ...plain, instructions: [pay] }));
refuse('version', 'a version 1 payment with priority fee and limit', assembleV1({ ...plain, mask: 0b111, values: [5, 0, 450], instructions: [pay] }));
refuse('version', 'a version 1 payment beyond the size of a packet', assembleV1({ header: [1, 0, 2], keys: [ME, BOB, SYSTEM, MEMO], instructions: [pay, { program: 3, accounts: [], data: text('m'.repeat(2000)) }] }));
refuse('version', 'version 1 in the layout of version 0', assemble({ version: 0x81, ...plain, instructions: [pay] }));
refuse('version', 'version 127', assemble({ version: 0xff, ...plain, instructions: [pay] }));
refuse('version', 'version 2 and nothing more', [0x82]);

// --- malformed ---

const good = assemble({ ...plain, instructions: [pay] });
refuse('malformed', 'nothing', new Uint8Array());
refuse('malformed', 'only a header', [1, 0, 1]);
refuse('malformed', 'cut within the keys', good.slice(0, 40));
refuse('malformed', 'cut within the blockhash', good.slice(0, 110));
refuse('malformed', 'last byte missing', good.slice(0, -1));
refuse('malformed', 'one byte too many', assemble({ ...plain, instructions: [pay], tail: [0] }));
refuse('malformed', 'v0 with one byte too many', assemble({ version: 'v0', ...plain, instructions: [pay], tail: [0] }));
refuse('malformed', 'v0 without its lookup count', assemble({ version: 'v0', ...plain, instructions: [pay] }).slice(0, -1));
refuse('malformed', 'legacy bytes under a v0 mark', [0x80, ...good]);
refuse('malformed', 'no signer', assemble({ ...plain, header: [0, 0, 1], instructions: [pay] }));
refuse('malformed', 'fee payer read-only', assemble({ ...plain, header: [1, 1, 1], instructions: [pay] }));
refuse('malformed', 'more read-only keys than keys', assemble({ ...plain, header: [1, 0, 3], instructions: [pay] }));
refuse('malformed', 'more signers than keys', assemble({ ...plain, header: [4, 0, 0], instructions: [pay] }));
refuse('malformed', 'no keys', assemble({ header: [1, 0, 0], keys: [], instructions: [] }));
refuse('malformed', 'a key listed twice', assemble({ header: [1, 0, 1], keys: [ME, BOB, BOB, SYSTEM], instructions: [{ program: 3, accounts: [0, 1, 2], data: transferData(9) }] }));
refuse('malformed', 'fee payer listed again as recipient', assemble({ header: [1, 0, 1], keys: [ME, ME, SYSTEM], instructions: [pay] }));
refuse('malformed', 'key count in two bytes', assemble({ ...plain, keyCount: [0x83, 0x00], instructions: [pay] }));
refuse('malformed', 'instruction count in two bytes', assemble({ ...plain, instructionCount: [0x81, 0x00], instructions: [pay] }));
refuse('malformed', 'account count in two bytes', assemble({ ...plain, instructions: [{ ...pay, accountCount: [0x82, 0x00] }] }));
refuse('malformed', 'data length in three bytes', assemble({ ...plain, instructions: [{ ...pay, dataLength: [0x8c, 0x80, 0x00] }] }));
refuse('malformed', 'a count over 65535', assemble({ ...plain, instructions: [{ ...pay, dataLength: [0xff, 0xff, 0x04] }] }));
refuse('malformed', 'a count that never ends', assemble({ ...plain, instructions: [{ ...pay, dataLength: [0xff, 0xff, 0xff, 0x01] }] }));
refuse('malformed', 'data longer than the message', assemble({ ...plain, instructions: [{ ...pay, dataLength: short(13) }] }));
refuse('malformed', 'program index out of range', assemble({ ...plain, instructions: [{ ...pay, program: 3 }] }));
refuse('malformed', 'fee payer called as a program', assemble({ ...plain, instructions: [pay, { program: 0, accounts: [], data: [] }] }));
refuse('malformed', 'account index out of range', assemble({ ...plain, instructions: [{ ...pay, accounts: [0, 3] }] }));
refuse('malformed', 'an account that nothing uses', assemble({ header: [1, 0, 1], keys: [ME, BOB, EVE, SYSTEM], instructions: [{ program: 3, accounts: [0, 1], data: transferData(9) }] }));
refuse('malformed', 'transfer without a recipient', assemble({ header: [1, 0, 1], keys: [ME, SYSTEM], instructions: [{ program: 1, accounts: [0], data: transferData(9) }] }));
refuse('malformed', 'transfer without accounts', assemble({ header: [1, 0, 1], keys: [ME, SYSTEM], instructions: [{ program: 1, accounts: [], data: transferData(9) }] }));
refuse('malformed', 'transfer with a short amount', assemble({ ...plain, instructions: [{ ...pay, data: transferData(9).slice(0, 11) }] }));
refuse('malformed', 'transfer with a long amount', assemble({ ...plain, instructions: [{ ...pay, data: [...transferData(9), 0] }] }));
refuse('malformed', 'recipient read-only', assemble({ header: [1, 0, 2], keys: [ME, BOB, SYSTEM], instructions: [pay] }));
refuse('malformed', 'short compute unit limit', build([other(BUDGET, limitData(5).slice(0, 4)), transfer(5)]));
refuse('malformed', 'long compute unit price', build([limit(5), other(BUDGET, [...priceData(5), 0]), transfer(5)]));
refuse('malformed', 'an empty lookup table', assemble({ version: 'v0', ...plain, instructions: [pay], lookups: [{ table: EVE, writable: [], readonly: [] }] }));
refuse('malformed', 'program from a lookup table', assemble({ version: 'v0', ...plain, instructions: [pay, { program: 3, accounts: [], data: [] }], lookups: [{ table: EVE, writable: [], readonly: [0] }] }));
refuse('malformed', 'account index beyond the lookup tables', assemble({ version: 'v0', ...plain, instructions: [{ ...pay, accounts: [0, 5] }], lookups: [{ table: EVE, writable: [0], readonly: [] }] }));
refuse('malformed', 'more than 256 accounts', assemble({ version: 'v0', ...plain, instructions: [pay], lookups: [{ table: EVE, writable: Array.from({ length: 254 }, (_, i) => i), readonly: [] }] }));

// --- signers ---

refuse('signers', 'somebody else pays the fee', build([transfer(5, { from: EVE, to: ME })], { payer: EVE }));
refuse('signers', 'two signers', build([transfer(5), transfer(5, { from: EVE })]));
refuse('signers', 'two signers, the second read-only', assemble({ header: [2, 1, 1], keys: [ME, EVE, BOB, SYSTEM], instructions: [{ program: 3, accounts: [0, 2, 1], data: transferData(9) }] }));
refuse('signers', 'this wallet signs, but second', assemble({ header: [2, 0, 1], keys: [EVE, ME, BOB, SYSTEM], instructions: [{ program: 3, accounts: [1, 2], data: transferData(9) }] }));
refuse('signers', 'two signers come before a lookup table', assemble({ version: 'v0', header: [2, 0, 1], keys: [ME, BOB, SYSTEM], instructions: [pay], lookups: [{ table: EVE, writable: [0], readonly: [] }] }));

// --- lookup_tables ---

refuse('lookup_tables', 'recipient from a lookup table', assemble({ version: 'v0', header: [1, 0, 1], keys: [ME, SYSTEM], instructions: [{ program: 1, accounts: [0, 2], data: transferData(9) }], lookups: [{ table: EVE, writable: [0], readonly: [] }] }));
refuse('lookup_tables', 'an unused lookup table', assemble({ version: 'v0', ...plain, instructions: [pay], lookups: [{ table: EVE, writable: [], readonly: [7] }] }));
refuse('lookup_tables', 'a lookup table comes before an unknown program', assemble({ version: 'v0', header: [1, 0, 1], keys: [ME, TOKEN], instructions: [{ program: 1, accounts: [0], data: [9] }], lookups: [{ table: EVE, writable: [0], readonly: [] }] }));

// --- unknown_program, unknown_instruction ---

refuse('unknown_program', 'the old memo program', build([transfer(5), other(OLD_MEMO, text('hello'))]));
refuse('unknown_program', 'a program nobody knows, without data', build([other(EVE, []), transfer(5)]));
refuse('unknown_program', 'an unknown program before an unknown instruction', build([other(EVE, [1]), other(SYSTEM, [])]));
refuse('unknown_instruction', 'System without data', build([other(SYSTEM, [])]));
refuse('unknown_instruction', 'System with three bytes', build([other(SYSTEM, [2, 0, 0])]));
refuse('unknown_instruction', 'assign this wallet to a program', build([transfer(5), SystemProgram.assign({ accountPubkey: key(ME), programId: key(EVE) })]));
refuse('unknown_instruction', 'transfer with seed', build([SystemProgram.transfer({ fromPubkey: key(ME), basePubkey: key(ME), toPubkey: key(BOB), lamports: 5n, seed: 's', programId: key(EVE) })]));
refuse('unknown_instruction', 'advance a nonce', build([SystemProgram.nonceAdvance({ noncePubkey: key(EVE), authorizedPubkey: key(ME) }), transfer(5)]));
refuse('unknown_instruction', 'Compute Budget without data', build([other(BUDGET, []), transfer(5)]));
refuse('unknown_instruction', 'Compute Budget: heap frame', build([ComputeBudgetProgram.requestHeapFrame({ bytes: 65536 }), transfer(5)]));
refuse('unknown_instruction', 'Compute Budget: the oldest form', build([other(BUDGET, [0, ...le(5, 4), ...le(5, 4)]), transfer(5)]));
refuse('unknown_instruction', 'Compute Budget: loaded data size', build([other(BUDGET, [4, ...le(5, 4)]), transfer(5)]));

// --- not_the_owner, self_transfer, zero_amount, reference ---

refuse('not_the_owner', 'funds of another account', assemble({ header: [1, 0, 1], keys: [ME, EVE, BOB, SYSTEM], instructions: [{ program: 3, accounts: [1, 2], data: transferData(9) }] }));
refuse('not_the_owner', 'funds of another account, to this wallet', assemble({ ...plain, instructions: [{ ...pay, accounts: [1, 0] }] }));
refuse('self_transfer', 'to itself', build([transfer(5, { to: ME })]));
refuse('self_transfer', 'to itself with reference', build([transfer(5, { to: ME, reference: REF })]));
refuse('zero_amount', 'zero lamports', build([transfer(0)]));
refuse('zero_amount', 'zero lamports with reference', build([transfer(0, { reference: REF })]));
const withReference = (header, keys, accounts) => assemble({ header, keys, instructions: [{ program: keys.length - 1, accounts, data: transferData(9) }] });
accept('two references', withReference([1, 0, 3], [ME, BOB, REF, EVE, SYSTEM], [0, 1, 3, 2]), {
  actions: [{ ...paid(9, REF), references: [EVE, REF] }],
});
const nine = Array.from({ length: 9 }, (_, i) => addr(0x70 + i)).map(String);
accept('eight references', withReference([1, 0, 9], [ME, BOB, ...nine.slice(0, 8), SYSTEM], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), {
  actions: [{ ...paid(9, nine[7]), references: nine.slice(0, 8) }],
});
refuse('reference', 'nine references', withReference([1, 0, 10], [ME, BOB, ...nine, SYSTEM], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
refuse('reference', 'a writable reference before ours', withReference([1, 0, 2], [ME, BOB, EVE, REF, SYSTEM], [0, 1, 2, 3]));
refuse('reference', 'a writable reference after ours', withReference([1, 0, 2], [ME, BOB, EVE, REF, SYSTEM], [0, 1, 3, 2]));
refuse('reference', 'the same reference twice', withReference([1, 0, 2], [ME, BOB, REF, SYSTEM], [0, 1, 2, 2]));
refuse('reference', 'writable reference', withReference([1, 0, 1], [ME, BOB, REF, SYSTEM], [0, 1, 2]));
refuse('reference', 'this wallet as reference', withReference([1, 0, 1], [ME, BOB, SYSTEM], [0, 1, 0]));
refuse('reference', 'the recipient as reference', withReference([1, 0, 1], [ME, BOB, SYSTEM], [0, 1, 1]));

// --- extra_accounts, budget ---

const me = { pubkey: key(ME), isSigner: true, isWritable: true };
refuse('extra_accounts', 'compute unit limit with an account', build([other(BUDGET, limitData(5), [me]), transfer(5)]));
refuse('extra_accounts', 'compute unit price with an account', build([limit(5), other(BUDGET, priceData(5), [me]), transfer(5)]));
refuse('budget', 'limit twice', build([limit(5), limit(5), transfer(5)]));
refuse('budget', 'price twice', build([limit(5), price(5), price(5), transfer(5)]));
refuse('budget', 'limit too high', build([limit(1_400_001), transfer(5)]));
refuse('budget', 'price without limit', build([price(5), transfer(5)]));
refuse('budget', 'price of zero without limit', build([price(0), transfer(5)]));
refuse('budget', 'priority fee one step above the ceiling', build([limit(1_000_000), price(1_000_001), transfer(5)]));
refuse('budget', 'priority fee beyond 64 bits', build([limit(1_400_000), price(18446744073709551615n), transfer(5)]));

// --- memo ---

refuse('memo', 'memo signed by this wallet', build([transfer(5), memo('hi', [me])]));
refuse('memo', 'two memos', build([transfer(5), memo('one'), memo('two')]));
refuse('memo', 'two memos, of version 3 and 4', build([transfer(5), memo('one'), other(MEMO_V4, text('two'))]));
refuse('memo', 'memo of version 4 with a line break', build([transfer(5), other(MEMO_V4, text('a\nb'))]));
refuse('memo', 'memo of version 4 signed by this wallet', build([transfer(5), other(MEMO_V4, text('hi'), [me])]));
refuse('memo', 'empty memo', build([transfer(5), memo('')]));
refuse('memo', 'memo of 513 bytes', build([transfer(5), memo('m'.repeat(513))]));
refuse('memo', 'memo not in UTF-8', build([transfer(5), memo([0x68, 0xff])]));
refuse('memo', 'memo with a lone surrogate', build([transfer(5), memo([0xed, 0xa0, 0x80])]));
refuse('memo', 'memo in overlong UTF-8', build([transfer(5), memo([0xc0, 0xaf])]));
for (const [name, character] of [
  ['a line break', '\n'], ['a null', '\0'], ['a C1 control', '\u0085'], ['an override', '\u202e'], ['an isolate', '\u2066'],
  ['an Arabic letter mark', '\u061c'], ['a zero-width space', '\u200b'], ['a line separator', '\u2028'],
  ['a word joiner', '\u2060'], ['a byte order mark', '\ufeff'], ['a soft hyphen', '\u00ad'], ['a tag', '\u{e0041}'],
]) refuse('memo', `memo with ${name}`, build([transfer(5), memo(`a${character}b`)]));
refuse('memo', 'memo that begins with a byte order mark', build([transfer(5), memo('\ufeffhi')]));

// --- no_action, too_many_actions, and which comes first ---

refuse('no_action', 'no instructions', assemble({ header: [1, 0, 0], keys: [ME], instructions: [] }));
refuse('no_action', 'only a memo', build([memo('hi')]));
refuse('no_action', 'only a budget', build([limit(5), price(5)]));
refuse('no_action', 'no transfer comes before a price without limit', build([price(5)]));
refuse('too_many_actions', 'two transfers', build([transfer(5), transfer(6, { to: EVE })]));
refuse('too_many_actions', 'the same transfer twice', build([transfer(5, { reference: REF }), transfer(5, { reference: REF })]));
refuse('too_many_actions', 'two transfers come before a price without limit', build([price(5), transfer(5), transfer(6)]));
refuse('zero_amount', 'the first wrong instruction decides', build([transfer(0), transfer(5, { to: ME })]));
refuse('memo', 'a wrong memo comes before a second transfer is counted', build([transfer(5), memo(''), transfer(6)]));

// --- tokens: web3.js derives the accounts ---

const USDC = 'CLpKfvqp1swFzmEVcet1uKo9qv9CggxRdfXfCKpp2Acj';
const OTHER_MINT = addr(0x3e);

const derived = new Map(); // deriving one takes as long as reading a thousand addresses
export function associated(owner, mint = USDC, program = TOKEN) {
  const name = `${owner} ${mint} ${program}`;
  if (!derived.has(name)) {
    derived.set(name, PublicKey.findProgramAddressSync([key(owner).toBytes(), key(program).toBytes(), key(mint).toBytes()], key(ASSOCIATED))[0].toBase58());
  }
  return derived.get(name);
}

const meta = (pubkey, flags = '') =>
  ({ pubkey: key(pubkey), isSigner: flags.includes('s'), isWritable: flags.includes('w') });

export function tokens(units, {
  program = TOKEN, mint = USDC, source = associated(ME, mint, program), to = BOB,
  account = associated(to, mint, program), decimals = 6, reference = '', authority = ME, data, extra = [],
} = {}) {
  const keys = [meta(source, 'w'), meta(mint), meta(account, 'w'), meta(authority, 's')];
  if (reference) keys.push(meta(reference));
  return other(program, data ?? [12, ...le(units, 8), decimals], [...keys, ...extra]);
}

export function create({
  program = TOKEN, mint = USDC, owner = BOB, account = associated(owner, mint, program), payer = ME,
  system = SYSTEM, data = [1], flags = 'w', extra = [],
} = {}) {
  return other(ASSOCIATED, data, [
    meta(payer, 'sw'), meta(account, flags), meta(owner), meta(mint), meta(system), meta(program), ...extra,
  ]);
}

const moved = (units, { program = TOKEN, mint = USDC, to = '', account = associated(BOB, mint, program), decimals = 6, reference = '' } = {}) =>
  ({ type: 'token_transfer', from: ME, to, account, mint, program, units: `${units}`, decimals, reference, references: reference ? [reference] : [] });
const made = ({ program = TOKEN, mint = USDC, owner = BOB } = {}) =>
  ({ type: 'create_account', from: ME, to: owner, account: associated(owner, mint, program), mint, program });

for (const [name, program] of [['Token', TOKEN], ['Token-2022', TOKEN_2022]]) {
  for (const version of ['legacy', 'v0']) {
    accept(`${name}: a transfer, ${version}`, build([tokens(25_000_000, { program })], { version }), { version, actions: [moved(25_000_000, { program })] });
  }
  accept(`${name}: with reference`, build([tokens(1, { program, reference: REF })]), { actions: [moved(1, { program, reference: REF })] });
  accept(`${name}: with the recipient's account`, build([create({ program }), tokens(7, { program, reference: REF })]), {
    actions: [made({ program }), moved(7, { program, reference: REF, to: BOB })],
  });
  accept(`${name}: with an account by plain Create`, build([create({ program, data: [] }), tokens(7, { program })]), {
    actions: [made({ program }), moved(7, { program, to: BOB })],
  });
  accept(`${name}: with an account by Create, spelled out`, build([create({ program, data: [0] }), tokens(7, { program })]), {
    actions: [made({ program }), moved(7, { program, to: BOB })],
  });
  accept(`${name}: everything at once`, build([limit(60_000), price(20_000), create({ program }), memo('rent'), tokens(18446744073709551615n, { program, reference: REF })], { blockhash: HASH }), {
    blockhash: HASH, actions: [made({ program }), said('rent'), moved(18446744073709551615n, { program, reference: REF, to: BOB })],
    unitLimit: 60_000, unitPrice: '20000', fee: '6200',
  });
  // Every instruction of the program but TransferChecked and Revoke, with the accounts of a transfer.
  for (let kind = 0; kind <= 45; kind++) {
    if (kind === 12 || kind === 5) continue;
    refuse('unknown_instruction', `${name}: instruction ${kind}`, build([tokens(5, { program, data: [kind, ...le(5, 8), 6] })]));
  }
  refuse('unknown_instruction', `${name}: an instruction without data`, build([tokens(5, { program, data: [] })]));
  refuse('unknown_instruction', `${name}: beside a transfer of SOL`, build([transfer(5), other(program, [3, ...le(5, 8)], [meta(BOB, 'w')])]));
  refuse('malformed', `${name}: nine bytes`, build([tokens(5, { program, data: [12, ...le(5, 8)] })]));
  refuse('malformed', `${name}: eleven bytes`, build([tokens(5, { program, data: [12, ...le(5, 8), 6, 0] })]));
  refuse('malformed', `${name}: three accounts`, build([other(program, [12, ...le(5, 8), 6], [meta(associated(ME, USDC, program), 'w'), meta(USDC), meta(associated(BOB, USDC, program), 'w')])]));
  refuse('not_the_owner', `${name}: out of somebody else's account`, build([tokens(5, { program, source: associated(EVE, USDC, program) })]));
  refuse('not_the_owner', `${name}: out of an account of another mint`, build([tokens(5, { program, source: associated(ME, OTHER_MINT, program) })]));
  refuse('not_the_owner', `${name}: out of an account that is not the associated one`, build([tokens(5, { program, source: addr(0x77) })]));
  refuse('not_the_owner', `${name}: out of the other program's account`, build([tokens(5, { program, source: associated(ME, USDC, program === TOKEN ? TOKEN_2022 : TOKEN) })]));
  refuse('signers', `${name}: by somebody else's authority`, build([tokens(5, { program, authority: EVE })]));
  refuse('self_transfer', `${name}: to this wallet itself`, build([tokens(5, { program, to: ME })]));
  refuse('zero_amount', `${name}: nothing`, build([tokens(0, { program })]));
  accept(`${name}: two references`, build([tokens(5, { program, reference: REF, extra: [meta(addr(0x5f))] })]), {
    actions: [{ ...moved(5, { program, reference: `${addr(0x5f)}` }), references: [REF, `${addr(0x5f)}`] }],
  });
  refuse('reference', `${name}: the same reference twice`, build([tokens(5, { program, reference: REF, extra: [meta(REF)] })]));
  refuse('reference', `${name}: a writable reference`, build([tokens(5, { program, extra: [meta(REF, 'w')] })]));
  refuse('reference', `${name}: this wallet as reference`, build([tokens(5, { program, extra: [meta(ME, 's')] })]));
  refuse('too_many_actions', `${name}: two transfers`, build([tokens(5, { program }), tokens(5, { program, to: EVE })]));
  refuse('too_many_actions', `${name}: and SOL`, build([tokens(5, { program }), transfer(5)]));
  refuse('no_action', `${name}: only an account`, build([create({ program })]));
  refuse('wrong_account', `${name}: an account for somebody else`, build([create({ program, owner: EVE }), tokens(5, { program })]));
  refuse('wrong_account', `${name}: an account for another mint`, build([create({ program, mint: OTHER_MINT }), tokens(5, { program })]));
  refuse('wrong_account', `${name}: an account of the other program`, build([create({ program: program === TOKEN ? TOKEN_2022 : TOKEN }), tokens(5, { program })]));
  refuse('wrong_account', `${name}: an account beside a transfer of SOL`, build([create({ program }), transfer(5)]));
  refuse('wrong_account', `${name}: an account that is not its owner's`, build([create({ program, account: associated(EVE, USDC, program) }), tokens(5, { program })]));
  refuse('wrong_account', `${name}: an account of the System program`, build([create({ program, owner: SYSTEM }), tokens(5, { program, to: SYSTEM })]));
  refuse('unknown_instruction', `${name}: recover a nested account`, build([create({ program, data: [2] }), tokens(5, { program })]));
  refuse('unknown_instruction', `${name}: Create with two bytes`, build([create({ program, data: [1, 0] }), tokens(5, { program })]));
  refuse('malformed', `${name}: Create with seven accounts`, build([create({ program, extra: [meta(REF)] }), tokens(5, { program })]));
  refuse('too_many_actions', `${name}: two accounts`, build([create({ program }), create({ program, owner: EVE }), tokens(5, { program })]));
  refuse('too_many_actions', `${name}: the same account twice`, build([create({ program }), create({ program }), tokens(5, { program })]));
}
refuse('unknown_program', 'an account of an unknown token program', build([create({ program: EVE }), tokens(5)]));
refuse('unknown_program', 'an account by another System program', build([create({ system: EVE }), tokens(5)]));
refuse('budget', 'a token transfer at a price without limit', build([price(5), tokens(5)]));

// --- staking: web3.js derives the account and writes the instructions ---

const VOTE = addr(0x7e);
const DEPOSIT = 2_282_880;
const SEED = '00112233445566778899aabbccddeeff';
const derive = (seed = SEED, base = ME) => key(base58Of(createHash('sha256').update(key(base).toBytes()).update(seed).update(key(STAKE).toBytes()).digest()));
const base58Of = (bytes) => new PublicKey(bytes).toBase58();
const OWN = derive().toBase58(); // made in the transaction
const OLD = addr(0x51); // there before
const OLDER = addr(0x52);

/** The same instruction with its reference, with some accounts replaced, or with other data. */
function bent(i, { reference = '', extra = [], at = {}, data = i.data, drop = 0 } = {}) {
  const keys = i.keys.map((k, n) => (at[n] === undefined ? k : typeof at[n] === 'string' ? { ...k, pubkey: key(at[n]) } : { ...k, ...at[n] }));
  if (reference) keys.push(meta(reference));
  return new TransactionInstruction({ programId: i.programId, keys: [...keys, ...extra].slice(0, keys.length + extra.length - drop), data: Buffer.from(data) });
}
const ending = (i) => i.instructions.at(-1);

export const createStake = ({ lamports = 2_000_000_000 + DEPOSIT, seed = SEED, base = ME, from = ME, account = derive(seed, base), space = 200, owner = STAKE } = {}) =>
  SystemProgram.createAccountWithSeed({ fromPubkey: key(from), newAccountPubkey: key(account), basePubkey: key(base), seed, lamports, space, programId: key(owner) });
export const initializeStake = ({ account = OWN, staker = ME, withdrawer = ME, lockup = new Lockup(0, 0, PublicKey.default) } = {}) =>
  StakeProgram.initialize({ stakePubkey: key(account), authorized: new Authorized(key(staker), key(withdrawer)), lockup });
export const delegate = (o = {}) => bent(ending(StakeProgram.delegate({ stakePubkey: key(o.account ?? OWN), authorizedPubkey: key(o.authority ?? ME), votePubkey: key(VOTE) })), o);
const split = (lamports, o = {}) => bent(ending(StakeProgram.split({
  stakePubkey: key(o.source ?? OLD), authorizedPubkey: key(o.authority ?? ME), splitStakePubkey: key(o.account ?? OWN), lamports,
}, 0)), o);
const deactivate = (o = {}) => bent(ending(StakeProgram.deactivate({ stakePubkey: key(o.account ?? OLD), authorizedPubkey: key(o.authority ?? ME) })), o);
const merge = (o = {}) => bent(ending(StakeProgram.merge({ stakePubkey: key(o.account ?? OLD), sourceStakePubKey: key(o.source ?? OLDER), authorizedPubkey: key(o.authority ?? ME) })), o);
/** web3.js names the custodian last, if there is one. Here it is the wallet itself, so that a reference can follow. */
const withdraw = (lamports, o = {}) => bent(ending(StakeProgram.withdraw({
  stakePubkey: key(o.account ?? OLD), authorizedPubkey: key(o.authority ?? ME), toPubkey: key(o.to ?? ME), lamports, custodianPubkey: o.custodian === '' ? undefined : key(o.custodian ?? ME),
})), o);
const deposit = () => createStake({ lamports: DEPOSIT });

const refs = (reference) => ({ reference, references: reference ? [reference] : [] });
const staked = (lamports = 2_000_000_000 + DEPOSIT) => ({ type: 'create_stake', from: ME, account: OWN, lamports: `${lamports}`, seed: SEED });
const prepared = { type: 'initialize_stake', from: ME, account: OWN };
const delegated = (reference = '') => ({ type: 'delegate', from: ME, to: VOTE, account: OWN, ...refs(reference) });
const parted = (lamports) => ({ type: 'split_stake', from: ME, source: OLD, account: OWN, lamports: `${lamports}` });
const stopped = (account = OLD, reference = '') => ({ type: 'deactivate', from: ME, account, ...refs(reference) });
const joined = (source = OLDER) => ({ type: 'merge_stake', from: ME, source, account: OLD });
const takenBack = (lamports, reference = '') => ({ type: 'withdraw_stake', from: ME, to: ME, account: OLD, lamports: `${lamports}`, ...refs(reference) });

for (const version of ['legacy', 'v0']) {
  accept(`stake, ${version}`, build([createStake(), initializeStake(), delegate({ reference: REF })], { version }), { version, actions: [staked(), prepared, delegated(REF)] });
  accept(`undelegate all, ${version}`, build([deactivate({ reference: REF })], { version }), { version, actions: [stopped(OLD, REF)] });
  accept(`undelegate a part, ${version}`, build([deposit(), split(1_500_000_000), deactivate({ account: OWN, reference: REF })], { version }), {
    version, actions: [staked(DEPOSIT), parted(1_500_000_000), stopped(OWN, REF)],
  });
  accept(`withdraw from a stake, ${version}`, build([withdraw(7, { reference: REF })], { version }), { version, actions: [takenBack(7, REF)] });
}
accept('stake without a reference', build([createStake(), initializeStake(), delegate()]), { actions: [staked(), prepared, delegated()] });
accept('stake everything at once', build([limit(60_000), price(20_000), createStake({ lamports: 9_007_199_254_740_991 }), memo('stake'), initializeStake(), delegate({ reference: REF })], { blockhash: HASH }), {
  blockhash: HASH, actions: [staked(9_007_199_254_740_991), said('stake'), prepared, delegated(REF)], unitLimit: 60_000, unitPrice: '20000', fee: '6200',
});
accept('merge, then undelegate all', build([merge(), merge({ source: addr(0x53) }), deactivate({ reference: REF })]), { actions: [joined(), joined(addr(0x53)), stopped(OLD, REF)] });
accept('merge, then undelegate a part', build([merge(), deposit(), split(5), deactivate({ account: OWN })]), { actions: [joined(), staked(DEPOSIT), parted(5), stopped(OWN)] });
accept('merge, then withdraw', build([merge(), withdraw(9)]), { actions: [joined(), takenBack(9)] });
accept('withdraw more than a double counts exactly', build([withdraw(1, { data: [...le(4, 4), ...le(9_007_199_254_740_993n, 8)] })]), { actions: [takenBack(9_007_199_254_740_993n)] });

// Whose it becomes.
const stakeOf = (o) => build([createStake(), initializeStake(o), delegate()]);
refuse('not_the_owner', 'stake: somebody else may withdraw it', stakeOf({ withdrawer: EVE }));
refuse('not_the_owner', 'stake: somebody else may undelegate it', stakeOf({ staker: EVE }));
refuse('not_the_owner', 'stake: it is somebody else’s', stakeOf({ staker: EVE, withdrawer: EVE }));
refuse('lockup', 'stake: locked until a time', stakeOf({ lockup: new Lockup(1, 0, PublicKey.default) }));
refuse('lockup', 'stake: locked until an epoch', stakeOf({ lockup: new Lockup(0, 1, PublicKey.default) }));
refuse('lockup', 'stake: with a custodian', stakeOf({ lockup: new Lockup(0, 0, key(EVE)) }));
refuse('lockup', 'stake: locked by a negative time', stakeOf({ lockup: new Lockup(-1, 0, PublicKey.default) }));
refuse('wrong_account', 'stake: the delegated account is another', build([createStake(), initializeStake(), delegate({ account: EVE })]));
refuse('wrong_account', 'stake: an account that is already there', build([delegate({ account: OLD })]));
refuse('wrong_account', 'stake: an account that is already there, initialized', build([memo('and'), initializeStake({ account: OLD }), delegate({ account: OLD })]));
refuse('wrong_account', 'stake: the delegated account is another, before an unknown program', build([createStake(), initializeStake(), delegate({ account: EVE }), other(EVE, [1])]));
refuse('wrong_account', 'stake: not initialized', build([createStake(), delegate()]));
refuse('wrong_account', 'stake: the initialized account is another', build([createStake(), initializeStake({ account: EVE }), delegate()]));
refuse('wrong_account', 'stake: the initialized account is another, before an unknown program', build([createStake(), initializeStake({ account: EVE }), other(EVE, [1])]));
refuse('wrong_account', 'stake: initialized before it is created', build([initializeStake(), createStake(), delegate()]));
refuse('wrong_account', 'stake: delegated before it is initialized', build([createStake(), delegate(), initializeStake()]));
refuse('wrong_account', 'stake: an account of somebody else’s base', build([createStake({ account: derive(SEED, EVE) }), initializeStake(), delegate()]));
refuse('wrong_account', 'stake: an account of another seed', build([createStake({ account: derive('ffeeddccbbaa99887766554433221100') }), initializeStake(), delegate()]));
refuse('wrong_account', 'stake: a seed in capitals', build([createStake({ seed: SEED.toUpperCase() }), initializeStake({ account: derive(SEED.toUpperCase()) }), delegate({ account: derive(SEED.toUpperCase()) })]));
refuse('wrong_account', 'stake: created beside a payment', build([createStake(), transfer(5)]));
refuse('wrong_account', 'stake: created and initialized beside a payment', build([createStake(), initializeStake(), transfer(5)]));
refuse('no_action', 'stake: only created', build([createStake()]));
refuse('no_action', 'stake: created and initialized', build([createStake(), initializeStake()]));
refuse('malformed', 'stake: a short seed', build([createStake({ seed: 'ab' }), initializeStake(), delegate()]));
refuse('malformed', 'stake: a long seed', build([createStake({ seed: `${SEED}0` }), initializeStake(), delegate()]));
refuse('signers', 'stake: somebody else is the base', build([createStake({ base: EVE }), initializeStake(), delegate()]));
refuse('not_the_owner', 'stake: another base in the data', build([bent(createStake(), { data: [...le(3, 4), ...key(EVE).toBytes(), ...createStake().data.subarray(36)] }), initializeStake(), delegate()]));
refuse('unknown_program', 'stake: an account of another program', build([createStake({ owner: EVE }), initializeStake(), delegate()]));
refuse('unknown_program', 'stake: an account of another size', build([createStake({ space: 201 }), initializeStake(), delegate()]));
refuse('malformed', 'stake: the new account cannot change', assemble({ header: [1, 0, 2], keys: [ME, OWN, SYSTEM], instructions: [{ program: 2, accounts: [0, 1], data: createStake().data }] }));
refuse('too_many_actions', 'stake: two accounts', build([createStake(), createStake({ seed: SEED.replace('0', '1') }), initializeStake(), delegate()]));
refuse('too_many_actions', 'stake: initialized twice', build([createStake(), initializeStake(), initializeStake(), delegate()]));
refuse('too_many_actions', 'stake: delegated twice', build([createStake(), initializeStake(), delegate(), delegate()]));
refuse('too_many_actions', 'stake: and a payment', build([createStake(), initializeStake(), delegate(), transfer(5)]));
refuse('too_many_actions', 'stake: and an undelegation', build([createStake(), initializeStake(), delegate(), deactivate()]));
refuse('malformed', 'stake: an initialization without the Rent sysvar', build([createStake(), bent(initializeStake(), { at: { 1: EVE } }), delegate()]));
refuse('malformed', 'stake: an initialization with another account', build([createStake(), bent(initializeStake(), { extra: [meta(EVE)] }), delegate()]));
refuse('malformed', 'stake: a long initialization', build([createStake(), bent(initializeStake(), { data: [...initializeStake().data, 0] }), delegate()]));
refuse('reference', 'stake: a writable reference', build([createStake(), initializeStake(), delegate({ extra: [meta(REF, 'w')] })]));
refuse('reference', 'stake: this wallet as reference', build([createStake(), initializeStake(), delegate({ extra: [meta(ME, 's')] })]));
for (const place of [2, 3, 4]) {
  refuse('malformed', `stake: another account at ${place} of the delegation`, build([createStake(), initializeStake(), delegate({ at: { [place]: EVE } })]));
}
refuse('not_the_owner', 'stake: delegated by an account that does not sign', build([createStake(), initializeStake(), delegate({ at: { 5: { pubkey: key(EVE), isSigner: false } } })]));
refuse('malformed', 'stake: a delegation with data', build([createStake(), initializeStake(), delegate({ data: [...le(2, 4), 0] })]));
refuse('malformed', 'stake: a delegation that lacks its authority', build([createStake(), initializeStake(), delegate({ drop: 1 })]));

// What is taken out, and whom it goes to.
refuse('deposit', 'a split pays more than a deposit into an account whose owner nobody sees', build([createStake({ lamports: DEPOSIT + 1 }), split(5), deactivate({ account: OWN })]));
refuse('wrong_account', 'a split into an account that it does not create', build([split(5, { account: EVE }), deactivate({ account: EVE })]));
refuse('wrong_account', 'a split into an account that it does not create, before an unknown program', build([deposit(), split(5, { account: EVE }), other(EVE, [1])]));
refuse('wrong_account', 'a split before its account is created', build([split(5), deposit(), deactivate({ account: OWN })]));
refuse('wrong_account', 'a split whose source is undelegated', build([deposit(), split(5), deactivate()]));
refuse('wrong_account', 'a split after the undelegation', build([deposit(), deactivate({ account: OWN }), split(5)]));
refuse('wrong_account', 'a split beside a payment', build([deposit(), split(5), transfer(5)]));
refuse('too_many_actions', 'two splits', build([deposit(), split(5), split(5), deactivate({ account: OWN })]));
refuse('zero_amount', 'a split of nothing', build([deposit(), split(0), deactivate({ account: OWN })]));
refuse('extra_accounts', 'a split with a reference', build([deposit(), split(5, { reference: REF }), deactivate({ account: OWN })]));
refuse('not_the_owner', 'a split for somebody else', build([deposit(), split(5, { at: { 2: { pubkey: key(EVE), isSigner: false } } }), deactivate({ account: OWN })]));
refuse('malformed', 'a split without an amount', build([deposit(), split(5, { data: le(3, 4) }), deactivate({ account: OWN })]));
refuse('malformed', 'a merge of a stake account that cannot change', build([merge({ at: { 1: { pubkey: key(OLDER), isWritable: false } } }), deactivate()]));
refuse('wrong_account', 'a merge of stakes that are not used', build([merge({ account: addr(0x54) }), deactivate()]));
refuse('wrong_account', 'a merge into another stake than the one that is split', build([merge({ account: addr(0x54) }), deposit(), split(5), deactivate({ account: OWN })]));
refuse('wrong_account', 'a merge into the stake that is split off', build([deposit(), split(5), merge({ account: OWN }), deactivate({ account: OWN })]));
refuse('wrong_account', 'a merge into the account of the part, before the split', build([deposit(), merge({ account: OWN }), split(5), deactivate({ account: OWN })]));
refuse('wrong_account', 'a merge after what uses it', build([deactivate(), merge()]));
refuse('wrong_account', 'a merge beside a payment', build([merge(), transfer(5)]));
refuse('no_action', 'only a merge', build([merge()]));
refuse('extra_accounts', 'a merge with a reference', build([merge({ reference: REF }), deactivate()]));
refuse('malformed', 'a merge with data', build([merge({ data: [...le(7, 4), 1] }), deactivate()]));
refuse('not_the_owner', 'an undelegation for somebody else', build([deactivate({ at: { 2: { pubkey: key(EVE), isSigner: false } } })]));
refuse('signers', 'an undelegation that somebody else signs', build([deactivate({ authority: EVE })]));
refuse('malformed', 'an undelegation without the Clock sysvar', build([deactivate({ at: { 1: EVE } })]));
refuse('too_many_actions', 'two undelegations', build([deactivate(), deactivate({ account: OLDER })]));
refuse('not_the_owner', 'a withdrawal to somebody else', build([withdraw(7, { to: EVE })]));
refuse('not_the_owner', 'a withdrawal by an authority that does not sign', build([withdraw(7, { at: { 4: { pubkey: key(EVE), isSigner: false } } })]));
refuse('not_the_owner', 'a withdrawal with a custodian who does not sign', build([withdraw(7, { at: { 5: { pubkey: key(EVE), isSigner: false } } })]));
refuse('signers', 'a withdrawal with a custodian who signs', build([withdraw(7, { custodian: EVE })]));
refuse('malformed', 'a withdrawal without a custodian', build([withdraw(7, { custodian: '' })]));
refuse('zero_amount', 'a withdrawal of nothing', build([withdraw(0)]));
refuse('too_many_actions', 'a withdrawal and a payment', build([withdraw(7), transfer(5)]));
refuse('too_many_actions', 'two withdrawals', build([withdraw(7), withdraw(7, { account: OLDER })]));
refuse('malformed', 'a stake account that cannot change', assemble({ header: [1, 0, 3], keys: [ME, OLD, 'SysvarC1ock11111111111111111111111111111111', STAKE], instructions: [{ program: 3, accounts: [1, 2, 0], data: le(5, 4) }] }));
// Every other instruction of the program.
for (const kind of [1, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 255, 256]) {
  refuse('unknown_instruction', `Stake: instruction ${kind}`, build([deactivate({ data: le(kind, 4) })]));
}
refuse('unknown_instruction', 'Stake without data', build([other(STAKE, [])]));
refuse('unknown_instruction', 'Stake with three bytes', build([other(STAKE, [5, 0, 0])]));
refuse('wrong_account', 'a token account beside a stake', build([create(), createStake(), initializeStake(), delegate()]));

// --- revocations (docs/decisions/0053): Revoke of both programs, and nothing of Approve ---

export function revoke({ program = TOKEN, mint = USDC, account = associated(ME, mint, program), owner = ME, flags = 'w', reference = '', data = [5], extra = [] } = {}) {
  const keys = [meta(account, flags), meta(owner, owner === ME ? 'sw' : '')];
  if (reference) keys.push(meta(reference));
  return other(program, data, [...keys, ...extra]);
}
const revoked = ({ program = TOKEN, mint = USDC, account = associated(ME, mint, program), reference = '', references = reference ? [reference] : [] } = {}) =>
  ({ type: 'revoke', from: ME, account, program, reference, references });

for (const [name, program] of [['Token', TOKEN], ['Token-2022', TOKEN_2022]]) {
  for (const version of ['legacy', 'v0']) {
    accept(`${name}: a revocation, ${version}`, build([revoke({ program, reference: REF })], { version }), { version, actions: [revoked({ program, reference: REF })] });
  }
  accept(`${name}: a revocation without a reference`, build([revoke({ program })]), { actions: [revoked({ program })] });
  accept(`${name}: a revocation of an account that is not the associated one`, build([revoke({ program, account: EVE, reference: REF })]), { actions: [revoked({ program, account: EVE, reference: REF })] });
  accept(`${name}: a revocation with a budget and a memo`, build([limit(5_000), price(20_000), memo('back'), revoke({ program, reference: REF })], { blockhash: HASH }), {
    blockhash: HASH, actions: [said('back'), revoked({ program, reference: REF })], unitLimit: 5_000, unitPrice: '20000', fee: '5100',
  });
  accept(`${name}: a revocation with eight references`, build([revoke({ program, extra: nine.slice(0, 8).map((k) => meta(k)) })]), {
    actions: [revoked({ program, reference: nine[7], references: nine.slice(0, 8) })],
  });
  refuse('reference', `${name}: a revocation with nine references`, build([revoke({ program, extra: nine.map((k) => meta(k)) })]));
  refuse('malformed', `${name}: a revocation with an amount`, build([revoke({ program, data: [5, ...le(5, 8)] })]));
  refuse('malformed', `${name}: a revocation without an owner`, build([other(program, [5], [meta(EVE, 'w')])]));
  refuse('malformed', `${name}: a revocation without accounts`, build([other(program, [5])]));
  refuse('not_the_owner', `${name}: a revocation for somebody else`, build([revoke({ program, owner: EVE })]));
  refuse('not_the_owner', `${name}: a revocation for somebody else, with this wallet behind`, build([revoke({ program, owner: EVE, extra: [meta(ME, 'sw')] })]));
  refuse('signers', `${name}: a revocation that somebody else signs too`, build([revoke({ program, owner: EVE, extra: [meta(addr(0x51), 's')] })]));
  refuse('malformed', `${name}: a revocation of an account that cannot change`, build([revoke({ program, flags: '' })]));
  refuse('malformed', `${name}: a revocation of this wallet itself`, build([revoke({ program, account: ME })]));
  refuse('reference', `${name}: a revocation with a writable reference`, build([revoke({ program, extra: [meta(REF, 'w')] })]));
  refuse('reference', `${name}: a revocation with this wallet as reference`, build([revoke({ program, extra: [meta(ME, 'sw')] })]));
  refuse('reference', `${name}: a revocation that names its account again`, build([revoke({ program, extra: [meta(associated(ME, USDC, program), 'w')] })]));
  refuse('too_many_actions', `${name}: two revocations`, build([revoke({ program }), revoke({ program, account: EVE })]));
  refuse('too_many_actions', `${name}: a revocation and a payment`, build([revoke({ program }), tokens(5, { program })]));
  refuse('too_many_actions', `${name}: a payment and a revocation`, build([transfer(5), revoke({ program })]));
  refuse('wrong_account', `${name}: a revocation that makes an account`, build([create({ program }), revoke({ program })]));
  // What a drainer wants to be signed, as it would come: for the wallet's own account, by the wallet.
  const own = associated(ME, USDC, program);
  for (const [what, data, keys] of [
    ['an approval', [4, ...le(18446744073709551615n, 8)], [meta(own, 'w'), meta(EVE), meta(ME, 'sw')]],
    ['a checked approval', [13, ...le(18446744073709551615n, 8), 6], [meta(own, 'w'), meta(USDC), meta(EVE), meta(ME, 'sw')]],
    ['a new owner', [6, 2, 1, ...key(EVE).toBytes()], [meta(own, 'w'), meta(ME, 'sw')]],
    ['a new close authority', [6, 3, 1, ...key(EVE).toBytes()], [meta(own, 'w'), meta(ME, 'sw')]],
  ]) {
    refuse('unknown_instruction', `${name}: ${what}`, build([other(program, data, keys)]));
    refuse('unknown_instruction', `${name}: ${what} behind a revocation`, build([revoke({ program, reference: REF }), other(program, data, keys)]));
    refuse('unknown_instruction', `${name}: ${what} before a revocation`, build([other(program, data, keys), revoke({ program, reference: REF })]));
  }
}
refuse('lookup_tables', 'a revocation with its account from a lookup table', assemble({ version: 'v0', header: [1, 0, 1], keys: [ME, TOKEN], instructions: [{ program: 1, accounts: [2, 0], data: [5] }], lookups: [{ table: EVE, writable: [0], readonly: [] }] }));

// --- swaps (docs/decisions/0042) ---

const [MINT_A, MINT_B] = [addr(0xa1), addr(0xa2)];
const { own, route: routeTo, createOwn, wrap, syncNative, unwrap, named } = swapsOf(ME);
const route = (options = {}) => routeTo({ out: MINT_A, ...options });
const looked = (instructions, addresses) => lookedUp(ME, instructions, addresses);

const ownMade = (mint) => ({ type: 'create_account', from: ME, to: ME, account: own(mint), mint, program: TOKEN });
const marked = { type: 'reference', from: ME, reference: REF };
const swapped = (mint, out, { units = '1000', quoted = '2001', slippage = 50, minimum = '1990' } = {}) => ({
  type: 'swap', from: ME, source: own(mint), account: own(out), mint, out_mint: out, units, quoted, slippage_bps: slippage, minimum });
const ended = { type: 'unwrap', from: ME, account: own(WSOL) };
const sells = [createOwn(WSOL), wrap(1_000), syncNative(), createOwn(MINT_A), named(), route(), unwrap()];
const soldActions = [ownMade(WSOL), { type: 'wrap', from: ME, account: own(WSOL), lamports: '1000' }, { type: 'sync_native', account: own(WSOL) }, ownMade(MINT_A), marked, swapped(WSOL, MINT_A), ended];
const buys = [createOwn(WSOL), named(), route({ mint: MINT_A, out: WSOL }), unwrap()];
const trades = [createOwn(MINT_B), named(), route({ mint: MINT_A, out: MINT_B })];

accept('a swap that pays SOL', build(sells), { actions: soldActions });
accept('a swap that pays SOL, with a lookup table', looked(sells), { version: 'v0', actions: soldActions });
accept('a swap that receives SOL', build(buys), { actions: [ownMade(WSOL), marked, swapped(MINT_A, WSOL), ended] });
accept('a swap of two tokens', build(trades), { actions: [ownMade(MINT_B), marked, swapped(MINT_A, MINT_B)] });
accept('a swap of two tokens, v0 without a table', build(trades, { version: 'v0' }), { version: 'v0', actions: [ownMade(MINT_B), marked, swapped(MINT_A, MINT_B)] });
accept('a swap without a reference', build([createOwn(MINT_B), route({ mint: MINT_A, out: MINT_B })]), { actions: [ownMade(MINT_B), swapped(MINT_A, MINT_B)] });
accept('a swap with a budget', looked([limit(300_000), price(10_000), ...trades]), { version: 'v0', actions: [ownMade(MINT_B), marked, swapped(MINT_A, MINT_B)], unitLimit: 300_000, unitPrice: '10000', fee: '8000' });
accept('a swap without slippage', build([createOwn(MINT_B), route({ mint: MINT_A, out: MINT_B, slippage: 0 })]), { actions: [ownMade(MINT_B), swapped(MINT_A, MINT_B, { slippage: 0, minimum: '2001' })] });
accept('a swap at the ceiling of slippage', build([createOwn(MINT_B), route({ mint: MINT_A, out: MINT_B, slippage: 1000 })]), { actions: [ownMade(MINT_B), swapped(MINT_A, MINT_B, { slippage: 1000, minimum: '1800' })] });
accept('a swap of the largest amounts', build([createOwn(MINT_B), route({ mint: MINT_A, out: MINT_B, units: 2n ** 64n - 1n, quoted: 2n ** 64n - 1n })]), {
  actions: [ownMade(MINT_B), swapped(MINT_A, MINT_B, { units: '18446744073709551615', quoted: '18446744073709551615', minimum: '18354510353341003856' })] });
accept('a swap into an account made by Create', build([createOwn(MINT_B, { idempotent: 0 }), route({ mint: MINT_A, out: MINT_B })]), { actions: [ownMade(MINT_B), swapped(MINT_A, MINT_B)] });
accept('a payment to the own account for wrapped SOL is a payment', build([wrap(5)]), { actions: [paid(5, '', own(WSOL))] });

const trade = (options) => build([createOwn(MINT_B), route({ mint: MINT_A, out: MINT_B, ...options })]);
refuse('unknown_instruction', 'swap: route_v2 passes the signature on', trade({ selector: [0xbb, 0x64, 0xfa, 0xcc, 0x31, 0xc4, 0xaf, 0x14] }));
refuse('unknown_instruction', 'swap: route passes the signature on', trade({ selector: [0xe5, 0x17, 0xcb, 0x97, 0x7a, 0xe3, 0xad, 0x2a] }));
refuse('unknown_instruction', 'swap: another instruction', trade({ selector: [1, 2, 3, 4, 5, 6, 7, 8] }));
refuse('unknown_instruction', 'swap: seven bytes', trade({ data: routeData().slice(0, 7) }));
refuse('malformed', 'swap: one byte short', trade({ data: routeData().slice(0, 34) }));
refuse('malformed', 'swap: eleven accounts', build([createOwn(MINT_B), (() => { const i = route({ mint: MINT_A, out: MINT_B }); i.keys.length = 11; return i; })()]));
for (const place of [0, 3, 4, 6, 7, 10]) {
  const i = route({ mint: MINT_A, out: MINT_B });
  refuse('lookup_tables', `swap: account ${place} from a lookup table`, looked([createOwn(WSOL), named(), i, unwrap()], [i.keys[place].pubkey.toBase58()]));
}
refuse('lookup_tables', 'a lookup table without a swap', looked([transfer(5, { reference: POOLS[0] })]));
refuse('lookup_tables', 'a lookup table for the reference of a swap', looked([createOwn(MINT_B), named({ reference: POOLS[0] }), route({ mint: MINT_A, out: MINT_B })]));
refuse('not_the_owner', 'swap: for somebody else', trade({ at: { 1: { pubkey: key(EVE), isSigner: false } } }));
refuse('unknown_program', 'swap: Token-2022 is paid', trade({ at: { 8: TOKEN_2022 } }));
refuse('unknown_program', 'swap: Token-2022 is received', trade({ at: { 9: TOKEN_2022 } }));
refuse('malformed', 'swap: another event authority', trade({ at: { 10: EVE } }));
refuse('malformed', 'swap: another program inside', trade({ at: { 11: EVE } }));
refuse('self_transfer', 'swap: a token for itself', build([createOwn(MINT_A), route({ mint: MINT_A, out: MINT_A })]));
refuse('not_the_owner', 'swap: from another account', trade({ at: { 2: EVE } }));
refuse('not_the_owner', 'swap: from an account for another mint', trade({ at: { 2: own(MINT_B) } }));
refuse('wrong_account', 'swap: to another account', trade({ at: { 5: EVE } }));
refuse('wrong_account', 'swap: to somebody else’s account', trade({ at: { 5: own(MINT_B, BOB) } }));
refuse('wrong_account', 'swap: the own source as the program’s', trade({ at: { 3: own(MINT_A) } }));
refuse('wrong_account', 'swap: the own destination as the program’s', trade({ at: { 4: own(MINT_B) } }));
refuse('extra_accounts', 'swap: the signature passed on to the steps', trade({ pools: [...POOLS, ME] }));
refuse('extra_accounts', 'swap: this wallet as the program’s authority', trade({ at: { 0: ME } }));
refuse('zero_amount', 'swap: nothing in', trade({ units: 0n }));
refuse('zero_amount', 'swap: nothing out', trade({ quoted: 0n }));
refuse('zero_amount', 'swap: nothing out after the slippage', trade({ quoted: 1n }));
refuse('swap_fee', 'swap: a platform fee', trade({ fee: 1 }));
refuse('swap_fee', 'swap: a share of positive slippage', trade({ positive: 256 }));
refuse('swap_fee', 'swap: a fee before a slippage', trade({ fee: 1, slippage: 5000 }));
refuse('slippage', 'swap: a slippage above the ceiling', trade({ slippage: 1001 }));
refuse('slippage', 'swap: a slippage of all', trade({ slippage: 10000 }));
refuse('malformed', 'swap: no steps', trade({ steps: 0 }));
// The steps around it: each is needed, in its place, and nothing else may stand there.
const without = (list, i) => build([...list.slice(0, i), ...list.slice(i + 1)]);
for (const i of [0, 1, 2, 3, 6]) refuse('wrong_account', `a swap that pays SOL without its step ${i}`, without(sells, i));
for (const i of [0, 3]) refuse('wrong_account', `a swap that receives SOL without its step ${i}`, without(buys, i));
refuse('no_action', 'a swap that pays SOL without the swap itself', build([createOwn(WSOL)]));
refuse('wrong_account', 'a swap without its account', build([named(), route({ mint: MINT_A, out: MINT_B })]));
refuse('wrong_account', 'a swap whose account comes after it', build([route({ mint: MINT_A, out: MINT_B }), createOwn(MINT_B)]));
refuse('wrong_account', 'a swap that makes another account', build([createOwn(MINT_A), route({ mint: MINT_A, out: MINT_B })]));
refuse('wrong_account', 'a swap that makes an account of somebody else', build([other(ASSOCIATED, [1], [meta(ME, 'sw'), meta(own(MINT_B, BOB), 'w'), meta(BOB), meta(MINT_B), meta(SYSTEM), meta(TOKEN)]), route({ mint: MINT_A, out: MINT_B })]));
refuse('wrong_account', 'a swap that wraps more than it pays', build([createOwn(WSOL), wrap(1_001), syncNative(), createOwn(MINT_A), named(), route(), unwrap()]));
refuse('wrong_account', 'a swap that wraps twice', build([createOwn(WSOL), wrap(1_000), wrap(1_000), syncNative(), createOwn(MINT_A), named(), route(), unwrap()]));
refuse('wrong_account', 'a swap with two references', build([createOwn(MINT_B), named(), named({ reference: addr(0x5f) }), route({ mint: MINT_A, out: MINT_B })]));
refuse('wrong_account', 'a swap with its reference behind it', build([createOwn(MINT_B), route({ mint: MINT_A, out: MINT_B }), named()]));
refuse('wrong_account', 'a swap with a memo', build([...trades, memo('a swap')]));
refuse('wrong_account', 'a swap of two tokens that unwraps SOL', build([...trades, unwrap()]));
refuse('too_many_actions', 'a swap and a payment', build([...trades, transfer(5)]));
refuse('too_many_actions', 'a swap and a revocation', build([...trades, revoke()]));
refuse('too_many_actions', 'two swaps', build([...trades, route({ mint: MINT_A, out: MINT_B })]));
refuse('too_many_actions', 'a swap that makes three accounts', build([createOwn(WSOL), createOwn(MINT_A), ...trades]));
refuse('reference', 'a swap with a writable reference', build([createOwn(MINT_B), named({ kind: 'w' }), route({ mint: MINT_A, out: MINT_B })]));
refuse('self_transfer', 'a swap with a payment to this wallet itself', build([createOwn(MINT_B), named({ lamports: 1 }), route({ mint: MINT_A, out: MINT_B })]));
refuse('self_transfer', 'a reference without a swap', build([named()]));
refuse('unknown_instruction', 'SyncNative without a swap', build([syncNative()]));
refuse('unknown_instruction', 'an account for wrapped SOL closed without a swap', build([unwrap()]));
refuse('extra_accounts', 'a swap that wraps with another account', build([createOwn(WSOL), wrap(1_000, { extra: [meta(REF)] }), syncNative(), createOwn(MINT_A), named(), route(), unwrap()]));
refuse('zero_amount', 'a swap that wraps nothing', build([createOwn(WSOL), wrap(0), syncNative(), createOwn(MINT_A), named(), route(), unwrap()]));
refuse('too_many_actions', 'a swap that pays somebody instead of wrapping', build([createOwn(WSOL), wrap(1_000, { to: EVE }), syncNative(), createOwn(MINT_A), named(), route(), unwrap()]));
refuse('wrong_account', 'a swap that syncs another account', build([createOwn(WSOL), wrap(1_000), syncNative({ account: EVE }), createOwn(MINT_A), named(), route(), unwrap()]));
refuse('malformed', 'a swap that syncs with data', build([createOwn(WSOL), wrap(1_000), syncNative({ data: [17, 0] }), createOwn(MINT_A), named(), route(), unwrap()]));
refuse('not_the_owner', 'a swap that gives the unwrapped SOL to somebody else', build([createOwn(WSOL), named(), route({ mint: MINT_A, out: WSOL }), unwrap({ to: EVE })]));
refuse('wrong_account', 'a swap that closes another account', build([createOwn(WSOL), named(), route({ mint: MINT_A, out: WSOL }), unwrap({ account: own(MINT_A) })]));
refuse('malformed', 'a swap that closes with data', build([createOwn(WSOL), named(), route({ mint: MINT_A, out: WSOL }), unwrap({ data: [9, 0] })]));
refuse('unknown_program', 'a swap and an unknown program', build([...trades, other(EVE, [1])]));

export const json = `${JSON.stringify(fixtures, null, 1)}\n`;
export const path = fileURLToPath(new URL('../testdata/transactions.json', import.meta.url));

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  writeFileSync(path, json);
  console.log(`${fixtures.length} fixtures written`);
}
