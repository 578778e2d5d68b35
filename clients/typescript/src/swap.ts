import { fromBase58, type Bytes } from "./bytes.js";
import { associated, Budget, budgetProgram, isAssociated, littleEndian, system, tokenPrograms, type Message } from "./decode.js";

/**
 * The swap that a transaction must make so that signSwap signs it: exactly this, and nothing else. Amounts are base units
 * (lamports of SOL), since the transaction does not say how many decimals a token has. The decimals of a SwapQuote are
 * purser's word.
 */
export interface ExpectedSwap {
  /** The wallet that pays. If omitted, the wallet whose key signs. */
  from?: string;
  /** "SOL", or the address of a mint. */
  fromToken: string;
  /** "SOL", or the address of a mint. */
  toToken: string;
  /** Paid, exactly. */
  paidUnits: bigint;
  /** The least that may arrive. */
  leastUnits: bigint;
}

const swapProgram = "JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4";
const swapEvents = "D8cy77BBepLMngZx6ZukaTff5hCt1HrWyKk3Hnd9oitf";
const wrappedSOL = "So11111111111111111111111111111111111111112";
const tokenProgram = tokenPrograms[0]!;
/** The most that a swap may bring less than was quoted, in hundredths of a percent. */
const maxSlippage = 1_000n;
/** The discriminator of the only instruction of the swap program that is signed: shared_accounts_route_v2. */
const sharedRoute = [0xd1, 0x98, 0x53, 0x93, 0x7c, 0xfe, 0xd8, 0xe9];
/** How many fixed accounts that instruction has, and how many bytes at least. */
const fixedAccounts = 12;
const fixedBytes = 35;

type Instruction = Message["instructions"][number];

/** What a message's instruction of the swap program says. source and destination are indexes of accounts. */
interface Swap {
  source: number;
  destination: number;
  inMint: string;
  outMint: string;
  paid: bigint;
  least: bigint;
}

/** Throws unless the message makes the expected swap for its only signer, and nothing else. */
export async function checkSwap(m: Message, want: ExpectedSwap): Promise<void> {
  if (want.from !== undefined && want.from !== m.names[0]) throw new Error("purser: the transaction is another wallet's");
  const s = await readSwap(m);
  const mint = (token: string) => token === "SOL" ? wrappedSOL : token;
  if (s.inMint !== mint(want.fromToken)) throw new Error(`purser: the transaction pays the token ${s.inMint}, not ${want.fromToken}`);
  if (s.outMint !== mint(want.toToken)) throw new Error(`purser: the transaction brings the token ${s.outMint}, not ${want.toToken}`);
  if (s.paid !== want.paidUnits) throw new Error(`purser: the transaction pays ${s.paid} base units, not ${want.paidUnits}`);
  if (typeof want.leastUnits !== "bigint" || want.leastUnits <= 0n || s.least < want.leastUnits) {
    throw new Error(`purser: the transaction brings at least ${s.least} base units, not ${want.leastUnits}`);
  }
}

/**
 * Requires that a message has exactly the steps of a swap, in their order: for SOL that is paid, an account for wrapped SOL
 * is made, filled and counted; the account that receives is made; a transfer of nothing names the reference; the swap;
 * wrapped SOL is unwrapped. A compute budget may come anywhere.
 */
async function readSwap(m: Message): Promise<Swap> {
  const budget = new Budget();
  const steps: Instruction[] = [];
  for (const one of m.instructions) {
    if (one.program !== budgetProgram) steps.push(one);
    else if (!budget.takes(one.accounts, one.data)) throw new Error("purser: the transaction sets a compute budget in an unknown way");
  }
  const at = steps.findIndex((one) => one.program === swapProgram);
  if (at < 0) throw new Error("purser: the transaction swaps nothing");
  const s = await readRoute(m, steps[at]!);
  const fits: ((one: Instruction) => boolean)[] = [];
  if (s.inMint === wrappedSOL) fits.push(makes(m, s.source, s.inMint), wraps(s.source, s.paid), counts(s.source));
  fits.push(makes(m, s.destination, s.outMint));
  if (fits.length < at) fits.push(refers(m));
  const before = fits.length;
  fits.push(() => true); // the swap itself, which was read
  if (s.inMint === wrappedSOL) fits.push(unwraps(s.source));
  else if (s.outMint === wrappedSOL) fits.push(unwraps(s.destination));
  if (before !== at || steps.length !== fits.length || !steps.every((one, i) => fits[i]!(one))) {
    throw new Error("purser: the transaction's steps are not those of a swap");
  }
  budget.check();
  return s;
}

const writable = (m: Message, index: number) => index < m.keys.length - m.readOnly;

/** Reads the instruction of the swap program. */
async function readRoute(m: Message, { accounts, data }: Instruction): Promise<Swap> {
  const no = (why: string) => new Error(`purser: the transaction's swap ${why}`);
  if (data.length < fixedBytes || accounts.length < fixedAccounts || sharedRoute.some((b, i) => data[i] !== b)) throw no("is no instruction that is signed here");
  const fixed = accounts.slice(0, fixedAccounts);
  if (fixed.some((index) => index >= m.keys.length)) throw no("has its first accounts in a lookup table");
  const [, user, source, pooledIn, pooledOut, destination, inMint, outMint, inProgram, outProgram, events, program] = fixed as [number, number, number, number, number, number, number, number, number, number, number, number];
  const name = (index: number) => m.names[index]!;
  const owns = async (account: number, mint: number) => isAssociated(m.keys[account]!, m.keys[0]!, m.keys[mint]!, fromBase58(tokenProgram)!);
  if (user !== 0) throw no("is somebody else's");
  if (accounts.some((index, i) => index === 0 && i !== 1)) throw no("could pass the signature on to other programs");
  if (name(inProgram) !== tokenProgram || name(outProgram) !== tokenProgram) throw no("is of tokens that do not belong to the first token program");
  if (name(events) !== swapEvents || name(program) !== swapProgram) throw no("is not whole");
  if (inMint === outMint) throw no("is of a token for itself");
  if (!await owns(source, inMint)) throw no("takes from another account than the signer's own");
  if (!await owns(destination, outMint)) throw no("pays into another account than the signer's own");
  if ([pooledIn, pooledOut].some((index) => index === source || index === destination)) throw no("names the signer's account as the program's");
  if (!writable(m, source) || !writable(m, destination)) throw no("cannot change the signer's accounts");
  const number = (from: number, bytes: number) => littleEndian(data.slice(9 + from, 9 + from + bytes) as Bytes);
  const [paid, quoted, slippage, fees, steps] = [number(0, 8), number(8, 8), number(16, 2), number(18, 4), number(22, 4)];
  if (paid === 0n || slippage > maxSlippage || fees !== 0n || steps === 0n) throw no("pays nothing, brings far less than was quoted, takes a fee, or has no route");
  const least = quoted * (10_000n - slippage) / 10_000n;
  if (least === 0n) throw no("may bring nothing");
  return { source, destination, inMint: name(inMint), outMint: name(outMint), paid, least };
}

const same = (accounts: number[], want: number[]) => accounts.length === want.length && accounts.every((a, i) => a === want[i]);

/** Create or CreateIdempotent of the signer's own token account. */
const makes = (m: Message, account: number, mint: string) => ({ program, accounts, data }: Instruction) =>
  program === associated && (data.length === 0 || data.length === 1 && data[0]! <= 1) && accounts.length === 6 && same(accounts.slice(0, 3), [0, account, 0]) &&
  m.names[accounts[3]!] === mint && m.names[accounts[4]!] === system && m.names[accounts[5]!] === tokenProgram;

/** A System transfer of the signer's lamports with so many accounts. */
const transfersOwn = ({ program, accounts, data }: Instruction, lamports: bigint, count: number) =>
  program === system && data.length === 12 && littleEndian(data.slice(0, 4)) === 2n && littleEndian(data.slice(4)) === lamports && accounts.length === count && accounts[0] === 0;

/** The transfer of SOL to the signer's own account for wrapped SOL. */
const wraps = (account: number, lamports: bigint) => (one: Instruction) => transfersOwn(one, lamports, 2) && one.accounts[1] === account;

/** SyncNative. */
const counts = (account: number) => ({ program, accounts, data }: Instruction) =>
  program === tokenProgram && data.length === 1 && data[0] === 17 && same(accounts, [account]);

/** The transfer of nothing to oneself that names a reference. */
const refers = (m: Message) => (one: Instruction) =>
  transfersOwn(one, 0n, 3) && one.accounts[1] === 0 && one.accounts[2] !== 0 && one.accounts[2]! < m.keys.length && !writable(m, one.accounts[2]!);

/** CloseAccount to the signer. */
const unwraps = (account: number) => ({ program, accounts, data }: Instruction) =>
  program === tokenProgram && data.length === 1 && data[0] === 9 && same(accounts, [account, 0, 0]);
