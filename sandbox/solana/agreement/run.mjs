// Runs transactions through LiteSVM. One JSON object a line comes in, one goes out:
//   first out: {"blockhash": base58, "slot"}, the hash that the transactions have to name and the slot of all of them
//   in:  {"accounts": [{"address", "lamports", "owner", "data", "executable"}],
//         "transactions": [base64], "expire": bool, "rent": lamports a byte, "watch": [address]}
//   out: {"results": [{"err", "units", "logs"}], "accounts": [{"lamports", "owner", "data", "executable"} | null]}
// Addresses and data are hex; lamports are decimal strings; err is what JSON-RPC shows.
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';

const { Account, Clock, LiteSvm, Rent } = createRequire(import.meta.url)('litesvm-linux-x64-gnu');

const unhex = (text) => Uint8Array.from(Buffer.from(text, 'hex'));
const hex = (bytes) => Buffer.from(bytes).toString('hex');

// LiteSVM's process aborts on bytes that are no transaction, so they are walked through first. Long: it is the wire format,
// read from its first byte to its last.
function isTransaction(bytes) {
  let at = 0;
  const take = (n) => {
    if (at + n > bytes.length) throw new RangeError('ended');
    at += n;
    return bytes[at - n];
  };
  const length = () => {
    for (let n = 0, shift = 0; shift < 21; shift += 7) {
      const b = take(1);
      n |= (b & 0x7f) << shift;
      if (b & 0x80) continue;
      if ((shift > 0 && b === 0) || n > 0xffff) break;
      return n;
    }
    throw new RangeError('length');
  };
  try {
    if (bytes[0] === 0x81) {
      const signatures = take(2) && bytes[1];
      take(2);
      const mask = Buffer.from(bytes).readUInt32LE(at);
      take(4);
      if (mask > 31 || mask % 4 === 1 || mask % 4 === 2) return false;
      take(32);
      const instructions = take(1);
      take(32 * take(1));
      for (const [bits, size] of [[3, 8], [4, 4], [8, 4], [16, 4]]) if (mask & bits) take(size);
      let payload = 0;
      for (let i = 0; i < instructions; i++) {
        take(1);
        payload += take(1) + take(1) + 256 * take(1);
      }
      take(payload);
      take(64 * signatures);
      return at === bytes.length;
    }
    take(64 * length());
    const versioned = bytes[at] & 0x80;
    if (versioned && take(1) !== 0x80) return false;
    take(3);
    take(32 * length());
    take(32);
    for (let n = length(); n > 0; n--) {
      take(1);
      take(length());
      take(length());
    }
    if (versioned) {
      for (let n = length(); n > 0; n--) {
        take(32);
        take(length());
        take(length());
      }
    }
    return at === bytes.length;
  } catch (e) {
    if (e instanceof RangeError) return false;
    throw e;
  }
}

// The binding's errors print as Rust's Debug form: "InstructionError(0, Custom(1))".
function shown(err) {
  if (err === null || err === undefined) return null;
  const text = String(err);
  let m = /^(?:TransactionError::)?InstructionError\((\d+), (?:InstructionError::)?(\w+)(?:\((\d+)\))?\)$/.exec(text);
  if (m) return { InstructionError: [Number(m[1]), m[3] === undefined ? m[2] : { [m[2]]: Number(m[3]) }] };
  m = /^DuplicateInstruction\((\d+)\)$/.exec(text);
  if (m) return { DuplicateInstruction: Number(m[1]) };
  m = /^InsufficientFundsForRent \{ account_index: (\d+) \}$/.exec(text);
  if (m) return { InsufficientFundsForRent: { account_index: Number(m[1]) } };
  return text;
}

const fresh = new LiteSvm();

function failure(result) {
  const m = /^FailedTransactionMetadata\(FailedTransactionMetadata \{ err: (.*?), meta: TransactionMetadata \{/s.exec(String(result));
  return m ? shown(m[1]) : String(result);
}

// The chain stands in epoch 2, and remembers the 512 slots before.
const slot = 2n * 432_000n + 600n;
const slotHashes = Array.from({ length: 512 }, (_, i) => {
  const [entry] = fresh.getSlotHashes();
  entry.slot = slot - 1n - BigInt(i);
  return entry;
});

// LiteSVM has the present Memo program at the address of version 3 alone.
const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
function address(text) {
  let n = 0n;
  for (const c of text) n = n * 58n + BigInt(base58.indexOf(c));
  return unhex(n.toString(16).padStart(64, '0'));
}
const memo = fresh.getAccount(address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr')).data();

function run(request) {
  const svm = new LiteSvm();
  svm.addProgram(address('Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH'), memo);
  svm.setClock(new Clock(slot, 0n, slot / 432_000n, slot / 432_000n + 1n, 1_700_000_000n));
  svm.setSlotHashes(slotHashes);
  if (request.rent) svm.setRent(new Rent(BigInt(request.rent), 1, 50));
  for (const a of request.accounts) {
    svm.setAccount(unhex(a.address), new Account(BigInt(a.lamports), unhex(a.data), unhex(a.owner), a.executable, 18446744073709551615n));
  }
  if (request.expire) svm.expireBlockhash();
  const results = request.transactions.map((text) => {
    const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
    if (!isTransaction(bytes)) return { err: 'undecodable', units: 0, logs: [] };
    const result = svm.sendVersionedTransaction(bytes);
    const bad = typeof result.meta === 'function';
    const meta = bad ? result.meta() : result;
    return { err: bad ? failure(result) : null, units: Number(meta.computeUnitsConsumed()), logs: meta.logs() };
  });
  const accounts = (request.watch ?? []).map((address) => {
    const a = svm.getAccount(unhex(address));
    return a && { lamports: String(a.lamports()), owner: hex(a.owner()), data: hex(a.data()), executable: a.executable() };
  });
  return { results, accounts };
}

console.log(JSON.stringify({ blockhash: fresh.latestBlockhash(), slot: Number(slot) }));
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(run(JSON.parse(line))));
}
