// The decoder against the fixtures, against web3.js, and against every single-byte mutation.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ComputeBudgetInstruction, PublicKey, StakeInstruction, SystemInstruction, TransactionMessage, VersionedMessage } from '@solana/web3.js';
import { base58 } from '@scure/base';
import * as page from '../page/decode.js';
import { associated, json, limit, memo, path, price, transfer } from './fixtures.mjs';
import * as memoized from './memoized-decode.mjs';
import { ASSOCIATED, BUDGET, MEMO, MEMO_V4, STAKE, SYSTEM, TOKEN, TOKEN_2022, addr } from './wire.mjs';

const fixtures = JSON.parse(readFileSync(path, 'utf8'));
const bytesOf = (f) => new Uint8Array(Buffer.from(f.message, 'base64'));

/** What the decoder says: its answer, or the code of its refusal. Any other error fails the test. */
async function verdict(message, signer, { decode, Refusal } = memoized) {
  try {
    return await decode(message, signer);
  } catch (err) {
    if (err instanceof Refusal) return err.code;
    throw err;
  }
}

test('the fixture file is what the generator writes', () => {
  assert.equal(readFileSync(path, 'utf8'), json, 'run: node fixtures.mjs');
});

test('the fixtures cover every code', () => {
  const codes = new Set(fixtures.map((f) => f.refused ?? 'accepted'));
  assert.deepEqual([...codes].sort(), [
    'accepted', 'budget', 'deposit', 'extra_accounts', 'lockup', 'lookup_tables', 'malformed', 'memo', 'no_action', 'not_the_owner',
    'reference', 'self_transfer', 'signers', 'slippage', 'swap_fee', 'too_large', 'too_many_actions', 'unknown_instruction', 'unknown_program', 'version', 'wrong_account', 'zero_amount',
  ]);
});

for (const f of fixtures) {
  test(`fixture: ${f.name}`, async () => {
    assert.deepEqual(await verdict(bytesOf(f), f.signer, page), f.want ?? f.refused);
    assert.deepEqual(await verdict(bytesOf(f), f.signer), f.want ?? f.refused);
  });
}

/** web3.js's own reading of a message, in the decoder's shape; throws where web3.js cannot. */
function oracle(bytes) {
  const message = VersionedMessage.deserialize(bytes);
  const { instructions, payerKey, recentBlockhash } = TransactionMessage.decompile(message);
  const out = {
    version: message.version === 0 ? 'v0' : 'legacy',
    signers: message.header.numRequiredSignatures,
    fee_payer: payerKey.toBase58(),
    blockhash: recentBlockhash,
    actions: [],
    compute_unit_limit: null,
    compute_unit_price: '0',
  };
  for (const i of instructions) {
    const program = i.programId.toBase58();
    if (program === SYSTEM && i.data.readUInt32LE(0) === 3) {
      out.actions.push(stakeAccount(i));
    } else if (program === STAKE) {
      out.actions.push(staking(i));
    } else if (program === SYSTEM) {
      const t = { keys: i.keys.slice(0, 2), programId: i.programId, data: i.data };
      const { fromPubkey, toPubkey, lamports } = SystemInstruction.decodeTransfer(t);
      out.actions.push({
        type: 'transfer', from: fromPubkey.toBase58(), to: toPubkey.toBase58(), lamports: `${lamports}`,
        reference: i.keys.slice(2).at(-1)?.pubkey.toBase58() ?? '',
        references: i.keys.slice(2).map((k) => k.pubkey.toBase58()),
      });
    } else if (program === MEMO || program === MEMO_V4) {
      out.actions.push({ type: 'memo', text: i.data.toString('utf8') });
    } else if (program === BUDGET) {
      if (ComputeBudgetInstruction.decodeInstructionType(i) === 'SetComputeUnitLimit') {
        out.compute_unit_limit = ComputeBudgetInstruction.decodeSetComputeUnitLimit(i).units;
      } else {
        out.compute_unit_price = `${ComputeBudgetInstruction.decodeSetComputeUnitPrice(i).microLamports}`;
      }
    } else if ([TOKEN, TOKEN_2022].includes(program)) {
      out.actions.push(i.data[0] === 5 ? revocation(i, program) : tokenTransfer(i, program));
    } else if (program === ASSOCIATED) {
      const [from, account, to, mint, , of] = i.keys.map((k) => k.pubkey.toBase58());
      assert.equal(account, associated(to, mint, of));
      out.actions.push({ type: 'create_account', from, to, account, mint, program: of });
    } else {
      throw new Error(`unexpected program ${program}`);
    }
  }
  for (const a of out.actions.filter((x) => x.type === 'token_transfer')) {
    a.to = out.actions.find((c) => c.type === 'create_account' && c.account === a.account)?.to ?? '';
  }
  return out;
}

/** What web3.js reads as the creation of a stake account. Its numbers are imprecise, so the lamports are read here. */
function stakeAccount(i) {
  const { fromPubkey, newAccountPubkey, basePubkey, seed, programId } = SystemInstruction.decodeCreateWithSeed(i);
  assert.equal(basePubkey.toBase58(), fromPubkey.toBase58());
  assert.equal(programId.toBase58(), STAKE);
  assert.equal(i.keys.length, 2);
  return { type: 'create_stake', from: fromPubkey.toBase58(), account: newAccountPubkey.toBase58(), lamports: `${i.data.readBigUInt64LE(76)}`, seed };
}

/** What web3.js reads as an instruction of the Stake program. */
function staking(i) {
  const text = (k) => k.toBase58();
  const lamports = () => `${i.data.readBigUInt64LE(4)}`;
  const beyond = (n) => {
    const references = i.keys.slice(n).map((k) => text(k.pubkey));
    return { reference: references.at(-1) ?? '', references };
  };
  switch (StakeInstruction.decodeInstructionType(i)) {
    case 'Initialize': {
      const { stakePubkey, authorized, lockup } = StakeInstruction.decodeInitialize(i);
      assert.equal(text(authorized.staker), text(authorized.withdrawer));
      assert.deepEqual([lockup.unixTimestamp, lockup.epoch, text(lockup.custodian)], [0, 0, SYSTEM]);
      return { type: 'initialize_stake', from: text(authorized.staker), account: text(stakePubkey) };
    }
    case 'Delegate': {
      const { stakePubkey, votePubkey, authorizedPubkey } = StakeInstruction.decodeDelegate(i);
      return { type: 'delegate', from: text(authorizedPubkey), to: text(votePubkey), account: text(stakePubkey), ...beyond(6) };
    }
    case 'Split': {
      const { stakePubkey, splitStakePubkey, authorizedPubkey } = StakeInstruction.decodeSplit(i);
      return { type: 'split_stake', from: text(authorizedPubkey), source: text(stakePubkey), account: text(splitStakePubkey), lamports: lamports() };
    }
    case 'Merge': {
      const { stakePubkey, sourceStakePubKey, authorizedPubkey } = StakeInstruction.decodeMerge(i);
      return { type: 'merge_stake', from: text(authorizedPubkey), source: text(sourceStakePubKey), account: text(stakePubkey) };
    }
    case 'Withdraw': {
      const { stakePubkey, toPubkey, authorizedPubkey, custodianPubkey } = StakeInstruction.decodeWithdraw(i);
      assert.equal(text(custodianPubkey), text(authorizedPubkey));
      return { type: 'withdraw_stake', from: text(authorizedPubkey), to: text(toPubkey), account: text(stakePubkey), lamports: lamports(), ...beyond(6) };
    }
    case 'Deactivate': {
      const { stakePubkey, authorizedPubkey } = StakeInstruction.decodeDeactivate(i);
      return { type: 'deactivate', from: text(authorizedPubkey), account: text(stakePubkey), ...beyond(3) };
    }
    default:
      throw new Error('another staking instruction was accepted');
  }
}

function revocation({ keys, data }, program) {
  const [account, from, ...references] = keys.map((k) => k.pubkey.toBase58());
  assert.equal(data.length, 1);
  assert.ok(keys[0].isWritable && keys[1].isSigner && account !== from);
  assert.ok(keys.slice(2).every((k) => !k.isWritable && !k.isSigner));
  return { type: 'revoke', from, account, program, reference: references.at(-1) ?? '', references };
}

function tokenTransfer({ keys, data }, program) {
  const [source, mint, account, from, ...references] = keys.map((k) => k.pubkey.toBase58());
  assert.equal(data[0], 12);
  assert.equal(source, associated(from, mint, program));
  return {
    type: 'token_transfer', from, to: '', account, mint, program, units: `${data.readBigUInt64LE(1)}`, decimals: data[9],
    reference: references.at(-1) ?? '',
    references,
  };
}

function agree(decoded, bytes, name) {
  const { intent, fee, ...shown } = decoded;
  const { signers, ...read } = oracle(bytes);
  assert.equal(signers, 1, name);
  assert.deepEqual(shown, read, name);
  const priority = (BigInt(read.compute_unit_limit ?? 0) * BigInt(read.compute_unit_price) + 999_999n) / 1_000_000n;
  assert.equal(fee, `${5000n + priority}`, name);
  assert.match(intent, /^[0-9a-f]{64}$/);
}

/** A small generator of repeatable numbers (mulberry32), so that a failure can be run again. */
function numbers(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

test('random messages of web3.js decode to what web3.js says', async () => {
  const random = numbers(20261121);
  const below = (n) => Math.floor(random() * n);
  const anyKey = () => new PublicKey(Uint8Array.from({ length: 32 }, () => below(256)));
  for (let round = 0; round < 400; round++) {
    const payer = anyKey();
    const lamports = BigInt(1 + below(2 ** 31)) * BigInt(1 + below(2 ** 31));
    const list = [transfer(lamports, { from: payer, to: anyKey(), reference: below(2) ? anyKey() : '' })];
    if (below(2)) list.push(memo(`note ${below(1e9)} é ☕`));
    const units = below(2) ? 1 + below(1_400_000) : null;
    if (units) list.unshift(limit(units));
    if (units && below(2)) list.push(price(BigInt(below(Math.floor(1e12 / units)))));
    const m = new TransactionMessage({ payerKey: payer, recentBlockhash: anyKey().toBase58(), instructions: list });
    const bytes = (below(2) ? m.compileToV0Message() : m.compileToLegacyMessage()).serialize();
    const decoded = await verdict(bytes, payer.toBase58());
    assert.equal(typeof decoded, 'object', `round ${round}: refused as ${decoded}`);
    agree(decoded, bytes, `round ${round}`);
  }
});

test('every single-byte mutation is refused or shown with its true content', async () => {
  let refused = 0;
  let shown = 0;
  for (const f of fixtures.filter((x) => x.want && bytesOf(x).length < 420)) {
    const original = bytesOf(f);
    // Deriving token accounts costs a thousand times more than reading: one bit of each even byte, all bits of each odd one.
    const flips = f.want.actions.some((a) => a.mint) ? null : [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff];
    for (let at = 0; at < original.length; at++) {
      for (const flip of flips ?? [at % 2 ? 0xff : 0x01]) {
        const bytes = original.slice();
        bytes[at] ^= flip;
        const decoded = await verdict(bytes, f.signer);
        if (typeof decoded === 'string') {
          refused++;
          continue;
        }
        shown++;
        assert.notDeepEqual(decoded, f.want, `${f.name}: byte ${at} ^ ${flip} changes nothing that is shown`);
        agree(decoded, bytes, `${f.name}: byte ${at} ^ ${flip}`);
      }
    }
  }
  assert.ok(refused > 10_000 && shown > 10_000, `${refused} refused, ${shown} shown`);
});

test('every cut and every insertion is refused or shown with its true content', async () => {
  for (const f of fixtures.filter((x) => x.want && bytesOf(x).length < 420)) {
    const original = bytesOf(f);
    for (let at = 0; at <= original.length; at++) {
      const cut = await verdict(original.slice(0, at), f.signer);
      if (at < original.length) assert.equal(typeof cut, 'string', `${f.name}: cut at ${at}`);
      for (const byte of f.want.actions.some((a) => a.mint) ? [1] : [0, 1, 0x80]) {
        const longer = Uint8Array.from([...original.slice(0, at), byte, ...original.slice(at)]);
        const decoded = await verdict(longer, f.signer);
        if (typeof decoded === 'object') agree(decoded, longer, `${f.name}: ${byte} put in at ${at}`);
      }
    }
  }
});

test('random bytes never break the decoder', async () => {
  const random = numbers(7);
  for (let round = 0; round < 5000; round++) {
    const bytes = Uint8Array.from({ length: Math.floor(random() * 300) }, () => Math.floor(random() * 256));
    assert.equal(typeof (await verdict(bytes, addr(1))), 'string');
  }
});

test('spliced, repeated and shuffled pieces of good messages never break the decoder, and show the truth', async () => {
  const random = numbers(20261123);
  const below = (n) => Math.floor(random() * n);
  const all = fixtures.map((f) => ({ bytes: bytesOf(f), signer: f.signer, good: Boolean(f.want) })).filter((f) => f.bytes.length < 600);
  const good = all.filter((f) => f.good);
  let shown = 0;
  for (let round = 0; round < 4000; round++) {
    const from = below(4) ? good : all;
    const { bytes, signer } = from[below(from.length)];
    const other = all[below(all.length)].bytes;
    let mutant = [...bytes];
    for (let n = 1 + below(2); n > 0; n--) {
      const at = below(mutant.length + 1);
      switch (below(5)) {
        case 0: mutant.splice(at, below(40), ...other.slice(below(other.length), below(other.length))); break;
        case 1: mutant.splice(at, 0, ...mutant.slice(at, at + 32)); break; // an account or instruction twice
        case 2: mutant[at] = [0, 1, 0x7f, 0x80, 0x81, 0xff][below(6)]; break;
        case 3: mutant = mutant.slice(0, at); break;
        default: mutant.splice(at, 1, below(256));
      }
    }
    const raw = Uint8Array.from(mutant, (b) => b ?? 0);
    const decoded = await verdict(raw, signer);
    if (typeof decoded === 'object') {
      shown++;
      agree(decoded, raw, `round ${round}`);
    }
    assert.ok(!(raw[0] > 0x80) || decoded === 'version', `round ${round}: ${decoded} of a first byte ${raw[0]}`);
  }
  assert.ok(shown > 100, `${shown} shown`);
});

test('the intent ignores the blockhash and nothing else', async () => {
  const find = (name) => bytesOf(fixtures.find((f) => f.name === name));
  const signer = fixtures[0].signer;
  const shown = await page.decode(find('legacy transfer with reference'), signer);
  const refreshed = await page.decode(find('transfer with a blockhash'), signer);
  assert.equal(shown.intent, refreshed.intent);
  assert.notEqual(shown.blockhash, refreshed.blockhash);
  assert.notEqual(shown.intent, (await page.decode(find('legacy transfer'), signer)).intent);
});

test('programs are told by their whole address', () => {
  for (const p of [SYSTEM, MEMO, MEMO_V4, BUDGET, TOKEN]) assert.equal(base58.decode(p).length, 32);
});
