// What the steps of a swap do, read from the bytes alone, and whether they are those of a swap that
// pays exactly one amount and brings at least another. Knows Jupiter's shared_accounts_route_v2, and
// refuses its other instructions: they pass this wallet's signature on to programs on the route, and
// with it these could take anything that the route names (docs/decisions/0042).
//
// It reads instructions that decode.js has parsed, in a message that calls the swap program. The
// order of its checks is part of the contract in decode.js.

import { associatedAccount } from './associated.js';

export const SWAP_PROGRAM = 'JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4';
export const WRAPPED_SOL = 'So11111111111111111111111111111111111111112';
const SWAP_EVENTS = 'D8cy77BBepLMngZx6ZukaTff5hCt1HrWyKk3Hnd9oitf';
const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

const SHARED_ROUTE = 'd19853937cfed8e9';
const PASSING_ROUTES = ['bb64facc31c4af14', 'e517cb977ae3ad2a']; // route_v2, route
const FIXED_ACCOUNTS = 12; // those of the steps follow
const AMOUNTS = 9; // offset of the amount in, behind discriminator and id
const WHOLE = 10_000n; // hundredths of a percent
const SLIPPAGE_CEILING = 1_000; // 10 percent
const ACCOUNTS_CREATED = 2; // for what is paid, and for what is received

/** Whether some instruction of a message calls the swap program. */
export const swaps = ({ keys, instructions }) => instructions.some(({ program }) => keys[program] === SWAP_PROGRAM);

/** How many token accounts a message may create. */
export const mostCreated = (parsed) => (swaps(parsed) ? ACCOUNTS_CREATED : 1);

const wrappedAccount = (owner) => associatedAccount(owner, WRAPPED_SOL, TOKEN);

/**
 * The least that arrives, in base units: the quoted amount less the slippage, rounded down. The
 * program rounds up.
 */
export const leastOf = (quoted, slippage) => (quoted * (WHOLE - BigInt(slippage))) / WHOLE;

/**
 * Reads what only swaps need beside their own instruction: a transfer that wraps SOL, or that names
 * the reference. Returns null for any other System transfer. `Refusal` is decode.js's.
 */
export async function systemStep({ keys, writable }, { accounts, data }, Refusal) {
  const [from, to, ...extra] = accounts;
  if (from !== 0) return null;
  const lamports = view(data).getBigUint64(4, true);
  if (to === 0) {
    if (lamports !== 0n || extra.length !== 1) return null;
    if (writable(extra[0])) throw new Refusal('reference', 'references');
    return { type: 'reference', from: keys[0], reference: keys[extra[0]] };
  }
  if (!writable(to) || keys[to] !== (await wrappedAccount(keys[0]))) return null;
  if (extra.length > 0) throw new Refusal('extra_accounts', 'wrap_accounts');
  if (lamports === 0n) throw new Refusal('zero_amount');
  return { type: 'wrap', from: keys[0], account: keys[to], lamports: lamports.toString() };
}

/** Reads SyncNative (17) and CloseAccount (9) of the token program; null for its other instructions. */
export async function tokenStep({ keys, writable }, { accounts, data }, Refusal) {
  const sync = data[0] === 17;
  if (!sync && data[0] !== 9) return null;
  if (data.length !== 1 || accounts.length !== (sync ? 1 : 3)) throw new Refusal('malformed', 'partial_swap');
  const [account, ...owners] = accounts;
  if (owners.some((index) => index !== 0)) throw new Refusal('not_the_owner', 'unwraps_for_other');
  if (keys[account] !== (await wrappedAccount(keys[0]))) throw new Refusal('wrong_account', 'other_wrapped');
  if (!writable(account)) throw new Refusal('malformed', 'account_readonly');
  return sync ? { type: 'sync_native', account: keys[account] } : { type: 'unwrap', from: keys[0], account: keys[account] };
}

/** Reads the instruction of the swap program. */
export async function route(parsed, { accounts, data }, Refusal) {
  const discriminator = Array.from(data.subarray(0, 8), (b) => b.toString(16).padStart(2, '0')).join('');
  if (discriminator !== SHARED_ROUTE) {
    throw new Refusal('unknown_instruction', PASSING_ROUTES.includes(discriminator) ? 'passes_signature' : 'not_a_swap');
  }
  if (data.length < AMOUNTS + 26 || accounts.length < FIXED_ACCOUNTS) throw new Refusal('malformed', 'partial_swap');
  await checkAccounts(parsed, accounts, Refusal);
  const { keys } = parsed;
  const numbers = view(data.subarray(AMOUNTS));
  const units = numbers.getBigUint64(0, true);
  const quoted = numbers.getBigUint64(8, true);
  const slippage = numbers.getUint16(16, true);
  if (units === 0n) throw new Refusal('zero_amount', 'swaps_nothing');
  if (numbers.getUint16(18, true) !== 0 || numbers.getUint16(20, true) !== 0) throw new Refusal('swap_fee');
  if (slippage > SLIPPAGE_CEILING) throw new Refusal('slippage');
  const minimum = leastOf(quoted, slippage);
  if (minimum === 0n) throw new Refusal('zero_amount', 'brings_nothing');
  if (numbers.getUint32(22, true) === 0) throw new Refusal('malformed', 'partial_swap');
  return {
    type: 'swap',
    from: keys[0],
    source: keys[accounts[2]],
    account: keys[accounts[5]],
    mint: keys[accounts[6]],
    out_mint: keys[accounts[7]],
    units: units.toString(),
    quoted: quoted.toString(),
    slippage_bps: slippage,
    minimum: minimum.toString(),
  };
}

/** Judges whose accounts a swap moves money between. Those of the steps may come from lookup tables. */
async function checkAccounts({ keys, writable }, accounts, Refusal) {
  const fixed = accounts.subarray(0, FIXED_ACCOUNTS);
  const [, user, source, pooledSource, pooledDestination, destination, mint, outMint, inProgram, outProgram, events, program] = fixed;
  const own = (index) => associatedAccount(keys[0], keys[index], TOKEN);
  if (fixed.some((index) => index >= keys.length)) throw new Refusal('lookup_tables');
  if (user !== 0) throw new Refusal('not_the_owner', 'swaps_for_other');
  if (keys[inProgram] !== TOKEN || keys[outProgram] !== TOKEN) throw new Refusal('unknown_program', 'swap_token_program');
  if (keys[events] !== SWAP_EVENTS || keys[program] !== SWAP_PROGRAM) throw new Refusal('malformed', 'partial_swap');
  if (mint === outMint) throw new Refusal('self_transfer', 'swaps_for_itself');
  if (keys[source] !== (await own(mint))) throw new Refusal('not_the_owner', 'other_tokens');
  if (keys[destination] !== (await own(outMint))) throw new Refusal('wrong_account', 'swaps_to_other');
  if ([pooledSource, pooledDestination].some((index) => index === source || index === destination)) {
    throw new Refusal('wrong_account', 'own_account_pooled');
  }
  if (accounts.some((index, i) => index === 0 && i !== 1)) throw new Refusal('extra_accounts', 'passes_signature');
  if (!writable(source) || !writable(destination)) throw new Refusal('malformed', 'account_readonly');
}

/** Requires that a message with a swap has exactly the steps of one, in their order. */
export function checkSwap(swap, actions, Refusal) {
  const wrapped = [swap.mint, swap.out_mint].indexOf(WRAPPED_SOL);
  const account = [swap.source, swap.account][wrapped];
  const create = (at, mint) => ({ type: 'create_account', from: swap.from, to: swap.from, account: at, mint, program: TOKEN });
  const want = [];
  if (wrapped === 0) {
    want.push(create(swap.source, swap.mint), { type: 'wrap', from: swap.from, account, lamports: swap.units }, { type: 'sync_native', account });
  }
  want.push(create(swap.account, swap.out_mint));
  if (actions[want.length]?.type === 'reference') want.push(actions[want.length]);
  want.push(swap);
  if (wrapped >= 0) want.push({ type: 'unwrap', from: swap.from, account });
  if (JSON.stringify(actions) !== JSON.stringify(want)) throw new Refusal('wrong_account', 'swap_steps');
}

const view = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
