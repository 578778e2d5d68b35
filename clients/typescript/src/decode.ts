import { base58, fromBase58, utf8, type Bytes } from "./bytes.js";

/** The payment that a transaction must make so that sign signs it: exactly this, and nothing else. */
export interface Expected {
  /** The wallet that pays. If omitted, the wallet whose key signs. */
  from?: string;
  /** The recipient's wallet, or the token account that is paid, in base58. */
  to: string;
  /** In the token's own unit, as in SendRequest: "1.5". */
  amount: string;
  /** "SOL", or the address of a token's mint; a symbol cannot be checked against the transaction. */
  token: string;
}

export const system = "11111111111111111111111111111111";
export const tokenPrograms: readonly string[] = ["TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"];
export const associated = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";
export const budgetProgram = "ComputeBudget111111111111111111111111111111";
const memoPrograms: readonly string[] = ["MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", "Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH"]; // of versions 3 and 4

const solDecimals = 9;
/** The highest priority fee, in lamports. */
const maxPriorityFee = 1_000_000n;
/** The highest compute unit limit. */
const maxUnits = 1_400_000n;
/** How many references (read-only accounts) a payment may have. */
const maxReferences = 8;

/** A decoded message, legacy or version 0. */
export interface Message {
  keys: Bytes[];
  names: string[];
  /** How many of the last keys are read-only. */
  readOnly: number;
  /** How many accounts come from lookup tables. Their indexes follow those of keys. */
  loaded: number;
  instructions: { program: string; accounts: number[]; data: Bytes }[];
}

const malformed = () => new Error("purser: the transaction's message is malformed");

/** Reads a message with one signer, who is also the fee payer. */
export function readMessage(raw: Bytes): Message {
  let at = 0;
  const bytes = (n: number): Bytes => {
    if (at + n > raw.length) throw malformed();
    return raw.slice(at, at += n);
  };
  const byte = () => bytes(1)[0]!;
  // A length in Solana's compact form. Two bytes are enough for any transaction, and each length has one encoding.
  const count = () => {
    const first = byte();
    if (first < 0x80) return first;
    const second = byte();
    if (second === 0 || second >= 0x80) throw malformed();
    return first & 0x7f | second << 7;
  };
  const version = raw[0] ?? 0;
  if (version > 0x80) throw new Error(`purser: the transaction has version ${version & 0x7f}, which is not signed here`);
  if (version === 0x80) bytes(1);
  const [signers, readOnlySigners, readOnly] = bytes(3) as unknown as [number, number, number];
  const keys = Array.from({ length: count() }, () => bytes(32));
  const names = keys.map(base58);
  bytes(32); // blockhash
  const raws = Array.from({ length: count() }, () => ({ program: byte(), accounts: [...bytes(count())], data: bytes(count()) }));
  let loaded = 0;
  for (let tables = version === 0x80 ? count() : 0; tables > 0; tables--) {
    bytes(32); // the table
    const of = bytes(count()).length + bytes(count()).length; // writable and read-only
    if (of === 0) throw malformed();
    loaded += of;
  }
  if (at !== raw.length || readOnly >= keys.length || keys.length + loaded > 256 || new Set(names).size < names.length) throw malformed();
  if (signers !== 1 || readOnlySigners !== 0) throw new Error("purser: the transaction needs not exactly one signer who pays");
  const instructions = raws.map(({ program, accounts, data }) => {
    if (program >= keys.length || accounts.some((a) => a >= keys.length + loaded)) throw malformed();
    return { program: names[program]!, accounts, data };
  });
  return { keys, names, readOnly, loaded, instructions };
}

/** Throws unless the message makes the expected payment from its only signer, and nothing else. */
export async function check(m: Message, want: Expected): Promise<void> {
  const amount = plainDecimal(want.amount);
  const to = fromBase58(want.to);
  if (to === undefined) throw new Error("purser: expected to: that is no Solana address");
  if (want.from !== undefined && want.from !== m.names[0]) throw new Error("purser: the transaction is another wallet's");
  if (m.loaded > 0) throw new Error("purser: the transaction takes accounts from lookup tables, which cannot be seen here");
  let paid: string | undefined;
  let memos = 0;
  let created = 0;
  const budget = new Budget();
  for (const [i, { program, accounts, data }] of m.instructions.entries()) {
    const refuse = (why: string) => new Error(`purser: instruction ${i + 1} of the transaction ${why}`);
    if (program === system || tokenPrograms.includes(program)) {
      const one = await transfer(m, program, accounts, data, to, want, refuse);
      if (paid !== undefined) throw refuse("is a second payment");
      paid = one;
    } else if (program === associated) {
      await creates(m, accounts, data, want, refuse);
      if (++created > 1) throw refuse("creates a second account");
    } else if (program === budgetProgram) {
      if (!budget.takes(accounts, data)) throw refuse("sets a compute budget in an unknown way");
    } else if (memoPrograms.includes(program)) {
      if (++memos > 1 || accounts.length > 0) throw refuse("is a memo that is not the only one, or is signed");
    } else {
      throw refuse(`calls the program ${program}`);
    }
  }
  if (paid === undefined) throw new Error("purser: the transaction pays nothing");
  budget.check();
  if (paid !== amount) throw new Error(`purser: the transaction pays ${paid}, not ${amount}`);
}

/** The compute budget of a transaction. */
export class Budget {
  readonly #values = new Map<number, bigint>();

  /** Reads an instruction of the compute budget; false for one that is unknown, or the second of its kind. */
  takes(accounts: number[], data: Bytes): boolean {
    const kind = data[0] ?? 0;
    const known = kind === 2 && data.length === 5 || kind === 3 && data.length === 9; // units, price of one
    if (!known || accounts.length > 0 || this.#values.has(kind)) return false;
    this.#values.set(kind, littleEndian(data.slice(1)));
    return true;
  }

  /** Throws for a priority fee above maxPriorityFee. */
  check(): void {
    const limit = this.#values.get(2) ?? 0n;
    if (this.#values.has(3) && !this.#values.has(2) || limit > maxUnits) throw new Error("purser: the transaction's priority fee has no limit");
    if ((this.#values.get(3) ?? 0n) * limit > maxPriorityFee * 1_000_000n) throw new Error("purser: the transaction's priority fee is too high");
  }
}

/** Reads a transfer of SOL (System program) or of a token (TransferChecked), and returns how much it pays. */
async function transfer(m: Message, program: string, accounts: number[], data: Bytes, to: Bytes, want: Expected, refuse: (why: string) => Error): Promise<string> {
  const fixed = program === system ? 2 : 4; // from, to; or source, mint, destination, owner
  if (accounts.length < fixed || accounts.length > fixed + maxReferences) throw refuse("is no plain transfer");
  if (new Set(accounts).size < accounts.length) throw refuse("names an account twice");
  const writable = (a: number) => a < m.keys.length - m.readOnly; // the first is the signer's
  if (accounts.slice(fixed).some(writable)) throw refuse("has a reference that can be written to");
  const name = (i: number) => m.names[accounts[i]!]!;
  const key = (i: number) => m.keys[accounts[i]!]!;
  if (program === system) {
    if (data.length !== 12 || littleEndian(data.slice(0, 4)) !== 2n || accounts[0] !== 0) throw refuse("is no transfer of the signer's SOL");
    if (want.token !== "SOL") throw refuse(`pays SOL, not the token ${want.token}`);
    if (name(1) !== want.to || !writable(accounts[1]!)) throw refuse(`pays ${name(1)}, not ${want.to}`);
    return decimal(littleEndian(data.slice(4)), solDecimals);
  }
  if (data.length !== 10 || data[0] !== 12 || accounts[3] !== 0 || !writable(accounts[0]!) || !writable(accounts[2]!)) throw refuse("is no TransferChecked of the signer's tokens");
  if (name(1) !== want.token) throw refuse(`pays the token ${name(1)}, not ${want.token}`);
  const programKey = fromBase58(program)!;
  if (!await isAssociated(key(0), m.keys[0]!, key(1), programKey)) throw refuse("takes tokens from another account than the signer's own");
  if (name(2) !== want.to && !await isAssociated(key(2), to, key(1), programKey)) throw refuse(`pays the token account ${name(2)}, which is not that of ${want.to}`);
  return decimal(littleEndian(data.slice(1, 9)), data[9]!);
}

/** Reads the creation of the recipient's token account, whose rent the signer pays. */
async function creates(m: Message, accounts: number[], data: Bytes, want: Expected, refuse: (why: string) => Error): Promise<void> {
  const known = data.length === 0 || data.length === 1 && data[0]! <= 1; // Create, CreateIdempotent
  if (!known || accounts.length !== 6 || accounts[0] !== 0 || accounts[1]! >= m.keys.length - m.readOnly) throw refuse("creates an account in an unknown way");
  const [, account, owner, mint, systemName, program] = accounts.map((a) => m.names[a]!);
  const [, accountKey, ownerKey, mintKey, , programKey] = accounts.map((a) => m.keys[a]!);
  if (!tokenPrograms.includes(program!) || systemName !== system || mint !== want.token || !await isAssociated(accountKey!, ownerKey!, mintKey!, programKey!)) {
    throw refuse("creates an account of another token");
  }
  if (owner !== want.to && account !== want.to) throw refuse(`creates an account of ${owner}, not of ${want.to}`);
}

/**
 * Returns whether a token account is derived from its owner and mint. The real one has the highest bump that gives an
 * address off the curve. Being off the curve is not checked: nobody can find a key for another bump's address, and the
 * program creates no account there.
 */
export async function isAssociated(account: Bytes, owner: Bytes, mint: Bytes, program: Bytes): Promise<boolean> {
  const end = [...fromBase58(associated)!, ...utf8("ProgramDerivedAddress")];
  for (let bump = 255; bump >= 0; bump--) {
    const seeds = Uint8Array.from([...owner, ...program, ...mint, bump, ...end]);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", seeds));
    if (hash.every((b, i) => b === account[i])) return true;
  }
  return false;
}

export function littleEndian(bytes: Bytes): bigint {
  return bytes.reduceRight((n, b) => n << 8n | BigInt(b), 0n);
}

/** Writes base units as an exact decimal without trailing zeros. */
export function decimal(units: bigint, decimals: number): string {
  const text = units.toString().padStart(decimals + 1, "0");
  const fraction = text.slice(text.length - decimals).replace(/0+$/, "");
  const whole = text.slice(0, text.length - decimals);
  return decimals === 0 ? text : fraction === "" ? whole : `${whole}.${fraction}`;
}

/** Writes an amount ("1.50", "1e-7") as decimal does. */
export function plainDecimal(text: string): string {
  const parts = typeof text === "string" && text.length <= 300 ? /^([0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$/.exec(text) : null;
  const wrong = new Error(`purser: expected amount: ${String(text).slice(0, 40)} is no positive decimal such as 1.5`);
  if (parts === null) throw wrong;
  const [, before = "", after = "", exponent = "0"] = parts;
  if (before + after === "") throw wrong;
  let point = before.length + Number(exponent);
  if (point < -300 || point > 600) throw wrong;
  const digits = "0".repeat(Math.max(0, 1 - point)) + before + after;
  point = Math.max(1, point);
  const padded = digits.padEnd(point, "0");
  const whole = padded.slice(0, point).replace(/^0+/, "");
  const fraction = padded.slice(point).replace(/0+$/, "");
  if (whole + fraction === "") throw wrong;
  return (whole || "0") + (fraction && `.${fraction}`);
}
